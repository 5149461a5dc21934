"""Lower bounds on the initiation interval: the busiest unit must do its work, and no recurrence may overtake itself.

Source: B. R. Rau, Iterative Modulo Scheduling, MICRO-27 (1994), sections 2.2 and 2.3 (ResMII and RecMII).
"""

from __future__ import annotations

from math import ceil

from ir.records import dataclass
from lowering.modulo.graph import EPSILON, Dependence, Graph


@dataclass(frozen=True)
class Bounds:
    """Lower bounds of the interval, in the time of the graph, and what determines each: a unit, the operations of a
    cycle.
    """

    resource: float
    unit: str
    recurrence: float
    cycle: tuple[int, ...]

    @property
    def slots(self) -> int:
        """The least interval in whole slots, of a graph in slots."""
        return max(1, ceil(max(self.resource, self.recurrence) - EPSILON))


def bounds(graph: Graph) -> Bounds:
    """Both bounds of a graph. Raises ValueError where dependences of distance 0 close a cycle."""
    taken = {unit: sum(each.uses.get(unit, 0.0) for each in graph.operations) for unit in graph.units}
    unit = max(taken, key=lambda each: taken[each], default="")
    recurrence, cycle = slowest_cycle(graph)
    return Bounds(taken.get(unit, 0.0), unit, recurrence, cycle)


def one_at_a_time(graph: Graph) -> int:
    """Slots of operations no two of which a unit of their own can work on at once: an operation that another unit slows
    down takes its part of this one for longer.
    """
    found = 0
    for unit in graph.owned:
        taking = sorted((each for each in graph.operations if each.takes(unit)), key=lambda each: -each.takes(unit))
        shares = [each.takes(unit) for each in taking]
        sums = [a + b for a, b in zip([shares[0], *shares], shares, strict=False)]  # the first one beside itself
        count = next((place for place, both in enumerate(sums) if both <= 1 + EPSILON), len(sums))
        found = max(found, sum(each.span for each in taking[:count]))
    return found


def slowest_cycle(graph: Graph) -> tuple[float, tuple[int, ...]]:
    """The largest ratio of delay to distance over all cycles, and the operations of one that has it; 0 without cycles.

    Starts at 0 and moves from one cycle that violates the ratio to the next, each with a larger ratio, until there is
    none (Newton's method). Raises ValueError for a cycle of distance 0 and positive delay.
    """
    ratio, found = 0.0, ()
    while (cycle := late_cycle(graph, ratio)) is not None:
        distance = sum(each.distance for each in cycle)
        if distance == 0:
            names = " -> ".join(graph.operations[each.source].name for each in cycle)
            raise ValueError(f"dependences within an iteration close a cycle: {names}")
        ratio = sum(each.delay for each in cycle) / distance
        found = tuple(each.source for each in cycle)
    return ratio, found


def late_cycle(graph: Graph, interval: float) -> list[Dependence] | None:
    """A cycle whose delays exceed its distance times an interval, by Bellman and Ford's longest paths; None: none."""
    late = [0.0] * len(graph.operations)
    by: list[Dependence | None] = [None] * len(late)
    last = None
    for _ in range(len(late) + 1):
        last = None
        for each in graph.dependences:
            reached = late[each.source] + each.delay - interval * each.distance
            if reached > late[each.target] + EPSILON:
                late[each.target], by[each.target], last = reached, each, each.target
        if last is None:
            return None
    return _cycle(by, last)


def _cycle(by: list[Dependence | None], last: int | None) -> list[Dependence]:
    """The cycle that the last steps of longest paths run round."""
    place = last
    for _ in by:  # back until surely on the cycle
        step = by[place] if place is not None else None
        place = step.source if step is not None else place
    cycle: list[Dependence] = []
    start = place
    while not cycle or place != start:
        step = by[place] if place is not None else None
        if step is None:
            raise AssertionError("a path that grows without bound has a step to each of its operations")
        cycle.append(step)
        place = step.source
    return cycle[::-1]


def earliest(graph: Graph, interval: float) -> list[float]:
    """The longest path to each operation: no start is earlier. `interval`: at least the recurrence bound."""
    found = [0.0] * len(graph.operations)
    for _ in found:
        changed = False
        for each in graph.dependences:
            start = found[each.source] + each.delay - interval * each.distance
            if start > found[each.target] + EPSILON:
                found[each.target], changed = start, True
        if not changed:
            break
    return found


def height(graph: Graph, interval: int) -> list[float]:
    """The longest path from each operation, its span included: those with the largest are placed first."""
    found = [float(each.span) for each in graph.operations]
    for _ in range(len(found) + 1):
        changed = False
        for each in graph.dependences:
            start = found[each.target] + each.delay - interval * each.distance
            if start > found[each.source] + EPSILON:
                found[each.source], changed = start, True
        if not changed:
            return found
    raise ValueError(f"a recurrence is longer than an interval of {interval}")
