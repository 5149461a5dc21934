"""The type table of Tile IR bytecode."""

from __future__ import annotations

from math import prod
from typing import TypeVar

from ir.bytecode.container import Table
from ir.bytecode.cursor import Cursor
from ir.core import Type, UnsupportedError, Version
from ir.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
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
    IntType,
    PartitionViewType,
    PointerType,
    TensorViewType,
    TileType,
)

SIMPLE: dict[int, Type] = {
    0: I1, 1: I8, 2: I16, 3: I32, 4: I64, 5: F16, 6: BF16, 7: F32, 8: TF32, 9: F64, 10: F8E4M3FN, 11: F8E5M2,
    17: TOKEN, 18: F8E8M0FNU, 19: F4E2M1FN, 22: I4,
}  # fmt: skip
"""Types without fields by tag (CUDA Tile IR 13.4, type encodings)."""
POINTER, TILE, TENSOR_VIEW, PARTITION_VIEW, FUNCTION = 12, 13, 14, 15, 16
TOKEN_TAG = 17
SCALAR_TAGS = frozenset(SIMPLE) - {TOKEN_TAG}
VALUE_TAGS = frozenset(SIMPLE) | {POINTER, TILE, TENSOR_VIEW, PARTITION_VIEW}
REFUSED = {20: "gather_scatter_view", 21: "strided_view", 130: "f8E5M3FNU"}
PADDINGS = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")
DYNAMIC = -(1 << 63)
"""A size or stride known only at run time (MLIR's kDynamic)."""
MAX_ELEMENTS = 1 << 24
"""Largest tile (CUDA Tile IR 13.4, tile type)."""
T = TypeVar("T")


class Types:
    """The type table, decoded when asked; a type may refer only to types of simpler kinds, so nothing recurs."""

    __slots__ = ("decoded", "table", "version")

    def __init__(self, source: Cursor, version: Version):
        self.table = Table(source, 4, "types", source.position)
        self.version = version
        self.decoded: dict[int, Type] = {}

    def read(self, cursor: Cursor, what: str) -> Type:
        """The type whose id comes next in `cursor`."""
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
            return SIMPLE[tag]
        if tag == POINTER:
            self._mask(item, (13, 4), "pointer attribute")
            return PointerType(self._scalar(item, "pointee"))
        if tag == TILE:
            return self._tile(item)
        if tag == TENSOR_VIEW:
            return self._tensor_view(item)
        if tag == PARTITION_VIEW:
            return self._partition_view(item)
        if tag == FUNCTION:
            return FunctionType(self._list(item, "parameters"), self._list(item, "results"))
        if tag in REFUSED:
            raise UnsupportedError(f"type {REFUSED[tag]} is not supported yet", item.location)
        raise item.error(f"unknown type tag {tag}", at)

    def _mask(self, item: Cursor, since: Version, optional: str) -> int:
        """The presence mask that composite types carry from version `since` on."""
        if self.version < since:
            return 0
        mask = item.varint("presence mask of a type")
        if since == (13, 4) and mask:
            raise UnsupportedError(f"{optional} is not supported yet", item.location)
        if mask > 1:
            raise item.error(f"presence mask {mask} of a type names fields that do not exist")
        return mask

    def _inner(self, item: Cursor, what: str, tags: frozenset[int], kind: type[T] | tuple[type[T], ...]) -> T:
        """A referenced type whose tag is in `tags`, looked at before it is decoded, so that no cycle can be built."""
        at = item.position
        index = item.varint(what)
        if index >= len(self.table):
            raise item.error(f"{what}: type {index} does not exist, there are {len(self.table)}", at)
        tag = self.table.item(index).varint("type tag")
        if tag in REFUSED:
            raise UnsupportedError(f"type {REFUSED[tag]} is not supported yet", item.location)
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
        self._mask(item, (13, 4), "pointer attribute of a tensor_view")
        at = item.position
        element = self._scalar(item, "tensor_view element")
        shape, strides = item.integers(8, "tensor_view sizes"), item.integers(8, "tensor_view strides")
        if len(shape) != len(strides):
            raise item.error(f"tensor_view has {len(shape)} sizes and {len(strides)} strides", at)
        if any(d <= 0 and d != DYNAMIC for d in (*shape, *strides)):
            raise item.error("tensor_view sizes and strides must be positive or dynamic", at)
        return TensorViewType(_dynamic(shape), element, _dynamic(strides))

    def _partition_view(self, item: Cursor) -> PartitionViewType:
        at = item.position
        padded = bool(self._mask(item, (13, 3), "padding"))
        tile = item.integers(4, "partition_view tile sizes")
        view = self._inner(item, "viewed tensor_view", frozenset({TENSOR_VIEW}), TensorViewType)
        dim_map = item.integers(4, "partition_view dimension map")
        if self.version < (13, 3):
            padded = bool(item.byte("padding presence"))
        padding = None
        if padded:
            code = item.byte("padding value")
            if code >= len(PADDINGS):
                raise item.error(f"unknown padding value {code}", at)
            padding = PADDINGS[code]
        if not 0 < len(tile) == len(dim_map) == len(view.shape) or sorted(dim_map) != list(range(len(view.shape))):
            raise item.error(
                f"partition_view of {len(tile)} tile sizes with dimension map {dim_map} does not fit {view}", at
            )
        if any(d <= 0 or d & (d - 1) for d in tile) or prod(tile) > MAX_ELEMENTS:
            raise item.error(f"partition_view tile sizes {tile} must be powers of two", at)
        return PartitionViewType(tile, view, dim_map, padding)

    def _list(self, item: Cursor, what: str) -> tuple[Type, ...]:
        return tuple(self._inner(item, what, VALUE_TAGS, Type) for _ in range(item.count(what)))


def _dynamic(numbers: tuple[int, ...]) -> tuple[int | None, ...]:
    return tuple(None if n == DYNAMIC else n for n in numbers)
