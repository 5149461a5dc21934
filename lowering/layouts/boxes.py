"""Tensor copies of a tile for the schedule: dimensions of the map, the box, and the position of each box."""

from __future__ import annotations

from functools import cache

from ir.dialects.nvgpu import SWIZZLE_NAMES
from ir.records import dataclass
from lowering.layouts.layout import LayoutError
from lowering.layouts.shapes import Shape
from lowering.layouts.shared import SharedLayout
from lowering.layouts.tma import tma_plan

ATOM_BYTES = 1024  # eight rows of the widest swizzle, after which its pattern repeats; same source
SWIZZLES = (128, 64, 32)  # bytes of rows that a swizzle spans; source: ptx.md section 3, shared swizzle


@dataclass(frozen=True, slots=True)
class Boxes:
    """Tile dimensions innermost first, the extents of one box along them, and each box: coordinates and byte offset."""

    dims: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: str
    places: tuple[tuple[tuple[int, ...], int], ...]


def swizzle_row(shape: Shape, contiguous: int, element_bytes: int) -> int:
    """Bytes of one row of a swizzled buffer: at most 128, less if the tile's rows are shorter."""
    return min(128, shape[contiguous] * element_bytes)


def memory_order(shape: Shape, contiguous: int) -> tuple[int, ...]:
    """Dimensions fastest first: the contiguous one, then the others from the last."""
    return (contiguous, *(d for d in reversed(range(len(shape))) if d != contiguous))


@cache
def boxes(shape: Shape, contiguous: int, shared: SharedLayout) -> Boxes | None:
    """The boxes that fill `shared`, or None if TMA cannot produce that layout."""
    try:
        plan = tma_plan(shared, shape, contiguous)
    except LayoutError:
        return None  # another copy will do
    places = tuple((tuple(p.origin[d] for d in plan.dims), p.offset) for p in plan.pieces)
    return Boxes(plan.dims, plan.box, SWIZZLE_NAMES[plan.swizzle], places)


@dataclass(frozen=True, slots=True)
class Parts:
    """A tile loaded by several CTAs, one part each: the boxes of the first part, and the offset from one part to the
    next in coordinates and in bytes of the buffer.
    """

    first: Boxes
    step: tuple[int, ...]
    bytes: int


def parted(whole: Boxes, count: int, size_bytes: int) -> Parts | None:
    """The boxes of a tile of `size_bytes` in `count` equal parts: whole boxes if there are enough, otherwise each box
    cut along its last dimension. None if neither is possible; a swizzle must restart in each part.
    """
    if len(whole.places) % count == 0:
        return _alike(whole, len(whole.places) // count)
    last = max((d for d, size in enumerate(whole.box) if size > 1), default=0)
    rows, rest = divmod(whole.box[last], count)
    size = size_bytes // len(whole.places) // count
    if rest or not last or size % ATOM_BYTES:
        return None
    box = tuple(rows if d == last else size for d, size in enumerate(whole.box))
    step = tuple(rows if d == last else 0 for d in range(len(box)))
    return Parts(Boxes(whole.dims, box, whole.swizzle, whole.places), step, size)


def _alike(whole: Boxes, count: int) -> Parts | None:
    """Runs of `count` boxes at equal distances."""
    runs = [whole.places[at : at + count] for at in range(0, len(whole.places), count)]
    (origin, offset), (following, behind) = runs[0][0], runs[1][0]
    step, size = tuple(b - a for a, b in zip(origin, following, strict=True)), behind - offset
    for number, run in enumerate(runs):
        moved = [
            (tuple(o + number * s for o, s in zip(at, step, strict=True)), place + number * size)
            for at, place in runs[0]
        ]
        if moved != list(run):
            return None
    return Parts(Boxes(whole.dims, whole.box, whole.swizzle, runs[0]), step, size)
