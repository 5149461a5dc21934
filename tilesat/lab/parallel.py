"""Sweeps on dask.distributed: one run a task; of what a worker that dies takes with it only what ended it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from types import ModuleType
from typing import Any, Protocol, TypeVar

from ir.core import TileError
from tilesat.lab.bench import Bench, Run
from tilesat.lab.record import Record

SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,  # a run that ends its worker would end the next one too
    "distributed.scheduler.worker-saturation": 1.0,  # no run waits on a worker that may die
    "distributed.worker.memory.terminate": 0.95,
    "distributed.logging.distributed": "critical",
}
PATIENCE = "10s"
"""How long a cluster's address may take to answer."""
AHEAD = 4
"""Tasks that wait for each worker, so that none is idle."""
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Future(Protocol[T_co]):
    """A task of Dask (`distributed.Future`)."""

    @property
    def status(self) -> str:
        """Such as pending, finished or error."""
        ...

    def result(self) -> T_co:
        """What it gives. Raises what it raised."""
        ...

    def exception(self) -> BaseException | None:
        """What it raised."""
        ...


_BENCHES: list[Bench] = []
"""This worker's bench, once it has run anything."""


def on_cluster(runs: Sequence[Run], workers: int, scheduler: str | None = None) -> Iterator[Record]:
    """Records as they come. Raises TileError where the extra lab is not installed or no cluster answers."""
    if find_spec("distributed") is None:
        raise TileError("dask.distributed is not installed", hint="pip install 'tilesat[lab]'; workers=0 needs none")
    dask, distributed = import_module("dask"), import_module("distributed")
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(SETTINGS))
        client = stack.enter_context(_client(distributed, workers, scheduler, stack))
        tasks = {client.submit(run_here, run, key=f"run-{run.key}", retries=0): run for run in runs}
        died: list[Future[Record]] = []
        for future in distributed.as_completed(tasks):
            if future.status == "finished":
                yield future.result()
            else:
                died.append(future)
        for future in died:  # a worker takes results with it that it had not handed over: one by one
            again = future if len(died) == 1 else client.submit(run_here, tasks[future], pure=False, retries=0)
            distributed.wait(again)
            yield _record(again, tasks[future])


def submitted(task: Callable[..., T], every: Iterable[tuple[object, ...]], scheduler: str) -> Iterator[T]:
    """What a function gives for many arguments, as it comes. Raises TileError as `on_cluster`, and what a task raises.

    No more than `AHEAD` tasks a worker wait, so that arguments may come without end.
    """
    if find_spec("distributed") is None:
        raise TileError("dask.distributed is not installed", hint="pip install 'tilesat[lab]'; --jobs needs none")
    dask, distributed = import_module("dask"), import_module("distributed")
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(SETTINGS))
        client = stack.enter_context(_client(distributed, 0, scheduler, stack))
        done = distributed.as_completed()
        rest = iter(every)
        for arguments in islice(rest, AHEAD * max(1, len(client.scheduler_info()["workers"]))):
            done.add(client.submit(task, *arguments, pure=False, retries=0))
        for future in done:
            for arguments in islice(rest, 1):
                done.add(client.submit(task, *arguments, pure=False, retries=0))
            yield future.result()


def _client(distributed: ModuleType, workers: int, scheduler: str | None, stack: ExitStack) -> Any:
    if scheduler is not None:
        try:
            return distributed.Client(scheduler, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            raise TileError(f"no Dask scheduler answers at {scheduler}: {error}") from error
    cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    return distributed.Client(stack.enter_context(cluster))


def _record(future: Future[Record], run: Run) -> Record:
    """What a task gave, or the row of one that died."""
    if future.status == "finished":
        return future.result()
    error = future.exception()
    return run.failed(f"the worker died: {type(error).__name__}: {error}")


def run_here(run: Run) -> Record:
    """One run on the bench of this worker."""
    if not _BENCHES:
        _BENCHES.append(Bench())
    return _BENCHES[0].run(run)
