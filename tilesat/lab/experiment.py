"""Kernels x targets x configurations, one run after the other or in parallel, to a table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from ir.core import TileError
from ir.narrowing import is_row
from tilesat import given
from tilesat.lab.bench import Bench, Case, Run
from tilesat.lab.configuration import Configuration
from tilesat.lab.record import Record
from tilesat.lab.table import Table

Runner = Callable[[Sequence[Run]], Iterator[Record]]


def experiment(
    kernels: object,
    targets: str | Sequence[str] = ("sm_80",),
    configurations: Iterable[Configuration | Mapping[str, object]] = (Configuration(),),
    *,
    assemble: bool = True,
    check: bool = False,
    workers: int = 0,
    scheduler: str | None = None,
    records: str | Path | None = None,
    retry: bool = False,
    progress: bool = False,
) -> Table:
    """Compile every kernel for every target in every configuration, and say what came of each.

    kernels: one or several sources or `Case`s; configurations: `Configuration`s or plain data for them; assemble: with
    registers, spills and loops by ptxas, where it is installed; check: on the simulator against the interpreter.
    workers: processes of a local Dask cluster, 0 for this process; scheduler: the address of a Dask cluster; both need
    the extra lab. records: a file of JSON lines to which each run is added as it ends, and whose runs are not run again
    (those that died are, with `retry`); progress: a bar on standard error.
    A run that dies is a row with `error`. Raises TileError for arguments that mean nothing, before anything runs.
    """
    runs = all_runs(kernels, targets, configurations, assemble=assemble, check=check)
    return sweep(runs, workers=workers, scheduler=scheduler, records=records, retry=retry, progress=progress)


def all_runs(
    kernels: object,
    targets: str | Sequence[str],
    configurations: Iterable[Configuration | Mapping[str, object]],
    *,
    assemble: bool = True,
    check: bool = False,
) -> list[Run]:
    """The product, kernels slowest. Raises TileError for what there is not."""
    from lowering.targets import target

    cases = [Case.of(each).loaded() for each in (kernels if is_row(kernels) else (kernels,))]
    tiers = [target(name).name for name in given.targets((targets,) if isinstance(targets, str) else targets)]
    found = [each if isinstance(each, Configuration) else Configuration.of(each) for each in configurations]
    for each in found:
        each.options()
    return [Run(case, tier, each, assemble, check) for case in cases for tier in tiers for each in found]


def sweep(
    runs: Sequence[Run],
    *,
    workers: int = 0,
    scheduler: str | None = None,
    records: str | Path | None = None,
    retry: bool = False,
    progress: bool = False,
) -> Table:
    """Run what has no record yet, in any order; the table is in the order of `runs`."""
    known = _known(records, retry)
    waiting = list({run.key: run for run in runs if run.key not in known}.values())
    runner = _runner(workers, scheduler)
    bar = Bar(len(runs), len(runs) - len(waiting), sys.stderr if progress else None)
    with _Lines(records) as lines:
        for record in runner(waiting) if waiting else ():
            known[record.key] = record
            lines.write(record)
            bar.step(record)
    bar.end()
    return Table(known[run.key] for run in runs)


def _known(records: str | Path | None, retry: bool) -> dict[str, Record]:
    """What an earlier start has found."""
    if records is None or not Path(records).exists():
        return {}
    return {each.key: each for each in Table.read(records) if not (retry and each.error)}


def _runner(workers: int, scheduler: str | None) -> Runner:
    if not workers and scheduler is None:
        return serial
    from tilesat.lab.parallel import on_cluster

    return lambda runs: on_cluster(runs, workers, scheduler)


def serial(runs: Sequence[Run]) -> Iterator[Record]:
    """In this process."""
    bench = Bench()
    return map(bench.run, runs)


class _Lines:
    """A file of JSON lines that grows by one at a time."""

    def __init__(self, path: str | Path | None):
        self.path = None if path is None else Path(path)
        self.file: TextIO | None = None

    def __enter__(self) -> _Lines:
        if self.path is not None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                whole = not self.path.exists() or self.path.read_bytes()[-1:] in (b"", b"\n")
                self.file = self.path.open("a")
                self.file.write("" if whole else "\n")  # what an earlier start left unfinished stays a line of its own
            except OSError as error:
                raise TileError(f"cannot write records: {error}") from error
        return self

    def write(self, record: Record) -> None:
        """Add one, whole, at once."""
        if self.file is not None:
            self.file.write(record.to_json() + "\n")
            self.file.flush()

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()


class Bar:
    """How far a sweep has come, on one line."""

    WIDTH = 30

    def __init__(self, total: int, done: int, out: TextIO | None):
        self.total, self.done, self.out = total, done, out
        self.known, self.failed = done, 0

    def step(self, record: Record) -> None:
        """One more."""
        self.done += 1
        self.failed += bool(record.error)
        if self.out is not None:
            filled = self.WIDTH * self.done // max(1, self.total)
            bar = "#" * filled + "." * (self.WIDTH - filled)
            failed = f", {self.failed} failed" if self.failed else ""
            known = f", {self.known} known before" if self.known else ""
            print(f"\r[{bar}] {self.done}/{self.total}{known}{failed}", end="", file=self.out, flush=True)

    def end(self) -> None:
        """The line is finished."""
        if self.out is not None and self.done > self.known:
            print(file=self.out)
