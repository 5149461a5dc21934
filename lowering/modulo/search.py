"""The shortest interval of a loop, with its proof, and among its schedules one with few live registers."""

from __future__ import annotations

from typing import Final

from extract.budget import Budget
from ir.records import dataclass
from lowering.modulo.bounds import Bounds, bounds, one_at_a_time
from lowering.modulo.exact import feasible, fewest_registers
from lowering.modulo.graph import Graph, Schedule
from lowering.modulo.rau import iterative

SLOTS: Final = 24
"""Slots of the least interval at first. Twill normalises latencies in the same way (arXiv 2512.18134)."""

MOST_SLOTS: Final = 96
"""Slots beyond which a program takes too long."""

ROUNDED: Final = 0.05
"""How much longer rounding to slots may make the least interval, by the issue that asked for it."""

DEFAULT_BUDGET: Final = 300.0
"""Units of work (`extract.budget`), about milliseconds, of one loop."""


@dataclass(frozen=True)
class Found:
    """A schedule in slots of `slot` cycles.

    bounds: in cycles, before rounding. least: no schedule of the rounded graph has a shorter interval. fewest: no
    schedule with its interval holds fewer registers.
    """

    schedule: Schedule
    slot: float
    bounds: Bounds
    least: int
    fewest: bool

    @property
    def proved(self) -> bool:
        """Is there no shorter interval?"""
        return self.schedule.interval == self.least

    @property
    def cycles(self) -> float:
        """The interval in cycles."""
        return self.slot * self.schedule.interval


def search(graph: Graph, budget: Budget | None = None) -> Found:
    """Schedule the operations of a loop, whose uses and delays are in cycles.

    The heuristic's interval is taken if it meets the lower bound; otherwise shorter ones are tried, from the lower
    bound up, until one is found or the budget ends. Raises ValueError if dependences within an iteration close a cycle.
    """
    budget = budget or Budget(DEFAULT_BUDGET)
    limits = bounds(graph)
    slot = slot_of(graph, limits)
    rounded = graph.in_slots(slot)
    least = slots_of(rounded)
    schedule = iterative(rounded, least + one_after_another(rounded))
    if schedule is None:
        raise AssertionError("a schedule of the operations one after another exists")
    while least < schedule.interval:
        answer = feasible(rounded, least, budget)
        if answer.schedule is not None:
            schedule = answer.schedule
        elif answer.finished:
            least += 1
        else:
            break
    better = fewest_registers(schedule, budget)
    return Found(better.schedule or schedule, slot, limits, least, better.finished)


def slot_of(graph: Graph, limits: Bounds) -> float:
    """Cycles of a slot: as few slots as do not lengthen the least interval by more than `ROUNDED`, if any do so; else
    as many as lengthen it least.
    """
    least = max(limits.resource, limits.recurrence, one_at_a_time(graph))
    if least <= 0:
        return 1.0
    longer: dict[int, float] = {}
    for count in range(SLOTS, MOST_SLOTS + 1):
        rounded = graph.in_slots(least / count)
        longer[count] = slots_of(rounded) / count
        if longer[count] <= 1 + ROUNDED:
            return least / count
    return least / min(longer, key=lambda count: longer[count])


def slots_of(graph: Graph) -> int:
    """The least interval that the bounds of a graph in slots leave."""
    return max(bounds(graph).slots, one_at_a_time(graph))


def one_after_another(graph: Graph) -> int:
    """Slots in which every operation has the units for itself, and all delays pass."""
    delays = sum(max((int(each.delay) for each in after), default=0) for after in graph.after)
    return delays + sum(each.span for each in graph.operations)
