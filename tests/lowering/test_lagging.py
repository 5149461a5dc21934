"""Levels that lag: the same quotients as without, whatever rises by how much; nothing else of a loop may be read."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import verify
from ir.dialects import cuda_tile as ct
from ir.interpreter import run
from ir.load import load
from lowering.skeletons import lagging
from lowering.skeletons.joined_steps import levelled_steps
from lowering.skeletons.lagging import lagging_levels, lags
from runtime.ptxas import assemble
from tests.lowering.test_joined_steps import MOST, STEP, arguments, small
from tests.lowering.test_steady_states import attention
from tests.programs.program import interpret, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel

FAST = ("triton", "reassoc", "afn")
ORDERS = tuple(f"skewed:{seed}" for seed in range(5))
LSE = {"exp2": "log2", "exp": "log"}


def lagged(text: str, pairs: bool = False) -> ct.Module:
    """The module with levels that lag, of steps in pairs too; as it is where none may."""
    module = load(text)
    entry, ops = module.entries[0], module.body.block.ops
    ops[ops.index(entry)] = lagging_levels(levelled_steps(entry) if pairs else entry)
    verify(module)
    return module


def choices(module: ct.Module) -> int:
    """Loops whose level lags."""
    return sum(isinstance(op, ct.MulF | ct.Fma) and any(map(lags, op.operands[:2])) for op in module.entries[0].walk())


FORMS: dict[str, dict[str, Any]] = {
    "plain": {}, "fused": {"fused": True}, "scaled before": {"scale": "before"}, "scaled behind": {"scale": "behind"},
    "scaled below": {"scale": "below"}, "natural": {"power": "exp"}, "guarded": {"guard": True, "mask": "early"},
}  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_both_forms_say_the_same(name: str, pairs: bool) -> None:
    """Scores far apart rise by more than the lag and by less; rows of nothing but -inf give NaN as they did."""
    text = small(**FORMS[name])
    plain, module = load(text), lagged(text, pairs)
    assert choices(module) >= 2
    for steps in (0, 1, 2, MOST):
        for scale in (0.5, 4.0, -0.3):
            found: list[Any] = []
            for each in (plain, module):
                given = arguments(steps, max(0, steps * STEP - 5), scale)
                given[0] *= 4
                with np.errstate(all="ignore"):
                    run(each, (1,), given)
                found.append(given[3])
            np.testing.assert_allclose(*found, rtol=4e-3, atol=4e-3)


def behind(use: str, power: str = "exp2") -> str:
    """A loop of sums, and what is made of them."""
    w = Writer("behind", x="ptr<f32>", y="ptr<f32>", t="i32")
    w.promise(x=16, y=16, t=1)
    view = w.view(w.x, [16, 8 * 32], [8 * 32, 1], [16, 32])
    found = [w.const(-np.inf, "f32", 16), w.const(0.0, "f32", 16)]
    for _ in range(2 if "loop before" in use else 1):
        before, found = found, step(w, view, found, use, power)
    read = before[1] if use == "sum of a loop before" else found[1]
    w.store(used(w, use, found[0], found[1], read), w.view(w.y, [16], [1], [16]), 0)
    return w.text()


def step(w: Writer, view: Tile, found: list[Tile], use: str, power: str) -> list[Tile]:
    """A loop that goes on from a level and a sum."""
    with w.loop(0, w.t, carried=found) as loop:
        highest, total = loop.values
        x = w.load(view, 0, loop.counter)
        new = highest.max((x * x if use == "below another maximum" else x).reduce(1, "max"))
        terms = getattr(x - new.column(32), power)()
        added = terms.to("f16").reduce(1).to("f32") if use == "added up in f16" else terms.reduce(1)
        loop.values = [new, total * getattr(highest - new, power)() + added]
    return loop.values


def used(w: Writer, use: str, highest: Tile, total: Tile, read: Tile) -> Tile:
    """What is stored."""
    one, zero = w.const(1.0, "f32", 16), w.const(0.0, "f32", 16)
    trips = (w.i32(0) < w.t).splat(16)
    match use:
        case "one without a trip" | "one without a trip of the loop before":
            return total / trips.where(total, one)
        case "one with a trip":
            return total / trips.where(one, total)
        case "one without two trips":
            return total / (w.i32(1) < w.t).splat(16).where(total, one)
        case "one without a trip, unsigned":
            return total / w.i32(0).compare(ct.Predicate.LESS_THAN, w.t, signed=False).splat(16).where(total, one)
        case "positive is one":
            return total / (total > zero).where(one, total)
        case "all but zero are one":
            return total / total.eq(zero).where(total, one)
        case "sum of a loop before" | "quotient behind the loop before":
            return total / read
        case "quotient" | "below another maximum" | "added up in f16":
            return (total + total) / total
        case "zero is one":
            return total / total.eq(zero).where(one, total)
        case "reciprocal":
            return total * (one / total)
        case "with its level":
            return highest + total.log2()
        case "natural, with its level":
            return total.log() + highest
        case "sum":
            return total
        case "square of a quotient's half":
            return (total * total) / total
        case "level":
            return highest * 2.0
        case "level and another logarithm":
            return highest + total.log()
        case "one added":
            return (total + 1.0) / total
        case "level where it is zero":
            return total.eq(zero).where(one, highest)
        case _:
            return total.eq(one).where(zero, total) / total


ALLOWED = (
    "quotient", "zero is one", "reciprocal", "with its level", "natural, with its level", "one without a trip",
    "one without a trip of the loop before", "quotient behind the loop before",
)  # fmt: skip
REFUSED = (
    "sum", "square of a quotient's half", "level", "level and another logarithm", "one added", "level where it is zero",
    "compared with one", "below another maximum", "added up in f16", "one with a trip", "one without two trips",
    "one without a trip, unsigned", "positive is one", "all but zero are one", "sum of a loop before",
)  # fmt: skip


@pytest.mark.parametrize("use", ALLOWED)
def test_what_may_be_read(use: str) -> None:
    text = behind(use, "exp" if "natural" in use else "exp2")
    module = lagged(text)
    assert choices(module) == (2 if "loop before" in use else 1)
    rng = np.random.default_rng(1)
    given = [(rng.normal(size=(16, 256)) * 6).astype(np.float32), np.zeros(16, np.float32), 8]
    found: list[Any] = []
    for each in (load(text), module):
        with np.errstate(all="ignore"):
            run(each, (1,), given)
        found.append(given[1].copy())
    np.testing.assert_allclose(*found, rtol=1e-5)
    assert np.abs(found[0]).min() > 0.5


@pytest.mark.parametrize("use", REFUSED)
def test_what_may_not_be_read(use: str) -> None:
    entry = load(behind(use)).entries[0]
    assert lagging_levels(entry) is entry


@pytest.mark.parametrize("how", [{"wrong": "squares"}, {"read": "level"}, {"wrong": "another level"}])
def test_levels_that_do_not_lag(how: dict[str, Any]) -> None:
    entry = load(small(**how)).entries[0]
    assert lagging_levels(entry) is entry


def test_it_is_not_done_where_it_is_not_wanted() -> None:
    entry = load(small()).entries[0]
    assert lagging_levels(entry, wanted=False) is entry
    assert lagging_levels(entry) is not entry


@cache
def chosen(rows: int, step: int, width: int, causal: bool, target: str = "sm_100a", lag: bool = True) -> Kernel:
    source = attention(width, causal, 1, "f16", rows, step).source()
    kernel = tilesat.compile(source, target, fast=FAST, forbid=() if lag else ("loop.lag",))
    made = assemble(kernel.ptx, target)
    assert (made.warnings, made.infos, made.spill_stores) == ((), (), 0)
    return kernel


def taken(kernel: Kernel) -> list[str]:
    return [each.name for each in kernel.compiled.selection.loops if each.taken]


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("shape", "causal", "length", "orders"),
    [
        pytest.param(shape, causal, length, orders, marks=() if mark else pytest.mark.slow)
        for shape, causal, length, orders, mark in [
            ((128, 64, 64), True, 129, ORDERS[:1], True),
            ((128, 64, 64), False, 300, ORDERS, False),
            ((128, 128, 128), True, 300, ORDERS, False),
            ((256, 128, 128), False, 300, ORDERS, False),
            ((256, 128, 128), True, 1, (), False),
            ((256, 64, 128), True, 700, ORDERS, False),
        ]
    ],
)
def test_attention(shape: tuple[int, int, int], causal: bool, length: int, orders: tuple[str, ...]) -> None:
    kernel = chosen(*shape, causal)
    assert "loop.lag" in taken(kernel)
    program = attention(shape[2], causal, length, "f16", shape[0], shape[1])
    reference = interpret(kernel, program)[3]
    for order in ("together", *orders):
        assert largest_error(simulate(kernel, program, schedule=order)[3], reference) <= program.tolerance


@pytest.mark.in_turn
def test_cost_decides() -> None:
    """Where sums are in tensor memory alone, and by permission; with steps in pairs too."""
    assert chosen(128, 64, 64, True).cost < chosen(128, 64, 64, True, lag=False).cost
    assert "loop.lag" not in taken(chosen(128, 64, 64, True, lag=False))
    source = attention(64, True, 1, "f16", 128, 64).source()
    for target, fast in (("sm_90a", FAST), ("sm_100a", ("triton", "reassoc"))):
        assert "loop.lag" not in [
            each.name for each in tilesat.compile(source, target, fast=fast).compiled.selection.loops
        ]


def test_a_lag_beyond_the_type_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^20 does not fit in f16: terms overflow in rows whose maxima rise by 17 to 20."""
    monkeypatch.setattr(lagging, "LAG", dict.fromkeys(lagging.LAG, 20.0))
    text = small()
    module = lagged(text)
    given = arguments(MOST, MOST * STEP, 1.0)
    given[0] *= 2
    given[1][STEP:] *= 2
    other = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
    with np.errstate(all="ignore"):
        run(module, (1,), given)
        run(load(text), (1,), other)
    assert np.isfinite(other[3]).all()
    assert not np.isfinite(given[3]).all()
