"""Matrix products: tile shapes, operand orders, types, batches, epilogues; sizes that do not divide the tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from tests.programs.program import DTYPES, Program, add, random
from tilesat.fuzz.writer import Tile, Writer

Epilogue = Callable[[Tile], Tile]
PITCH = {"f16": 8, "bf16": 8, "f32": 4, "tf32": 4, "i8": 16, "f64": 2, "f8E4M3FN": 16, "f8E5M2": 16}
"""Elements of 16 bytes: pitches are promised to be multiples."""


def matmul(name: str, *given: Any, **more: Any) -> None:
    """Add a product to the corpus."""
    add(product(name, *given, **more))


def product(
    name: str,
    tile: tuple[int, int, int],
    size: tuple[int, int, int],
    kind: str = "f16",
    out: str = "f32",
    accumulator: str = "f32",
    a_order: str = "mk",
    b_order: str = "nk",
    promised: bool = True,
    prologue: Epilogue = lambda t: t,
    epilogue: Epilogue = lambda t: t,
    expected: Callable[[Any, Any], Any] | None = None,
    tolerance: float | None = None,
    padding: str | None = "zero",
    static: bool = False,
    signed: tuple[bool, bool] = (True, True),
) -> Program:
    """D[m, n] = epilogue(sum_k prologue(A) B): operands stored in the given order, the last index contiguous."""
    (tm, tn, tk), (m, n, k) = tile, size
    unit = PITCH[kind]

    def up(value):
        return -(-value // unit) * unit if promised else value

    extents = {"m": m, "n": n, "k": k}
    lda, ldb = up(extents[a_order[1]]), up(extents[b_order[1]])
    ldd = -(-n // 4) * 4 + 4

    def source() -> str:
        w = Writer(
            "matmul",
            a=f"ptr<{kind}>",
            b=f"ptr<{kind}>",
            d=f"ptr<{out}>",
            m="i32",
            n="i32",
            k="i32",
            lda="i32",
            ldb="i32",
            ldd="i32",
        )
        w.promise(a=16, b=16, d=16, m=1, n=1, k=1, ldd=4 if out == "f32" else 1)
        if promised:
            w.promise(lda=unit, ldb=unit)
        if promised and all(extents[order[1]] % unit == 0 for order in (a_order, b_order)):
            w.promise(**{order[1]: unit for order in (a_order, b_order)})
        sizes: dict[str, Any] = extents if static else {"m": w.m, "n": w.n, "k": w.k}
        tiles = {"m": tm, "n": tn, "k": tk}
        pitches: list[Any] = [lda, ldb] if static else [w.lda, w.ldb]
        a = w.view(w.a, [sizes[i] for i in a_order], [pitches[0], 1], [tiles[i] for i in a_order], padding)
        b = w.view(w.b, [sizes[i] for i in b_order], [pitches[1], 1], [tiles[i] for i in b_order], padding)
        d = w.view(w.d, [sizes["m"], sizes["n"]], [w.ldd, 1], [tm, tn])
        bm, bn = w.ids[:2]
        steps = w.tiles(a)[a_order.index("k")]
        with w.loop(0, steps, carried=[w.const(0, accumulator, tm, tn)]) as loop:
            at = {"m": bm, "n": bn, "k": loop.counter}
            left = prologue(w.load(a, *[at[i] for i in a_order]))
            right = w.load(b, *[at[i] for i in b_order])
            left = left.T if a_order == "km" else left
            right = right.T if b_order == "nk" else right
            loop.values = [w.dot(left, right, loop.values[0], signed=signed)]
        result = epilogue(loop.values[0])
        w.store(result if out == accumulator else result.to(out), d, bm, bn)
        return w.text()

    def arguments() -> list[Any]:
        a = padded(random([extents[i] for i in a_order], kind, 1), lda)
        b = padded(random([extents[i] for i in b_order], kind, 2), ldb)
        return [a, b, random((m + 1, ldd), out, 3), m, n, k, lda, ldb, ldd]

    def numpy_says(a: Any, b: Any, d: Any, *rest: Any) -> dict[int, Any]:
        a, b = (x if each else x.view(np.uint8) for x, each in zip((a, b), signed, strict=True))
        a, b = (x[:-1, : extents[order[1]]].astype(np.float64) for x, order in ((a, a_order), (b, b_order)))
        left, right = a if a_order == "mk" else a.T, b.T if b_order == "nk" else b
        d[:m, :n] = (expected or np.matmul)(left, right)
        return {2: d}

    allowed = (
        {"f32": 2e-3, "f16": 2e-3, "bf16": 1.6e-2, "i32": 0.0, "f64": 1e-12}[out] if tolerance is None else tolerance
    )
    known = padding == "zero" and (expected is not None or (epilogue(MARK) is MARK and prologue(MARK) is MARK))
    return Program(name, source, arguments, (-(-m // tm), -(-n // tn)), numpy_says if known else None, allowed)


MARK: Any = object()


def padded(data: Any, pitch: int) -> Any:
    """Rows `pitch` apart and one more row, NaN (17) in between: whoever reads beyond the array shows it."""
    held = np.full((data.shape[0] + 1, pitch), 17 if data.dtype.kind == "i" else np.nan, data.dtype)
    held[: data.shape[0], : data.shape[1]] = data
    return held


for tile in (
    (64, 64, 32),
    (128, 128, 32),
    (64, 128, 64),
    (16, 16, 16),
    (32, 32, 16),
    (128, 64, 32),
    (16, 8, 16),
    (16, 128, 32),
    (128, 16, 32),
    (64, 64, 64),
    (32, 64, 128),
    (64, 32, 16),
):
    m, n, k = (t + t // 2 + 8 for t in tile)
    matmul(f"matmul-{'x'.join(map(str, tile))}", tile, (m, n, k // 8 * 8))
matmul("matmul-128x256x64", (128, 256, 64), (130, 264, 136))
matmul("matmul-256x128x32", (256, 128, 32), (200, 136, 72))
matmul("matmul-odd-sizes", (64, 64, 32), (70, 67, 45))
matmul("matmul-one-element", (16, 16, 16), (1, 1, 1))
matmul("matmul-nothing-promised", (64, 64, 32), (70, 66, 44), promised=False)
matmul("matmul-static-sizes", (64, 64, 32), (96, 128, 64), static=True)
matmul("matmul-unpadded", (32, 32, 32), (64, 64, 64), padding=None)
for kind in ("f16", "bf16", "tf32"):
    matmul(f"matmul-{kind}-a-transposed", (64, 64, 32), (72, 72, 48), kind, a_order="km")
    matmul(f"matmul-{kind}-b-straight", (64, 64, 32), (72, 72, 48), kind, b_order="kn")
    matmul(f"matmul-{kind}-both", (32, 32, 16), (40, 40, 24), kind, a_order="km", b_order="kn")
    matmul(f"matmul-{kind}-plain", (64, 64, 32), (72, 72, 48), kind)
    matmul(f"matmul-{kind}-b-straight-wide", (32, 128, 32), (40, 136, 72), kind, b_order="kn")
matmul("matmul-f32-by-fma", (32, 32, 16), (40, 40, 24), "f32", tolerance=1e-5)
matmul("matmul-f32-by-fma-straight", (64, 32, 16), (72, 40, 20), "f32", b_order="kn", tolerance=1e-5)
matmul("matmul-f16-out", (64, 64, 32), (72, 72, 48), "f16", out="f16", tolerance=2e-3)
matmul("matmul-bf16-out", (64, 64, 32), (72, 72, 48), "bf16", out="bf16")
for shape in ((64, 64, 32), (128, 64, 64), (16, 32, 16)):
    size = (shape[0] + 8, shape[1] + 8, 48)
    matmul(f"matmul-f16-sum-{shape[0]}", shape, size, accumulator="f16", out="f16", tolerance=1e-2)
matmul("matmul-f16-sum-straight", (64, 64, 32), (72, 72, 64), b_order="kn", accumulator="f16", tolerance=2e-2)
matmul("matmul-f16-sum-by-fma", (8, 8, 8), (12, 12, 24), accumulator="f16", out="f16", tolerance=5e-3)
for signed in ((True, True), (True, False), (False, True), (False, False)):
    kinds = "".join("s" if each else "u" for each in signed)
    integers: Any = {"kind": "i8", "out": "i32", "accumulator": "i32", "signed": signed}
    matmul(f"matmul-i8-{kinds}", (64, 64, 64), (72, 72, 144), **integers)
    matmul(f"matmul-i8-{kinds}-by-mad", (8, 16, 8), (12, 20, 24), **integers)
integers = {"kind": "i8", "out": "i32", "accumulator": "i32"}
matmul(
    "matmul-i8-masked", (64, 64, 64), (72, 72, 144), prologue=lambda t: t if t is MARK else t & 15,
    expected=lambda a, b: (a.astype(np.int64) & 15) @ b, **integers,
)  # fmt: skip
matmul(
    "matmul-f16-sum-scaled", (64, 64, 32), (72, 72, 64), accumulator="f16", tolerance=2e-2,
    prologue=lambda t: t if t is MARK else t * 0.5, expected=lambda a, b: a @ b / 2,
)  # fmt: skip
matmul("matmul-i8-straight", (32, 64, 32), (40, 72, 80), b_order="kn", **integers)
matmul("matmul-i8-both", (32, 32, 32), (40, 40, 48), a_order="km", b_order="kn", **integers)
matmul("matmul-i8-wide", (128, 128, 64), (130, 136, 144), **integers)
matmul("matmul-i8-straight-wide", (64, 128, 64), (72, 136, 144), b_order="kn", **integers)
matmul("matmul-f8E5M2-straight-wide", (64, 128, 64), (72, 144, 144), "f8E5M2", b_order="kn")
matmul("matmul-i8-odd-sizes", (64, 64, 32), (70, 67, 45), **integers)
for kind in ("f8E4M3FN", "f8E5M2"):
    matmul(f"matmul-{kind}", (64, 64, 64), (72, 72, 144), kind)
    matmul(f"matmul-{kind}-straight", (64, 64, 32), (72, 72, 48), kind, b_order="kn")
    matmul(f"matmul-{kind}-half-sum", (64, 64, 64), (72, 72, 144), kind, out="f16", accumulator="f16", tolerance=3e-2)
    matmul(f"matmul-{kind}-by-fma", (8, 8, 8), (12, 12, 24), kind, tolerance=1e-5)
matmul(
    "matmul-f8E4M3FN-quantised", (64, 64, 32), (72, 72, 48), "f8E4M3FN", out="f8E4M3FN", tolerance=0.25,
    prologue=lambda t: t if t is MARK else (t.to("f32") * 3.0).to("f8E4M3FN"),
    epilogue=lambda t: t if t is MARK else t * 0.125,
    expected=lambda a, b: (a * 3).astype(DTYPES["f8E4M3FN"]).astype(np.float64) @ b / 8,
)  # fmt: skip
doubles: Any = {"kind": "f64", "out": "f64", "accumulator": "f64"}
matmul("matmul-f64", (32, 32, 16), (40, 40, 48), **doubles)
matmul("matmul-f64-straight", (32, 64, 8), (40, 72, 20), b_order="kn", **doubles)
matmul("matmul-f64-by-fma", (4, 8, 2), (7, 9, 5), **doubles)
matmul("matmul-narrow", (8, 8, 8), (12, 12, 8), "f32", tolerance=1e-5)
matmul(
    "matmul-relu",
    (64, 64, 32),
    (72, 72, 48),
    epilogue=lambda t: t if t is MARK else t.max(0.0),
    expected=lambda a, b: np.maximum(a @ b, 0),
)
matmul(
    "matmul-scaled",
    (64, 64, 32),
    (72, 72, 48),
    prologue=lambda t: t if t is MARK else t * 0.5,
    expected=lambda a, b: a @ b / 2,
)
matmul(
    "matmul-negated",
    (64, 64, 32),
    (72, 72, 48),
    prologue=lambda t: t if t is MARK else -t,
    expected=lambda a, b: -(a @ b),
)
matmul(
    "matmul-gelu",
    (64, 64, 32),
    (72, 72, 48),
    epilogue=lambda t: t if t is MARK else t * 0.5 * ((t * 0.7978845608).tanh() + 1.0),
    expected=lambda a, b: 0.5 * (a @ b) * (1 + np.tanh(0.7978845608 * (a @ b))),
)
matmul(
    "matmul-softmax",
    (32, 64, 32),
    (40, 64, 48),
    epilogue=lambda t: (
        t if t is MARK else (lambda p: p / p.reduce(1).column(64))((t - t.reduce(1, "max").column(64)).exp())
    ),
    expected=lambda a, b: (lambda p: p / p.sum(1, keepdims=True))(np.exp(a @ b - (a @ b).max(1, keepdims=True))),
)


LEFT, BIAS = random((64, 32), "f16", 8), random((64, 64), "f32", 9)
matmul(
    "matmul-literals", (64, 64, 32), (64, 64, 32),
    prologue=lambda t: t if t is MARK else t + t.writer.const(LEFT, "f16", 64, 32),
    epilogue=lambda t: t if t is MARK else t + t.writer.const(BIAS, "f32", 64, 64),
    expected=lambda a, b: (a + LEFT.astype(np.float64)) @ b + BIAS, tolerance=1e-2,
)  # fmt: skip


def block_scaled(name: str, kind: str, tile: tuple[int, ...], block: int, steps: int) -> None:
    """D = sum over k of (A * spread sA) (B * spread sB): f8 operands with a scale for each block along k."""
    *batch, m, n, k = tile
    lead, depth = tuple(batch), k * steps

    def source() -> str:
        scale = "f8E8M0FNU"
        w = Writer("scaled", a=f"ptr<{kind}>", b=f"ptr<{kind}>", s=f"ptr<{scale}>", t=f"ptr<{scale}>", d="ptr<f32>")
        w.promise(a=16, b=16, s=16, t=16, d=16)

        def view(base: Tile, rows: int, columns: int, tile: tuple[int, int]) -> Tile:
            strides = [rows * columns, columns, 1][-2 - len(lead) :]
            return w.view(base, [*lead, rows, columns], strides, [*lead, *tile], None)

        a, s = view(w.a, m, depth, (m, k)), view(w.s, m, depth // block, (m, k // block))
        b, t = view(w.b, depth, n, (k, n)), view(w.t, depth // block, n, (k // block, n))
        at = [0] * len(lead)
        with w.loop(0, steps, carried=[w.const(0.0, "f32", *lead, m, n)]) as loop:
            i = loop.counter
            loaded = [w.load(x, *at, 0, i) for x in (a, s)] + [w.load(x, *at, i, 0) for x in (b, t)]
            left, left_scale, right, right_scale = loaded
            total = loop.values[0]
            loop.values = [w.op(ct.MmaFScaled, left, right, total, left_scale, right_scale, types=[total.type])]
        w.store(loop.values[0], view(w.d, m, n, (m, n)), *at, 0, 0)
        return w.text()

    def arguments() -> list[Any]:
        shapes = ((m, depth), (depth, n), (m, depth // block), (depth // block, n), (m, n))
        kinds = (kind, kind, "f8E8M0FNU", "f8E8M0FNU", "f32")
        return [random((*lead, *shape), each, i) for i, (shape, each) in enumerate(zip(shapes, kinds, strict=True))]

    def expected(a: Any, b: Any, s: Any, t: Any, d: Any) -> dict[int, Any]:
        a, b, s, t = (x.astype(np.float64) for x in (a, b, s, t))
        return {4: (a * np.repeat(s, block, axis=-1)) @ (b * np.repeat(t, block, axis=-2))}

    add(Program(name, source, arguments, (1,), expected, 2e-3))


block_scaled("matmul-f8-scaled", "f8E4M3FN", (64, 64, 64), 32, 2)
block_scaled("matmul-f8-scaled-e5m2", "f8E5M2", (32, 64, 32), 32, 3)
block_scaled("matmul-f8-scaled-256", "f8E4M3FN", (256, 256, 64), 32, 2)
block_scaled("matmul-f8-scaled-batched", "f8E4M3FN", (2, 32, 32, 64), 32, 1)


def batched(name: str, tile: tuple[int, int, int, int], kind: str, size: tuple[int, int, int, int]) -> None:
    """D[b] = A[b] B[b] by 3-D tiles; grid over all four."""
    (tb, tm, tn, tk), (count, m, n, k) = tile, size

    def source() -> str:
        w = Writer("batched", a=f"ptr<{kind}>", b=f"ptr<{kind}>", d="ptr<i32>" if kind == "i8" else "ptr<f32>")
        w.promise(a=16, b=16, d=16)
        out = "i32" if kind == "i8" else "f32"
        a = w.view(w.a, [count, m, k], [m * k, k, 1], [tb, tm, tk])
        b = w.view(w.b, [count, k, n], [k * n, n, 1], [tb, tk, tn])
        d = w.view(w.d, [count, m, n], [m * n, n, 1], [tb, tm, tn])
        bm, bn, bb = w.ids
        with w.loop(0, w.tiles(a)[2], carried=[w.const(0, out, tb, tm, tn)]) as loop:
            left, right = w.load(a, bb, bm, loop.counter), w.load(b, bb, loop.counter, bn)
            loop.values = [w.dot(left, right, loop.values[0])]
        w.store(loop.values[0], d, bb, bm, bn)
        return w.text()

    def arguments():
        return [
            random((count, m, k), kind, 1),
            random((count, k, n), kind, 2),
            random((count, m, n), "i32" if kind == "i8" else "f32", 3),
        ]

    def expected(a: Any, b: Any, d: Any) -> dict[int, Any]:
        return {2: a.astype(np.float64) @ b.astype(np.float64)}

    grid = (-(-m // tm), -(-n // tn), -(-count // tb))
    add(Program(name, source, arguments, grid, expected, 1e-5 if kind == "f32" else 2e-3))


batched("batched-one", (1, 64, 64, 32), "f16", (3, 72, 72, 48))
batched("batched-one-bf16", (1, 32, 64, 32), "bf16", (2, 40, 72, 40))
batched("batched-two", (2, 32, 32, 16), "f16", (3, 40, 40, 24))
batched("batched-one-f32", (1, 32, 32, 16), "f32", (2, 40, 40, 24))
batched("batched-small", (4, 8, 8, 4), "f32", (7, 12, 12, 12))
batched("batched-many", (64, 4, 2, 8), "f16", (70, 6, 4, 16))
batched("batched-two-i8", (2, 32, 32, 32), "i8", (3, 40, 40, 48))
batched("batched-small-i8", (16, 2, 4, 8), "i8", (20, 6, 8, 16))
batched("batched-two-tf32", (2, 32, 32, 16), "tf32", (3, 40, 40, 24))


def attention(name: str, kind: str, rows: int, width: int, keys: int, step: int) -> None:
    """Flash attention for one block of queries: online softmax, two products in the loop, three carried tiles."""

    def source() -> str:
        w = Writer("attention", q=f"ptr<{kind}>", k=f"ptr<{kind}>", v=f"ptr<{kind}>", o="ptr<f32>", length="i32")
        w.promise(q=16, k=16, v=16, o=16, length=1)
        q = w.load(w.view(w.q, [rows + 8, width], [width, 1], [rows, width]), w.ids[0], 0)
        keys_view = w.view(w.k, [w.length, width], [width, 1], [step, width])
        values_view = w.view(w.v, [w.length, width], [width, 1], [step, width])
        start = [w.const(-np.inf, "f32", rows), w.const(0.0, "f32", rows), w.const(0.0, "f32", rows, width)]
        with w.loop(0, w.tiles(keys_view)[0], carried=start) as loop:
            highest, total, out = loop.values
            score = w.dot(q, w.load(keys_view, loop.counter, 0).T) * 0.25
            position = (loop.counter * step).splat(step) + w.iota(step)
            inside = (position < w.length.splat(step)).row(rows)
            score = inside.where(score, -np.inf)
            new = highest.max(score.reduce(1, "max"))
            power = (score - new.column(step)).exp()
            scale = (highest - new).exp()
            out = w.dot(power.to(kind), w.load(values_view, loop.counter, 0), out * scale.column(width))
            loop.values = [new, total * scale + power.reduce(1), out]
        _, total, out = loop.values
        w.store(out / total.column(width), w.view(w.o, [rows + 8, width], [width, 1], [rows, width]), w.ids[0], 0)
        return w.text()

    def arguments() -> list[Any]:
        return [
            random((rows + 8, width), kind, 1),
            random((keys, width), kind, 2),
            random((keys, width), kind, 3),
            random((rows + 8, width), "f32", 4),
            keys,
        ]

    def expected(q: Any, k: Any, v: Any, o: Any, length: int) -> dict[int, Any]:
        q, k, v = (x.astype(np.float64) for x in (q, k, v))
        score = q @ k.T * 0.25
        power = np.exp(score - score.max(1, keepdims=True))
        return {3: power / power.sum(1, keepdims=True) @ v}

    add(Program(name, source, arguments, (2,), expected, 2e-3 if kind == "f16" else 1.6e-2))


attention("attention-f16", "f16", 64, 64, 100, 32)
attention("attention-bf16", "bf16", 32, 32, 100, 64)
attention("attention-f16-128", "f16", 128, 64, 200, 64)
attention("attention-f16-16", "f16", 16, 64, 100, 16)  # fewer scores than four warps have places for


def turned_reshape() -> str:
    """A computed factor, reshaped and transposed: it is wanted in two layouts, and one buffer is written."""
    w = Writer("turned", a="ptr<f16>", b="ptr<i64>", y="ptr<f32>")
    w.promise(a=16, b=16, y=16)
    factor = w.load(w.view(w.b, [8, 32], [32, 1], [8, 32]), 0, 0).to("f16").reshape(16, 16).T
    product = w.dot(w.load(w.view(w.a, [64, 16], [16, 1], [64, 16]), 0, 0), factor)
    w.store(product, w.view(w.y, [64, 16], [16, 1], [64, 16]), 0, 0)
    return w.text()


add(
    Program(
        "product-of-turned-reshape",
        turned_reshape,
        lambda: [random((64, 16), "f16", 1), random((8, 32), "i64", 2) % 64, random((64, 16), "f32", 3)],
        expected=lambda a, b, y: {2: a.astype(np.float32) @ b.reshape(16, 16).T.astype(np.float32)},
        tolerance=2e-3,
    )
)
