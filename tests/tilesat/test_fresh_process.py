"""What a fresh process loads: a compilation must not pay for what it does not use."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ir.bytecode import write_bytecode
from ir.load import load
from tilesat.one_shot_process import one_shot_process

ROOT = Path(__file__).parent.parent.parent
GEMM = ROOT / "examples" / "gemm.mlir"
COMPILE = """
import os, sys
os.environ.pop("OPENBLAS_NUM_THREADS", None)
from tilesat.cli import main
assert main(["compile", sys.argv[1], "--target", "sm_90a", "-o", sys.argv[2]]) == 0
print(*sorted(sys.modules))
print(len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1)
"""

UNUSED = (
    "black", "cuda", "difflib", "graphviz", "highspy", "ml_dtypes", "numpy._core", "egraph.soundness",
    "extract.program", "extract.solver", "extract.treewidth", "ir.bytecode", "ir.interpreter",
    "lowering.explain", "runtime", "tilesat.execution", "viz",
)  # fmt: skip
"""The solver, other readers, pictures, NumPy, everything that runs programs."""


def after_compiling(source: Path, out: Path) -> tuple[set[str], int]:
    """Modules and threads at the end of a compilation."""
    command = [sys.executable, "-c", COMPILE, str(source), str(out)]
    modules, threads = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    assert ".entry gemm" in out.read_text()
    return set(modules.split()), int(threads)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], int]:
    """The same for a program in text."""
    return after_compiling(GEMM, tmp_path_factory.mktemp("fresh") / "gemm.ptx")


@pytest.mark.parametrize("module", UNUSED)
def test_not_loaded(module: str, loaded: tuple[set[str], int]) -> None:
    assert {"numpy", "lowering.pipeline", "extract.greedy"} <= loaded[0]
    assert module not in loaded[0]


def test_bytecode_loads_no_reader_of_text(tmp_path: Path) -> None:
    source = tmp_path / "gemm.tileirbc"
    source.write_bytes(write_bytecode(load(GEMM)))
    modules, _ = after_compiling(source, tmp_path / "gemm.ptx")
    assert "ir.bytecode.reader" in modules
    assert "ir.text" not in modules


def test_numpy_is_loaded_by_who_uses_it() -> None:
    code = """
import sys
from tilesat.one_shot_process import one_shot_process
with one_shot_process(ending=True):
    import numpy as np
    assert "numpy._core" not in sys.modules
    from extract.settle import np as same
    assert same is np
    import numpy.typing
    assert np.dtype("int8").itemsize == 1 and same.arange(3).sum() == 3
    import numpy as later
    assert later.float32 is np.float32
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_no_threads_for_matrices(loaded: tuple[set[str], int]) -> None:
    assert loaded[1] <= 2  # ours and egglog's; OpenBLAS would add one for every further core


def test_the_collector_runs_again_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    assert gc.isenabled()
    with one_shot_process(ending=False):
        assert not gc.isenabled()
        assert os.environ["OPENBLAS_NUM_THREADS"] == "3"  # what the user says counts
    assert gc.isenabled()
