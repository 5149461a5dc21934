"""Modulo schedules: bounds, the heuristic and the exact search against exhaustive search, and loops of real kernels."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

import tilesat
from benchmarks.peers.__main__ import source
from benchmarks.peers.cases import CASES, Case
from extract.budget import Budget
from lowering.modulo import Dependence, Graph, Operation, Schedule, search
from lowering.modulo.bounds import bounds, one_at_a_time
from lowering.modulo.exact import feasible, fewest_registers
from lowering.modulo.explain import lines
from lowering.modulo.graph import OWNED, reservations
from lowering.modulo.loops import loops
from lowering.modulo.rau import iterative
from lowering.modulo.search import ROUNDED
from tests.lowering.report import outline

EXAMPLES = Path(__file__).parents[2] / "examples"
BRANCH = """
cuda_tile.module @m {
  entry @k(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %n: tile<i32>) {
    %t0 = make_token : token
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %i = iota : tile<1024xi32>
    %xr = reshape %x : tile<ptr<f32>> -> tile<1xptr<f32>>
    %xb = broadcast %xr : tile<1xptr<f32>> -> tile<1024xptr<f32>>
    %xp = offset %xb, %i : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
    %start, %tl = load_ptr_tko weak %xp token=%t0 : tile<1024xptr<f32>> -> tile<1024xf32>, token
    %r = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%a = %start) -> (tile<1024xf32>) {
      %c = cmpi less_than %k, %one, signed : tile<i32> -> tile<i1>
      %b = if %c -> (tile<1024xf32>) {
        %e = exp %a : tile<1024xf32>
        yield %e : tile<1024xf32>
      } else {
        %f = addf %a, %a rounding<nearest_even> : tile<1024xf32>
        yield %f : tile<1024xf32>
      }
      continue %b : tile<1024xf32>
    }
    %yr = reshape %y : tile<ptr<f32>> -> tile<1xptr<f32>>
    %yb = broadcast %yr : tile<1xptr<f32>> -> tile<1024xptr<f32>>
    %yp = offset %yb, %i : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
    %t2 = store_ptr_tko weak %yp, %r token=%t0 : tile<1024xptr<f32>>, tile<1024xf32> -> token
    return
  }
}
"""
ENOUGH = 1e6  # units of work: no search here ends early


def drawn(rng: random.Random) -> Graph:
    """Two to four operations on two units of their own and one shared one, with dependences that close cycles."""
    count = rng.randint(2, 4)
    units = (*sorted(OWNED), "issue")
    operations: list[Operation] = []
    for i in range(count):
        uses = {unit: rng.choice((0.5, 1.0, 1.5, 2.0)) for unit in rng.sample(units, rng.randint(0, 2))}
        operations.append(Operation(f"o{i}", uses, rng.randint(0, 3)))
    dependences: list[Dependence] = []
    for _ in range(rng.randint(1, 6)):
        source, target = rng.randrange(count), rng.randrange(count)
        distance = rng.choice((1, 1, 2)) if source >= target else rng.choice((0, 0, 0, 1))
        dependences.append(Dependence(source, target, rng.randint(0, 4), distance))
    return Graph(tuple(operations), tuple(dependences))


def exhaustive(graph: Graph, interval: int) -> Schedule | None:
    """The first schedule with this interval among all slots for all operations."""
    for slots in itertools.product(range(interval), repeat=len(graph.operations)):
        taken = reservations(graph.operations, slots, interval, graph.units)
        if any(max(taken[unit]) > 1 + 1e-9 for unit in graph.owned):
            continue
        starts = list(slots)
        for _ in range(len(starts) + 1):  # whole iterations later until all dependences are met, if that ends
            late = [
                d for d in graph.dependences if starts[d.target] + interval * d.distance - starts[d.source] < d.delay
            ]
            for each in late:
                need = starts[each.source] + each.delay - interval * each.distance - starts[each.target]
                starts[each.target] += int(-(-need // interval)) * interval if need > 0 else 0
            if not late:
                found = Schedule(graph, interval, tuple(starts))
                return found if found.full <= interval else None
    return None


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(20))
def test_exact_search_agrees_with_exhaustive_search(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        graph = drawn(rng)
        interval = max(bounds(graph).slots, one_at_a_time(graph))
        assert all(exhaustive(graph, shorter) is None for shorter in range(1, interval)), "the bound is too high"
        while (known := exhaustive(graph, interval)) is None:
            answer = feasible(graph, interval, Budget(ENOUGH))
            assert answer.finished
            assert answer.schedule is None
            interval += 1
        found = feasible(graph, interval, Budget(ENOUGH)).schedule
        heuristic = iterative(graph, 100)
        assert found is not None
        assert heuristic is not None
        assert not [*known.violations(), *found.violations(), *heuristic.violations()]
        assert heuristic.interval >= found.interval == interval
        best = fewest_registers(found, Budget(ENOUGH))
        assert best.finished
        assert best.schedule is not None
        assert best.schedule.interval == interval
        assert best.schedule.registers() <= min(known.registers(), found.registers()) + 1e-6


def test_the_exact_search_finds_what_the_heuristic_misses() -> None:
    """Two units: the heuristic fills one so that the other has no room, an interval of 8 instead of 7."""
    graph = Graph(
        (
            Operation("a", {"global": 1.5, "tensor": 2.0}),
            Operation("b", {"global": 1.0, "tensor": 2.0}),
            Operation("c", {"tensor": 3.0}),
            Operation("d", {"global": 2.0}),
        ),
        (Dependence(2, 0, 4.0, 1),),
    )
    heuristic, exact = iterative(graph, 100), feasible(graph, 7, Budget(ENOUGH)).schedule
    assert heuristic is not None
    assert exact is not None
    assert (heuristic.interval, exact.interval) == (8, 7)
    assert not list(exact.violations())


def test_bounds() -> None:
    graph = Graph(
        (Operation("load", {"global": 3.0}), Operation("add", {"issue": 1.0})),
        (Dependence(0, 1, 5.0), Dependence(1, 1, 4.0, 1), Dependence(1, 0, 2.0, 2)),
    )
    found = bounds(graph)
    assert (found.resource, found.unit) == (3.0, "global")
    assert (found.recurrence, found.cycle) == (4.0, (1,))
    assert found.slots == 4


def test_a_cycle_within_an_iteration_is_named() -> None:
    graph = Graph((Operation("a"), Operation("b")), (Dependence(0, 1, 1.0), Dependence(1, 0, 1.0)))
    with pytest.raises(ValueError, match=r"dependences within an iteration close a cycle: [ab] -> [ab]"):
        search(graph)


def test_violations_are_named() -> None:
    graph = Graph(
        (Operation("a", {"tensor": 1.0, "issue": 2.0}), Operation("b", {"tensor": 1.0})), (Dependence(0, 1, 2.0),)
    )
    assert list(Schedule(graph, 1, (0, 1)).violations()) == [
        "'b' starts 1 slots after 'a', not 2",
        "a unit is busy for 2 slots of 1",
        "tensor is taken 2 times in slot 0",
    ]
    assert not list(Schedule(graph, 3, (0, 2)).violations())


def test_a_budget_ends_the_proof_and_says_so() -> None:
    unit = {"tensor": 1.0}
    operations = tuple(Operation(f"o{i}", {"tensor": 1.0 + i % 3 / 2}, 1) for i in range(9))
    dependences = (*(Dependence(i, i + 1, 3.0) for i in range(8)), Dependence(8, 0, 2.0, 3), Dependence(0, 4, 9.0, 0))
    found = search(Graph((*operations, Operation("last", unit)), dependences), Budget(1e-6))
    assert not list(found.schedule.violations())
    assert found.least <= found.schedule.interval
    assert any("not proved minimal" in line for line in lines(found))


def proved(program: str | bytes | Path, target: str) -> None:
    """The shortest interval of each loop is proved within the budget, and rounding to slots lengthens it by little."""
    kernel = tilesat.compile(program, target=target)
    for loop in loops(kernel.compiled.selection):  # type: ignore[union-attr]
        limits, found = bounds(loop.graph), search(loop.graph)
        least = max(limits.resource, limits.recurrence, one_at_a_time(loop.graph))
        assert found.proved
        assert not list(found.schedule.violations())
        assert least <= found.cycles * (1 + 1e-9)
        assert found.cycles <= least * (1 + ROUNDED)
        assert found.cycles <= loop.cycles * (1 + ROUNDED)


SOME = ("gemm", "flash_attention", "layernorm", "softmax")
"""In make test."""


@pytest.mark.parametrize("name", [
    pytest.param(path.stem, marks=() if path.stem in SOME else pytest.mark.slow) for path in EXAMPLES.glob("*.mlir")
])  # fmt: skip
@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    "target", ["sm_80", "sm_90a", *(pytest.param(t, marks=pytest.mark.slow) for t in ("sm_100a", "sm_120a"))]
)
def test_loops_of_examples(name: str, target: str) -> None:
    proved(EXAMPLES / f"{name}.mlir", target)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
@pytest.mark.parametrize("case", [each for each in CASES if each.triton == "attention"], ids=lambda case: case.name)
def test_loops_of_attention(case: Case, target: str) -> None:
    proved(source(case, target), target)


def test_what_a_unit_works_on_one_at_a_time() -> None:
    """A load that takes a third of a unit for 3 slots, with copies that take all of it; two halves fit together."""
    copies = (Operation("a", {"global": 4.0}), Operation("b", {"global": 4.0}))
    load = Operation("c", {"global": 1.0, "issue": 3.0})
    assert one_at_a_time(Graph((*copies, load), ())) == 11
    assert bounds(Graph((*copies, load), ())).slots == 9
    half = Operation("d", {"global": 1.0, "issue": 2.0})
    assert one_at_a_time(Graph((half, half), ())) == 0
    assert search(Graph((*copies, load), ())).cycles == pytest.approx(11, rel=ROUNDED)


def test_a_store_counts_once_an_iteration() -> None:
    *_, last = loops(tilesat.compile(EXAMPLES / "layernorm.mlir", target="sm_80").compiled.selection)  # type: ignore[union-attr]
    store = next(each for each in last.graph.operations if each.name.startswith("store_view_tko"))
    copy = next(each for each in last.graph.operations if each.name.startswith("copy"))
    assert copy.busy <= store.busy <= 2 * copy.busy


def test_what_a_branch_yields_waits_for_both_its_sides() -> None:
    kernel = tilesat.compile(BRANCH, target="sm_80")
    (loop,) = loops(kernel.compiled.selection)  # type: ignore[union-attr]
    names = [each.name.split(" ")[0] for each in loop.graph.operations]
    carried = {(names[d.source], names[d.target]) for d in loop.graph.dependences if d.distance == 1}
    assert carried == {(a, b) for a in ("exp", "addf", "cmpi") for b in ("exp", "addf")}


@pytest.mark.in_turn
def test_attention_overlaps_products_with_exponentials() -> None:
    """Scores of the next step are computed while this step's exponentials are: the schedule of FlashAttention-3."""
    report = outline(tilesat.compile(EXAMPLES / "flash_attention.mlir", target="sm_90a").compiled)
    assert "loops (predicted by the target's tables" in report
    assert "an iteration begins every" in report
    assert "proved shortest" in report
    section = report.split("\nloops (")[1]
    assert section.index("resource bound") < section.index("recurrence bound")
    kernel = tilesat.compile(EXAMPLES / "flash_attention.mlir", target="sm_90a")
    (loop,) = loops(kernel.compiled.selection)  # type: ignore[union-attr]
    schedule = search(loop.graph).schedule
    by_name = {each.name.split(" ")[0]: number for number, each in enumerate(loop.graph.operations)}
    scores, sums = by_name["wgmma"], by_name["wgmma_rs"]
    exponentials = max(
        (n for n, each in enumerate(loop.graph.operations) if each.name.startswith("exp2")),
        key=lambda n: loop.graph.operations[n].busy,
    )
    assert schedule.place(scores)[1] < schedule.place(exponentials)[1] <= schedule.place(sums)[1]
