"""Files of tests/passes/*.mlir state their own commands and what these print.

    // RUN: tilesat opt %s --target sm_90a --passes 'a,b' | filecheck %s
    // CHECK: ...

`%s` is the file, `%t` a file that it may write; `not` before a command expects it to fail, `2>&1` joins what it says.
Several RUN lines may have prefixes of their own (`--check-prefix`). A file is named after its pass. Once its commands
hold, those whose pipeline has that pass run again without it and all behind it, and filecheck must then object: a check
that a pass which does nothing would meet shows nothing.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from filecheck.main import main as filecheck

from lowering.passes.syntax import names, parse, show, until
from tilesat.cli import main as tilesat

RUN = re.compile(r"^// RUN: ((?:.*\\\n// )*.*)$", re.M)
PROGRAMS = ("tilesat", "filecheck")


class FailedRun(Exception):
    """A command of a RUN line that did not do what the file says."""


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
                code = self.call()
        finally:
            sys.stdin = before
        if bool(code) != self.fails:
            said = out.getvalue() + err.getvalue()
            raise FailedRun(f"{shlex.join(self.words)} ended with {code}\n{said}")
        return out.getvalue()

    def call(self) -> int:
        try:
            if self.words[0] == "tilesat":
                return tilesat(self.words[1:])
            filecheck([*self.words])
        except SystemExit as end:
            return int(end.code or 0)
        return 0

    @property
    def pipeline(self) -> str | None:
        """Its passes."""
        return self.words[self.words.index("--passes") + 1] if "--passes" in self.words else None

    def before(self, name: str) -> Command:
        """The command with its pipeline cut off before a pass."""
        place = self.words.index("--passes") + 1
        steps = until(parse(self.words[place]), name)[:-1]
        return replace(self, words=(*self.words[:place], show(steps), *self.words[place + 1 :]))


def commands(line: str, path: Path, temporary: Path) -> list[Command]:
    """The programs of a RUN line, divided by `|`."""
    words = [w.replace("%s", str(path)).replace("%t", str(temporary)) for w in shlex.split(line.replace("\\\n// ", ""))]
    found: list[Command] = []
    for part in divided(words):
        fails, joined = part[0] == "not", part[-1] == "2>&1"
        kept = part[fails : len(part) - joined]
        if kept[0] not in PROGRAMS:
            raise FailedRun(f"RUN: {kept[0]} is not one of {', '.join(PROGRAMS)}")
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
    """All programs, each given what the one before it printed."""
    text = ""
    for each in line:
        text = each.run(text)


def check(path: Path) -> None:
    """Run what a file states. Raises FailedRun where it does not hold, or would hold without its pass."""
    lines = RUN.findall(path.read_text())
    if not lines:
        raise FailedRun("the file has no line that begins with // RUN:")
    with tempfile.TemporaryDirectory() as folder:
        tried = [held(text, path, Path(folder) / path.name) for text in lines]
    if not any(tried):
        raise FailedRun(f"no RUN line has the pass {path.stem} in its pipeline")


def held(text: str, path: Path, temporary: Path) -> bool:
    """Run a RUN line, with its pass and without; whether it has the pass in its pipeline."""
    line = commands(text, path, temporary)
    through(line)
    pipeline = line[0].pipeline
    if pipeline is None or path.stem not in names(parse(pipeline)):
        return False
    idle = [line[0].before(path.stem), *line[1:]]
    try:
        through(idle)
    except FailedRun:
        return True
    raise FailedRun(f"the checks hold without the pass: {shlex.join(idle[0].words)}")
