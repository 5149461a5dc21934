"""Arrays of more than 2^31 elements along a dimension, or with longer strides: places and sizes are i64 there.

Only the end of each array is there: its base is a pointer so far before what is given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.program import Program
from tilesat.fuzz.writer import Writer

TILE, SIDE, TILES = 256, 16, 2
FAR = (1 << 31) - TILE  # of the first element that is there; the second tile is beyond 2^31
STRIDES = {"2^31": 1 << 31, "3e9": 3_000_000_000, "2^32": 1 << 32}


def far_row(dynamic: bool) -> Program:
    """Copy the last tiles of a row, whose last elements are outside; `dynamic`: its size is an i64 argument."""
    size = FAR + TILES * TILE - 5

    def source() -> str:
        w = Writer("far_row", a="ptr<i8>", o="ptr<i8>", n="i64")
        near = [each[w.const(-FAR, "i64")] for each in (w.a, w.o)]
        a, o = (w.view(each, [w.n if dynamic else size], [1], [TILE]) for each in near)
        number = w.ids[0] + FAR // TILE
        w.store(w.load(a, number) + 1, o, number)
        return w.text()

    def arguments() -> list[Any]:
        a = np.arange(TILES * TILE).astype(np.int8)
        return [a, np.full_like(a, 99), size]

    def expected(a: Any, o: Any, _: int) -> dict[int, Any]:
        return {1: np.concatenate([a[:-5] + 1, o[-5:]])}

    return Program("far-row", source, arguments, (TILES,), expected, 0.0)


def far_rows(stride: int) -> Program:
    """Copy the second of two squares that lie so far apart."""

    def source() -> str:
        w = Writer("far_rows", a="ptr<i8>", o="ptr<i8>")
        near = [each[w.const(-stride, "i64")] for each in (w.a, w.o)]
        a, o = (w.view(each, [2, SIDE, SIDE], [stride, SIDE, 1], [1, SIDE, SIDE]) for each in near)
        w.store(w.load(a, w.ids[0] + 1, 0, 0) + 1, o, w.ids[0] + 1, 0, 0)
        return w.text()

    def arguments() -> list[Any]:
        a = np.arange(SIDE * SIDE).astype(np.int8)
        return [a, np.full_like(a, 99)]

    return Program("far-rows", source, arguments, tolerance=0.0)


def long_sum(size: int) -> str:
    """Sums of tiles that a ring could bring, of an array of so many halves."""
    w = Writer("long_sum", a="ptr<f16>", o="ptr<f32>", steps="i32")
    w.promise(a=16, o=16, steps=1)
    a = w.view(w.a, [size, 64], [64, 1], [64, 64])
    with w.loop(0, w.steps, carried=[w.const(0, "f32", 64, 64)]) as loop:
        tile = w.load(a, loop.counter, 0)
        loop.values = [w.dot(tile, tile.T, loop.values[0])]
    w.store(loop.values[0], w.view(w.o, [64, 64], [64, 1], [64, 64]), 0, 0)
    return w.text()
