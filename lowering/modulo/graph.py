"""The scheduling problem: operations of a loop's body, their use of the units of an SM, and their dependences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from math import ceil

from ir.records import dataclass

EPSILON = 1e-9
"""Rounding tolerance of sums of uses."""

OWNED = frozenset({"tensor", "global"})
"""Units that process one operation at a time, asynchronously: tensor cores, loads of tiles from global memory.
Instruction pipes are shared: warps are at different points and ptxas interleaves independent operations, so the use of
a pipe is counted over a whole interval.
"""


@dataclass(frozen=True)
class Operation:
    """An operation of a loop's body.

    uses: for how long it would keep each unit busy, in the time of the graph; spread evenly over the `span` slots that
    it takes. registers: of a thread, for its result. ahead: a ring holds its result iterations ahead, so nothing waits
    for it.
    """

    name: str
    uses: Mapping[str, float] = field(default_factory=dict[str, float])
    registers: float = 0.0
    ahead: bool = False

    @property
    def busy(self) -> float:
        """Time on its busiest unit."""
        return max(self.uses.values(), default=0.0)

    @property
    def span(self) -> int:
        """Slots that it is under way."""
        return max(1, ceil(self.busy - EPSILON))

    def takes(self, unit: str) -> float:
        """The share of a unit that it takes in each of these slots."""
        return self.uses.get(unit, 0.0) / self.span


@dataclass(frozen=True)
class Dependence:
    """Operation `target`, `distance` iterations later, starts no earlier than `delay` after `source` starts.

    value: `target` reads the result of `source`, which stays in registers until then.
    """

    source: int
    target: int
    delay: float
    distance: int = 0
    value: bool = True


def delay(source: Operation, latency: float, reader: Operation, whole: bool) -> float:
    """From the start of an operation to the start of another that reads its result: `latency` after its end if either
    takes or makes `whole` tiles, otherwise register by register.
    """
    if whole:
        return source.busy + latency
    return max(latency, source.busy + latency - reader.busy)


@dataclass(frozen=True)
class Graph:
    """The body of a loop; dependences of distance 0 close no cycle."""

    operations: tuple[Operation, ...]
    dependences: tuple[Dependence, ...]

    @cached_property
    def units(self) -> tuple[str, ...]:
        """The units that operations take."""
        return tuple(dict.fromkeys(u for each in self.operations for u, use in each.uses.items() if use > 0))

    @property
    def owned(self) -> tuple[str, ...]:
        """Those that an operation has for itself."""
        return tuple(unit for unit in self.units if unit in OWNED)

    @cached_property
    def before(self) -> tuple[tuple[Dependence, ...], ...]:
        """What each operation waits for."""
        return self._of([each.target for each in self.dependences])

    @cached_property
    def after(self) -> tuple[tuple[Dependence, ...], ...]:
        """What waits for each operation."""
        return self._of([each.source for each in self.dependences])

    def _of(self, ends: Sequence[int]) -> tuple[tuple[Dependence, ...], ...]:
        """The dependences of each operation that is one of their ends."""
        found: list[list[Dependence]] = [[] for _ in self.operations]
        for end, each in zip(ends, self.dependences, strict=True):
            found[end].append(each)
        return tuple(map(tuple, found))

    def in_slots(self, slot: float) -> Graph:
        """The graph with `slot` as the unit of time; delays are whole numbers of slots, rounded up."""
        operations = [
            replace(each, uses={unit: use / slot for unit, use in each.uses.items()}) for each in self.operations
        ]
        delays = [
            Dependence(each.source, each.target, ceil(each.delay / slot - EPSILON), each.distance, each.value)
            for each in self.dependences
        ]
        return Graph(tuple(operations), tuple(delays))


@dataclass(frozen=True)
class Schedule:
    """A start for every operation of a graph in slots: one iteration after another begins every `interval` slots."""

    graph: Graph
    interval: int
    starts: tuple[int, ...]

    @property
    def stages(self) -> int:
        """Iterations in flight at a time."""
        ends = (start + each.span for start, each in zip(self.starts, self.graph.operations, strict=True))
        return max(1, -(-max(ends, default=1) // self.interval))

    def place(self, operation: int) -> tuple[int, int]:
        """Slot of the steady state in which an operation starts, and how many iterations after the newest one's."""
        return self.starts[operation] % self.interval, self.starts[operation] // self.interval

    @property
    def full(self) -> int:
        """Slots that the busiest unit needs."""
        taken = [sum(each.uses.get(unit, 0.0) for each in self.graph.operations) for unit in self.graph.units]
        return ceil(max(taken, default=0.0) - EPSILON)

    def table(self) -> dict[str, list[float]]:
        """The reservation table: the use of each unit in each slot of the steady state."""
        return reservations(self.graph.operations, self.starts, self.interval, self.graph.units)

    def lifetimes(self) -> list[int]:
        """Slots from the start of each operation to the start of the last that reads its result."""
        return [
            max((self.waits(each) for each in self.graph.after[number] if each.value), default=0)
            for number in range(len(self.graph.operations))
        ]

    def waits(self, each: Dependence) -> int:
        """Slots between the starts of the two ends of a dependence."""
        return self.starts[each.target] + self.interval * each.distance - self.starts[each.source]

    def registers(self) -> float:
        """Registers of a thread that results hold, on average over the steady state."""
        spans = zip(self.graph.operations, self.lifetimes(), strict=True)
        return sum(each.registers * life for each, life in spans) / self.interval

    def violations(self) -> Iterator[str]:
        """The violations of a schedule; none for a legal one."""
        names = [each.name for each in self.graph.operations]
        for each in self.graph.dependences:
            if self.waits(each) < each.delay:
                ends = f"'{names[each.target]}' starts {self.waits(each)} slots after '{names[each.source]}'"
                yield f"{ends}, not {each.delay:g}"
        if self.full > self.interval:
            yield f"a unit is busy for {self.full} slots of {self.interval}"
        for unit, slots in self.table().items():
            full = [slot for slot, taken in enumerate(slots) if taken > 1 + EPSILON * len(names)]
            if full and unit in OWNED:
                yield f"{unit} is taken {max(slots):g} times in slot {full[0]}"


def reservations(
    operations: Sequence[Operation], starts: Sequence[int], interval: int, units: Sequence[str]
) -> dict[str, list[float]]:
    """What operations with these starts take of each unit in each slot of an interval."""
    found = {unit: [0.0] * interval for unit in units}
    for each, start in zip(operations, starts, strict=True):
        for unit in each.uses:
            share = each.takes(unit)
            for slot in range(start, start + each.span) if share else ():
                found[unit][slot % interval] += share
    return found
