"""f64 sine, cosine and tangent of any argument: reduced to |r| <= pi/4 as a sum of two f64, then polynomials.

Up to REDUCIBLE pi/2 as a sum of three f64 is subtracted with fused multiply-adds (Cody and Waite). Beyond, on a path of
its own, the bits of 2/pi that matter are multiplied by the mantissa as integers (Payne and Hanek, "Radian reduction for
trigonometric functions", SIGNUM Newsletter 18, 1983).
"""

from __future__ import annotations

import math as numbers

from ir.core import Value
from ir.dialects import llvm, nvvm
from ir.types import F64, I1, I32, I64
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.accurate import fma, mul, polynomial
from lowering.convert.nvgpu_to_nvvm.double import FRACTION, add, compare, f64, magnitude, nearest, negative, over, sub
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter
from lowering.convert.nvgpu_to_nvvm.paths import either
from lowering.convert.nvgpu_to_nvvm.two_over_pi import WORD, window
from lowering.convert.nvgpu_to_nvvm.values import bitcast

TWO_OVER_PI = 0.6366197723675814
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
"""pi/2 as a sum of three f64; what is missing is below 6e-50."""
REDUCIBLE = 2.0**30  # n below 2^30: n * 6e-50 is far below 2^-53 of the least remainder of an f64, about 2^-61
SIN = (
    -0.1666666666666663,
    0.008333333333322108,
    -0.00019841269829580144,
    2.755731361800941e-06,
    -2.505074721693195e-08,
    1.5896197562926813e-10,
)
"""sin r = r + r^3 P(r^2) for |r| <= pi/4; relative error 2^-56. Found as those of double.py."""
COS = (
    0.041666666666666595,
    -0.001388888888887304,
    2.4801587288841407e-05,
    -2.7557314176242773e-07,
    2.0875700416476104e-09,
    -1.135851397178025e-11,
)
"""cos r = 1 - r^2/2 + r^4 P(r^2) for |r| <= pi/4; relative error 2^-59."""


def _near(e: Emitter, x: Value) -> list[Value]:
    """(n, r, low) with x = n pi/2 + r + low of |x| < REDUCIBLE; the first product is subtracted exactly, and what the
    second one loses is known, also where it takes away most of what the first one left.
    """
    whole, n = nearest(e, x, TWO_OVER_PI)
    minus = negative(e, whole)
    t = fma(e, minus, f64(e, HALF_PI[0]), x)
    second = mul(e, minus, f64(e, HALF_PI[1]))
    r, lost = _two_sum(e, t, second)
    lost = add(e, lost, fma(e, minus, f64(e, HALF_PI[1]), negative(e, second)))
    return [n, r, fma(e, minus, f64(e, HALF_PI[2]), lost)]


def _far(e: Emitter, x: Value) -> list[Value]:
    """(n, r, low) of |x| >= REDUCIBLE: mantissa times 2/pi modulo 4, in units of 2^-128; of infinity and NaN NaN."""
    bits = bitcast(e, x, I64)
    field = ints.shift_right(e, llvm.LShr, ints.shl(e, bits, e.constant(I64, 1)), e.constant(I64, FRACTION + 1))
    hidden = e.constant(I64, 1 << FRACTION)
    m = ints.bit_or(e, ints.bit_and(e, bits, e.constant(I64, (1 << FRACTION) - 1)), hidden)
    # x = m 2^(field - 1075); bits of 2/pi up to field - 1077 make multiples of 4, 64 zeros lie ahead of them
    start = ints.add(e, ints.truncate(e, field, I32), e.i32(WORD - 1077))
    high, middle, low = window(e, start, 3)
    second = ints.add(e, ints.mul(e, m, middle), e.value(nvvm.MulHigh, I64, m, low))
    carry = ints.extend(e, ints.icmp(e, "ult", second, ints.mul(e, m, middle)), I64, False)
    first = ints.add(e, ints.add(e, ints.mul(e, m, high), e.value(nvvm.MulHigh, I64, m, middle)), carry)
    # two bits of the quadrant, the nearest; what is left is a signed fraction of it
    rounded = ints.add(e, first, e.constant(I64, 1 << WORD - 3))
    quadrant = ints.truncate(e, ints.shift_right(e, llvm.LShr, rounded, e.constant(I64, WORD - 2)), I32)
    two = e.constant(I64, 2)
    top = ints.bit_or(e, ints.shl(e, first, two), ints.shift_right(e, llvm.LShr, second, e.constant(I64, WORD - 2)))
    a = e.value(llvm.SIToFP, F64, top)
    lost = e.value(llvm.SIToFP, F64, ints.sub(e, top, e.value(llvm.FPToSI, I64, a)))
    below = e.value(llvm.UIToFP, F64, ints.shl(e, second, two))
    f = mul(e, a, f64(e, 2.0**-WORD))
    f_low = fma(e, below, f64(e, 2.0 ** (-2 * WORD)), mul(e, lost, f64(e, 2.0**-WORD)))
    f, f_low = _normal(e, f, f_low)
    r = mul(e, f, f64(e, HALF_PI[0]))
    r_low = fma(e, f, f64(e, HALF_PI[0]), negative(e, r))
    r_low = fma(e, f_low, f64(e, HALF_PI[0]), fma(e, f, f64(e, HALF_PI[1]), r_low))
    r, r_low = _normal(e, r, r_low)
    minus = ints.icmp(e, "slt", bits, e.constant(I64, 0))
    r, r_low = (ints.select(e, minus, negative(e, part), part) for part in (r, r_low))
    n = ints.select(e, minus, ints.sub(e, e.i32(0), quadrant), quadrant)
    finite = compare(e, "olt", magnitude(e, x), f64(e, numbers.inf))
    return [n, ints.select(e, finite, r, f64(e, numbers.nan)), r_low]


def _two_sum(e: Emitter, a: Value, b: Value) -> tuple[Value, Value]:
    """a + b rounded, and what that loses. Source: Knuth, The Art of Computer Programming 2, 4.2.2, theorem B."""
    total = add(e, a, b)
    of_b = sub(e, total, a)
    return total, add(e, sub(e, a, sub(e, total, of_b)), sub(e, b, of_b))


def _normal(e: Emitter, high: Value, low: Value) -> tuple[Value, Value]:
    """The same sum, the low part no more than half a unit of the high one; |high| is the larger."""
    total = add(e, high, low)
    return total, add(e, sub(e, high, total), low)


def _parts(e: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """n in the low bits of an i32, sin and cos of x - n pi/2."""
    is_near = compare(e, "olt", magnitude(e, x), f64(e, REDUCIBLE))
    n, r, low = either(e, ints.xor(e, is_near, e.boolean(True)), lambda: _far(e, x), _near(e, x))
    square = mul(e, r, r)
    half = mul(e, square, f64(e, 0.5))
    one_less = sub(e, f64(e, 1.0), half)
    sine = add(e, r, fma(e, mul(e, square, r), polynomial(e, SIN, square), mul(e, low, one_less)))
    sine = ints.select(e, compare(e, "oeq", r, f64(e, 0.0)), r, sine)  # keeps -0
    lost = sub(e, sub(e, f64(e, 1.0), one_less), half)
    tail = mul(e, mul(e, square, square), polynomial(e, COS, square))
    cosine = add(e, one_less, add(e, lost, fma(e, r, negative(e, low), tail)))
    return n, sine, cosine


def _quarter(e: Emitter, x: Value, quarter: int) -> Value:
    """sin(x + quarter * pi/2)."""
    n, sine, cosine = _parts(e, x)
    quadrant = ints.add(e, n, e.i32(quarter))
    value = ints.select(e, ints.truncate(e, quadrant, I1), cosine, sine)
    down = ints.icmp(e, "ne", ints.bit_and(e, quadrant, e.i32(2)), e.i32(0))
    return ints.select(e, down, negative(e, value), value)


def sin(e: Emitter, x: Value) -> Value:
    """Sine of radians."""
    return _quarter(e, x, 0)


def cos(e: Emitter, x: Value) -> Value:
    """Cosine of radians."""
    return _quarter(e, x, 1)


def tan(e: Emitter, x: Value) -> Value:
    """Tangent of radians: sin r / cos r, or -cos r / sin r in odd quadrants."""
    n, sine, cosine = _parts(e, x)
    odd = ints.truncate(e, n, I1)
    return over(e, ints.select(e, odd, negative(e, cosine), sine), ints.select(e, odd, sine, cosine))
