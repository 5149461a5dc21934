"""The portfolio: when it stops, what it reports, and what Ctrl-C leaves."""

import functools
import math
import os
import pathlib
import re
import signal
import sys
import threading
from collections.abc import Callable
from itertools import count, pairwise

import numpy as np
import pytest

from extract import (
    Answer,
    Budget,
    ExtractionError,
    Graph,
    GraphBuilder,
    InfeasibleError,
    Moment,
    Pursuit,
    check,
    extract,
    extract_many,
)
from extract.export import from_nodes
from extract.graph import NO_GROUP
from extract.greedy import greedy
from extract.gym import read
from extract.heuristics import run_greedy
from extract.session import MOST, Session
from tests.extract.brute import brute_force
from tests.extract.random_graphs import random_graph

DATA = pathlib.Path(__file__).parent / "data"


def tangle(classes: int, seed: int = 5, branch: int = NO_GROUP) -> Graph:
    """A graph that neither simplification nor the LP relaxation decides: many shared operands, near-equal costs. The
    nodes of the first class are alternatives of a group `branch`.
    """
    random = np.random.default_rng(seed)
    builder = GraphBuilder()
    for cls in range(classes):
        below = np.arange(cls + 1, min(cls + 25, classes))
        for alternative in range(4):
            children = random.choice(below, min(3, len(below)), replace=False) if len(below) else []
            group = {} if cls else {"group": branch, "alternative": alternative}
            builder.add("f", cls, [int(child) for child in children], float(random.integers(20, 40)), **group)
    return builder.build(0)


@functools.cache
def decided(classes: int, budget: float, branch: int | None = None) -> Answer:
    """What a search of a tangle in one go finds."""
    return extract(tangle(classes, branch=NO_GROUP if branch is None else branch), "auto", budget=budget, branch=branch)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("branch", [None, 0])
def test_a_search_that_was_put_aside_goes_on_to_the_same_answer(branch: int | None) -> None:
    """Behind heuristics and the relaxation it has an answer and a bound; its end is that of a search in one go."""
    graph = tangle(120, branch=NO_GROUP if branch is None else branch)
    whole = decided(120, 1000, branch)
    pursuit = Pursuit(graph, Budget(1000), branch=branch)
    pursuit.go_on()
    aside = pursuit.answer
    check(graph, aside)
    assert not pursuit.ended
    assert aside.bound <= whole.cost <= aside.cost
    pursuit.go_on()
    assert pursuit.ended
    assert (pursuit.answer.cost, pursuit.answer.bound, pursuit.answer.chosen) == (whole.cost, whole.bound, whole.chosen)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("branch", [0, None])
def test_a_glance_gives_a_bound_and_goes_on_to_the_same_answer(branch: int | None) -> None:
    graph = tangle(60, branch=NO_GROUP if branch is None else branch)
    whole = decided(60, 800, branch)
    pursuit = Pursuit(graph, Budget(800), branch=branch, glance=True)
    pursuit.go_on()
    assert 0 < pursuit.bound <= whole.bound
    assert not pursuit.ended
    pursuit.go_on()  # to where it may be put aside with an answer
    assert pursuit.bound <= whole.cost <= pursuit.answer.cost
    pursuit.go_on()
    assert pursuit.ended
    assert (pursuit.answer.cost, pursuit.answer.bound, pursuit.answer.chosen) == (whole.cost, whole.bound, whole.chosen)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("branch", [None, 0])
@pytest.mark.parametrize("glance", [True, False])
def test_a_search_that_was_put_aside_keeps_to_a_lower_limit(branch: int | None, glance: bool) -> None:
    """Whether or not it has an answer that costs as much; what was found elsewhere shows where to look."""
    graph = tangle(60, branch=NO_GROUP if branch is None else branch)
    whole = decided(60, 800, branch)

    def below(limit: float, near: Answer | None = None) -> Answer:
        pursuit = Pursuit(graph, Budget(800), branch=branch, glance=glance)
        pursuit.go_on()
        pursuit.stay_below(limit, math.inf, near)
        while not pursuit.ended:
            pursuit.go_on()
        return pursuit.answer

    found = below(whole.cost + 0.5)
    check(graph, found)
    assert found.cost <= whole.cost
    near = below(whole.cost + 0.5, whole)
    assert near.cost <= whole.cost
    with pytest.raises(ExtractionError, match=r"costs less than 1"):
        below(1.0, whole)


def test_a_limit_that_comes_before_a_search_begins_is_kept() -> None:
    pursuit = Pursuit(tangle(60), Budget(800))
    pursuit.stay_below(1.0, math.inf)
    pursuit.go_on()
    with pytest.raises(ExtractionError, match=r"costs less than 1"):
        pursuit.go_on()


def test_what_costs_too_much_guides_the_search_for_what_does_not() -> None:
    """A lower limit on the cost does not reduce the search: the gap is that of the best so far, whatever it costs."""
    graph = tangle(60)
    free = Session(graph, Budget(800))
    run_greedy(free)
    limited = Session(graph, Budget(800), below=free.cost)
    run_greedy(limited)
    assert limited.chosen is None
    assert limited.nodes() == free.nodes()
    free.bound = limited.bound = free.cost / 2
    assert limited.gap == free.gap == 0.5
    with pytest.raises(InfeasibleError):
        limited.answer("greedy")


@pytest.mark.slow
@pytest.mark.parametrize("branch", [None, 0])
def test_a_search_with_a_wide_gap_is_put_aside_a_step_later(
    branch: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the tight relaxation, whose bound is better."""
    graph = tangle(60, branch=NO_GROUP if branch is None else branch)

    def aside(clear: float, elsewhere: float = math.inf) -> Answer:
        monkeypatch.setattr("extract.portfolio.CLEAR", clear)
        pursuit = Pursuit(graph, Budget(4000), branch=branch, elsewhere=elsewhere)
        pursuit.go_on()
        assert not pursuit.ended
        return pursuit.answer

    early, late = aside(math.inf), aside(0.0)
    assert early.bound < late.bound <= late.cost <= early.cost
    hopeless = aside(0.0, elsewhere=early.gap / 2)  # wider than what is worked on here
    assert (hopeless.cost, hopeless.bound) == (early.cost, early.bound)
    assert aside(0.0, elsewhere=early.gap).bound == late.bound


@pytest.mark.in_turn
def test_rounds_of_cuts_leave_half_of_a_budget_for_the_search_near_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tight relaxation may take many rounds, each of which gains a little."""
    relaxation, left = sys.modules["extract.relaxation"], list[float]()
    rounds, near = relaxation._tighten, relaxation.solve_exactly

    def all_spent(session: Session, budget: Budget, *, tight: bool) -> object:
        found = rounds(session, budget, tight=tight)
        budget.spend(budget.left)
        return found

    def solve(session: Session, method: str, budget: Budget, keep: bytearray) -> bool:
        left.append(budget.left / session.budget.work)
        return near(session, method, budget, keep)

    monkeypatch.setattr(relaxation, "_tighten", all_spent)
    monkeypatch.setattr(relaxation, "solve_exactly", solve)
    session = Session(tangle(60), Budget(8000))
    run_greedy(session)
    relaxation.run_relaxation(session, tight=True)
    assert left[0] == pytest.approx(relaxation.SHARE * (1 - relaxation.ROUNDS) * relaxation.SLICE, rel=0.1)


@pytest.mark.in_turn
def test_effort_ends_a_search_that_has_found_nothing_below() -> None:
    """The gap is then that of what an answer must cost less than: a close bound is not worth much work."""
    graph, spent = tangle(60), Budget(8000)
    best = decided(60, 800)
    assert not best.optimal
    with pytest.raises(ExtractionError, match="ended before any answer was found"):
        extract(graph, "auto", budget=spent, below=best.bound + 1.0, effort=1e-4)
    assert spent.spent < 3000


def test_the_answer_is_proved_and_the_report_tells_how() -> None:
    graph = read(DATA / "matmul.json")
    answer = extract(graph, "auto")
    assert (answer.cost, answer.optimal) == (36.0, True)
    report = answer.report
    assert report is not None
    assert (report.before["nodes"], report.before["classes"], report.before["groups"]) == (13, 9, 1)
    assert report.after["nodes"] < report.before["nodes"]
    assert sum(report.steps.values()) > 0
    assert report.trace[-1].cost == 36.0


@pytest.mark.slow
def test_history_only_improves() -> None:
    moments: list[Moment] = []
    answer = extract(tangle(120), "auto", budget=2000, listener=moments.append)
    check(tangle(120), answer)
    assert answer.report is not None
    trace = answer.report.trace
    assert len(moments) >= len(trace) > 1
    for earlier, later in pairwise(trace):
        assert later.cost <= earlier.cost
        assert later.bound >= earlier.bound
        assert later.seconds >= earlier.seconds
    assert trace[-1].cost == pytest.approx(answer.cost)


@pytest.mark.parametrize("method", ["auto", "ilp", "pruned"])
def test_time_limits_hold(method: str) -> None:
    graph = tangle(400)
    answer = extract(graph, method, time_limit=1.0)
    check(graph, answer)
    assert answer.seconds < 4.0  # HiGHS looks at its clock between steps
    assert answer.bound <= answer.cost
    assert answer.optimal or "limit of 1 s" in answer.ended or "budget of 1000 units" in answer.ended


@pytest.mark.in_turn
@pytest.mark.parametrize("method", ["auto", "ilp", "pruned"])
def test_budgets_end_a_search_at_the_same_place_whatever_the_clock_says(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = extract(tangle(300), method, budget=60.0)
    assert not quiet.optimal
    assert quiet.ended == "the extraction budget of 60 units"
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("extract.") and hasattr(module, "perf_counter"):
            monkeypatch.setattr(module, "perf_counter", slow_clock())
    busy = extract(tangle(300), method, budget=60.0)
    assert (busy.chosen, busy.cost, busy.bound, busy.ended) == (quiet.chosen, quiet.cost, quiet.bound, quiet.ended)
    assert busy.seconds > 1000


@pytest.mark.in_turn
def test_a_small_gap_ends_a_search_that_asks_for_little_effort() -> None:
    proof = decided(120, 1000)
    early = extract(tangle(120), "auto", budget=2000, effort=0.05)
    again = extract(tangle(120), "auto", budget=2000, effort=0.05)
    assert re.fullmatch(r"a gap of \d+\.\d% after \d+ of 2000 units", early.ended), early.ended
    assert f"a gap of {early.gap:.1%}" in early.ended
    assert early.bound <= proof.cost <= early.cost
    assert early.gap > proof.gap
    assert (again.chosen, again.bound, again.ended) == (early.chosen, early.bound, early.ended)


def test_no_gap_is_worth_more_than_a_part_of_the_budget() -> None:
    session = Session(tangle(60), Budget(1000), effort=1.0)
    run_greedy(session)
    session.closing = 50.0
    assert session.gap > MOST
    assert session.worth == 50.0 + 1000 * MOST


def test_a_search_with_all_the_effort_ends_with_its_budget() -> None:
    answer = extract(tangle(300), "auto", budget=60.0, effort=1000.0)
    assert answer.ended == "the extraction budget of 60 units"


def test_small_graphs_are_proved_with_little_effort() -> None:
    for seed in range(40):
        graph = random_graph(seed)
        expected = brute_force(graph)
        if expected is not None:
            answer = extract(graph, "auto", effort=0.8)
            assert answer.bound <= expected + 1e-6 <= answer.cost + 2e-6
            assert answer.optimal or answer.ended


def slow_clock() -> Callable[[], float]:
    """Every look at it is an hour after the one before."""
    hours = count()
    return lambda: 3600.0 * next(hours)


@pytest.mark.parametrize("method", ["auto", "ilp", "pruned"])
def test_a_budget_that_ends_before_any_answer_says_so(method: str) -> None:
    graph = random_graph(170)  # greedy finds no answer that meets its constraints
    with pytest.raises(
        ExtractionError, match=r"the extraction budget of 0\.001 units ended before any answer was found"
    ):
        extract(graph, method, budget=0.001)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_returns_the_best_so_far() -> None:
    graph = tangle(400)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        answer = extract(graph, "auto", budget=60_000)
    finally:
        timer.cancel()
    check(graph, answer)
    assert answer.report is not None
    assert answer.report.interrupted
    assert answer.seconds < 20.0
    assert answer.cost <= greedy(graph, polish=False).cost


@pytest.mark.in_turn
@pytest.mark.parametrize("method", ["greedy", "pruned", "auto"])
def test_many_costs_give_what_each_gives_alone(method: str) -> None:
    random = np.random.default_rng(8)
    for seed in (25, 30, 35, 37, 175):
        graph = random_graph(seed, rewards=False)
        costs = [
            np.where(np.isinf(graph.cost), np.inf, random.integers(0, 9, graph.n_nodes).astype(float)) for _ in range(5)
        ]
        for cost, answer in zip(costs, extract_many(graph, costs, method), strict=True):
            copy = graph.with_cost(cost)
            check(copy, answer)
            optimum = brute_force(copy)
            assert optimum is not None
            assert answer.bound <= optimum + 1e-9 <= answer.cost + 2e-9
            if method == "auto":
                assert answer.cost == pytest.approx(optimum)


@pytest.mark.in_turn
def test_a_start_is_never_made_worse() -> None:
    graph = tangle(40)
    best = extract(graph, "ilp", budget=20_000)
    assert best.optimal
    again = extract(graph, "greedy", start=best)
    assert again.cost <= best.cost + 1e-9
    odd = Answer({0: 0}, 1.0, 0.0, "wrong", 0.0)
    assert extract(graph, "greedy", start=odd).cost >= best.bound


def test_graph_from_e_nodes() -> None:
    class Node:
        def __init__(self, op: str, cls: int, children: tuple[int, ...]) -> None:
            self.op, self.cls, self.children = op, cls, children

    nodes = [Node("add", 0, (1, 2)), Node("sub", 0, (2, 2)), Node("x", 1, ()), Node("y", 2, ())]
    graph = from_nodes(nodes, [0], lambda node: {"add": 1.0, "sub": math.inf}.get(node.op, 2.0))
    assert extract(graph, "auto").cost == 5.0
    assert graph.children(1) == [2, 2]


def test_large_graphs_take_one_pass_and_a_cheap_bound() -> None:
    graph = tangle(700)
    assert len(graph.topology.nodes) > 1500
    answer = extract(graph, "greedy")
    check(graph, answer)
    assert answer.report is None
    polished = greedy(graph, polish=True)
    check(graph, polished)
    assert answer.bound <= polished.cost <= answer.cost


def test_a_limit_between_two_possible_costs_excludes_no_cheaper_answer() -> None:
    """All costs are whole, so the limit lies between two multiples of the unit."""
    builder = GraphBuilder(resource_names=["a", "b"], limit=[12.0, 7.0])
    for cls, children, cost, use in (
        (0, [], 5.0, (1, 0)), (0, [1], 2.0, (3, 5)), (0, [1, 2], 0.0, (3, 3)),
        (1, [], 0.0, (5, 3)), (1, [], 1.0, (4, 1)), (2, [1], 1.0, (5, 0)),
    ):  # fmt: skip
        builder.add("f", cls, children, cost, resource=use)
    graph = builder.build(0)
    assert extract(graph, "auto", below=2.3).cost == extract(graph, "auto").cost == 2.0
    with pytest.raises(InfeasibleError):
        extract(graph, "auto", below=2.0)
