"""Random types, tiles and attributes for checking rules: varied enough that guards hold often and edge cases occur."""

from __future__ import annotations

import enum
from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from egraph.facts import limits, pointee_bytes
from ir.core import Attr, OperandGroup, Type
from ir.dialects.cuda_tile import Bounded, DenseElements, DivBy, MmaF, SameElements, dtype_of
from ir.types import (
    BF16,
    F4E2M1FN,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    TOKEN,
    Element,
    FloatType,
    IntType,
    PointerType,
    TileType,
)

Array = npt.NDArray[Any]

ELEMENTS: tuple[Element, ...] = (
    *(I32, I32, I32, I64, I64, I1, I1, I8, I16),
    *(F32, F32, F32, F16, F16, BF16, F64),
    *(PointerType(F32), PointerType(F16), PointerType(I8)),
)
"""Element types, the frequent ones of real kernels more often."""

SIZES = (1, 2, 4, 8)

NUMBERS = (0, 1, -1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 31, 32, 63, 64, 100, 127, 128, -2, -3, -8, -64, -128)
"""Integers that rules single out, and their neighbours."""

REALS = (1.0, -1.0, 0.0, -0.0, 2.0, 0.5, 4.0, -0.25, 3.0, 0.1, 1024.0, np.inf, np.nan, 1e-3)


class Draw:
    """A source of random parts around one preferred shape."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        rank = int(rng.choice((0, 1, 1, 1, 2, 2, 2, 2, 2, 3)))
        self.shape = tuple(self.pick(SIZES) for _ in range(rank))
        self.integer_kind = int(rng.integers(8))
        self.tokens = 0

    def pick(self, options: Any) -> Any:
        """One of a sequence, uniformly."""
        return options[int(self.rng.integers(len(options)))]

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return bool(self.rng.random() < probability)

    def tile_type(self, group: OperandGroup | None = None) -> TileType:
        """A type that `group` accepts, mostly of the preferred shape."""
        shape = self.shape if self.chance(0.75) else tuple(self.pick(SIZES) for _ in range(int(self.rng.integers(3))))
        if group is not None and group.check is not None and not _accepted(group):
            shape = ()
        elements = ELEMENTS if group is None else _accepted(group) or _accepted_scalars(group)
        return TileType(shape, self.pick(elements or ELEMENTS))

    def number(self, element: Element) -> int:
        """An integer that fits the element type."""
        low, high = limits(element.width)
        number = int(self.pick(NUMBERS)) if self.chance(0.8) else int(self.rng.integers(low, high, endpoint=True))
        return number if low <= number <= high else int(self.rng.integers(0, min(high, 127), endpoint=True))

    def tile(self, type_: TileType) -> Array:
        """Elements for a tile."""
        element = type_.element
        if isinstance(element, FloatType):
            return self._floats(type_.shape, dtype_of(element))
        if isinstance(element, PointerType):
            step = pointee_bytes(element)
            base: int = self.pick((16, 64, 3 * step)) * 1024
            return self._integers(type_.shape, I32) % 4096 * step + base
        return self._integers(type_.shape, element).astype(dtype_of(element))

    def _floats(self, shape: tuple[int, ...], dtype: Any) -> Array:
        values = np.asarray(self.rng.normal(size=shape)) * self.pick((1.0, 1.0, 100.0, 1e-6, 1e4))
        special = np.asarray(self.rng.random(size=shape)) < self.pick((0.0, 0.0, 0.3))
        chosen = np.asarray(self.rng.choice(REALS, size=shape))
        if self.chance(0.25):
            values = self.rng.integers(-2, 3, size=shape).astype(np.float64)  # sums that cancel to a signed zero
        with np.errstate(all="ignore"):
            return np.where(special, chosen, values).astype(dtype)

    def _integers(self, shape: tuple[int, ...], element: IntType) -> npt.NDArray[np.int64]:
        """Equal, consecutive, small, multiples of a power of two, or anything, wrapped to the width."""
        low, high = limits(element.width)
        kind = self.integer_kind if self.chance(0.6) else int(self.rng.integers(8))
        size = prod(shape)
        if kind == 0:
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
        else:
            values = self.rng.integers(low, high, size, dtype=np.int64, endpoint=True)
        return wrapped(values.astype(np.int64), element.width).reshape(shape)

    def token(self) -> frozenset[int]:
        """A new token: tokens are sets of events."""
        self.tokens += 1
        return frozenset((self.tokens,))

    def attribute(self, attribute: Attr[Any], mnemonic: str, operands: list[tuple[Type | None, Any]]) -> Any:
        """A value for an attribute that nothing fixes; promises of assume are true of its value."""
        kind: Any = attribute.kind
        if isinstance(kind, type) and issubclass(kind, enum.IntEnum):
            return kind(self.pick(list(kind))) if attribute.default is not None else None
        if kind is bool:
            return self.chance(0.3)
        type_ = operands[0][0] if operands else None
        shape = type_.shape if isinstance(type_, TileType) else ()
        if attribute.name == "permutation":
            return tuple(int(d) for d in self.rng.permutation(len(shape)))
        if mnemonic == "assume":
            return self.promise(operands[0][1], type_)
        return attribute.default if not attribute.required else int(self.rng.integers(3))

    def promise(self, data: Any, type_: Type | None) -> DivBy | Bounded | SameElements:
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
            return TileType((self.pick((2, 4, 8, 16)),), self.pick((I32, I32, I64, I8)))
        if mnemonic == "join_tokens":
            return TOKEN
        if first is None:
            return self.tile_type()
        if mnemonic == "broadcast":
            return TileType(tuple(self.pick(SIZES) if n == 1 else n for n in first.shape), first.element)
        if mnemonic == "reshape":
            return TileType(self._reshaped(first.shape), first.element)
        if mnemonic == "permute":
            order: tuple[int, ...] = attributes["permutation"]
            return TileType(tuple(first.shape[d] for d in order), first.element)
        if mnemonic in ("cmpi", "cmpf"):
            return TileType(first.shape, I1)
        if mnemonic == "ftof" and prod(first.shape) % 2 == 0 and self.chance(0.1):
            return TileType(first.shape, F4E2M1FN)  # which has no NaN
        return TileType(first.shape, self.pick(ELEMENTS))

    def _reshaped(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The same size: a unit dimension more or less, or another split."""
        size = prod(shape)
        options = [shape, (*shape, 1), (1, *shape), (size,), tuple(n for n in shape if n != 1)]
        options += [(a, size // a) for a in SIZES if size % a == 0]
        return self.pick(options)

    def operand_type(self, mnemonic: str, index: int, group: OperandGroup, known: list[Type | None]) -> Type:
        """A type for a free operand beside operands already known."""
        if mnemonic == "mmaf":
            return self._matrix(index, known)
        if group.check is not None and group.check(TOKEN):
            return TOKEN
        other = next((t for t in known if isinstance(t, TileType)), None)
        if other is None or self.chance(0.1):
            return self.tile_type(group)
        if group.check is None or group.check(other):
            return other
        return TileType(other.shape, self.pick(_accepted(group) or ELEMENTS))

    def _matrix(self, index: int, known: list[Type | None]) -> TileType:
        """Operand `index` of lhs [M, K] x rhs [K, N] + acc [M, N] that fits the known ones."""
        m = k = n = 0
        element: Element | None = None
        for position, type_ in enumerate(known):
            if isinstance(type_, TileType) and len(type_.shape) == 2:
                a, b = type_.shape
                m, k, n = ((a, b, n), (m, a, b), (a, k, b))[position]
                element = type_.element if position < 2 else element
        m, k, n = (x or self.pick((2, 4, 8)) for x in (m, k, n))
        factor: Element = element or self.pick((F16, BF16, F32))
        if index == 2:
            return TileType((m, n), self.pick(MmaF.accumulators.get(factor, (F32,))))
        return TileType(((m, k), (k, n))[index], factor)

    def literal(self, type_: TileType) -> DenseElements:
        """A literal of a tile type: a special splat, or dense."""
        dtype = dtype_of(type_.element)
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
def _accepted(group: OperandGroup) -> tuple[Element, ...]:
    """The elements whose tiles of any shape an operand accepts."""
    check = group.check
    return ELEMENTS if check is None else tuple(e for e in ELEMENTS if check(TileType((2,), e)))


@cache
def _accepted_scalars(group: OperandGroup) -> tuple[Element, ...]:
    check = group.check
    return ELEMENTS if check is None else tuple(e for e in ELEMENTS if check(TileType((), e)))
