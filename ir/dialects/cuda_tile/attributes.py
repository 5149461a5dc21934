"""Attributes of cuda_tile: enumerations with their bytecode codes, assumptions of `assume`, literals, hints, placement.

The integer of every enumeration member is its bytecode code (CUDA Tile IR 13.4, attribute encodings).
"""

from __future__ import annotations

import enum
import math
import re
import struct
import sys
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from ir.core import Attribute, Type, spelled
from ir.nan_bits import widened
from ir.quoting import escape, key_text
from ir.records import dataclass
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
    TF32,
    FloatType,
    IntType,
    PointerType,
)

if TYPE_CHECKING:
    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[Any]"


def is_array(given: object) -> TypeGuard[Array]:
    """Is this an array of NumPy?"""
    return isinstance(given, np.ndarray)


class TextEnum(enum.IntEnum):
    """An enumeration whose text spelling is the lower-case member name."""

    @property
    def text(self) -> str:
        """How the text form spells this member."""
        return self.name.lower()

    def __str__(self) -> str:
        return self.text


class Rounding(TextEnum):
    """How a float result is rounded; APPROX and FULL are the faster f32 forms, the last two round to integers."""

    NEAREST_EVEN = 0
    ZERO = 1
    NEGATIVE_INF = 2
    POSITIVE_INF = 3
    APPROX = 4
    FULL = 5
    NEAREST_INT_TO_ZERO = 6
    NEAREST_AWAY = 7


class Overflow(TextEnum):
    """Assertion that an integer operation does not wrap; undefined behaviour if it does."""

    NONE = 0
    NO_SIGNED_WRAP = 1
    NO_UNSIGNED_WRAP = 2
    NO_WRAP = 3


class Signedness(TextEnum):
    """Interpretation of the bits of signless integers."""

    UNSIGNED = 0
    SIGNED = 1


class Predicate(TextEnum):
    """The predicate of a comparison."""

    EQUAL = 0
    NOT_EQUAL = 1
    LESS_THAN = 2
    LESS_THAN_OR_EQUAL = 3
    GREATER_THAN = 4
    GREATER_THAN_OR_EQUAL = 5


class Ordering(TextEnum):
    """The result of a float comparison if an operand is NaN: UNORDERED true, ORDERED false."""

    UNORDERED = 0
    ORDERED = 1


class MemoryOrder(TextEnum):
    """Memory ordering of an access; WEAK has no scope, the others need one."""

    WEAK = 0
    RELAXED = 1
    ACQUIRE = 2
    RELEASE = 3
    ACQ_REL = 4


class Scope(TextEnum):
    """The observers of a non-weak access: the tile block, the device or the system."""

    TL_BLK = 0
    DEVICE = 1
    SYS = 2


class Padding(TextEnum):
    """The out-of-bounds elements of a view load; `PartitionViewType.padding` holds the text."""

    ZERO = 0
    NEG_ZERO = 1
    NAN = 2
    POS_INF = 3
    NEG_INF = 4


class AtomicMode(TextEnum):
    """The update of a read-modify-write."""

    AND = 0
    OR = 1
    XOR = 2
    ADD = 3
    ADDF = 4
    MAX = 5
    MIN = 6
    UMAX = 7
    UMIN = 8
    XCHG = 9


class MultimemReduction(TextEnum):
    """The update of a multicast reduction; MIN and MAX interpret integers as signed."""

    ADD = 0
    MIN = 1
    MAX = 2
    AND = 3
    OR = 4
    XOR = 5
    UMIN = 6
    UMAX = 7


class Visibility(TextEnum):
    """Visibility of a symbol: to other modules too, or to this one only."""

    PUBLIC = 0
    PRIVATE = 1


class Placement(enum.Enum):
    """How an operation takes part in the choice of layouts."""

    ELEMENTWISE = "elementwise"  # same shape in and out, computed in any layout
    UNIFORM = "uniform"  # no tile data: views, tokens, block ids
    SHAPE = "shape"  # moves or creates elements without arithmetic
    ANCHOR = "anchor"  # requires particular layouts: memory, mma, reductions
    SKELETON = "skeleton"  # stays in the effect skeleton: loops, branches, stores; or is not lowered yet


ELEMENTWISE, UNIFORM, SHAPE, ANCHOR, SKELETON = (
    Placement.ELEMENTWISE,
    Placement.UNIFORM,
    Placement.SHAPE,
    Placement.ANCHOR,
    Placement.SKELETON,
)
NOT_LOWERED = SKELETON
"""Placement of pure operations that the compiler does not lower: the e-graph has no term for them and reports this."""


class Promise(Attribute):
    """The assertion of an assume about a value; cuda_tile's own text writes it without the dialect."""

    __slots__ = ()

    def mlir(self) -> str:
        """With its dialect."""
        return f"#cuda_tile.{self}"


def _integer(text: str) -> int:
    """At most 64 bits. Raises ValueError."""
    found = int(text)
    if not -(1 << 63) <= found < 1 << 63:
        raise ValueError(f"{text} does not fit in 64 bits")
    return found


@spelled("#cuda_tile.div_by")
@dataclass(frozen=True, slots=True)
class DivBy(Promise):
    """Assumption: each value is divisible by `divisor`; with `every`/`along`, the first of each group of `every`
    elements along dimension `along` is, and the group continues in steps of one (bytes of the pointee for pointers);
    groups of 0 are groups of 1.
    """

    divisor: int
    every: int | None = None
    along: int | None = None

    def __str__(self) -> str:
        group = f", every {self.every} along {self.along}" if self.every is not None else ""
        return f"div_by<{self.divisor}{group}>"

    @staticmethod
    def read(body: str, *_: object) -> DivBy:
        """From `16, every 4 along 0`."""
        match = re.fullmatch(r"(\d{1,20})(?:, every (\d{1,20}) along (\d{1,20}))?", body)
        if match is None:
            raise ValueError("expected a divisor, or one with 'every' and 'along'")
        every, along = (None if text is None else _integer(text) for text in match.groups()[1:])
        return DivBy(_integer(match[1]), every, along)


@spelled("#cuda_tile.same_elements")
@dataclass(frozen=True, slots=True)
class SameElements(Promise):
    """Assumption: along dimension i, elements are equal in groups of `values[i]`; 0 means the same as 1."""

    values: tuple[int, ...]

    def __str__(self) -> str:
        return f"same_elements<[{', '.join(map(str, self.values))}]>"

    @staticmethod
    def read(body: str, *_: object) -> SameElements:
        """From `[4, 1]`."""
        match = re.fullmatch(r"\[((?:\d{1,20}(?:, \d{1,20})*)?)\]", body)
        if match is None:
            raise ValueError("expected a list of sizes")
        return SameElements(tuple(map(_integer, match[1].split(", "))) if match[1] else ())


NAN_MANTISSA = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52, "float8_e5m2": 2}
"""Mantissa bits of the dtypes that have NaNs with a payload."""


@spelled("#cuda_tile.bounded")
@dataclass(frozen=True, slots=True)
class Bounded(Promise):
    """Assumption: lower <= each value <= upper, interpreted as signed integers; None means no bound."""

    lower: int | None
    upper: int | None

    def __str__(self) -> str:
        lower, upper = ("?" if b is None else str(b) for b in (self.lower, self.upper))
        return f"bounded<{lower}, {upper}>"

    @staticmethod
    def read(body: str, *_: object) -> Bounded:
        """From `0, ?`."""
        match = re.fullmatch(r"(-?\d{1,20}|\?), (-?\d{1,20}|\?)", body)
        if match is None:
            raise ValueError("expected two bounds")
        lower, upper = (None if text == "?" else _integer(text) for text in match.groups())
        return Bounded(lower, upper)


AssumePredicate = DivBy | SameElements | Bounded


@dataclass(frozen=True, slots=True)
class TypedNumber(Attribute):
    """A number that keeps its type if nothing else determines it: an argument of a call to an external function."""

    value: int | float
    type: IntType | FloatType


@dataclass(frozen=True, slots=True)
class Dictionary(Attribute):
    """Names and values: strings, truth values, types, typed numbers, tuples and dictionaries of them."""

    entries: tuple[tuple[str, Any], ...]


HintValue = int | bool | str
"""A string is not a value of any hint, but may be written."""


@dataclass(frozen=True, slots=True)
class OptimizationHints(Attribute):
    """Hints by architecture ("sm_90", "default"), sorted by name; an entry of the target takes precedence over
    default.
    """

    entries: tuple[tuple[str, tuple[tuple[str, HintValue], ...]], ...]

    def __post_init__(self) -> None:
        ordered = tuple(sorted((arch, tuple(sorted(hints))) for arch, hints in self.entries))
        object.__setattr__(self, "entries", ordered)

    def for_target(self, target: str) -> dict[str, HintValue]:
        """The hints that apply to `target`, whose feature suffix ("sm_90a") is not part of the key."""
        found: dict[str, HintValue] = {}
        for wanted in ("default", target.rstrip("af")):
            for arch, hints in self.entries:
                if arch == wanted:
                    found.update(hints)
        return found

    def __str__(self) -> str:
        return f"<{', '.join(f'{key_text(arch)} = {{{self._pairs(hints)}}}' for arch, hints in self.entries)}>"

    @classmethod
    def _pairs(cls, hints: tuple[tuple[str, HintValue], ...]) -> str:
        return ", ".join(f"{key_text(key)} = {cls.value_text(value)}" for key, value in hints)

    @staticmethod
    def value_text(value: HintValue) -> str:
        """A hint's value as it is written."""
        if isinstance(value, str):
            return escape(value)
        return str(value).lower() if isinstance(value, bool) else str(value)


_DTYPES: dict[Type, str] = {
    IntType(1): "bool",
    IntType(4): "int4",
    IntType(8): "int8",
    IntType(16): "int16",
    IntType(32): "int32",
    IntType(64): "int64",
    F16: "float16",
    BF16: "bfloat16",
    F32: "float32",
    TF32: "float32",
    F64: "float64",
    F8E4M3FN: "float8_e4m3fn",
    F8E5M2: "float8_e5m2",
    F8E8M0FNU: "float8_e8m0fnu",
    F8E5M3FNU: "float32",  # no NumPy type; every value of the format is one of float32
    F4E2M1FN: "float4_e2m1fn",
}
_CODES = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
}
"""How `struct` packs NumPy's own dtypes; the others are those of ml_dtypes, a shared library that only programs with
literals of these load (5 ms), bfloat16 apart, whose elements are the upper halves of float32's."""


def _pack(number: Any, dtype: str) -> bytes | None:
    """The bytes of a number, to nearest even; None for what only NumPy packs: dtypes of ml_dtypes, and NaNs."""
    if number != number or dtype not in (*_CODES, "bfloat16"):
        return None
    if dtype == "bool" or dtype.startswith("int"):
        return struct.pack(f"={_CODES[dtype]}", bool(number) if dtype == "bool" else int(number))
    try:
        if dtype == "bfloat16":
            (word,) = struct.unpack("=I", struct.pack("=f", float(number)))
            return struct.pack("=H", (word + 0x7FFF + (word >> 16 & 1)) >> 16)
        return struct.pack(f"={_CODES[dtype]}", float(number))
    except OverflowError:  # beyond the greatest
        return _pack(math.copysign(math.inf, number), dtype)


def _unpack(data: bytes, dtype: str) -> int | float:
    """The number of an element as a Python int, float or bool."""
    if dtype == "bfloat16":
        return struct.unpack("=f", struct.pack("=I", int.from_bytes(data, sys.byteorder) << 16))[0]
    if dtype in _CODES:
        return struct.unpack(f"={_CODES[dtype]}", data)[0]
    value = np.frombuffer(data, _dtype(dtype))[0]
    return value.item() if value.dtype.kind in "biuf" else float(value)


def dtype_name(element: Type) -> str:
    """The NumPy dtype that holds an element: i1 as bool, tf32 and fnv8E5M3FNU as float32, pointers as int64."""
    return "int64" if isinstance(element, PointerType) else _DTYPES[element]


def dtype_of(element: Type) -> np.dtype[np.generic]:
    """The same, as NumPy has it."""
    return _dtype(dtype_name(element))


@cache
def _dtype(name: str) -> np.dtype[np.generic]:
    if name in _CODES:
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, name))


class DenseElements(Attribute):
    """A literal: the bytes of its elements in row-major order, of one if all are equal, and their dtype's name.

    `size`: elements that it has bytes of. Most are a number or two, and read and made without NumPy.
    """

    __slots__ = ("data", "dtype", "size")

    def __init__(self, array: Array):
        kept = np.asarray(array)
        self._keep(kept.dtype.name, kept.tobytes(), kept.size)

    @classmethod
    def of(cls, number: object, element: Type) -> DenseElements:
        """A number, rounded to the element, for all of a tile."""
        return cls._of(number, dtype_name(element))

    def like(self, number: float) -> DenseElements:
        """Another number of this dtype, for all of a tile."""
        return self._of(number, self.dtype)

    @classmethod
    def _of(cls, number: object, dtype: str) -> DenseElements:
        data = _pack(number, dtype)
        return cls(np.asarray(number, _dtype(dtype))) if data is None else cls.of_bytes(data, dtype, 1)

    @classmethod
    def of_bytes(cls, data: bytes, dtype: str, size: int) -> DenseElements:
        """As many elements of a dtype, in the order of bytes of this machine."""
        made = cls.__new__(cls)
        made._keep(dtype, data, size)
        return made

    def _keep(self, dtype: str, data: bytes, size: int) -> None:
        """The bytes, of one element where all are equal: so that NaNs and signed zeros compare by their bits."""
        one = data[: len(data) // size] if size > 1 else data
        equal = size > 1 and data == one * size
        self.dtype, self.data, self.size = dtype, one if equal else data, 1 if equal else size

    @property
    def array(self) -> Array:
        """The elements in one dimension, read-only."""
        return np.frombuffer(self.data, _dtype(self.dtype))

    @property
    def splat(self) -> bool:
        """True where one element stands for all of the tile."""
        return self.size == 1

    @property
    def item(self) -> Any:
        """The only element of a splat as a Python int, float or bool; of a NaN all bits are kept."""
        data = self.data[: len(self.data) // self.size]
        number = _unpack(data, self.dtype)
        if number != number and self.dtype in NAN_MANTISSA:
            return widened(int.from_bytes(data, sys.byteorder), 8 * len(data), NAN_MANTISSA[self.dtype])
        return number

    def expand(self, shape: tuple[int, ...]) -> Array:
        """The elements as an array of `shape`."""
        if self.splat:
            return np.broadcast_to(self.array.reshape(()), shape)
        return self.array.reshape(shape)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.array.reshape(-1))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DenseElements) and self.dtype == other.dtype and self.data == other.data

    def __hash__(self) -> int:
        return hash((self.dtype, self.data))

    def __str__(self) -> str:
        return f"dense<{self.item if self.splat else self.array.tolist()}>"

    def __repr__(self) -> str:
        return f"DenseElements({self.array!r})"
