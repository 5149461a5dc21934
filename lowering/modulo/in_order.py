"""The time of an iteration of code in the order of the loop's body: warps issue it in order, tensor cores and copies
run asynchronously, and nothing of the next iteration overlaps the waits at the end of this one.

A product issued one iteration early (`lowering/schedule/rotation.py`) is retimed: its readers read that of the previous
iteration. Source: retiming, after Leiserson and Saxe, Algorithmica 6 (1991); the interval is the least one for which
the longest paths of the retimed graph fit, as in modulo scheduling with one stage.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import replace
from typing import Final

from lowering.modulo.bounds import bounds, earliest
from lowering.modulo.graph import Graph

STEPS: Final = 12
"""Halvings of the span in which the interval lies: 1/4000 of it."""


def products(graph: Graph) -> list[int]:
    """The operations of the tensor cores."""
    return [number for number, each in enumerate(graph.operations) if each.uses.get("tensor", 0.0) > 0]


def early(graph: Graph) -> frozenset[int]:
    """The operations that can be made an iteration early: a product of two that reads nothing but what is copied for
    it, with its copies; none where there is no such product, or no other that it may overlap.
    """
    found = products(graph)
    if len(found) != 2:
        return frozenset()
    for product in found:
        needed, waiting = {product}, [product]
        while waiting:
            before = graph.before[waiting.pop()]
            if any(each.distance or not graph.operations[each.source].ahead for each in before):
                break
            waiting += [each.source for each in before if each.source not in needed]
            needed.update(each.source for each in before)
        else:
            others = {each.target for number in needed - {product} for each in graph.after[number]}
            if others <= needed:
                return frozenset(needed)
    return frozenset()


def alone(graph: Graph) -> bool:
    """Is its one product waited for in the next iteration? So it is where the tensor cores add what is copied to a sum
    that the loop carries, and nothing else reads it (`lowering/schedule/flight.py`).
    """
    found = products(graph)
    if len(found) != 1:
        return False
    (product,) = found
    copied = all(each.distance or graph.operations[each.source].ahead for each in graph.before[product])
    adds = graph.operations[product].uses.keys() <= {"tensor", "issue"}  # promoted sums are added behind it
    return copied and adds and all(each.target == product for each in graph.after[product])


def interval(graph: Graph, latency: float, ahead: Set[int] = frozenset(), joined: bool = True) -> float:
    """Cycles of an iteration. `latency`: from the end of a product to the use of its result; `ahead`: operations that
    are made an iteration early, and then products are waited for where they are read, not at the end; nor is one that
    is `alone`, nor are those of single warps, which are not `joined`.
    """
    brought = {number for number, each in enumerate(graph.operations) if each.ahead}
    dependences = [
        replace(each, distance=each.distance + (each.source in ahead) - (each.target in ahead))
        for each in graph.dependences if each.source not in brought
    ]  # fmt: skip
    retimed = Graph(graph.operations, tuple(dependences))
    whole = products(graph) if joined and not (ahead or alone(graph)) else ()
    limits = bounds(retimed)
    least = max(limits.resource, limits.recurrence)
    most = max(least, end(retimed, least, latency, whole))
    for _ in range(STEPS):
        middle = (least + most) / 2
        least, most = (least, middle) if end(retimed, middle, latency, whole) <= middle else (middle, most)
    return most


def in_turns(graph: Graph, latency: float, ahead: Set[int], groups: int) -> float:
    """Cycles of an iteration if `groups` warpgroups, each with its part of the tiles, are at different points: each has
    the units to itself, as far as all of them together allow.
    """
    part = 1 - 1 / groups
    operations = tuple(
        replace(each, uses={unit: use / groups for unit, use in each.uses.items()}) for each in graph.operations
    )
    dependences = tuple(
        replace(each, delay=max(each.delay / groups, each.delay - graph.operations[each.source].busy * part))
        for each in graph.dependences
    )
    return max(interval(Graph(operations, dependences), latency, ahead), bounds(graph).resource)


def end(graph: Graph, cycles: float, latency: float, whole: Collection[int]) -> float:
    """When the last operation of an iteration ends, of an interval; `whole` are products that end in it too."""
    tensor = set(products(graph))
    return max(
        start + (0.0 if number in tensor else each.busy) + ((each.busy + latency) if number in whole else 0.0)
        for number, (start, each) in enumerate(zip(earliest(graph, cycles), graph.operations, strict=True))
    )
