"""The 0-1 program solved with lazy cycle cuts, whole or pruned, on behalf of a session."""

from __future__ import annotations

from typing import Final

from extract.answer import SOLVER_TOLERANCE, slack
from extract.budget import PASS, PRESOLVE, Budget
from extract.cycles import find_cycles, two_cycles
from extract.errors import InfeasibleError
from extract.program import IntegerProgram, make_program
from extract.session import Session
from extract.settle import INFINITY
from extract.solver import Solver

GUARDED: Final = 100_000
"""Non-zeros of programs whose relaxation is tried first: on smaller ones it takes tenths of a second."""


def solve_exactly(session: Session, method: str, budget: Budget, keep: bytearray | None = None) -> bool:
    """Solve, cut the cycles of the solution, and again until it has none or the budget is spent.

    keep: [n] nodes of the reduced graph to use; with all of them (None) bounds hold for the session and its best is
    proved at the end. Returns whether it ran to its end. Raises InfeasibleError when no answer
    exists, and KeyboardInterrupt once the solver has stopped.
    """
    graph = session.graph
    if graph is None or session.optimal:
        return True
    session.notify()
    budget.spend(PASS * graph.n_nodes)
    base = session.simplified.base
    limit = session.cost + session.slack if keep is None else session.reach + slack(session.reach)
    program = make_program(graph, limit - base, keep)
    if program is None:  # without a root: nothing cheaper is left
        if keep is None:
            _conclude(session, method)
        return True
    if keep is None and session.reach < INFINITY and budget.left < PRESOLVE * len(program.index):
        return False  # what is left does not pay for the presolve of HiGHS, which ends by no limit
    if len(program.index) > GUARDED and not _relaxes(session, program, method, budget, whole=keep is None):
        return session.optimal
    solver = Solver(program)
    solver.cut(two_cycles(program))
    for cut in session.cuts:
        solver.add_cut(cut)
    for cover in session.covers:
        solver.add_cover(cover)
    solver.waiting = session.notify
    whole = keep is None
    while budget.left > 0:
        outcome = solver.run(budget, _point(session, program))
        if whole:
            session.raise_bound(base + outcome.bound, method)
        if outcome.infeasible:
            if whole:
                _conclude(session, method)
            if outcome.interrupted:
                raise KeyboardInterrupt
            return True
        if outcome.selected is None:
            if outcome.interrupted:
                raise KeyboardInterrupt
            return False
        cycles = find_cycles(program, outcome.selected)
        session.repair_from(outcome.selected, method, exact=not cycles)
        if outcome.interrupted:
            raise KeyboardInterrupt
        if session.optimal:
            return True
        if cycles:
            solver.cut(cycles)
            continue
        if not outcome.finished:
            return False
        if whole and session.cost - base - outcome.bound <= SOLVER_TOLERANCE * max(1.0, abs(session.cost)):
            session.prove(method)
        return True
    return False


def _relaxes(session: Session, program: IntegerProgram, method: str, budget: Budget, *, whole: bool) -> bool:
    """Whether the relaxation of a large program ends within the budget, and leaves something to look for.

    HiGHS does not let itself be stopped in the first relaxation of a 0-1 program; this one counts its iterations.
    """
    relaxed = Solver(program, relaxed=True).relax(budget)
    if whole and relaxed.value is not None:
        session.raise_bound(session.simplified.base + relaxed.bound, method)
    return relaxed.infeasible or (relaxed.value is not None and not session.optimal)


def _conclude(session: Session, method: str) -> None:
    """The whole program contains nothing cheaper than the best."""
    if session.chosen is None:
        raise InfeasibleError
    session.prove(method)


def _point(session: Session, program: IntegerProgram) -> dict[int, float] | None:
    """The best answer as a start for the solver, where the program can hold it."""
    nodes = session.nodes()
    if nodes is None:
        return None
    graph, owner = program.graph, program.graph.topology.node_class
    tagged = [node for node in nodes if graph.columns.group[node] >= 0]
    carried = {graph.columns.group[node]: graph.columns.alternative[node] for node in tagged}
    return program.point({owner[node]: node for node in nodes}, carried)
