"""Bytes as floats: mantissas of floats whose unit in the last place is 1, less their bias (`lowering/atoms/bytes.py`).
Signed bytes are shifted by half of their range first, which flips their sign bits.

Source, for f16: interleaved_numeric_conversion.h of PyTorch's extensions of CUTLASS (after FasterTransformer), which
has the bytes in another order. Of bf16 the eighth bit is a second mantissa, 128 or 256, which is subtracted.
"""

from __future__ import annotations

from ir.checked import checked
from ir.core import Value
from ir.dialects import llvm, nvgpu, nvvm
from ir.types import BF16, F16, F32, I8, I32, I64, FloatType, VectorType
from lowering.atoms.bytes import HALVES, SUMS
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.accurate import f32
from lowering.convert.nvgpu_to_nvvm.context import Conversion, lowers
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter
from lowering.convert.nvgpu_to_nvvm.pairs import joined, parted, twice
from lowering.convert.nvgpu_to_nvvm.values import bitcast

WORD = 4
F16_PAIR, BF16_PAIR = VectorType((2,), F16), VectorType((2,), BF16)
F16_HIGH, F16_UNIT = 0x64646464, 1024
"""The high byte of an f16 of at least 2^10, four times; it has 10 bits of mantissa."""
F32_HIGH, F32_UNIT = 0x4B000000, 8388608
"""An f32 of at least 2^23; it has 23 bits of mantissa."""
BF16_HIGH = 0x43004300
"""Two bf16 of at least 2^7, with 7 bits of mantissa; the bit above them makes 2^7 to 2^8."""
LOW, HIGHEST = 0x007F007F, 0x00800080
HALF = 128
"""What is added to signed bytes."""


@lowers(nvgpu.BytesToFloats)
def floats(c: Conversion, op: nvgpu.BytesToFloats) -> None:
    """The registers of the floats, in the order of the bytes."""
    result = checked(checked(op.result.type, VectorType).element, FloatType)
    e, word = c.e, bitcast(c.e, c.register(op.operand), I32)
    if (str(result), op.signed) not in HALVES:
        made = _wide(e, word, op.signed, op.paired)
        c.define(op.result, made if result == F32 else _rounded(e, made, result))
    elif result == F16:
        flipped = _flipped(e, word, op.signed)
        c.define(op.result, [_f16_pair(e, flipped, place, op.signed) for place in (0, 2)])
    else:
        c.define(op.result, [_bf16_pair(e, word, place) for place in (0, 2)])


def _flipped(e: Emitter, word: Value, signed: bool) -> Value:
    """Signed bytes plus half of their range: never negative."""
    return ints.xor(e, word, e.i32(0x01010101 * HALF)) if signed else word


def _permuted(e: Emitter, low: Value, high: Value, *places: int) -> Value:
    """Bytes of two registers, the lowest first."""
    selector = e.i32(sum(place << 4 * at for at, place in enumerate(places)))
    return e.value(nvvm.Permute, I32, low, high, selector, mode="default")


def _f16_pair(e: Emitter, word: Value, place: int, signed: bool) -> Value:
    """Two bytes from `place` on: 1024 + u, exact, less the bias."""
    numbers = bitcast(e, _permuted(e, word, e.i32(F16_HIGH), place, 4, place + 1, 4), F16_PAIR)
    bias = F16_UNIT + (HALF if signed else 0)
    return e.value(llvm.FAdd, F16_PAIR, numbers, e.constant(F16_PAIR, -float(bias)))


def _bf16_pair(e: Emitter, word: Value, place: int) -> Value:
    """Two signed bytes from `place` on: 128 + their low 7 bits, less 128, or 256 where they are negative. A difference
    is a multiply-add: sub.bf16x2 is PTX for sm_90.
    """
    both, high = _permuted(e, word, word, place, place, place + 1, place + 1), e.i32(BF16_HIGH)
    low, sign = (
        bitcast(e, ints.bit_or(e, ints.bit_and(e, both, e.i32(mask)), high), BF16_PAIR) for mask in (LOW, HIGHEST)
    )
    return e.value(llvm.Fma, BF16_PAIR, sign, e.constant(BF16_PAIR, -1.0), low)


def _wide(e: Emitter, word: Value, signed: bool, paired: bool) -> list[Value]:
    """f32 of each byte: the first by conversions; of the `SUMS` last ones 2^23 + u, exact, less the bias."""
    first, flipped, high = WORD - SUMS, _flipped(e, word, signed), e.i32(F32_HIGH)
    made = [_by_conversion(e, word, place, signed) for place in range(first)]
    numbers = [bitcast(e, _permuted(e, flipped, high, place, 5, 6, 7), F32) for place in range(first, WORD)]
    bias = -float(F32_UNIT + (HALF if signed else 0))
    if not paired:
        return [*made, *(e.value(llvm.FAdd, F32, number, f32(e, bias)) for number in numbers)]
    return [*made, *parted(e, e.value(nvvm.AddF32x2, I64, joined(e, numbers), twice(e, bias)))]


def _by_conversion(e: Emitter, word: Value, place: int, signed: bool) -> Value:
    """f32 of one byte."""
    byte = ints.truncate(e, ints.shift_right(e, llvm.LShr, word, e.i32(8 * place)), I8)
    return e.value(llvm.SIToFP if signed else llvm.UIToFP, F32, ints.extend(e, byte, I32, signed))


def _rounded(e: Emitter, numbers: list[Value], result: FloatType) -> list[Value]:
    """Pairs of f32 rounded to 16 bits."""
    kind = VectorType((2,), result)
    return [e.value(nvvm.ConvertF32x2, kind, *numbers[at : at + 2]) for at in range(0, len(numbers), 2)]
