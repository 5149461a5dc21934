"""Concurrent launches on the same multiprocessors: the CTAs of several kernels side by side on one SM.

They share global memory and the columns of the SMs' tensor memory. Each runs for a few basic blocks, then another one
does; the seed of a skewed schedule determines which one and for how long.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from ptxsim.arguments import Argument
from ptxsim.errors import DeadlockError, LaunchError
from ptxsim.findings import STOP, Findings
from ptxsim.launch import MAX_BLOCKS, Extent, Module, Options, Prepared, reported, started
from ptxsim.memory import GlobalMemory
from ptxsim.multiprocessor import Multiprocessors, check_demands
from ptxsim.report import Report
from ptxsim.schedule import Scheduler, State
from ptxsim.skew import TOGETHER, scheduler

# Basic blocks that a launch runs before the next one has its turn: in step one, otherwise up to this many.
_LONGEST_TURN = 64
# Maximum size in bytes of a launch's parameters. Source: PTX ISA, "Kernel Function Parameters": 32,764, rounded up.
_PARAMETERS = 33 << 10


@dataclass(frozen=True, slots=True)
class Beside:
    """One of the launches. on_one_sm: its CTAs on each SM; the others as in the function `launch`."""

    ptx: str
    grid: Extent
    block: Extent
    args: Sequence[Argument]
    cluster: Extent = (1, 1, 1)
    dynamic_smem: int = 0
    entry: str | None = None
    on_one_sm: int = 1


@dataclass(slots=True)
class _Running:
    prepared: Prepared
    scheduler: Scheduler
    findings: Findings
    ptx: str
    live: int
    state: State = State.RUNNING


def launch_beside(
    launches: Sequence[Beside],
    memory: GlobalMemory,
    hazards: bool | str = False,
    max_blocks: int = MAX_BLOCKS,
    schedule: str = TOGETHER,
) -> list[Report]:
    """Run several launches concurrently: CTA i of each on SM i, or on i // on_one_sm if that many share one.

    All CTAs of all grids are resident at once. hazards, max_blocks and schedule are those of the function `launch`;
    races between launches are not found. Returns the reports in the order of the launches. Raises SimulatorError:
    LaunchError if the CTAs do not fit on an SM together, DeadlockError if no launch can make progress.
    """
    sms = Multiprocessors()
    with ExitStack() as stack:
        stack.enter_context(np.errstate(all="ignore"))
        running: list[_Running] = []
        modules = [Module(one.ptx, memory) for one in launches]
        memory.reserve(_PARAMETERS * len(launches))  # decoded code refers to the arena, which must not move
        arena = memory.arena
        for one, module in zip(launches, modules, strict=True):
            stack.callback(module.unload)
            options = Options(one.dynamic_smem, bool(hazards), on_one_sm=one.on_one_sm, sms=sms)
            if one.on_one_sm < 1:
                raise LaunchError(f"on_one_sm {one.on_one_sm} is below 1")
            prepared = stack.enter_context(
                module.prepared(one.grid, one.block, one.args, one.cluster, one.entry, options)
            )
            running.append(_begin(prepared, one.ptx, hazards, schedule, max_blocks))
        if memory.arena is not arena:
            raise LaunchError("concurrent launches cannot use malloc; launch that kernel by itself")
        check_demands([each.prepared.demand for each in running])
        _take_turns(running, sms, _turns(schedule))
        return [_end(each) for each in running]


def _begin(prepared: Prepared, ptx: str, hazards: bool | str, schedule: str, max_blocks: int) -> _Running:
    findings = Findings(hazards if isinstance(hazards, str) else STOP)
    prepared.machine.findings = findings
    chosen = scheduler(schedule, prepared.machine, prepared.code, prepared.binding.transfers, max_blocks, None)
    live = next(started(prepared, chosen))
    chosen.begin()
    return _Running(prepared, chosen, findings, ptx, live)


def _turns(schedule: str) -> np.random.Generator | None:
    """The random generator for the lengths of turns, None in step."""
    return None if schedule == TOGETHER else np.random.default_rng(int(schedule.split(":")[1]))


def _take_turns(running: list[_Running], sms: Multiprocessors, lengths: np.random.Generator | None) -> None:
    """Run all to completion. Raises DeadlockError if none can make progress, even after the others have tried."""
    left: list[_Running] = list(running)
    before = -1
    while left:
        order: list[int] = [*range(len(left))] if lengths is None else lengths.permutation(len(left)).tolist()
        for one in [left[number] for number in order]:
            most = 1 if lengths is None else int(lengths.integers(1, _LONGEST_TURN))
            with one.findings.attached(one.ptx):
                one.state = one.scheduler.advance(most)
        is_stuck = all(one.state is State.STUCK for one in left)
        if is_stuck and sms.changes == before:
            with left[0].findings.attached(left[0].ptx):
                raise _deadlock(left)
        before = sms.changes if is_stuck else -1
        left = [one for one in left if one.state is not State.ENDED]


def _deadlock(left: list[_Running]) -> DeadlockError:
    """The error of the first launch, followed by what the others wait for."""
    errors = [one.scheduler.deadlock() for one in left]
    names = [one.prepared.machine.residents.name for one in left]
    message = "; ".join(f"`{name}`: {error.message}" for name, error in zip(names, errors, strict=True))
    return DeadlockError(message, errors[0].line, errors[0].text)


def _end(one: _Running) -> Report:
    with one.findings.attached(one.ptx):
        one.prepared.binding.transfers.end()
    report = reported(one.prepared, one.scheduler, one.live)
    report.hazards = one.findings.hazards(one.ptx)
    return report
