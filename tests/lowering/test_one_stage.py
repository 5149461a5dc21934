"""Rings of one stage: if shared memory cannot hold two stages, tiles still come by tensor copies of an agent."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import tilesat
from ptxsim import SimulatorError
from tests.programs.products import attention, product
from tests.programs.program import PROGRAMS, Program, check, simulate
from tilesat.kernel import Kernel

DEPTH = 512
TILE = (64, 64, DEPTH)  # 128 KB a step of 227 KB
attention("one-stage", "f16", 64, 256, 2 * 128 - 5, 128)
ATTENTION = PROGRAMS.pop("one-stage")  # not of the corpus


def deep(steps: int, short: int = 0) -> Program:
    """A product of so many steps, the last `short` elements short of a whole one."""
    return product(f"deep-{steps}", TILE, (64, 64, steps * DEPTH - short))


@cache
def deepest() -> Kernel:
    return tilesat.compile(deep(3).source(), "sm_90a")


def rings(kernel: Kernel) -> list[int]:
    """Stages of the rings that agents fill."""
    return [int(n) for n in re.findall(r"create_pipeline.*!nv_tileas\.pipeline<(\d+)>", kernel.stages["nv_tileas"])]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_product_of_deep_tiles(steps: int) -> None:
    kernel = check(deep(steps, short=steps * 8), "sm_90a")
    assert rings(kernel) == [1]
    assert "wgmma.mma_async" in kernel.ptx


def test_no_step_leaves_zeros() -> None:
    program = deep(3)
    given = program.arguments()
    given[5] = 0  # k
    deepest().run(program.grid, *given, on="sim")
    assert not given[2][:64, :64].any()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_warps(seed: int) -> None:
    program = deep(3)
    together, found = simulate(deepest(), program), simulate(deepest(), program, schedule=f"skewed:{seed}")
    assert np.array_equal(together[2], found[2])


@pytest.mark.parametrize("lost", ["mbarrier.try_wait", "mbarrier.arrive.shared"])
def test_each_waits_for_the_other(lost: str) -> None:
    """Without a wait, or without the readers' arrival, a race is found or nobody goes on."""
    kernel, program = deepest(), deep(3)
    lines = kernel.ptx.splitlines()
    (place, *_) = [i for i, line in enumerate(lines) if lost in line]
    end = 2 if lost == "mbarrier.try_wait" else 1  # the branch back to it too
    with pytest.raises(SimulatorError):
        simulate(kernel, program, ptx="\n".join([*lines[:place], *lines[place + end :]]))


@pytest.mark.slow
def test_attention_of_wide_heads() -> None:
    """64 KB of keys and 64 KB of values: the values are not read into the next iteration, nothing is left in use."""
    kernel = check(ATTENTION, "sm_90a")
    assert set(rings(kernel)) == {1}
    skewed = simulate(kernel, ATTENTION, schedule="skewed:1")
    assert np.array_equal(skewed[3], simulate(kernel, ATTENTION)[3])


@pytest.mark.in_turn
def test_readers_that_fill_their_ring_need_two() -> None:
    assert "create_pipeline" not in check(deep(2), "sm_80", spills=True).stages["nv_tileas"]
