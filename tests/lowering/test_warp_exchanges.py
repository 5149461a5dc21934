"""Partial results of warps go through scratch memory by wide accesses, without overlap."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilesat
from lowering.layouts.access import access_plan
from lowering.layouts.layout import Layout
from lowering.layouts.shared import PERIOD, side_by_side
from lowering.schedule.scratch import behind
from ptxsim.errors import HazardError
from tests.lowering.test_steady_states import attention
from tests.programs.program import Program, check, random, reported, simulate
from tilesat.fuzz.writer import Writer

SIDE, STEPS = 64, 12
ORDERS = tuple(f"skewed:{seed}" for seed in range(5))


def folded() -> Program:
    """Columns of x are folded across warps, twice, and the tile is turned through more scratch than that takes."""

    def source() -> str:
        w = Writer("folded", x="ptr<f32>", y="ptr<f32>")
        w.promise(x=16, y=16)
        view = w.view(w.x, [SIDE, SIDE], [SIDE, 1], [SIDE, SIDE])
        with w.loop(0, STEPS, carried=[w.load(view, 0, 0)]) as loop:
            value = loop.values[0]
            value = value - value.reduce(0, "max").row(SIDE) * 0.01
            value = value - value.reduce(0).row(SIDE) * 0.01
            loop.values = [value.T]
        w.store(loop.values[0], w.view(w.y, [SIDE, SIDE], [SIDE, 1], [SIDE, SIDE]), 0, 0)
        return w.text()

    def expected(x: np.ndarray, y: np.ndarray) -> dict[int, np.ndarray]:
        x = x.astype(np.float64)
        for _ in range(STEPS):
            x = x - x.max(axis=0) * 0.01
            x = (x - x.sum(axis=0) * 0.01).T
        return {1: x}

    return Program("folded", source, lambda: [random((SIDE, SIDE), "f32", seed) for seed in (1, 2)], (1,), expected)


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_80", pytest.param("sm_120a", marks=pytest.mark.slow)])
def test_columns_across_warps(target: str) -> None:
    """The second fold is next to the first, the transposed tile overlaps both, so it waits for the readers."""
    kernel = check(folded(), target)
    loop = kernel.ptx[kernel.ptx.index("$L0:") :]
    assert loop.count("ld.shared.v2.b32") == 2  # what both warps of a column have
    assert loop.count("bar.sync") == 5
    wanted = simulate(kernel, folded())[1]
    for order in ORDERS:
        assert simulate(kernel, folded(), schedule=order)[1].tobytes() == wanted.tobytes()


@pytest.mark.parametrize("number", range(5))
def test_without_one_of_its_barriers_it_is_a_race(number: int) -> None:
    kernel = tilesat.compile(folded().source(), "sm_80")
    at = [found.start() for found in re.finditer(r"bar\.sync 0;", kernel.ptx[kernel.ptx.index("$L0:") :])][number]
    at += kernel.ptx.index("$L0:")
    broken = kernel.ptx[:at] + kernel.ptx[at:].replace("bar.sync 0;", "", 1)
    with pytest.raises(HazardError):
        reported(kernel, folded(), ptx=broken)


@pytest.mark.in_turn
def test_rows_of_attention_across_warps() -> None:
    """32 rows a warp, 64 keys in two of them: four rows a thread leave by one store, and come by two loads."""
    ptx = tilesat.compile(attention(128, False, 129).source(), "sm_80").ptx
    code = ptx[ptx.index("$L0:") :]
    assert len(re.findall(r"@%p\d+ st\.shared\.v4\.b32", code)) == 4  # two folds, with masks and without
    assert not re.findall(r"(ld|st)\.shared\.b32", code)


PLAIN = Layout((1, 2, 64), (0, 0, 4, 8, 16), (32, 0), 7)
APART = Layout((8, 64), (1, 2, 4, 0, 0), (16, 32), 7)
MIXED = Layout((3, 64), (1, 4, 8, 16, 32), (0,), 7)


@pytest.mark.parametrize(
    ("layout", "size", "vector", "accesses"),
    [(PLAIN, 4, 4, 2), (APART, 4, 4, 1), (APART, 8, 2, 2), (PLAIN, 2, 8, 1), (MIXED, 4, 2, 2)],
)
def test_registers_of_a_thread_side_by_side(layout: Layout, size: int, vector: int, accesses: int) -> None:
    shared = side_by_side(layout, size)
    assert sorted(shared.place(element) for element in range(1 << layout.bits)) == list(range(1 << layout.bits))
    plan = access_plan(layout, shared)
    assert (plan.vector, len(plan.accesses)) == (vector, accesses)


@pytest.mark.parametrize(
    ("before", "need", "most", "found"),
    [
        (range(0), 1024, 1024, 0),
        (range(4096, 5120), 1024, 1024, 0),  # no room beside
        (range(4096, 5120), 1024, 16384, 1024),
        (range(4096, 4608), 512, 1024, 512),
        (range(4096, 4352), 256, 1024, 512),
        (range(4608, 5120), 512, 1024, 0),
        (range(4096, 4608), 1024, 2048, 1024),  # as far as a swizzle reaches
        (range(4096, 20480), 1024, 16384, 0),
        (range(4096), 1024, 1024, 0),
    ],
)
def test_next_to_what_was_used_before(before: range, need: int, most: int, found: int) -> None:
    first = 4 * PERIOD
    assert behind(before, first, need, first + most) == first + found
