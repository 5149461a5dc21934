"""Folds that do not depend on each other, as one: simulator = interpreter = NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import verify
from ir.dialects import cuda_tile as ct
from ir.interpreter import run
from ir.load import load
from lowering.skeletons.by_lane import folds
from lowering.skeletons.merged_folds import MOST, merged_folds
from tests.lowering.protocol import caught, changed
from tests.programs.program import Program, check, random, simulate
from tests.programs.test_skeletons import entry_of
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel

ROWS, WIDTH = 4, 512
TARGETS = ["sm_80", "sm_90a", "sm_100a", "sm_120a"]
FOLDS = {"add": np.sum, "max": np.max, "min": np.min}
ORDERS = [f"skewed:{number}" for number in range(5)]


def powers(kind: str = "f32", fold: str = "add", number: int = 2) -> str:
    """y[i] = the fold of x, y[1][i] that of x x, and so on, each over a row; a row is the tile block's."""
    w = Writer("powers", x=f"ptr<{kind}>", y=f"ptr<{kind}>")
    w.promise(x=16, y=4)
    x = w.load(w.view(w.x, [ROWS, WIDTH], [WIDTH, 1], [1, WIDTH]), w.ids[0], 0).reshape(WIDTH)
    out = w.view(w.y, [number, ROWS], [ROWS, 1], [1, 1])
    power = x
    for index in range(number):
        found = power.reduce(0, fold)
        w.store(found.reshape(1, 1), out, index, w.ids[0])
        power = power * x
    return w.text()


def program(kind: str = "f32", fold: str = "add", number: int = 2) -> Program:
    def numpy_says(x: Any, y: Any) -> dict[int, Any]:
        each = x if kind == "i32" else x.astype(np.float64)
        return {1: np.stack([FOLDS[fold](each ** (1 + power), axis=1) for power in range(number)])}

    def arguments() -> list[Any]:
        return [random((ROWS, WIDTH), kind, 1), np.zeros((number, ROWS), np.int32 if kind == "i32" else np.float32)]

    return Program(f"{fold} of {kind}", lambda: powers(kind, fold, number), arguments, (ROWS,), numpy_says, 1e-4)


def wanted_of(given: Program) -> Any:
    assert given.expected is not None
    return given.expected(*given.arguments())[1]


def taken(kernel: Kernel) -> bool:
    return any(each.name == "fold.merged" and each.taken for each in kernel.compiled.selection.loops)


def barriers(kernel: Kernel) -> int:
    return kernel.ptx.count("bar.sync") + kernel.ptx.count("barrier.sync")


CASES = [("f32", "add", 2), ("f32", "max", 3), ("i32", "add", 2), ("i32", "min", 4)]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("kind", "fold", "number"), CASES)
def test_folds_are_one(kind: str, fold: str, number: int, target: str) -> None:
    given = program(kind, fold, number)
    kernel = check(given, target)
    apart = tilesat.compile(given.source(), target, forbid=("fold.merged",))
    assert taken(kernel)
    assert kernel.cost < apart.cost
    assert barriers(kernel) == barriers(apart) - number + 1
    for instruction in ("redux", "shfl", "add.rn.f32x2"):  # each tile is folded by the instructions of its own fold
        assert kernel.ptx.count(instruction) == apart.ptx.count(instruction), instruction


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_in_every_order_of_warps(target: str) -> None:
    given = program(number=3)
    kernel = tilesat.compile(given.source(), target)
    wanted = wanted_of(given)
    broken = changed(kernel.ptx, (r"(bar|barrier)\.sync[^;]*;", ""), count=1)

    def right(order: str, ptx: str = "") -> bool:
        return largest_error(simulate(kernel, given, ptx=ptx, schedule=order)[1], wanted) <= given.tolerance

    assert all(map(right, ORDERS))
    caught(lambda order: right(order, broken), ORDERS)


def test_tiles_of_different_sizes_are_adjacent() -> None:
    """A fold that combines bytes with words: where a warp's parts begin is aligned for each."""
    w = Writer("bytes", x="ptr<i8>", y="ptr<i32>")
    w.promise(x=16, y=4)
    x = w.load(w.view(w.x, [WIDTH], [1], [WIDTH]), 0)
    wide = x.to("i32")
    least, total = w.fold(
        [x, wide], 0, lambda a, b: [a[0].min(b[0]), a[1] + b[1]], [w.identity(x, "min"), w.identity(wide, "add")]
    )
    view = w.view(w.y, [2], [1], [1])
    w.store(least.to("i32").reshape(1), view, 0)
    w.store(total.reshape(1), view, 1)
    text = w.text()

    def numpy_says(x: Any, y: Any) -> dict[int, Any]:
        return {1: np.array([x.min(), x.astype(np.int32).sum()])}

    check(Program("bytes", lambda: text, lambda: [random((WIDTH,), "i8", 1), np.zeros(2, np.int32)], (1,), numpy_says),
          "sm_80")  # fmt: skip


# --- which folds


def sizes(text: str, crossing: bool = True) -> list[int]:
    """How many tiles the folds of an entry have, once merged; the result is legal, and computes the same."""
    given, module = load(text), load(text)
    entry, ops = module.entries[0], module.body.block.ops
    ops[ops.index(entry)] = made = merged_folds(entry, [crossing] * len(folds(entry)))
    verify(module)
    x = random((WIDTH, WIDTH), "f32", 1)
    outputs = [np.zeros((8, WIDTH), np.float32) for _ in range(2)]
    for each, output in zip((given, module), outputs, strict=True):
        run(each, (1,), [x, output])
    assert outputs[0].any()
    assert np.array_equal(*outputs)
    return [len(fold.operands) for fold in folds(made)]


class Row:
    """A tile, what is stored of it, and the text that comes of both."""

    def __init__(self) -> None:
        w = self.w = Writer("row", x="ptr<f32>", y="ptr<f32>")
        w.promise(x=16, y=16)
        self.x = w.load(w.view(w.x, [WIDTH, WIDTH], [WIDTH, 1], [64, 64]), 0, 0)
        self.out = w.view(w.y, [8, WIDTH], [WIDTH, 1], [1, 64])
        self.rows = 0

    def store(self, value: Tile) -> None:
        self.w.store(value.reshape(1, 64), self.out, self.rows, 0)
        self.rows += 1


def test_what_the_second_fold_reads_is_computed_before_the_first() -> None:
    row = Row()
    row.store(row.x.reduce(1))
    row.store((row.x * row.x + 1.0).reduce(1))
    assert sizes(row.w.text()) == [2]


def test_folds_that_one_warp_does_stay() -> None:
    row = Row()
    row.store(row.x.reduce(1))
    row.store((row.x * row.x).reduce(1))
    assert sizes(row.w.text(), crossing=False) == [1, 1]


def test_a_fold_of_what_the_other_gives_stays() -> None:
    row = Row()
    mean = row.x.reduce(1)
    row.store(mean)
    apart = row.x - mean.reshape(64, 1).broadcast(64, 64)
    row.store((apart * apart).reduce(1))
    assert sizes(row.w.text()) == [1, 1]


@pytest.mark.parametrize("what", ["dimension", "operation"])
def test_other_folds_stay(what: str) -> None:
    row = Row()
    row.store(row.x.reduce(1))
    row.store(row.x.reduce(0) if what == "dimension" else row.x.reduce(1, "max"))
    assert sizes(row.w.text()) == [1, 1]


def test_groups_do_not_wait_for_each_other() -> None:
    """Of sums a, b and maxima c (of b), d (of a), only one pair can be one: both would be a circle."""
    row = Row()
    a, b = row.x.reduce(1), (row.x + 1.0).reduce(1)
    c = (row.x - b.reshape(64, 1).broadcast(64, 64)).reduce(1, "max")
    d = (row.x - a.reshape(64, 1).broadcast(64, 64)).reduce(1, "max")
    for each in (c, d):
        row.store(each)
    assert sizes(row.w.text()) == [2, 2]
    row = Row()
    a = row.x.reduce(1)
    d = (row.x - a.reshape(64, 1).broadcast(64, 64)).reduce(1, "max")
    c = (row.x * 2.0).reduce(1, "max")
    b = (row.x - c.reshape(64, 1).broadcast(64, 64)).reduce(1)
    for each in (d, b):
        row.store(each)
    assert sorted(sizes(row.w.text())) == [1, 1, 2]


def test_a_fold_has_no_more_tiles_than_registers_should_hold() -> None:
    row = Row()
    found = [(row.x * float(number)).reduce(1) for number in range(MOST + 2)]
    total = found[0]
    for each in found[1:]:
        total = total + each
    row.store(total)
    assert sizes(row.w.text()) == [MOST, 2]


def test_a_promise_stays_where_it_is() -> None:
    """Behind an assertion an assumption may hold that does not hold before it."""
    w = Writer("promised", x="ptr<i32>", y="ptr<i32>", n="i32")
    x = w.load(w.view(w.x, [WIDTH], [1], [WIDTH]), 0)
    out = w.view(w.y, [2], [1], [1])
    w.store(x.reduce(0).reshape(1), out, 0)
    scaled = x * w.n.assume(ct.DivBy(4)).splat(WIDTH)
    w.store(scaled.reduce(0).reshape(1), out, 1)
    entry = entry_of(w.text())
    assert merged_folds(entry, [True, True]) is entry


@pytest.mark.parametrize("captured", [False, True], ids=["pairs", "scalar"])
def test_folds_of_several_tiles_and_with_scalars_stay_apart(captured: bool) -> None:
    """Beside a fold of the same tile: (x, x x) and (x, x x x), or one whose combiner reads a scalar."""
    w = Writer("beside", x="ptr<f32>", y="ptr<f32>", s="f32")
    w.promise(x=16, y=4)
    x = w.load(w.view(w.x, [ROWS, WIDTH], [WIDTH, 1], [1, WIDTH]), w.ids[0], 0).reshape(WIDTH)
    out, scale = w.view(w.y, [5, ROWS], [ROWS, 1], [1, 1]), w.s
    found = [x.reduce(0, "add")]
    if captured:
        found += w.fold([x], 0, lambda left, right: [left[0] + right[0] * scale], [0.0])
    else:
        for power in (x * x, x * x * x):
            found += w.fold([x, power], 0, lambda left, right: [left[0] + right[0], left[1] + right[1]], [0.0, 0.0])
    for place, each in enumerate(found):
        w.store(each.reshape(1, 1), out, place, w.ids[0])
    xs, y = random((ROWS, WIDTH), "f32", 1), np.zeros((5, ROWS), np.float32)
    tilesat.compile(w.text(), "sm_90a").run((ROWS,), xs, y, 1.0, check=True, hazards="stop")
    sums = [xs.sum(1)] * 2 if captured else [(xs**power).sum(1) for power in (1, 1, 2, 1, 3)]
    np.testing.assert_allclose(y[: len(sums)], sums, rtol=1e-3, atol=1e-3)
