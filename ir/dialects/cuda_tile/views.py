"""cuda_tile views beyond the partition: overlapping tiles, gathers and scatters, reductions into memory, multicast."""

from __future__ import annotations

from ir.core import WRITE, Attr, Operand, OptionalOperand, Result, Variadic, op, optional
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
)
from ir.dialects.cuda_tile.memory import LOAD_ORDERS, STORE_ORDERS, verify_mode, verify_order, verify_view_access
from ir.types import GatherScatterViewType, StridedViewType, TileViewType


class MakeView(TileOp):
    """A view made of a tensor view; all that is to know stands in the result's type."""

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
    """A tensor view cut into tiles whose origins lie the type's traversal strides apart."""

    result_names = ("sview",)

    result = Result(STRIDED_VIEW)


@op("cuda_tile.make_gather_scatter_view", since=(13, 3), opcode=115)
class MakeGatherScatterView(MakeView):
    """A tensor view whose tiles take their places along one dimension from a tile of indices."""

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
    """Update each element of a view's tile atomically, without its old value; out of bounds nothing happens."""

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
        """One index a dimension; the value is the view's tile; there is no exchange, and the view has no padding."""
        verify_relaxed(self, self.order, self.scope)
        regular = not isinstance(self.view.type, GatherScatterViewType)
        self.expect(regular, "operand 'view' must be a partition or strided view, is {}", self.view.type)
        verify_view_access(self, self.view, self.index, "value", self.value, self.inbounds)
        self.expect(self.mode != AtomicMode.XCHG, "mode xchg needs the old value: use atomic_rmw_tko")
        verify_mode(self, self.mode, "value", self.value)
        view = self.view.type
        plain = not isinstance(view, TileViewType) or view.padding is None
        self.expect(plain, "operand 'view' {} has a padding value, an update has no use for it", view)


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
        """One index a dimension of the view; the result is the view's tile."""
        verify_order(self, self.order, self.scope, LOAD_ORDERS)
        verify_view_access(self, self.view, self.index, "reduced_values", self.reduced_values, self.inbounds)


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
        """One index a dimension of the view; the operand is the view's tile."""
        verify_order(self, self.order, self.scope, STORE_ORDERS)
        verify_view_access(self, self.view, self.index, "tile", self.tile, self.inbounds)


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
        """One index a dimension of the view; the operand is the view's tile."""
        verify_order(self, self.order, self.scope, STORE_ORDERS)
        verify_view_access(self, self.view, self.index, "tile", self.tile, self.inbounds)
