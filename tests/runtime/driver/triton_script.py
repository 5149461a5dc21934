"""Run by `tilesat sanitize`: a Triton kernel on arrays that both sides see; no PyTorch. Argument: rows."""

import ctypes
import sys

import numpy as np
import triton
import triton.language as tl

DRIVER = ctypes.CDLL("libcuda.so.1")


class Managed:
    """An array in managed memory, as much of a tensor as Triton's launcher asks for."""

    def __init__(self, values: np.ndarray) -> None:
        address = ctypes.c_uint64()
        assert DRIVER.cuMemAllocManaged(ctypes.byref(address), ctypes.c_uint64(values.nbytes), 1) == 0
        held = (ctypes.c_char * values.nbytes).from_address(address.value)
        self.array = np.frombuffer(held, values.dtype).reshape(values.shape)
        self.array[:] = values
        self.dtype = values.dtype.name
        self.address = address.value

    def data_ptr(self) -> int:
        return self.address


@triton.jit
def softmax(source, result, columns: tl.constexpr):
    row = tl.program_id(0)
    offsets = row * columns + tl.arange(0, columns)
    values = tl.load(source + offsets)
    top = tl.exp(values - tl.max(values, axis=0))
    tl.store(result + offsets, top / tl.sum(top, axis=0))


rows, columns = int(sys.argv[1]), 256
values = np.random.default_rng(5).standard_normal((rows, columns), np.float32)
source, result = Managed(values), Managed(np.zeros_like(values))
softmax[(rows,)](source, result, columns, num_warps=4)
expected = np.exp(values - values.max(1, keepdims=True))
expected /= expected.sum(1, keepdims=True)
assert np.allclose(result.array, expected, rtol=1e-5), abs(result.array - expected).max()
print("right")
