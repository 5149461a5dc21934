"""Cyclic graphs too large for brute force: `auto` against the bare 0-1 program on the graph as it is."""

import math

import numpy as np
import pytest

from extract import Graph, GraphBuilder, InfeasibleError, check, extract, top
from extract.budget import Budget
from extract.cycles import find_cycles
from extract.program import make_program
from extract.solver import Solver


def bare_optimum(graph: Graph) -> float | None:
    """No simplification, no bounds, no start: rows, lazy cycle cuts, HiGHS."""
    program = make_program(graph, math.inf)
    if program is None:
        return None
    solver = Solver(program)
    while True:
        outcome = solver.run(Budget(60_000))
        if outcome.infeasible:
            return None
        assert outcome.selected is not None
        cycles = find_cycles(program, outcome.selected)
        if not cycles:
            return outcome.bound
        solver.cut(cycles)


def cyclic_graph(seed: int, *, classes: int, constrained: bool) -> Graph:
    random = np.random.default_rng(seed)
    names, limit = (["smem"], [float(random.integers(10, 40))]) if constrained else ([], [])
    builder = GraphBuilder(resource_names=names, limit=limit)
    for cls in range(classes):
        for _ in range(int(random.integers(1, 5))):
            deeper = cls + 1 + random.integers(0, 8, int(random.integers(0, 4)))
            children = [int(child) for child in deeper if child < classes]
            if random.random() < 0.25:
                children.append(int(random.integers(0, classes)))
            tagged = constrained and random.random() < 0.1
            builder.add(
                "f",
                cls,
                children,
                float(random.integers(0, 20)),
                group=int(random.integers(0, 3)) if tagged else -1,
                alternative=int(random.integers(0, 3)) if tagged else 0,
                resource=[float(random.integers(0, 4))] if constrained else [],
            )
    return builder.build([0, 1])


def agree(graph: Graph) -> bool:
    expected = bare_optimum(graph)
    if expected is None:
        with pytest.raises(InfeasibleError):
            extract(graph, "auto")
        return False
    answer = extract(graph, "auto", budget=60_000)
    check(graph, answer)
    assert answer.optimal
    assert answer.cost == pytest.approx(expected, abs=1e-5)
    return True


def test_free_graphs() -> None:
    feasible = sum(agree(cyclic_graph(seed, classes=60, constrained=False)) for seed in range(40))
    assert feasible > 30


@pytest.mark.in_turn
def test_constrained_graphs() -> None:
    feasible = sum(agree(cyclic_graph(seed, classes=40, constrained=True)) for seed in range(60))
    assert feasible > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_graphs(seed: int) -> None:
    agree(cyclic_graph(seed, classes=20 + seed % 60, constrained=seed % 2 == 0))


@pytest.mark.in_turn
@pytest.mark.parametrize("seed", range(10))
def test_the_second_best_is_the_best_without_the_best(seed: int) -> None:
    graph = cyclic_graph(seed, classes=25, constrained=False)
    found = top(graph, 3)
    assert [answer.cost for answer in found] == sorted(answer.cost for answer in found)
    best, second = found[0], found[1]
    others = (extract(graph.forbid([node]), "auto") for node in best.chosen.values() if _spare(graph, node))
    assert second.cost == pytest.approx(min(answer.cost for answer in others))


def _spare(graph: Graph, node: int) -> bool:
    try:
        extract(graph.forbid([node]), "auto")
    except InfeasibleError:
        return False
    return True
