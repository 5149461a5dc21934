"""Element types of matrix operands: exact conversion from bytes to values."""

from collections.abc import Callable
from functools import cache

import numpy as np

from ptxsim.floats import bf16_to_f32, f16_to_f32, float8_table, tf32_values
from ptxsim.ptx_types import Array

# Bits of one element of a matrix operand in shared memory or a register. A name that starts with "byte." is a narrow
# float in a byte of its own, as kind::f8f6f4 of mma.sync requires; "pad." is one of 16 packed together at the front of
# 16 bytes, as tcgen05.mma reads it from shared memory. Source: PTX ISA, "mma", "wgmma.mma_async" and "tcgen05.mma", the
# matrix data types.
BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1, "s4": 4, "u4": 4, "e2m1": 4,
    "byte.e2m1": 8, "byte.e3m2": 8, "byte.e2m3": 8, "pad.e2m1": 8, "pad.e3m2": 8, "pad.e2m3": 8,
}  # fmt: skip
# Narrow floats: (exponent bits, fraction bits, bias). No infinities or NaN.
# Source: OCP Microscaling Formats (MX) Specification 1.0, "FP6" and "FP4".
_NARROW = {"e2m1": (2, 1, 1), "e2m3": (2, 3, 1), "e3m2": (3, 2, 3)}
Decoder = Callable[[Array], Array]


@cache
def narrow_table(name: str) -> Array:
    """The float32 value of each code of e2m1, e2m3 or e3m2."""
    exponent_bits, fraction_bits, bias = _NARROW[name]
    codes = np.arange(1 << (1 + exponent_bits + fraction_bits))
    exponent = codes >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = (codes & ((1 << fraction_bits) - 1)) / (1 << fraction_bits)
    magnitude = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))
    return np.where(codes >= codes.size // 2, -magnitude, magnitude).astype(np.float32)


@cache
def scale_table(name: str) -> Array:
    """The float64 value of each byte of scale factors of type ue8m0 or ue4m3.

    Source: PTX ISA, "Alternate floating point data formats"; OCP MX Specification, "E8M0".
    """
    codes = np.arange(256)
    if name == "ue8m0":
        return np.where(codes == 255, np.nan, 2.0 ** (codes - 127.0))
    return float8_table("e4m3").astype(np.float64)[codes & 0x7F]


@cache
def decoder(element: str) -> Decoder:
    """The function that turns little-endian bytes [..., n] into float32 values [..., 8n / bits]; the last axis is
    contiguous.

    All listed types have at most 24 significant bits, so the values are exact.
    """
    if element == "f16":
        return lambda raw: f16_to_f32(raw.view(np.uint16))
    if element == "bf16":
        return lambda raw: bf16_to_f32(raw.view(np.uint16))
    if element == "tf32":
        return lambda raw: tf32_values(raw.view(np.uint32))
    if element in ("e4m3", "e5m2"):
        table = float8_table(element)
        return lambda raw: table.take(raw)
    if element in ("s8", "u8"):
        integer = np.int8 if element == "s8" else np.uint8
        return lambda raw: raw.view(integer).astype(np.float32)
    if element == "b1":
        return lambda raw: np.unpackbits(raw, axis=-1, bitorder="little").astype(np.float32)
    if element.startswith("byte."):
        return _in_byte(element.removeprefix("byte."))
    if element.startswith("pad."):
        return _padded(element.removeprefix("pad."))
    return _nibbles(element)


def used_bytes(element: str) -> int:
    """Bytes at the front of every 16 that hold elements; the padding after them need not be written."""
    return 2 * (4 if element.endswith("e2m1") else 6) if element.startswith("pad.") else 16


def unpack(rows: Array, bits: int) -> Array:
    """Bytes [..., 16], one element of 6 or 4 bits each, from the front of rows of 16 bytes."""
    if bits == 4:
        low = rows[..., :8]
        return np.stack([low & 15, low >> 4], axis=-1).reshape(rows.shape)
    given = np.unpackbits(rows[..., :12], axis=-1, bitorder="little").reshape(*rows.shape[:-1], 16, 6)
    return np.packbits(given, axis=-1, bitorder="little")[..., 0]


def _padded(element: str) -> Decoder:
    table, bits = narrow_table(element), 4 if element == "e2m1" else 6
    return lambda raw: table.take(unpack(raw.reshape(*raw.shape[:-1], -1, 16), bits)).reshape(raw.shape)


def _in_byte(element: str) -> Decoder:
    """6-bit floats in the low bits of a byte; 4-bit floats two bits higher, aligned with the top bits of 6-bit ones."""
    table, shift = narrow_table(element), 2 if element == "e2m1" else 0
    by_byte = table[np.arange(256) >> shift & (table.size - 1)]
    return lambda raw: by_byte.take(raw)


def _nibbles(element: str) -> Decoder:
    codes = np.arange(16)
    values = {"u4": codes, "s4": np.where(codes > 7, codes - 16, codes)}
    table = narrow_table("e2m1") if element == "e2m1" else values[element].astype(np.float32)
    pairs = np.stack([table[np.arange(256) & 15], table[np.arange(256) >> 4]], axis=1)  # the lower nibble first
    return lambda raw: pairs[raw].reshape(*raw.shape[:-1], -1)
