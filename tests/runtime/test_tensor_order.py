"""Moves and sums of all warps and CTAs at once leave what those of one after the other do, and hide no hazard."""

import numpy as np
import pytest

from ptxsim.access import Site
from ptxsim.clocks import Clocks
from ptxsim.findings import Findings
from ptxsim.geometry import WARP, Geometry
from ptxsim.machine import Machine
from ptxsim.memory import GlobalMemory
from ptxsim.program import Entry, Instruction
from ptxsim.tensor_order import TensorOrder

CTAS, WARPS, SLABS = 2, 8, 4
STATE = ("operation", "user", "_moving", "_column", "_epoch", "_stored", "_written")
INSTRUCTION = Instruction("tcgen05.ld", "tcgen05", ("ld",), [], None, 1, "tcgen05.ld")


def orders(grain: int) -> tuple[Machine, Clocks, list[TensorOrder]]:
    machine = Machine(
        Entry("kernel", 1), Geometry((CTAS, 1, 1), (WARPS * WARP, 1, 1), (1, 1, 1)), CTAS, GlobalMemory(), 64, 0
    )
    machine.findings = Findings("report")
    clocks = Clocks(machine)
    clocks.grow(1)
    return machine, clocks, [TensorOrder(machine, clocks, grain) for _ in range(2)]


def one_by_one(order: TensorOrder, site: Site, warps: np.ndarray, rows: slice, columns: slice, is_store: bool) -> None:
    for cta, lanes in enumerate(warps.tolist()):
        for number, lane in enumerate(lanes):
            first = rows.start + number * WARP
            order.move(site, lane, cta, slice(first, first + WARP), columns, is_store)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("grain", [1, 16])
@pytest.mark.parametrize("seed", range(4))
def test_moves_together_are_those_of_each_warp(grain: int, seed: int) -> None:
    machine, clocks, (together, apart) = orders(grain)
    site = Site(machine, INSTRUCTION)
    rng = np.random.default_rng(seed)
    clean = 0
    for _ in range(120):
        action = rng.choice(["load", "store", "wait", "mma", "complete", "barrier"])
        first, warp = int(rng.integers(0, 3)) * 8, int(rng.integers(0, 3))
        columns, count = slice(first, first + 8 * int(rng.integers(1, 3))), int(rng.integers(1, SLABS - warp + 1))
        warps = (
            np.arange(CTAS)[:, None] * WARPS * WARP + (SLABS * int(rng.integers(2)) + warp + np.arange(count)) * WARP
        )
        rows = slice(warp * WARP, (warp + count) * WARP)
        if action in ("load", "store"):
            is_store = action == "store"
            before = [np.copy(getattr(together, name)) for name in STATE]
            found = sum(hazard.count for hazard in machine.findings.hazards(""))
            one_by_one(apart, site, warps, rows, columns, is_store)
            has_hazard = sum(hazard.count for hazard in machine.findings.hazards("")) > found
            if together.moves(warps, (slice(0, CTAS), rows, columns), is_store):
                assert not has_hazard
                clean += 1
            else:
                for name, state in zip(STATE, before, strict=True):
                    np.testing.assert_array_equal(getattr(together, name), state)
                one_by_one(together, site, warps, rows, columns, is_store)
        elif action == "wait":
            present, of_stores = rng.random((CTAS, WARPS)) < 0.8, bool(rng.integers(2))
            for order in (together, apart):
                order.wait(present, of_stores)
        elif action == "mma":
            for order in (together, apart):
                for cta in range(CTAS):
                    (number,) = order.begin(site, [cta * WARPS * WARP], "tcgen05.mma", "")
                    order.operation[cta, :, columns] = order.user[cta, :, columns] = number
        elif action == "complete":
            knows = rng.random((CTAS, WARPS)) < 0.7
            phase = int(rng.integers(0, 3))
            clocks.known[knows, clocks.mbarrier_columns] = phase + 1
            for order in (together, apart):
                for cta in range(CTAS):
                    order.complete(len(order.operations), cta * WARPS * WARP, clocks.mbarrier_columns, phase)
        else:
            clocks.met(0, rng.random(machine.lanes) < 0.9)
        for name in STATE:
            np.testing.assert_array_equal(getattr(together, name), getattr(apart, name))
    assert clean > 3


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(6))
def test_sums_together_are_those_of_each_cta(seed: int) -> None:
    machine, clocks, (together, apart) = orders(16)
    site, rng = Site(machine, INSTRUCTION), np.random.default_rng(seed)
    kinds, rows, clean, again = ("tcgen05.mma",), slice(0, 64), 0, 0
    columns, lane, shape = slice(0, 8), 0, 0
    found = lambda: sum(hazard.count for hazard in machine.findings.hazards(""))  # noqa: E731
    for step in range(300):
        action = rng.choice(["sum", "load", "store", "wait", "complete", "barrier"], p=[0.7, *[0.06] * 5])
        if rng.random() < 0.2:
            first = int(rng.integers(0, 3)) * 8
            columns, lane = slice(first, first + 8 * int(rng.integers(1, 3))), int(rng.integers(2)) * WARP
            shape = int(rng.integers(2))
        lanes = [lane + cta * WARPS * WARP for cta in range(CTAS)]
        if action == "sum":
            keeps = bool(rng.random() < 0.8)
            _, numbers = (order.begin(site, lanes, "tcgen05.mma", shape) for order in (together, apart))
            was_known = bool(together._sums)
            was_fine = together.accumulate(numbers, np.arange(CTAS), rows, columns, keeps)
            before = found()
            for order in (apart,) if was_fine else (together, apart):
                for cta, number in enumerate(numbers):
                    if keeps:
                        order.read(number, cta, rows, columns, kinds)
                    order.write(number, cta, rows, columns)
            assert not was_fine or found() == before
            clean, again = clean + was_fine, again + (was_fine and was_known)
        else:
            for order in (together, apart):
                if action in ("load", "store"):
                    warps, is_store = np.array(lanes)[:, None], action == "store"
                    cells = slice(0, CTAS), slice(0, WARP), columns
                    if order is apart or step % 2 or not order.moves(warps, cells, is_store):
                        one_by_one(order, site, warps, *cells[1:], is_store)
                elif action == "wait":
                    order.wait(np.ones((CTAS, WARPS), np.bool_), bool(step % 2))
                elif action == "complete":
                    clocks.known[:, :, clocks.mbarrier_columns] = step + 1
                    for lane_of in (0, WARP):
                        for cta in range(CTAS):
                            thread = lane_of + cta * WARPS * WARP
                            order.complete(len(order.operations), thread, clocks.mbarrier_columns, step)
            if action == "barrier":
                clocks.met(0, np.ones(machine.lanes, np.bool_))
        for name in STATE:
            np.testing.assert_array_equal(getattr(together, name), getattr(apart, name))
    assert clean > again > 10
