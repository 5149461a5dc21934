"""What each method does on e-graphs small enough to price by hand."""

import math
import pathlib

import numpy as np
import pytest

from extract import METHODS, Answer, CheckError, ExtractionError, Graph, GraphBuilder, InfeasibleError, check, extract
from extract.greedy import greedy
from extract.gym import read

DATA = pathlib.Path(__file__).parent / "data"


def shared_square() -> Graph:
    """root = mul(a, b) where a and b can share one dear class, or each take a cheap one of its own."""
    builder = GraphBuilder()
    builder.add("mul", 0, [1, 2], 1.0)
    builder.add("sqrt", 1, [3], 1.0)
    builder.add("table_a", 1, [], 6.0)
    builder.add("exp", 2, [3], 1.0)
    builder.add("table_b", 2, [], 6.0)
    builder.add("load", 3, [], 8.0)
    return builder.build(0)


def test_tree_pays_twice_and_local_search_opens_the_shared_class() -> None:
    graph = shared_square()
    assert extract(graph, "tree").cost == 13.0
    assert greedy(graph, polish=False).cost == 13.0
    assert extract(graph, "greedy").cost == 11.0
    exact = extract(graph, "ilp")
    assert (exact.cost, exact.bound, exact.gap, exact.optimal) == (11.0, 11.0, 0.0, True)
    assert exact.chosen == {3: 5, 1: 1, 2: 3, 0: 0}


def test_answers_list_children_before_users() -> None:
    graph = shared_square()
    seen: set[int] = set()
    for cls, node in extract(graph).chosen.items():
        assert set(graph.children(node)) <= seen
        seen.add(cls)


@pytest.mark.parametrize("method", METHODS)
def test_layout_file_keeps_one_carry_layout(method: str) -> None:
    graph = read(DATA / "matmul.json")
    answer = extract(graph, method)
    # mma.sync with alternative 0 (2 + 5 + 16), converted for the store (9 + 4)
    assert answer.cost == 36.0
    assert answer.alternatives == {0: 0}
    assert answer.resources == {"smem": 1536.0}
    assert answer.cost == 36.0


@pytest.mark.parametrize("method", METHODS)
def test_tight_shared_memory_moves_the_layout_choice(method: str) -> None:
    graph = read(DATA / "matmul.json").with_limit([1024.0])
    # no room to convert: everything blocked (5 + 3 + 40 + 4)
    answer = extract(graph, method)
    assert (answer.cost, answer.alternatives) == (52.0, {0: 1})


@pytest.mark.parametrize("method", METHODS)
def test_no_shared_memory_names_the_row(method: str) -> None:
    graph = read(DATA / "matmul.json")
    assert extract(graph.with_limit([512.0]), method).chosen.keys() >= {graph.class_name.index("a.fragment")}
    with pytest.raises(InfeasibleError, match="smem"):
        extract(graph.with_limit([500.0]), method)


def test_resource_total_over_the_limit_is_reported_with_the_least_use() -> None:
    builder = GraphBuilder(resource_names=["smem"], limit=[100.0])
    builder.add("pair", 0, [1, 2])
    builder.add("small", 1, [], 1.0, resource=[60.0])
    builder.add("big", 2, [], 1.0, resource=[70.0])
    builder.add("less", 2, [], 5.0, resource=[50.0])
    graph = builder.build(0)
    with pytest.raises(InfeasibleError, match=r"resource smem: every answer uses at least 110, the limit is 100"):
        extract(graph, "greedy")
    assert extract(graph.with_limit([110.0]), "greedy").cost == 6.0


def test_group_that_cannot_be_met_is_named() -> None:
    builder = GraphBuilder()
    builder.add("ret", 0, [1, 2])
    builder.add("carry", 1, [], group=7, alternative=0)
    builder.add("yield", 2, [], group=7, alternative=1)
    for method in METHODS:
        with pytest.raises(InfeasibleError, match=r"choice group 7 cannot be met.*yield"):
            extract(builder.build(0), method)


def test_unbuildable_root_is_traced_to_the_class_without_nodes() -> None:
    builder = GraphBuilder()
    builder.add("ret", 0, [1])
    builder.add("add", 1, [2])
    builder.add("ld", 2, [], math.inf)
    graph = builder.build(0, class_name=["result", "sum", "operand"])
    for method in METHODS:
        with pytest.raises(InfeasibleError, match=r"class 0 \(result\).*class 2 \(operand\) has no usable node \(ld"):
            extract(graph, method)


def test_cyclic_root_is_reported() -> None:
    builder = GraphBuilder()
    builder.add("ret", 0, [1])
    builder.add("f", 1, [2])
    builder.add("g", 2, [1])
    with pytest.raises(InfeasibleError, match="every way to build class 1 is cyclic"):
        extract(builder.build(0))


def test_unbuildable_classes_off_the_chosen_road_do_no_harm() -> None:
    builder = GraphBuilder()
    builder.add("ret", 0, [1], 1.0)
    builder.add("cheap", 1, [2], 1.0)
    builder.add("plain", 1, [], 5.0)
    builder.add("never", 2, [], math.inf)
    builder.add("loop", 3, [3])
    graph = builder.build(0)
    assert {extract(graph, method).cost for method in METHODS} == {6.0}


def test_local_search_exchanges_resource_between_classes() -> None:
    builder = GraphBuilder(resource_names=["smem"], limit=[4.0])
    builder.add("ret", 0, [1, 2])
    builder.add("staged", 1, [], 1.0, resource=[4.0])
    builder.add("direct", 1, [], 9.0)
    builder.add("staged", 2, [], 1.0, resource=[4.0])
    builder.add("direct", 2, [], 4.0)
    assert extract(builder.build(0), "greedy").cost == 5.0


def test_many_groups_are_solved_without_enumerating_them() -> None:
    # 8 groups of 4 alternatives: 65,536 assignments; alternative g % 4 of group g is the cheap one
    builder = GraphBuilder()
    builder.add("ret", 0, list(range(1, 25)))
    for g in range(8):
        for part in range(3):
            for a in range(4):
                builder.add("form", 1 + 3 * g + part, [], 1.0 if a == g % 4 else 3.0 - part, group=g, alternative=a)
    answer = extract(builder.build(0), "greedy")
    assert answer.alternatives == {g: g % 4 for g in range(8)}
    assert answer.cost == 24.0


def test_the_bound_sees_that_one_of_several_forms_is_computed() -> None:
    # a value in two layouts, each computed natively at 10 or converted from the other at 1
    builder = GraphBuilder()
    builder.add("pair", 0, [1, 2])
    for at, native, other in ((1, 3, 4), (2, 4, 3)):
        builder.add("id", at, [native])
        builder.add("convert", at, [other], 1.0)
    builder.add("native", 3, [], 10.0)
    builder.add("native", 4, [], 10.0)
    answer = extract(builder.build(0), "greedy")
    assert answer.cost == 11.0
    assert answer.bound == 11.0


def test_rewards_count_only_below_the_roots() -> None:
    builder = GraphBuilder()
    builder.add("ret", 0, [1], 2.0)
    builder.add("plain", 1, [], 1.0)
    builder.add("use", 1, [2], 1.0)
    builder.add("reward", 2, [], -5.0)
    builder.add("stray", 3, [], -100.0)
    assert extract(builder.build(0), "ilp").cost == -2.0


def test_exact_method_takes_a_start_and_ignores_one_that_does_not_fit() -> None:
    graph = shared_square()
    start = extract(graph, "tree")
    assert extract(graph, "ilp", start=start).cost == 11.0
    assert extract(graph.forbid([2]), "ilp", start=start).cost == 11.0


def test_fixed_and_forbidden_nodes() -> None:
    graph = shared_square()
    assert extract(graph.fix([2]), "ilp").chosen[1] == 2
    assert 2 not in extract(graph.forbid([2])).chosen.values()


def test_tiny_time_limit_still_states_a_bound() -> None:
    answer = extract(shared_square(), "ilp", time_limit=1e-9)
    assert answer.bound <= 11.0 <= answer.cost


def test_unknown_method_is_refused() -> None:
    with pytest.raises(ExtractionError, match="unknown method 'magic'"):
        extract(shared_square(), "magic")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chosen": {0: 0}}, "needed but has no chosen node"),
        ({"chosen": {3: 5, 1: 1, 2: 3}}, "needed but has no chosen node"),
        ({"chosen": {3: 5, 1: 3, 2: 3, 0: 0}}, "not in it"),
        ({"chosen": {3: 5, 1: 2, 2: 4, 0: 0}, "cost": 13.0}, "not needed by any root"),
        ({"cost": 10.0}, "its nodes sum to 11"),
        ({"bound": 12.0}, "lower bound"),
    ],
)
def test_check_refuses_a_wrong_answer(change: dict[str, object], message: str) -> None:
    graph = shared_square()
    right = extract(graph, "ilp")
    fields = {"chosen": right.chosen, "cost": 11.0, "bound": 11.0, "method": "made up", "seconds": 0.0}
    check(graph, Answer(**fields))
    with pytest.raises(CheckError, match=message):
        check(graph, Answer(**{**fields, **change}))


def test_check_refuses_cycles_groups_and_limits() -> None:
    builder = GraphBuilder(resource_names=["smem"], limit=[5.0])
    builder.add("f", 0, [1], resource=[3.0], group=0, alternative=0)
    builder.add("g", 1, [0], resource=[3.0])
    builder.add("h", 1, [], 1.0, resource=[3.0], group=0, alternative=1)
    builder.add("k", 1, [], math.inf)
    graph = builder.build(0)
    for chosen, message in (
        ({0: 0, 1: 1}, "cyclic"),
        ({0: 0, 1: 2}, "choice group 0 is split"),
        ({0: 0, 1: 3}, "forbidden"),
    ):
        with pytest.raises(CheckError, match=message):
            check(graph, Answer(chosen, 1.0, 0.0, "made up", 0.0))
    free = Graph.build(
        node_op=["f", "h"],
        node_class=[0, 1],
        child_offset=[0, 1, 1],
        child_class=[1],
        cost=[0.0, 1.0],
        root=0,
        resource=[[3.0, 3.0]],
        limit=[5.0],
        resource_names=["smem"],
    )
    with pytest.raises(CheckError, match=r"resource smem: 6\.0 used, 5\.0 allowed"):
        check(free, Answer({0: 0, 1: 1}, 1.0, 0.0, "made up", 0.0))


def test_one_graph_many_costs() -> None:
    graph = shared_square()
    dear_load = graph.cost.copy()
    dear_load[5] = 20.0
    assert extract(graph.with_cost(dear_load), "greedy").cost == 13.0
    assert extract(graph, "greedy").cost == 11.0
    assert extract(graph.with_cost(np.zeros(6)), "greedy").cost == 0.0
