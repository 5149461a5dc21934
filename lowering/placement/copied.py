"""How threads copy tiles of views: along which dimension, which thread copies what, and whether through shared
memory.
"""

from __future__ import annotations

from ir.types import I1, PartitionViewType, TileType
from lowering.layouts.anchors import coalesced
from lowering.layouts.elements import element_bytes
from lowering.layouts.layout import Layout
from lowering.layouts.shared import PERIOD


def contiguous_dim(kind: PartitionViewType) -> int | None:
    """The tile dimension with stride 1, the last if several have it; None if none does."""
    unit = [d for d in range(len(kind.tile)) if kind.view.strides[kind.dim_map[d]] == 1]
    return unit[-1] if unit else None


def copy_threads(view: PartitionViewType, warps: int, nbytes: int) -> Layout:
    """Which thread copies what: rows along the contiguous dimension, `nbytes` a thread and access."""
    contiguous = contiguous_dim(view)
    dim = len(view.tile) - 1 if contiguous is None else contiguous
    return coalesced(view.tile, dim, element_bytes(view.view.element), warps, nbytes)


def worth_staging(kind: TileType) -> bool:
    """Is a tile staged through shared memory? Not predicates, nor tiles smaller than one swizzle atom."""
    return kind.element != I1 and kind.size * element_bytes(kind.element) >= PERIOD
