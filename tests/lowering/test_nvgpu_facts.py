"""Ranges and zero bits of integers: whatever a random expression gives lies within what is known of it."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from ir.core import Block, Op, Value
from ir.dialects import arith, gpu, llvm, nvvm
from ir.types import I1, I32, I64
from lowering.convert.nvgpu_to_nvvm.comparisons import holds as holding
from lowering.convert.nvgpu_to_nvvm.facts import Facts, limits
from lowering.convert.nvgpu_to_nvvm.implied import implied_ranges
from tests.lowering.nvgpu_harness import GLOBAL_PTR, Kernel, run

BINARY = (
    llvm.Add, llvm.Add, llvm.Add, llvm.Sub, llvm.Mul, llvm.And, llvm.Or, llvm.Xor, llvm.SDiv, llvm.UDiv, llvm.SRem,
    llvm.URem, llvm.LShr, llvm.AShr, llvm.SMax, llvm.SMin, llvm.UMax, llvm.UMin,
)  # fmt: skip
THREADS = 128


def wrapped(number: int, width: int) -> int:
    """The signed number of the low bits."""
    number &= (1 << width) - 1
    return number - (1 << width) if number >> width - 1 else number


def unsigned(number: int, width: int) -> int:
    return number & (1 << width) - 1


def divided(a: int, b: int) -> int:
    """Rounded towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def exactly(op: Op, a: int, b: int) -> int:
    return {llvm.Add: a + b, llvm.Sub: a - b, llvm.Mul: a * b}[type(op)]


def evaluate(op: Op, a: int, b: int, width: int) -> int | None:
    """What an op gives of signed numbers; None where it is undefined."""
    ua, ub = unsigned(a, width), unsigned(b, width)
    kind = type(op)
    if kind in (llvm.SDiv, llvm.SRem, llvm.UDiv, llvm.URem) and b == 0:
        return None
    if kind in (llvm.LShr, llvm.AShr) and ub >= width:
        return None
    table = {
        llvm.And: lambda: a & b, llvm.Or: lambda: a | b, llvm.Xor: lambda: a ^ b, llvm.SDiv: lambda: divided(a, b),
        llvm.SRem: lambda: a - divided(a, b) * b, llvm.UDiv: lambda: ua // ub, llvm.URem: lambda: ua % ub,
        llvm.LShr: lambda: ua >> ub, llvm.AShr: lambda: a >> ub, llvm.SMax: lambda: max(a, b),
        llvm.SMin: lambda: min(a, b), llvm.UMax: lambda: max(ua, ub), llvm.UMin: lambda: min(ua, ub),
    }  # fmt: skip
    return wrapped(table[kind]() if kind in table else exactly(op, a, b), width)


class Expressions:
    """A pool of values of i32 and i64, each made of earlier ones, with the number it has in one run."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        self.block = Block([I32, I32, I64])
        thread = nvvm.SPECIAL_REGISTERS["tid", "x"]((), [I32], {})
        self.numbers: dict[Value, int] = {}
        for value in self.block.args:
            width = 32 if value.type == I32 else 64
            self.numbers[value] = self.extreme(width)
        self.numbers[thread.results[0]] = int(rng.integers(0, THREADS))
        for _ in range(12):
            kind = I32 if rng.integers(0, 3) else I64
            number = self.extreme(kind.width) if rng.integers(0, 3) == 0 else int(rng.integers(-9, 300))
            self.numbers[llvm.Constant((), [kind], {"value": number}).results[0]] = number

    def extreme(self, width: int) -> int:
        """Any number, with those near the ends of the range often."""
        low, high = limits(width)
        near = int(self.rng.integers(0, 4))
        some = wrapped(int(self.rng.integers(0, 1 << 62)) << int(self.rng.integers(0, 3)), width)
        return [low + near, high - near, some, wrapped(some << width // 2, width)][int(self.rng.integers(0, 4))]

    def any(self, kind: object) -> Value:
        found = [v for v in self.numbers if v.type == kind]
        return found[int(self.rng.integers(0, len(found)))]

    def grow(self) -> Op | None:
        """One more op and the number it gives; None where that is undefined."""
        choice = int(self.rng.integers(0, 10))
        if choice < 2:
            x = self.any(I32)
            cls = llvm.SExt if choice else llvm.ZExt
            number = self.numbers[x] if choice else unsigned(self.numbers[x], 32)
            return self.keep(cls([x], [I64], {}), number)
        if choice == 2:
            x = self.any(I64)
            return self.keep(llvm.Trunc([x], [I32], {}), wrapped(self.numbers[x], 32))
        kind = I32 if self.rng.integers(0, 3) else I64
        x, y = self.any(kind), self.any(kind)
        op = BINARY[int(self.rng.integers(0, len(BINARY)))]([x, y], [kind], {})
        a, b = self.numbers[x], self.numbers[y]
        number = evaluate(op, a, b, kind.width)
        promised = isinstance(op, llvm.Add | llvm.Sub | llvm.Mul) and exactly(op, a, b) == number
        if promised and self.rng.integers(0, 3) == 0:
            op = type(op)([x, y], [kind], {"nsw": True})
        return None if number is None else self.keep(op, number)

    def keep(self, op: Op, number: int) -> Op:
        self.numbers[op.results[0]] = number
        return op


@pytest.mark.in_turn
@pytest.mark.parametrize("seed", range(60))
def test_numbers_lie_within_what_is_known(seed: int) -> None:
    pool = Expressions(np.random.default_rng(seed))
    facts = Facts((THREADS, 1, 1))
    for _ in range(150):
        op = pool.grow()
        if op is None:
            continue
        value, number = op.results[0], pool.numbers[op.results[0]]
        width = 32 if value.type == I32 else 64
        low, high = facts.range(value)
        assert low <= number <= high, (op.name, number, (low, high))
        assert not unsigned(number, width) & facts.zeros(value), (op.name, number)
        if isinstance(op, llvm.Add | llvm.Sub | llvm.Mul):
            a, b = (pool.numbers[v] for v in op.operands)
            assert not facts.exact(op) or exactly(op, a, b) == number, op.name


def test_what_is_known_is_worth_something() -> None:
    block = Block([I32])
    thread = nvvm.SPECIAL_REGISTERS["tid", "x"]((), [I32], {}).results[0]
    thousand, far = (llvm.Constant((), [I32], {"value": n}).results[0] for n in (1024, 896))
    tile = llvm.Mul([block.args[0], thousand], [I32], {}).results[0]
    lane = llvm.Add([thread, far], [I32], {}).results[0]
    place = llvm.Add([tile, lane], [I32], {})
    facts = Facts((THREADS, 1, 1))
    assert facts.range(lane) == (896, 1023)
    assert facts.zeros(tile) == 1023
    assert facts.exact(place)  # no bit in common
    assert not facts.exact(tile.op)


def moved(k: Kernel, pointer: Value) -> Value:
    """Bytes between a pointer and the first parameter's array."""
    there, here = (k.value(llvm.PtrToInt, p, types=[I64]) for p in (pointer, k.params[0]))
    return k.value(arith.SubI, there, here)


@pytest.mark.parametrize("nsw", [False, True])
def test_tiles_of_pointers_share_one_base_and_wrap_as_written(nsw: bool) -> None:
    """index = tile * 1024 + thread + 128 r: one address and displacements, also where tile * 1024 wraps."""
    tiles = [0, 1, -1, 2**21 - 1, -(2**21)] if nsw else [0, 1, -1, 2**21, 2**21 - 1, 2**22 - 1, -(2**21) - 1, 2**31 - 1]
    more = {"nsw": True} if nsw else {}
    k = Kernel(GLOBAL_PTR, I32, threads=THREADS)
    lane = k.value(gpu.ThreadId, types=[I32], dimension="x")
    first = k.value(arith.MulI, k.params[1], k.const(1024), **more)
    for r in range(8):
        part = k.value(arith.AddI, lane, k.const(128 * r))
        index = k.value(arith.AddI, first, part, **more)
        found = moved(k, k.value(llvm.GetElementPtr, k.params[0], index, element_bytes=4))
        k.store(found, k.element(k.params[0], part, I64))
    text = k.ptx()
    assert len(re.findall(r"mul\.wide\.s32 %rd\d+, %r\d+, 4;", text)) == 1
    for tile in tiles:
        (got,) = run(text, 1, THREADS, [np.zeros(1024, np.int64), tile])
        index = wrapped(tile * 1024, 32) + np.arange(1024, dtype=np.int64)
        assert np.array_equal(got, 4 * index), tile


def test_a_constant_stays_in_a_sum_whose_rest_may_wrap() -> None:
    """x + (y - 1) fits where x + y does not."""
    k = Kernel(GLOBAL_PTR, I32, I32, threads=32)
    less = k.value(arith.AddI, k.params[2], k.const(-1), nsw=True)
    index = k.value(arith.AddI, k.params[1], less, nsw=True)
    found = moved(k, k.value(llvm.GetElementPtr, k.params[0], index, element_bytes=4))
    k.store(found, k.element(k.params[0], k.index(), I64))
    for x, y in ((2**31 - 1, 1), (5, -7), (-(2**31), 1)):
        (got,) = run(k.ptx(), 1, 32, [np.zeros(32, np.int64), x, y])
        assert (got == 4 * (x + y - 1)).all()


@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
@pytest.mark.parametrize("holds", [True, False])
def test_what_a_test_says_of_its_numbers_includes_all_of_them(predicate: str, holds: bool) -> None:
    """All pairs of some ranges, near the ends of the type too."""
    low, high = limits(32)
    ranges = [(-3, 2), (0, 3), (1, 1), (-1, -1), (1, 4), (-4, -1), (low, low + 2), (high - 2, high)]
    block = Block([I32, I32])
    x, y = block.args
    condition = llvm.ICmp([x, y], [I1], {"predicate": predicate}).results[0]
    narrower = 0
    for first, second in itertools.product(ranges, ranges):
        given = {x: first, y: second}
        found = implied_ranges(condition, holds, given.__getitem__)
        narrower += len(found)
        for a, b in itertools.product(range(first[0], first[1] + 1), range(second[0], second[1] + 1)):
            if holding(predicate, a, b, 32) == holds:
                for value, number in ((x, a), (y, b)):
                    least, most = found.get(value, given[value])
                    assert least <= number <= most, (first, second, a, b)
    assert narrower > 3


def test_of_tests_that_all_hold_each_says_something() -> None:
    """x < 9 and not (y <= 3), and the other side of x >= 9 or y <= 3; of either side of one that may hold, nothing."""
    x, y = Block([I32, I32]).args
    nine, three = (llvm.Constant((), [I32], {"value": n}).results[0] for n in (9, 3))
    one = llvm.Constant((), [I1], {"value": 1}).results[0]
    below = llvm.ICmp([x, nine], [I1], {"predicate": "slt"}).results[0]
    small = llvm.ICmp([y, three], [I1], {"predicate": "sle"}).results[0]
    large = llvm.Xor([small, one], [I1], {}).results[0]
    both = llvm.And([below, large], [I1], {}).results[0]
    beyond = llvm.ICmp([x, nine], [I1], {"predicate": "sge"}).results[0]
    either = llvm.Or([beyond, small], [I1], {}).results[0]
    low, high = limits(32)

    def known(value: Value) -> tuple[int, int]:
        return (value.op.value, value.op.value) if isinstance(value.op, llvm.Constant) else (low, high)

    for condition, holds in ((both, True), (either, False)):
        assert implied_ranges(condition, holds, known) == {x: (low, 8), y: (4, high)}
        assert implied_ranges(condition, not holds, known) == {}


def test_the_sides_of_a_branch_know_what_was_tested() -> None:
    """n <= 2 and n >= 0 on one side, where a counter below n is not 2; after the branch a comparison with 2 stays."""
    k = Kernel(GLOBAL_PTR, I32, threads=32)
    n, at = k.params[1], k.index()

    def twos() -> list[Value]:
        """How many i from 0 to n are 2, and the last one."""

        def body(i: Value, carried: list[Value]) -> list[Value]:
            found = k.value(arith.CmpI, i, k.const(2), types=[I1], predicate="eq")
            return [k.value(arith.AddI, carried[0], k.value(arith.ExtUI, found, types=[I32]))]

        return list(k.loop(k.const(0), n, k.const(1), [k.const(0)], body))

    small = k.value(arith.CmpI, n, k.const(2), types=[I1], predicate="sle")
    (count,) = k.branch(small, [I32], twos, twos)
    again = twos()[0]
    k.store(k.value(arith.AddI, k.value(arith.MulI, count, k.const(100)), again), k.element(k.params[0], at, I32))
    text = k.ptx()
    assert len(re.findall(r"setp\.eq\.s32 %p\d+, %r\d+, 2;", text)) == 2
    for count in (-1, 0, 1, 2, 3, 9):
        (got,) = run(text, 1, 32, [np.zeros(32, np.int32), count], k.smem)
        np.testing.assert_array_equal(got, 101 * (count > 2))
