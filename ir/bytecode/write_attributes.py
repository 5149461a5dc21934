"""Writing of attributes: the inverse of `attributes`."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ir.bytecode.attributes import (
    ARRAY,
    BOOL,
    BOUNDED,
    DICTIONARY,
    DIV_BY,
    FLOAT,
    HINTS,
    INTEGER,
    SAME_ELEMENTS,
    STRING,
    TF32_BYTES,
    TF32_SHIFT,
    TYPE,
    element_bytes,
)
from ir.bytecode.output import Output, UniqueTable
from ir.bytecode.write_types import TypeWriter
from ir.core import AttrField, Op
from ir.dialects.cuda_tile.attributes import (
    Array,
    Bounded,
    DenseElements,
    Dictionary,
    DivBy,
    OptimizationHints,
    SameElements,
    TypedNumber,
    dtype_of,
)
from ir.dialects.cuda_tile.numerics import to_bits
from ir.types import F8E5M3FNU, F32, I1, I32, I64, TF32, Element, FloatType, IntType, TileType, Type

INTEGER_WIDTHS = {"permutation": 4, "inbounds": 1}
"""Bytes of each integer in attributes that are arrays of integers."""
KEPT = ("arg_attrs", "const_args", "res_attrs")
"""Attributes that are arrays of anything."""


class AttributeWriter:
    """Writes attributes into operations, with the module's tables."""

    __slots__ = ("constants", "strings", "types")

    def __init__(self, strings: UniqueTable, types: TypeWriter, constants: UniqueTable):
        self.strings = strings
        self.types = types
        self.constants = constants

    def string(self, output: Output, text: str) -> None:
        """A string by its number."""
        output.varint(self.strings.id(text.encode()))

    def attribute(self, output: Output, op: Op, attr: AttrField, value: object) -> None:
        """The value of a declared attribute, by its Python type and, for tuples, its name."""
        if isinstance(value, enum.IntEnum | bool):
            output.byte(value)
        elif isinstance(value, int):
            output.varint(value)
        elif isinstance(value, str):
            self.string(output, value)
        elif isinstance(value, DenseElements):
            tile = op.results[0].type
            if not isinstance(tile, TileType):
                raise TypeError(f"{op.name} has a literal and no tile")
            self.literal(output, value, tile)
        elif isinstance(value, OptimizationHints):
            self.hints(output, value)
        elif isinstance(value, tuple):
            self._tuple(output, op, attr.name, value)  # pyright: ignore[reportUnknownArgumentType]
        else:
            self.predicate(output, value)

    def literal(self, output: Output, value: DenseElements, tile: TileType) -> None:
        """A constant by its number: one element, or all of them in row-major order."""
        item = Output()
        data = encode_elements(value.array, tile.element)
        item.varint(len(data))
        item.data += data
        output.varint(self.constants.id(bytes(item.data)))

    def predicate(self, output: Output, value: object) -> None:
        """The assumption of an assume, with its tag."""
        if isinstance(value, DivBy):
            output.byte(DIV_BY)
            output.varint(value.divisor)
            self._optional(output, value.every, value.along)
        elif isinstance(value, Bounded):
            output.byte(BOUNDED)
            self._optional(output, value.lower, value.upper)
        elif isinstance(value, SameElements):
            output.byte(SAME_ELEMENTS)
            output.integers(value.values, 8)
        else:
            raise TypeError(f"{value!r} has no bytecode form")

    @staticmethod
    def _optional(output: Output, first: int | None, second: int | None) -> None:
        output.byte((first is not None) | (second is not None) << 1)
        for value in (first, second):
            if value is not None:
                output.zigzag(value)

    def tagged_hints(self, output: Output, hints: OptimizationHints) -> None:
        """Optimization hints with their tag."""
        output.byte(HINTS)
        self.hints(output, hints)

    def hints(self, output: Output, hints: OptimizationHints) -> None:
        """Optimization hints: architecture to dictionary."""
        output.varint(len(hints.entries))
        for arch, pairs in hints.entries:
            self.string(output, arch)
            output.byte(DICTIONARY)
            output.varint(len(pairs))
            for key, value in pairs:
                self.string(output, key)
                self.number(output, value, I32)

    def number(self, output: Output, value: object, element: Type) -> None:
        """A tagged integer, float, bool or string."""
        if isinstance(value, bool):
            output.byte(BOOL)
            output.byte(value)
        elif isinstance(value, str):
            output.byte(STRING)
            self.string(output, value)
        elif isinstance(value, int):
            kind = element if isinstance(element, IntType) else I64
            output.byte(INTEGER)
            output.varint(self.types.id(kind))
            output.varint(value & ((1 << kind.width) - 1))
        else:
            kind = element if isinstance(element, FloatType) else F32
            output.byte(FLOAT)
            output.varint(self.types.id(kind))
            data = encode_elements(np.array([value]).astype(dtype_of(kind)), kind)
            bits = int.from_bytes(data, "little")
            if kind.width <= 8:
                output.byte(bits)
            else:
                output.zigzag(bits)

    def kept(self, output: Output, value: object) -> None:
        """Any tagged attribute: the inverse of `Attributes.kept`."""
        if isinstance(value, tuple):
            output.byte(ARRAY)
            self._array(output, value)  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(value, Dictionary):
            output.byte(DICTIONARY)
            output.varint(len(value.entries))
            for name, each in value.entries:
                self.string(output, name)
                self.kept(output, each)
        elif isinstance(value, TypedNumber):
            self.number(output, int(value.value) if isinstance(value.value, bool) else value.value, value.type)
        elif isinstance(value, Type):
            output.byte(TYPE)
            output.varint(self.types.id(value))
        else:
            self.number(output, value, I64)

    def _array(self, output: Output, values: tuple[object, ...]) -> None:
        output.varint(len(values))
        for each in values:
            self.kept(output, each)

    def _tuple(self, output: Output, op: Op, name: str, values: tuple[Any, ...]) -> None:
        width = INTEGER_WIDTHS.get(name)
        if width is not None:
            output.integers([int(v) for v in values] or [0] * _rank(op, name), width)
            return
        if name in KEPT:
            self._array(output, values)
            return
        elements = [v.type.element for v in op.operands if isinstance(v.type, TileType)]
        elements += [I64] * (len(values) - len(elements))
        output.varint(len(values))
        for value, element in zip(values, elements, strict=False):
            self.number(output, value, element)


def _rank(op: Op, name: str) -> int:
    """The number of `inbounds` of an access that sets none."""
    return len(getattr(op, "index", ())) if name == "inbounds" else 0


def encode_elements(array: Array, element: Element) -> bytes:
    """Little-endian elements as the constant table holds them: the inverse of `decode_elements`."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if element == I1:  # one byte for a splat, otherwise a bit for each element, lowest first
        return bytes([0xFF if flat[0] else 0]) if len(flat) == 1 else np.packbits(flat, bitorder="little").tobytes()
    if element == TF32:
        words = flat.view(np.uint32) >> np.uint32(TF32_SHIFT)
        return words.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :TF32_BYTES].tobytes()
    if element == F8E5M3FNU or element.width == 4:
        return to_bits_of(flat, element)
    if flat.dtype.itemsize != element_bytes(element):
        raise TypeError(f"elements of {flat.dtype} are not {element}")
    return flat.tobytes()


def to_bits_of(flat: Array, element: Element) -> bytes:
    """One byte per element, for formats that NumPy holds differently or in fewer bits."""
    return (to_bits(flat, element) & np.uint8((1 << element.width) - 1)).tobytes()
