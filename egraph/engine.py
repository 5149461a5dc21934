"""The only module that uses egglog: an EGraph whose rules are loaded once a process, and that is filled, run and frozen
per program.

Built on `egglog.bindings` 13.2.0 (pinned). Commands are parsed one by one (parsing a long string is quadratic), rows
enter through files and one rule an op (2.4 to 4 us a node), a run is one iteration at a time (egglog has no limits),
Push and Pop keep the compiled rules between programs. A Rust panic arrives as PanicException, a BaseException.

An EGraph belongs to the thread that created it (it panics if used or dropped in another), and does not survive a fork:
a child never touches an inherited one, not even to drop it.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import tempfile
import time
import weakref
from collections.abc import Container, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from egraph import bindings
from egraph.frozen import SORTS, Frozen
from egraph.rulefile import Command
from egraph.terms import by_name
from ir.core import Location, TileError
from ir.records import dataclass

Row = tuple[int, ...]
Facts = Mapping[str, Sequence[Row]]

_POSITION = re.compile(r"In (\d+):(\d+)-\S+ of (.*?): ?", re.S)

_ARITY = re.compile(r"\((\S+) .*Arity mismatch")
_MEMORY = "/dev/shm"
"""Where Linux keeps files in memory: rows pass through some 30 files a program, each 0.05 ms there and, on a busy disk,
1.5 ms (measured: opening one for writing)."""

WATCHING = "fired."
"""What the names of tables start with in which observers note what fires (`egraph.firings`)."""

_REPORT_TIME_FACTOR = 1000
"""The binding hands milliseconds over as microseconds (measured on 13.2.0: wall 0.282 s, report 0.282 ms)."""

_TICK = 0.001
"""Seconds that egglog's clock tells apart: it counts whole milliseconds of a rule. In a shorter iteration all are 0,
and reading them takes 3 % of the saturation of a small kernel."""


@dataclass
class _Process:
    """The egglog state of this process: its engines in all threads, by folder; whether it inherited the extension."""

    alive: dict[str, weakref.ref[Engine]]
    forking: list[Engine]
    module: ModuleType | None = None
    inherited: bool = False

    def extension(self) -> ModuleType:
        """The bindings; in a child of a process that used them a copy of its own."""
        if self.module is None:
            self.module = bindings.load_again() if self.inherited else bindings.load()
        return self.module

    def before_fork(self) -> None:
        """Keep every thread's engines: the child would drop those of the threads that it does not have."""
        self.forking += [engine for each in list(self.alive.values()) if (engine := each()) is not None]

    def in_parent(self) -> None:
        self.forking.clear()

    def in_child(self) -> None:
        """Nothing of egglog that was made before the fork is used or dropped."""
        for engine in self.forking:
            engine.abandon()
        self.forking.clear()
        self.alive.clear()
        self.inherited = self.inherited or self.module is not None
        self.module = None


_PROCESS = _Process({}, [])
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_PROCESS.before_fork, after_in_parent=_PROCESS.in_parent, after_in_child=_PROCESS.in_child
    )


@dataclass(frozen=True)
class Table:
    """Rows of a table as egglog has them: columns, then the output, classes as its own numbers."""

    inputs: tuple[str, ...]
    output: str
    rows: list[tuple[Row, int]]


class RuleError(TileError):
    """A rule that egglog rejects, or rules that contradict each other on a program."""


@dataclass(frozen=True)
class IterationReport:
    """One iteration of one ruleset: matches and seconds a rule (0 where it has none); grown: rows by rule, where each
    ran by itself.
    """

    ruleset: str
    matches: Mapping[str, int]
    rule_seconds: Mapping[str, float]
    updated: bool
    seconds: float
    grown: Mapping[str, int] | None = None


class Engine:
    """An egglog EGraph with `commands` loaded. `relations`: those read when it is frozen, None:

    all. Raises RuleError, located, for a command that egglog rejects and for two rules with the same name.
    """

    def __init__(self, commands: Iterable[Command], relations: Container[str] | None = None):
        memory = _MEMORY if os.access(_MEMORY, os.W_OK) else None
        self._facts = tempfile.mkdtemp(prefix="tilesat-facts-", dir=memory)
        self._remove_facts = weakref.finalize(self, _remove, self._facts)
        self._egraph = _PROCESS.extension().EGraph(fact_directory=self._facts)
        _PROCESS.alive[self._facts] = weakref.ref(self)
        self._parsed: dict[str, list[object]] = {}
        self._filled = False
        self._empty = 0
        self._relations = relations
        self.rows = 0
        self.broken = False
        self._declare(list(commands))

    def _declare(self, commands: Sequence[Command]) -> None:
        """Load all commands at once, a sixth faster than one by one; after an error one by one, to tell which it is."""
        _refuse_doubles(commands)
        try:
            self._load(commands)
            return
        except BaseException as error:
            if not _from_egglog(error):
                raise
        self._egraph = _PROCESS.extension().EGraph(fact_directory=self._facts)
        for command in commands:
            try:
                self._load([command])
            except BaseException as error:
                if not _from_egglog(error):
                    raise
                raise self._error(error, command) from error

    def _load(self, commands: Iterable[Command]) -> None:
        parse = self._egraph.parse_program
        self._egraph.run_program(*[part for each in commands for part in parse(each.located_text, each.file)])

    def _error(self, error: BaseException, command: Command | None = None) -> RuleError:
        """An error of egglog as a located RuleError; the state behind it is not to be trusted any more."""
        self.broken = True
        text = str(error)
        message = " ".join(_POSITION.sub("", text).split())
        if command is None:
            hint = "two rules claim different types, values or facts for one class; bisect with without=..."
            return RuleError(f"the rules contradict each other: {message}", hint=hint)
        here = [
            each for each in _POSITION.finditer(text) if each[3] == Path(command.file).name
        ]  # others are declared there
        found = here[-1] if here else None
        line, column = (int(found[1]), int(found[2])) if found else (command.line, command.column)
        what = f"{command.head} '{command.name}'" if command.name else f"'{command.head}'"
        hint = _columns(message) or "see egraph/rules/README.md for sorts, columns and rulesets"
        return RuleError(f"{what}: {message}", Location(command.file, line, column), hint)

    def _run(self, text: str) -> list[Any]:
        parsed = self._parsed.get(text)
        if parsed is None:
            parsed = self._parsed[text] = self._egraph.parse_program(text)
        try:
            return self._egraph.run_program(*parsed)
        except BaseException as error:
            if not _from_egglog(error):
                raise
            raise self._error(error) from error

    @contextmanager
    def program(self) -> Generator[Engine]:
        """A scope in which rows can be loaded and rules run. The next one begins without them; the rules stay."""
        whole, self.broken = not self.broken, True  # until the scope is entered: Ctrl-C may come in between
        if self._filled:  # not at the end of the scope: most processes compile one program
            self._run("(pop)")
        else:
            self._empty = self.size()
        self._run("(push)")
        self._filled, self.broken, self.rows = True, not whole, self._empty
        yield self

    def close(self) -> None:
        """Remove the files that rows passed through; the engine is of no use after it."""
        self._remove_facts()

    def abandon(self) -> None:
        """In a child process: leave the e-graph, and its files, to the parent."""
        self.broken = True
        self._remove_facts.detach()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._egraph))  # never dropped

    def load(self, facts: Facts) -> None:
        """Insert rows of i64 into relations."""
        for relation, rows in facts.items():
            if rows:
                text = "\n".join(["\t".join(map(str, row)) for row in rows])
                with open(f"{self._facts}/{relation}.tsv", "wb", buffering=0) as file:
                    file.write(f"{text}\n".encode("ascii"))
                self._run(f'(input {relation} "{relation}.tsv")')

    def run(self, ruleset: str) -> IterationReport:
        """One iteration of a ruleset."""
        start = time.perf_counter()
        report = self._run(f"(run {ruleset} 1)")[0].report
        seconds: dict[str, float] = {}
        if time.perf_counter() - start >= _TICK:
            spent = report.search_and_apply_time_per_rule.items()
            seconds = {rule: each.total_seconds() * _REPORT_TIME_FACTOR for rule, each in spent}
        matches = {rule: n for rule, n in report.num_matches_per_rule.items() if n}
        return IterationReport(ruleset, matches, seconds, report.updated, time.perf_counter() - start)

    def growth(self) -> int:
        """Rows that all tables have won since this was last asked; to ask takes about half as long as an iteration."""
        before, self.rows = self.rows, self.size()
        return self.rows - before

    def size(self) -> int:
        """Rows of all tables, but for what observers noted."""
        return sum(count for name, count in self._run("(print-size)")[0].sizes if not name.startswith(WATCHING))

    def relations(self, prefixes: tuple[str, ...]) -> dict[str, list[Row]]:
        """Rows of the relations whose names start with one of `prefixes`."""
        return Frozen.rows_of(self._egraph, prefixes)

    def tables(self, names: Container[str], *, subsumed: bool = True) -> dict[str, Table]:
        """Rows of tables, of those whose columns are classes and integers; 0 as output of relations. `subsumed`: those
        too that rules match no more.
        """
        integer = self._egraph.value_to_i64
        found: dict[str, Table] = {}
        for name, function in self._egraph.freeze().functions.items():
            if name in names:
                relation, rows = function.output_sort not in (*SORTS, "i64"), list[tuple[Row, int]]()
                for row in function.rows:
                    if subsumed or not row.subsumed:
                        inputs: list[int] = [integer(each) for each in row.inputs]
                        rows.append((tuple(inputs), 0 if relation else integer(row.output)))
                found[name] = Table(tuple(function.input_sorts), function.output_sort, rows)
        return found

    def holds(self, facts: Iterable[str], ruleset: str, goal: str) -> bool:
        """Do these commands and one iteration of a ruleset, on an e-graph without rows, make the fact `goal` true?"""
        with self.program():
            try:
                for text in (*facts, f"(run {ruleset} 1)", f"(check {goal})"):
                    self._egraph.run_program(*self._egraph.parse_program(text))
            except BaseException as error:
                if not _from_egglog(error):
                    raise
                return False
        return True

    def freeze(self) -> Frozen:
        """An immutable copy of the e-graph on dense class ids."""
        return Frozen.of(self._egraph, self._relations)


def _columns(message: str) -> str:
    """What an operation's term consists of, where egglog says that it has too many parts or too few."""
    found = _ARITY.match(message)
    term = by_name().get(found[1]) if found else None
    return f"write ({' '.join((term.name, *term.operands, *term.integers))})" if term is not None else ""


def _remove(facts: str) -> None:
    """An engine has ended: its folder goes with it."""
    _PROCESS.alive.pop(facts, None)
    shutil.rmtree(facts, ignore_errors=True)


def _refuse_doubles(commands: Iterable[Command]) -> None:
    first: dict[str, Command] = {}
    for command in commands:
        other = first.setdefault(command.name, command)
        if command.name and other is not command:
            message = f"rule '{command.name}' is already defined at {other.file}:{other.line}"
            raise RuleError(message, Location(command.file, command.line, command.column), "pass it another :name")


def _from_egglog(error: BaseException) -> bool:
    """True for egglog's own errors and for a Rust panic; an interrupt or a bug of ours passes through."""
    return type(error).__name__ in ("EggSmolError", "PanicException")  # of either copy of the extension
