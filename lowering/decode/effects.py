"""Effects without operands but tokens: grids that depend on each other, fences, memory that a tile block asks for, and
its next tile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from egraph.skeleton import SkeletonEffect
from ir.core import Value
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from ir.dialects.cuda_tile.constraints import element_type
from ir.types import GLOBAL_PTR, I1, I32, PointerType
from lowering.layouts.elements import element_bytes

if TYPE_CHECKING:
    from lowering.decode.decoder import Decoder

LEAST_ALIGNMENT = 16
"""Of what the heap gives. Source: CUDA C++ Programming Guide, malloc."""


def effect(d: Decoder, item: SkeletonEffect) -> None:
    """The effect of an item whose operands are tokens.

    Every thread waits for the grids before, so no barrier is needed behind that; nor does a barrier stand between a
    thread's accesses and its fence, but what comes after the fence comes after a barrier.
    """
    op, depth = item.op, len(d.scopes) - 1
    if isinstance(op, ct.GdcLaunchDependents):
        d.before(item)
        d.builder.add(nv_tileas.LaunchDependents, types=())
    elif isinstance(op, ct.GdcWait):
        d.loads_before(item)
        d.builder.add(nv_tileas.WaitOnDependency, types=())
    elif isinstance(op, ct.MemoryFenceAlias):
        d.loads_before(item)
        d.stores_written(d.order.of_store(item), depth)
        d.builder.add(nv_tileas.FenceAlias, types=())
        d.opened(d.order.store_id(item), depth)
    elif isinstance(op, ct.Alloca):
        d.builder.location = op.location
        memory = allocate(d, op)
        d.scopes[depth].allocated.append(memory)
        d.effects[item.item, 0] = (depth, memory)
    elif isinstance(op, nv_tileas.Meet):
        d.loads_before(item)
        d.stores_written(d.order.of_store(item), depth)
        d.builder.add(nv_tileas.Exchange, types=(), segments=(0, 0, 0), among=op.among)
        d.scopes[depth].open &= d.staged - d.order.of_store(item)  # all threads of this CTA have met too
    elif isinstance(op, nv_tileas.CancelNextProgramId):
        d.builder.location = op.location
        taken = d.builder.add(nv_tileas.CancelNextProgramId, types=[I1, I32, I32, I32])
        d.effects.update({(item.item, index): (depth, value) for index, value in enumerate(taken.results)})
    else:
        op.fail("is not lowered")


def allocate(d: Decoder, op: ct.Alloca) -> Value:
    """Memory until the end of the region that the operation is in."""
    pointer = cast(PointerType, element_type(op.result))
    return d.builder.value(
        nv_tileas.Alloca, types=[GLOBAL_PTR], bytes=op.num_elem * element_bytes(pointer.pointee),
        alignment=max(op.alignment, LEAST_ALIGNMENT), file=op.location.file, line=max(op.location.line, 0),
    )  # fmt: skip
