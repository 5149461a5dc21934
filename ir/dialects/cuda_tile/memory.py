"""cuda_tile memory: views, token-ordered loads, stores and atomics through pointers and views."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir.core import (
    READ,
    WRITE,
    Attr,
    Operand,
    OptionalOperand,
    Result,
    Value,
    Variadic,
    VariadicResult,
    op,
    optional,
)
from ir.dialects.cuda_tile.attributes import (
    ANCHOR,
    SKELETON,
    UNIFORM,
    Array,
    AtomicMode,
    MemoryOrder,
    OptimizationHints,
    Scope,
)
from ir.dialects.cuda_tile.constraints import (
    ANY_TILE,
    BOOL,
    INT,
    PARTITION_VIEW,
    POINTER,
    SCALAR_INT,
    SCALAR_POINTER,
    TENSOR_VIEW,
    TILE_VIEW,
    TOKEN_TYPE,
    TileOp,
    element_type,
    tile_type,
)
from ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I32,
    I64,
    GatherScatterViewType,
    IntType,
    PartitionViewType,
    PointerType,
    TensorViewType,
    TileType,
    TileViewType,
)

LOAD_ORDERS = (MemoryOrder.WEAK, MemoryOrder.RELAXED, MemoryOrder.ACQUIRE)
STORE_ORDERS = (MemoryOrder.WEAK, MemoryOrder.RELAXED, MemoryOrder.RELEASE)
ATOMIC_ORDERS = (MemoryOrder.RELAXED, MemoryOrder.ACQUIRE, MemoryOrder.RELEASE, MemoryOrder.ACQ_REL)
"""Memory orderings by kind of access (CUDA Tile IR 13.4, memory model)."""


def verify_order(op: TileOp, order: MemoryOrder, scope: Scope | None, allowed: tuple[MemoryOrder, ...]) -> None:
    """`order` is one of `allowed`; all but weak require a scope."""
    op.expect(order in allowed, "attribute 'order' must be {}, is {}", " or ".join(map(str, allowed)), order)
    if order == MemoryOrder.WEAK:
        op.expect(scope is None, "attribute 'scope' is {}, but a weak access has no scope", scope)
    else:
        op.expect(scope is not None, "attribute 'scope' is missing, {} needs one", order)


MULTICAST = "multicast"
"""The attribute of pointers that refer to the same location in the memories of several devices."""


def verify_unicast(op: TileOp, what: str, attr: str | None) -> None:
    """A multicast address is valid for the multimem operations only."""
    op.expect(attr != MULTICAST, "{} is multicast, which only the multimem operations accept", what)


def verify_pointees(op: TileOp, name: str, pointers: Value, other: str, value: Value) -> None:
    """`value` is a tile of what `pointers` point to."""
    type_ = tile_type(pointers)
    if not isinstance(type_.element, PointerType):
        op.fail("operand '{}' must be pointers, is {}", name, type_)
    verify_unicast(op, f"operand '{name}'", type_.element.attr)
    wanted = TileType(type_.shape, type_.element.pointee)
    op.expect(value.type == wanted, "'{}' has type {}, '{}' {} requires {}", other, value.type, name, type_, wanted)


def verify_view_access(
    op: TileOp, view: Value, index: Sequence[Value], name: str, tile: Value, inbounds: tuple[bool, ...]
) -> None:
    """One index per dimension, all of one integer type; operand or result `name` is the view's tile.

    The index along the sparse dimension of a gather-scatter view is a 1-D tile of the tile's size, every other index is
    a scalar.
    """
    type_ = view.type
    if not isinstance(type_, TileViewType):
        op.fail("operand 'view' must be {}, is {}", TILE_VIEW.meaning, type_)
    rank = len(type_.tile)
    packed = type_.view.element.width == 4
    dense = sum(stride == 1 for stride in type_.view.strides)
    message = "elements of four bits are packed along the one dimension whose static stride is 1, {} has {} of them"
    op.expect(not packed or dense == 1, message, type_.view, dense)
    op.expect(len(index) == rank, "operand 'index' has {} values, the view {} dimensions", len(index), rank)
    sparse = type_.sparse_dim if isinstance(type_, GatherScatterViewType) else -1
    for dimension, value in enumerate(index):
        shape = (type_.tile[dimension],) if dimension == sparse else ()
        element = element_type(index[0]) if isinstance(index[0].type, TileType) else None
        wanted = TileType(shape, element) if isinstance(element, IntType) else index[0].type
        op.expect(INT(value.type), "operand 'index' {} must be {}, is {}", dimension, INT.meaning, value.type)
        op.expect(
            value.type == wanted,
            "operand 'index' has type {} for dimension {}, must have {}",
            value.type,
            dimension,
            wanted,
        )
    wanted = TileType(type_.tile, type_.view.element)
    op.expect(tile.type == wanted, "'{}' has type {}, the view's tiles are {}", name, tile.type, wanted)
    fits = len(inbounds) in (0, rank)
    op.expect(fits, "attribute 'inbounds' has {} entries, the view {} dimensions", len(inbounds), rank)


def verify_unicast_view(op: TileOp, view: Value) -> None:
    """The view is not of multicast memory."""
    type_ = view.type
    verify_unicast(op, "operand 'view'", type_.view.attr if isinstance(type_, TileViewType) else None)


def verify_mode(op: TileOp, mode: AtomicMode, name: str, value: Value) -> None:
    """The update exists for the element type of operand `name`."""
    element = element_type(value)
    if mode == AtomicMode.ADDF:
        fits, wanted = element in (F16, BF16, F32, F64), "f16, bf16, f32 or f64"
    elif mode == AtomicMode.XCHG:
        fits, wanted = element in (I32, I64, F32, F64), "32 or 64 bits"
    else:
        fits, wanted = element in (I32, I64), "i32 or i64"
    op.expect(fits, "mode {} needs {}, operand '{}' is {}", mode, wanted, name, value.type)


@op("cuda_tile.make_token", opcode=68)
class MakeToken(TileOp):
    """A fresh ordering token."""

    syntax = ": result"

    result = Result(TOKEN_TYPE)

    placement = UNIFORM


@op("cuda_tile.join_tokens", opcode=60)
class JoinTokens(TileOp):
    """A token that depends on at least two others."""

    syntax = "$tokens : result"

    tokens = Variadic(TOKEN_TYPE)
    result = Result(TOKEN_TYPE)

    placement = UNIFORM

    def verify(self) -> None:
        """Joins at least two."""
        self.expect(len(self.tokens) >= 2, "operand 'tokens' must be at least two, is {}", len(self.tokens))


@op("cuda_tile.make_tensor_view", opcode=67)
class MakeTensorView(TileOp):
    """A strided array at `base`; the dynamic sizes and strides (elements) fill the "?" of the type in order."""

    result_names = ("tview",)

    base = Operand(SCALAR_POINTER)
    dynamic_shape = Variadic(SCALAR_INT)
    dynamic_strides = Variadic(SCALAR_INT)
    result = Result(TENSOR_VIEW)

    placement = UNIFORM

    def verify(self) -> None:
        """As many dynamic operands as the type has "?", all of one type; the element is what `base` points to."""
        view, base = self.result.type, element_type(self.base)
        if not isinstance(view, TensorViewType) or not isinstance(base, PointerType):
            self.fail("operand 'base' must be a pointer, the result a tensor view")
        same = base.pointee == view.element
        self.expect(same, "operand 'base' points to {}, the view's element is {}", base.pointee, view.element)
        attributes = [str(attr or "none at all") for attr in (base.attr, view.attr)]
        kept = base.attr == view.attr
        self.expect(kept, "the pointer attribute of operand 'base' is {}, the view's {}", *attributes)
        groups = {
            "dynamic_shape": (self.dynamic_shape, view.shape),
            "dynamic_strides": (self.dynamic_strides, view.strides),
        }
        for name, (values, sizes) in groups.items():
            wanted = sum(size is None for size in sizes)
            self.expect(
                len(values) == wanted, "operand '{}' has {} values, {} needs {}", name, len(values), view, wanted
            )
        dynamic = [*self.dynamic_shape, *self.dynamic_strides]
        for value in dynamic[1:]:
            self.same_type("dynamic sizes and strides", value, "the first of them", dynamic[0])


@op("cuda_tile.make_partition_view", opcode=66)
class MakePartitionView(TileOp):
    """A tensor view cut into a grid of tiles."""

    syntax = "$tensor_view : result"
    result_names = ("pview",)

    tensor_view = Operand(TENSOR_VIEW)
    result = Result(PARTITION_VIEW)

    placement = UNIFORM

    def verify(self) -> None:
        """The result partitions the operand's view."""
        view = self.result.type
        same = isinstance(view, PartitionViewType) and view.view == self.tensor_view.type
        self.expect(same, "operand 'tensor_view' has type {}, the result is {}", self.tensor_view.type, view)


def _verify_sizes(op: TileOp, view: Value) -> None:
    type_ = view.type
    rank = len(type_.tile) if isinstance(type_, TileViewType) else 0
    rank = len(type_.shape) if isinstance(type_, TensorViewType) else rank
    op.expect(
        len(op.results) == rank, "must have {} results for operand 'src' {}, has {}", rank, type_, len(op.results)
    )
    for value in op.results:
        op.expect(SCALAR_INT(value.type), "results must be {}, one is {}", SCALAR_INT.meaning, value.type)
        op.expect(value.type == op.results[0].type, "results must have one type")


@op("cuda_tile.get_index_space_shape", opcode=45)
class GetIndexSpaceShape(TileOp):
    """The number of tiles of a view along each of its dimensions."""

    src = Operand(TILE_VIEW)
    outs = VariadicResult()

    placement = UNIFORM

    def verify(self) -> None:
        """One integer a dimension, all of one type."""
        _verify_sizes(self, self.src)


@op("cuda_tile.get_tensor_shape", opcode=47)
class GetTensorShape(TileOp):
    """The sizes of a tensor view, in elements."""

    src = Operand(TENSOR_VIEW)
    outs = VariadicResult()

    placement = UNIFORM

    def verify(self) -> None:
        """One integer a dimension, all of one type."""
        _verify_sizes(self, self.src)


@op("cuda_tile.load_ptr_tko", opcode=61)
class LoadPtr(TileOp):
    """Gather through a pointer tile; if the mask is false the result is the padding (unspecified without one).

    Without a mask every element is loaded, and a padding value has no effect (upstream's verifier asks for no mask).
    """

    result_names = ("result", "result_token")

    source = Operand(POINTER)
    mask = OptionalOperand(BOOL)
    padding_value = OptionalOperand(ANY_TILE)
    token = OptionalOperand(TOKEN_TYPE)
    order = Attr(MemoryOrder, MemoryOrder.WEAK)
    scope = optional(Scope)
    hints = optional(OptimizationHints)
    result = Result(ANY_TILE)
    result_token = Result(TOKEN_TYPE)

    effect = READ
    placement = ANCHOR

    def verify(self) -> None:
        """Everything has the pointers' shape, the result and the padding the pointee's type."""
        verify_order(self, self.order, self.scope, LOAD_ORDERS)
        verify_pointees(self, "source", self.source, "result", self.result)
        if self.mask is not None:
            self.same_shape("mask", self.mask, "source", self.source)
        if self.padding_value is not None:
            self.same_type("padding_value", self.padding_value, "result", self.result)


@op("cuda_tile.store_ptr_tko", opcode=101)
class StorePtr(TileOp):
    """Scatter through a pointer tile, for elements whose mask is true."""

    destination = Operand(POINTER)
    value = Operand(ANY_TILE)
    mask = OptionalOperand(BOOL)
    token = OptionalOperand(TOKEN_TYPE)
    order = Attr(MemoryOrder, MemoryOrder.WEAK)
    scope = optional(Scope)
    hints = optional(OptimizationHints)
    result_token = Result(TOKEN_TYPE)

    effect = WRITE
    placement = SKELETON

    def verify(self) -> None:
        """Everything has the pointers' shape, the value the pointee's type."""
        verify_order(self, self.order, self.scope, STORE_ORDERS)
        verify_pointees(self, "destination", self.destination, "value", self.value)
        if self.mask is not None:
            self.same_shape("mask", self.mask, "destination", self.destination)


@op("cuda_tile.load_view_tko", opcode=62)
class LoadView(TileOp):
    """The tile at an index of a view; elements out of bounds are the view's padding, unspecified without one."""

    result_names = ("tile", "result_token")

    view = Operand(TILE_VIEW)
    index = Variadic(INT)
    token = OptionalOperand(TOKEN_TYPE)
    order = Attr(MemoryOrder, MemoryOrder.WEAK)
    scope = optional(Scope)
    hints = optional(OptimizationHints)
    inbounds = Attr[tuple[bool, ...]](tuple, (), since=(13, 4))
    tile = Result(ANY_TILE)
    result_token = Result(TOKEN_TYPE)

    effect = READ
    placement = ANCHOR

    def verify(self) -> None:
        """One index a dimension of the view; the result is the view's tile."""
        verify_order(self, self.order, self.scope, LOAD_ORDERS)
        verify_unicast_view(self, self.view)
        verify_view_access(self, self.view, self.index, "tile", self.tile, self.inbounds)


@op("cuda_tile.store_view_tko", opcode=102)
class StoreView(TileOp):
    """Store a tile at an index of a view; elements out of bounds are not written."""

    tile = Operand(ANY_TILE)
    view = Operand(TILE_VIEW)
    index = Variadic(INT)
    token = OptionalOperand(TOKEN_TYPE)
    order = Attr(MemoryOrder, MemoryOrder.WEAK)
    scope = optional(Scope)
    hints = optional(OptimizationHints)
    inbounds = Attr[tuple[bool, ...]](tuple, (), since=(13, 4))
    result_token = Result(TOKEN_TYPE)

    effect = WRITE
    placement = SKELETON

    def verify(self) -> None:
        """One index a dimension of the view; the operand is the view's tile."""
        verify_order(self, self.order, self.scope, STORE_ORDERS)
        verify_unicast_view(self, self.view)
        verify_view_access(self, self.view, self.index, "tile", self.tile, self.inbounds)


@op("cuda_tile.atomic_rmw_tko", opcode=8)
class AtomicRMW(TileOp):
    """Read-modify-write through a pointer tile for elements whose mask is true; the result is the old value."""

    result_names = ("result", "result_token")

    pointers = Operand(POINTER)
    arg = Operand(ANY_TILE)
    mask = OptionalOperand(BOOL)
    token = OptionalOperand(TOKEN_TYPE)
    order = Attr(MemoryOrder)
    scope = Attr(Scope)
    mode = Attr(AtomicMode)
    result = Result(ANY_TILE)
    result_token = Result(TOKEN_TYPE)

    effect = WRITE
    placement = SKELETON

    def verify(self) -> None:
        """The update exists for the type; everything has the pointers' shape."""
        verify_order(self, self.order, self.scope, ATOMIC_ORDERS)
        verify_pointees(self, "pointers", self.pointers, "arg", self.arg)
        self.same_type("result", self.result, "arg", self.arg)
        if self.mask is not None:
            self.same_shape("mask", self.mask, "pointers", self.pointers)
        verify_mode(self, self.mode, "arg", self.arg)


@op("cuda_tile.atomic_cas_tko", opcode=7)
class AtomicCAS(TileOp):
    """Compare and swap through a pointer tile for elements whose mask is true (bitwise).

    The result is the old value, or `cmp` for a masked-off element.
    """

    result_names = ("result", "result_token")

    pointers = Operand(POINTER)
    cmp = Operand(ANY_TILE)
    val = Operand(ANY_TILE)
    mask = OptionalOperand(BOOL)
    token = OptionalOperand(TOKEN_TYPE)
    order = Attr(MemoryOrder)
    scope = Attr(Scope)
    result = Result(ANY_TILE)
    result_token = Result(TOKEN_TYPE)

    effect = WRITE
    placement = SKELETON

    def verify(self) -> None:
        """32 or 64 bits; everything has the pointers' shape."""
        verify_order(self, self.order, self.scope, ATOMIC_ORDERS)
        verify_pointees(self, "pointers", self.pointers, "cmp", self.cmp)
        self.same_type("val", self.val, "cmp", self.cmp)
        self.same_type("result", self.result, "cmp", self.cmp)
        if self.mask is not None:
            self.same_shape("mask", self.mask, "pointers", self.pointers)
        fits = element_type(self.cmp) in (I32, I64, F32, F64)
        self.expect(fits, "needs elements of 32 or 64 bits, operand 'cmp' is {}", self.cmp.type)


def combine(mode: AtomicMode, old: Array, new: Array) -> Array:
    """The new memory contents of an atomic update, elementwise."""
    unsigned = mode in (AtomicMode.UMAX, AtomicMode.UMIN)
    if unsigned:
        old, new = old.view(f"u{old.dtype.itemsize}"), new.view(f"u{new.dtype.itemsize}")
    if mode == AtomicMode.XCHG:
        return new
    return np.asarray(getattr(np, _UPDATES[mode])(old, new))


_UPDATES: dict[AtomicMode, str] = {
    AtomicMode.AND: "bitwise_and",
    AtomicMode.OR: "bitwise_or",
    AtomicMode.XOR: "bitwise_xor",
    AtomicMode.ADD: "add",
    AtomicMode.ADDF: "add",
    AtomicMode.MAX: "maximum",
    AtomicMode.MIN: "minimum",
    AtomicMode.UMAX: "maximum",
    AtomicMode.UMIN: "minimum",
}
"""NumPy's functions, which it need not be loaded for."""
