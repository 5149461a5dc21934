"""Random types, tiles and attributes for checking rules: varied enough that guards hold often and edge cases occur."""

from __future__ import annotations

import enum
from functools import cache
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from egraph.facts import largest, limits, pointee_bytes, smallest_normal
from egraph.soundness import patterns
from ir.core import OPS, AttrField, OperandGroup, Type
from ir.dialects.cuda_tile import Bounded, DenseElements, DivBy, MmaF, Rounding, SameElements, TileOp, dtype_of
from ir.dialects.cuda_tile.attributes import SHAPE, Array
from ir.records import dataclass
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
    Element,
    FloatType,
    IntType,
    PointerType,
    TileType,
)

ELEMENTS: tuple[Element, ...] = (
    *(I32, I32, I32, I32, I64, I64, I1, I1, I1, I8, I8, I16, I4),
    *(F32, F32, F32, F32, F32, F16, F16, BF16, F64),
    *(TF32, F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN),
    *(PointerType(F32), PointerType(F16), PointerType(I8)),
)
"""Element types, the frequent ones of real kernels more often."""

SIZES = (1, 2, 4, 8)
LONG = (64, 128, 256)
"""Sizes of a dimension along which i8 wraps, drawn now and then."""

NUMBERS = (0, 0, 1, 1, -1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 31, 32, 63, 64, 100, 127, 128, -2, -3, -8, -64, -128)
"""Integers that rules single out, and their neighbours."""

REALS = (1.0, -1.0, 0.0, -0.0, 2.0, 0.5, 4.0, -0.25, 3.0, 0.1, 1024.0, np.inf, np.nan, 1e-3)
ROUNDINGS = (0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5)
"""Integers of roundings; the last two, approximate and full, are those of f32 alone."""

_REGIMES = 5
"""Ranges of exponents: about 1, all, beside the least normal number (closely, or not), beside the largest."""
_KINDS = 10
"""Ways to draw a tile of integers."""

_MIXED = 8
"""Elements from which on a tile beside the limits often has both."""
_TO_INTEGERS = ("exti", "trunci", "ftoi")
_LONGER = {"exti": True, "trunci": False}
"""Is the result of a conversion of integers longer than its operand?"""


@dataclass(frozen=True)
class Matrices:
    """Sizes of the tiles of matrix products, and element types of their factors."""

    m: tuple[int, ...] = (2, 4, 8)
    k: tuple[int, ...] = (2, 4, 8)
    n: tuple[int, ...] = (2, 4, 8)
    factors: tuple[Element, ...] = (F16, BF16, F32)


class Sampler:
    """A source of random parts around one preferred shape; `grouped`: how often all tiles lie in groups of one size,
    `edged`: how often all are small and beside zero or a limit; `short`: how often floats are powers of two, or
    numbers of few bits, of any exponent.
    """

    def __init__(self, rng: np.random.Generator, grouped: float = 0.1, edged: float = 0.1, short: float = 0.0):
        self.rng = rng
        self.short = short
        self.regime = int(rng.integers(_REGIMES))
        rank = int(rng.choice((0, 1, 1, 1, 2, 2, 2, 2, 2, 3)))
        self.shape = tuple(self.pick(SIZES) for _ in range(rank))
        if self.chance(0.04):
            self.shape = (self.pick(LONG),)
        self.integer_kind = int(rng.integers(_KINDS))
        self.edged = self.chance(edged)  # few elements, all beside zero or a limit
        if self.edged:
            self.shape = self.pick(((), (), (1,), (2,), (8,)))
        self.tokens = 0
        self.group, self.whole = 1, False
        self.grouped = not self.edged and self.chance(grouped)  # all tiles in aligned groups of one size
        self.along = int(rng.integers(6))
        self.integer: IntType = self.pick((I1, I8, I8, I16, I32, I32, I64))
        if self.grouped:
            self.shape = tuple(max(n, self.pick((4, 8))) for n in self.shape)
            self.group, self.integer_kind = self.pick((2, 4, 4, 8)), 8
            self.whole = self.chance(0.15)  # groups of all numbers of a width
            if self.whole:
                self.shape, self.integer = self.pick((((256,), I8), ((256,), I8), ((4,), I1)))
                self.group = self.shape[0]
        self.matrices = Matrices()
        self.near: TileType | None = None
        self.drawn: list[tuple[Element, Array]] = []

    def pick(self, options: Any) -> Any:
        """One of a sequence, uniformly."""
        return options[int(self.rng.integers(len(options)))]

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return bool(self.rng.random() < probability)

    def tile_type(self, group: OperandGroup | None = None) -> TileType:
        """A type that `group` accepts, mostly of the preferred shape."""
        near = self.near
        if near is not None and self.chance(0.85) and (group is None or group.check is None or group.check(near)):
            return near
        preferred = self.shape if near is None else near.shape
        shape = preferred if self.chance(0.75) else tuple(self.pick(SIZES) for _ in range(int(self.rng.integers(3))))
        if group is not None and group.check is not None and not _accepted(group):
            shape = ()
        elements = ELEMENTS if group is None else _accepted(group) or _accepted_scalars(group)
        if shape[-1:] > (32,) and I8 in elements and self.chance(0.6):
            return TileType(shape, I8)
        if self.edged and I8 in elements and self.chance(0.7):
            # of few numbers many pairs are at a limit
            return TileType(shape, I4 if I4 in elements and self.chance(0.3) else I8)
        if self.grouped and self.integer in elements and self.chance(1 if self.whole else 0.7):
            return TileType(shape, self.integer)
        return TileType(shape, self.pick(elements or ELEMENTS))

    def number(self, element: Element) -> int:
        """An integer that fits the element type."""
        low, high = limits(element.width)
        known = [array for other, array in self.drawn if other == element]
        if self.edged and self.chance(0.4):
            number = self.reaching(element.width)
        elif self.edged and self.chance(0.6):
            number = self.pick(patterns.edges(element.width))
        elif known and self.chance(0.4):
            number = self.beside(self.pick(known))
        elif self.chance(0.6 if self.grouped else 0.2):
            number = self.group * self.pick((0, 1, 1, 2, -1))
        elif self.chance(0.7):
            number = int(self.pick(NUMBERS))
        elif self.chance(0.7):
            number = self.pick(patterns.integers(element.width))
        else:
            number = int(self.rng.integers(low, high, endpoint=True))
        return number if low <= number <= high else int(self.rng.integers(0, min(high, 127), endpoint=True))

    def beside(self, array: Array) -> int:
        """One of a tile's elements, mostly the least or the greatest, or a number next to it."""
        end = int(self.pick((array.min(), array.max(), self.pick(array.reshape(-1)))))
        least, most = limits(64)
        return min(max(end + self.pick((0, 0, 1, -1)), least), most)

    def reaching(self, width: int) -> int:
        """A number whose sum, difference or product with one that was drawn is a limit, or next to one."""
        known = [int(x) for _, array in self.drawn for x in array.reshape(-1)[:2]]
        other = self.pick(known) if known else 0
        if other == 0:
            return self.pick((2, 3, 4, -1, -3))
        end = self.pick(limits(self.pick((8, width)))) + self.pick((-1, 0, 0, 1))
        least, most = limits(64)
        return min(max(self.pick((end - other, other - end, end // other, -(-end // other))), least), most)

    def tile(self, type_: TileType) -> Array:
        """Elements for a tile."""
        element = type_.element
        if isinstance(element, FloatType):
            return self._floats(type_.shape, element)
        if isinstance(element, PointerType):
            step = pointee_bytes(element)
            base: int = self.pick((16, 64, 3 * step)) * 1024
            return self._integers(type_.shape, I32) % 4096 * step + base
        beside = self.chance(0.1 if self.grouped else 0.15 if self.edged else 0.3)
        values = self._beside_drawn(type_.shape, element) if beside else None
        if values is None and self.edged and self.chance(0.3):
            values = wrapped(np.full(type_.shape, self.reaching(element.width), np.int64), element.width)
        values = self._integers(type_.shape, element) if values is None else values
        self.drawn.append((element, values))
        return values.astype(dtype_of(element))

    def _beside_drawn(self, shape: tuple[int, ...], element: IntType) -> npt.NDArray[np.int64] | None:
        """A tile whose elements are those of one drawn before, or the number at an end of them, or next to it."""
        known = [array for other, array in self.drawn if other == element]
        if not known:
            return None
        array = self.pick(known)
        if array.shape == shape and self.chance(0.5):
            with np.errstate(over="ignore"):  # of one element NumPy would say that it wraps
                return wrapped(array + self.pick((0, 0, 1, -1)), element.width)
        return wrapped(np.full(shape, self.beside(array), np.int64), element.width)

    def _floats(self, shape: tuple[int, ...], element: FloatType) -> Array:
        """Ordinary numbers, sums that cancel, and numbers by their bits: singular ones, or any near one exponent."""
        dtype = dtype_of(element)
        if self.chance(self.short):
            return self._short(shape, element)
        if self.chance(0.4):
            return self._bits(shape, element)
        values = np.asarray(self.rng.normal(size=shape)) * self.pick((1.0, 1.0, 100.0, 1e-6, 1e4))
        special = np.asarray(self.rng.random(size=shape)) < self.pick((0.0, 0.0, 0.3))
        chosen = np.asarray(self.rng.choice(REALS, size=shape))
        if self.chance(0.25):
            values = self.rng.integers(-2, 3, size=shape).astype(np.float64)  # sums that cancel to a signed zero
        with np.errstate(all="ignore"):
            found = np.where(special, chosen, values).astype(dtype)
        return patterns.floats(element, found.view(np.uint32) >> np.uint32(13)) if element == TF32 else found

    def _short(self, shape: tuple[int, ...], element: FloatType) -> Array:
        """Numbers whose sums, products and quotients are often exact, or leave the range of the format."""
        least, most = (int(np.log2(f(dtype_of(element)))) for f in (smallest_normal, largest))
        if self.chance(0.15):  # exponents of functions, over the range of the format
            numbers = np.asarray(self.rng.uniform(least - 20, most, size=shape) * self.pick((1, 0.69)))
            return numbers.astype(dtype_of(element))
        if self.chance(0.15):
            return np.zeros(shape, dtype_of(element))
        where = self.regime if self.chance(0.4) else int(self.rng.integers(_REGIMES))
        middle, spread = ((0, 4), (0, most // 2), (least, 1), (least, 5), (most, 3))[where]
        exponents = self.rng.integers(middle - spread, middle + spread, size=shape, endpoint=True)
        odd = self.rng.choice(self.pick(((1,), (1,), (1, 3, 5, 7), (9, 11, 12, 13, 15), (1, 2**20 + 1))), size=shape)
        signs = self.rng.choice((-1, 1), size=shape) if self.chance(0.7) else 1
        with np.errstate(all="ignore"):
            return np.asarray(np.ldexp(1.0 * odd * signs, exponents)).astype(dtype_of(element))

    def _bits(self, shape: tuple[int, ...], element: FloatType) -> Array:
        size, sign = prod(shape), 1 << (patterns.width(element) - 1)
        mantissa, edges = patterns.mantissa_bits(element), patterns.singular(element)
        kind = int(self.rng.integers(3))
        if kind == 0:
            found = np.asarray(self.rng.choice(edges, size=size)).astype(np.uint64)
        else:  # any mantissa beside the exponent of an edge, or beside zero: sums and products round, cancel, underflow
            start = int(self.pick(edges)) & (sign - 1) if kind == 1 else 0
            near = start + np.asarray(self.rng.integers(-1 << mantissa, 3 << mantissa, size=size)).astype(np.int64)
            signs = np.asarray(self.rng.integers(0, 2, size=size)).astype(np.uint64)
            found = np.maximum(near, 0).astype(np.uint64) | signs * np.uint64(sign)
        return patterns.floats(element, found).reshape(shape)

    def _integers(self, shape: tuple[int, ...], element: IntType) -> npt.NDArray[np.int64]:
        """Equal, consecutive, small, multiples of a power of two, in groups, or anything, wrapped to the width."""
        low, high = limits(element.width)
        kind = self.integer_kind if self.chance(0.9 if self.grouped else 0.6) else int(self.rng.integers(_KINDS))
        if kind >= 8 and shape and not (self.grouped and self.chance(0.5 if self.whole else 0.25)):
            return wrapped(self._groups(shape, element), element.width)
        size = prod(shape)
        if self.grouped:  # what groups are compared with, or divided by
            return wrapped(np.full(shape, self.group * self.pick((0, 0, 1, 1, 2, -1)), np.int64), element.width)
        if self.chance(0.9 if self.edged else 0.12):  # sums and products of them are next to the limits
            values = np.asarray(self.rng.choice(np.array(patterns.edges(element.width)), size))
            if size >= _MIXED and self.chance(0.5):
                values[[0, -1]] = low, high
        elif kind == 0:
            values = np.full(size, self.number(element), np.int64)
        elif kind in (1, 2):
            start = int(self.pick((0, 0, 1, 4, 8, 64, 3, -4, -8, -64, high - 5, low)))
            inner = shape[-1] if shape and kind == 1 else size
            values = (start + np.arange(size) % max(inner, 1)).astype(np.int64)
            if len(shape) == 2 and self.chance(0.5):
                values = np.ascontiguousarray(values.reshape(shape[::-1]).T).reshape(-1)
        elif kind in (3, 4):
            values = self.rng.integers(0, self.pick((2, 4, 16, 100)), size)
        elif kind == 5:
            values = self.rng.integers(-9, 9, size)
        elif kind == 6:
            values = self.rng.integers(-4, 12, size) * int(self.pick((2, 4, 8, 16, 64, 6)))
        elif self.chance(0.5):
            values = np.asarray(self.rng.choice(np.array(patterns.integers(element.width)), size))
        else:
            values = self.rng.integers(low, high, size, dtype=np.int64, endpoint=True)
        return wrapped(values.astype(np.int64), element.width).reshape(shape)

    def dimension(self, rank: int) -> int:
        """A dimension of so many: where all tiles lie in groups, mostly that along which they do."""
        return self.along % rank if self.grouped and self.chance(0.8) else int(self.rng.integers(rank))

    def _groups(self, shape: tuple[int, ...], element: IntType) -> npt.NDArray[np.int64]:
        """Along one dimension, aligned groups of equal or consecutive elements, each from a multiple of some number."""
        d = self.dimension(len(shape))
        group = int(self.pick([n for n in (1, 2, 4, 8, 16, *LONG) if n <= shape[d]]))
        if self.grouped and self.group <= shape[d] and self.chance(1 if self.whole else 0.7):
            group = self.group
        starts = (*shape[:d], shape[d] // group, *shape[d + 1 :])
        self.group = self.group if self.grouped else group
        by = int(self.pick((1, group, group, group, 2 * group) if self.grouped else (1, 1, 2, 4, 8, group, 2 * group)))
        first = np.asarray(self.rng.integers(self.pick((0, 0, -4)), 8, size=starts)).astype(np.int64) * by
        if self.chance(0.3):  # groups that wrap, or end where they would
            first = first + limits(element.width)[1] + 1 - group
        values = np.repeat(first, group, axis=d)
        if self.chance(0.85 if self.whole else 0.6):
            along = np.arange(shape[d], dtype=np.int64) % group
            values = values + along.reshape([-1 if e == d else 1 for e in range(len(shape))])
        return values

    def token(self) -> frozenset[int]:
        """A new token: tokens are sets of events."""
        self.tokens += 1
        return frozenset((self.tokens,))

    def attribute(
        self,
        attribute: AttrField,
        mnemonic: str,
        operands: list[tuple[Type | None, object]],
        within: tuple[int, int] | None = None,
    ) -> object:
        """A value for an attribute that nothing fixes, one of a list `within` some bounds; promises of assume are true
        of its value.
        """
        kind = attribute.kind
        if mnemonic == "ftoi" and kind is Rounding:
            return attribute.default
        if kind is Rounding and attribute.default is not None:
            return Rounding(int(self.pick(ROUNDINGS if within is None else _within(ROUNDINGS, *within))))
        if issubclass(kind, enum.IntEnum):
            return kind(self.pick(list(kind))) if attribute.default is not None else None
        if kind is bool:
            return self.chance(0.4)
        type_ = operands[0][0] if operands else None
        shape = type_.shape if isinstance(type_, TileType) else ()
        if attribute.name == "permutation":
            return tuple(int(d) for d in self.rng.permutation(len(shape)))
        if mnemonic == "assume":
            return self.promise(cast("Array | None", operands[0][1]), type_)
        return attribute.default if not attribute.required else int(self.rng.integers(3))

    def promise(self, data: Array | None, type_: Type | None) -> DivBy | Bounded | SameElements:
        """A true promise about a tile (or one about nothing much)."""
        if isinstance(type_, TileType) and isinstance(type_.element, IntType) and data is not None and self.chance(0.4):
            below, above = int(np.min(data)), int(np.max(data))
            return Bounded(below - self.pick((0, 0, 3)), above + self.pick((0, 0, 5)) if self.chance(0.7) else None)
        shape = type_.shape if isinstance(type_, TileType) else ()
        if shape and self.chance(0.4):
            return SameElements(tuple(self.pick((1, n)) for n in shape))
        if shape and self.chance(0.5):
            along = int(self.rng.integers(len(shape)))
            return DivBy(self.pick((1, 2, 4, 16)), self.pick((1, 2, shape[along])), along)
        return DivBy(self.pick((1, 2, 3, 4, 16)))

    def result_type(self, mnemonic: str, operands: list[Type | None], attributes: dict[str, Any]) -> Type:
        """A plausible result type; the op's verifier has the last word."""
        first = next((t for t in operands if isinstance(t, TileType)), None)
        if mnemonic == "iota":
            long = self.chance(0.3)
            return TileType((self.pick(LONG if long else (2, 4, 8, 16)),), I8 if long else self.pick((I32, I64, I8)))
        if mnemonic == "join_tokens":
            return TOKEN
        if first is None:
            return self.tile_type()
        if mnemonic == "broadcast":
            if self.near is not None and len(self.near.shape) == len(first.shape) and self.chance(0.9):
                return TileType(self.near.shape, first.element)
            return TileType(tuple(self.pick(SIZES) if n == 1 else n for n in first.shape), first.element)
        if mnemonic == "reshape":
            return TileType(self._reshaped(first.shape), first.element)
        cls = OPS[f"cuda_tile.{mnemonic}"]
        if issubclass(cls, TileOp) and cls.placement is SHAPE and not cls.needs_result_type:  # it follows from theirs
            tiles = [np.zeros(t.shape, bool) for t in operands if isinstance(t, TileType)]
            return TileType(cls.computed(tiles, attributes, first).shape, first.element)
        if mnemonic in ("cmpi", "cmpf"):
            return TileType(first.shape, I1)
        fit = _beside(first.element, _LONGER[mnemonic]) if mnemonic in _LONGER else ()
        if self.near is not None and (not fit or self.near.element in fit) and self.chance(0.5):
            return TileType(first.shape, self.near.element)
        if fit:
            return TileType(first.shape, self.pick(fit))
        kind = FloatType if mnemonic in ("ftof", "itof") else IntType if mnemonic in _TO_INTEGERS else Element
        return TileType(first.shape, self.pick([e for e in ELEMENTS if isinstance(e, kind)]))

    def _reshaped(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The same size: a unit dimension more or less, or another split."""
        size = prod(shape)
        options = [shape, (*shape, 1), (1, *shape), (size,), tuple(n for n in shape if n != 1)]
        options += [(a, size // a) for a in SIZES if size % a == 0]
        return self.pick(options)

    def operand_type(
        self, mnemonic: str, index: int, group: OperandGroup, known: list[Type | None], result: Type | None = None
    ) -> Type:
        """A type for a free operand beside operands already known, and beside a known result."""
        if mnemonic in ("mmaf", "mmai"):
            return self._matrix(index, known, mnemonic == "mmai")
        wanted = result if isinstance(result, TileType) else self.near
        if wanted is not None and (found := self._source(mnemonic, wanted, result is not None)) is not None:
            return found
        if group.check is not None and group.check(TOKEN):
            return TOKEN
        other = next((t for t in known if isinstance(t, TileType)), None)
        if other is None or self.chance(0.1):
            return self.tile_type(group)
        if group.check is None or group.check(other):
            return other
        return TileType(other.shape, self.pick(_accepted(group) or ELEMENTS))

    def _source(self, mnemonic: str, wanted: TileType, bound: bool) -> TileType | None:
        """A type of which an operation can make one that is wanted, or `bound`; None where any other may do."""
        if mnemonic == "broadcast":
            return TileType(tuple(1 if self.chance(0.5) else n for n in wanted.shape), wanted.element)
        if mnemonic == "reshape":
            return TileType(self._reshaped(wanted.shape), wanted.element)
        if mnemonic in _LONGER and isinstance(wanted.element, IntType):
            sources = _beside(wanted.element, not _LONGER[mnemonic])
            if not bound and _LONGER[mnemonic] and wanted.element.width <= I8.width:
                sources = (I8,)  # of few numbers many are at a limit: the result is longer
            again = [element for element, _ in self.drawn if element in sources]  # two operands, extended alike
            sources = tuple(again) if again and self.chance(0.6) else sources
            return TileType(wanted.shape, self.pick(sources)) if sources else None
        return None

    def _matrix(self, index: int, known: list[Type | None], bytes_: bool) -> TileType:
        """Operand `index` of lhs [M, K] x rhs [K, N] + acc [M, N] that fits the known ones."""
        m = k = n = 0
        element: Element | None = None
        for position, type_ in enumerate(known):
            if isinstance(type_, TileType) and len(type_.shape) == 2:
                a, b = type_.shape
                m, k, n = ((a, b, n), (m, a, b), (a, k, b))[position]
                element = type_.element if position < 2 else element
        sizes = self.matrices
        m, k, n = m or self.pick(sizes.m), k or self.pick(sizes.k), n or self.pick(sizes.n)
        factor: Element = element or (I8 if bytes_ else self.pick(sizes.factors))
        if index == 2:
            return TileType((m, n), I32 if bytes_ else self.pick(MmaF.accumulators.get(factor, (F32,))))
        return TileType(((m, k), (k, n))[index], factor)

    def literal(self, type_: TileType, wanted: tuple[float, ...] = ()) -> DenseElements:
        """A literal of a tile type: a splat of one of the numbers that are wanted, a special splat, or dense."""
        dtype = dtype_of(type_.element)
        if isinstance(type_.element, FloatType) and wanted:
            return DenseElements(np.asarray(self.pick(wanted)).astype(dtype))
        if isinstance(type_.element, FloatType) and self.chance(0.8):
            real = self.pick(REALS[:4] if self.chance(0.5) else REALS)  # the first four are those that rules single out
            return DenseElements(np.asarray(real).astype(dtype))
        return DenseElements(self.tile(type_))


def wrapped(values: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    """Integers modulo 2^width in the signed range; i1 as 0 and 1."""
    if width >= 64:
        return values
    kept = values & ((1 << width) - 1)
    return kept if width == 1 else np.where(kept >= 1 << (width - 1), kept - (1 << width), kept)


@cache
def _within(numbers: tuple[int, ...], least: int, most: int) -> tuple[int, ...]:
    """The numbers within bounds; all, where none are."""
    return tuple(n for n in numbers if least <= n <= most) or numbers


@cache
def _beside(element: Element, longer: bool) -> tuple[IntType, ...]:
    """The integer types longer than this one, or the shorter ones, those with arithmetic twice."""
    others = (I1, I4, *(I8, I16, I32, I64) * 2)
    return tuple(each for each in others if (each.width > element.width if longer else each.width < element.width))


@cache
def _accepted(group: OperandGroup) -> tuple[Element, ...]:
    """The elements whose tiles of any shape an operand accepts."""
    check = group.check
    return ELEMENTS if check is None else tuple(e for e in ELEMENTS if check(TileType((2,), e)))


@cache
def _accepted_scalars(group: OperandGroup) -> tuple[Element, ...]:
    check = group.check
    return ELEMENTS if check is None else tuple(e for e in ELEMENTS if check(TileType((), e)))
