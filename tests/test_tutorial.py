"""docs/tutorial: its files are written, its commands run, and what they print is compared; `--bless` renews it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs" / "tutorial").glob("[1-9]-*.md"))
BLOCK = re.compile(
    r"^(?:<!-- needs (?P<needs>\w+) -->\n)?```(?P<language>\w+)(?: file=(?P<file>\S+))?\n(?P<body>.*?)^```$",
    re.M | re.S,
)
COMMAND = re.compile(r"^\$ (?P<command>.*\n)(?P<output>(?:(?!\$ ).*\n)*)", re.M)
PROGRAMS = {
    "python": "",
    "tilesat": "-m tilesat",
    "pytest": "-m pytest -p tilesat.testing.plugin -p no:cacheprovider",
}
"""What each command of the pages is, as arguments of this Python."""
END = "\x1e"
"""Behind what a command prints, with its exit status."""


@dataclass(frozen=True)
class Said:
    """A command with what it printed, standard error in its place, and its exit status."""

    command: str
    output: str
    status: int


def session(commands: list[str], folder: Path) -> list[Said]:
    """Run commands in one shell, so that `$?` is that of the one before."""
    ended = f"_status=$?; printf '{END}%d{END}' $_status; (exit $_status)\n"
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(folder / "bin"), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "120",
    }
    done = subprocess.run(
        ["bash", "-c", "".join(each + ended for each in commands)], cwd=folder, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    pieces = done.stdout.split(END)
    return [Said(command, *said) for command, *said in zip(commands, pieces[::2], map(int, pieces[1::2]), strict=False)]


def holds(expected: str, found: str) -> bool:
    """Whether an output is the expected one, where a line `...` is any lines, and `...` in a line any text."""
    pattern = re.escape(expected).replace(r"\.\.\.", r"[^\n]*")
    pattern = re.sub(r"(?m)^\[\^\\n\]\*\\?\n", r"(?:[^\\n]*\\n)*", pattern)
    return re.fullmatch(pattern, found) is not None


def prepare(folder: Path) -> None:
    """The folder that docs/tutorial/index.md says: with the examples, and the commands of the environment."""
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "bin").mkdir()
    for name, module in {
        "python": "",
        "tilesat": "-m tilesat",
        "pytest": "-m pytest -p tilesat.testing.plugin -p no:cacheprovider",
    }.items():
        script = folder / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        script.chmod(0o755)


def lacks(block: re.Match[str]) -> bool:
    """Whether a block needs what is not installed."""
    return bool(block["needs"]) and find_spec(block["needs"]) is None and shutil.which(block["needs"]) is None


def transcripts(text: str, folder: Path) -> Iterator[tuple[re.Match[str], list[Said]]]:
    """Write the files of a page and run its blocks of commands, in order."""
    for block in BLOCK.finditer(text):
        if block["file"]:
            (folder / block["file"]).write_text(block["body"])
        elif block["language"] == "console" and not lacks(block):
            yield block, session([each["command"] for each in COMMAND.finditer(block["body"])], folder)


def blessed(block: re.Match[str], said: list[Said]) -> str:
    """A block with what its commands printed now, where that differs."""
    parts = [
        each[0] if holds(each["output"], now.output) else f"$ {each['command']}{now.output}"
        for each, now in zip(COMMAND.finditer(block["body"]), said, strict=True)
    ]
    return block[0].replace(block["body"], "".join(parts))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_runs(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("cuda.tile")
    prepare(tmp_path)
    text = page.read_text()
    renewed = text
    for block, said in transcripts(text, tmp_path):
        renewed = renewed.replace(block[0], blessed(block, said))
        for now, after in zip(said, [*said[1:], None], strict=True):
            asked = after is not None and after.command == "echo $?\n"
            assert asked or now.status == 0, f"{page.name}: $ {now.command}{now.output}"
    if request.config.getoption("--bless"):
        page.write_text(renewed)
    else:
        assert renewed == text, f"{page.name} prints something else: pytest {Path(__file__).name} --bless renews it"


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        ("a\n", "a\n", True), ("a\n", "a\nb\n", False),
        ("a ... c\n", "a b c\n", True), ("a ... c\n", "a b\n c\n", False),
        ("a\n...\n", "a\nb\nc\n", True), ("a\n...\nd\n", "a\nb\nc\n", False), ("1.5\n", "1x5\n", False), ("", "", True),
        ("a\n...\n", "a\n", True), ("", "a\n", False),
    ],
)  # fmt: skip
def test_outputs_are_compared(expected: str, found: str, same: bool) -> None:
    assert holds(expected, found) == same


def test_a_command_that_fails_is_seen(tmp_path: Path) -> None:
    said = session(["echo a; (exit 3)\n", "echo $?\n", "echo b >&2\n"], tmp_path)
    assert [(each.output, each.status) for each in said] == [("a\n", 3), ("3\n", 0), ("b\n", 0)]
