"""A smaller e-graph with the same best answers, and the way back.

Every method works on the smaller graph. Unreachable and unbuildable parts, forced nodes, dominated nodes, classes with
one user, and costs that all users of a class share are gone from it; edges to classes that every answer holds are left
out unless they can close a cycle, which cuts the graph into parts that share nothing.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from itertools import accumulate, chain
from typing import Final, NamedTuple

import numpy as np

from extract.answer import Answer, make_answer
from extract.collector import gc_disabled
from extract.columns import Columns
from extract.graph import Graph
from extract.reduction import Reduction
from extract.settle import INFINITY

MAX_STRUCTURES: Final = 8
"""Cost-free simplifications kept per graph; they differ by forbidden nodes and limits, of which targets have few."""


class Simplified(NamedTuple):
    """A reduced graph, what is left of an original one once everything certain is decided."""

    original: Graph
    graph: Graph | None
    """None when everything is decided."""
    base: float
    """Cost of what every answer holds."""
    forced: list[int]
    """Nodes of the original that every best answer holds."""
    origin: list[tuple[int, ...]]
    """Nodes of the original that a node of the reduced graph stands for."""
    steps: dict[str, int]
    """How often each step applied."""

    def choice(self, nodes: Iterable[int]) -> dict[int, int]:
        """The original classes' nodes for chosen nodes of the reduced graph."""
        owner = self.original.topology.node_class
        chosen = {owner[node]: node for node in self.forced}
        for node in nodes:
            for part in self.origin[node]:
                chosen[owner[part]] = part
        return chosen

    def followed_by(self, second: Simplified) -> Simplified:
        """This reduction and one of its result, as one."""
        forced = self.forced + [part for node in second.forced for part in self.origin[node]]
        origin = [tuple(part for node in parts for part in self.origin[node]) for parts in second.origin]
        steps = {step: self.steps.get(step, 0) + second.steps.get(step, 0) for step in {**self.steps, **second.steps}}
        return Simplified(self.original, second.graph, self.base + second.base, forced, origin, steps)

    def recosted(self, graph: Graph) -> Simplified:
        """The same reduction of a copy of the original under other costs; for steps that hold for all costs."""
        if graph is self.original:
            return self
        base = math.fsum(map(graph.columns.cost.__getitem__, self.forced))
        reduced = self.graph
        if reduced is not None:
            starts = np.cumsum([0, *(len(parts) for parts in self.origin[:-1])])
            flat = np.fromiter(chain.from_iterable(self.origin), np.int64)
            reduced = reduced.with_cost(np.add.reduceat(graph.cost[flat], starts))
        return Simplified(graph, reduced, base, self.forced, self.origin, self.steps)

    def without(self, nodes: Iterable[int]) -> Simplified:
        """This reduction carried on after some nodes of its result have been ruled out.

        Raises InfeasibleError, without a reason, when no answer is left.
        """
        if self.graph is None:
            return self
        return self.followed_by(_reduce(self.graph.forbid(nodes), costed=True))

    def nodes_of(self, chosen: Iterable[int]) -> list[int] | None:
        """Nodes of the reduced graph that stand for nodes of the original, or None when these are no answer in it."""
        if self.graph is None:
            return []
        given = set(chosen)
        topology = self.graph.topology
        standing = [given.issuperset(parts) for parts in self.origin]
        found: list[int] = []
        order = list(topology.roots)
        seen = set(order)
        for cls in order:  # grows while it is walked
            node = next((node for node in topology.class_nodes[cls] if standing[node]), None)
            if node is None:
                return None
            found.append(node)
            for child in topology.children[node]:
                if child not in seen:
                    seen.add(child)
                    order.append(child)
        return found

    def answer(self, nodes: Iterable[int], bound: float, method: str, seconds: float) -> Answer:
        """An answer for the original; bound: of the reduced graph."""
        return make_answer(self.original, self.choice(nodes), self.base + bound, method, seconds)


def simplify(graph: Graph, *, alone: bool = False) -> Simplified:
    """Reduce a graph. Raises InfeasibleError, without a reason, when no answer is left.

    Copies of one graph under other costs share the steps that hold for all costs, but where one is searched `alone`.
    """
    if alone or not graph.shared.recosted:
        return _reduce(graph, costed=True)
    first = structure(graph)
    if first.graph is None:
        return first
    return first.followed_by(_reduce(first.graph, costed=True))


def structure(graph: Graph) -> Simplified:
    """The steps that hold for all costs with the same forbidden nodes: answers correspond one to one.

    Raises InfeasibleError, without a reason, when no answer is left.
    """
    key = bytes(map(math.isinf, graph.columns.cost)) + array("d", graph.columns.limit).tobytes()
    known = graph.shared.structures
    if key not in known:
        if len(known) == MAX_STRUCTURES:
            known.clear()
        known[key] = _reduce(graph, costed=False)
    shape: Simplified = known[key]
    return shape.recosted(graph)


def _reduce(graph: Graph, *, costed: bool) -> Simplified:
    with gc_disabled():
        reduction = Reduction(graph, costed=costed)
        reduction.run()
        return _export(graph, reduction)


def _export(graph: Graph, reduction: Reduction) -> Simplified:
    classes = [cls for cls in reduction.classes if reduction.members[cls]]
    number = {cls: place for place, cls in enumerate(classes)}
    nodes = [node for cls in classes for node in sorted(reduction.members[cls])]
    forced = [part for node in reduction.forced for part in _parts(reduction, node)]
    origin = [tuple(_parts(reduction, node)) for node in nodes]
    if not nodes:
        return Simplified(graph, None, reduction.base, forced, origin, reduction.steps)
    kids = [sorted(number[child] for child in reduction.kids[node]) for node in nodes]
    tags = [reduction.tag[node] for node in nodes]
    rows = _binding(reduction)
    columns = Columns(
        node_class=[number[reduction.owner[node]] for node in nodes],
        child_offset=[0, *accumulate(map(len, kids))],
        child_class=[*chain.from_iterable(kids)],
        cost=[reduction.cost[node] for node in nodes],
        group=[group for group, _ in tags],
        alternative=[alternative for _, alternative in tags],
        resource=[[reduction.use[node][row] for node in nodes] for row in rows],
        limit=[reduction.limit[row] + reduction.tolerance[row] for row in rows],
        root=[number[cls] for cls in reduction.roots],
    )
    names = tuple(graph.resource_names[row] for row in rows)
    reduced = Graph(tuple(graph.node_op[parts[0]] for parts in origin), columns, names, len(classes))
    return Simplified(graph, reduced, reduction.base, forced, origin, reduction.steps)


def _binding(reduction: Reduction) -> list[int]:
    """The rows whose limit some choice of one node a class goes past."""
    use, limits = reduction.use, reduction.limit
    if all(limit == INFINITY for limit in limits):
        return []
    most = [0.0] * len(limits)
    for members in reduction.members:
        used = [use[node] for node in members if any(use[node])]
        if used:
            others = () if len(used) == len(members) else (0.0,)
            most = [total + max((*row, *others)) for total, row in zip(most, zip(*used, strict=True), strict=True)]
    bounds = zip(most, limits, reduction.tolerance, strict=True)
    return [row for row, (total, limit, over) in enumerate(bounds) if limit < INFINITY and total > limit + over]


def _parts(reduction: Reduction, node: int) -> list[int]:
    """Original nodes that a node stands for."""
    if node not in reduction.parts:  # most nodes are original ones
        return [node] if node < reduction.n_original else []
    found: list[int] = []
    stack = [node]
    while stack:
        part = stack.pop()
        stack.extend(reduction.parts.get(part, ()))
        if part < reduction.n_original:
            found.append(part)
    return found
