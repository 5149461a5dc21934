"""The portfolio: each method passes its answer to the next, and all stop when the bound meets the cost."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeAlias

from extract.answer import Answer
from extract.budget import Budget, as_budget
from extract.graph import Graph
from extract.heuristics import run_bounds, run_greedy, run_narrow
from extract.pruned import run_pruned
from extract.session import Listener, Session
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
    program near it, the whole one, or, if that takes long, the pruned one and neighbourhoods first. branch: a choice
    group whose alternatives are searched one by one (`extract.branching`), for groups that divide the graph. below:
    answers that do not cost less are skipped, which may end the search early. effort: after the heuristics and the
    relaxation, the search continues for a fraction of the budget that is `effort` times the square root of the gap.
    Raises InfeasibleError when no answer meets the constraints or costs less than `below`, ExtractionError when the
    budget ended before any was found.
    """
    search = Pursuit(graph, as_budget(budget, time_limit), start, listener, branch, below, effort)
    while not search.ended:
        search.go_on()
    return search.answer


class Limit(NamedTuple):
    """Limits of a continued search: the cost to stay below and the effort, as in `auto`; an answer from elsewhere to
    search near.
    """

    below: float
    effort: float
    near: Answer | None = None


class Found(NamedTuple):
    """The progress of a suspended search."""

    answer: Answer | None
    bound: float


class Pursuit:
    """The search of `auto`, which can be suspended after the heuristics and the relaxation: they have usually found the
    best answer, and the rest proves it. If the gap is wide, it is suspended after the tight relaxation; but before that
    if the gap is wider than `elsewhere`, because a better answer is then more likely in another graph. `glance`: also
    after its first bounds, which take a tenth to a fifth of a search and may show that another graph should come first.
    """

    def __init__(
        self, graph: Graph, limit: Budget, start: Answer | None = None, listener: Listener | None = None,
        branch: int | None = None, below: float = INFINITY, effort: float = INFINITY, elsewhere: float = INFINITY,
        glance: bool = False,
    ):  # fmt: skip
        self._stages = stages(graph, limit, start, listener, branch, Limit(below, effort), elsewhere, glance)
        self._found = Found(None, -INFINITY)
        self._limit: Limit | None = None
        self._aside = False
        self.ended = False

    def go_on(self) -> None:
        """Run to the next suspension point, or to the end. Raises as `auto` does."""
        limit, self._limit = (self._limit, None) if self._aside else (None, self._limit)  # a search begins with none
        try:
            self._found = self._stages.send(limit)
            self._aside = True
        except StopIteration as end:
            self._found, self.ended = Found(end.value, end.value.bound), True

    def stay_below(self, below: float, effort: float, near: Answer | None = None) -> None:
        """Ask the search that was put aside for answers that cost less, and for this effort, when it goes on, and to
        look for them near one that was found otherwise.
        """
        self._limit = Limit(below, effort, near)

    @property
    def answer(self) -> Answer:
        """The best answer so far."""
        assert self._found.answer is not None
        return self._found.answer

    @property
    def bound(self) -> float:
        """The best known lower bound."""
        return self._found.bound


Stages: TypeAlias = Generator[Found, Limit | None, Answer]
"""How far a search has come where it may be put aside, what is asked of it from there on, and its answer."""


def stages(
    graph: Graph, budget: Budget, start: Answer | None, listener: Listener | None, branch: int | None, limit: Limit,
    elsewhere: float, glance: bool,
) -> Stages:  # fmt: skip
    """The steps of the search in order."""
    if branch is not None and len(graph.groups.get(branch, ())) > 1:
        from extract.branching import branched

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
    from extract.neighbourhood import run_neighbourhoods
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
    run_neighbourhoods(session)
    solve_exactly(session, "ilp", session.share(1.0))


STEPS: Final = (begin, look, relax, tighten, finish)
"""The portfolio in order."""

CLEAR: Final = 0.2
"""Gap up to which an answer says enough for the search to be put aside. Where it was 63 and 23 % (TileGym: mamba2's
da_db, sm_120a, and mla_decoding_split_kv, sm_90a), other programs were searched for 0.8 and 0.5 s of CPU, and then the
tight relaxation found an answer for 42 and 80 % of the cost."""

GLANCE: Final = 1
"""Steps whose bounds a glance sees."""

FOUND: Final = 3
"""Steps that look for an answer; those behind them mostly prove it."""
