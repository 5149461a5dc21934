"""The effect of broadcast, reduce and permute on a layout: dimensions are bit fields of the flattened index."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from ir.records import dataclass
from lowering.layouts.f2 import Bases, Echelon, apply, log2
from lowering.layouts.layout import LANE_BITS, Layout, LayoutError

Shape = tuple[int, ...]


class DimBits(NamedTuple):
    """The bit field of one dimension in the flattened index."""

    shift: int
    width: int

    @property
    def mask(self) -> int:
        """Bits of the field, in place."""
        return ((1 << self.width) - 1) << self.shift

    def coordinate(self, element: int) -> int:
        """Coordinate of a flattened index along this dimension."""
        return (element >> self.shift) & ((1 << self.width) - 1)


@cache
def dim_bits(shape: Shape) -> tuple[DimBits, ...]:
    """Bit field of every dimension of a row-major tile. Raises LayoutError for a size that is not a power of two."""
    fields: list[DimBits] = []
    shift = 0
    for size in reversed(shape):
        if size <= 0 or size & (size - 1):
            raise LayoutError(f"tile shape {shape}: {size} is not a power of two")
        width = log2(size)
        fields.append(DimBits(shift, width))
        shift += width
    return tuple(reversed(fields))


def _move(base: int, source: Sequence[DimBits], target: Sequence[DimBits | None]) -> int:
    """Move the field source[i] of `base` to target[i]; None drops it."""
    moved = 0
    for old, new in zip(source, target, strict=True):
        if new is not None:
            moved |= old.coordinate(base) << new.shift
    return moved


def inverse_permutation(perm: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes `perm`."""
    return tuple(sorted(range(len(perm)), key=lambda i: perm[i]))


@cache
def permute(shape: Shape, perm: tuple[int, ...], layout: Layout) -> Layout:
    """Layout of a tile after permutation, registers untouched: result dimension i is source dimension perm[i]."""
    old = dim_bits(shape)
    new = dim_bits(tuple(shape[p] for p in perm))
    targets = [new[i] for i in inverse_permutation(perm)]
    reg, lane, warp = (tuple(_move(b, old, targets) for b in part) for part in (layout.reg, layout.lane, layout.warp))
    return Layout(reg, lane, warp, layout.bits)


def _corner(part: Shape, whole: Shape, element: int) -> int:
    """An element of a part as an element of the whole: its first corner."""
    return _move(element, dim_bits(part), dim_bits(whole))


def block_bits(part: Shape, whole: Shape) -> tuple[int, ...]:
    """The element bits of the whole that select the part of an element, those of the last dimension first."""
    pairs = reversed(list(zip(dim_bits(part), dim_bits(whole), strict=True)))
    return tuple(1 << new.shift + k for old, new in pairs for k in range(old.width, new.width))


@cache
def layout_of_whole(part: Shape, whole: Shape, layout: Layout) -> Layout:
    """Layout of a tile in which each thread holds, of every part, what it holds of one part in `layout`."""
    reg, lane, warp = (
        tuple(_corner(part, whole, b) for b in bases) for bases in (layout.reg, layout.lane, layout.warp)
    )
    return Layout((*reg, *block_bits(part, whole)), lane, warp, sum(field.width for field in dim_bits(whole)))


@cache
def layout_of_part(part: Shape, whole: Shape, layout: Layout) -> Layout | None:
    """The layout of a part of a whole in `layout`, with registers in any order; None if threads hold different
    parts.
    """
    blocks = block_bits(part, whole)
    mask = sum(blocks)
    reg = [b for b in layout.reg if b not in blocks]
    if len(reg) != len(layout.reg) - len(blocks) or any(b & mask for b in (*reg, *layout.lane, *layout.warp)):
        return None
    old, new = dim_bits(whole), dim_bits(part)
    regs, lane, warp = (tuple(_move(b, old, new) for b in bases) for bases in (reg, layout.lane, layout.warp))
    return Layout(regs, lane, warp, sum(field.width for field in new))


@cache
def part_registers(part: Shape, whole: Shape, small: Layout, large: Layout) -> tuple[tuple[int, ...], ...]:
    """For every part, by its row-major number, the register of the whole for each of its registers."""
    place = {element: r for r, element in enumerate(large.register_elements())}
    blocks = block_bits(part, whole)
    corners = [sum(b for k, b in enumerate(blocks) if number >> k & 1) for number in range(1 << len(blocks))]
    elements = [_corner(part, whole, e) for e in small.register_elements()]
    return tuple(tuple(place[e ^ corner] for e in elements) for corner in corners)


class Slice(NamedTuple):
    """The operand of a broadcast: its layout, and for every register of the result the operand register it equals."""

    layout: Layout
    reg_map: tuple[int, ...]


def _project(layout: Layout, shape: Shape, dropped: Sequence[int]) -> Layout:
    """`layout` without the dimensions `dropped`; registers keep their number (their bases may become 0)."""
    old = dim_bits(shape)
    kept = dim_bits(tuple(1 if d in dropped else size for d, size in enumerate(shape)))
    targets = [None if d in dropped else kept[d] for d in range(len(shape))]
    reg, lane, warp = (tuple(_move(b, old, targets) for b in part) for part in (layout.reg, layout.lane, layout.warp))
    return Layout(reg, lane, warp, sum(field.width for field in kept))


class _Compact(NamedTuple):
    layout: Layout
    kept: tuple[int, ...]  # register bits that remain
    to_new: Bases  # old register number -> new register number, linear


def _drop_replicas(layout: Layout) -> _Compact:
    """Remove the register bits that depend on earlier ones."""
    form = Echelon()
    kept: list[int] = []
    to_new: list[int] = []
    combination: dict[int, int] = {}  # old register bit -> mask of new bits, for bits that were kept
    for k, base in enumerate(layout.reg):
        rest, mask = form.reduce(base)
        if rest:
            combination[k] = 1 << len(kept)
            kept.append(k)
            to_new.append(combination[k])
        else:
            to_new.append(sum(combination[j] for j in range(k) if mask >> j & 1))
        form.add(base)
    reg = tuple(layout.reg[k] for k in kept)
    return _Compact(Layout(reg, layout.lane, layout.warp, layout.bits), tuple(kept), tuple(to_new))


@cache
def slice_for_broadcast(shape_in: Shape, shape_out: Shape, layout: Layout) -> Slice:
    """Operand layout under which broadcasting shape_in to shape_out in `layout` moves nothing.

    A lower rank is padded on the left with ones. Result register r equals operand register reg_map[r].
    """
    padded = (1,) * (len(shape_out) - len(shape_in)) + shape_in
    if len(padded) != len(shape_out) or any(i not in (1, o) for i, o in zip(padded, shape_out, strict=True)):
        raise LayoutError(f"cannot broadcast {shape_in} to {shape_out}")
    dropped = [d for d, (i, o) in enumerate(zip(padded, shape_out, strict=True)) if i != o]
    compact = _drop_replicas(_project(layout, shape_out, dropped))
    return Slice(compact.layout, tuple(apply(compact.to_new, r) for r in range(layout.n_regs)))


@cache
def without_replicas(layout: Layout) -> Slice:
    """The layout with each element once a thread; register r of `layout` equals register reg_map[r] of the result."""
    compact = _drop_replicas(layout)
    return Slice(compact.layout, tuple(apply(compact.to_new, r) for r in range(layout.n_regs)))


@dataclass(frozen=True, slots=True)
class Reduction:
    """How to reduce one dimension in place.

    First combine the registers of each group (result register r gets groups[r]), then butterfly over `lane_bits`
    (exchange with lane ^ (1 << bit)), then combine the warps that differ in `warp_bits` through shared memory. Every
    thread then holds the result in `layout`; replicas of the source are never counted twice.
    """

    layout: Layout
    groups: tuple[tuple[int, ...], ...]
    lane_bits: tuple[int, ...]
    warp_bits: tuple[int, ...]


@cache
def reduce_dim(shape: Shape, dim: int, layout: Layout) -> Reduction:
    """Plan the reduction of `dim`. Raises LayoutError if a thread bit mixes `dim` with another dimension held by
    other bits (never for anchors, fragments and their permutes and broadcasts)."""
    projected = _project(layout, shape, (dim,))
    free = layout.free()
    compact = _drop_replicas(projected)
    groups: list[list[int]] = [[] for _ in range(compact.layout.n_regs)]
    for r in range(layout.n_regs):
        if not r & free.reg:
            groups[apply(compact.to_new, r)].append(r)
    form = Echelon(compact.layout.reg)
    along: list[int] = []
    for k, base in enumerate(projected.thread):
        if free.thread >> k & 1:
            continue
        if base == 0:
            along.append(k)
        elif not form.add(base):
            raise LayoutError(
                f"cannot reduce dimension {dim} of {shape} in {layout}: thread bit {k} mixes dimensions",
                hint="convert the tile to a coalesced layout first",
            )
    return Reduction(
        compact.layout,
        tuple(map(tuple, groups)),
        tuple(k for k in along if k < LANE_BITS),
        tuple(k - LANE_BITS for k in along if k >= LANE_BITS),
    )
