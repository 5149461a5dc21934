"""Tensor copies of a tile as the schedule needs them: dimensions of the map, one box, and where each box goes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ir.dialects.nvgpu import SWIZZLE_NAMES
from lowering.layouts.layout import LayoutError
from lowering.layouts.shapes import Shape
from lowering.layouts.shared import SharedLayout
from lowering.layouts.tma import tma_plan

SWIZZLES = (128, 64, 32)  # bytes of rows that a swizzle spans; source: ptx.md section 3, shared swizzle


@dataclass(frozen=True, slots=True)
class Boxes:
    """Tile dimensions innermost first, the extents of one box along them, and each box: coordinates and byte offset."""

    dims: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: str
    places: tuple[tuple[tuple[int, ...], int], ...]


def swizzle_row(shape: Shape, contiguous: int, element_bytes: int) -> int:
    """Bytes of one row of a swizzled buffer: at most 128, less where the tile's rows are shorter."""
    return min(128, shape[contiguous] * element_bytes)


def memory_order(shape: Shape, contiguous: int) -> tuple[int, ...]:
    """Dimensions fastest first: the contiguous one, then the others from the last."""
    return (contiguous, *(d for d in reversed(range(len(shape))) if d != contiguous))


@cache
def boxes(shape: Shape, contiguous: int, shared: SharedLayout) -> Boxes | None:
    """The boxes that fill `shared`, or None where the accelerator cannot make that layout."""
    try:
        plan = tma_plan(shared, shape, contiguous)
    except LayoutError:
        return None  # another copy will do
    places = tuple((tuple(p.origin[d] for d in plan.dims), p.offset) for p in plan.pieces)
    return Boxes(plan.dims, plan.box, SWIZZLE_NAMES[plan.swizzle], places)
