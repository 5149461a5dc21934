"""Numbers by their bits: those of a format where rounding, overflow, flushing and comparing change their ways."""

from __future__ import annotations

from functools import cache

import numpy as np

from egraph.facts import FLOATS, limits
from ir.dialects.cuda_tile import dtype_of
from ir.dialects.cuda_tile.attributes import Array
from ir.types import F8E8M0FNU, TF32, FloatType

_TF32_UNUSED = 13
"""Low bits of an f32 that tf32 has not (PTX ISA, alternate floating-point data formats)."""


def mantissa_bits(element: FloatType) -> int:
    """Explicit mantissa bits of the format."""
    return 0 if element == F8E8M0FNU else FLOATS[element][1]


def width(element: FloatType) -> int:
    """Bits of the format itself; tf32 is stored in 32."""
    return element.width - _TF32_UNUSED if element == TF32 else element.width


def floats(element: FloatType, bits: Array) -> Array:
    """The numbers of a format that have these bits, in the dtype that holds the format."""
    dtype = dtype_of(element)
    kept = bits.astype(np.uint64) & np.uint64((1 << width(element)) - 1)
    if element == TF32:
        kept = kept << np.uint64(_TF32_UNUSED)
    return kept.astype(f"u{dtype.itemsize}").view(dtype)


@cache
def singular(element: FloatType) -> Array:
    """Bits of both zeros, subnormal and normal limits, one and its neighbours, the largest, infinities, NaNs that are
    quiet and that signal, each with both signs where the format has one; of f8E8M0FNU powers of two and its NaN.
    """
    bits = width(element)
    if element == F8E8M0FNU:
        return np.array([0, 1, 126, 127, 128, 254, 255], np.uint64)
    mantissa = mantissa_bits(element)
    exponent = bits - 1 - mantissa
    bias = (1 << (exponent - 1)) - 1
    least_normal, one, top = 1 << mantissa, bias << mantissa, ((1 << exponent) - 1) << mantissa
    found = [0, 1, 2, least_normal - 1, least_normal, least_normal + 1, one - 1, one, one + 1]
    found += [one - (1 << mantissa), one + (1 << mantissa), one + (1 << mantissa) - 1, one + (1 << mantissa) + 1]
    found += [top - 1, top, top + 1, top | (1 << max(mantissa - 1, 0)), (1 << (bits - 1)) - 1]
    inside = sorted({x for x in found if 0 <= x < 1 << (bits - 1)})
    return np.array([*inside, *(x | 1 << (bits - 1) for x in inside)], np.uint64)


@cache
def edges(bits: int) -> tuple[int, ...]:
    """Signed numbers beside zero and beside the limits of this width and of narrower ones."""
    low, high = limits(bits)
    ends = [end for narrow in (8, 16, 32, 64) if narrow <= bits for end in limits(narrow)]
    near = {0, 1, -1, 2, *(end + d for end in (*ends, low, high) for d in (-1, 0, 1))}
    return tuple(sorted(x for x in near if low <= x <= high))


@cache
def integers(bits: int) -> tuple[int, ...]:
    """Signed numbers of so many bits around zero, the limits, and powers of two of either sign."""
    low, high = limits(bits)
    near = {sign * (1 << k) + d for k in range(bits) for sign in (1, -1) for d in (-1, 0, 1)}
    return tuple(sorted(x for x in near | {0, low, low + 1, high, high - 1} if low <= x <= high))
