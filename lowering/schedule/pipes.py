"""Regions of nv_tileas in which a stage is filled or read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from ir.core import Block, Builder, Op, Region, Value
from ir.dialects import nv_tileas
from ir.records import dataclass
from lowering.schedule.states import Site


def produce(
    b: Builder,
    pipeline: Value,
    iterator: Value,
    write: Callable[[Builder], None],
    announced: int = 0,
    copies: bool = False,
    ahead: int = 0,
) -> nv_tileas.ProduceOne:
    """Fill the stage of an iterator, `ahead` iterations early, by what `write` builds; `announced` bytes of it are
    tensor copies, `copies`: threads copy too.
    """
    block, written = Block(), Block()
    inside = Builder(block, b.location)
    types = [nv_tileas.PRODUCER_TOKEN]
    acquired = inside.value(nv_tileas.ProducerAcquire, pipeline, iterator, types=types, bytes=announced)
    copying = Builder(written, b.location)
    write(copying)
    copying.add(nv_tileas.PipelineYield, types=())
    done = inside.add(nv_tileas.ProducerWrite, acquired, types=types, regions=[Region([written])])
    inside.add(nv_tileas.ProducerCommit, done.token, types=(), copies=copies)
    inside.add(nv_tileas.PipelineYield, types=())
    return b.add(nv_tileas.ProduceOne, pipeline, iterator, types=(), regions=[Region([block])], ahead=ahead)


def consume(
    b: Builder, pipeline: Value, iterator: Value, read: Block, ends: Sequence[Value], previous: Value | None = None
) -> list[Value]:
    """Wait for the stage of an iterator, do what block `read` holds, release the stage, or that of token `previous`.
    The values `ends` behind it; with `previous` the token of this stage too, which is to be released later.
    """
    out = [v for v in dict.fromkeys(ends) if v.op is not None and v.op.parent is read]
    Builder(read, b.location).add(nv_tileas.PipelineYield, *out, types=())
    block, types = Block(), [v.type for v in out]
    inside = Builder(block, b.location)
    token = [nv_tileas.CONSUMER_TOKEN]
    waited = inside.value(nv_tileas.ConsumerWait, pipeline, iterator, types=token)
    done = inside.add(nv_tileas.ConsumerRead, waited, types=[*token, *types], regions=[Region([read])])
    held = [] if previous is None else [done.results[0]]
    inside.add(nv_tileas.ConsumerRelease, done.results[0] if previous is None else previous, types=())
    inside.add(nv_tileas.PipelineYield, *done.results[1:], *held, types=())
    made = b.add(
        nv_tileas.ConsumeOne, pipeline, iterator, types=[*types, *(v.type for v in held)], regions=[Region([block])]
    )
    outside = dict(zip(out, made.results, strict=False))
    return [*(outside.get(v, v) for v in ends), *made.results[len(out) :]]


def unknown(pipeline: Value, stages: int) -> Value:
    """An iterator in place of the one that will be taken when all code is there."""
    return nv_tileas.CreateIterator((pipeline,), [nv_tileas.IteratorType(stages)]).result


def stage_alone(op: Op, b: Builder) -> Site:
    """What a produce_one or consume_one outside of its ring's loop takes and leaves: its iterator goes on behind it."""
    step = b.add(nv_tileas.IncIter, op.operands[1])
    return Site([1], [step.result], [step, *op.walk()])


def imply(op: Op, kind: type[Op], implied: bool) -> None:
    """Mark the ops of a `kind` in a region that fills or reads a stage: other rings' barriers imply what they do."""
    for each in op.regions[0].block.ops:
        if isinstance(each, kind):
            each.attributes["implied"] = implied


@dataclass
class Handover:
    """A ring of one stage in tensor memory, between the consumers, whose sites come first, and each agent."""

    pipeline: nv_tileas.CreatePipeline
    sites: list[dict[Op, Site]] = field(default_factory=lambda: [dict[Op, Site]()])
    implied: bool = False  # by the other rings' barriers: when it is empty

    @property
    def iterator(self) -> Value:
        """A placeholder until all code exists."""
        return unknown(self.pipeline.result, 1)
