"""Powers of two by polynomials on pairs of f32, for as many pairs of a loop as its predicted time says."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import Any, cast

import numpy as np
import pytest

import tilesat
from ir.core import TileError
from ir.dialects import nvgpu, vector
from ir.text import parse
from ir.types import F32
from lowering.atoms.powers import EXP2_FMA, OF, POLYNOMIALS, by_polynomial
from lowering.explain import Explanation
from lowering.modulo.powers import LESS, Powers
from lowering.modulo.predict import LoopTime
from lowering.pipeline import Options, compile_entry
from tests.lowering.nvgpu_harness import VectorType, elementwise  # pyright: ignore
from tests.lowering.test_steady_states import attention
from tests.programs.program import Program, check, interpret, simulate
from tilesat.execution import largest_error

PAIR = VectorType((2,), F32)
FAST = ("reassoc", "afn", "contract", "ftz")
LAST = 5  # steps of the last keys: their number is no multiple of a tile


def fractions() -> np.ndarray:
    """All that x - floor x can be: multiples of 2^-23, and 1, to which the largest ones round."""
    return np.arange(2**23 + 1, dtype=np.float64) / 2**23


@pytest.mark.in_turn
@pytest.mark.parametrize("degree", POLYNOMIALS)
def test_no_fraction_is_further_off_than_declared(degree: int) -> None:
    f = fractions()
    found = np.float32(POLYNOMIALS[degree].coefficients[-1])
    for coefficient in (*POLYNOMIALS[degree].coefficients[-2::-1], 1.0):
        found = (found * f + np.float64(np.float32(coefficient))).astype(np.float32)  # fused: the product is exact
    error = np.abs(found / np.exp2(f) - 1).max()
    assert 0.95 * POLYNOMIALS[degree].error < error <= POLYNOMIALS[degree].error


def test_the_default_degree_is_as_near_as_ex2() -> None:
    assert POLYNOMIALS[5].error < 2.0**-22, "PTX ISA, ex2.approx.ftz.f32"
    assert POLYNOMIALS[3].error < 2.0**-9 / 20, "half a unit of bf16"


def in_pairs(degree: int) -> Any:
    """Both halves of a pair, each of a number of its own."""

    def build(half: int, k: Any, x: Any, y: Any) -> Any:
        made = k.value(nvgpu.Exp2Pair, k.value(vector.FromElements, x, y, types=[PAIR]), degree=degree)
        return k.value(vector.Extract, made, types=[F32], position=(half,))

    return [partial(build, half) for half in (0, 1)]


def numbers() -> np.ndarray:
    """f32 by their bits, in steps through all of them; those around each exponent, and what has a rule of its own."""
    bits = np.arange(0, 2**32, 100_003, dtype=np.uint64).astype(np.uint32).view(np.float32)
    whole = np.arange(-130, 131).astype(np.float32)
    around = [whole, np.nextafter(whole, np.float32(np.inf)), np.nextafter(whole, np.float32(-np.inf))]
    random = np.random.default_rng(16).uniform(-127, 129, 8192).astype(np.float32)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, -3e38, 127.99999], np.float32)
    found = np.concatenate([bits, *around, random, special])
    return np.resize(found, -(-len(found) // 128) * 128)


@pytest.mark.parametrize("degree", POLYNOMIALS)
def test_every_kind_of_number(degree: int) -> None:
    x = numbers()
    low, high = elementwise([F32, F32], in_pairs(degree), [x, x[::-1].copy()], "sm_100a")
    assert np.array_equal(low, high[::-1], equal_nan=True)
    with np.errstate(all="ignore"):
        wanted = np.where(x < -126, 0, np.where(x >= 128, np.inf, np.exp2(x.astype(np.float64))))
    assert (np.isnan(low) == np.isnan(x)).all()
    inside = (x >= -126) & (x < 128)
    assert (low[~inside & ~np.isnan(x)] == wanted[~inside & ~np.isnan(x)]).all(), "zero and infinity"
    error = np.abs(low[inside] / wanted[inside] - 1)
    assert error.max() <= POLYNOMIALS[degree].error + 2.0**-24, "the difference x - floor x may round"
    exact = inside & (np.nan_to_num(x) == np.floor(np.nan_to_num(x)))
    assert (low[exact] == wanted[exact]).all()


def test_parts_are_spread_evenly() -> None:
    for parts in range(OF + 1):
        for start in (0, OF, 7 * OF):
            assert sum(by_polynomial(start + pair, parts) for pair in range(OF)) == parts
    assert [pair for pair in range(OF) if by_polynomial(pair, 4)] == [3, 7, 11, 15]


# --- the choice


def shape(causal: bool = False, length: int = 64 * 2 + LAST) -> Program:
    """Where ex2 is the busiest unit: two rows a thread, D = 64."""
    return attention(64, causal, length, "bf16", rows=256)


@cache
def compiled(target: str = "sm_100a", fast: tuple[str, ...] = ("triton",), forbid: tuple[str, ...] = ()) -> Any:
    return tilesat.compile(shape().source(), target, fast=fast, forbid=forbid)


def powers(kernel: Any) -> tuple[int, int]:
    """ex2 instructions of the kernel, and powers by polynomials."""
    shifts = len(re.findall(r"add\.rm\.ftz\.f32x2", kernel.ptx))
    return kernel.ptx.count("ex2.approx.ftz.f32"), 2 * shifts


@pytest.mark.in_turn
def test_a_part_is_taken_where_ex2_is_the_busiest_unit() -> None:
    """1,040 cycles of ex2 for 907 of issue slots and 640 of tensor cores: they even out."""
    made, without = compiled(), compiled(forbid=(EXP2_FMA,))
    (pairs, degree) = made.compiled.selection.powers[0]
    assert (pairs, degree) == (1, 5)
    all_by_ex2, none = powers(without)
    some, others = powers(made)
    assert none == 0
    assert others > 0
    assert all_by_ex2 == some + others
    assert without.compiled.selection.powers == {}


@pytest.mark.in_turn
def test_the_report_has_each_part_and_what_is_taken() -> None:
    (line,) = (each for each in Explanation(compiled().compiled.selection).extraction() if EXP2_FMA in each)
    assert "of 16 pairs by exp2.fma of degree 5: cycles of an iteration (busiest unit) 0: 1,040 (mufu), 1: " in line
    assert line.endswith("taken: 1")
    without = compiled(forbid=(EXP2_FMA,)).compiled.selection
    assert not any(EXP2_FMA in each for each in Explanation(without).extraction())


def in_orders(asked: Program, orders: tuple[str, ...]) -> None:
    """Against the interpreter and NumPy, in hazard mode, some of the powers by polynomials."""
    kernel = check(asked, "sm_100a", fast=["triton"])
    assert powers(kernel)[1], "polynomials are taken"
    reference = interpret(kernel, asked)[3]
    for order in orders:
        found = simulate(kernel, asked, schedule=order)[3]
        assert largest_error(found, reference) <= asked.tolerance, order


@pytest.mark.in_turn
def test_attention_is_right() -> None:
    in_orders(shape(), ("skewed:1",))


@pytest.mark.sampled(16)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("pairs", "length"), [(1, 1), (5, 200), (8, 133), (16, 64)])
def test_any_part_is_right(causal: bool, pairs: int, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that would not be taken, in loops with masks and without, in five orders of warps."""
    monkeypatch.setattr(Powers, "taken", pairs)
    in_orders(shape(causal, length), tuple(f"skewed:{seed}" for seed in range(5)))


def way(busy: float, waiting: float) -> LoopTime:
    return LoopTime(1.0, busy, "mufu", waiting)


@pytest.mark.parametrize(
    ("ways", "taken"),
    [
        ({0: way(100, 90), 2: way(95, 90), 4: way(96, 90)}, 2),
        ({0: way(100, 90), 2: way(101, 90)}, 0),
        ({0: way(100, 90), 2: way(LESS * 100, 90)}, 0),
        ({0: way(100, 120), 2: way(90, 120), 4: way(80, 110), 6: way(80, 110)}, 4),
        ({0: way(100, 120), 4: way(130, 80)}, 0),
    ],
    ids=["shorter", "longer", "hardly-shorter", "waits-less-the-fewest", "busier"],
)
def test_the_shortest_iteration_by_the_fewest_pairs(ways: dict[int, LoopTime], taken: int) -> None:
    assert Powers(cast(Any, None), 5, ways).taken == taken


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("rate", "most"), [(8.0, 8), (4.0, 12), (32.0, 0)])
def test_machines_with_other_rates_take_other_parts(rate: float, most: int) -> None:
    """Fewer ex2 a cycle leave more to the multiply-add pipe, and more none."""
    module = parse(cast(str, shape().source()))
    given = Options(fast=frozenset({"triton"}), rates=(("mufu", rate),))
    (made,) = compile_entry(module, module.entries[0], ["sm_100a"], given)
    pairs = made.selection.powers.get(0, (0, 5))[0]
    assert pairs <= most
    assert bool(pairs) == bool(most)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["sm_103a", "sm_90a"])
def test_other_targets_leave_all_to_ex2(target: str) -> None:
    """sm_103a's ex2 is twice as fast; sm_90a has no f32x2."""
    made = compiled(target)
    assert made.compiled.selection.powers == {}
    assert powers(made)[1] == 0


@pytest.mark.in_turn
def test_degree_three_only_where_permitted_and_rounded() -> None:
    """With the permissions for levels that lag, for exponentials that become bf16 and are added up."""
    made = tilesat.compile(attention(64, False, 64, "bf16", rows=256, step=128).source(), "sm_100a", fast=FAST)
    assert {degree for _, degree in made.compiled.selection.powers.values()} == {3}
    assert {degree for _, degree in compiled().compiled.selection.powers.values()} == {5}


@pytest.mark.in_turn
def test_subnormal_powers_are_left_to_ex2() -> None:
    """Without permission to flush: no polynomial gives them."""
    made = tilesat.compile(shape().source(), "sm_100a")
    assert powers(made) == (0, 0)
    assert made.compiled.selection.powers == {}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("degree = 5", "degree = 0", "expected a degree where pairs are polynomials, 3 or 5"),
        ("degree = 5", "degree = 4", "must be one of 0, 3, 5"),
        ("ftz = true", "ftz = false", "polynomials flush subnormals: expected ftz"),
    ],
    ids=["none", "unknown", "subnormals"],
)
def test_what_is_no_polynomial_is_refused_at_its_place(before: str, after: str, message: str) -> None:
    lines = compiled().stages["nv_tileas"].splitlines()
    text = "\n".join(line.replace(before, after) if "math.exp2" in line else line for line in lines)
    assert text != "\n".join(lines)
    with pytest.raises(TileError, match=message):
        tilesat.lower(text)
