"""Exact extraction: the whole 0-1 program, begun from the greedy answer.

Every relaxation on the way gives a valid lower bound, so a run that ends at its time limit still states a gap.
"""

from __future__ import annotations

from extract.answer import Answer
from extract.errors import ExtractionError
from extract.graph import Graph
from extract.heuristics import run_bounds, run_greedy
from extract.session import Listener, Session


def ilp(
    graph: Graph,
    *,
    start: Answer | None = None,
    time_limit: float | None = None,
    listener: Listener | None = None,
) -> Answer:
    """The cheapest answer, proved when it ends within time_limit seconds, else the best found with its bound.

    start: an answer to begin from, also one for other costs. Raises InfeasibleError when no answer meets the
    constraints, ExtractionError when the time ended before any was found.
    """
    session = Session(graph, time_limit, start=start, listener=listener)
    run_ilp(session)
    return session.answer("ilp")


def run_ilp(session: Session) -> None:
    """Greedy, bounds, then the whole program, until the session's deadline or Ctrl-C."""
    from extract.exact import solve_exactly  # loaded where the solver is asked for: most compilations never do
    from extract.relaxation import run_relaxation

    try:
        run_greedy(session)
        run_bounds(session, thorough=True)
        run_relaxation(session)
        solve_exactly(session, "ilp", session.deadline)
    except KeyboardInterrupt:
        if session.chosen is None:
            raise
        session.interrupted = True
    if session.chosen is None:
        raise ExtractionError("the time limit ended before any answer was found; allow more seconds")
