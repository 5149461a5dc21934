"""The plugin in a pytest of its own, in an empty folder: found, blessed, skipped where a tool is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tilesat.testing import runs
from tilesat.testing.tile import Tile

EXAMPLES = Path(__file__).parents[2] / "examples"
TESTS = """
def test_kernel(tile):
    k = tile.compile("add.mlir")
    k.matches_golden("nv_tileas")

def test_assembled(tile):
    tile.compile("add.mlir").expect(cost__gt=0, registers__lt=100)
"""


def run(folder: Path, *options: str, **environment: str) -> tuple[int, str]:
    """pytest in a process of its own; its exit code and what it printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-p", "tilesat.testing.plugin"]
    here = str(Path(__file__).parents[2])
    given = {**os.environ, "PYTHONPATH": os.pathsep.join((here, *filter(None, [os.environ.get("PYTHONPATH")])))}
    done = subprocess.run(
        [*command, *options], cwd=folder, env=given | environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.in_turn
def test_golden_files_are_blessed_and_compared(tmp_path: Path) -> None:
    (tmp_path / "add.mlir").write_text((EXAMPLES / "vecadd_ptr.mlir").read_text())
    (tmp_path / "test_add.py").write_text(TESTS)
    golden = tmp_path / "golden" / "test_add" / "test_kernel.vecadd_ptr.sm_80.nv_tileas"
    assert run(tmp_path, "-k", "kernel", "--bless")[0] == 0
    text = golden.read_text()
    golden.write_text(text.replace("arith.addf", "arith.subf"))
    code, said = run(tmp_path, "-k", "kernel")
    assert code == 1
    for sign, operation in (("-", "subf"), ("+", "addf")):
        assert re.search(rf'^E +{re.escape(sign)} +%\d+ = "arith.{operation}"', said, re.M)
    assert "more: tilesat compile add.mlir --target sm_80 --emit nv_tileas" in said
    assert "conditions.py" not in said, "frames of our own are hidden"


@pytest.mark.in_turn
def test_without_ptxas_a_test_is_skipped_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "add.mlir").write_text((EXAMPLES / "vecadd_ptr.mlir").read_text())
    (tmp_path / "test_add.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text("import sysconfig\nsysconfig.get_path = lambda name: '/nowhere'\n")
    code, said = run(tmp_path, "-k", "assembled", PATH=str(tmp_path))
    assert code == 0
    assert "1 skipped" in said
    assert "everything else holds, but registers of @vecadd_ptr for sm_80: ptxas is not installed; get it with" in said


CHECKED = """
// RUN: tilesat opt %s --passes '' | filecheck %s
// RUN: not tilesat check %t 2>&1 | filecheck %s --check-prefix=GONE
// CHECK: entry @k
// GONE: error: No such file
cuda_tile.module @m { entry @k() { return } }
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CHECKED, ""),
        (CHECKED.replace("entry @k\n", "entry @other\n"), "filecheck .* ended with 1"),
        (CHECKED.replace("not tilesat", "tilesat"), "tilesat check .* ended with 1"),
        (CHECKED.replace("tilesat opt", "cat"), "RUN: cat is not one of tilesat, filecheck"),
        (CHECKED.replace("| filecheck %s\n", "|\n"), "RUN: nothing is not one of tilesat, filecheck"),
        ("cuda_tile.module @m { }\n", "no line that begins with // RUN:"),
    ],
)
def test_files_that_state_their_commands(tile: Tile, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "file.mlir"
    path.write_text(text)
    if message:
        with pytest.raises(runs.FailedRun, match=message):
            tile.filecheck(path)
    else:
        tile.filecheck(path)


def test_without_filecheck_the_message_says_how_to_get_it(
    tile: Tile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file.mlir").write_text(CHECKED)
    monkeypatch.setitem(sys.modules, "filecheck.main", None)
    with pytest.raises(runs.FailedRun, match="filecheck is not installed; get it with `pip install filecheck`"):
        tile.filecheck(tmp_path / "file.mlir")
