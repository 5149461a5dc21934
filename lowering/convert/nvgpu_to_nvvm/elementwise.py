"""arith ops: one function an op, from operand registers to the result register. Packed pairs stay packed where PTX can.

PTX for sm_80 has fma, min, max, neg and abs on bf16 but no add, sub, mul or compare (ptxas 13.5: "requires .target
sm_90"); sums and products are therefore fused multiply-adds with 1 or -0, which round the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir.core import Op, Type, UnsupportedError, Value
from ir.dialects import arith, llvm, math, nvvm
from ir.types import BF16, F4E2M1FN, F8E8M0FNU, F16, F32, F64, I1, I8, I16, I32, TF32, FloatType, VectorType
from lowering.atoms.reciprocals import APPROXIMATE, reciprocal_of
from lowering.convert.nvgpu_to_nvvm import division, half_bytes
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.context import lowers_each
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, uncrossed, width_of, width_of_type
from lowering.convert.nvgpu_to_nvvm.extrema import extremum
from lowering.convert.nvgpu_to_nvvm.floats import compare, negative, widened_with_other_sign
from lowering.convert.nvgpu_to_nvvm.values import BYTES, bitcast, narrowed, pack, unpack, widened_byte
from lowering.targets import Feature


def scalar_type(type: Type) -> Type:
    """The element of a packed pair, or the type itself."""
    return type.element if isinstance(type, VectorType) else type


def mode(op: Op, **more: object) -> dict[str, Any]:
    """The rounding and ftz attributes that differ from the default."""
    rounding, ftz = op.attributes.get("rounding", "rn"), op.attributes.get("ftz", False)
    if rounding not in ("rn", "approx", "full"):
        more["rounding"] = rounding
    if ftz:
        more["ftz"] = True
    return more


# Integers


def _integer(
    cls: type[Op], make: Callable[[Emitter, Value, Value], Value], signed: bool | None = None, wide: Type = I16
) -> None:
    """Register a two-operand op; `signed` says how bytes are widened to `wide`, None that the low bits suffice."""

    @lowers_each(cls)
    def pattern(e: Emitter, op: Op, x: Value, y: Value) -> Value:
        if signed is None or x.type != I8:
            return make(e, x, y)
        return ints.truncate(e, make(e, ints.extend(e, x, wide, signed), ints.extend(e, y, wide, signed)), I8)


def _left(e: Emitter, x: Value, y: Value) -> Value:
    """shl; an i1, for which PTX has no shift, stays or is shifted out."""
    return ints.bit_and(e, x, _stays(e, y)) if x.type == I1 else ints.shl(e, x, y)


def _right(e: Emitter, cls: type[Op], x: Value, y: Value) -> Value:
    """shr, likewise; an arithmetic shift leaves the sign of an i1, which is the i1 itself."""
    if x.type != I1:
        return ints.shift_right(e, cls, x, y)
    return x if cls is llvm.AShr else ints.bit_and(e, x, _stays(e, y))


def _stays(e: Emitter, amount: Value) -> Value:
    """Is an i1 shifted by 0?"""
    return ints.xor(e, amount, e.constant(I1, 1))


_integer(arith.DivSI, lambda e, x, y: division.divide(e, llvm.SDiv, x, y), True)
_integer(arith.DivUI, lambda e, x, y: division.divide(e, llvm.UDiv, x, y), False)
_integer(arith.RemSI, lambda e, x, y: division.divide(e, llvm.SRem, x, y), True)
_integer(arith.RemUI, lambda e, x, y: division.divide(e, llvm.URem, x, y), False)
_integer(arith.FloorDivSI, division.floor_divide, True)
_integer(arith.CeilDivSI, lambda e, x, y: division.ceil_divide(e, x, y, True), True)
_integer(arith.CeilDivUI, lambda e, x, y: division.ceil_divide(e, x, y, False), False)
_integer(arith.ShLI, _left, False, I32)  # as a 32-bit shift: bytes of words need no extraction before it
_integer(arith.ShRSI, lambda e, x, y: _right(e, llvm.AShr, x, y), True)
_integer(arith.ShRUI, lambda e, x, y: _right(e, llvm.LShr, x, y), False, I32)
_integer(arith.AndI, ints.bit_and)
_integer(arith.XOrI, ints.xor)
_integer(arith.MaxSI, lambda e, x, y: extremum(e, llvm.SMax, x, y), True)
_integer(arith.MaxUI, lambda e, x, y: extremum(e, llvm.UMax, x, y), False)
_integer(arith.MinSI, lambda e, x, y: extremum(e, llvm.SMin, x, y), True)
_integer(arith.MinUI, lambda e, x, y: extremum(e, llvm.UMin, x, y), False)
_integer(arith.MulSIWide, lambda e, x, y: ints.wide_product(e, x, y, True))
_integer(arith.MulUIWide, lambda e, x, y: ints.wide_product(e, x, y, False))


@lowers_each(arith.OrI)
def either(e: Emitter, op: Op, x: Value, y: Value) -> Value:
    """or; if the operands are rounded floats in the two halves of a byte, one conversion of both."""
    return half_bytes.joined(e, x, y) or ints.bit_or(e, x, y)


@lowers_each(arith.MulHUI)
def _high_product(e: Emitter, op: Op, x: Value, y: Value) -> Value:
    """mul.hi; narrow integers by a product that holds all their bits."""
    kind, width = x.type, width_of(x)
    if kind == I1:
        return e.constant(I1, 0)
    if width >= 32:
        return e.value(nvvm.MulHigh, kind, x, y)
    product = ints.mul(e, ints.extend(e, x, I32, False), ints.extend(e, y, I32, False))
    return ints.truncate(e, ints.shift_right(e, llvm.LShr, product, e.i32(width)), kind)


@lowers_each(math.AbsI)
def magnitude(e: Emitter, op: Op, x: Value) -> Value:
    """max(x, -x); a bit is itself."""
    if x.type == I1:
        return x
    wide = ints.widened(e, x, True)
    return ints.truncate(e, extremum(e, llvm.SMax, wide, ints.sub(e, e.constant(wide.type, 0), wide)), x.type)


def _wrapping(cls: type[Op], make: Callable[[Emitter, Value, Value, bool], Value]) -> None:
    """Register a sum, difference or product with its no-wrap promise."""

    @lowers_each(cls)
    def pattern(e: Emitter, op: Op, x: Value, y: Value) -> Value:
        return make(e, x, y, bool(op.attributes.get("nsw")))


_wrapping(arith.AddI, ints.add)
_wrapping(arith.SubI, ints.sub)
_wrapping(arith.MulI, ints.mul)


@lowers_each(arith.CmpI)
def compare_integers(e: Emitter, op: arith.CmpI, x: Value, y: Value) -> Value:
    """icmp."""
    signed = op.predicate[0] == "s"
    return ints.icmp(e, op.predicate, ints.widened(e, x, signed), ints.widened(e, y, signed))


@lowers_each(arith.Select)
def select(e: Emitter, op: Op, condition: Value, x: Value, y: Value) -> Value:
    """select; a remainder fixed up by a select is the remainder of the division rounded down."""
    rest = division.floor_remainder(e, condition, x, y)
    return ints.select(e, condition, x, y) if rest is None else rest


@lowers_each(arith.ExtSI)
def extend_signed(e: Emitter, op: Op, x: Value) -> Value:
    """sext."""
    return ints.extend(e, x, op.results[0].type, True)


@lowers_each(arith.ExtUI)
def extend_unsigned(e: Emitter, op: Op, x: Value) -> Value:
    """zext."""
    return ints.extend(e, x, op.results[0].type, False)


@lowers_each(arith.TruncI)
def truncate(e: Emitter, op: Op, x: Value) -> Value:
    """trunc."""
    return ints.truncate(e, x, op.results[0].type)


@lowers_each(arith.IndexCast)
def index_cast(e: Emitter, op: Op, x: Value) -> Value:
    """sext or trunc."""
    to = op.results[0].type
    return ints.truncate(e, x, to) if width_of(x) > width_of_type(to) else ints.extend(e, x, to, True)


# Floats


def convert(e: Emitter, x: Value, to: Type, rounding: str = "rn", ftz: bool = False) -> Value:
    """Float to float, through f32 where PTX has no direct instruction."""
    kind = x.type
    if kind == to:
        return x
    if x in e.known and to in (F16, BF16, F32, F64):
        return e.constant(to, e.known[x])
    if F8E8M0FNU in (kind, to):
        return convert(e, power_of(e, x), to) if kind == F8E8M0FNU else exponent_of(e, convert_odd(e, x), rounding)
    if to == F4E2M1FN:
        return half_bytes.rounded(e, convert_odd(e, x))
    if kind == F4E2M1FN:
        return convert(e, half_bytes.widened(e, x), to)
    if to in BYTES:
        return narrowed(e, convert_odd(e, x), to)
    if kind in BYTES:
        return convert(e, widened_byte(e, x), to)
    if TF32 in (kind, to):
        if kind == TF32:
            return convert(e, bitcast(e, x, F32), to, rounding)
        exact = width_of(x) <= 16  # f16 and bf16 have no more bits
        return bitcast(e, convert(e, x, F32), TF32) if exact else rounded_to_tf32(e, convert_odd(e, x), rounding)
    if BF16 in (kind, to) and F32 not in (kind, to):
        return convert(e, rounded_to_odd(e, x) if kind == F64 else convert(e, x, F32, rounding, ftz), to, rounding, ftz)
    if (kind, to) == (F16, F32) and not ftz and (opposite := widened_with_other_sign(e, x)) is not None:
        return negative(e, opposite)
    wider = width_of(x) < (to.width if isinstance(to, FloatType) else 0)
    attributes: dict[str, Any] = {} if wider or rounding in ("rn", "rna") else {"rounding": rounding}
    if ftz:
        attributes["ftz"] = True
    return e.value(llvm.FPExt if wider else llvm.FPTrunc, to, x, **attributes)


def power_of(e: Emitter, x: Value) -> Value:
    """f8E8M0FNU as f32: its bits are the exponent, 255 is NaN; 2^-127 is subnormal. Source: OCP MX 1.0, E8M0."""
    code = ints.extend(e, bitcast(e, x, I8), I32, False)
    bits = ints.select(e, ints.icmp(e, "eq", code, e.i32(0)), e.i32(1 << 22), ints.shl(e, code, e.i32(23)))
    return bitcast(e, ints.select(e, ints.icmp(e, "eq", code, e.i32(255)), e.i32(0x7FC00000), bits), F32)


def exponent_of(e: Emitter, x: Value, rounding: str) -> Value:
    """f32 as f8E8M0FNU: the power of two below (rz) or above (rp), within the format; negative numbers are NaN."""
    bits = bitcast(e, x, I32)
    code = ints.bit_and(e, ints.shift_right(e, llvm.LShr, bits, e.i32(23)), e.i32(255))
    if rounding == "rp":
        least = ints.select(e, ints.icmp(e, "eq", code, e.i32(0)), e.i32(1 << 22), e.i32(0))  # 2^-127 is code 0
        above = ints.icmp(e, "ugt", ints.bit_and(e, bits, e.i32((1 << 23) - 1)), least)
        code = ints.add(e, code, ints.extend(e, above, I32, False))
    code = extremum(e, llvm.UMin, code, e.i32(254))
    none = compare(e, "ult", x, e.constant(F32, 0.0))
    code = ints.select(e, none, e.i32(255), code)
    return bitcast(e, ints.truncate(e, code, I8), F8E8M0FNU)


def rounded_to_tf32(e: Emitter, x: Value, rounding: str) -> Value:
    """f32 with 10 bits of mantissa; before sm_90 only ties away from zero have an instruction (ptxas 13.5)."""
    if rounding == "rna" or e.target.has(Feature.CVT_TF32):
        return e.value(llvm.FPTrunc, TF32, x, rounding=rounding)
    bits = bitcast(e, x, I32)
    if rounding == "rn":
        last = ints.bit_and(e, ints.shift_right(e, llvm.LShr, bits, e.i32(13)), e.i32(1))
        bits = ints.add(e, bits, ints.add(e, last, e.i32((1 << 12) - 1)))
    kept = ints.bit_and(e, bits, e.i32(-(1 << 13)))
    nan = e.value(llvm.FCmp, I1, x, x, predicate="uno")
    return bitcast(e, ints.select(e, nan, e.i32(0x7FFFE000), kept), TF32)


def convert_odd(e: Emitter, x: Value) -> Value:
    """Any float as f32, without a rounding that the next one could not detect."""
    return rounded_to_odd(e, x) if x.type == F64 else convert(e, x, F32)


def odd_float(e: Emitter, to: type[Op], x: Value, signed: bool) -> Value:
    """An i32 or i64 as f32 rounded to odd, so that the next rounding is the only one."""
    cut = e.value(to, F32, x, rounding="rz")
    back = e.value(llvm.FPToSI if signed else llvm.FPToUI, x.type, cut)
    lost = ints.extend(e, ints.icmp(e, "ne", back, x), I32, False)
    return bitcast(e, ints.bit_or(e, bitcast(e, cut, I32), lost), F32)


def rounded_to_odd(e: Emitter, x: Value) -> Value:
    """f64 as f32 rounded to odd, so that the next rounding is the only one."""
    cut = e.value(llvm.FPTrunc, F32, x, rounding="rz")
    lost = e.value(llvm.FCmp, I1, e.value(llvm.FPExt, F64, cut), x, predicate="one")
    return bitcast(e, ints.bit_or(e, bitcast(e, cut, I32), ints.extend(e, lost, I32, False)), F32)


def through_f32(e: Emitter, make: Callable[..., Value], *operands: Value, rounding: str = "rn") -> Value:
    """Compute 16-bit floats, packed or not, in f32 and round once."""
    kind = operands[0].type
    columns = zip(*(unpack(e, x) for x in operands), strict=True)
    element = scalar_type(kind)
    parts = [convert(e, make(e, *(convert(e, x, F32) for x in column)), element, rounding) for column in columns]
    return pack(e, parts, kind)


EXACT = 1 << 24  # integers up to here are f32 numbers
DIRECTED = ("rz", "rm", "rp")


def directed(e: Emitter, to: type[Op], op: Op, *operands: Value) -> Value | None:
    """An op on 16-bit floats with directed rounding, None for other roundings: PTX has those only in f32. Two roundings
    in the same direction are equal to one.
    """
    rounding: str = op.attributes.get("rounding", "rn")
    if rounding not in DIRECTED or scalar_type(operands[0].type) not in (F16, BF16):
        return None

    def make(e: Emitter, *wide: Value) -> Value:
        return e.value(to, F32, *wide, rounding=rounding)

    return through_f32(e, make, *operands, rounding=rounding)


def as_f32(e: Emitter, x: Value) -> Value:
    """tf32 seen as the f32 it is stored in."""
    return bitcast(e, x, F32) if x.type == TF32 else x


def _float_binary(cls: type[Op], to: type[Op], bf16: Callable[[Emitter, Value, Value], Value] | None) -> None:
    """Register a two-operand float op; `bf16` replaces it on bfloat16."""

    @lowers_each(cls)
    def pattern(e: Emitter, op: Op, x: Value, y: Value) -> Value:
        if cls is not arith.SubF:
            x, y = uncrossed(x, y)
        found = directed(e, to, op, x, y)
        if found is not None:
            return found
        if bf16 is not None and scalar_type(x.type) == BF16:
            return bf16(e, x, y)
        if x.type == TF32:
            return bitcast(e, e.value(to, F32, as_f32(e, x), as_f32(e, y), **mode(op)), TF32)
        if to is llvm.FMul and x.type == F32 and not mode(op) and (chosen := _chosen_product(e, x, y)) is not None:
            return chosen
        return e.value(to, x.type, x, y, **mode(op))


def _chosen_product(e: Emitter, x: Value, y: Value) -> Value | None:
    """One of two constants times a constant, as for a scaled i1: one of two other constants."""
    for choice, factor in ((x.owner, y), (y.owner, x)):
        if (
            type(choice) is not llvm.Select
            or factor not in e.known
            or any(v not in e.known for v in choice.operands[1:])
        ):
            continue
        with np.errstate(all="ignore"):
            made = [np.float32(e.known[v]) * np.float32(e.known[factor]) for v in choice.operands[1:]]
        if all(np.isfinite(number) for number in made):
            return ints.select(e, choice.operands[0], *(e.constant(F32, float(number)) for number in made))
    return None


def _bf16_fma(e: Emitter, a: Value, b: Value, c: Value) -> Value:
    return e.value(llvm.Fma, a.type, a, b, c)


_float_binary(arith.AddF, llvm.FAdd, lambda e, x, y: _bf16_fma(e, x, e.constant(x.type, 1.0), y))
_float_binary(arith.SubF, llvm.FSub, lambda e, x, y: _bf16_fma(e, y, e.constant(x.type, -1.0), x))
_float_binary(arith.MulF, llvm.FMul, lambda e, x, y: _bf16_fma(e, x, y, e.constant(x.type, -0.0)))
_float_binary(arith.MaxNumF, llvm.MaxNum, None)
_float_binary(arith.MinNumF, llvm.MinNum, None)


def _nan_propagating(cls: type[Op], to: type[Op], quiet: type[Op]) -> None:
    """Register maximumf or minimumf; f64 has no .NaN form (ptxas: illegal modifier), there a sum propagates the NaN."""

    @lowers_each(cls)
    def pattern(e: Emitter, op: Op, x: Value, y: Value) -> Value:
        x, y = uncrossed(x, y)
        if x.type == F64:
            ordered = e.value(llvm.FCmp, I1, x, y, predicate="ord")
            return ints.select(e, ordered, e.value(quiet, F64, x, y), e.value(llvm.FAdd, F64, x, y))
        x, y = as_f32(e, x), as_f32(e, y)
        made = e.value(to, x.type, x, y, **mode(op))
        return bitcast(e, made, TF32) if op.results[0].type == TF32 else made


_nan_propagating(arith.MaximumF, llvm.Maximum, llvm.MaxNum)
_nan_propagating(arith.MinimumF, llvm.Minimum, llvm.MinNum)


def _quotient(e: Emitter, x: Value, y: Value) -> Value:
    return quotient(e, x, y, "rn", {})


def quotient(e: Emitter, x: Value, y: Value, rounding: str, flags: dict[str, Any]) -> Value:
    """x / y of f32 or f64 in the cheapest form that the rounding allows; `flags` holds ftz if it is requested."""
    divisor, approximate = e.known.get(y), rounding in APPROXIMATE
    if approximate and divisor is not None and REGULAR <= abs(divisor) <= 1 / REGULAR:
        # two roundings are less than the 2 ulp that PTX allows
        return e.value(llvm.FMul, x.type, x, e.constant(x.type, 1 / divisor), **flags)
    one = e.known.get(x) == 1.0
    made = reciprocal_of(rounding, bool(flags.get("ftz")), one, e.forbid)
    if made:
        inverse = e.value(nvvm.Rcp, x.type, y, **flags, **({} if approximate else {"rounding": made}))
        return inverse if one else e.value(llvm.FMul, x.type, x, inverse, **flags)
    return e.value(llvm.FDiv, x.type, x, y, **flags, **({} if rounding == "rn" else {"rounding": rounding}))


REGULAR = 2.0**-125
"""Divisors from here to its inverse have a normal f32 reciprocal."""


@lowers_each(arith.DivF)
def divide_floats(e: Emitter, op: arith.DivF, x: Value, y: Value) -> Value:
    """fdiv; 16-bit quotients through f32, whose 24 bits make the second rounding harmless (24 >= 2 * 11 + 2)."""
    if scalar_type(x.type) in (F16, BF16):
        found = directed(e, llvm.FDiv, op, x, y)
        return through_f32(e, _quotient, x, y) if found is None else found
    kind = x.type
    flags = {"ftz": True} if op.ftz else {}
    if kind == TF32:
        return bitcast(e, quotient(e, as_f32(e, x), as_f32(e, y), op.rounding, flags), TF32)
    return quotient(e, x, y, op.rounding, flags)


@lowers_each(arith.NegF)
def negate(e: Emitter, op: Op, x: Value) -> Value:
    """fneg."""
    if x.type == TF32:
        return bitcast(e, negative(e, as_f32(e, x)), TF32)
    if x.type in BYTES:  # neither PTX nor Tile IR has it; rules move a negation after a conversion
        return bitcast(e, ints.xor(e, bitcast(e, x, I8), e.constant(I8, -128)), x.type)
    return negative(e, x)


@lowers_each(arith.CmpF)
def compare_floats(e: Emitter, op: arith.CmpF, x: Value, y: Value) -> Value:
    """fcmp; bf16 compares as f32."""
    x, y = as_f32(e, x), as_f32(e, y)
    if x.type == BF16:
        x, y = convert(e, x, F32), convert(e, y, F32)
    if isinstance(x.type, VectorType):
        raise UnsupportedError("arith.cmpf on a packed pair", op.location, "compare its halves")
    return compare(e, op.predicate, x, y, op.ftz)


@lowers_each(arith.ExtF, arith.TruncF)
def _float_cast(e: Emitter, op: arith.FloatCast, x: Value) -> Value:
    to = op.results[0].type
    if isinstance(to, VectorType) and isinstance(x.type, VectorType):
        return pack(e, [convert(e, part, to.element, op.rounding, op.ftz) for part in unpack(e, x)], to)
    return convert(e, x, to, op.rounding, op.ftz)


def _to_float(cls: type[arith.FloatCast], to: type[Op], signed: bool) -> None:
    @lowers_each(cls)
    def pattern(e: Emitter, op: arith.FloatCast, x: Value) -> Value:
        kind = op.results[0].type
        known = e.integer(x)
        if known is not None:
            return e.constant(kind, known if signed else known & ((1 << width_of(x)) - 1))
        exact = width_of(x) < 32
        if exact:
            x = ints.extend(e, x, I32, signed)
        if (chosen := _chosen_numbers(e, x, signed)) is not None and kind in (F32, BF16):
            return convert(e, chosen, kind)
        if kind in (BF16, TF32, F4E2M1FN, *BYTES):
            return convert(e, e.value(to, F32, x) if exact else odd_float(e, to, x, signed), kind)
        return e.value(to, kind, x, **mode(op))


def _chosen_numbers(e: Emitter, x: Value, signed: bool) -> Value | None:
    """One of two small constants, as from a widened i1, as an f32."""
    chosen = x.owner
    if type(chosen) is not llvm.Select:
        return None
    numbers = [e.integer(arm) for arm in chosen.operands[1:]]
    if not all(n is not None and (-EXACT if signed else 0) <= n <= EXACT for n in numbers):
        return None
    return ints.select(e, chosen.operands[0], *(e.constant(F32, float(n or 0)) for n in numbers))


def _to_integer(cls: type[arith.FloatCast], to: type[Op]) -> None:
    @lowers_each(cls)
    def pattern(e: Emitter, op: arith.FloatCast, x: Value) -> Value:
        x, wanted = as_f32(e, x), op.results[0].type
        x = convert(e, x, F32) if x.type in (BF16, F4E2M1FN, *BYTES) else x
        if wanted == I1:  # PTX has no such conversion; an out-of-range value, which saturates, is not zero either
            return ints.icmp(e, "ne", e.value(llvm.FPToSI, I32, x), e.constant(I32, 0))
        return e.value(to, wanted, x)


_to_float(arith.SIToFP, llvm.SIToFP, True)
_to_float(arith.UIToFP, llvm.UIToFP, False)
_to_integer(arith.FPToSI, llvm.FPToSI)
_to_integer(arith.FPToUI, llvm.FPToUI)


@lowers_each(arith.Bitcast)
def cast_bits(e: Emitter, op: Op, x: Value) -> Value:
    """bitcast."""
    return bitcast(e, x, op.results[0].type)


@lowers_each(llvm.Bitcast)
def cast_pointer(e: Emitter, op: Op, x: Value) -> Value:
    """ptr_to_ptr: addresses have no pointee."""
    return x
