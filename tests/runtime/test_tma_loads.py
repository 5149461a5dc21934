"""cp.async.bulk.tensor loads of 1 to 5 dimensions against NumPy: swizzles, bounds, element types, modes."""

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest

from ptxsim import (
    GlobalMemory,
    MisalignedError,
    OperandError,
    OutOfBoundsError,
    SimulatorError,
    TensorMap,
    launch,
)
from tests.runtime.async_harness import (
    INIT,
    MAP,
    SHARED_BASE,
    assert_chunks,
    box_of,
    dims_of,
    kernel,
    strides_of,
    swizzled,
    wait,
)

LOAD = """mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; {coordinates}
  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bars], {size};
  @%leader cp.async.bulk.tensor.{rank}d.shared::{space}.global{mode}.mbarrier::complete_tx::bytes
    [{target}], [%rd0, {{{names}}}], [%bars]{extra};
"""


def load_kernel(rank: int, size: int, count: int, mode: str = "", extra: str = "", target: str = "%tile",
                space: str = "cluster") -> str:  # fmt: skip
    """A kernel that loads one box at the coordinates it gets as parameters."""
    coordinates = " ".join(f"ld.param.b32 %r{10 + n}, [c{n}];" for n in range(count))
    names = ", ".join(f"%r{10 + n}" for n in range(count))
    body = INIT.format(count=1) + LOAD.format(
        coordinates=coordinates, size=size, rank=rank, mode=mode, names=names, extra=extra, target=target, space=space
    )
    return kernel(body + wait(), [MAP, *(f".param .b32 c{n}" for n in range(count))])


def loaded(array: np.ndarray, tensor_of: object, start: Sequence[int], ptx: str, hazards: bool = False) -> np.ndarray:
    """Shared memory after the kernel ran; tensor_of: from the array's address to its map."""
    memory = GlobalMemory()
    tensor = tensor_of(memory.put(array))
    return launch(ptx, (1,), (64,), [tensor, *start], memory, hazards=hazards).shared[0]


def random_array(rng: np.random.Generator, shape: Sequence[int], dtype: object) -> np.ndarray:
    """Random bits of an element type."""
    wanted = np.dtype(dtype)
    return np.frombuffer(rng.bytes(int(np.prod(shape)) * wanted.itemsize), wanted).reshape(shape)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("hazards", [False, True])
@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_64B"])
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_boxes_inside_and_outside(rank: int, swizzle: str, hazards: bool) -> None:
    rng = np.random.default_rng(rank * 100 + len(swizzle))
    span = {"none": 96, "32B": 32, "64B": 64}.get(swizzle, 128)
    for trial in range(4):
        inner = span // 2 if trial else max(span // 4, 8)
        box = [inner, *rng.integers(1, [7, 5, 4, 3][: rank - 1] if rank > 1 else [], endpoint=True)]
        shape = [*rng.integers(3, 9, rank - 1), 104]
        array = random_array(rng, shape, np.uint16)
        start = [int(rng.integers(-40, 100)), *(int(rng.integers(-3, extent + 1)) for extent in shape[-2::-1])]
        if trial == 3:  # on whole chunks and inside: the fast path
            start = [8, *[0] * (rank - 1)]
            box = [box[0], *(min(extent, limit) for extent, limit in zip(box[1:], shape[-2::-1], strict=True))]
        expected = box_of(array, start, box, [1] * rank, 0)
        ptx = load_kernel(rank, expected.nbytes, rank)
        shared = loaded(
            array,
            lambda base, array=array, box=box: TensorMap(base, "u16", dims_of(array), strides_of(array), box,
             swizzle=swizzle),
            start, ptx, hazards,
        )  # fmt: skip
        assert_chunks(shared, swizzled(expected.tobytes(), SHARED_BASE, swizzle))


def test_the_swizzle_uses_absolute_addresses() -> None:
    rng = np.random.default_rng(5)
    array = random_array(rng, (16, 64), np.uint16)
    ptx = load_kernel(2, 1024, 2, target="%tile+640", space="cta")
    shared = loaded(array, lambda base: TensorMap(base, "u16", (64, 16), (128,), (64, 8), swizzle="128B"), [0, 3], ptx)
    assert_chunks(shared, swizzled(array[3:11].tobytes(), SHARED_BASE + 640, "128B"))


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64, np.int64, ml_dtypes.bfloat16])
def test_element_types_and_strided_boxes(dtype: object) -> None:
    rng = np.random.default_rng(11)
    size = np.dtype(dtype).itemsize
    array = random_array(rng, (6, 9, 12, 64 // size), dtype)
    start, box, steps = [16 // size, -2, 3, 1], [32 // size, 9, 4, 5], [1, 2, 3, 5]
    expected = box_of(array, start, box, steps, array.dtype.type(0))
    shared = loaded(
        array,
        lambda base: TensorMap(base, dtype, dims_of(array), strides_of(array), box, steps),
        start, load_kernel(4, expected.nbytes, 4),
    )  # fmt: skip
    assert shared[: expected.nbytes].tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_nan_fill(dtype: object) -> None:
    array = np.arange(1, 129).reshape(4, 32).astype(dtype)
    size = array.itemsize
    shared = loaded(
        array,
        lambda base: TensorMap(base, dtype, (32, 4), (32 * size,), (32, 8), oob_fill="nan"),
        [-8, 2], load_kernel(2, 256 * size, 2),
    )  # fmt: skip
    found = shared[: 256 * size].view(dtype).reshape(8, 32).astype(np.float64)
    assert np.isnan(found[2:]).all()
    assert np.isnan(found[:, :8]).all()
    np.testing.assert_array_equal(found[:2, 8:], array[2:, :24].astype(np.float64))


@pytest.mark.parametrize(("name", "packed", "bits"), [("b4x16", 8, 4), ("b4x16_p64", 8, 4), ("b6x16_p32", 12, 6)])
def test_packed_formats_get_their_gaps(name: str, packed: int, bits: int) -> None:
    rng = np.random.default_rng(3)
    row = 256 * bits // 8
    array = random_array(rng, (5, row), np.uint8)
    rows, size = 3, 3 * 128 * (4 if name == "b4x16" else 8) // 8
    shared = loaded(
        array, lambda base: TensorMap(base, name, (256, 5), (row,), (128, rows)), [128, 3], load_kernel(2, size, 2)
    )
    wanted = np.zeros((rows, row // 2), np.uint8)
    wanted[:2] = array[3:, row // 2 :]
    if name != "b4x16":
        gaps = np.zeros((rows, 8, 16), np.uint8)
        gaps[:, :, :packed] = wanted.reshape(rows, 8, packed)
        wanted = gaps
    assert shared[:size].tobytes() == wanted.tobytes()


def test_gather4_brings_four_rows() -> None:
    rng = np.random.default_rng(8)
    array = random_array(rng, (20, 128), np.float16)
    start = [32, 17, 3, -1, 40]
    expected = np.zeros((4, 64), np.float16)
    expected[:2] = array[[17, 3], 32:96]
    for space in ("cta", "cluster"):
        ptx = load_kernel(2, 512, 5, ".tile::gather4", space=space)
        shared = loaded(
            array, lambda base: TensorMap(base, "f16", (128, 20), (256,), (64, 1), swizzle="128B"), start, ptx
        )
        assert_chunks(shared, swizzled(expected.tobytes(), SHARED_BASE, "128B"))
    with pytest.raises(OperandError, match="needs a box of one row, not 2"):
        loaded(array, lambda base: TensorMap(base, "f16", (128, 20), (256,), (64, 2)), start, ptx)


def im2col_reference(
    array: np.ndarray, start: Sequence[int], taps: Sequence[int], lower: Sequence[int], upper: Sequence[int],
    steps: Sequence[int], channels: int, pixels: int,
) -> np.ndarray:  # fmt: skip
    """Columns of an array [N, (D, H,) W, C]; everything else innermost first, without the channel."""
    spatial = array.shape[-2:0:-1]
    ranges = [
        list(range(low, extent + high, step))
        for low, high, extent, step in zip(lower, upper, spatial, steps, strict=True)
    ]
    order = [
        (image, *place[::-1])
        for image in range(array.shape[0] + 1)
        for place in np.stack(np.meshgrid(*ranges[::-1], indexing="ij"), -1).reshape(-1, len(ranges)).tolist()
    ]
    first = order.index((start[-1], *start[1:-1]))
    result = np.zeros((pixels, channels), array.dtype)
    for row, (image, *place) in enumerate(order[first : first + pixels]):
        where = [p + tap for p, tap in zip(place, taps, strict=True)][::-1]
        inside = image < array.shape[0] and all(0 <= p < e for p, e in zip(where, array.shape[1:-1], strict=True))
        if inside:
            stop = min(start[0] + channels, array.shape[-1])
            result[row, : stop - start[0]] = array[(image, *where)][start[0] : stop]
    return result


@pytest.mark.parametrize("hazards", [False, True])
@pytest.mark.parametrize(
    ("shape", "lower", "upper", "steps", "start", "taps", "channels", "pixels"),
    [
        ((3, 10, 32), (-1,), (-1,), (1,), (0, 4, 1), (2,), 32, 25),
        ((2, 7, 9, 40), (-1, -1), (-1, -1), (1, 1), (16, 3, -1, 0), (1, 2), 32, 70),
        ((2, 8, 9, 16), (-1, 0), (-2, -1), (2, 3), (0, 1, 3, 1), (0, 1), 16, 20),
        ((2, 3, 4, 5, 16), (-1, -1, 0), (-1, -1, 0), (1, 1, 1), (0, 2, 1, 2, 0), (1, 0, 0), 16, 60),
    ],
)
def test_im2col(
    shape: Sequence[int], lower: Sequence[int], upper: Sequence[int], steps: Sequence[int], start: Sequence[int],
    taps: Sequence[int], channels: int, pixels: int, hazards: bool,
) -> None:  # fmt: skip
    rng = np.random.default_rng(len(shape))
    array = random_array(rng, shape, np.uint16)
    expected = im2col_reference(array, start, taps, lower, upper, steps, channels, pixels)
    extra = ", {" + ", ".join(str(tap) for tap in taps) + "}"
    ptx = load_kernel(len(shape), expected.nbytes, len(shape), ".im2col", extra)
    shared = loaded(
        array,
        lambda base: TensorMap.im2col(
            base, "u16", dims_of(array), strides_of(array), lower, upper, channels, pixels, (1, *steps, 1), "none"
        ),
        start, ptx, hazards,
    )  # fmt: skip
    assert shared[: expected.nbytes].tobytes() == expected.tobytes()


def test_im2col_as_a_convolution() -> None:
    """Two images 6 x 5 x 8, filter 3 x 3 with padding 1: the nine taps' columns give the convolution."""
    rng = np.random.default_rng(21)
    image = rng.integers(-8, 8, (2, 6, 5, 8)).astype(np.float16)
    weight = rng.integers(-8, 8, (3, 3, 8)).astype(np.float64)
    padded = np.pad(image.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected, found = np.zeros((2, 6, 5)), np.zeros(60)
    for dy in range(3):
        for dx in range(3):
            expected += np.einsum("nhwc,c->nhw", padded[:, dy : dy + 6, dx : dx + 5], weight[dy, dx])
            shared = loaded(
                image,
                lambda base: TensorMap.im2col(base, "f16", dims_of(image), strides_of(image), (-1, -1), (-1, -1), 8,
                 60),
                [0, -1, -1, 0], load_kernel(4, 960, 4, ".im2col", f", {{{dx}, {dy}}}"),
            )  # fmt: skip
            found += shared[:960].view(np.float16).reshape(60, 8).astype(np.float64) @ weight[dy, dx]
    np.testing.assert_array_equal(found, expected.reshape(-1))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (("[%tile]", "[%tile+64]"), MisalignedError, "shared address 0x440 is not a multiple of 128"),
        (("[%rd0, ", "[%rd0+32, "), MisalignedError, "not a multiple of 64"),
        (("[%tile]", "[%tile+32768]"), OutOfBoundsError, "1024 bytes at byte 32768"),
        ((".2d.", ".3d."), OperandError, "takes 3 coordinates, not 2"),
        (("shared::cluster.global", "shared::cluster.global.im2col"), SimulatorError, "needs 3 to 5 dimensions, not 2"),
        (("shared::cluster.global", "shared::cluster.global.fast"), SimulatorError, "modifier .fast"),
        (("cvta.param.u64 %rd0, %rd0;", "mov.b64 %rd0, 64;"), OutOfBoundsError, "not inside one allocation"),
        (("cvta.param.u64 %rd0, %rd0;", "cvt.u64.u32 %rd0, %tile; cvta.shared.u64 %rd0, %rd0;"), OperandError,
         "must lie in"),
    ],
)  # fmt: skip
def test_wrong_loads_are_located(change: tuple[str, str], error: type[SimulatorError], message: str) -> None:
    array = np.arange(512, dtype=np.uint16).reshape(8, 64)
    ptx = load_kernel(2, 1024, 2)
    assert change[0] in ptx
    with pytest.raises(error, match=message) as caught:
        loaded(array, lambda base: TensorMap(base, "u16", (64, 8), (128,), (64, 8)), [0, 0], ptx.replace(*change))
    assert caught.value.line is not None


def test_a_map_must_fit_the_instruction_and_its_allocation() -> None:
    array = np.arange(512, dtype=np.uint16).reshape(8, 64)
    with pytest.raises(OperandError, match="the tensor map is a tile map of 3 dimensions"):
        loaded(
            array, lambda base: TensorMap(base, "u16", (8, 8, 8), (16, 128), (8, 8, 8)), [0, 0], load_kernel(2, 1024, 2)
        )
    with pytest.raises(OutOfBoundsError, match=r"the tensor map covers 1152 bytes at .* not inside one allocation"):
        loaded(array, lambda base: TensorMap(base, "u16", (64, 9), (128,), (64, 8)), [0, 0], load_kernel(2, 1024, 2))
    with pytest.raises(SimulatorError, match="interleave 16B is not simulated"):
        loaded(
            array, lambda base: TensorMap(base, "u16", (8, 8, 8), (16, 128), (8, 8, 8), interleave="16B"),
            [0, 0, 0], load_kernel(3, 1024, 3),
        )  # fmt: skip
