"""Folds of scores in loops that carry one element of each row per thread: simulator = interpreter = NumPy."""

import re
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import cuda_tile as ct
from ir.types import F32, TileType
from lowering.layouts.layout import Layout
from lowering.skeletons.by_lane import FEW, Runs, cut, exact_by_lane, folds, runs_of, sums_by_lane
from tests.programs.program import Program, check, random
from tests.programs.test_skeletons import TARGETS, entry_of
from tilesat.fuzz.writer import Writer

ROWS, KEYS, WIDTH, STEPS = 64, 64, 32, 8
FACTOR = 0.75
FRAGMENTS: Runs = ((8, True), (4, False), (2, True))
"""64 columns of an accumulator: pairs in one thread, in four lanes, eight times."""
HALVES: Runs = ((2, False), (4, True), (4, False), (2, True))
"""The same where two warps have half of the columns each."""


def scores(fold: str = "add", fused: bool = False, factor: bool = True) -> str:
    """y[i] = the fold over all keys of q[i] . k[j], which a loop carries; of what it carries it takes FACTOR times in
    each iteration, fused with the sum or not.
    """
    w = Writer("scores", q="ptr<f16>", k="ptr<f16>", y="ptr<f32>")
    w.promise(q=16, k=16, y=16)
    query = w.load(w.view(w.q, [ROWS, WIDTH], [WIDTH, 1], [ROWS, WIDTH]), 0, 0)
    keys = w.view(w.k, [STEPS * KEYS, WIDTH], [WIDTH, 1], [KEYS, WIDTH])
    begin = w.const(0.0 if fold == "add" else -np.inf, "f32", ROWS, 1)
    with w.loop(0, STEPS, carried=[begin]) as loop:
        (carried,) = loop.values
        found = w.dot(query, w.load(keys, loop.counter, 0).T, w.const(0.0, "f32", ROWS, KEYS))
        found = found.reduce(1, fold).reshape(ROWS, 1)
        scale = w.const(FACTOR, "f32", ROWS, 1)
        if fused:
            loop.values = [w.op(ct.Fma, carried, scale, found)]
        elif fold == "add":
            loop.values = [(carried * scale if factor else carried) + found]
        else:
            loop.values = [getattr(carried, fold)(found)]
    w.store(loop.values[0], w.view(w.y, [ROWS, 1], [1, 1], [ROWS, 1]), 0, 0)
    return w.text()


def arguments() -> list[Any]:
    return [random((ROWS, WIDTH), "f16", 1), random((STEPS * KEYS, WIDTH), "f16", 2), np.zeros((ROWS, 1), np.float32)]


def expected(fold: str, factor: bool) -> Any:
    def numpy_says(q: Any, k: Any, y: Any) -> dict[int, Any]:
        found = (q.astype(np.float64) @ k.astype(np.float64).T).reshape(ROWS, STEPS, KEYS)
        if fold == "max":
            return {2: found.max((1, 2))[:, None]}
        weights = (FACTOR if factor else 1.0) ** np.arange(STEPS - 1, -1, -1)
        return {2: (found.sum(2) @ weights)[:, None]}

    return numpy_says


KINDS = {
    "sums": ("add", False, False, ("reassoc",)), "rescaled sums": ("add", False, True, ("reassoc",)),
    "sums rescaled by fma": ("add", True, True, ("reassoc",)), "maxima": ("max", False, False, ()),
}  # fmt: skip


@pytest.mark.sampled(48)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KINDS)
def test_lanes_carry_what_they_have_folded(name: str, target: str) -> None:
    fold, fused, factor, fast = KINDS[name]
    text = scores(fold, fused, factor)
    numpy_says = expected(fold, factor)
    kernel = check(Program(name, lambda: text, arguments, (1,), numpy_says, 1e-4), target, fast=fast)
    as_written = tilesat.compile(text, target, fast=fast, forbid=("loop.lanes",))
    assert kernel.cost < as_written.cost
    assert in_loop(kernel.ptx) < in_loop(as_written.ptx)


def in_loop(ptx: str) -> int:
    """Exchanges between lanes before the last branch backward."""
    labels = {match[1]: match.start() for match in re.finditer(r"(\$\w+):", ptx)}
    back = [m.start() for m in re.finditer(r"bra(?:\.uni)? (\$\w+)", ptx) if labels[m[1]] < m.start()]
    return ptx[: max(back)].count("shfl.sync")


def test_without_permission_sums_stay() -> None:
    text = scores(fused=True)
    assert tilesat.compile(text).ptx == tilesat.compile(text, forbid=("loop.lanes",)).ptx


def carried(entry: ct.Entry) -> list[Any]:
    (loop,) = (op for op in entry.walk() if isinstance(op, ct.For))
    return [value.type for value in loop.init_values]


@pytest.mark.parametrize("fused", [False, True])
def test_what_is_carried(fused: bool) -> None:
    entry = entry_of(scores(fused=fused))
    assert carried(sums_by_lane(entry, (FRAGMENTS,))) == [TileType((ROWS, 4), F32)]
    assert carried(sums_by_lane(entry)) == [TileType((ROWS, KEYS), F32)]
    assert carried(sums_by_lane(entry, (HALVES,))) == [TileType((ROWS, 8), F32)]
    assert exact_by_lane(entry, (FRAGMENTS,)) is entry
    assert [fold.dim for fold in folds(sums_by_lane(entry, (FRAGMENTS,)))] == [2, 1]


@pytest.mark.parametrize("what", ["the addend of its fma", "halved for another reader"])
def test_other_sums_stay(what: str) -> None:
    w = Writer("other", x="ptr<f32>", y="ptr<f32>")
    view = w.view(w.x, [ROWS, KEYS], [KEYS, 1], [ROWS, KEYS])
    zero = w.const(0.0, "f32", ROWS)
    with w.loop(0, STEPS, carried=[zero, zero]) as loop:
        found = w.load(view, 0, loop.counter).reduce(1)
        half = loop.values[0] * 0.5
        fused = "fma" in what
        following = w.op(ct.Fma, found, found, loop.values[0]) if fused else half + found
        loop.values = [following, loop.values[1] if fused else half]
    for index, value in enumerate(loop.values):
        w.store(value, w.view(w.y, [ROWS], [1], [ROWS]), index)
    entry = entry_of(w.text())
    assert sums_by_lane(entry) is entry


CUTS = {
    "an accumulator": ((1, 512, 8, 16, 32), (2, 4, 64, 128, 256), (), FRAGMENTS),
    "columns of two warps": ((1, 512, 8, 16), (2, 4, 64, 128, 256), (32,), HALVES),
    "a row in one thread": ((1, 2, 4, 8, 16, 32), (64, 128, 256, 512, 0), (), ()),
    "a row across lanes": ((64, 128, 256, 512), (1, 2, 4, 8, 16), (32,), ()),
    "swizzled": ((1, 512, 8 ^ 2, 16, 32), (2, 4, 64, 128, 256), (), ((4, True), (8, False), (2, True))),
}  # fmt: skip


@pytest.mark.parametrize("name", CUTS)
def test_cuts(name: str) -> None:
    reg, lane, warp, runs = CUTS[name]
    assert cut((16, 64), 1, Layout(reg, lane, warp, 10)) == runs


def test_small_tiles_are_carried_whole() -> None:
    def runs(rows: int) -> tuple[Runs, ...]:
        w = Writer("rows", x="ptr<f32>", y="ptr<f32>")
        w.promise(x=16)
        view = w.view(w.x, [rows, KEYS], [KEYS, 1], [rows, KEYS])
        w.store(w.load(view, 0, 0).reduce(1), w.view(w.y, [rows], [1], [rows]), 0)
        return runs_of(tilesat.compile(w.text()).compiled.selection)

    few, many = 4 * 32 * FEW // KEYS, 2 * 4 * 32 * FEW // KEYS
    assert runs(few) == ((),)
    assert runs(many)[0] != ()
