"""Large neighbourhood search: the exact method on a few classes, everything else as in the best answer."""

from __future__ import annotations

from random import Random
from typing import Final

from extract.budget import PASS
from extract.exact import solve_exactly
from extract.graph import Graph
from extract.session import Session
from extract.settle import INFINITY, settle_dag, weights

SHARE: Final = 0.4
"""Part of the remaining budget that the search may take."""

GAP: Final = 0.01
"""Below this gap the budget is better spent on the proof."""

FIRST: Final = 50
"""Free nodes, in classes with a choice, of the first neighbourhoods."""

GROWTH: Final = 1.3
"""More nodes after a neighbourhood that was searched through without gain, fewer after one that was not."""

SLICE: Final = 0.1
"""Part of the search's remaining budget that one neighbourhood may take."""

IDLE: Final = 40
"""Neighbourhoods in a row without gain that end the search."""


def run_neighbourhoods(session: Session) -> None:
    """Improve the best answer in random neighbourhoods of growing size, within a share of the remaining budget."""
    graph = session.graph
    if graph is None or session.done or session.chosen is None:
        return
    if session.cost - session.bound <= GAP * abs(session.cost):
        return
    budget = session.share(SHARE)
    random = Random(2)  # the same answer every time
    size = float(FIRST)
    idle = 0
    while not session.done and idle < IDLE and budget.left > 0:
        best = session.nodes()
        if best is None:
            return
        before = session.cost
        budget.spend(2 * PASS * graph.n_nodes)
        keep = _keep(graph, best, _around(graph, random, best, size))
        ended = solve_exactly(session, "neighbourhood", budget.part(SLICE), keep)
        if session.cost < before:
            idle = 0
            continue
        idle += 1
        size = size * GROWTH if ended else size / GROWTH
        if size > graph.n_nodes:
            return


def _around(graph: Graph, random: Random, best: list[int], size: float) -> list[int]:
    """Classes near a needed one, over users and children, until those with a choice hold so many nodes."""
    topology = graph.topology
    start = topology.node_class[random.choice(best)]
    seen = {start}
    order = [start]
    count = 0
    for place, cls in enumerate(order):  # grows while it is walked
        members = topology.class_nodes[cls]
        count += len(members) if len(members) > 1 else 0
        if count >= size:
            return order[: place + 1]
        near = {child for node in members for child in topology.children[node]}
        near.update(topology.node_class[node] for node in topology.parents[cls])
        fresh = sorted(near - seen)
        random.shuffle(fresh)
        seen.update(fresh)
        order.extend(fresh)
    return order


def _keep(graph: Graph, best: list[int], free: list[int]) -> bytearray:
    """[n] all nodes of the free classes; of the others the best answer's, or the cheapest to add to it."""
    topology = graph.topology
    weight = weights(graph.columns.cost)
    for node in best:
        for other in topology.class_nodes[topology.node_class[node]]:
            weight[other] = INFINITY
        weight[node] = 0.0
    keep = bytearray(topology.n_nodes)
    for node in settle_dag(topology, weight).choice:
        if node >= 0:
            keep[node] = 1
    for cls in free:
        for node in topology.class_nodes[cls]:
            keep[node] = 1
    return keep
