"""The portfolio: each method passes its answer to the next, and all stop when the bound meets the cost.

A choice group that divides the graph may be searched alternative by alternative: under one alternative the remaining
graph is much smaller, and the best answer so far prunes the others. The first steps are taken for all
alternatives, to the first bound of the relaxation; then the next step is one of the alternative whose bound is least.
Measured on the placement graph of a flash-attention kernel with 128 x 128 tiles, whose group is the number of warps
(5,313 nodes): 0.9 s of CPU to the proved optimum, 3.7 s for the whole graph at once.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from time import perf_counter
from typing import Final, NamedTuple, TypeAlias

from extract.answer import Answer
from extract.budget import Budget, as_budget
from extract.errors import InfeasibleError
from extract.graph import Graph
from extract.heuristics import run_bounds, run_greedy, run_narrow
from extract.pruned import run_pruned
from extract.session import Limit, Listener, Session, why_ended
from extract.settle import INFINITY

SMALL: Final = 1500
"""Nodes of reduced graphs that go to the whole program alone: pruning first costs as much as it saves. Larger ones get
the quick form of greedy: the relaxation finds better answers in less time."""

FIRST: Final = 0.5
"""Part of the remaining budget that the whole program may take, and part that branch and cut may take then, before
heuristics have looked for a better answer."""

DIVE: Final = 0.05
"""Part of the remaining budget in which branch and cut dives for an answer before HiGHS looks for one, on small graphs,
where its relaxations take 2 ms: on that of mla_decoding (TileGym, sm_90a, 1,218 nodes) it found an answer within 0.2 %
of the best in 0.3 s of CPU, HiGHS in 2."""


def auto(
    graph: Graph,
    *,
    start: Answer | None = None,
    budget: Budget | float | None = None,
    time_limit: float | None = None,
    listener: Listener | None = None,
    branch: int | None = None,
    below: float = INFINITY,
    effort: float = INFINITY,
) -> Answer:
    """The best answer within the budget, sooner when it is proved optimal.

    Simplification, dynamic programming over small treewidth, greedy with local search, the relaxation and the 0-1
    program near it, the whole one, or, if that takes long, branch and cut and the pruned one first. branch: a choice
    group whose alternatives are searched one by one (`branched`), for groups that divide the graph. below:
    answers that do not cost less are skipped, which may end the search early. effort: after the heuristics and the
    relaxation, the search continues for a fraction of the budget that is `effort` times the square root of the gap.
    Raises InfeasibleError when no answer meets the constraints or costs less than `below`, ExtractionError when the
    budget ended before any was found.
    """
    limit = Limit(below, effort)
    search = stages(
        graph, as_budget(budget, time_limit), start, listener, branch, limit, elsewhere=INFINITY, glance=False
    )
    while True:
        try:
            next(search)
        except StopIteration as end:
            return end.value


class Found(NamedTuple):
    """The progress of a suspended search."""

    answer: Answer | None
    bound: float


Stages: TypeAlias = Generator[Found, Limit | None, Answer]
"""How far a search has come where it may be put aside, what is asked of it from there on, and its answer."""


def stages(
    graph: Graph,
    budget: Budget,
    start: Answer | None,
    listener: Listener | None,
    branch: int | None,
    limit: Limit,
    elsewhere: float,
    glance: bool,
) -> Stages:
    """The steps of the search in order."""
    if branch is not None and len(graph.groups.get(branch, ())) > 1:
        return (yield from branched(graph, branch, budget, limit, start, listener, elsewhere, glance))
    session = Session(graph, budget, start=start, listener=listener, below=limit.below, effort=limit.effort)
    offered = False
    for place, step in enumerate(STEPS):
        found = place >= FOUND and session.chosen is not None and not session.done
        if found and not offered and (place > FOUND or not CLEAR < session.gap <= elsewhere):
            offered = True
            session.narrow((yield Found(session.answer("auto"), session.bound)), found=True)
        elif glance and place == GLANCE and not session.done:
            session.narrow((yield Found(None, session.bound)), found=False)
        with until_interrupted(session):
            step(session)
        if session.interrupted:
            break
    session.require_answer()
    return session.answer("auto")


@contextmanager
def until_interrupted(session: Session) -> Generator[None]:
    """Ctrl-C ends the work on a session that has an answer."""
    try:
        yield
    except KeyboardInterrupt:
        if session.chosen is None:
            raise
        session.interrupted = True


def begin(session: Session) -> None:
    """The fast steps, which suffice for many graphs."""
    run_narrow(session, long=True)
    if session.optimal:
        return
    large = session.graph is not None and session.graph.n_nodes > SMALL
    run_greedy(session, quick=large)
    run_bounds(session, thorough=True)
    run_narrow(session)


def look(session: Session) -> None:
    """The relaxation's first bound, which costs little beside all that follows."""
    if not session.done:
        from extract.relaxation import look  # many kernels are proved before and never load the solver

        look(session)


def relax(session: Session) -> None:
    """The relaxation, which mostly finds the best answer."""
    if not session.done:
        from extract.relaxation import run_relaxation

        run_relaxation(session)


def tighten(session: Session) -> None:
    """What may work on until the gap is accepted: the whole program where little is missing, a tight relaxation."""
    if session.closing is None:
        session.closing = session.budget.spent
    if session.done:
        return
    from extract.exact import solve_exactly
    from extract.relaxation import WIDE, run_relaxation

    wide = session.cost - session.bound > WIDE * abs(session.cost)
    if wide or not solve_exactly(session, "ilp", session.share(FIRST)):
        run_relaxation(session, tight=True)


def finish(session: Session) -> None:
    """The remaining steps, until the bound meets the cost, the gap is accepted or the budget is used up."""
    if session.done:
        return
    from extract.branch_cut import branch_and_cut
    from extract.exact import solve_exactly
    from extract.relaxation import run_relaxation

    if session.graph is not None and session.graph.n_nodes <= SMALL:
        branch_and_cut(session, session.share(DIVE), rounds=0)
    if session.done or solve_exactly(session, "ilp", session.share(FIRST)):
        return
    if session.done or branch_and_cut(session, session.share(FIRST)) or session.done:
        return
    if session.graph is not None and session.graph.n_nodes > SMALL:
        run_greedy(session)
        run_pruned(session)
        run_bounds(session, thorough=True)
        run_relaxation(session)
    solve_exactly(session, "ilp", session.share(1.0))


STEPS: Final = (begin, look, relax, tighten, finish)
"""The portfolio in order."""

CLEAR: Final = 0.2
"""Gap up to which an answer is good enough for the search to be suspended. Where it was 63 and 23 % (TileGym: mamba2's
da_db, sm_120a, and mla_decoding_split_kv, sm_90a), other programs were searched for 0.8 and 0.5 s of CPU, and then the
tight relaxation found an answer for 42 and 80 % of the cost."""

GLANCE: Final = 1
"""Steps whose bounds a glance sees."""

FOUND: Final = 3
"""Steps that look for an answer; those behind them mostly prove it."""

TOGETHER: Final = 2
"""Steps that all alternatives take before any goes on: `begin` and `look`."""


# --- the same for a group that divides the graph


def branched(
    graph: Graph,
    group: int,
    budget: Budget,
    limit: Limit,
    start: Answer | None,
    listener: Listener | None,
    elsewhere: float,
    glance: bool,
) -> Stages:
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
        raise InfeasibleError
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
