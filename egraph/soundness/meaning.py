"""What facts mean on concrete tiles: the strongest true fact, weaker ones, and whether a claimed one is true."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from egraph.facts import LARGEST_DIVISOR, limits, pointee_bytes, power_of_two_divisor
from ir.dialects.cuda_tile.attributes import Array, is_array
from ir.types import IntType, PointerType, TileType

UNARY = ("low", "high", "divisor")
BY_DIMENSION = ("contiguity", "constancy", "alignment", "run")


def integers(data: Array) -> npt.NDArray[np.int64]:
    """Elements as signed 64-bit integers, i1 as 0 and 1; floats by their bits, where only equality means anything."""
    values = np.ascontiguousarray(data)
    if values.dtype.kind not in "biu":
        if values.dtype.name == "int4":
            return values.astype(np.int64).reshape(np.shape(data))
        values = values.view(f"i{values.dtype.itemsize}")
    return values.astype(np.int64).reshape(np.shape(data))


def low(data: Array) -> int:
    """The least element."""
    return int(integers(data).min())


def high(data: Array) -> int:
    """The greatest element."""
    return int(integers(data).max())


def divisor(data: Array) -> int:
    """The largest power of two that divides all elements."""
    return min(power_of_two_divisor(int(x)) for x in integers(data).reshape(-1))


def _step(type_: TileType) -> int:
    """By how much consecutive elements of a contiguous group differ."""
    return pointee_bytes(type_.element) if isinstance(type_.element, PointerType) else 1


def _width(type_: TileType) -> int:
    return type_.element.width if isinstance(type_.element, IntType) else 64


def contiguous(data: Array, type_: TileType, d: int, group: int, wrapping: bool = True) -> bool:
    """Whether aligned groups along `d` go up by one, modulo 2^width or without wrapping."""
    blocks = _blocks(data, d, group)
    expected = blocks[..., :1] + np.arange(group) * _step(type_)
    difference = blocks - expected
    if wrapping and _width(type_) < 64:
        return bool(np.all(difference % (1 << _width(type_)) == 0))
    return bool(np.all(difference == 0))


def constant(data: Array, d: int, group: int) -> bool:
    """Whether aligned groups along `d` are equal."""
    blocks = _blocks(data, d, group)
    return bool(np.all(blocks == blocks[..., :1]))


def aligned(data: Array, d: int, group: int, by: int) -> bool:
    """Whether `by` divides every element whose index along `d` is a multiple of `group`."""
    return bool(np.all(_blocks(data, d, group)[..., 0] % by == 0))


def _blocks(data: Array, d: int, group: int) -> npt.NDArray[np.int64]:
    moved = np.moveaxis(integers(data), d, -1)
    return moved.reshape(*moved.shape[:-1], moved.shape[-1] // group, group)


def _largest(size: int, holds: Callable[[int], bool]) -> int:
    """The largest power of two up to `size` for which `holds`."""
    group = size
    while group > 1 and not holds(group):
        group //= 2
    return group


def strongest(fact: str, data: Array, type_: TileType, d: int = 0, contiguity: int = 1) -> int:
    """The strongest true value of a fact; `contiguity` is the one that alignment refers to."""
    size = type_.shape[d] if type_.shape else 1
    if fact == "low":
        return low(data)
    if fact == "high":
        return high(data)
    if fact == "divisor":
        return divisor(data)
    if fact == "constancy":
        return _largest(size, lambda g: constant(data, d, g))
    if fact == "alignment":
        return divisor(_blocks(data, d, contiguity)[..., 0])
    return _largest(size, lambda g: contiguous(data, type_, d, g, wrapping=fact == "contiguity"))


def weaker(fact: str, value: int, type_: TileType, amount: int) -> int:
    """A true but weaker fact."""
    if fact in ("low", "high"):
        least, most = limits(_width(type_))
        return max(least, value - amount) if fact == "low" else min(most, value + amount)
    return max(1, value >> min(amount, 3))


def true_claim(fact: str, value: int, data: Array, type_: TileType, d: int = 0, contiguity: int = 1) -> bool:
    """Whether a claimed fact holds for a tile."""
    if fact == "low":
        return value <= low(data)
    if fact == "high":
        return value >= high(data)
    if not 1 <= value <= LARGEST_DIVISOR or value & (value - 1):
        return False
    if fact == "divisor":
        return divisor(data) >= value
    if fact == "alignment":
        return aligned(data, d, contiguity, value)
    if type_.shape[d] % value:
        return False
    if fact == "constancy":
        return constant(data, d, value)
    return contiguous(data, type_, d, value, wrapping=fact == "contiguity")


def is_multiple(data: Array, by: int) -> bool:
    """Whether `by` divides every element; 0 divides 0 alone."""
    return bool(np.all(integers(data) % by == 0 if by else integers(data) == 0))


_OPERATIONS: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def fits(function: str, a: Array, b: Array, width: int) -> bool:
    """Whether all sums, differences or products fit a signed type of `width` bits (i1 as 0 and 1)."""
    least, most = limits(width)
    return all(least <= x <= most for x in _exact(function, a, b, -1))


def fits_unsigned(function: str, a: Array, b: Array, width: int) -> bool:
    """The same for unsigned readings."""
    mask = (1 << width) - 1
    return all(0 <= x <= mask for x in _exact(function, a, b, mask))


def _exact(function: str, a: Array, b: Array, mask: int) -> list[int]:
    """Results in Python's integers, which do not wrap; operands under `mask`."""
    pairs = zip(integers(a).reshape(-1).tolist(), integers(b).reshape(-1).tolist(), strict=True)
    return [_OPERATIONS[function](x & mask, y & mask) for x, y in pairs]


def equal(a: object, b: object) -> bool:
    """Bitwise equality of tiles, NaNs equal; equality of tokens."""
    if not is_array(a):
        return bool(a == b)
    left: Array = np.asarray(a)
    right: Array = np.asarray(b)
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if left.dtype.kind in "biu":
        return bool(np.array_equal(left, right))
    with np.errstate(invalid="ignore"):  # NaNs that signal
        x, y = left.astype(np.float64), right.astype(np.float64)
    same = (x == y) & (np.signbit(x) == np.signbit(y))
    return bool(np.all(same | (np.isnan(x) & np.isnan(y))))


ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: _quotient(a, b),
    "%": lambda a, b: a - b * _quotient(a, b),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: _in_i64(a << b) if 0 <= b < 64 else 1 << 70,
    ">>": lambda a, b: a >> b if 0 <= b < 64 else 1 << 70,
    "min": min,
    "max": max,
}
"""egglog's own operations on numbers; what its checked arithmetic refuses is beyond 64 bits. A shift drops bits."""


def _in_i64(a: int) -> int:
    return ((a + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
