"""The portfolio: each method hands its answer to the next, and all stop when the bound meets the cost."""

from __future__ import annotations

from typing import Final

from extract.answer import Answer
from extract.budget import Budget, as_budget
from extract.graph import Graph
from extract.heuristics import run_bounds, run_greedy, run_narrow
from extract.pruned import run_pruned
from extract.session import Listener, Session

SMALL: Final = 1500
"""Reduced graphs up to this size go to the whole program at once: pruning first costs as much as it saves."""


def auto(
    graph: Graph,
    *,
    start: Answer | None = None,
    budget: Budget | float | None = None,
    time_limit: float | None = None,
    listener: Listener | None = None,
    branch: int | None = None,
) -> Answer:
    """The best answer within the budget, sooner when it is proved optimal.

    Simplification, dynamic programming over small treewidth, greedy with local search, the pruned 0-1 program, the
    whole one. branch: a choice group whose alternatives are searched one by one (`extract.branching`), for groups that
    divide the graph. Raises InfeasibleError when no answer meets the constraints, ExtractionError when the budget
    ended before any was found.
    """
    limit = as_budget(budget, time_limit)
    if branch is not None and len(graph.groups.get(branch, ())) > 1:
        from extract.branching import branched

        return branched(graph, branch, limit, start=start, listener=listener)
    session = Session(graph, limit, start=start, listener=listener)
    run_greedy(session)
    run_portfolio(session)
    return session.answer("auto")


def run_portfolio(session: Session) -> None:
    """All that follows greedy, until the bound meets the cost or the budget is spent."""
    try:
        run_bounds(session, thorough=True)
        run_narrow(session)
        if session.graph is not None and session.graph.n_nodes > SMALL:
            run_pruned(session)
            run_bounds(session, thorough=True)
        if not session.optimal:
            _run_programs(session)
    except KeyboardInterrupt:
        if session.chosen is None:
            raise
        session.interrupted = True
    session.require_answer()


def _run_programs(session: Session) -> None:
    """What solves 0-1 programs; many kernels are proved optimal before it and never load the solver."""
    from extract.exact import solve_exactly
    from extract.neighbourhood import run_neighbourhoods
    from extract.relaxation import run_relaxation

    run_relaxation(session)
    run_neighbourhoods(session)
    solve_exactly(session, "ilp", session.budget)
