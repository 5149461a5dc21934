"""Exact search on a part of the graph: nodes whose greedy price is near the best of their class.

Source of the idea: e-boost (arXiv 2508.13020), which prunes by the ratio of heuristic DAG costs and starts the 0-1
program from the heuristic answer. The ratio is opened step by step; each step begins from the best answer so far.
"""

from __future__ import annotations

from typing import Final

from extract.answer import Answer
from extract.budget import LONG_BUDGET, PASS, Budget, as_budget
from extract.graph import Graph
from extract.heuristics import run_bounds, run_greedy
from extract.session import Listener, Session
from extract.settle import node_values, settle_dag, weights

THETAS: Final = (1.1, 1.25, 1.5, 2.0, 4.0)
"""Ratios to the best of the class. On the extraction-gym files 1.1 to 2 find what there is to find; 4 is left for
graphs whose greedy prices mislead."""

SLICE: Final = 0.25
"""Part of the remaining budget that one ratio may take."""

GROWTH: Final = 1.02
"""A ratio that keeps hardly more nodes than the one before is passed over."""


def pruned(
    graph: Graph,
    *,
    start: Answer | None = None,
    budget: Budget | float | None = None,
    time_limit: float | None = None,
    listener: Listener | None = None,
) -> Answer:
    """The cheapest answer found among nodes near the best of their class; its bound is a cheap one.

    Raises InfeasibleError when no answer meets the constraints, ExtractionError when the budget
    ended before any was found.
    """
    from extract.exact import solve_exactly

    session = Session(graph, as_budget(budget, time_limit, LONG_BUDGET), start=start, listener=listener)
    try:
        run_greedy(session)
        run_bounds(session, thorough=True)
        session.cut_short = not run_pruned(session)
        if session.chosen is None:
            solve_exactly(session, "ilp", session.budget)
    except KeyboardInterrupt:
        if session.chosen is None:
            raise
        session.interrupted = True
    session.require_answer()
    return session.answer("pruned")


def run_pruned(session: Session) -> bool:
    """Open the ratio until a step does not end in its slice of the budget, or nothing is pruned any more.

    Returns whether every step ran to its end.
    """
    graph = session.graph
    if graph is None or session.chosen is None or graph.has_rewards:
        return True  # prices say nothing about rewards
    from extract.exact import solve_exactly

    session.budget.spend(2 * PASS * graph.n_nodes)
    ratios = _ratios(graph)
    before = 0
    for theta in THETAS:
        if session.done:
            return True
        keep = bytearray(ratio <= theta for ratio in ratios)
        for node in session.nodes() or ():
            keep[node] = 1
        kept = sum(keep)
        if kept == graph.n_nodes:
            return True  # that is the whole program
        if kept < before * GROWTH:
            continue
        before = kept
        if not solve_exactly(session, f"pruned {theta:g}", session.share(SLICE), keep):
            return False
    return True


def _ratios(graph: Graph) -> list[float]:
    """[n] greedy price of each node over the best of its class; inf for nodes that cannot be used."""
    topology = graph.topology
    weight = weights(graph.columns.cost)
    settled = settle_dag(topology, weight)
    values = node_values(topology, weight, settled)
    ratios = [float("inf")] * topology.n_nodes
    for cls in topology.classes:
        members = topology.class_nodes[cls]
        best = min((values[node] for node in members), default=0.0)
        for node in members:
            ratios[node] = values[node] / best if best else 1.0 + values[node]
    return ratios
