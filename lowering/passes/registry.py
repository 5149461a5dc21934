"""The record of a pass: its name, the levels before and after it, its options and statistics, and its function.

`lowering.passes.table` declares all of them; the command line, the pipeline syntax, the docs and the tests derive from
that table. A function is imported when its pass first runs, and its docstring is what `tilesat passes` prints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from importlib import import_module
from typing import Any, cast

from ir.records import dataclass

Function = Callable[..., Any]
"""(program, context, **options) -> program; for a pass with inner passes (program, context, steps, **options)."""

KINDS: Mapping[str, str] = {
    "flag": "true or false",
    "count": "a whole number",
    "number": "a number",
    "name": "a name",
    "names": "comma-separated names",
    "function": "a Python function, available from Python only",
}
"""Kinds of options and what they expect."""


@dataclass(frozen=True)
class Option:
    """One option of a pass: of a kind in KINDS, with its default, and its legal values if they are few, where NAME:N is
    any number from 1. `check` names the function (MODULE:FUNCTION) that raises TileError for an invalid value.
    """

    name: str
    kind: str
    default: Any
    doc: str
    among: tuple[str, ...] = ()
    check: str = ""

    def read(self, text: str) -> Any:
        """The value of a text. Raises ValueError, with what was expected."""
        if self.kind == "flag" and text in ("true", "false"):
            return text == "true"
        if self.kind == "count" and text.isdecimal():
            return int(text)
        if self.kind == "number":
            return float(text)
        if self.kind == "names":
            return tuple(part for part in text.split(",") if part)
        if self.kind == "name" and (not self.among or re.sub(r":[1-9]\d*$", ":N", text) in self.among):
            return text
        raise ValueError(f"expected one of {', '.join(self.among)}" if self.among else f"expected {KINDS[self.kind]}")

    def text(self, value: Any) -> str:
        """The value as `read` takes it."""
        if isinstance(value, bool):
            return str(value).lower()
        return ",".join(cast("tuple[str, ...]", value)) if self.kind == "names" else str(value)

    def refuse(self, value: Any) -> None:
        """Raise TileError for a value that `check` rejects."""
        if self.check:
            loaded(self.check)(value)


@dataclass(frozen=True)
class Statistic:
    """One number that a pass counts."""

    name: str
    doc: str


@dataclass(frozen=True)
class Pass:
    """A transformation of the pipeline. `home` is MODULE:FUNCTION; `shared`: its result serves all targets of a
    compilation; `verified`: its result is always verified, not only with --verify-each; `around`: its name is followed
    by an inner pipeline in parentheses; `again`: it is idempotent, so text of the level that it takes and gives always
    goes through it.
    """

    name: str
    takes: str
    gives: str
    home: str
    options: tuple[Option, ...] = ()
    statistics: tuple[Statistic, ...] = ()
    shared: bool = False
    verified: bool = False
    around: bool = False
    again: bool = False

    @property
    def function(self) -> Function:
        """The function that implements it."""
        return loaded(self.home)

    @property
    def summary(self) -> str:
        """The docstring of its function, on one line."""
        return " ".join((self.function.__doc__ or "").split())

    def option(self, name: str) -> Option | None:
        """Its option of this name."""
        return next((each for each in self.options if each.name == name), None)


@dataclass(frozen=True)
class Step:
    """A pass in a pipeline, with the options that were given and the pipeline inside it; `column` in the text."""

    work: Pass
    given: tuple[tuple[str, Any], ...] = ()
    inner: tuple[Step, ...] = ()
    column: int = field(default=0, compare=False)

    @property
    def options(self) -> dict[str, Any]:
        """All options, with the defaults of those that were not given."""
        return {each.name: each.default for each in self.work.options} | dict(self.given)

    def given_also(self, **values: Any) -> Step:
        """The step with additional options, without those at their default."""
        merged = dict(self.given) | values
        defaults = {each.name: each.default for each in self.work.options}
        kept = tuple((name, value) for name, value in merged.items() if value != defaults[name])
        return Step(self.work, kept, self.inner, self.column)

    def run(self, program: Any, context: object) -> Any:
        """The result of the pass on a program."""
        if self.work.around:
            return self.work.function(program, context, self.inner, **self.options)
        return self.work.function(program, context, **self.options)


def loaded(home: str) -> Function:
    """The function that MODULE:FUNCTION names."""
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)
