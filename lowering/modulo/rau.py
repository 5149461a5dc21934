"""Iterative modulo scheduling: operations by height, each in the first free slot, evicting others if there is none.

Source: B. R. Rau, Iterative Modulo Scheduling: An Algorithm For Software Pipelining Loops, MICRO-27 (1994).
"""

from __future__ import annotations

from lowering.modulo.bounds import bounds, height
from lowering.modulo.graph import EPSILON, Graph, Schedule

TRIES = 6
"""Placements an operation before an interval is given up; Rau's BudgetRatio."""


def iterative(graph: Graph, most: int) -> Schedule | None:
    """A schedule of the first interval, from the lower bound to `most`, at which the heuristic finds one."""
    for interval in range(bounds(graph).slots, most + 1):
        found = at_interval(graph, interval)
        if found is not None:
            return found
    return None


def at_interval(graph: Graph, interval: int) -> Schedule | None:
    """A schedule with this interval; None where the heuristic gives up."""
    if any(each.takes(unit) > 1 + EPSILON for each in graph.operations for unit in graph.owned):
        return None
    return _Placing(graph, interval).run()


class _Placing:
    """The reservation table while operations come and go."""

    def __init__(self, graph: Graph, interval: int):
        self.graph, self.interval = graph, interval
        self.starts: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.free = {unit: [1.0] * interval for unit in graph.owned}
        heights = height(graph, interval)
        self.order = sorted(range(len(heights)), key=lambda each: (-heights[each], each))

    def run(self) -> Schedule | None:
        """Place until all operations have a start or the tries are used up."""
        for _ in range(TRIES * len(self.order) + 1):
            operation = next((each for each in self.order if each not in self.starts), None)
            if operation is None:
                least = min(self.starts.values(), default=0) // self.interval * self.interval
                starts = tuple(self.starts[each] - least for each in range(len(self.order)))
                return Schedule(self.graph, self.interval, starts)
            if not self.place(operation):
                return None
        return None

    def place(self, operation: int) -> bool:
        """Give an operation a start; False where it fits into no empty table."""
        soonest = max(
            (int(self.starts[each.source] + each.delay - self.interval * each.distance)
             for each in self.graph.before[operation] if each.source in self.starts and each.source != operation),
            default=0,
        )  # fmt: skip
        fits = [slot for slot in range(soonest, soonest + self.interval) if self.fits(operation, slot)]
        start = fits[0] if fits else max(soonest, self.last.get(operation, soonest - 1) + 1)
        if not fits and not self.evict(operation, start):
            return False
        self.starts[operation] = self.last[operation] = start
        self.take(operation, start, 1)
        for each in self.graph.after[operation]:  # those that now start too early are placed again
            there = self.starts.get(each.target) if each.target != operation else None
            if there is not None and there + self.interval * each.distance - start < each.delay:
                self.remove(each.target)
        return True

    def fits(self, operation: int, start: int) -> bool:
        """Is enough of each unit free?"""
        need = self.need(operation, start)
        return all(self.free[unit][slot] + EPSILON >= part for (unit, slot), part in need.items())

    def need(self, operation: int, start: int) -> dict[tuple[str, int], float]:
        """What an operation takes of the table, which may be several times the same slot."""
        each = self.graph.operations[operation]
        found: dict[tuple[str, int], float] = {}
        for unit in self.free.keys() & each.uses.keys():
            for slot in range(start, start + each.span):
                key = unit, slot % self.interval
                found[key] = found.get(key, 0.0) + each.takes(unit)
        return found

    def evict(self, operation: int, start: int) -> bool:
        """Throw out, lowest first, what keeps an operation from its start."""
        for other in reversed(self.order):
            if self.fits(operation, start):
                return True
            if other in self.starts and self.collide(operation, start, other):
                self.remove(other)
        return self.fits(operation, start)

    def collide(self, operation: int, start: int, other: int) -> bool:
        """Do two operations take the same slot of a unit?"""
        return bool(self.need(operation, start).keys() & self.need(other, self.starts[other]).keys())

    def remove(self, operation: int) -> None:
        """Take an operation out of the table."""
        self.take(operation, self.starts.pop(operation), -1)

    def take(self, operation: int, start: int, sign: int) -> None:
        """Enter an operation into the table, or with -1 out of it."""
        for (unit, slot), part in self.need(operation, start).items():
            self.free[unit][slot] -= sign * part
