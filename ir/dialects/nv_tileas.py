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
    Op,
    Operand,
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
from ir.dialects.nv_tileas_memory import (
    AddPtr,
    AllocTensor,
    AsyncCommit,
    AsyncFence,
    AsyncGatherCopy,
    AsyncTiledCopy,
    AsyncWait,
    Atomic,
    BufferView,
    Gather,
    GatherCopy,
    Hold,
    IndexSpaceShape,
    MakeMemref,
    Partition,
    Scatter,
    StagedStore,
    TensorShape,
    TiledCopy,
    TiledLoad,
    TiledStore,
    WriteBuffer,
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


@op("nv_tileas.assert")
class Assert(Op):
    """The launch ends with a message, at a line of a file, where an element of `condition` is false."""

    condition = Operand()
    message = Attr(str)
    file = Attr(str)
    line = Attr(int)

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
    "AddPtr",
    "AgentSwitch",
    "AllocTensor",
    "AsyncCommit",
    "AsyncFence",
    "AsyncGatherCopy",
    "AsyncTiledCopy",
    "AsyncWait",
    "Atomic",
    "BufferType",
    "BufferView",
    "ChannelType",
    "ConsumerRelease",
    "ConsumerWait",
    "CreateChannel",
    "CreatePipeline",
    "Gather",
    "GatherCopy",
    "Hold",
    "IndexSpaceShape",
    "MakeMemref",
    "Partition",
    "PipelineType",
    "ProducerAcquire",
    "ProducerCommit",
    "Receive",
    "Scatter",
    "Send",
    "StagedStore",
    "StoreWait",
    "TensorShape",
    "TiledCopy",
    "TiledLoad",
    "TiledStore",
    "TiledTmaLoad",
    "TiledTmaStore",
    "WriteBuffer",
]  # part of this dialect, written next door
