"""Files of tests/passes/*.mlir state their own commands and what these print: `tilesat.testing.runs`.

A file is named after its pass. Once its commands hold, those whose pipeline has that pass run again without it and all
behind it, and filecheck must then object: a check that a pass which does nothing would meet shows nothing.
"""

from __future__ import annotations

import shlex
import tempfile
from dataclasses import replace
from pathlib import Path

from lowering.passes.syntax import names, parse, show, until
from tilesat.testing.runs import Command, FailedRun, commands, lines_of, through


def pipeline(command: Command) -> str | None:
    """The passes of a command."""
    return command.words[command.words.index("--passes") + 1] if "--passes" in command.words else None


def before(command: Command, name: str) -> Command:
    """The command with its pipeline cut off before a pass."""
    place = command.words.index("--passes") + 1
    steps = until(parse(command.words[place]), name)[:-1]
    return replace(command, words=(*command.words[:place], show(steps), *command.words[place + 1 :]))


def check(path: Path) -> None:
    """Run what a file states. Raises FailedRun where it does not hold, or would hold without its pass."""
    lines = lines_of(path)
    with tempfile.TemporaryDirectory() as folder:
        tried = [held(text, path, Path(folder) / path.name) for text in lines]
    if not any(tried):
        raise FailedRun(f"no RUN line has the pass {path.stem} in its pipeline")


def held(text: str, path: Path, temporary: Path) -> bool:
    """Run a RUN line, with its pass and without; whether it has the pass in its pipeline."""
    line = commands(text, path, temporary)
    through(line)
    passes = pipeline(line[0])
    if passes is None or path.stem not in names(parse(passes)):
        return False
    idle = [before(line[0], path.stem), *line[1:]]
    try:
        through(idle)
    except FailedRun:
        return True
    raise FailedRun(f"the checks hold without the pass: {shlex.join(idle[0].words)}")
