"""List scheduling of straight-line code: each operation starts as early as what it waits for and its units allow, those
with the longest way to the end first.

A warp issues one instruction after another; loads of global memory and tensor cores work on their own, one operation
after the other. Source: list scheduling by critical path, after Landskov, Davidson, Shriver and Mallett, ACM Computing
Surveys 12 (1980).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heappop, heappush
from math import inf

from ir.records import dataclass
from lowering.modulo.graph import OWNED, Graph, Operation

WAIT = "wait"
"""What an operation takes that stops its warps, in `Operation.uses`: its instructions, and how long they wait."""


@dataclass(frozen=True)
class Listed:
    """Operations in the order of their issue, and when all have ended, in the time of the graph."""

    order: tuple[int, ...]
    cycles: float


def listed(graph: Graph, latencies: Sequence[float], first: Collection[int] = ()) -> Listed:
    """Schedule the operations of a graph whose dependences all lie within it. `latencies`: from the end of each
    operation to the use of its result; `first`: operations that go before all others that could start. Raises
    ValueError if dependences close a cycle.
    """
    ways = to_the_end(graph, latencies)
    for number in first:
        ways[number] = inf
    waiting = [len(each) for each in graph.before]
    earliest = [0.0] * len(waiting)
    later: list[tuple[float, int]] = [(0.0, number) for number, count in enumerate(waiting) if not count]
    ready: list[tuple[float, int]] = []  # those that could start now, the longest way first
    free = dict.fromkeys(OWNED, 0.0)
    order: list[int] = []
    now = cycles = 0.0
    while later or ready:
        if not ready:
            now = max(now, later[0][0])
        while later and later[0][0] <= now:
            number = heappop(later)[1]
            heappush(ready, (-ways[number], number))
        number = heappop(ready)[1]
        order.append(number)
        each = graph.operations[number]
        start = owned(each, now, free)
        cycles = max(cycles, start + each.busy)
        for dependence in graph.after[number]:
            target = dependence.target
            begin = (start if dependence.value else now) + dependence.delay
            earliest[target] = max(earliest[target], begin)
            waiting[target] -= 1
            if not waiting[target]:
                heappush(later, (earliest[target], target))
        now += issued(each)
    if len(order) < len(waiting):
        raise ValueError("dependences within straight-line code close a cycle")
    return Listed(tuple(order), cycles)


def owned(operation: Operation, now: float, free: dict[str, float]) -> float:
    """When the units that an operation has for itself begin with it; they are taken until it ends."""
    taken = [unit for unit in OWNED if operation.uses.get(unit, 0.0) > 0]
    start = max([now, *(free[unit] for unit in taken)])
    for unit in taken:
        free[unit] = start + operation.uses[unit]
    return start


def issued(operation: Operation) -> float:
    """For how long no other operation of the warps is issued: all but what works on its own."""
    return max((use for unit, use in operation.uses.items() if unit not in OWNED), default=0.0)


def to_the_end(graph: Graph, latencies: Sequence[float]) -> list[float]:
    """The longest way from the start of each operation to the end of the code."""
    ways = [each.busy + latency for each, latency in zip(graph.operations, latencies, strict=True)]
    waiting = [len(each) for each in graph.after]
    ends = [number for number, count in enumerate(waiting) if not count]
    while ends:
        number = ends.pop()
        for each in graph.before[number]:
            ways[each.source] = max(ways[each.source], each.delay + ways[number])
            waiting[each.source] -= 1
            if not waiting[each.source]:
                ends.append(each.source)
    return ways


def peak(graph: Graph, order: Sequence[int], kept: Collection[int]) -> tuple[float, int]:
    """The most registers of a thread that results hold in code of this order, and the operation at which. `kept`:
    results that are also read later, which stay to the end. An operation takes the registers of operands that it is the
    last to read.
    """
    readers = [{each.target for each in after if each.value} for after in graph.after]
    left = [len(each) + (number in kept) for number, each in enumerate(readers)]
    live, most = 0.0, (0.0, 0)
    for number in order:
        for source in {each.source for each in graph.before[number] if each.value}:
            left[source] -= 1
            live -= 0.0 if left[source] else graph.operations[source].registers
        live += graph.operations[number].registers if left[number] else 0.0
        most = max(most, (live, number), key=lambda each: each[0])
    return most
