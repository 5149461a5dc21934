"""The Python of the README and of every how-to runs as it stands, each page in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "calls.md", *sorted((ROOT / "docs").glob("how-to-*.md"))]
BLOCK = re.compile(r"^```(?P<language>\w+)(?: file=(?P<file>\S+))?\n(?P<body>.*?)^```$", re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_runs(page: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    program: list[str] = []
    for block in BLOCK.finditer(page.read_text()):
        if block["file"]:
            (tmp_path / block["file"]).write_text(block["body"])
        elif block["language"] == "python":
            program.append(block["body"])
    assert program
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    (tmp_path / "page.py").write_text("\n".join(program))  # cuTile reads the source of its kernels
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


SMALLER = (
    ("compile examples/gemm.mlir --viz", "compile examples/vecadd_view.mlir --viz"),
    ("explore examples/gemm.mlir", "explore examples/vecadd_view.mlir"),
    ("experiment examples/gemm.mlir", "experiment examples/vecadd_view.mlir"),
    ("bench-record examples ", "bench-record examples/vecadd_view.mlir "),
    ("--programs 2", "--programs 1 --targets sm_80,sm_100a"),
)
"""What the commands are run on in `make test`; each has tests of its own."""


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_commands_of_the_readme_run(whole: bool, tmp_path: Path) -> None:
    """In a shell in which `tilesat` is found, as the page says how."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = (ROOT / "README.md").read_text()
    assert "source .venv/bin/activate" in page
    _, commands = (block["body"] for block in BLOCK.finditer(page) if block["language"] == "sh")
    commands = commands.replace("--programs 20", "--programs 2")  # of seven targets each
    for printed, small in () if whole else SMALLER:
        assert printed in commands
        commands = commands.replace(printed, small)
    program = f'tilesat() {{ "{sys.executable}" -m tilesat "$@"; }}\n{commands}'
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-ec", program], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "check arg2: ok" in done.stdout
    assert {"gemm.ptx", "gemm.json", "plain.ptx", "pictures"} <= {path.name for path in tmp_path.iterdir()}
