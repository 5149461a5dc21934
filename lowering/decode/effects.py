"""Effects with only tokens as operands: dependent grids, fences, memory allocation of a tile block, and its next tile.

Every thread waits for the preceding grids, so no barrier is needed after the wait; nor between a thread's accesses and
its fence, but accesses after the fence come after a barrier.
"""

from __future__ import annotations

from typing import cast

from egraph.skeleton import SkeletonEffect
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from ir.dialects.cuda_tile.constraints import element_type
from ir.types import GLOBAL_PTR, I1, I32, PointerType
from lowering.decode.context import Decoder, lowers_effect
from lowering.layouts.elements import element_bytes

LEAST_ALIGNMENT = 16
"""Alignment of heap memory. Source: CUDA C++ Programming Guide, malloc."""


@lowers_effect(ct.GdcLaunchDependents)
def launch_dependents(d: Decoder, op: ct.GdcLaunchDependents, item: SkeletonEffect) -> None:
    """The grids that depend on this one may begin."""
    d.before(item)
    d.builder.add(nv_tileas.LaunchDependents, types=())


@lowers_effect(ct.GdcWait)
def wait(d: Decoder, op: ct.GdcWait, item: SkeletonEffect) -> None:
    """The grids that this one depends on have ended."""
    d.loads_before(item)
    d.builder.add(nv_tileas.WaitOnDependency, types=())


@lowers_effect(ct.MemoryFenceAlias)
def fence(d: Decoder, op: ct.MemoryFenceAlias, item: SkeletonEffect) -> None:
    """Order accesses through one address before those through another."""
    d.loads_before(item)
    d.stores_written(d.order.of_store(item), len(d.scopes) - 1)
    d.builder.add(nv_tileas.FenceAlias, types=())
    d.opened(d.order.store_id(item), len(d.scopes) - 1)


@lowers_effect(ct.Alloca)
def allocate(d: Decoder, op: ct.Alloca, item: SkeletonEffect) -> None:
    """Memory until the end of the enclosing region."""
    d.builder.location = op.location
    pointer = cast(PointerType, element_type(op.result))
    memory = d.builder.value(
        nv_tileas.Alloca,
        types=[GLOBAL_PTR],
        bytes=op.num_elem * element_bytes(pointer.pointee),
        alignment=max(op.alignment, LEAST_ALIGNMENT),
        file=op.location.file,
        line=max(op.location.line, 0),
    )
    d.scopes[-1].allocated.append(memory)
    d.effects[item.item, 0] = (len(d.scopes) - 1, memory)


@lowers_effect(nv_tileas.Meet)
def meet(d: Decoder, op: nv_tileas.Meet, item: SkeletonEffect) -> None:
    """Barrier of the CTAs of a cluster, which includes all threads of this one."""
    d.loads_before(item)
    d.stores_written(d.order.of_store(item), len(d.scopes) - 1)
    d.builder.add(nv_tileas.Exchange, types=(), segments=(0, 0, 0), among=op.among)
    d.scopes[-1].open &= d.staged - d.order.of_store(item)


@lowers_effect(nv_tileas.CancelNextProgramId)
def next_tile(d: Decoder, op: nv_tileas.CancelNextProgramId, item: SkeletonEffect) -> None:
    """The tile block that this one takes over from the grid."""
    d.builder.location = op.location
    taken = d.builder.add(nv_tileas.CancelNextProgramId, types=[I1, I32, I32, I32])
    depth = len(d.scopes) - 1
    d.effects.update({(item.item, index): (depth, value) for index, value in enumerate(taken.results)})
