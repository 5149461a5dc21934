"""Boxes of tensor copies: how a tile in shared memory is cut so that the TMA unit writes exactly its layout.

A box arrives densely, its first dimension fastest, and is then swizzled by the address. Source: PTX ISA, tensor copies;
ptx.md section 3, TMA and Shared swizzle.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ir.records import dataclass
from lowering.atoms.tma import DST_ALIGNMENT, MAX_BOX, MAX_RANK, SWIZZLES, TMA_ALIGNMENT
from lowering.layouts.f2 import images
from lowering.layouts.layout import LayoutError
from lowering.layouts.shapes import Shape, dim_bits
from lowering.layouts.shared import SharedLayout
from lowering.layouts.wgmma import unswizzled


class TmaPiece(NamedTuple):
    """One instruction: byte offset of its box in the buffer and its origin in the tile, by tile dimension."""

    offset: int
    origin: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TmaPlan:
    """A tile as boxes. `dims`: tile dimensions in the order of the tensor map, innermost first; `box`: their sizes.

    `swizzle` in bytes (0 none); `bytes` of one box; `alignment` of the buffer in bytes.
    """

    dims: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    bytes: int
    alignment: int
    pieces: tuple[TmaPiece, ...]

    @property
    def total_bytes(self) -> int:
        """What all pieces add to a barrier's tx-count."""
        return self.bytes * len(self.pieces)


@cache
def tma_plan(layout: SharedLayout, shape: Shape, contiguous: int) -> TmaPlan:
    """Cut a tile whose dimension `contiguous` has stride 1 in global memory. Raises LayoutError if no boxes fit."""
    if len(shape) > MAX_RANK:
        raise LayoutError(f"a tensor copy has at most {MAX_RANK} dimensions, the tile has {len(shape)}")
    for swizzle in sorted(SWIZZLES):  # none first: else a row of 128 bytes would only use a swizzle's first row
        dense = unswizzled(layout, swizzle)
        plan = None if dense is None else _boxes(dense, layout.element_bytes, shape, contiguous, swizzle)
        if plan is not None:
            return plan
    raise LayoutError(
        f"shared layout {layout} of {shape} is not a swizzle of dense boxes along dimension {contiguous}",
        hint="expected panels of at most 128 bytes along the dimension that is contiguous in global memory",
    )


def _boxes(dense: tuple[int, ...], element: int, shape: Shape, contiguous: int, swizzle: int) -> TmaPlan | None:
    fields = dim_bits(shape)
    owner = {byte: (d, i) for d, f in enumerate(fields) for i, byte in enumerate(dense[f.shift : f.shift + f.width])}
    taken: dict[int, int] = {contiguous: 0}
    byte, limit = element, swizzle or MAX_BOX * element
    while owner.get(byte) == (contiguous, taken[contiguous]) and byte < limit and 1 << taken[contiguous] < MAX_BOX:
        taken[contiguous] += 1
        byte <<= 1
    row = element << taken[contiguous]
    if row % TMA_ALIGNMENT or (swizzle and row != swizzle):
        return None
    byte = row
    current = contiguous
    while byte in owner:
        d, i = owner[byte]
        fresh = d not in taken and i == 0
        if not fresh and not (d == current != contiguous and i == taken[d] and 1 << i < MAX_BOX):
            break
        taken[d] = i + 1
        current = d
        byte <<= 1
    dims = (*taken, *(d for d in range(len(shape)) if d not in taken))
    rest = [b for b in owner if b >= byte]
    if rest and byte % DST_ALIGNMENT:
        return None
    offsets = images(sorted(rest))
    origins = images([_packed(owner[b], len(shape)) for b in sorted(rest)])
    pieces = tuple(TmaPiece(at, _unpacked(o, len(shape))) for at, o in zip(offsets, origins, strict=True))
    box = tuple(1 << taken.get(d, 0) for d in dims)
    return TmaPlan(dims, box, swizzle, byte, max(8 * swizzle, DST_ALIGNMENT), pieces)


FIELD = 32  # bits of a coordinate when several share a number; tiles are below 2^31 along a dimension


def _packed(place: tuple[int, int], rank: int) -> int:
    d, i = place
    return 1 << (FIELD * d + i) if d < rank else 0


def _unpacked(number: int, rank: int) -> tuple[int, ...]:
    return tuple(number >> FIELD * d & ((1 << FIELD) - 1) for d in range(rank))
