"""Attributes of cuda_tile: enumerations with their bytecode codes, assumptions of `assume`, literals, hints, placement.

The integer of every enumeration member is its bytecode code (CUDA Tile IR 13.4, attribute encodings).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

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

Array = npt.NDArray[Any]


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
    def read(body: str, *_: Any) -> DivBy:
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
    def read(body: str, *_: Any) -> SameElements:
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
    def read(body: str, *_: Any) -> Bounded:
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


_DTYPES: dict[Type, np.dtype[Any]] = {
    IntType(1): np.dtype(np.bool_),
    IntType(8): np.dtype(np.int8),
    IntType(16): np.dtype(np.int16),
    IntType(32): np.dtype(np.int32),
    IntType(64): np.dtype(np.int64),
    F16: np.dtype(np.float16),
    F32: np.dtype(np.float32),
    TF32: np.dtype(np.float32),
    F64: np.dtype(np.float64),
    F8E5M3FNU: np.dtype(np.float32),  # no NumPy type; every value of the format is a float32 value
}
_NARROW: dict[Type, str] = {
    IntType(4): "int4",
    BF16: "bfloat16",
    F8E4M3FN: "float8_e4m3fn",
    F8E5M2: "float8_e5m2",
    F8E8M0FNU: "float8_e8m0fnu",
    F4E2M1FN: "float4_e2m1fn",
}
"""Types that NumPy has from ml_dtypes, a shared library loaded only for programs with such literals (5 ms)."""


def dtype_of(element: Type) -> np.dtype[Any]:
    """The NumPy dtype that holds an element: i1 as bool, tf32 and fnv8E5M3FNU as float32, pointers as int64."""
    if isinstance(element, PointerType):
        return np.dtype(np.int64)
    found = _DTYPES.get(element)
    if found is not None:
        return found
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, _NARROW[element]))


def _bytes_of(array: Array) -> Array:
    """One row of bytes per element, so that NaNs and signed zeros compare by their bits."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)


class DenseElements(Attribute):
    """A literal: a read-only 1-D array in row-major order of the tile's dtype; one element if all are equal."""

    __slots__ = ("array",)

    def __init__(self, array: Array):
        kept = np.array(array).reshape(-1)
        if kept.size > 1 and not np.any(_bytes_of(kept) != _bytes_of(kept)[0]):
            kept = kept[:1].copy()
        kept.flags.writeable = False
        self.array: Array = kept

    @property
    def splat(self) -> bool:
        """Whether one element represents the whole tile."""
        return self.array.size == 1

    @property
    def item(self) -> Any:
        """The only element of a splat as a Python int, float or bool; all bits of a NaN are kept."""
        value = self.array.reshape(-1)[0]
        mantissa = NAN_MANTISSA.get(self.array.dtype.name)
        with np.errstate(invalid="ignore"):  # a signalling NaN
            payload = mantissa if mantissa is not None and np.isnan(value) else None
        if payload is not None:
            size = self.array.dtype.itemsize
            return widened(int(self.array.reshape(-1)[:1].view(f"u{size}")[0]), 8 * size, payload)
        return value.item() if self.array.dtype.kind in "biuf" else float(value)

    def expand(self, shape: tuple[int, ...]) -> Array:
        """The elements as an array of `shape`."""
        if self.splat:
            return np.broadcast_to(self.array.reshape(()), shape)
        return self.array.reshape(shape)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.array.reshape(-1))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DenseElements)
            and self.array.dtype == other.array.dtype
            and self.array.size == other.array.size
            and self.array.tobytes() == other.array.tobytes()
        )

    def __hash__(self) -> int:
        return hash((self.array.dtype.str, self.array.tobytes()))

    def __str__(self) -> str:
        return f"dense<{self.item if self.splat else self.array.tolist()}>"

    def __repr__(self) -> str:
        return f"DenseElements({self.array!r})"
