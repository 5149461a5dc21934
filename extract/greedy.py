"""Greedy DAG extraction with local search: milliseconds on thousands of nodes, usually within a few per cent."""

from __future__ import annotations

from time import perf_counter
from typing import Final

from extract.answer import Answer, make_answer
from extract.bounds import forced_bound
from extract.collector import gc_disabled
from extract.constrained import ConstrainedSearch
from extract.graph import Graph
from extract.heuristics import run_bounds, run_greedy
from extract.ilp import run_ilp
from extract.local import improve
from extract.session import Session
from extract.settle import settle_dag

LARGE: Final = 1500
"""Nodes below the roots beyond which greedy is one bottom-up pass: simplification and local search take 20 to 40 us a
node, the pass 2 to 4; `auto` spends them."""

HUGE: Final = 25_000
"""Nodes from which local search has room again in a limit that rises from 50 ms at 10,000 nodes to 400 ms at 40,000."""

HUGE_EFFORT: Final = 3.0
"""Steps per node that local search then gets (`improve`): enough for the 18 % that it gains on herbie/5799."""


def greedy(graph: Graph, *, start: Answer | None = None, polish: bool | None = None) -> Answer:
    """The cheapest DAG found bottom-up, sharing counted once, then improved class by class.

    polish: whether to simplify first and improve afterwards; by default up to `LARGE` nodes. Choice groups and resource
    rows hold. When no choice that meets them is found, the exact method decides. Raises InfeasibleError when none
    exists.
    """
    if polish is None:
        polish = len(graph.topology.nodes) <= LARGE
    if not polish:
        with gc_disabled():
            found = _one_pass(graph)
        if found is not None:
            return found
    session = Session(graph, start=start)
    run_bounds(session, thorough=False)
    run_greedy(session)
    if session.chosen is None:
        run_ilp(session)
    return session.answer("greedy")


def _one_pass(graph: Graph) -> Answer | None:
    """Greedy DAG alone, on the part below the roots; None when it found nothing that meets the constraints."""
    began = perf_counter()
    search = ConstrainedSearch(graph, settle_dag, polish=False)
    candidate = search.run()
    if candidate is None:
        return None
    found = candidate.choice
    if len(search.topology.nodes) >= HUGE:
        cost = search.masked(candidate.assignment)
        found = improve(search.topology, cost, found, search.constraints, effort=HUGE_EFFORT)
    choice = {cls: node for cls, node in enumerate(found) if node >= 0}
    return make_answer(graph, choice, forced_bound(search.topology, search.cost), "greedy", perf_counter() - began)
