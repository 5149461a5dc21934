"""One choice group searched alternative by alternative, where it divides the graph: what is left of it under one
alternative is much smaller, and the best answer so far cuts the others short.

Measured on the placement graph of a flash-attention kernel with 128 x 128 tiles, whose group is the number of warps
(5,313 nodes): 0.9 s of CPU to the proved optimum, 3.7 s for the whole graph at once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from time import perf_counter

from extract.answer import Answer
from extract.auto import run_portfolio
from extract.budget import PASS, Budget
from extract.constrained import ConstrainedSearch
from extract.errors import InfeasibleError
from extract.graph import Graph
from extract.heuristics import run_bounds, run_greedy
from extract.infeasible import why_infeasible
from extract.session import Listener, Session
from extract.settle import INFINITY


def branched(
    graph: Graph, group: int, budget: Budget, *, start: Answer | None = None, listener: Listener | None = None
) -> Answer:
    """The cheapest answer over all alternatives of a group, likeliest first; its bound is the least of theirs.

    Raises InfeasibleError when no alternative has an answer.
    """
    began = perf_counter()
    sessions: list[tuple[float, int, Session]] = []
    for alternative in graph.groups[group]:
        within = graph.forbid(others(graph, group, alternative))
        try:
            session = Session(graph, budget, start=start, listener=listener, within=within)
        except InfeasibleError:
            continue
        sessions.append((first_cost(session), alternative, session))
    best: Answer | None = None
    bound = INFINITY
    ended = ""
    for place, (_, _, session) in enumerate(sorted(sessions, key=lambda each: each[:2])):
        session.budget = budget.part(1 / (len(sessions) - place))
        try:
            if best is not None:
                session.adopt(best)
                run_bounds(session, thorough=True)  # often enough to see that nothing here is cheaper
            run_greedy(session)
            run_portfolio(session)
        except InfeasibleError:
            continue
        best = session.answer("auto")
        ended = ended or best.ended
        bound = min(bound, best.bound)
    if best is None:
        raise InfeasibleError(partial(why_infeasible, graph))
    return replace(best, bound=bound, seconds=perf_counter() - began, ended=ended)


def first_cost(session: Session) -> float:
    """What one bottom-up pass finds, to begin where the best answer is likely."""
    if session.graph is None or session.cost < INFINITY:
        return session.cost
    search = ConstrainedSearch(session.graph, polish=False)
    found = search.run()
    session.budget.spend(PASS * search.steps)
    return INFINITY if found is None else session.simplified.base + found.cost


def others(graph: Graph, group: int, alternative: int) -> list[int]:
    """Nodes of a group that stand for another alternative."""
    nodes = zip(graph.group.tolist(), graph.alternative.tolist(), strict=True)
    return [node for node, (g, a) in enumerate(nodes) if g == group and a != alternative]
