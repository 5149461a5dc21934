"""Every method against brute force on random small e-graphs: shared, cyclic, grouped, limited, with rewards."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extract import METHODS, Answer, Graph, GraphBuilder, InfeasibleError, check, extract
from extract.ascent import ANEW, ascend
from extract.greedy import greedy
from extract.settle import weights
from tests.extract.brute import answers, brute_force

COSTS = st.one_of(st.integers(0, 9).map(float), st.just(0.0), st.just(float("inf")))
SIGNED = st.one_of(st.integers(-5, 9).map(float), st.just(float("inf")))


@st.composite
def graphs(draw: st.DrawFn, *, constrained: bool, costs: st.SearchStrategy[float] = COSTS) -> Graph:
    classes = draw(st.integers(1, 6))
    rows = draw(st.integers(0, 2)) if constrained else 0
    limit = [float(draw(st.integers(0, 12))) for _ in range(rows)]
    builder = GraphBuilder(resource_names=[f"row{i}" for i in range(rows)], limit=limit)
    groups = draw(st.integers(0, 2)) if constrained else 0
    for cls in range(classes):
        for _ in range(draw(st.integers(1, 3))):
            children = draw(st.lists(st.integers(0, classes - 1), max_size=3))
            group = draw(st.integers(-1, groups - 1)) if groups else -1
            builder.add(
                f"f{cls}",
                cls,
                children,
                draw(costs),
                group=group,
                alternative=draw(st.integers(0, 2)) if group >= 0 else 0,
                resource=[float(draw(st.integers(0, 5))) for _ in range(rows)],
            )
    return builder.build(draw(st.lists(st.integers(0, classes - 1), min_size=1, max_size=2)))


def agree(graph: Graph, optimum: float | None) -> list[Answer]:
    """Run every method; all must be valid and never below the optimum, the exact ones must meet it."""
    if optimum is None:
        for method in METHODS:
            with pytest.raises(InfeasibleError):
                extract(graph, method)
        for group in graph.groups:
            with pytest.raises(InfeasibleError):
                extract(graph, "auto", branch=group)
        return []
    for group in graph.groups:
        branched = extract(graph, "auto", branch=group)
        assert branched.optimal
        assert branched.cost == pytest.approx(optimum)
    answers = [extract(graph, method) for method in METHODS]
    answers.append(greedy(graph, polish=False))
    for answer in answers:
        check(graph, answer)
        assert answer.cost >= optimum - 1e-9
        assert answer.bound <= optimum + 1e-9
    for answer in (answers[METHODS.index("ilp")], answers[METHODS.index("auto")]):
        assert answer.optimal
        assert answer.cost == pytest.approx(optimum)
    return answers


@pytest.mark.in_turn
@settings(max_examples=250, deadline=None, derandomize=True)
@given(graphs(constrained=False))
def test_free_graphs_match_brute_force(graph: Graph) -> None:
    agree(graph, brute_force(graph))


@pytest.mark.in_turn
@settings(max_examples=350, deadline=None, derandomize=True)
@given(graphs(constrained=True))
def test_groups_and_resources_match_brute_force(graph: Graph) -> None:
    agree(graph, brute_force(graph))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(graphs(constrained=True, costs=SIGNED))
def test_rewards_match_brute_force(graph: Graph) -> None:
    agree(graph, brute_force(graph))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(graphs(constrained=True), st.integers(0, 2**32 - 1))
def test_recosted_graph_equals_a_fresh_one(graph: Graph, seed: int) -> None:
    cost = np.random.default_rng(seed).uniform(0.5, 9.0, graph.n_nodes)
    fresh = Graph.build(
        node_op=graph.node_op,
        node_class=graph.node_class,
        child_offset=graph.child_offset,
        child_class=graph.child_class,
        cost=cost,
        root=graph.root,
        group=graph.group,
        alternative=graph.alternative,
        resource=graph.resource,
        limit=graph.limit,
        resource_names=graph.resource_names,
        n_classes=graph.n_classes,
    )
    recosted = graph.with_cost(cost)
    assert recosted.topology is graph.topology
    try:
        expected = extract(fresh, "greedy")
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            extract(recosted, "greedy")
        return
    assert extract(recosted, "greedy").chosen == expected.chosen


@settings(max_examples=40, deadline=None, derandomize=True)
@given(graphs(constrained=True))
def test_exact_method_accepts_any_start(graph: Graph) -> None:
    optimum = brute_force(graph)
    if optimum is not None:
        worse = extract(graph, "tree")
        assert extract(graph, "ilp", start=worse).cost == pytest.approx(optimum)


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@given(st.one_of(graphs(constrained=False), graphs(constrained=True), graphs(constrained=True, costs=SIGNED)))
def test_thousands_of_graphs_match_brute_force(graph: Graph) -> None:
    agree(graph, brute_force(graph))


@given(graphs(constrained=False), st.sampled_from([ANEW, 0.0]), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_ascents_find_cuts_and_no_bound_above_the_optimum(graph: Graph, anew: float, random: Random) -> None:
    """Sets of classes that begin anew or only shrink: every answer holds a node of each cut and pays every price."""
    prefer = [random.random() for _ in range(graph.n_classes)]
    found = ascend(graph.topology, weights(graph.cost.tolist()), prefer, anew)
    every = answers(graph)
    assert (found.bound < math.inf) or not every
    for cost, nodes in every:
        assert cost >= found.bound - 1e-9
        assert all(nodes.intersection(cut) for cut in found.cuts)
        assert all(cost >= found.bound + found.price[node] - 1e-9 for node in nodes)
