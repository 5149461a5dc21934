"""Lower bounds that cost no more than a greedy pass."""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush

from extract.settle import INFINITY, Settled
from extract.topology import Topology

MAX_PASSES = 8
"""Stopping the required-set iteration early would be unsound, so past this many passes only paths count."""


def rewards_below(topology: Topology, cost: list[float]) -> float:
    """The most that negative costs can give: each class counts its best reward once. <= 0."""
    return math.fsum(min([0.0, *(cost[node] for node in topology.class_nodes[cls])]) for cls in topology.classes)


def path_bound(topology: Topology, weight: list[float]) -> list[float]:
    """[m] least cost of the dearest path below each class: a node needs all of its children, so also the dearest.

    weight: [n] >= 0, inf forbids. Classes that cannot be built get inf.
    """
    owner, parents = topology.node_class, topology.parents
    pending = topology.arity.copy()
    value = [INFINITY] * topology.n_classes
    settled = bytearray(topology.n_classes)
    heap = [(weight[node], node) for node in topology.leaves if weight[node] < INFINITY]
    heapify(heap)
    while heap:
        cost, node = heappop(heap)
        cls = owner[node]
        if settled[cls]:
            continue
        settled[cls] = 1
        value[cls] = cost
        for user in parents[cls]:
            pending[user] -= 1
            if not pending[user] and not settled[owner[user]] and weight[user] < INFINITY:
                heappush(heap, (weight[user] + cost, user))  # cost is the dearest child: settling order rises
    return value


def required_classes(topology: Topology, weight: list[float], settled: Settled) -> list[int] | None:
    """[m] bit sets over classes that every acyclic way of building each class must hold.

    A class needs itself and what all of its usable nodes need; the greatest such sets hold for every finite derivation,
    by induction over it. None when the iteration did not come to rest in MAX_PASSES.
    """
    children, choice = topology.children, settled.choice
    everything = -1  # all bits set: the neutral element of the intersection, for classes not yet reached
    need = [everything] * topology.n_classes
    usable = {
        cls: [
            children[node]
            for node in topology.class_nodes[cls]
            if weight[node] < INFINITY and all(choice[child] >= 0 for child in children[node])
        ]
        for cls in settled.order
    }
    for _ in range(MAX_PASSES):
        changed = False
        for place, cls in enumerate(settled.order):
            common = everything
            for below in usable[cls]:
                union = 0
                for child in below:
                    union |= need[child]
                common &= union
                if not common:
                    break
            common |= 1 << place
            if common != need[cls]:
                need[cls] = common
                changed = True
        if not changed:
            return need
    return None


def cheap_bound(topology: Topology, cost: list[float], settled: Settled) -> float:
    """A lower bound on every acyclic answer: required classes at their cheapest node, or the dearest path.

    cost: [n], inf forbids, negative allowed. settled must build the roots.
    """
    weight = [value if value > 0.0 else 0.0 for value in cost]
    paths = path_bound(topology, weight)
    best = max(paths[root] for root in topology.roots)
    need = required_classes(topology, weight, settled)
    if need is not None:
        union = 0
        for root in topology.roots:
            union |= need[root]
        floors = (
            min(weight[node] for node in topology.class_nodes[cls])
            for place, cls in enumerate(settled.order)
            if union >> place & 1
        )
        best = max(best, math.fsum(floors))
    return best + rewards_below(topology, cost)
