"""f64 functions: exponentials, logarithms, hyperbolic functions and angles by range reduction and polynomials.

Polynomials are minimax fits (Remez, 60 digits), coefficients rounded to f64; the relative error that each leaves is
stated beside it. What the functions as a whole are off by is measured against mpmath in tests/lowering/test_double.py,
which states the bound of each.
"""

from __future__ import annotations

import math as numbers

from ir.core import Value
from ir.dialects import llvm, nvvm
from ir.types import F64, I32, I64
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.accurate import fma, mul, polynomial, with_sign
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter
from lowering.convert.nvgpu_to_nvvm.floats import compare, magnitude, negative
from lowering.convert.nvgpu_to_nvvm.floats import quotient as over
from lowering.convert.nvgpu_to_nvvm.values import bitcast

MAGIC = 1.5 * 2.0**52  # adding it rounds to an integer, held in the low bits of the sum
LOG2_E = 1.4426950408889634
LOG2_E_LOW = 2.0355273740931033e-17
LN_2 = 0.6931471805599453
LN_2_LOW = 2.3190468138462996e-17
EXP = (0.500000000000001, 0.1666666666666642, 0.0416666666665355, 0.008333333333493098, 0.001388888894240132,
       0.00019841269506683874, 2.480149424272959e-05, 2.7557588108666484e-06, 2.7629875428396524e-07,
       2.4999077406363612e-08)  # fmt: skip
"""e^r = 1 + r + r^2 P(r) for |r| <= ln 2 / 2; error 2^-57."""
LOG = (
    0.6666666666666734,
    0.39999999999413965,
    0.28571428742562144,
    0.22222198553785505,
    0.18183565407248337,
    0.15314021118750684,
    0.14796261168009273,
)
"""2 atanh s = 2 s + s^3 P(s^2) for |s| <= 3 - sqrt(8); error 2^-59."""
ATAN = (-0.333333333333332, 0.19999999999953164, -0.14285714280157588, 0.11111110781686977, -0.09090897711296365,
        0.07692059461209531, -0.06663096208361474, 0.05847836921048282, -0.05039087375547045, 0.03805946613974719,
        -0.017902054144906136)  # fmt: skip
"""atan u = u + u^3 P(u^2) for |u| <= sqrt(2) - 1; error 2^-57."""
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD  # bits of sqrt(1/2), the lower end of the reduced mantissa
LEAST_NORMAL = 2.0**-1022
BIAS, FRACTION = 1023, 52  # of the exponent, and bits of the fraction; IEEE 754-2019, binary64
OVERFLOW, UNDERFLOW = 712.0, -750.0  # e^x is infinite or zero beyond, e^x / 2 too
QUARTER_PI, QUARTER_PI_LOW = 0.7853981633974483, 3.061616997868383e-17
TAN_EIGHTH = 0.4142135623730951  # tan(pi/8)


def f64(e: Emitter, number: float) -> Value:
    """An f64 constant."""
    return e.constant(F64, number)


def add(e: Emitter, x: Value, y: Value) -> Value:
    """x + y in their type."""
    return e.value(llvm.FAdd, x.type, x, y)


def sub(e: Emitter, x: Value, y: Value) -> Value:
    """x - y in their type."""
    return e.value(llvm.FSub, x.type, x, y)


def within(e: Emitter, x: Value, low: float, high: float) -> Value:
    """x no lower and no higher than that; NaN becomes a number."""
    return e.value(llvm.MinNum, F64, e.value(llvm.MaxNum, F64, x, f64(e, low)), f64(e, high))


def unless_nan(e: Emitter, x: Value, value: Value) -> Value:
    """The value, or x where that is NaN."""
    return ints.select(e, compare(e, "uno", x, x), x, value)


def nearest(e: Emitter, x: Value, by: float = 1.0) -> tuple[Value, Value]:
    """The integer nearest to x * by, |x * by| < 2^51, as f64 and, modulo 2^32, as i32."""
    shifted = add(e, x, f64(e, MAGIC)) if by == 1.0 else fma(e, x, f64(e, by), f64(e, MAGIC))
    return add(e, shifted, f64(e, -MAGIC)), ints.truncate(e, bitcast(e, shifted, I64), I32)


def power_of_two(e: Emitter, n: Value) -> Value:
    """2^n of an i32 between -1022 and 1023: n in the upper word, where its bias is added, one LEA in ptxas 13.5."""
    place = FRACTION - 32
    high = ints.add(e, ints.shl(e, n, e.i32(place)), e.i32(BIAS << place))
    return bitcast(e, e.value(nvvm.Pack, I64, e.i32(0), high), F64)


def scaled(e: Emitter, value: Value, n: Value) -> Value:
    """value * 2^n for |n| <= 2044, rounded once though the result may be subnormal: |value| is near 1."""
    half = ints.shift_right(e, llvm.AShr, n, e.i32(1))
    first = mul(e, value, power_of_two(e, half))
    return mul(e, first, power_of_two(e, ints.sub(e, n, half)))


def fraction(e: Emitter, r: Value) -> Value:
    """e^r - 1 for |r| <= ln 2 / 2."""
    return fma(e, mul(e, polynomial(e, EXP, r), r), r, r)


def powers(e: Emitter, x: Value, low: Value | None = None) -> tuple[Value, Value]:
    """(n, t) with e^(x + low) = 2^n (1 + t), x within OVERFLOW and UNDERFLOW."""
    whole, n = nearest(e, x, LOG2_E)
    minus = negative(e, whole)
    r = fma(e, minus, f64(e, LN_2_LOW), fma(e, minus, f64(e, LN_2), x))
    return n, fraction(e, r if low is None else add(e, r, low))


def exp_sum(e: Emitter, x: Value, low: Value | None = None) -> Value:
    """e^(x + low), x no NaN, |low| far below 1."""
    n, t = powers(e, within(e, x, UNDERFLOW, OVERFLOW), low)
    return scaled(e, add(e, t, f64(e, 1.0)), n)


def exp(e: Emitter, x: Value) -> Value:
    """e^x."""
    return unless_nan(e, x, exp_sum(e, x))


def exp2(e: Emitter, x: Value) -> Value:
    """2^x."""
    inside = within(e, x, -1080.0, 1026.0)
    whole, n = nearest(e, inside)
    r = sub(e, inside, whole)
    t = fraction(e, fma(e, r, f64(e, LN_2), mul(e, r, f64(e, LN_2_LOW))))
    return unless_nan(e, x, scaled(e, add(e, t, f64(e, 1.0)), n))


def _less_one(e: Emitter, n: Value, t: Value) -> Value:
    """2^n (1 + t) - 1 for 0 <= n < 1023."""
    power = power_of_two(e, n)
    return fma(e, t, power, add(e, power, f64(e, -1.0)))


def tanh(e: Emitter, x: Value) -> Value:
    """m / (m + 2) with m = e^2|x| - 1 and the sign of x."""
    inside = within(e, magnitude(e, x), 0.0, 40.0)  # 1 - tanh 40 is far below 2^-54
    m = _less_one(e, *powers(e, add(e, inside, inside)))
    return unless_nan(e, x, with_sign(e, over(e, m, add(e, m, f64(e, 2.0))), x))


def _half_power(e: Emitter, n: Value, t: Value) -> Value:
    """2^n (1 + t) / 2."""
    return scaled(e, add(e, t, f64(e, 1.0)), ints.add(e, n, e.i32(-1)))


def sinh(e: Emitter, x: Value) -> Value:
    """h - 1 / 4h with h = e^|x| / 2; below 1 (m + m / (m + 1)) / 2 with m = e^|x| - 1; with the sign of x."""
    size = magnitude(e, x)
    n, t = powers(e, within(e, size, 0.0, OVERFLOW))
    half, m = _half_power(e, n, t), _less_one(e, n, t)
    near = compare(e, "olt", size, f64(e, 1.0))
    above = ints.select(e, near, m, f64(e, 0.25))
    quotient = over(e, above, ints.select(e, near, add(e, m, f64(e, 1.0)), half))
    small = mul(e, add(e, m, quotient), f64(e, 0.5))
    return unless_nan(e, x, with_sign(e, ints.select(e, near, small, sub(e, half, quotient)), x))


def cosh(e: Emitter, x: Value) -> Value:
    """h + 1 / 4h with h = e^|x| / 2."""
    half = _half_power(e, *powers(e, within(e, magnitude(e, x), 0.0, OVERFLOW)))
    return unless_nan(e, x, add(e, half, over(e, f64(e, 0.25), half)))


def mantissa(e: Emitter, x: Value) -> tuple[Value, Value]:
    """(n, m) of 0 < x < inf with x = 2^n m, m in [sqrt(1/2), sqrt(2)) by the upper words, of all others m is within
    2^-20 of that range; subnormals are scaled up first. Source of looking at one word: fdlibm, e_log.c.
    """
    tiny = compare(e, "olt", x, f64(e, LEAST_NORMAL))
    bits = bitcast(e, ints.select(e, tiny, mul(e, x, f64(e, 2.0**54)), x), I64)
    low = ints.truncate(e, bits, I32)
    high = ints.truncate(e, ints.shift_right(e, llvm.LShr, bits, e.constant(I64, 32)), I32)
    offset, place = ints.add(e, high, e.i32(-(SQRT_HALF_BITS >> 32))), FRACTION - 32
    exponent = ints.shift_right(e, llvm.AShr, offset, e.i32(place))
    scaled_down = ints.sub(e, high, ints.bit_and(e, offset, e.i32(-1 << place)))
    m = bitcast(e, e.value(nvvm.Pack, I64, low, scaled_down), F64)
    n = e.value(llvm.SIToFP, F64, exponent)
    return add(e, n, ints.select(e, tiny, f64(e, -54.0), f64(e, 0.0))), m


def _logarithm(e: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """(n, f, rest) with ln x = n ln 2 + f - rest; log(1 + f) = f - (f^2/2 - s (f^2/2 + R)), s = f / (2 + f).

    Source of the arrangement: fdlibm, e_log.c.
    """
    n, m = mantissa(e, x)
    f = add(e, m, f64(e, -1.0))
    s = over(e, f, add(e, f, f64(e, 2.0)))
    square, half = mul(e, s, s), mul(e, mul(e, f, f64(e, 0.5)), f)
    inner = fma(e, square, polynomial(e, LOG, square), half)
    return n, f, sub(e, half, mul(e, s, inner))


def _where_positive(e: Emitter, x: Value, value: Value) -> Value:
    """`value` for 0 < x < inf; of zero minus infinity, of infinity itself, of what is below zero NaN."""
    infinity = f64(e, numbers.inf)
    value = ints.select(e, compare(e, "olt", x, infinity), value, x)
    value = ints.select(e, compare(e, "olt", x, f64(e, 0.0)), f64(e, numbers.nan), value)
    return ints.select(e, compare(e, "oeq", x, f64(e, 0.0)), negative(e, infinity), value)


def log(e: Emitter, x: Value) -> Value:
    """Natural logarithm."""
    n, f, rest = _logarithm(e, x)
    small = sub(e, f, fma(e, n, f64(e, -LN_2_LOW), rest))
    return _where_positive(e, x, fma(e, n, f64(e, LN_2), small))


def log2(e: Emitter, x: Value) -> Value:
    """Base-2 logarithm: n + log m / ln 2."""
    n, f, rest = _logarithm(e, x)
    value = sub(e, f, rest)
    return _where_positive(e, x, fma(e, value, f64(e, LOG2_E), fma(e, value, f64(e, LOG2_E_LOW), n)))


def atan2(e: Emitter, y: Value, x: Value) -> Value:
    """The angle of (x, y): atan of the smaller by the larger magnitude, beyond tan(pi/8) measured from pi/4."""
    across, up = magnitude(e, x), magnitude(e, y)
    steep = compare(e, "ogt", up, across)
    low, high = ints.select(e, steep, across, up), ints.select(e, steep, up, across)
    shrink = ints.select(e, compare(e, "ogt", high, f64(e, 2.0**1000)), f64(e, 2.0**-10), f64(e, 1.0))
    low, high = mul(e, low, shrink), mul(e, high, shrink)
    far = compare(e, "ogt", low, mul(e, high, f64(e, TAN_EIGHTH)))
    u = over(e, ints.select(e, far, sub(e, low, high), low), ints.select(e, far, add(e, low, high), high))
    same = compare(e, "oeq", across, up)  # infinity by infinity, zero by zero, and the diagonal
    u = ints.select(e, same, f64(e, 0.0), u)
    flat = compare(e, "oeq", high, f64(e, 0.0))
    far = ints.bit_and(e, ints.bit_or(e, far, same), ints.xor(e, flat, e.boolean(True)))
    square = mul(e, u, u)
    tail = mul(e, mul(e, polynomial(e, ATAN, square), square), u)
    # quarters of pi to add, and the sign of what is added to them: first by pi/4, then mirrored at pi/2 and pi
    quarters = ints.select(e, far, f64(e, 1.0), f64(e, 0.0))
    quarters = ints.select(e, steep, sub(e, f64(e, 2.0), quarters), quarters)
    left = ints.icmp(e, "slt", bitcast(e, x, I64), e.constant(I64, 0))
    quarters = ints.select(e, left, sub(e, f64(e, 4.0), quarters), quarters)
    flipped = ints.xor(e, steep, left)
    u, tail = (ints.select(e, flipped, negative(e, part), part) for part in (u, tail))
    low_part = fma(e, quarters, f64(e, QUARTER_PI_LOW), tail)
    angle = fma(e, quarters, f64(e, QUARTER_PI), add(e, u, low_part))
    nan = compare(e, "uno", x, y)
    return ints.select(e, nan, add(e, x, y), with_sign(e, magnitude(e, angle), y))
