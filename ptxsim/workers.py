"""Runs the CTAs of a grid in several processes: each takes a range of the clusters, on global memory that they share.

A process runs whole batches of the machine, the same ones as a launch in one process, so that the findings in a batch
are the same; reports and hazards are joined in the order of the grid. Processes are forked after decoding. Atomics are
not atomic between processes, so entries whose CTAs may communicate are rejected.
"""

import os
import pickle
import signal
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO

from ptxsim.errors import LaunchError, SimulatorError
from ptxsim.findings import Findings
from ptxsim.functions import calls
from ptxsim.program import Entry, Instruction
from ptxsim.report import Report, Sectors

# State spaces that no other cluster can see.
_OWN = {"shared", "shared::cta", "shared::cluster", "local", "param", "param::func", "const"}
# Accesses that order CTAs (PTX ISA, "Memory Consistency Model": strong operations).
_STRONG = {"acquire", "release", "acq_rel", "relaxed", "volatile", "mmio"}
_ATOMIC = ("atom", "red", "multimem", "clusterlaunchcontrol")


@dataclass(slots=True)
class Share:
    """The result of a process: its report, its findings, the error that ended it (None: none)."""

    report: Report
    findings: Findings
    error: SimulatorError | None


def check_apart(entry: Entry, is_cooperative: bool) -> None:
    """Raise LaunchError if the CTAs of an entry may communicate, or processes cannot be forked."""
    if not hasattr(os, "fork"):
        raise LaunchError("workers: this system cannot fork processes; leave workers at 1")
    if is_cooperative:
        raise LaunchError("workers: all CTAs of a cooperative launch run at the same time; leave workers at 1")
    if calls(entry, "malloc") or calls(entry, "free"):
        raise LaunchError("workers: the CTAs of this entry share the heap of malloc; leave workers at 1")
    for instruction in entry.instructions:
        if _talks(instruction):
            raise LaunchError(
                "workers: CTAs of this entry may talk to each other here, which several processes cannot follow; leave "
                "workers at 1",
                instruction.line,
                instruction.text,
            )


def _talks(instruction: Instruction) -> bool:
    """Whether other CTAs may observe an instruction."""
    modifiers = set(instruction.modifiers)
    if modifiers & _OWN and "global" not in modifiers:
        return False
    if instruction.base == "cp":
        return "reduce" in modifiers
    return instruction.base in _ATOMIC or (instruction.base in ("ld", "st") and bool(modifiers & _STRONG))


def stretches(clusters: int, resident: int, workers: int) -> list[range]:
    """The clusters of each process, at most `workers`: whole batches of `resident` clusters, as even as possible."""
    batches = -(-clusters // resident)
    count = min(workers, batches)
    ends = [min(batches * number // count * resident, clusters) for number in range(count + 1)]
    return [range(first, end) for first, end in pairwise(ends)]


@dataclass(frozen=True, slots=True)
class Child:
    """A forked process, and the pipe that returns its result."""

    pid: int
    answers: BinaryIO

    def answer(self) -> Share:
        """Its result. Raises the exceptions it raised by mistake."""
        data = self.answers.read()
        if not data:
            raise RuntimeError(f"process {self.pid}, which ran a part of the grid, died without an answer")
        found = pickle.loads(data)
        if isinstance(found, BaseException):
            raise found
        return found

    def end(self) -> None:
        """Wait for its end."""
        self.answers.close()
        os.waitpid(self.pid, 0)


def run_apart(work: Callable[[range], Share], clusters: list[range]) -> list[Share]:
    """Do the work for ranges of clusters in parallel, the first in this process; up to the first with an error."""
    children: list[Child] = []
    shares: list[Share] = []
    try:
        children += (_fork(work, share) for share in clusters[1:])
        shares.append(work(clusters[0]))
        for child in children:
            if shares[-1].error is None:
                shares.append(child.answer())
    finally:
        for child in children[len(shares) - 1 :] if shares else children:
            os.kill(child.pid, signal.SIGKILL)  # its result is no longer needed
        for child in children:
            child.end()
    return shares


def _fork(work: Callable[[range], Share], clusters: range) -> Child:
    """A process that does the work for some clusters."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 on, with threads; a child only computes
        pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid, os.fdopen(reading, "rb"))
    try:
        try:
            answer: Share | BaseException = work(clusters)
        except BaseException as problem:  # noqa: BLE001 - the parent raises it
            answer = problem
        with os.fdopen(writing, "wb") as stream:
            pickle.dump(answer, stream)
    finally:
        os._exit(0)  # the child must not close what the parent has open


def joined(reports: list[Report]) -> Report:
    """The report of the whole grid."""
    total = Report()
    waits: Counter[int] = Counter()
    for report in reports:
        total.instructions += report.instructions
        waits.update(report.barrier_waits)
        for line, extra in report.bank_conflicts.items():
            total.bank_conflicts[line] = total.bank_conflicts.get(line, 0) + extra
        for line, found in report.sectors.items():
            sectors = total.sectors.setdefault(line, Sectors())
            sectors.accesses += found.accesses
            sectors.sectors += found.sectors
        total.printed += report.printed
        total.printed_at += report.printed_at
        total.shared, total.shared_bytes = report.shared, report.shared_bytes
    total.barrier_waits = dict(waits)
    return total
