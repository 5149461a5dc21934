"""Reductions and prefix scans of one or more tiles by a combiner region: registers, then lanes, then warps.

Values are passed as tuples, one of each operand. A scan's steps are those of lowering/layouts/prefixes.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ir.core import Region, Value
from ir.dialects import arith, gpu, nv_tileas
from ir.dialects import cuda_tile as ct
from ir.types import TensorType
from lowering.atoms.folds import MINMAX3
from lowering.atoms.lanes import REDUX, commutes, of_each, redux_of
from lowering.atoms.pairs import F32X2
from lowering.convert.tileas_to_nvgpu import folds
from lowering.convert.tileas_to_nvgpu.compute import tensor_of
from lowering.convert.tileas_to_nvgpu.context import Expander, lowers
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.folds import Combine, Tuple, balanced
from lowering.convert.tileas_to_nvgpu.registers import Held, Registers, Renamed
from lowering.convert.tileas_to_nvgpu.views import SharedVectors, load, store, store_shared
from lowering.layouts.elements import element_bytes
from lowering.layouts.layout import LANE_BITS, Layout
from lowering.layouts.prefixes import Part, Step, prefix_dim
from lowering.layouts.shapes import Reduction, reduce_dim
from lowering.layouts.shared import areas, side_by_side
from lowering.targets.target import WARP


def combiner(emitter: Emitter, region: Region, fixed: dict[int, Value]) -> Combine:
    """The combiner region as a function that emits its ops; its arguments are lhs0, rhs0, lhs1, rhs1, ...

    Operands that are `fixed` are not in the tuples.
    """
    block = region.block
    moving = [i for i in range(len(block.terminator.operands)) if i not in fixed]

    def combine(left: Tuple, right: Tuple) -> Tuple:
        values = {block.args[2 * i + side]: value for i, value in fixed.items() for side in range(2)}
        for i, *pair in zip(moving, left, right, strict=True):
            values.update(zip(block.args[2 * i : 2 * i + 2], pair, strict=True))
        for op in block.ops[:-1]:
            operands = [values[v] for v in op.operands]
            values[op.results[0]] = emitter.emit(
                type(op), *operands, types=[r.type for r in op.results], **op.attributes
            )
        return tuple([values[block.terminator.operands[i]] for i in moving])

    return combine


def fixed_operands(x: Expander, op: nv_tileas.Combining) -> dict[int, Value]:
    """Operands that are uniform over all elements and preserved by every combination: all threads hold them already."""
    block = op.combiner.block
    kept = [v in block.args[2 * i : 2 * i + 2] for i, v in enumerate(block.terminator.operands)]
    found = [i for i, source in enumerate(op.sources) if kept[i] and one_number(source)]
    return {i: x.tile(op.sources[i]).scalar(0) for i in found} if len(found) < len(op.sources) else {}


def one_number(tile: Value) -> bool:
    """Is this tile a broadcast scalar?"""
    while isinstance(tile.type, TensorType):
        if not isinstance(tile.op, nv_tileas.Broadcast | nv_tileas.Reshape | nv_tileas.Permute):
            return False
        tile = tile.op.operands[0]
    return True


# --- reductions


@lowers(nv_tileas.Reduce)
def reduce(x: Expander, op: nv_tileas.Reduce) -> None:
    """Reduce one dimension."""
    emitter, fixed = x.emitter, fixed_operands(x, op)
    sources = [x.tile(v) for i, v in enumerate(op.sources) if i not in fixed]
    combine = combiner(emitter, op.combiner, fixed)
    plan = reduce_dim(tensor_of(op.sources[0]).shape, op.dim, sources[0].layout)
    each = of_each(op.combiner)
    if each is None:
        partial = list(within_warp(op, op.combiner, sources, plan, combine))
    else:  # tile after tile
        alone = combiner(emitter, each, {})
        found = [within_warp(op, each, [source], plan, alone) for source in sources]
        partial = [tuple([value for (value,) in values]) for values in zip(*map(list, found), strict=True)]
    if plan.warp_bits:
        partial = across_warps(emitter, partial, sources, plan, combine)
    define(x, op, plan.layout, partial, fixed)


def within_warp(
    op: nv_tileas.Reduce, region: Region, sources: Sequence[Registers], plan: Reduction, combine: Combine
) -> Iterator[Tuple]:
    """The results of each warp: its registers by the operation's atoms, then its lanes."""
    for total in within_thread(op, region, sources, plan.groups, combine):
        yield across_lanes(sources[0].emitter, op, region, total, plan.lane_bits, combine)


def within_thread(
    op: nv_tileas.Reduce,
    region: Region,
    sources: Sequence[Registers],
    groups: Sequence[Sequence[int]],
    combine: Combine,
) -> Iterator[Tuple]:
    """Each group of registers reduced, by the operation's atom."""
    if op.thread_atom == F32X2:
        yield from folds.in_pairs(op, region, sources[0], groups, combine)
        return
    for group in groups:
        values = [tuple([s.scalar(r) for s in sources]) for r in group]
        if op.thread_atom == MINMAX3:
            yield folds.by_three(op, region, sources[0].emitter, values, combine)
        else:
            yield (folds.in_threes if folds.are_joined(region) else balanced)(combine, values)


def across_lanes(
    emitter: Emitter, op: nv_tileas.Reduce, region: Region, total: Tuple, lane_bits: Sequence[int], combine: Combine
) -> Tuple:
    """The values of lanes that differ in these bits, reduced by redux.sync or by shuffles."""
    if op.atom == REDUX and lane_bits:
        found = redux_of(region)
        if found is None or 1 << len(lane_bits) != WARP:
            op.fail("redux folds 32 lanes by one operation that redux.sync has")
        kind, attributes = found
        return (emitter.emit(kind, *total, types=[total[0].type], **attributes),)
    for bit in lane_bits:
        total = combine(total, shuffled(emitter, total, bit))
    return total


def define(
    x: Expander, op: nv_tileas.Combining, layout: Layout, values: Sequence[Tuple], fixed: dict[int, Value]
) -> None:
    """Define the results from the tuple of each register and the `fixed` operands."""
    moved = iter(zip(*values, strict=True))
    for i, result in enumerate(op.results):
        registers = [fixed[i]] * len(values) if i in fixed else next(moved)
        if isinstance(result.type, TensorType):
            x.values[result] = Held(x.emitter, layout, result.type.element, registers)
        else:
            x.values[result] = registers[0]


def shuffled(emitter: Emitter, values: Tuple, bit: int) -> Tuple:
    """The values of the lane whose number differs in one bit."""
    return tuple([emitter.emit(gpu.Shuffle, v, emitter.constant(1 << bit), mode="xor") for v in values])


def across_warps(
    emitter: Emitter, partial: Sequence[Tuple], sources: Sequence[Registers], plan: Reduction, combine: Combine
) -> list[Tuple]:
    """Results of several warps combined: each writes its own of all tiles, and all threads read those of all warps."""
    layout = plan.layout
    parts = {bit: 1 << (layout.bits + j) for j, bit in enumerate(plan.warp_bits)}
    bits, count = layout.bits + len(parts), len(partial)
    warp = tuple(parts.get(i, basis) for i, basis in enumerate(layout.warp))
    spread = Layout(layout.reg, layout.lane, warp, bits)
    gathered = Layout((*layout.reg, *parts.values()), layout.lane, layout.warp, bits)
    written: list[Registers] = []
    for i, source in enumerate(sources):
        held = Held(emitter, layout, source.element, [values[i] for values in partial])
        written.append(Renamed(emitter, spread, source.element, held, range(count)))
    reads = exchanged(emitter, written, gathered)
    return [
        balanced(combine, [tuple([r.scalar(p * count + i) for r in reads]) for p in range(1 << len(parts))])
        for i in range(count)
    ]


def exchanged(emitter: Emitter, written: Sequence[Registers], gathered: Layout) -> list[Registers]:
    """Tiles in another layout by one round trip through scratch memory, where they lie beside each other."""
    sizes = [element_bytes(tile.element) for tile in written]
    shared = [side_by_side(gathered, size) for size in sizes]
    scratch = emitter.scratch()
    places = [emitter.pointer(scratch, None, 1, first) for first in areas(1 << gathered.bits, sizes)[:-1]]
    for tile, place, order in zip(written, places, shared, strict=True):
        store_shared(emitter, tile, place, order)
    emitter.scratch_written()
    return [
        emitter.from_scratch(SharedVectors(emitter, gathered, tile.element, place, order))
        for tile, place, order in zip(written, places, shared, strict=True)
    ]


# --- scans


@lowers(nv_tileas.KEEPING[ct.Scan])
def scan(x: Expander, op: nv_tileas.Keeping) -> None:
    """Inclusive prefixes along a dimension, from the far end if it is reversed."""
    fixed = fixed_operands(x, op)
    sources = [x.tile(v) for i, v in enumerate(op.sources) if i not in fixed]
    layout = sources[0].layout
    plan = prefix_dim(tensor_of(op.sources[0]).shape, op.dim, layout)
    if plan is None:
        raise TypeError(f"cannot scan along dimension {op.dim} in {layout}")
    combine = combiner(x.emitter, op.combiner, fixed)
    prefixes = Prefixes(x.emitter, sources, combine, op.flags["reverse"], commutes(op.combiner))
    for step in plan.steps:
        prefixes.step(step)
    define(x, op, layout, prefixes.values, fixed)


class Prefixes:
    """What each register of a thread knows: the scan over its block so far, and the block's total.

    Registers of one block share their total, so one exchange serves them all.
    """

    def __init__(
        self, emitter: Emitter, sources: Sequence[Registers], combine: Combine, reverse: bool, symmetric: bool
    ):
        """`symmetric`: the combiner commutes."""
        self.emitter = emitter
        self.layout = sources[0].layout
        self.elements = [s.element for s in sources]
        self.combine = combine
        self.reverse = reverse
        self.symmetric = symmetric
        self.values = [tuple([s.scalar(r) for s in sources]) for r in range(sources[0].count)]
        self.totals = list(self.values)

    def step(self, step: Step) -> None:
        """Join each block with its sibling: the later one of the two adds the earlier one's total in front."""
        siblings = self.siblings(step)
        later = self.thread_is_later(step.element)
        joined: dict[tuple[Tuple, Tuple, bool], Tuple] = {}
        totals: list[Tuple] = []
        for r, (value, own) in enumerate(zip(self.values, self.totals, strict=True)):
            other = siblings[r]
            here = bool(self.layout.element(r) >> step.element & 1) != self.reverse
            if later is None:
                if here:
                    self.values[r] = self.combine(other, value)
                pair = (other, own) if here else (own, other)
            else:
                first, second = (own, other) if here else (other, own)
                pair = (other, own)
                if not self.symmetric:
                    pair = self.select(later, first, second), self.select(later, second, first)
                added = self.combine(other, value)
                self.values[r] = self.select(later, *((value, added) if here else (added, value)))
            key = (*((own, other) if later is not None else pair), here if later is not None else False)
            if key not in joined:
                joined[key] = self.combine(*pair)
            totals.append(joined[key])
        self.totals = totals

    def thread_is_later(self, element: int) -> Value | None:
        """Whether the thread number sets this bit of the element's index; None if it never does."""
        bits = [basis >> element & 1 for basis in self.layout.thread]
        if not any(bits):
            return None
        return self.emitter.odd(bits)

    def select(self, condition: Value, yes: Tuple, no: Tuple) -> Tuple:
        """A choice between tuples."""
        pairs = zip(yes, no, strict=True)
        return tuple([a if a is b else self.emitter.emit(arith.Select, condition, a, b) for a, b in pairs])

    def siblings(self, step: Step) -> list[Tuple]:
        """The total of the sibling block of each register."""
        if step.part is Part.REGISTER:
            return [self.totals[r ^ 1 << step.bit] for r in range(len(self.totals))]
        distinct = list(dict.fromkeys(self.totals))
        if step.part is Part.LANE:
            moved = [shuffled(self.emitter, total, step.bit) for total in distinct]
        else:
            moved = self.from_warp(distinct, step.bit)
        found = dict(zip(distinct, moved, strict=True))
        return [found[total] for total in self.totals]

    def from_warp(self, totals: Sequence[Tuple], bit: int) -> list[Tuple]:
        """Values of the same lane of another warp, through scratch memory: one row of all threads a value."""
        emitter = self.emitter
        base, threads, offset = emitter.scratch(), 32 * emitter.warps, 0
        places: list[list[tuple[Value, int, int]]] = []
        for total in totals:
            row: list[tuple[Value, int, int]] = []
            for value, element in zip(total, self.elements, strict=True):
                size = element_bytes(element)
                row.append((value, size, offset))
                offset += threads * size
            places.append(row)
        for value, size, at in (place for row in places for place in row):
            store(emitter, value, emitter.pointer(base, self.place(size, 0), 1, at), None)
        emitter.scratch_written()
        return [
            tuple(
                [
                    load(
                        emitter,
                        emitter.pointer(base, self.place(size, 1 << LANE_BITS + bit), 1, at),
                        element,
                        1,
                        None,
                        0,
                    )
                    for (_, size, at), element in zip(row, self.elements, strict=True)
                ]
            )
            for row in places
        ]

    def place(self, size: int, other: int) -> Value:
        """Byte offset of thread number ^ other in a row of values."""
        part = self.emitter.linear([size << i for i in range(len(self.layout.thread))])
        return self.emitter.prelude.value(arith.XOrI, part, self.emitter.constant(size * other)) if other else part
