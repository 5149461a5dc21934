"""f4E2M1FN in memory as the bytes that two of them share, along the one dimension whose stride is 1.

    load(view of f4, tile [.., 2 t])     unpack(load(view of i8, tile [.., t]))
    store(f4, view of f4)                store(pack(f4), view of i8)
Sizes and strides of such an array are even (CUDA Tile IR 13.4, element types; the interpreter refuses others), so that
each row begins at a byte. What copies and products take is then bytes: TMA moves them as UINT8, which for elements that
lie packed is what its 16U4_ALIGN8B does, with the rules of bytes (cuda.h, cuTensorMapEncodeTiled).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn, cast

from ir.checked import checked
from ir.core import Builder, Op, Type, UnsupportedError, Value
from ir.dialects import cuda_tile as ct
from ir.types import (
    F4E2M1FN,
    I8,
    GatherScatterViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileViewType,
)
from lowering.source.rewriting import Rewriter, constant

HALVES = 2  # of a byte


def in_bytes(entry: ct.Entry) -> ct.Entry:
    """The entry with views of bytes for views of f4E2M1FN; the same one where it has none."""
    kinds = (value.type for op in entry.walk() for value in op.results)
    return _Writer().entry(entry) if any(of_halves(kind) for kind in kinds) else entry


def of_halves(kind: Type) -> bool:
    """Is this a view of f4E2M1FN, or a pointer to some?"""
    if isinstance(kind, TileType):
        return isinstance(kind.element, PointerType) and kind.element.pointee == F4E2M1FN
    return isinstance(kind, TensorViewType | TileViewType) and array_of(kind).element == F4E2M1FN


def array_of(view: TensorViewType | TileViewType) -> TensorViewType:
    """The array that a view is of."""
    return view if isinstance(view, TensorViewType) else view.view


class _Writer(Rewriter):
    """Operations anew, views of f4E2M1FN as views of bytes."""

    def operation(self, op: Op, b: Builder) -> None:
        """One: those on views of f4, and on pointers to some, by what they are on bytes; others as they are."""
        halves = any(of_halves(value.type) for value in (*op.operands, *op.results))
        if not halves:
            super().operation(op, b)
        elif isinstance(op, ct.Offset):
            self.offset(op, b)
        elif isinstance(op, ct.MakeTensorView):
            self.tensor_view(op, b)
        elif isinstance(op, ct.MakePartitionView | ct.MakeStridedView | ct.MakeGatherScatterView):
            kind = view_of_bytes(op, cast("TileViewType", op.results[0].type))
            self.bind(op.results, [b.value(type(op), *self.operands(op), types=[kind], **op.attributes)])
        elif isinstance(op, ct.LoadView):
            self.load(op, b)
        elif isinstance(op, ct.StoreView):
            self.store(op, b)
        elif isinstance(op, ct.GetIndexSpaceShape | ct.GetTensorShape):
            self.sizes(op, b)
        else:
            super().operation(op, b)  # pointers: an address is an address. Nothing else takes such views (verifiers)

    def operands(self, op: Op) -> list[Value]:
        """What its operands are called now."""
        return [self.new[value] for value in op.operands]

    def offset(self, op: ct.Offset, b: Builder) -> None:
        """A pointer to f4 advanced by an even number of them."""
        pointer = bytes_at(self.new[op.ptr], b)
        moved = b.value(ct.Offset, pointer, half(self.new[op.offset], b))
        self.bind(op.results, [b.value(ct.PtrToPtr, moved, types=[op.result.type])])

    def tensor_view(self, op: ct.MakeTensorView, b: Builder) -> None:
        """A view of the bytes of an array."""
        kind = checked(op.result.type, TensorViewType)
        dense = packed(op, kind)
        for what, sizes in (("size", kind.shape[dense : dense + 1]), ("stride", others(kind.strides, dense))):
            odd = [size for size in sizes if size is not None and size % HALVES]
            if odd:
                refuse(op, f"a {what} of {odd[0]} elements of {F4E2M1FN} ends inside a byte", "make it even")
        sizes = [self.new[value] for value in op.dynamic_shape]
        if kind.shape[dense] is None:
            place = sum(size is None for size in kind.shape[:dense])
            sizes[place] = half(sizes[place], b)
        strides = [half(self.new[value], b) for value in op.dynamic_strides]
        base = bytes_at(self.new[op.base], b)
        segments = (1, len(sizes), len(strides))
        made = b.add(
            ct.MakeTensorView,
            base,
            *sizes,
            *strides,
            types=[array_of_bytes(op, kind)],
            segments=segments,
            **op.attributes,
        )
        self.bind(op.results, made.results)

    def load(self, op: ct.LoadView, b: Builder) -> None:
        """The bytes of a tile, unpacked."""
        kind, place = checked(op.tile.type, TileType), along(op, op.view)
        held = TileType(halved(kind.shape, place), I8)
        made = b.add(
            ct.LoadView,
            *self.accessed(op, b),
            types=[held, op.result_token.type],
            segments=op.segments,
            **op.attributes,
        )
        order = last(len(kind.shape), place)
        flat = flattened(b, turned(b, made.tile, order))
        count = TileType((kind.size,), F4E2M1FN)
        found = b.value(ct.Unpack, flat, types=[count])
        found = b.value(ct.Reshape, found, types=[TileType(permuted(kind.shape, order), F4E2M1FN)])
        self.bind(op.results, [turned(b, found, inverse(order)), made.result_token])

    def store(self, op: ct.StoreView, b: Builder) -> None:
        """A tile, packed into bytes."""
        kind, place = checked(op.tile.type, TileType), along(op, op.view)
        order = last(len(kind.shape), place)
        flat = flattened(b, turned(b, self.new[op.tile], order))
        held = b.value(ct.Pack, flat, types=[TileType((kind.size // HALVES,), I8)])
        shape = permuted(halved(kind.shape, place), order)
        tile = turned(b, b.value(ct.Reshape, held, types=[TileType(shape, I8)]), inverse(order))
        made = b.add(
            ct.StoreView,
            tile,
            *self.accessed(op, b)[1:],
            types=[op.result_token.type],
            segments=op.segments,
            **op.attributes,
        )
        self.bind(op.results, made.results)

    def accessed(self, op: ct.LoadView | ct.StoreView, b: Builder) -> list[Value]:
        """Operands of an access: where an index counts elements, it counts bytes along the packed dimension."""
        found = self.operands(op)
        if isinstance(op.view.type, GatherScatterViewType):
            place = along(op, op.view)
            index = op.index[place]
            if not is_even(index):
                refuse(
                    op,
                    f"index {place} of a gather of {F4E2M1FN} is not known to be even",
                    "declare it with assume div_by<2>",
                )
            at = list(op.operands).index(op.view) + 1 + place
            found[at] = half(found[at], b)
        return found

    def sizes(self, op: ct.GetIndexSpaceShape | ct.GetTensorShape, b: Builder) -> None:
        """Tiles of a view, which are as many; elements, of which there are two a byte along the packed dimension."""
        made = b.add(type(op), self.new[op.src], types=[each.type for each in op.results], **op.attributes)
        found, kind = list(made.results), op.src.type
        if isinstance(kind, TensorViewType | GatherScatterViewType):
            place = packed(op, array_of(kind))
            two = constant(b, HALVES, checked(found[place].type, TileType))
            found[place] = b.value(ct.MulI, found[place], two)
        self.bind(op.results, found)


def packed(op: Op, array: TensorViewType) -> int:
    """The dimension along which two elements share a byte. Raises UnsupportedError where that is not known."""
    dense = [dimension for dimension, stride in enumerate(array.strides) if stride == 1]
    if len(dense) != 1:
        message = f"{F4E2M1FN} is packed along the one dimension whose static stride is 1, {array} has {len(dense)}"
        refuse(op, message, "make a view with one stride of 1")
    return dense[0]


def along(op: Op, view: Value) -> int:
    """The dimension of a view's tiles that is the packed one."""
    kind = cast("TileViewType", view.type)
    return kind.dim_map.index(packed(op, kind.view))


def array_of_bytes(op: Op, array: TensorViewType) -> TensorViewType:
    """The type of the view of an array's bytes."""
    dense = packed(op, array)
    shape = list(array.shape)
    size = shape[dense]
    shape[dense] = None if size is None else size // HALVES
    strides = [s if s is None or d == dense else s // HALVES for d, s in enumerate(array.strides)]
    return replace(array, shape=tuple(shape), strides=tuple(strides), element=I8)


def view_of_bytes(op: Op, kind: TileViewType) -> TileViewType:
    """The type of the view whose tiles are the bytes of these."""
    place = kind.dim_map.index(packed(op, kind.view))
    steps = kind.traversal[place] if isinstance(kind, StridedViewType) else kind.tile[place]
    if kind.tile[place] % HALVES or steps % HALVES:
        refuse(op, f"tiles of {kind} begin or end inside a byte", "use tiles of even size along the packed dimension")
    if isinstance(kind, GatherScatterViewType) and kind.sparse_dim == place:
        refuse(op, f"cannot gather single elements of {F4E2M1FN}: two share a byte", "gather along another dimension")
    if kind.padding not in (None, "zero"):
        refuse(op, f"padding of {F4E2M1FN} with {kind.padding} is not supported", "use zero, or no padding value")
    held = replace(kind, tile=halved(kind.tile, place), view=array_of_bytes(op, kind.view))
    if isinstance(held, StridedViewType):
        held = replace(held, traversal=halved(held.traversal, place))
    return held


def bytes_at(pointer: Value, b: Builder) -> Value:
    """A pointer to f4 as one to bytes."""
    kind = checked(checked(pointer.type, TileType).element, PointerType)
    return b.value(ct.PtrToPtr, pointer, types=[TileType((), PointerType(I8, kind.attr))])


def half(value: Value, b: Builder) -> Value:
    """Half of a number of elements, which is even."""
    even = b.value(ct.Assume, value, predicate=ct.DivBy(HALVES))
    two = constant(b, HALVES, checked(value.type, TileType))
    return b.value(ct.DivI, even, two, signedness=ct.Signedness.SIGNED)


def is_even(value: Value) -> bool:
    """Is a number known to be even?"""
    op = value.op
    if isinstance(op, ct.Constant):
        return op.value.splat and int(op.value.item) % HALVES == 0
    if isinstance(op, ct.Assume):
        promise = op.predicate
        said = isinstance(promise, ct.DivBy) and promise.every is None and promise.divisor % HALVES == 0
        return said or is_even(op.value)
    if isinstance(op, ct.MulI):
        return is_even(op.lhs) or is_even(op.rhs)
    return isinstance(op, ct.AddI | ct.SubI) and is_even(op.lhs) and is_even(op.rhs)


def flattened(b: Builder, tile: Value) -> Value:
    """A tile in one dimension."""
    kind = checked(tile.type, TileType)
    return b.value(ct.Reshape, tile, types=[TileType((kind.size,), kind.element)])


def turned(b: Builder, tile: Value, order: Sequence[int]) -> Value:
    """A tile with its dimensions in this order."""
    kind = checked(tile.type, TileType)
    if tuple(order) == tuple(range(len(kind.shape))):
        return tile
    return b.value(
        ct.Permute, tile, types=[TileType(permuted(kind.shape, order), kind.element)], permutation=tuple(order)
    )


def last(rank: int, place: int) -> tuple[int, ...]:
    """The order in which a dimension comes last."""
    return (*(d for d in range(rank) if d != place), place)


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """The order that undoes one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def permuted(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """The sizes in this order."""
    return tuple(shape[d] for d in order)


def halved(sizes: Sequence[int], place: int) -> tuple[int, ...]:
    """The sizes with half of one."""
    return tuple(size // HALVES if d == place else size for d, size in enumerate(sizes))


def others(sizes: Sequence[int | None], place: int) -> list[int | None]:
    """The sizes without one."""
    return [size for d, size in enumerate(sizes) if d != place]


def refuse(op: Op, message: str, hint: str) -> NoReturn:
    """Raise UnsupportedError at an operation."""
    raise UnsupportedError(f"'{op.name}': {message}", op.location, hint)
