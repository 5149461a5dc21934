"""Random integer programs on the numbers where they break: what is folded gives what was written."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from ir.core import Value
from ir.dialects import arith, gpu, math
from ir.types import F32, I1, I32, I64
from lowering.convert.nvgpu_to_nvvm.facts import limits
from tests.lowering.nvgpu_harness import GLOBAL_PTR, Kernel, run
from tests.lowering.test_nvgpu_facts import divided, unsigned, wrapped

THREADS = 64
CONSTANTS = (0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 64, 100, 127, 128, 255, 256, 1000, -1, -2, -8)
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
DIVISIONS = (arith.DivSI, arith.RemSI, arith.DivUI, arith.RemUI, arith.FloorDivSI, arith.CeilDivSI, arith.CeilDivUI)
PLAIN = (
    arith.AddI, arith.AddI, arith.SubI, arith.MulI, arith.AndI, arith.AndI, arith.OrI, arith.XOrI, arith.MinSI,
    arith.MaxSI, arith.MinUI, arith.MaxUI,
)  # fmt: skip
Numbers = list[int]


def binary(cls: type, a: int, b: int, width: int) -> int:
    ua, ub = unsigned(a, width), unsigned(b, width)
    table = {
        arith.AddI: lambda: a + b, arith.SubI: lambda: a - b, arith.MulI: lambda: a * b, arith.AndI: lambda: a & b,
        arith.OrI: lambda: a | b, arith.XOrI: lambda: a ^ b, arith.MinSI: lambda: min(a, b),
        arith.MaxSI: lambda: max(a, b), arith.MinUI: lambda: min(ua, ub), arith.MaxUI: lambda: max(ua, ub),
        arith.DivSI: lambda: divided(a, b), arith.RemSI: lambda: a - divided(a, b) * b, arith.DivUI: lambda: ua // ub,
        arith.RemUI: lambda: ua % ub, arith.FloorDivSI: lambda: a // b, arith.CeilDivSI: lambda: -(-a // b),
        arith.CeilDivUI: lambda: -(-ua // ub),
    }  # fmt: skip
    return wrapped(table[cls](), width)


def shifted(cls, number: int, by: int, width: int) -> int:
    return wrapped(number << by if cls is arith.ShLI else number >> by if cls is arith.ShRSI
                   else unsigned(number, width) >> by, width)  # fmt: skip


def compared(predicate: str, a: int, b: int, width: int) -> bool:
    if predicate[0] == "u":
        a, b = unsigned(a, width), unsigned(b, width)
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[predicate[-2:]]


def compare(k: Kernel, predicate: str, x: Value, y: Value) -> Value:
    return k.value(arith.CmpI, x, y, types=[I1], predicate=predicate)


class Random:
    """Values of a kernel, each with its number in every thread."""

    def __init__(self, k: Kernel, rng: np.random.Generator, given: np.ndarray):
        self.k, self.rng = k, rng
        self.thread = k.value(gpu.ThreadId, types=[I32], dimension="x")
        self.values: list[tuple[Value, Numbers]] = [(self.thread, list(range(THREADS)))]
        for i in range(given.shape[0]):
            spot = k.value(arith.AddI, self.thread, k.const(i * THREADS))
            self.values.append((k.load(k.element(k.params[0], spot, I32), I32), [int(n) for n in given[i]]))

    def pick(self, kind: object) -> tuple[Value, Numbers]:
        found = [each for each in self.values if each[0].type == kind]
        return found[-1 - int(self.rng.integers(0, min(len(found), 6)))]

    def constant(self, kind: object, positive: bool = False) -> tuple[Value, Numbers]:
        number = int(self.rng.choice([c for c in CONSTANTS if c > 0] if positive else CONSTANTS))
        return self.k.const(number, kind), [number] * THREADS

    def step(self) -> None:
        rng, k = self.rng, self.k
        wide = any(v.type == I64 for v, _ in self.values) and rng.integers(0, 4) == 0
        kind, width = (I64, 64) if wide else (I32, 32)
        x, numbers = self.pick(kind)
        choice = int(rng.integers(0, 15))
        if choice > 11:
            self.fields(x, numbers, width)
            return
        if choice < 2 and not wide:
            cls = arith.ExtSI if choice else arith.ExtUI
            widened = [n if choice else unsigned(n, 32) for n in numbers]
            self.values.append((k.value(cls, x, types=[I64]), widened))
            return
        if choice < 3:
            if wide:
                self.values.append((k.value(arith.TruncI, x, types=[I32]), [wrapped(n, 32) for n in numbers]))
            else:
                self.floor_remainder(x, numbers)
            return
        if choice < 5:
            cls = DIVISIONS[int(rng.integers(0, len(DIVISIONS)))]
            y, others = self.constant(kind, positive=True)
        else:
            cls = PLAIN[int(rng.integers(0, len(PLAIN)))]
            y, others = self.constant(kind) if rng.integers(0, 2) else self.pick(kind)
        if choice > 9:
            predicate = str(rng.choice(PREDICATES))
            flag = compare(k, predicate, x, y)
            chosen = [compared(predicate, a, b, width) for a, b in zip(numbers, others, strict=True)]
            if choice == 11:  # joined with another comparison of the same numbers
                second = str(rng.choice(PREDICATES))
                also = [compared(second, a, b, width) for a, b in zip(numbers, others, strict=True)]
                cls = (arith.AndI, arith.OrI)[int(rng.integers(0, 2))]
                flag = k.value(cls, flag, compare(k, second, x, y), types=[I1])
                chosen = [(a and b) if cls is arith.AndI else (a or b) for a, b in zip(chosen, also, strict=True)]
            z, third = self.constant(kind)
            picked = [a if c else b for a, b, c in zip(numbers, third, chosen, strict=True)]
            self.values.append((k.value(arith.Select, flag, x, z, types=[kind]), picked))
            return
        found = [binary(cls, a, b, width) for a, b in zip(numbers, others, strict=True)]
        self.values.append((k.value(cls, x, y, types=[kind]), found))

    def fields(self, x: Value, numbers: Numbers, width: int) -> None:
        """A shift, or two fields of one number put together, where they were or elsewhere."""
        rng, k, kind = self.rng, self.k, x.type
        places = [int(p) for p in rng.integers(0, width, 3)]
        cls = (arith.ShLI, arith.ShRSI, arith.ShRUI)[int(rng.integers(0, 3))]
        if rng.integers(0, 3) == 0:
            found = [shifted(cls, n, places[0], width) for n in numbers]
            self.values.append((k.value(cls, x, k.const(places[0], kind), types=[kind]), found))
            return
        made, total = None, [0] * THREADS
        for place in places[:2]:
            ones = (1 << int(rng.integers(1, 12))) - 1
            back = place if rng.integers(0, 4) else places[2]
            low = k.value(arith.ShRUI, x, k.const(place, kind), types=[kind])
            part = k.value(arith.AndI, low, k.const(ones, kind), types=[kind])
            part = k.value(arith.ShLI, part, k.const(back, kind), types=[kind])
            made = part if made is None else k.value(arith.OrI, made, part, types=[kind])
            total = [t | (unsigned(n, width) >> place & ones) << back for t, n in zip(total, numbers, strict=True)]
        assert made is not None
        self.values.append((made, [wrapped(t, width) for t in total]))

    def floor_remainder(self, x: Value, numbers: Numbers) -> None:
        """As cuTile writes a remainder that is never negative."""
        k = self.k
        y, others = self.constant(I32, positive=True)
        rest = k.value(arith.RemSI, x, y)
        below, some = compare(k, "slt", rest, k.const(0)), compare(k, "ne", rest, k.const(0))
        condition = k.value(arith.AndI, some, below)
        made = k.value(arith.Select, condition, k.value(arith.AddI, rest, y), rest, types=[I32])
        self.values.append((made, [a % b for a, b in zip(numbers, others, strict=True)]))


def extremes(rng: np.random.Generator, rows: int) -> np.ndarray:
    """i32 near the ends of their range, near zero, and anywhere."""
    low, high = limits(32)
    near = rng.integers(0, 5, (rows, THREADS))
    kinds = [near + low, high - near, near - 2, rng.integers(low, high, (rows, THREADS))]
    return np.choose(rng.integers(0, 4, (rows, THREADS)), kinds).astype(np.int32)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = extremes(rng, 3)
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=THREADS)
    program = Random(k, rng, given)
    for _ in range(40):
        program.step()
    for i, (value, _) in enumerate(program.values):
        wide = value if value.type == I64 else k.value(arith.ExtSI, value, types=[I64])
        spot = k.value(arith.AddI, program.thread, k.const(i * THREADS))
        k.store(wide, k.element(k.params[1], spot, I64))
    got = run(k.ptx(), 1, THREADS, [given, np.zeros((len(program.values), THREADS), np.int64)])[1]
    for i, (value, numbers) in enumerate(program.values):
        assert [int(n) for n in got[i]] == numbers, (seed, i, value.owner)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_of_which_few_bits_are_read(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    given = extremes(rng, 3)
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=THREADS)
    program = Random(k, rng, given)
    for _ in range(30):
        program.step()
    read = [program.values[int(at)] for at in rng.integers(len(program.values) // 2, len(program.values), 6)]
    wanted: list[Numbers] = []
    for i, (value, numbers) in enumerate(read):
        place = int(rng.integers(0, 6))
        mask = ((1 << int(rng.integers(1, 9))) - 1) << place
        few = k.value(arith.AndI, value, k.const(mask, value.type), types=[value.type])
        wide = few if few.type == I64 else k.value(arith.ExtSI, few, types=[I64])
        spot = k.value(arith.AddI, program.thread, k.const(i * THREADS))
        k.store(wide, k.element(k.params[1], spot, I64))
        wanted.append([n & mask for n in numbers])
    got = run(k.ptx(), 1, THREADS, [given, np.zeros((len(read), THREADS), np.int64)])[1]
    assert got.tolist() == wanted, seed


def text(make: Callable[[Kernel, Value, Value], Value]) -> str:
    """The PTX of what `make(kernel, thread, loaded number)` stores."""
    k = Kernel(GLOBAL_PTR, threads=THREADS)
    thread = k.value(gpu.ThreadId, types=[I32], dimension="x")
    found = make(k, thread, k.load(k.element(k.params[0], thread, I32), I32))
    k.store(found, k.element(k.params[0], thread, found.type))
    return k.ptx()


def repaired(k: Kernel, x: Value, divisor: int) -> Value:
    rest = k.value(arith.RemSI, x, k.const(divisor))
    condition = k.value(arith.AndI, compare(k, "ne", rest, k.const(0)), compare(k, "slt", rest, k.const(0)))
    return k.value(arith.Select, condition, k.value(arith.AddI, rest, k.const(divisor)), rest, types=[I32])


def test_remainders_without_signs() -> None:
    """Of a power of two the low bits, else what a division rounded down leaves; what is not negative has no repair."""
    for divisor in (8, 7):
        assert not re.search(r"rem|selp|setp", text(lambda k, t, x, d=divisor: repaired(k, x, d)))
    plain, any_sign = (text(lambda k, t, x, i=i: repaired(k, (t, x)[i], 7)) for i in (0, 1))
    assert "xor" not in plain
    assert any_sign.count("xor") == 2


def test_low_bits_of_two_registers_are_one() -> None:
    """(x + 128) & 15 is x & 15."""
    made = text(lambda k, t, x: k.value(arith.AndI, k.value(arith.AddI, x, k.const(128)), k.const(15)))
    assert not re.search(r"add\.s32 .*, 128", made)


@pytest.mark.parametrize("predicate", ["slt", "ult", "eq"])
def test_wide_comparisons_of_narrow_numbers(predicate: str) -> None:
    def make(k: Kernel, thread: Value, x: Value) -> Value:
        wide = [k.value(arith.ExtSI, v, types=[I64]) for v in (thread, x)]
        return k.value(arith.ExtUI, compare(k, predicate, *wide), types=[I32])

    assert not re.search(r"setp\.\w+\.[sub]64|cvt\.s64", text(make))


def test_comparisons_that_ranges_decide() -> None:
    """A thread's number is below 64."""
    made = text(lambda k, t, x: k.value(arith.Select, compare(k, "ult", t, k.const(64)), x, t, types=[I32]))
    assert "setp" not in made


@pytest.mark.parametrize(("cls", "true"), [(arith.UIToFP, 1.0), (arith.SIToFP, -1.0)])
@pytest.mark.parametrize("widened", [False, True])
def test_truth_as_a_number_is_chosen(cls: type, true: float, widened: bool) -> None:
    """A comparison as f32, by itself (signed, true is -1) or widened to i32 first: no conversion is left."""
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=THREADS)
    thread = k.value(gpu.ThreadId, types=[I32], dimension="x")
    flag = compare(k, "slt", k.load(k.element(k.params[0], thread, I32), I32), k.const(7))
    flag = k.value(arith.ExtUI, flag, types=[I32]) if widened else flag
    k.store(k.value(cls, flag, types=[F32]), k.element(k.params[1], thread, F32))
    assert "cvt.rn" not in k.ptx()
    given = extremes(np.random.default_rng(3), 1)[0]
    got = run(k.ptx(), 1, THREADS, [given, np.zeros(THREADS, np.float32)])[1]
    assert np.array_equal(got, np.where(given < 7, 1.0 if widened else true, 0.0).astype(np.float32))


def shortened(make: Callable[[Kernel, Value, Value], Value], expected: Callable[[int, int], int]) -> str:
    """The PTX of an i32 of (thread, loaded number), which is right on the simulator."""
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=THREADS)
    thread = k.value(gpu.ThreadId, types=[I32], dimension="x")
    found = make(k, thread, k.load(k.element(k.params[0], thread, I32), I32))
    k.store(found, k.element(k.params[1], thread, I32))
    given = extremes(np.random.default_rng(7), 1)[0]
    got = run(k.ptx(), 1, THREADS, [given, np.zeros(THREADS, np.int32)])[1]
    assert got.tolist() == [wrapped(expected(t, x), 32) for t, x in enumerate(given.tolist())]
    return k.ptx()


@pytest.mark.parametrize(("cls", "apply"), [(arith.XOrI, int.__xor__), (arith.OrI, int.__or__)])
def test_bits_apart_from_a_constant_leave_it_outside(cls: type, apply: Callable[[int, int], int]) -> None:
    """(t + 64) ^ 1 is (t ^ 1) + 64, which an address takes as its displacement."""

    def make(k: Kernel, thread: Value, x: Value) -> Value:
        far = k.value(cls, k.value(arith.AddI, thread, k.const(64)), k.const(1))
        return k.value(arith.AddI, far, k.const(-64))

    assert not re.search(r"add\.s32 .*, -?64", shortened(make, lambda t, x: apply(t + 64, 1) - 64))


def test_bits_apart_from_a_constant_are_masked_without_it() -> None:
    def make(k: Kernel, thread: Value, x: Value) -> Value:
        return k.value(arith.AndI, k.value(arith.AddI, thread, k.const(192)), k.const(95))

    made = shortened(make, lambda t, x: (t + 192) & 95)
    assert made.count("and.b32") == 1
    assert "192" not in made


def test_the_rest_of_a_division_is_one_multiply_add() -> None:
    made = shortened(lambda k, t, x: k.value(arith.RemSI, x, k.const(7)), lambda t, x: x - divided(x, 7) * 7)
    assert re.search(r"mad\.lo\.s32 .*, -7,", made)
    assert "sub.s32" not in made


def test_what_a_shift_there_and_back_leaves_is_masked() -> None:
    def make(k: Kernel, thread: Value, x: Value) -> Value:
        return k.value(arith.SubI, x, k.value(arith.MulI, k.value(arith.ShRSI, x, k.const(5)), k.const(32)))

    assert re.search(r"and\.b32 .*, 31", shortened(make, lambda t, x: x - (x >> 5) * 32))


def test_a_magnitude_is_one_instruction() -> None:
    made = shortened(lambda k, t, x: k.value(math.AbsI, x), lambda t, x: abs(x))
    assert "abs.s32" in made
    assert "neg" not in made


def chosen(k: Kernel, condition: Value, x: Value, y: Value) -> Value:
    return k.value(arith.Select, condition, x, y, types=[x.type])


@pytest.mark.sampled(20)
@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("number", [-5, 0, 8, 20])
def test_multiples_and_sums_are_compared_without_their_constants(predicate: str, number: int) -> None:
    for factor, term in ((4, 0), (1, 3), (6, -7)):

        def make(k: Kernel, thread: Value, x: Value, factor: int = factor, term: int = term) -> Value:
            scaled = k.value(arith.MulI, thread, k.const(factor)) if factor != 1 else thread
            moved = k.value(arith.AddI, scaled, k.const(term)) if term else scaled
            return chosen(k, compare(k, predicate, moved, k.const(number)), x, k.const(5))

        def expected(t: int, x: int, factor: int = factor, term: int = term) -> int:
            return x if compared(predicate, t * factor + term, number, 32) else 5

        made = shortened(make, expected)
        assert predicate[0] == "u" or term or not re.search(r"shl\.b32|mul\.lo", made)


def test_signs_of_which_one_is_known() -> None:
    def make(k: Kernel, thread: Value, x: Value) -> Value:
        return chosen(k, compare(k, "slt", k.value(arith.XOrI, x, thread), k.const(0)), thread, k.const(5))

    assert "xor" not in shortened(make, lambda t, x: t if x ^ t < 0 else 5)


def test_a_truth_that_was_a_number_is_itself() -> None:
    for predicate in ("ne", "eq", "sgt", "slt"):

        def make(k: Kernel, thread: Value, x: Value, predicate: str = predicate) -> Value:
            number = k.value(arith.ExtUI, compare(k, "slt", x, k.const(9)), types=[I32])
            return chosen(k, compare(k, predicate, number, k.const(0)), thread, x)

        made = shortened(make, lambda t, x, p=predicate: t if compared(p, int(x < 9), 0, 32) else x)
        assert made.count("setp") <= 1
        assert made.count("selp") <= 1


@pytest.mark.parametrize("predicate", PREDICATES)
def test_numbers_extended_by_zeros_are_compared_as_they_were(predicate: str) -> None:
    def make(k: Kernel, thread: Value, x: Value) -> Value:
        wide = [k.value(arith.ExtUI, v, types=[I64]) for v in (x, k.value(arith.MulI, x, x))]
        return chosen(k, compare(k, predicate, *wide), thread, x)

    def expected(t: int, x: int) -> int:
        return t if compared(predicate, unsigned(x, 32), unsigned(x * x, 32), 64) else x

    assert not re.search(r"setp\.\w+\.[sub]64", shortened(make, expected))


@pytest.mark.parametrize("cls", [arith.AddI, arith.MaxSI, arith.XOrI])
def test_operands_that_one_condition_crosses(cls: type) -> None:
    """(c ? a : b) + (c ? b : a) is a + b."""

    def make(k: Kernel, thread: Value, x: Value) -> Value:
        condition = compare(k, "slt", x, k.const(9))
        return k.value(cls, chosen(k, condition, thread, x), chosen(k, condition, x, thread))

    assert "selp" not in shortened(make, lambda t, x: binary(cls, t, x, 32))


def test_sums_of_one_number_are_compared_by_their_constants() -> None:
    """t < t + 1, which cannot wrap."""

    def make(k: Kernel, thread: Value, x: Value) -> Value:
        return chosen(k, compare(k, "slt", thread, k.value(arith.AddI, thread, k.const(1))), x, thread)

    assert "setp" not in shortened(make, lambda t, x: x)


def test_sums_that_wrap_are_compared() -> None:
    def make(k: Kernel, thread: Value, x: Value) -> Value:
        return chosen(k, compare(k, "slt", x, k.value(arith.AddI, x, k.const(1))), thread, x)

    assert "setp" in shortened(make, lambda t, x: t if x < 2**31 - 1 else x)


def test_chosen_bits_are_joined_by_or() -> None:
    def make(k: Kernel, thread: Value, x: Value) -> Value:
        bits = [chosen(k, compare(k, p, x, thread), k.const(1 << i), k.const(0)) for i, p in enumerate(PREDICATES[:4])]
        total = bits[0]
        for each in bits[1:]:
            total = k.value(arith.AddI, total, each)
        return total

    def expected(t: int, x: int) -> int:
        return sum(compared(p, x, t, 32) << i for i, p in enumerate(PREDICATES[:4]))

    made = shortened(make, expected)
    assert made.count("or.b32") == 3


def test_a_choice_between_a_sum_and_its_term_is_of_the_other_term() -> None:
    """Two i64 sums by one condition: one choice of two registers for both."""

    def make(k: Kernel, thread: Value, x: Value) -> Value:
        condition = compare(k, "slt", x, k.const(9))
        wide, first = (k.value(arith.ExtSI, v, types=[I64]) for v in (x, thread))
        second = k.value(arith.MulI, wide, wide)
        sums = [chosen(k, condition, k.value(arith.AddI, v, wide), v) for v in (first, second)]
        return k.value(arith.TruncI, k.value(arith.XOrI, *sums), types=[I32])

    def expected(t: int, x: int) -> int:
        return ((t + x) ^ (x * x + x)) if x < 9 else t ^ (x * x)

    assert shortened(make, expected).count("selp") == 1
