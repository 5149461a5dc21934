"""Stores of a tile through a buffer for part of it, one part after the other: the registers of a part, and its
position. A part is a set of TMA boxes that differ only in registers, so that all threads write to each.
"""

from __future__ import annotations

from functools import cache

from ir.records import dataclass
from lowering.layouts.f2 import log2
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout


@dataclass(frozen=True, slots=True)
class StoreParts:
    """The layouts of a part, the same for all, in registers and in the buffer, and each part's register numbers in
    the tile.
    """

    layout: Layout
    shared: SharedLayout
    registers: tuple[tuple[int, ...], ...]


@cache
def by_parts(layout: Layout, shared: SharedLayout, box: int) -> SharedLayout:
    """The same boxes of `box` elements in another order: those that differ only in registers are furthest apart."""
    low = log2(box)
    places = {offset: k for k, offset in enumerate(shared.offset) if offset >> low and not offset & offset - 1}
    order = sorted(places, key=lambda offset: (1 << places[offset] in layout.reg, offset))
    moved = dict(zip(order, sorted(places), strict=True))
    return SharedLayout(tuple(moved.get(offset, offset) for offset in shared.offset), shared.bits, shared.element_bytes)


@cache
def in_parts(layout: Layout, shared: SharedLayout, count: int) -> StoreParts | None:
    """A tile in `count` parts, a power of two, by the highest bits of the offset in the buffer; None if these are not
    selected by registers alone.
    """
    top = log2(count)
    tops = [1 << shared.bits - top + i for i in range(top)]
    if not set(tops) <= set(shared.offset):
        return None
    gone = [shared.offset.index(each) for each in tops]  # the element bits that select the part
    bases = (*layout.reg, *layout.lane, *layout.warp)
    mask = sum(1 << k for k in gone)
    if any(1 << k not in layout.reg for k in gone) or any(base & mask and base & base - 1 for base in bases):
        return None
    kept = [base for base in layout.reg if not base & mask]
    places = [layout.reg.index(base) for base in kept]
    chosen = [layout.reg.index(1 << k) for k in gone]
    own = [sum(1 << places[i] for i in range(len(places)) if number >> i & 1) for number in range(1 << len(places))]
    each = [sum(1 << chosen[i] for i in range(top) if part >> i & 1) for part in range(count)]
    lane, warp = (tuple(without(base, gone) for base in bases) for bases in (layout.lane, layout.warp))
    return StoreParts(
        Layout(tuple(without(base, gone) for base in kept), lane, warp, layout.bits - top),
        SharedLayout(
            tuple(offset for k, offset in enumerate(shared.offset) if k not in gone),
            shared.bits - top,
            shared.element_bytes,
        ),
        tuple(tuple(more | place for place in own) for more in each),
    )


def without(number: int, bits: list[int]) -> int:
    """A number without some of its bits, those above them moved down."""
    for bit in sorted(bits, reverse=True):
        number = number >> bit + 1 << bit | number & (1 << bit) - 1
    return number
