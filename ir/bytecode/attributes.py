"""Attributes of Tile IR bytecode: literals, assumptions, hints, typed numbers."""

from __future__ import annotations

import sys
from collections.abc import Collection
from math import prod

import numpy as np

from ir.bytecode.container import Strings, Table
from ir.bytecode.cursor import Cursor
from ir.bytecode.types import Types
from ir.core import UnsupportedError
from ir.dialects.cuda_tile.attributes import (
    Array,
    Bounded,
    DenseElements,
    Dictionary,
    DivBy,
    HintValue,
    OptimizationHints,
    SameElements,
    TypedNumber,
    dtype_name,
    dtype_of,
)
from ir.dialects.cuda_tile.numerics import from_bits
from ir.types import BF16, F8E5M3FNU, F16, F32, F64, I1, I8, I16, I32, I64, TF32, Element, FloatType, IntType, TileType

INTEGER, FLOAT, BOOL, TYPE, STRING, ARRAY, DENSE, DIV_BY, SAME_ELEMENTS, DICTIONARY, HINTS, BOUNDED = range(1, 13)
"""Tags of self-describing attributes (CUDA Tile IR 13.4, attribute encodings)."""
TF32_BYTES = 3
"""A tf32 element is stored in 19 bits, rounded up to bytes; its low mantissa bits of f32 are cut off."""
TF32_SHIFT = 13
AS_THEY_ARE = I8, I16, I32, I64, F16, BF16, F32, F64
"""Elements whose bytes in memory are those of bytecode."""
MAX_NESTING = 16
"""Maximum nesting of arrays and dictionaries; the deepest that cuda-tile 1.7.0 writes is an array of dictionaries."""
Number = int | float | bool | str


class Attributes:
    """Decodes attributes with the module's tables."""

    __slots__ = ("constants", "strings", "types")

    def __init__(self, strings: Strings, types: Types, constants: Cursor):
        self.strings = strings
        self.types = types
        self.constants = Table(constants, 8, "constants", constants.position)

    def literal(self, cursor: Cursor, tile: TileType) -> DenseElements:
        """The constant whose id follows, as elements of `tile`: one splat element or all in row-major order."""
        at = cursor.position
        index = cursor.varint("constant")
        if index >= len(self.constants):
            raise cursor.error(f"constant {index} does not exist, there are {len(self.constants)}", at)
        item = self.constants.item(index)
        data = item.raw(item.count("bytes of a constant"), "constant")
        size = prod(tile.shape)
        if tile.element == I1 and len(data) == (size + 7) // 8 and not (len(data) == 1 and data in (b"\x00", b"\xff")):
            bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little", count=size)
            return DenseElements(bits.astype(np.bool_))
        width = element_bytes(tile.element)
        if len(data) not in (width, width * size):
            raise cursor.error(
                f"constant {index} has {len(data)} bytes, {tile} needs {width} (splat) or {width * size}", at
            )
        return elements(data, tile.element)

    def predicate(self, cursor: Cursor) -> DivBy | SameElements | Bounded:
        """The assumption of an assume."""
        at = cursor.position
        tag = cursor.byte("assume predicate")
        if tag == DIV_BY:
            divisor = cursor.varint("divisor")
            mask = self._mask(cursor, "div_by")
            every = cursor.zigzag("every") if mask & 1 else None
            return DivBy(divisor, every, cursor.zigzag("along") if mask & 2 else None)
        if tag == BOUNDED:
            mask = self._mask(cursor, "bounded")
            lower = cursor.zigzag("lower bound") if mask & 1 else None
            return Bounded(lower, cursor.zigzag("upper bound") if mask & 2 else None)
        if tag == SAME_ELEMENTS:
            return SameElements(cursor.integers(8, "same_elements group sizes"))
        raise cursor.error(f"attribute tag {tag} is not an assume predicate", at)

    def tagged_hints(self, cursor: Cursor) -> OptimizationHints:
        """Optimization hints with their tag."""
        at = cursor.position
        tag = cursor.byte("optimization hints")
        if tag != HINTS:
            raise cursor.error(f"attribute tag {tag} is not optimization hints", at)
        return self.hints(cursor)

    def hints(self, cursor: Cursor) -> OptimizationHints:
        """Optimization hints: architecture to dictionary."""
        entries: dict[str, tuple[tuple[str, HintValue], ...]] = {}
        for _ in range(cursor.count("architectures of hints", 3)):
            arch = self._key(cursor, "architecture of hints", entries)
            tag = cursor.byte("hints of an architecture")
            if tag != DICTIONARY:
                raise cursor.error(f"hints of {arch!r} are not a dictionary (attribute tag {tag})")
            found: dict[str, HintValue] = {}
            for _ in range(cursor.count("hints", 3)):
                name = self._key(cursor, "hint", found)
                found[name] = self._hint(cursor, name)
            entries[arch] = tuple(found.items())
        return OptimizationHints(tuple(entries.items()))

    def _key(self, cursor: Cursor, what: str, known: Collection[str]) -> str:
        """A non-empty name that is not in `known`."""
        at = cursor.position
        name = self.strings.read(cursor, what)
        if not name or name in known:
            raise cursor.error(f"{what} {name!r} is given twice" if name else f"{what} has no name", at)
        return name

    def _hint(self, cursor: Cursor, name: str) -> HintValue:
        at = cursor.position
        value = self.number(cursor)
        if isinstance(value, float):
            raise cursor.error(f"hint {name!r} must be an integer, a bool or a string", at)
        return value

    def numbers(self, cursor: Cursor) -> tuple[Number, ...]:
        """An array of tagged numbers, without the array's own tag."""
        return tuple(self.number(cursor) for _ in range(cursor.count("numbers", 2)))

    def kept(self, cursor: Cursor, depth: int = 0) -> object:
        """Any tagged attribute, with the types of its numbers, for a function that is defined elsewhere."""
        at = cursor.position
        tag = cursor.byte("attribute")
        if depth > MAX_NESTING:
            raise cursor.error(f"attributes are nested deeper than {MAX_NESTING}", at)
        if tag == ARRAY:
            return self.array(cursor, depth)
        if tag == DICTIONARY:
            entries: dict[str, object] = {}
            for _ in range(cursor.count("attributes", 2)):
                name = self._key(cursor, "attribute", entries)
                entries[name] = self.kept(cursor, depth + 1)
            return Dictionary(tuple(entries.items()))
        if tag == TYPE:
            return self.types.read(cursor, "type")
        if tag in (INTEGER, FLOAT):
            return TypedNumber(*self._typed(cursor, tag))
        cursor.position = at
        return self.number(cursor)

    def array(self, cursor: Cursor, depth: int = 0) -> tuple[object, ...]:
        """A counted list of tagged attributes."""
        return tuple(self.kept(cursor, depth + 1) for _ in range(cursor.count("attributes", 2)))

    def number(self, cursor: Cursor) -> Number:
        """A tagged integer, float or bool as a Python number; integers are read as signed."""
        at = cursor.position
        tag = cursor.byte("attribute")
        if tag == BOOL:
            return bool(cursor.byte("bool"))
        if tag in (INTEGER, FLOAT):
            return self._typed(cursor, tag)[0]
        if tag == STRING:
            return self.strings.read(cursor, "string")
        if tag in (TYPE, ARRAY, DENSE, DICTIONARY):
            raise UnsupportedError(f"attribute tag {tag} is not supported where a number is expected", cursor.location)
        raise cursor.error(f"unknown attribute tag {tag}", at)

    def _typed(self, cursor: Cursor, tag: int) -> tuple[int | float, IntType | FloatType]:
        """An integer or a float, after its tag, and its type."""
        if tag == INTEGER:
            type_ = self.types.read_as(IntType, cursor, "type of an integer")
            bits = cursor.varint("integer") & ((1 << type_.width) - 1)
            if type_.width == 1:
                return bool(bits), type_
            return bits - (1 << type_.width) if bits >> (type_.width - 1) else bits, type_
        format_ = self.types.read_as(FloatType, cursor, "type of a float")
        return self._float(cursor, format_), format_

    @staticmethod
    def _float(cursor: Cursor, type_: FloatType) -> float:
        width = element_bytes(type_)
        bits = cursor.byte("float") if type_.width <= 8 else cursor.zigzag("float")
        data = (bits & ((1 << (8 * width)) - 1)).to_bytes(width, "little")
        return float(elements(data, type_).item)

    @staticmethod
    def _mask(cursor: Cursor, what: str) -> int:
        mask = cursor.byte(f"presence mask of {what}")
        if mask > 3:
            raise cursor.error(f"presence mask {mask} of {what} names fields that do not exist")
        return mask


def element_bytes(element: Element) -> int:
    """Bytes of one element of a literal."""
    if element == TF32:
        return TF32_BYTES
    return max(1, element.width // 8)


def elements(data: bytes, element: Element) -> DenseElements:
    """Little-endian elements as a literal."""
    if element == I1:
        return DenseElements.of_bytes(bytes(map(bool, data)), dtype_name(I1), len(data))
    if element in AS_THEY_ARE and sys.byteorder == "little":
        return DenseElements.of_bytes(data, dtype_name(element), len(data) // element_bytes(element))
    return DenseElements(decode_elements(data, element))


def decode_elements(data: bytes, element: Element) -> Array:
    """Little-endian elements as a 1-D array of the dtype that holds them."""
    if element == I1:
        return np.frombuffer(data, np.uint8) != 0
    if element == TF32:
        low = np.frombuffer(data, np.uint8).reshape(-1, TF32_BYTES).astype(np.uint32)
        bits = low[:, 0] | low[:, 1] << 8 | low[:, 2] << 16
        return (bits << TF32_SHIFT).view(np.float32)
    if element.width == 4:
        data = bytes(b & 0xF for b in data)
    if element == F8E5M3FNU:
        return from_bits(np.frombuffer(data, np.uint8), element)
    return np.frombuffer(data, dtype_of(element))
