"""simplify-by-uses on windows and nested choices: one comparison where two would do, one select for two."""

from __future__ import annotations

import numpy as np
import pytest

from ir.core import Value
from ir.dialects import arith
from ir.types import F32, I1, I32
from lowering.convert.nvgpu_to_nvvm import convert
from lowering.convert.nvgpu_to_nvvm.uses import simplify_by_uses
from tests.lowering.nvgpu_harness import Kernel, run
from tests.lowering.test_uses import THREADS, checked, kernel

LEAST, MOST = -(1 << 31), (1 << 31) - 1
COMPARED = {"sge": np.greater_equal, "sgt": np.greater, "sle": np.less_equal, "slt": np.less}


def numbers(*bounds: int) -> np.ndarray:
    """Numbers around bounds, moved by up to 2, with those around the ends of i32; the rest random."""
    near = [b + step for b in (*bounds, LEAST, MOST, 0) for step in range(-2, 3)]
    found = np.random.default_rng(2).integers(LEAST, MOST, THREADS)
    found[: len(near)] = near
    return found.astype(np.uint32).astype(np.int32)  # modulo 2^32


def compared(text: str) -> int:
    return text.count("setp.")


@pytest.mark.in_turn
@pytest.mark.parametrize("form", ["difference", "sum", "neither"])
@pytest.mark.parametrize("logic", [arith.AndI, arith.OrI])
@pytest.mark.parametrize(
    ("low", "high"),
    [(("sge", -256), ("sle", 256)), (("sgt", 3), ("slt", 9)), (("sge", LEAST), ("slt", LEAST + 5)),
     (("sgt", MOST - 3), ("sle", MOST)), (("sge", 7), ("sle", 7)), (("sgt", 7), ("slt", 8))],
)  # fmt: skip
def test_a_number_between_two_constants(form: str, logic: type, low: tuple[str, int], high: tuple[str, int]) -> None:
    """x >= low & x <= high, and x < low | x > high, for x = y - t, y + 5 and y."""
    inverse = {"sge": "slt", "sgt": "sle", "sle": "sgt", "slt": "sge"}
    inside = logic is arith.AndI
    pair = [(p if inside else inverse[p], bound) for p, bound in (low, high)]

    def make(k: Kernel, t: Value, y: Value) -> Value:
        x = k.value(arith.SubI, y, t) if form == "difference" else k.value(arith.AddI, y, k.const(5))
        x = y if form == "neither" else x
        first, second = (k.value(arith.CmpI, x, k.const(b), types=[I1], predicate=p) for p, b in pair)
        return k.value(arith.Select, k.value(logic, first, second), k.const(1), k.const(0), types=[I32])

    given = numbers(low[1], high[1])
    moved = {"difference": given + np.arange(THREADS, dtype=np.int32), "sum": given - np.int32(5), "neither": given}
    k = kernel(make)
    text = k.ptx()
    got = run(text, 1, THREADS, [moved[form].astype(np.int32), np.zeros(THREADS, np.int32)])[1]
    tests = [COMPARED[p](given, np.int64(b)) for p, b in pair]
    wanted = tests[0] & tests[1] if inside else tests[0] | tests[1]
    np.testing.assert_array_equal(got, wanted.astype(np.int32))
    func = convert(k.func())
    simplify_by_uses(func)
    assert simplify_by_uses(func) == 0
    if form != "neither" and (low, high)[0][1] + 1 < high[1]:
        assert compared(text) == 1


def test_what_else_is_read_is_compared_twice() -> None:
    """The difference is stored too: it would be made twice."""

    def make(k: Kernel, t: Value, y: Value) -> Value:
        x = k.value(arith.SubI, y, t)
        first, second = (
            k.value(arith.CmpI, x, k.const(b), types=[I1], predicate=p) for p, b in (("sge", -9), ("sle", 9))
        )
        return k.value(arith.Select, k.value(arith.AndI, first, second), x, k.const(0), types=[I32])

    with np.errstate(over="ignore"):
        text = checked(make, lambda t, x: np.where(np.abs((x - t).astype(np.int32)) <= 9, x - t, 0))
    assert compared(text) == 2


def test_differences_with_one_number_share_its_sum() -> None:
    """A row's number is moved once, whatever columns it is compared with."""

    def make(k: Kernel, t: Value, y: Value) -> Value:
        total = k.const(0)
        for column in range(4):
            place = k.value(arith.MulI, y, k.const(2 * column + 3))
            x = k.value(arith.SubI, place, t)
            first, second = (
                k.value(arith.CmpI, x, k.const(b), types=[I1], predicate=p) for p, b in (("sge", -99), ("sle", 12345))
            )
            one = k.value(
                arith.Select, k.value(arith.AndI, first, second), k.const(1 << column), k.const(0), types=[I32]
            )
            total = k.value(arith.OrI, total, one)
        return total

    def wanted(t: np.ndarray, y: np.ndarray) -> np.ndarray:
        found = np.zeros(THREADS, np.int32)
        for column in range(4):
            x = (y.astype(np.int64) * (2 * column + 3) - t).astype(np.uint32).astype(np.int32)
            found |= np.where((x >= -99) & (x <= 12345), 1 << column, 0).astype(np.int32)
        return found

    text = checked(make, wanted)
    assert compared(text) == 4
    assert text.count("99;") == 1


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("same", [False, True])
def test_one_of_two_choices_of_the_same(second: bool, same: bool) -> None:
    """c ? (d ? x : y) : y, and c ? x : (d ? x : y); another y keeps both selects."""

    def make(k: Kernel, t: Value, word: Value) -> Value:
        flags = [
            k.value(arith.CmpI, k.value(arith.AndI, word, k.const(bit)), k.const(0), types=[I1], predicate="ne")
            for bit in (1, 2)
        ]
        x, y, z = (k.value(arith.SIToFP, k.value(arith.AddI, t, k.const(n)), types=[F32]) for n in (1, 200, 500))
        left = (x if second else y) if same else z
        inner = k.value(arith.Select, flags[1], x, y, types=[F32])
        arms = (left, inner) if second else (inner, left)
        return k.value(arith.Select, flags[0], *arms, types=[F32])

    def wanted(t: np.ndarray, word: np.ndarray) -> np.ndarray:
        c, d = (word & bit != 0 for bit in (1, 2))
        x, y, z = t + 1, t + 200, t + 500
        left = (x if second else y) if same else z
        inner = np.where(d, x, y)
        return np.where(c, left, inner) if second else np.where(c, inner, left)

    text = checked(make, wanted, np.float32)
    assert text.count("selp.") == (1 if same else 2)
