"""Correctly rounded f32 and f64 arithmetic for which NumPy's is not enough: fused multiply-add and rounding modes."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ptxsim.floats import FORMATS, fma_odd, round_bits, to_odd, two_sum
from ptxsim.ptx_types import Array

# The low 29 bits of a float64 product that is a tie of float32: the only case in which rounding twice can go wrong.
_LOW = np.uint64((1 << 29) - 1)
_TIE = np.uint64(1 << 28)
_SMALL_F32 = float(np.finfo(np.float32).smallest_normal)
# Magnitudes within which Dekker's splitting and the error terms of float64 neither overflow nor underflow.
_SAFE_HIGH, _SAFE_LOW = 2.0**400, 2.0**-400
_SPLITTER = float((1 << 27) + 1)


def fma_f32(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of float32 arrays, rounded once to nearest even."""
    total = np.multiply(a, b, dtype=np.float64)
    total += c
    low = total.view(np.uint64) & _LOW
    # a tie of float32 may result from the first rounding, and subnormal results have their ties elsewhere
    if (low == _TIE).any() or (np.abs(total) < 2 * _SMALL_F32).any():
        exact = fma_odd(a.astype(np.float64), b.astype(np.float64), c.astype(np.float64))
        return exact.astype(np.float32)
    return total.astype(np.float32)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product of float64 arrays and its exact error (Dekker), within the safe range."""
    product = a * b
    big_a, big_b = _SPLITTER * a, _SPLITTER * b
    high_a, high_b = big_a - (big_a - a), big_b - (big_b - b)
    low_a, low_b = a - high_a, b - high_b
    error = low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)
    return product, error


def fma_f64(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of float64 arrays, rounded once to nearest even (Boldo and Melquiond, 2008)."""
    product, error = _two_product(a, b)
    total, low = two_sum(c, error)
    high, middle = two_sum(product, total)
    result = high + to_odd(*two_sum(low, middle))
    size_a, size_b, size_c = np.abs(a), np.abs(b), np.abs(c)
    safe = (size_a < _SAFE_HIGH) & (size_b < _SAFE_HIGH) & (size_c < _SAFE_HIGH)
    safe &= ((size_a > _SAFE_LOW) & (size_b > _SAFE_LOW)) | (size_a == 0) | (size_b == 0)
    safe &= (size_c > _SAFE_LOW) | (size_c == 0)
    # an exact zero keeps the sign that the two roundings of IEEE arithmetic give it
    result = np.where((a == 0) | (b == 0) | (result == 0), a * b + c, result)
    if safe.all():
        return result
    for place in np.flatnonzero(~safe):
        x, y, z = float(a[place]), float(b[place]), float(c[place])
        result[place] = _exact_fma(x, y, z)
    return result


def _exact_fma(a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    return _round_fraction(exact, "rn") if exact else a * b + c


def _round_fraction(exact: Fraction, mode: str) -> float:
    """A rational number rounded to float64."""
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    quantum = Fraction(2) ** (max(exponent, -1022) - 52)
    whole, rest = divmod(size / quantum, 1)
    goes_up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
        "rz": False,
        "rm": exact < 0 and rest > 0,
        "rp": exact > 0 and rest > 0,
    }[mode]
    rounded = (whole + goes_up) * quantum
    if rounded > Fraction(float(np.finfo(np.float64).max)):
        outward = mode == "rn" or (mode == "rm" and exact < 0) or (mode == "rp" and exact > 0)
        magnitude = math.inf if outward else float(np.finfo(np.float64).max)
    else:
        magnitude = float(rounded)
    return -magnitude if exact < 0 else magnitude


def directed_f64(name: str, mode: str, *operands: Array) -> Array:
    """add, mul, fma, div, rcp or sqrt of float64 arrays in a directed rounding mode, element by element."""
    nearest = NEAREST_F64[name](*operands)
    result = np.array(nearest)
    if name == "sqrt":
        for place in np.flatnonzero(np.isfinite(operands[0]) & (operands[0] > 0)):
            result[place] = _directed_sqrt(float(operands[0][place]), mode)
        return result
    operation = _RATIONAL[name]
    for place in range(result.size):
        values = tuple(float(operand[place]) for operand in operands)
        if name in ("div", "rcp") and values[-1] == 0:
            continue
        if not all(math.isfinite(value) for value in values):
            continue
        exact = operation([Fraction(value) for value in values])
        if exact != 0:
            result[place] = _round_fraction(exact, mode)
        elif name in ("add", "fma") and mode == "rm" and not _all_same_sign_zero(name, values):
            result[place] = -0.0
    return result


def _all_same_sign_zero(name: str, values: tuple[float, ...]) -> bool:
    """Whether a zero sum adds two zeros of positive sign, which is +0 in every mode."""
    terms = values if name == "add" else (values[0] * values[1], values[2])
    return all(term == 0 and math.copysign(1, term) > 0 for term in terms)


def _directed_sqrt(value: float, mode: str) -> float:
    root = math.sqrt(value)
    error = Fraction(value) - Fraction(root) ** 2
    if error > 0 and mode == "rp":
        return math.nextafter(root, math.inf)
    if error < 0 and mode in ("rz", "rm"):
        return math.nextafter(root, 0)
    return root


_RATIONAL: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "add": lambda v: v[0] + v[1],
    "mul": lambda v: v[0] * v[1],
    "fma": lambda v: v[0] * v[1] + v[2],
    "div": lambda v: v[0] / v[1],
    "rcp": lambda v: 1 / v[0],
}


def _reciprocal(values: Array) -> Array:
    return values.dtype.type(1) / values


NEAREST_F64: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "mul": np.multiply,
    "fma": fma_f64,
    "div": np.divide,
    "rcp": _reciprocal,
    "sqrt": np.sqrt,
}
NEAREST_F32: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "mul": np.multiply,
    "fma": fma_f32,
    "div": np.divide,
    "rcp": _reciprocal,
    "sqrt": np.sqrt,
}


def directed_f32(name: str, mode: str, *operands: Array) -> Array:
    """add, mul, fma, div, rcp or sqrt of float32 arrays in a directed rounding mode."""
    wide = [operand.astype(np.float64) for operand in operands]
    if name == "add":
        total, error = two_sum(wide[0], wide[1])
        odd = to_odd(total, error)
    elif name == "mul":
        odd = wide[0] * wide[1]
    elif name == "fma":
        odd = fma_odd(wide[0], wide[1], wide[2])
    else:
        odd = _odd_quotient_or_root(name, wide)
    result = round_bits(odd, FORMATS["f32"], mode).view(np.float32)
    if mode == "rm" and name in ("add", "fma"):
        # an exact cancellation is -0 when rounding down (IEEE 754-2019, 6.3)
        first = wide[0] if name == "add" else wide[0] * wide[1]
        cancels = (odd == 0) & ~((first == 0) & (wide[-1] == 0) & ~np.signbit(first) & ~np.signbit(wide[-1]))
        result = np.where(cancels, np.float32(-0.0), result)
    return result


def _odd_quotient_or_root(name: str, wide: list[Array]) -> Array:
    """A quotient or square root in float64, rounded to odd by the sign of its exact remainder."""
    if name == "sqrt":
        root = np.sqrt(wide[0])
        return _guarded_odd(root, fma_f64(-root, root, wide[0]))
    top = np.ones_like(wide[0]) if name == "rcp" else wide[0]
    result = top / wide[-1]
    return _guarded_odd(result, fma_f64(-result, wide[-1], top) * np.sign(wide[-1]))


def _guarded_odd(value: Array, error: Array) -> Array:
    is_special = ~np.isfinite(value) | (value == 0) | np.isnan(error)
    return np.where(is_special, value, to_odd(value, np.where(is_special, 0.0, error)))
