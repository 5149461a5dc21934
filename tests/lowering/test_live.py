"""Agents that would deadlock are rejected, with the location where one of them waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lowering.schedule.lower
import tilesat
from ir.core import Block, Op, TileError
from ir.dialects import nv_tileas, scf
from lowering.schedule.live import refuse_deadlock
from tests.lowering.test_lone_tiles import sums
from tests.programs.agents import AGENTS
from tests.programs.program import Program, check, random
from tilesat.fuzz.writer import Writer


def changed(
    program: Program, change: Callable[[nv_tileas.Func], None], monkeypatch: pytest.MonkeyPatch, **options: Any
) -> None:
    """Compile a program, changed before its pipelines are lowered."""

    def check(func: nv_tileas.Func) -> None:
        change(func)
        refuse_deadlock(func)

    monkeypatch.setattr(lowering.schedule.lower, "refuse_deadlock", check)
    tilesat.compile(program.source(), "sm_90a", **options)


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
    with pytest.raises(TileError, match=f"the agents deadlock: '[^']*({where})' here") as found:
        changed(program, change, monkeypatch)
    assert found.value.location.line


def test_the_programs_themselves_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for program in (sums(), AGENTS["agents-persistent-ordered"], AGENTS["agents-ring-around-ring"]):
        changed(program, lambda func: None, monkeypatch)


def own_ring_inside(rounds: int = 6, rows: int = 64, depth: int = 128, step: int = 32) -> Program:
    """D = s (A B) a round: s the producer brings, both factors are gathered into a ring that the consumers fill."""

    def source() -> str:
        w = Writer("rounds", a="ptr<f16>", b="ptr<f16>", s="ptr<f32>", d="ptr<f32>")
        w.promise(a=16, b=16, s=16, d=16)
        scales = w.view(w.s, [rounds * rows, rows], [rows, 1], [rows, rows])
        out = w.view(w.d, [rounds * rows, rows], [rows, 1], [rows, rows])
        with w.loop(w.ids[0], rounds) as outer:
            scale = w.load(scales, outer.counter, 0)
            row = w.iota(rows) + (outer.counter * rows).splat(rows)
            with w.loop(0, depth // step, carried=[w.const(0.0, "f32", rows, rows)]) as inner:
                along = (inner.counter * step).splat(step) + w.iota(step)
                x = w.gather(w.a[(row * depth).column(step) + along.row(rows)])[0]
                y = w.gather(w.b[(along * rows).column(rows) + w.iota(rows).row(step)])[0]
                inner.values = [w.dot(x, y, inner.values[0])]
            w.store(inner.values[0] * scale, out, outer.counter, 0)
        return w.text()

    def arguments() -> list[Any]:
        a, b = random((rounds * rows, depth), "f16", 1), random((depth, rows), "f16", 2)
        return [a, b, *(random((rounds * rows, rows), "f32", seed) for seed in (3, 4))]

    def expected(a: Any, b: Any, s: Any, d: Any) -> dict[int, Any]:
        return {3: (a.astype(np.float64) @ b.astype(np.float64)) * s}

    return Program("rounds", source, arguments, (1,), expected, 4e-3)


@pytest.mark.in_turn
def test_a_loop_runs_as_often_in_each_agent() -> None:
    """Of a loop around another of the consumers alone the producer has the copies of the outer one only."""
    kernel = check(own_ring_inside(), "sm_90a")
    assert "cp.async.bulk.tensor" in kernel.ptx
    assert "cp.async.cg" in kernel.ptx
