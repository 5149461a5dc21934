"""Loops that follow one another share a ring, or the memory of their rings; every barrier of that is needed."""

from __future__ import annotations

import re

import pytest

import tilesat
from runtime.simulator import SimulatorError
from tests.programs.program import Program, check, simulate
from tests.programs.rings import causal_attention, two_products

PAIR = (64, 64, 64)
TIERS = ("sm_80", "sm_90a", "sm_120a")


def rings(program: Program, target: str) -> tuple[int, list[int]]:
    """Rings that agents fill, and the offsets of all buffers."""
    text = tilesat.compile(program.source(), target).stages["nv_tileas"]
    return text.count("create_pipeline"), [int(x) for x in re.findall(r"alloc_tensor.*?offset = (\d+)", text)]


@pytest.mark.parametrize("target", TIERS)
def test_causal_attention_in_two_loops(target: str) -> None:
    program = causal_attention(64, 64, 32, 2)
    kernel = check(program, target, spills=target == "sm_120a")  # ptxas 13.5: a stack of 8 bytes, no store
    pipelines, offsets = rings(program, target)
    assert pipelines == (0 if target == "sm_80" else 1)
    assert kernel.manifest["dynamic_smem"] < 8 * 8192 + 8192 + 256  # at most six stages of 8 KB, the queries, barriers
    assert len(offsets) > len(set(offsets))


@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
def test_persistent_causal_attention(target: str) -> None:
    """Stage and parity go through both loops and around the outer one."""
    check(causal_attention(64, 64, 32, 3, persistent=True), target, spills=target == "sm_120a")


@pytest.mark.parametrize("target", TIERS)
@pytest.mark.parametrize("form", ["plain", "branch", "repeated"])
def test_products_in_two_loops(target: str, form: str) -> None:
    program = two_products(form, PAIR, branch=form == "branch", repeated=form == "repeated")
    kernel = check(program, target, spills=target == "sm_120a")
    assert kernel.manifest["dynamic_smem"] <= 6 * 16384 + 256


def test_more_iterations_than_stages() -> None:
    check(two_products("long", (64, 64, 32), steps=(7, 9)), "sm_90a")


def test_rings_of_tensor_copies_and_of_threads_lie_apart() -> None:
    """One of each kind does not fit beside the other with as many stages as one ring for both: fewer are chosen."""
    kernel = check(two_products("mixed", (128, 128, 64), pitches=(0, 2)), "sm_90a")
    assert kernel.ptx.count("cp.async.bulk.tensor") > 0
    assert "cp.async.mbarrier.arrive" in kernel.ptx
    assert kernel.manifest["dynamic_smem"] <= 232448


def test_what_the_first_loop_leaves_in_use_is_released() -> None:
    """Its last products run until it has ended; the producer needs their stage for the second loop."""
    program = two_products("plain", PAIR, steps=(7, 9))
    kernel = tilesat.compile(program.source(), "sm_90a")
    waits = [m.end() for m in re.finditer(r"wgmma\.wait_group\.sync\.aligned 0;", kernel.ptx)]
    after = kernel.ptx[waits[0] :]
    broken = kernel.ptx[: waits[0]] + re.sub(
        r"(@%p\d+ )?mbarrier\.arrive\.shared::cta\.b64 _,[^;]*;", "", after, count=1
    )
    assert broken != kernel.ptx
    with pytest.raises(SimulatorError):
        simulate(kernel, program, ptx=broken)


def test_threads_wait_before_they_fill_memory_of_the_former_ring() -> None:
    """Without the barrier between the loops, one warp overwrites what another one still reads."""
    program = two_products("plain", PAIR, steps=(7, 9))
    kernel = tilesat.compile(program.source(), "sm_80")
    barriers = list(re.finditer(r"bar\.sync 0;|barrier\.sync 0;", kernel.ptx))
    found = 0
    for each in barriers:
        try:
            simulate(kernel, program, ptx=kernel.ptx[: each.start()] + kernel.ptx[each.end() :])
        except SimulatorError:
            found += 1
    assert found == len(barriers) == 3  # one in each loop, one between them
