"""What a session does before it asks the solver: greedy, bounds by ascent, dynamic programming."""

from __future__ import annotations

from typing import Final

from extract.ascent import ascend, preferences
from extract.bounds import rewards_below
from extract.budget import ASCENT, NARROW, PASS
from extract.errors import InfeasibleError
from extract.graph import Graph
from extract.session import Session
from extract.settle import INFINITY, weights

MAX_NARROW_NODES: Final = 500
"""Larger reduced graphs are tried for small treewidth only if they are long: none of extraction-gym had it, and to see
that takes 15 us a node."""

LONG: Final = 12
"""A graph is long if it has at most this many classes a level. On chains of 1,000 to 5,000 operations in two layouts
there are 4 to 6, and relaxations take a time that is quadratic in the length; 18 kernels of TileGym have 20 to 70."""

ROUNDS: Final = 5
"""Rounds of bounding, dropping and simplifying; on extraction-gym three were enough."""

MIN_GAIN: Final = 0.05
"""Part of the nodes that must go for another round to pay."""


def run_greedy(session: Session, *, quick: bool = False) -> None:
    """Greedy DAG with local search; quick: with little of it."""
    if session.search is not None and not session.optimal:
        found = session.search.run(quick=quick)
        session.budget.spend(PASS * session.search.steps)
        if found is not None:
            session.offer(found, "greedy")


def run_again(session: Session) -> None:
    """After nodes have gone: greedy where it is cheap, else local search from the best answer."""
    nodes = session.nodes()
    if session.search is None or session.optimal:
        return
    if session.chosen is None or not session.search.descends:
        run_greedy(session, quick=True)
    elif nodes is not None:
        session.budget.spend(PASS * len(session.search.topology.nodes))
        session.repair_from(nodes, "greedy")


def run_narrow(session: Session, *, long: bool = False) -> None:
    """Dynamic programming where the graph is small and narrow: exact, unless cycles or limits bind. long: where it is
    large and long.
    """
    graph = session.graph
    if graph is None or session.optimal or graph.has_rewards:
        return
    if not _is_long(graph) if long else graph.n_nodes > MAX_NARROW_NODES:
        return
    if long:
        session.budget.spend(NARROW * graph.n_nodes)
    from extract.treewidth import solve_narrow

    found = solve_narrow(graph)
    if found is None:
        return
    nodes, cost = found
    if cost == INFINITY:
        if session.chosen is None:
            raise InfeasibleError
        session.prove("treewidth")
        return
    session.raise_bound(session.simplified.base + cost, "treewidth")
    session.repair_from(nodes, "treewidth", exact=True)


def _is_long(graph: Graph) -> bool:
    """Whether a large graph has few classes for each level below its roots."""
    topology = graph.topology
    if graph.n_nodes <= MAX_NARROW_NODES:
        return False
    level = dict.fromkeys(topology.roots, 0)
    for cls in topology.classes:  # breadth first
        below = level[cls] + 1
        for node in topology.class_nodes[cls]:
            for child in topology.children[node]:
                level.setdefault(child, below)
    return len(topology.classes) <= LONG * (1 + max(level.values()))


def run_bounds(session: Session, *, thorough: bool) -> None:
    """Raise the bound by ascents, drop the nodes whose price puts them past the best cost, simplify, and again."""
    for _ in range(ROUNDS if thorough else 1):
        graph = session.graph
        if graph is None or session.done:
            return
        gone = _ascents(session, graph, thorough=thorough)
        if session.optimal or len(gone) < MIN_GAIN * graph.n_nodes or not thorough:
            return
        session.shrink(gone)
        run_again(session)


def _ascents(session: Session, graph: Graph, *, thorough: bool) -> list[int]:
    """Ascents by several preferences; nodes that no cheaper answer holds. Keeps the cuts for the solver."""
    topology = graph.topology
    weight = weights(graph.columns.cost)
    rewards = rewards_below(topology, graph.columns.cost)
    prices: list[tuple[float, list[float]]] = []
    cuts: dict[frozenset[int], list[int]] = {}
    session.budget.spend(2 * PASS * graph.n_nodes)
    for prefer in preferences(graph, weight)[: 3 if thorough else 2]:
        session.notify()
        found = ascend(topology, weight, prefer)
        session.budget.spend(ASCENT * found.grown)
        if found.bound == INFINITY:
            session.prove("bounds")
            return []
        session.raise_bound(session.simplified.base + found.bound + rewards, "bounds")
        prices.append((found.bound + rewards, found.price))
        cuts.update((frozenset(cut), cut) for cut in found.cuts)
        if thorough and not session.optimal and _is_long(graph):
            session.build_from((node for node in topology.nodes if not found.price[node]), "bounds")
        if session.cost == INFINITY or session.optimal or session.left <= 0:
            break
    gone = bytearray(topology.n_nodes)
    cutoff = session.cutoff
    for least, price in prices:
        for node in topology.nodes:
            if least + price[node] > cutoff:
                gone[node] = 1
    session.cuts = list(cuts.values())
    for node in session.nodes() or ():
        gone[node] = 0
    return [node for node in topology.nodes if gone[node]]
