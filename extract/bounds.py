"""Lower bounds that cost no more than a greedy pass."""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush

from extract.settle import INFINITY
from extract.topology import Topology


def rewards_below(topology: Topology, cost: list[float]) -> float:
    """The most that negative costs can give: each class counts its best reward once. <= 0."""
    if min(cost, default=0.0) >= 0.0:
        return 0.0
    return math.fsum(min([0.0, *(cost[node] for node in topology.class_nodes[cls])]) for cls in topology.classes)


def forced_bound(topology: Topology, cost: list[float]) -> float:
    """The minimum that the roots require: a class with one node requires that node's children too.

    cost: [n], inf forbids, negative allowed. Looks at nothing but what is needed.
    """
    least: list[float] = []
    needed = dict.fromkeys(topology.roots)
    order = list(needed)
    for cls in order:  # grows while it is walked
        nodes = topology.class_nodes[cls]
        if len(nodes) != 1:
            least.append(max(0.0, min([cost[node] for node in nodes], default=INFINITY)))
            continue
        least.append(max(0.0, cost[nodes[0]]))
        for child in topology.children[nodes[0]]:
            if child not in needed:
                needed[child] = None
                order.append(child)
    return math.fsum(least) + rewards_below(topology, cost)


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
