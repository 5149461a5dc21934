"""cuda_tile memory: views, token-ordered loads, stores and atomics through pointers and views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir.core import (
    READ,
    WRITE,
    Attr,
    Operand,
    OptionalOperand,
    Result,
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
    PARTITION_VIEW,
    POINTER,
    SCALAR_INT,
    SCALAR_POINTER,
    TENSOR_VIEW,
    TOKEN_TYPE,
    Constraint,
    TileOp,
)
from ir.types import PartitionViewType, TensorViewType

ANY_VIEW = Constraint("a tensor view or a view of one", lambda t: isinstance(t, TensorViewType | PartitionViewType))


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


@op("cuda_tile.make_tensor_view", opcode=67)
class MakeTensorView(TileOp):
    """A strided array at `base`; the dynamic sizes and strides (elements) fill the "?" of the type in order."""

    result_names = ("tview",)

    base = Operand(SCALAR_POINTER)
    dynamic_shape = Variadic(SCALAR_INT)
    dynamic_strides = Variadic(SCALAR_INT)
    result = Result(TENSOR_VIEW)

    placement = UNIFORM


@op("cuda_tile.make_partition_view", opcode=66)
class MakePartitionView(TileOp):
    """A tensor view cut into a grid of tiles."""

    syntax = "$tensor_view : result"
    result_names = ("pview",)

    tensor_view = Operand(TENSOR_VIEW)
    result = Result(PARTITION_VIEW)

    placement = UNIFORM


@op("cuda_tile.get_index_space_shape", opcode=45)
class GetIndexSpaceShape(TileOp):
    """The number of tiles of a view along each of its dimensions."""

    src = Operand(PARTITION_VIEW)
    outs = VariadicResult()

    placement = UNIFORM


@op("cuda_tile.get_tensor_shape", opcode=47)
class GetTensorShape(TileOp):
    """The sizes of a tensor view, in elements."""

    src = Operand(TENSOR_VIEW)
    outs = VariadicResult()

    placement = UNIFORM


@op("cuda_tile.load_ptr_tko", opcode=61)
class LoadPtr(TileOp):
    """Gather through a pointer tile; where the mask is false the result is the padding (unspecified without one)."""

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


@op("cuda_tile.store_ptr_tko", opcode=101)
class StorePtr(TileOp):
    """Scatter through a pointer tile where the mask is true."""

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


@op("cuda_tile.load_view_tko", opcode=62)
class LoadView(TileOp):
    """The tile at an index of a view; elements out of bounds are the view's padding, unspecified without one."""

    result_names = ("tile", "result_token")

    view = Operand(PARTITION_VIEW)
    index = Variadic(SCALAR_INT)
    token = OptionalOperand(TOKEN_TYPE)
    order = Attr(MemoryOrder, MemoryOrder.WEAK)
    scope = optional(Scope)
    hints = optional(OptimizationHints)
    inbounds = Attr[tuple[bool, ...]](tuple, (), since=(13, 4))
    tile = Result(ANY_TILE)
    result_token = Result(TOKEN_TYPE)

    effect = READ
    placement = ANCHOR


@op("cuda_tile.store_view_tko", opcode=102)
class StoreView(TileOp):
    """Store a tile at an index of a view; elements out of bounds are not written."""

    tile = Operand(ANY_TILE)
    view = Operand(PARTITION_VIEW)
    index = Variadic(SCALAR_INT)
    token = OptionalOperand(TOKEN_TYPE)
    order = Attr(MemoryOrder, MemoryOrder.WEAK)
    scope = optional(Scope)
    hints = optional(OptimizationHints)
    inbounds = Attr[tuple[bool, ...]](tuple, (), since=(13, 4))
    result_token = Result(TOKEN_TYPE)

    effect = WRITE
    placement = SKELETON


@op("cuda_tile.atomic_rmw_tko", opcode=8)
class AtomicRMW(TileOp):
    """Read-modify-write through a pointer tile where the mask is true; the result is the old value."""

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


@op("cuda_tile.atomic_cas_tko", opcode=7)
class AtomicCAS(TileOp):
    """Compare and swap through a pointer tile where the mask is true (bitwise); the result is the old value."""

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


def combine(mode: AtomicMode, old: Array, new: Array) -> Array:
    """What an atomic update leaves in memory, one element wise."""
    unsigned = mode in (AtomicMode.UMAX, AtomicMode.UMIN)
    if unsigned:
        old, new = old.view(f"u{old.dtype.itemsize}"), new.view(f"u{new.dtype.itemsize}")
    if mode == AtomicMode.XCHG:
        return new
    return np.asarray(_UPDATES[mode](old, new))


_UPDATES: dict[AtomicMode, Callable[[Any, Any], Any]] = {
    AtomicMode.AND: np.bitwise_and,
    AtomicMode.OR: np.bitwise_or,
    AtomicMode.XOR: np.bitwise_xor,
    AtomicMode.ADD: np.add,
    AtomicMode.ADDF: np.add,
    AtomicMode.MAX: np.maximum,
    AtomicMode.MIN: np.minimum,
    AtomicMode.UMAX: np.maximum,
    AtomicMode.UMIN: np.minimum,
}
