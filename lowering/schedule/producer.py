"""The producer's program: the loops and branches around its copies, and in them the ops that fill the stages.

It follows source order: values it needs are rematerialised, or received where the consumers have them, and the stage of
an iteration is filled at the last of its copies. A loop may fill several rings, and one of them may have had a stage
filled before the loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from ir.core import Block, Builder, Op, Region, Value
from ir.dialects import nv_tileas, scf
from ir.launch_records import TensorMapRecord
from ir.records import dataclass
from ir.types import I32
from lowering.layouts.layout import Layout
from lowering.schedule.boundary import Placed, Plan, Slice, Way, source_operands
from lowering.schedule.fills import Boxed, Fill, Threaded, announced
from lowering.schedule.pipes import produce, stage_alone, unknown
from lowering.schedule.rings import Staged, tile_of
from lowering.schedule.states import Site


@dataclass(eq=False)
class Job:
    """What the producer does for one ring of one loop."""

    plan: Plan
    buffers: list[Value]
    pipeline: Value
    stored: Value | None  # the channel that signals when the data the copies read has been stored


class Producer:
    """Builds the producer's region. `values` holds what it knows of the source's values, at first those in common.

    `loops` and `receives` are what goes from one run to the next: they start at `zero` until all loops stand.
    """

    def __init__(
        self,
        boundary: Slice,
        jobs: list[Job],
        values: dict[Value, Value],
        channels: dict[Value, Value],
        zero: Value,
        map_number: Callable[[TensorMapRecord], int],
    ):
        self.boundary = boundary
        self.jobs: defaultdict[Op | None, list[Job]] = defaultdict(list)
        self.last: dict[Op, Job] = {}  # by the last copy of a stage
        for job in jobs:
            self.jobs[job.plan.loop].append(job)
            self.last |= {copies[-1]: job for copies in (job.plan.first, job.plan.copies) if copies}
        self.values = values
        self.tiles: dict[tuple[Value, Layout], Value] = {}  # made again in layouts of its own
        self.channels = channels
        self.zero = zero
        self.map_number = map_number
        self.turns: dict[Job, Value] = {}  # iterator of an iteration
        self.taking: list[tuple[Job, Op, Site]] = []  # what takes and leaves the iterator of a job's ring
        self.receives: list[nv_tileas.Receive] = []

    def receive_late(self) -> None:
        """Wait for received values at their first use, so that earlier code does not wait."""
        for op in self.receives:
            block = op.parent
            assert block is not None
            block.ops.remove(op)
            users = (i for i, each in enumerate(block.ops) if any(op.result in v.operands for v in each.walk()))
            block.ops.insert(next(users, len(block.ops) - 1), op)

    def sites(self, pipeline: Value) -> dict[Op, Site]:
        """What fills one ring: each loop, or stage before one, takes and leaves its iterator."""
        return {op: site for job, op, site in self.taking if job.pipeline is pipeline}

    def known(self, values: list[Value]) -> list[Value]:
        """This agent's values."""
        return [self.values.get(v, v) for v in values]

    def placed(self, values: Sequence[Placed]) -> list[Value]:
        """This agent's values, tiles in the layouts in which it needs them."""
        return [self.values.get(v, v) if layout is None else self.tiles[v, layout] for v, layout in values]

    def block(self, ops: Sequence[Op], b: Builder) -> None:
        """What is needed of a block."""
        for op in ops:
            b.location = op.location
            if isinstance(op, scf.For) and op in self.boundary.skeleton:
                self.loop(op, b)
            elif isinstance(op, scf.While) and op in self.boundary.skeleton:
                self.endless(op, b)
            elif isinstance(op, scf.If) and op in self.boundary.skeleton:
                self.branch(op, b)
            elif op in self.last and op in self.last[op].plan.first:
                self.begin(self.last[op], self.last[op].plan.first, b)
            elif op in self.last and self.last[op].plan.loop is None:
                self.begin(self.last[op], self.last[op].plan.copies, b)
            elif op in self.last:
                job = self.last[op]
                self.fill(job, job.plan.copies, self.turns[job], b)
            else:
                self.bring(op, b)

    def bring(self, op: Op, b: Builder) -> None:
        """The needed results of an op, rematerialised or received. Both agents wait for preceding grids."""
        if isinstance(op, nv_tileas.WaitOnDependency):
            b.add(nv_tileas.WaitOnDependency, types=())
        ways = {r: self.boundary.ways.get(r) for r in op.results if r not in self.boundary.layouts}
        if Way.REMATERIALISE in ways.values():
            types = [r.type for r in op.results]
            made = b.add(type(op), *self.known(op.operands), types=types, segments=op.segments, **op.attributes)
            self.values.update(zip(op.results, made.results, strict=True))
        for layout in dict.fromkeys(each for r in op.results for each in self.boundary.layouts.get(r, ())):
            results = self.boundary.remade(op, layout, self.placed(self.boundary.operands(op, layout)), b)
            self.tiles.update({(r, layout): made for r, made in zip(op.results, results, strict=True)})
        for result in (r for r, way in ways.items() if way is Way.SEND):
            taken = b.add(nv_tileas.Receive, self.channels[result], self.zero, types=[result.type])
            self.receives.append(taken)
            self.values[result] = taken.result

    def loop(self, op: scf.For, b: Builder) -> None:
        """A loop with the carried values that are needed, and with the iterators of its jobs."""
        body, jobs = op.body.block, self.jobs.get(op, [])
        for job in jobs:
            if not job.plan.first:
                self.stored(job, b)
        kept = [i for i, argument in enumerate(body.args[1:]) if argument in self.boundary.needed]
        inits = [*self.known([op.init[i] for i in kept]), *(self.zero for _ in jobs)]
        turns = [nv_tileas.IteratorType(job.plan.stages) for job in jobs]
        types = [*(v.type for v in inits[: len(kept)]), *turns]
        inner = Block([op.lower.type, *types])
        self.values.update(zip([body.args[0], *(body.args[1 + i] for i in kept)], inner.args, strict=False))
        inside = Builder(inner, op.location)
        self.turns.update(zip(jobs, inner.args[1 + len(kept) :], strict=True))
        self.block(body.ops[:-1], inside)
        ends = self.known([body.terminator.operands[i] for i in kept])
        ends += [inside.value(nv_tileas.IncIter, self.turns[job]) for job in jobs]
        inside.add(scf.Yield, *ends, types=())
        b.location = op.location
        made = b.add(
            scf.For,
            *self.known([op.lower, op.upper, op.step]),
            *inits,
            types=types,
            segments=(1, 1, 1, len(inits)),
            regions=[Region([inner])],
            **op.attributes,
        )
        self.values.update(zip([op.results[i] for i in kept], made.results, strict=False))
        for place, job in enumerate(jobs, len(kept)):
            self.taking.append((job, made, Site([3 + place], [made.results[place]])))

    def endless(self, op: scf.While, b: Builder) -> None:
        """A while loop: the producer also learns whether it continues."""
        body = op.body.block
        kept = [i for i, argument in enumerate(body.args) if argument in self.boundary.needed]
        inits = self.known([op.init[i] for i in kept])
        types = [v.type for v in inits]
        inner = Block(types)
        self.values.update(zip([body.args[i] for i in kept], inner.args, strict=True))
        inside = Builder(inner, op.location)
        self.block(body.ops[:-1], inside)
        again, *ends = self.known([body.terminator.operands[i] for i in (0, *(1 + i for i in kept))])
        inside.add(scf.Condition, again, *ends, types=(), segments=(1, len(ends)))
        b.location = op.location
        made = b.add(scf.While, *inits, types=types, segments=(len(inits),), regions=[Region([inner])])
        self.values.update(zip([op.results[i] for i in kept], made.results, strict=True))

    def branch(self, op: scf.If, b: Builder) -> None:
        """Both sides of a branch, with the results that are needed."""
        kept = [r for r in op.results if r in self.boundary.needed]
        sides: list[Block] = []
        for region in op.regions:
            source, inner = region.block, Block()
            inside = Builder(inner, op.location)
            self.block(source.ops[:-1], inside)
            inside.add(scf.Yield, *self.known([source.terminator.operands[r.index] for r in kept]), types=())
            sides.append(inner)
        types = [r.type for r in kept]
        made = b.add(scf.If, *self.known([op.condition]), types=types, regions=[Region([side]) for side in sides])
        self.values.update(zip(kept, made.results, strict=True))

    def stored(self, job: Job, b: Builder) -> None:
        """Wait until what the copies of a job read has been stored."""
        if job.stored:
            self.receives.append(b.add(nv_tileas.Receive, job.stored, self.zero, types=[I32]))

    def begin(self, job: Job, copies: Sequence[Staged], b: Builder) -> None:
        """Fill a stage outside of the loop, if there is one."""
        self.stored(job, b)
        iterator = unknown(job.pipeline, job.plan.stages)
        made = self.fill(job, copies, iterator, b)
        self.taking.append((job, made, stage_alone(made, b)))

    def fill(self, job: Job, copies: Sequence[Staged], iterator: Value, b: Builder) -> Op:
        """Fill the stage of an iteration."""
        plan = job.plan

        def write(inside: Builder) -> None:
            for copy, buffer, fill in zip(copies, job.buffers, plan.fills, strict=True):
                self.tile(copy, buffer, fill, job.pipeline, iterator, inside)

        by_threads = any(isinstance(fill, Threaded) for fill in plan.fills)
        ctas = 2 if plan.paired else 1
        return produce(b, job.pipeline, iterator, write, ctas * announced(copies, plan.fills), by_threads)

    def tile(self, copy: Staged, buffer: Value, fill: Fill, pipeline: Value, stage: Value, b: Builder) -> None:
        """One tile of a stage."""
        operands = self.placed(source_operands(copy, fill))
        b.location = copy.location
        if isinstance(copy, nv_tileas.GatherCopy):
            b.add(
                nv_tileas.AsyncGatherCopy,
                buffer,
                stage,
                *operands,
                types=(),
                width=copy.width,
                segments=(1, 1, 0, 1, len(operands) - 1),
            )
        elif isinstance(fill, Boxed):
            assert isinstance(copy, nv_tileas.TiledCopy)
            plan, parts = fill.boxes, fill.parts
            step = () if parts is None else (*parts.step, parts.bytes)
            b.add(
                nv_tileas.TiledTmaLoad,
                buffer,
                stage,
                pipeline,
                *operands,
                types=(),
                segments=(1, 1, 1, len(operands)),
                dims=plan.dims,
                boxes=plan.places,
                tensormap=self.map_number(fill.record),
                tile=tuple(tile_of(copy)[0].shape[d] for d in plan.dims),
                evict=copy.evict,
                alike=fill.alike,
                step=step,
                halved=fill.halved,
            )
        else:
            assert isinstance(copy, nv_tileas.TiledCopy)
            assert isinstance(fill, Threaded)
            b.add(
                nv_tileas.AsyncTiledCopy,
                buffer,
                stage,
                *operands,
                types=(),
                segments=(1, 1, 0, 1, len(operands) - 1),
                bytes=copy.bytes,
                threads=fill.layout,
                asynchronous=True,
                ragged=copy.ragged,
            )
