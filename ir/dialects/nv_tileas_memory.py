"""nv_tileas in memory: views and pointers, loads and stores, copies to shared memory, rings of buffers.

Part of the dialect of `nv_tileas`, which re-exports these names.
"""

from __future__ import annotations

from ir.core import (
    READ,
    WRITE,
    Attr,
    Attribute,
    Op,
    Operand,
    OptionalOperand,
    Result,
    Variadic,
    VariadicResult,
    flag,
    op,
)
from ir.dialects.nv_tileas_types import (
    is_array,
    is_buffer,
    is_held,
    is_i1,
    is_integer,
    is_mask,
    is_pointer,
    is_pointers,
    is_stage,
    is_tile,
    is_view,
)
from ir.dialects.nvvm.bulk import EVICTIONS
from ir.dialects.nvvm.copies import REDUCTIONS

ACCESSES = (1, 2, 4, 8, 16)
GLOBAL_ACCESSES = (*ACCESSES, 32)
"""Bytes of one access of a thread. Source: PTX ISA, ld, st: vectors of up to 128 bits."""
SCOPES = ("", "cta", "cluster", "gpu", "sys")
"""Of memory accesses that synchronise; empty: weak. Source: PTX ISA, memory consistency model, scope."""


@op("nv_tileas.addptr")
class AddPtr(Op):
    """pointer + offset * element_bytes, elementwise on placed tensors or scalars."""

    ptr = Operand(is_pointers)
    offset = Operand(is_held)
    element_bytes = Attr(int, least=1)
    result = Result(is_pointers)


@op("nv_tileas.make_memref")
class MakeMemref(Op):
    """A strided array in global memory: base, dynamic sizes, dynamic strides (elements)."""

    base = Operand(is_pointer)
    sizes = Variadic(is_integer)
    strides = Variadic(is_integer)
    result = Result(is_array)


@op("nv_tileas.partition")
class Partition(Op):
    """A grid of tiles over a memref."""

    source = Operand(is_array)
    result = Result(is_view)


@op("nv_tileas.index_space_shape")
class IndexSpaceShape(Op):
    """Number of tiles along each dimension of a partition."""

    source = Operand(is_view)
    results_ = VariadicResult()


@op("nv_tileas.tensor_shape")
class TensorShape(Op):
    """Size along each dimension of a memref."""

    source = Operand(is_array)
    results_ = VariadicResult()


@op("nv_tileas.tiled_load")
class TiledLoad(Op):
    """Load one tile of a partition directly into registers, `bytes` per access.

    `ordered`: a store of this kernel comes before or after it, so no other agent may repeat the load. `ahead`: issued
    where it is, rather than for its first reader. `evict`: a policy of the L2 cache.
    """

    view = Operand(is_view)
    index = Variadic(is_integer)
    bytes = Attr(int, among=GLOBAL_ACCESSES)
    ordered = flag()
    ahead = flag()
    evict = Attr(str, "", among=EVICTIONS)
    result = Result(is_held)

    effect = READ


@op("nv_tileas.tiled_store")
class TiledStore(Op):
    """Registers to one tile of a partition, `bytes` per access; never writes out of bounds."""

    value = Operand(is_held)
    view = Operand(is_view)
    index = Variadic(is_integer)
    bytes = Attr(int, among=GLOBAL_ACCESSES)

    effect = WRITE


@op("nv_tileas.staged_store")
class StagedStore(Op):
    """A tile to one tile of a partition through shared memory in layout `shared`; before scheduling.

    `atom` (stmatrix or st.shared) writes the buffer, the tensor memory accelerator stores it. If no tensor map can be
    encoded on the host it is an ordinary store, `bytes` per access. `ordered`: it comes after an access to global
    memory. `reduction`: an update of memory, relaxed at device scope, for which there is no alternative. `parts`: the
    tile is stored in parts, by the highest bits of the layout, which use the buffer in turn.
    """

    value = Operand(is_held)
    view = Operand(is_view)
    index = Variadic(is_integer)
    shared = Attr(Attribute)
    parts = Attr(int, 1, least=1)
    atom = Attr(str, among=("stmatrix", "st.shared"))
    bytes = Attr(int, among=ACCESSES)
    ordered = flag()
    reduction = Attr(str, "", among=("", *REDUCTIONS))

    effect = WRITE


@op("nv_tileas.gather")
class Gather(Op):
    """Load through a tile of pointers, `width` consecutive elements per access; masked-off elements give `other`.

    `ordered` and `ahead` as in tiled_load. `order` (relaxed, acquire; empty: weak) and `scope` are PTX's; only a weak
    load may be moved down.
    """

    ptr = Operand(is_pointers)
    mask = OptionalOperand(is_mask)
    other = OptionalOperand(is_held)
    width = Attr(int, least=1)
    ordered = flag()
    ahead = flag()
    order = Attr(str, "", among=("", "relaxed", "acquire"))
    scope = Attr(str, "", among=SCOPES)
    result = Result(is_held)

    effect = READ


@op("nv_tileas.scatter")
class Scatter(Op):
    """Store through a tile of pointers, `width` consecutive elements per access; `order` and `scope` as for gather."""

    ptr = Operand(is_pointers)
    value = Operand(is_held)
    mask = OptionalOperand(is_mask)
    width = Attr(int, least=1)
    order = Attr(str, "", among=("", "relaxed", "release"))
    scope = Attr(str, "", among=SCOPES)

    effect = WRITE


@op("nv_tileas.atomic")
class Atomic(Op):
    """Update each element that a tile of pointers addresses atomically by `kind` of nvgpu.atomic, `width` elements at
    once.

    One thread makes each update. The optional result is the old elements; threads that hold replicas get them through
    shared memory at `scratch`.
    """

    ptr = Operand(is_pointers)
    values = Variadic(is_held)
    mask = OptionalOperand(is_mask)
    kind = Attr(str)
    order = Attr(str)
    scope = Attr(str)
    width = Attr(int, 1, least=1)
    scratch = Attr(int, 0, least=0)
    out = VariadicResult()

    effect = WRITE


@op("nv_tileas.tiled_copy")
class TiledCopy(Op):
    """Copy one tile of a partition into shared memory; before scheduling. `asynchronous` means cp.async.

    The result is a tensor in a shared layout; `bytes` is the width of one access. `ragged`: an access may straddle the
    array's edge; then its prefix is copied. `ordered`: it comes after a store of its own loop and stays in it.
    `after_store`: it comes after some store of this kernel, which another agent has to wait for. `tma`: the tensor
    memory accelerator may make it where a producer agent runs ahead; else it is an ordinary asynchronous copy.
    `stages`: of the ring that it fills where it can run ahead of its loop; 0: it fills none. `ring`: copies of a loop
    with different numbers fill rings of their own; one before a loop, not 0, fills the first stage of that loop's ring.
    `evict`: a policy of the L2 cache for tensor copies.
    """

    view = Operand(is_view)
    index = Variadic(is_integer)
    bytes = Attr(int, among=ACCESSES)
    asynchronous = flag()
    ragged = flag()
    ordered = flag()
    after_store = flag()
    tma = flag()
    evict = Attr(str, "", among=EVICTIONS)
    stages = Attr(int, default=0)
    ring = Attr(int, default=0)
    result = Result(is_tile)

    effect = READ


@op("nv_tileas.gather_copy")
class GatherCopy(Op):
    """A tile gathered by cp.async into shared memory, `width` consecutive elements per copy, zeros for masked-off
    elements; before scheduling. `producers`: warps of an agent that performs it, with its own pointers; 0: its readers
    do. The other attributes as for tiled_copy.
    """

    ptr = Operand(is_pointers)
    mask = OptionalOperand(is_mask)
    width = Attr(int, least=1)
    asynchronous = flag()
    ordered = flag()
    after_store = flag()
    stages = Attr(int, default=0)
    producers = Attr(int, 0, among=(0, 1, 2, 4))
    result = Result(is_tile)

    effect = READ


@op("nv_tileas.async.gather_copy")
class AsyncGatherCopy(Op):
    """Copy a tile of runs that pointers address into stage `stage` of a ring by cp.async.

    If `enable` is false zeros are written, or nothing with `skips`.
    """

    buffer = Operand(is_buffer)
    stage = OptionalOperand(is_stage)
    enable = OptionalOperand(is_i1)
    ptr = Operand(is_pointers)
    mask = OptionalOperand(is_mask)
    width = Attr(int, least=1)
    skips = flag()

    effect = WRITE


@op("nv_tileas.hold")
class Hold(Op):
    """Store a tile of registers in a buffer of shared memory, by `atom` (stmatrix or st.shared); before scheduling.
    `writers`: warps of an agent that computes and stores it in a ring of `stages`; 0: its readers do.
    """

    source = Operand(is_tile)
    atom = Attr(str, among=("stmatrix", "st.shared"))
    writers = Attr(int, 0, least=0)
    stages = Attr(int, 0, least=0)
    result = Result(is_tile)

    effect = WRITE


@op("nv_tileas.write_buffer")
class WriteBuffer(Op):
    """Write a tile of registers to stage `stage` of a ring by `atom`; visible after a barrier."""

    buffer = Operand(is_buffer)
    stage = Operand(is_stage)
    source = Operand(is_tile)
    atom = Attr(str, among=("stmatrix", "st.shared"))

    effect = WRITE


@op("nv_tileas.alloc_tensor")
class AllocTensor(Op):
    """A ring of buffers starting at byte `offset` of dynamic shared memory, `stage_bytes` apart."""

    offset = Attr(int, least=0)
    stage_bytes = Attr(int, least=1)
    result = Result(is_buffer)


@op("nv_tileas.buffer_view")
class BufferView(Op):
    """The tile in stage `stage` of a ring."""

    buffer = Operand(is_buffer)
    stage = OptionalOperand(is_stage)
    result = Result(is_tile)


@op("nv_tileas.async.tiled_copy")
class AsyncTiledCopy(Op):
    """Copy one tile of a partition into stage `stage` of a ring.

    `asynchronous`: cp.async, visible after `async.wait` and `barrier`; else plain loads and stores. `threads` assigns
    the parts to threads, `ragged` as in tiled_copy; a tile that is `inside` its array needs no bounds checks. If
    `enable` is false cp.async writes zeros, or nothing with `skips`; plain stores write nothing.
    """

    buffer = Operand(is_buffer)
    stage = OptionalOperand(is_stage)
    enable = OptionalOperand(is_i1)
    view = Operand(is_view)
    index = Variadic(is_integer)
    bytes = Attr(int, among=ACCESSES)
    threads = Attr(Attribute)
    asynchronous = flag()
    ragged = flag()
    inside = flag()
    skips = flag()

    effect = WRITE


@op("nv_tileas.async.commit")
class AsyncCommit(Op):
    """Close the current group of asynchronous copies."""

    effect = WRITE


@op("nv_tileas.async.wait")
class AsyncWait(Op):
    """Wait until at most `pending` groups of this thread are in flight."""

    pending = Attr(int, least=0)

    effect = WRITE


@op("nv_tileas.async.fence")
class AsyncFence(Op):
    """Makes threads' writes to shared memory visible to instructions that read it asynchronously.

    `everywhere`: their writes to global memory too.
    """

    everywhere = flag()

    effect = WRITE
