"""f4E2M1FN and i4: conversions, packing, moving, block-scaled products and quantisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from ir.types import TileType
from tests.programs.program import DTYPES, Program, add, random
from tilesat.fuzz.writer import Tile, Writer, element

MAGNITUDES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
VALUES = np.concatenate([MAGNITUDES, -MAGNITUDES])
"""Of the sixteen codes. Source: OCP microscaling formats 1.0, FP4."""
BYTES = np.arange(256, dtype=np.uint8)


def codes(x: Any) -> Any:
    """The codes nearest to numbers, ties to the even one; NaN is 6, as cvt of PTX makes it."""
    wide = np.asarray(x, np.float64)
    size = np.minimum(np.abs(np.where(np.isnan(wide), 6.0, wide)), 6.0)
    far = np.abs(size[..., None] - MAGNITUDES)
    nearest = far == far.min(-1, keepdims=True)
    even = nearest & (np.arange(8) % 2 == 0)
    found = np.where(even.any(-1), even.argmax(-1), nearest.argmax(-1))
    return np.where(np.isnan(wide), 7, found + 8 * np.signbit(wide)).astype(np.uint8)


def packed(x: Any) -> Any:
    """Codes two a byte, the first one low."""
    flat = np.asarray(x).reshape(-1)
    return (flat[0::2] | flat[1::2] << 4).astype(np.uint8).view(np.int8)


def unpacked(x: Any) -> Any:
    """The codes of bytes."""
    flat = np.asarray(x).reshape(-1).view(np.uint8)
    return np.stack([flat & 15, flat >> 4], 1).reshape(-1)


def edges(kind: str) -> Any:
    """Ties, numbers next to them, NaN of both signs, infinities, zeros, subnormals, random numbers."""
    ties = (MAGNITUDES[1:] + MAGNITUDES[:-1]) / 2
    dtype = DTYPES[kind]
    x = np.concatenate([ties, MAGNITUDES, [7.0, 1e30, np.inf, 1e-30, 1e-40, 2.0**-24]])
    with np.errstate(all="ignore"):
        x = np.concatenate([x, ties * (1 + 1e-7), ties * (1 - 1e-7), ties * (1 + 1e-14), ties * (1 - 1e-14)])
        x = np.concatenate([x, -x, [np.nan, -np.nan], np.random.default_rng(4).standard_normal(500) * 2]).astype(dtype)
    return np.resize(x, 1024)


def bits(name: str, before: str, after: str, count: int, body: Callable[[Tile], Tile], data: Callable[[], Any],
         expected: Callable[[Any], Any]) -> None:  # fmt: skip
    """y = body(x), `count` elements of x a block."""

    def source() -> str:
        w = Writer("bits", x=f"ptr<{before}>", y=f"ptr<{after}>")
        w.promise(x=16, y=16)
        total = data().size
        x = w.load(w.view(w.x, [total], [1], [count]), w.ids[0])
        y = body(x)
        size = y.shape[0]
        w.store(y, w.view(w.y, [total // count * size], [1], [size]), w.ids[0])
        return w.text()

    def arguments() -> list[Any]:
        given = data()
        return [given, random(np.asarray(expected(given)).shape, after, 9)]

    blocks = data().size // count
    add(Program(name, source, arguments, (blocks,), lambda x, y: {1: expected(x).astype(DTYPES[after])}, 0.0))


def pack(tile: Tile) -> Tile:
    """A tile's bytes."""
    size = tile.shape[0] * tile.type.element.width // 8
    return tile.writer.op(ct.Pack, tile, types=[TileType((size,), element("i8"))])


def unpack(tile: Tile, kind: str) -> Tile:
    """Bytes as half bytes."""
    return tile.writer.op(ct.Unpack, tile, types=[TileType((2 * tile.shape[0],), element(kind))])


def moved(tile: Tile) -> Tile:
    """Turned as a matrix of sixteen columns, so that threads exchange half bytes."""
    size = tile.shape[0]
    return tile.reshape(size // 16, 16).permute(1, 0).reshape(size)


def turned(x: Any) -> Any:
    """The same of codes, 256 a block."""
    return np.concatenate([part.reshape(-1, 16).T.reshape(-1) for part in np.asarray(x).reshape(-1, 256)])


for kind in ("f32", "f16", "bf16", "f64"):
    bits(f"f4-of-{kind}", kind, "i8", 256, lambda x: pack(x.to("f4E2M1FN")), lambda k=kind: edges(k),
         lambda x: packed(codes(x)))  # fmt: skip
    bits(f"f4-to-{kind}", "i8", kind, 64, lambda x, k=kind: unpack(x, "f4E2M1FN").to(k), lambda: BYTES.view(np.int8),
         lambda x: VALUES[unpacked(x)])  # fmt: skip
bits("f4-moved", "f32", "i8", 256, lambda x: pack(moved(x.to("f4E2M1FN"))), lambda: edges("f32"),
     lambda x: packed(turned(codes(x))))  # fmt: skip
bits("f4-negated", "f32", "i8", 256, lambda x: pack((-x).to("f4E2M1FN")), lambda: edges("f32"),
     lambda x: packed(codes(-x)))  # fmt: skip
bits("f4-of-i8", "i8", "i8", 64, lambda x: pack(x.to("f4E2M1FN")), lambda: BYTES.view(np.int8),
     lambda x: packed(codes(x)))  # fmt: skip
bits("f4-to-i32", "i8", "i32", 64, lambda x: unpack(x, "f4E2M1FN").to("i32"), lambda: BYTES.view(np.int8),
     lambda x: np.trunc(VALUES[unpacked(x)]))  # fmt: skip
ALL = np.random.default_rng(8).permutation(np.resize(VALUES, 64)).reshape(8, 8)
bits("f4-literal", "f32", "f32", 64,
     lambda x: x + x.writer.const(ALL, "f4E2M1FN", 8, 8).to("f32").permute(1, 0).reshape(64),
     lambda: edges("f32"), lambda x: (x.reshape(-1, 64) + np.float32(ALL.T.reshape(-1))).reshape(-1))  # fmt: skip
bits("f4-to-f8E4M3FN", "i8", "f8E4M3FN", 64, lambda x: unpack(x, "f4E2M1FN").to("f8E4M3FN"),
     lambda: BYTES.view(np.int8), lambda x: VALUES[unpacked(x)])  # fmt: skip
for signed in (False, True):
    bits(
        f"i4-{'signed' if signed else 'unsigned'}", "i8", "i32", 64,
        lambda x, s=signed: x.writer.op(
            ct.ExtI, unpack(x, "i4"), signedness=ct.Signedness(int(s)), types=[TileType((128,), element("i32"))]
        ),
        lambda: BYTES.view(np.int8), lambda x, s=signed: unpacked(x).astype(np.int32) - 16 * s * (unpacked(x) > 7),
    )  # fmt: skip
bits(
    "i4-of-i32", "i32", "i8", 256,
    lambda x: pack(moved(x.writer.op(ct.TruncI, x, types=[TileType((256,), element("i4"))]))),
    lambda: random((1024,), "i32", 5), lambda x: packed(turned(x.astype(np.uint8) & 15)),
)  # fmt: skip


def quantised() -> None:
    """Numbers in groups of sixteen over the largest of each, as f4, and what they were divided by."""
    rows, columns, groups = 32, 64, 4

    def source() -> str:
        w = Writer("quantised", x="ptr<bf16>", q="ptr<i8>", s="ptr<f32>")
        w.promise(x=16, q=16, s=16)
        x = w.load(w.view(w.x, [2 * rows, columns], [columns, 1], [rows, columns]), w.ids[0], 0).to("f32")
        apart = x.reshape(rows, groups, 16)
        scale = apart.absf().reduce(2, "max") / 6.0
        w.store(scale, w.view(w.s, [2 * rows, groups], [groups, 1], [rows, groups]), w.ids[0], 0)
        each = apart / scale.reshape(rows, groups, 1).broadcast(rows, groups, 16)
        half = pack(each.to("f4E2M1FN").reshape(rows * columns)).reshape(rows, columns // 2)
        w.store(half, w.view(w.q, [2 * rows, columns // 2], [columns // 2, 1], [rows, columns // 2]), w.ids[0], 0)
        return w.text()

    def expected(x: Any, q: Any, s: Any) -> dict[int, Any]:
        apart = x.astype(np.float32).reshape(-1, groups, 16)
        scale = np.abs(apart).max(2) / np.float32(6)
        return {1: packed(codes(apart / scale[..., None])).reshape(q.shape), 2: scale}

    def arguments() -> list[Any]:
        x = random((2 * rows, columns), "bf16", 1)
        return [x, random((2 * rows, columns // 2), "i8", 2), random((2 * rows, groups), "f32", 3)]

    add(Program("f4-quantised", source, arguments, (2,), expected, 0.0))


def product(name: str, scale: str, block: int) -> None:
    """D = (A * spread sA) (B * spread sB) of f4 read from bytes."""
    m = n = k = 64

    def source() -> str:
        w = Writer("halves", a="ptr<i8>", b="ptr<i8>", s=f"ptr<{scale}>", t=f"ptr<{scale}>", d="ptr<f32>")
        w.promise(a=16, b=16, s=16, t=16, d=16)
        a, b = (unpack(w.load(w.view(p, [m * k // 2], [1], [m * k // 2]), 0), "f4E2M1FN") for p in (w.a, w.b))
        s = w.load(w.view(w.s, [m, k // block], [k // block, 1], [m, k // block]), 0, 0)
        t = w.load(w.view(w.t, [k // block, n], [n, 1], [k // block, n]), 0, 0)
        total = w.const(0.0, "f32", m, n)
        made = w.op(ct.MmaFScaled, a.reshape(m, k), b.reshape(k, n), total, s, t, types=[total.type])
        w.store(made, w.view(w.d, [m, n], [n, 1], [m, n]), 0, 0)
        return w.text()

    def arguments() -> list[Any]:
        bytes_ = [np.random.default_rng(i).integers(-128, 128, m * k // 2).astype(np.int8) for i in (1, 2)]
        scales = [random((m, k // block), scale, 3), random((k // block, n), scale, 4)]
        return [*bytes_, *scales, random((m, n), "f32", 5)]

    def expected(a: Any, b: Any, s: Any, t: Any, d: Any) -> dict[int, Any]:
        left, right = VALUES[unpacked(a)].reshape(m, k), VALUES[unpacked(b)].reshape(k, n)
        s, t = (x.astype(np.float64) for x in (s, t))
        return {4: (left * np.repeat(s, block, axis=1)) @ (right * np.repeat(t, block, axis=0))}

    add(Program(name, source, arguments, (1,), expected, 2e-3))


quantised()
product("matmul-f4-scaled", "f8E8M0FNU", 32)
product("matmul-f4-scaled-f8E4M3FN", "f8E4M3FN", 16)
