"""Simplification: each step on a graph made for it, and all of them against brute force."""

import math

import numpy as np
import pytest

from extract import Graph, GraphBuilder, InfeasibleError, check, extract
from extract.components import components
from extract.needs import needs
from extract.simplify import Simplified, simplify, structure
from tests.extract.brute import answers, brute_force
from tests.extract.random_graphs import random_graph


def reduced(builder: GraphBuilder, root: int = 0) -> Simplified:
    return simplify(builder.build(root))


def test_unreachable_and_unbuildable_parts_go() -> None:
    builder = GraphBuilder()
    builder.add("ret", 0, [1], 1.0)
    builder.add("ret", 0, [2], 2.0)
    builder.add("never", 1, [1], 1.0)
    builder.add("x", 2, [], 3.0)
    builder.add("stray", 3, [], 1.0)
    found = reduced(builder)
    assert found.graph is None
    assert (found.base, sorted(found.forced)) == (5.0, [1, 3])


def test_forced_nodes_are_taken_and_cost_nothing_more() -> None:
    builder = GraphBuilder()
    builder.add("pair", 0, [1, 2], 1.0)
    builder.add("a", 1, [3], 2.0)
    builder.add("b", 2, [3], 4.0)
    builder.add("shared", 3, [], 8.0)
    found = reduced(builder)
    assert (found.base, found.graph) == (15.0, None)
    assert found.steps["forced"] + found.steps.get("collapsed", 0) == 4


def test_a_node_with_more_children_and_no_less_cost_is_dominated() -> None:
    builder = GraphBuilder()
    builder.add("ret", 0, [1], 0.0)
    builder.add("cheap", 1, [2], 1.0)
    builder.add("dear", 1, [2, 3], 1.0)
    builder.add("x", 2, [], 1.0)
    builder.add("x2", 2, [3], 0.5)
    builder.add("y", 3, [], 1.0)
    assert 2 not in reduced(builder).answer([], 0.0, "", 0.0).chosen.values()


def test_a_costlier_node_of_a_group_alternative_is_not_dominated_by_another_alternative() -> None:
    builder = GraphBuilder()
    builder.add("ret", 0, [1, 2], 0.0)
    builder.add("a0", 1, [], 1.0, group=0, alternative=0)
    builder.add("a1", 1, [], 2.0, group=0, alternative=1)
    builder.add("b0", 2, [], 9.0, group=0, alternative=0)
    builder.add("b1", 2, [], 1.0, group=0, alternative=1)
    assert extract(builder.build(0), "auto").cost == 3.0


def test_costs_that_every_user_pays_move_up_and_decide() -> None:
    # both nodes of class 1 need class 2, whose least cost is 5: nothing of that is left to choose
    builder = GraphBuilder()
    builder.add("ret", 0, [1, 4], 0.0)
    builder.add("f", 1, [2, 3], 1.0)
    builder.add("g", 1, [2], 2.0)
    builder.add("x", 2, [], 5.0)
    builder.add("y", 2, [3], 5.0)
    builder.add("z", 3, [], 9.0)
    builder.add("w", 4, [], 1.0)
    found = reduced(builder)
    assert found.graph is None
    assert found.base == 8.0


def test_nodes_whose_every_derivation_takes_their_own_class_go() -> None:
    # class 1 by "loop" needs class 2, all of whose nodes need class 1
    builder = GraphBuilder()
    builder.add("ret", 0, [1], 0.0)
    builder.add("loop", 1, [2], 1.0)
    builder.add("base", 1, [], 50.0)
    builder.add("back", 2, [1], 1.0)
    builder.add("back2", 2, [1, 3], 0.5)
    builder.add("x", 3, [], 1.0)
    found = reduced(builder)
    assert (found.graph, found.base) == (None, 50.0)


def test_edges_to_what_every_answer_holds_go_and_the_rest_falls_apart() -> None:
    builder = GraphBuilder()
    builder.add("ret", 0, [1, 2, 3], 0.0)
    for cls in (1, 2):
        builder.add("f", cls, [3, 4], 1.0)
        builder.add("g", cls, [5], 2.0)
    builder.add("x", 3, [], 7.0)
    builder.add("y", 4, [3], 3.0)
    builder.add("z", 5, [3], 3.5)
    found = reduced(builder)
    assert found.base >= 7.0
    assert found.graph is not None
    assert all(found.original.node_class[part] != 3 for parts in found.origin for part in parts)
    assert found.base + extract(found.graph, "ilp").cost == 7.0 + 2.0 + 3.0


def test_forced_use_lowers_a_limit_and_drops_what_no_longer_fits() -> None:
    builder = GraphBuilder(resource_names=["smem"], limit=[10.0])
    builder.add("ret", 0, [1, 2], 0.0, resource=[6.0])
    builder.add("big", 1, [], 1.0, resource=[5.0])
    builder.add("small", 1, [], 3.0, resource=[1.0])
    builder.add("x", 2, [], 1.0, resource=[0.0])
    found = reduced(builder)
    assert (found.graph, found.base) == (None, 4.0)


def test_limits_that_cannot_bind_go() -> None:
    graph = random_graph(3)
    loose = Graph.build(
        node_op=graph.node_op,
        node_class=graph.node_class,
        child_offset=graph.child_offset,
        child_class=graph.child_class,
        cost=graph.cost,
        root=graph.root,
        resource=np.ones((1, graph.n_nodes)),
        limit=[float(graph.n_classes)],
        n_classes=graph.n_classes,
    )
    kept = simplify(loose).graph
    assert kept is None or len(kept.limit) == 0


@pytest.mark.sampled(10)
@pytest.mark.parametrize("first", range(0, 600, 50))
def test_the_optimum_stays_and_comes_back(first: int) -> None:
    for seed in range(first, first + 50):
        graph = random_graph(seed)
        optimum = brute_force(graph)
        try:
            found = simplify(graph)
        except InfeasibleError:
            assert optimum is None
            continue
        if found.graph is None:
            answer = found.answer([], 0.0, "simplify", 0.0)
        elif optimum is None:
            assert brute_force(found.graph) is None
            continue
        else:
            assert brute_force(found.graph) == pytest.approx(optimum - found.base)
            best = extract(found.graph, "ilp")
            answer = found.answer(best.chosen.values(), best.bound, "simplify", 0.0)
        check(graph, answer)
        assert answer.cost == pytest.approx(optimum)
        assert answer.optimal


@pytest.mark.in_turn
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_steps_for_all_costs_lose_and_join_no_answer(first: int) -> None:
    for seed in range(first, first + 50):
        graph = random_graph(seed)
        expected = [nodes for _, nodes in answers(graph)]
        try:
            found = structure(graph)
        except InfeasibleError:
            assert not expected
            continue
        below = [frozenset[int]()] if found.graph is None else [nodes for _, nodes in answers(found.graph)]
        back = [frozenset(found.answer(nodes, -math.inf, "", 0.0).chosen.values()) for nodes in below]
        assert sorted(map(sorted, back)) == sorted(map(sorted, expected))


def test_copies_under_other_costs_share_the_structure() -> None:
    graph = random_graph(35, rewards=False)
    random = np.random.default_rng(11)
    known = graph.shared.structures
    for _ in range(3):
        copy = graph.with_cost(np.where(np.isinf(graph.cost), np.inf, random.uniform(1, 9, graph.n_nodes)))
        optimum = brute_force(copy)
        assert optimum is not None
        assert extract(copy, "auto").cost == pytest.approx(optimum)
        assert len(known) == 1
    extract(graph.forbid([int(np.flatnonzero(graph.node_class == graph.node_class[-1])[0])]), "greedy")
    assert len(known) == 2


@pytest.mark.parametrize("seed", range(60))
def test_components_put_children_first_and_find_cycles(seed: int) -> None:
    topology = random_graph(seed).topology
    found = components(topology.classes, topology.class_nodes, topology.children, topology.parents, topology.node_class)
    assert sorted(cls for members in found.order for cls in members) == sorted(topology.classes)
    below = {
        cls: {child for node in topology.class_nodes[cls] for child in topology.children[node]}
        for cls in topology.classes
    }

    def reach(cls: int) -> set[int]:
        seen: set[int] = set()
        stack = [cls]
        while stack:
            for child in below[stack.pop()] - seen:
                seen.add(child)
                stack.append(child)
        return seen

    for cls in topology.classes:
        for other in reach(cls):
            assert found.of[other] <= found.of[cls]
            assert (found.of[other] == found.of[cls]) == (cls in reach(other) or cls == other)


@pytest.mark.parametrize("seed", range(60))
def test_needed_classes_are_in_every_answer(seed: int) -> None:
    graph = random_graph(seed, constrained=False)
    topology = graph.topology
    order = components(
        topology.classes, topology.class_nodes, topology.children, topology.parents, topology.node_class
    ).order
    usable = [[n for n in nodes if math.isfinite(graph.cost[n])] for nodes in topology.class_nodes]
    found = needs(order, usable, topology.children)
    required = found.of_all(topology.roots)
    for _, nodes in answers(graph):
        classes = {int(graph.node_class[node]) for node in nodes}
        assert all(cls in classes for cls, bit in found.bit.items() if required & bit)
