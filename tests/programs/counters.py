"""Loops whose counters come to the end of their type: the number behind the last one does not fit, or changes sign."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from tests.programs.program import DTYPES, Program
from tilesat.fuzz.writer import Tile, Writer

COUNTERS: dict[str, tuple[str, int, int, int, bool]] = {
    "step-beyond": ("i32", 0, 2**31 - 1, 2**30, False),
    "one-to-the-end": ("i32", 2**31 - 4, 2**31 - 1, 1, False),
    "across-zero": ("i32", -(2**31), 2**31 - 1, 2**31 - 1, False),
    "bytes": ("i8", 100, 127, 10, False),
    "all-bytes": ("i8", -128, 127, 100, False),
    "i16": ("i16", 32000, 32767, 300, False),
    "i64": ("i64", -(2**63), 2**63 - 1, 2**62, False),
    "unsigned-across-the-sign": ("i32", 2**31 - 4, 2**31 + 3, 3, True),
    "unsigned-to-the-end": ("i32", 2**32 - 5, 2**32 - 1, 3, True),
    "none": ("i32", 5, -5, 1, False),
}
"""Type of the counter, from, up to, by, compared without a sign."""
SIZE = 32


def counter(name: str, literal: bool) -> Program:
    """What each counter was, and how many there were; `literal`: bounds and step are constants."""
    kind, *numbers, unsigned = COUNTERS[name]
    lower, upper, step = (int(np.asarray(n % 2 ** (8 * DTYPES[kind]().itemsize)).astype(f"u{DTYPES[kind]().itemsize}")
                              .view(DTYPES[kind])) for n in numbers)  # fmt: skip

    def source() -> str:
        w = Writer("counted", o="ptr<i64>", lower=kind, upper=kind, step=kind)
        bounds = [w.lower, w.upper, w.step.assume(ct.Bounded(1, None))]
        if literal:
            bounds = [w.const(n, kind) for n in (lower, upper, step)]
        more = {"unsigned_cmp": True} if unsigned else {}
        with w.loop(*bounds, carried=[w.const(0, "i64", SIZE), w.const(0, "i64")], **more) as loop:
            total, count = loop.values
            number: Tile = loop.counter if kind == "i64" else loop.counter.to("i64")
            loop.values = [total * 3 + number.splat(SIZE) + w.iota(SIZE, "i64"), count + 1]
        total, count = loop.values
        w.store(total + (count * 1000000).splat(SIZE), w.view(w.o, [SIZE], [1], [SIZE]), 0)
        return w.text()

    def arguments() -> list[Any]:
        return [np.full(SIZE, -1, np.int64), lower, upper, step]

    return Program(f"counter-{name}", source, arguments, tolerance=0.0)
