"""docs/testing.md: its files, in an empty folder, hold what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.testing.test_plugin import run
from tests.tilesat.test_tileiras import has_ptxas
from tilesat.cli import main
from tilesat.fuzz.judge import MIX
from tilesat.testing.conditions import ExpectationError
from tilesat.testing.tile import Tile

EXAMPLES = Path(__file__).parents[2] / "examples"
PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text()


def block(begins: str) -> str:
    """The code block that begins with a text."""
    return next(code for code in re.findall(r"^```\w+[^\n]*\n(.*?)^```$", PAGE, re.M | re.S) if code.startswith(begins))


FILES = {
    "gemm.mlir": "cuda_tile.module @kernels", "test_gemm.py": "ARGUMENTS", "kernels.py": "import cuda.tile",
    "test_scale.py": "import numpy", "fold.mlir": "// RUN", "test_files.py": "def test_fold",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not has_ptxas(), reason="ptxas is not installed")
def test_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cuda.tile")
    for name, begins in FILES.items():
        (tmp_path / name).write_text(block(begins))
    code, said = run(tmp_path, "--bless")
    assert code == 0, said
    assert "3 passed" in said
    assert (tmp_path / "golden" / "test_gemm" / "test_gemm.gemm.sm_90a.nv_tileas").exists()
    assert main(["bench-record", str(tmp_path / "gemm.mlir"), "--target", "sm_80,sm_90a"]) == 0
    shown = re.search(r"^(gemm.mlir@gemm sm_90a: cost \S+)", PAGE, re.M)
    assert shown is not None
    assert shown[1] in capsys.readouterr().err


@pytest.mark.parametrize("command", ["fuzz", "bench-diff", "bench-record"])
def test_the_page_has_every_option(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help", "--output"}  # which the page calls -o
    assert options
    assert not {option for option in options if option not in PAGE}


def test_the_page_has_every_name(tile: Tile) -> None:
    k = tile.compile(EXAMPLES / "gemm.mlir", "sm_90a")
    asked = [k, k.chosen("%acc"), *([k.loop("wgmma")] if has_ptxas() else [])]
    for each in asked:
        with pytest.raises(ExpectationError, match="has no 'regs'; it has") as caught:
            each.expect(regs=1)
        names = str(caught.value).partition("it has ")[2].split(", ")
        assert not {name for name in names if f"`{name}`" not in PAGE}
    assert all(f"*{kind}*" in PAGE for kind in MIX)
