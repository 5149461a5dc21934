"""Two warpgroups on successive tiles of a persistent loop: right for any number of tiles and steps in any order of
warps, live, refused in words where it cannot be, and chosen where it is predicted to take less time.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import lowering.schedule.pingpong as pingpong
import tilesat
from ir.core import Block, Builder, TileError, UnsupportedError, Value
from ir.dialects import arith, nv_tileas, scf
from ir.types import I32
from lowering.modulo import tiles
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.lowering.report import outline
from tests.lowering.test_live import all_of
from tests.lowering.test_live import changed as changed_program
from tests.programs.agents import AGENTS
from tests.programs.pingpong import products_in_tiles
from tests.programs.program import Program, check, interpret, read_back, simulate
from tests.programs.rings import causal_attention
from tilesat.execution import largest_error
from tilesat.kernel import Kernel

TARGET = "sm_90a"
EXAMPLES = Path(__file__).parents[2] / "examples"
ORDERS = tuple(f"skewed:{seed}" for seed in range(5))
STAGED: dict[str, Any] = {"tile": (64, 64, 64), "out": "f16"}
"""Sums leave through shared memory, one buffer for both groups: epilogues take turns too."""
CASES: dict[str, dict[str, Any]] = {
    "odd": {},
    "even": {"tiles": 4},
    "one-tile": {"tiles": 1},
    "no-steps": {"steps": 0},
    "one-step": {"steps": 1},
    "more-steps-than-stages": {"tiles": 3, "steps": 9},
    "three-ctas": {"blocks": 3},
    "fewer-tiles-than-ctas": {"tiles": 3, "blocks": 5},
    "steps-by-tile": {"tiles": 7, "varying": True},
    "strided": {"steps": 7, "stride": 3},
    "counted-in-64-bits": {"tiles": 6, "steps": 5, "stride": 2, "varying": True, "counter": "i64"},
    "tails": {"tail": (10, 6, 20)},
    "bf16": {"element": "bf16", "out": "bf16", "tail": (3, 8, 0), "tile": (64, 128, 32)},
    "f8": {"element": "f8E4M3FN"},
    "staged": STAGED,
    "staged-steps-by-tile": {"tiles": 7, "varying": True, **STAGED},
    "added": {"added": True},
    "added-tails": {"added": True, "tile": (128, 128, 64), "tail": (3, 6, 9), "steps": 3},
    "ordered-stores": {"over": 1},
    "ordered-sums": {"over": 1, "added": True},
    "ordered-sums-staged": {"over": 2, "added": True, **STAGED},
    "ordered-staged": {"over": 1, "steps": 1, **STAGED},
    "64x256": {"tile": (64, 256, 32), "steps": 3, "out": "f16"},
    "128x128": {"tile": (128, 128, 64), "steps": 3, "out": "f16"},
}


@cache
def compiled(name: str) -> tuple[Program, Kernel]:
    """Checked against the interpreter and NumPy, with hazards watched; ptxas spills nothing."""
    program = products_in_tiles(name, **CASES[name])
    return program, check(program, TARGET, consumers="ping-pong")


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", CASES)
def test_products(name: str) -> None:
    program, kernel = compiled(name)
    switch = next(op for op in kernel.compiled.modules["nv_tileas"].walk() if isinstance(op, nv_tileas.AgentSwitch))
    assert (switch.num_warps, switch.groups) == ((8, 1), (2, 1))
    wanted = interpret(kernel, program)[3]
    for order in ORDERS[:1]:
        assert largest_error(simulate(kernel, program, schedule=order)[3], wanted) <= program.tolerance


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["steps-by-tile", "ordered-staged"])
def test_skewed_orders(name: str, order: str) -> None:
    program, kernel = compiled(name)
    found, wanted = simulate(kernel, program, schedule=order)[3], interpret(kernel, program)[3]
    assert largest_error(found, wanted) <= program.tolerance


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", ["sm_100a", "sm_120a"])
def test_products_of_warps(target: str) -> None:
    """On request with mma.sync too: the fragments of a stage are read by all threads of a group."""
    program = products_in_tiles("warps", over=1, added=True, **STAGED)
    kernel = check(program, target, consumers="ping-pong", forbid=["tcgen05"])
    assert "mma.sync" in kernel.ptx
    found, wanted = simulate(kernel, program, schedule="skewed:0")[3], interpret(kernel, program)[3]
    assert largest_error(found, wanted) <= program.tolerance


def test_no_tile() -> None:
    """Nobody waits for a turn, and nothing is written."""
    program = products_in_tiles("none", tiles=0)
    kernel = tilesat.compile(program.source(), TARGET, consumers="ping-pong")
    assert np.array_equal(simulate(kernel, program)[3], program.arguments()[3])


@pytest.mark.in_turn
def test_levels_read_back() -> None:
    """As the same text, turns and groups with it."""
    read_back(compiled("staged")[1])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("order", ["together", "skewed:1"])
def test_made_persistent(order: str) -> None:
    """The compiler's own loop over tiles, whose steps come with the launch."""
    text = (EXAMPLES / "gemm.mlir").read_text()
    kernel = tilesat.compile(text, TARGET, persistent="static", consumers="ping-pong")
    assert "bar.arrive" in kernel.ptx
    m, n, k = 200, 136, 72
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((rows, k)).astype(np.float16) for rows in (m, n))
    c, d = rng.standard_normal((m, n)).astype(np.float32), np.full((m, n), 7.0, np.float32)
    sizes = [np.int32(each) for each in (m, n, k, k, k, n, n)]
    given = Program("gemm", lambda: text, lambda: [a, b, c, d.copy(), *sizes], (2, 2), None, 2e-3)
    found = simulate(kernel, given, schedule=order, resident=1)[3]
    wanted = a.astype(np.float64) @ b.astype(np.float64).T + c
    assert np.abs(found - wanted).max() <= 2e-3


BROKEN = {
    "a main loop that waits for no turn": ("staged", (r"bar\.sync %r\d+, 256;", ""), 1),
    "a turn at the main loop that is not passed on": (
        "staged", (r"bar\.arrive (%r\d+), 256;(?=\n\s*wgmma\.wait)", ""), 0,
    ),
    "a first turn that nobody passes on": ("staged", (r"@%p\d+ bar\.arrive %r\d+, 256;", ""), 0),
    "a turn for half of the threads": ("staged", (r"bar\.sync (%r\d+), 256;", r"bar.sync \1, 128;"), 1),
    "an epilogue that waits for no turn": (
        "staged", (r"(bar\.sync %r\d+, 256;(?:.|\n)*?)bar\.sync %r\d+, 256;", r"\1"), 0,
    ),
    "a turn at the epilogue that is not passed on": ("staged", (r"bar\.arrive (%r\d+), 256;(?=\n\s*bra)", ""), 0),
    "scratch that is handed over while a copy reads it": (
        "staged", (r"cp\.async\.bulk\.wait_group\.read 0;(?=\n\s*bar\.arrive)", ""), 0,
    ),
    "stores that are handed over before they are in memory": (
        "ordered-staged", (r"cp\.async\.bulk\.wait_group 0;(?=\n\s*bar\.arrive)", ""), 0,
    ),
    "a group whose threads do not meet": ("staged", (r"bar\.sync (%r\d+), 128;", ""), 0),
    "an empty barrier for both groups": ("staged", (r"(mbarrier\.init\S+ \[\S+\]), 4;", r"\1, 8;"), 0),
    "tiles that both take": ("staged", (r"setp\.eq\.s32 (%p\d+), (%r\d+), (%r\d+);(?=\n\s*@!%p\d+ bra \S+\n\$L\d+:\n"
                                        r"\s*bar\.sync)", r"setp.eq.s32 \1, \2, \2;"), 0),
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("what", BROKEN)
def test_each_step_of_the_protocol_is_needed(what: str) -> None:
    name, change, count = BROKEN[what]
    program, kernel = compiled(name)
    ptx, wanted = changed(kernel.ptx, change, count), interpret(kernel, program)[3]

    def right(order: str) -> bool:
        return largest_error(simulate(kernel, program, ptx=ptx, schedule=order)[3], wanted) <= program.tolerance

    caught(right, ("together", *ORDERS))


@pytest.mark.in_turn
@pytest.mark.parametrize("more", [1, -1, "a round"])
def test_others_stages_are_gone_past_to_the_last(more: int | str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage too few, one too many, and the right stage of the wrong round."""
    own = pingpong.steps
    program, kernel = compiled("odd")
    ring = all_of(kernel.compiled.modules["nv_tileas"], nv_tileas.CreatePipeline)[0].results[0].type
    assert isinstance(ring, nv_tileas.PipelineType)
    wrong = ring.stages if isinstance(more, str) else more

    def steps(loop: scf.For, b: Builder) -> Value:
        return b.value(arith.AddI, own(loop, b), b.value(arith.Constant, types=[I32], value=wrong))

    monkeypatch.setattr(pingpong, "steps", steps)
    broken = tilesat.compile(program.source(), TARGET, consumers="ping-pong")
    wanted = interpret(kernel, program)[3]
    caught(
        lambda order: largest_error(simulate(broken, program, schedule=order)[3], wanted) <= program.tolerance,
        ("together", *ORDERS),
    )


def without(kind: type[Any], of: int = 0) -> Any:
    """A change that takes the operations of a kind out."""

    def change(func: nv_tileas.Func) -> None:
        for op in all_of(func, kind):
            if op.attributes.get("of", 0) == of:
                assert isinstance(op.parent, Block)
                op.parent.ops.remove(op)

    return change


def passed(func: nv_tileas.Func) -> None:
    """Iterators do not go past what others read."""
    for op in all_of(func, nv_tileas.AdvanceIter):
        assert isinstance(op.parent, Block)
        op.parent.terminator.operands = [op.operands[1]]
        op.parent.ops.remove(op)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (without(nv_tileas.BeginTurns), "take_turn"),
        (without(nv_tileas.BeginTurns, pingpong.EPILOGUE), "take_turn"),
        (without(nv_tileas.PassTurn), "take_turn"),
        (without(nv_tileas.PassTurn, pingpong.EPILOGUE), "take_turn"),
        (passed, "producer_acquire|take_turn|consumer_wait"),
    ],
)
def test_turns_without_an_end_are_refused(change: Any, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = products_in_tiles("staged", **STAGED)
    with pytest.raises(TileError, match=f"the agents deadlock: '[^']*({where})' here"):
        changed_program(program, change, monkeypatch, consumers="ping-pong")
    changed_program(program, lambda func: None, monkeypatch, consumers="ping-pong")


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (AGENTS["agents-persistent-ordered"], "send the producer"),
        (AGENTS["agents-work-queue"], "send the producer"),
        (AGENTS["agents-stored-each-round"], "carries values"),
        (AGENTS["agents-endless-queue"], "counted loop"),
        (AGENTS["agents-two-loops"], "several loops"),
        (causal_attention(64, 64, 64, 2), "outermost loop itself|carries values|counted loop"),
        (products_in_tiles("wide", tile=(128, 256, 64)), "too few registers for the accumulators"),
    ],
)
def test_refused(program: Program, why: str) -> None:
    """With place and what to do; and compiled all the same where it is a choice."""
    with pytest.raises(UnsupportedError, match=f"cannot take tiles in turn: .*({why})") as found:
        tilesat.compile(program.source(), TARGET, consumers="ping-pong")
    assert found.value.location.line
    assert "--consumers cooperative" in (found.value.hint or "")
    assert "bar.arrive" not in tilesat.compile(program.source(), TARGET).ptx


def gemm(**options: Any) -> Kernel:
    return tilesat.compile((EXAMPLES / "gemm.mlir").read_text(), TARGET, **options)


@pytest.mark.in_turn
def test_the_choice_is_by_predicted_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A persistent GEMM whose epilogue is hidden; not if turns take too long, nor without the option."""
    made = gemm(persistent="static")
    said = outline(made.compiled)
    assert "cooperative, 8 warps: main loop 16,384" in said
    assert [each.taken for each in made.compiled.selection.consumers] == [False, True]
    assert "bar.arrive" in made.ptx
    assert "bar.arrive" not in gemm(persistent="static", consumers="cooperative").ptx
    assert "bar.arrive" not in gemm().ptx
    monkeypatch.setattr(tiles, "TURN", 10000)
    assert [each.taken for each in gemm(persistent="static").compiled.selection.consumers] == [True, False]


@pytest.mark.in_turn
def test_what_spills_is_not_chosen() -> None:
    """128 registers of sums, and as many of what is read before any is stored: a warpgroup has 240."""
    sizes = (128, 128, 64)
    for kind, taken in (("f32", False), ("f16", True)):
        program = products_in_tiles("sums", tile=sizes, over=1, added=True, out=kind)
        kernel = tilesat.compile(program.source(), TARGET)
        assert ("bar.arrive" in kernel.ptx) == taken
        assert assemble(kernel.ptx, TARGET).spill_stores == 0


def test_time_of_a_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest of: main loops one behind the other, the busiest unit, half of a group's time, epilogues in turn."""
    for found, turns, total in (
        (tiles.Parts(1000, 200, 900, "tensor"), True, 1000 + tiles.TURN),
        (tiles.Parts(1000, 200, 1100, "global"), True, 1100),
        (tiles.Parts(1000, 1500, 900, "tensor"), False, 1250),
        (tiles.Parts(1000, 1500, 900, "tensor"), True, 1500),
    ):
        monkeypatch.setattr(tiles, "parts", Mock(return_value=found))
        assert tiles.in_turn(gemm_selection(), 2, turns).total == total
        assert tiles.cooperative(gemm_selection()).total == found.main + found.rest


@cache
def gemm_selection() -> Any:
    return gemm().compiled.selection


def test_unknown_way() -> None:
    with pytest.raises(TileError, match="consumers: expected one of cooperative, ping-pong, auto, got 'both'"):
        gemm(consumers="both")
