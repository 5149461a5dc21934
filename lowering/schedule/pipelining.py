"""Copies to shared memory become software pipelines: rings of stages that are filled some iterations ahead.

If a producer can be split from the kernel (agents.py), it fills the ring; otherwise the consumers do, by cp.async: each
iteration has a region that fills a stage `ahead` iterations early and one that reads its own stage. Copies outside
loops, and copies of tiles that are not known ahead, are waited for at once. Stages have no numbers yet: lower.py
assigns them, and turns the regions into waits and barriers. Source: the seeds' modulo scheduling and buffer assignment,
for one agent; CUTLASS's sm_80 mainloop has the same shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from ir.checked import checked
from ir.core import PURE, Block, Builder, Op, Region, TileError, Value
from ir.dialects import nv_tileas, scf
from ir.records import dataclass
from ir.types import PartitionViewType
from lowering.atoms.barrier import agents_gather
from lowering.clusters.ranks import Ranks
from lowering.schedule import pingpong, requests, scratch, stores
from lowering.schedule.agent_rings import AgentRing
from lowering.schedule.agents import Agents, Consumer
from lowering.schedule.begun import begin_apart
from lowering.schedule.boundary import Plan
from lowering.schedule.context import Rewriter
from lowering.schedule.fills import COPY_WARPS
from lowering.schedule.lower import lower_pipelines
from lowering.schedule.multiplier import multiplier, prune
from lowering.schedule.pipes import consume, produce, stage_alone, unknown
from lowering.schedule.publish import publish
from lowering.schedule.rings import Copy, Ring, Staged, align, arrange, before_loops, slice_of, tile_of
from lowering.schedule.states import LOOPS, alternate, enclosing
from lowering.schedule.tensor import in_phases, multiplies, nested, order, refuse
from lowering.schedule.transform import remakeable, transformed
from lowering.schedule.units import map_agents
from lowering.selection import copy_threads
from lowering.targets import Feature, Target

MIN_STAGES = 2  # of a ring whose readers fill it


class MemoryExceededError(TileError):
    """The buffers of a program do not fit into the shared memory of its target."""


def schedule(func: nv_tileas.Func, target: Target) -> nv_tileas.Func:
    """`materialize`, `lower_pipelines` and `map_agents`."""
    return map_agents(lower_pipelines(materialize(func, target), target), target)


def materialize(
    func: nv_tileas.Func, target: Target, consumers: str = "cooperative", forbid: tuple[str, ...] = ()
) -> nv_tileas.Func:
    """Schedule a placed kernel in place of its copies; adds `shared_bytes` and `tensormaps` to its attributes.
    `forbid`: prefixes of the name of agents that begin products which threads read.
    Raises UnsupportedError, located, if its `consumers` are to alternate on tiles but cannot.
    """
    rewriter = Rewriter(func, target)
    block = func.body.block
    ops, block.ops = block.ops, []
    common = Builder(block, func.location)
    requests.postpone(ops)
    arguments = {argument: i for i, argument in enumerate(block.args)}
    agents = Agents(common, ops, arguments, ranks_of(func, target), copy_warps(ops) if agents_gather(target) else 0)
    consumer = Block()
    Scheduler(rewriter, agents).run(ops, Builder(consumer, func.location), whole=True)
    if agents.transforms:  # what only they needed outside of their loops
        prune(partial(nested, consumer), remakeable)
    products = multiplier(consumer, agents, func.warps, target)
    begin_apart(consumer, agents, func.warps, target, forbid)
    for written, view in rewriter.held:
        alternate(written, 1, agents.other)
        view.operands[1] = written.stage
    if consumers == pingpong.NAME:
        if rewriter.once or rewriter.looped or rewriter.own:
            pingpong.refuse(
                consumer.ops[-1], "threads copy or write tiles to buffers, which both groups would use at once"
            )
        pingpong.part(consumer, agents, func.warps, target)
    rewriter.exchanges.count(agents)
    in_phases(consumer, agents)
    order(consumer, func.warps)
    asked = requests.ask_early(consumer, not agents.jobs)
    kept, free = arrange(rewriter.once, rewriter.rings, by_loop(rewriter.looped))
    end, drained = scratch.place(consumer, target, free, kept)
    rewriter.free = requests.place(asked, rewriter.exchanges.place(end, drained, bool(agents.jobs)))
    if agents.tensor and not agents.jobs:
        agents.place_accumulators(rewriter, consumer)
        agents.tensor[-1].attributes["meets"] = True
    if agents.jobs:
        end = consumer.ops.pop()
        agents.switch(consumer, products, rewriter)
        block.append(end)
    else:
        for op in consumer.ops:
            block.append(op)
    shared = rewriter.free
    if shared > target.smem_bytes:
        raise MemoryExceededError(
            f"the kernel needs {shared} bytes of shared memory, {target.name} has {int(target.smem_bytes)} per block",
            func.location,
            "use smaller tiles",
        )
    func.attributes |= {
        "shared_bytes": shared,
        "tensormaps": tuple(agents.tensormaps),
        "pipelined": True,
    }
    return func


def copy_warps(ops: Sequence[Op]) -> int:
    """Warps of an agent that copies by cp.async, where there is to be one."""
    copies = (each for op in ops for each in op.walk() if isinstance(each, nv_tileas.GatherCopy))
    return max((each.producers for each in copies), default=0) or COPY_WARPS


def by_loop(buffers: Sequence[nv_tileas.AllocTensor]) -> list[list[nv_tileas.AllocTensor]]:
    """Buffers by the loop that they are of; all together where one of these loops is in another."""
    found: dict[Op, list[nv_tileas.AllocTensor]] = {}
    for buffer in buffers:
        found.setdefault(next(each for each in enclosing(buffer) if isinstance(each, LOOPS)), []).append(buffer)
    nested = any(each in found for loop in found for each in enclosing(loop))
    return [[*buffers]] if nested else [*found.values()]


def ranks_of(func: nv_tileas.Func, target: Target) -> Ranks | None:
    """What is alike in the CTAs of a kernel's clusters; None where tensor copies do not reach several."""
    ctas = func.cluster[0]
    return Ranks(ctas) if prod(func.cluster) == ctas > 1 and target.has(Feature.MULTICAST) else None


@dataclass(frozen=True)
class Lone:
    """A tile from outside of loops that the producer brings to a buffer, in a ring of its own."""

    copy: nv_tileas.TiledCopy
    ring: AgentRing
    buffer: Value


class Scheduler:
    """The walk over a placed kernel that rebuilds it with copies scheduled."""

    def __init__(self, rewriter: Rewriter, agents: Agents):
        self.rewriter = rewriter
        self.agents = agents
        self.depth = 0
        self.begun: dict[scf.For, Consumer] = {}  # a stage of whose rings is read before the loop
        self.lone: list[Lone] = []  # tiles from outside of loops that the producer brings, before they are waited for
        self.scratch_used = False  # since the last ring was filled: the next one may overlay it

    def run(
        self, ops: list[Op], b: Builder, coming: list[tuple[Copy, Value]] | None = None, whole: bool = False
    ) -> None:
        """Rebuild a block outside of any pipelined loop, which is the kernel's where `whole`. `coming`: copies that
        nothing has waited for, and their buffers.
        """
        coming = [] if coming is None else coming
        done: set[Op] = set()
        for place, op in enumerate(ops):
            begins = isinstance(op, nv_tileas.TiledCopy) and op.ring and op not in done
            if whole and self.lone and (begins or needs(op, [(each.copy, each.buffer) for each in self.lone])):
                self.behind(ops[place:], coming, b)
                return
            if whole and isinstance(op, nv_tileas.TiledCopy) and not begins and self.bring(op, ops[place:], b):
                continue
            if isinstance(op, nv_tileas.TiledCopy) and op.ring and op not in done:
                done.update(self.begin(ops[place:], coming, b))
            if op in done:
                continue
            if coming and needs(op, coming):
                self.arrive(coming, b)
            if isinstance(op, scf.For):
                self.loop(op, b)
            elif isinstance(op, scf.While):
                self.endless(op, b)
            elif isinstance(op, scf.If):
                self.branch(op, b)
            elif isinstance(op, Copy):
                coming.append((op, self.start(op, b)))
            elif isinstance(op, nv_tileas.Hold):
                self.hold(op, b)
            elif isinstance(op, nv_tileas.Exchange):
                self.exchange(op, b)
            elif isinstance(op, nv_tileas.AllocTensorMemory):
                made = self.rewriter.clone(op, self.agents.common)
                self.agents.tensor.append(checked(made, nv_tileas.AllocTensorMemory))
            elif isinstance(op, nv_tileas.StagedStore):
                self.scratch_used = True
                b.location = op.location
                stores.store(op, self.values(list(op.operands)), self.agents, b)
            else:
                self.scratch_used = self.scratch_used or scratch.scratch_of(op, self.rewriter.target) > 0
                self.rewriter.clone(op, b)
        self.arrive(coming, b)

    def exchange(self, op: nv_tileas.Exchange, b: Builder) -> None:
        """What CTAs of a cluster hand one another."""
        operands, warps = self.values(list(op.operands)), self.rewriter.func.warps
        handed = self.rewriter.exchanges.add(op, operands, self.depth > 0, warps, self.agents, b)
        self.rewriter.values.update(zip(op.results, handed, strict=True))

    def branch(self, op: scf.If, b: Builder) -> None:
        """Both sides of a branch."""
        sides: list[Region] = []
        before, after = self.scratch_used, False
        for region in op.regions:
            self.scratch_used = before
            inner = Block()
            inside = Builder(inner, op.location)
            if self.depth and any(isinstance(each, Copy) for each in region.block.ops):
                inside.add(nv_tileas.Barrier, types=())  # readers of the last iteration are done with the buffers
            self.run(region.block.ops, inside)
            sides.append(Region([inner]))
            after = after or self.scratch_used
        self.scratch_used = after
        b.location = op.location
        made = b.add(scf.If, *self.values([op.condition]), types=[r.type for r in op.results], regions=sides)
        self.rewriter.values.update(zip(op.results, made.results, strict=True))

    def begin(self, ops: Sequence[Op], coming: list[tuple[Copy, Value]], b: Builder) -> Sequence[Op]:
        """The ops of a block from a copy that fills the first stage of a loop's ring to the product that reads it; none
        where the ring can have no such stage.
        """
        ring = ops[0].attributes["ring"]
        copies = [op for op in ops if isinstance(op, nv_tileas.TiledCopy) and op.ring == ring]
        loops = (op for op in ops if isinstance(op, scf.For))
        loop = next(
            (op for op in loops if any(c.attributes.get("ring") == ring for c in asynchronous(op.body.block))), None
        )
        product = next((op for op in ops if isinstance(op, nv_tileas.Dot | nv_tileas.TensorLoad)), None)
        if loop is None or product is None:
            return []
        plans = self.plan(loop, asynchronous(loop.body.block), copies)
        if not plans or not plans[0].first:
            return []
        self.arrive(coming, b)
        self.begun[loop] = Consumer(self, self.agents, plans, b)
        head = ops[: ops.index(product) + 1]
        self.begun[loop].begin(head, b)
        return head

    def start(self, op: Copy, b: Builder) -> Value:
        """A copy to a separate buffer, in place."""
        made = self.allocate(op, 1, tile_of(op)[1].size_bytes, 0, b)
        self.rewriter.once.append(made)
        self.copy(op, made.result, None, self.values(op.operands), b)
        return made.result

    def bring(self, op: nv_tileas.TiledCopy, ops: Sequence[Op], b: Builder) -> bool:
        """Let the producer load a tile if it fills a ring of a loop of `ops` anyway and can; returns whether it
        does.
        """
        loops = (each for each in ops if isinstance(each, scf.For))
        if not op.tma or not any(self.plan(e, asynchronous(e.body.block)) for e in loops):
            return False
        plan = self.agents.lone(op)
        if plan is None:
            return False
        b.location = op.location
        made = self.allocate(op, 1, tile_of(op)[1].size_bytes, 0, self.agents.common)
        self.rewriter.once.append(made)
        self.lone.append(Lone(op, self.agents.lone_ring(plan, made.result, self.rewriter.func.warps), made.result))
        return True

    def behind(self, ops: list[Op], coming: list[tuple[Copy, Value]], b: Builder) -> None:
        """Wait for tiles that the producer brings, one in the other, and rebuild the rest of the kernel there."""
        first, *self.lone = self.lone
        pipeline, b.location = first.ring.pipeline.result, first.copy.location
        iterator = unknown(pipeline, 1)
        read = Block()
        inside = Builder(read, first.copy.location)
        view = inside.add(nv_tileas.BufferView, first.buffer, iterator, types=[first.copy.result.type], segments=(1, 1))
        self.rewriter.values[first.copy.result] = view.result
        if self.lone:
            self.behind(ops[:-1], coming, inside)
        else:
            self.run(ops[:-1], inside, coming, whole=True)
        consume(b, pipeline, iterator, read, [])
        made = b.block.ops[-1]
        first.ring.alone[made] = stage_alone(made, b)
        self.run(ops[-1:], b)

    def arrive(self, coming: list[tuple[Copy, Value]], b: Builder) -> None:
        """Wait once for all copies in flight."""
        if any(op.asynchronous for op, _ in coming):
            b.add(nv_tileas.AsyncCommit, types=())
            b.add(nv_tileas.AsyncWait, types=(), pending=0)
        if coming:
            self.publish(b)
        for op, buffer in coming:
            made = b.add(nv_tileas.BufferView, buffer, types=[op.result.type], segments=(1, 0))
            self.rewriter.values[op.result] = made.result
        coming.clear()

    def hold(self, op: nv_tileas.Hold, b: Builder) -> None:
        """Write a tile to two alternating buffers: a thread that rewrites one has passed the other's barrier, and thus
        has waited for the products that read it. For products in tensor memory all threads wait themselves: one buffer
        suffices.
        """
        rewriter, (kind, shared) = self.rewriter, tile_of(op)
        stages = 2 if self.depth and not self.rewriter.tensor else 1
        buffer = nv_tileas.BufferType(stages, kind.shape, kind.element, shared)
        b.location = op.location
        each = align(shared.size_bytes, shared.alignment)
        made = b.add(nv_tileas.AllocTensor, types=[buffer], offset=0, stage_bytes=each)
        (rewriter.looped if self.depth and rewriter.tensor else rewriter.once).append(made)
        written = b.add(
            nv_tileas.WriteBuffer, made.result, self.agents.zero, *self.values([op.source]), types=(), atom=op.atom
        )
        self.publish(b)
        view = b.add(nv_tileas.BufferView, made.result, self.agents.zero, types=[op.result.type], segments=(1, 1))
        if stages > 1:
            rewriter.held.append((written, view))
        rewriter.values[op.result] = view.result

    def publish(self, b: Builder) -> None:
        """Make what threads have written to shared memory visible to all, and to what reads it asynchronously."""
        publish(b, self.rewriter.target, tensor=self.rewriter.tensor)

    def reading(
        self,
        copies: Sequence[Staged],
        buffers: Sequence[Value],
        iterator: Value,
        rest: list[Op],
        fence: bool,
        loop: scf.For,
    ) -> Block:
        """A block with the tiles in the stage of an iterator, and the `rest` of a loop's body behind them."""
        read = Block()
        b = Builder(read, loop.location)
        if fence:
            b.add(nv_tileas.AsyncFence, types=())  # cp.async writes by the generic proxy, wgmma reads by the other
        for copy, buffer in zip(copies, buffers, strict=True):
            view = b.add(nv_tileas.BufferView, buffer, iterator, types=[copy.result.type], segments=(1, 1))
            self.rewriter.values[copy.result] = view.result
        self.inner(rest, b)
        return read

    def values(self, operands: list[Value]) -> list[Value]:
        """New values of old operands."""
        return [self.rewriter.values.get(v, v) for v in operands]

    def allocate(self, op: Staged, stages: int, stage_bytes: int, offset: int, b: Builder) -> nv_tileas.AllocTensor:
        """A ring of buffers for a copy, `offset` bytes behind where its first stage will lie."""
        kind, shared = tile_of(op)
        buffer = nv_tileas.BufferType(stages, kind.shape, kind.element, shared)
        return b.add(nv_tileas.AllocTensor, types=[buffer], offset=offset, stage_bytes=stage_bytes)

    def copy(self, op: Copy, buffer: Value, stage: Value | None, operands: list[Value], b: Builder) -> None:
        """Fill one stage."""
        extra = [] if stage is None else [stage]
        places = (1, len(extra), 0, 1)
        b.location = op.location
        if isinstance(op, nv_tileas.GatherCopy):
            b.add(
                nv_tileas.AsyncGatherCopy,
                buffer,
                *extra,
                *operands,
                types=(),
                width=op.width,
                segments=(*places, len(operands) - 1),
            )
            return
        view = op.view.type
        if not isinstance(view, PartitionViewType):
            raise TypeError(f"{view} is not a partition view")
        threads = copy_threads(view, self.rewriter.func.warps, op.bytes)
        b.add(
            nv_tileas.AsyncTiledCopy,
            buffer,
            *extra,
            *operands,
            types=(),
            bytes=op.bytes,
            threads=threads,
            segments=(*places, len(operands) - 1),
            asynchronous=op.asynchronous,
            ragged=op.ragged,
        )

    def loop(self, op: scf.For, b: Builder) -> None:
        """Pipeline the copies of a loop whose tiles depend only on its counter; keep the others in place."""
        body = op.body.block
        copies = asynchronous(body)
        ahead = [c for c in copies if slice_of(c.operands, body) is not None]
        stages = min((c.stages for c in ahead), default=0)
        if op in self.begun:
            self.begun[op].build(b)
            return
        if any(isinstance(c, nv_tileas.TiledCopy) and c.ring for c in copies):
            stages -= 1  # its first tiles have buffers of their own
        elif plans := self.plan(op, copies) or self.plan(op, ahead):
            stored = transformed(op, plans, self.rewriter.target)
            Consumer(self, self.agents, plans if stored is None else [*plans, stored], b).build(b)
            return
        if multiplies(op):
            refuse(op, "no producer loads the tiles of its loop")
        if not ahead or stages < MIN_STAGES:
            self.plain_loop(op, b)
        else:
            _Pipeline(self, op, ahead, stages).build(b)

    def plan(self, op: scf.For, copies: list[Copy], first: Sequence[nv_tileas.TiledCopy] = ()) -> list[Plan]:
        """A producer for these copies of a loop, in rings by their numbers, and the `first` ones before it; none where
        there is none.
        """
        rings, stages = rings_of(copies), min((c.stages for c in copies), default=0)
        return self.agents.plan(op, rings, first) if stages and rings else []

    def buffers(self, copies: Sequence[Staged], ring: Ring, b: Builder) -> list[Value]:
        """The buffers of a loop's copies in a ring: one stage holds them all, so one stage offset serves all."""
        layouts = [tile_of(c)[1] for c in copies]
        offsets: list[int] = []
        end = 0
        for layout in layouts:
            offsets.append(align(end, layout.alignment))
            end = offsets[-1] + layout.size_bytes
        stage_bytes = align(end, max(layout.alignment for layout in layouts))
        made = [self.allocate(c, ring.stages, stage_bytes, o, b) for c, o in zip(copies, offsets, strict=True)]
        ring.add(made, stage_bytes)
        return [each.result for each in made]

    def own_ring(self, stages: int) -> tuple[Ring, bool]:
        """A ring that the consumers fill, over those of earlier loops of its depth, and whether there are any."""
        found = self.rewriter.own.get(self.depth)
        if found is None:
            found = self.rewriter.own[self.depth] = []
            self.rewriter.rings.append(found)
        found.append(Ring(stages))
        return found[-1], len(found) > 1

    def inner(self, ops: list[Op], b: Builder) -> None:
        """Rebuild the contents of a loop's body."""
        used = self.scratch_used
        self.depth += 1
        self.run(ops, b)
        self.depth -= 1
        self.scratch_used = self.scratch_used or used  # the loop may not have run at all

    def plain_loop(self, op: scf.For, b: Builder) -> None:
        """A loop without a pipeline."""
        inner = Block([a.type for a in op.body.block.args])
        self.rewriter.values.update(zip(op.body.block.args, inner.args, strict=True))
        ops = op.body.block.ops
        inside = Builder(inner, op.location)
        if any(isinstance(each, Copy) for each in ops):
            inside.add(nv_tileas.Barrier, types=())  # readers of the last iteration are done with the buffers
        self.inner(ops, inside)
        self.rebuild(op, [*self.values([op.lower, op.upper, op.step]), *self.values(op.init)], inner, b)

    def endless(self, op: scf.While, b: Builder) -> None:
        """A while loop: its own copies are waited for at once."""
        inner = Block([a.type for a in op.body.block.args])
        self.rewriter.values.update(zip(op.body.block.args, inner.args, strict=True))
        inside = Builder(inner, op.location)
        if any(isinstance(each, Copy) for each in op.body.block.ops):
            inside.add(nv_tileas.Barrier, types=())  # readers of the last iteration are done with the buffers
        self.inner(op.body.block.ops, inside)
        b.location = op.location
        inits = self.values(list(op.init))
        made = b.add(
            scf.While, *inits, types=[v.type for v in inits], segments=(len(inits),), regions=[Region([inner])]
        )
        self.rewriter.values.update(zip(op.results, made.results, strict=True))

    def rebuild(self, op: scf.For, operands: list[Value], body: Block, b: Builder) -> scf.For:
        """A loop with a new body, which may carry more. The source stays as it is: a producer is a slice of it."""
        b.location = op.location
        made = b.add(
            scf.For,
            *operands,
            types=[a.type for a in body.args[1:]],
            segments=(1, 1, 1, len(operands) - 3),
            regions=[Region([body])],
            **op.attributes,
        )
        self.rewriter.values.update(zip(op.results, made.results, strict=False))
        return made


def asynchronous(body: Block) -> list[Copy]:
    """The copies of a body that something else may start for its loop."""
    others = before_loops(body)
    return [c for c in body.ops if isinstance(c, Copy) and c.asynchronous and not c.ordered and c not in others]


def rings_of(copies: Sequence[Copy], gathered: bool = False) -> list[list[Copy]]:
    """Copies of a loop by the stages that are waited for together."""
    return [run for ring in by_rings(copies, gathered).values() for run in between_loops(ring)]


def by_rings(copies: Sequence[Copy], gathered: bool = False) -> dict[int, list[Copy]]:
    """Copies of a loop by their rings; none where one gathers by the pointers of those who compute, unless all that is
    `gathered` may be a producer's.
    """
    rings: dict[int, list[Copy]] = {}
    for copy in copies:
        pointers = isinstance(copy, nv_tileas.GatherCopy)
        if pointers and not (gathered or copy.producers):
            return {}
        rings.setdefault(0 if pointers else copy.ring, []).append(copy)
    return rings


def between_loops(copies: Sequence[Copy]) -> list[list[Copy]]:
    """Copies of one body, apart where a loop between them has copies of its own, and so other stages to wait for."""
    found: list[list[Copy]] = []
    for copy in copies:
        ops = copy.parent.ops if copy.parent is not None else []
        passed = ops[ops.index(found[-1][-1]) : ops.index(copy)] if found else []
        loops = any(isinstance(each, Copy) for op in passed if isinstance(op, LOOPS) for each in op.walk())
        if loops or not found:
            found.append([])
        found[-1].append(copy)
    return found


def needs(op: Op, coming: Sequence[tuple[Copy, Value]]) -> bool:
    """Must copies have arrived before an operation: does it read one of them, or do more than compute or copy?"""
    reads = any(copy.result in op.operands for copy, _ in coming)
    return reads or not (isinstance(op, Copy) or (op.effect is PURE and not op.regions))


class _Pipeline:
    """One loop with a ring of `stages` for the copies `ahead`, which their readers issue."""

    def __init__(self, scheduler: Scheduler, op: scf.For, ahead: list[Copy], stages: int):
        self.scheduler = scheduler
        self.rewriter = scheduler.rewriter
        self.op = op
        self.ahead = ahead
        self.stages = stages
        self.nested = scheduler.depth > 0

    def build(self, b: Builder) -> None:
        """The ring and the loop."""
        b.location = self.op.location
        ring, over = self.scheduler.own_ring(self.stages)
        self.buffers = self.scheduler.buffers(self.ahead, ring, b)
        kind = nv_tileas.PipelineType(self.stages)
        pipeline = b.value(nv_tileas.CreatePipeline, types=[kind], by=nv_tileas.GROUPS)
        if self.nested or over or self.scheduler.scratch_used:
            b.add(nv_tileas.Barrier, types=())  # readers of the last run of this loop, of a ring, of scratch, are done
        self.scheduler.scratch_used = False
        begin = b.value(nv_tileas.CreateIterator, pipeline, types=[nv_tileas.IteratorType(self.stages)])
        bounds = self.scheduler.values([self.op.lower, self.op.upper, self.op.step])
        self.loop(b, bounds, pipeline, begin)

    def fill(self, counter: Value, iterator: Value, b: Builder) -> None:
        """Copy the tiles of the iteration at `counter`."""
        body = self.op.body.block
        for copy, buffer in zip(self.ahead, self.buffers, strict=True):
            values = {body.args[0]: counter}
            for op in slice_of(copy.operands, body) or []:
                self.rewriter.clone(op, b, values)
            operands = [values.get(v, self.rewriter.values.get(v, v)) for v in copy.operands]
            self.scheduler.copy(copy, buffer, iterator, operands, b)

    def loop(self, b: Builder, bounds: list[Value], pipeline: Value, begin: Value) -> None:
        """The loop itself: carries the iterator beside its own values; its tiles are copied some iterations ahead."""
        op, body = self.op, self.op.body.block
        inner = Block([*(a.type for a in body.args), begin.type])
        counter, iterator = inner.args[0], inner.args[-1]
        self.rewriter.values.update(zip(body.args, inner.args, strict=False))
        inside = Builder(inner, op.location)
        produce(
            inside, pipeline, iterator, lambda w: self.fill(counter, iterator, w), copies=True, ahead=self.stages - 1
        )
        rest = [each for each in body.ops[:-1] if each not in self.ahead]
        read = self.scheduler.reading(self.ahead, self.buffers, iterator, rest, False, op)
        ends = consume(inside, pipeline, iterator, read, self.scheduler.values(body.terminator.operands))
        inside.add(scf.Yield, *ends, inside.value(nv_tileas.IncIter, iterator), types=())
        self.scheduler.rebuild(op, [*bounds, *self.scheduler.values(op.init), begin], inner, b)
