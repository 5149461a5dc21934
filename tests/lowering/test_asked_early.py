"""The next tile block is requested before the work of this one and awaited after it (clusterlaunchcontrol)."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import nv_tileas
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.lowering.test_cluster_reductions import ERROR, error, of_rows, rows, standardised
from tests.lowering.test_persistent import counted
from tests.programs.program import Program, simulate
from tilesat.execution import simulate as simulate_ptx
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

TARGETS = ("sm_100a", "sm_120a")
ORDERS = ("together", *(f"skewed:{seed}" for seed in range(5)))
SIZE = 512


def marked() -> str:
    """Each tile block adds to its own elements of y [x, 512] those in another order, through scratch memory."""
    w = Writer("marked", y="ptr<i32>")
    w.promise(y=16)
    view = w.view(w.y, [64, SIZE], [SIZE, 1], [1, SIZE])
    tile = w.load(view, w.ids[0], 0)
    total = tile.reduce(1).reshape(1, 1).broadcast(1, SIZE)
    w.store(tile + total, view, w.ids[0], 0)
    return w.text()


@cache
def compiled(target: str = "sm_100a") -> Kernel:
    made = tilesat.compile(marked(), target, persistent="dynamic")
    assembled = assemble(made.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)
    return made


def right(kernel: Kernel, ptx: str = "", **options: Any) -> bool:
    """Eleven tile blocks by three CTAs: is each done once?"""
    given = np.random.default_rng(1).integers(-9, 9, (64, SIZE), np.int32)
    found = given.copy()
    options = {"hazards": True, "max_instructions": 100_000, "resident": 3, **options}
    simulate_ptx(ptx or kernel.ptx, kernel.manifest, (11, 1, 1), [found], **options)
    given[:11] += given[:11].sum(axis=1, keepdims=True)
    return bool((found == given).all())


@pytest.mark.parametrize("target", TARGETS)
def test_the_answer_is_waited_for_behind_the_work(target: str) -> None:
    ptx = compiled(target).ptx
    places = [ptx.index(each) for each in ("try_cancel", "ld.global", "st.global", "try_wait", "query_cancel")]
    assert places == sorted(places)
    assert ptx.count("clusterlaunchcontrol.try_cancel") == 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("order", ORDERS)
def test_skewed_orders(order: str, target: str) -> None:
    assert right(compiled(target), schedule=order)


@pytest.mark.in_turn
@pytest.mark.parametrize("order", ORDERS[:2])
def test_a_tile_that_ends_early(order: str) -> None:
    """Its answer is waited for before that."""
    made = tilesat.compile(counted(), "sm_100a", persistent="dynamic")
    program = Program("counted", counted, lambda: [np.zeros((2, 4, 9), np.int32)], (9, 4, 2), None)
    found = simulate(made, program, resident=3, schedule=order)[0]
    wanted = np.broadcast_to(np.where(np.arange(9) % 2, 100, 1), (2, 4, 9)).copy()
    wanted[:, 2] = 0
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("order", ORDERS[:3])
def test_rows(order: str) -> None:
    made = tilesat.compile(of_rows(1024, standardised), "sm_120a", persistent="dynamic")
    assert len(requests(made)) == 1
    assert error(made, rows(1024, standardised), schedule=order, resident=2) < ERROR


def test_where_another_agent_runs_the_main_loop_it_comes_first() -> None:
    """The warps that convert and store wait during the loop anyway, so nothing is between request and response."""
    made = tilesat.compile("examples/gemm.mlir", "sm_100a", persistent="dynamic")
    (switch,) = (op for op in made.compiled.modules["nv_tileas"].walk() if isinstance(op, nv_tileas.AgentSwitch))
    assert switch.roles[-1] == nv_tileas.MULTIPLY
    assert not requests(made)


def requests(kernel: Kernel) -> list[Any]:
    """Those that are apart from their answers."""
    return [op for op in kernel.compiled.modules["nv_tileas"].walk() if isinstance(op, nv_tileas.RequestProgramId)]


def test_nothing_lies_over_the_answer() -> None:
    func = compiled().compiled.modules["nv_tileas"]
    (request,) = requests(compiled())
    (answer,) = (op for op in func.walk() if isinstance(op, nv_tileas.CancelNextProgramId))
    scratch = [int(op.attributes["scratch"]) for op in func.walk() if "scratch" in op.attributes]
    assert request.slot == answer.slot > max(scratch)


# --- the protocol

WAIT = r"\s+\$W\d+:\s+mbarrier\.try_wait.*\n.*bra \$W\d+;"
MUTANTS: dict[str, tuple[str, str]] = {
    "no barrier": (r"mbarrier\.init.*", ""),
    "counts two": (r"(mbarrier\.init\S* \S+), 1;", r"\1, 2;"),
    "nothing expected": (r"mbarrier\.arrive\.expect_tx.*", ""),
    "eight bytes expected": (r"(mbarrier\.arrive\.expect_tx.*), 16;", r"\1, 8;"),
    "one more byte": (r"(mbarrier\.arrive\.expect_tx.*), 16;", r"\1, 17;"),
    "no request": (r"clusterlaunchcontrol\.try_cancel.*", ""),
    "two requests": (r"(clusterlaunchcontrol\.try_cancel.*)", r"\1 \1"),
    "not waited for": (WAIT, ""),
    "the other parity": (r"(mbarrier\.try_wait.*), 0;", r"\1, 1;"),
    "read before the wait": (f"({WAIT})" + r"((?:\s+ld\.shared\.b64 .*){2})", r"\2\1"),
    "barrier left as it was": (r"mbarrier\.inval.*", ""),
    "not the fence": (r"fence\.proxy\.async\.shared::cta;", ""),
    "asked by each warp": (r"(setp\.eq\.s32 %p\d+, (%r\d+), 0;)", r"and.b32 \2, \2, 31; \1"),
    "no barrier behind": (r"(st\.shared\.b32 .*\s+\$L\d+:)\s+bar\.sync 0;(?=\s+ld\.shared\.b32)", r"\1"),
    "asks on when there is none": (r"@!(%p\d+) bra (\$L\d+);(?=\s+\$L\d+:\s+@!%p\d+ bra)", r"@!\1 bra AGAIN; AGAIN:"),
    "the answer over scratch memory": (r"\[(%r\d+)\+\d+\], \[\1\+(\d+)\];", r"[\1], [\1+\2];"),
    "y for x": (r"(ld\.shared\.b32 %r0, \[%r2)\+516\]", r"\1+520]"),
}
"""Pattern in PTX and what is written there instead."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_protocol_are_caught(name: str) -> None:
    ptx = changed(compiled().ptx, MUTANTS[name])
    caught(lambda order: right(compiled(), ptx, schedule=order), ORDERS)


def test_the_mutants_change_one_request() -> None:
    assert len(re.findall("mbarrier.init", compiled().ptx)) == 1
