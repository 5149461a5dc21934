"""Files that state their own commands and what these print.

    // RUN: tilesat opt %s --target sm_90a --passes 'a,b' | filecheck %s
    // CHECK: ...

`%s` is the file, `%t` a file that it may write; `not` before a command expects it to fail, `2>&1` joins what it says.
Several RUN lines may have prefixes of their own (`--check-prefix`). The commands run in this process.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tilesat.cli import main as tilesat
from tilesat.testing.conditions import ExpectationFailed, hidden

__tracebackhide__ = hidden

RUN = re.compile(r"^// RUN: ((?:.*\\\n// )*.*)$", re.M)
PROGRAMS = ("tilesat", "filecheck")


class FailedRun(ExpectationFailed):
    """A command of a RUN line that did not do what the file expects."""


@dataclass(frozen=True)
class Command:
    """One program of a RUN line."""

    words: tuple[str, ...]
    fails: bool = False
    joined: bool = False

    def run(self, given: str) -> str:
        """What it prints. Raises FailedRun where it ends otherwise than it should."""
        out, err = io.StringIO(), io.StringIO()
        before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(given.encode()))
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out if self.joined else err):
                code = self._call()
        finally:
            sys.stdin = before
        if bool(code) != self.fails:
            said = out.getvalue() + err.getvalue()
            raise FailedRun(f"{shlex.join(self.words)} ended with {code}\n{said}")
        return out.getvalue()

    def _call(self) -> int:
        try:
            if self.words[0] == "tilesat":
                return tilesat(self.words[1:])
            _filecheck()([*self.words])
        except SystemExit as end:
            return int(end.code or 0)
        return 0


def commands(line: str, path: Path, temporary: Path) -> list[Command]:
    """The programs of a RUN line, divided by `|`."""
    plain = shlex.split(line.replace("\\\n// ", ""))
    words = [word.replace("%s", str(path)).replace("%t", str(temporary)) for word in plain]
    found: list[Command] = []
    for part in divided(words):
        fails, joined = part[:1] == ["not"], part[-1:] == ["2>&1"]
        kept = part[fails : len(part) - joined]
        if not kept or kept[0] not in PROGRAMS:
            raise FailedRun(f"RUN: {kept[0] if kept else 'nothing'} is not one of {', '.join(PROGRAMS)}")
        found.append(Command(tuple(kept), fails, joined))
    return found


def divided(words: Sequence[str]) -> Iterator[list[str]]:
    """Runs of words between `|`."""
    part: list[str] = []
    for word in (*words, "|"):
        if word == "|":
            yield part
            part = []
        else:
            part.append(word)


def through(line: Sequence[Command]) -> None:
    """All programs, each given what the one before it printed. Raises FailedRun."""
    text = ""
    for each in line:
        text = each.run(text)


def lines_of(path: Path) -> list[str]:
    """The RUN lines of a file. Raises FailedRun where it has none."""
    found = RUN.findall(path.read_text())
    if not found:
        raise FailedRun("the file has no line that begins with // RUN:")
    return found


def check(path: Path) -> None:
    """Run what a file states. Raises FailedRun where it does not hold."""
    with tempfile.TemporaryDirectory() as folder:
        for text in lines_of(path):
            through(commands(text, path, Path(folder) / path.name))


def _filecheck() -> Callable[[list[str]], object]:
    try:
        return import_module("filecheck.main").main
    except ImportError as error:
        raise FailedRun("RUN: filecheck is not installed; get it with `pip install filecheck`") from error
