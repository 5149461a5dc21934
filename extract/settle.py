"""Bottom-up passes that settle one node per class in order of rising cost (Knuth's generalisation of Dijkstra).

Source of the order: D. E. Knuth, "A generalization of Dijkstra's algorithm", IPL 6(1), 1977. It needs a node to cost at
least as much as each of its children's classes, which holds for tree and for DAG cost when weights are >= 0. Each node
is priced once, after its last child is settled, so the choice is acyclic by construction.
"""

from __future__ import annotations

from array import array
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from extract.topology import Topology

INFINITY = float("inf")

SMALL_SET = 30
"""Larger sets are summed by NumPy, smaller ones bit by bit: 5 us a sum over 5,000 classes against 0.15 us a bit."""


class Settled(NamedTuple):
    """A node per class (-1: cannot be built), what it costs to build the class alone, and the settling order."""

    choice: list[int]
    value: list[float]
    order: list[int]

    def builds(self, classes: list[int]) -> bool:
        """Whether every one of the classes can be built."""
        return all(self.choice[cls] >= 0 for cls in classes)


def settle_tree(topology: Topology, weight: list[float]) -> Settled:
    """Cheapest trees: a shared class is paid for by every user. weight: [n] >= 0, inf forbids."""
    owner, children, parents = topology.node_class, topology.children, topology.parents
    pending = topology.arity.copy()
    choice = [-1] * topology.n_classes
    value = [INFINITY] * topology.n_classes
    order: list[int] = []
    heap = [(weight[node], node) for node in topology.leaves if weight[node] < INFINITY]
    heapify(heap)
    while heap:
        cost, node = heappop(heap)
        cls = owner[node]
        if choice[cls] >= 0:
            continue
        choice[cls] = node
        value[cls] = cost
        order.append(cls)
        for user in parents[cls]:
            left = pending[user] - 1
            pending[user] = left
            if not left and choice[owner[user]] < 0:
                total = weight[user]
                for child in children[user]:
                    total += value[child]
                if total < value[owner[user]]:  # also drops inf: value is at most inf
                    value[owner[user]] = total
                    heappush(heap, (total, user))
    return Settled(choice, value, order)


def settle_dag(topology: Topology, weight: list[float]) -> Settled:
    """Greedy DAG: a node costs the union of its children's settled sub-DAGs, each class in it counted once.

    weight: [n] >= 0, inf forbids. A sub-DAG is an int used as a bit set over the settled classes of weight > 0; bits
    rise with the settling order, so early classes have short sets.
    """
    owner, children, parents = topology.node_class, topology.children, topology.parents
    pending = topology.arity.copy()
    choice = [-1] * topology.n_classes
    value = [INFINITY] * topology.n_classes
    below = [0] * topology.n_classes
    bit_weight = array("d", bytes(8 * topology.n_classes))
    bits: list[float] = []
    order: list[int] = []
    heap = [(weight[node], node) for node in topology.leaves if weight[node] < INFINITY]
    heapify(heap)
    alone = topology.alone
    ready: list[tuple[float, int]] = []  # only nodes of their classes: nothing cheaper can come, so they need no order
    while heap or ready:
        cost, node = ready.pop() if ready else heappop(heap)
        cls = owner[node]
        if choice[cls] >= 0:
            continue
        choice[cls] = node
        value[cls] = cost
        order.append(cls)
        own = weight[node]
        if own > 0.0:
            below[cls] |= 1 << len(bits)
            bit_weight[len(bits)] = own
            bits.append(own)
        for user in parents[cls]:
            left = pending[user] - 1
            pending[user] = left
            if left:
                continue
            target = owner[user]
            if choice[target] >= 0:
                continue
            # The last child to settle is mostly the dearest, so its set is the one to extend.
            total, best = weight[user] + cost, value[target]
            if total >= best:
                continue
            union = below[cls]
            if len(children[user]) > 1:
                for child in children[user]:
                    more = below[child]
                    if child == cls or not more:
                        continue
                    common = more & union
                    if not common:
                        total += value[child]
                    elif common != more:
                        total += _sum_bits(more ^ common, bits, bit_weight)
                    else:
                        continue
                    union |= more
                    if total >= best:
                        break
                if total >= best:
                    continue
            value[target] = total
            below[target] = union
            if alone[target]:
                ready.append((total, user))
            else:
                heappush(heap, (total, user))
    return Settled(choice, value, order)


def node_values(topology: Topology, weight: list[float], settled: Settled) -> list[float]:
    """[n] what each node costs with the settled sub-DAGs of its children, sharing counted once; inf: cannot be used."""
    children, choice = topology.children, settled.choice
    below = [0] * topology.n_classes
    bit_weight = array("d", bytes(8 * topology.n_classes))
    bits: list[float] = []
    for cls in settled.order:
        union = 0
        for child in children[choice[cls]]:
            union |= below[child]
        own = weight[choice[cls]]
        if own > 0.0:
            union |= 1 << len(bits)
            bit_weight[len(bits)] = own
            bits.append(own)
        below[cls] = union
    values = [INFINITY] * topology.n_nodes
    for node in topology.nodes:
        total, union = weight[node], 0
        for child in children[node]:
            fresh = below[child] & ~union
            if choice[child] < 0:
                total = INFINITY
            elif fresh:
                total += settled.value[child] if fresh == below[child] else _sum_bits(fresh, bits, bit_weight)
                union |= fresh
        values[node] = total
    return values


def _sum_bits(members: int, bits: list[float], bit_weight: array[float]) -> float:
    if members.bit_count() > SMALL_SET:
        raw = members.to_bytes((members.bit_length() + 7) >> 3, "little")
        flags = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")
        size = min(len(flags), len(bit_weight))
        return float(flags[:size] @ np.frombuffer(bit_weight)[:size])
    total = 0.0
    while members:
        top = members.bit_length() - 1  # from the top, so that what is left gets shorter
        total += bits[top]
        members ^= 1 << top
    return total


def weights(cost: list[float]) -> list[float]:
    """Costs made fit for settling: rewards count as 0, because settling needs costs that never fall upwards."""
    return [value if value > 0.0 else 0.0 for value in cost]
