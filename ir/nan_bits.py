"""NaNs of narrow formats as Python floats: converted by their bits, since converting the value quiets a signalling NaN.

A Python float is a double; sign and payload of a narrower NaN are in its sign and the highest bits of its mantissa.
Source: IEEE 754-2019, 6.2.
"""

from __future__ import annotations

import struct

MANTISSA = 52
"""Bits of a double's mantissa."""


def widened(bits: int, width: int, mantissa: int) -> float:
    """The Python float for a NaN of `width` bits, `mantissa` of them its mantissa."""
    word = (bits >> (width - 1)) << 63 | 0x7FF << MANTISSA | (bits & (1 << mantissa) - 1) << (MANTISSA - mantissa)
    return struct.unpack("<d", struct.pack("<Q", word))[0]


def narrowed(number: float, width: int, mantissa: int) -> int:
    """The bits of such a NaN; if its payload does not fit, those of the quiet NaN with its sign."""
    word = struct.unpack("<Q", struct.pack("<d", number))[0]
    payload = (word & (1 << MANTISSA) - 1) >> (MANTISSA - mantissa) or 1 << (mantissa - 1)
    exponent = (1 << (width - 1 - mantissa)) - 1
    return (word >> 63) << (width - 1) | exponent << mantissa | payload
