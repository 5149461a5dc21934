"""f4E2M1FN on the host: NumPy's arrays of ml_dtypes have a byte for each number, memory a byte for two of them.

Kernels take memory. An array of bytes (int8, uint8) is taken for it as it is; one of numbers is packed into a copy, and
unpacked from it after the run. The first of two lies in the low half. Source: CUDA Tile IR 13.4, element types.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from ir.core import TileError

if TYPE_CHECKING:
    from tilesat.arrays import View
    from tilesat.spec import Array

NAME = "f4E2M1FN"
NUMBERS: np.dtype[Any] = np.dtype(ml_dtypes.float4_e2m1fn)
"""A number a byte."""
MEMORY: np.dtype[Any] = np.dtype(np.int8)
"""Two numbers a byte."""


def packed(numbers: Array) -> Array:
    """Numbers as bytes of two neighbours along the last dimension, whose size is even."""
    codes = np.ascontiguousarray(numbers).view(np.uint8)
    return (codes[..., ::2] | codes[..., 1::2] << 4).view(MEMORY)


def unpacked(held: Array) -> Array:
    """The numbers in bytes, twice as many along the last dimension."""
    codes = np.ascontiguousarray(held).view(np.uint8)
    return np.stack([codes & 15, codes >> 4], axis=-1).reshape(*codes.shape[:-1], -1).view(NUMBERS)


def of_bytes(view: View) -> View:
    """An array of bytes as one of twice as many numbers along the dimension whose stride is 1."""
    (dense,) = [axis for axis, stride in enumerate(view.strides) if stride == 1][-1:] or (len(view.shape) - 1,)
    shape = (*view.shape[:dense], 2 * view.shape[dense], *view.shape[dense + 1 :])
    strides = tuple(stride if axis == dense else 2 * stride for axis, stride in enumerate(view.strides))
    return replace(view, dtype=NAME, shape=shape, strides=strides)


def refuse_odd(view: View) -> None:
    """Raise TileError where a row of an array of numbers would end inside a byte."""
    dense = max((axis for axis, stride in enumerate(view.strides) if stride == 1), default=-1)
    odd = any(stride % 2 for axis, stride in enumerate(view.strides) if axis != dense and view.shape[axis] > 1)
    if dense < 0 or view.shape[dense] % 2 or odd:
        message = f"parameter '{view.name}': two {NAME} share a byte: expected rows of an even number of neighbours"
        raise TileError(f"{message}, got sizes {view.shape} and strides {view.strides}", hint="pad the rows")
