"""The local search on cyclic e-graphs too large for brute force: its bookkeeping must equal a recount."""

import math

import numpy as np
import pytest

from extract import Graph, GraphBuilder, InfeasibleError, check, extract
from extract.greedy import greedy
from extract.local import Constraints, improve
from extract.selection import Selection
from extract.settle import settle_dag


def random_graph(seed: int, classes: int = 80) -> Graph:
    random = np.random.default_rng(seed)
    builder = GraphBuilder(resource_names=["smem"], limit=[float(random.integers(10, 60))])
    for cls in range(classes):
        for _ in range(int(random.integers(1, 5))):
            deeper = cls + 1 + random.integers(0, 12, int(random.integers(0, 4)))
            children = [int(child) for child in deeper if child < classes]
            if random.random() < 0.2:
                children.append(int(random.integers(0, classes)))  # cycles
            tagged = random.random() < 0.1
            builder.add(
                "f",
                cls,
                children,
                float(random.integers(0, 20)),
                group=int(random.integers(0, 3)) if tagged else -1,
                alternative=int(random.integers(0, 3)) if tagged else 0,
                resource=[float(random.integers(0, 4)) if random.random() < 0.3 else 0.0],
            )
    return builder.build([0, 1])


@pytest.mark.parametrize("seed", range(40))
def test_polished_answers_hold_and_cost_no_more(seed: int) -> None:
    graph = random_graph(seed)
    try:
        plain = greedy(graph, polish=False)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            extract(graph, "greedy")
        return
    polished = extract(graph, "greedy")
    check(graph, polished)
    assert polished.cost <= plain.cost + 1e-9


def count_references(selection: Selection) -> list[int]:
    counts = [0] * selection.topology.n_classes
    stack = list(selection.topology.roots)
    for root in stack:
        counts[root] += 1
    while stack:
        for child in selection.topology.children[selection.choice[stack.pop()]]:
            counts[child] += 1
            if counts[child] == 1:
                stack.append(child)
    return counts


def assert_consistent(selection: Selection) -> None:
    counts = count_references(selection)
    assert selection.references == counts
    nodes = [selection.choice[cls] for cls, count in enumerate(counts) if count]
    assert selection.total == pytest.approx(math.fsum(selection.cost[node] for node in nodes))
    assert selection.used[0] == pytest.approx(math.fsum(selection.rows[0][0][node] for node in nodes))
    for cls in selection.topology.classes:
        node = selection.choice[cls]
        if node >= 0:
            for child in selection.topology.children[node]:
                assert selection.position[child] < selection.position[cls]


@pytest.mark.parametrize("seed", range(20))
def test_random_switches_and_rollback_keep_counts_order_and_cost(seed: int) -> None:
    graph = random_graph(seed)
    random = np.random.default_rng(1000 + seed)
    topology, cost = graph.topology, graph.cost.tolist()
    settled = settle_dag(topology, cost)
    assert settled.builds(topology.roots)
    selection = Selection(topology, cost, settled.choice, graph.resource.tolist(), [math.inf])
    selection.refresh()
    assert_consistent(selection)
    before = (selection.total, selection.choice.copy(), selection.references.copy())
    switched = 0
    for _ in range(200):
        cls = int(random.choice([c for c in topology.classes if selection.choice[c] >= 0]))
        node = int(random.choice(topology.class_nodes[cls]))
        if any(selection.choice[child] < 0 for child in topology.children[node]) or selection.reaches(node, cls):
            continue
        predicted = selection.best_switch(cls, [node], math.inf) if selection.references[cls] else None
        total = selection.total
        selection.switch(cls, node)
        switched += 1
        assert_consistent(selection)
        if predicted is not None:
            assert selection.total - total == pytest.approx(predicted[1])
    assert switched > 50
    selection.rollback(0)
    assert_consistent(selection)
    assert selection.choice == before[1]
    assert selection.references == before[2]
    assert selection.total == pytest.approx(before[0])


@pytest.mark.parametrize("seed", range(20))
def test_improve_never_raises_the_cost(seed: int) -> None:
    graph = random_graph(seed)
    topology, cost = graph.topology, graph.cost.tolist()
    start = settle_dag(topology, cost).choice
    unlimited = Constraints([], [])
    totals = [
        Selection(topology, cost, choice, [], []).total
        for choice in (
            start,
            improve(topology, cost, start, unlimited, deep=False),
            improve(topology, cost, start, unlimited),
        )
    ]
    assert totals[1] <= totals[0] + 1e-9
    assert totals[2] <= totals[0] + 1e-9


def test_improvement_stops_at_a_known_bound() -> None:
    graph = random_graph(3)
    topology, cost = graph.topology, graph.cost.tolist()
    start = settle_dag(topology, cost).choice
    assert improve(topology, cost, start, Constraints([], []), bound=math.inf) == start
