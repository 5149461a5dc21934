"""Speed of the PTX simulator: instructions per second, and the 256x256x256 f16 GEMM of every target after decoding.

The GEMMs are Triton's (tests/runtime/data/triton). Run as `python -m benchmarks.simulator`.
"""

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ptxsim import GlobalMemory, Report, launch
from tests.runtime.triton_launch import Described, Launched

REPEATS = 5
SIZE = 256
GEMMS = (
    "gemm_pointers.sm_80", "gemm_descriptors.sm_90", "gemm_pointers.sm_90", "gemm_pointers.sm_100",
    "gemm_specialised.sm_100", "gemm_pointers.sm_120", "gemm_descriptors.sm_120",
)  # fmt: skip
SCALAR = """.version 8.8
.target sm_80
.address_size 64
.visible .entry scalar(.param .u64 p) {
  .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p0;
  ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, 0; mov.u32 %r2, 1;
again:
  mad.lo.u32 %r2, %r2, 1664525, 1013904223; xor.b32 %r3, %r2, %r0; shr.u32 %r4, %r3, 7; add.u32 %r2, %r2, %r4;
  add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 2000; @%p0 bra again;
  mad.wide.u32 %rd1, %r0, 4, %rd0; st.global.u32 [%rd1], %r2; ret;
}"""


class RunOnly:
    """Measures the part of each launch that comes after decoding, on a clock."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._module: Any = importlib.import_module("ptxsim.launch")
        self._run = self._module._run
        self._clock = clock
        self.seconds = 0.0

    def __enter__(self) -> "RunOnly":
        def timed(*arguments: object) -> Report:
            start = self._clock()
            report: Report = self._run(*arguments)
            self.seconds = self._clock() - start
            return report

        self._module._run = timed
        return self

    def __exit__(self, *_: object) -> None:
        self._module._run = self._run


def gemm(name: str) -> Report:
    """One product of two 256x256 matrices, checked against NumPy."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((SIZE, SIZE)).astype(np.float16) for _ in range(2))
    if "pointers" in name:
        run = Launched(name, (2, 2), a, b, np.zeros((SIZE, SIZE), np.float32), SIZE, SIZE, SIZE)
        expected = a.astype(np.float64) @ b.astype(np.float64)
    else:
        c = Described(np.zeros((SIZE, SIZE), np.float16), (128, 128))
        run = Launched(name, (2, 2), Described(a, (128, 64)), Described(b, (128, 64)), c, SIZE)
        expected = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(run[2].astype(np.float64), expected, atol=0.1)
    return run.report


def scalar(threads: int, ctas: int) -> Callable[[], Report]:
    """A loop of integer instructions."""

    def run() -> Report:
        memory = GlobalMemory()
        return launch(SCALAR, (ctas,), (threads,), [memory.alloc(4096)], memory)

    return run


def measure(run: Callable[[], Report]) -> tuple[float, float, Report]:
    """(median seconds after decoding, least, report) of several runs."""
    seconds: list[float] = []
    with RunOnly() as timer:
        report = run()
        for _ in range(REPEATS):
            report = run()
            seconds.append(timer.seconds)
    return statistics.median(seconds), min(seconds), report


def row(label: str, run: Callable[[], Report]) -> str:
    median, least, report = measure(run)
    warps = sum(report.instructions.values())
    return f"{label:34s} {median * 1e3:9.1f} {least * 1e3:9.1f} {warps:10d} {32 * warps / least / 1e6:12.1f}"


def main() -> None:
    print(f"{'':34s} {'median ms':>9s} {'least ms':>9s} {'warp instr':>10s} {'M thread/s':>12s}")
    for threads, ctas in ((32, 1), (128, 1), (128, 16)):
        print(row(f"integer loop, {ctas} x {threads} threads", scalar(threads, ctas)))
    for name in GEMMS:
        print(row(f"{name} {SIZE}^3", lambda name=name: gemm(name)))


if __name__ == "__main__":
    main()
