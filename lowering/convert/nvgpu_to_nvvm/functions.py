"""math ops: PTX's approximations, with range reduction where they are not accurate enough by themselves."""

from __future__ import annotations

from collections.abc import Callable

from ir.core import Op, UnsupportedError, Value
from ir.dialects import llvm, math, nvvm
from ir.types import BF16, F16, F32, F64, I1, I32, TF32
from lowering.convert.nvgpu_to_nvvm import accurate, double, trigonometry
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.accurate import LN_2, LOG2_E, f32, fma, mul, polynomial, with_sign
from lowering.convert.nvgpu_to_nvvm.context import lowers_each
from lowering.convert.nvgpu_to_nvvm.elementwise import directed, mode, scalar_type, through_f32
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter
from lowering.convert.nvgpu_to_nvvm.floats import magnitude, negative
from lowering.convert.nvgpu_to_nvvm.values import bitcast

LOG2_E_HIGH = 1.44269502162933349609375  # log2 e rounded to f32
LOG2_E_LOW = LOG2_E - LOG2_E_HIGH
SINH = (1 / 6, 1 / 120, 1 / 5040, 1 / 362880, 1 / 39916800)
"""sinh x = x + x^3 P(x^2) by Taylor; |x| < 1, relative error 2e-10."""


def _function(
    cls: type[math.FloatUnary],
    exact: Callable[[Emitter, Value], Value],
    approximate: Callable[[Emitter, Value], Value],
    flushing: Callable[[Emitter, Value], Value] | None = None,
    *,
    double: Callable[[Emitter, Value], Value],
) -> None:
    """Register a function: of f32 `exact` unless an approximation is requested, `flushing` if subnormals may be
    flushed.

    bf16 and tf32 take the approximation, whose error is far below their rounding; f16 the form that flushes, since all
    its numbers are normal in f32; f64 `double`.
    """
    shortest = approximate if flushing is None else flushing

    @lowers_each(cls)
    def pattern(e: Emitter, op: math.FloatUnary, x: Value) -> Value:
        kind = scalar_type(x.type)
        if kind in (F16, BF16):
            return through_f32(e, shortest if kind == F16 else approximate, x)
        if kind == TF32:
            return bitcast(e, approximate(e, bitcast(e, x, F32)), TF32)
        if kind == F64:
            return double(e, x)
        if kind != F32:
            raise UnsupportedError(f"{op.name} on {kind} has no lowering", op.location, "compute it in f32")
        if op.attributes.get("ftz", False):
            return shortest(e, x)
        return approximate(e, x) if op.rounding == "approx" else exact(e, x)


def _instruction(cls: type[Op], **attributes: object) -> Callable[[Emitter, Value], Value]:
    return lambda e, x: e.value(cls, F32, x, **attributes)


def _powers(e: Emitter, x: Value) -> tuple[Value, Value]:
    """2^f and 2^n of e^x = 2^n * 2^f with n near x log2 e and f from two fused steps (Cody and Waite's reduction).

    n is found in a saturated fma, which clamps it to [-126, 126]; 252 * sat + bias then holds n + 127 in its low bits,
    so that a shift makes 2^n. Beyond the clamp f takes the rest, so overflow, underflow and infinities come out right.
    Source of the method: libdevice's expf; constants derived here.
    """
    unit = fma(e, x, f32(e, LOG2_E / 252), f32(e, 0.5), saturate=True)
    shifted = fma(e, unit, f32(e, 252.0), f32(e, 12582912.0 + 1), rounding="rm")  # 1.5 * 2^23: integers in low bits
    n = e.value(llvm.FAdd, F32, shifted, f32(e, -(12582912.0 + 1 + 126)))
    minus_n = negative(e, n)
    rest = fma(e, x, f32(e, LOG2_E_HIGH), minus_n)
    rest = fma(e, x, f32(e, LOG2_E_LOW), rest)
    scale = bitcast(e, ints.shl(e, bitcast(e, shifted, I32), e.i32(23)), F32)
    return e.value(nvvm.Ex2, F32, rest, ftz=True), scale


def exp(e: Emitter, x: Value) -> Value:
    """e^x."""
    return mul(e, *_powers(e, x))


def _half_exp(e: Emitter, x: Value) -> Value:
    """e^|x| / 2, which overflows only where the hyperbolic functions do."""
    power, scale = _powers(e, magnitude(e, x))
    return mul(e, mul(e, power, f32(e, 0.5)), scale)


def _quarter_inverse(e: Emitter, x: Value) -> Value:
    """1 / 4x."""
    return mul(e, e.value(nvvm.Rcp, F32, x, ftz=True), f32(e, 0.25))


def cosh(e: Emitter, x: Value) -> Value:
    """e^|x| / 2 + e^-|x| / 2."""
    half = _half_exp(e, x)
    return e.value(llvm.FAdd, F32, half, _quarter_inverse(e, half))


def sinh(e: Emitter, x: Value) -> Value:
    """e^|x| / 2 - e^-|x| / 2 with the sign of x, an odd polynomial near 0."""
    size, square = magnitude(e, x), mul(e, x, x)
    half = _half_exp(e, x)
    large = e.value(llvm.FSub, F32, half, _quarter_inverse(e, half))
    small = fma(e, mul(e, polynomial(e, SINH, square), square), size, size)
    near = e.value(llvm.FCmp, I1, size, f32(e, 1.0), predicate="olt")
    return with_sign(e, ints.select(e, near, small, large), x)


def _exp_approximate(**attributes: object) -> Callable[[Emitter, Value], Value]:
    """ex2.approx(x log2 e)."""
    return lambda e, x: e.value(nvvm.Ex2, F32, mul(e, x, f32(e, LOG2_E)), **attributes)


def log_approximate(e: Emitter, x: Value) -> Value:
    """lg2.approx(x) ln 2."""
    return mul(e, e.value(nvvm.Lg2, F32, x), f32(e, LN_2))


def _small(function: Callable[..., Value]) -> Callable[[Emitter, Value], Value]:
    return lambda e, x: function(e, x, large=False)


_function(math.Exp, exp, _exp_approximate(), _exp_approximate(ftz=True), double=double.exp)
_function(
    math.Exp2, _instruction(nvvm.Ex2), _instruction(nvvm.Ex2), _instruction(nvvm.Ex2, ftz=True), double=double.exp2
)
_function(math.Log, accurate.log, log_approximate, double=double.log)
_function(math.Log2, accurate.log2, _instruction(nvvm.Lg2), double=double.log2)
# tanh.approx has 11 bits, as many as f16 itself
_function(math.Tanh, accurate.tanh, _instruction(nvvm.Tanh), accurate.tanh, double=double.tanh)
# 16-bit floats too: the approximations are for small angles, and fail near the poles; those of f16 are never large
_function(math.Sin, accurate.sin, accurate.sin, _small(accurate.sin), double=trigonometry.sin)
_function(math.Cos, accurate.cos, accurate.cos, _small(accurate.cos), double=trigonometry.cos)
_function(math.Tan, accurate.tan, accurate.tan, _small(accurate.tan), double=trigonometry.tan)
_function(math.Sinh, sinh, sinh, double=double.sinh)
_function(math.Cosh, cosh, cosh, double=double.cosh)


@lowers_each(math.Atan2)
def _angle(e: Emitter, op: math.Atan2, y: Value, x: Value) -> Value:
    kind = scalar_type(y.type)
    if kind in (F16, BF16):
        return through_f32(e, accurate.atan2, y, x)
    return double.atan2(e, y, x) if kind == F64 else accurate.atan2(e, y, x)


@lowers_each(math.Fma)
def _fma(e: Emitter, op: math.Fma, a: Value, b: Value, c: Value) -> Value:
    found = directed(e, llvm.Fma, op, a, b, c)
    if found is not None:
        return found
    if a.type == TF32:
        return bitcast(e, fma(e, *(bitcast(e, v, F32) for v in (a, b, c))), TF32)
    return fma(e, a, b, c, **mode(op))


@lowers_each(math.AbsF)
def _abs(e: Emitter, op: Op, x: Value) -> Value:
    if x.type == TF32:
        return bitcast(e, magnitude(e, bitcast(e, x, F32)), TF32)
    return magnitude(e, x)


def _rounded(cls: type[Op], to: type[Op]) -> None:
    """Register floor, ceil or trunc: cvt.rmi, cvt.rpi, cvt.rzi on f16, f32, f64."""

    @lowers_each(cls)
    def pattern(e: Emitter, op: Op, x: Value) -> Value:
        if x.type in (F32, F64, F16):
            return e.value(to, x.type, x)
        return through_f32(e, _instruction(to), x)


_rounded(math.Floor, llvm.Floor)
_rounded(math.Ceil, llvm.Ceil)
_rounded(math.Trunc, llvm.RoundToZero)


@lowers_each(math.Sqrt)
def _sqrt(e: Emitter, op: math.Sqrt, x: Value) -> Value:
    rounding = {"rounding": op.rounding} if op.rounding != "rn" else {}
    if x.type == F64:
        return e.value(llvm.Sqrt, F64, x, **rounding)
    found = directed(e, llvm.Sqrt, op, x)
    if found is not None:
        return found
    if x.type == F32:
        return e.value(llvm.Sqrt, F32, x, **rounding, **({"ftz": True} if op.ftz else {}))
    return through_f32(e, _instruction(llvm.Sqrt, rounding="approx"), x)


@lowers_each(math.Rsqrt)
def _rsqrt(e: Emitter, op: math.Rsqrt, x: Value) -> Value:
    if x.type == F64:
        return e.value(nvvm.Rcp, F64, e.value(llvm.Sqrt, F64, x), rounding="rn")
    if x.type == F32:
        return e.value(nvvm.Rsqrt, F32, x, **({"ftz": True} if op.ftz else {}))
    return through_f32(e, _instruction(nvvm.Rsqrt), x)
