"""Floats and integers of half a byte: a register holds one in its low four bits, and anything above them.

f4E2M1FN is sign, two bits of exponent and one of mantissa: 0, 0.5, 1, 1.5, 2, 3, 4, 6. Source: OCP microscaling formats
1.0, FP4. No NaN: it becomes 6, as in PTX's conversion (PTX ISA, cvt, .satfinite).
"""

from __future__ import annotations

from ir.core import Value
from ir.dialects import llvm, nvvm
from ir.types import F4E2M1FN, F16, F32, I1, I4, I8, I32, VectorType
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter
from lowering.convert.nvgpu_to_nvvm.floats import magnitude
from lowering.convert.nvgpu_to_nvvm.values import bitcast
from lowering.targets import Feature

LARGEST = 6.0
MAGIC = 22 << 23
"""The exponent bits of 2^22 in an f32: a number added to 2^22 is rounded to a multiple of 0.5."""


def rounded(e: Emitter, x: Value) -> Value:
    """An f32 as f4E2M1FN."""
    if e.target.has(Feature.CVT_FP4):
        code = e.value(nvvm.ConvertF32ToF4, I8, x, e.constant(F32, 0.0))
    else:
        code = rounded_code(e, x)
    return bitcast(e, ints.truncate(e, code, I4), F4E2M1FN)


def rounded_code(e: Emitter, x: Value) -> Value:
    """The code of the f4E2M1FN nearest to an f32, ties to the even one, without an instruction for it.

    With 2^k the power of two in max(|x|, 1), numbers lie 2^(k - 1) apart from 2^k to 2^(k + 1), and below it if k is 0.
    Adding 2^(22 + k) rounds to such a multiple and leaves its count in the low bits; each k has passed two codes.
    """
    size = e.value(llvm.MinNum, F32, magnitude(e, x), e.constant(F32, LARGEST))
    above = bitcast(e, e.value(llvm.MaxNum, F32, size, e.constant(F32, 1.0)), I32)
    power = ints.bit_and(e, above, e.i32(0xFF << 23))
    magic = ints.add(e, power, e.i32(MAGIC))
    count = ints.sub(e, bitcast(e, e.value(llvm.FAdd, F32, size, bitcast(e, magic, F32)), I32), magic)
    passed = ints.add(e, ints.shift_right(e, llvm.LShr, power, e.i32(22)), e.i32(-2 * 127))
    negative = ints.bit_and(e, ints.shift_right(e, llvm.LShr, bitcast(e, x, I32), e.i32(28)), e.i32(8))
    nan = e.value(llvm.FCmp, I1, x, x, predicate="uno")
    return ints.bit_or(e, ints.add(e, count, passed), ints.select(e, nan, e.i32(0), negative))


def widened(e: Emitter, x: Value) -> Value:
    """An f4E2M1FN as f16 or f32, both of which hold it exactly."""
    byte, place = byte_behind(e, bitcast(e, x, I4))
    if e.target.has(Feature.CVT_FP4):
        pair = e.value(nvvm.ConvertF4x2ToF16x2, VectorType((2,), F16), byte)
        return e.pure(nvvm.Unpack, [F16, F16], (pair,)).results[place]
    word = ints.extend(e, byte, I32, False)
    sign = ints.bit_and(e, ints.shl(e, word, e.i32(28 - 4 * place)), e.i32(1 << 31))
    rest = ints.bit_and(e, ints.shl(e, word, e.i32(22 - 4 * place)), e.i32(7 << 22))
    # exponent and mantissa at their place in an f32, whose exponents lie 126 higher: subnormals become right by it too
    return e.value(llvm.FMul, F32, bitcast(e, ints.bit_or(e, rest, sign), F32), e.constant(F32, 2.0**126))


def byte_behind(e: Emitter, x: Value) -> tuple[Value, int]:
    """The i8 that an i4 is a half of, and which half."""
    cut = x.owner
    if type(cut) is llvm.Trunc and cut.operands[0].type == I8:
        return high_half(e, cut.operands[0]) or (cut.operands[0], 0)
    return e.value(llvm.ZExt, I8, x), 0


def high_half(e: Emitter, x: Value) -> tuple[Value, int] | None:
    """The i8 of which an i8 holds the high half in its low bits."""
    moved = x.owner.operands[0] if type(x.owner) is llvm.Trunc else x
    if type(moved.owner) is not llvm.LShr or e.integer(moved.owner.operands[1]) != 4:
        return None
    byte = moved.owner.operands[0]
    if type(byte.owner) is llvm.ZExt:
        byte = byte.owner.operands[0]
    return (byte, 1) if byte.type == I8 else None


def joined(e: Emitter, x: Value, y: Value) -> Value | None:
    """x | y where both hold one f32 rounded to f4E2M1FN, in the two halves of a byte: one conversion of both."""
    low, high = source_of(x), source_of(y)
    if high is None:
        x, y, low, high = y, x, high, low
    lower = source_in_high_half(e, x) if low is None else None
    if lower is not None and high is not None:
        return e.value(nvvm.ConvertF32ToF4, I8, high, lower)
    return None


def source_in_high_half(e: Emitter, x: Value) -> Value | None:
    """The f32 whose rounded value is in the high half of an i8 with a zero low half."""
    inner = x.owner
    if type(inner) is llvm.Trunc:
        inner = inner.operands[0].owner
    if type(inner) is not llvm.Mul or e.integer(inner.operands[1]) != 16:
        return None
    return source_of(inner.operands[0])


def source_of(x: Value) -> Value | None:
    """The f32 whose rounded value is in the low half of an i8 or i16 with all other bits 0."""
    inner = x.owner
    if type(inner) is not llvm.ZExt or inner.operands[0].type != I4:
        return None
    cut = inner.operands[0].owner
    made = cut.operands[0].owner if type(cut) is llvm.Trunc else None
    return made.sources[0] if type(made) is nvvm.ConvertF32ToF4 and len(made.sources) == 2 else None
