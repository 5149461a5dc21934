"""The k cheapest answers, against all answers by brute force."""

import pathlib

import pytest

from extract import ExtractionError, GraphBuilder, InfeasibleError, check, top
from extract.gym import read
from tests.extract.brute import answers
from tests.extract.random_graphs import random_graph

DATA = pathlib.Path(__file__).parent / "data"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_the_k_cheapest_in_order_and_distinct(first: int) -> None:
    several = 0
    for seed in range(first, first + 20):
        graph = random_graph(seed)
        expected = answers(graph)
        count = 1 + seed % 9
        if not expected:
            with pytest.raises(InfeasibleError):
                top(graph, count)
            continue
        found = top(graph, count)
        assert [answer.cost for answer in found] == pytest.approx([cost for cost, _ in expected[:count]])
        assert len({frozenset(answer.chosen.values()) for answer in found}) == len(found)
        for place, answer in enumerate(found):
            check(graph, answer)
            assert answer.bound <= expected[place][0] + 1e-6
        several += len(found) > 1
    assert several > 3


def test_equal_costs_and_dominated_nodes_count_as_answers() -> None:
    builder = GraphBuilder()
    builder.add("ret", 0, [1], 1.0)
    builder.add("a", 1, [], 2.0)
    builder.add("b", 1, [], 2.0)
    builder.add("c", 1, [2], 2.0)
    builder.add("x", 2, [], 5.0)
    assert [answer.cost for answer in top(builder.build(0), 9)] == [3.0, 3.0, 8.0]


def test_answers_differ_in_their_layouts() -> None:
    graph = read(DATA / "matmul.json")
    found = top(graph, 3)
    assert [answer.cost for answer in found] == [36.0, 52.0, 53.0]
    assert [answer.alternatives for answer in found] == [{0: 0}, {0: 1}, {0: 0}]


def test_asking_for_none_is_refused() -> None:
    with pytest.raises(ExtractionError, match="at least 1"):
        top(read(DATA / "matmul.json"), 0)


def test_no_time_is_said_so() -> None:
    with pytest.raises(ExtractionError, match="time limit"):
        top(random_graph(35), 2, time_limit=1e-9)


def test_no_budget_is_said_so() -> None:
    with pytest.raises(ExtractionError, match=r"extraction budget of 0\.001 units ended"):
        top(random_graph(35), 2, budget=0.001)
