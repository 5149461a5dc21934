"""Run by `tilesat sanitize`: a kernel of numba-cuda on a CPU array. With an argument its barrier is missing."""

import sys

import numpy as np
from numba import cuda

WAITS = len(sys.argv) == 1


@cuda.jit(lineinfo=True)
def reverse(data):
    held = cuda.shared.array(64, np.int32)
    at = cuda.threadIdx.x
    held[at] = data[at]
    if WAITS:
        cuda.syncthreads()
    data[at] = held[63 - at]


array = np.arange(64, dtype=np.int32)
reverse[1, 64](array)
assert np.array_equal(array, np.arange(64)[::-1])
print("right")
