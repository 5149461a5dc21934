"""Structured sparsity of matrix A: the metadata in registers, and the dense rows that it encodes.

Source: PTX ISA, "Sparse matrix storage" and the metadata figures of mma.sp and wgmma.mma_async.sp. A metadata register
holds 2-bit positions, the lowest bits for the lowest columns. With g = lane/4, 16-bit elements: the lanes that the
selector names hold row g in the low and row g+8 in the high half, 16 columns per lane; narrower elements: a lane holds
32 columns (64 of 4-bit elements, whose positions count pairs), of row g in even and of row g+8 in odd lanes.
"""

import numpy as np

from ptxsim.machine import WARP
from ptxsim.ptx_types import Array

# metadata lanes of each group of four, in order of columns, by (class, K of the class): selectors choose among them
_SELECTORS = {("half", 16): 4, ("half", 32): 2, ("byte", 32): 2, ("byte", 64): 1}


def selectors(bits: int, k: int) -> int:
    """The number of selector values for an operand of `bits` bits per element and K columns; 0 if there is no such
    form.
    """
    kind, columns = _class(bits, k)
    return _SELECTORS.get((kind, columns), 0)


def _class(bits: int, k: int) -> tuple[str, int]:
    if bits == 32:  # a tf32 element counts as two halves
        return "half", 2 * k
    if bits == 16:
        return "half", k
    return "byte", k if bits == 8 else k // 2


def _codes(metadata: Array, selector: int, kind: str, columns: int) -> Array:
    """The 2-bit positions [warp, 16, columns / 2] from metadata [warp * 32]."""
    quads = metadata.reshape(-1, WARP // 4, 4)
    used = 4 // _SELECTORS[kind, columns]
    lanes = quads[:, :, selector * used : (selector + 1) * used]
    shifts = np.arange(0, 32, 2, dtype=np.uint32)
    codes = (lanes[..., None] >> shifts & np.uint32(3)).astype(np.int64)  # [warp, g, lane, 16]
    warps = codes.shape[0]
    if kind == "half":
        rows = codes.reshape(warps, 8, used, 2, 8).transpose(0, 3, 1, 2, 4)
    else:
        rows = codes.reshape(warps, 8, used // 2, 2, 16).transpose(0, 3, 1, 2, 4)
    return rows.reshape(warps, 16, columns // 2)


def positions(metadata: Array, selector: int, bits: int, k: int) -> tuple[Array, int]:
    """Columns [warp, 16, n] of the stored units in the dense row, and the elements that make a unit.

    metadata: the register in every lane [warp * 32]; a unit is one element, or a pair of 4-bit elements.
    """
    kind, columns = _class(bits, k)
    codes = _codes(metadata, selector, kind, columns)
    if bits == 32:  # PTX ISA: 0b1110 keeps the second element of a pair, 0b0100 the first
        chunk = np.arange(columns // 4)
        return 2 * chunk + (codes[..., ::2] >> 1), 1
    chunk = np.arange(columns // 2) // 2
    return 4 * chunk + codes, 2 if bits == 4 else 1


def expand(stored: Array, where: Array, unit: int, k: int) -> Array:
    """Dense rows [..., k] from stored elements [..., k / 2] whose units are at columns `where`."""
    dense = np.zeros((*stored.shape[:-1], k // unit, unit), stored.dtype)
    units = stored.reshape(*where.shape, unit)
    np.put_along_axis(dense, where[..., None], units, axis=-2)
    return dense.reshape(*stored.shape[:-1], k)
