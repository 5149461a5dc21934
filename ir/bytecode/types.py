"""The type table of Tile IR bytecode."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeVar

from ir.bytecode.container import Table
from ir.bytecode.cursor import Cursor
from ir.core import Type, Version
from ir.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E5M3FNU,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    TF32,
    TOKEN,
    FloatType,
    FunctionType,
    GatherScatterViewType,
    IntType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
)

SIMPLE: dict[int, Type] = {
    0: I1, 1: I8, 2: I16, 3: I32, 4: I64, 5: F16, 6: BF16, 7: F32, 8: TF32, 9: F64, 10: F8E4M3FN, 11: F8E5M2,
    17: TOKEN, 18: F8E8M0FNU, 19: F4E2M1FN, 22: I4, 130: F8E5M3FNU,
}  # fmt: skip
"""Types without fields by tag (CUDA Tile IR 13.4, type encodings)."""
SINCE: dict[Type, Version] = {F8E8M0FNU: (13, 2), F4E2M1FN: (13, 3), I4: (13, 3), F8E5M3FNU: (13, 4)}
"""The version of element types added after 13.1."""
POINTER, TILE, TENSOR_VIEW, PARTITION_VIEW, FUNCTION, GATHER_SCATTER_VIEW, STRIDED_VIEW = 12, 13, 14, 15, 16, 20, 21
TOKEN_TAG = 17
SCALAR_TAGS = frozenset(SIMPLE) - {TOKEN_TAG}
VALUE_TAGS = frozenset(SIMPLE) | {POINTER, TILE, TENSOR_VIEW, PARTITION_VIEW, GATHER_SCATTER_VIEW, STRIDED_VIEW}
PADDINGS = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")
POINTER_ATTRS = ("none", "unicast", "multicast")
"""Pointer attributes by code."""
POINTER_ATTRS_SINCE: tuple[Version, ...] = ((13, 4), (13, 5), (13, 5))
"""The version of each pointer attribute (tileirdisasm 13.5)."""
DYNAMIC = -(1 << 63)
"""A size or stride known only at run time (MLIR's kDynamic)."""
MAX_ELEMENTS = 1 << 24
"""Largest tile (CUDA Tile IR 13.4, tile type)."""
T = TypeVar("T")


class Types:
    """The type table, decoded on demand; a type may refer only to types of simpler kinds, so decoding cannot recurse
    endlessly.
    """

    __slots__ = ("decoded", "table", "version")

    def __init__(self, source: Cursor, version: Version):
        self.table = Table(source, 4, "types", source.position)
        self.version = version
        self.decoded: dict[int, Type] = {}

    def read(self, cursor: Cursor, what: str) -> Type:
        """The type whose id follows in `cursor`."""
        at = cursor.position
        index = cursor.varint(what)
        found = self.decoded.get(index)
        if found is None:
            if index >= len(self.table):
                raise cursor.error(f"{what}: type {index} does not exist, there are {len(self.table)}", at)
            self.decoded[index] = found = self._decode(self.table.item(index))
        return found

    def read_as(self, kind: type[T], cursor: Cursor, what: str) -> T:
        """The next type, which must be of class `kind`."""
        at = cursor.position
        found = self.read(cursor, what)
        if not isinstance(found, kind):
            raise cursor.error(f"{what} cannot be {found}", at)
        return found

    def _decode(self, item: Cursor) -> Type:
        at = item.position
        tag = item.varint("type tag")
        if tag in SIMPLE:
            found = SIMPLE[tag]
            self._exists(item, SINCE.get(found, (13, 1)), str(found), at)
            return found
        decode = _DECODERS.get(tag)
        if decode is None:
            raise item.error(f"unknown type tag {tag}", at)
        return decode(self, item)

    def _exists(self, item: Cursor, since: Version, what: str, at: int) -> None:
        if self.version < since:
            raise item.error(f"type {what} was added in {since[0]}.{since[1]}, but the file is older", at)

    def _pointer(self, item: Cursor) -> PointerType:
        given = self._mask(item, (13, 4))
        pointee = self._scalar(item, "pointee")
        return PointerType(pointee, self._pointer_attr(item) if given else None)

    def _pointer_attr(self, item: Cursor) -> str:
        at = item.position
        code = item.byte("pointer attribute")
        if code >= len(POINTER_ATTRS):
            raise item.error(f"unknown pointer attribute {code}", at)
        self._exists(item, POINTER_ATTRS_SINCE[code], f"ptr with attribute {POINTER_ATTRS[code]}", at)
        return POINTER_ATTRS[code]

    def _function(self, item: Cursor) -> FunctionType:
        return FunctionType(self._list(item, "parameters"), self._list(item, "results"))

    def _mask(self, item: Cursor, since: Version) -> bool:
        """Whether the one optional field of a composite type is present; such masks exist from version `since` on."""
        if self.version < since:
            return False
        mask = item.varint("presence mask of a type")
        if mask > 1:
            raise item.error(f"presence mask {mask} of a type names fields that do not exist")
        return bool(mask)

    def _inner(self, item: Cursor, what: str, tags: frozenset[int], kind: type[T] | tuple[type[T], ...]) -> T:
        """A referenced type whose tag is in `tags`, checked before it is decoded, so that no cycle can be built."""
        at = item.position
        index = item.varint(what)
        if index >= len(self.table):
            raise item.error(f"{what}: type {index} does not exist, there are {len(self.table)}", at)
        tag = self.table.item(index).varint("type tag")
        if tag not in tags:
            raise item.error(f"{what} cannot be a type with tag {tag}", at)
        item.position = at
        found = self.read(item, what)
        if not isinstance(found, kind):
            raise item.error(f"{what} cannot be {found}", at)
        return found

    def _scalar(self, item: Cursor, what: str) -> IntType | FloatType:
        return self._inner(item, what, SCALAR_TAGS, (IntType, FloatType))

    def _tile(self, item: Cursor) -> TileType:
        at = item.position
        element = self._inner(item, "tile element", SCALAR_TAGS | {POINTER}, (IntType, FloatType, PointerType))
        shape = item.integers(8, "tile dimensions")
        if any(d <= 0 or d & (d - 1) for d in shape) or prod(shape) > MAX_ELEMENTS:
            raise item.error(f"tile dimensions {shape} must be powers of two, {MAX_ELEMENTS} elements at most", at)
        return TileType(shape, element)

    def _tensor_view(self, item: Cursor) -> TensorViewType:
        given = self._mask(item, (13, 4))
        at = item.position
        element = self._scalar(item, "tensor_view element")
        shape, strides = item.integers(8, "tensor_view sizes"), item.integers(8, "tensor_view strides")
        if len(shape) != len(strides):
            raise item.error(f"tensor_view has {len(shape)} sizes and {len(strides)} strides", at)
        if any(d <= 0 and d != DYNAMIC for d in (*shape, *strides)):
            raise item.error("tensor_view sizes and strides must be positive or dynamic", at)
        attr = self._pointer_attr(item) if given else None
        return TensorViewType(_dynamic(shape), element, _dynamic(strides), attr)

    def _partition_view(self, item: Cursor) -> PartitionViewType:
        at = item.position
        padded = self._mask(item, (13, 3))
        tile = self._tile_sizes(item)
        view = self._viewed(item)
        dim_map = item.integers(4, "partition_view dimension map")
        if self.version < (13, 3):
            padded = bool(item.byte("padding presence"))
        padding = self._padding(item) if padded else None
        self._check_map(item, tile, dim_map, view, at)
        return PartitionViewType(tile, view, dim_map, padding)

    def _strided_view(self, item: Cursor) -> StridedViewType:
        at = item.position
        self._exists(item, (13, 3), "strided_view", at)
        padded = self._mask(item, (13, 3))
        tile = self._tile_sizes(item)
        traversal = item.integers(4, "traversal strides")
        view = self._viewed(item)
        dim_map = item.integers(4, "strided_view dimension map")
        padding = self._padding(item) if padded else None
        self._check_map(item, tile, dim_map, view, at)
        if len(traversal) != len(tile) or any(t <= 0 for t in traversal):
            raise item.error(f"traversal strides {traversal} must be {len(tile)} positive numbers", at)
        return StridedViewType(tile, traversal, view, dim_map, padding)

    def _gather_scatter_view(self, item: Cursor) -> GatherScatterViewType:
        at = item.position
        self._exists(item, (13, 3), "gather_scatter_view", at)
        padded = self._mask(item, (13, 3))
        tile = self._tile_sizes(item)
        view = self._viewed(item)
        sparse = item.varint("sparse dimension")
        padding = self._padding(item) if padded else None
        self._check_map(item, tile, tuple(range(len(tile))), view, at)
        if sparse >= len(tile):
            raise item.error(f"sparse dimension {sparse} of a tile of {len(tile)} dimensions", at)
        return GatherScatterViewType(tile, view, sparse, padding)

    def _tile_sizes(self, item: Cursor) -> tuple[int, ...]:
        at = item.position
        tile = item.integers(4, "tile sizes of a view")
        if any(d <= 0 or d & (d - 1) for d in tile) or prod(tile) > MAX_ELEMENTS:
            raise item.error(f"tile sizes {tile} of a view must be powers of two", at)
        return tile

    def _viewed(self, item: Cursor) -> TensorViewType:
        return self._inner(item, "viewed tensor_view", frozenset({TENSOR_VIEW}), TensorViewType)

    def _padding(self, item: Cursor) -> str:
        at = item.position
        code = item.byte("padding value")
        if code >= len(PADDINGS):
            raise item.error(f"unknown padding value {code}", at)
        return PADDINGS[code]

    @staticmethod
    def _check_map(
        item: Cursor, tile: tuple[int, ...], dim_map: tuple[int, ...], view: TensorViewType, at: int
    ) -> None:
        rank = len(view.shape)
        if not 0 < len(tile) == len(dim_map) == rank or sorted(dim_map) != list(range(rank)):
            raise item.error(f"a view of {len(tile)} tile sizes with dimension map {dim_map} does not fit {view}", at)

    def _list(self, item: Cursor, what: str) -> tuple[Type, ...]:
        return tuple(self._inner(item, what, VALUE_TAGS, Type) for _ in range(item.count(what)))


def _dynamic(numbers: tuple[int, ...]) -> tuple[int | None, ...]:
    return tuple(None if n == DYNAMIC else n for n in numbers)


_DECODERS: dict[int, Callable[[Types, Cursor], Type]] = {
    POINTER: Types._pointer,  # pyright: ignore[reportPrivateUsage]
    TILE: Types._tile,  # pyright: ignore[reportPrivateUsage]
    TENSOR_VIEW: Types._tensor_view,  # pyright: ignore[reportPrivateUsage]
    PARTITION_VIEW: Types._partition_view,  # pyright: ignore[reportPrivateUsage]
    FUNCTION: Types._function,  # pyright: ignore[reportPrivateUsage]
    STRIDED_VIEW: Types._strided_view,  # pyright: ignore[reportPrivateUsage]
    GATHER_SCATTER_VIEW: Types._gather_scatter_view,  # pyright: ignore[reportPrivateUsage]
}
"""How a composite type is read, by its tag."""
