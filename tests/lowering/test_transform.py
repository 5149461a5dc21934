"""Tiles that an agent computes for the consumers: right for any number of steps in any order of warps, live, each part
of the protocol needed, chosen where it is predicted to be faster, and left to the consumers where it cannot be.
"""

from __future__ import annotations

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
from tests.lowering.protocol import caught, changed
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
    "no-steps": {"rows_of_k": True, "steps": 0},
    "one-step": {"rows_of_k": True, "steps": 1},
    "two-steps": {"rows_of_k": True, "steps": 2},
    "as-many-steps-as-stages": {"rows_of_k": True, "steps": 3},
    "more-steps-than-stages": {"rows_of_k": True, "steps": 7, "tail": (3, 5, 7)},
    "columns": {"steps": 4, "tail": (0, 9, 3)},
    "scales-by-step": {"scales": "group", "steps": 4},
    "f8": {"element": "f8E4M3FN", "scales": "none", "rows_of_k": True},
    "plain": {"scales": "none", "steps": 6},
    "64-rows": {"tile": (64, 128, 64), "rows_of_k": True},
    "64-columns": {"tile": (128, 64, 64), "rows_of_k": True, "tail": (5, 0, 0)},
    "ctas": {"rows_of_k": True, "grid": (2, 2), "tail": (9, 9, 9), "steps": 2},
    "in-tiles": {"rows_of_k": True, "tiles": 3, "steps": 4},
    "both-factors": {"both": True, "steps": 3, "rows_of_k": True},
}


@cache
def compiled(name: str) -> tuple[Program, Kernel]:
    """Checked against the interpreter and NumPy, with hazards watched; ptxas spills nothing."""
    program = computed_factor(name, **CASES[name])
    return program, check(program, TARGET)


def switch_of(kernel: Kernel) -> nv_tileas.AgentSwitch:
    """Its agents."""
    return next(op for op in kernel.compiled.modules["nv_tileas"].walk() if isinstance(op, nv_tileas.AgentSwitch))


@pytest.mark.sampled(15)
@pytest.mark.parametrize("name", CASES)
def test_products(name: str) -> None:
    program, kernel = compiled(name)
    assert nv_tileas.TRANSFORM in switch_of(kernel).roles
    found, wanted = simulate(kernel, program, schedule=ORDERS[0])[3], interpret(kernel, program)[3]
    assert largest_error(found, wanted) <= program.tolerance


@pytest.mark.sampled(15)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["more-steps-than-stages", "64-rows", "in-tiles"])
def test_skewed_orders(name: str, order: str) -> None:
    program, kernel = compiled(name)
    found, wanted = simulate(kernel, program, schedule=order)[3], interpret(kernel, program)[3]
    assert largest_error(found, wanted) <= program.tolerance


def test_consumers_only_multiply() -> None:
    """They read no tile, and meet nowhere; the transformer has whole warpgroups, and registers as they have."""
    _, kernel = compiled("scaled")
    switch = switch_of(kernel)
    assert (switch.num_warps, switch.warp_id) == ((8, 8, 1), (0, 8, 16))
    assert switch.roles == ("consume", "transform", "produce")
    consumer, transformer = ([each for op in r.block.ops for each in op.walk()] for r in switch.regions[:2])
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


LEFT = {
    "no producer's tiles": ({"tile": (128, 128, 64), "again": True, "steps": 3}, TARGET, "other loops have rings too"),
    "too many sums": ({"tile": (128, 256, 64), "rows_of_k": True}, TARGET, "of them at launch"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("what", LEFT)
def test_left_to_the_consumers(what: str) -> None:
    given, target, why = LEFT[what]
    kernel = check(computed_factor("left", **given), target)
    assert nv_tileas.TRANSFORM not in switch_of(kernel).roles
    assert why in outline(kernel.compiled)


def test_layouts_of_other_warps() -> None:
    """Warps take over what others held, or share what each held."""
    layout = Layout((1, 2, 64), (4, 8, 16, 32, 128), (256, 0, 512), 10)
    assert by_warps(layout, 8) == layout
    assert by_warps(layout, 2) == Layout((1, 2, 64, 512), layout.lane, (256,), 10)
    assert by_warps(Layout((1, 2, 64), layout.lane, (256,), 10), 4) == Layout((1, 2), layout.lane, (256, 64), 10)


def of_transformer(func: nv_tileas.Func) -> Op:
    """The region of its agents that computes tiles."""
    (switch,) = all_of(func, nv_tileas.AgentSwitch)
    return switch.regions[1].block.ops[-1]


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


@pytest.mark.parametrize("change", [unreleased, uncommitted, one_stage])
def test_deadlocks_are_refused(change: Callable[[nv_tileas.Func], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The check counts what both readers of the first ring release, and who fills the second."""
    with pytest.raises(TileError, match="the agents deadlock"):
        changed_program(computed_factor("scaled", **CASES["scaled"]), change, monkeypatch)
