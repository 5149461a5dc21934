"""nv_tileas: the placed and scheduled program. Every tensor type carries a layout; copies name their mechanism.

Elementwise arithmetic is arith/math on placed tensors, loops are scf; this file holds what those dialects lack.
Source of names: the four seed documents (TileAS passes). Deviation: memory tokens are spent when the placed program
is built (they have become program order and `barrier`), so no op here takes or gives one.
"""

from __future__ import annotations

from typing import Any

from ir.core import (
    CONTROL,
    READ,
    WRITE,
    Attr,
    Attribute,
    Op,
    Operand,
    OptionalOperand,
    RegionField,
    Result,
    Variadic,
    VariadicResult,
    flag,
    op,
)
from ir.dialects.nv_tileas_async import (
    BARRIER_BYTES,
    ROLES,
    SCALAR_BYTES,
    AgentSwitch,
    ConsumerRelease,
    ConsumerWait,
    CreateChannel,
    CreatePipeline,
    ProducerAcquire,
    ProducerCommit,
    Receive,
    Send,
    StoreWait,
    TiledTmaLoad,
    TiledTmaStore,
)
from ir.dialects.nv_tileas_types import BufferType, ChannelType, PipelineType
from ir.types import TileType


@op("nv_tileas.func")
class Func(Op):
    """A kernel; block arguments are its parameters. `warps` is the number of warps of a CTA that compute.

    `params` are the launch manifest's records of the parameters, `ranges` the parameters of which every execution
    promises more than their type says (number of the parameter, least and greatest value), `asked_ctas` the CTAs an SM
    that a hint asks for (0: none does). Scheduling adds `shared_bytes` of dynamic shared memory and `tensormaps`, the
    manifest's records of the tensor maps, which follow the parameters.
    """

    sym_name = Attr(str)
    target = Attr(str)
    warps = Attr(int)
    params = Attr[Any](tuple, ())
    ranges: Attr[tuple[tuple[int, int, int], ...]] = Attr(tuple, ())
    asked_ctas = Attr(int, 0)
    shared_bytes = Attr(int, 0)
    tensormaps = Attr[Any](tuple, ())
    body = RegionField()

    effect = CONTROL


@op("nv_tileas.return")
class Return(Op):
    """End of the kernel."""

    effect = CONTROL


@op("nv_tileas.get_program_id")
class ProgramId(Op):
    """Tile-block coordinate along `axis` (0, 1, 2): i32."""

    axis = Attr(int)
    result = Result()


@op("nv_tileas.get_num_programs")
class NumPrograms(Op):
    """Grid extent along `axis`: i32."""

    axis = Attr(int)
    result = Result()


@op("nv_tileas.constant")
class Constant(Op):
    """A placed tile literal; `value` is a DenseElements attribute of the tile's shape."""

    value = Attr[Any](object)
    result = Result()


@op("nv_tileas.get_global")
class GetGlobal(Op):
    """The address of an array of the module: `type` is its tile type, `value` its first elements."""

    symbol = Attr(str)
    type: Attr[TileType] = Attr(TileType)
    value = Attr[Any](object)
    alignment = Attr(int, 0)
    result = Result()


@op("nv_tileas.iota")
class Iota(Op):
    """0, 1, 2, ... along a 1-D tile."""

    result = Result()


@op("nv_tileas.broadcast")
class Broadcast(Op):
    """Dimensions of size 1 expand; no instruction where the layouts allow it. A scalar source is a splat."""

    source = Operand()
    result = Result()


@op("nv_tileas.reshape")
class Reshape(Op):
    """The same elements in row-major order under another shape: never an instruction."""

    source = Operand()
    result = Result()


@op("nv_tileas.permute")
class Permute(Op):
    """Dimensions exchanged; a renaming of registers."""

    source = Operand()
    permutation = Attr[Any](object)
    result = Result()


@op("nv_tileas.extract")
class Extract(Op):
    """The part of a tile at tile-space indices: registers chosen, or read back from shared memory at `scratch`.

    `shared` says the latter; else each thread holds its share of every part.
    """

    source = Operand()
    indices = Variadic()
    shared = flag()
    scratch = Attr(int, 0)
    result = Result()


@op("nv_tileas.cat")
class Cat(Op):
    """Two tiles joined along dimension `dim`: registers side by side."""

    lhs = Operand()
    rhs = Operand()
    dim = Attr(int)
    result = Result()


@op("nv_tileas.insert")
class Insert(Op):
    """`destination` with the part at tile-space indices replaced by `source`; threads hold a share of every part."""

    source = Operand()
    destination = Operand()
    indices = Variadic()
    result = Result()


@op("nv_tileas.addptr")
class AddPtr(Op):
    """pointer + offset * element_bytes, elementwise on placed tensors or scalars."""

    ptr = Operand()
    offset = Operand()
    element_bytes = Attr(int)
    result = Result()


@op("nv_tileas.make_memref")
class MakeMemref(Op):
    """A strided array in global memory: base, dynamic sizes, dynamic strides (elements)."""

    base = Operand()
    sizes = Variadic()
    strides = Variadic()
    result = Result()


@op("nv_tileas.partition")
class Partition(Op):
    """A grid of tiles over a memref."""

    source = Operand()
    result = Result()


@op("nv_tileas.index_space_shape")
class IndexSpaceShape(Op):
    """Number of tiles along each dimension of a partition."""

    source = Operand()
    results_ = VariadicResult()


@op("nv_tileas.tensor_shape")
class TensorShape(Op):
    """Size along each dimension of a memref."""

    source = Operand()
    results_ = VariadicResult()


@op("nv_tileas.tiled_load")
class TiledLoad(Op):
    """One tile of a partition straight into registers, `bytes` an access.

    `ordered`: a store of this kernel comes before or after it, so no other agent may load it again.
    """

    view = Operand()
    index = Variadic()
    bytes = Attr(int)
    ordered = flag()
    result = Result()

    effect = READ


@op("nv_tileas.tiled_store")
class TiledStore(Op):
    """Registers to one tile of a partition, `bytes` an access; never writes out of bounds."""

    value = Operand()
    view = Operand()
    index = Variadic()
    bytes = Attr(int)

    effect = WRITE


@op("nv_tileas.staged_store")
class StagedStore(Op):
    """A tile to one tile of a partition by way of shared memory in layout `shared`; before scheduling.

    `atom` (stmatrix or st.shared) writes the buffer, the tensor memory accelerator stores it. Where no tensor map can
    be told on the host it is an ordinary store, `bytes` an access. `ordered`: it comes after an access to global
    memory.
    """

    value = Operand()
    view = Operand()
    index = Variadic()
    shared = Attr(Attribute)
    atom = Attr(str)
    bytes = Attr(int)
    ordered = flag()

    effect = WRITE


@op("nv_tileas.gather")
class Gather(Op):
    """Load through a tile of pointers, `width` consecutive elements an access; masked-off elements give `other`.

    `ordered` as in tiled_load. `order` (relaxed, acquire; empty: weak) and `scope` are PTX's; only a weak load may be
    made later than it stands.
    """

    ptr = Operand()
    mask = OptionalOperand()
    other = OptionalOperand()
    width = Attr(int)
    ordered = flag()
    order = Attr(str, "")
    scope = Attr(str, "")
    result = Result()

    effect = READ


@op("nv_tileas.scatter")
class Scatter(Op):
    """Store through a tile of pointers, `width` consecutive elements an access; `order` and `scope` as in gather."""

    ptr = Operand()
    value = Operand()
    mask = OptionalOperand()
    width = Attr(int)
    order = Attr(str, "")
    scope = Attr(str, "")

    effect = WRITE


@op("nv_tileas.atomic")
class Atomic(Op):
    """Each element behind a tile of pointers updated in one step by `kind` of nvgpu.atomic, `width` elements at once.

    One thread makes each update. The result, which may be left out, is the old elements; threads that hold replicas
    get them by way of shared memory at `scratch`.
    """

    ptr = Operand()
    values = Variadic()
    mask = OptionalOperand()
    kind = Attr(str)
    order = Attr(str)
    scope = Attr(str)
    width = Attr(int, 1)
    scratch = Attr(int, 0)
    out = VariadicResult()

    effect = WRITE


@op("nv_tileas.assert")
class Assert(Op):
    """The launch ends with a message, at a line of a file, where an element of `condition` is false."""

    condition = Operand()
    message = Attr(str)
    file = Attr(str)
    line = Attr(int)

    effect = WRITE


@op("nv_tileas.tiled_copy")
class TiledCopy(Op):
    """One tile of a partition into shared memory; before scheduling. `asynchronous` means cp.async.

    The result is a tensor in a shared layout; `bytes` is the width of one access. `ragged`: an access may straddle the
    array's edge, then its prefix is copied. `ordered`: it comes after a store of its own loop and stays in it.
    `after_store`: it comes after some store of this kernel, which another agent has to wait for. `tma`: the
    tensor memory accelerator may make it where a producer agent runs ahead; else it is an ordinary asynchronous copy.
    `stages`: of the ring that it fills where it can run ahead of its loop; 1 outside of loops.
    """

    view = Operand()
    index = Variadic()
    bytes = Attr(int)
    asynchronous = flag()
    ragged = flag()
    ordered = flag()
    after_store = flag()
    tma = flag()
    stages = Attr(int, default=1)
    result = Result()

    effect = READ


@op("nv_tileas.gather_copy")
class GatherCopy(Op):
    """A tile gathered by cp.async into shared memory, `width` consecutive elements a copy, zeros where the mask leaves
    them out; before scheduling. The other attributes as of tiled_copy.
    """

    ptr = Operand()
    mask = OptionalOperand()
    width = Attr(int)
    asynchronous = flag()
    ordered = flag()
    after_store = flag()
    stages = Attr(int, default=1)
    result = Result()

    effect = READ


@op("nv_tileas.async.gather_copy")
class AsyncGatherCopy(Op):
    """Copy a tile of runs behind pointers into stage `stage` of a ring by cp.async; zeros when `enable` is false."""

    buffer = Operand()
    stage = OptionalOperand()
    enable = OptionalOperand()
    ptr = Operand()
    mask = OptionalOperand()
    width = Attr(int)

    effect = WRITE


@op("nv_tileas.hold")
class Hold(Op):
    """A tile of registers in a buffer of shared memory, by `atom` (stmatrix or st.shared); before scheduling."""

    source = Operand()
    atom = Attr(str)
    result = Result()

    effect = WRITE


@op("nv_tileas.write_buffer")
class WriteBuffer(Op):
    """Write a tile of registers to stage `stage` (i32) of a ring by `atom`; visible after a barrier."""

    buffer = Operand()
    stage = Operand()
    source = Operand()
    atom = Attr(str)

    effect = WRITE


@op("nv_tileas.alloc_tensor")
class AllocTensor(Op):
    """A ring of buffers from byte `offset` of dynamic shared memory on, `stage_bytes` from one to the next."""

    offset = Attr(int)
    stage_bytes = Attr(int)
    result = Result()


@op("nv_tileas.buffer_view")
class BufferView(Op):
    """The tile in stage `stage` (i32) of a ring."""

    buffer = Operand()
    stage = OptionalOperand()
    result = Result()


@op("nv_tileas.async.tiled_copy")
class AsyncTiledCopy(Op):
    """Copy one tile of a partition into stage `stage` of a ring; nothing when `enable` (i1) is false.

    `asynchronous`: cp.async, visible after `async.wait` and `barrier`; else plain loads and stores. `threads` says
    which thread copies what, `ragged` as in tiled_copy.
    """

    buffer = Operand()
    stage = OptionalOperand()
    enable = OptionalOperand()
    view = Operand()
    index = Variadic()
    bytes = Attr(int)
    threads = Attr(Attribute)
    asynchronous = flag()
    ragged = flag()

    effect = WRITE


@op("nv_tileas.async.commit")
class AsyncCommit(Op):
    """Close the current group of asynchronous copies."""

    effect = WRITE


@op("nv_tileas.async.wait")
class AsyncWait(Op):
    """Wait until at most `pending` groups of this thread are in flight."""

    pending = Attr(int)

    effect = WRITE


@op("nv_tileas.async.fence")
class AsyncFence(Op):
    """What threads have written to shared memory becomes visible to instructions that read it asynchronously.

    `everywhere`: what they have written to global memory too.
    """

    everywhere = flag()

    effect = WRITE


@op("nv_tileas.async.dot_wait")
class DotWait(Op):
    """Wait until at most `pending` groups of warpgroup products are in flight; the tile passes through."""

    source = Operand()
    pending = Attr(int)
    result = Result(like="source")

    effect = WRITE


@op("nv_tileas.barrier")
class Barrier(Op):
    """All threads of the CTA; orders shared and global memory among them. `publishes`: only what was written before is
    to be seen behind it, nothing that was read before is written between it and the next one that does not publish.
    """

    publishes = Attr(bool, default=False)

    effect = WRITE


@op("nv_tileas.shared_load")
class SharedLoad(Op):
    """A tile in shared memory into registers, by `atom` (ldmatrix, ldmatrix.trans or ld.shared)."""

    source = Operand()
    atom = Attr(str)
    result = Result()

    effect = READ


@op("nv_tileas.convert_layout")
class ConvertLayout(Op):
    """The same tile in another layout: registers renamed, lanes shuffled, or through shared memory at `scratch`."""

    source = Operand()
    scratch = Attr(int, 0)
    result = Result()


@op("nv_tileas.dot")
class Dot(Op):
    """a @ b + c by the named atom on a grid of warps (along m, along n); operands placed as the atom's fragments.

    Warpgroup products take b, and a where it has a shared layout, from shared memory, and negate a where `negated`;
    `pending` groups of them may still be in flight when the op ends.
    """

    a = Operand()
    b = Operand()
    c = Operand()
    atom = Attr(str)
    grid = Attr[Any](object)
    negated = flag()
    pending = Attr(int, 0)
    result = Result()


@op("nv_tileas.reduce")
class Reduce(Op):
    """One dimension of tiles in one layout folded by the combiner region (lhs0, rhs0, lhs1, rhs1, ... in, one of each
    out): registers, then lanes, then warps, these by way of shared memory at `scratch`.
    """

    sources = Variadic()
    dim = Attr(int)
    scratch = Attr(int, 0)
    identities = Attr[Any](object)
    outs = VariadicResult()
    combiner = RegionField()


@op("nv_tileas.scan")
class Scan(Op):
    """Inclusive prefixes along one dimension by the combiner region, from the far end where `reverse`; parts as of
    reduce.
    """

    sources = Variadic()
    dim = Attr(int)
    reverse = flag()
    scratch = Attr(int, 0)
    identities = Attr[Any](object)
    outs = VariadicResult()
    combiner = RegionField()


__all__ = [
    "BARRIER_BYTES",
    "ROLES",
    "SCALAR_BYTES",
    "AgentSwitch",
    "BufferType",
    "ChannelType",
    "ConsumerRelease",
    "ConsumerWait",
    "CreateChannel",
    "CreatePipeline",
    "PipelineType",
    "ProducerAcquire",
    "ProducerCommit",
    "Receive",
    "Send",
    "StoreWait",
    "TiledTmaLoad",
    "TiledTmaStore",
]  # part of this dialect, written next door
