"""Rows that tighten the relaxation: no answer violates one, the solution that caused it does. Branch and cut."""

import gc
import random
import weakref

import pytest

from extract import Graph, GraphBuilder, InfeasibleError, exact, solver
from extract.branch_cut import branch_and_cut
from extract.budget import Budget
from extract.exact import solve_exactly
from extract.heuristics import run_greedy
from extract.knapsack import Knapsack
from extract.min_cut import VIOLATION, MinCuts
from extract.program import make_program
from extract.separation import Relaxation
from extract.session import Session
from extract.settle import INFINITY
from extract.solver import Cover, Solver
from tests.extract.brute import answers, brute_force
from tests.extract.random_graphs import random_graph

PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)


def solution(graph: Graph, draw: random.Random) -> dict[int, float]:
    """Any values of the nodes, those of a class at most 1 together."""
    left = dict.fromkeys(graph.topology.classes, 1.0)
    value: dict[int, float] = {}
    for node in graph.topology.nodes:
        cls = int(graph.node_class[node])
        value[node] = draw.choice([part for part in PARTS if part <= left[cls]])
        left[cls] -= value[node]
    return value


def weight(cover: Cover, graph: Graph, nodes: frozenset[int]) -> float:
    """What an answer weighs, where groups that it does not carry take the alternative that weighs most."""
    carried = {int(graph.group[node]): int(graph.alternative[node]) for node in nodes if graph.group[node] >= 0}
    total = sum(cover.nodes.get(node, 0.0) for node in nodes)
    for group in {group for group, _ in cover.alternatives}:
        weights = {a: each for (g, a), each in cover.alternatives.items() if g == group}
        total += weights.get(carried[group], 0.0) if group in carried else max(weights.values())
    return total


def test_every_answer_holds_a_node_of_every_cut() -> None:
    found = 0
    for seed in range(60):
        graph, draw = random_graph(seed, rewards=False), random.Random(seed)
        value = solution(graph, draw)
        for cut in MinCuts(graph).violated(value, Budget(100.0)):
            found += 1
            assert sum(value[node] for node in cut) < 1.0 - VIOLATION
            assert all(not nodes.isdisjoint(cut) for _, nodes in answers(graph)), seed
    assert found > 30


def test_no_answer_breaks_a_cover() -> None:
    found = 0
    for seed in range(200):
        graph, draw = random_graph(seed, rewards=False), random.Random(seed)
        value = solution(graph, draw)
        carried = {(g, a): 1.0 / len(alternatives) for g, alternatives in graph.groups.items() for a in alternatives}
        for row in range(len(graph.limit)):
            cover = Knapsack(graph, row).violated(value, carried, Budget(100.0))
            if cover is None:
                continue
            found += 1
            whole = sum(value[node] * each for node, each in cover.nodes.items())
            whole += sum(carried[tag] * each for tag, each in cover.alternatives.items())
            assert whole > cover.most
            assert all(weight(cover, graph, nodes) <= cover.most for _, nodes in answers(graph)), seed
    assert found > 10


def buffers(count: int, size: float, limit: float) -> Graph:
    """Tiles that all have to be held, in memory or at a price."""
    builder = GraphBuilder(resource_names=["memory"], limit=[limit])
    builder.add("all", 0, list(range(1, count + 1)))
    for cls in range(1, count + 1):
        builder.add("buffer", cls, [], 1.0, resource=[size])
        builder.add("registers", cls, [], 10.0)
    return builder.build(0)


def test_of_three_buffers_two_fit() -> None:
    graph = buffers(3, 32.0, 80.0)
    value = {node: 5 / 6 if graph.node_op[node] == "buffer" else 1 / 6 for node in range(1, 7)}
    cover = Knapsack(graph, 0).violated(value, {}, Budget(100.0))
    assert cover is not None
    buffered = [node for node in range(7) if graph.node_op[node] == "buffer"]
    assert [cover.nodes[node] / cover.most for node in buffered] == pytest.approx([0.5] * 3, abs=1e-4)


def test_a_ring_is_of_one_number_of_stages() -> None:
    """Two tiles in rings of 2 or 3 stages, 10 bytes a stage: 50 bytes hold two rings of 2, or one of 3."""
    builder = GraphBuilder(resource_names=["memory"], limit=[50.0])
    builder.add("both", 0, [1, 2])
    for cls in (1, 2):
        builder.add("copy", cls, [3], resource=[20.0])
        builder.add("copy", cls, [4], resource=[30.0])
        builder.add("load", cls, [], 9.0)
    builder.add("2 stages", 3, [], 5.0, group=0, alternative=2)
    builder.add("3 stages", 4, [], 1.0, group=0, alternative=3)
    graph = builder.build(0)
    mixed = {1: 0.5, 2: 0.5, 3: 0.0, 4: 0.5, 5: 0.5, 6: 0.0}  # 50 bytes, as if one ring had 2 stages and one 3
    cover = Knapsack(graph, 0).violated(mixed, {(0, 2): 0.5, (0, 3): 0.5}, Budget(100.0))
    assert cover is not None
    assert all(weight(cover, graph, nodes) <= cover.most for _, nodes in answers(graph))


def test_relaxation_with_these_rows_is_exact_where_without_it_is_not() -> None:
    graph = buffers(5, 32.0, 80.0)
    session = Session(graph)
    reduced = session.graph
    assert reduced is not None
    program = make_program(reduced, INFINITY)
    assert program is not None
    relaxation = Relaxation(session, program)
    first = last = relaxation.solver.relax(session.budget)
    while relaxation.separate(last, session.budget):
        last = relaxation.solver.relax(session.budget)
    base = session.simplified.base
    assert (base + first.bound, base + last.bound) == (pytest.approx(27.5), pytest.approx(32.0, abs=1e-3))


@pytest.mark.parametrize("seed", range(40))
def test_branch_and_cut_finds_and_proves_the_best(seed: int) -> None:
    graph = random_graph(seed, rewards=False)
    best = brute_force(graph)
    try:
        session = Session(graph)
    except InfeasibleError:
        assert best is None
        return
    assert branch_and_cut(session, Budget(1000.0))
    assert session.cost == (INFINITY if best is None else pytest.approx(best))
    if best is not None:
        assert session.bound == pytest.approx(best)


def test_branch_and_cut_ends_with_its_budget() -> None:
    session = Session(buffers(12, 32.0, 80.0))
    assert not branch_and_cut(session, Budget(0.0))
    assert not session.optimal


def test_dropping_slack_rows_leaves_the_relaxation_as_it_was() -> None:
    dropped = 0
    for seed in range(60):
        graph = random_graph(seed, rewards=False)
        program = make_program(graph, INFINITY)
        if program is None:
            continue
        solver = Solver(program, relaxed=True)
        topology = graph.topology
        for cls in topology.roots:
            solver.add_cut(topology.class_nodes[cls])
        nodes = topology.nodes
        solver.add_cut(nodes)  # slack wherever an answer takes two nodes
        solver.add_cover(Cover(dict.fromkeys(nodes, 1.0), {}, len(nodes) + 1.0))  # slack always
        before = solver.relax(Budget(100.0))
        if before.value is None:
            continue
        rows = solver.n_rows
        solver.drop_slack(least=1)
        after = solver.relax(Budget(100.0))
        assert not solver.covers
        assert solver.n_rows == solver.highs.getNumRow() < rows
        assert after.bound == pytest.approx(before.bound), seed
        activity = solver.highs.getSolution().row_value
        for row, cut in solver.cuts.items():  # its rows have their new places
            assert activity[row] == pytest.approx(sum(after.value[node] for node in cut if node in program.column))
        dropped += rows - solver.n_rows
    assert dropped > 60


def test_short_relaxations_need_no_thread_and_say_what_the_others_say(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = 0
    for seed in range(40):
        program = make_program(random_graph(seed, rewards=False), INFINITY)
        if program is None:
            continue
        tried += 1
        with monkeypatch.context() as patch:
            patch.setattr(solver, "SHORT", -1)
            threaded = Solver(program, relaxed=True).relax(Budget(100.0))
        with monkeypatch.context() as patch:
            patch.setattr(solver, "Thread", None)
            here = Solver(program, relaxed=True).relax(Budget(100.0))
        assert (here.bound, here.value, here.infeasible) == (threaded.bound, threaded.value, threaded.infeasible)
    assert tried > 20


def test_the_whole_program_is_left_alone_where_its_presolve_cannot_be_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(random_graph(30, rewards=False), Budget(100.0))
    run_greedy(session)
    assert session.chosen is not None
    assert session.graph is not None
    assert not session.optimal
    with monkeypatch.context() as patch:
        patch.setattr(exact, "Solver", None)
        assert not solve_exactly(session, "ilp", Budget(1e-3))
    assert solve_exactly(session, "ilp", Budget(100.0))


def test_a_solver_goes_with_what_it_was_made_of() -> None:
    """Nothing waits for Python's collector: HiGHS and its callbacks held each other, and the program."""
    made = (make_program(random_graph(seed, rewards=False), INFINITY) for seed in range(40))
    program = next(each for each in made if each is not None)
    gc.disable()
    try:
        solved = Solver(program, relaxed=True)
        solved.relax(Budget(100.0))
        left = weakref.ref(solved), weakref.ref(solved.highs), weakref.ref(program)
        del solved, program
        assert [each() for each in left] == [None] * 3
    finally:
        gc.enable()
