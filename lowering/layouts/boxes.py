"""How the tensor memory accelerator fills a shared layout: boxes, their swizzle, and where each goes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod

from lowering.layouts.shapes import Shape
from lowering.layouts.shared import SharedLayout, swizzled

MAX_BOX = 256  # elements along a box dimension; cuTensorMapEncodeTiled, boxDim
MAX_RANK = 5  # same source, tensorRank
SWIZZLES = {128: "128B", 64: "64B", 32: "32B"}  # bytes of a box row -> the swizzle that spans it


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
def boxes(shape: Shape, contiguous: int, element_bytes: int, shared: SharedLayout) -> Boxes | None:
    """The boxes that fill `shared`, or None where no swizzle of the accelerator makes that layout.

    A row of up to 128 bytes is one box row; longer rows are cut into panels, one box each.
    """
    row = swizzle_row(shape, contiguous, element_bytes)
    dims = memory_order(shape, contiguous)
    if row not in SWIZZLES or len(shape) > MAX_RANK or any(shape[d] > MAX_BOX for d in dims[1:]):
        return None
    if shared != swizzled(shape, dims, element_bytes, row):
        return None
    inner = row // element_bytes
    box = (inner, *(shape[d] for d in dims[1:]))
    panel = prod(box) * element_bytes
    rest = (0,) * (len(dims) - 1)
    places = tuple(((i * inner, *rest), i * panel) for i in range(shape[contiguous] // inner))
    return Boxes(dims, box, SWIZZLES[row], places)
