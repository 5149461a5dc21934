"""One warp through iterations of a loop's path, in order, by control codes; and what several warps share.

An instruction is issued when its barriers are reached and its unit takes another one. Products of warpgroups go to the
tensor cores one after the other, and WARPGROUP.DEPBAR waits for groups of them. Waits for other agents (mbarriers, bulk
copies, cp.async groups) are taken to be over: a steady state that keeps up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lowering.targets import Target
from tilesat.mca import units
from tilesat.mca.listing import NO_BARRIER, Instruction

ROUNDS = 6
"""Iterations that are run; the last one's time counts, when what the first ones began with is past."""
BRANCH = 2.0
"""Cycles more of a taken branch, an estimate: the instruction that follows is fetched anew."""
_PENDING = re.compile(r"gsb\d+, 0x([0-9a-f]+)")


@dataclass(frozen=True)
class Timing:
    """Of one iteration: instructions by unit, cycles of each unit for a warp, cycles that a warp takes alone."""

    counts: Counter[str]
    cycles: dict[str, float]
    alone: float

    def with_warps(self, warps: int) -> float:
        """Cycles of an iteration where so many warps share a scheduler."""
        return max(self.alone, warps * max(self.cycles.values(), default=0.0))

    def limit(self, warps: int) -> str:
        """The unit that keeps so many warps from being faster; "latency" where none does."""
        busiest = max(self.cycles, key=lambda unit: self.cycles[unit], default="")
        return busiest if warps * self.cycles.get(busiest, 0.0) >= self.alone else "latency"


def timing(path: Sequence[Instruction], target: Target) -> Timing:
    """The figures of an iteration."""
    counts, cycles = Counter[str](), {"issue": float(len(path))}
    for each in path:
        unit = units.unit(each.opcode) or "unknown"
        counts[unit] += 1
        if taken := units.cycles(each.opcode, target):
            cycles[unit] = cycles.get(unit, 0.0) + taken
    warp = _Warp(target)
    ends = [warp.iteration(path) for _ in range(ROUNDS)]
    return Timing(counts, cycles, ends[-1] - ends[-2])


@dataclass(frozen=True)
class Issued:
    """An instruction in time: when it is issued, when its unit begins with it and for how many cycles (0 where that is
    not known), when the barrier that it sets is reached (None where it sets none). iteration: from 0.
    """

    instruction: Instruction
    iteration: int
    at: float
    begins: float
    taken: float
    ready: float | None


def steady(path: Sequence[Instruction], target: Target, iterations: int = 2) -> list[Issued]:
    """The last iterations of those that `timing` runs, from cycle 0 on."""
    warp = _Warp(target)
    rounds = [warp.issued_in(path, number) for number in range(max(ROUNDS, iterations))][-iterations:]
    begun, first = rounds[0][0].at, rounds[0][0].iteration
    return [
        replace(
            each, iteration=each.iteration - first, at=each.at - begun, begins=each.begins - begun,
            ready=None if each.ready is None else each.ready - begun,
        )
        for issued in rounds for each in issued
    ]  # fmt: skip


class _Warp:
    """Where a warp is in time."""

    def __init__(self, target: Target):
        self.target = target
        self.now = 0.0
        self.barriers: dict[int, float] = {}
        self.free: dict[str, float] = {}
        self.tensor = 0.0
        self.groups: list[float] = []

    def iteration(self, path: Sequence[Instruction]) -> float:
        """Run a path once; when its end is reached."""
        self.issued_in(path, 0)
        return self.now

    def issued_in(self, path: Sequence[Instruction], iteration: int) -> list[Issued]:
        """Run a path once; its instructions in time."""
        found = [self.issue(each, iteration) for each in path]
        self.now += BRANCH
        return found

    def issue(self, each: Instruction, iteration: int = 0) -> Issued:
        """Issue one instruction when it can be."""
        self.now = max([self.now, *(self.barriers.get(barrier, 0.0) for barrier in each.waits)])
        unit, taken = units.unit(each.opcode), units.cycles(each.opcode, self.target)
        begins: float | None = None
        if each.family == "WARPGROUP" and (found := _PENDING.search(each.operands)):
            pending = int(found[1], 16)
            done = self.groups[: len(self.groups) - pending]
            self.now = max([self.now, *done])
            self.groups = self.groups[len(done) :]
        elif unit == "tensor" and "GMMA" in each.opcode:
            begins = max(self.tensor, self.now)
            self.tensor = begins + taken
            if "gsb" in each.operands:
                self.groups.append(self.tensor + float(self.target.latency.mma))
        elif taken:
            self.now = begins = max(self.now, self.free.get(unit, 0.0))
            self.free[unit] = self.now + taken
        at, sets = self.now, [barrier for barrier in (each.writes, each.reads) if barrier != NO_BARRIER]
        ready = at + units.latency(each, self.target) if sets else None
        self.barriers |= {barrier: at + units.latency(each, self.target) for barrier in sets}
        self.now += max(1, each.stall)
        return Issued(each, iteration, at, at if begins is None else begins, taken, ready)
