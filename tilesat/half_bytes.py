"""f4E2M1FN on the host: NumPy's arrays of ml_dtypes have a byte for each number, memory a byte for two of them.

Kernels take memory. An array of bytes (int8, uint8) is taken for it as it is; one of numbers is packed into a copy, and
unpacked from it after the run. The first of two lies in the low half. Source: CUDA Tile IR 13.4, element types.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

NAME = "f4E2M1FN"
NUMBERS: np.dtype[np.generic] = np.dtype(ml_dtypes.float4_e2m1fn)
"""A number a byte."""
MEMORY: np.dtype[np.generic] = np.dtype(np.int8)
"""Two numbers a byte."""


def packed(numbers: np.ndarray) -> np.ndarray:
    """Numbers as bytes of two neighbours along the last dimension, whose size is even."""
    codes = np.ascontiguousarray(numbers).view(np.uint8)
    return (codes[..., ::2] | codes[..., 1::2] << 4).view(MEMORY)


def unpacked(held: np.ndarray) -> np.ndarray:
    """The numbers in bytes, twice as many along the last dimension."""
    codes = np.ascontiguousarray(held).view(np.uint8)
    return np.stack([codes & 15, codes >> 4], axis=-1).reshape(*codes.shape[:-1], -1).view(NUMBERS)
