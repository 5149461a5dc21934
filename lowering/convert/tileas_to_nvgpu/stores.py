"""Stores by way of shared memory: all threads write a buffer, then one of them starts tensor copies out of it.

    write      stmatrix or st.shared into scratch memory that nothing reads any more
    publish    each writer fences its writes for the async proxy, then all meet
    store      one thread starts the boxes and closes their group
The buffer is used again, or the thread ends, once the group has read it. Source: PTX ISA, cp.async.bulk.tensor, Async
proxy; CUTLASS's sm_90 epilogue waits in the same places (tma_store_wait, which is wait_group.read).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from ir.core import Op, Value
from ir.dialects import nv_tileas, nvgpu, nvgpu_hopper, vector
from ir.types import VectorType
from lowering.convert.tileas_to_nvgpu.agents import boxes, branch
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.registers import Registers
from lowering.convert.tileas_to_nvgpu.views import SharedWindow, store_shared
from lowering.layouts.access import ldmatrix
from lowering.layouts.layout import LayoutError
from lowering.layouts.shared import SharedLayout

if TYPE_CHECKING:
    from lowering.convert.tileas_to_nvgpu.expand import Expander

REGISTER_BITS = 32


def tensor_store(x: Expander, op: nv_tileas.TiledTmaStore) -> None:
    """Registers to scratch memory, scratch memory to the array."""
    emitter, source, shared = x.emitter, x.tile(op.value), cast(SharedLayout, op.shared)
    scratch = emitter.scratch()
    if op.atom == "stmatrix":
        store_matrices(emitter, source, scratch, shared)
    else:
        store_shared(emitter, source, scratch, shared)
    emitter.effect(nvgpu_hopper.FenceProxyAsync, everywhere=op.ordered)
    emitter.meet()
    index = x.scalars(op.index)
    descriptor = x.tensor_map(op.tensormap)

    def start() -> None:
        for place, coordinates in boxes(emitter, op, index):
            box = emitter.pointer(scratch, None, 1, place)
            emitter.effect(nvgpu_hopper.TmaStore, box, descriptor, *coordinates, segments=(1, 1, len(coordinates), 0))
        emitter.effect(nvgpu_hopper.TmaCommit)

    branch(x, emitter.compare("eq", emitter.thread, emitter.constant(0)), start)
    emitter.scratch_stored = True


def store_matrices(emitter: Emitter, source: Registers, target: Value, layout: SharedLayout) -> None:
    """Write a placed tile to a buffer by stmatrix. Raises LayoutError where the fragments do not fit it."""
    plan = ldmatrix(source.layout, layout)
    if plan is None or plan.free.warp:
        raise LayoutError(f"stmatrix cannot write {source.layout} to {layout}")
    window = SharedWindow(emitter, target, plan.address, layout.element_bytes)
    for instruction in plan.instructions:
        value = matrices(emitter, source, instruction.registers)
        emitter.effect(nvgpu_hopper.StMatrix, value, window.pointer(instruction), transpose=plan.trans)


def matrices(emitter: Emitter, source: Registers, rows: Sequence[Sequence[int]]) -> Value:
    """The given registers as the operand of stmatrix, a row (32 bits) for each matrix."""
    shape = (len(rows), REGISTER_BITS // source.scalar_type.width)
    kind = VectorType(shape, source.scalar_type)
    if source.packed:
        return emitter.emit(nvgpu.Fragment, *(source.pair(row[0] // 2) for row in rows), types=[kind])
    cls = nvgpu.Fragment if shape[1] == 1 else vector.FromElements
    return emitter.emit(cls, *(source.scalar(r) for row in rows for r in row), types=[kind])


def wait(x: Expander, op: nv_tileas.StoreWait) -> None:
    """cp.async.bulk.wait_group: a no-op in threads that started no store."""
    x.emitter.effect(nvgpu_hopper.TmaWait)


def started_in(op: Op) -> bool:
    """Does a loop or branch start tensor stores?"""
    return any(isinstance(each, nv_tileas.TiledTmaStore) for each in op.walk())


HANDLERS: dict[type[Op], Callable[[Any, Any], None]] = {
    nv_tileas.TiledTmaStore: tensor_store,
    nv_tileas.StoreWait: wait,
}
