"""nv_tileaa, memory: tokens, pointers, views, and every access, ordered by tokens.

`means` names the Tile IR operation to which a class corresponds: the same operand groups, attribute names, results and
regions. `lowering/convert` contains only what the classes do not determine.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ir.core import (
    READ,
    WRITE,
    Attr,
    Op,
    Operand,
    OptionalOperand,
    Result,
    Type,
    Variadic,
    VariadicResult,
    flag,
    op,
    same_type_as,
)
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.attributes import DenseElements
from ir.dialects.nv_tileaa_types import (
    PtrType,
    TiledViewType,
    element_of,
    hints,
    is_address,
    is_integer,
    is_mask,
    is_memref,
    is_number,
    is_pointer,
    is_scalar,
    is_tile,
    is_token,
    is_view,
    member,
    shape_of,
    tensor,
)
from ir.types import TensorType


class Logical(Op):
    """An operation of nv_tileaa; `means` is the Tile IR operation with the same parts, None if the parts differ."""

    means: ClassVar[type[Op] | None] = None


# --- tokens


@op("nv_tileaa.create_mem_token")
class CreateMemToken(Logical):
    """A token that depends on nothing; `start`: that of accesses without a token in Tile IR."""

    means = ct.MakeToken

    start = flag()
    result = Result(is_token)


@op("nv_tileaa.join_mem_tokens")
class JoinMemTokens(Logical):
    """A token that depends on all of `tokens`."""

    means = ct.JoinTokens

    tokens = Variadic(is_token)
    result = Result(is_token)


@op("nv_tileaa.fence_alias")
class FenceAlias(Logical):
    """Orders accesses through other addresses of the same memory: those before the token come before those after it."""

    means = ct.MemoryFenceAlias

    token = Operand(is_token)
    result_token = Result(is_token)

    effect = WRITE


@op("nv_tileaa.launch_dependents")
class LaunchDependents(Logical):
    """Lets dependent grids start (programmatic dependent launch)."""

    means = ct.GdcLaunchDependents

    token = Operand(is_token)
    result_token = Result(is_token)

    effect = WRITE


@op("nv_tileaa.wait_on_dependency")
class WaitOnDependency(Logical):
    """Waits until the grids that this one depends on have completed and their writes are visible."""

    means = ct.GdcWait

    token = Operand(is_token)
    result_token = Result(is_token)

    effect = WRITE


# --- pointers and views


@op("nv_tileaa.get_global")
class GetGlobal(Logical):
    """The address of an array of the module: `type` is its type, `value` its first elements, `alignment` in bytes (0:
    not given); `constant` asserts that it is never written.
    """

    symbol = Attr(str)
    type: Attr[TensorType] = Attr(TensorType)
    value = Attr(DenseElements)
    alignment = Attr(int, 0, least=0)
    constant = flag()
    result = Result(is_address)


@op("nv_tileaa.alloca")
class Alloca(Logical):
    """Memory of a tile block for `num_elem` elements of the pointee; `global` requests global memory."""

    means = ct.Alloca

    num_elem = Attr(int, least=0)
    alignment = Attr(int, least=1)
    global_ = flag()
    result = Result(is_address)

    effect = WRITE


@op("nv_tileaa.addptr")
class AddPtr(Logical):
    """ptr + offset * element_bytes, elementwise; offsets are signed. Four-bit elements share a byte, so for them
    element_bytes is 1 and counts two elements.
    """

    ptr = Operand(is_pointer)
    offset = Operand(is_integer)
    element_bytes = Attr(int, least=1)
    result = same_type_as("ptr")

    def verify(self) -> None:
        """One shape; `element_bytes` is the pointee's size."""
        self.expect(shape_of(self.ptr.type) == shape_of(self.offset.type), "'ptr' and 'offset' differ in shape")
        wanted = pointee_bytes(self.ptr.type)
        self.expect(self.element_bytes == wanted, "element_bytes must be {} for {}", wanted, self.ptr.type)


def pointee_bytes(kind: Type) -> int:
    """Bytes of the pointee of a pointer or a tensor of pointers, at least 1."""
    element = element_of(kind)
    return max(1, element.pointee.width // 8) if isinstance(element, PtrType) else 1


@op("nv_tileaa.int_to_ptr")
class IntToPtr(Logical):
    """i64 addresses as pointers."""

    means = ct.IntToPtr

    source = Operand(is_integer)
    result = Result(is_pointer)


@op("nv_tileaa.ptr_to_int")
class PtrToInt(Logical):
    """Pointers as i64 addresses."""

    means = ct.PtrToInt

    source = Operand(is_pointer)
    result = Result(is_integer)


@op("nv_tileaa.ptr_to_ptr")
class PtrToPtr(Logical):
    """The same addresses with another pointee."""

    means = ct.PtrToPtr

    source = Operand(is_pointer)
    result = Result(is_pointer)


@op("nv_tileaa.make_memref")
class MakeMemref(Logical):
    """A strided array at `base`; `sizes` and `strides` (elements) fill the "?" of the type in order."""

    means = ct.MakeTensorView

    base = Operand(is_address)
    sizes = Variadic(is_scalar)
    strides = Variadic(is_scalar)
    result = Result(is_memref)


@op("nv_tileaa.partition")
class Partition(Logical):
    """A grid of tiles over a memref."""

    means = ct.MakePartitionView

    source = Operand(is_memref)
    result = Result(is_view)


@op("nv_tileaa.partition_strided")
class PartitionStrided(Logical):
    """Tiles of a memref whose origins are the type's `traversal` apart, so they may overlap."""

    means = ct.MakeStridedView

    source = Operand(is_memref)
    result = Result(is_view)


@op("nv_tileaa.partition_sparse")
class PartitionSparse(Logical):
    """Tiles of a memref whose positions along the type's `sparse_dim` are given individually."""

    means = ct.MakeGatherScatterView

    source = Operand(is_memref)
    result = Result(is_view)


@op("nv_tileaa.memref_shape")
class MemrefShape(Logical):
    """Size of a memref along each dimension."""

    means = ct.GetTensorShape

    source = Operand(is_memref)
    sizes = VariadicResult()


@op("nv_tileaa.index_space_shape")
class IndexSpaceShape(Logical):
    """Number of tiles of a view along each dimension."""

    means = ct.GetIndexSpaceShape

    source = Operand(is_view)
    counts = VariadicResult()


# --- accesses


@op("nv_tileaa.tiled_load")
class TiledLoad(Logical):
    """One tile of a view, after `token`; elements beyond the edge are the view's padding."""

    means = ct.LoadView

    view = Operand(is_view)
    index = Variadic(is_integer)
    token = Operand(is_token)
    order = member(ct.MemoryOrder, ct.MemoryOrder.WEAK)
    scope = member(ct.Scope, None)
    hints = hints()
    inbounds = Attr[tuple[bool, ...]](tuple, ())
    result = Result(is_tile)
    result_token = Result(is_token)

    effect = READ

    def verify(self) -> None:
        """The result is the view's tile, with one index per dimension."""
        _verify_tile(self, self.view.type, len(self.index), self.result.type, self.inbounds)


@op("nv_tileaa.tiled_store")
class TiledStore(Logical):
    """Write one tile of a view, after `token`; nothing is written beyond the edge."""

    means = ct.StoreView

    value = Operand(is_tile)
    view = Operand(is_view)
    index = Variadic(is_integer)
    token = Operand(is_token)
    order = member(ct.MemoryOrder, ct.MemoryOrder.WEAK)
    scope = member(ct.Scope, None)
    hints = hints()
    inbounds = Attr[tuple[bool, ...]](tuple, ())
    result_token = Result(is_token)

    effect = WRITE

    def verify(self) -> None:
        """The value is the view's tile, with one index per dimension."""
        _verify_tile(self, self.view.type, len(self.index), self.value.type, self.inbounds)


@op("nv_tileaa.tiled_reduce")
class TiledReduce(Logical):
    """Update each element of one tile of a view atomically with `value`, after `token`; nothing beyond the edge."""

    means = ct.AtomicRedView

    view = Operand(is_view)
    index = Variadic(is_integer)
    value = Operand(is_tile)
    token = Operand(is_token)
    order = member(ct.MemoryOrder)
    scope = member(ct.Scope)
    mode = member(ct.AtomicMode)
    inbounds = Attr[tuple[bool, ...]](tuple, ())
    result_token = Result(is_token)

    effect = WRITE

    def verify(self) -> None:
        """The value is the view's tile, with one index per dimension."""
        _verify_tile(self, self.view.type, len(self.index), self.value.type, self.inbounds)


@op("nv_tileaa.multimem_load_reduce")
class MultimemLoadReduce(Logical):
    """One tile of a view of multicast memory, reduced over the copies, after `token`; padding beyond the edge."""

    means = ct.MultimemLoadReduceView

    view = Operand(is_view)
    index = Variadic(is_integer)
    token = Operand(is_token)
    order = member(ct.MemoryOrder, ct.MemoryOrder.WEAK)
    scope = member(ct.Scope, None)
    reduction = member(ct.MultimemReduction)
    inbounds = Attr[tuple[bool, ...]](tuple, ())
    result = Result(is_tile)
    result_token = Result(is_token)

    effect = WRITE

    def verify(self) -> None:
        """The result is the view's tile, with one index per dimension."""
        _verify_tile(self, self.view.type, len(self.index), self.result.type, self.inbounds)


@op("nv_tileaa.multimem_reduce")
class MultimemReduce(Logical):
    """Update each element of one tile in all copies of multicast memory, after `token`; nothing beyond the edge."""

    means = ct.MultimemReduceView

    view = Operand(is_view)
    value = Operand(is_tile)
    index = Variadic(is_integer)
    token = Operand(is_token)
    order = member(ct.MemoryOrder)
    scope = member(ct.Scope)
    reduction = member(ct.MultimemReduction)
    inbounds = Attr[tuple[bool, ...]](tuple, ())
    result_token = Result(is_token)

    effect = WRITE

    def verify(self) -> None:
        """The value is the view's tile, with one index per dimension."""
        _verify_tile(self, self.view.type, len(self.index), self.value.type, self.inbounds)


@op("nv_tileaa.multimem_store")
class MultimemStore(Logical):
    """Write one tile to all copies of multicast memory, after `token`; nothing is written beyond the edge."""

    means = ct.MultimemStoreView

    view = Operand(is_view)
    value = Operand(is_tile)
    index = Variadic(is_integer)
    token = Operand(is_token)
    order = member(ct.MemoryOrder, ct.MemoryOrder.WEAK)
    scope = member(ct.Scope, None)
    inbounds = Attr[tuple[bool, ...]](tuple, ())
    result_token = Result(is_token)

    effect = WRITE

    def verify(self) -> None:
        """The value is the view's tile, with one index per dimension."""
        _verify_tile(self, self.view.type, len(self.index), self.value.type, self.inbounds)


def _verify_tile(op: Op, view: Type, indices: int, tile: Type, inbounds: tuple[bool, ...]) -> None:
    op.expect(all(type(each) is bool for each in inbounds), "attribute 'inbounds' must be of true and false")
    if isinstance(view, TiledViewType):
        wanted = tensor(view.tile, view.memref.element)
        op.expect(tile == wanted, "the tile is {}, the view's is {}", tile, wanted)
        op.expect(indices == len(view.tile), "{} indices for a view of rank {}", indices, len(view.tile))


@op("nv_tileaa.load")
class Load(Logical):
    """Load through pointers, after `token`; if `mask` is false the element is `other` (unspecified without one)."""

    means = ct.LoadPtr

    ptr = Operand(is_pointer)
    mask = OptionalOperand(is_mask)
    other = OptionalOperand(is_tile)
    token = Operand(is_token)
    order = member(ct.MemoryOrder, ct.MemoryOrder.WEAK)
    scope = member(ct.Scope, None)
    hints = hints()
    result = Result(is_tile)
    result_token = Result(is_token)

    effect = READ

    def verify(self) -> None:
        """One shape."""
        _verify_shapes(self, self.ptr.type, (self.result, self.mask, self.other))


@op("nv_tileaa.store")
class Store(Logical):
    """Store through pointers if `mask` is true, after `token`."""

    means = ct.StorePtr

    ptr = Operand(is_pointer)
    value = Operand(is_tile)
    mask = OptionalOperand(is_mask)
    token = Operand(is_token)
    order = member(ct.MemoryOrder, ct.MemoryOrder.WEAK)
    scope = member(ct.Scope, None)
    hints = hints()
    result_token = Result(is_token)

    effect = WRITE

    def verify(self) -> None:
        """One shape."""
        _verify_shapes(self, self.ptr.type, (self.value, self.mask))


def _verify_shapes(op: Op, pointer: Type, values: tuple[Any, ...]) -> None:
    for value in values:
        if value is not None and shape_of(value.type) != shape_of(pointer):
            op.fail("{} does not have the shape of the pointers, {}", value.type, pointer)


@op("nv_tileaa.atomic_rmw")
class AtomicRMW(Logical):
    """Update each element that the pointers address atomically if `mask` is true, after `token`; returns the
    old elements.
    """

    means = ct.AtomicRMW

    ptr = Operand(is_pointer)
    value = Operand(is_tile)
    mask = OptionalOperand(is_mask)
    token = Operand(is_token)
    order = member(ct.MemoryOrder)
    scope = member(ct.Scope)
    mode = member(ct.AtomicMode)
    result = Result(is_tile)
    result_token = Result(is_token)

    effect = WRITE

    def verify(self) -> None:
        """One shape."""
        _verify_shapes(self, self.ptr.type, (self.result, self.value, self.mask))


@op("nv_tileaa.atomic_cas")
class AtomicCAS(Logical):
    """Atomically replace each element that the pointers address by `value` if it equals `expected` and `mask` is true,
    after `token`; returns the old elements, `expected` for masked-off ones.
    """

    means = ct.AtomicCAS

    ptr = Operand(is_pointer)
    expected = Operand(is_tile)
    value = Operand(is_tile)
    mask = OptionalOperand(is_mask)
    token = Operand(is_token)
    order = member(ct.MemoryOrder)
    scope = member(ct.Scope)
    result = Result(is_tile)
    result_token = Result(is_token)

    effect = WRITE

    def verify(self) -> None:
        """One shape."""
        _verify_shapes(self, self.ptr.type, (self.result, self.expected, self.value, self.mask))


@op("nv_tileaa.assert")
class Assert(Logical):
    """The launch ends with a message, at a line of a source file, if an element of `condition` is false."""

    condition = Operand(is_mask)
    message = Attr(str)
    file = Attr(str)
    line = Attr(int, least=0)

    effect = WRITE


@op("nv_tileaa.print")
class Print(Logical):
    """Print a text in which printf's conversions represent the elements of `args`, after `token`."""

    means = ct.Print

    args = Variadic(is_number)
    token = Operand(is_token)
    str_ = Attr(str)
    result_token = Result(is_token)

    effect = WRITE
