"""Tensor memory in per-thread code: allocation, products issued by one thread, loads by all warps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

from ir.core import Op, Value
from ir.dialects import arith, nv_tileas, nvgpu, nvvm, scf, vector
from ir.dialects.nvvm.tensor import SHAPES
from ir.tensor_descriptors import LANE_SHIFT
from ir.types import F16, F32, I1, I32, I64, TensorType, VectorType
from lowering.atoms.pairs import PAIRED
from lowering.atoms.tcgen05 import LANES_OF_WARP, TensorAtom, tensor_named
from lowering.convert.tileas_to_nvgpu.agents import branch, initialise, leads, nested
from lowering.convert.tileas_to_nvgpu.agents import commit as commit_at
from lowering.convert.tileas_to_nvgpu.channels import loaded
from lowering.convert.tileas_to_nvgpu.compute import layout_of, tensor_of
from lowering.convert.tileas_to_nvgpu.context import Expander, SharedTile, lowers
from lowering.convert.tileas_to_nvgpu.control import loop as counted
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.registers import Held, Registers
from lowering.convert.tileas_to_nvgpu.scales import Scales
from lowering.cost import TENSOR_LOAD, TENSOR_PART
from lowering.layouts.elements import moved_bits
from lowering.layouts.f2 import log2
from lowering.layouts.layout import Layout
from lowering.layouts.tensor import (
    COLUMN_BITS,
    FEW_FACTORS,
    LANES,
    WARPS,
    TensorTile,
    as_loaded,
    column_of,
    columns_of_registers,
    element_bits,
    left_pitch,
    memory_columns,
    tensor_tile,
)
from lowering.layouts.wgmma import MatrixOperand, matrix_operand
from lowering.schedule.states import enclosing
from lowering.schedule.tensor import multiplies
from lowering.targets.target import WARP

CHUNK = TENSOR_LOAD  # columns of one load: its registers are consecutive
MANY = 128  # registers of a base with which half as many are loaded: ptxas 13.5 issues three loads before it adds
GROUP_BITS = log2(WARP * WARPS)


class TensorMemory:
    """An accumulator: its barrier in shared memory, its first column; or a left factor, which has no barrier. `first`
    is the accumulator that has the CTA's allocation: its slot in shared memory, its address after the CTA's barrier.
    """

    def __init__(self, x: Expander, op: nv_tileas.AllocTensorMemory, first: TensorMemory | None):
        self.x = x
        kind = op.result.type
        assert isinstance(kind, nv_tileas.TensorMemoryType)
        self.column, self.columns, self.row, self.bits = op.column, op.columns, kind.shape[1], element_bits(kind)
        self.element, self.rows, self.apart = kind.element, kind.shape[0], kind.apart
        self.pitch = op.pitch or left_pitch(self.row, self.bits)
        self.groups = op.groups
        self.stage_columns = 0 if op.stages == 1 else memory_columns(kind)
        self.slot = x.emitter.pointer(x.emitter.shared_base, None, 1, op.offset + nv_tileas.DONE_BYTES * self.groups)
        self.done = x.emitter.mbarriers(self.groups, op.offset)
        self.first = first or self
        self.paired = self.first.paired if first else op.paired
        self.base: Value | None = None
        self.released = False

    def allocate(self) -> None:
        """One warp allocates before anything else waits, then relinquishes the permit."""
        emitter = self.x.emitter

        def ask() -> None:
            emitter.effect(nvvm.TensorAlloc, self.slot, columns=self.columns, group=1 + self.paired)
            emitter.effect(nvvm.TensorRelinquish, group=1 + self.paired)

        branch(self.x, first_warp(self.x), ask)

    def meet(self) -> None:
        """Barrier of the CTA, or of the cluster if its CTAs fill each other's rings; then all threads read the
        address.
        """
        emitter = self.x.emitter
        emitter.effect(nvvm.TensorFence, when="before")
        (emitter.cluster_barrier if emitter.clustered else emitter.barrier)()
        emitter.effect(nvvm.TensorFence, when="after")
        self.base = loaded(emitter, self.slot, I32)

    def release(self) -> None:
        """The allocating warp frees it when all have loaded what they need; in a pair when both CTAs have, which
        synchronise at their end: agents that do not need the address would otherwise keep it live until then.
        """
        emitter, self.released = self.x.emitter, True
        emitter.flush_pending_loads()
        emitter.effect(nvvm.TensorFence, when="before")
        (emitter.leave if self.paired else emitter.barrier_sync)()

        def give() -> None:
            emitter.effect(nvvm.TensorFence, when="after")
            base = loaded(emitter, self.slot, I32) if self.paired else self.address
            emitter.effect(nvvm.TensorDealloc, base, columns=self.columns, group=1 + self.paired)

        branch(self.x, first_warp(self.x), give)

    @property
    def shape(self) -> str:
        """Of accesses by threads: of 64 rows that which has two neighbours of every eight in each lane."""
        if self.rows >= LANES:
            return "32x32b"
        return "16x256b" if moved_bits(self.element) == COLUMN_BITS else "16x128b"

    def column_of(self, element: int) -> int:
        """The column of an element of the tile, from that of the first one."""
        return column_of(element, self.row, self.bits, self.pitch)

    @property
    def address(self) -> Value:
        """The allocation's first column in lane 0."""
        if self.first.base is None:
            raise TypeError("tensor memory has no address before the agents split")
        return self.first.base

    def at(self, stage: Value | None) -> Value:
        """The address of the accumulator of a stage."""
        emitter = self.x.emitter
        if stage is None or not self.stage_columns:
            return self.address
        return emitter.add(self.address, emitter.multiply(self.x.scalar(stage), self.stage_columns))


def first_warp(x: Expander) -> Value:
    """Is this thread of the first warp, which allocates and multiplies?"""
    return x.emitter.compare("ult", x.emitter.thread, x.emitter.constant(WARP))


def chosen(x: Expander, group: int = 0) -> Value:
    """Is this the thread of that warp, or of a warpgroup, that issues products? It also commits them. Each warpgroup
    uses a different one of its warps, so that no two of these share a scheduler.
    """
    thread = group * WARP * WARPS + group % WARPS * WARP
    return x.emitter.compare("eq", x.emitter.thread, x.emitter.constant(thread))


def by_leader(x: Expander, fill: Callable[[], None]) -> None:
    """What one CTA of a pair does for both; without pairs each CTA for itself. This branch encloses those that elect a
    thread: if both are one condition, ptxas 13.5 no longer recognises that a single thread remains.
    """
    first = allocated(x)
    if first is not None and first.paired:
        branch(x, leads(x.emitter), fill)
    else:
        fill()


def by_group(x: Expander, groups: int, fill: Callable[[int], None]) -> None:
    """What one thread of each warpgroup does, by group number: in separate code where the number is a constant;
    otherwise ptxas 13.5 puts a loop over the threads around each instruction, whose addresses must be uniform.
    """
    for group in range(groups):
        branch(x, chosen(x, group), partial(fill, group))


def allocated(x: Expander) -> TensorMemory | None:
    """The kernel's first accumulator in tensor memory, if it has any."""
    return next((each for each in x.values.values() if isinstance(each, TensorMemory)), None)


def end(x: Expander) -> None:
    """Leave the CTA, and free tensor memory if no agent has."""
    first = allocated(x)
    if first is not None and not first.released:
        first.release()
    if first is None or not first.paired:
        x.emitter.leave()


def memory(x: Expander, value: Value) -> TensorMemory:
    """The allocation behind an accumulator."""
    found = x.values[value]
    if not isinstance(found, TensorMemory):
        raise TypeError(f"{value} is {type(found).__name__}, not tensor memory")
    return found


@lowers(nv_tileas.AllocTensorMemory)
def allocate(x: Expander, op: nv_tileas.AllocTensorMemory) -> None:
    """nv_tileas.alloc_tensor_memory: the first one allocates for all."""
    first = allocated(x)
    made = x.values[op.result] = TensorMemory(x, op, first)
    if first is None:
        made.allocate()
    if not op.left:
        x.mbarriers += [(made.done, group, 1) for group in range(op.groups)]
    if op.meets:
        initialise(x)
        made.first.meet()


@lowers(scf.For)
def loop(x: Expander, op: scf.For) -> None:
    """A loop; one with products in tensor memory is run by one warp only, or by an agent for that; in a pair by that of
    one CTA.
    """
    if multiplies(op) and not x.multiplies:
        by_leader(x, lambda: branch(x, first_warp(x), lambda: counted(x, op)))
    else:
        counted(x, op)


@lowers(nv_tileas.TensorDot, nv_tileas.TensorScaledDot)
def dot(x: Expander, op: nv_tileas.TensorDot) -> None:
    """nv_tileas.tensor_dot: instructions with k outermost, so that consecutive ones add to different blocks; the first
    of each block accumulates only if the op says so. Earlier reads of its place by threads are complete.
    """
    emitter, atom = x.emitter, tensor_named(op.atom)
    assert atom is not None
    kind = op.d.type
    assert isinstance(kind, nv_tileas.TensorMemoryType)
    (m, n), k = kind.shape, tensor_of(op.b).shape[0]
    tile = tensor_tile(atom, m, n, k, WARPS)
    adds = [] if op.adds is None else [x.scalar(op.adds)]
    if op.adds is None or isinstance(op.adds.op, arith.Constant):  # threads have read or written it
        emitter.effect(nvvm.TensorFence, when="after")
    if x.multiplies or alone(op):
        served = emitter.block_of_rows
        rows = range(tile.blocks[0]) if served < 0 else range(served, served + 1)
        begin(x, op, atom, tile, rows, adds, [] if x.multiplies else [chosen(x)])
        return
    d = memory(x, op.d)
    each, committed = tile.blocks[0] // d.groups, behind(op)

    def fill(group: int) -> None:
        begin(x, op, atom, tile, range(each * group, each * (group + 1)), adds, [])
        if committed is not None:
            arrive(x, d, group)

    by_group(x, d.groups, fill)  # warps that issue nothing skip all of it


def behind(op: nv_tileas.TensorDot) -> nv_tileas.TensorCommit | None:
    """The commit directly after a product, which the same thread issues in the same place."""
    assert op.parent is not None
    found = op.parent.ops[op.parent.ops.index(op) + 1]
    return found if isinstance(found, nv_tileas.TensorCommit) and found.d is op.d else None


def alone(op: Op) -> bool:
    """Is an operation in a loop that one warp runs?"""
    return any(multiplies(each) for each in enclosing(op))


def begin(
    x: Expander,
    op: nv_tileas.TensorDot,
    atom: TensorAtom,
    tile: TensorTile,
    rows: range,
    adds: list[Value],
    predicate: list[Value],
) -> None:
    """The instructions of a product, for some blocks of rows."""
    emitter, d = x.emitter, memory(x, op.d)
    address = d.at(op.stage)
    left = LeftFactor(x, op.a, atom) if atom.left else Factor(x, op.a, atom, 1)
    right = Factor(x, op.b, atom, 0)
    scales = Scales(x, op, atom, memory(x, op.scales)) if isinstance(op, nv_tileas.TensorScaledDot) else None
    if scales is not None:
        scales.copy(predicate)
    sums = {} if d.element == F32 else {"typeD": "s32" if d.element == I32 else "f16"}
    _, blocks_n, blocks_k = tile.blocks
    shape = (atom.ctas * atom.shape[0], *atom.shape[1:])
    for step in range(blocks_k):
        enable = adds if step == 0 else []
        for i in rows:
            a, more = left.descriptor(i, step), left.place(i, step)
            for j in range(blocks_n):
                column = d.column + tile.column(i, j)
                if scales is not None:
                    b = right.descriptor(j, step)
                    scales.multiply(address, a, b, (i, j, step), enable, predicate, column, left.k_major, right.k_major)
                    continue
                emitter.effect(
                    nvvm.TensorMma, address, a, right.descriptor(j, step), *enable, *predicate,
                    segments=(1, 1, 1, len(enable), len(predicate)), shape=shape, group=atom.ctas, typeA=atom.types[0],
                    typeB=atom.types[1], layoutA="row" if left.k_major else "col",
                    layoutB="col" if right.k_major else "row", negated=op.negated, accumulate=step > 0,
                    column=column, **more, **sums,
                )  # fmt: skip


class Factor:
    """A factor in shared memory: descriptors of its blocks; if it is split over a pair, those of this CTA's half."""

    def __init__(self, x: Expander, value: Value, atom: TensorAtom, k_dim: int):
        shared = x.values[value]
        if not isinstance(shared, SharedTile):
            raise TypeError(f"{value} is {type(shared).__name__}, not in shared memory")
        self.emitter, self.pointer = x.emitter, shared.pointer
        self.size = (atom.shape[1 - k_dim] // shared.layout.ctas, atom.shape[2])
        own = [size if d == k_dim else size // shared.layout.ctas for d, size in enumerate(tensor_of(value).shape)]
        self.plan: MatrixOperand = matrix_operand(shared.layout.own, tuple(own), k_dim, self.size[0], 1)
        self.k_major = self.plan.k_major
        self.made: dict[tuple[int, int], Value] = {}

    def place(self, block: int, step: int) -> dict[str, int]:
        """None: the descriptor says everything."""
        return {}

    def descriptor(self, block: int, step: int) -> Value:
        """That of a block of rows of A or columns of B at a step of k."""
        found = self.made.get((block, step))
        if found is None:
            place = self.plan.displacement(block * self.size[0], step * self.size[1])
            pointer = self.emitter.pointer(self.pointer, None, 1, place)
            found = self.made[block, step] = self.emitter.emit(
                nvgpu.MatrixDescriptor,
                pointer,
                types=[I64],
                lbo=self.plan.lbo,
                sbo=self.plan.sbo,
                swizzle=self.plan.swizzle_name,
                tensor=True,
            )
        return found


class LeftFactor:
    """A left factor in tensor memory: rows in lanes, along k."""

    k_major = True

    def __init__(self, x: Expander, value: Value, atom: TensorAtom):
        self.memory, self.steps = memory(x, value), left_pitch(atom.shape[2], atom.dtypes[0].width)

    def descriptor(self, block: int, step: int) -> Value:
        """The address of the allocation."""
        return self.memory.address

    def place(self, block: int, step: int) -> dict[str, int]:
        """The column of a block of rows at a step of k."""
        return {"columnA": self.memory.column + block * self.memory.pitch + step * self.steps}


@lowers(nv_tileas.TensorCommit)
def commit(x: Expander, op: nv_tileas.TensorCommit) -> None:
    """nv_tileas.tensor_commit: the last arrival at the accumulator's own barriers; already issued if it directly
    follows a product.
    """
    d = memory(x, op.d)
    assert op.parent is not None
    before = op.parent.ops[op.parent.ops.index(op) - 1]
    if not isinstance(before, nv_tileas.TensorDot) or behind(before) is not op:
        by_leader(x, lambda: by_group(x, d.groups, partial(arrive, x, d)))


def arrive(x: Expander, d: TensorMemory, group: int) -> None:
    """Signal the warpgroup's barrier when everything the thread has issued is complete."""
    commit_at(x, x.emitter.mbarrier(d.done, None, group), d.paired)


@lowers(nv_tileas.TensorLoad)
def load(x: Expander, op: nv_tileas.TensorLoad) -> None:
    """nv_tileas.tensor_load: each warp from its lanes. All at once, because loads are warp-wide and a later request for
    a register may be in divergent code; with a base to add, in parts, which take fewer registers.
    """
    emitter, d, layout = x.emitter, memory(x, op.d), layout_of(op.result)
    if not op.waited and op.stage is None:
        finished(x, op)
    address = own(x, d, layout, op.stage)
    if op.written is not None:
        clear(x, x.scalar(op.written), address, d.column, columns_of_registers(layout.n_regs, d.rows))
    base = None if op.base is None else x.tile(op.base)
    values: list[Value] = []
    part = layout.n_regs if base is None else min(CHUNK // (1 + (layout.n_regs >= MANY)), layout.n_regs)
    for first in range(0, layout.n_regs, part):
        found = loads(x, address, d.column + columns_of_registers(first, d.rows), part, d)
        values += found if base is None else added(emitter, base, first, found, op.paired)
    if op.phase is not None or op.waited:
        emitter.effect(nvvm.TensorFence, when="before")
    kind = op.result.type
    assert isinstance(kind, TensorType)
    if not d.apart:
        places = as_loaded(layout, d.rows)
        values = [values[places.index(i)] for i in range(len(places))]
    x.values[op.result] = Held(emitter, layout, kind.element, values, carried=d.apart)


@lowers(nv_tileas.TensorWait)
def wait(x: Expander, op: nv_tileas.TensorWait) -> None:
    """nv_tileas.tensor_wait."""
    finished(x, op)


def finished(x: Expander, op: nv_tileas.TensorLoad | nv_tileas.TensorWait) -> None:
    """Order each thread's reads of an accumulator after the products that add to it."""
    emitter = x.emitter
    phase = emitter.constant(0) if op.phase is None else x.scalar(op.phase)
    d = memory(x, op.d)
    index = emitter.linear([0] * GROUP_BITS + [1 << i for i in range(log2(d.groups))]) if d.groups > 1 else None
    done = emitter.mbarrier(d.done, index)
    emitter.effect(nvvm.MBarrierTryWaitParity, done, phase)
    emitter.effect(nvvm.TensorFence, when="after")


@lowers(nv_tileas.TensorMeet)
def meet(x: Expander, op: nv_tileas.TensorMeet) -> None:
    """nv_tileas.tensor_meet: bar.sync of a warpgroup, at its own barrier."""
    emitter = x.emitter
    own = emitter.linear([0] * GROUP_BITS + [1 << i for i in range(log2(emitter.warps // WARPS))])
    number = emitter.add_constant(own, max(emitter.turns, 1))  # after those shared by all
    emitter.effect(nvvm.NumberedBarrier, number, numberOfThreads=WARP * WARPS)


def own(x: Expander, d: TensorMemory, layout: Layout, stage: Value | None = None) -> Value:
    """The address of a warp's lanes, and of the columns of its warpgroup."""
    lanes = [LANES_OF_WARP << LANE_SHIFT + i for i in range(log2(WARPS))]
    columns = [d.column_of(place) for place in layout.warp[log2(WARPS) :]]
    return x.emitter.add(d.at(stage), x.emitter.linear([0] * log2(WARP) + lanes + columns))


@lowers(nv_tileas.TensorStore)
def store(x: Expander, op: nv_tileas.TensorStore) -> None:
    """nv_tileas.tensor_store: each warp writes its lanes."""
    emitter, d, tile = x.emitter, memory(x, op.d), x.tile(op.value)
    address, places = own(x, d, tile.layout), as_loaded(tile.layout, d.rows)
    emitter.effect(nvvm.TensorFence, when="after")
    words = places[:: COLUMN_BITS // d.bits]  # the first register of each column
    part = min(CHUNK if d.bits == COLUMN_BITS else TENSOR_PART, len(words), left_pitch(d.row, d.bits))
    for first in range(0, len(words), part):
        column = d.column_of(tile.layout.element(words[first], 0, 0))
        held = words[first : first + part]
        stored(
            x, address, d.column + column, [tile.pair(i // 2) if tile.packed else tile.scalar(i) for i in held], d.shape
        )
    emitter.effect(nvvm.TensorWait, segments=(0,), kind="st")
    emitter.effect(nvvm.TensorFence, when="before")


def stored(x: Expander, address: Value, column: int, values: list[Value], shape: str) -> None:
    """Issue writes of consecutive columns."""
    num, more = len(values), {"shape": shape, "num": len(values) // SHAPES[shape]}
    x.emitter.effect(nvvm.TensorSt, address, *values, segments=(1, num), column=column, **more)


@lowers(nv_tileas.TensorScale)
def scale(x: Expander, op: nv_tileas.TensorScale) -> None:
    """nv_tileas.tensor_scale. A warp whose factors are all 1 skips it: nothing would change. NaN is not 1."""
    emitter, factor = x.emitter, x.tile(op.factor)
    each = dict.fromkeys(map(factor.scalar, range(factor.count)))
    if len(each) > FEW_FACTORS:
        scaled(x, op)
    else:
        one = emitter.constant(1.0, F32)
        others = [emitter.emit(arith.CmpF, value, one, types=[I1], predicate="une") for value in each]
        other = reduce(lambda a, b: emitter.emit(arith.OrI, a, b, types=[I1]), others)
        branch(x, emitter.emit(nvvm.Vote, other, types=[I1], kind="any"), lambda: scaled(x, op))
    emitter.effect(nvvm.TensorFence, when="before")


def scaled(x: Expander, op: nv_tileas.TensorScale) -> None:
    """Load, multiply, store, in parts, which take few registers."""
    emitter, d, factor = x.emitter, memory(x, op.d), x.tile(op.factor)
    address, places = own(x, d, factor.layout), as_loaded(factor.layout, d.rows)
    kind = VectorType((2,), F32)
    for first in range(0, len(places), op.columns):
        part = places[first : first + op.columns]
        column = d.column + columns_of_registers(first, d.rows)
        found = [*loads(x, address, column, len(part), d)]
        if op.paired:
            for i in range(0, len(part), 2):
                pair = emitter.emit(vector.FromElements, *found[i : i + 2], types=[kind])
                by = emitter.emit(vector.FromElements, *(factor.scalar(j) for j in part[i : i + 2]), types=[kind])
                made = emitter.emit(PAIRED[arith.MulF], pair, by, types=[kind])
                found[i : i + 2] = [emitter.extract(made, (0,)), emitter.extract(made, (1,))]
        else:
            found = [
                emitter.emit(arith.MulF, v, factor.scalar(j), types=[F32]) for v, j in zip(found, part, strict=True)
            ]
        stored(x, address, column, found, d.shape)
    emitter.effect(nvvm.TensorWait, segments=(0,), kind="st")


def added(emitter: Emitter, base: Registers, first: int, loaded: list[Value], paired: bool) -> list[Value]:
    """Registers of a tile from `first` on plus the loaded ones; `paired`: by f32x2."""
    if base.packed:
        pairs = enumerate(loaded, first // 2)
        return [emitter.emit(arith.AddF, base.pair(i), v, types=[v.type]) for i, v in pairs]
    if not paired:
        return [emitter.emit(arith.AddF, base.scalar(i), v, types=[F32]) for i, v in enumerate(loaded, first)]
    kind, found = VectorType((2,), F32), list[Value]()
    for i in range(0, len(loaded), 2):
        pair = emitter.emit(vector.FromElements, *loaded[i : i + 2], types=[kind])
        total = emitter.emit(PAIRED[arith.AddF], base.pair((first + i) // 2), pair, types=[kind])
        found += [emitter.extract(total, (0,)), emitter.extract(total, (1,))]
    return found


def loads(x: Expander, address: Value, column: int, count: int, d: TensorMemory) -> list[Value]:
    """So many elements of consecutive columns; those `apart` in their columns as packed pairs."""
    values, shape = list[Value](), d.shape
    each, kind = (2, VectorType((2,), F16)) if d.apart else (1, d.element)  # elements of a register
    held = min(CHUNK, count // each)
    for first in range(0, count, held * each):
        made = x.emitter.builder.add(
            nvvm.TensorLd,
            address,
            types=[kind] * held,
            shape=shape,
            num=held // SHAPES[shape],
            column=column + columns_of_registers(first, d.rows),
            packed=d.apart,
        )
        values += made.results
    return x.emitter.builder.add(nvvm.TensorWait, *values, types=[kind] * len(values), kind="ld").results


def clear(x: Expander, written: Value, address: Value, column: int, count: int) -> None:
    """Zeros if no product was issued: each warp writes the lanes that it will read."""
    emitter = x.emitter
    zero = emitter.constant(0.0, F32)

    def store() -> None:
        for first in range(0, count, CHUNK):
            zeros = [zero] * min(CHUNK, count)
            emitter.effect(
                nvvm.TensorSt, address, *zeros, segments=(1, len(zeros)), num=len(zeros), column=column + first
            )
        emitter.effect(nvvm.TensorWait, segments=(0,), kind="st")

    sides = [nested(x, lambda: None), nested(x, store)]
    emitter.builder.add(scf.If, written, types=(), regions=sides)
