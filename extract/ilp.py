"""Exact extraction: the whole 0-1 program, begun from the greedy answer.

Every relaxation on the way gives a valid lower bound, so a run that ends at its limit still states a gap.
"""

from __future__ import annotations

from extract.answer import Answer
from extract.budget import LONG_BUDGET, Budget, as_budget
from extract.graph import Graph
from extract.heuristics import run_bounds, run_greedy
from extract.session import Listener, Session


def ilp(
    graph: Graph,
    *,
    start: Answer | None = None,
    budget: Budget | float | None = None,
    time_limit: float | None = None,
    listener: Listener | None = None,
) -> Answer:
    """The cheapest answer, proved when it ends within the budget, else the best found with its bound.

    start: an answer to begin from, also one for other costs. Raises InfeasibleError when no answer meets the
    constraints, ExtractionError when the budget ended before any was found.
    """
    session = Session(graph, as_budget(budget, time_limit, LONG_BUDGET), start=start, listener=listener)
    run_ilp(session)
    return session.answer("ilp")


def run_ilp(session: Session) -> None:
    """Greedy, bounds, then the whole program, until the session's budget is spent or Ctrl-C."""
    from extract.exact import solve_exactly  # loaded where the solver is asked for: most compilations never do
    from extract.relaxation import run_relaxation

    try:
        run_greedy(session)
        run_bounds(session, thorough=True)
        run_relaxation(session)
        solve_exactly(session, "ilp", session.budget)
    except KeyboardInterrupt:
        if session.chosen is None:
            raise
        session.interrupted = True
    session.require_answer()
