"""How a producer agent fills a stage: boxes by the tensor memory accelerator (TMA), otherwise cp.async by a separate
warpgroup.

Both complete on the stage's full barrier: one arrival announces the bytes of the boxes, and each copying thread arrives
when its own copies have landed, so one ring may hold tiles of both kinds. Source: PTX ISA, cp.async.mbarrier.arrive;
CUTLASS's mainloop MainloopSm90CpAsyncGmmaWarpSpecialized has the same shape.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import Value
from ir.dialects import nv_tileas
from ir.launch_records import TensorMapRecord
from ir.records import dataclass
from ir.types import PartitionViewType
from lowering.atoms.wgmma import WARPGROUP
from lowering.layouts.access import async_copy
from lowering.layouts.anchors import coalesced
from lowering.layouts.boxes import Boxes, Parts, boxes, parted
from lowering.layouts.layout import Layout
from lowering.placement.copied import contiguous_dim
from lowering.schedule.rings import Copy, Staged, tile_of
from lowering.schedule.tensormaps import tensor_map
from lowering.selection import copy_threads
from lowering.targets.target import WARP

COPY_WARPS = WARPGROUP // WARP  # setmaxnreg acts on warpgroups, so a producer has one; PTX ISA, setmaxnreg


@dataclass(frozen=True)
class Boxed:
    """Tensor copies that one thread issues; `record` is the tensor map's in the launch manifest. If the tile is the
    same in the CTAs of a cluster whose ranks differ in the bits `alike`, each loads one of the `parts` into all of
    them; of a tile `halved` over a pair, each CTA loads its part for itself.
    """

    boxes: Boxes
    record: TensorMapRecord
    alike: int = 0
    parts: Parts | None = None
    halved: bool = False


@dataclass(frozen=True)
class Threaded:
    """cp.async; `layout` says which thread of the producer copies what."""

    layout: Layout


@dataclass(frozen=True)
class Written:
    """Stores of a transforming agent, which holds the tile in `layout`."""

    layout: Layout


Fill = Boxed | Threaded | Written


def boxed(copy: Copy, arguments: dict[Value, int], alike: int = 0) -> Boxed | None:
    """Tensor copies of a tile, None where they are not allowed or the host cannot describe the array; in parts if the
    tile is `alike` in several CTAs and can, or must, be cut.
    """
    if isinstance(copy, nv_tileas.GatherCopy):
        return None
    view = copy.view.type
    if not copy.tma or not isinstance(view, PartitionViewType):
        return None
    kind, shared = tile_of(copy)
    contiguous = contiguous_dim(view)
    plan, halved = None if contiguous is None else boxes(kind.shape, contiguous, shared), shared.ctas > 1
    parts = (
        parted(plan, 1 << alike.bit_count(), shared.size_bytes * shared.ctas) if plan is not None and alike else None
    )
    own = None if halved and parts is None else plan if parts is None else parts.first
    record = None if own is None else tensor_map(copy.view, own, arguments)
    many = alike if parts is not None and not halved else 0
    return None if own is None or record is None else Boxed(own, record, many, parts, halved)


def threaded(copy: Copy, warps: int = COPY_WARPS) -> Threaded | None:
    """cp.async by the threads of so many warps, None where no such copy makes this layout."""
    if isinstance(copy, nv_tileas.GatherCopy):
        return gathered(copy, warps)
    view = copy.view.type
    contiguous = contiguous_dim(view) if isinstance(view, PartitionViewType) else None
    if contiguous is None or not isinstance(view, PartitionViewType):
        return None
    layout = copy_threads(view, warps, copy.bytes)
    plan = async_copy(layout, view.tile, contiguous, tile_of(copy)[1], copy.bytes)
    return Threaded(layout) if plan is not None and plan.bytes == copy.bytes else None


def gathered(copy: nv_tileas.GatherCopy, warps: int) -> Threaded | None:
    """cp.async of runs behind pointers, a thread's next to those of the next thread."""
    kind, shared = tile_of(copy)
    last, nbytes = len(kind.shape) - 1, copy.width * shared.element_bytes
    layout = coalesced(tuple(kind.shape), last, shared.element_bytes, warps, nbytes)
    plan = async_copy(layout, kind.shape, last, shared, nbytes)
    return Threaded(layout) if plan is not None and plan.vector == copy.width else None


def arrivals(fills: Sequence[Fill]) -> int:
    """Arrivals that fill a stage: one that announces bytes, one of each copying thread, one of each storing warp."""
    threads = next((WARP * fill.layout.n_warps for fill in fills if isinstance(fill, Threaded)), 0)
    warps = next((fill.layout.n_warps for fill in fills if isinstance(fill, Written)), 0)
    return int(any(isinstance(fill, Boxed) for fill in fills)) + threads + warps


def announced(copies: Sequence[Staged], fills: Sequence[Fill]) -> int:
    """Bytes that tensor copies bring to a stage."""
    pairs = zip(copies, fills, strict=True)
    return sum(tile_of(copy)[1].size_bytes for copy, fill in pairs if isinstance(fill, Boxed))


def peers(fills: Sequence[Fill]) -> int:
    """The CTAs of the cluster that read a stage that this one fills: a bit for each value whose XOR with this CTA's
    rank is a reader's. The first bit is this CTA.
    """
    found = 1
    for fill in fills:
        if isinstance(fill, Boxed) and fill.alike:
            found |= sum(1 << rank for rank in range(fill.alike + 1) if rank | fill.alike == fill.alike)
    return found
