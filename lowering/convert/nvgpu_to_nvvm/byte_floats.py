"""Bytes as floats: mantissas of floats whose unit in the last place is 1, less their bias (`lowering/atoms/bytes.py`).
Signed bytes are shifted by half of their range first, which flips their sign bits.

Source, for f16: interleaved_numeric_conversion.h of PyTorch's extensions of CUTLASS (after FasterTransformer), which
has the bytes in another order. The mantissas of bf16 are too short: it is rounded from f32, which is exact.
"""

from __future__ import annotations

from ir.checked import checked
from ir.core import Value
from ir.dialects import llvm, nvgpu, nvvm
from ir.types import F16, F32, I8, I32, FloatType, VectorType
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.accurate import f32
from lowering.convert.nvgpu_to_nvvm.context import Conversion, lowers
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter
from lowering.convert.nvgpu_to_nvvm.values import bitcast

WORD = 4
PAIR = VectorType((2,), F16)
F16_HIGH, F16_UNIT = 0x64646464, 1024
"""The high byte of an f16 of at least 2^10, four times; it has 10 bits of mantissa."""
F32_HIGH, F32_UNIT = 0x4B000000, 8388608
"""An f32 of at least 2^23; it has 23 bits of mantissa."""
HALF = 128
"""What is added to signed bytes."""


@lowers(nvgpu.BytesToFloats)
def floats(c: Conversion, op: nvgpu.BytesToFloats) -> None:
    """The registers of the floats, in the order of the bytes."""
    result = checked(checked(op.result.type, VectorType).element, FloatType)
    e, word = c.e, bitcast(c.e, c.register(op.operand), I32)
    if result == F16:
        flipped = _flipped(e, word, op.signed)
        c.define(op.result, [_pair(e, flipped, place, op.signed) for place in (0, 2)])
        return
    made = _wide(e, word, op.signed)
    c.define(op.result, made if result == F32 else _rounded(e, made, result))


def _flipped(e: Emitter, word: Value, signed: bool) -> Value:
    """Signed bytes plus half of their range: never negative."""
    return ints.xor(e, word, e.i32(0x01010101 * HALF)) if signed else word


def _pair(e: Emitter, word: Value, place: int, signed: bool) -> Value:
    """Two bytes from `place` on as f16: 1024 + u, exact, less the bias."""
    selector = e.i32(place | 4 << 4 | place + 1 << 8 | 4 << 12)
    numbers = e.value(nvvm.Permute, I32, word, e.i32(F16_HIGH), selector, mode="default")
    bias = F16_UNIT + (HALF if signed else 0)
    return e.value(llvm.FAdd, PAIR, bitcast(e, numbers, PAIR), e.constant(PAIR, -float(bias)))


def _wide(e: Emitter, word: Value, signed: bool) -> list[Value]:
    """f32 of each byte, the highest as 2^23 + u, exact, less the bias, the others by conversions."""
    added = HALF if signed else 0
    highest = ints.shift_right(e, llvm.LShr, word, e.i32(8 * (WORD - 1)))
    number = bitcast(e, ints.xor(e, highest, e.i32(F32_HIGH | added)), F32)
    made = e.value(llvm.FAdd, F32, number, f32(e, -float(F32_UNIT + added)))
    return [*(_by_conversion(e, word, place, signed) for place in range(WORD - 1)), made]


def _by_conversion(e: Emitter, word: Value, place: int, signed: bool) -> Value:
    """f32 of one byte."""
    byte = ints.truncate(e, ints.shift_right(e, llvm.LShr, word, e.i32(8 * place)), I8)
    return e.value(llvm.SIToFP if signed else llvm.UIToFP, F32, ints.extend(e, byte, I32, signed))


def _rounded(e: Emitter, numbers: list[Value], result: FloatType) -> list[Value]:
    """Pairs of f32 rounded to 16 bits."""
    kind = VectorType((2,), result)
    return [e.value(nvvm.ConvertF32x2, kind, *numbers[at : at + 2]) for at in range(0, len(numbers), 2)]
