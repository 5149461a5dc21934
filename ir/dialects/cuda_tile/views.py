"""cuda_tile views beyond the partition: overlapping tiles, gathers and scatters, reductions into memory, multicast."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ir.core import WRITE, Attr, Operand, OptionalOperand, Result, Value, Variadic, op, optional
from ir.dialects.cuda_tile.attributes import NOT_LOWERED, SKELETON, AtomicMode, MemoryOrder, MultimemReduction, Scope
from ir.dialects.cuda_tile.constraints import (
    ANY_TILE,
    GATHER_SCATTER_VIEW,
    INT,
    STRIDED_VIEW,
    TENSOR_VIEW,
    TILE_VIEW,
    TOKEN_TYPE,
    TileOp,
    tile_type,
)
from ir.dialects.cuda_tile.memory import (
    LOAD_ORDERS,
    MULTICAST,
    STORE_ORDERS,
    verify_mode,
    verify_order,
    verify_unicast_view,
    verify_view_access,
)
from ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I32,
    I64,
    FloatType,
    GatherScatterViewType,
    PartitionViewType,
    StridedViewType,
    TileViewType,
)


class MakeView(TileOp):
    """A view made from a tensor view; the result's type fully describes it."""

    syntax = "$tensor_view : result"

    tensor_view = Operand(TENSOR_VIEW)

    placement = NOT_LOWERED

    def verify(self) -> None:
        """The result views the operand."""
        view = self.results[0].type
        same = isinstance(view, StridedViewType | GatherScatterViewType) and view.view == self.tensor_view.type
        self.expect(same, "operand 'tensor_view' has type {}, the result is {}", self.tensor_view.type, view)


@op("cuda_tile.make_strided_view", since=(13, 3), opcode=116)
class MakeStridedView(MakeView):
    """A tensor view cut into tiles whose origins are the type's traversal strides apart."""

    result_names = ("sview",)

    result = Result(STRIDED_VIEW)


@op("cuda_tile.make_gather_scatter_view", since=(13, 3), opcode=115)
class MakeGatherScatterView(MakeView):
    """A tensor view whose tiles take their positions along one dimension from a tile of indices."""

    result_names = ("gsview",)

    result = Result(GATHER_SCATTER_VIEW)


class ViewUpdate(TileOp):
    """An access to a tile of a view that is neither a plain load nor a plain store."""

    effect = WRITE
    placement = SKELETON


def verify_relaxed(op: TileOp, order: MemoryOrder, scope: Scope | None) -> None:
    """Reductions through views are relaxed, within the tile block or the device."""
    op.expect(order == MemoryOrder.RELAXED, "attribute 'order' must be relaxed, is {}", order)
    op.expect(scope in (Scope.TL_BLK, Scope.DEVICE), "attribute 'scope' must be tl_blk or device, is {}", scope)


@op("cuda_tile.atomic_red_view_tko", since=(13, 3), opcode=117)
class AtomicRedView(ViewUpdate):
    """Update each element of a view's tile atomically, without returning its old value; out-of-bounds elements are
    skipped.
    """

    view = Operand(TILE_VIEW)
    index = Variadic(INT)
    value = Operand(ANY_TILE)
    token = OptionalOperand(TOKEN_TYPE)
    order = Attr(MemoryOrder)
    scope = Attr(Scope)
    mode = Attr(AtomicMode)
    inbounds = Attr[tuple[bool, ...]](tuple, (), since=(13, 5))
    result_token = Result(TOKEN_TYPE)

    def verify(self) -> None:
        """One index per dimension; the value is the view's tile; there is no exchange, and the view has no padding."""
        verify_relaxed(self, self.order, self.scope)
        verify_unicast_view(self, self.view)
        regular = not isinstance(self.view.type, GatherScatterViewType)
        self.expect(regular, "operand 'view' must be a partition or strided view, is {}", self.view.type)
        verify_view_access(self, self.view, self.index, "value", self.value, self.inbounds)
        self.expect(self.mode != AtomicMode.XCHG, "mode xchg needs the old value: use atomic_rmw_tko")
        verify_mode(self, self.mode, "value", self.value)
        view = self.view.type
        plain = not isinstance(view, TileViewType) or view.padding is None
        self.expect(plain, "operand 'view' {} has a padding value, which an update cannot use", view)


MULTIMEM_ELEMENTS = (I32, I64, F16, BF16, F32, F64)
"""Elements of multicast arrays (tileirdisasm 13.5)."""
MULTIMEM_BYTES = 4
"""The granularity of a multicast access: a tile of floats is a multiple of it (tileirdisasm 13.5)."""
EXTREMA = (MultimemReduction.MIN, MultimemReduction.MAX)


def verify_multimem(op: TileOp, view: Value) -> None:
    """A partition of a multicast array whose elements multicast accesses support."""
    type_ = view.type
    if not isinstance(type_, PartitionViewType):
        op.fail("operand 'view' must be a partition view, is {}", type_)
    array, element = type_.view, type_.view.element
    message = "operand 'view' must be of a multicast pointer, ptr<{}, <multicast>>, is {}"
    op.expect(array.attr == MULTICAST, message, element, type_)
    names = ", ".join(map(str, MULTIMEM_ELEMENTS))
    op.expect(element in MULTIMEM_ELEMENTS, "multicast elements are {}, operand 'view' is {}", names, type_)
    if isinstance(element, FloatType):
        size = prod(type_.tile) * element.width // 8
        op.expect(size % MULTIMEM_BYTES == 0, "a multicast tile of floats must be a multiple of 4 bytes, not {}", size)
        dense = sum(stride == 1 for stride in array.strides)
        message = "16-bit multicast elements need one dimension whose static stride is 1, {} has {} of them"
        op.expect(element.width > 16 or dense == 1, message, array, dense)


def verify_reduction(
    op: TileOp, reduction: MultimemReduction, value: Value, others: Sequence[MultimemReduction]
) -> None:
    """Floats are added; `others` also exist for 16-bit ones, the rest for integers only."""
    element = tile_type(value).element
    if isinstance(element, FloatType) and reduction != MultimemReduction.ADD:
        half = element.width == 16 and reduction in others
        needs = "integers or 16-bit floats" if reduction in others else "integers"
        op.expect(half, "reduction {} needs {}, the tile is {}", reduction, needs, value.type)


@op("cuda_tile.multimem_load_reduce_view_tko", since=(13, 5), opcode=123)
class MultimemLoadReduceView(ViewUpdate):
    """The tiles at one index of every copy of a multicast array, reduced elementwise."""

    result_names = ("reduced_values", "result_token")

    view = Operand(TILE_VIEW)
    index = Variadic(INT)
    token = OptionalOperand(TOKEN_TYPE)
    order = Attr(MemoryOrder, MemoryOrder.WEAK)
    scope = optional(Scope)
    reduction = Attr(MultimemReduction)
    inbounds = Attr[tuple[bool, ...]](tuple, ())
    reduced_values = Result(ANY_TILE)
    result_token = Result(TOKEN_TYPE)

    def verify(self) -> None:
        """One index a dimension of the multicast view; the result is the view's tile."""
        verify_order(self, self.order, self.scope, LOAD_ORDERS)
        verify_view_access(self, self.view, self.index, "reduced_values", self.reduced_values, self.inbounds)
        verify_multimem(self, self.view)
        verify_reduction(self, self.reduction, self.reduced_values, EXTREMA)


@op("cuda_tile.multimem_reduce_view_tko", since=(13, 5), opcode=124)
class MultimemReduceView(ViewUpdate):
    """Update the tile at an index in every copy of a multicast array."""

    view = Operand(TILE_VIEW)
    tile = Operand(ANY_TILE)
    index = Variadic(INT)
    token = OptionalOperand(TOKEN_TYPE)
    order = Attr(MemoryOrder)
    scope = Attr(Scope)
    reduction = Attr(MultimemReduction)
    inbounds = Attr[tuple[bool, ...]](tuple, ())
    result_token = Result(TOKEN_TYPE)

    def verify(self) -> None:
        """One index a dimension of the multicast view; the operand is the view's tile."""
        verify_order(self, self.order, self.scope, (MemoryOrder.RELAXED, MemoryOrder.RELEASE))
        verify_view_access(self, self.view, self.index, "tile", self.tile, self.inbounds)
        verify_multimem(self, self.view)
        verify_reduction(self, self.reduction, self.tile, ())


@op("cuda_tile.multimem_store_view_tko", since=(13, 5), opcode=125)
class MultimemStoreView(ViewUpdate):
    """Store a tile at an index in every copy of a multicast array."""

    view = Operand(TILE_VIEW)
    tile = Operand(ANY_TILE)
    index = Variadic(INT)
    token = OptionalOperand(TOKEN_TYPE)
    order = Attr(MemoryOrder, MemoryOrder.WEAK)
    scope = optional(Scope)
    inbounds = Attr[tuple[bool, ...]](tuple, ())
    result_token = Result(TOKEN_TYPE)

    def verify(self) -> None:
        """One index a dimension of the multicast view; the operand is the view's tile."""
        verify_order(self, self.order, self.scope, STORE_ORDERS)
        verify_view_access(self, self.view, self.index, "tile", self.tile, self.inbounds)
        verify_multimem(self, self.view)
