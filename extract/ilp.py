"""Exact extraction: the 0-1 program of `program` solved by HiGHS, with cycles cut off as they appear.

Every relaxation on the way gives a valid lower bound, so a run that ends at its time limit still states a gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from extract.answer import Answer, check, make_answer, slack
from extract.constrained import Candidate, ConstrainedSearch, reachable_nodes
from extract.cycles import find_cycles, two_cycles
from extract.errors import CheckError, ExtractionError, InfeasibleError
from extract.explain import conflicting_groups
from extract.graph import Graph
from extract.local import improve
from extract.program import Program, make_program
from extract.settle import INFINITY, settle_dag, weights

if TYPE_CHECKING:
    import highspy

DEFAULT_TIME_LIMIT: Final = 60.0
"""Seconds."""

RELATIVE_GAP: Final = 1e-9
"""HiGHS stops at 1e-4 unless told otherwise, which is too far from optimal to be called so."""

SOLVER_TOLERANCE: Final = 1e-6
"""HiGHS' default feasibility tolerance: as near as its bound comes to the cost of a solution it calls optimal."""


@dataclass(eq=False)
class _Incumbent:
    choice: dict[int, int]
    cost: float


def ilp(graph: Graph, *, start: Answer | None = None, time_limit: float | None = None) -> Answer:
    """The cheapest answer, proved when it ends within time_limit seconds, else the best found with its bound.

    start: an answer to begin from, also one for other costs; greedy makes one otherwise. Raises InfeasibleError when no
    answer meets the constraints, ExtractionError when the time ended before any was found.
    """
    began = perf_counter()
    deadline = began + (DEFAULT_TIME_LIMIT if time_limit is None else time_limit)
    search = ConstrainedSearch(graph, settle_dag, polish=True)
    bound = search.bound
    best = _begin(graph, start, search)
    if best is None or best.cost - bound > slack(best.cost):
        solved = _solve(graph, search, best, bound, deadline)
        if solved is None:
            raise InfeasibleError(_why_infeasible(graph))
        best, bound = solved
    return make_answer(graph, best.choice, bound, "ilp", perf_counter() - began)


def _begin(graph: Graph, start: Answer | None, search: ConstrainedSearch) -> _Incumbent | None:
    if start is not None:
        try:
            taken = make_answer(graph, start.chosen, -INFINITY, "start", 0.0)
            check(graph, taken)
        except CheckError:
            pass  # it fitted other costs or limits; the search below finds its own
        else:
            return _Incumbent(taken.chosen, taken.cost)
    found = search.run()
    return None if found is None else _incumbent(graph, found)


def _incumbent(graph: Graph, found: Candidate) -> _Incumbent:
    nodes = reachable_nodes(graph.topology, found.choice)
    return _Incumbent({int(graph.node_class[node]): node for node in nodes}, found.cost)


def _solve(
    graph: Graph, search: ConstrainedSearch, best: _Incumbent | None, bound: float, deadline: float
) -> tuple[_Incumbent, float] | None:
    """Solve, cut the cycles of the solution, and again until it has none or the time is over; None: infeasible."""
    program = make_program(graph, INFINITY if best is None else best.cost + slack(best.cost))
    solver = _Solver(program)
    solver.cut(two_cycles(program))
    while True:
        left = deadline - perf_counter()
        if left <= 0:
            break
        outcome = solver.run(left, None if best is None else _point(graph, program, best))
        bound = max(bound, outcome.bound)
        if outcome.infeasible:
            if best is None:
                return None
            bound = best.cost  # nothing cheaper than the start was left in the program
            break
        if outcome.selected is not None:
            cycles = find_cycles(program, outcome.selected)
            found = _repair(graph, search, outcome.selected, cyclic=bool(cycles))
            if found is not None and (best is None or found.cost < best.cost):
                best = found
            if best is not None and best.cost - bound <= slack(best.cost):
                break
            if cycles:
                solver.cut(cycles)
                continue
        if outcome.finished:
            if best is not None and best.cost - bound <= SOLVER_TOLERANCE * max(1.0, abs(best.cost)):
                bound = best.cost
            break
    if best is None:
        raise ExtractionError("the time limit ended before any answer was found; allow more seconds")
    return best, bound


def _point(graph: Graph, program: Program, best: _Incumbent) -> dict[int, float] | None:
    tagged = [node for node in best.choice.values() if graph.group[node] >= 0]
    return program.point(best.choice, {int(graph.group[node]): int(graph.alternative[node]) for node in tagged})


def _repair(graph: Graph, search: ConstrainedSearch, selected: list[int], *, cyclic: bool) -> _Incumbent | None:
    """An acyclic answer at a solver's selection, or near it where a cycle needs breaking."""
    topology = graph.topology
    assignment: dict[int, int] = {}
    for node in selected:
        if graph.group[node] >= 0 and int(graph.group[node]) in search.groups:
            assignment[int(graph.group[node])] = int(graph.alternative[node])
    cost = search.masked(assignment)
    weight = weights(cost) if cyclic else [INFINITY] * len(cost)
    for node in selected:
        weight[node] = 0.0
    settled = settle_dag(topology, weight)
    if not settled.builds(topology.roots):
        return None
    candidate = search.judge(settled.choice, cost, assignment)
    if not candidate.excess:
        choice = improve(topology, cost, settled.choice, search.constraints)
        better = search.judge(choice, cost, assignment)
        if not better.excess and better.cost < candidate.cost:
            candidate = better
    if candidate.excess or search.splits_group(candidate.choice):
        return None
    return _incumbent(graph, candidate)


def _why_infeasible(graph: Graph) -> str:
    """Name the groups or the row at fault: solve for the least use of each limited row alone."""
    weight = weights(graph.cost.tolist())
    limited = [row for row, limit in enumerate(graph.limit.tolist()) if limit < INFINITY]
    free = graph.with_limit(np.full(len(graph.limit), np.inf))
    for row in limited:
        least = free.with_cost(np.where(np.isinf(graph.cost), np.inf, graph.resource[row]))
        try:
            bound = ilp(least).bound
        except InfeasibleError:
            break  # not for lack of resources
        limit = float(graph.limit[row])
        if bound > limit + slack(limit):
            return f"resource {graph.resource_names[row]}: every answer uses at least {bound:g}, the limit is {limit:g}"
    else:
        if limited:
            names = ", ".join(graph.resource_names[row] for row in limited)
            return f"resources {names} cannot be kept within their limits together"
    return conflicting_groups(graph, weight)


@dataclass(frozen=True, eq=False)
class _Outcome:
    selected: list[int] | None
    bound: float
    infeasible: bool
    finished: bool


class _Solver:
    """HiGHS behind the four calls needed here."""

    def __init__(self, program: Program) -> None:
        import highspy  # loads a shared library; tree and greedy do without

        self.program = program
        self.highs: highspy.Highs = highspy.Highs()
        self.kinds: Any = highspy
        for option, value in (("output_flag", False), ("mip_rel_gap", RELATIVE_GAP), ("mip_abs_gap", 1e-9)):
            self.highs.setOptionValue(option, value)
        lp = highspy.HighsLp()
        n = program.n_columns
        lp.num_col_ = n
        lp.num_row_ = len(program.lower)
        lp.col_cost_ = program.costs()
        lp.col_lower_ = np.zeros(n)
        lp.col_upper_ = np.ones(n)
        lp.row_lower_ = np.array(program.lower)
        lp.row_upper_ = np.array(program.upper)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.array(program.start, np.int32)
        lp.a_matrix_.index_ = np.array(program.index, np.int32)
        lp.a_matrix_.value_ = np.array(program.value)
        lp.integrality_ = [highspy.HighsVarType.kInteger] * n
        self.highs.passModel(lp)

    def cut(self, cycles: list[list[int]]) -> None:
        """Forbid class cycles."""
        for cycle in cycles:
            columns = np.array(self.program.cycle_row(cycle), np.int32)
            self.highs.addRow(-math.inf, len(cycle) - 1.0, len(columns), columns, np.ones(len(columns)))

    def run(self, seconds: float, point: dict[int, float] | None) -> _Outcome:
        """Solve for at most this long, beginning from a point."""
        highs, status = self.highs, self.kinds.HighsModelStatus
        highs.setOptionValue("time_limit", highs.getRunTime() + seconds)
        if point:
            columns = np.array(list(point), np.int32)
            highs.setSolution(len(columns), columns, np.array(list(point.values())))
        highs.run()
        model, info = highs.getModelStatus(), highs.getInfo()
        if model == status.kInfeasible:
            return _Outcome(None, -INFINITY, True, True)
        selected = None
        if info.primal_solution_status == 2:  # kSolutionStatusFeasible
            values = np.array(highs.getSolution().col_value[: len(self.program.nodes)])
            selected = [self.program.nodes[place] for place in np.flatnonzero(values > 0.5).tolist()]
        bound = info.mip_dual_bound if math.isfinite(info.mip_dual_bound) else -INFINITY
        return _Outcome(selected, bound, False, model == status.kOptimal)
