"""The LP relaxation of the 0-1 program, tightened by what its solutions violate until that brings little.

Its duals rule out nodes as the prices of an ascent do; where many go, the rest is simplified and the work begins anew.
Before that the exact method searches the nodes that the relaxation chooses, in part or nearly: what it finds there lets
more nodes go. Source of the idea: RENS (T. Berthold, "RENS: the optimal rounding", Math. Programming Computation 6,
2014). Measured on four placement graphs of attention (1,062 to 3,947 nodes left): the optimum in 0.03 to 0.13 s of CPU
for three of them and within 3 % for the fourth in 0.6 s, where greedy was 2 to 68 % off.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from extract.budget import PASS, Budget
from extract.exact import solve_exactly
from extract.graph import Graph
from extract.heuristics import MIN_GAIN, run_again, run_bounds
from extract.program import make_program
from extract.separation import Relaxation, tolerance
from extract.session import Session
from extract.solver import Relaxed

SHARE: Final = 0.4
"""Part of the remaining budget that relaxations may take."""

ROUNDS: Final = 0.5
"""Part of it that rounds of cuts may take: they are for what is found near the last solution. On the placement graph of
intra_chunk_prepare (TileGym, sm_90a) they took all of it."""

GAIN: Final = 0.01
"""Part of the gap that a round must close, or it was the last but one."""

PROGRESS: Final = 3e-4
"""A round that raises the bound by this part of itself is never the last: the gap means little while the best answer is
poor."""

PATIENCE: Final = 2
"""Rounds in a row that may gain less."""

CHOSEN: Final = 1e-6
"""Nodes chosen by the relaxation to more than this part are searched."""

WIDE: Final = 0.08
"""Where bound and cost are this far apart, a tight relaxation comes before all that takes long. HiGHS proved placement
graphs whose gap was 1 to 7 % in 0.3 to 1.5 s of CPU, in which the rows that make the relaxation tight slow it down;
with a gap of 9 to 45 % it did not in 2 to 8."""

NEAR: Final = 0.02
"""Where little is missing, so are those whose reduced cost is less than this part of the gap."""

TIED: Final = 1e-7
"""Nodes whose reduced cost is this part of the bound the relaxation could have chosen as well: of twelve placement
graphs the best answer of four held no others, that of the rest one to six."""

STEPS: Final = (0.0, TIED, 1.5e-2)
"""Where the relaxation is tight, those whose reduced cost is less than these parts of the bound, step by step, each
from the best answer of the one before. On attention_varlen (TileGym, sm_120a) the last finds in 0.16 s of CPU what the
whole program found in 0.9; steps of 0.05 and 0.2 % before it took as long together and found nothing.
"""

SLICE: Final = 0.4
"""Part of the relaxations' remaining budget that this search may take."""


def run_relaxation(session: Session, *, tight: bool = False) -> None:
    """Raise the bound by relaxations, search near them and drop what they rule out, within a share of the remaining
    budget. tight: with all cuts that solutions violate, which takes longer and makes it harder for HiGHS; not with
    cover inequalities of the resource rows, which make HiGHS find worse answers nearby: on four of seven placement
    graphs, by 3 to 10 % within the budget that the compiler gives.
    """
    budget = session.share(SHARE)
    while session.graph is not None and not session.done and budget.left > 0:
        graph = session.graph
        relaxed = _tighten(session, budget.part(ROUNDS), tight=tight)
        if relaxed is None or session.optimal:
            return
        for margin in _margins(session, relaxed, tight=tight):  # the second of what the first leaves of the gap
            near = _near(session, graph, relaxed, margin)
            if not solve_exactly(session, "relaxation", budget.part(SLICE), near) or session.optimal:
                break
        gone = _ruled_out(session, relaxed)
        if session.optimal or len(gone) < MIN_GAIN * graph.n_nodes:
            return
        session.shrink(gone)
        run_again(session)
        run_bounds(session, thorough=True)


def look(session: Session) -> None:
    """Raise the bound by the relaxation as it is; it stays with the session for what follows."""
    found = _renewed(session)
    if found is not None:
        _solve(session, found, session.share(SHARE))


def _renewed(session: Session) -> Relaxation | None:
    """The relaxation of what is left of a session's graph; None where that holds nothing cheaper than the best."""
    graph = session.graph
    if graph is None:
        return None
    session.budget.spend(PASS * graph.n_nodes)
    program = make_program(graph, session.cost + session.slack - session.simplified.base)
    if program is None:
        session.prove("relaxation")
    session.relaxation = None if program is None else Relaxation(session, program)
    return session.relaxation


def _solve(session: Session, relaxation: Relaxation, budget: Budget) -> Relaxed | None:
    """Solve and raise the bound; None where nothing cheaper than the best is left or the budget ended first."""
    relaxation.solver.stop_at(session.cutoff + tolerance(session.cutoff))
    relaxed = relaxation.solver.relax(budget)
    if relaxed.infeasible:
        session.prove("relaxation")
        return None
    if relaxed.value is None:
        return None
    session.raise_bound(session.simplified.base + relaxed.bound - tolerance(relaxed.bound), "relaxation")
    return relaxed


def _tighten(session: Session, budget: Budget, *, tight: bool) -> Relaxed | None:
    """Solve, add what the solution violates, and again; the last solution. Rows that do not bind it go: they make a
    0-1 program half as large again and it takes as long.
    """
    relaxation = session.relaxation if not tight else None
    relaxation = relaxation or _renewed(session)
    session.relaxation = None
    if relaxation is None:
        return None
    found: Relaxed | None = None
    idle, last = 0, session.bound
    while budget.left > 0:
        relaxed = _solve(session, relaxation, budget)
        if session.optimal:
            return None
        if relaxed is None:
            break
        found = relaxed
        gain = session.bound - last
        enough = GAIN * (session.cost - last)
        idle = 0 if gain >= (min(enough, PROGRESS * abs(session.bound)) if tight else enough) else idle + 1
        last = session.bound
        if idle == PATIENCE:
            break
        if tight:
            relaxation.solver.drop_slack()
        fresh = tight and relaxation.separate(relaxed, budget, covers=False)
        if (idle or not fresh) and not (relaxation.ascend(relaxed, budget) or fresh):
            break
    if found is not None:
        session.cuts, session.covers = found.binding, found.covers
    return found


def _margins(session: Session, relaxed: Relaxed, *, tight: bool) -> Generator[float]:
    """Reduced costs up to which nodes are searched, step by step."""
    if tight:
        yield from (part * abs(relaxed.bound) for part in STEPS)
        return
    yield 0.0
    if session.gap <= WIDE:
        yield NEAR * (session.cost - session.bound)


def _near(session: Session, graph: Graph, relaxed: Relaxed, margin: float) -> bytearray:
    """[n] nodes that the relaxation chooses, in part or nearly, and the best answer's."""
    keep = bytearray(graph.n_nodes)
    for node, value in (relaxed.value or {}).items():
        keep[node] = value > CHOSEN or relaxed.price[node] < margin
    for node in session.nodes() or ():
        keep[node] = 1
    return keep


def _ruled_out(session: Session, relaxed: Relaxed) -> list[int]:
    limit = session.cutoff - relaxed.bound + tolerance(relaxed.bound)
    kept = set(session.nodes() or ())
    return [node for node, price in relaxed.price.items() if price > limit and node not in kept]
