"""Steps of loops joined in pairs: which are, that both forms say the same for any number of iterations, by the
interpreter and, as chosen and as forced, by the simulator in hazard mode and in skewed orders of warps.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tilesat
from benchmarks.ablation.figures import kernels
from egraph.permissions import AFN, REASSOC
from ir.core import verify
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas, scf
from ir.interpreter import run
from ir.load import load
from ir.text import print_text
from lowering.skeletons import joined_steps, table
from lowering.skeletons.joined_steps import Steps, even_steps, levelled_steps, steps_joined
from lowering.skeletons.room import held_by_products
from lowering.skeletons.step_folds import StepFolds
from lowering.skeletons.table import EQUAL
from lowering.source.sliced_loops import Numbers
from lowering.targets import target as target_named
from runtime.ptxas import assemble
from tests.lowering.test_steady_states import attention, gemm
from tests.programs.program import Program, interpret, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Loop, Tile, Writer
from tilesat.kernel import Kernel
from tilesat.source import find_entry, read

FAST = ("reassoc", "afn")
ROWS, STEP, WIDTH, MOST = 16, 32, 16, 7
"""Rows of a small attention, keys of a step, sizes of heads, the most steps."""
ORDERS = tuple(f"skewed:{seed}" for seed in range(5))


def small(
    guard: bool = False, scale: str = "", fused: bool = False, power: str = "exp2", mask: str = "late", read: str = "",
    lower: int = 0, first: int = 0, known: int = 0, wrong: str = "",
) -> str:  # fmt: skip
    """Attention of one tile of queries and `t` steps of keys. guard: 0 is taken away in place of a maximum of -inf;
    scale: of scores ("before" or "behind" the maximum, by a number that is not known, or "below" it, by one that is);
    fused: with a negated level; mask: of all keys from n on, or of "early" ones before it; read: the "level" is stored
    too; lower: where the counter begins; first: the first tile that is loaded; known: so many steps, whatever `t` is;
    wrong: what is not as it has to be.
    """
    w = Writer("small", q="ptr<f16>", k="ptr<f16>", v="ptr<f16>", o="ptr<f32>", m="ptr<f32>", c="f32", t="i32", n="i32")
    w.promise(q=16, k=16, v=16, o=16, m=16, t=1, n=1)
    tiles = MOST + first
    views = [w.view(base, [tiles * STEP, WIDTH], [WIDTH, 1], [STEP, WIDTH]) for base in (w.k, w.v)]
    q = w.load(w.view(w.q, [ROWS, WIDTH], [WIDTH, 1], [ROWS, WIDTH]), 0, 0)
    start = [w.const(-np.inf, "f32", ROWS, 1), w.const(0.0, "f32", ROWS, 1), w.const(0.0, "f32", ROWS, WIDTH)]
    end = w.const(known + lower, "i32") if known else w.t + lower
    with w.loop(lower, end, carried=start) as loop:
        loop.values = step(w, loop, q, views, (guard, scale, fused, power, mask, lower, first, wrong))
    highest, total, out = loop.values
    w.store(out / total.broadcast(ROWS, WIDTH), w.view(w.o, [ROWS, WIDTH], [WIDTH, 1], [ROWS, WIDTH]), 0, 0)
    if read:
        w.store(highest, w.view(w.m, [ROWS, 1], [1, 1], [ROWS, 1]), 0, 0)
    return w.text()


def step(w: Writer, loop: Loop, q: Tile, views: list[Tile], how: tuple[Any, ...]) -> list[Tile]:
    """The next maximum, sum and weighted sum."""
    guard, scale, fused, power, mask, lower, first, wrong = how
    highest, total, out = loop.values
    number = loop.counter - lower if lower else loop.counter
    key, value = (w.load(view, number + first if first else number, 0) for view in views)
    score = w.dot(q, key.T)
    score = score * w.c.splat(ROWS, STEP) if scale == "before" else score
    place = ((number * STEP).splat(STEP) + w.iota(STEP)).row(ROWS)
    inside = place < w.n.splat(STEP).row(ROWS)
    score = (inside ^ w.const(1, "i1", ROWS, STEP) if mask == "early" else inside).where(score, -np.inf)
    found = score.reduce(1, "max").reshape(ROWS, 1)
    found = found * w.c.splat(ROWS, 1) if scale == "behind" else found
    new = highest.max(found)
    level = new.eq(-np.inf).where(w.const(0.0, "f32", ROWS, 1), new) if guard else new
    scaled = score * w.c.splat(ROWS, STEP) if scale == "behind" else score
    taken = scaled + -level.broadcast(ROWS, STEP) if fused else scaled - level.broadcast(ROWS, STEP)
    fallen = highest - (level + level if wrong == "another level" else level)
    if scale == "below":
        taken, fallen = taken * 0.5, fallen * (0.25 if wrong == "another scale" else 0.5)
    weights, fade = getattr(taken, power)(), getattr(fallen, "exp" if wrong == "another power" else power)()
    weights = weights * weights if wrong == "squares" else weights
    added = weights.reduce(1, "max" if wrong == "maxima" else "add").reshape(ROWS, 1)
    added = added + highest if wrong == "a level added" else added
    total = total + added if wrong == "a sum that does not fade" else total * fade + added
    out = w.dot(weights.to("f16"), value, out * fade.broadcast(ROWS, WIDTH))
    return [new, total, out]


def joined(text: str, given: frozenset[int] = frozenset({REASSOC, AFN})) -> ct.Module:
    """The module with steps of its entry joined; as it is where none are."""
    module = load(text)
    entry, ops = module.entries[0], module.body.block.ops
    ops[ops.index(entry)] = steps_joined(entry, given)
    verify(module)
    return module


def loops(module: ct.Module) -> list[ct.For]:
    return [op for op in module.entries[0].walk() if isinstance(op, ct.For)]


def arguments(steps: int, length: int, scale: float = 0.5, tiles: int = MOST) -> list[Any]:
    shape = (tiles * STEP, WIDTH)
    queries = random((ROWS, WIDTH), "f16", 1)
    outs = np.zeros((ROWS, WIDTH), np.float32), np.zeros((ROWS, 1), np.float32)
    return [queries, random(shape, "f16", 2), random(shape, "f16", 3), *outs, scale, steps, length]


def results(module: ct.Module, steps: int, length: int, scale: float) -> list[Any]:
    """What the interpreter stores."""
    given = arguments(steps, length, scale, tiles=MOST + 2)
    with np.errstate(all="ignore"):
        run(module, (1,), given)
    return given[3:5]


JOINED: dict[str, dict[str, Any]] = {
    "plain": {}, "fused": {"fused": True}, "scaled before": {"scale": "before"}, "scaled behind": {"scale": "behind"},
    "scaled below": {"scale": "below"}, "natural": {"power": "exp"}, "guarded": {"guard": True, "mask": "early"},
    "level read": {"read": "level"}, "from one on": {"lower": 1}, "two tiles on": {"first": 2},
    "scaled and guarded": {"scale": "behind", "guard": True},
    "scaled, and the level read": {"scale": "behind", "read": "level"},
}  # fmt: skip


@pytest.mark.parametrize(("known", "scale", "left"), [(4, "", False), (5, "", True), (4, "behind", True)])
def test_a_loop_of_known_steps_is_written_twice_where_one_may_be_left(known: int, scale: str, left: bool) -> None:
    """All steps are single ones where a scale is negative, however many there are."""
    text = small(known=known, scale=scale)
    entry = load(text).entries[0]
    assert (even_steps(entry) is entry, levelled_steps(entry) is entry) == (left, not left)
    module = joined(text)
    assert len(loops(module)) == 1 + left
    (made,) = module.entries
    assert even_steps(made) is levelled_steps(made) is made  # once
    for number in (0.5, -0.5, 0.0):
        one, both = (results(each, known, MOST * STEP, number) for each in (load(text), module))
        np.testing.assert_allclose(one[0], both[0], rtol=2e-3, atol=2e-3)
        assert np.isfinite(one[0]).any()


@pytest.mark.sampled(44)
@pytest.mark.parametrize("steps", range(MOST + 1))
@pytest.mark.parametrize("name", JOINED)
def test_both_forms_say_the_same(name: str, steps: int) -> None:
    text = small(**JOINED[name])
    module = joined(text)
    assert len(loops(module)) == 2
    ends = (
        (steps * STEP, 0.5),
        (max(0, steps * STEP - 5), 0.5),
        (MOST * STEP, 0.5),
        (STEP + 3, 0.0),
        (steps * STEP, -0.1),
    )
    for length, scale in ends:
        for one, both in zip(*(results(each, steps, length, scale) for each in (load(text), module)), strict=True):
            np.testing.assert_allclose(one, both, rtol=2e-3, atol=2e-3)


def test_a_scale_of_zero_leaves_infinite_scores_to_steps_of_their_own() -> None:
    """Infinity times zero is NaN, which a maximum ignores: it would hide the other step."""
    text = small(scale="behind", read="level")
    found: list[Any] = []
    for module in (load(text), joined(text)):
        given = arguments(2, 2 * STEP, 0.0)
        given[0], given[1][3] = abs(given[0]), np.inf
        with np.errstate(all="ignore"):
            run(module, (1,), given)
        found.append(given[4])
    np.testing.assert_array_equal(*found)
    assert np.isfinite(found[0]).all()


APART: dict[str, dict[str, Any]] = {
    **{what: {"wrong": what} for what in (
        "another power", "squares", "maxima", "a level added", "a sum that does not fade", "another level")},
    "another scale": {"wrong": "another scale", "scale": "below"},
    "an odd tile on": {"first": 1},
}  # fmt: skip


@pytest.mark.parametrize("what", APART)
def test_steps_stay_apart(what: str) -> None:
    entry = load(small(**APART[what])).entries[0]
    assert levelled_steps(entry) is entry


def test_permissions_are_those_that_the_folds_need() -> None:
    entry = load(small()).entries[0]
    loop = next(op for op in entry.walk() if isinstance(op, ct.For))
    folds = StepFolds(loop)
    assert folds.found()
    assert folds.needs == {REASSOC, AFN}
    assert steps_joined(entry, frozenset({REASSOC})) is entry
    products = load(gemm(3, False).source()).entries[0]
    assert steps_joined(products, frozenset()) is not products
    assert levelled_steps(products) is products  # by cost it gains nothing
    eighths = load(gemm(3, False, "f8E4M3FN", 128).source()).entries[0]
    assert steps_joined(eighths, frozenset()) is eighths  # promoted sums end every 128 of k
    assert steps_joined(eighths, frozenset({REASSOC})) is not eighths
    once = levelled_steps(entry)
    assert levelled_steps(once) is once


def joined_text(text: str) -> str:
    return print_text(joined(text))


@cache
def forced(text: str, target: str) -> tuple[Kernel, Kernel]:
    """A kernel as it is written, and with its steps joined whatever that costs."""
    return tilesat.compile(text, target), tilesat.compile(joined_text(text), target)


@cache
def chosen(causal: bool, width: int = 64, kind: str = "f16", target: str = "sm_90a") -> Kernel:
    """Attention whose steps are joined by cost; the lengths are known at run time."""
    kernel = tilesat.compile(attention(width, causal, 1, kind).source(), target, fast=FAST)
    made = assemble(kernel.ptx, target)
    assert (made.warnings, made.infos, made.spill_stores) == ((), (), 0)
    return kernel


def pairs(kernel: Kernel) -> bool:
    """Has its program a loop of pairs and one of what is left?"""
    entry = kernel.compiled.saturated.program.entry
    return sum(isinstance(op, ct.For) for op in entry.walk()) == 2


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("causal", "length", "orders"),
    [
        pytest.param(causal, length, orders, marks=() if (causal, length) == (True, 129) else pytest.mark.slow)
        for causal in (False, True)
        for length, orders in ((1, ()), (64, ()), (65, ()), (128, ()), (129, ORDERS[:1]), (300, ORDERS))
    ],
)
def test_attention_of_64_keys_takes_two_steps_at_once(causal: bool, length: int, orders: tuple[str, ...]) -> None:
    kernel, program = chosen(causal), attention(64, causal, length)
    assert pairs(kernel)
    reference = interpret(kernel, program)[3]
    for order in ("together", *orders):
        assert largest_error(simulate(kernel, program, schedule=order)[3], reference) <= program.tolerance


def test_what_is_left_is_not_split_at_its_masks() -> None:
    """At most one iteration saves less than new code takes; the loop of pairs is split."""
    ops = chosen(True).compiled.modules["nv_tileas"].walk()
    made = [op for op in ops if isinstance(op, scf.For) and any(isinstance(each, nv_tileas.Dot) for each in op.walk())]
    assert len(made) == 3


@pytest.mark.sampled(30)
@pytest.mark.parametrize("scale", [0.5, -0.1])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_120a"])
def test_a_negative_scale_leaves_all_steps_to_the_rest(target: str, steps: int, scale: float) -> None:
    apart, kernel = forced(small(scale="behind", read="level"), target)
    program = Program("small", kernel.ptx.__str__, lambda: arguments(steps, steps * STEP, scale), (1,), None, 4e-3)
    found, wanted = simulate(kernel, program), interpret(apart, program)
    for place in (3, 4):
        assert largest_error(found[place], wanted[place]) <= program.tolerance


@pytest.mark.sampled(12)
@pytest.mark.parametrize("known", [4, 5, 6])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_known_steps_that_are_joined_anyhow(target: str, known: int) -> None:
    text = small(known=known, scale="behind", guard=True)
    single, both = forced(text, target)
    for scale in (0.5, -0.5):
        program = Program("known", lambda: text, lambda s=scale: arguments(known, MOST * STEP, s), (1,), None, 2e-3)
        assert largest_error(simulate(both, program)[3], interpret(single, program)[3]) <= 2e-3


@pytest.mark.slow
def test_steps_of_equal_time_are_joined_where_no_loop_is_written_twice() -> None:
    """A row of 512 scores in blocks of 64, heads of 128: the tables say 1 % more cycles for 4 % less work."""
    cube = "f16[?,?,128]:[?/8,?/8,1]"
    signature = f"{cube}; {cube}; {cube}; {cube}; f32; =128; =64; =512"
    row = tilesat.compile(kernels()["attention_row"], "sm_90a", fast=FAST, signature=signature)
    (found,) = [each for each in row.compiled.selection.loops if each.name == "loop.pairs"]
    assert found.taken
    assert found.cycles[1] < found.cycles[0] < EQUAL * found.cycles[1]
    assert sum(isinstance(op, ct.For) for op in row.compiled.saturated.program.entry.walk()) == 1
    assert assemble(row.ptx, "sm_90a").spill_stores == 0
    q, k, v = (random((1, 512, 128), "f16", seed) for seed in range(3))
    out = np.zeros((1, 512, 128), np.float16)
    for length in (512, 300, 1):
        given = [q, k[:, :length], v[:, :length], out.copy(), 0.1]
        here = [each.copy() for each in given[:4]]
        row.run((2, 1, 1), *given)
        row.run((2, 1, 1), *here, 0.1, on="ref")
        np.testing.assert_allclose(given[3].astype(np.float32), here[3].astype(np.float32), rtol=1e-2, atol=1e-2)


FLASH = Path(__file__).parents[2] / "examples" / "flash_attention.mlir"
LARGE = Path(__file__).parents[1] / "data" / "programs" / "attention-128.tileirbc"


def test_registers_for_the_results_of_products() -> None:
    """Of 128 threads: scores of 128 x 128 and sums of 128 x 64, in words; scores of both steps side by side count."""
    entry = find_entry(read(FLASH, {}), None)[1]
    found = SimpleNamespace(target=target_named("sm_80"), warps=4)
    assert held_by_products(entry, found) == (128 * 64 + 128 * 64) // 128
    assert held_by_products(levelled_steps(entry), found) == (128 * 128 + 128 * 64) // 128
    for name in ("sm_90a", "sm_100a"):  # products of warpgroups, in tensor memory
        assert held_by_products(levelled_steps(entry), SimpleNamespace(target=target_named(name), warps=4)) == 0


def test_large_steps_are_not_tried_in_pairs() -> None:
    kernel = tilesat.compile(FLASH, "sm_80", fast=FAST)
    (pairs,) = [each for each in kernel.compiled.selection.loops if each.name == "loop.pairs"]
    assert str(pairs) == "loop.pairs: not tried, its products' results would take 192 registers a thread"


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sm_80", "sm_120a"])
@pytest.mark.parametrize("path", [FLASH, LARGE], ids=lambda path: path.stem)
def test_what_is_not_tried_would_not_be_taken(path: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without = tilesat.compile(path, target, fast=FAST)
    assert any(each.crowded for each in without.compiled.selection.loops)
    monkeypatch.setattr(table, "CROWDED", 1 << 20)
    tried = tilesat.compile(path, target, fast=FAST)
    assert "loop.pairs" in [each.name for each in tried.compiled.selection.loops if not each.crowded]
    assert tried.ptx == without.ptx


@pytest.mark.slow
@pytest.mark.parametrize("length", [128, 200])
@pytest.mark.parametrize(("kind", "target"), [("bf16", "sm_90a"), ("f16", "sm_100a")])
def test_attention_of_others(kind: str, target: str, length: int) -> None:
    kernel, program = chosen(True, 64, kind, target), attention(64, True, length, kind)
    assert pairs(kernel)
    for order in ("together", *ORDERS):
        found, reference = simulate(kernel, program, schedule=order)[3], interpret(kernel, program)[3]
        assert largest_error(found, reference) <= program.tolerance


@pytest.mark.in_turn
def test_cost_may_leave_steps_apart() -> None:
    """With 128 columns the tensor cores are busy anyhow, and what is left of an odd number takes time."""
    assert not pairs(chosen(False, 128))
    source = attention(64, False, 1).source()
    apart = tilesat.compile(source, "sm_90a", fast=FAST, forbid=("loop.pairs",))
    assert not pairs(apart)
    assert apart.cost > chosen(False).cost
    taken = [each for each in chosen(False).compiled.selection.loops if each.taken]
    assert "loop.pairs: cost" in str(taken[0])
    assert str(taken[0]).endswith(", taken")
    assert not pairs(tilesat.compile(source, "sm_90a", fast=("reassoc",)))


@pytest.mark.sampled(24)
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_joined_products_give_the_same_bits(target: str, steps: int) -> None:
    """Atoms add up along k in order, in one product as in two."""
    program = gemm(steps, False, k=32)
    apart, both = forced(program.source(), target)
    np.testing.assert_array_equal(simulate(apart, program)[2], simulate(both, program)[2])


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("width", "target"), [(64, "sm_80"), (64, "sm_120a"), (128, "sm_90a"), (128, "sm_100a")])
@pytest.mark.parametrize("length", [63, 129, 200])
def test_attention_that_is_joined_anyhow(width: int, target: str, length: int) -> None:
    program = attention(width, True, length, step=32)
    apart, kernel = forced(program.source(), target)
    reference = interpret(apart, program)[3]
    for order in ("together", ORDERS[0]):
        assert largest_error(simulate(kernel, program, schedule=order)[3], reference) <= program.tolerance


def one_more(steps: Steps, more: int) -> Any:
    return NUMBERED(steps, more + 1)


NUMBERED = Steps.numbered
BROKEN: dict[str, tuple[Any, str, Any]] = {
    "a pair too many": (Numbers, "divided", Numbers.rounded_up),
    "all steps in the rest": (Numbers, "divided", lambda count, left, right: count.constant(0)),
    "numbers of pairs for those of steps": (Steps, "began", lambda steps, b: steps.pair),
    "the next pair of tiles": (Steps, "numbered", one_more),
    "pairs below a negative scale": (joined_steps._Writer, "unless_negative", lambda _, scale, pairs, count: pairs),
}  # fmt: skip
RIGHT = {"all steps in the rest"}
"""Slower alone: it says that the comparison does not fail by itself."""


@pytest.mark.parametrize("what", BROKEN)
def test_each_part_of_a_pair_is_needed(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = small(scale="behind", read="level")
    monkeypatch.setattr(*BROKEN[what])
    module, same = joined(text), True
    for steps, length, scale in ((4, 2 * STEP + 3, 0.5), (5, MOST * STEP, 0.5), (4, 4 * STEP, -0.1)):
        pair = results(load(text), steps, length, scale), results(module, steps, length, scale)
        same = same and all(np.allclose(*each, rtol=2e-3, atol=2e-3) for each in zip(*pair, strict=True))
    assert same is (what in RIGHT)
