"""cuTensorMapEncodeTiled and its kin: the driver's codes to the simulator's tensor maps."""

from __future__ import annotations

import struct

from ptxsim import LaunchError, TensorMap
from ptxsim.tensormap import INTERLEAVES, SWIZZLES
from runtime.driver.errors import INVALID_VALUE, DriverError

# In the order of CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion and CUtensorMapFloatOOBfill in cuda.h.
_ELEMENTS = (
    "u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz", "b4x16",
    "b4x16_p64", "b6x16_p32",
)  # fmt: skip
_SWIZZLES = tuple(SWIZZLES)
_PROMOTIONS = ("none", "64B", "128B", "256B")
_FILLS = ("zero", "nan")


def encode_tiled(
    element: int,
    rank: int,
    base: int,
    dims: bytes,
    strides: bytes,
    box: bytes,
    steps: bytes,
    interleave: int,
    swizzle: int,
    promotion: int,
    oob: int,
) -> tuple[bytes]:
    """The 128 bytes of a tiled map. Raises DriverError where the driver would refuse it."""
    try:
        encoded = TensorMap(
            base,
            _ELEMENTS[element],
            _words("Q", dims),
            _words("Q", strides),
            _words("I", box),
            _words("I", steps),
            _SWIZZLES[swizzle],
            INTERLEAVES[interleave],
            _FILLS[oob],
            _PROMOTIONS[promotion],
        ).encode()
    except (LaunchError, IndexError) as error:
        raise DriverError(INVALID_VALUE, str(error)) from None
    return (encoded,)


def encode_im2col(
    element: int,
    rank: int,
    base: int,
    dims: bytes,
    strides: bytes,
    lower: bytes,
    upper: bytes,
    channels: int,
    pixels: int,
    steps: bytes,
    interleave: int,
    swizzle: int,
    promotion: int,
    oob: int,
) -> tuple[bytes]:
    """The 128 bytes of an im2col map. Raises DriverError where the driver would refuse it."""
    try:
        encoded = TensorMap.im2col(
            base,
            _ELEMENTS[element],
            _words("Q", dims),
            _words("Q", strides),
            _words("i", lower),
            _words("i", upper),
            channels,
            pixels,
            _words("I", steps),
            _SWIZZLES[swizzle],
            INTERLEAVES[interleave],
            _FILLS[oob],
        ).encode()
    except (LaunchError, IndexError) as error:
        raise DriverError(INVALID_VALUE, str(error)) from None
    return (encoded,)


def _words(code: str, data: bytes) -> tuple[int, ...]:
    return tuple(value for (value,) in struct.iter_unpack(f"<{code}", data))
