"""List scheduling of straight-line code: legal orders of random graphs, loads that come before barriers and those that
may not, right results with them, and what is said of it.
"""

from __future__ import annotations

import itertools
import random as rng
import re
from functools import cache

import numpy as np
import pytest

import tilesat
from ir.core import Op
from ir.dialects import nv_tileas
from lowering.compiled import Compiled
from lowering.modulo import Dependence, Graph, Operation, stretches
from lowering.modulo.graph import OWNED
from lowering.modulo.listed import issued, listed, peak
from tests.lowering.report import outline
from tests.programs.program import Program, check, random, simulate
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

TILE = 4096
TARGETS = ("sm_80", "sm_90a", "sm_120a")


def scaled(tile: int = TILE, *, written: int = 0, late: int = 1) -> str:
    """A row less its mean, times weights that are loaded behind the sum; `late` of them. `written`: the kernel stores
    these weights before it loads them.
    """
    names = [f"w{i}" for i in range(late)]
    w = Writer("scaled", x="ptr<f32>", y="ptr<f32>", **dict.fromkeys(names, "ptr<f32>"))
    w.promise(x=16, y=16, **dict.fromkeys(names, 16))
    x, y, *weights = (w.view(getattr(w, each), [tile], [1], [tile]) for each in ("x", "y", *names))
    row, after = w.load(x, 0), None
    for weight in weights if written else ():
        after = w.store(row * 2.0, weight, 0)
    centred = row - (row.reduce(0) * (1.0 / tile)).reshape(1).broadcast(tile)
    for weight in weights:
        centred = centred * w.load(weight, 0, token=after)
    w.store(centred, y, 0)
    return w.text()


def arguments(tile: int = TILE, late: int = 1) -> list[np.ndarray]:
    return [random((tile,), "f32", seed) for seed in range(2 + late)]


@cache
def compiled(target: str, forbid: tuple[str, ...] = (), **how: int) -> Kernel:
    return tilesat.compile(scaled(**how), target, forbid=forbid)


def chosen(kernel: Kernel) -> Compiled:
    assert isinstance(kernel.compiled, Compiled)
    return kernel.compiled


def loads(kernel: Kernel) -> list[tuple[bool, bool]]:
    """Of each load: is it issued ahead, and does it come before the reduction?"""
    ops: list[Op] = list(chosen(kernel).modules["nv_tileas"].walk())
    fold = next(number for number, op in enumerate(ops) if isinstance(op, nv_tileas.Reduce))
    return [(op.ahead, number < fold) for number, op in enumerate(ops) if isinstance(op, nv_tileas.TiledLoad)]


def code(kernel: Kernel) -> list[str]:
    """Loads of global memory and barriers in order; those that may move over barriers are read-only."""
    return re.findall(r"ld\.global(?:\.nc)?|bar\.sync", kernel.ptx)


@pytest.mark.parametrize("target", TARGETS)
def test_loads_come_before_a_barrier_that_they_do_not_need(target: str) -> None:
    """Also in the code: as read-only ones ptxas would put them behind the barrier again, for fewer registers."""
    assert loads(compiled(target)) == [(False, True), (True, True)]
    found = code(compiled(target))
    assert set(found[: found.index("bar.sync")]) == {"ld.global.nc", "ld.global"}
    assert "ld.global" not in "".join(found[found.index("bar.sync") :])


@pytest.mark.parametrize("target", TARGETS)
def test_right_with_loads_ahead(target: str) -> None:
    """As the interpreter, with hazards watched, assembled without spills."""
    check(Program("scaled", scaled, arguments), target)


def right(kernel: Kernel, schedule: str = "together", *, written: int = 0) -> bool:
    """Is the result NumPy's? `written`: the weights are those that the kernel stores, twice the row."""
    found = simulate(kernel, Program("scaled", scaled, arguments), schedule=schedule)
    x, weights = arguments()[0].astype(np.float64), arguments()[2].astype(np.float64)
    expected = (x - x.mean()) * (2 * x if written else weights)
    return bool(np.allclose(found[1], expected, rtol=1e-4, atol=1e-5))


@pytest.mark.parametrize("schedule", ["together", *(f"skewed:{seed}" for seed in range(5))])
def test_right_in_any_order_of_warps(schedule: str) -> None:
    assert right(compiled("sm_90a"), schedule)


def test_what_the_kernel_writes_is_not_loaded_earlier() -> None:
    assert not any(ahead for ahead, _ in loads(compiled("sm_90a", written=1)))
    assert right(compiled("sm_90a", written=1), written=1)


def test_what_the_kernel_writes_would_be_wrong_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant that takes all memory for memory that the kernel does not write."""

    def mutant(op: Op) -> bool:
        return isinstance(op, stretches.LOADS) and not op.ahead

    monkeypatch.setattr(stretches, "movable", mutant)
    kernel = tilesat.compile(scaled(written=1), "sm_90a")
    assert any(ahead for ahead, _ in loads(kernel))
    assert not right(kernel, written=1)


def test_as_many_loads_as_registers_hold() -> None:
    """Eight tiles in addition to the row: some stay behind the barrier."""
    found = loads(compiled("sm_90a", late=8))
    assert any(ahead for ahead, _ in found)
    assert not all(before for _, before in found)
    report = outline(chosen(compiled("sm_90a", tile=4 * TILE)))
    assert re.search(r"kept, loaded tiles would need more than \d+ registers per thread$", report, re.M)


def test_says_what_it_did() -> None:
    times = r"straight-line code \(predicted cycles\)\n  .*: (\d+) \((\d+) alone\) in source order, "
    report = outline(chosen(compiled("sm_90a")))
    found = re.search(times + r"(\d+) \((\d+) alone\) with 1 of its loads earlier: applied$", report, re.M)
    assert found is not None
    full, alone, after_full, after_alone = map(int, found.groups())
    assert after_full <= full
    assert after_alone < 0.97 * alone


def test_can_be_forbidden() -> None:
    kernel = compiled("sm_90a", ("load.ahead",))
    assert loads(kernel) == [(False, True), (False, False)]
    report = outline(chosen(kernel))
    assert re.search(r"in source order: kept, load\.ahead: forbidden by the caller$", report, re.M)


def drawn(seed: int) -> Graph:
    """Up to six operations on an issue port, global memory and tensor cores, with dependences forwards."""
    draw = rng.Random(seed)
    operations = tuple(
        Operation(str(number), {draw.choice(["issue", "global", "tensor"]): draw.randint(1, 9)}, draw.randint(0, 4))
        for number in range(draw.randint(2, 6))
    )
    pairs = [each for each in itertools.combinations(range(len(operations)), 2) if draw.random() < 0.4]
    return Graph(operations, tuple(Dependence(a, b, draw.randint(0, 20), value=draw.random() < 0.7) for a, b in pairs))


def time_of(graph: Graph, order: tuple[int, ...]) -> float:
    """The end of operations that are issued in this order, each as soon as it can be; infinite if none can."""
    now, free = 0.0, dict.fromkeys(OWNED, 0.0)
    begun: dict[int, tuple[float, float]] = {}
    for number in order:
        each = graph.operations[number]
        if any(d.source not in begun for d in graph.before[number]):
            return float("inf")
        now = max([now, *(begun[d.source][not d.value] + d.delay for d in graph.before[number])])
        start = max([now, *(free[unit] for unit in OWNED if unit in each.uses)])
        free |= {unit: start + each.uses[unit] for unit in OWNED if unit in each.uses}
        begun[number] = (start, now)
        now += issued(each)
    return max(start + graph.operations[number].busy for number, (start, _) in begun.items())


@pytest.mark.parametrize("seed", range(60))
def test_schedules_of_random_graphs(seed: int) -> None:
    """Its time is that of its order; no order takes less than half of it, which is Graham's bound for lists."""
    graph = drawn(seed)
    found = listed(graph, [0.0] * len(graph.operations))
    assert found.cycles == time_of(graph, found.order)
    best = min(time_of(graph, order) for order in itertools.permutations(range(len(graph.operations))))
    assert best <= found.cycles <= 2 * best


def test_the_longest_way_comes_first() -> None:
    """A load that much work waits for is issued before one that little waits for."""
    uses = {"issue": 4.0}
    graph = Graph(
        tuple(Operation(name, uses) for name in ("short", "long", "use", "work")),
        (Dependence(0, 2, 100.0), Dependence(1, 3, 100.0), Dependence(3, 2, 50.0)),
    )
    assert listed(graph, [0.0] * 4).order == (1, 0, 3, 2)


def test_a_cycle_is_refused() -> None:
    graph = Graph((Operation("a"), Operation("b")), (Dependence(0, 1, 1.0), Dependence(1, 0, 1.0)))
    with pytest.raises(ValueError, match="dependences within straight-line code close a cycle"):
        listed(graph, [0.0, 0.0])


def test_registers_of_an_order() -> None:
    """Results live until they are read for the last time, or to the end; a reader may take their registers."""
    made = tuple(Operation(name, {}, 8.0) for name in ("a", "b", "sum", "c"))
    graph = Graph(made, (Dependence(0, 2, 1.0), Dependence(1, 2, 1.0)))
    assert peak(graph, (0, 1, 2, 3), {2}) == (16.0, 1)
    assert peak(graph, (3, 0, 1, 2), {2, 3}) == (24.0, 1)
