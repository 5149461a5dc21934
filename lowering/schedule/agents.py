"""Agents: loops whose tiles warps of their own bring into a ring of stages.

    producer   wait until a stage is empty, fill it (one thread by tensor copies, or all by cp.async); next stage
    consumers  all other warps: wait until the stage is full, compute, release it; next stage
Each ring is a pipeline with a full and an empty mbarrier a stage; iterators say which stage and go round the loops
outside of the ring's own. What else the producer needs is in boundary.py, its program in producer.py, the warps of
each agent in units.py, what becomes of pipelines and iterators in lower.py.
Source: the seeds' MaterializeSchedule and agents; CUTLASS's warp-specialised mainloops.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ir.core import Block, Builder, Op, Region, Type, Value
from ir.dialects import arith, nv_tileas, scf
from ir.dialects.nv_tileas import BARRIER_BYTES, SCALAR_BYTES
from ir.types import I32
from lowering.atoms.wgmma import WARPGROUP
from lowering.schedule.boundary import Boundary, Plan, Way
from lowering.schedule.fills import Fill, Threaded, arrivals, boxed, threaded
from lowering.schedule.flight import Flight, flight, land
from lowering.schedule.pipes import consume
from lowering.schedule.producer import Job, Producer
from lowering.schedule.rings import Copy, Ring, align
from lowering.schedule.states import LOOPS, Site, alternate, enclosing, thread
from lowering.schedule.units import demand, side_by_side
from lowering.targets.target import WARP

if TYPE_CHECKING:
    from lowering.schedule.pipelining import Rewriter, Scheduler


@dataclass
class Run:
    """A consumer's loop over a ring: the operand that begins its iterator, and what releases behind it the stage that
    its last iteration has left in use, where products run on from one iteration to the next.
    """

    loop: scf.For
    slot: int
    release: nv_tileas.ConsumerRelease | None

    @property
    def site(self) -> Site:
        """It takes and leaves the iterator."""
        return Site([self.slot], [self.loop.results[self.slot - 3]])


@dataclass
class AgentRing:
    """A ring that a producer fills, for one loop or for several of one depth, which follow one another: iterators go
    on from one to the next, so the producer fills stages for the next loop before this one has ended.
    """

    memory: Ring
    pipeline: nv_tileas.CreatePipeline
    runs: list[Run] = field(default_factory=list[Run])

    def release_last(self) -> None:
        """Where the ring goes on behind a loop, someone waits for the stage that its last iteration has left in use."""
        for run in self.runs:
            goes_on = len(self.runs) > 1 or any(isinstance(each, LOOPS) for each in enclosing(run.loop))
            if run.release is not None and not goes_on:
                run.release.attributes["last"] = True


@dataclass
class Agents:
    """The agents of one kernel; `common` is built before they part, `ops` are the kernel's source ops."""

    common: Builder
    ops: list[Op]
    arguments: dict[Value, int]
    by_threads: bool  # may a producer copy by cp.async? That takes registers, which the consumers must get back
    jobs: list[Job] = field(default_factory=list[Job])
    rings: dict[tuple[int, int, int], AgentRing] = field(default_factory=dict[tuple[int, int, int], AgentRing])
    channels: list[nv_tileas.CreateChannel] = field(default_factory=list[nv_tileas.CreateChannel])
    sends: list[nv_tileas.Send] = field(default_factory=list[nv_tileas.Send])
    tensormaps: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def plan(self, op: scf.For, copies: list[nv_tileas.TiledCopy], stages: int) -> Plan | None:
        """How the producer fills each tile of a loop's stage, None where it cannot make all of them."""
        fills: list[Fill] = []
        for copy in copies:
            fill = boxed(copy, self.arguments) or (threaded(copy) if self.by_threads else None)
            if fill is None:
                return None
            fills.append(fill)
        plan = Plan(op, copies, fills, stages)
        return plan if Boundary(self.ops, [*(job.plan for job in self.jobs), plan]).legal else None

    def map_number(self, record: dict[str, Any]) -> int:
        """The number of a tensor map, shared by equal ones."""
        if record not in self.tensormaps:
            self.tensormaps.append(record)
        return self.tensormaps.index(record)

    def switch(self, consumer: Block, rewriter: Rewriter) -> None:
        """End the common part with the agents, on warps one behind the other."""
        plans = [job.plan for job in self.jobs]
        boundary = Boundary(self.ops, plans)
        values = self.share(boundary, consumer, rewriter.values)
        channels = self.hand_over(boundary, rewriter)
        producer = Producer(boundary, self.jobs, values, channels, self.zero, self.map_number)
        block = Block()
        producer.block(self.ops, Builder(block, self.common.location))
        for ring in self.rings.values():
            ring.release_last()
            pipeline = ring.pipeline.result
            thread({run.loop: run.site for run in ring.runs}, [self.first(pipeline, consumer)])
            thread(producer.sites(pipeline), [self.first(pipeline, block)])
        for each in (*self.sends, *producer.receives):
            slot = len(each.operands) - 1
            agent = consumer if isinstance(each, nv_tileas.Send) else block
            each.operands[slot] = self.first(each.channel, agent)
            alternate(each, slot, following)
        by_threads = any(isinstance(fill, Threaded) for plan in plans for fill in plan.fills)
        self.place(rewriter, WARPGROUP if by_threads else 1)
        agents = [consumer, block]  # the consumers first: their threads' numbers need no subtraction
        units = side_by_side([demand(each) for each in agents])
        self.common.add(
            nv_tileas.AgentSwitch, types=(), regions=[Region([each]) for each in agents],
            num_warps=units.num_warps, warp_id=units.warp_id, agent_strides=units.agent_strides,
            roles=("consume", "copy" if by_threads else "produce"),
        )  # fmt: skip

    def first(self, ring: Value, agent: Block) -> Value:
        """An agent's first iterator of a ring or a channel."""
        kind = ring.type
        stages = kind.stages if isinstance(kind, nv_tileas.PipelineType) else 1
        made = nv_tileas.CreateIterator((ring,), [nv_tileas.IteratorType(stages)], location=self.common.location)
        made.parent = agent
        agent.ops.insert(0, made)
        return made.result

    def place(self, rewriter: Rewriter, receivers: int) -> None:
        """Barriers and channels lie behind all else: scratch over drained rings must not reach those still in use."""
        for ring in self.rings.values():
            ring.pipeline.attributes["offset"] = offset = align(rewriter.free, BARRIER_BYTES)
            rewriter.free = offset + 2 * BARRIER_BYTES * ring.memory.stages
        for channel in self.channels:
            channel.attributes |= {"offset": align(rewriter.free, BARRIER_BYTES), "receivers": receivers}
            rewriter.free = channel.offset + SCALAR_BYTES + 2 * BARRIER_BYTES

    def share(self, boundary: Boundary, consumer: Block, values: dict[Value, Value]) -> dict[Value, Value]:
        """Move what is computed before the agents part out of the consumers' code; new values of the source's."""
        moved = {v.owner for v, way in boundary.ways.items() if way is Way.COMMON}
        for op in reversed(self.ops):
            if op in moved:
                moved.update(v.owner for v in op.operands)
        shared: dict[Value, Value] = {}
        for op in (op for op in self.ops if op in moved):
            made = values[op.results[0]].op
            if made is not None and made.parent is consumer:
                consumer.ops.remove(made)
                self.common.block.append(made)
            shared.update((r, values[r]) for r in op.results)
        return shared

    def hand_over(self, boundary: Boundary, rewriter: Rewriter) -> dict[Value, Value]:
        """A channel for each value that the consumers tell the producer; they send it where they have made it."""
        channels: dict[Value, Value] = {}
        for source in (v for v, way in boundary.ways.items() if way is Way.HANDED):
            value = rewriter.values[source]
            made = value.op
            if made is None or made.parent is None:
                raise TypeError(f"{source} is not made by an op of the consumers")
            channels[source] = channel = self.channel(source.type)
            send = nv_tileas.Send((channel, value, self.zero), (), location=made.location)
            block = send.parent = made.parent
            block.ops.insert(block.ops.index(made) + 1, send)
            self.sends.append(send)
        return channels

    def channel(self, kind: Type) -> Value:
        """A place for a scalar in shared memory."""
        self.channels.append(self.common.add(nv_tileas.CreateChannel, types=[nv_tileas.ChannelType(kind)], offset=0))
        return self.channels[-1].result

    @cached_property
    def zero(self) -> Value:
        """What states begin with."""
        return self.common.value(arith.Constant, types=[I32], value=0)

    def other(self, stage: Value) -> Op:
        """The other one of two stages."""
        return arith.XOrI((stage, self.one), (I32,))

    @cached_property
    def one(self) -> Value:
        """What the stage of two buffers is flipped by."""
        return self.common.value(arith.Constant, types=[I32], value=1)


def following(iterator: Value) -> Op:
    """The iterator behind one."""
    return nv_tileas.IncIter((iterator,))


class Consumer:
    """A consumer's loop over a ring that the producer fills."""

    def __init__(self, scheduler: Scheduler, agents: Agents, plan: Plan):
        self.scheduler = scheduler
        self.agents = agents
        self.plan = plan

    def build(self, b: Builder) -> None:
        """The loop here, and its job for the producer."""
        scheduler, plan, op = self.scheduler, self.plan, self.plan.loop
        ring = self.ring()
        buffers, pipeline = scheduler.buffers(plan.copies, ring.memory, self.agents.common), ring.pipeline.result
        stored = self.stored(b) if plan.after_store else None
        self.agents.jobs.append(Job(plan, buffers, pipeline, stored))
        flying = flight(op.body.block, plan.copies)
        flying.begin()
        operands = [*scheduler.values([op.lower, op.upper, op.step, *op.init]), self.agents.zero]
        if flying.last is not None:
            operands.append(b.value(nv_tileas.CreateNone, pipeline, types=[nv_tileas.CONSUMER_TOKEN]))
        made = scheduler.rebuild(op, operands, self.body(buffers, ring.pipeline, flying), b)
        run = Run(made, 3 + len(op.init), None)
        ring.runs.append(run)
        if flying.last is not None:
            done = b.add(nv_tileas.DotWait, made.results[flying.place], pending=0)
            run.release = b.add(nv_tileas.ConsumerRelease, made.results[-1], types=())
            scheduler.rewriter.values[op.results[flying.place]] = done.result

    def body(self, buffers: list[Value], pipeline: nv_tileas.CreatePipeline, flying: Flight) -> Block:
        """One iteration, which carries the iterator and, where products run on, the token of the one before."""
        scheduler, plan, body = self.scheduler, self.plan, self.plan.loop.body.block
        held = [nv_tileas.CONSUMER_TOKEN] if flying.last is not None else []
        inner = Block([*(a.type for a in body.args), nv_tileas.IteratorType(plan.stages), *held])
        iterator = inner.args[len(body.args)]
        scheduler.rewriter.values.update(zip(body.args, inner.args, strict=False))
        b = Builder(inner, plan.loop.location)
        first = body.ops.index(plan.copies[0])
        if any(isinstance(each, Copy) and each not in plan.copies for each in body.ops):
            b.add(nv_tileas.Barrier, types=())  # readers of the last iteration are done with the other buffers
        scheduler.inner(body.ops[:first], b)
        fence = read_asynchronously(body) and any(isinstance(fill, Threaded) for fill in plan.fills)
        rest = [each for each in body.ops[first:-1] if each not in plan.copies]
        read = scheduler.reading(plan.copies, buffers, iterator, rest, fence, plan.loop)
        previous, carried = (inner.args[-1], inner.args[1 + flying.place]) if flying.last is not None else (None, None)
        ends = land(flying, read, carried, scheduler.values(body.terminator.operands))
        left = consume(b, pipeline.result, iterator, read, ends, previous)
        carried = left[len(body.terminator.operands) :]
        ends = left[: len(body.terminator.operands)]
        b.add(scf.Yield, *ends, b.value(nv_tileas.IncIter, iterator), *carried, types=())
        return inner

    def stored(self, b: Builder) -> Value:
        """Tell the producer that what its copies come after has been stored: a barrier stands behind it already."""
        zero, channel = self.agents.zero, self.agents.channel(I32)
        b.location = self.plan.loop.location
        b.add(nv_tileas.AsyncFence, types=(), everywhere=True)
        news = b.value(arith.Constant, types=[I32], value=1)
        self.agents.sends.append(b.add(nv_tileas.Send, channel, news, zero, types=()))
        return channel

    def ring(self) -> AgentRing:
        """The ring of all loops of this depth that have as many stages, filled by as many arrivals."""
        warps, stages = self.scheduler.rewriter.func.warps, self.plan.stages
        key = (self.scheduler.depth, stages, arrivals(self.plan.fills))
        found = self.agents.rings.get(key)
        if found is None:
            pipeline = self.agents.common.add(
                nv_tileas.CreatePipeline, types=[nv_tileas.PipelineType(stages)], offset=0, consumers=warps,
                each="warp", producers=key[2],
            )  # fmt: skip
            found = self.agents.rings[key] = AgentRing(Ring(stages), pipeline)
            self.scheduler.rewriter.rings.append([found.memory])
        ops = nested(self.plan.loop.body.block)
        reads = {each.atom for each in ops if isinstance(each, nv_tileas.SharedLoad)}
        if "ld.shared" in reads:
            found.pipeline.attributes |= {"consumers": WARP * warps, "each": "thread"}
        elif reads:  # an arrival tells what its own lane has read
            found.pipeline.attributes["meet"] = True
        return found


def nested(body: Block) -> list[Op]:
    """All ops of a loop's body, those of loops and branches in it included."""
    return [each for op in body.ops for each in op.walk()]


def read_asynchronously(body: Block) -> bool:
    """Does a warpgroup product of this body read shared memory?"""
    return any(isinstance(each, nv_tileas.Dot) and each.atom.startswith("wgmma") for each in nested(body))
