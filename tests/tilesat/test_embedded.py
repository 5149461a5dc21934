"""The compiler in other programs: many threads at once, pools of processes forked and started anew, many kernels."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest

import tilesat
from tests.programs import test_programs
from tests.programs.program import PROGRAMS

THREADS, PROCESSES = 8, 2
KERNELS = sorted(PROGRAMS)[:: max(1, len(PROGRAMS) // 50)][:50]
FEW = KERNELS[::8]
MANY = [pytest.param(FEW, id="few"), pytest.param(KERNELS, id="many", marks=pytest.mark.slow)]
STARTS = [
    pytest.param("fork", marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")),
    "spawn",
]


def ptx(name: str) -> str:
    return tilesat.compile(PROGRAMS[name].source(), test_programs.first_target(name)).ptx


@cache
def alone(name: str) -> str:
    """What the kernel is where nothing else compiles."""
    return ptx(name)


@pytest.mark.parametrize("names", MANY)
def test_threads(names: list[str]) -> None:
    """Each kernel by two threads, in no order."""
    wanted = [alone(name) for name in names] * 2
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(ptx, [*names, *names]))
    assert found == wanted


@pytest.mark.parametrize("names", MANY)
@pytest.mark.parametrize("start", STARTS)
def test_processes(start: str, names: list[str]) -> None:
    """Children of a process that has compiled, forked with all that it knows or started anew."""
    wanted = [alone(name) for name in names]
    with multiprocessing.get_context(start).Pool(PROCESSES) as pool:
        assert pool.map(ptx, names, chunksize=1) == wanted


def test_processes_of_a_thread() -> None:
    """A pool that a thread forks while another one compiles."""
    wanted = [alone(name) for name in FEW[:3]]

    def forked() -> list[str]:
        with multiprocessing.get_context("spawn" if not hasattr(os, "fork") else "fork").Pool(1) as pool:
            return pool.map(ptx, FEW[:3])

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(forked), pool.submit(lambda: [ptx(name) for name in FEW[:3]])
        assert first.result() == second.result() == wanted
