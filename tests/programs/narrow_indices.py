"""Tiles whose index is of another integer type than i32, read as unsigned; pointers with offsets that have a sign."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.program import DTYPES, Program, random
from tilesat.fuzz.writer import Writer

ROWS, COLUMNS, TILES, FIRST = 32, 64, 132, 126
"""Tiles of an array, of which four are copied from the first on: as bytes with a sign some are negative."""


def narrow_index(kind: str) -> Program:
    """Copy tiles by an index of this type."""

    def source() -> str:
        w = Writer("narrow", a="ptr<f32>", o="ptr<f32>")
        w.promise(a=16, o=16)
        a, o = (w.view(each, [ROWS * TILES, COLUMNS], [COLUMNS, 1], [ROWS, COLUMNS]) for each in (w.a, w.o))
        index = [(w.ids[0] + FIRST), w.i32(0)]
        index = index if kind == "i32" else [each.to(kind) for each in index]
        w.store(w.load(a, *index) + 1.0, o, *index)
        return w.text()

    def arguments() -> list[Any]:
        return [random((ROWS * TILES, COLUMNS), "f32", seed) for seed in (1, 2)]

    def expected(a: Any, o: Any) -> dict[int, Any]:
        span = slice(FIRST * ROWS, (FIRST + 4) * ROWS)
        o[span] = a[span] + 1
        return {1: o}

    return Program(f"index-{kind}", source, arguments, (4,), expected, 1e-6)


def narrow_offset(kind: str) -> Program:
    """Elements at offsets of this type, from the middle of an array on."""
    size = 64

    def source() -> str:
        w = Writer("offsets", a="ptr<f32>", o="ptr<f32>", t=f"ptr<{kind}>")
        offset = w.load(w.view(w.t, [size], [1], [size]), 0)
        near, _ = w.gather(w.a[w.i32(size)][offset])
        first, _ = w.gather(w.a[w.i32(size)][w.gather(w.t)[0]])
        w.store(near + first.splat(size), w.view(w.o, [size], [1], [size]), 0)
        return w.text()

    def arguments() -> list[Any]:
        offsets = np.random.default_rng(3).permutation(np.arange(-size, size))[:size]
        return [random((2 * size,), "f32", 1), random((size,), "f32", 2), offsets.astype(DTYPES[kind])]

    def expected(a: Any, _: Any, t: Any) -> dict[int, Any]:
        return {1: a[t.astype(int) + size] + a[int(t[0]) + size]}

    return Program(f"offset-{kind}", source, arguments, (1,), expected, 1e-6)
