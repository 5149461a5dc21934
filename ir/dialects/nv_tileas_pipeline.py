"""nv_tileas before stages have numbers: pipelines, iterators, the regions of producers and consumers.

    produce_one     the tiles of one iteration: acquire a stage, write it, commit it
    consume_one     the readers: wait for the stage, read it, release it
    iterators       identify the stage; inc_iter advances by one, advance_iter by more; loops carry them
Acquiring and waiting give tokens, which are used once each: a stage is written between its acquire and its commit, read
between its wait and its release (`ir.dialects.nv_tileas_tokens` checks). Part of the dialect of `nv_tileas`, which
re-exports these names; `tileas-lower-pipelines` lowers them to stages, parities, waits and arrivals.
Source of names: the seeds' async.pipeline operations. Deviation: create_pipeline names no agent, agents are
regions of agent_switch; a release may be that of an earlier iteration's token.
"""

from __future__ import annotations

from ir.core import CONTROL, WRITE, Attr, Op, Operand, RegionField, Result, Variadic, VariadicResult, flag, op
from ir.dialects.nv_tileas_types import (
    IteratorType,
    PipelineType,
    is_consumer_token,
    is_integer,
    is_iterator,
    is_pipeline,
    is_producer_token,
    is_ring,
)

MBARRIERS, GROUPS = "mbarriers", "groups"
COMMIT = "commit"


@op("nv_tileas.async.pipeline.create_pipeline")
class CreatePipeline(Op):
    """A ring of stages. By mbarriers: a full and an empty one for each stage, 8 bytes each, from byte `offset` of
    shared memory on; `producers` arrivals and the bytes announced fill a stage: one that announces bytes of tensor
    copies, one of each thread that copies by cp.async; `consumers` arrivals, of warps or threads (`each`), empty it. If
    the lanes of a warp read individually, they `meet` before one of them arrives. `peers`: a bit for each CTA of the
    cluster that fills stages here and is filled from here, by the exclusive or of its rank with this one's; the first
    bit is this CTA. Consumers arrive at the empty barriers of all of them, which count `consumers` of each. Each
    `commit`: products in tensor memory, issued by one thread, read them, and arrive when they are complete.
    `accumulators`: the stages are in tensor memory, and the products that fill one arrive; or, if it is `written`, the
    warps that write and scale its contents. `groups`: this many warpgroups, each with its own barriers, one after the
    other; the ring then has one stage. `paired`: products of a pair of CTAs read or fill the stages. Of the two full
    barriers of a stage that is read one counts the bytes of both CTAs, that of the CTA whose rank is even, where the
    products wait; they arrive at the empty barriers of all `peers`, which count each pair once. For accumulators it is
    the reverse: the products arrive at the full barriers of both CTAs, and the threads of both at one empty barrier.

    By groups: the readers of the stages also fill them, each iteration's copies are a group of cp.async, and a CTA
    barrier separates iterations.
    """

    by = Attr(str, MBARRIERS, among=(MBARRIERS, GROUPS))
    offset = Attr(int, 0, least=0)
    producers = Attr(int, 1, least=1)
    consumers = Attr(int, 1, least=1)
    each = Attr(str, "warp", among=("warp", "thread", COMMIT))
    meet = flag()
    peers = Attr(int, 1, least=1)
    accumulators = flag()
    paired = flag()
    written = flag()
    groups = Attr(int, 1, least=1)
    result = Result(is_pipeline)

    effect = WRITE

    def verify(self) -> None:
        """Warpgroups share no barriers."""
        stages = self.result.type.stages if isinstance(self.result.type, PipelineType) else 1
        self.expect(
            self.groups == 1 or stages == 1, "a ring of {} warpgroups has one stage, not {}", self.groups, stages
        )


@op("nv_tileas.async.pipeline.create_iterator")
class CreateIterator(Op):
    """The first stage of a ring's first round, for one agent; or the first round of a channel."""

    ring = Operand(is_ring)
    result = Result(is_iterator)

    effect = WRITE

    def verify(self) -> None:
        """As many stages as the ring has."""
        made = self.ring.op
        known = made is not None and made.name.rpartition(".")[2] in ("create_pipeline", "create_channel")
        self.expect(known, "must belong to a ring made by create_pipeline or create_channel")
        kind = self.ring.type
        stages = kind.stages if isinstance(kind, PipelineType) else 1
        self.expect(self.result.type == IteratorType(stages), "must give {}", IteratorType(stages))


@op("nv_tileas.async.pipeline.inc_iter")
class IncIter(Op):
    """The next stage."""

    iterator = Operand(is_iterator)
    result = Result(like="iterator")

    effect = WRITE


@op("nv_tileas.async.pipeline.advance_iter")
class AdvanceIter(Op):
    """The stage `steps` after this one of a ring, an unsigned number: others read the stages between."""

    pipeline = Operand(is_pipeline)
    iterator = Operand(is_iterator)
    steps = Operand(is_integer)
    result = Result(like="iterator")

    effect = WRITE


@op("nv_tileas.async.pipeline.drain")
class Drain(Op):
    """Wait until everything filled before the stage of an iterator has been read; the iterator does not advance."""

    pipeline = Operand(is_pipeline)
    iterator = Operand(is_iterator)
    result = Result(like="iterator")

    effect = WRITE


@op("nv_tileas.async.pipeline.create_none")
class CreateNone(Op):
    """A consumer's token without a stage: in a loop that releases the previous iteration's stage, the first
    iteration has none.
    """

    pipeline = Operand(is_pipeline)
    result = Result(is_consumer_token)

    effect = WRITE


@op("nv_tileas.async.pipeline.produce_one")
class ProduceOne(Op):
    """Fill a stage with the tiles of one iteration, `ahead` iterations before the current one. The results are what its
    region yields: iterators of rings that are read meanwhile.
    """

    pipeline = Operand(is_pipeline)
    iterator = Operand(is_iterator)
    ahead = Attr(int, 0, least=0)
    body = RegionField()
    out = VariadicResult()

    effect = CONTROL


@op("nv_tileas.async.pipeline.producer_acquire")
class ProducerAcquire(Op):
    """Wait until the stage is empty; one thread announces the expected `bytes` of tensor copies. `implied`: an earlier
    wait implies it.
    """

    pipeline = Operand(is_pipeline)
    iterator = Operand(is_iterator)
    bytes = Attr(int, 0, least=0)
    implied = flag()
    token = Result(is_producer_token)

    effect = WRITE


@op("nv_tileas.async.pipeline.producer_write")
class ProducerWrite(Op):
    """The copies into the stage, or the products in it; the results are the token, then what its region yields."""

    acquired = Operand(is_producer_token)
    token = Result(is_producer_token)
    body = RegionField()
    out = VariadicResult()

    effect = CONTROL


@op("nv_tileas.async.pipeline.producer_commit")
class ProducerCommit(Op):
    """The stage is full when everything has arrived: the announced bytes, and the `copies` of threads."""

    written = Operand(is_producer_token)
    copies = flag()

    effect = WRITE


@op("nv_tileas.async.pipeline.consume_one")
class ConsumeOne(Op):
    """Read a stage; the results are what its region yields."""

    pipeline = Operand(is_pipeline)
    iterator = Operand(is_iterator)
    body = RegionField()
    out = VariadicResult()

    effect = CONTROL


@op("nv_tileas.async.pipeline.consumer_wait")
class ConsumerWait(Op):
    """Wait until the stage is full."""

    pipeline = Operand(is_pipeline)
    iterator = Operand(is_iterator)
    token = Result(is_consumer_token)

    effect = WRITE


@op("nv_tileas.async.pipeline.consumer_read")
class ConsumerRead(Op):
    """The readers of the stage; the results are the token, then what its region yields."""

    waited = Operand(is_consumer_token)
    body = RegionField()
    out = VariadicResult()

    effect = CONTROL


@op("nv_tileas.async.pipeline.consumer_release")
class ConsumerRelease(Op):
    """The stage of a token has been read, and may be filled again; nothing for the token of no stage. `last`: the ring
    is not filled again, so nothing waits for it; `implied`: a later signal of this agent implies it.
    """

    read = Operand(is_consumer_token)
    last = flag()
    implied = flag()

    effect = WRITE


@op("nv_tileas.async.pipeline.yield")
class PipelineYield(Op):
    """Ends the region of a producer or a consumer with its results."""

    values = Variadic()

    effect = CONTROL

    def verify(self) -> None:
        """Must be at the end of such a region."""
        block = self.parent
        ends = block is not None and block.ops[-1] is self and isinstance(block.parent_op, REGIONS)
        self.expect(ends, "must end the region of a producer or a consumer")


REGIONS = (ProduceOne, ProducerWrite, ConsumeOne, ConsumerRead)
