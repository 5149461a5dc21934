"""f32 functions within 2 ulp or so, by range reduction and polynomials where PTX's approximations are not enough.

Polynomials: minimax fits by iteratively reweighted least squares, coefficients rounded to f32; the error that each
leaves is stated beside it. PTX's own errors: PTX ISA, floating-point instructions lg2, sin, cos, tanh, ex2, rcp.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Sequence

from ir.core import Value
from ir.dialects import llvm, nvvm
from ir.types import F32, F64, I1, I32, I64
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter
from lowering.convert.nvgpu_to_nvvm.floats import magnitude, negative
from lowering.convert.nvgpu_to_nvvm.paths import either
from lowering.convert.nvgpu_to_nvvm.two_over_pi import WORD, window
from lowering.convert.nvgpu_to_nvvm.values import bitcast

LOG2_E = numbers.log2(numbers.e)
LN_2 = numbers.log(2.0)
MAGIC = 12582912.0  # 1.5 * 2^23: adding it rounds to an integer, held in the low bits of the sum
LEAST_NORMAL = 2.0**-126
SQRT_HALF_BITS = 0x3F3504F3  # bits of sqrt(1/2), the lower end of the reduced mantissa
LOG1P = (
    0.3333333134651184,
    -0.250008225440979,
    0.20001226663589478,
    -0.16623353958129883,
    0.14201776683330536,
    -0.13160233199596405,
    0.12761469185352325,
    -0.07634229958057404,
)
"""log(1+f) = f - f^2/2 + f^3 P(f) on [sqrt(1/2)-1, sqrt(2)-1]; relative error 8e-9."""
TANH = (-0.33333298563957214, 0.13331924378871918, -0.05378382280468941, 0.020795943215489388, -0.005895127076655626)
"""tanh x = x + x^3 P(x^2) for |x| < 0.6; relative error 5e-9."""
TANH_SMALL = 0.6
SIN = (-0.16666655242443085, 0.008332154713571072, -0.00019514450104907155)
"""sin x = x + x^3 P(x^2) for |x| <= pi/4; relative error 9e-9."""
COS = (0.04166664555668831, -0.0013887308305129409, 2.443220182613004e-05)
"""cos x = 1 - x^2/2 + x^4 P(x^2) for |x| <= pi/4; relative error 2e-10."""
ATAN = (-0.33333298563957214, 0.1999853551387787, -0.14264124631881714, 0.10951638221740723, -0.08401985466480255,
        0.057934246957302094, -0.031155923381447792, 0.010903410613536835, -0.0017912235343828797)  # fmt: skip
"""atan t = t + t^3 P(t^2) for 0 <= t <= 1; relative error 3e-9."""
HALF_PI = (1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15)
"""pi/2 as a sum of three f32, each rounded down: with one sign they keep the sign of a zero."""
REDUCIBLE = (
    105615.0  # |x| for which three terms of pi/2 leave an error below 1 ulp; CUDA's sinf draws its line here too
)


def f32(e: Emitter, number: float) -> Value:
    """An f32 constant."""
    return e.constant(F32, number)


def fma(e: Emitter, a: Value, b: Value, c: Value, **attributes: object) -> Value:
    """a * b + c."""
    return e.value(llvm.Fma, a.type, a, b, c, **attributes)


def mul(e: Emitter, a: Value, b: Value) -> Value:
    """a * b in their type."""
    if e.known.get(b) == 1.0:
        return a
    return e.value(llvm.FMul, a.type, a, b)


def polynomial(e: Emitter, coefficients: Sequence[float], x: Value) -> Value:
    """Horner's scheme in the type of x, lowest coefficient first."""
    value = e.constant(x.type, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = fma(e, value, x, e.constant(x.type, coefficient))
    return value


def _compare(e: Emitter, predicate: str, x: Value, number: float) -> Value:
    return e.value(llvm.FCmp, I1, x, f32(e, number), predicate=predicate)


def _logarithm(e: Emitter, x: Value) -> tuple[Value, Value]:
    """(n, log(m)) with x = 2^n m, m in [sqrt(1/2), sqrt(2)); subnormals scaled up first."""
    tiny = _compare(e, "olt", x, LEAST_NORMAL)
    scaled = ints.select(e, tiny, mul(e, x, f32(e, 2.0**23)), x)
    bits = bitcast(e, scaled, I32)
    exponent = ints.shift_right(e, llvm.AShr, ints.add(e, bits, e.i32(-SQRT_HALF_BITS)), e.i32(23))
    mantissa = bitcast(e, ints.sub(e, bits, ints.shl(e, exponent, e.i32(23))), F32)
    f = e.value(llvm.FAdd, F32, mantissa, f32(e, -1.0))
    inner = fma(e, polynomial(e, LOG1P, f), f, f32(e, -0.5))
    value = fma(e, mul(e, inner, f), f, f)
    n = e.value(llvm.SIToFP, F32, exponent)
    return e.value(llvm.FAdd, F32, n, ints.select(e, tiny, f32(e, -23.0), f32(e, 0.0))), value


def _where_positive(e: Emitter, x: Value, value: Value) -> Value:
    """`value` for 0 < x < inf, elsewhere lg2.approx's zero, infinity or NaN."""
    ordinary = ints.bit_and(e, _compare(e, "ogt", x, 0.0), _compare(e, "olt", x, numbers.inf))
    return ints.select(e, ordinary, value, e.value(nvvm.Lg2, F32, x))


def log(e: Emitter, x: Value) -> Value:
    """Natural logarithm: n ln 2 + log m. lg2.approx loses all relative accuracy near 1."""
    n, value = _logarithm(e, x)
    return _where_positive(e, x, fma(e, n, f32(e, LN_2), value))


def log2(e: Emitter, x: Value) -> Value:
    """Base-2 logarithm: n + log m / ln 2."""
    n, value = _logarithm(e, x)
    return _where_positive(e, x, fma(e, value, f32(e, LOG2_E), n))


def tanh(e: Emitter, x: Value) -> Value:
    """1 - 2 / (e^2|x| + 1) with the sign of x, an odd polynomial near 0; tanh.approx has 11 bits only."""
    square, size = mul(e, x, x), magnitude(e, x)
    small = fma(e, mul(e, polynomial(e, TANH, square), square), size, size)
    power = e.value(nvvm.Ex2, F32, mul(e, size, f32(e, 2 * LOG2_E)), ftz=True)
    inverse = e.value(nvvm.Rcp, F32, e.value(llvm.FAdd, F32, power, f32(e, 1.0)), ftz=True)
    large = fma(e, inverse, f32(e, -2.0), f32(e, 1.0))
    value = ints.select(e, _compare(e, "olt", size, TANH_SMALL), small, large)
    return with_sign(e, value, x)


def with_sign(e: Emitter, value: Value, of: Value) -> Value:
    """A value that is not negative, f32 or f64, with the sign of another."""
    if isinstance(of.owner, llvm.FAbs):
        return value
    bits = I64 if value.type == F64 else I32
    sign = ints.bit_and(e, bitcast(e, of, bits), e.constant(bits, -(1 << bits.width - 1)))
    return bitcast(e, ints.bit_or(e, bitcast(e, value, bits), sign), value.type)


def _near(e: Emitter, x: Value) -> list[Value]:
    """(n, r) with x = n pi/2 + r of |x| < REDUCIBLE, n in the low bits; of infinity and NaN NaN."""
    shifted = fma(e, x, f32(e, 2 / numbers.pi), f32(e, MAGIC))
    n = e.value(llvm.FAdd, F32, shifted, f32(e, -MAGIC))
    minus_n = negative(e, n)
    r = x
    for part in HALF_PI:
        r = fma(e, minus_n, f32(e, part), r)
    return [bitcast(e, shifted, I32), r]


def _far(e: Emitter, x: Value) -> list[Value]:
    """(n, r) of the other numbers: the mantissa times 2/pi modulo 4, in units of 2^-62, of which r takes 24 bits."""
    bits = bitcast(e, x, I32)
    field = ints.bit_and(e, ints.shift_right(e, llvm.LShr, bits, e.i32(23)), e.i32(255))
    m = ints.bit_or(e, ints.bit_and(e, bits, e.i32((1 << 23) - 1)), e.i32(1 << 23))
    m = ints.extend(e, m, I64, False)
    # x = m 2^(field - 150); bits of 2/pi up to field - 152 make multiples of 4, 64 zeros lie ahead of them
    high, low = window(e, ints.add(e, field, e.i32(WORD - 152)), 2)
    product = ints.add(e, ints.mul(e, m, high), e.value(nvvm.MulHigh, I64, m, low))
    rounded = ints.add(e, product, e.constant(I64, 1 << WORD - 3))
    quadrant = ints.truncate(e, ints.shift_right(e, llvm.LShr, rounded, e.constant(I64, WORD - 2)), I32)
    share = e.value(llvm.SIToFP, F64, ints.shl(e, product, e.constant(I64, 2)))
    r = e.value(llvm.FPTrunc, F32, mul(e, share, e.constant(F64, numbers.pi / 2 * 2.0**-WORD)))
    minus = ints.icmp(e, "slt", bits, e.i32(0))
    r = ints.select(e, minus, negative(e, r), r)
    n = ints.select(e, minus, ints.sub(e, e.i32(0), quadrant), quadrant)
    finite = _compare(e, "olt", magnitude(e, x), numbers.inf)
    return [n, ints.select(e, finite, r, f32(e, numbers.nan))]


def _reduced(e: Emitter, x: Value, large: bool) -> tuple[Value, Value, Value]:
    """n in the low bits of an i32, sin r and cos r with x = n pi/2 + r; `large`: |x| may be REDUCIBLE or more."""
    n, r = _near(e, x)
    if large:
        is_far = _compare(e, "uge", magnitude(e, x), REDUCIBLE)
        n, r = either(e, is_far, lambda: _far(e, x), [n, r])
    square = mul(e, r, r)
    sine = mul(e, fma(e, polynomial(e, SIN, square), square, f32(e, 1.0)), r)  # a product keeps -0
    tail = fma(e, polynomial(e, COS, square), square, f32(e, -0.5))
    return n, sine, fma(e, tail, square, f32(e, 1.0))


def _quarter(e: Emitter, x: Value, quarter: int, large: bool) -> Value:
    """sin(x + quarter * pi/2): x = n pi/2 + r, then sin r or cos r with the sign of the quadrant."""
    n, sine, cosine = _reduced(e, x, large)
    quadrant = ints.add(e, n, e.i32(quarter))
    odd = ints.truncate(e, quadrant, I1)
    value = bitcast(e, ints.select(e, odd, cosine, sine), I32)
    sign = ints.shl(e, ints.bit_and(e, quadrant, e.i32(2)), e.i32(30))
    return bitcast(e, ints.xor(e, value, sign), F32)


def sin(e: Emitter, x: Value, large: bool = True) -> Value:
    """Sine of radians."""
    return _quarter(e, x, 0, large)


def cos(e: Emitter, x: Value, large: bool = True) -> Value:
    """Cosine of radians."""
    return _quarter(e, x, 1, large)


def tan(e: Emitter, x: Value, large: bool = True) -> Value:
    """Tangent of radians: sin r / cos r, or -cos r / sin r in odd quadrants."""
    n, sine, cosine = _reduced(e, x, large)
    odd = ints.truncate(e, n, I1)
    over = ints.select(e, odd, negative(e, cosine), sine)
    return e.value(llvm.FDiv, F32, over, ints.select(e, odd, sine, cosine), rounding="full")


def atan2(e: Emitter, y: Value, x: Value) -> Value:
    """The angle of (x, y): atan of the smaller by the larger magnitude, then mirrored at pi/4, pi/2 and the x axis."""
    across, up = magnitude(e, x), magnitude(e, y)
    low, high = e.value(llvm.Minimum, F32, across, up), e.value(llvm.Maximum, F32, across, up)
    t = e.value(llvm.FDiv, F32, low, high)
    t = ints.select(e, e.value(llvm.FCmp, I1, across, up, predicate="oeq"), f32(e, 1.0), t)  # inf by inf
    t = ints.select(e, _compare(e, "oeq", high, 0.0), f32(e, 0.0), t)
    square = mul(e, t, t)
    angle = fma(e, mul(e, polynomial(e, ATAN, square), square), t, t)
    steep = e.value(llvm.FCmp, I1, up, across, predicate="ogt")
    angle = ints.select(e, steep, e.value(llvm.FSub, F32, f32(e, numbers.pi / 2), angle), angle)
    left = ints.icmp(e, "slt", bitcast(e, x, I32), e.i32(0))
    angle = ints.select(e, left, e.value(llvm.FSub, F32, f32(e, numbers.pi), angle), angle)
    return with_sign(e, angle, y)
