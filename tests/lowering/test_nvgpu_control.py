"""Loops and branches: PTX on the simulator against Python, hand-made cases and random programs."""

import re

import numpy as np
import pytest

from ir.dialects import arith
from tests.lowering.nvgpu_harness import F16, F32, GLOBAL_PTR, I1, I32, I64, Kernel, VectorType, run

THREADS = 64


def check(build, expected, seed: int = 0, low: int = -3, high: int = 12) -> str:
    """`build(k, x, y) -> values`, `expected(x, y) -> numbers`, on random i32 pairs; returns the PTX."""
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(low, high, THREADS).astype(np.int32) for _ in range(2))
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, GLOBAL_PTR, threads=THREADS)
    at = k.index()
    values = build(k, k.load(k.element(k.params[0], at, I32), I32), k.load(k.element(k.params[1], at, I32), I32))
    for i, value in enumerate(values):
        spot = k.value(arith.AddI, k.value(arith.MulI, at, k.const(len(values))), k.const(i))
        k.store(value, k.element(k.params[2], spot, I32))
    ptx = k.ptx()
    _, _, out = run(ptx, 1, THREADS, [x, y, np.full((THREADS, len(values)), 99, np.int32)])
    for a, b, row in zip(x.tolist(), y.tolist(), out.tolist(), strict=True):
        wanted = [((n + (1 << 31)) % (1 << 32)) - (1 << 31) for n in expected(a, b)]
        assert row == wanted, f"x={a} y={b}: {row}, not {wanted}\n{ptx}"
    return ptx


def add(k, *values):
    total = values[0]
    for value in values[1:]:
        total = k.value(arith.AddI, total, value)
    return total


def test_loop_may_run_zero_times() -> None:
    def build(k, x, y):
        return k.loop(k.const(0), x, k.const(2), [y, k.const(1)],
                      lambda iv, c: [add(k, c[0], iv), k.value(arith.MulI, c[1], k.const(3))])  # fmt: skip

    def expected(a, b):
        return [b + sum(range(0, a, 2)), 3 ** len(range(0, a, 2))]

    assert check(build, expected).count("bra") == 2  # the guard and one backward branch


def test_unsigned_loop_crosses_the_sign() -> None:
    def build(k, x, y):
        near = k.const(2**31 - 2)
        bound = add(k, near, k.value(arith.AndI, x, k.const(7)))
        return k.loop(near, bound, k.const(1), [y], lambda iv, c: [add(k, c[0], iv)], unsigned=True)

    check(build, lambda a, b: [b + sum(range(2**31 - 2, 2**31 - 2 + (a & 7)))])


def test_loop_of_known_length_has_no_guard() -> None:
    def build(k, x, y):
        return k.loop(k.const(3), k.const(9), k.const(2), [x, y],
                      lambda iv, c: [add(k, c[0], c[1]), add(k, c[1], iv)])  # fmt: skip

    def expected(a, b):
        for iv in range(3, 9, 2):
            a, b = a + b, b + iv
        return [a, b]

    assert check(build, expected).count("bra") == 1


@pytest.mark.parametrize("unsigned", [False, True])
def test_the_next_counter_is_compared_so_that_the_old_one_ends(unsigned: bool) -> None:
    """x + 1 < 9 as x < 8 would hold x and x + 1 at a time, and move one to the other."""

    def build(k, x, y):
        return k.loop(k.const(3), k.const(9), k.const(1), [x], lambda iv, c: [add(k, c[0], iv)], unsigned=unsigned)

    text = check(build, lambda a, b: [a + sum(range(3, 9))])
    (loop,) = re.findall(r"\$L\d+:\n(.*?)bra ", text, re.S)
    assert "mov" not in loop
    (counter,) = re.findall(r"setp\.lt\.[su]32 %p\d+, (%r\d+), 9;", loop)
    assert f"add.s32 {counter}, {counter}, 1;" in loop


@pytest.mark.parametrize("trips", [0, 1])
def test_loop_of_no_or_one_trip_vanishes(trips: int) -> None:
    def build(k, x, y):
        return k.loop(k.const(5), k.const(5 + trips), k.const(1), [x, y],
                      lambda iv, c: [add(k, c[1], iv), c[0]])  # fmt: skip

    assert "bra" not in check(build, lambda a, b: [b + 5, a] if trips else [a, b])


def test_carried_values_may_swap_and_rotate() -> None:
    def build(k, x, y):
        return k.loop(k.const(0), x, k.const(1), [x, y, k.const(7)], lambda iv, c: [c[1], c[2], c[0]])

    def expected(a, b):
        values = [a, b, 7]
        for _ in range(a):
            values = [*values[1:], values[0]]
        return values

    check(build, expected)


def test_carried_value_used_after_its_successor_is_made() -> None:
    def build(k, x, y):
        def body(iv, c):
            following = add(k, c[0], iv)
            return [following, k.value(arith.XOrI, c[1], k.value(arith.MulI, following, c[0]))]

        return k.loop(k.const(0), x, k.const(1), [y, x], body)

    def expected(a, b):
        first, second = b, a
        for iv in range(a):
            first, second = first + iv, second ^ ((first + iv) * first)
        return [first, second]

    check(build, expected)


def test_loop_carries_an_old_value_out() -> None:
    def build(k, x, y):
        return k.loop(k.const(0), x, k.const(1), [y, k.const(-1)], lambda iv, c: [add(k, c[0], c[0], iv), c[0]])

    def expected(a, b):
        now, before = b, -1
        for iv in range(a):
            now, before = 2 * now + iv, now
        return [now, before]

    check(build, expected)


def test_old_value_is_handed_on_by_one_move() -> None:
    def build(k, x, y):
        def body(iv, c):
            mixed = k.value(arith.XOrI, c[2], c[1])
            return [add(k, c[0], c[0], iv), c[0], mixed]

        return k.loop(k.const(0), x, k.const(1), [y, k.const(-1), k.const(0)], body)

    def expected(a, b):
        now, before, mixed = b, -1, 0
        for iv in range(a):
            now, before, mixed = 2 * now + iv, now, mixed ^ before
        return [now, before, mixed]

    loop = check(build, expected).partition("$L0:")[2].partition("bra $L0")[0]
    assert loop.count("mov.b32") == 1


def test_values_that_are_always_the_same_are_carried_once() -> None:
    def build(k, x, y):
        def body(iv, c):
            return [k.value(arith.MulI, add(k, each, iv), y) for each in c]

        return k.loop(k.const(0), x, k.const(1), [y, y, x], body)

    def expected(a, b):
        first, second, third = b, b, a
        for iv in range(a):
            first, second, third = (first + iv) * b, (second + iv) * b, (third + iv) * b
        return [first, second, third]

    assert check(build, expected).partition("$L0:")[2].partition("bra $L0")[0].count("mul.lo.s32") == 2


def test_values_that_begin_alike_are_carried_apart() -> None:
    def build(k, x, y):
        def body(iv, c):
            return [add(k, c[0], iv), k.value(arith.XOrI, c[1], iv), c[0]]

        return k.loop(k.const(0), x, k.const(1), [y, y, y], body)

    def expected(a, b):
        first, second, third = b, b, b
        for iv in range(a):
            first, second, third = first + iv, second ^ iv, first
        return [first, second, third]

    check(build, expected)


def test_values_are_the_same_through_nested_loops_and_in_turn() -> None:
    def build(k, x, y):
        def inner(iv, c):
            return [add(k, c[1], iv), add(k, c[0], iv)]

        return k.loop(k.const(0), x, k.const(1), [y, y],
                      lambda iv, c: k.loop(k.const(0), y, k.const(1), list(c), inner))  # fmt: skip

    def expected(a, b):
        value = b
        for _ in range(a):
            value += sum(range(b))
        return [value, value]

    check(build, expected)


def test_invariant_carried_value_and_unused_results() -> None:
    def build(k, x, y):
        made = k.loop(k.const(0), x, k.const(1), [y, x, k.const(5)],
                      lambda iv, c: [add(k, c[0], c[1]), c[1], add(k, c[2], iv)])  # fmt: skip
        return [made[0], made[1]]

    ptx = check(build, lambda a, b: [b + a * max(a, 0), a])
    assert ptx.count("add.s32") <= 4  # the third carried value is dead


def test_nested_loops_share_and_hoist() -> None:
    def build(k, x, y):
        def inner(iv, jv, c):
            stride = k.value(arith.MulI, y, k.const(10))
            return [add(k, c[0], k.value(arith.MulI, iv, stride), jv)]

        def outer(iv, c):
            return k.loop(iv, k.const(6), k.const(1), [c[0]], lambda jv, d: inner(iv, jv, d))

        return k.loop(k.const(0), x, k.const(1), [y], outer)

    def expected(a, b):
        total = b
        for i in range(a):
            for j in range(i, 6):
                total += i * b * 10 + j
        return [total]

    check(build, expected)


def test_invariant_products_leave_the_loop() -> None:
    def build(k, x, y):
        def body(iv, c):
            tripled = k.value(arith.MulI, c[0], k.const(3))
            return [add(k, tripled, k.value(arith.MulI, x, y))]

        return k.loop(k.const(0), x, k.const(1), [y], body)

    def expected(a, b):
        total = b
        for _ in range(a):
            total = 3 * total + a * b
        return [total]

    ptx = check(build, expected)
    loop = ptx[ptx.index("$L0:") : ptx.index("bra $L0")]
    assert "mad.lo.s32" in loop
    assert "mul" not in loop


def test_branches_with_and_without_else() -> None:
    def build(k, x, y):
        less = k.value(arith.CmpI, x, y, types=[I1], predicate="slt")
        first = k.branch(less, [I32, I32], lambda: [add(k, x, k.const(100)), y], lambda: [y, x])
        second = k.branch(less, [I32], lambda: [k.value(arith.MulI, x, x)], lambda: [k.value(arith.SubI, y, x)])
        k.branch(less, [], list, list)
        return [*first, *second]

    check(build, lambda a, b: [a + 100, b, a * a] if a < b else [b, a, b - a])


def test_branches_that_compute_nothing_are_choices() -> None:
    def build(k, x, y):
        less = k.value(arith.CmpI, x, y, types=[I1], predicate="slt")
        return k.branch(less, [I32, I32], lambda: [x, k.const(7)], lambda: [y, x])

    made = check(build, lambda a, b: [a, 7] if a < b else [b, a])
    assert made.count("selp") == 2
    assert "bra" not in made


def test_branch_on_a_known_condition_keeps_one_side() -> None:
    def build(k, x, y):
        known = k.value(arith.CmpI, k.const(3), k.const(4), types=[I1], predicate="slt")
        return k.branch(known, [I32], lambda: [add(k, x, y)], lambda: [k.value(arith.DivSI, x, y)])

    ptx = check(build, lambda a, b: [a + b])
    assert "bra" not in ptx
    assert "div" not in ptx


def test_loops_inside_branches_inside_loops() -> None:
    def build(k, x, y):
        def odd(iv, c):
            return k.loop(k.const(0), iv, k.const(1), [c[0]], lambda jv, d: [add(k, d[0], k.value(arith.MulI, x, jv))])

        def body(iv, c):
            bit = k.value(arith.TruncI, iv, types=[I1])
            made = k.branch(bit, [I32], lambda: odd(iv, c), lambda: [k.value(arith.XOrI, c[0], iv)])
            return [made[0], add(k, c[1], made[0])]

        return k.loop(k.const(0), x, k.const(1), [y, x], body)

    def expected(a, b):
        first, second = b, a
        for iv in range(a):
            if iv & 1:
                for jv in range(iv):
                    first += a * jv
            else:
                first ^= iv
            second += first
        return [first, second]

    check(build, expected)


def test_carried_predicates_and_wide_values() -> None:
    def build(k, x, y):
        def body(iv, c):
            flag = k.value(arith.XOrI, c[0], k.value(arith.CmpI, iv, y, types=[I1], predicate="sgt"))
            wide = k.value(arith.MulI, c[1], k.const(3, I64))
            return [flag, k.value(arith.Select, c[0], wide, k.value(arith.AddI, wide, k.const(1, I64))), c[0]]

        start = [k.const(1, I1), k.value(arith.ExtSI, x, types=[I64]), k.const(0, I1)]
        flag, wide, old = k.loop(k.const(0), x, k.const(1), start, body)
        return [k.value(arith.ExtUI, flag, types=[I32]), k.value(arith.TruncI, wide, types=[I32]),
                k.value(arith.ExtUI, old, types=[I32])]  # fmt: skip

    def expected(a, b):
        flag, wide, old = True, a, False
        for iv in range(a):
            flag, wide, old = flag ^ (iv > b), wide * 3 if flag else wide * 3 + 1, flag
        return [int(flag), wide, int(old)]

    check(build, expected)


def test_accumulators_stay_in_their_registers() -> None:
    k = Kernel(GLOBAL_PTR, I32, threads=32)
    pair = VectorType((2,), F16)
    zero, start = k.const(0.0, F32), k.const(1.0, pair)

    def body(iv, c):
        return [k.value(arith.AddF, c[0], c[0]), *(k.value(arith.AddF, v, start) for v in c[1:])]

    made = k.loop(k.const(0), k.params[1], k.const(1), [zero, start, start], body)
    for i, value in enumerate(made):
        k.store(value, k.element(k.params[0], k.const(i), I32))
    text = k.ptx()
    loop = text[text.index("$L0:") : text.rindex("bra $L0")]
    assert "mov" not in loop, text


class Program:
    """A random structured program over i32 values, built and evaluated side by side."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.steps = self.block(3, 2)

    def block(self, depth: int, count: int) -> list:
        made = []
        for _ in range(count + int(self.rng.integers(0, 3))):
            kind = self.rng.integers(0, 10)
            picks = self.rng.integers(0, 1000, 6).tolist()
            if kind < 6 or depth == 0:
                name = ["AddI", "SubI", "MulI", "XOrI", "AndI", "MaxSI", "MinSI", "OrI"][self.rng.integers(0, 8)]
                made.append(("op", name, picks))
            elif kind < 8:
                carried = int(self.rng.integers(1, 4))
                made.append(("for", carried, picks, self.block(depth - 1, 1), self.rng.integers(0, 1000, 3).tolist()))
            else:
                sides = [self.block(depth - 1, int(self.rng.integers(0, 2))) for _ in range(2)]
                made.append(("if", picks, sides, self.rng.integers(0, 1000, 4).tolist()))
        return made

    def build(self, k: Kernel, values: list) -> list:
        return self._build(k, self.steps, list(values))

    def _build(self, k: Kernel, steps: list, env: list) -> list:
        def at(n):
            return env[n % len(env)]

        for step in steps:
            if step[0] == "op":
                env.append(k.value(getattr(arith, step[1]), at(step[2][0]), at(step[2][1])))
            elif step[0] == "for":
                _, carried, picks, inner, ends = step
                bound = k.value(arith.AndI, at(picks[0]), k.const(3))

                def body(iv, c, inner=inner, ends=ends, env=env):
                    seen = self._build(k, inner, [*env, iv, *c])
                    return [seen[-1 - n % min(len(seen), 9)] for n in ends[: len(c)]]

                inits = [at(p) for p in picks[1 : 1 + carried]]
                env.extend(k.loop(k.const(picks[5] % 2), bound, k.const(1), inits, body))
            else:
                _, picks, sides, ends = step
                test = k.value(arith.CmpI, at(picks[0]), at(picks[1]), types=[I1], predicate="slt")

                def side(inner, ends, env=env):
                    seen = self._build(k, inner, list(env))
                    return [seen[-1 - n % min(len(seen), 9)] for n in ends]

                env.extend(k.branch(test, [I32] * 2, lambda s=sides[0], e=ends[:2]: side(s, e),
                                    lambda s=sides[1], e=ends[2:]: side(s, e)))  # fmt: skip
        return env

    def evaluate(self, values: list[int]) -> list[int]:
        return self._evaluate(self.steps, list(values))

    def _evaluate(self, steps: list, env: list[int]) -> list[int]:
        functions = {
            "AddI": lambda a, b: a + b, "SubI": lambda a, b: a - b, "MulI": lambda a, b: a * b,
            "XOrI": lambda a, b: a ^ b, "AndI": lambda a, b: a & b, "OrI": lambda a, b: a | b,
            "MaxSI": max, "MinSI": min,
        }  # fmt: skip

        def at(n):
            return env[n % len(env)]

        for step in steps:
            if step[0] == "op":
                number = functions[step[1]](at(step[2][0]), at(step[2][1]))
                env.append(((number + (1 << 31)) % (1 << 32)) - (1 << 31))
            elif step[0] == "for":
                _, carried, picks, inner, ends = step
                held = [at(p) for p in picks[1 : 1 + carried]]
                for iv in range(picks[5] % 2, at(picks[0]) & 3):
                    seen = self._evaluate(inner, [*env, iv, *held])
                    held = [seen[-1 - n % min(len(seen), 9)] for n in ends[:carried]]
                env.extend(held)
            else:
                _, picks, sides, ends = step
                taken = at(picks[0]) < at(picks[1])
                seen = self._evaluate(sides[0] if taken else sides[1], list(env))
                env.extend(seen[-1 - n % min(len(seen), 9)] for n in (ends[:2] if taken else ends[2:]))
        return env


def check_program(seed: int) -> None:
    program = Program(seed)
    check(lambda k, x, y: program.build(k, [x, y, k.const(3)])[-6:],
          lambda a, b: program.evaluate([a, b, 3])[-6:], seed)  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", [*range(40), 1169])  # 1169: regrouping inside a branch, from which nothing is hoisted
def test_random_programs(seed: int) -> None:
    check_program(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_many_random_programs(seed: int) -> None:
    check_program(seed)


COLUMNS = (1, 8, 9, 16, 17, 24, 25)
COMPARISONS = {
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("may_wrap", ["", "difference", "sum"])
def test_columns_of_a_loop_are_compared_by_one_difference(may_wrap: str, swapped: bool) -> None:
    """j x 32 + base + column against a bound, which is negative or near the largest i32 where that may wrap."""

    def build(k, x, y):
        bound = x if may_wrap == "difference" else k.value(arith.ShRUI, x, k.const(1))
        base = y if may_wrap == "sum" else k.value(arith.AndI, y, k.const(7))

        def body(iv, carried):
            start = add(k, k.value(arith.MulI, iv, k.const(32)), base)
            found = []
            for total, predicate in zip(carried, COMPARISONS, strict=True):
                for column in COLUMNS:
                    place = add(k, start, k.const(column))
                    sides = (bound, place) if swapped else (place, bound)
                    inside = k.value(arith.CmpI, *sides, types=[I1], predicate=predicate)
                    total = add(k, total, k.value(arith.Select, inside, k.const(column), k.const(0)))
                found.append(total)
            return found

        return k.loop(k.const(0), k.const(5), k.const(1), [k.const(0)] * len(COMPARISONS), body)

    def expected(a, b):
        bound = a if may_wrap == "difference" else a % (1 << 32) >> 1
        base = b if may_wrap == "sum" else b & 7
        places = [(((j * 32 + base + c) + (1 << 31)) % (1 << 32) - (1 << 31), c) for j in range(5) for c in COLUMNS]
        pairs = [((bound, place) if swapped else (place, bound), column) for place, column in places]
        return [sum(column for sides, column in pairs if holds(*sides)) for holds in COMPARISONS.values()]

    for low, high in ((-(1 << 31), -(1 << 31) + 200), ((1 << 31) - 200, 1 << 31)):
        check(build, expected, low=low, high=high)
    ptx = check(build, expected)
    loop = ptx[ptx.index("$L") : ptx.index("bra")]
    assert (loop.count("sub.s32") == 1) == (not may_wrap), ptx
