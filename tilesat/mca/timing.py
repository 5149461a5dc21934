"""Warps of one scheduler through iterations of a loop's path: each in order, by control codes; units are shared.

An instruction is issued when its barriers are reached, its unit takes another one and the scheduler has the cycle.
Products of warpgroups go to the tensor cores one after the other, and WARPGROUP.DEPBAR waits for groups of them. Those
in tensor memory too, but one warp of the CTA begins them, as it does tensor copies: the others pass over these
instructions. A path that waits at a named barrier whose number is in a register, and arrives at another one, takes
turns: the warps, each of a warpgroup of its own, go one after the other through what lies between. Other waits for
agents (mbarriers, bulk copies, cp.async groups, barriers of a warpgroup) are taken to be over: a steady state that
keeps up.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from lowering.targets import Target
from tilesat.mca import units
from tilesat.mca.listing import NO_BARRIER, Instruction

ROUNDS = 6
"""Iterations that are run before those that count, when what the first ones began with is past."""
COUNTED = 6
"""Iterations of several warps that count: how they fall into step may repeat every two or three of them."""
FULL = 0.85
"""What is busy for this share of the time is what limits."""
MOST = 4
"""Warps of a scheduler that are followed one by one; of more a unit is busy, or they would be no faster."""
AHEAD = 4
"""Iterations that a warp may be ahead of another one: as many as rings have stages, or a greedy warp has a unit for
itself for ever.
"""
QUEUE = 4
"""Accesses to shared memory that a scheduler may have issued before they are begun. Source: arXiv 2503.20481."""
BRANCH = 2.0
"""Cycles more of a taken branch, an estimate: the instruction that follows is fetched anew."""
_PENDING = re.compile(r"gsb\d+, 0x([0-9a-f]+)")
_TURN = re.compile(r"\s*R\d+, 0x[0-9a-f]+")


@dataclass(frozen=True)
class Timing:
    """Of one iteration: instructions by unit, cycles of each unit for a warp, and of these what one warp begins for
    all of the CTA, cycles that a warp takes alone, and of these for what it waits: results of a family of instructions,
    a unit; in the others it issues, and keeps to the compiler's stalls.
    """

    counts: Counter[str]
    cycles: dict[str, float]
    once: dict[str, float]
    alone: float
    waits: dict[str, float]
    path: tuple[Instruction, ...] = field(repr=False)
    target: Target = field(repr=False)

    @property
    def agent(self) -> bool:
        """Is it the loop of an agent of one warp?"""
        return by_one_warp(self.path)

    def with_warps(self, warps: int) -> float:
        """Cycles of an iteration of each where so many warps share a scheduler; of an agent of one warp those of it."""
        return self.alone if warps == 1 or self.agent else _Scheduler(self.path, self.target, warps).interval()

    def of_many(self, warps: int) -> float:
        """The same, of more than `MOST` warps no less than the busiest unit takes."""
        return max(self.with_warps(min(warps, MOST)), *self.of_all(warps).values())

    def of_all(self, warps: int) -> dict[str, float]:
        """Cycles of each unit for so many warps: of what one of them begins for all, once."""
        count = 1 if self.agent else warps
        return {unit: count * cycles - (count - 1) * self.once.get(unit, 0.0) for unit, cycles in self.cycles.items()}

    def limit(self, warps: int) -> str:
        """The unit that keeps so many warps from being faster; "latency" where none does."""
        cycles = self.of_all(warps)
        busiest = max(cycles, key=lambda unit: cycles[unit], default="")
        return busiest if cycles.get(busiest, 0.0) >= FULL * self.with_warps(warps) else "latency"


def by_one_warp(path: Sequence[Instruction]) -> bool:
    """Does code begin bulk copies or products in tensor memory, and nothing with tiles itself?"""
    begins = any(units.begun_once(each) for each in path)
    return begins and not any(units.unit(each.opcode) in units.OF_TILES and not units.never(each) for each in path)


def timing(path: Sequence[Instruction], target: Target) -> Timing:
    """The figures of an iteration."""
    counts, cycles, once = Counter[str](), {"issue": float(len(path))}, dict[str, float]()
    for each in path:
        counts[units.unit(each.opcode) or "unknown"] += 1
        begun = units.begun_once(each)
        taken = units.taken(each, target)
        for unit, busy in taken.items():
            cycles[unit] = cycles.get(unit, 0.0) + busy
        for unit, busy in {"issue": 1.0, **taken}.items() if begun else ():
            once[unit] = once.get(unit, 0.0) + busy
    scheduler = _Scheduler(path, target, 1)
    alone = scheduler.interval(1)
    return Timing(
        counts,
        cycles,
        once,
        alone,
        dict(sorted(scheduler.waits.items(), key=lambda each: -each[1])),
        tuple(path),
        target,
    )


def once(path: Sequence[Instruction], target: Target, warps: int) -> float:
    """Cycles until the warps of a scheduler have gone through code one time, and its last results are there."""
    if not path:
        return 0.0
    scheduler = _Scheduler(path, target, min(warps, MOST))
    ready = max(each.ready or 0.0 for each in scheduler.issued(1))
    return max(scheduler.end, scheduler.tensor, ready, *timing(path, target).of_all(warps).values())


@dataclass(frozen=True)
class Issued:
    """An instruction in time: when it is issued, when its unit begins with it and for how many cycles (0 where that is
    not known), when the barrier that it sets is reached (None where it sets none). iteration, warp: from 0.
    """

    instruction: Instruction
    iteration: int
    at: float
    begins: float
    taken: float
    ready: float | None
    warp: int = 0


def steady(path: Sequence[Instruction], target: Target, iterations: int = 2, warps: int = 1) -> list[Issued]:
    """So many iterations of each warp behind those that do not count, in order of issue, the first from cycle 0 on."""
    kept = [each for each in _Scheduler(path, target, warps).issued(ROUNDS + iterations) if each.iteration >= ROUNDS]
    begun = kept[0].at
    return [
        replace(
            each, iteration=each.iteration - ROUNDS, at=each.at - begun, begins=each.begins - begun,
            ready=None if each.ready is None else each.ready - begun,
        )
        for each in kept
    ]  # fmt: skip


@dataclass
class _Warp:
    """Where a warp is: the next instruction, the earliest cycle of it as far as it is known, the end of its last
    iteration, when barriers are reached and by which family, products under way, when it was given turns.
    """

    number: int
    place: int = 0
    iteration: int = 0
    now: float = 0.0
    ended: float = 0.0
    barriers: dict[int, tuple[float, str]] = field(default_factory=dict[int, tuple[float, str]])
    groups: list[float] = field(default_factory=list[float])
    turns: list[float] = field(default_factory=list[float])


class _Scheduler:
    """Its warps, and what they share: a cycle for each instruction, the units of a quarter of an SM.

    Of several warps that could go on it takes the one that was last. Source: R. Huerta et al., Analyzing Modern NVIDIA
    GPU cores, arXiv 2503.20481 (greedy, then youngest). Else the one furthest behind, since the ring that all read lets
    none get far ahead. All begin together, as warps of a CTA do.
    """

    def __init__(self, path: Sequence[Instruction], target: Target, warps: int):
        self.path, self.target = path, target
        self.taken = [units.taken(each, target) for each in path]
        self.others = self.passing_over()
        self.ahead = sum(units.cycles(each, target) for each in path if _grouped(each))
        """Cycles of products in tensor memory that may be under way: an iteration's, since rings have stages."""
        self.warps = [_Warp(number) for number in range(warps)]
        self.free: dict[str, float] = {}
        self.queue = deque[float](maxlen=QUEUE)  # when the last accesses to shared memory begin
        self.tensor = self.slot = 0.0
        self.last: _Warp | None = None
        self.waits: dict[str, float] = {}
        """Cycles in which a warp waited, of the iterations that count, by what it waited for."""
        takes, passes = (sum(_is_turn(each, kind) for each in path) for kind in ("SYNC", "ARV"))
        self.in_turns = takes == passes > 0
        self.warps[0].turns = [0.0]

    def passing_over(self) -> frozenset[int]:
        """What one warp does for all: others pass over it. The first and the last instruction of the path all do."""
        return frozenset(at for at, each in enumerate(self.path) if units.begun_once(each)) - {0, len(self.path) - 1}

    def interval(self, counted: int = COUNTED) -> float:
        """Cycles of an iteration: so many of each warp, or as many in all, over the time that they take."""
        begun: tuple[float, int] | None = None
        for _ in self.issued(ROUNDS + counted):
            if begun is None and min(each.iteration for each in self.warps) == ROUNDS:
                begun = self.end, self.made
        first, before = begun or (0.0, 0)
        return len(self.warps) * (self.end - first) / (self.made - before)

    @property
    def end(self) -> float:
        """When the last iteration ended."""
        return max(each.ended for each in self.warps)

    @property
    def made(self) -> int:
        """Iterations of all warps together."""
        return sum(each.iteration for each in self.warps)

    def issued(self, iterations: int) -> Iterator[Issued]:
        """The instructions in the order of issue until all warps have made so many iterations."""
        while min(each.iteration for each in self.warps) < iterations:
            able = [each for each in self.warps if self.may(each)]
            yield self.issue(min(able, key=self.urgency))

    def urgency(self, warp: _Warp) -> tuple[float, bool, int, int]:
        """The least is issued from."""
        return self.earliest(warp), warp is not self.last, warp.iteration, warp.place

    def may(self, warp: _Warp) -> bool:
        """Is it not another one's turn, and is it not too far ahead?"""
        if not self.in_turns and warp.iteration >= min(each.iteration for each in self.warps) + AHEAD:
            return False
        return not self.in_turns or not _is_turn(self.path[warp.place], "SYNC") or bool(warp.turns)

    def earliest(self, warp: _Warp) -> float:
        """When the next instruction of a warp could be issued."""
        return max([self.slot, warp.now, *(at for at, _ in self.waited(warp))])

    def waited(self, warp: _Warp) -> Iterator[tuple[float, str]]:
        """What else the next instruction of a warp waits for: until when, and for results of which family, which unit,
        or a turn.
        """
        each = self.path[warp.place]
        for barrier in each.waits:
            yield warp.barriers.get(barrier, (0.0, ""))
        if self.in_turns and _is_turn(each, "SYNC"):
            yield warp.turns[0], "turns"
        elif each.family == "WARPGROUP":
            yield from ((at, "tensor") for at in self.done(warp, each))
        elif each.opcode.startswith("UTC"):
            yield self.tensor - self.ahead, "tensor"
        elif not _grouped(each):
            if units.SHARED in self.taken[warp.place] and len(self.queue) == QUEUE:
                yield self.queue[0], units.SHARED
            yield from ((self.free.get(unit, 0.0), unit) for unit in self.taken[warp.place] if unit != units.SHARED)

    def done(self, warp: _Warp, each: Instruction) -> list[float]:
        """When the groups of products end that an instruction waits for."""
        found = _PENDING.search(each.operands)
        return warp.groups[: max(0, len(warp.groups) - int(found[1], 16))] if found else []

    def issue(self, warp: _Warp) -> Issued:
        """Issue the next instruction of a warp."""
        each, at = self.path[warp.place], self.earliest(warp)
        if warp.iteration >= ROUNDS and at > (ready := max(self.slot, warp.now)):
            what = max(self.waited(warp))[1]
            self.waits[what] = self.waits.get(what, 0.0) + at - ready
        uses, begins = self.taken[warp.place], at
        taken = uses.get(units.unit(each.opcode), 0.0)
        if each.family == "WARPGROUP":
            warp.groups = warp.groups[len(self.done(warp, each)) :]
        elif _grouped(each) and uses:
            begins = max(self.tensor, at)
            self.tensor = begins + taken
            if "gsb" in each.operands:
                warp.groups.append(self.tensor + float(self.target.latency.mma))
        elif uses:
            self.free |= {unit: at + busy for unit, busy in uses.items() if unit != units.SHARED}
            if busy := uses.get(units.SHARED, 0.0):
                begins = max(at, self.free.get(units.SHARED, 0.0))
                self.free[units.SHARED] = begins + busy
                self.queue.append(begins)
        elif self.in_turns and _is_turn(each, "SYNC"):
            warp.turns.pop(0)
        elif self.in_turns and _is_turn(each, "ARV"):
            following = self.warps[(warp.number + 1) % len(self.warps)]
            following.turns.append(at + float(self.target.latency.shared))
        sets = [barrier for barrier in (each.writes, each.reads) if barrier != NO_BARRIER]
        done = (at if _grouped(each) else begins) + units.latency(each, self.target)
        ready = done if sets else None
        warp.barriers |= dict.fromkeys(sets, (done, each.family))
        made = Issued(each, warp.iteration, at, begins, taken, ready, warp.number)
        warp.now, self.slot, self.last = at + max(1, each.stall), at + 1, warp
        warp.place += 1
        while warp.number and warp.place in self.others:
            warp.place += 1
        if warp.place == len(self.path):
            warp.place, warp.iteration, warp.now = 0, warp.iteration + 1, warp.now + BRANCH
            warp.ended = warp.now
        return made


def _grouped(each: Instruction) -> bool:
    """Is it a product of a warpgroup or in tensor memory, which goes on by itself?"""
    return ("GMMA" in each.opcode or each.opcode.startswith("UTC")) and units.unit(each.opcode) == "tensor"


def _is_turn(each: Instruction, kind: str) -> bool:
    """Does it wait for ("SYNC") or end ("ARV") a turn, at a named barrier whose number is in a register?"""
    return each.opcode.startswith(f"BAR.{kind}") and _TURN.match(each.operands) is not None
