"""The k cheapest distinct answers, for measuring them on the machine."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from extract.answer import Answer
from extract.ascent import ascend, preferences
from extract.budget import LONG_BUDGET, SIMPLIFY, Budget, as_budget
from extract.constrained import reachable_nodes
from extract.errors import ExtractionError, InfeasibleError
from extract.graph import Graph
from extract.settle import INFINITY, settle_dag, weights
from extract.simplify import Simplified, structure

if TYPE_CHECKING:
    from extract.program import IntegerProgram


def cheapest(
    graph: Graph, count: int, *, budget: Budget | float | None = None, time_limit: float | None = None
) -> list[Answer]:
    """Up to `count` answers in order of cost, no two choosing the same nodes; fewer when there are no more.

    Each is found by forbidding those before it (a no-good cut over its nodes), after the simplifications that lose no
    answer. The bound of an answer holds for all answers but those before it. Ctrl-C and the end of the budget
    return those found. Raises InfeasibleError when there is none, ExtractionError when the budget ended before any was.
    """
    from extract.program import make_program

    if count < 1:
        raise ExtractionError(f"asked for {count} answers; ask for at least 1")
    began = perf_counter()
    limit = as_budget(budget, time_limit, LONG_BUDGET)
    limit.spend(SIMPLIFY * graph.n_nodes)
    simplified = structure(graph)
    if simplified.graph is None:
        return [simplified.answer([], 0.0, "top", perf_counter() - began)]
    program = make_program(simplified.graph, INFINITY)
    found = [] if program is None else _enumerate(program, simplified, count, began, limit)
    if not found:
        if not limit.left:
            raise ExtractionError(f"{limit.name} ended before any answer was found; allow more")
        raise InfeasibleError
    return found


def _enumerate(
    program: IntegerProgram, simplified: Simplified, count: int, began: float, budget: Budget
) -> list[Answer]:
    from extract.cycles import find_cycles, two_cycles
    from extract.solver import Solver

    solver = Solver(program)
    solver.cut(two_cycles(program))
    weight = weights(program.graph.columns.cost)
    for prefer in preferences(program.graph, weight):
        for cut in ascend(program.graph.topology, weight, prefer).cuts:
            solver.add_cut(cut)
    found: list[Answer] = []
    while len(found) < count and budget.left > 0:
        outcome = solver.run(budget)
        if outcome.infeasible or outcome.selected is None:
            break
        cycles = find_cycles(program, outcome.selected)
        if cycles and outcome.finished:
            solver.cut(cycles)
            continue
        if not cycles and (outcome.finished or not found):
            nodes = _needed(program, outcome.selected)
            found.append(simplified.answer(nodes, outcome.bound, "top", perf_counter() - began))
            solver.add_row(-INFINITY, [program.column[node] for node in nodes], len(nodes) - 1.0)
        if not outcome.finished:
            break  # a cheaper one may be left
    return sorted(found, key=lambda answer: answer.cost)


def _needed(program: IntegerProgram, selected: list[int]) -> list[int]:
    """The selected nodes that the roots need."""
    topology = program.graph.topology
    weight = [INFINITY] * topology.n_nodes
    for node in selected:
        weight[node] = 0.0
    return reachable_nodes(topology, settle_dag(topology, weight).choice)
