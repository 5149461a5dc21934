"""Agents: loops whose tiles are loaded into a ring of stages by separate producer warps.

    producer   wait until a stage is empty, fill it (one thread by tensor copies, or all by cp.async); next stage
    consumers  all other warps: wait until the stage is full, compute, release it; next stage
Each ring is a pipeline with a full and an empty mbarrier a stage; iterators select the stage and are carried by the
loops around the ring's own. A loop may have several rings, each waited for at its first copy, and a stage of one of
them may be read before the loop. The producer's other inputs are in boundary.py, its program in producer.py, tiles
that an agent computes in between in transform.py, the warps of each agent in units.py, the lowering of pipelines and
iterators in lower.py. Source: the seeds' MaterializeSchedule and agents; CUTLASS's warp-specialised mainloops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from ir.checked import checked
from ir.core import Block, Builder, Op, Region, Type, Value
from ir.dialects import arith, nv_tileas, scf
from ir.dialects.nv_tileas import BARRIER_BYTES, SCALAR_BYTES
from ir.launch_records import TensorMapRecord
from ir.records import dataclass
from ir.tensor_descriptors import TENSOR_COLUMNS
from ir.types import I32
from lowering.clusters.ranks import Ranks
from lowering.layouts.shared import SharedLayout
from lowering.layouts.tensor import allocation
from lowering.schedule import pairs
from lowering.schedule.agent_rings import AgentRing, Run
from lowering.schedule.boundary import Boundary, Plan, Slice, Way, control
from lowering.schedule.context import Accumulated, Handed, Rewriter, Scheduling
from lowering.schedule.fills import Threaded, arrivals, boxed, peers, threaded
from lowering.schedule.flight import Flight, flight, land
from lowering.schedule.pipes import consume, stage_alone, unknown
from lowering.schedule.producer import Job, Producer
from lowering.schedule.rings import Copy, Ring, Staged, align
from lowering.schedule.states import Numbers, Site, alternate, enclosing, outermost, thread
from lowering.schedule.tensor import multiplies, nested, refuse, share_columns
from lowering.schedule.transform import Source, Transform, Transformer, serving
from lowering.schedule.turns import Stage, legal
from lowering.schedule.units import GROUP, demand, side_by_side
from lowering.targets import Target
from lowering.targets.target import WARP

Key = tuple[int, int, int, int, int, int, Op | None]
"""Of a ring: depth of its loops, its number in them, stages, arrivals that fill a stage, CTAs that read it, warps of
other agents that do; its loop, where one warp runs that and leaves others no iterator."""


LONE = -1  # depth of rings outside of loops


@dataclass
class Agents(Numbers):
    """The agents of one kernel; `common` is built before they split, `ops` are the kernel's source ops."""

    common: Builder
    ops: list[Op]
    arguments: dict[Value, int]
    ranks: Ranks | None  # of the CTAs of a cluster, if a copy may go to several
    copy_warps: int  # of a producer that copies by cp.async; 0: none may. Consumers must get its registers back
    jobs: list[Job] = field(default_factory=list[Job])
    rings: dict[Key, AgentRing] = field(default_factory=dict[Key, AgentRing])
    channels: list[nv_tileas.CreateChannel] = field(default_factory=list[nv_tileas.CreateChannel])
    sends: list[nv_tileas.Send] = field(default_factory=list[nv_tileas.Send])
    tensormaps: list[TensorMapRecord] = field(default_factory=list[TensorMapRecord])
    tensor: list[nv_tileas.AllocTensorMemory] = field(default_factory=list[nv_tileas.AllocTensorMemory])
    accumulators: list[Accumulated] = field(default_factory=list[Accumulated])  # of the agent that multiplies
    received: list[nv_tileas.Receive] = field(default_factory=list[nv_tileas.Receive])  # by it
    handovers: Sequence[Handed] = ()  # with agents that issue products threads read
    beginners: list[Block] = field(default_factory=list[Block])  # the code of these
    corrector: Block | None = None  # the code of warps that scale sums for the consumers
    buffers: Sequence[nv_tileas.AllocTensor] = ()  # of the factors
    blocks: Sequence[int] = ()  # of rows, of each of these
    transforms: list[Transform] = field(default_factory=list[Transform])  # tiles computed for the consumers
    said: str = ""  # who issues products that threads read, and why
    turns: list[int] = field(default_factory=list[int])  # the numbers of the consumers' turn-taking sections
    groups: int = 1  # of warps, each of which runs the consumers' code separately

    def plan(self, op: scf.For, rings: Sequence[list[Copy]], first: Sequence[nv_tileas.TiledCopy] = ()) -> list[Plan]:
        """How the producer fills each tile of a stage of a loop's rings, and of the `first` one before the loop; none
        if it cannot load all of them.
        """
        plans: list[Plan] = []
        products = pairs.of_loop(op)
        pairs.refuse_unfed(products, [c for copies in rings for c in copies])
        for copies in rings:
            before = [c for c in first if c.ring == copies[0].attributes.get("ring", 0)]
            alike = [self.alike(op, (c, *before[place : place + 1])) for place, c in enumerate(copies)]
            if products:
                alike = [pairs.told_apart(c, n) for c, n in zip(copies, alike, strict=True)]
            warps = 0 if products else self.copy_warps
            ways = zip(copies, alike, strict=True)
            fills = [boxed(c, self.arguments, n) or (threaded(c, warps) if warps else None) for c, n in ways]
            made = [fill for fill in fills if fill is not None]
            if len(made) < len(copies):
                if products:
                    pairs.refuse(products[0], "tensor copies cannot load all of its tiles")
                return []
            plans.append(Plan(op, copies, [*made], min(c.stages for c in copies), before, bool(products)))
        return plans if Boundary(self.ops, [*(job.plan for job in self.jobs), *plans]).legal else []

    def lone(self, copy: nv_tileas.TiledCopy) -> Plan | None:
        """How the producer loads a tile from outside loops; None if it cannot."""
        fill = None if copy.ordered or copy.after_store else boxed(copy, self.arguments)
        if fill is None:
            return None
        plan = Plan(None, [copy], [fill], 1, [])
        return plan if Boundary(self.ops, [*(job.plan for job in self.jobs), plan]).legal else None

    def lone_ring(self, plan: Plan, buffer: Value, warps: int) -> AgentRing:
        """A ring of one stage for a tile from outside of loops, and the job to fill it."""
        pipeline = self.common.add(
            nv_tileas.CreatePipeline,
            types=[nv_tileas.PipelineType(1)],
            offset=0,
            consumers=warps,
            each="warp",
            producers=arrivals(plan.fills),
        )
        found = self.rings[(LONE, len(self.rings), 1, 1, 1, 0, None)] = AgentRing(Ring(1), pipeline)
        self.jobs.append(Job(plan, [buffer], pipeline.result, None))
        return found

    def alike(self, op: scf.For, copies: Sequence[Copy]) -> int:
        """The bits of the CTA's rank that copies of one tile and the control of their loop do not depend on, if one
        copy may go to several CTAs. Earlier stores are signalled only by this CTA's threads.
        """
        tiled = [copy for copy in copies if isinstance(copy, nv_tileas.TiledCopy)]
        if self.ranks is None or len(tiled) < len(copies) or any(copy.after_store for copy in copies):
            return 0
        around = (v for each in (op, *enclosing(op)) for v in control(each))
        return self.ranks.all & ~self.ranks.of([*around, *(v for copy in tiled for v in copy.index)])

    def map_number(self, record: TensorMapRecord) -> int:
        """The number of a tensor map, shared by equal ones."""
        if record not in self.tensormaps:
            self.tensormaps.append(record)
        return self.tensormaps.index(record)

    def switch(self, consumer: Block, multiplier: Block | None, rewriter: Rewriter) -> None:
        """End the common part with the agents, on consecutive warps."""
        plans = [job.plan for job in self.jobs]
        boundary = Boundary(self.ops, plans)
        values = self.share(boundary, rewriter.values)
        channels = self.hand_over(boundary, rewriter.values)
        producer = Producer(boundary, self.jobs, values, channels, self.zero, self.map_number)
        block = Block()
        producer.block(self.ops, Builder(block, self.common.location))
        if multiplier is not None:
            producer.receive_late()
        transformer = self.transformer(rewriter.target)
        for ring in self.rings.values():
            ring.release_last()
            readers = [each for each in (ring.sites, *ring.readers) if each]
            self.thread(ring.pipeline, *readers, ring.filled or producer.sites(ring.pipeline.result))
        for each in self.handovers:
            self.thread(each.pipeline, *each.sites)
        for each in self.accumulators:
            self.thread(each.pipeline, each.read, each.filled)
        for each in (*self.sends, *producer.receives, *self.received):
            slot = len(each.operands) - 1
            each.operands[slot] = self.first(each.channel, outermost(each))
            alternate(each, slot, following)
        for number in dict.fromkeys(self.turns):
            consumer.ops.insert(0, nv_tileas.BeginTurns((), (), {"of": number}, location=self.common.location))
            consumer.ops[0].parent = consumer
        by_threads = any(isinstance(fill, Threaded) for plan in plans for fill in plan.fills)
        self.place(rewriter, consumer, WARP * self.copy_warps if by_threads else 1)
        agents = [consumer, block]  # the consumers first: their threads' numbers need no subtraction
        roles = [nv_tileas.CONSUME, nv_tileas.COPY if by_threads else nv_tileas.PRODUCE]
        if transformer is not None:
            agents.append(transformer)
            roles.append(nv_tileas.TRANSFORM)
        if self.corrector is not None:
            agents.append(self.corrector)
            roles.append(nv_tileas.CORRECT)
        for each in self.beginners if multiplier is None else [multiplier]:
            agents.append(each)
            roles.append(nv_tileas.MULTIPLY)
        groups = (self.groups, *(1 for _ in agents[1:]))
        begun = (*[-1] * (len(agents) - len(self.blocks)), *self.blocks)
        units = side_by_side([demand(each, count) for each, count in zip(agents, groups, strict=True)])
        self.common.add(
            nv_tileas.AgentSwitch,
            types=(),
            regions=[Region([each]) for each in agents],
            num_warps=units.num_warps,
            warp_id=units.warp_id,
            agent_strides=units.agent_strides,
            roles=tuple(roles),
            groups=groups if self.groups > 1 else (),
            blocks=begun if max(begun) >= 0 else (),
            products=self.said,
        )

    def transformer(self, target: Target) -> Block | None:
        """The code of the agent that computes tiles for the consumers, if there is one."""
        if not self.transforms:
            return None
        block = Block()
        Transformer(self.transforms, self.zero, self.map_number, target).block(
            self.ops, Builder(block, self.common.location)
        )
        return block

    def thread(self, pipeline: nv_tileas.CreatePipeline, *agents: Mapping[Op, Site]) -> None:
        """Carry the iterator of a ring through what takes it in each agent."""
        for sites in agents:
            thread(sites, [self.first(pipeline.result, outermost(next(iter(sites))))])

    def first(self, ring: Value, agent: Block) -> Value:
        """An agent's first iterator of a ring or a channel."""
        kind = ring.type
        stages = kind.stages if isinstance(kind, nv_tileas.PipelineType) else 1
        made = nv_tileas.CreateIterator((ring,), [nv_tileas.IteratorType(stages)], location=self.common.location)
        made.parent = agent
        agent.ops.insert(0, made)
        return made.result

    def place(self, rewriter: Rewriter, consumer: Block, receivers: int) -> None:
        """Barriers and channels come after everything else: scratch over drained rings must not reach those still
        in use.
        """
        for ring in self.rings.values():
            ring.pipeline.attributes["offset"] = offset = align(rewriter.free, BARRIER_BYTES)
            rewriter.free = offset + 2 * BARRIER_BYTES * ring.memory.stages
        for each in self.accumulators:
            each.pipeline.attributes["offset"] = offset = align(rewriter.free, BARRIER_BYTES)
            rewriter.free = offset + 2 * BARRIER_BYTES * each.stages
        for each in self.handovers:
            each.pipeline.attributes["offset"] = offset = align(rewriter.free, BARRIER_BYTES)
            rewriter.free = offset + 2 * BARRIER_BYTES * each.pipeline.groups
        for each in self.buffers:
            kind = each.result.type
            assert isinstance(kind, nv_tileas.BufferType)
            layout = checked(kind.layout, SharedLayout)
            each.attributes["offset"] = offset = align(rewriter.free, layout.alignment)
            rewriter.free = offset + each.stage_bytes
        self.place_accumulators(rewriter, self.beginners[0] if self.beginners else consumer)
        alone = {each.channel for each in self.received}
        several = any(each.memory.paired for each in self.accumulators)
        for channel in self.channels:
            count = 1 if channel.result in alone else receivers
            channel.attributes |= {"offset": align(rewriter.free, BARRIER_BYTES), "receivers": count}
            if several and channel.result in alone:
                channel.attributes["paired"] = True
            rewriter.free = channel.offset + SCALAR_BYTES + 2 * BARRIER_BYTES

    def place_accumulators(self, rewriter: Rewriter, consumer: Block) -> None:
        """Columns of tensor memory; slots in shared memory."""
        columns = 0
        for each in self.accumulators:  # of another agent: none overlays them
            columns += each.place(columns)
        columns = share_columns(consumer, columns)
        if columns > TENSOR_COLUMNS:
            refuse(self.tensor[0], f"the accumulators need {columns} columns, tensor memory has {TENSOR_COLUMNS}")
        taken = allocation(columns)
        for memory in self.tensor:
            memory.attributes["columns"] = taken
            if not memory.left:
                memory.attributes["offset"] = offset = align(rewriter.free, nv_tileas.SLOT_BYTES)
                rewriter.free = offset + nv_tileas.SLOT_BYTES + nv_tileas.DONE_BYTES * (memory.groups - 1)

    def share(self, boundary: Boundary, values: dict[Value, Value]) -> dict[Value, Value]:
        """Hoist values computed before the agents split out of the consumers' code; returns the new values."""
        moved = {v.owner for v, way in boundary.ways.items() if way is Way.HOIST}
        for op in reversed(self.ops):
            if op in moved:
                moved.update(v.owner for v in op.operands)
        shared: dict[Value, Value] = {}
        for op in (op for op in self.ops if op in moved):
            made = values[op.results[0]].op
            if made is not None and made.parent is not None and made.parent is not self.common.block:
                made.parent.ops.remove(made)  # from the consumers' code, or a region in it
                self.common.block.append(made)
            shared.update((r, values[r]) for r in op.results)
        return shared

    def hand_over(self, boundary: Slice, values: Mapping[Value, Value]) -> dict[Value, Value]:
        """A channel for each value that the consumers send to another agent; they send it where they compute it."""
        channels: dict[Value, Value] = {}
        for source in (v for v, way in boundary.ways.items() if way is Way.SEND):
            value = values[source]
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


def following(iterator: Value) -> Op:
    """The next iterator."""
    return nv_tileas.IncIter((iterator,))


class Consumer:
    """A consumer's loop over rings that the producer fills, in the order in which it waits for them."""

    def __init__(self, scheduler: Scheduling, agents: Agents, plans: Sequence[Plan], b: Builder):
        """The rings and their jobs for the producer, which is signalled at `b` that the data its copies read has
        been stored.
        """
        self.scheduler = scheduler
        self.agents = agents
        self.plans = plans
        loop = plans[0].loop
        assert loop is not None
        self.loop = loop
        self.copies = [copy for plan in plans for copy in plan.copies]
        self.written = next((plan for plan in plans if plan.written), None)  # by a transformer, the last ring
        self.apart = serving(loop, self.written.copies) if self.written is not None else set[Op]()  # done by it alone
        self.rings = [self.ring(plan, number) for number, plan in enumerate(plans)]
        self.buffers: list[list[Value]] = []
        for plan, ring in zip(plans, self.rings, strict=True):
            self.buffers.append(scheduler.buffers(plan.copies, ring.memory, agents.common))
            if plan.written:
                continue
            stored = self.stored(b) if plan.after_store else None
            agents.jobs.append(Job(plan, self.buffers[-1], ring.pipeline.result, stored))
        if self.written is not None:
            brought = zip(plans[:-1], self.rings[:-1], self.buffers[:-1], strict=True)
            sources = [Source(plan, ring, buffers) for plan, ring, buffers in brought]
            agents.transforms.append(Transform(self.written, self.rings[-1], self.buffers[-1], sources))

    def begin(self, ops: Sequence[Op], b: Builder) -> None:
        """Code before the loop: copies for a stage of the first ring, and the product, the last op, that reads it."""
        plan, ring = self.plans[0], self.rings[0]
        pipeline, product = ring.pipeline.result, ops[-1].results[0]
        iterator = unknown(pipeline, plan.stages)
        rest = [op for op in ops if op not in plan.first]
        read = self.scheduler.reading(plan.first, self.buffers[0], iterator, rest, self.fence(plan), self.loop)
        values = self.scheduler.rewriter.values
        (values[product],) = consume(b, pipeline, iterator, read, [values[product]])
        made = b.block.ops[-1]
        ring.alone[made] = stage_alone(made, b)

    def build(self, b: Builder) -> None:
        """The loop."""
        scheduler, op = self.scheduler, self.loop
        flying = self.flying()
        flying.begin()
        operands = [*scheduler.values([op.lower, op.upper, op.step, *op.init]), *(self.agents.zero for _ in self.rings)]
        held = self.held(flying)
        for number in held:
            ring = self.rings[number].pipeline.result
            operands.append(b.value(nv_tileas.CreateNone, ring, types=[nv_tileas.CONSUMER_TOKEN]))
        made = scheduler.rebuild(op, operands, self.body(flying), b)
        for slot, ring in enumerate(self.rings, 3 + len(op.init)):
            ring.runs.append(Run(made, slot, None))
        if flying.last is not None:
            done = b.add(nv_tileas.DotWait, made.results[flying.place], pending=0)
            for number, token in zip(held, made.results[-len(held) :], strict=True):
                self.rings[number].runs[-1].release = b.add(nv_tileas.ConsumerRelease, token, types=())
            scheduler.rewriter.values[op.results[flying.place]] = done.result

    def turns(self, body: Block, flying: Flight) -> None:
        """Let the warpgroups take turns in the section between the early product and the start of the next, if
        requested and free of deadlock.
        """
        groups = self.scheduler.rewriter.func.warps // GROUP
        if flying.early is None or not flying.early.turns or groups < 2:
            return
        last = [op for each in body.ops for op in each.walk() if isinstance(op, nv_tileas.Dot)][-1]
        read = last.parent
        if read is None or not isinstance(read.parent_op, nv_tileas.ConsumerRead):
            return
        place = next(place for place, op in enumerate(read.ops) if not isinstance(op, nv_tileas.BufferView))
        begin = nv_tileas.TakeTurn((), (), location=last.location)
        read.ops.insert(place, begin)
        begin.parent = read
        last.attributes["passes"] = True
        kept = self.held(flying)
        held = [number in kept for number in range(len(self.plans))]
        rings = [Stage(r.pipeline.result, r.memory.stages, h) for r, h in zip(self.rings, held, strict=True)]
        if legal(body, rings, groups, self.scheduler.rewriter.target):
            self.agents.turns.append(0)
        else:
            read.ops.remove(begin)
            last.attributes["passes"] = False

    def flying(self) -> Flight:
        """The products that run on. With several rings of the producer, only products that read the last one, whose
        stages are held, run into the next iteration.
        """
        body = self.loop.body.block
        found = flight(body, self.copies, self.apart)
        if found.last is None:
            return found
        if self.written is not None:
            stays = any(self.plans[number].stages == 1 for number in self.held(found))
        else:
            others = [copy for plan in self.plans[:-1] for copy in plan.copies]
            stays = self.plans[-1].stages == 1 or reads(found.last, others, body)
        return Flight(early=found.early) if stays else found

    def held(self, flying: Flight) -> list[int]:
        """The rings whose stages a product reads that runs into the next iteration, the last one first."""
        if flying.last is None:
            return []
        numbers = range(len(self.plans) - 1, -1, -1)
        if self.written is None:
            return [numbers[0]]
        body = self.loop.body.block
        return [number for number in numbers if reads(flying.last, self.plans[number].copies, body)]

    def body(self, flying: Flight) -> Block:
        """One iteration, which carries the iterators and the tokens of stages that products still read."""
        scheduler, body = self.scheduler, self.loop.body.block
        held = [nv_tileas.CONSUMER_TOKEN for _ in self.held(flying)]
        inner = Block([*(a.type for a in body.args), *(nv_tileas.IteratorType(p.stages) for p in self.plans), *held])
        iterators = inner.args[len(body.args) : len(body.args) + len(self.plans)]
        scheduler.rewriter.values.update(zip(body.args, inner.args, strict=False))
        b = Builder(inner, self.loop.location)
        scheduler.inner([op for op in body.ops[: body.ops.index(self.copies[0])] if op not in self.apart], b)
        left = self.stage(0, iterators, inner, flying, b)
        places = len(body.terminator.operands)
        steps = [b.value(nv_tileas.IncIter, iterator) for iterator in iterators]
        b.add(scf.Yield, *left[:places], *steps, *left[places:], types=())
        self.meet(inner)
        self.turns(inner, flying)
        return inner

    def meet(self, inner: Block) -> None:
        """A barrier before an iteration in which threads copy tiles: the last one has read what these overwrite."""
        brought = {copy for job in self.agents.jobs for copy in (*job.plan.copies, *job.plan.first)}
        if any(isinstance(each, Copy) and each not in brought for each in self.loop.body.block.ops):
            made = nv_tileas.Barrier((), (), location=self.loop.location)
            made.parent = inner
            inner.ops.insert(0, made)

    def stage(self, number: int, iterators: Sequence[Value], inner: Block, flying: Flight, b: Builder) -> list[Value]:
        """The rest of an iteration from the wait for a ring on: its yielded values, and the tokens of held stages."""
        scheduler, body, plan = self.scheduler, self.loop.body.block, self.plans[number]
        following = self.plans[number + 1].copies[0] if plan is not self.plans[-1] else body.terminator
        ops = body.ops[body.ops.index(plan.copies[0]) : body.ops.index(following)]
        rest = [each for each in ops if each not in self.copies and each not in self.apart]
        read = scheduler.reading(
            plan.copies, self.buffers[number], iterators[number], rest, self.fence(plan), self.loop
        )
        previous = None
        if plan is not self.plans[-1]:
            ends = self.stage(number + 1, iterators, inner, flying, Builder(read, self.loop.location))
        else:
            ends = scheduler.values(body.terminator.operands)
        held = self.held(flying)
        if number in held:
            previous = inner.args[len(inner.args) - len(held) + held.index(number)]
        if number == 0:
            ends = land(flying, read, inner.args[1 + flying.place] if flying.last is not None else None, ends)
        return consume(b, self.rings[number].pipeline.result, iterators[number], read, ends, previous)

    def fence(self, plan: Plan) -> bool:
        """Are tiles that threads have copied read asynchronously?"""
        threads = any(isinstance(fill, Threaded) for fill in plan.fills)
        return threads and read_asynchronously(self.loop.body.block)

    def stored(self, b: Builder) -> Value:
        """Signal the producer that the stores its copies are ordered after are complete: a barrier already follows
        them.
        """
        zero, channel = self.agents.zero, self.agents.channel(I32)
        b.location = self.loop.location
        b.add(nv_tileas.AsyncFence, types=(), everywhere=True)
        news = b.value(arith.Constant, types=[I32], value=1)
        self.agents.sends.append(b.add(nv_tileas.Send, channel, news, zero, types=()))
        return channel

    def ring(self, plan: Plan, number: int) -> AgentRing:
        """The ring of all loops of this depth whose rings of this number have as many stages, are filled by as many
        arrivals, and are read by as many warps of other agents.
        """
        warps, stages = self.scheduler.rewriter.func.warps, plan.stages
        commits = multiplies(self.loop)
        alone, ctas = self.loop if commits else None, peers(plan.fills)
        ctas = pairs.together(ctas) if plan.paired else ctas
        others = 0 if self.written is None or plan.written else arrivals(self.written.fills)
        key = (self.scheduler.depth, number, stages, arrivals(plan.fills), ctas, others, alone)
        found = self.agents.rings.get(key)
        if found is None:
            pipeline = self.agents.common.add(
                nv_tileas.CreatePipeline,
                types=[nv_tileas.PipelineType(stages)],
                offset=0,
                consumers=warps,
                each="warp",
                producers=arrivals(plan.fills),
                peers=ctas,
                paired=plan.paired,
                written=plan.written,
            )
            found = self.agents.rings[key] = AgentRing(Ring(stages), pipeline)
            self.scheduler.rewriter.rings.append([found.memory])
        if commits:
            found.pipeline.attributes |= {"consumers": 1, "each": nv_tileas.COMMIT}
        ops = nested(self.loop.body.block)
        reads = {each.atom for each in ops if isinstance(each, nv_tileas.SharedLoad) and each not in self.apart}
        if others:
            found.pipeline.attributes |= {"consumers": warps + others, "meet": True}
        elif "ld.shared" in reads:
            found.pipeline.attributes |= {"consumers": WARP * warps, "each": "thread"}
        elif reads:  # an arrival covers only the reads of its own lane
            found.pipeline.attributes["meet"] = True
        return found


def reads(dot: nv_tileas.Dot, copies: Sequence[Staged], body: Block) -> bool:
    """Does a product of a body depend on some copies?"""
    wanted: set[Value] = set(dot.operands)
    for op in reversed(body.ops[: body.ops.index(dot)]):
        if wanted.intersection(op.results):
            if op in copies:
                return True
            wanted.update(v for each in op.walk() for v in each.operands)
    return False


def read_asynchronously(body: Block) -> bool:
    """Does a product of this body read shared memory through the asynchronous proxy?"""
    kinds = (nv_tileas.Dot, nv_tileas.TensorDot)
    return any(isinstance(each, kinds) and each.atom.startswith(("wgmma", "tcgen05")) for each in nested(body))
