"""Tiles that an agent computes from those of the producer, and hands to the consumers in a ring in shared memory.

    producer      wait until a stage of its ring is empty, fill it
    transformer   wait until it is full, load its tiles, release it; compute; wait until a stage of the second ring is
                  empty, store what has been computed, fence it for asynchronous readers, arrive
    consumers     wait for both stages, issue products, release those of the iteration before
The transformer is a slice of the source, as the producer is: it rematerialises all that its tiles depend on (scales are
loaded again, converted and scaled tiles are made by it alone) in layouts of its own warps, and what only it needs
leaves the consumers' code. Which tiles, and how many warps, the placed program says: it was chosen by predicted time
(`lowering/modulo/transforming.py`).
Source: the seeds' ResolveAgentBoundary; FlashAttention-3's producer, which transposes f8 values into a second ring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ir.core import PURE, Block, Builder, Op, Value
from ir.dialects import nv_tileas, scf
from ir.launch_records import TensorMapRecord
from ir.records import dataclass
from ir.types import TensorType
from lowering.layouts.f2 import log2
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout
from lowering.schedule.agent_rings import AgentRing
from lowering.schedule.boundary import Placed, Plan, Slice, Way
from lowering.schedule.fills import Written
from lowering.schedule.pipes import consume, produce, stage_alone, unknown
from lowering.schedule.producer import Producer
from lowering.schedule.relaid import LOADS, relaid, relayable, remade
from lowering.schedule.rings import Staged
from lowering.schedule.scratch import layout_of, scratch_of
from lowering.schedule.states import enclosing
from lowering.targets import Target

VIEWS = (nv_tileas.Permute, nv_tileas.Reshape)
SHAPES = (nv_tileas.Broadcast, *VIEWS)
MATRICES = 3  # bits of the registers of one stmatrix.x4: 4 of 2 elements; PTX ISA, stmatrix


@dataclass(frozen=True, eq=False)
class Source:
    """A ring of the producer that a transformer reads, and its buffers for one loop."""

    plan: Plan
    ring: AgentRing
    buffers: Sequence[Value]

    @property
    def placed(self) -> dict[Value, Value]:
        """The buffer of each copied tile."""
        return {copy.result: buffer for copy, buffer in zip(self.plan.copies, self.buffers, strict=True)}


@dataclass(frozen=True, eq=False)
class Transform:
    """What a transformer does for one loop: the stored tiles are `plan.copies`, in the ring's buffers."""

    plan: Plan
    ring: AgentRing
    buffers: Sequence[Value]
    sources: Sequence[Source]


def transformed(loop: scf.For, plans: Sequence[Plan], target: Target) -> Plan | None:
    """How a transformer fills a ring with the tiles of a loop that are marked for it, of those that a producer brings
    by `plans`; None where no tile is marked, or one depends on something that it cannot have.
    """
    holds = marked(loop)
    if not holds or not plans or why_not(holds, plans, target, holds[0].writers):
        return None
    fills = [Written(by_warps(layout_of(op.source.type), op.writers)) for op in holds]
    return Plan(loop, [*holds], [*fills], min(op.stages for op in holds), [])


def marked(loop: scf.For) -> list[nv_tileas.Hold]:
    """The tiles of a loop that a transformer is to store."""
    return [op for op in loop.body.block.ops if isinstance(op, nv_tileas.Hold) and op.writers]


def why_not(holds: Sequence[nv_tileas.Hold], plans: Sequence[Plan], target: Target, warps: int) -> str:
    """Why a transformer of so many warps cannot store tiles of a loop; empty if it can."""
    copies = [copy for plan in plans for copy in plan.copies]
    needs = Needs(holds, copies, target, warps)
    if any(plan.first or plan.paired for plan in plans):
        return "a product of the loop is issued an iteration early, or by a pair of CTAs"
    if not needs.legal or Way.SEND in needs.ways.values():
        return "it cannot compute everything that they depend on"
    if not needs.loads:
        return "they depend on no tile of the producer"
    read = {copied(load.source) for load in needs.loads}
    if not all(read.intersection(copy.result for copy in plan.copies) for plan in plans):
        return "they depend on no tile of one of the producer's rings"
    if not all(whole(hold, warps) for hold in holds):
        return f"{warps} warps have too few elements of a tile each"
    return ""


def whole(hold: nv_tileas.Hold, warps: int) -> bool:
    """Do threads of so many warps hold different elements of a tile, and enough to store matrices of them?"""
    layout = by_warps(layout_of(hold.source.type), warps)
    least = MATRICES if hold.atom == "stmatrix" else 0
    return len(layout.warp) == log2(warps) and all(layout.warp) and len(layout.reg) >= least


class Needs(Slice):
    """What a transformer computes for some tiles, from the `copies` of the producer."""

    def __init__(self, holds: Sequence[nv_tileas.Hold], copies: Sequence[Staged], target: Target, warps: int):
        self.copies = {copy.result for copy in copies}
        self.loads: dict[nv_tileas.SharedLoad, None] = {}
        around = dict.fromkeys(each for hold in holds for each in enclosing(hold))
        wanted = [(hold.source, by_warps(layout_of(hold.source.type), warps)) for hold in holds]
        self.target, self.warps = target, warps
        super().__init__(around, wanted)

    def parts(self, value: Value, layout: Layout) -> list[Placed]:
        """A tile of a ring is loaded, with nothing else."""
        owner = value.owner
        if isinstance(owner, nv_tileas.SharedLoad) and copied(owner.source) in self.copies:
            own = layout == by_warps(layout_of(value.type), self.warps)
            self.loads[owner] = None
            self.ways[value] = Way.REMATERIALISE if own or owner.atom == "ld.shared" else None
            return []
        return super().parts(value, layout)

    def operands(self, op: Op, layout: Layout) -> list[Placed]:
        """What moves registers or lanes stays, since matrices are loaded and stored in layouts of their own; what would
        go through shared memory is made in the other layout at once.
        """
        if isinstance(op, nv_tileas.ConvertLayout) and not scratch_of(op, self.target):
            return [(op.source, by_warps(layout_of(op.source.type), self.warps))]
        return super().operands(op, layout)

    def remade(self, op: Op, layout: Layout, operands: Sequence[Value], b: Builder) -> Sequence[Value]:
        """The results of an op in a layout."""
        if isinstance(op, nv_tileas.ConvertLayout) and not scratch_of(op, self.target):
            return b.add(type(op), *operands, types=[relaid(op.result.type, layout)], **op.attributes).results
        return remade(op, layout, operands, b)


class Transformer(Producer):
    """Builds the code of the agent."""

    def __init__(
        self, jobs: Sequence[Transform], zero: Value, map_number: Callable[[TensorMapRecord], int], target: Target
    ):
        holds = [op for job in jobs for op in job.plan.copies if isinstance(op, nv_tileas.Hold)]
        sources = [source for job in jobs for source in job.sources]
        copies = [copy for source in sources for copy in source.plan.copies]
        self.needs = Needs(holds, copies, target, holds[0].writers)
        super().__init__(self.needs, [], {}, {}, zero, map_number)
        self.ends: dict[Op, Transform] = {job.plan.copies[-1]: job for job in jobs}  # by the last tile of a stage
        self.holds = {*holds}
        self.read: dict[nv_tileas.SharedLoad, Source] = {}
        for source in sources:
            own = source.placed.keys()
            self.read |= {load: source for load in self.needs.loads if copied(load.source) in own}
            source.ring.readers.append({})
        self.done: set[Source] = set()

    def block(self, ops: Sequence[Op], b: Builder) -> None:
        """What is needed of a block."""
        for op in ops:
            b.location = op.location
            if isinstance(op, nv_tileas.SharedLoad) and op in self.read:
                self.load(self.read[op], b)
            elif op in self.ends:
                self.store(self.ends[op], b)
            elif op not in self.holds:
                super().block([op], b)

    def load(self, source: Source, b: Builder) -> None:
        """All tiles of a stage, at the first of them."""
        if source in self.done:
            return
        self.done.add(source)
        ring, stages = source.ring.pipeline.result, source.ring.memory.stages
        iterator, read = unknown(ring, stages), Block()
        inside, loaded = Builder(read, b.location), dict[tuple[Value, Layout], Value]()
        for op in (each for each, of in self.read.items() if of is source):
            tile = view(op.source, source.placed, iterator, inside)
            for layout in self.needs.layouts[op.result]:
                kind = relaid(op.result.type, layout)
                loaded[op.result, layout] = inside.value(type(op), tile, types=[kind], **op.attributes)
        ends = consume(b, ring, iterator, read, [*loaded.values()])
        self.tiles.update(zip(loaded, ends, strict=True))
        made = b.block.ops[-1]
        source.ring.readers[-1][made] = stage_alone(made, b)

    def store(self, job: Transform, b: Builder) -> None:
        """The stage of the second ring."""
        plan, ring = job.plan, job.ring.pipeline.result
        iterator = unknown(ring, plan.stages)

        def write(inside: Builder) -> None:
            for op, buffer, fill in zip(plan.copies, job.buffers, plan.fills, strict=True):
                assert isinstance(op, nv_tileas.Hold)
                assert isinstance(fill, Written)
                tile = self.tiles[op.source, fill.layout]
                inside.add(nv_tileas.WriteBuffer, buffer, iterator, tile, types=(), atom=op.atom)
            inside.add(nv_tileas.AsyncFence, types=())

        made = produce(b, ring, iterator, write)
        job.ring.filled[made] = stage_alone(made, b)


def by_warps(layout: Layout, warps: int) -> Layout:
    """A layout for another number of warps: each of fewer also holds what others held; more share what each held, and
    those without a share repeat what others hold.
    """
    kept, had = log2(warps), len(layout.warp)
    more = tuple(base for base in layout.warp[kept:] if base)
    reg = layout.reg + more
    place = max(0, len(reg) - max(0, kept - had))
    warp = layout.warp[:kept] + reg[place:]
    return Layout(reg[:place], layout.lane, warp + (0,) * (kept - len(warp)), layout.bits)


def copied(value: Value) -> Value:
    """What a tile in shared memory is a view of."""
    while isinstance(value.op, VIEWS) and isinstance(value.type, TensorType):
        if not isinstance(value.type.layout, SharedLayout):
            break
        value = value.op.source
    return value


def view(value: Value, placed: dict[Value, Value], iterator: Value, b: Builder) -> Value:
    """A tile in the stage of an iterator."""
    if value in placed:
        return b.value(nv_tileas.BufferView, placed[value], iterator, types=[value.type], segments=(1, 1))
    op = value.op
    assert isinstance(op, VIEWS)
    return b.value(type(op), view(op.source, placed, iterator, b), types=[value.type], **op.attributes)


def serving(loop: scf.For, holds: Iterable[Op]) -> set[Op]:
    """The ops of a loop's body that serve only these, and they themselves."""
    found, users = {*holds}, dict[Value, list[Op]]()
    for op in loop.walk():
        for value in op.operands:
            users.setdefault(value, []).append(op)
    for op in reversed(loop.body.block.ops):
        used = [user for value in op.results for user in users.get(value, ())]
        if remakeable(op) and used and found.issuperset(used):
            found.add(op)
    return found


def remakeable(op: Op) -> bool:
    """May another agent do an operation, and this one leave it out if nothing else reads what it makes?"""
    if isinstance(op, LOADS):
        return relayable(op)
    return (op.effect is PURE and not op.regions) or isinstance(op, nv_tileas.SharedLoad)
