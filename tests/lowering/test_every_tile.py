"""Every tile block exactly once: by any number of SMs from 1 to 148, of any number of tile blocks, in each schedule.

A tile block adds 1 to its own element, so what one launch costs is its start. The number of SMs is that of the CTAs
that are there at once: what the launcher starts of *static* and *atomic*, what the hardware starts of *dynamic*.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import tilesat
from tests.lowering.protocol import caught, changed
from tilesat.execution import simulate
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

MOST_SMS = 148  # of a B200
FEW = 8  # numbers of SMs of one test
TARGETS = {"static": "sm_90a", "atomic": "sm_90a", "dynamic": "sm_100a"}
Grid = tuple[int, int, int]


def ticked(size: int) -> str:
    """Each tile block adds 1 to its own elements, which the CTAs of a cluster divide."""
    w = Writer("ticked", y="ptr<i32>")
    x, y, z = w.ids
    place = ((z * w.grid[1] + y) * w.grid[0] + x) * size
    each = w.y[place] if size == 1 else w.y[w.iota(size) + place.splat(size)]
    w.update(each, w.const(1, "i32", *(size,) * (size > 1)), mode="add")
    return w.text()


@cache
def kernel(schedule: str, ctas: int) -> Kernel:
    return tilesat.compile(ticked(32 * (ctas - 1) or 1), TARGETS[schedule], persistent=schedule, num_ctas=ctas)


def done(kernel: Kernel, grid: Grid, sms: int, ptx: str = "") -> bool:
    """Is each tile block done once?"""
    size = 32 * (kernel.manifest["cluster"][0] - 1) or 1
    found = np.full((*grid, size), 5, np.int32)
    simulate(ptx or kernel.ptx, kernel.manifest, grid, [found], resident=sms, max_instructions=1_000_000)
    return bool((found == 6).all())


def grids(sms: int, ctas: int) -> list[Grid]:
    """One tile block, primes, multiples of what runs at once and one more or less, more than one axis."""
    at_once = max(1, sms // ctas)
    counts = {1, 2, 7, 37, 97, *(n * at_once + d for n in (1, 2, 3) for d in (-1, 0, 1))} - {0}
    return [*((count, 1, 1) for count in sorted(counts)), (1, 13, 1), (3, 5, 2), (17, 9, 1)]


@pytest.mark.sampled(60)
@pytest.mark.parametrize("first", range(1, MOST_SMS + 1, FEW))
@pytest.mark.parametrize("schedule", TARGETS)
def test_any_number_of_multiprocessors(schedule: str, first: int) -> None:
    made = kernel(schedule, 1)
    for sms in range(first, min(first + FEW, MOST_SMS + 1)):
        wrong = [grid for grid in grids(sms, 1) if not done(made, grid, sms)]
        assert not wrong, f"{sms} SMs"


@pytest.mark.sampled(24)
@pytest.mark.parametrize("first", range(2, MOST_SMS + 1, 3 * FEW))
@pytest.mark.parametrize("schedule", TARGETS)
def test_any_number_of_clusters(schedule: str, first: int) -> None:
    """Of two CTAs, by any even number of SMs."""
    made = kernel(schedule, 2)
    for sms in range(first, min(first + 3 * FEW, MOST_SMS + 1), 2):
        wrong = [grid for grid in grids(sms, 2)[::3] if not done(made, grid, sms)]
        assert not wrong, f"{sms} SMs"


@pytest.mark.parametrize(
    ("schedule", "change"),
    [
        ("static", (r"(add\.s32 (%r\d+), %r4, %r5;)", r"\1 add.s32 \2, \2, 1;")),
        ("atomic", (r"(add\.s32 (%r\d+), %r11, %r5;)", r"\1 add.s32 \2, \2, 1;")),
        ("dynamic", (r"clusterlaunchcontrol\.try_cancel.*", r"\g<0> \g<0>")),
    ],
)
def test_a_tile_left_out_is_seen(schedule: str, change: tuple[str, str]) -> None:
    made = kernel(schedule, 1)
    ptx = changed(made.ptx, change)
    caught(lambda order: done(made, (37, 1, 1), 7, ptx), ["together"])
