"""Products of block-scaled factors as MXFP8, MXFP4 and NVFP4 have them, of any size, with both kinds of scales: rows of
a matrix, and blocks of 128 rows and four scales as cuBLAS and CUTLASS store them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from ir.types import F4E2M1FN, TileType
from tests.programs.program import Program, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
ROWS, SCALES = 128, 4  # of a block of scales


@dataclass(frozen=True)
class Format:
    """What arrays hold; `block` factors along k have one scale, `pack` of them lie in one element of views."""

    factor: str
    scale: str
    block: int
    pack: int
    kind: str
    tile: tuple[int, int, int]

    @property
    def in_byte(self) -> int:
        """Factors in a byte of memory."""
        return 2 if self.factor == "f4E2M1FN" else self.pack


FORMATS = {
    "mxfp8": Format("f8E4M3FN", "f8E8M0FNU", 32, 1, "mxf8f6f4.block_scale.block32", (128, 128, 128)),
    "mxfp8-e5m2": Format("f8E5M2", "f8E8M0FNU", 32, 1, "mxf8f6f4.block_scale.block32", (128, 128, 128)),
    "mxfp4": Format("i8", "f8E8M0FNU", 32, 2, "mxf4.block_scale.block32", (128, 128, 256)),
    "nvfp4": Format("i8", "f8E4M3FN", 16, 2, "mxf4nvf4.block_scale.block16", (128, 128, 256)),
    "fp4-powers": Format("f4E2M1FN", "f8E8M0FNU", 16, 1, "mxf4nvf4.block_scale.block16", (128, 128, 256)),
    "mxfp4-f4": Format("f4E2M1FN", "f8E8M0FNU", 32, 1, "mxf4.block_scale.block32", (128, 128, 256)),
    "nvfp4-f4": Format("f4E2M1FN", "f8E4M3FN", 16, 1, "mxf4nvf4.block_scale.block16", (128, 128, 256)),
}


def product(name: str = "mxfp8", tile: tuple[int, ...] = (), blocks: bool = False, straight: bool = False) -> str:
    """D [m, n] = (A x scales) (B x scales)T of A [m, k] and B [n, k], which is stored [k, n] where it is `straight`;
    scales in rows `pitch` apart, or in `blocks`.
    """
    form = FORMATS[name]
    tm, tn, tk = tile or form.tile
    w = Writer(
        "scaled", a=f"ptr<{form.factor}>", b=f"ptr<{form.factor}>", s=f"ptr<{form.scale}>", t=f"ptr<{form.scale}>",
        d="ptr<f32>", m="i32", n="i32", k="i32", scales="i32", pitch="i32", over="i32", across="i32",
    )  # fmt: skip
    w.promise(
        a=16,
        b=16,
        s=16,
        t=16,
        d=16,
        m=1,
        n=16 if straight else 4,
        k=16 * form.in_byte // form.pack,
        scales=1,
        pitch=1 if blocks else SCALES,
        over=1,
        across=1,
    )
    a = w.view(w.a, [w.m, w.k], [w.k, 1], [tm, tk // form.pack])
    if straight:
        b = w.view(w.b, [w.k, w.n], [w.n, 1], [tk, tn])
    else:
        b = w.view(w.b, [w.n, w.k], [w.k, 1], [tn, tk // form.pack])
    d = w.view(w.d, [w.m, w.n], [w.n, 1], [tm, tn])
    count = tk // form.block
    sides = ((w.s, w.m, w.over, tm), (w.t, w.n, w.across, tn))
    views = [scale_view(w, base, first if blocks else rows, tile, count, blocks) for base, rows, first, tile in sides]
    x, y, _ = w.ids
    with w.loop(0, w.tiles(a)[1], carried=[w.const(0, "f32", tm, tn)]) as loop:
        k, total = loop.counter, loop.values[0]
        left = unpacked(w.load(a, x, k), form, tm, tk)
        right = w.load(b, k, y) if straight else unpacked(w.load(b, y, k), form, tn, tk).T
        scales = [
            ordered(w.load(v, i, k, 0, 0), rows, count) if blocks else w.load(v, i, k)
            for v, i, rows in ((views[0], x, tm), (views[1], y, tn))
        ]
        loop.values = [w.op(ct.MmaFScaled, left, right, total, scales[0], scales[1].T, types=[total.type])]
    w.store(loop.values[0], d, x, y)
    return w.text()


def scale_view(w: Writer, base: Tile, rows: Tile, tile: int, count: int, blocks: bool) -> Tile:
    """Scales of `tile` rows, `count` of each; in `blocks` there are `rows` of these, `pitch` in each."""
    if not blocks:
        return w.view(base, [rows, w.scales], [w.pitch, 1], [tile, count])
    whole = ROWS * SCALES
    return w.view(
        base, [rows, w.pitch, 32, 16], [w.pitch * whole, whole, 16, 1], [tile // ROWS, count // SCALES, 32, 16]
    )


def ordered(tile: Tile, rows: int, count: int) -> Tile:
    """Blocks of scales as rows."""
    apart = tile.reshape(rows // ROWS, count // SCALES, 32, 4, SCALES)
    return apart.permute(0, 3, 2, 1, 4).reshape(rows, count)


def unpacked(tile: Tile, form: Format, rows: int, depth: int) -> Tile:
    """Factors of a tile, f4 from bytes of two."""
    if form.pack == 1:
        return tile
    flat = tile.reshape(rows * depth // form.pack)
    return flat.writer.op(ct.Unpack, flat, types=[TileType((rows * depth,), F4E2M1FN)]).reshape(rows, depth)


def program(m: int, n: int, k: int, name: str = "mxfp8", tile: tuple[int, ...] = (), blocks: bool = False) -> Program:
    """The product of one size; arrays are padded by what nobody may read."""
    form = FORMATS[name]
    tm, tn, _ = tile or form.tile
    deep, scales = max(k // form.in_byte, 16), max(-(-k // form.block), 1)
    pitch = -(-scales // SCALES) * (1 if blocks else SCALES)

    def arguments() -> list[Any]:
        if form.in_byte == 1:
            factors: list[Any] = [random((rows, deep), form.factor, 1 + i) for i, rows in enumerate((m, n))]
        else:
            rng = np.random.default_rng([m, n, k])
            factors = [rng.integers(-128, 128, (rows, deep), np.int8) for rows in (m, n)]
        found = [
            abs(random((rows, pitch * (SCALES if blocks else 1)), form.scale, 3 + i)) for i, rows in enumerate((m, n))
        ]
        found = [in_blocks(each) for each in found] if blocks else found
        size = k // form.pack
        return [
            *factors,
            *found,
            np.full((m, n), 7, np.float32),
            m,
            n,
            size,
            -(-k // form.block),
            pitch,
            *(-(-rows // ROWS) for rows in (m, n)),
        ]

    return Program("scaled", lambda: product(name, tile, blocks), arguments, (-(-m // tm), -(-n // tn)), None)


def in_blocks(scales: Any) -> Any:
    """Rows of scales as blocks [rows / 128, scales / 4, 32, 4, 4], what is missing of the last one random too."""
    rows, count = scales.shape
    first = -(-rows // ROWS)
    whole = np.resize(scales, (first * ROWS, count))
    whole[:rows] = scales
    return np.ascontiguousarray(whole.reshape(first, 4, 32, count // SCALES, SCALES).transpose(0, 3, 2, 1, 4))


def in_rows(blocks: Any) -> Any:
    """The same the other way round."""
    first, count = blocks.shape[:2]
    return blocks.transpose(0, 3, 2, 1, 4).reshape(first * ROWS, count * SCALES)


def numbers(packed: Any) -> Any:
    """The f4 in bytes, the low half first."""
    codes = np.stack([packed & 15, packed >> 4 & 15], axis=-1).reshape(len(packed), -1)
    return np.where(codes > 7, -1, 1) * E2M1[codes & 7]


def expected(arguments: list[Any], name: str, k: int) -> Any:
    """D, in f64."""
    form = FORMATS[name]
    a, b, s, t = arguments[:4]
    sides: list[Any] = []
    for factors, scales in ((a, s), (b, t)):
        plain = numbers(factors) if form.in_byte == 2 else factors.astype(np.float64)
        rows = in_rows(scales) if scales.ndim > 2 else scales
        spread = np.repeat(rows.astype(np.float64), form.block, axis=1)
        sides.append(plain[:, :k] * spread[: len(plain), :k])
    return sides[0] @ sides[1].T


def error(kernel: Kernel, given: Program, name: str, k: int, **options: Any) -> float:
    """Of the sum, in hazard mode."""
    found = simulate(kernel, given, **options)
    return largest_error(found[4], expected(given.arguments(), name, k))
