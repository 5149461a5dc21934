"""Many random programs: in this process, in several, or on Dask; a log keeps verdicts, and is continued."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tilesat.fuzz.judge import KINDS, MIX, OK, REFUSED, WRONG, Judge, Verdict, of_seed

AHEAD = 4
"""Programs that wait for each process, so that none is idle."""
RENEWED = 200
"""Programs after which a process is renewed: what Python and the engine keep does not grow without end."""

Judged = Callable[[int, Sequence[str]], list[Verdict]]


@dataclass(frozen=True)
class Sweep:
    """What is run: seeds from `first` on, `count` of them or until `seconds` have passed; kinds: generators in turn.

    jobs: processes, 0 for this one; scheduler: of a Dask cluster, in place of them.
    """

    targets: tuple[str, ...]
    judge: Judge
    first: int = 0
    count: int | None = 100
    seconds: float | None = None
    kinds: tuple[str, ...] = MIX
    jobs: int = 0
    scheduler: str = ""

    def seeds(self) -> Iterator[int]:
        """Seeds while there is time."""
        begun, seed = time.monotonic(), self.first
        while self.count is None or seed < self.first + self.count:
            if self.seconds is not None and time.monotonic() - begun >= self.seconds:
                return
            yield seed
            seed += 1

    def run(self, log: Log) -> Iterator[Verdict]:
        """Verdicts of what the log does not have as right or refused, as they come; the log keeps them."""
        missing = ((seed, targets) for seed in self.seeds() if (targets := self.missing(seed, log)))
        for verdicts in self._judged(missing):
            for each in verdicts:
                log.add(each)
                yield each

    def missing(self, seed: int, log: Log) -> list[str]:
        """The targets for which a program is to be judged: what was wrong is judged again."""
        name = f"{self.kinds[seed % len(self.kinds)]}-{seed}"
        return [target for target in self.targets if log.verdicts.get((target, name), WRONG) == WRONG]

    def _judged(self, tasks: Iterable[tuple[int, Sequence[str]]]) -> Iterator[list[Verdict]]:
        judged = partial(judge_seed, self.judge, self.kinds)
        if self.scheduler:
            from tilesat.lab.parallel import submitted

            yield from submitted(judged, tasks, self.scheduler)
        elif self.jobs:
            yield from in_processes(judged, tasks, self.jobs, self.kinds)
        else:
            for seed, targets in tasks:
                yield judged(seed, targets)


def judge_seed(judge: Judge, kinds: Sequence[str], seed: int, targets: Sequence[str]) -> list[Verdict]:
    """The verdicts of a seed's program: one task of a process."""
    return list(judge.judge(of_seed(seed, kinds), targets))


def in_processes(
    judged: Judged, tasks: Iterable[tuple[int, Sequence[str]]], jobs: int, kinds: Sequence[str]
) -> Iterator[list[Verdict]]:
    """Verdicts by several processes. One that dies is wrong: those in flight with it are judged again, alone."""
    rest = iter(tasks)
    while True:
        flying: dict[Future[list[Verdict]], tuple[int, Sequence[str]]] = {}
        with _pool(jobs) as pool:
            try:
                for task in rest:
                    flying[pool.submit(judged, *task)] = task
                    while len(flying) >= AHEAD * jobs:
                        yield from _finished(flying)
                while flying:
                    yield from _finished(flying)
                return
            except BrokenProcessPool:
                pass
        for task in list(flying.values()):
            yield _alone(judged, task, kinds)


def _finished(flying: dict[Future[list[Verdict]], tuple[int, Sequence[str]]]) -> Iterator[list[Verdict]]:
    """What is done first. Raises BrokenProcessPool where a process died; its tasks stay."""
    for future in wait(flying, return_when=FIRST_COMPLETED).done:
        found = future.result()
        del flying[future]
        yield found


def _alone(judged: Judged, task: tuple[int, Sequence[str]], kinds: Sequence[str]) -> list[Verdict]:
    seed, targets = task
    with _pool(1) as pool:
        try:
            return pool.submit(judged, *task).result()
        except BrokenProcessPool:
            name = f"{kinds[seed % len(kinds)]}-{seed}"
            return [Verdict(name, target, WRONG, "the process died") for target in targets]


@contextmanager
def _pool(jobs: int) -> Generator[ProcessPoolExecutor]:
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=RENEWED)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


class Log:
    """Verdicts by target and program, kept in a file of JSON lines where there is one."""

    def __init__(self, path: Path | None):
        self.path = path
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        found = [json.loads(line) for line in lines]
        self.verdicts: dict[tuple[str, str], str] = {(each["target"], each["program"]): each["found"] for each in found}

    def add(self, verdict: Verdict) -> None:
        """Keep a verdict."""
        self.verdicts[verdict.target, verdict.program] = verdict.found
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(asdict(verdict)) + "\n")

    def wrong(self) -> int:
        """Programs that are wrong, counted for each target."""
        return sum(found == WRONG for found in self.verdicts.values())

    def summary(self, targets: Sequence[str]) -> Iterator[str]:
        """A line a target."""
        counts = Counter((target, found) for (target, _), found in self.verdicts.items())
        for target in targets:
            of = {found: counts[target, found] for found in (OK, REFUSED, WRONG)}
            yield f"{target}: {sum(of.values())} programs, " + ", ".join(f"{n} {found}" for found, n in of.items())


def unknown_kind(kinds: Sequence[str]) -> str:
    """The message for a kind that does not exist; empty if all do."""
    wrong = [kind for kind in kinds if kind not in KINDS]
    return f"unknown kind {wrong[0]!r}: choose from {', '.join(KINDS)}" if wrong else ""
