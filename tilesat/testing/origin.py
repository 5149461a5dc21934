"""Where a tested kernel comes from, and the command that compiles it again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tilesat.testing.conditions import ExpectationError, hidden

if TYPE_CHECKING:
    from tilesat.compiler import CompileOptions

__tracebackhide__ = hidden

LISTS = ("rules", "without", "forbid")
"""Options of `tilesat.compile` that the command line repeats for each entry."""


@dataclass(frozen=True)
class Origin:
    """A program: its file, or its content where it has none, which is written to a file for those who want to see more.

    folder: where such files go, made when the first one is written.
    """

    path: Path | None
    content: str | bytes
    target: str
    options: CompileOptions
    folder: Callable[[], Path]

    @cached_property
    def file(self) -> Path:
        """A file that the command line takes."""
        if self.path is not None:
            return _short(self.path)
        data = self.content.encode() if isinstance(self.content, str) else self.content
        suffix = "mlir" if isinstance(self.content, str) else "tileirbc"
        found = self.folder() / f"{sha256(data).hexdigest()[:12]}.{suffix}"
        found.write_bytes(data)
        return found

    def command(self, verb: str, *words: str) -> str:
        """`tilesat VERB FILE` with the target and the options of the test, and more words."""
        given = ["tilesat", verb, str(self.file), "--target", self.target]
        for name, value in self.options.items():
            option = f"--{name.replace('_', '-')}"
            if name in LISTS:
                given += [word for each in sorted(map(str, cast("Iterable[object]", value))) for word in (option, each)]
            elif value is True:
                given.append(option)
            elif value is not None and value is not False:
                given += [option, str(value)]
        return shlex.join([*given, *words])


def read(given: object, near: Path) -> tuple[Path | None, str | bytes]:
    """The file and the content of what a test gives: a path, from the test's folder or from here; text; bytecode.

    Raises ExpectationError where there is no such file.
    """
    if isinstance(given, bytes):
        return None, given
    if isinstance(given, str) and ("{" in given or "\n" in given):
        return None, given
    if not isinstance(given, str | Path):
        raise ExpectationError(f"tile.compile: expected a path, text, bytecode or a cuTile kernel, got {given!r}")
    for folder in (near, Path.cwd()):
        path = folder / given
        if path.is_file():
            return path, path.read_bytes()
    raise ExpectationError(f"tile.compile: there is no file {given} in {near} nor in {Path.cwd()}")


def _short(path: Path) -> Path:
    """From here where it lies below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
