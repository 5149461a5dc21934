"""Stores through shared memory: all threads write a buffer, then one of them starts tensor copies out of it.

    write      stmatrix or st.shared into scratch memory that nothing reads any more
    publish    each writer fences its writes for the async proxy, then all meet
    store      one thread starts the boxes and closes their group
The buffer is used again, or the thread ends, once the group has read it. Source: PTX ISA, cp.async.bulk.tensor, Async
proxy; CUTLASS's sm_90 epilogue waits in the same places (tma_store_wait, which is wait_group.read).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from ir.core import Op, Value
from ir.dialects import nv_tileas, nvvm
from lowering.convert.tileas_to_nvgpu.agents import boxes, branch
from lowering.convert.tileas_to_nvgpu.views import store_matrices, store_shared
from lowering.layouts.shared import SharedLayout

if TYPE_CHECKING:
    from lowering.convert.tileas_to_nvgpu.expand import Expander


def tensor_store(x: Expander, op: nv_tileas.TiledTmaStore) -> None:
    """Registers to scratch memory, scratch memory to the array."""
    emitter, source, shared = x.emitter, x.tile(op.value), cast(SharedLayout, op.shared)
    scratch = emitter.scratch()
    write = store_matrices if op.atom == "stmatrix" else store_shared
    write(emitter, source, scratch, shared)
    emitter.fence(op.ordered)
    emitter.meet()
    first = emitter.compare("eq", emitter.thread, emitter.constant(0))
    branch(x, first, lambda: start(x, op, scratch))
    emitter.scratch_stored = True


def start(x: Expander, op: nv_tileas.TiledTmaStore, scratch: Value) -> None:
    """The boxes of a store, as one group."""
    emitter = x.emitter
    for place, coordinates in boxes(emitter, op, x.scalars(op.index)):
        box = emitter.pointer(scratch, None, 1, place)
        operands = [x.tensor_map(op.tensormap), box, *coordinates]
        if op.reduction:
            emitter.effect(nvvm.TensorReduce, *operands, segments=(1, 1, len(coordinates), 0, 0), kind=op.reduction)
        else:
            emitter.effect(nvvm.TensorStore, *operands, segments=(1, 1, len(coordinates), 0))
    emitter.effect(nvvm.BulkCommitGroup)


def wait(x: Expander, op: nv_tileas.StoreWait) -> None:
    """cp.async.bulk.wait_group: a no-op in threads that started no store."""
    x.emitter.effect(nvvm.BulkWaitGroup, group=0)
    x.emitter.scratch_stored = False  # what has been written has been read


def started_in(op: Op) -> bool:
    """Does a loop or branch start tensor stores?"""
    return any(isinstance(each, nv_tileas.TiledTmaStore) for each in op.walk())


HANDLERS: dict[type[Op], Callable[[Any, Any], None]] = {
    nv_tileas.TiledTmaStore: tensor_store,
    nv_tileas.StoreWait: wait,
}
