"""The LP relaxation of the 0-1 program, tightened by cuts from ascents until they bring little.

Its duals rule out nodes as the prices of an ascent do; where many go, the rest is simplified and the work begins anew.
Before that the exact method searches the nodes that the relaxation chooses, in part or nearly: what it finds there lets
more nodes go. Source of the idea: RENS (T. Berthold, "RENS: the optimal rounding", Math. Programming Computation 6,
2014). Measured on four placement graphs of attention (1,062 to 3,947 nodes left): the optimum in 0.03 to 0.13 s of CPU
for three of them and within 3 % for the fourth in 0.6 s, where greedy was 2 to 68 % off.
"""

from __future__ import annotations

from random import Random
from typing import Final

from extract.ascent import ascend
from extract.budget import ASCENT, PASS, Budget
from extract.cycles import two_cycles
from extract.exact import solve_exactly
from extract.graph import Graph
from extract.heuristics import WORTH, preferences, run_again, run_bounds
from extract.program import make_program
from extract.session import SOLVER_TOLERANCE, Session
from extract.settle import INFINITY, weights
from extract.solver import Relaxed, Solver

SHARE: Final = 0.4
"""Part of the remaining budget that relaxations may take."""

BATCH: Final = 6
"""Ascents between two solutions of the relaxation."""

VIOLATION: Final = 1e-4
"""A cut must be violated by this much to be added."""

GAIN: Final = 0.01
"""Part of the gap that a round must close, or it was the last but one."""

PATIENCE: Final = 2
"""Rounds in a row that may gain less."""

CHOSEN: Final = 1e-6
"""Nodes of which the relaxation chooses more than this part are searched."""

NEAR: Final = 0.02
"""So are those whose reduced cost is less than this part of the gap."""

SLICE: Final = 0.25
"""Part of the relaxations' remaining budget that this search may take."""


def run_relaxation(session: Session) -> None:
    """Raise the bound by relaxations, search near them and drop what they rule out, within a share of the remaining
    budget.
    """
    budget = session.budget.part(SHARE)
    while session.graph is not None and not session.done and budget.left > 0:
        graph = session.graph
        relaxed = _tighten(session, graph, budget)
        if relaxed is None or session.optimal:
            return
        solve_exactly(session, "relaxation", budget.part(SLICE), _near(session, graph, relaxed))
        gone = _ruled_out(session, relaxed)
        if session.optimal or len(gone) < WORTH * graph.n_nodes:
            return
        session.shrink(gone)
        run_again(session)
        run_bounds(session, thorough=True)


def _tighten(session: Session, graph: Graph, budget: Budget) -> Relaxed | None:
    """Solve, add the cuts that the solution violates, and again; the last solution. Cuts that do not bind it go: they
    make a 0-1 program half as large again and it takes as long.
    """
    base = session.simplified.base
    budget.spend(PASS * graph.n_nodes)
    program = make_program(graph, session.cost + session.slack - base)
    if program is None:
        session.prove("relaxation")
        return None
    solver = Solver(program, relaxed=True)
    solver.waiting = session.beat
    solver.cut(two_cycles(program))
    for cut in session.cuts:
        solver.add_cut(cut)
    source = _Cuts(graph)
    found: Relaxed | None = None
    idle, last = 0, session.bound
    while budget.left > 0 and idle < PATIENCE:
        relaxed = solver.relax(budget)
        if relaxed.infeasible:
            session.prove("relaxation")
            return None
        if relaxed.value is None:
            break
        found = relaxed
        tolerance = SOLVER_TOLERANCE * max(1.0, abs(relaxed.bound))
        session.raise_bound(base + relaxed.bound - tolerance, "relaxation")
        if session.optimal:
            return None
        idle = 0 if session.bound - last >= GAIN * (session.cost - last) else idle + 1
        last = session.bound
        fresh = source.violated(relaxed.value, budget)
        session.beat()
        for cut in fresh:
            solver.add_cut(cut)
    if found is not None:
        session.cuts = found.binding
    return found


def _near(session: Session, graph: Graph, relaxed: Relaxed) -> bytearray:
    """[n] nodes that the relaxation chooses, in part or nearly, and the best answer's."""
    margin = NEAR * (session.cost - session.bound) if session.cost < INFINITY else 0.0
    keep = bytearray(graph.n_nodes)
    for node, value in (relaxed.value or {}).items():
        keep[node] = value > CHOSEN or relaxed.price[node] < margin
    for node in session.nodes() or ():
        keep[node] = 1
    return keep


def _ruled_out(session: Session, relaxed: Relaxed) -> list[int]:
    limit = session.cutoff - relaxed.bound + SOLVER_TOLERANCE * max(1.0, abs(relaxed.bound))
    kept = set(session.nodes() or ())
    return [node for node, price in relaxed.price.items() if price > limit and node not in kept]


class _Cuts:
    """Ascents by ever new preferences."""

    def __init__(self, graph: Graph) -> None:
        self.topology = graph.topology
        self.weight = weights(graph.cost.tolist())
        self.bases = preferences(graph, self.weight)
        self.random = Random(1)  # the same answer every time
        self.count = 0

    def violated(self, value: dict[int, float], budget: Budget) -> list[list[int]]:
        """Cuts of a batch of ascents over which the values of the nodes sum to less than one."""
        found: dict[frozenset[int], list[int]] = {}
        for _ in range(BATCH):
            base = self.bases[self.count % len(self.bases)]
            self.count += 1
            prefer = [known * self.random.uniform(0.2, 1.2) for known in base]
            ascent = ascend(self.topology, self.weight, prefer)
            budget.spend(ASCENT * ascent.steps)
            for cut in ascent.cuts:
                if sum(value.get(node, 0.0) for node in cut) < 1.0 - VIOLATION:
                    found[frozenset(cut)] = cut
        return list(found.values())
