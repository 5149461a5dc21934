"""Compiling in threads and after a fork; kernels that go through a pickle into another process."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesat

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = EXAMPLES / "vecadd_view.mlir"
NAMES = ("vecadd_view", "vecadd_ptr", "softmax", "vecadd_view")
FORKS = hasattr(os, "fork")


def ptx(name: str) -> str:
    return tilesat.compile(EXAMPLES / f"{name}.mlir").ptx


@pytest.fixture(scope="module")
def wanted() -> dict[str, str]:
    return {name: ptx(name) for name in NAMES}


@pytest.mark.in_turn
def test_second_thread_compiles_while_the_first_does(wanted: dict[str, str]) -> None:
    with ThreadPoolExecutor(2) as pool:
        futures = [(name, pool.submit(ptx, name)) for name in NAMES * 2]
        here = [(name, ptx(name)) for name in NAMES]
        assert all(text == wanted[name] for name, text in here)
        assert all(future.result() == wanted[name] for name, future in futures)


def test_threads_that_end_leave_nothing(wanted: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    """Their engines go in their own thread, and the engines' folders with them."""
    from egraph.engine import _PROCESS

    before = len(_PROCESS.alive)
    found: list[str] = []
    for _ in range(3):
        thread = threading.Thread(target=lambda: found.append(ptx("vecadd_view")))
        thread.start()
        thread.join()
    assert found == [wanted["vecadd_view"]] * 3
    assert len(_PROCESS.alive) == before
    assert capfd.readouterr().err == ""


def in_child(work: Callable[[], None], leave: Callable[[int], Any] = os._exit, seconds: float = 60.0) -> int:
    """The exit status of a forked process that works and leaves; the signal that ended it where it hangs."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            leave(status)
    for _ in range(int(seconds / 0.05)):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def compile_all(wanted: dict[str, str]) -> None:
    assert all(ptx(name) == text for name, text in wanted.items())


@pytest.mark.in_turn
@pytest.mark.skipif(not FORKS, reason="no fork here")
def test_forked_child_compiles_and_so_does_its_child(wanted: dict[str, str]) -> None:
    def work() -> None:
        compile_all(wanted)
        assert in_child(lambda: compile_all(wanted)) == 0
        compile_all(wanted)

    assert in_child(work) == 0
    compile_all(wanted)  # the parent's engine and its files are as they were


@pytest.mark.in_turn
@pytest.mark.skipif(not FORKS, reason="no fork here")
def test_fork_while_other_threads_have_engines(wanted: dict[str, str]) -> None:
    """The child drops what its other threads had before any code of ours runs in it."""
    ready, go = threading.Barrier(3), threading.Event()

    def hold() -> None:
        ptx("vecadd_view")
        ready.wait()
        go.wait()
        ptx("vecadd_ptr")

    threads = [threading.Thread(target=hold) for _ in range(2)]
    for thread in threads:
        thread.start()
    ready.wait()
    try:
        assert in_child(lambda: compile_all(wanted)) == 0
    finally:
        go.set()
        for thread in threads:
            thread.join()


def child_of_multiprocessing(name: str) -> str:
    return ptx(name)


@pytest.mark.in_turn
def test_multiprocessing_pools_compile(wanted: dict[str, str]) -> None:
    ways = [way for way in ("fork", "spawn") if way in multiprocessing.get_all_start_methods()]
    for way in ways:
        with multiprocessing.get_context(way).Pool(1) as pool:
            found = pool.map_async(child_of_multiprocessing, ["vecadd_view", "softmax"]).get(timeout=120)
        assert found == [wanted["vecadd_view"], wanted["softmax"]], way


EXIT = """
import os, sys
import tilesat
tilesat.compile({path!r})
child = os.fork()
tilesat.compile({path!r})
if child == 0:
    sys.exit(3)
_, status = os.waitpid(child, 0)
tilesat.compile({path!r}, "sm_90a")
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.in_turn
@pytest.mark.skipif(not FORKS, reason="no fork here")
def test_child_that_leaves_by_sys_exit_ends_and_removes_nothing_of_its_parent(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    done = subprocess.run(
        [sys.executable, "-c", EXIT.format(path=str(SMALL))],
        capture_output=True, text=True, env=environment, timeout=120, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("3\n", "", 0)


# --- pickles


RUN = """
import pickle, sys
import numpy as np
kernel = pickle.loads(sys.stdin.buffer.read())
assert "egraph.engine" not in sys.modules
for on in ("sim", "ref"):
    x, y, z = (np.arange(n, n + 300, dtype=np.float32) for n in (0, 7, 9))
    kernel.run(3, x, y, z, 300, on=on)
    assert np.array_equal(z, x + y), on
print(kernel.entry.sym_name, kernel.target, kernel.cost, len(kernel.ptx))
"""


def test_pickled_kernel_runs_in_another_process() -> None:
    kernel = tilesat.compile(SMALL, "sm_90a")
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=pickle.dumps(kernel), capture_output=True, env=environment, timeout=120, check=False,
    )  # fmt: skip
    assert done.stderr.decode() == ""
    assert done.stdout.decode().split() == [kernel.entry.sym_name, "sm_90a", str(kernel.cost), str(len(kernel.ptx))]


def test_pickled_kernel_keeps_every_stage() -> None:
    kernel = tilesat.compile(EXAMPLES / "softmax.mlir")
    again = pickle.loads(pickle.dumps(kernel))
    stages = [name for name in kernel.stages if name not in ("sass", "egraph-json", "egglog")]
    assert list(again.stages) == list(kernel.stages)
    assert [again.stages[name] for name in stages] == [kernel.stages[name] for name in stages]
    for name in ("manifest", "bound", "limits", "seconds"):
        assert getattr(again, name) == getattr(kernel, name)
    assert pickle.loads(pickle.dumps(again)).ptx == kernel.ptx
    asked = (lambda: again.report, lambda: again.compiled.selection, lambda: again.compiled.modules)
    for ask in (*asked, lambda: again.stages["egglog"], lambda: again.stages["egraph-json"]):
        with pytest.raises(tilesat.TileError, match="loaded from a pickle has"):
            ask()


def test_pickled_kernel_keeps_a_report_that_was_read() -> None:
    kernel = tilesat.compile(SMALL)
    report = kernel.report
    assert report
    assert pickle.loads(pickle.dumps(kernel)).report == report


def test_long_programs_pickle() -> None:
    """As deep as a chain of operations is long, pickle would recurse through the operations."""
    lines = "\n".join(f"%v{i + 1} = xori %v{i}, %n : tile<i32>" for i in range(200))
    text = f"""cuda_tile.module @m {{ entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{
        %t = make_token : token
        %v0 = addi %n, %n : tile<i32>
        {lines}
        %s = store_ptr_tko weak %p, %v200 token = %t : tile<ptr<i32>>, tile<i32> -> token
        return }} }}"""
    kernel = pickle.loads(pickle.dumps(tilesat.compile(text)))
    found = np.zeros(1, np.int32)
    kernel.run(1, found, 21)
    assert found[0] == 42
