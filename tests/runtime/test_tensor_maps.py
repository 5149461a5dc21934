"""TensorMap: the rules of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, each broken once."""

import ml_dtypes
import numpy as np
import pytest

from ptxsim import GlobalMemory, LaunchError, TensorMap, launch
from ptxsim.tensormap import decode_map
from tests.runtime.async_harness import MAP, kernel

GOOD = {
    "base": 1 << 20, "dtype": "f16", "global_dim": (64, 32, 4), "global_strides": (128, 4096), "box": (64, 8, 2),
    "element_strides": (1, 1, 1), "swizzle": "128B", "interleave": "none", "oob_fill": "zero",
}  # fmt: skip


def test_a_good_map_has_128_bytes() -> None:
    assert len(TensorMap(**GOOD).encode()) == 128


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base": (1 << 20) + 8}, "base 0x100008 is not a multiple of 16"),
        ({"dtype": "f8"}, "dtype 'f8' is not one of"),
        ({"dtype": np.complex64}, "is not one of"),
        ({"global_dim": (64, 0, 4)}, "global_dim[1] = 0 is not within"),
        ({"global_dim": (64, (1 << 32) + 1, 4)}, "is not within 1 to 2^32"),
        ({"global_dim": ()}, "0 dimensions"),
        ({"global_dim": (8,) * 6, "global_strides": (16,) * 5, "box": (8,) * 6}, "6 dimensions"),
        ({"global_strides": (128,)}, "global_strides has 1 entries, not 2"),
        ({"global_strides": (130, 4096)}, "global_strides[0] = 130 bytes is not a multiple of 16"),
        ({"global_strides": (128, 1 << 40)}, "below 2^40"),
        ({"box": (64, 8)}, "box has 2 entries, not 3"),
        ({"box": (64, 257, 2)}, "box[1] = 257 is not within 1 to 256"),
        ({"box": (64, 0, 2)}, "box[1] = 0"),
        ({"box": (4, 8, 2)}, "8 bytes, not a multiple of 16"),
        ({"box": (128, 8, 2)}, "256 bytes, more than swizzle 128B"),
        ({"box": (64, 8, 2), "swizzle": "64B"}, "128 bytes, more than swizzle 64B"),
        ({"box": (32, 8, 2), "swizzle": "32B"}, "64 bytes, more than swizzle 32B"),
        ({"element_strides": (1, 9, 1)}, "element_strides[1] = 9 is not within 1 to 8"),
        ({"element_strides": (1, 1)}, "element_strides has 2 entries, not 3"),
        ({"swizzle": "256B"}, "swizzle '256B' is not one of"),
        ({"interleave": "8B"}, "interleave '8B' is not one of"),
        ({"interleave": "32B"}, "interleave 32B needs swizzle 32B"),
        ({"interleave": "32B", "swizzle": "32B", "base": (1 << 20) + 16}, "not a multiple of 32"),
        ({"global_dim": (64, 32), "global_strides": (128,), "box": (64, 8), "element_strides": (1, 1),
          "interleave": "16B"}, "interleave 16B needs at least 3 dimensions"),
        ({"dtype": "u16", "oob_fill": "nan"}, "oob_fill nan needs a floating-point dtype"),
        ({"oob_fill": "inf"}, "oob_fill 'inf' is not one of"),
        ({"l2_promotion": "512B"}, "l2_promotion '512B' is not one of"),
        ({"dtype": "b4x16_p64", "global_dim": (64, 32, 4)}, "global_dim[0] = 64 of b4x16_p64 is not a multiple of 128"),
        ({"dtype": "b6x16_p32", "global_dim": (128, 32, 4)}, "box[0] of b6x16_p32 must be 128, not 64"),
        ({"dtype": "b6x16_p32", "global_dim": (128, 32, 4), "box": (128, 1, 1), "swizzle": "64B"},
         "swizzle 64B of b6x16_p32 is not one of"),
    ],
)  # fmt: skip
def test_each_rule_is_checked(change: dict[str, object], message: str) -> None:
    with pytest.raises(LaunchError) as caught:
        TensorMap(**{**GOOD, **change})
    assert message in caught.value.message


IM2COL = {
    "base": 1 << 20, "dtype": "f16", "global_dim": (64, 14, 14, 2), "global_strides": (128, 1792, 25088),
    "lower_corner": (-1, -1), "upper_corner": (-1, -1), "channels": 64, "pixels": 128, "swizzle": "128B",
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lower_corner": (-1,)}, "lower_corner has 1 entries, not 2"),
        ({"upper_corner": (-129, 0)}, "is not within -128 to 127"),
        ({"upper_corner": (-15, 0), "lower_corner": (0, 0)}, "the bounding box is empty in dimension 1"),
        ({"channels": 257}, "channels 257 is not within 1 to 256"),
        ({"channels": 128}, "more than swizzle 128B"),
        ({"pixels": 1025}, "pixels 1025 is not within 1 to 1024"),
        ({"global_dim": (64, 14), "global_strides": (128,), "lower_corner": (), "upper_corner": ()},
         "im2col needs 3 to 5 dimensions"),
    ],
)  # fmt: skip
def test_each_im2col_rule_is_checked(change: dict[str, object], message: str) -> None:
    TensorMap.im2col(**IM2COL)
    with pytest.raises(LaunchError) as caught:
        TensorMap.im2col(**{**IM2COL, **change})
    assert message in caught.value.message


@pytest.mark.parametrize(
    "dtype", ["u8", "s32", "f32_ftz", "tf32", np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]
)
def test_the_bytes_hold_every_field(dtype: object) -> None:
    for tensor in (
        TensorMap(1 << 20, dtype, (64, 5, 7), (512, 4096), (16, 3, 2), (1, 3, 2), "128B_ATOM_32B", "16B"),
        TensorMap.im2col(1 << 20, dtype, (64, 5, 7), (512, 4096), (-2,), (1,), 16, 9, (1, 2, 1), "none", "none"),
    ):
        again = decode_map(tensor.encode())
        assert vars(again) == vars(tensor)


def test_a_map_fits_only_its_parameter() -> None:
    memory = GlobalMemory()
    tensor = TensorMap(memory.put(np.zeros((8, 64), np.float16)), "f16", (64, 8), (128,), (64, 8))
    launch(kernel("", [MAP]), (1,), (32,), [tensor], memory)
    for parameter in (".param .u64 map", ".param .align 64 .b8 map[64]", ".param .u32 a, .param .align 8 .b8 map[128]"):
        arguments = [1, tensor] if "a," in parameter else [tensor]
        with pytest.raises(LaunchError, match=r"a tensor map needs `\.param \.align 64 \.b8 name\[128\]`"):
            launch(kernel("", [parameter]), (1,), (32,), arguments, memory)
    with pytest.raises(LaunchError, match="expected 128 bytes"):
        launch(kernel("", [MAP]), (1,), (32,), [5], memory)
