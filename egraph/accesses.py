"""Accesses to tiles of views without a direct instruction, as accesses through pointers: strong ones, atomic updates,
overlapping tiles, gathers and scatters.

    place along a dimension   index * step + iota, or the indices of a sparse dimension; unsigned, in i64
    pointers                  base + the sum of place * stride
    mask                      every place is below its size
Source: CUDA Tile IR 13.4, tile views; the reference interpreter's `TileView.elements`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ir.checked import checked
from ir.core import Block, Builder, Op, Value
from ir.dialects import cuda_tile as ct
from ir.types import (
    I1,
    I64,
    FloatType,
    IntType,
    PartitionViewType,
    StridedViewType,
    TileType,
    TileViewType,
)

Multicast = ct.MultimemLoadReduceView | ct.MultimemReduceView | ct.MultimemStoreView
ViewAccess = ct.LoadView | ct.StoreView | ct.AtomicRedView | Multicast
PADDING = {"zero": 0.0, "neg_zero": -0.0, "nan": float("nan"), "pos_inf": float("inf"), "neg_inf": float("-inf")}


class TileUpdate(ct.AtomicRMW):
    """An update through pointers with unused old values, of a tile at an index of a view; `whole` is the original
    operation.
    """

    whole: ct.AtomicRedView


class MultimemAccess(ct.AtomicRMW):
    """An access to multicast memory through pointers, of a tile of a view; `whole` is the original operation. Its
    result is what is loaded, or the given value for masked elements.
    """

    whole: Multicast

    @property
    def kind(self) -> str:
        """That of nv_tileas.atomic."""
        if isinstance(self.whole, ct.MultimemStoreView):
            return "multimem.st"
        verb = "red" if isinstance(self.whole, ct.MultimemReduceView) else "ld_reduce"
        return f"multimem.{verb}.{self.whole.reduction.text}"


def place_of(op: Op) -> list[Value]:
    """The view and the index of the tile that an update by pointers updates; empty for other operations, and for views
    that are not partitions.
    """
    if not isinstance(op, TileUpdate) or not isinstance(op.whole.view.type, PartitionViewType):
        return []
    return [op.whole.view, *op.whole.index]


def steps_of(view: TileViewType) -> tuple[int, ...]:
    """Elements from one tile to the next along each dimension; 1 where an index counts elements."""
    if isinstance(view, StridedViewType):
        return view.traversal
    return view.tile if isinstance(view, PartitionViewType) else (1,) * len(view.tile)


def needs_pointers(op: Op) -> bool:
    """Is this an access, or a question, that goes by pointers and not by the view?"""
    if isinstance(op, ct.GetIndexSpaceShape):
        return not isinstance(op.src.type, PartitionViewType)
    if isinstance(op, ct.LoadView | ct.StoreView):
        return not isinstance(op.view.type, PartitionViewType) or op.order != ct.MemoryOrder.WEAK
    return isinstance(op, ct.AtomicRedView | Multicast)


def by_pointers(op: Op) -> tuple[list[Op], list[Value]]:
    """The same by pointers: operations that replace `op`, and the values that replace its results."""
    block = Block()
    b = Builder(block, op.location)
    results = index_space(op, b) if isinstance(op, ct.GetIndexSpaceShape) else access(cast("ViewAccess", op), b)
    for made in block.ops:
        made.parent = op.parent  # loops and branches around it are those around the source
    return block.ops, results


def access(op: ViewAccess, b: Builder) -> list[Value]:
    """A load, store or update of the tile at an index."""
    kind = cast("TileViewType", op.view.type)
    pointers, mask = elements(op, kind, b)
    token = [] if op.token is None else [op.token]
    more: dict[str, Any] = {"order": op.order, "scope": op.scope}
    if isinstance(op, ct.LoadView):
        fill = [] if kind.padding is None else [splat(b, PADDING[kind.padding], ct.tile_type(op.tile))]
        types = [op.tile.type, op.result_token.type]
        made = b.add(
            ct.LoadPtr, pointers, mask, *fill, *token, types=types, segments=(1, 1, len(fill), len(token)), **more
        )
    elif isinstance(op, ct.StoreView):
        types = [op.result_token.type]
        made = b.add(ct.StorePtr, pointers, op.tile, mask, *token, types=types, segments=(1, 1, 1, len(token)), **more)
    elif isinstance(op, Multicast):
        return multicast(op, kind, pointers, mask, b)
    else:
        types = [op.value.type, op.result_token.type]
        made = b.add(
            TileUpdate,
            pointers,
            op.value,
            mask,
            *token,
            types=types,
            segments=(1, 1, 1, len(token)),
            mode=op.mode,
            **more,
        )
        made.whole = op
        return made.results[1:]
    return made.results


def multicast(op: Multicast, view: TileViewType, pointers: Value, mask: Value, b: Builder) -> list[Value]:
    """An access to all copies; what a load leaves out is the view's padding."""
    token = [] if op.token is None else [op.token]
    if isinstance(op, ct.MultimemLoadReduceView):
        tile = op.reduced_values.type
        value = splat(b, PADDING[view.padding or "zero"], checked(tile, TileType))
    else:
        value, tile = op.tile, op.tile.type
    made = b.add(
        MultimemAccess,
        pointers,
        value,
        mask,
        *token,
        types=[tile, op.result_token.type],
        segments=(1, 1, 1, len(token)),
        mode=ct.AtomicMode.XCHG,
        order=op.order,
        scope=op.scope,
    )
    made.whole = op
    return made.results if isinstance(op, ct.MultimemLoadReduceView) else made.results[1:]


def elements(op: ViewAccess, kind: TileViewType, b: Builder) -> tuple[Value, Value]:
    """Pointers to a tile's elements, and which of them lie in the array."""
    whole = tensor_view(op.view)
    sizes = filled(b, kind.view.shape, whole.dynamic_shape)
    strides = filled(b, kind.view.strides, whole.dynamic_strides)
    shape = kind.tile
    offset, inside = None, None
    for axis, (index, step, dim) in enumerate(zip(op.index, steps_of(kind), kind.dim_map, strict=True)):
        place = places(b, widened(b, index, signed=False), step, shape[axis])
        spread = tuple(n if d == axis else 1 for d, n in enumerate(shape))
        place = broadcast(b, b.value(ct.Reshape, place, types=[TileType(spread, I64)]), shape)
        limit, stride = (splatted(b, v, shape) for v in (sizes[dim], strides[dim]))
        here = b.value(
            ct.CmpI,
            place,
            limit,
            types=[TileType(shape, I1)],
            predicate=ct.Predicate.LESS_THAN,
            signedness=ct.Signedness.UNSIGNED,
        )
        moved = b.value(ct.MulI, place, stride, types=[place.type])
        offset = moved if offset is None else b.value(ct.AddI, offset, moved, types=[moved.type])
        inside = here if inside is None else b.value(ct.AndI, inside, here, types=[here.type])
    base = splatted(b, whole.base, shape)
    assert offset is not None
    assert inside is not None
    return b.value(ct.Offset, base, offset, types=[base.type]), inside


def places(b: Builder, index: Value, step: int, size: int) -> Value:
    """Where a tile's elements lie along one dimension: [size] of i64. A tile of indices is these positions itself."""
    kind = TileType((size,), I64)
    if ct.tile_type(index).shape:
        return index
    start = b.value(ct.MulI, index, splat(b, step, TileType((), I64)), types=[index.type])
    return b.value(ct.AddI, splatted(b, start, (size,)), b.value(ct.Iota, types=[kind]), types=[kind])


def index_space(op: ct.GetIndexSpaceShape, b: Builder) -> list[Value]:
    """ceil(size / step) along each dimension."""
    kind, whole = cast("TileViewType", op.src.type), tensor_view(op.src)
    sizes = filled(b, kind.view.shape, whole.dynamic_shape)
    found: list[Value] = []
    for result, step, dim in zip(op.results, steps_of(kind), kind.dim_map, strict=True):
        count = b.value(
            ct.DivI,
            sizes[dim],
            splat(b, step, TileType((), I64)),
            types=[sizes[dim].type],
            signedness=ct.Signedness.UNSIGNED,
            rounding=ct.Rounding.POSITIVE_INF,
        )
        narrow = checked(ct.tile_type(result).element, IntType).width < I64.width
        found.append(b.value(ct.TruncI, count, types=[result.type]) if narrow else count)
    return found


def tensor_view(view: Value) -> ct.MakeTensorView:
    """The array behind a view of tiles: views never cross a region's border, so both are made by operations."""
    return checked(checked(checked(view.owner, Op).operands[0].owner, Op), ct.MakeTensorView)


def filled(b: Builder, static: Sequence[int | None], dynamic: Sequence[Value]) -> list[Value]:
    """Sizes or strides as i64 scalars."""
    rest = iter(dynamic)
    scalar = TileType((), I64)
    return [widened(b, next(rest), signed=True) if n is None else splat(b, n, scalar) for n in static]


def widened(b: Builder, value: Value, signed: bool) -> Value:
    """An integer tile in i64."""
    kind = ct.tile_type(value)
    if kind.element == I64:
        return value
    return b.value(ct.ExtI, value, types=[TileType(kind.shape, I64)], signedness=ct.Signedness(signed))


def splat(b: Builder, number: float, kind: TileType) -> Value:
    """A literal of one number."""
    element = checked(kind.element, IntType, FloatType)
    return b.value(ct.Constant, types=[kind], value=ct.DenseElements.of(number, element))


def splatted(b: Builder, scalar: Value, shape: tuple[int, ...]) -> Value:
    """A scalar in every element."""
    ones, element = (1,) * len(shape), ct.tile_type(scalar).element
    return broadcast(b, b.value(ct.Reshape, scalar, types=[TileType(ones, element)]), shape)


def broadcast(b: Builder, tile: Value, shape: tuple[int, ...]) -> Value:
    """Dimensions of size 1 repeated."""
    return b.value(ct.Broadcast, tile, types=[TileType(shape, ct.tile_type(tile).element)])
