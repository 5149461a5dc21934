"""Producer and consumer agents: loops whose tiles a warpgroup of its own brings into a ring of stages.

    producer   wait until a stage is empty, fill it (one thread by tensor copies, or all by cp.async); next stage
    consumers  all other warps: wait until the stage is full, compute, release it; next stage
Each ring has a full and an empty mbarrier a stage; the parity of a stage's round flips when the ring wraps. The
producer computes what it needs again (counters, tile indices), so nothing but the stages crosses between the agents.
Source: the seeds' MaterializeSchedule and agents, for top-level loops; CUTLASS's warp-specialised mainloops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ir.core import Block, Builder, Op, Region, Value
from ir.dataclass import dataclass, field
from ir.dialects import arith, nv_tileas, scf
from ir.types import I1, I32
from lowering.schedule.fills import Boxed, Fill, Threaded, announced, arrivals, boxed, threaded
from lowering.schedule.rings import slice_of, tile_of
from lowering.schedule.tensormaps import replicable

if TYPE_CHECKING:
    from lowering.schedule.pipelining import Scheduler

BARRIER_BYTES = 8  # an mbarrier; PTX ISA, mbarrier object


@dataclass
class Job:
    """What the producer does for one loop."""

    loop: scf.For
    body: Block  # of the source
    copies: list[nv_tileas.TiledCopy]
    buffers: list[Value]
    fills: list[Fill]
    pipeline: Value
    stages: int

    def inputs(self) -> list[Value]:
        """What its copies are told: their tile's coordinates, and the view where threads copy."""
        pairs = zip(self.copies, self.fills, strict=True)
        return [v for copy, fill in pairs for v in source_operands(copy, fill)]


def source_operands(copy: nv_tileas.TiledCopy, fill: Fill) -> list[Value]:
    """Operands of a copy that its producer must have: a tensor map stands in for the view."""
    return list(copy.index if isinstance(fill, Boxed) else copy.operands)


@dataclass
class Agents:
    """The agents of one kernel; `common` is built before they part, `ops` are the kernel's source ops."""

    common: Builder
    ops: list[Op]
    arguments: dict[Value, int]
    by_threads: bool  # may a producer copy by cp.async? That takes registers, which the consumers must get back
    jobs: list[Job] = field(default_factory=list[Job])
    tensormaps: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def plan(self, op: scf.For, copies: list[nv_tileas.TiledCopy]) -> list[Fill] | None:
        """How the producer fills each tile of a loop's stage, None where it cannot make all of them."""
        fills: list[Fill] = []
        outside = [op.lower, op.upper, op.step]
        for copy in copies:
            fill = boxed(copy, self.arguments) or (threaded(copy) if self.by_threads else None)
            if fill is None:
                return None
            fills.append(fill)
            operands = source_operands(copy, fill)
            inner = slice_of(operands, op.body.block) or []
            outside += [v for each in inner for v in each.operands] + operands
        return fills if self.above(outside) is not None else None

    def above(self, operands: list[Value]) -> list[Op] | None:
        """The kernel's top-level ops that compute `operands`, in order; None where one cannot be computed again."""
        wanted = set(operands)
        found: list[Op] = []
        for op in reversed(self.ops):
            if wanted.intersection(op.results):
                if not replicable(op):
                    return None
                found.append(op)
                wanted.update(op.operands)
        return found[::-1]

    def map_number(self, record: dict[str, Any]) -> int:
        """The number of a tensor map, shared by equal ones."""
        if record not in self.tensormaps:
            self.tensormaps.append(record)
        return self.tensormaps.index(record)

    def switch(self, consumer: Block) -> None:
        """End the common part with the two agents."""
        producer = Block()
        b = Builder(producer, self.common.location)
        for job in self.jobs:
            Producer(self, job, b).build()
        regions = [Region([producer]), Region([consumer])]
        whole = any(isinstance(fill, Threaded) for job in self.jobs for fill in job.fills)
        self.common.add(nv_tileas.AgentSwitch, types=(), regions=regions, by_threads=whole)


class Producer:
    """The producer's loop of one job."""

    def __init__(self, agents: Agents, job: Job, b: Builder):
        self.agents = agents
        self.job = job
        self.b = b
        self.values: dict[Value, Value] = {}

    def clone(self, op: Op, b: Builder) -> None:
        """A copy of a scalar op on this agent's values."""
        operands = [self.values.get(v, v) for v in op.operands]
        made = b.add(type(op), *operands, types=[r.type for r in op.results], segments=op.segments, **op.attributes)
        self.values.update(zip(op.results, made.results, strict=True))

    def build(self) -> None:
        """Counter, stage and phase go round; each iteration fills one stage."""
        job, b, op = self.job, self.b, self.job.loop
        wanted = job.inputs()
        inner = list(slice_of(wanted, job.body) or [])
        outside = [op.lower, op.upper, op.step, *wanted, *(v for each in inner for v in each.operands)]
        for each in self.agents.above(outside) or []:
            self.clone(each, b)
        lower, upper, step = (self.values.get(v, v) for v in (op.lower, op.upper, op.step))
        zero = b.value(arith.Constant, types=[I32], value=0)
        block = Block([lower.type, I32, I32])
        counter, stage, phase = block.args
        self.values[job.body.args[0]] = counter
        inside = Builder(block, op.location)
        one = inside.value(arith.Constant, types=[I32], value=1)
        before = inside.value(arith.XOrI, phase, one)
        inside.add(
            nv_tileas.ProducerAcquire, job.pipeline, stage, before, types=(), bytes=announced(job.copies, job.fills)
        )
        for each in inner:
            self.clone(each, inside)
        for copy, buffer, fill in zip(job.copies, job.buffers, job.fills, strict=True):
            self.fill(copy, buffer, fill, stage, inside)
        if any(isinstance(fill, Threaded) for fill in job.fills):
            inside.add(nv_tileas.ProducerCommit, job.pipeline, stage, types=())
        inside.add(scf.Yield, *advance(inside, stage, phase, job.stages), types=())
        b.add(
            scf.For, lower, upper, step, zero, zero, types=[I32, I32], segments=(1, 1, 1, 2),
            regions=[Region([block])], **op.attributes,
        )  # fmt: skip

    def fill(self, copy: nv_tileas.TiledCopy, buffer: Value, fill: Fill, stage: Value, b: Builder) -> None:
        """One tile of a stage."""
        operands = [self.values.get(v, v) for v in source_operands(copy, fill)]
        if isinstance(fill, Boxed):
            plan = fill.boxes
            b.add(
                nv_tileas.TiledTmaLoad, buffer, stage, self.job.pipeline, *operands, types=(),
                segments=(1, 1, 1, len(operands)), dims=plan.dims, boxes=plan.places,
                tensormap=self.agents.map_number(fill.record), tile=tuple(tile_of(copy)[0].shape[d] for d in plan.dims),
            )  # fmt: skip
        else:
            b.add(
                nv_tileas.AsyncTiledCopy, buffer, stage, *operands, types=(), segments=(1, 1, 0, 1, len(operands) - 1),
                bytes=copy.bytes, threads=fill.layout, asynchronous=True, ragged=copy.ragged,
            )  # fmt: skip


def advance(b: Builder, stage: Value, phase: Value, stages: int) -> tuple[Value, Value]:
    """The next stage of a ring, and the parity of its round."""
    one, zero, count = (b.value(arith.Constant, types=[I32], value=n) for n in (1, 0, stages))
    following = b.value(arith.AddI, stage, one)
    wrapped = b.value(arith.CmpI, following, count, types=[I1], predicate="eq")
    flip = b.value(arith.ExtUI, wrapped, types=[I32])
    return b.value(arith.Select, wrapped, zero, following), b.value(arith.XOrI, phase, flip)


class Consumer:
    """A consumer's loop over a ring that the producer fills."""

    def __init__(self, scheduler: Scheduler, agents: Agents, op: scf.For, copies: list[nv_tileas.TiledCopy]):
        self.scheduler = scheduler
        self.agents = agents
        self.op = op
        self.copies = copies

    def build(self, fills: list[Fill], stages: int, b: Builder) -> None:
        """The loop here, and its job for the producer."""
        op, body, scheduler = self.op, self.op.body.block, self.scheduler
        rewriter = scheduler.rewriter
        buffers = scheduler.ring(self.copies, stages, self.agents.common)
        plain = any(isinstance(each, nv_tileas.SharedLoad) and each.atom == "ld.shared" for each in body.ops)
        warps = rewriter.func.warps
        pipeline = self.agents.common.value(
            nv_tileas.CreatePipeline, types=[nv_tileas.PipelineType(stages)], offset=rewriter.free,
            consumers=32 * warps if plain else warps, each="thread" if plain else "warp", producers=arrivals(fills),
        )  # fmt: skip
        rewriter.free += 2 * BARRIER_BYTES * stages
        source = Block()  # the body as the producer reads it: arguments and ops of the source
        source.args, source.ops = body.args, list(body.ops)
        self.agents.jobs.append(Job(op, source, self.copies, buffers, fills, pipeline, stages))
        flying = in_flight(body, self.copies)
        if flying is not None:
            flying[0].attributes["pending"] = 1
        lower, upper, step = scheduler.values([op.lower, op.upper, op.step])
        inner = Block([a.type for a in body.args] + [I32, I32, I32])
        stage, phase, previous = inner.args[-3:]
        rewriter.values.update(zip(body.args, inner.args, strict=False))
        inside = Builder(inner, op.location)
        inside.add(nv_tileas.ConsumerWait, pipeline, stage, phase, types=())
        if read_asynchronously(body) and any(isinstance(fill, Threaded) for fill in fills):
            inside.add(nv_tileas.AsyncFence, types=())  # cp.async writes by the generic proxy, wgmma reads by the other
        for copy, buffer in zip(self.copies, buffers, strict=True):
            view = inside.add(nv_tileas.BufferView, buffer, stage, types=[copy.result.type], segments=(1, 1))
            rewriter.values[copy.result] = view.result
        rest = [each for each in body.ops[:-1] if each not in self.copies]
        scheduler.inner(rest, inside)
        if flying is None:
            inside.add(nv_tileas.ConsumerRelease, pipeline, stage, types=(), segments=(1, 1, 0))
        else:  # this iteration's products may still read its stage, the last iteration's have ended
            later = inside.value(arith.CmpI, inner.args[0], lower, types=[I1], predicate="ne")
            inside.add(nv_tileas.ConsumerRelease, pipeline, previous, later, types=(), segments=(1, 1, 1))
        ends = scheduler.values(body.terminator.operands)
        inside.add(scf.Yield, *ends, *advance(inside, stage, phase, stages), stage, types=())
        zero = b.value(arith.Constant, types=[I32], value=0)
        inits = [*scheduler.values(op.init), zero, zero, zero]
        made = b.add(
            scf.For, lower, upper, step, *inits, types=[v.type for v in inits], segments=(1, 1, 1, len(inits)),
            regions=[Region([inner])], **op.attributes,
        )  # fmt: skip
        rewriter.values.update(zip(op.results, made.results, strict=False))
        if flying is not None:
            source_result = op.results[flying[1]]
            done = b.add(nv_tileas.DotWait, made.results[flying[1]], pending=0)
            rewriter.values[source_result] = done.result


def read_asynchronously(body: Block) -> bool:
    """Does a warpgroup product of this body read shared memory?"""
    return any(isinstance(each, nv_tileas.Dot) and each.atom.startswith("wgmma") for each in body.ops)


def in_flight(body: Block, ring: list[nv_tileas.TiledCopy]) -> tuple[nv_tileas.Dot, int] | None:
    """The body's only product and the place of its accumulator, where it may run on into the next iteration.

    Its operands must come from shared memory alone, all of them from the ring: a buffer that the consumers fill
    themselves is written again at once. Nothing else in the body may touch the accumulator.
    """
    products = [each for each in body.ops if isinstance(each, nv_tileas.Dot)]
    if len(products) != 1 or any(isinstance(each, nv_tileas.SharedLoad) for each in body.ops):
        return None
    if any(isinstance(each, nv_tileas.TiledCopy) and each not in ring for each in body.ops):
        return None
    dot = products[0]
    users = [each for each in body.ops[:-1] if dot.c in each.operands or dot.result in each.operands]
    carried = body.args[1:]
    if not dot.atom.startswith("wgmma") or not dot.atom.endswith(".ss") or users != [dot] or dot.c not in carried:
        return None
    place = carried.index(dot.c)
    return (
        (dot, place)
        if body.terminator.operands.count(dot.result) == 1 and (body.terminator.operands[place] is dot.result)
        else None
    )
