"""Shared-memory matrix descriptors: from 64 bits to the 16-byte cells of an operand tile.

Layouts and fields: PTX ISA, "Shared Memory Matrix Layout" and "Matrix Descriptor Format" of wgmma and tcgen05. All
strides are multiples of 16 bytes and the XOR of a swizzle moves whole 16-byte units, so a tile is a table of 16-byte
cells: K-major [row, k unit], MN-major [k, row unit].
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ptxsim.ptx_types import Array

UNIT = 16
_ROWS = 8  # rows of a core matrix (PTX ISA, "Core matrices")


@dataclass(frozen=True, slots=True)
class Swizzle:
    """A swizzle mode: bytes of a row of its atom, and the XOR of address bits 7 and up into lower bits.

    mask: of the bits above bit 7; shift: bits from there down to their target; width 0 means no swizzle.
    """

    name: str
    width: int
    mask: int
    target: int


NONE = Swizzle("none", 0, 0, 4)
# CUTLASS Swizzle<1,4,3>, <2,4,3>, <3,4,3> and <2,5,2> on byte addresses
SWIZZLE_32 = Swizzle("32B", 32, 1, 4)
SWIZZLE_64 = Swizzle("64B", 64, 3, 4)
SWIZZLE_128 = Swizzle("128B", 128, 7, 4)
SWIZZLE_128_BASE_32 = Swizzle("128B with 32-byte atoms", 128, 3, 5)

_WGMMA = {0: NONE, 1: SWIZZLE_128, 2: SWIZZLE_64, 3: SWIZZLE_32}
_TCGEN05 = {0: NONE, 1: SWIZZLE_128_BASE_32, 2: SWIZZLE_128, 4: SWIZZLE_64, 6: SWIZZLE_32}


class DescriptorError(Exception):
    """Internal: a descriptor with fields that have no meaning; the caller adds the instruction."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A decoded descriptor; start, leading and stride in bytes, base_offset in rows of 128 bytes."""

    start: int
    leading: int
    stride: int
    base_offset: int
    swizzle: Swizzle
    absolute_leading: bool = False


@lru_cache(maxsize=4096)
def wgmma_descriptor(bits: int) -> Descriptor:
    """The fields of a descriptor of wgmma. Raises DescriptorError for bits that must be zero."""
    if bits >> 14 & 0x3 or bits >> 30 & 0x3 or bits >> 46 & 0x7 or bits >> 52 & 0x3FF:
        raise DescriptorError(f"matrix descriptor {bits:#018x} has bits set outside its fields")
    swizzle = _WGMMA[bits >> 62]
    return Descriptor(
        (bits & 0x3FFF) << 4, (bits >> 16 & 0x3FFF) << 4, (bits >> 32 & 0x3FFF) << 4, bits >> 49 & 0x7, swizzle
    )


@lru_cache(maxsize=4096)
def tcgen05_descriptor(bits: int) -> Descriptor:
    """The fields of a descriptor of tcgen05. Raises DescriptorError for a wrong version or swizzle."""
    if bits >> 46 & 0x3 != 1:
        raise DescriptorError(f"matrix descriptor {bits:#018x} must hold 1 in bits 46-47 for tcgen05")
    if bits >> 14 & 0x3 or bits >> 30 & 0x3 or bits >> 48 & 1 or bits >> 53 & 0xFF:
        raise DescriptorError(f"matrix descriptor {bits:#018x} has bits set outside its fields")
    swizzle = _TCGEN05.get(bits >> 61)
    if swizzle is None:
        raise DescriptorError(f"matrix descriptor {bits:#018x} has swizzle mode {bits >> 61}, which does not exist")
    return Descriptor(
        (bits & 0x3FFF) << 4,
        (bits >> 16 & 0x3FFF) << 4,
        (bits >> 32 & 0x3FFF) << 4,
        bits >> 49 & 0x7,
        swizzle,
        bool(bits >> 52 & 1),
    )


def _linear(d: Descriptor, rows: int, k_size: int, element_bytes: int, k_major: bool) -> Array:
    """Byte offsets from the start, before swizzling, of the 16-byte units of a tile."""
    # PTX ISA: with an absolute leading address the stride is the distance from the matrix start
    leading = d.leading - d.start if d.absolute_leading else d.leading
    width = d.swizzle.width
    if k_major:
        row = np.arange(rows)[:, None]
        k_bytes = np.arange(0, k_size, UNIT)[None, :]
        outer = row // _ROWS * d.stride
        if width == 0:
            return outer + row % _ROWS * UNIT + k_bytes // UNIT * leading
        return outer + row % _ROWS * width + k_bytes % width + k_bytes // width * leading
    k = np.arange(k_size // element_bytes)[:, None]
    row_bytes = np.arange(0, rows * element_bytes, UNIT)[None, :]
    if width == 0:
        return row_bytes // UNIT * d.stride + k % _ROWS * UNIT + k // _ROWS * leading
    return row_bytes % width + row_bytes // width * leading + k % _ROWS * width + k // _ROWS * d.stride


@lru_cache(maxsize=4096)
def tile_cells(d: Descriptor, rows: int, k_size: int, element_bytes: int, k_major: bool) -> Array:
    """Shared-memory addresses, divided by 16, of the units of a tile of `rows` times `k_size` bytes of K. Read-only.

    Shape [rows, k_size / 16], or for MN-major [k, rows * element_bytes / 16].
    """
    address = d.start + _linear(d, rows, k_size, element_bytes, k_major)
    swizzle = d.swizzle
    # the pattern repeats from a start whose bits 7-9 are the base offset, so the phase counts from there
    phase = (address >> 7) - d.base_offset & swizzle.mask
    cells = (address ^ phase << swizzle.target) >> 4
    cells.flags.writeable = False
    return cells
