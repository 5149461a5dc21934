"""Time of a launch in Python, and of a kernel from the cache in a fresh process.

python -m benchmarks.launch [--repeat 7]

A repeated launch of two arrays and two numbers, on a driver whose launch does nothing: microseconds of CPU time, the
least of `repeat` rounds of 10,000. Fresh processes: milliseconds of CPU time, the least of `repeat`.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import cuda.tile as ct
import numpy as np

import tilesat
from runtime.cuda import shared
from tests.runtime.fake_driver import FakeDriver

ROOT = Path(__file__).resolve().parents[1]
ROUND = 10_000
FRESH = {
    "python": "pass",
    "import tilesat": "import tilesat",
    "kernel from the cache": "import tilesat; tilesat.compile('examples/gemm.mlir', 'sm_90a', cache=True)",
}
"""Programs by what they show; each includes the one before it."""


@ct.kernel
def scale(x, y, factor, n: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (n,)) * factor)


class NoLaunch(FakeDriver):
    """A driver whose launches do nothing and are not recorded."""

    def __getattribute__(self, name: str) -> Any:
        return _nothing if name == "cuLaunchKernelEx" else super().__getattribute__(name)


def _nothing(*_: object) -> tuple[int]:
    return (0,)


class OnCard:
    """An array of another library, in the driver's memory."""

    def __init__(self, array: Any) -> None:
        self._held = shared().put(array)
        self._interface = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (self._held.address, False), "version": 3,
            "stream": 2,
        }  # fmt: skip

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self._interface


def launches(repeat: int) -> float:
    """Microseconds of CPU time of a repeated launch."""
    with mock.patch("runtime.cuda.load_driver", return_value=NoLaunch((9, 0))):
        x, y = (OnCard(np.zeros(256, np.float32)) for _ in range(2))
        call = tilesat.jit(scale)[4]
        call(x, y, 2.0, 64)
        spent: list[float] = []
        for _ in range(repeat):
            start = time.process_time()
            for _ in range(ROUND):
                call(x, y, 2.0, 64)
            spent.append(time.process_time() - start)
        shared().close()
    return min(spent) / ROUND * 1e6


def fresh(program: str, repeat: int, cache: str) -> float:
    """Milliseconds of CPU time of a process; one more fills the cache first."""
    spent: list[float] = []
    for _ in range(repeat + 1):
        before = _children()
        subprocess.run(
            [sys.executable, "-c", program], check=True, cwd=ROOT, env=os.environ | {"TILESAT_CACHE_DIR": cache}
        )
        spent.append(_children() - before)
    return min(spent[1:]) * 1e3


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.launch")
    parser.add_argument("--repeat", type=int, default=7)
    repeat = parser.parse_args().repeat
    print(f"repeated launch, us: {launches(repeat):.1f}")
    with tempfile.TemporaryDirectory() as cache:
        for what, program in FRESH.items():
            print(f"{what}, ms: {fresh(program, repeat, cache):.0f}")


if __name__ == "__main__":
    main()
