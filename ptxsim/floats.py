"""Floating-point formats and rounding: from exact values to bits, in every format and rounding mode of PTX.

An exact value reaches the rounding as a float64 that is either exact or "rounded to odd": truncated, with the last bit
set if anything was lost. Rounding such a value to a format of at most 51 significant bits gives the same result as
rounding the exact value (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from ptxsim.ptx_types import Array, PtxType, unsigned

_SMALLEST_F16 = np.float32(2.0**-14)
MODES = ("rn", "rz", "rm", "rp", "rna")


@dataclass(frozen=True, slots=True)
class Format:
    """A binary float format.

    bits: width of storage; mantissa: explicit fraction bits; bias: of the exponent; largest, nan: bits of the largest
    finite value and of the canonical NaN; infinity: bits, or None if the format has none; pad: zero bits below.
    Sources: IEEE 754-2019; PTX ISA, "Alternate floating point data formats"; OCP 8-bit Floating Point Specification;
    OCP Microscaling Formats (MX) Specification.
    """

    bits: int
    mantissa: int
    bias: int
    largest: int
    nan: int
    infinity: int | None
    pad: int = 0


FORMATS = {
    "f32": Format(32, 23, 127, 0x7F7FFFFF, 0x7FFFFFFF, 0x7F800000),
    "f16": Format(16, 10, 15, 0x7BFF, 0x7FFF, 0x7C00),
    "bf16": Format(16, 7, 127, 0x7F7F, 0x7FFF, 0x7F80),
    "tf32": Format(32, 10, 127, 0x3FBFF, 0x3FFFF, 0x3FC00, pad=13),
    "e4m3": Format(8, 3, 7, 0x7E, 0x7F, None),
    "e5m2": Format(8, 2, 15, 0x7B, 0x7F, 0x7C),
    # neither NaN nor infinity: NaN becomes the largest value (CUDA Math API, "FP4 conversion", "FP6 conversion")
    "e2m3": Format(6, 3, 1, 0x1F, 0x1F, None),
    "e3m2": Format(6, 2, 3, 0x1F, 0x1F, None),
    "e2m1": Format(4, 1, 1, 0x7, 0x7, None),
}

_F64_SIGN = np.uint64(1 << 63)
_F64_FRACTION = np.uint64((1 << 52) - 1)
_F64_HIDDEN = np.uint64(1 << 52)


@dataclass(frozen=True, slots=True)
class RandomBits:
    """The addend of stochastic rounding to the discarded bits: values of `count` bits, aligned to the top of those
    bits.
    """

    values: Array
    count: int


def round_bits(
    value: Array, format_: Format, mode: str, saturate: bool = False, random: RandomBits | None = None
) -> Array:
    """The bits of float64 values (exact or rounded to odd) rounded to a format. NaN becomes the canonical NaN.

    random: for the mode "rs".
    """
    bits = value.view(np.uint64)
    negative = (bits & _F64_SIGN) != 0
    magnitude = bits & ~_F64_SIGN
    exponent = (magnitude >> np.uint64(52)).astype(np.int64) - 1023
    significand = np.where(exponent > -1023, (magnitude & _F64_FRACTION) | _F64_HIDDEN, magnitude)
    least = 1 - format_.bias
    shift = np.minimum(52 - format_.mantissa + np.maximum(least - exponent, 0), 60).astype(np.uint64)
    kept = significand >> shift
    rest = significand & ((np.uint64(1) << shift) - np.uint64(1))
    half = np.uint64(1) << (shift - np.uint64(1))
    goes_up = _carries(rest, shift, random) if random is not None else _rounds_up(mode, kept, rest, half, negative)
    kept = kept + goes_up.astype(np.uint64)
    encoded = kept.astype(np.int64) + (np.maximum(exponent - least, 0) << format_.mantissa)
    encoded = np.where(encoded > format_.largest, _overflow(format_, mode, negative, saturate), encoded)
    encoded = np.where(np.isinf(value), _infinite(format_, saturate), encoded)
    sign = np.where(negative, 1 << (format_.bits - format_.pad - 1), 0)
    encoded = np.where(np.isnan(value), format_.nan, encoded | sign)
    return (encoded << format_.pad).astype(unsigned(max(8, format_.bits)))


def _carries(rest: Array, shift: Array, random: RandomBits) -> Array:
    """Whether the discarded bits, `shift` of them, carry when the random bits are added (PTX ISA, "cvt", .rs)."""
    count = np.uint64(random.count)
    wide = np.maximum(shift, count)
    top = np.where(shift >= count, rest >> (wide - count), rest << (wide - shift))
    return (top + random.values.astype(np.uint64)) >> count != 0


def _rounds_up(mode: str, kept: Array, rest: Array, half: Array, negative: Array) -> Array:
    if mode == "rn":
        return (rest > half) | ((rest == half) & ((kept & np.uint64(1)) != 0))
    if mode == "rna":
        return rest >= half
    if mode == "rz":
        return np.zeros(kept.shape, np.bool_)
    return (rest != 0) & (negative if mode == "rm" else ~negative)


def _infinite(format_: Format, saturate: bool) -> int:
    if format_.infinity is None or saturate:
        return format_.largest
    return format_.infinity


def _overflow(format_: Format, mode: str, negative: Array, saturate: bool) -> Array | int:
    """The result for a finite value too large for the format (IEEE 754-2019, 7.4)."""
    infinite = _infinite(format_, saturate)
    if mode == "rz":
        return format_.largest
    if mode in ("rm", "rp"):
        goes_out = negative if mode == "rm" else ~negative
        return np.where(goes_out, infinite, format_.largest)
    return infinite


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum of floats and its exact error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def to_odd(total: Array, error: Array) -> Array:
    """A float64 sum rounded to odd, computed from its nearest rounding and the residual error."""
    bits = total.view(np.int64)
    inexact = (error != 0) & np.isfinite(total)
    # where the nearest rounding went past the exact value, the truncated value is one step closer to zero
    past = inexact & ((error > 0) != (total > 0))
    return np.where(inexact, (bits - past) | 1, bits).view(np.float64)


def add_odd(a: Array, b: Array) -> Array:
    """a + b in float64, rounded to odd."""
    total, error = two_sum(a, b)
    return to_odd(total, error)


def fma_odd(a: Array, b: Array, c: Array) -> Array:
    """a * b + c rounded to odd, for float64 values that came from formats of at most 26 significant bits."""
    return add_odd(a * b, c)


def bf16_to_f32(bits: Array) -> Array:
    """bfloat16 bits (uint16) as float32 values."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


_F16_SCALE = np.float32(2.0**112)  # from the exponent bias of f32 to that of f16
_F16_END = 65536.0  # the value that the exponent of infinity and NaN would have
_F16_KEPT = np.int32(-0x70002000)  # sign, exponent and fraction at f32's positions: 0x8FFFE000


def f16_to_f32(bits: Array) -> Array:
    """float16 bits (uint16) as float32 values; a quarter of the time of NumPy's conversion."""
    wide = bits.view(np.int16).astype(np.int32)  # copies of the sign in the upper bits
    wide <<= 13
    wide &= _F16_KEPT
    values = wide.view(np.float32)
    values *= _F16_SCALE  # exact, also for subnormals
    if values.size and not (values.max() < _F16_END and values.min() > -_F16_END):
        wide[np.abs(values) >= _F16_END] |= np.int32(0x7F800000)
    return values


def f32_to_bf16(values: Array) -> Array:
    """float32 values rounded to nearest even, as bfloat16 bits (uint16)."""
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint32(0x7FFF), rounded).astype(np.uint16)


def tf32_values(bits: Array) -> Array:
    """The float32 values that a tensor core reads from .tf32 registers: the low 13 bits are ignored.

    Source: PTX ISA, "mma": the operand must be in .tf32 format; hardware reads the upper 19 bits.
    """
    return (bits & np.uint32(0xFFFFE000)).view(np.float32)


@cache
def float8_table(name: str) -> Array:
    """The float32 value of each of the 256 codes of e4m3 or e5m2."""
    format_ = FORMATS[name]
    codes = np.arange(256)
    magnitude = codes & 0x7F
    exponent = magnitude >> format_.mantissa
    fraction = magnitude & ((1 << format_.mantissa) - 1)
    normal = (1 + fraction / (1 << format_.mantissa)) * 2.0 ** (exponent - format_.bias)
    subnormal = fraction / (1 << format_.mantissa) * 2.0 ** (1 - format_.bias)
    values = np.where(exponent == 0, subnormal, normal)
    values = np.where(magnitude > format_.largest, np.nan, values)
    if format_.infinity is not None:
        values = np.where(magnitude == format_.infinity, np.inf, values)
    return np.where(codes > 127, -values, values).astype(np.float32)


def flush_f32(values: Array) -> Array:
    """float32 values with subnormals replaced by zeros of their sign."""
    bits = values.view(np.uint32)
    return np.where((bits & np.uint32(0x7F800000)) == 0, bits & np.uint32(0x80000000), bits).view(np.float32)


def widen(bits: Array, type_: PtxType, flushes: bool = False) -> Array:
    """Register lanes of a 16-bit float type as float32 values, two per lane for packed types."""
    if type_.name.startswith("bf16"):
        return bf16_to_f32(bits.view(np.uint16))
    values = bits.view(np.float16).astype(np.float32)
    return np.where(np.abs(values) < _SMALLEST_F16, np.copysign(np.float32(0), values), values) if flushes else values


def narrow(values: Array, type_: PtxType, flushes: bool = False) -> Array:
    """float32 or float64 values rounded to nearest into the lanes of a 16-bit float type."""
    if type_.name.startswith("bf16"):
        is_wide = values.dtype == np.float64
        bits = round_bits(values, FORMATS["bf16"], "rn") if is_wide else f32_to_bf16(values)
    else:
        if flushes:
            values = np.where(np.abs(values) < _SMALLEST_F16, np.copysign(values.dtype.type(0), values), values)
        bits = values.astype(np.float16)
    return bits.view(type_.dtype)
