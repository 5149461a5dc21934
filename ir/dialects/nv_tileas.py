"""nv_tileas: the placed and scheduled program. Every tensor type carries a layout; copies name their mechanism.

Elementwise arithmetic is arith/math on placed tensors, loops are scf; this file declares what those dialects lack.
Source of names: the four seed documents (TileAS passes). Deviation: memory tokens are consumed when the placed program
is built (they become program order and `barrier`), so no op here takes or gives one.
"""

from __future__ import annotations

from typing import ClassVar

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
    flag,
    op,
)
from ir.descriptors import BARRIER_BYTES
from ir.dialects.cuda_tile.attributes import DenseElements
from ir.dialects.cuda_tile.constraints import TileOp
from ir.dialects.cuda_tile.shape import Windowed
from ir.dialects.gpu import verify_cluster, verify_map, verify_parameters, verify_ranges, verify_text
from ir.dialects.mirrored import mirror, mirrored
from ir.dialects.nv_tileas_async import (
    CONSUME,
    COPY,
    CORRECT,
    MULTIPLY,
    PRODUCE,
    ROLES,
    SCALAR_BYTES,
    TRANSFORM,
    AgentSwitch,
    BarrierArrive,
    BarrierArriveCopies,
    BarrierArriveProducts,
    BarrierExpectTx,
    BarrierWait,
    CreateChannel,
    Receive,
    Send,
    StoreWait,
    TiledTmaLoad,
    TiledTmaStore,
)
from ir.dialects.nv_tileas_cluster import CreateExchange, Exchange, Meet, PartialSum
from ir.dialects.nv_tileas_effects import (
    Alloca,
    CancelNextProgramId,
    FenceAlias,
    Free,
    LaunchDependents,
    RequestProgramId,
    WaitOnDependency,
)
from ir.dialects.nv_tileas_folds import KEEPING, Combining, Keeping, Reduce, rank_of
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
from ir.dialects.nv_tileas_pipeline import (
    COMMIT,
    GROUPS,
    MBARRIERS,
    REGIONS,
    AdvanceIter,
    ConsumeOne,
    ConsumerRead,
    ConsumerRelease,
    ConsumerWait,
    CreateIterator,
    CreateNone,
    CreatePipeline,
    Drain,
    IncIter,
    PipelineYield,
    ProduceOne,
    ProducerAcquire,
    ProducerCommit,
    ProducerWrite,
)
from ir.dialects.nv_tileas_tensor import (
    DONE_BYTES,
    SLOT_BYTES,
    AllocTensorMemory,
    TensorCommit,
    TensorDot,
    TensorLoad,
    TensorMeet,
    TensorScale,
    TensorScaledDot,
    TensorStore,
    TensorWait,
)
from ir.dialects.nv_tileas_tokens import verify_pipelines
from ir.dialects.nv_tileas_turns import BeginTurns, IsMine, PassTurn, TakeTurn
from ir.dialects.nv_tileas_types import (
    CONSUMER_TOKEN,
    PRODUCER_TOKEN,
    BufferType,
    ChannelType,
    ExchangeType,
    IteratorType,
    PipelineType,
    TensorMemoryType,
    is_held,
    is_i32,
    is_integer,
    is_mask,
    is_pointer,
    is_tile,
)
from ir.dialects.scf import verify_ends
from ir.launch_records import ParameterRecord, TensorMapRecord
from ir.types import TileType


@op("nv_tileas.func")
class Func(Op):
    """A kernel; block arguments are its parameters. `warps` is the number of consumer warps of a CTA.

    `params` are the launch manifest's records of the parameters, `ranges` the parameters about which every execution
    guarantees more than their type (number of the parameter, minimum and maximum value, a divisor), `asked_ctas` the
    CTAs per SM that a hint requests (0: none), `cluster` the CTAs of a cluster along x, y, z. Scheduling removes
    `placed` and adds `shared_bytes` of dynamic shared memory and `tensormaps`, the manifest's records of the tensor
    maps, which follow the parameters. `pipelined`: its stages have no numbers yet, iterators identify them
    (nv_tileas_pipeline).
    """

    sym_name = Attr(str)
    target = Attr(str)
    warps = Attr(int, least=1)
    params: Attr[tuple[ParameterRecord, ...]] = Attr(tuple, ())
    ranges: Attr[tuple[tuple[int, int, int, int], ...]] = Attr(tuple, ())
    asked_ctas = Attr(int, 0, least=0)
    cluster: Attr[tuple[int, ...]] = Attr(tuple, (1, 1, 1))
    placed = flag()
    pipelined = flag()
    shared_bytes = Attr(int, 0, least=0)
    tensormaps: Attr[tuple[TensorMapRecord, ...]] = Attr(tuple, ())
    body = RegionField()

    effect = CONTROL

    def verify(self) -> None:
        """Records and ranges refer to its own parameters."""
        block = self.body.block
        verify_parameters(self, self.params, [value.type for value in block.args])
        verify_ranges(self, self.ranges, len(block.args))
        verify_cluster(self, self.cluster)
        verify_ends(self, Return)

    def verify_inside(self) -> None:
        """Checks tokens and iterators, if any, and that tensor maps exist."""
        for record in self.tensormaps:
            verify_map(self, record)
        for each in self.walk():
            if isinstance(each, TiledTmaLoad | TiledTmaStore):
                each.expect(each.tensormap < len(self.tensormaps), "there is no tensor map {}", each.tensormap)
        if self.pipelined:
            verify_pipelines(self)


@op("nv_tileas.return")
class Return(Op):
    """End of the kernel."""

    effect = CONTROL


@op("nv_tileas.get_program_id")
class ProgramId(Op):
    """Tile-block coordinate along `axis` (0, 1, 2): i32."""

    axis = Attr(int, among=(0, 1, 2))
    result = Result(is_i32)


@op("nv_tileas.get_num_programs")
class NumPrograms(Op):
    """Grid extent along `axis`: i32."""

    axis = Attr(int, among=(0, 1, 2))
    result = Result(is_i32)


@op("nv_tileas.constant")
class Constant(Op):
    """A placed tile literal; `value` is a DenseElements attribute of the tile's shape."""

    value = Attr(DenseElements)
    result = Result(is_held)


@op("nv_tileas.get_global")
class GetGlobal(Op):
    """The address of an array of the module: `type` is its tile type, `value` its first elements."""

    symbol = Attr(str)
    type: Attr[TileType] = Attr(TileType)
    value = Attr(DenseElements)
    alignment = Attr(int, 0, least=0)
    result = Result(is_pointer)


@op("nv_tileas.iota")
class Iota(Op):
    """0, 1, 2, ... along a 1-D tile."""

    result = Result(is_tile)


@op("nv_tileas.broadcast")
class Broadcast(Op):
    """Dimensions of size 1 expand, without an instruction if the layouts allow it. A scalar source is a splat."""

    source = Operand(is_held)
    result = Result(is_held)


@op("nv_tileas.reshape")
class Reshape(Op):
    """The same elements in row-major order under another shape: takes no instruction."""

    source = Operand(is_held)
    result = Result(is_held)


@op("nv_tileas.permute")
class Permute(Op):
    """Dimensions permuted; a renaming of registers."""

    source = Operand(is_held)
    permutation: Attr[tuple[int, ...]] = Attr(tuple)
    result = Result(is_held)

    def verify(self) -> None:
        """Each dimension once."""
        dims = list(range(rank_of(self.source)))
        self.expect(sorted(map(str, self.permutation)) == list(map(str, dims)), "permutation must name {} once", dims)


@op("nv_tileas.extract_shared")
class ExtractShared(Op):
    """The part of a tile at tile-space indices, read back from shared memory at `scratch`."""

    source = Operand(is_held)
    indices = Variadic(is_integer)
    scratch = Attr(int, 0, least=0)
    result = Result(is_held)


class Mirrored(Op):
    """An operation of Tile IR whose elements only move, on placed tiles: registers under other names, or selected."""

    means: ClassVar[type[TileOp]]


MIRRORED = {of: mirror(of, "nv_tileas", Mirrored, is_held, is_integer) for of in mirrored()}
"""By the operation of Tile IR."""
PARTS = (ExtractShared, Mirrored)
"""Operations that cut tiles and join them."""
SELECTING = (
    ExtractShared,
    *(cls for of, cls in MIRRORED.items() if issubclass(of, Windowed) and of.selects()),
)
"""Operations that give a part of a tile."""


@op("nv_tileas.assert")
class Assert(Op):
    """The launch ends with a message, at a line of a file, if an element of `condition` is false."""

    condition = Operand(is_mask)
    message = Attr(str)
    file = Attr(str)
    line = Attr(int, least=0)

    effect = WRITE


@op("nv_tileas.print")
class Print(Op):
    """Prints a text; its conversions, as for C's printf, represent the elements of the operands in order. Every thread
    holds them all, one prints.
    """

    args = Variadic()
    format = Attr(str)

    effect = WRITE

    def verify(self) -> None:
        """A conversion for each element, of i32, i64 or f64."""
        verify_text(self, self.format, [value.type for value in self.args])


@op("nv_tileas.async.dot_wait")
class DotWait(Op):
    """Wait until at most `pending` groups of warpgroup products are in flight; the tile passes through."""

    source = Operand(is_tile)
    pending = Attr(int, least=0)
    result = Result(like="source")

    effect = WRITE


@op("nv_tileas.barrier")
class Barrier(Op):
    """Barrier of all threads of the CTA; orders shared and global memory among them. `publishes`: only earlier writes
    must become visible after it; memory read before it is not written between it and the next barrier that does not
    publish.
    """

    publishes = Attr(bool, default=False)

    effect = WRITE


@op("nv_tileas.shared_load")
class SharedLoad(Op):
    """A tile in shared memory into registers, by `atom` (ldmatrix, ldmatrix.trans, ldmatrix.b8 or ld.shared)."""

    source = Operand(is_tile)
    atom = Attr(str, among=("ldmatrix", "ldmatrix.trans", "ldmatrix.b8", "ld.shared"))
    result = Result(is_tile)

    effect = READ


@op("nv_tileas.convert_layout")
class ConvertLayout(Op):
    """The same tile in another layout: registers renamed, lanes shuffled, or through shared memory at `scratch`.

    `apart`: in its block, only other `apart` conversions use that memory.
    """

    source = Operand(is_held)
    scratch = Attr(int, 0, least=0)
    apart = flag()
    result = Result(is_held)


@op("nv_tileas.dot")
class Dot(Op):
    """a @ b + c by the named atom on a grid of warps (along m, along n); operands laid out as the atom's fragments.

    Warpgroup products read b, and a if it has a shared layout, from shared memory, and negate a if `negated`; `pending`
    groups of them may still be in flight when the op ends. `in_flight`: all may, and a dot_wait waits. `early`: before
    scheduling, for a loop's product to be issued one iteration ahead of its readers; `turns`: warpgroups then take
    turns at the computation between it and the next product. `passes`: after its first instruction a warpgroup passes
    its turn on. `read`: a product in tensor memory, read when it is complete and added to c in registers (`paired`: by
    f32x2). `kept`: a product in tensor memory whose sum, which its loop may scale first, stays there. `promote`:
    warpgroup products accumulate at most this many elements of K, and these sums are added in registers; 0: all of K.
    """

    a = Operand(is_tile)
    b = Operand(is_tile)
    c = Operand(is_tile)
    atom = Attr(str)
    grid: Attr[tuple[int, int]] = Attr(tuple)
    negated = flag()
    pending = Attr(int, 0, least=0)
    in_flight = flag()
    early = flag()
    turns = flag()
    passes = flag()
    read = flag()
    kept = flag()
    paired = flag()
    promote = Attr(int, 0, least=0)
    result = Result(is_tile)


@op("nv_tileas.scaled_dot")
class ScaledDot(Dot):
    """(a x a_scales) @ (b x b_scales) + c, with one scale for each block of adjacent elements along k; all five in
    registers.
    """

    a_scales = Operand(is_tile)
    b_scales = Operand(is_tile)


__all__ = [
    "BARRIER_BYTES",
    "COMMIT",
    "CONSUME",
    "CONSUMER_TOKEN",
    "COPY",
    "CORRECT",
    "DONE_BYTES",
    "GROUPS",
    "KEEPING",
    "MBARRIERS",
    "MULTIPLY",
    "PRODUCE",
    "PRODUCER_TOKEN",
    "REGIONS",
    "ROLES",
    "SCALAR_BYTES",
    "SLOT_BYTES",
    "TRANSFORM",
    "AddPtr",
    "AdvanceIter",
    "AgentSwitch",
    "AllocTensor",
    "AllocTensorMemory",
    "Alloca",
    "AsyncCommit",
    "AsyncFence",
    "AsyncGatherCopy",
    "AsyncTiledCopy",
    "AsyncWait",
    "Atomic",
    "BarrierArrive",
    "BarrierArriveCopies",
    "BarrierArriveProducts",
    "BarrierExpectTx",
    "BarrierWait",
    "BeginTurns",
    "BufferType",
    "BufferView",
    "CancelNextProgramId",
    "ChannelType",
    "Combining",
    "ConsumeOne",
    "ConsumerRead",
    "ConsumerRelease",
    "ConsumerWait",
    "CreateChannel",
    "CreateExchange",
    "CreateIterator",
    "CreateNone",
    "CreatePipeline",
    "Drain",
    "Exchange",
    "ExchangeType",
    "FenceAlias",
    "Free",
    "Gather",
    "GatherCopy",
    "Hold",
    "IncIter",
    "IndexSpaceShape",
    "IsMine",
    "IteratorType",
    "Keeping",
    "LaunchDependents",
    "MakeMemref",
    "Meet",
    "PartialSum",
    "Partition",
    "PassTurn",
    "PipelineType",
    "PipelineYield",
    "ProduceOne",
    "ProducerAcquire",
    "ProducerCommit",
    "ProducerWrite",
    "Receive",
    "Reduce",
    "RequestProgramId",
    "Scatter",
    "Send",
    "StagedStore",
    "StoreWait",
    "TakeTurn",
    "TensorCommit",
    "TensorDot",
    "TensorLoad",
    "TensorMeet",
    "TensorMemoryType",
    "TensorScale",
    "TensorScaledDot",
    "TensorShape",
    "TensorStore",
    "TensorWait",
    "TiledCopy",
    "TiledLoad",
    "TiledStore",
    "TiledTmaLoad",
    "TiledTmaStore",
    "WaitOnDependency",
    "WriteBuffer",
]  # parts of this dialect in other files
