"""Rings whose first stage is skipped, so that they advance in step with a ring one iteration ahead of them.

In a rotated loop the tiles of the early product are an iteration ahead of the others, and these are released an
iteration late, since their products run on. The producer arrives at the first full barrier of the latter ring without
a copy, both agents begin with the second stage, and the first iteration releases the first stage just as each iteration
releases the previous one: no test is needed for whether there was one. Stage and parity are then those of the other
ring, if that has as many stages: merge-carried-values leaves one of each.
"""

from __future__ import annotations

from ir.core import Block, Op, Value
from ir.dialects import nv_tileas, scf
from lowering.schedule.states import LOOPS, enclosing, outermost


def passed_over(func: nv_tileas.Func) -> dict[nv_tileas.CreateIterator, bool]:
    """The agents' first iterators of such rings; whether the agent is the one that fills them."""
    ops = list(func.walk())
    late = [op for op in ops if isinstance(op, nv_tileas.CreateNone)]
    names = [op.pipeline for op in late]
    loops = [op for op in ops if isinstance(op, scf.For)] if late else []
    rings = {
        op.pipeline
        for op in late
        for loop in loops
        if op.result in loop.init and names.count(op.pipeline) == 1 and once(op) and in_step(op.pipeline, loop)
        if len(readers(func, op.pipeline)) == 1
    }
    filled = {
        (region, op.pipeline)
        for switch in ops
        if rings and isinstance(switch, nv_tileas.AgentSwitch)
        for region in switch.regions
        for op in fills(region.block.ops)
    }
    firsts = [op for op in ops if isinstance(op, nv_tileas.CreateIterator) and op.ring in rings]
    return {op: op.parent is not None and (op.parent.parent, op.ring) in filled for op in firsts}


def readers(func: nv_tileas.Func, pipeline: Value) -> set[Block]:
    """The code of the agents that read a ring: each of them releases every stage."""
    return {outermost(op) for op in func.walk() if isinstance(op, nv_tileas.ConsumeOne) and op.pipeline is pipeline}


def once(op: Op) -> bool:
    """Does no loop repeat an operation?"""
    return not any(isinstance(each, LOOPS) for each in enclosing(op))


def in_step(pipeline: Value, loop: scf.For) -> bool:
    """Has a ring stages beside the first, does one arrival fill one, and has another ring of the loop as many?"""
    ring, kind = pipeline.op, pipeline.type
    if not isinstance(ring, nv_tileas.CreatePipeline) or not isinstance(kind, nv_tileas.PipelineType):
        return False
    others = [value for value in loop.init if value.type == nv_tileas.IteratorType(kind.stages)]
    return ring.by == nv_tileas.MBARRIERS and ring.producers == 1 and kind.stages > 1 and len(others) > 1


def fills(ops: list[Op]) -> list[nv_tileas.ProduceOne]:
    """What fills rings in the code of an agent."""
    return [each for op in ops for each in op.walk() if isinstance(each, nv_tileas.ProduceOne)]
