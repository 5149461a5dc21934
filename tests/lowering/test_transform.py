"""Tiles that an agent computes for the consumers: right for any number of steps in any order of warps, live, each part
of the protocol needed, chosen where it is predicted to be faster, and left to the consumers where it cannot be.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import tilesat
from ir.core import Block, Op, TileError
from ir.dialects import nv_tileas
from lowering.atoms.names import BY_TRANSFORMER
from lowering.layouts.layout import Layout
from lowering.schedule.transform import by_warps
from tests.lowering.protocol import caught
from tests.lowering.report import outline
from tests.lowering.test_live import all_of
from tests.lowering.test_live import changed as changed_program
from tests.programs.program import Program, check, interpret, read_back, simulate
from tests.programs.transformed import computed_factor
from tilesat.execution import largest_error
from tilesat.kernel import Kernel

TARGET = "sm_90a"
ORDERS = tuple(f"skewed:{seed}" for seed in range(5))
CASES: dict[str, dict[str, Any]] = {
    "scaled": {"rows_of_k": True},
    "protocol": {"rows_of_k": True, "steps": 7},
    "no-steps": {"rows_of_k": True, "steps": 0},
    "one-step": {"rows_of_k": True, "steps": 1},
    "two-steps": {"rows_of_k": True, "steps": 2},
    "as-many-steps-as-stages": {"rows_of_k": True, "steps": 3},
    "more-steps-than-stages": {"rows_of_k": True, "steps": 7, "tail": (3, 5, 7)},
    "columns": {"steps": 4, "tail": (0, 9, 3)},
    "scales-by-step": {"scales": "group", "steps": 4},
    "f8": {"element": "f8E4M3FN", "scales": "none", "rows_of_k": True},
    "plain": {"scales": "none", "steps": 6},
    "f8-columns": {"element": "f8E5M2", "scales": "none", "steps": 7, "tail": (3, 9, 7)},
    "ctas": {"rows_of_k": True, "grid": (2, 2), "tail": (9, 9, 9), "steps": 2},
    "in-tiles": {"rows_of_k": True, "scales": "group", "tiles": 3, "steps": 4},
}


@cache
def compiled(name: str) -> tuple[Program, Kernel]:
    """Checked against the interpreter and NumPy, with hazards watched; ptxas spills nothing."""
    program = computed_factor(name, **CASES[name])
    return program, check(program, TARGET)


def switch_of(kernel: Kernel) -> nv_tileas.AgentSwitch:
    """Its agents."""
    return next(op for op in kernel.compiled.modules["nv_tileas"].walk() if isinstance(op, nv_tileas.AgentSwitch))


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", CASES)
def test_products(name: str) -> None:
    program, kernel = compiled(name)
    assert nv_tileas.TRANSFORM in switch_of(kernel).roles
    found, wanted = simulate(kernel, program, schedule=ORDERS[0])[3], interpret(kernel, program)[3]
    assert largest_error(found, wanted) <= program.tolerance


@pytest.mark.sampled(30)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["more-steps-than-stages", "f8-columns", "in-tiles"])
def test_skewed_orders(name: str, order: str) -> None:
    program, kernel = compiled(name)
    found, wanted = simulate(kernel, program, schedule=order)[3], interpret(kernel, program)[3]
    assert largest_error(found, wanted) <= program.tolerance


def test_consumers_only_multiply() -> None:
    """They read no tile, and meet nowhere; the transformer has whole warpgroups, and registers as they have."""
    _, kernel = compiled("scaled")
    switch = switch_of(kernel)
    assert switch.roles == ("consume", "produce", "transform")
    assert (switch.num_warps, switch.warp_id) == ((8, 1, 8), (0, 16, 8))
    consumer, _, transformer = ([each for op in r.block.ops for each in op.walk()] for r in switch.regions)
    assert not any(isinstance(op, nv_tileas.SharedLoad | nv_tileas.WriteBuffer | nv_tileas.Barrier) for op in consumer)
    assert any(isinstance(op, nv_tileas.SharedLoad) for op in transformer)
    assert kernel.ptx.count("setmaxnreg.inc") == 2
    assert "bar.sync 1" not in kernel.ptx


def test_levels_read_back() -> None:
    """As the same text, tiles marked for the agent with it."""
    read_back(compiled("scaled")[1])


def test_explained_and_forbidden() -> None:
    """Each way has its time, the fastest is taken; it can be forbidden."""
    program, kernel = compiled("scaled")
    said = outline(kernel.compiled)
    assert "tiles stored for products: the consumers " in said
    assert "taken: an agent of 8 warps" in said
    assert "warps 8 to 15: tiles for the computation" in said
    forbidden = tilesat.compile(program.source(), TARGET, forbid=[BY_TRANSFORMER])
    assert nv_tileas.TRANSFORM not in switch_of(forbidden).roles
    assert f"(not possible: {BY_TRANSFORMER} is forbidden)" in outline(forbidden.compiled)


LEFT: dict[str, tuple[dict[str, Any], str]] = {
    "two CTAs per SM": ({"tile": (64, 128, 64), "rows_of_k": True}, "only 1 CTAs would fit an SM, not 2"),
    "two loops": ({"again": True, "steps": 3}, "other loops have rings too"),
    "many sums": ({"tile": (128, 256, 64), "rows_of_k": True, "element": "f8E5M2", "scales": "none"}, "at launch"),
    "a scale that is copied": ({"rows_of_k": True, "tiles": 2}, "it cannot compute everything that they depend on"),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("what", LEFT)
def test_left_to_the_consumers(what: str) -> None:
    given, why = LEFT[what]
    kernel = check(computed_factor("left", **given), TARGET)
    assert nv_tileas.TRANSFORM not in switch_of(kernel).roles
    assert why in outline(kernel.compiled)


def test_layouts_of_other_warps() -> None:
    """Warps take over what others held, or share what each held."""
    layout = Layout((1, 2, 64), (4, 8, 16, 32, 128), (256, 0, 512), 10)
    assert by_warps(layout, 8) == layout
    assert by_warps(layout, 2) == Layout((1, 2, 64, 512), layout.lane, (256,), 10)
    assert by_warps(Layout((1, 2, 64), layout.lane, (256,), 10), 4) == Layout((1, 2), layout.lane, (256, 64), 10)


WAIT = r"mbarrier\.try_wait\.parity\.shared::cta\.b64 (%p\d+), \[([^]]*)\], (%r\d+);"
ARRIVE = r"(?:@%p\d+ )?mbarrier\.arrive\.shared::cta\.b64 _, \[[^]]*\];"
COUNT = r"(mbarrier\.init\.shared::cta\.b64 \[[^]]*\]), \d+;"
MEET = r"bar\.warp\.sync -1;"
GONE = r"setp.eq.s32 \1, 0, 0;"
OTHER = r"xor.b32 \3, \3, 1;\nmbarrier.try_wait.parity.shared::cta.b64 \1, [\2], \3;\nxor.b32 \3, \3, 1;"
FIRST = r"mbarrier.try_wait.parity.shared::cta.b64 \1, [\2], 0;"
WAITS = ("the producer's for an empty stage", "the transformer's for a full one", "the transformer's for an empty one")
"""In the order of the code: the producer's, the transformer's, the consumers'."""
FULL = 4
"""The place of the consumers' wait for the second ring."""
BROKEN: dict[str, tuple[str, int, str]] = {
    **{f"no wait: {what}": (WAIT, n, GONE) for n, what in enumerate(WAITS)},
    **{f"other parity: {what}": (WAIT, n, OTHER) for n, what in enumerate(WAITS)},
    **{f"only the first round's wait: {what}": (WAIT, n, FIRST) for n, what in enumerate(WAITS)},
    "no wait: the consumers' for the second ring": (WAIT, FULL, GONE),
    "other parity: the consumers' for the second ring": (WAIT, FULL, OTHER),
    "only the first round's wait: the consumers' for the second ring": (WAIT, FULL, FIRST),
    "a stage that the transformer keeps": (ARRIVE, 0, ""),
    "a stage that is never full": (ARRIVE, 1, ""),
    "a stage of the second ring that the consumers keep": (ARRIVE, 2, ""),
    "a stage of the first ring that the consumers keep": (ARRIVE, 3, ""),
    "stores of other lanes than the one that arrives": (MEET, 1, ""),
    "stores that products read without a fence": (r"fence\.proxy\.async\.shared::cta;", 0, ""),
    "stages released under products": (r"wgmma\.wait_group\.sync\.aligned 1;", 0, "wgmma.wait_group.sync.aligned 7;"),
    "sums read under products": (r"wgmma\.wait_group\.sync\.aligned 0;", 0, "wgmma.wait_group.sync.aligned 7;"),
    "first ring: empty when one agent has read it": (COUNT, 3, r"\1, 8;"),
    "second ring: full when one warp has stored": (COUNT, 12, r"\1, 1;"),
    "second ring: empty but for one warp": (COUNT, 13, r"\1, 7;"),
}
"""What is changed, at which place of those that match, and to what.

Without effect is the consumers' wait for the first ring, which the transformer has waited for before it fills the
second one, and two of the three meetings of a warp: before the consumers arrive at the first ring, whose readers are
products that all of the warp has waited for; and before the transformer does, since lanes of a warp that have not
diverged load together in the simulator (the memory model asks for it: PTX ISA 8.8, memory consistency model).
"""


@pytest.mark.sampled(24)
@pytest.mark.parametrize("what", BROKEN)
def test_each_step_of_the_protocol_is_needed(what: str) -> None:
    pattern, place, change = BROKEN[what]
    program, kernel = compiled("protocol")
    found = [*re.finditer(pattern, kernel.ptx)][place]
    ptx = kernel.ptx[: found.start()] + found.expand(change) + kernel.ptx[found.end() :]
    wanted = interpret(kernel, program)[3]

    def right(order: str) -> bool:
        return largest_error(simulate(kernel, program, ptx=ptx, schedule=order)[3], wanted) <= program.tolerance

    caught(right, ("together", *ORDERS))


def of_transformer(func: nv_tileas.Func) -> Op:
    """The region of its agents that computes tiles."""
    switch = next(op for op in func.walk() if isinstance(op, nv_tileas.AgentSwitch))
    return switch.regions[switch.roles.index(nv_tileas.TRANSFORM)].block.ops[-1]


def unreleased(func: nv_tileas.Func) -> None:
    """The transformer keeps what it has read."""
    for op in all_of(of_transformer(func), nv_tileas.ConsumerRelease):
        assert isinstance(op.parent, Block)
        op.parent.ops.remove(op)


def uncommitted(func: nv_tileas.Func) -> None:
    """It does not say that a stage is full."""
    for op in all_of(of_transformer(func), nv_tileas.ProducerCommit):
        assert isinstance(op.parent, Block)
        op.parent.ops.remove(op)


def one_stage(func: nv_tileas.Func) -> None:
    """The second ring has one stage, which a product of the next iteration still reads."""
    all_of(func, nv_tileas.CreatePipeline)[1].results[0].type = nv_tileas.PipelineType(1)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("change", [unreleased, uncommitted, one_stage])
def test_deadlocks_are_refused(change: Callable[[nv_tileas.Func], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The check counts what both readers of the first ring release, and who fills the second."""
    with pytest.raises(TileError, match="the agents deadlock"):
        changed_program(computed_factor("scaled", **CASES["scaled"]), change, monkeypatch)
