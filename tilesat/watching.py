"""What the user sees of passes as they run: programs before and after them, differences, and the input of one that
fails.
"""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ir.core import TileError
from lowering.passes.levels import LEVELS
from lowering.passes.manager import Context, Watcher
from lowering.passes.registry import Step
from lowering.passes.syntax import names, show
from lowering.passes.table import PASSES
from tilesat.output import write_file

EVERY = "all"


@dataclass
class Shown(Watcher):
    """Prints programs on standard error: `before` and `after` the passes of these names. With `differences` what passes
    changed instead, of all where `after` names none.
    """

    before_passes: frozenset[str]
    after_passes: frozenset[str]
    differences: bool
    earlier: list[str] = field(default_factory=list[str])

    def before(self, step: Step, program: object, context: Context) -> None:
        """Print or remember what it begins with."""
        name, level = step.work.name, step.work.takes
        if self.compares(step):
            self.earlier.append(LEVELS[level].text(program, context))
        if wanted(name, self.before_passes):
            show_program(f"before {name}", level, program, context)

    def after(self, step: Step, program: object, context: Context) -> None:
        """Print what it made, or what is different."""
        name, level = step.work.name, step.work.gives
        if self.compares(step):
            text = LEVELS[level].text(program, context)
            lines = difference(self.earlier.pop(), text)
            print(heading(f"changed by {name}", level, context), *lines, sep="\n", file=sys.stderr)
        elif self.differences and self.chooses(name):
            print(heading(f"{name} makes {level} of {step.work.takes}", level, context), file=sys.stderr)
        elif wanted(name, self.after_passes):
            show_program(f"after {name}", level, program, context)

    def chooses(self, name: str) -> bool:
        """Are the differences that this pass makes asked for?"""
        return not self.after_passes or wanted(name, self.after_passes)

    def compares(self, step: Step) -> bool:
        """Is what this pass makes shown as a difference? It can be where the level stays."""
        return self.differences and self.chooses(step.work.name) and step.work.takes == step.work.gives


def wanted(name: str, chosen: frozenset[str]) -> bool:
    """Is a pass among those that are named?"""
    return name in chosen or EVERY in chosen


def heading(what: str, level: str, context: Context) -> str:
    """The line above a program."""
    return f"// -----// {', '.join((what, level, str(context.target), *context.path))} //----- //"


def show_program(what: str, level: str, program: object, context: Context) -> None:
    """Print a program on standard error."""
    print(heading(what, level, context), file=sys.stderr)
    print(LEVELS[level].text(program, context).rstrip("\n"), file=sys.stderr)


def difference(before: str, after: str) -> list[str]:
    """Lines of a unified difference, without its two heading lines."""
    from difflib import unified_diff  # for those who ask

    return list(unified_diff(before.splitlines(), after.splitlines(), lineterm=""))[2:]


@dataclass
class Reproducer(Watcher):
    """Keeps the last program that can be read again and the passes that were still to come, for when one fails."""

    steps: Sequence[Step]
    path: Path
    entry: str | None
    target: str = ""
    text: str = ""
    rest: Sequence[Step] = ()
    running: list[str] = field(default_factory=list[str])

    def before(self, step: Step, program: object, context: Context) -> None:
        """Of passes that run inside another one the outer one is what can be repeated."""
        self.running.append(step.work.name)
        if not context.path and LEVELS[step.work.takes].reads:
            self.target = context.target.name
            self.text = LEVELS[step.work.takes].text(program, context)
            self.rest = [each for each in self.steps if each.column >= step.column]

    def after(self, step: Step, program: object, context: Context) -> None:
        """It did not fail; those inside it that did were expected to."""
        del self.running[self.running.index(step.work.name) :]

    def write(self) -> None:
        """The command as a comment, then the program."""
        words = ["tilesat", "opt", str(self.path), "--target", self.target, "--passes", show(self.rest)]
        words += ["--entry", self.entry] if self.entry else []
        write_file(self.path, f"// {shlex.join(words)}\n{self.text}")
        print(f"tilesat: note: '{self.running[-1]}' failed; {self.path} has its input and the command", file=sys.stderr)


@dataclass(frozen=True)
class Watching:
    """What the command line asks to see. Raises TileError, when made by `of`, for names of no pass of the pipeline."""

    watchers: tuple[Watcher, ...]
    reproducer: Reproducer | None

    @staticmethod
    def of(arguments: Namespace, steps: Sequence[Step], entry: str | None = None) -> Watching:
        """From --print-before, --print-after, --print-diff and --reproducer, for a pipeline."""
        before, after = chosen(arguments.print_before, steps), chosen(arguments.print_after, steps)
        watchers: list[Watcher] = []
        if before or after or arguments.print_diff:
            watchers.append(Shown(before, after, arguments.print_diff))
        reproducer = None if arguments.reproducer is None else Reproducer(steps, arguments.reproducer, entry)
        return Watching((*watchers, *([reproducer] if reproducer else [])), reproducer)

    @contextmanager
    def failing(self) -> Generator[None]:
        """Write the reproducer where a pass fails in the block."""
        try:
            yield
        except Exception:
            if self.reproducer is not None and self.reproducer.running:
                self.reproducer.write()
            raise


def chosen(given: Iterable[str], steps: Sequence[Step]) -> frozenset[str]:
    """Names of passes with commas between; raises TileError for one that is not in the pipeline."""
    found = frozenset(name for text in given for name in text.split(","))
    present = [*dict.fromkeys(names(steps))]
    for name in sorted(found - {EVERY, *present}):
        message = f"the pipeline has no pass {name!r}" if name in PASSES else f"there is no pass {name!r}"
        raise TileError(message, hint=f"passes of the pipeline: {', '.join(present)}")
    return found
