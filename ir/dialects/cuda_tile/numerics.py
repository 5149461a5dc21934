"""Exact rounding for the reference semantics: every rounding mode of every float width on NumPy arrays.

Operations are computed in float64 with their exact error term and rounded once: "round to odd" keeps a sticky bit,
so that the second rounding to 24 bits or fewer is correct (Boldo and Melquiond, "Emulation of FMA and correctly
rounded sums: proved algorithms using rounding to odd", IEEE TC 57(4), 2008).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ir.core import Type
from ir.dialects.cuda_tile.attributes import Array, Predicate, Rounding, dtype_of
from ir.types import F4E2M1FN, F8E4M3FN, F8E5M2, F8E5M3FNU, F8E8M0FNU, TF32, IntType

_PLAIN = tuple(set(Rounding) - {Rounding.ZERO, Rounding.NEGATIVE_INF, Rounding.POSITIVE_INF})
"""Modes whose reference is the nearest value: on a GPU the approximations may be off by ulps."""
_COMPARE: dict[Predicate, Callable[[Array, Array], Array]] = {
    Predicate.EQUAL: operator.eq,
    Predicate.NOT_EQUAL: operator.ne,
    Predicate.LESS_THAN: operator.lt,
    Predicate.LESS_THAN_OR_EQUAL: operator.le,
    Predicate.GREATER_THAN: operator.gt,
    Predicate.GREATER_THAN_OR_EQUAL: operator.ge,
}


def compare(predicate: Predicate, lhs: Array, rhs: Array) -> Array:
    """An elementwise comparison; NaN gives False except for NOT_EQUAL."""
    return np.asarray(_COMPARE[predicate](lhs, rhs))


def read_unsigned(values: Array) -> Array:
    """The same bits as unsigned integers; i1 becomes uint8."""
    if values.dtype == np.bool_:
        return values.astype(np.uint8)
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").reshape(values.shape)


def read_wide(values: Array) -> Array:
    """i1 as the signed integers 0 and -1 (int8), everything else as it is."""
    return -values.astype(np.int8) if values.dtype == np.bool_ else values


def wrap(function: Callable[[Array, Array], Array], lhs: Array, rhs: Array) -> Array:
    """An integer function modulo 2^width, without NumPy's overflow warnings; i1 computes modulo 2."""
    if lhs.dtype == np.bool_:
        return (np.asarray(function(lhs.astype(np.uint8), rhs.astype(np.uint8))) & 1).astype(np.bool_)
    with np.errstate(over="ignore"):
        return np.asarray(function(lhs, rhs))


def flush(values: Array, enabled: bool) -> Array:
    """f32 denormals as zeros of their sign; other types and `enabled=False` unchanged."""
    if not enabled or values.dtype != np.float32:
        return values
    tiny = np.abs(values) < np.finfo(np.float32).tiny
    return np.where(tiny, np.copysign(np.float32(0), values), values)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """float64 sum and its exact error (Knuth)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def _sticky(value: Array, error: Array) -> Array:
    """The float64 `value` rounded to odd, given the sign of the rounding error (`error`)."""
    lost = (error != 0) & np.isfinite(value) & np.isfinite(error)
    bits = np.ascontiguousarray(value).view(np.int64).reshape(np.shape(value))
    if not lost.any():
        return value
    towards = np.where(error > 0, np.inf, -np.inf)
    return np.where(lost & ((bits & 1) == 0), np.nextafter(value, towards), value)


def round_float64(exact: Array, dtype: np.dtype[np.generic], rounding: Rounding = Rounding.NEAREST_EVEN) -> Array:
    """float64 (or narrower) values in `dtype` by one rounding; modes that are not directed round to nearest."""
    nearest = _nearest(exact, dtype)
    return _redirect(nearest, exact - nearest.astype(np.float64), rounding) if rounding not in _PLAIN else nearest


def _redirect(nearest: Array, error: Array, rounding: Rounding) -> Array:
    """Converts nearest results to those of the directed mode; `error` has the sign of exact - nearest."""
    with np.errstate(all="ignore"):
        if rounding == Rounding.ZERO:
            wrong, target = np.where(np.signbit(nearest), error > 0, error < 0), 0.0
        elif rounding == Rounding.NEGATIVE_INF:
            wrong, target = error < 0, -np.inf
        else:
            wrong, target = error > 0, np.inf
        return np.where(wrong, np.nextafter(nearest, np.full_like(nearest, target)), nearest)


def _redirect64(nearest: Array, rounding: Rounding, error: Callable[..., Fraction], *operands: Array) -> Array:
    """Converts float64 results to those of the directed mode, by exact rationals, element by element.

    error: (nearest, operands...) as Fractions -> a number with the sign of exact - nearest.
    """
    if rounding in _PLAIN:
        return nearest

    def sign(result: float, *values: float) -> float:
        if not all(map(math.isfinite, values)) or math.isnan(result):
            return 0.0
        if math.isinf(result):
            return math.copysign(1.0, -result) if all(values) or error is not _quotient_error else 0.0
        lost = error(Fraction(result), *map(Fraction, values))
        return float((lost > 0) - (lost < 0))

    signs = np.frompyfunc(sign, 1 + len(operands), 1)(nearest, *operands)
    return _redirect(nearest, np.asarray(signs).astype(np.float64), rounding)


def _sum_error(r: Fraction, a: Fraction, b: Fraction) -> Fraction:
    return a + b - r


def _product_error(r: Fraction, a: Fraction, b: Fraction) -> Fraction:
    return a * b - r


def _quotient_error(r: Fraction, a: Fraction, b: Fraction) -> Fraction:
    return a / b - r


def _fma_error(r: Fraction, a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    return a * b + c - r


def _root_error(r: Fraction, a: Fraction) -> Fraction:
    return a - r * r


def _nearest(values: Array, dtype: np.dtype[np.generic]) -> Array:
    """Round to nearest even. Casts of ml_dtypes from float64 go through float32, so float32 is made odd first."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if values.dtype != np.float64 or dtype.kind == "f":
            return values.astype(dtype)
        return _odd_float32(values).astype(dtype)


def add_rounded(a: Array, b: Array, rounding: Rounding) -> Array:
    """a + b, rounded once to their type."""
    if rounding in _PLAIN:
        return _plain(np.add, a, b)
    with np.errstate(all="ignore"):
        if a.dtype == np.float64:
            result = _redirect64(a + b, rounding, _sum_error, a, b)
        else:
            result = round_float64(_sticky(*_two_sum(_wide(a), _wide(b))), a.dtype, rounding)
    return _zero_sum(result, a, b, rounding)


def _zero_sum(result: Array, a: Array, b: Array, rounding: Rounding) -> Array:
    """`result` = a + b with the sign of an exact zero: -0 when rounding down (IEEE 754-2019, 6.3), otherwise +0, unless
    both have the same sign.
    """
    zero = (result == 0) & (a == -b) & (np.signbit(a) != np.signbit(b))
    sign = -0.0 if rounding == Rounding.NEGATIVE_INF else 0.0
    return np.where(zero, np.asarray(sign).astype(result.dtype), result)


def multiply_rounded(a: Array, b: Array, rounding: Rounding) -> Array:
    """a * b, rounded once to their type; the float64 product of narrower types is exact."""
    if a.dtype == np.float64 or rounding in _PLAIN:
        return _redirect64(_plain(np.multiply, a, b), rounding, _product_error, a, b)
    with np.errstate(all="ignore"):
        return round_float64(_wide(a) * _wide(b), a.dtype, rounding)


def divide_rounded(a: Array, b: Array, rounding: Rounding) -> Array:
    """a / b, rounded once to their type."""
    if a.dtype == np.float64 or rounding in _PLAIN:
        return _redirect64(_plain(np.divide, a, b), rounding, _quotient_error, a, b)
    with np.errstate(all="ignore"):
        wide_a, wide_b = _wide(a), _wide(b)
        quotient = wide_a / wide_b
        # 53-bit quotients of 24-bit numbers are never within half a float64 ulp of a 24-bit number unless exact.
        return round_float64(quotient, a.dtype, rounding)


def fma_rounded(a: Array, b: Array, c: Array, rounding: Rounding) -> Array:
    """a * b + c, rounded once to their type; f64 goes through exact rationals, element by element."""
    with np.errstate(all="ignore"):
        if a.dtype == np.float64:
            nearest = np.asarray(np.frompyfunc(_fma64, 3, 1)(a, b, c)).astype(np.float64).reshape(np.shape(a))
            return _zero_sum(_redirect64(nearest, rounding, _fma_error, a, b, c), a * b, c, rounding)
        product = _wide(a) * _wide(b)
        result = round_float64(_sticky(*_two_sum(product, _wide(c))), a.dtype, rounding)
        return _zero_sum(result, product, _wide(c), rounding)


def sqrt_rounded(a: Array, rounding: Rounding) -> Array:
    """Square root, rounded once to its type."""
    with np.errstate(all="ignore"):
        if a.dtype == np.float64:
            return _redirect64(np.sqrt(a), rounding, _root_error, a)
        return round_float64(np.sqrt(_wide(a)), a.dtype, rounding)


def extremum(a: Array, b: Array, propagate_nan: bool, largest: bool) -> Array:
    """Maximum or minimum; a NaN wins with `propagate_nan` and loses otherwise; zeros are ordered by sign."""
    with np.errstate(invalid="ignore"):
        first = (a > b) if largest else (a < b)
        both_zero = (a == 0) & (b == 0)
        first = first | (both_zero & (np.signbit(b) if largest else np.signbit(a)))
        loses = np.isnan(a) if not propagate_nan else np.isnan(b) & ~np.isnan(a)
        wins = np.isnan(b) if not propagate_nan else np.isnan(a)
    return np.where((first | wins) & ~loses, a, b)


def _wide(values: Array) -> Array:
    return np.asarray(values).astype(np.float64)


def _plain(function: Callable[[Array, Array], Array], a: Array, b: Array) -> Array:
    """Round-to-nearest in the type itself; 16-bit floats through float32, where the double rounding is harmless.

    24 >= 2 * 11 + 2 bits makes it so for + - * / (Figueroa, "When is double rounding innocuous?", 1995).
    """
    with np.errstate(all="ignore"):
        if a.dtype.itemsize == 2:
            return np.asarray(function(a.astype(np.float32), b.astype(np.float32))).astype(a.dtype)
        return np.asarray(function(a, b))


def _fma64(a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


TF32_DROPPED_BITS = 13  # tf32 keeps 10 of float32's 23 mantissa bits (PTX ISA, alternate floating-point formats)


def round_to_tf32(values: Array, rounding: Rounding = Rounding.NEAREST_EVEN) -> Array:
    """float32 values at tf32 precision, rounded to nearest even, to nearest with ties away from zero, or to zero."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    half = np.uint32((1 << (TF32_DROPPED_BITS - 1)) - 1)
    odd = (bits >> np.uint32(TF32_DROPPED_BITS)) & np.uint32(1)
    if rounding == Rounding.NEAREST_AWAY:
        odd = np.uint32(1)
    if rounding == Rounding.ZERO:
        half = odd = np.uint32(0)
    with np.errstate(over="ignore"):
        rounded = (bits + half + odd) & ~np.uint32((1 << TF32_DROPPED_BITS) - 1)
    return np.where(np.isfinite(values), rounded.view(np.float32).reshape(np.shape(values)), values)


LARGEST: dict[Type, float] = {F8E4M3FN: 448.0, F8E5M2: 57344.0, F4E2M1FN: 6.0}
"""Largest finite numbers. Source: OCP 8-bit floating point specification (OFP8) 1.0, table 1."""


def convert_float(values: Array, element: Type, rounding: Rounding) -> Array:
    """Floats as another float type, rounded once."""
    dtype = dtype_of(element)
    if element == TF32:
        # From f64 the sticky bit of the first rounding keeps the second one right.
        exact = values if values.dtype == np.float32 else _odd_float32(_wide(values))
        return round_to_tf32(exact, rounding)
    if element == F8E8M0FNU:
        return round_to_power(values, rounding)
    if element == F8E5M3FNU:
        return round_to_e5m3(values)
    if element in LARGEST:  # saturates: F2FP.SATFINITE in the SASS of tileiras 13.5
        values = np.clip(
            values if values.dtype == np.float64 else values.astype(np.float32), -LARGEST[element], LARGEST[element]
        )
    if element == F4E2M1FN:  # has no NaN: PTX ISA, cvt, .satfinite
        values = np.where(np.isnan(values), np.asarray(LARGEST[element], values.dtype), values)
    return round_float64(np.asarray(values), dtype, rounding)


def _odd_float32(values: Array) -> Array:
    """float64 values as float32, rounded to odd."""
    with np.errstate(all="ignore"):
        single = np.asarray(values.astype(np.float32))
        back = single.astype(np.float64)
        lost = (back != values) & np.isfinite(values)
        # Rounding to odd truncates if the neighbour towards the value is the odd one; infinity comes back down.
        towards = np.where(values > back, np.float32(np.inf), np.float32(-np.inf))
        even = (single.view(np.int32) & 1) == 0
        return np.where(lost & even, np.nextafter(single, towards), single)


def e5m3_values() -> Array:
    """The finite values of fnv8E5M3FNU in order: no sign, 5 bits of exponent (bias 15), 3 of mantissa; 0xFF is NaN.

    Source: what the disassembler of 13.4 prints for its codes.
    """
    codes: Array = np.arange(255)
    exponent, mantissa = codes >> 3, codes & 7
    normal = np.ldexp(1.0 + mantissa / 8.0, exponent - 15)
    return np.where(exponent == 0, np.ldexp(mantissa / 8.0, -14), normal).astype(np.float32)


def round_to_e5m3(values: Array) -> Array:
    """The nearest fnv8E5M3FNU value (ties to the even code), as float32; negative and too large values are NaN."""
    table = e5m3_values().astype(np.float64)
    wide = _wide(values)
    with np.errstate(invalid="ignore"):
        upper = np.clip(np.searchsorted(table, wide), 1, len(table) - 1)
        below, above = table[upper - 1], table[upper]
        tie_down = (wide - below == above - wide) & ((upper - 1) % 2 == 0)
        nearest = np.where((wide - below < above - wide) | tie_down, below, above)
        largest = table[-1] + (table[-1] - table[-2]) / 2
        return np.where((wide < 0) | ~(wide < largest), np.nan, nearest).astype(np.float32)


LEAST_POWER, LARGEST_POWER = -127, 127
"""Exponents of f8E8M0FNU (OCP microscaling formats 1.0)."""


def round_to_power(values: Array, rounding: Rounding) -> Array:
    """f8E8M0FNU: a power of two towards zero or upwards, within the format's range; negative numbers are NaN."""
    wide = _wide(values)
    with np.errstate(all="ignore"):
        mantissa, exponent = np.frexp(np.where(np.isfinite(wide), wide, 1.0))
        up = (mantissa > 0.5) if rounding == Rounding.POSITIVE_INF else (mantissa > 0.75)
        power = exponent - 1 + (up if rounding != Rounding.ZERO else 0)
        power = np.where(wide == 0, LEAST_POWER, np.where(np.isposinf(wide), LARGEST_POWER, power))
        found = np.ldexp(1.0, np.clip(power, LEAST_POWER, LARGEST_POWER))
    return np.where(np.isnan(wide) | (wide < 0), np.nan, found).astype(dtype_of(F8E8M0FNU))


def to_bits(values: Array, element: Type) -> Array:
    """The bits of each element as an unsigned integer of its storage: a byte for 4-bit elements and i1."""
    if element == F8E5M3FNU:
        codes = np.searchsorted(e5m3_values(), np.nan_to_num(values, nan=np.inf))
        return codes.astype(np.uint8)
    if isinstance(element, IntType) and element.width in (1, 4):
        return values.astype(np.uint8) & np.uint8((1 << element.width) - 1)
    flat = np.ascontiguousarray(values)
    return flat.view(f"u{flat.dtype.itemsize}").reshape(values.shape)


def from_bits(bits: Array, element: Type) -> Array:
    """The elements encoded by unsigned integers of their storage."""
    if element == F8E5M3FNU:
        return np.append(e5m3_values(), np.float32(np.nan))[bits]
    dtype = dtype_of(element)
    if element == IntType(1):
        return bits != 0
    if element == IntType(4):
        return ((bits.astype(np.int8) ^ 8) - 8).astype(dtype)
    words = np.ascontiguousarray(bits.astype(f"u{dtype.itemsize}"))
    found = words.view(dtype).reshape(bits.shape)
    return round_to_tf32(found) if element == TF32 else found


def int_to_float(values: Array, element: Type, rounding: Rounding) -> Array:
    """Integers as floats, rounded once; 64-bit integers keep their low bits as a sticky bit."""
    if values.dtype.itemsize < 8:
        return convert_float(values.astype(np.float64), element, rounding)
    if dtype_of(element) == np.float64:
        return values.astype(np.float64)
    high = values >> 12 << 12
    low = (values - high).astype(np.float64)
    return convert_float(_sticky(*_two_sum(high.astype(np.float64), low)), element, rounding)


def float_to_int(values: Array, signed: bool, dtype: np.dtype[np.generic]) -> Array:
    """Floats truncated towards zero and saturated to the range of the integer; NaN gives 0."""
    if dtype == np.bool_:
        return np.trunc(np.nan_to_num(values.astype(np.float64))) != 0
    bits = dtype.itemsize * 8
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    whole = np.trunc(np.asarray(values).astype(np.float64))
    target = np.dtype(f"{'i' if signed else 'u'}{dtype.itemsize}")
    with np.errstate(invalid="ignore"):
        inside = np.where((whole >= low) & (whole < float(high) + 1), whole, 0).astype(target)
        result = np.where(whole >= float(high) + 1, np.asarray(high, target), inside)
        result = np.where(whole < low, np.asarray(low, target), result)
    return np.asarray(result).view(dtype)
