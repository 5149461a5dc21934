"""A choice group searched alternative by alternative."""

import functools
import re

import numpy as np
import pytest

from extract import Graph, GraphBuilder, InfeasibleError, extract, portfolio
from extract.session import Session
from tests.extract.random_graphs import random_graph


def divided(costs: tuple[float, ...], uses: tuple[float, ...], limit: float) -> Graph:
    """Alternatives of one group, each a chain of its own below the root."""
    builder = GraphBuilder(resource_names=["memory"], limit=[limit])
    for alternative, (cost, use) in enumerate(zip(costs, uses, strict=True)):
        first, second = 1 + 2 * alternative, 2 + 2 * alternative
        builder.add("root", 0, [first], group=0, alternative=alternative)
        builder.add("outer", first, [second], cost / 2)
        builder.add("inner", second, [], cost / 2, resource=[use])
    return builder.build(0)


def tangled(apart: float) -> Graph:
    """Two alternatives over a graph that is not solved at once, one of them more expensive by `apart`."""
    random, builder = np.random.default_rng(5), GraphBuilder()
    for alternative in range(2):
        builder.add("root", 0, [1], apart * alternative, group=0, alternative=alternative)
    for cls in range(1, 121):
        below = np.arange(cls + 1, min(cls + 25, 121))
        for _ in range(4):
            children = random.choice(below, min(3, len(below)), replace=False) if len(below) else []
            builder.add("f", cls, [int(child) for child in children], float(random.integers(20, 40)))
    return builder.build(0)


def test_one_alternative_of_a_group_alone() -> None:
    graph = divided((8.0, 4.0, 6.0), (1.0, 1.0, 1.0), 1.0)
    assert [extract(graph.only(0, alternative)).cost for alternative in range(3)] == [8.0, 4.0, 6.0]


def test_cheapest_alternative_is_found_and_proved() -> None:
    answer = extract(divided((8.0, 4.0, 6.0), (1.0, 1.0, 1.0), 1.0), "auto", branch=0)
    assert (answer.cost, answer.bound, answer.alternatives) == (4.0, 4.0, {0: 1})


def test_alternative_over_a_limit_is_passed_over() -> None:
    answer = extract(divided((8.0, 4.0, 6.0), (1.0, 3.0, 1.0), 2.0), "auto", branch=0)
    assert (answer.cost, answer.bound, answer.alternatives) == (6.0, 6.0, {0: 2})


def test_no_alternative_is_left() -> None:
    with pytest.raises(InfeasibleError, match="memory"):
        extract(divided((8.0, 4.0), (3.0, 3.0), 2.0), "auto", branch=0)


@pytest.mark.parametrize("branch", [None, 7])
def test_a_group_that_nothing_carries_changes_nothing(branch: int | None) -> None:
    assert extract(divided((8.0, 4.0), (1.0, 1.0), 1.0), "auto", branch=branch).cost == 4.0


@pytest.mark.parametrize("branch", [None, 0])
def test_answers_that_do_not_cost_less_are_passed_over(branch: int | None) -> None:
    graph = divided((8.0, 4.0, 6.0), (1.0, 1.0, 1.0), 1.0)
    assert extract(graph, "auto", branch=branch, below=4.5).cost == 4.0
    with pytest.raises(InfeasibleError, match="no answer costs less than 4"):
        extract(graph, "auto", branch=branch, below=4.0)


@pytest.mark.parametrize("seed", range(12))
def test_below_changes_no_answer_that_costs_less(seed: int) -> None:
    graph = random_graph(seed)
    try:
        best = extract(graph, "auto")
    except InfeasibleError:
        return
    found = extract(graph, "auto", below=best.cost + 1.0)
    assert (found.cost, found.optimal) == (pytest.approx(best.cost), best.optimal)
    with pytest.raises(InfeasibleError, match="no answer costs less than"):
        extract(graph, "auto", below=best.cost)


@pytest.mark.in_turn
def test_a_gap_that_is_not_worth_more_work_is_named() -> None:
    graph = tangled(1.0)
    full = extract(graph, "auto", branch=0, budget=1000)
    early = extract(graph, "auto", branch=0, budget=2000, effort=0.05)
    assert re.fullmatch(r"a gap of \d+\.\d% after \d+ of 2000 units", early.ended), early.ended
    assert early.bound <= full.cost <= early.cost


def test_an_alternative_without_an_answer_is_not_explained_where_a_cost_is_to_be_beaten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Why nothing fits takes a search of its own: a second was spent on a message that nobody read."""
    graph = divided((8.0, 4.0), (3.0, 3.0), 2.0)
    with pytest.raises(InfeasibleError, match="memory"):
        extract(graph, "auto", branch=0)
    monkeypatch.setattr("extract.infeasible.why_infeasible", lambda graph: pytest.fail("nobody asked"))
    with pytest.raises(InfeasibleError) as error:
        extract(graph, "auto", branch=0, below=5.0)
    assert str(error.value) == "no answer costs less than 5"


@pytest.mark.in_turn
def test_the_next_step_is_one_of_the_alternative_whose_bound_is_least(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once all have a first bound of the relaxation."""
    steps, taken = portfolio.STEPS, dict[Session, int]()

    def noted(place: int, session: Session) -> None:
        assert taken.get(session, 0) == place
        if place >= portfolio.TOGETHER:
            assert min(taken.values()) >= portfolio.TOGETHER
            open = [other for other in taken if taken[other] < len(steps) and not other.optimal]
            assert session.bound == min(other.bound for other in open)
        steps[place](session)
        taken[session] = place + 1

    monkeypatch.setattr(portfolio, "STEPS", [functools.partial(noted, place) for place in range(len(steps))])
    answer = extract(tangled(400.0), "auto", branch=0, budget=4000, effort=0.05)
    assert max(taken.values()) > portfolio.TOGETHER
    assert answer.alternatives == {0: 0}
