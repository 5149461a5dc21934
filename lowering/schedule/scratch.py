"""Scratch memory: the needs of conversions, reductions and staged stores, and its placement.

    beside the rings    in loops, and before a loop whose ring another agent may be filling already
    over the rings      elsewhere: they are drained by then; buffers that are filled once stay
Each op that needs scratch gets its byte offset as attribute `scratch`. An op whose scratch fits next to that of the
previous one, in memory that alignment or the largest of them takes anyway, does not overlay it: a thread that writes
one has passed the barrier of the other, after which the first is no longer read.
"""

from __future__ import annotations

from collections.abc import Iterator

from ir.checked import checked
from ir.core import Block, Op, Type, Value
from ir.dialects import nv_tileas, scf
from ir.dialects.nv_tileas_effects import NEXT_BYTES, SAID_BYTES
from ir.types import TensorType
from lowering.layouts.conversions import SharedRoundTrip
from lowering.layouts.conversions import plan as plan_conversion
from lowering.layouts.elements import element_bytes, moved_bits
from lowering.layouts.layout import Layout
from lowering.layouts.prefixes import prefix_dim
from lowering.layouts.shapes import reduce_dim
from lowering.layouts.shared import PERIOD, SharedLayout, areas
from lowering.schedule.rings import align
from lowering.targets import Target

RENAMES = (nv_tileas.Broadcast, nv_tileas.Reshape, nv_tileas.Permute)
BY_REGISTER = ("arith.", "math.")
"""Operations whose registers are each made when they are asked for."""
FRAGMENTS = 64
"""Registers beside an accumulator and a factor for addresses and the fragments of a step; an estimate. A
block-scaled product with 128 of an accumulator and 128 of a factor spills 492 bytes (ptxas 13.5)."""


def place(block: Block, target: Target, free: int, kept: int) -> tuple[int, int]:
    """Give every op of a scheduled kernel its scratch; the bytes of shared memory that rings, buffers and scratch take,
    and those that buffers and scratch over drained rings take.

    Buffers that are filled once and read later on end at `kept`, the rings behind them at `free`.
    """
    ops = [each for op in block.ops for each in nested(op)]
    last = max((i for i, (op, _) in enumerate(ops) if waits_for_agent(op)), default=-1)
    total, over, before = free, kept, range(0)
    wanted = [(op, scratch_of(op, target), looped or i <= last) for i, (op, looped) in enumerate(ops)]
    most = {where: max([PERIOD, *(need for _, need, inside in wanted if inside == where)]) for where in (True, False)}
    for op, need, inside in wanted:
        if need:
            first = align(free if inside else kept, PERIOD)
            offset = behind(before, first, need, min(first + most[inside], int(target.smem_bytes)))
            before = range(offset, offset + need)
            op.attributes["scratch"] = offset
            total = max(total, offset + need)
            over = over if inside else max(over, offset + need)
    total = max([total, *(beside(op, total, target) for op, looped in ops if isinstance(op, nv_tileas.Dot) and looped)])
    return total, over


def behind(before: range, first: int, need: int, end: int) -> int:
    """Where so many bytes lie from `first` on: not over those used before, if they end at `end` then at the latest."""
    apart = before.stop <= first or first + need <= before.start
    offset = first if apart else align(before.stop, PERIOD if need > PERIOD // 2 else PERIOD // 2)
    return offset if offset + need <= end else first


def waits_for_agent(op: Op) -> bool:
    """Does it wait for a ring that another agent fills, for this loop or ahead of it?"""
    made = op.pipeline.op if isinstance(op, nv_tileas.ConsumerWait | nv_tileas.Drain) else None
    return isinstance(made, nv_tileas.CreatePipeline) and made.by == nv_tileas.MBARRIERS


def beside(op: nv_tileas.Dot, free: int, target: Target) -> int:
    """Where factors of a product come from shared memory by several conversions, each of which would have those before
    it read as a whole, and registers would not hold these, place some behind `free`, as far as there is room: they
    need not be read before. Returns the end of what is used.
    """
    found = {each: scratch_of(each, target) for value in (op.a, op.b) for each in read_by(value, target)}
    blocks = {each.parent for each in found}
    block = blocks.pop() if len(blocks) == 1 else None
    together = sorted(found, key=block.ops.index) if block else []
    most = int(target.registers_per_thread) - words(op.c.type) - FRAGMENTS
    while sum(words(each.result.type) for each in together[:-1]) > most:
        offset = align(free, PERIOD)
        fits = [each for each in together if offset + found[each] <= target.smem_bytes]
        if not fits:
            break
        smallest = min(fits, key=lambda each: found[each])
        smallest.attributes |= {"scratch": offset, "apart": True}
        together.remove(smallest)
        free = offset + found[smallest]
    return free


def read_by(value: Value, target: Target) -> list[nv_tileas.ConvertLayout]:
    """Conversions through scratch memory that a tile is made of register by register."""
    found: list[nv_tileas.ConvertLayout] = []
    rest, seen = [value], set[Value]()
    while rest:
        each = rest.pop()
        op = each.op
        if each in seen or op is None:
            continue
        seen.add(each)
        if isinstance(op, nv_tileas.ConvertLayout) and scratch_of(op, target):
            found.append(op)
        elif isinstance(op, RENAMES) or op.name.startswith(BY_REGISTER):
            rest += op.operands
    return found


def words(kind: Type) -> int:
    """32-bit registers of a thread that hold a tile."""
    return layout_of(kind).n_regs * moved_bits(checked(kind, TensorType).element) // 32


def nested(op: Op, looped: bool = False) -> Iterator[tuple[Op, bool]]:
    """An op and those in its regions, each with whether it is in a loop."""
    yield op, looped
    if isinstance(op, (scf.For, scf.While, scf.If, *nv_tileas.REGIONS)):
        for region in op.regions:
            for each in region.block.ops:
                yield from nested(each, looped or isinstance(op, scf.For | scf.While))


def scratch_of(op: Op, target: Target) -> int:
    """Bytes of scratch of one op."""
    if isinstance(op, nv_tileas.ConvertLayout):
        source, result = layout_of(op.source.type), layout_of(op.result.type)
        plan = plan_conversion(source, result, moved_bits(checked(op.source.type, TensorType).element), target)
        return plan.scratch_bytes if isinstance(plan, SharedRoundTrip) else 0
    if isinstance(op, nv_tileas.Reduce):
        kind = checked(op.sources[0].type, TensorType)
        plan = reduce_dim(kind.shape, op.dim, layout_of(kind))
        if plan.warp_bits:
            return areas(plan.parts, [element_bytes(checked(v.type, TensorType).element) for v in op.sources])[-1]
    if isinstance(op, nv_tileas.Keeping):
        kind = checked(op.sources[0].type, TensorType)
        plan = prefix_dim(kind.shape, op.dim, layout_of(kind))
        sizes = (element_bytes(checked(v.type, TensorType).element) for v in op.sources)
        return plan.scratch_bytes(sizes) if plan else 0
    if isinstance(op, nv_tileas.ExtractShared):
        kind = checked(op.source.type, TensorType)
        return layout_of(kind).size * element_bytes(kind.element)
    if isinstance(op, nv_tileas.Atomic):
        return atomic_scratch(op)
    if isinstance(op, nv_tileas.Alloca):
        return nv_tileas.SCALAR_BYTES
    if isinstance(op, nv_tileas.CancelNextProgramId):
        return SAID_BYTES if op.slot else NEXT_BYTES
    if isinstance(op, nv_tileas.StagedStore | nv_tileas.TiledTmaStore):
        return checked(op.shared, SharedLayout).size_bytes // op.parts
    return 0


def atomic_scratch(op: nv_tileas.Atomic) -> int:
    """If threads hold replicas, the one that performs an update passes the old value to the others."""
    kind = op.values[0].type
    if not op.results or (isinstance(kind, TensorType) and not layout_of(kind).free().thread):
        return 0
    size, element = (layout_of(kind).size, kind.element) if isinstance(kind, TensorType) else (1, kind)
    return size * moved_bits(element) // 8


def layout_of(kind: Type) -> Layout:
    """The distributed layout of a placed tile."""
    layout = kind.layout if isinstance(kind, TensorType) else None
    if not isinstance(layout, Layout):
        raise TypeError(f"{kind} is not a placed tile")
    return layout
