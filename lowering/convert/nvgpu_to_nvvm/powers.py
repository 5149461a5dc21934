"""Powers and remainders: functions that need more bits on the way than their type has.

The logarithm is kept as a sum of two numbers (about 45 bits of f32, 65 of f64), because its error is multiplied by the
exponent; remainders are exact, in f64. Source of the method of powers: the double-float logarithm of CUDA's powf;
constants derived here.
"""

from __future__ import annotations

import math as numbers

from ir.core import UnsupportedError, Value
from ir.dialects import arith, llvm, math, nvvm
from ir.types import BF16, F16, F32, F64, I1, I32, I64, FloatType
from lowering.convert.nvgpu_to_nvvm import double
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.accurate import LEAST_NORMAL, SQRT_HALF_BITS, f32, fma, mul, polynomial, with_sign
from lowering.convert.nvgpu_to_nvvm.context import lowers_each
from lowering.convert.nvgpu_to_nvvm.double import add, f64, over, sub
from lowering.convert.nvgpu_to_nvvm.elementwise import convert, scalar_type, through_f32
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, width_of_type
from lowering.convert.nvgpu_to_nvvm.extrema import extremum
from lowering.convert.nvgpu_to_nvvm.floats import compare, magnitude, negative
from lowering.convert.nvgpu_to_nvvm.functions import exp
from lowering.convert.nvgpu_to_nvvm.paths import repeat
from lowering.convert.nvgpu_to_nvvm.values import bitcast, pack, unpack

LN_2_HIGH = 0.693147182464599609375  # ln 2 rounded to f32
LN_2_LOW = numbers.log(2.0) - LN_2_HIGH
ATANH = (1 / 3, 1 / 5, 1 / 7, 1 / 9, 1 / 11)
"""atanh q = q + q^3 P(q^2) by Taylor; |q| <= 3 - sqrt(8), relative error 5e-11."""
THIRD, THIRD_LOW = 1 / 3, 1.850371707708594e-17  # 1/3 as a sum of two f64
ATANH_5 = (0.1999999999999999, 0.14285714285722562, 0.11111111108766802, 0.09090909435332938, 0.0769227842349402,
           0.06668159172511036, 0.058373998300204503, 0.05994585278954638)  # fmt: skip
"""atanh q = q + q^3/3 + q^5 P(q^2) for |q| <= 3 - sqrt(8); relative error 2^-66; found as those of double.py."""
STEEPEST = 2.0**64  # an exponent with which the f64 nearest to 1 overflows
DIGIT = 40  # bits of a quotient that f64 holds with some to spare
LARGEST = (2.0 - 2.0**-23) * 2.0**127  # the largest finite f32
SATURATED = 200.0  # e^x is 0 or infinite in f32 beyond
STEPS = (250, 200, 150, 100, 50, 0)
"""Powers of two that scale the divisor, 50 bits of the quotient each: f32 quotients are below 2^277."""


def logarithm(e: Emitter, x: Value) -> tuple[Value, Value]:
    """ln x of 0 < x < inf as high + low: 2 atanh q + n ln 2 with q = (m - 1) / (m + 1) as high + low too."""
    tiny = compare(e, "olt", x, f32(e, LEAST_NORMAL))
    scaled = ints.select(e, tiny, mul(e, x, f32(e, 2.0**23)), x)
    bits = bitcast(e, scaled, I32)
    exponent = ints.shift_right(e, llvm.AShr, ints.add(e, bits, e.i32(-SQRT_HALF_BITS)), e.i32(23))
    mantissa = bitcast(e, ints.sub(e, bits, ints.shl(e, exponent, e.i32(23))), F32)
    n = add(e, e.value(llvm.SIToFP, F32, exponent), ints.select(e, tiny, f32(e, -23.0), f32(e, 0.0)))
    f = add(e, mantissa, f32(e, -1.0))
    inverse = e.value(nvvm.Rcp, F32, add(e, mantissa, f32(e, 1.0)))
    q = mul(e, f, inverse)
    rest = fma(e, q, negative(e, f), fma(e, q, f32(e, -2.0), f))
    q_low = mul(e, rest, inverse)
    square = mul(e, q, q)
    cube = mul(e, square, q)
    minus = negative(e, square)
    square_low = fma(e, q, add(e, q_low, q_low), fma(e, q, q, minus))
    cube_low = fma(e, square, q_low, fma(e, square_low, q, fma(e, square, q, negative(e, cube))))
    p = polynomial(e, ATANH, square)
    tail = fma(e, p, cube, fma(e, p, cube_low, q_low))
    twice = add(e, q, q)
    high = fma(e, n, f32(e, LN_2_HIGH), twice)
    lost = sub(e, twice, fma(e, n, f32(e, -LN_2_HIGH), high))
    low = fma(e, n, f32(e, LN_2_LOW), fma(e, tail, f32(e, 2.0), lost))
    total = add(e, high, low)
    return total, add(e, sub(e, high, total), low)


def positive_power(e: Emitter, x: Value, y: Value, y_low: Value | None = None) -> Value:
    """x^(y + y_low) = e^(y ln x) of 0 < x < inf and any y but NaN."""
    high, low = logarithm(e, x)
    y = e.value(llvm.MinNum, F32, e.value(llvm.MaxNum, F32, y, f32(e, -LARGEST)), f32(e, LARGEST))
    product = mul(e, high, y)
    rest = fma(e, low, y, fma(e, high, y, negative(e, product)))
    rest = rest if y_low is None else fma(e, high, y_low, rest)
    total = add(e, product, rest)
    below = add(e, sub(e, product, total), rest)
    inside = compare(e, "olt", magnitude(e, product), f32(e, SATURATED))
    power = exp(e, ints.select(e, inside, total, product))
    finite = ints.bit_and(e, inside, compare(e, "olt", power, f32(e, numbers.inf)))
    return ints.select(e, finite, fma(e, power, below, power), power)


def double_logarithm(e: Emitter, x: Value) -> tuple[Value, Value]:
    """ln x of 0 < x < inf as high + low, like `logarithm` in f64; the cubic term is a sum of two too."""
    n, m = double.mantissa(e, x)
    f = add(e, m, f64(e, -1.0))
    inverse = e.value(nvvm.Rcp, F64, add(e, m, f64(e, 1.0)), rounding="rn")
    q = mul(e, f, inverse)
    q_low = mul(e, fma(e, q, negative(e, f), fma(e, q, f64(e, -2.0), f)), inverse)
    square = mul(e, q, q)
    cube = mul(e, square, q)
    square_low = fma(e, q, add(e, q_low, q_low), fma(e, q, q, negative(e, square)))
    cube_low = fma(e, square, q_low, fma(e, square_low, q, fma(e, square, q, negative(e, cube))))
    third = mul(e, cube, f64(e, THIRD))
    third_low = fma(e, cube, f64(e, THIRD), negative(e, third))
    third_low = fma(e, cube_low, f64(e, THIRD), fma(e, cube, f64(e, THIRD_LOW), third_low))
    tail = fma(e, mul(e, cube, square), polynomial(e, ATANH_5, square), add(e, third_low, q_low))
    sum_ = add(e, q, third)
    sum_low = add(e, add(e, sub(e, q, sum_), third), tail)
    twice = add(e, sum_, sum_)
    high = fma(e, n, f64(e, double.LN_2), twice)
    lost = sub(e, twice, fma(e, n, f64(e, -double.LN_2), high))
    low = fma(e, n, f64(e, double.LN_2_LOW), fma(e, sum_low, f64(e, 2.0), lost))
    total = add(e, high, low)
    return total, add(e, sub(e, high, total), low)


def positive_double_power(e: Emitter, x: Value, y: Value, y_low: Value | None = None) -> Value:
    """x^(y + y_low) = e^(y ln x) of 0 < x < inf and any y but NaN, in f64."""
    high, low = double_logarithm(e, x)
    y = double.within(e, y, -STEEPEST, STEEPEST)
    product = mul(e, high, y)
    rest = fma(e, low, y, fma(e, high, y, negative(e, product)))
    rest = rest if y_low is None else fma(e, high, y_low, rest)
    inside = compare(e, "olt", magnitude(e, product), f64(e, -double.UNDERFLOW))
    return double.exp_sum(e, product, ints.select(e, inside, rest, f64(e, 0.0)))


def signed_power(e: Emitter, x: Value, y: Value, odd: Value, integral: Value, y_low: Value | None = None) -> Value:
    """x^(y + y_low) by IEEE 754-2019, 9.2.1 (pow), given whether y is an odd integer and an integer at all."""
    kind, size = x.type, magnitude(e, x)
    zero, infinity, unit = (e.constant(kind, number) for number in (0.0, numbers.inf, 1.0))
    is_zero = compare(e, "oeq", x, zero)
    falls = compare(e, "olt", y, zero)
    extreme = ints.bit_or(e, is_zero, compare(e, "oeq", size, infinity))
    limit = ints.select(e, ints.xor(e, is_zero, falls), zero, infinity)
    ordinary = (positive_double_power if kind == F64 else positive_power)(e, size, y, y_low)
    value = ints.select(e, extreme, limit, ordinary)
    value = ints.select(e, odd, with_sign(e, value, x), value)
    undefined = ints.bit_and(e, compare(e, "olt", x, zero), compare(e, "une", size, infinity))
    undefined = ints.bit_and(e, undefined, ints.xor(e, integral, e.boolean(True)))
    value = ints.select(e, undefined, e.constant(kind, numbers.nan), value)
    value = ints.select(e, compare(e, "uno", x, y), add(e, x, y), value)
    one = ints.bit_or(e, compare(e, "oeq", x, unit), compare(e, "oeq", y, zero))
    return ints.select(e, one, unit, value)


def _float_power(e: Emitter, x: Value, y: Value) -> Value:
    half = mul(e, y, e.constant(y.type, 0.5))
    integral = compare(e, "oeq", e.value(llvm.Floor, y.type, y), y)
    even = compare(e, "oeq", e.value(llvm.Floor, y.type, half), half)
    return signed_power(e, x, y, ints.bit_and(e, integral, ints.xor(e, even, e.boolean(True))), integral)


@lowers_each(math.PowF)
def _power(e: Emitter, op: math.PowF, x: Value, y: Value) -> Value:
    if x.type == F64:
        return _float_power(e, x, y)
    if scalar_type(x.type) in (F16, BF16):
        return through_f32(e, _float_power, x, y)
    return convert(e, _float_power(e, convert(e, x, F32), convert(e, y, F32)), x.type)


@lowers_each(math.FPowI)
def _integer_power(e: Emitter, op: math.FPowI, x: Value, n: Value) -> Value:
    """The exponent as a float, and the conversion error if there may be one; its parity is kept."""
    kind = x.type
    wide = ints.extend(e, n, I32, True) if width_of_type(n.type) < 32 else n
    odd = ints.truncate(e, n, I1)
    computed = F64 if kind == F64 else F32
    y = e.value(llvm.SIToFP, computed, wide)
    lost = None
    if width_of_type(n.type) > (53 if computed == F64 else 24):
        lost = e.value(llvm.SIToFP, computed, ints.sub(e, wide, e.value(llvm.FPToSI, wide.type, y)))
    return convert(e, signed_power(e, convert(e, x, computed), y, odd, e.boolean(True), lost), kind)


def remainder(e: Emitter, x: Value, y: Value, steps: tuple[int, ...]) -> Value:
    """x mod y of numbers that f64 holds, with the sign of x: long division, `steps` as in STEPS."""
    divisor, dividend = magnitude(e, y), magnitude(e, x)
    rest = dividend
    inverse = over(e, f64(e, 1.0), divisor)
    for step in steps:
        by = mul(e, divisor, f64(e, 2.0**step))
        quotient = mul(e, mul(e, rest, inverse), f64(e, 2.0**-step))
        whole = e.value(llvm.Floor, F64, quotient)
        rest = fma(e, negative(e, whole), by, rest)
        # the quotient may be rounded across an integer, either way
        rest = ints.select(e, compare(e, "olt", rest, f64(e, 0.0)), add(e, rest, by), rest)
        rest = ints.select(e, compare(e, "oge", rest, by), sub(e, rest, by), rest)
    return ints.select(e, compare(e, "olt", dividend, divisor), dividend, rest)  # of an infinite divisor too


def double_remainder(e: Emitter, x: Value, y: Value) -> Value:
    """x mod y with the sign of x: long division, DIGIT bits of the quotient a loop iteration.

    Each quotient is the nearest integer, so that what is left is exact: a multiple of the divisor's last place, and not
    above 0.6 of the divisor.
    """
    dividend, divisor = magnitude(e, x), magnitude(e, y)
    tiny = compare(e, "olt", divisor, f64(e, double.LEAST_NORMAL))
    raised = ints.select(e, tiny, mul(e, divisor, f64(e, 2.0**54)), divisor)
    lift = ints.select(e, tiny, e.i32(54), e.i32(0))
    distance = ints.sub(e, _exponent(e, dividend), ints.sub(e, _exponent(e, raised), lift))

    def turn(rest: Value, place: Value) -> list[Value]:
        place = extremum(e, llvm.SMax, ints.sub(e, place, e.i32(DIGIT)), e.i32(0))
        by = double.scaled(e, raised, ints.sub(e, place, lift))
        whole, _ = double.nearest(e, over(e, rest, by))
        return [fma(e, negative(e, whole), by, rest), place]

    rest, _ = repeat(e, turn, [dividend, distance], lambda made: ints.icmp(e, "sgt", made[1], e.i32(0)))
    rest = ints.select(e, compare(e, "olt", rest, f64(e, 0.0)), add(e, rest, divisor), rest)
    rest = ints.select(e, compare(e, "olt", dividend, divisor), dividend, rest)  # of an infinite divisor too
    broken = ints.bit_or(e, compare(e, "oeq", divisor, f64(e, 0.0)), compare(e, "oeq", dividend, f64(e, numbers.inf)))
    rest = ints.select(e, broken, f64(e, numbers.nan), rest)
    return ints.select(e, compare(e, "uno", x, y), add(e, x, y), with_sign(e, rest, x))


def _exponent(e: Emitter, x: Value) -> Value:
    """The exponent field of an f64 that is not negative."""
    return ints.truncate(e, ints.shift_right(e, llvm.LShr, bitcast(e, x, I64), e.constant(I64, double.FRACTION)), I32)


@lowers_each(arith.RemF)
def _remainder(e: Emitter, op: arith.RemF, x: Value, y: Value) -> Value:
    """One element after the other; infinite dividends and zero divisors make NaN in the arithmetic itself."""
    kind = x.type
    element = scalar_type(kind)
    if element == F64:
        return double_remainder(e, x, y)
    if element not in (F16, BF16, F32) or not isinstance(element, FloatType):
        raise UnsupportedError(f"{op.name} on {element} has no lowering", op.location, "compute it in f32")
    steps = (0,) if element == F16 else STEPS  # f16 quotients are below 2^41

    def one(x: Value, y: Value) -> Value:
        single = convert(e, x, F32)
        rest = remainder(e, convert(e, single, F64), convert(e, convert(e, y, F32), F64), steps)
        return convert(e, with_sign(e, convert(e, rest, F32), single), element)

    return pack(e, [one(*pair) for pair in zip(unpack(e, x), unpack(e, y), strict=True)], kind)
