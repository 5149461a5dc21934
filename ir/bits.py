"""Numbers and their bits in every register type."""

from __future__ import annotations

import math
import struct

import numpy as np

from ir.core import Type
from ir.dialects.cuda_tile.attributes import dtype_of
from ir.nan_bits import narrowed, widened
from ir.types import BF16, F4E2M1FN, F8E4M3FN, F8E5M2, F16, F32, F64, TF32, FloatType, IntType, VectorType

BYTES = (F8E4M3FN, F8E5M2, F4E2M1FN)
"""Formats whose numbers NumPy stores in a byte each."""
NANS: dict[Type, tuple[int, int]] = {
    F16: (16, 10), BF16: (16, 7), F32: (32, 23), TF32: (32, 23), F64: (64, 52), F8E5M2: (8, 2),
}  # fmt: skip
"""Bits, and mantissa bits, of the formats whose NaNs have a payload."""


def half_bits(type: FloatType, number: float) -> int:
    """The 16 bits of a f16 or bf16 number, rounded to nearest even."""
    if type == BF16:
        word = struct.unpack("<I", struct.pack("<f", number))[0]
        if word & 0x7FFFFFFF > 0x7F800000:
            return word >> 16 | 0x40
        return (word + 0x7FFF + (word >> 16 & 1)) >> 16
    try:
        return struct.unpack("<H", struct.pack("<e", float(number)))[0]
    except OverflowError:
        return struct.unpack("<H", struct.pack("<e", math.copysign(math.inf, number)))[0]


def _word(number: float) -> int:
    """The 32 bits of a f32 number, rounded to nearest even; eight times as fast as NumPy."""
    try:
        return struct.unpack("<I", struct.pack("<f", number))[0]
    except OverflowError:
        return struct.unpack("<I", struct.pack("<f", math.copysign(math.inf, number)))[0]


def bit_pattern(type: Type, number: int | float) -> int:
    """The bits of a constant of this register type."""
    if isinstance(type, VectorType):
        one, width = bit_pattern(type.element, number), type.element.width
        return sum(one << width * i for i in range(type.shape[0]))
    if isinstance(type, FloatType):
        if type in NANS and number != number:
            return narrowed(number, *NANS[type])
        if type in (F32, TF32):
            return _word(number)
        if type == F64:
            return struct.unpack("<Q", struct.pack("<d", number))[0]
        if type in BYTES:
            return int(np.asarray(number, np.float32).astype(dtype_of(type)).view(np.uint8))
        return half_bits(type, number)
    width = type.width if isinstance(type, IntType) else 64
    return int(number) & ((1 << width) - 1)


def number_of(type: Type, bits: int) -> int | float:
    """The number with these bits in a scalar type; the inverse of bit_pattern."""
    if isinstance(type, IntType):
        return bits - (1 << type.width) if type.width > 1 and bits >> (type.width - 1) else bits
    if isinstance(type, FloatType) and type in NANS:
        width, mantissa = NANS[type]
        if (bits & (1 << width - 1) - 1) >> mantissa == (1 << width - 1 - mantissa) - 1 and bits & (1 << mantissa) - 1:
            return widened(bits, width, mantissa)
    if isinstance(type, FloatType) and type in BYTES:
        return float(np.uint8(bits).view(dtype_of(type)).astype(np.float32))
    if type == BF16:
        bits, type = bits << 16, F32
    if type in (F32, TF32):
        return struct.unpack("<f", struct.pack("<I", bits))[0]
    number, word = ("<e", "<H") if type != F64 else ("<d", "<Q")
    return struct.unpack(number, struct.pack(word, bits))[0]
