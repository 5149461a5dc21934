"""Cuts that a solution of the relaxation violates, by maximum flow.

A cut is a set of nodes of which every answer holds one. The relaxation chooses nodes in part; where less than one can
flow from the leaves to a root, each node passing on as much as is chosen of it, the nodes of the minimum cut are chosen
too little of. A node needs all of its children, but flow comes through one: whichever it is, the cut holds for every
answer, so several ways to take them are tried. Source of the idea: separation of directed cuts for Steiner trees (T.
Koch, A. Martin, "Solving Steiner tree problems in graphs to optimality", Networks 32, 1998). Measured on the placement
graph of a state-space kernel (mamba2 da_db, TileGym, sm_120a, 2,774 nodes), optimum 598,661: bound 545,309 without,
555,878 with the cuts of random dual ascents (10 rounds, 0.39 s of CPU), 592,718 with these (30 rounds, 0.40 s).
"""

from __future__ import annotations

from random import Random
from typing import Final

from extract.ascent import preferences
from extract.budget import FLOW, Budget
from extract.graph import Graph
from extract.settle import weights
from extract.topology import Topology

VIOLATION: Final = 1e-3
"""A cut must be violated by this much to be added."""

ROUNDING: Final = 1e-6
"""Parts of a node below this are none."""

NO_CHILD: Final = -1


class MinCuts:
    """Separation of cuts for one graph."""

    def __init__(self, graph: Graph) -> None:
        self.topology = graph.topology
        self.weight = weights(graph.columns.cost)
        self.bases = preferences(graph, self.weight)
        self.random = Random(1)  # the same answer every time

    def shaken(self, base: int) -> list[float]:
        """[m] an order in which to prefer children, another one every time."""
        return [known * self.random.uniform(0.2, 1.2) for known in self.bases[base]]

    def violated(self, value: dict[int, float], budget: Budget) -> list[list[int]]:
        """Cuts over which the values of the nodes sum to less than one."""
        support = {node: part for node, part in value.items() if part > ROUNDING}
        derived = _derived(self.topology, support)
        orders = [[-part for part in derived]]
        orders += [self.shaken(0), self.shaken(1)]
        found: dict[frozenset[int], list[int]] = {}
        for prefer in orders:
            flow = _Flow(self.topology, support, prefer)
            for root in self.topology.roots:
                cut = flow.cut(root)
                if cut is not None:
                    found[frozenset(cut)] = cut
            budget.spend(FLOW * (flow.steps + len(support)))
        return list(found.values())


def _derived(topology: Topology, support: dict[int, float]) -> list[float]:
    """[m] how much of each class the values derive from the leaves upward at most; what goes in a circle is none."""
    parts = [0.0] * topology.n_classes
    passed: dict[int, float] = {}
    waiting = [node for node in topology.leaves if node in support]
    for node in waiting:  # grows while it is walked
        part = min([support[node], *(parts[child] for child in topology.children[node])])
        more = part - passed.get(node, 0.0)
        if more <= ROUNDING:
            continue
        passed[node] = part
        cls = topology.node_class[node]
        if parts[cls] < 1.0:
            parts[cls] = min(1.0, parts[cls] + more)
            waiting.extend(user for user in topology.parents[cls] if user in support)
    return parts


class _Flow:
    """The network in which each node draws on the child that is preferred most. Vertices are classes and, as their
    complements (`~node`), what is below nodes; only nodes have a capacity.
    """

    def __init__(self, topology: Topology, support: dict[int, float], prefer: list[float]) -> None:
        self.topology = topology
        self.support = support
        self.steps = 0
        self.through: dict[int, int] = {}
        """The child that a node draws on."""
        self.members: dict[int, list[int]] = {}
        """Nodes of a class."""
        self.users: dict[int, list[int]] = {}
        """Nodes that draw on a class."""
        for node in support:
            self.members.setdefault(topology.node_class[node], []).append(node)
            children = topology.children[node]
            child = max(children, key=prefer.__getitem__) if children else NO_CHILD
            self.through[node] = child
            self.users.setdefault(child, []).append(node)

    def cut(self, root: int) -> list[int] | None:
        """The minimum cut between a root and the leaves, None where one flows."""
        flow: dict[int, float] = {}
        total = 0.0
        while total < 1.0 - VIOLATION:
            came, leaf = self._search(root, flow)
            self.steps += len(came)
            if leaf == NO_CHILD:
                return self._crossing({vertex for vertex in came if vertex >= 0})
            total += self._push(came, ~leaf, flow)
        return None

    def _search(self, root: int, flow: dict[int, float]) -> tuple[dict[int, int], int]:
        """Breadth first from the root to a leaf with room: where each vertex was reached from, and the leaf."""
        came = {root: root}
        order = [root]
        owner, support = self.topology.node_class, self.support
        for vertex in order:  # grows while it is walked
            if vertex < 0:
                node = ~vertex
                ahead = [self.through[node]] if flow.get(node, 0.0) <= ROUNDING else [self.through[node], owner[node]]
            else:
                ahead = [
                    ~node for node in self.members.get(vertex, ()) if support[node] - flow.get(node, 0.0) > ROUNDING
                ]
                ahead += [~node for node in self.users.get(vertex, ()) if flow.get(node, 0.0) > ROUNDING]
            for following in ahead:
                if following not in came:
                    came[following] = vertex
                    if following < 0 and self.through[~following] == NO_CHILD:
                        return came, ~following
                    order.append(following)
        return came, NO_CHILD

    def _push(self, came: dict[int, int], end: int, flow: dict[int, float]) -> float:
        """Send along a path as much as it holds."""
        owner = self.topology.node_class
        taken: list[int] = []
        given: list[int] = []
        vertex = end
        while came[vertex] != vertex:
            before = came[vertex]
            if vertex < 0 and owner[~vertex] == before:
                taken.append(~vertex)
            elif before < 0 and owner[~before] == vertex:
                given.append(~before)
            vertex = before
        room = min([self.support[node] - flow.get(node, 0.0) for node in taken] + [flow[node] for node in given])
        for node in taken:
            flow[node] = flow.get(node, 0.0) + room
        for node in given:
            flow[node] -= room
        return room

    def _crossing(self, inside: set[int]) -> list[int]:
        """Nodes of a set of classes that take none of them: an answer that enters the set leaves it by one."""
        topology = self.topology
        return [
            node
            for cls in sorted(inside)
            for node in topology.class_nodes[cls]
            if inside.isdisjoint(topology.children[node])
        ]
