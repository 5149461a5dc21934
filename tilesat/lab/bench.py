"""One run after the other in one process: what configurations share is made once.

Shared are the module that was read, results of passes that serve all extractions (an e-graph saturated with the same
rules and limits), what ptxas and the simulator said of the same PTX, and what the reference interpreter computed.
"""

from __future__ import annotations

import hashlib
import json
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from extract.own import name_of
from ir.core import TileError
from ir.dialects.cuda_tile import Entry, Module
from lowering.passes.manager import Shared
from tilesat import cutile_kernels, execution
from tilesat.compiler import compile_module
from tilesat.failures import describe, user_errors
from tilesat.grid import as_grid
from tilesat.kernel import Kernel
from tilesat.lab.configuration import Configuration
from tilesat.lab.measured import assembled, extraction, saturation
from tilesat.lab.record import Checked, Code, Record
from tilesat.source import find_entry, read
from tilesat.spec import Argument, parse

Found = TypeVar("Found")
Key = TypeVar("Key")
MOST_RESULTS, MOST_TEXTS = 48, 512
"""Results of shared passes that a kernel keeps, and texts of PTX that what was said of is remembered: some 200 MB."""
INSTRUCTIONS = 20_000_000
"""Instructions of warps after which a checked run ends."""


@dataclass(frozen=True)
class Case:
    """A kernel of an experiment: Tile IR as a path, text or bytecode, or a cuTile kernel and its `signature`.

    grid and args, SPECs as `tilesat run` takes them, are needed where results are checked; name: what tables call it,
    by default that of the file or of the entry.
    """

    source: object
    entry: str | None = None
    signature: object = None
    grid: int | Sequence[int] | None = None
    args: tuple[str, ...] = ()
    tolerance: float | None = None
    name: str = ""

    @staticmethod
    def of(given: object) -> Case:
        """Any source as a case."""
        return given if isinstance(given, Case) else Case(given)

    @cached_property
    def content(self) -> bytes:
        """Bytecode or text of the module. Raises TileError, OSError."""
        if cutile_kernels.is_kernel(self.source):
            return cutile_kernels.export(self.source, self.signature, "sm_80")
        if isinstance(self.source, bytes):
            return self.source
        text = str(self.source)
        return text.encode() if isinstance(self.source, str) and "\n" in text else Path(text).read_bytes()

    @property
    def called(self) -> str:
        """Its name in tables."""
        if self.name:
            return self.name
        text = str(self.source)
        if isinstance(self.source, str | Path) and "\n" not in text:
            return Path(text).stem + (f"::{self.entry}" if self.entry else "")
        return self.entry or getattr(self.source, "__name__", "") or hashlib.sha256(self.content).hexdigest()[:8]

    @property
    def launch(self) -> str:
        """Its grid and arguments."""
        return f"{self.grid} {self.args} {self.tolerance}"

    def loaded(self) -> Case:
        """The same with its content in it, for another process."""
        return Case(self.content, self.entry, None, self.grid, self.args, self.tolerance, self.called)


@dataclass(frozen=True)
class Run:
    """One row to be: a kernel for a target in a configuration. assemble: by ptxas; check: on the simulator."""

    case: Case
    target: str
    configuration: Configuration
    assemble: bool = True
    check: bool = False

    @cached_property
    def key(self) -> str:
        """The same for the same content, rule files, functions, options: what a second start need not run again."""
        case, configuration = self.case, self.configuration
        files = [
            hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in configuration.rules if Path(path).is_file()
        ]
        own = [_code(each) for each in (configuration.extractor, configuration.costs)]
        plain = [case.entry, case.grid, case.args, case.tolerance, self.target, configuration.given(), files, own]
        flags = [self.assemble, self.check]
        text = json.dumps([hashlib.sha256(case.content).hexdigest(), plain, flags], default=str, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def failed(self, error: str) -> Record:
        """The row of a run that died."""
        configuration = self.configuration
        return Record(
            self.key, self.case.called, self.target, str(configuration), configuration.given(), error.strip() or "died"
        )


def _code(function: str | Callable[..., object] | None) -> str:
    """What a function of the user's is made of."""
    if isinstance(function, str):
        path = function.rpartition(":")[0]
        return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path and Path(path).is_file() else function
    code = getattr(function, "__code__", None)
    return (
        ""
        if function is None
        else f"{name_of(function)} {getattr(code, 'co_code', '')!r} {getattr(code, 'co_consts', '')!r}"
    )


@dataclass
class _Read:
    """A kernel that was read, and what its compilations share, by target."""

    module: Module
    entry: Entry
    shared: dict[str, Shared] = field(default_factory=dict[str, Shared])
    expected: dict[str, list[Argument]] = field(default_factory=dict[str, "list[Argument]"])
    """What the reference interpreter computed, by launch."""


@dataclass
class Bench:
    """Runs, one after the other."""

    kernels: dict[tuple[str, str | None], _Read] = field(default_factory=dict["tuple[str, str | None]", _Read])
    codes: dict[tuple[str, str], Code] = field(default_factory=dict["tuple[str, str]", Code])
    results: dict[tuple[str, str, str], Checked] = field(default_factory=dict["tuple[str, str, str]", Checked])

    def run(self, run: Run) -> Record:
        """A row, in any case: what is wrong with a run stands in it."""
        start = time.perf_counter()
        try:
            return self._run(run, start)
        except user_errors() as error:
            return run.failed(describe(error))
        except Exception:  # noqa: BLE001  a run that dies is one failed row: with its traceback, nothing is hidden
            return run.failed(traceback.format_exc(limit=-4))

    def _run(self, run: Run, start: float) -> Record:
        configuration = run.configuration
        kernel = self.compile(run)
        spent = time.perf_counter() - start
        code, reason = None, "not asked"
        if run.assemble:
            code, reason = self.assembled(kernel)
        return Record(
            run.key,
            run.case.called,
            run.target,
            str(configuration),
            configuration.given(),
            "",
            spent,
            kernel.seconds,
            saturation(kernel),
            extraction(kernel),
            kernel.ptx.count("\n"),
            code,
            reason,
            self.checked(run, kernel) if run.check else None,
        )

    def compile(self, run: Run) -> Kernel:
        """The kernel of a run. Raises TileError and ExtractionError."""
        found = self.read(run.case)
        shared = found.shared.setdefault(run.target, Shared(()))
        if len(shared.results) > MOST_RESULTS:
            shared.results.clear()
        options, seconds = run.configuration.options(), dict[str, float]()
        return compile_module(found.module, found.entry, [run.target], options, seconds, shared=shared)[0]

    def read(self, case: Case) -> _Read:
        """The kernel of a case, read once."""
        key = hashlib.sha256(case.content).hexdigest(), case.entry
        if key not in self.kernels:
            self.kernels[key] = _Read(*find_entry(read(case.content, {}, case.called), case.entry))
        return self.kernels[key]

    def assembled(self, kernel: Kernel) -> tuple[Code | None, str]:
        """What ptxas makes of it, and why there is nothing."""
        from runtime.ptxas import PtxasNotFoundError

        try:
            return _once(self.codes, (kernel.ptx, kernel.target), lambda: assembled(kernel)), ""
        except PtxasNotFoundError as error:
            return None, str(error)

    def checked(self, run: Run, kernel: Kernel) -> Checked:
        """The simulator against the interpreter, with hazards watched. Raises TileError where the case has no grid."""
        case = run.case
        if case.grid is None:
            hint = "Case(source, grid=(2, 2), args=('f16[256,256]=normal:1', ...)); --grid and --arg"
            raise TileError(f"{case.called}: results cannot be checked without a grid and arguments", hint=hint)
        key = kernel.ptx, kernel.target, case.launch
        return _once(self.results, key, lambda: self._checked(case, kernel))

    def _checked(self, case: Case, kernel: Kernel) -> Checked:
        found = self.read(case)
        given = execution.check_arguments(kernel.entry, [parse(text, at).make() for at, text in enumerate(case.args)])
        grid = as_grid(1 if case.grid is None else case.grid)
        expected = found.expected.get(case.launch)
        if expected is None:
            expected = found.expected[case.launch] = [value.copy() for value in given]
            execution.interpret(kernel.module, kernel.entry, grid, expected, output=lambda _: None)
        report = kernel.run(grid, *given, hazards=True, max_instructions=INSTRUCTIONS)
        compared = execution.compare(given, expected, case.tolerance)
        worst = max(compared, key=lambda each: each.error, default=None)
        return Checked(
            all(each.ok for each in compared),
            worst.error if worst else 0.0,
            worst.tolerance if worst else 0.0,
            0 if report is None else report.instructions.total(),
        )


def _once(known: dict[Key, Found], key: Key, make: Callable[[], Found]) -> Found:
    if key not in known:
        if len(known) > MOST_TEXTS:
            known.clear()
        known[key] = make()
    return known[key]
