"""Interpretation of views and of accesses through them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

import ir.dialects.cuda_tile as ct
from ir.core import Op
from ir.dialects.cuda_tile.attributes import AtomicMode, MultimemReduction, dtype_of
from ir.dialects.cuda_tile.constraints import shape_of, tile_type
from ir.interpreter.block import HANDLERS, TOKEN, Results, TileBlock
from ir.interpreter.pointer_ops import update
from ir.interpreter.views import (
    TensorView,
    TileView,
    check_inbounds,
    make_tensor_view,
    padding,
    unspecified,
    view_index,
    view_operand,
)
from ir.types import FloatType, TensorViewType, TileViewType


def _tensor_view(block: TileBlock, op: ct.MakeTensorView) -> Results:
    type_ = cast("TensorViewType", op.result.type)
    sizes, strides = block.values(op.dynamic_shape), block.values(op.dynamic_strides)
    return [make_tensor_view(type_, block.array(op.base), sizes, strides, op.location)]


def _tile_view(block: TileBlock, op: ct.MakePartitionView | ct.MakeStridedView | ct.MakeGatherScatterView) -> Results:
    view = cast("TensorView", block.environment[op.tensor_view])
    return [TileView(view, cast("TileViewType", op.results[0].type))]


def _index_space(block: TileBlock, op: ct.GetIndexSpaceShape) -> Results:
    return _sizes(view_operand(op.src, block.environment).index_space, op)


def _tensor_shape(block: TileBlock, op: ct.GetTensorShape) -> Results:
    return _sizes(cast("TensorView", block.environment[op.src]).shape, op)


def _sizes(sizes: Sequence[int], op: Op) -> Results:
    return [np.asarray(s).astype(dtype_of(tile_type(r).element)) for s, r in zip(sizes, op.results, strict=True)]


def _load_view(block: TileBlock, op: ct.LoadView | ct.MultimemLoadReduceView) -> Results:
    """A multicast array has one copy here, so its reduction is that copy."""
    view, index = view_operand(op.view, block.environment), view_index(block.values(op.index))
    check_inbounds(op.inbounds, view, index, op.location)
    addresses, inside = view.elements(index)
    element, kind = view.view.element, view.type.padding
    loaded = unspecified(inside.shape, element) if kind is None else padding(kind, inside.shape, element)
    loaded[inside] = block.memory.load(addresses[inside], element, op.location)
    return [loaded.reshape(shape_of(op.results[0])), TOKEN]


def _store_view(block: TileBlock, op: ct.StoreView | ct.MultimemStoreView) -> Results:
    view, index = view_operand(op.view, block.environment), view_index(block.values(op.index))
    check_inbounds(op.inbounds, view, index, op.location)
    addresses, inside = view.elements(index)
    values = block.array(op.tile).reshape(inside.shape)
    block.memory.store(addresses[inside], values[inside], view.view.element, op.location)
    return [TOKEN]


def _update_view(block: TileBlock, op: ct.AtomicRedView) -> Results:
    view, index = view_operand(op.view, block.environment), view_index(block.values(op.index))
    check_inbounds(op.inbounds, view, index, op.location)
    addresses, inside = view.elements(index)
    values = np.broadcast_to(block.array(op.value), inside.shape)
    update(block, addresses[inside], op.mode, values[inside], view.view.element, op.location)
    return [TOKEN]


def _multimem_reduce(block: TileBlock, op: ct.MultimemReduceView) -> Results:
    """There is only one copy of the array here, and it is updated."""
    view, index = view_operand(op.view, block.environment), view_index(block.values(op.index))
    check_inbounds(op.inbounds, view, index, op.location)
    addresses, inside = view.elements(index)
    mode = _MODES[op.reduction]
    if mode == AtomicMode.ADD and isinstance(view.view.element, FloatType):
        mode = AtomicMode.ADDF
    values = np.broadcast_to(block.array(op.tile), inside.shape)
    update(block, addresses[inside], mode, values[inside], view.view.element, op.location)
    return [TOKEN]


_MODES = {kind: AtomicMode[kind.name] for kind in MultimemReduction}
HANDLERS.update(
    {
        ct.MakeTensorView: _tensor_view,
        ct.MakePartitionView: _tile_view,
        ct.MakeStridedView: _tile_view,
        ct.MakeGatherScatterView: _tile_view,
        ct.GetIndexSpaceShape: _index_space,
        ct.GetTensorShape: _tensor_shape,
        ct.LoadView: _load_view,
        ct.StoreView: _store_view,
        ct.AtomicRedView: _update_view,
        ct.MultimemLoadReduceView: _load_view,
        ct.MultimemReduceView: _multimem_reduce,
        ct.MultimemStoreView: _store_view,
    }
)
