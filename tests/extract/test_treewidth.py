"""Dynamic programming over small treewidth, against brute force and against the exact method."""

import math

import pytest

from extract import GraphBuilder, extract
from extract.treewidth import MAX_WIDTH, solve_narrow
from tests.extract.brute import brute_force
from tests.extract.random_graphs import random_graph


@pytest.mark.in_turn
@pytest.mark.parametrize("seed", range(120))
def test_equals_brute_force_on_acyclic_graphs_with_groups(seed: int) -> None:
    graph = random_graph(seed, rewards=False, cyclic=False)
    free = graph.with_limit([math.inf] * len(graph.limit))
    optimum = brute_force(free)
    found = solve_narrow(free)
    assert found is not None
    nodes, cost = found
    assert cost == pytest.approx(math.inf if optimum is None else optimum)
    if optimum is not None:
        assert math.fsum(graph.cost[nodes]) == pytest.approx(optimum)


@pytest.mark.parametrize("seed", range(60))
def test_is_a_lower_bound_where_cycles_and_limits_bind(seed: int) -> None:
    graph = random_graph(seed, rewards=False)
    optimum = brute_force(graph)
    if optimum is None:
        return
    found = solve_narrow(graph)
    assert found is not None
    assert found[1] <= optimum + 1e-9


def test_a_long_ladder_is_narrow_and_solved() -> None:
    builder = GraphBuilder()
    length = 60
    for cls in range(length):
        children = [below for below in (cls + 1, cls + 2) if below < length]
        builder.add("both", cls, children, 1.0 + cls % 3)
        builder.add("skip", cls, children[1:], 2.5 + cls % 4)
        builder.add("leap", cls, [cls + 5] if cls + 5 < length else [], 4.0 + cls % 5)
    graph = builder.build(0)
    found = solve_narrow(graph)
    assert found is not None
    exact = extract(graph, "ilp")
    assert exact.optimal
    assert found[1] == pytest.approx(exact.cost)


def test_a_wide_graph_is_refused() -> None:
    # every node of a grid of classes demands a whole further row
    builder = GraphBuilder()
    side = MAX_WIDTH + 3
    builder.add("ret", 0, range(1, side + 1))
    for row in range(2):
        for place in range(side):
            for kind in range(3):
                below = [1 + (row + 1) * side + (place + k * kind) % side for k in range(1, side)] if not row else []
                builder.add("f", 1 + row * side + place, below, 1.0 + kind)
    assert solve_narrow(builder.build(0)) is None


def test_what_is_free_only_with_an_alternative_is_not_taken_as_built() -> None:
    builder = GraphBuilder()
    builder.add("first", 0, [1], 0.0)
    builder.add("second", 0, [2], 9.0)
    builder.add("f", 1, [], 5.0, group=0, alternative=0)
    builder.add("g", 2, [], 0.0, group=0, alternative=1)
    found = solve_narrow(builder.build(0))
    assert found is not None
    assert found[1] == 5.0
