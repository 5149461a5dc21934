"""Agents that would wait for one another for ever are refused, with the place where one of them does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import lowering.schedule.lower
import tilesat
from ir.core import Block, Op, TileError
from ir.dialects import nv_tileas, scf
from lowering.schedule.live import refuse_deadlock
from tests.lowering.test_lone_tiles import sums
from tests.programs.agents import AGENTS
from tests.programs.program import Program


def changed(program: Program, change: Callable[[nv_tileas.Func], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile a program, changed before its pipelines are lowered."""

    def check(func: nv_tileas.Func) -> None:
        change(func)
        refuse_deadlock(func)

    monkeypatch.setattr(lowering.schedule.lower, "refuse_deadlock", check)
    tilesat.compile(program.source(), "sm_90a")


def all_of(root: Op, kind: type[Op]) -> list[Op]:
    return [each for each in root.walk() if isinstance(each, kind)]


def one_stage(func: nv_tileas.Func) -> None:
    """A ring of one stage, which the next iteration still holds."""
    for ring in all_of(func, nv_tileas.CreatePipeline):
        ring.results[0].type = nv_tileas.PipelineType(1)


def late(func: nv_tileas.Func) -> None:
    """The producer brings what is read before the loop behind it."""
    loop = next(op for op in all_of(func, scf.For) if all_of(op, nv_tileas.ProduceOne))
    block = loop.parent
    assert block is not None
    lone = next(op for op in block.ops if isinstance(op, nv_tileas.ProduceOne))
    block.ops.remove(lone)
    block.ops.insert(block.ops.index(loop) + 1, lone)


def untold(func: nv_tileas.Func) -> None:
    """A scalar that nobody sends."""
    for send in all_of(func, nv_tileas.Send):
        assert isinstance(send.parent, Block)
        send.parent.ops.remove(send)


@pytest.mark.parametrize(
    ("program", "change", "where"),
    [
        (AGENTS["agents-persistent"], one_stage, "consumer_wait|producer_acquire"),
        (sums(), late, "consumer_wait"),
        (AGENTS["agents-persistent-ordered"], untold, "consumer_wait"),
    ],
)
def test_refused(
    program: Program, change: Callable[[nv_tileas.Func], None], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TileError, match=f"wait for one another for ever: '[^']*({where})' here") as found:
        changed(program, change, monkeypatch)
    assert found.value.location.line


def test_the_programs_themselves_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for program in (sums(), AGENTS["agents-persistent-ordered"], AGENTS["agents-ring-around-ring"]):
        changed(program, lambda func: None, monkeypatch)
