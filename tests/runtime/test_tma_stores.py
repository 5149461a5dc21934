"""cp.async.bulk.tensor stores and reductions of 1 to 5 dimensions against NumPy."""

from collections.abc import Callable, Sequence
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from ptxsim import GlobalMemory, SimulatorError, TensorMap, launch
from tests.runtime.async_harness import FILL, MAP, SHARED_BASE, dims_of, kernel, strides_of, swizzled
from tests.runtime.test_tma_loads import random_array

STORE = """ld.param.u64 %rd20, [data]; mov.u32 %r50, {size}; mov.u32 %r51, %tile; {fill}
  fence.proxy.async.shared::cta; bar.sync 0;
  mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; {coordinates}
  @%leader cp{reduce}.async.bulk.tensor.{rank}d.global.shared::cta{operation}{mode}.bulk_group
    [%rd0, {{{names}}}], [%tile];
  @%leader cp.async.bulk.commit_group;
  @%leader cp.async.bulk.wait_group{read} 0;
"""


def store_kernel(rank: int, size: int, count: int, operation: str = "", mode: str = "", read: str = "") -> str:
    """A kernel that stores one box, which it gets in shared-memory order, at the coordinates of its parameters."""
    coordinates = " ".join(f"ld.param.b32 %r{10 + n}, [c{n}];" for n in range(count))
    names = ", ".join(f"%r{10 + n}" for n in range(count))
    body = STORE.format(
        size=size, fill=FILL, coordinates=coordinates, names=names, rank=rank, operation=operation, mode=mode,
         read=read,
        reduce=".reduce" if operation else "",
    )  # fmt: skip
    return kernel(body, [MAP, ".param .u64 data", *(f".param .b32 c{n}" for n in range(count))])


def in_shared_order(data: bytes, swizzle: str) -> np.ndarray:
    """The bytes of a box as they must lie in shared memory from SHARED_BASE on."""
    result = np.zeros(len(data), np.uint8)
    for address, chunk in swizzled(data, SHARED_BASE, swizzle).items():
        result[address - SHARED_BASE : address - SHARED_BASE + 16] = np.frombuffer(chunk, np.uint8)
    return result


def stored(
    before: np.ndarray, box: np.ndarray, tensor_of: Callable[[int], TensorMap], start: Sequence[int], ptx: str,
    hazards: bool = False, swizzle: str = "none",
) -> np.ndarray:  # fmt: skip
    """Global memory after the kernel ran."""
    memory = GlobalMemory()
    target = memory.put(before)
    data = memory.put(in_shared_order(box.tobytes(), swizzle))
    launch(ptx, (1,), (64,), [tensor_of(target), data, *start], memory, hazards=hazards)
    return memory.get(target, before.shape, before.dtype)


def scatter(
    before: np.ndarray, box: np.ndarray, start: Sequence[int], update: Callable[[object, object], object]
) -> np.ndarray:
    """NumPy's result of a store at `start` (innermost first); elements outside are skipped."""
    result = before.copy()
    for index in product(*(range(extent) for extent in box.shape)):
        where = tuple(begin + place for begin, place in zip(start[::-1], index, strict=True))
        if all(0 <= place < extent for place, extent in zip(where, before.shape, strict=True)):
            result[where] = update(result[where], box[index])
    return result


@pytest.mark.parametrize("hazards", [False, True])
@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_stores_skip_what_is_outside(rank: int, swizzle: str, hazards: bool) -> None:
    rng = np.random.default_rng(rank * 10 + len(swizzle))
    inner = {"none": 40, "32B": 16, "64B": 32, "128B": 64}[swizzle]
    for start_inner in (8, int(rng.integers(-30, 70))):
        shape = [*rng.integers(3, 7, rank - 1), 104]
        box = [*rng.integers(1, 4, rank - 1), inner]
        start = [start_inner, *(int(rng.integers(-2, extent)) if start_inner != 8 else 0 for extent in shape[-2::-1])]
        before, data = random_array(rng, shape, np.uint16), random_array(rng, box, np.uint16)
        found = stored(
            before, data,
            lambda base, before=before, box=box: TensorMap(
                base, "u16", dims_of(before), strides_of(before), box[::-1], swizzle=swizzle
            ),
            start, store_kernel(rank, data.nbytes, rank), hazards, swizzle,
        )  # fmt: skip
        np.testing.assert_array_equal(found, scatter(before, data, start, lambda old, new: new))


OPERATIONS = {
    "add": lambda old, new: old + new,
    "min": min,
    "max": max,
    "inc": lambda old, new: 0 if old >= new else old + 1,
    "dec": lambda old, new: new if old == 0 or old > new else old - 1,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
}


@pytest.mark.parametrize("operation", list(OPERATIONS))
@pytest.mark.parametrize("dtype", [np.uint32, np.int32, np.uint64])
def test_integer_reductions(operation: str, dtype: type) -> None:
    rng = np.random.default_rng(4)
    before, data = rng.integers(0, 90, (9, 32)).astype(dtype), rng.integers(0, 90, (4, 32)).astype(dtype)
    start = [-4, 6]

    def run() -> np.ndarray:
        return stored(
            before, data,
            lambda base: TensorMap(base, dtype, dims_of(before), strides_of(before), (32, 4)),
            start, store_kernel(2, data.nbytes, 2, f".{operation}", ".tile"),
        )  # fmt: skip

    if operation in ("inc", "dec") and dtype is np.int32:
        with pytest.raises(SimulatorError, match="on a tensor map of s32 is not simulated"):
            run()
        return
    expected = scatter(before, data, start, lambda old, new: dtype(OPERATIONS[operation](int(old), int(new))))
    np.testing.assert_array_equal(run(), expected)


@pytest.mark.parametrize("operation", ["add", "min", "max"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_reductions_round_once(operation: str, dtype: type) -> None:
    rng = np.random.default_rng(6)
    before, data = rng.standard_normal((8, 64)).astype(dtype), rng.standard_normal((4, 64)).astype(dtype)
    found = stored(
        before, data,
        lambda base: TensorMap(base, dtype, (64, 8), (128,), (64, 4), swizzle="128B"),
        [0, 2], store_kernel(2, data.nbytes, 2, f".{operation}"), True, "128B",
    )  # fmt: skip
    wide = scatter(before.astype(np.float64), data.astype(np.float64), [0, 2], OPERATIONS[operation])
    np.testing.assert_array_equal(found.astype(np.float64), wide.astype(dtype).astype(np.float64))


def test_float_reduction_adds() -> None:
    rng = np.random.default_rng(7)
    before, data = rng.standard_normal((8, 32)).astype(np.float32), rng.standard_normal((8, 32)).astype(np.float32)
    found = stored(
        before, data, lambda base: TensorMap(base, "f32", (32, 8), (128,), (32, 8)), [0, 0],
        store_kernel(2, data.nbytes, 2, ".add"),
    )  # fmt: skip
    np.testing.assert_array_equal(found, before + data)


@pytest.mark.parametrize("hazards", [False, True])
def test_scatter4_writes_four_rows(hazards: bool) -> None:
    rng = np.random.default_rng(9)
    before, data = random_array(rng, (12, 128), np.uint16), random_array(rng, (4, 64), np.uint16)
    found = stored(
        before, data, lambda base: TensorMap(base, "u16", (128, 12), (256,), (64, 1), swizzle="128B"),
        [96, 11, 2, -3, 5], store_kernel(2, 512, 5, mode=".tile::scatter4"), hazards, "128B",
    )  # fmt: skip
    expected = before.copy()
    expected[[11, 2, 5], 96:] = data[[0, 1, 3], :32]
    np.testing.assert_array_equal(found, expected)


def test_im2col_store_writes_pixels_in_order() -> None:
    rng = np.random.default_rng(10)
    before, data = random_array(rng, (2, 3, 5, 16), np.uint16), random_array(rng, (20, 16), np.uint16)
    found = stored(
        before, data,
        lambda base: TensorMap.im2col(base, "u16", dims_of(before), strides_of(before), (0, 0), (0, 0), 16, 20),
        [0, 2, 1, 0], store_kernel(4, 640, 4, mode=".im2col_no_offs"),
    )  # fmt: skip
    expected = before.reshape(30, 16).copy()
    expected[7:27] = data
    np.testing.assert_array_equal(found, expected.reshape(before.shape))


def test_a_packed_format_loses_its_gaps() -> None:
    rng = np.random.default_rng(12)
    before, data = random_array(rng, (4, 96), np.uint8), random_array(rng, (2, 8, 16), np.uint8)
    found = stored(
        before, data, lambda base: TensorMap(base, "b6x16_p32", (128, 4), (96,), (128, 2)), [0, 1],
        store_kernel(2, 256, 2),
    )  # fmt: skip
    expected = before.copy()
    expected[1:3] = data[:, :, :12].reshape(2, 96)
    np.testing.assert_array_equal(found, expected)
