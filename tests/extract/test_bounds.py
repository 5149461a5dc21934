"""Cuts, prices and relaxations: what they claim must hold of every answer that brute force finds."""

import math
from itertools import product

import numpy as np
import pytest

from extract import Graph, GraphBuilder, InfeasibleError, check, extract, heuristics
from extract.ascent import ANEW, Ascent, ascend
from extract.bounds import forced_bound, path_bound
from extract.budget import Budget
from extract.heuristics import preferences, run_bounds, run_greedy
from extract.relaxation import run_relaxation
from extract.session import Session
from extract.settle import weights
from tests.extract.brute import answers, brute_force
from tests.extract.random_graphs import random_graph
from tests.extract.test_auto import tangle


@pytest.mark.sampled(5)
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_bound_prices_and_cuts_hold_of_every_answer(first: int) -> None:
    cuts = 0
    for seed in range(first, first + 50):
        graph = random_graph(seed, constrained=False, rewards=False)
        topology, weight = graph.topology, weights(graph.cost.tolist())
        every = answers(graph)
        random = np.random.default_rng(seed)
        orders = [*preferences(graph, weight), random.uniform(size=graph.n_classes).tolist()]
        for prefer, anew in product(orders, (ANEW, 0.0)):
            found = ascend(topology, weight, prefer, anew)
            if not every:
                assert found.bound == math.inf
                continue
            assert found.bound <= every[0][0] + 1e-9
            for cost, nodes in every:
                assert all(nodes.intersection(cut) for cut in found.cuts)
                assert all(cost >= found.bound + found.price[node] - 1e-9 for node in nodes)
            cuts += len(found.cuts)
    assert cuts > 100


def test_a_chain_of_choices_is_bounded_exactly() -> None:
    builder = GraphBuilder()
    for cls in range(50):
        below = [cls + 1] if cls < 49 else []
        builder.add("f", cls, below, 3.0 + cls % 4)
        builder.add("g", cls, below, 4.0)
    graph = builder.build(0)
    expected = sum(min(3.0 + cls % 4, 4.0) for cls in range(50))
    weight = weights(graph.cost.tolist())
    assert ascend(graph.topology, weight, path_bound(graph.topology, weight)).bound == pytest.approx(expected)


def spine(length: int, *, wide: bool) -> Graph:
    """Two forms of a value at each step, from the form before or converted from the other; each also takes what is
    reduced from the form before, converted or not, and what is made apart; wide: and one of what all steps share.
    """
    builder = GraphBuilder()
    shared = 7 * length
    for step in range(length):
        here = [7 * step + k for k in range(7)]
        apart, natives, taken = here[2], here[3:5], here[5:7]
        common = [apart, shared + step % 4] if wide else [apart]
        dear = 2.0 + 6.0 * (step % 5 > 2)  # the second form is cheaper at two steps of five
        for form, price in ((0, dear), (1, 5.0)):
            before, other = ([7 * (step + 1) + k] if step + 1 < length else [] for k in (form, 1 - form))
            builder.add("stay", here[form], [*before, taken[form], *common], price)
            builder.add("convert", here[form], [*other, taken[form], *common], 11.0)
            builder.add("reduce", natives[form], before, 9.0 - 4.0 * form)
            builder.add("identity", taken[form], [natives[form]], 0.0)
            builder.add("convert", taken[form], [natives[1 - form]], 6.0)
        builder.add("a", apart, [], 3.0 + step % 2)
        builder.add("b", apart, common[1:], 4.0)
    for cls in range(shared, shared + 4):
        builder.add("c", cls, [], 5.0)
    return builder.build(0)


@pytest.mark.parametrize("wide", [False, True])
def test_steps_of_an_ascent_are_linear_in_the_length_of_a_spine(wide: bool) -> None:
    """A quadratic ascent takes 16 times the steps for 4 times the length."""
    found: list[list[Ascent]] = []
    for length in (100, 400):
        graph = spine(length, wide=wide)
        weight = weights(graph.cost.tolist())
        orders = [[float(sign * cls) for cls in range(graph.n_classes)] for sign in (1, -1)]
        orders += preferences(graph, weight)
        found.append([ascend(graph.topology, weight, prefer, 0.0) for prefer in orders])
    assert ascend(graph.topology, weight, orders[0]).steps < (2.0 + ANEW) * found[1][0].steps
    for short, long in zip(*found, strict=True):
        assert long.steps < 4.4 * short.steps
        assert sum(map(len, long.cuts)) < 4.6 * sum(map(len, short.cuts))
        assert long.bound > 3.6 * short.bound


def test_a_long_graph_is_proved_with_work_linear_in_its_length() -> None:
    """By dynamic programming, where it is narrow."""
    spent: list[float] = []
    for length in (60, 240):
        budget = Budget()
        answer = extract(spine(length, wide=True), "auto", budget=budget)
        assert answer.optimal
        assert answer.report is not None
        assert answer.report.trace[-1].method == "treewidth"
        spent.append(budget.spent)
    assert spent[1] < 4.4 * spent[0]


def test_a_long_graph_takes_the_answer_that_an_ascent_leaves_free(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = spine(120, wide=True)
    session = Session(graph, Budget())
    run_bounds(session, thorough=True)
    answer = session.answer("bounds")
    check(graph, answer)
    assert extract(graph, "auto").cost <= answer.cost < 1.1 * session.bound
    monkeypatch.setattr(heuristics, "LONG", 0)  # no graph is long
    other = Session(graph, Budget())
    run_bounds(other, thorough=True)
    assert other.chosen is None


def test_a_root_that_cannot_be_built_has_an_infinite_bound() -> None:
    builder = GraphBuilder()
    builder.add("f", 0, [1], 1.0)
    builder.add("g", 1, [0], 1.0)
    graph = builder.build(0)
    assert ascend(graph.topology, weights(graph.cost.tolist()), [0.0, 0.0]).bound == math.inf


@pytest.mark.sampled(6)
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_dropping_and_relaxing_keep_an_optimum(first: int) -> None:
    for seed in range(first, first + 50):
        graph = random_graph(seed)
        optimum = brute_force(graph)
        try:
            session = Session(graph, Budget(10_000))
        except InfeasibleError:
            assert optimum is None
            continue
        run_bounds(session, thorough=True)
        if optimum is None:
            assert session.chosen is None
            continue
        assert session.bound <= optimum + 1e-6
        run_greedy(session)
        run_bounds(session, thorough=True)
        run_relaxation(session)
        assert session.bound <= optimum + 1e-6
        if session.chosen is None:
            continue
        assert session.cost >= optimum - 1e-9
        check(graph, session.answer("bounds"))
        if session.graph is not None and not session.optimal:
            # what is left holds every cheaper answer
            rest = brute_force(session.graph)
            assert rest is not None
            assert min(session.cost, session.simplified.base + rest) == pytest.approx(optimum)


def test_forced_bound_counts_single_nodes_and_least_costs() -> None:
    builder = GraphBuilder()
    builder.add("ret", 0, [1, 2], 1.0)
    builder.add("f", 1, [3], 2.0)
    builder.add("a", 2, [], 5.0)
    builder.add("b", 2, [3], 4.0)
    builder.add("x", 3, [], -1.0)
    graph = builder.build(0)
    assert forced_bound(graph.topology, graph.cost.tolist()) == 1.0 + 2.0 + 4.0 - 1.0


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(3))
def test_relaxations_improve_and_bound_a_hard_graph(seed: int) -> None:
    graph = tangle(80, seed)
    session = Session(graph, Budget(6_000))
    run_greedy(session)
    first = session.cost
    run_bounds(session, thorough=True)
    ascent = session.bound
    run_relaxation(session)
    assert session.bound > ascent
    assert session.cost <= first
    answer = session.answer("relaxation")
    check(graph, answer)
    assert answer.bound <= answer.cost


def test_whole_costs_lift_the_bound_to_a_multiple_of_their_unit() -> None:
    graph = Graph.build(
        node_op=["f", "g", "h"],
        node_class=[0, 1, 1],
        child_offset=[0, 1, 1, 1],
        child_class=[1],
        cost=[8.0, 12.0, 20.0],
        root=0,
    )
    session = Session(graph)
    assert session.unit == 4.0
    session.bound = 0.0
    session.raise_bound(13.2, "test")
    assert session.bound == 16.0
