"""Agents, their barriers and tensor copies, warpgroup products: what sm_90 adds to per-thread code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from typing import cast

from ir.core import Block, Region, Value
from ir.descriptors import MatrixDescriptorType, Tile
from ir.dialects import arith, llvm, nv_tileas, nvgpu, nvvm, scf
from ir.dialects.nv_tileas import BARRIER_BYTES
from ir.records import dataclass
from ir.types import F32, I1, I16, I32, SHARED_PTR
from lowering.atoms.tma import prefetches
from lowering.atoms.wgmma import WARPGROUP, WgmmaAtom
from lowering.convert.tileas_to_nvgpu.context import Expander, SharedTile, lowers
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.registers import Computed, Grouped, Registers
from lowering.layouts.f2 import log2
from lowering.layouts.shapes import Shape
from lowering.layouts.wgmma import MatrixOperand, WgmmaStep, matrix_operand, wgmma_tile
from lowering.schedule.flight import replaced
from lowering.targets.target import WARP

LANE_BITS = WARP.bit_length() - 1
GROUP_BITS = log2(WARPGROUP)
GROUP = (2, 2)  # rows x columns of an accumulator group of four registers; PTX ISA, wgmma, Accumulator D


@dataclass
class Barriers:
    """The full and empty barriers of a ring."""

    op: nv_tileas.CreatePipeline
    full: Value
    empty: Value
    leader: Value | None = None

    def at(self, emitter: Emitter, stage: Value, empty: bool) -> Value:
        """The barrier of a stage; if each warpgroup has its own, that of this thread's warpgroup, or of the one it
        serves.
        """
        barriers = self.empty if empty else self.full
        if self.op.groups == 1:
            return emitter.mbarrier(barriers, stage)
        served = emitter.block_of_rows
        own = emitter.linear([0] * GROUP_BITS + [1 << i for i in range(log2(self.op.groups))]) if served < 0 else None
        return emitter.mbarrier(barriers, own, max(served, 0))

    def empty_of(self, emitter: Emitter, distance: Value) -> Value:
        """The first empty barrier of the CTA whose rank is this one's with these bits flipped; made once."""
        build = emitter.prelude.value
        own = build(
            llvm.GetElementPtr,
            emitter.shared_base,
            types=[SHARED_PTR],
            segments=(1, 0),
            element_bytes=1,
            offset=self.op.offset + BARRIER_BYTES * self.stages,
            outermost=False,
        )
        return build(nvvm.Mapa, own, build(arith.XOrI, emitter.rank, distance), types=[SHARED_PTR])

    def of_leader(self, emitter: Emitter, stage: Value, empty: bool) -> Value:
        """The barrier of a stage in the CTA of the pair that issues products."""
        first = self.op.offset + BARRIER_BYTES * self.stages * empty
        if self.leader is None:  # once a ring: one agent uses it, and computes it after the agents split
            self.leader = emitter.leader_base()
        return emitter.pointer(self.leader, stage, BARRIER_BYTES, first)

    @property
    def stages(self) -> int:
        """Of the ring."""
        return cast(nv_tileas.PipelineType, self.op.result.type).stages


def prefetch(x: Expander, maps: int, forbid: Set[str]) -> None:
    """Prefetch all tensor maps of the kernel into the descriptor cache, by one thread, for the first copies.

    Source: PTX ISA, prefetch.tensormap; CUTLASS's sm_90 kernels begin with it.
    """
    emitter = x.emitter
    if not maps or not prefetches(x.target, forbid):
        return
    first = emitter.compare("eq", emitter.thread, emitter.constant(0))
    for number in range(maps):
        emitter.effect(nvvm.PrefetchTensorMap, x.tensor_map(number), first, segments=(1, 1))


def initialise(x: Expander) -> None:
    """One thread initialises the barriers; they are visible after the CTA's barrier."""

    def begin() -> None:
        for group, number, arrivals in x.mbarriers:
            x.emitter.effect(nvvm.MBarrierInit, x.emitter.mbarrier(group, None, number), count=arrivals)
        x.emitter.effect(nvvm.FenceMBarrierInit)

    branch(x, x.emitter.compare("eq", x.emitter.thread, x.emitter.constant(0)), begin)


@lowers(nv_tileas.CreatePipeline)
def create_pipeline(x: Expander, op: nv_tileas.CreatePipeline) -> None:
    """Remember the ring's barriers; they are initialised before the agents split."""
    kind = cast(nv_tileas.PipelineType, op.result.type)
    count = kind.stages * op.groups
    full = x.emitter.mbarriers(count, op.offset)
    empty = x.emitter.mbarriers(count, op.offset + BARRIER_BYTES * count)
    x.values[op.result] = Barriers(op, full, empty)
    ctas = op.peers.bit_count() // (2 if op.paired and not op.accumulators else 1)  # a pair: one CTA's products arrive
    for stage in range(count):
        x.mbarriers.append((full, stage, op.producers))
        x.mbarriers.append((empty, stage, op.consumers * ctas))
    x.emitter.clustered = x.emitter.clustered or op.peers > 1
    x.emitter.outlived = x.emitter.outlived or op.peers > 1


def nested(x: Expander, fill: Callable[[], None]) -> Region:
    """A region that `fill` writes, without results."""
    emitter = x.emitter
    outside, inner = emitter.builder.block, Block()
    emitter.builder.block = inner
    emitter.open.add(inner)
    fill()
    emitter.builder.add(scf.Yield, types=())
    emitter.open.discard(inner)
    emitter.builder.block = outside
    return Region([inner])


def branch(x: Expander, condition: Value, fill: Callable[[], None]) -> None:
    """An scf.if without results."""
    sides = [nested(x, fill), nested(x, lambda: None)]
    x.emitter.builder.add(scf.If, condition, types=(), regions=sides)


@lowers(nv_tileas.BarrierWait)
def wait(x: Expander, op: nv_tileas.BarrierWait) -> None:
    """Wait for the full or the empty barrier."""
    emitter = x.emitter
    barrier = x.held(op.pipeline, Barriers).at(emitter, x.scalar(op.stage), op.empty)
    cluster = op.empty and x.held(op.pipeline, Barriers).op.peers > 1
    emitter.effect(nvvm.MBarrierTryWaitParity, barrier, x.scalar(op.phase), cluster=cluster)
    if x.held(op.pipeline, Barriers).op.accumulators:
        emitter.effect(nvvm.TensorFence, when="after")


@lowers(nv_tileas.BarrierExpectTx)
def expect_tx(x: Expander, op: nv_tileas.BarrierExpectTx) -> None:
    """Arrive at the full barrier with the expected bytes; in a pair one CTA does, with those of both."""
    emitter, barriers = x.emitter, x.held(op.pipeline, Barriers)
    full = barriers.at(emitter, x.scalar(op.stage), False)
    when = emitter.both(x.elected, leads(emitter) if barriers.op.paired else None)
    operands = [full, *([] if when is None else [when])]
    emitter.effect(nvvm.MBarrierArriveExpectTx, *operands, segments=(1, len(operands) - 1), txcount=op.bytes)


@lowers(nv_tileas.BarrierArriveCopies)
def arrive_copies(x: Expander, op: nv_tileas.BarrierArriveCopies) -> None:
    """cp.async.mbarrier.arrive.noinc on the full barrier."""
    emitter = x.emitter
    full = x.held(op.pipeline, Barriers).at(emitter, x.scalar(op.stage), False)
    emitter.effect(nvvm.CpAsyncMBarrierArrive, full)


@lowers(nv_tileas.BarrierArriveProducts)
def arrive_products(x: Expander, op: nv_tileas.BarrierArriveProducts) -> None:
    """tcgen05.commit at the full barrier, in a pair at those of both CTAs."""
    barriers = x.held(op.pipeline, Barriers)
    commit(x, barriers.at(x.emitter, x.scalar(op.stage), False), barriers.op.paired)


def commit(x: Expander, barrier: Value, paired: bool, predicate: Sequence[Value] = ()) -> None:
    """Signal a barrier when everything the thread has issued is complete; in a pair, that barrier in both CTAs."""
    mask = [destinations(x.emitter, 1, x.emitter.ctas)] if paired else []
    x.emitter.effect(
        nvvm.TensorCommit, barrier, *mask, *predicate, segments=(1, len(mask), len(predicate)), group=1 + paired
    )


def leads(emitter: Emitter) -> Value:
    """Is this the CTA of its pair that issues products, the one of even rank?"""
    build, own = emitter.prelude.value, emitter.rank
    own = own if emitter.ctas == 2 else build(arith.AndI, own, emitter.constant(1))
    return build(arith.CmpI, own, emitter.constant(0), types=[I1], predicate="eq")


@lowers(nv_tileas.TiledTmaLoad)
def tma_load(x: Expander, op: nv_tileas.TiledTmaLoad) -> None:
    """One box after the other; for a tile shared by several CTAs this CTA's part, to all of them; for a tile split over
    a pair this CTA's half. The bytes of a pair arrive at the barrier of one of the two.
    """
    emitter, barriers = x.emitter, x.held(op.pipeline, Barriers)
    paired, stage = barriers.op.paired, x.scalar(op.stage)
    full = barriers.of_leader(emitter, stage, False) if paired else barriers.at(emitter, stage, False)
    target = x.stage(op.buffer, op.stage).pointer
    elected = [] if x.elected is None else [x.elected]
    hint = [emitter.policy(op.evict)] if op.evict else []
    part = None
    if op.alike or op.halved:
        part = emitter.rank if op.halved and emitter.ctas == 2 else part_number(emitter, op.alike or 1)
    mask = [destinations(emitter, op.alike, emitter.ctas)] if op.alike else []
    if part is not None and op.alike:
        target = emitter.pointer(target, part, op.step[-1])
    for place, coordinates in boxes(emitter, op, x.scalars(op.index)):
        box = [emitter.pointer(target, None, 1, place), x.tensor_map(op.tensormap)]
        if part is not None:
            coordinates = [
                emitter.add(c, emitter.multiply(part, s)) if s else c
                for c, s in zip(coordinates, op.step, strict=False)
            ]
        counts, rest = (1, 1, len(coordinates), 1), (len(hint), len(elected))
        if mask or paired:
            emitter.effect(nvvm.TensorLoadCluster, *box, *coordinates, full, *mask, *hint, *elected,
                           segments=(*counts, len(mask), *rest), paired=paired)  # fmt: skip
        else:
            emitter.effect(nvvm.TensorLoad, *box, *coordinates, full, *hint, *elected, segments=(*counts, *rest))


def part_number(emitter: Emitter, alike: int) -> Value:
    """Which part of a tile this CTA loads: the bits `alike` of its rank, compressed."""
    found: Value | None = None
    for place, bit in enumerate(i for i in range(alike.bit_length()) if alike >> i & 1):
        own = emitter.prelude.value(arith.AndI, emitter.rank, emitter.constant(1 << bit))
        if bit > place:
            own = emitter.prelude.value(arith.ShRUI, own, emitter.constant(bit - place))
        found = own if found is None else emitter.prelude.value(arith.OrI, found, own)
    assert found is not None
    return found


def destinations(emitter: Emitter, alike: int, ctas: int) -> Value:
    """The mask of the CTAs whose ranks differ from this one's in bits `alike` only."""
    first = sum(1 << rank for rank in range(alike + 1) if rank | alike == alike)
    if alike == ctas - 1:
        return emitter.constant(first, I16)
    own = emitter.prelude.value(arith.AndI, emitter.rank, emitter.constant(ctas - 1 & ~alike))
    mask = emitter.prelude.value(arith.ShLI, emitter.constant(first), own)
    return emitter.prelude.value(arith.TruncI, mask, types=[I16])


def partners(emitter: Emitter, peers: int) -> Value:
    """The mask of the CTAs whose ranks are this one's XOR a number whose bit is set in `peers`."""
    if peers == (1 << emitter.ctas) - 1:
        return emitter.constant(peers, I16)
    found: Value | None = None
    for distance in (d for d in range(peers.bit_length()) if peers >> d & 1):
        rank = emitter.prelude.value(arith.XOrI, emitter.rank, emitter.constant(distance))
        bit = emitter.prelude.value(arith.ShLI, emitter.constant(1), rank)
        found = bit if found is None else emitter.prelude.value(arith.OrI, found, bit)
    assert found is not None
    return emitter.prelude.value(arith.TruncI, found, types=[I16])


def boxes(
    emitter: Emitter, op: nv_tileas.TiledTmaLoad | nv_tileas.TiledTmaStore, index: list[Value]
) -> Iterator[tuple[int, list[Value]]]:
    """Byte offset in the buffer and first coordinates (i32, innermost first) of each box of a tile.

    Computed on demand: tens of coordinates at once would not fit in a producer's registers.
    """
    dims: tuple[int, ...] = op.dims
    corner = [emitter.multiply(index[d], extent) for d, extent in zip(dims, op.tile, strict=True)]
    corner = [c if c.type == I32 else emitter.emit(arith.TruncI, c, types=[I32]) for c in corner]
    for offsets, place in op.boxes:
        yield place, [emitter.add_constant(c, o) for c, o in zip(corner, offsets, strict=True)]


@lowers(nv_tileas.BarrierArrive)
def arrive(x: Expander, op: nv_tileas.BarrierArrive) -> None:
    """Arrive at the empty barrier, one lane per warp for warp-wide reads: ldmatrix reads count for each lane separately
    (PTX ISA 8.8, memory consistency model), so the lanes synchronise first.
    """
    emitter, barriers = x.emitter, x.held(op.pipeline, Barriers)
    emitter.flush_pending_loads(shared_only=True)
    if barriers.op.each == nv_tileas.COMMIT and not op.full:
        chosen = [] if x.multiplies else [emitter.compare("eq", emitter.thread, emitter.constant(0))]
        empty = barriers.at(emitter, x.scalar(op.stage), True)
        mask = [] if barriers.op.peers == 1 else [partners(emitter, barriers.op.peers)]
        emitter.effect(
            nvvm.TensorCommit, empty, *mask, *chosen, segments=(1, len(mask), len(chosen)), group=1 + barriers.op.paired
        )
        return
    if barriers.op.accumulators:
        emitter.effect(nvvm.TensorFence, when="before")
    by_warp = op.full or barriers.op.each == "warp"
    if by_warp and (op.full or barriers.op.meet):
        emitter.effect(nvvm.SyncWarp, emitter.constant(-1))
    if barriers.op.peers > 1 and not barriers.op.paired:
        arrive_at_peers(x, op, barriers)
        return
    lane = emitter.when(31) if by_warp else None
    enable = emitter.both(lane, None if op.enable is None else x.scalar(op.enable))
    more = [] if enable is None else [enable]
    if barriers.op.paired and not op.full:
        place = barriers.of_leader(emitter, x.scalar(op.stage), True)
        emitter.effect(nvvm.MBarrierArriveCluster, place, *more, segments=(1, 0, len(more)))
    else:
        place = barriers.at(emitter, x.scalar(op.stage), not op.full)
        emitter.effect(nvvm.MBarrierArrive, place, *more, segments=(1, len(more)))


def arrive_at_peers(x: Expander, op: nv_tileas.BarrierArrive, barriers: Barriers) -> None:
    """Arrive at the empty barrier of each CTA that fills this stage. One lane of a warp arrives at each of them: only
    the address differs.
    """
    emitter, peers = x.emitter, barriers.op.peers
    enable = [] if op.enable is None else [x.scalar(op.enable)]
    if barriers.op.each == "warp":
        lane = emitter.linear([1 << i for i in range(LANE_BITS)])
        bit = emitter.prelude.value(arith.ShRUI, emitter.constant(peers), lane)
        bit = emitter.prelude.value(arith.AndI, bit, emitter.constant(1))
        chosen = emitter.prelude.value(arith.CmpI, bit, emitter.constant(0), types=[I1], predicate="ne")
        both = emitter.both(chosen, *enable) if enable else chosen
        assert both is not None
        near = emitter.linear([1 << i for i in range(emitter.ctas.bit_length() - 1)])  # every lane addresses a CTA
        arrivals = [(near, [both])]
    else:
        arrivals = [(emitter.constant(d), enable) for d in range(peers.bit_length()) if peers >> d & 1]
    for distance, when in arrivals:
        place = emitter.pointer(barriers.empty_of(emitter, distance), x.scalar(op.stage), BARRIER_BYTES)
        emitter.effect(nvvm.MBarrierArriveCluster, place, *when, segments=(1, 0, len(when)))


@lowers(nv_tileas.AsyncFence)
def fence(x: Expander, op: nv_tileas.AsyncFence) -> None:
    """fence.proxy.async."""
    x.emitter.fence(op.everywhere)


def product(
    x: Expander,
    op: nv_tileas.Dot,
    atom: WgmmaAtom,
    a: Registers | SharedTile,
    b: SharedTile,
    c: Registers,
    shape: tuple[int, int, int],
) -> Registers:  # fmt: skip
    """a @ b + c by the warpgroups: fence, products with k outermost, commit, wait. With `promote` each part of K starts
    from zero, and its sum is added to c.
    """
    emitter = x.emitter
    made_before(x, op)
    m, n, k = shape
    groups_m, groups_n = op.grid
    tile = wgmma_tile(atom, m, n, k, groups_m * groups_n, groups_n)
    mb, nb, _ = tile.blocks
    left = None if isinstance(a, Registers) else Operand(emitter, atom, a, (m, k), 1, 0, groups_m, mb)
    right = Operand(emitter, atom, b, (k, n), 0, groups_m.bit_length() - 1, groups_n, nb)
    form = (4, 32 // atom.dtypes[0].width)
    steps = tile.steps()
    # a register operand must be complete before the fence, which orders it before the products
    fragments = {s.a.start: cast(Registers, a).group(s.a.start, form) for s in steps} if left is None else {}

    def multiply(steps: Sequence[WgmmaStep], groups: list[Value]) -> list[Value]:
        """Issue a group of products on these accumulators."""
        emitter.effect(nvvm.WgmmaFence)
        for number, step in enumerate(steps):
            row, column, depth = (i * extent for i, extent in zip((step.m, step.n, step.k), atom.shape, strict=True))
            first = left.descriptor(row, depth) if left else fragments[step.a.start]
            span = slice(step.c.start // 4, step.c.stop // 4)
            held = groups[span]
            made = emitter.builder.add(
                nvgpu.WarpgroupMma, first, right.descriptor(column, depth), *held, types=[v.type for v in held],
                segments=(1, 1, 0, len(held)), shape=atom.shape, type_a=atom.types[0], type_b=atom.types[1],
                negated=op.negated, trans_a=bool(left and not left.plan.k_major), trans_b=not right.plan.k_major,
            )  # fmt: skip
            groups[span] = made.results
            if op.passes and number == step.k == 0:
                arrive_at_next(x, 0)
        emitter.effect(nvvm.WgmmaCommitGroup)
        return groups

    def waited(steps: Sequence[WgmmaStep], groups: list[Value]) -> Grouped:
        kept = [*groups, *(fragments[s.a.start] for s in steps if s.n == 0 and left is None)]
        made = emitter.builder.add(nvgpu.WarpgroupWait, *kept, types=[v.type for v in kept], pending=op.pending)
        return Grouped(emitter, tile.c, c.element, made.results[: len(groups)], GROUP)

    if op.promote:
        zero = Computed(emitter, tile.c, c.element, lambda _: emitter.constant(0.0, c.element))
        every = max(1, op.promote // atom.shape[2])
        for first in range(0, k // atom.shape[2], every):
            part = [s for s in steps if first <= s.k < first + every]
            c = total(emitter, c, waited(part, multiply(part, accumulators(zero))))
        return c
    groups = multiply(steps, accumulators(c))
    return Grouped(emitter, tile.c, c.element, groups, GROUP) if op.in_flight else waited(steps, groups)


def accumulators(tile: Registers) -> list[Value]:
    """A sum in the form that warpgroup products take."""
    return [tile.group(i, GROUP) for i in range(0, tile.count, 4)]


def total(emitter: Emitter, c: Registers, part: Registers) -> Registers:
    """c + part, added before products use the registers of `part` again."""
    made = Computed(
        emitter, c.layout, c.element, lambda i: emitter.emit(arith.AddF, c.scalar(i), part.scalar(i), types=[F32])
    )
    made.force()
    return made


def made_before(x: Expander, op: nv_tileas.Dot) -> None:
    """Emit now what precedes a product in flight and reads the tile that its result overwrites, so that both can share
    registers.
    """
    block, old = op.parent, replaced(op) if op.in_flight else None
    for each in block.ops[: block.ops.index(op)] if block is not None and old is not None else ():
        if old in each.operands and x.lazy(each):
            x.tile(each.results[0]).force()


class Operand:
    """A shared operand: descriptors of its blocks for the warpgroup of this thread."""

    def __init__(
        self,
        emitter: Emitter,
        atom: WgmmaAtom,
        tile: SharedTile,
        shape: Shape,
        k_dim: int,
        shift: int,
        groups: int,
        blocks: int,
    ):
        """Warpgroup bits from `shift` on choose among `groups` runs of `blocks` blocks."""
        self.emitter = emitter
        rows, k = atom.shape[1 - k_dim], atom.shape[2]
        self.plan: MatrixOperand = matrix_operand(tile.layout, shape, k_dim, rows)
        bits = groups.bit_length() - 1
        own = [0] * (7 + shift) + [self.plan.displacement(rows * blocks << i, 0) for i in range(bits)]
        self.base = emitter.pointer(tile.pointer, emitter.linear(own)) if bits else tile.pointer
        block = (rows, k) if self.plan.k_major else (k, rows)
        self.type = MatrixDescriptorType(Tile(block, nvgpu.ELEMENTS[atom.types[1 - k_dim]]))

    def descriptor(self, mn: int, k: int) -> Value:
        """The descriptor of the block whose first element is (mn, k) of the warpgroup's part."""
        pointer = self.emitter.pointer(self.base, None, 1, self.plan.displacement(mn, k))
        return self.emitter.emit(
            nvgpu.MatrixDescriptor,
            pointer,
            types=[self.type],
            lbo=self.plan.lbo,
            sbo=self.plan.sbo,
            swizzle=self.plan.swizzle_name,
        )


@lowers(nv_tileas.DotWait)
def dot_wait(x: Expander, op: nv_tileas.DotWait) -> None:
    """The accumulators after a wait."""
    emitter, source = x.emitter, x.tile(op.source)
    groups = [source.group(i, GROUP) for i in range(0, source.count, 4)]
    waited = emitter.builder.add(nvgpu.WarpgroupWait, *groups, types=[v.type for v in groups], pending=op.pending)
    x.values[op.result] = Grouped(emitter, source.layout, source.element, waited.results, GROUP)


@lowers(nv_tileas.TakeTurn)
def take_turn(x: Expander, op: nv_tileas.TakeTurn) -> None:
    """bar.sync at the warpgroup's own barrier: its threads and those of the previous one."""
    number, _, _ = turn(x, op.of)
    x.emitter.effect(nvvm.NumberedBarrier, number, numberOfThreads=2 * WARPGROUP)
    if x.emitter.group is not None:  # the previous group has read scratch memory, including its own last use
        x.emitter.scratch_read, x.emitter.scratch_stored = range(0), False


@lowers(nv_tileas.PassTurn)
def pass_turn(x: Expander, op: nv_tileas.PassTurn) -> None:
    """bar.arrive after this thread's reads and tensor stores."""
    x.emitter.flush_pending_loads()
    x.emitter.stores_read()
    arrive_at_next(x, op.of)


@lowers(nv_tileas.BeginTurns)
def begin_turns(x: Expander, op: nv_tileas.BeginTurns) -> None:
    """bar.arrive of the last warpgroup."""
    *_, last = turn(x, op.of)
    arrive_at_next(x, op.of, last)


def arrive_at_next(x: Expander, of: int, *when: Value) -> None:
    """bar.arrive at the next warpgroup's barrier, under a condition if given."""
    _, following, _ = turn(x, of)
    x.emitter.effect(nvvm.BarrierArrive, following, *when, segments=(1, len(when)), numberOfThreads=2 * WARPGROUP)


def turn(x: Expander, of: int) -> tuple[Value, Value, Value]:
    """The barriers of a thread's warpgroup and of the next one, and whether it is the last."""
    emitter, bits = x.emitter, WARPGROUP.bit_length() - 1
    groups = emitter.groups * emitter.consumers // WARPGROUP
    own = emitter.group
    if own is None:
        own = emitter.linear([0] * bits + [1 << i for i in range(groups.bit_length() - 1)])
    following = emitter.emit(arith.AndI, emitter.add_constant(own, 1), emitter.constant(groups - 1))
    last = emitter.compare("eq", own, emitter.constant(groups - 1))
    first = emitter.turns + of * groups
    return emitter.add_constant(own, first), emitter.add_constant(following, first), last


@lowers(nv_tileas.IsMine)
def is_mine(x: Expander, op: nv_tileas.IsMine) -> None:
    """The group's number compared."""
    emitter = x.emitter
    group = emitter.constant(0) if emitter.group is None else emitter.group
    x.values[op.result] = emitter.compare("eq", x.scalar(op.number), group)
