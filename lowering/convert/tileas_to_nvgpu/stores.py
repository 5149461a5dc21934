"""Stores through shared memory: all threads write a buffer, then one of them issues tensor copies out of it.

    write      stmatrix or st.shared into scratch memory without remaining readers
    publish    each writer fences its writes for the async proxy, then a barrier
    store      one thread issues the boxes and closes their group

If the buffer holds only a part of the tile, this repeats for one part after the other. The buffer is reused, or the
thread ends, once the group has read it. Source: PTX ISA, cp.async.bulk.tensor, Async proxy; CUTLASS's sm_90 epilogue
waits in the same places (tma_store_wait, which is wait_group.read).
"""

from __future__ import annotations

from functools import partial

from ir.checked import checked
from ir.core import Op, Value
from ir.dialects import nv_tileas, nvvm
from lowering.convert.tileas_to_nvgpu.agents import boxes, branch
from lowering.convert.tileas_to_nvgpu.context import Expander, lowers
from lowering.convert.tileas_to_nvgpu.registers import Computed, Registers
from lowering.convert.tileas_to_nvgpu.views import store_matrices, store_shared
from lowering.layouts.shared import SharedLayout
from lowering.layouts.staged import StoreParts, in_parts


@lowers(nv_tileas.TiledTmaStore)
def tensor_store(x: Expander, op: nv_tileas.TiledTmaStore) -> None:
    """Registers to scratch memory, scratch memory to the array."""
    emitter, source, shared = x.emitter, x.tile(op.value), checked(op.shared, SharedLayout)
    write = store_matrices if op.atom == "stmatrix" else store_shared
    cut = in_parts(source.layout, shared, op.parts)
    if cut is None:
        raise TypeError(f"cannot split {shared} into {op.parts} parts selected by registers of {source.layout}")
    for number in range(op.parts):
        scratch = emitter.scratch()  # free after the previous part
        write(emitter, source if op.parts == 1 else part_of(source, cut, number), scratch, cut.shared)
        emitter.fence(op.ordered)
        emitter.barrier_sync()
        first = emitter.compare("eq", emitter.thread, emitter.constant(0))
        branch(x, first, partial(start, x, op, scratch, number * cut.shared.size_bytes, cut.shared.size_bytes))
        emitter.scratch_stored = True


def part_of(source: Registers, cut: StoreParts, number: int) -> Registers:
    """The registers of a part; packed pairs stay together."""
    own = cut.registers[number]

    def pair(i: int) -> Value:
        return source.pair(own[2 * i] // 2)

    whole = source.packed and own[1] == own[0] + 1
    pairs = pair if whole else None
    return Computed(source.emitter, cut.layout, source.element, lambda i: source.scalar(own[i]), pairs)


def start(x: Expander, op: nv_tileas.TiledTmaStore, scratch: Value, first: int, size: int) -> None:
    """The boxes of a store in `size` bytes of the tile's buffer from `first` on, as one group."""
    emitter = x.emitter
    for place, coordinates in boxes(emitter, op, x.scalars(op.index)):
        if not first <= place < first + size:
            continue
        box = emitter.pointer(scratch, None, 1, place - first)
        operands = [x.tensor_map(op.tensormap), box, *coordinates]
        if op.reduction:
            emitter.effect(nvvm.TensorReduce, *operands, segments=(1, 1, len(coordinates), 0, 0), kind=op.reduction)
        else:
            emitter.effect(nvvm.TensorStore, *operands, segments=(1, 1, len(coordinates), 0))
    emitter.effect(nvvm.BulkCommitGroup)


@lowers(nv_tileas.StoreWait)
def wait(x: Expander, op: nv_tileas.StoreWait) -> None:
    """cp.async.bulk.wait_group: a no-op in threads that issued no store."""
    x.emitter.effect(nvvm.BulkWaitGroup, group=0)
    x.emitter.scratch_stored = False  # what has been written has been read


def started_in(op: Op) -> bool:
    """Does a loop or branch issue tensor stores?"""
    return any(isinstance(each, nv_tileas.TiledTmaStore) for each in op.walk())
