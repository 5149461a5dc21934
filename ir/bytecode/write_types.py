"""Writing of the type table: the inverse of `types`."""

from __future__ import annotations

from collections.abc import Sequence

from ir.bytecode.output import Output, UniqueTable
from ir.bytecode.types import (
    DYNAMIC,
    FUNCTION,
    GATHER_SCATTER_VIEW,
    PADDINGS,
    PARTITION_VIEW,
    POINTER,
    POINTER_ATTRS,
    POINTER_ATTRS_SINCE,
    SIMPLE,
    SINCE,
    STRIDED_VIEW,
    TENSOR_VIEW,
    TILE,
)
from ir.core import Location, Type, UnsupportedError, Version
from ir.types import (
    I1,
    I32,
    FunctionType,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
)

TAGS: dict[Type, int] = {type_: tag for tag, type_ in SIMPLE.items()}


class TypeWriter:
    """Numbers types; those that refer to others come after them, so that a reader meets no cycle."""

    __slots__ = ("ids", "table", "version")

    def __init__(self, version: Version):
        self.version = version
        self.table = UniqueTable()
        self.ids: dict[Type, int] = {}
        for predefined in (I1, I32):
            self.id(predefined)

    def id(self, type_: Type) -> int:
        """The number of a type. Raises UnsupportedError for one that the version does not have."""
        found = self.ids.get(type_)
        if found is None:
            output = Output()
            self._write(type_, output)
            found = self.ids[type_] = self.table.id(bytes(output.data))
        return found

    def _needs(self, since: Version, what: object) -> None:
        if self.version < since:
            asked = ".".join(map(str, self.version))
            message = f"type {what} needs bytecode {since[0]}.{since[1]}, but version {asked} was requested"
            raise UnsupportedError(message, Location("<bytecode>"), f"write version {since[0]}.{since[1]} or later")

    def _write(self, type_: Type, output: Output) -> None:
        tag = TAGS.get(type_)
        if tag is not None:
            self._needs(SINCE.get(type_, (13, 1)), type_)
            output.varint(tag)
        elif isinstance(type_, PointerType):
            self._pointer(type_, output)
        elif isinstance(type_, TileType):
            element = self.id(type_.element)
            output.varint(TILE)
            output.varint(element)
            output.integers(type_.shape, 8)
        elif isinstance(type_, TensorViewType):
            self._tensor_view(type_, output)
        elif isinstance(type_, FunctionType):
            self._function(type_, output)
        elif isinstance(type_, PartitionViewType | StridedViewType | GatherScatterViewType):
            self._tile_view(type_, output)
        else:
            raise UnsupportedError(f"type {type_} has no bytecode form", Location("<bytecode>"))

    def _pointer(self, type_: PointerType, output: Output) -> None:
        pointee = self.id(type_.pointee)
        output.varint(POINTER)
        self._attr_mask(type_.attr, type_, output)
        output.varint(pointee)
        self._attr(type_.attr, output)

    def _attr_mask(self, attr: str | None, type_: Type, output: Output) -> None:
        if attr is not None:
            if attr not in POINTER_ATTRS:
                raise UnsupportedError(f"pointer attribute {attr!r} has no bytecode form", Location("<bytecode>"))
            self._needs(POINTER_ATTRS_SINCE[POINTER_ATTRS.index(attr)], type_)
        if self.version >= (13, 4):
            output.varint(int(attr is not None))

    def _attr(self, attr: str | None, output: Output) -> None:
        if attr is not None:
            output.byte(POINTER_ATTRS.index(attr))

    def _tensor_view(self, type_: TensorViewType, output: Output) -> None:
        element = self.id(type_.element)
        output.varint(TENSOR_VIEW)
        self._attr_mask(type_.attr, type_, output)
        output.varint(element)
        for sizes in (type_.shape, type_.strides):
            output.integers([DYNAMIC if n is None else n for n in sizes], 8)
        self._attr(type_.attr, output)

    def _function(self, type_: FunctionType, output: Output) -> None:
        numbers: list[Sequence[int]] = [[self.id(t) for t in types] for types in (type_.params, type_.results)]
        output.varint(FUNCTION)
        for ids in numbers:
            output.varint(len(ids))
            for number in ids:
                output.varint(number)

    def _tile_view(self, type_: PartitionViewType | StridedViewType | GatherScatterViewType, output: Output) -> None:
        view = self.id(type_.view)
        code = b"" if type_.padding is None else bytes([PADDINGS.index(type_.padding)])
        masked = self.version >= (13, 3)
        if isinstance(type_, PartitionViewType):
            output.varint(PARTITION_VIEW)
        else:
            self._needs((13, 3), type_)
            output.varint(STRIDED_VIEW if isinstance(type_, StridedViewType) else GATHER_SCATTER_VIEW)
        if masked:
            output.varint(len(code))
        output.integers(type_.tile, 4)
        if isinstance(type_, StridedViewType):
            output.integers(type_.traversal, 4)
        output.varint(view)
        if isinstance(type_, GatherScatterViewType):
            output.varint(type_.sparse_dim)
        else:
            output.integers(type_.dim_map, 4)
        if not masked:
            output.varint(len(code))
        output.data += code
