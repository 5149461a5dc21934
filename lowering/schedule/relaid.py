"""Tiles that a producer rematerialises in layouts of its own warps: row numbers, pointers and masks of gathered copies.

Arithmetic is elementwise and any thread can perform a load, so a layout of the result is also one of the operands; a
layout conversion is a no-op if its result is needed in a different layout anyway. Other attributes of a consumer op
(access widths, scratch) belong to the consumers' layout.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import Builder, Op, Type, Value
from ir.dialects import arith, nv_tileas
from ir.types import PartitionViewType, TensorType
from lowering.layouts.access import global_access
from lowering.layouts.elements import element_bytes
from lowering.layouts.layout import Layout
from lowering.layouts.shapes import inverse_permutation, permute, slice_for_broadcast
from lowering.placement.copied import contiguous_dim

LOADS = (nv_tileas.Gather, nv_tileas.TiledLoad)
NAMED = (nv_tileas.Iota, nv_tileas.Constant, nv_tileas.AddPtr, nv_tileas.ConvertLayout)


def spread(value: Value) -> bool:
    """Is it a tile whose elements lie in different places, so that its layout matters?"""
    kind = value.type
    return isinstance(kind, TensorType) and isinstance(kind.layout, Layout) and kind.layout.size > 1


def relayable(op: Op) -> bool:
    """Can an op that makes a tile be made again by other threads, in other layouts?"""
    if isinstance(op, LOADS):
        return not (op.ordered or op.attributes.get("order", ""))
    shapes = (nv_tileas.Broadcast, nv_tileas.Reshape, nv_tileas.Permute)
    return isinstance(op, (*NAMED, *shapes)) or (type(op).__module__ == arith.__name__ and not op.regions)


def operand_layouts(op: Op, layout: Layout) -> list[tuple[Value, Layout | None]]:
    """The operands of an op whose result is in `layout`, each with its own layout; None for what has none."""
    if isinstance(op, nv_tileas.Broadcast):
        shape, whole = shape_of(op.source.type), shape_of(op.result.type)
        layout = slice_for_broadcast(shape, whole, layout).layout
    elif isinstance(op, nv_tileas.Permute):
        perm = tuple(map(int, op.permutation))
        layout = permute(shape_of(op.result.type), inverse_permutation(perm), layout)
    return [(value, layout if spread(value) else None) for value in op.operands]


def remade(op: Op, layout: Layout, operands: Sequence[Value], b: Builder) -> Sequence[Value]:
    """The results of an op in a layout, of operands in theirs (`operand_layouts`)."""
    if isinstance(op, nv_tileas.ConvertLayout):
        return operands
    types = [relaid(result.type, layout) for result in op.results]
    attributes = dict(op.attributes)
    if isinstance(op, nv_tileas.Gather):
        attributes["width"] = runs(types[0], op.width, len(shape_of(types[0])) - 1)
    elif isinstance(op, nv_tileas.TiledLoad):
        size, view = element_bytes(types[0].element), op.view.type
        assert isinstance(view, PartitionViewType)
        attributes["bytes"] = size * runs(types[0], max(1, op.bytes // size), contiguous_dim(view) or 0)
    return b.add(type(op), *operands, types=types, segments=op.segments, **attributes).results


def runs(kind: Type, most: int, dim: int) -> int:
    """Elements of one access to a tile, at most as many as are proved to lie side by side and aligned."""
    assert isinstance(kind, TensorType)
    assert isinstance(kind.layout, Layout)
    return global_access(kind.layout, kind.shape, dim, most).vector


def relaid(kind: Type, layout: Layout) -> TensorType:
    """A type in another layout."""
    assert isinstance(kind, TensorType)
    return TensorType(kind.shape, kind.element, layout)


def shape_of(kind: Type) -> tuple[int, ...]:
    """No dimensions for a scalar."""
    return tuple(kind.shape) if isinstance(kind, TensorType) else ()
