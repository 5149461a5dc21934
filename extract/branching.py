"""One choice group searched alternative by alternative, for groups that divide the graph: under one alternative the
remaining graph is much smaller, and the best answer so far prunes the others.

The first steps of the portfolio are taken for all alternatives, to the first bound of the relaxation; then the next
step is one of the alternative whose bound is least. Measured on the
placement graph of a flash-attention kernel with 128 x 128 tiles, whose group is the number of warps (5,313 nodes): 0.9
s of CPU to the proved optimum, 3.7 s for the whole graph at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Final

from extract.answer import Answer
from extract.auto import CLEAR, FOUND, GLANCE, STEPS, Found, Limit, Stages, until_interrupted
from extract.budget import Budget
from extract.errors import InfeasibleError
from extract.graph import Graph
from extract.heuristics import run_bounds
from extract.session import Listener, Session, why_ended, why_none
from extract.settle import INFINITY

TOGETHER: Final = 2
"""Steps that all alternatives take before any goes on: `begin` and `look`."""


def branched(
    graph: Graph, group: int, budget: Budget, limit: Limit, start: Answer | None, listener: Listener | None,
    elsewhere: float, glance: bool,
) -> Stages:  # fmt: skip
    """The cheapest answer over all alternatives of a group, likeliest first; its bound is the least of theirs. The
    search may be put aside before the first alternative takes a step that proves (`elsewhere`, `glance`: as in
    `Pursuit`).

    Raises InfeasibleError when no alternative has an answer that costs less than `limit.below`.
    """
    began = perf_counter()
    sessions = alternatives(graph, group, budget, limit, start, listener)
    best: Answer | None = None
    taken = dict.fromkeys(sessions, 0)  # steps
    looking = True
    while taken:
        session = min(taken, key=lambda session: (min(taken[session], TOGETHER), session.bound))
        if glance and taken[session] == GLANCE:
            glance = False
            limit = narrowed(sessions, limit, (yield Found(None, least(None, sessions))), found=False)
        if looking and best is not None and taken[session] >= FOUND:
            so_far = replace(best, bound=least(best, sessions), seconds=perf_counter() - began, ended="")
            looking = CLEAR < so_far.gap <= elsewhere and taken[session] == FOUND
            if not looking:
                limit = narrowed(sessions, limit, (yield Found(so_far, so_far.bound)), found=True)
        if best is not None and best.cost >= limit.below:
            best = None
        place, before = taken[session], budget.spent
        session.budget = budget.part(1 / len(taken))
        if best is not None and best.cost < session.cost:
            session.adopt(best)
            run_bounds(session, thorough=True)  # often enough to see that nothing here is cheaper
        try:
            with until_interrupted(session):
                STEPS[place](session)
        except InfeasibleError:
            sessions.remove(session)
            del taken[session]
            continue
        taken[session] = place + 1
        if place + 1 == len(STEPS) or session.optimal:
            del taken[session]
        if session.chosen is not None and (best is None or session.cost < best.cost):
            best = session.answer("auto")
        for other in taken.keys() - {session}:
            if other.closing is not None:
                other.closing += budget.spent - before
    if best is None:
        for session in sessions:
            session.require_answer()
        raise InfeasibleError(partial(why_none, graph, limit.below))
    found = replace(best, bound=least(best, sessions), seconds=perf_counter() - began, ended="")
    if found.optimal:
        return found
    return replace(found, ended=budget.name if limit.effort == INFINITY else why_ended(budget, found.gap))


def alternatives(
    graph: Graph, group: int, budget: Budget, limit: Limit, start: Answer | None, listener: Listener | None
) -> list[Session]:
    """A session for each alternative that has an answer."""
    sessions: list[Session] = []
    for alternative in graph.groups[group]:
        within = graph.only(group, alternative)
        with suppress(InfeasibleError):
            session = Session(
                graph, budget, start=start, listener=listener, within=within, below=limit.below, effort=limit.effort
            )
            run_bounds(session, thorough=False)
            sessions.append(session)
    return sessions


def narrowed(sessions: Sequence[Session], limit: Limit, asked: Limit | None, *, found: bool) -> Limit:
    """The limit from here on, which all alternatives keep to."""
    for session in sessions:
        session.narrow(asked, found=found)
    return limit if asked is None else asked


def least(best: Answer | None, sessions: Sequence[Session]) -> float:
    """What no answer costs less than."""
    bounds = [session.bound for session in sessions] + ([] if best is None else [best.cost])
    return min(bounds, default=INFINITY)
