"""The compiler in other programs: many threads at once, pools of processes forked and started anew, many kernels."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import FrameType
from typing import Any

import pytest

import tilesat
from tests.programs import test_programs
from tests.programs.program import PROGRAMS
from tests.tilesat.example_cases import EXAMPLES

THREADS, PROCESSES, POINTS = 8, 2, 12
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


@pytest.mark.in_turn
@pytest.mark.parametrize("names", MANY)
def test_threads(names: list[str]) -> None:
    """Each kernel by two threads, in no order."""
    wanted = [alone(name) for name in names] * 2
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(ptx, [*names, *names]))
    assert found == wanted


@pytest.mark.in_turn
@pytest.mark.parametrize("names", MANY)
@pytest.mark.parametrize("start", STARTS)
def test_processes(start: str, names: list[str]) -> None:
    """Children of a process that has compiled, forked with all that it knows or started anew."""
    wanted = [alone(name) for name in names]
    with multiprocessing.get_context(start).Pool(PROCESSES) as pool:
        assert pool.map(ptx, names, chunksize=1) == wanted


@pytest.mark.in_turn
def test_processes_of_a_thread() -> None:
    """A pool that a thread forks while another one compiles."""
    wanted = [alone(name) for name in FEW[:3]]

    def forked() -> list[str]:
        with multiprocessing.get_context("spawn" if not hasattr(os, "fork") else "fork").Pool(1) as pool:
            return pool.map(ptx, FEW[:3])

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(forked), pool.submit(lambda: [ptx(name) for name in FEW[:3]])
        assert first.result() == second.result() == wanted


INTERRUPTED = EXAMPLES / "softmax.mlir"


def interrupted_at(number: int, work: Callable[[], object]) -> int:
    """Raise KeyboardInterrupt at a call of a Python function, as Ctrl-C does; how many calls there were."""
    calls = 0

    def count(_: FrameType, event: str, __: Any) -> None:
        nonlocal calls
        calls += event == "call"
        if calls == number and event == "call":
            raise KeyboardInterrupt

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("target", ["sm_90a"])
def test_ctrl_c_ends_a_compilation_and_the_next_one_is_whole(target: str) -> None:
    """Wherever it comes; what was begun is neither kept nor in the way."""
    wanted = tilesat.compile(INTERRUPTED, target).ptx
    calls = interrupted_at(-1, lambda: tilesat.compile(INTERRUPTED, target))
    assert calls > POINTS
    for point in range(POINTS):
        at = 1 + calls * point // POINTS
        with pytest.raises(KeyboardInterrupt):
            interrupted_at(at, lambda: tilesat.compile(INTERRUPTED, target))
        assert tilesat.compile(INTERRUPTED, target).ptx == wanted, f"after an interrupt at call {at} of {calls}"


STATE = """
import gc, locale, os, signal, sys, threading, warnings
def state():
    return (dict(os.environ), [str(signal.getsignal(n)) for n in signal.valid_signals()], list(warnings.filters),
            list(sys.path), sys.getrecursionlimit(), sys.getswitchinterval(), gc.isenabled(), gc.get_threshold(),
            threading.active_count(), locale.setlocale(locale.LC_ALL), os.getcwd(), sys.excepthook, sys.stdout)
before = state()
import tilesat
assert not {"numpy", "egglog", "highspy", "lowering", "cuda"} & set(sys.modules), sorted(sys.modules)
assert state() == before
import numpy  # which filters warnings of its own
before = state()
for name in tilesat.__all__:
    getattr(tilesat, name)
assert state() == before
"""


def test_an_import_changes_nothing_of_the_process() -> None:
    """Neither that of the package, which loads no NumPy, nor those of all public names."""
    subprocess.run([sys.executable, "-c", STATE], check=True)
