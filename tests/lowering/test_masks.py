"""Where loops part at their masks: for every bound, step and sign what is said of the iterations between is true of all
elements, as i32 that wrap count them.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import Block, Builder, Op, Region, Value
from ir.dialects import arith, nv_tileas, scf
from ir.dialects.cuda_tile import DenseElements
from ir.types import F32, I1, I32, TensorType
from lowering.layouts.layout import Layout
from lowering.schedule.compared import Comparisons
from lowering.schedule.masks import Known, Masks
from lowering.schedule.peeling import Bounds, Split, split
from tests.lowering.report import outline
from tests.tilesat.example_cases import EXAMPLES

ROWS, COLUMNS = 4, 8
LAYOUT = Layout.trivial(1)
EDGE = (1 << 31) - 1
INTEGERS: dict[type[Op], Any] = {
    arith.AddI: lambda x, y: x + y,
    arith.SubI: lambda x, y: x - y,
    arith.MulI: lambda x, y: x * y,
    arith.ShRSI: lambda x, y: x >> y,
    arith.FloorDivSI: lambda x, y: x // y,
    arith.MinSI: min,
    arith.MaxSI: max,
}
COMPARES = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


def wrapped(number: int, width: int) -> int:
    """A number as it is in so many bits, signed."""
    return (number + (1 << width - 1)) % (1 << width) - (1 << width - 1)


def evaluate(ops: list[Op], known: dict[Value, int]) -> None:
    """Scalar operations; i64 that does not hold an exact result is an error."""
    for op in ops:
        values = [known[v] for v in op.operands]
        if isinstance(op, arith.Constant):
            known[op.result] = int(op.value)
        elif isinstance(op, arith.ExtSI):
            known[op.result] = values[0]
        elif isinstance(op, arith.TruncI):
            assert wrapped(values[0], 32) == values[0]
            known[op.result] = values[0]
        elif isinstance(op, arith.CmpI):
            known[op.result] = int(values[0] >= values[1])
        elif isinstance(op, arith.Select):
            known[op.result] = values[1] if values[0] else values[2]
        else:
            known[op.results[0]] = exact = INTEGERS[type(op)](*values)
            assert wrapped(exact, 64) == exact


class Case:
    """A loop with one mask: `slope` x counter + `column` x column + a < b + `row` x row, or as the predicate says."""

    def __init__(self, slope: int, column: int, row: int, predicate: str, step: int, swapped: bool, added: int):
        self.numbers = slope, column, row, predicate, swapped, added
        self.step = step
        self.block = Block([I32, I32, I32, I32])
        self.a, self.b, self.lower, self.upper = self.block.args
        outside = Builder(self.block)
        stride = outside.value(arith.Constant, types=[I32], value=step)
        body = Block([I32])
        inside = Builder(body)
        tile = TensorType((ROWS, COLUMNS), I32, LAYOUT)

        def number(value: int) -> Value:
            return outside.value(nv_tileas.Constant, types=[tile], value=DenseElements(np.array([value], np.int32)))

        def along(extent: int, factor: int) -> Value:
            line = outside.value(nv_tileas.Iota, types=[TensorType((extent,), I32, LAYOUT)])
            shape = (1, extent) if extent == COLUMNS else (extent, 1)
            flat = outside.value(nv_tileas.Reshape, line, types=[TensorType(shape, I32, LAYOUT)])
            spread = outside.value(nv_tileas.Broadcast, flat, types=[tile])
            return outside.value(arith.MulI, spread, number(factor))

        def everywhere(b: Builder, value: Value) -> Value:
            return b.value(nv_tileas.Broadcast, value, types=[tile])

        factor = inside.value(arith.Constant, types=[I32], value=slope)
        scaled = inside.value(arith.MulI, body.args[0], factor)
        moving = inside.value(arith.AddI, everywhere(inside, scaled), along(COLUMNS, column))
        left = inside.value(arith.AddI, moving, everywhere(outside, self.a))
        right = outside.value(arith.AddI, everywhere(outside, self.b), along(ROWS, row))
        right = outside.value(arith.SubI, right, number(added))
        sides = (right, left) if swapped else (left, right)
        mask = inside.value(arith.CmpI, *sides, types=[TensorType((ROWS, COLUMNS), I1, LAYOUT)], predicate=predicate)
        floats = TensorType((ROWS, COLUMNS), F32, LAYOUT)
        zero = outside.value(nv_tileas.Constant, types=[floats], value=DenseElements(np.array([0], np.float32)))
        computed = inside.value(nv_tileas.Reshape, zero, types=[floats])
        inside.value(arith.Select, mask, computed, zero)
        inside.add(scf.Yield, types=())
        self.loop = outside.add(
            scf.For, self.lower, self.upper, stride, types=(), segments=(1, 1, 1, 0), regions=[Region([body])]
        )

    def known(self) -> list[Known]:
        """What is found, whichever value the mask should have."""
        masks = Masks(self.loop, {})
        compare = next(op for op in self.loop.walk() if isinstance(op, arith.CmpI))
        found = (masks.known(compare, truth, self.step) for truth in (True, False))
        return [each for each in found if each is not None]

    def outcome(self, counter: int, a: int, b: int) -> np.ndarray:
        """The mask in one iteration."""
        slope, column, row, predicate, swapped, added = self.numbers
        left = counter * slope + np.arange(COLUMNS, dtype=np.int64)[None, :] * column + a
        right = b + np.arange(ROWS, dtype=np.int64)[:, None] * row - added
        sides = [each.astype(np.int32) for each in np.broadcast_arrays(left, right)]
        if predicate[0] == "u":
            sides = [each.view(np.uint32) for each in sides]
        return COMPARES[predicate[1:]](*(sides[::-1] if swapped else sides))


def drawn(rng: random.Random) -> tuple[Case, list[tuple[int, int, int, int]]]:
    """A loop, and values of a, b and its bounds, some of them at the edge of i32."""
    slope = rng.choice([1, 2, 3, 8, -1, -5, 8, 1 << 20, -(1 << 24)])
    predicate = rng.choice("ssu") + rng.choice(["lt", "le", "gt", "ge"])
    case = Case(slope, rng.choice([1, 1, 2, -3]), rng.choice([0, 1, 1, -2]), predicate, rng.choice([1, 1, 2, 3]),
                rng.random() < 0.5, rng.choice([0, 1, 100]))  # fmt: skip
    values: list[tuple[int, int, int, int]] = []
    for _ in range(12):
        lower = rng.choice([0, 0, 1, -7, rng.randrange(-20, 20), EDGE - 30, -EDGE - 1])
        upper = min(EDGE, lower + rng.choice([-3, 0, 1, 2, 12, 30]))
        a = rng.choice([0, 0, 5, -9, EDGE - 3, -EDGE])
        b = rng.choice([0, 1, -1, 40, 100, -60, slope * 7 % EDGE, EDGE, -EDGE - 1, EDGE - 2, rng.randrange(-200, 200)])
        values.append((a, b, lower, max(upper, -EDGE - 1)))
    return case, values


@pytest.mark.parametrize("seed", range(60))
def test_between_the_bounds_a_mask_is_the_same_everywhere(seed: int) -> None:
    rng = random.Random(seed)
    case, values = drawn(rng)
    for known in case.known():
        made = Split(case.loop, (known,), known.later, not known.later)
        block = Block()
        first, last = Bounds(made, Builder(block)).values()
        for a, b, lower, upper in values:
            numbers = {case.a: a, case.b: b, case.lower: lower, case.upper: upper}
            evaluate(block.ops, numbers)
            front, back = numbers[first], numbers[last]
            whole = list(range(lower, upper, case.step))
            parts = [range(lower, front, case.step), range(front, back, case.step), range(back, upper, case.step)]
            if known.later:
                assert back == upper or not parts[2]
            else:
                assert front == lower
            assert [*parts[0], *parts[1], *parts[2]] == whole, "each iteration once, in order"
            for counter in parts[1]:
                assert (case.outcome(counter, a, b) == known.truth).all()
            small = max(map(abs, (a, b, lower, upper))) < 1000 and abs(case.numbers[0]) < 10
            if small and case.numbers[3][0] == "s":  # nothing wraps: no iteration is missed
                wanted = [counter for counter in whole if best(case, counter, a, b, known.truth)]
                assert list(parts[1]) == wanted


def best(case: Case, counter: int, a: int, b: int, truth: bool) -> bool:
    """Is the mask so for all elements?"""
    return bool((case.outcome(counter, a, b) == truth).all())


def test_a_window_is_split_at_both_ends() -> None:
    """Two masks, one for the last iterations and one for the first: three loops, which have all iterations."""
    case = Case(8, 1, 0, "slt", 1, False, 0)
    other = Case(8, 1, 0, "sge", 1, False, 50)
    (late,) = [each for each in case.known() if each.truth]
    (early,) = [each for each in other.known() if each.truth]
    swap = {other.a: case.a, other.b: case.b}
    needs = tuple(
        type(need)(need.slope, tuple((swap[v], n) for v, n in need.terms), need.low, need.high) for need in early.needs
    )
    both = Split(case.loop, (late, Known(early.op, True, needs, early.later, early.spread)), True, True)
    block = Block()
    first, last = Bounds(both, Builder(block)).values()
    numbers = {case.a: 0, case.b: 100, case.lower: 0, case.upper: 13}
    evaluate(block.ops, numbers)
    assert (numbers[first], numbers[last]) == (7, 12)  # 8 j >= 50, 8 j + 7 < 100


def test_the_loop_between_has_no_select() -> None:
    case = Case(8, 1, 1, "sle", 1, False, 0)
    (known,) = [each for each in case.known() if each.truth]
    middle = split(Split(case.loop, (known,), False, True))
    assert not any(isinstance(op, arith.Select | arith.CmpI) for op in middle.walk())
    assert any(isinstance(op, arith.Select) for op in case.loop.walk())
    assert case.loop.lower is middle.upper


def compared(divisor: int, between: int) -> tuple[Comparisons, arith.CmpI]:
    """`j * 1024 + column + between < size`, two vectors of four columns a thread; the size is a multiple."""
    block = Block([I32, I32])
    size, upper = block.args
    outside, body = Builder(block), Block([I32])
    inside = Builder(body)
    layout = Layout((1, 2, 512), (4, 8, 16, 32, 64), (128, 256), 10)
    tile = TensorType((1024,), I32, layout)
    zero, one = (outside.value(arith.Constant, types=[I32], value=n) for n in (0, 1))
    columns = outside.value(nv_tileas.Iota, types=[tile])
    if between:
        added = outside.value(nv_tileas.Constant, types=[tile], value=DenseElements(np.array([between], np.int32)))
        columns = outside.value(arith.AddI, columns, added)
    width = inside.value(arith.Constant, types=[I32], value=1024)
    start = inside.value(arith.MulI, body.args[0], width)
    sums = inside.value(arith.AddI, inside.value(nv_tileas.Broadcast, start, types=[tile]), columns)
    end = outside.value(nv_tileas.Broadcast, size, types=[tile])
    mask = inside.value(arith.CmpI, sums, end, types=[TensorType((1024,), I1, layout)], predicate="slt")
    inside.add(scf.Yield, types=())
    loop = outside.add(scf.For, zero, upper, one, types=(), segments=(1, 1, 1, 0), regions=[Region([body])])
    func = nv_tileas.Func((), (), {"ranges": ((0, 0, EDGE, divisor),)}, regions=[Region([block])])
    assert isinstance(mask.op, arith.CmpI)
    return Comparisons(loop, func), mask.op


@pytest.mark.parametrize(("divisor", "between", "outcomes"), [(16, 0, 2), (2, 0, 4), (1, 0, 8), (16, 3, 4)])
def test_neighbours_that_come_out_alike_are_compared_once(divisor: int, between: int, outcomes: int) -> None:
    """In runs of 16 columns, of 2, of none; of 16 that begin 3 columns off a vector of 4."""
    found, op = compared(divisor, between)
    assert found.outcomes(op) == outcomes
    if not between:
        assert found.spared() == 8 + 8 - outcomes  # the sums are none: columns are compared with what is left


def test_a_masked_loop_that_waits_for_memory_is_not_split() -> None:
    """Layernorm's second loop: 64 instructions of a warp in the 64 cycles in which an SM reads its tile."""
    said = outline(tilesat.compile(EXAMPLES / "layernorm.mlir", "sm_90a").compiled)
    (line,) = [each for each in said.splitlines() if "without masks except in the last" in each]
    assert line.endswith("not split: over 32 iterations that saves less than the new code costs")
