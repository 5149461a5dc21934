"""Parts of tiles: extract, cat and insert. A thread holds its share of every part, so registers are only selected."""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import Op, Value
from ir.dialects import arith, nv_tileas
from ir.dialects import cuda_tile as ct
from ir.types import I32, TensorType
from lowering.convert.tileas_to_nvgpu.compute import layout_of
from lowering.convert.tileas_to_nvgpu.context import Expander, lowers
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.registers import Computed, Registers, Renamed
from lowering.convert.tileas_to_nvgpu.views import SharedVectors, store_shared
from lowering.layouts.elements import element_bytes
from lowering.layouts.layout import Layout
from lowering.layouts.shapes import Shape, block_bits, part_registers
from lowering.layouts.shared import SharedLayout


def placed(x: Expander, value: Value) -> tuple[Shape, Layout]:
    """Shape and layout of a value; a scalar is a tile of one."""
    if isinstance(value.type, TensorType):
        return value.type.shape, layout_of(value)
    return (), Layout.trivial(x.emitter.warps)


def define(x: Expander, op: Op, registers: Registers) -> None:
    """The result, as a tile or as a scalar."""
    result = op.results[0]
    x.values[result] = registers if isinstance(result.type, TensorType) else registers.scalar(0)


def number_of(x: Expander, indices: Sequence[Value], whole: Shape, part: Shape) -> Value:
    """The number of a part in row-major order: i32, a constant where the indices are."""
    emitter = x.emitter
    counts = [large // small for large, small in zip(whole, part, strict=True)]
    total = emitter.constant(0)
    for index, count in zip(x.scalars(indices), counts, strict=True):
        total = emitter.multiply(total, count)
        if count > 1:
            total = emitter.add(total, narrowed(emitter, index))
    return total


def narrowed(emitter: Emitter, index: Value) -> Value:
    """An index, read as unsigned, in i32: it counts parts of a tile."""
    known, width = emitter.constant_of(index), getattr(index.type, "width", 32)
    if known is not None:
        return emitter.constant(known)
    if width == I32.width:
        return index
    return emitter.emit(arith.TruncI if width > I32.width else arith.ExtUI, index, types=[I32])


@lowers(nv_tileas.MIRRORED[ct.Extract])
def extract(x: Expander, op: nv_tileas.Mirrored) -> None:
    """The registers of one part."""
    (tile, *indices), (part, layout) = op.operands, placed(x, op.results[0])
    source, (whole, _) = x.tile(tile), placed(x, tile)
    ways = part_registers(part, whole, layout, source.layout)
    define(x, op, chosen(x.emitter, source, ways, layout, number_of(x, indices, whole, part)))


@lowers(nv_tileas.ExtractShared)
def extract_shared(x: Expander, op: nv_tileas.ExtractShared) -> None:
    """One part, through scratch memory."""
    source, (whole, _), (part, layout) = x.tile(op.source), placed(x, op.source), placed(x, op.result)
    number = number_of(x, op.indices, whole, part)
    define(x, op, from_scratch(x.emitter, source, part, whole, layout, number))


def chosen(
    emitter: Emitter, source: Registers, ways: Sequence[Sequence[int]], layout: Layout, number: Value
) -> Registers:
    """The registers of part `number`: known now, or selected by its bits."""
    known = emitter.constant_of(number)
    if known is not None:  # an out-of-range index is undefined
        return Renamed(emitter, layout, source.element, source, ways[known % len(ways)])
    bits = [
        emitter.compare("ne", emitter.emit(arith.AndI, number, emitter.constant(1 << k)), emitter.constant(0))
        for k in range((len(ways) - 1).bit_length())
    ]

    def scalar(i: int) -> Value:
        values = [source.scalar(way[i]) for way in ways]
        for bit in bits:
            values = [
                emitter.emit(arith.Select, bit, odd, even) for even, odd in zip(values[::2], values[1::2], strict=True)
            ]
        return values[0]

    return Computed(emitter, layout, source.element, scalar)


def scratch_layout(part: Shape, whole: Shape, element_bytes: int) -> SharedLayout:
    """A tile in memory part by part, each in row-major order."""
    blocks = block_bits(part, whole)
    bits = sum(size.bit_length() - 1 for size in whole)
    inner = [1 << k for k in range(bits) if 1 << k not in blocks]
    order = {basis: 1 << place for place, basis in enumerate((*inner, *blocks))}
    return SharedLayout(tuple(order[1 << k] for k in range(bits)), bits, element_bytes)


def from_scratch(
    emitter: Emitter, source: Registers, part: Shape, whole: Shape, layout: Layout, number: Value
) -> Registers:
    """The whole to scratch memory, one part of it back."""
    scratch, size = emitter.scratch(), element_bytes(source.element)
    store_shared(emitter, source, scratch, scratch_layout(part, whole, size))
    emitter.scratch_written()
    bits = layout.bits
    place = emitter.pointer(scratch, number, size << bits)
    read = SharedVectors(
        emitter, layout, source.element, place, SharedLayout(tuple(1 << k for k in range(bits)), bits, size)
    )
    read.reads_scratch = True
    emitter.pending.append(read)
    return read


@lowers(nv_tileas.MIRRORED[ct.Cat])
def cat(x: Expander, op: nv_tileas.Mirrored) -> None:
    """The registers of both."""
    parts = [x.tile(v) for v in op.operands]
    (part, small), (whole, layout) = placed(x, op.operands[0]), placed(x, op.results[0])
    where: dict[int, tuple[int, int]] = {}
    for side, registers in enumerate(part_registers(part, whole, small, layout)):
        where |= {r: (side, i) for i, r in enumerate(registers)}

    def scalar(r: int) -> Value:
        side, i = where[r]
        return parts[side].scalar(i)

    define(x, op, Computed(x.emitter, layout, parts[0].element, scalar))


@lowers(nv_tileas.MIRRORED[ct.Insert])
def insert(x: Expander, op: nv_tileas.Mirrored) -> None:
    """The destination's registers, those of one part replaced."""
    piece, tile, *indices = op.operands
    emitter, source, destination = x.emitter, x.tile(piece), x.tile(tile)
    (part, small), (whole, layout) = placed(x, piece), placed(x, op.results[0])
    ways = part_registers(part, whole, small, layout)
    number = number_of(x, indices, whole, part)
    known = emitter.constant_of(number)
    where = {r: (block, i) for block, way in enumerate(ways) for i, r in enumerate(way)}
    here: dict[int, Value] = {}

    def scalar(r: int) -> Value:
        block, i = where[r]
        if known is not None:
            return source.scalar(i) if known == block else destination.scalar(r)
        if block not in here or not emitter.visible(here[block]):
            here[block] = emitter.compare("eq", number, emitter.constant(block))
        return emitter.emit(arith.Select, here[block], source.scalar(i), destination.scalar(r))

    define(x, op, Computed(emitter, layout, source.element, scalar))
