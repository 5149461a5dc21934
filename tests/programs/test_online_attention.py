"""Attention in several passes over blocks of scores, in one: simulator = interpreter = NumPy."""

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
from lowering.skeletons.joined_steps import levelled_steps
from lowering.skeletons.lagging import lagging_levels
from lowering.skeletons.online_sums import attention_online, finite_attention_online, finite_sums_online, sums_online
from tests.programs.program import Program, check, random
from tilesat.fuzz.writer import Loop, Tile, Writer
from tilesat.source import find_entry, read

FAST = ("reassoc", "afn")
ROWS, WIDTH, STEP, MOST = 64, 32, 32, 4
KEYS = STEP * MOST
TARGETS = ["sm_80", "sm_90a", *(pytest.param(each, marks=pytest.mark.slow) for each in ("sm_100a", "sm_120a"))]


class Attention:
    """Attention of one tile of queries and `t` blocks of keys, scores with a bias. form: three passes; "two", the sums
    with the products; "found", the sums with the maximum, as they rise; divided: terms by their sum, or times its
    "reciprocal", or the "result"; mask: "causal", where one is; guard: 0 is taken away in place of a maximum of -inf;
    out: terms are left out by a mask behind the power; kind: of keys and values; wrong: what is not as it has to be.
    """

    def __init__(
        self, form: str = "three", divided: str = "terms", mask: str = "", guard: bool = False, out: bool = False,
        transposed: bool = False, power: str = "exp", kind: str = "f16", start: float = -np.inf, wrong: str = "",
        levels: tuple[int, ...] = (ROWS, 1),
    ):  # fmt: skip
        self.form, self.divided, self.mask, self.guard, self.out = form, divided, mask, guard, out
        self.transposed, self.power, self.kind, self.wrong, self.levels = transposed, power, kind, wrong, levels
        w = self.w = Writer(
            "attention", q=f"ptr<{kind}>", k=f"ptr<{kind}>", v=f"ptr<{kind}>", x="ptr<f32>", o="ptr<f32>", t="i32"
        )
        w.promise(q=16, k=16, v=16, x=16, o=16, t=1)
        self.q = w.load(w.view(w.q, [ROWS, WIDTH], [WIDTH, 1], [ROWS, WIDTH]), 0, 0)
        self.keys, self.values = (w.view(each, [KEYS, WIDTH], [WIDTH, 1], [STEP, WIDTH]) for each in (w.k, w.v))
        self.bias = w.view(w.x, [ROWS, KEYS], [KEYS, 1], [ROWS, STEP])
        self.first = w.const(start, "f32", *levels)
        self.none, self.nothing = w.const(0.0, "f32", *levels), w.const(0.0, "f32", *self.shape(ROWS, WIDTH))

    def shape(self, *shape: int) -> tuple[int, ...]:
        return shape[::-1] if self.transposed else shape

    def spread(self, level: Tile, shape: tuple[int, int]) -> Tile:
        """A level, or a sum, in every column of a tile, of the transposed one in every row."""
        if self.transposed:
            return level.reshape(1, ROWS).broadcast(*shape[::-1])
        return level.reshape(ROWS, 1).broadcast(*shape)

    def folded(self, tile: Tile, kind: str) -> Tile:
        return tile.reduce(0 if self.transposed else 1, kind).reshape(*self.levels)

    def score(self, j: Tile, again: bool = False) -> Tile:
        w = self.w
        found = w.dot(self.q, w.load(self.keys, j, 0).T) + w.load(self.bias, 0, j)
        if self.mask == "causal":
            place = ((j * STEP).splat(STEP) + w.iota(STEP)).row(ROWS)
            found = (place <= w.iota(ROWS).column(STEP)).where(found, -np.inf)
        found = found * 0.5 if again and self.wrong == "other scores" else found
        return found.T if self.transposed else found

    def term(self, j: Tile, level: Tile) -> Tile:
        w = self.w
        lower = level.eq(-np.inf).where(w.const(0.0, "f32", *self.levels), level) if self.guard else level
        found = getattr(self.score(j, again=True) - self.spread(lower, (ROWS, STEP)), self.power)()
        found = self.left_out(found, j) if self.out else found
        return found * found if self.wrong == "squares" else found

    def left_out(self, term: Tile, j: Tile) -> Tile:
        w = self.w
        place = ((j * STEP).splat(STEP) + w.iota(STEP)).row(ROWS) < w.iota(ROWS).column(STEP)
        return place.where(term, 0.0)

    def weighed(self, term: Tile, j: Tile, more: Tile) -> Tile:
        """Products of terms and values, added up."""
        w, values = self.w, self.w.load(self.values, j, 0)
        term = term.to(self.kind)
        if self.wrong == "a sum along the rows":
            along = w.dot(term.T, w.const(1.0, self.kind, ROWS, WIDTH)).reshape(1, STEP, WIDTH)
            return along.broadcast(ROWS // STEP, STEP, WIDTH).reshape(ROWS, WIDTH) + more
        return w.dot(values.T, term, more) if self.transposed else w.dot(term, values, more)

    def divide(self, tile: Tile, total: Tile, shape: tuple[int, int]) -> Tile:
        one = self.w.const(1.0, "f32", *self.levels)
        if self.divided == "reciprocal":
            return tile * self.spread(one / total, shape)
        return tile / self.spread(total, shape)

    def maximum(self, loop: Loop, at: int = 0) -> Tile:
        return loop.values[at].max(self.folded(self.score(loop.counter), "max"))

    def passes(self) -> Tile:
        """What is stored."""
        w = self.w
        if self.form == "found":
            highest, total = self.running()
        else:
            with w.loop(0, w.t, carried=[self.first]) as loop:
                loop.values = [self.maximum(loop)]
            (highest,) = loop.values
            if self.wrong == "a store between them":
                w.store(highest.reshape(ROWS), w.view(w.o, [ROWS], [1], [ROWS]), 0)
            total = self.none
        if self.form == "two":
            with w.loop(0, w.t, carried=[self.none, self.nothing]) as loop:
                term = self.term(loop.counter, highest)
                more = loop.values[0] + self.folded(term, "add")
                loop.values = [more, self.weighed(term, loop.counter, loop.values[1])]
            total, found = loop.values
            return self.divide(found, total, (ROWS, WIDTH))
        if self.form == "three":
            with w.loop(0, w.t, carried=[total]) as loop:
                loop.values = [loop.values[0] + self.folded(self.term(loop.counter, highest), "add")]
            (total,) = loop.values
        with w.loop(0, w.t, carried=[self.nothing]) as loop:
            term = self.term(loop.counter, highest)
            term = term if self.divided == "result" else self.divide(term, total, (ROWS, STEP))
            term = self.left_out(term, loop.counter) if self.wrong == "left out late" else term
            term = term + self.spread(total, (ROWS, STEP)) if self.wrong == "sums added" else term
            loop.values = [self.weighed(term, loop.counter, loop.values[0])]
        (found,) = loop.values
        return self.divide(found, total, (ROWS, WIDTH)) if self.divided == "result" else found

    def running(self) -> list[Tile]:
        """A maximum, and the sum of exponentials below it, that rise together."""
        w = self.w
        with w.loop(0, w.t, carried=[self.first, self.none]) as loop:
            before, total = loop.values
            highest = self.maximum(loop)
            zero = w.const(0.0, "f32", *self.levels)
            level = highest.eq(-np.inf).where(zero, highest)
            term = getattr(self.score(loop.counter) - self.spread(level, (ROWS, STEP)), self.power)()
            fade = getattr(before - level, self.power)()
            loop.values = [highest, total * fade + self.folded(term, "add")]
        return loop.values

    def text(self) -> str:
        w, shape = self.w, list(self.shape(ROWS, WIDTH))
        found = self.passes()
        w.store(found, w.view(w.o, shape, [shape[1], 1], shape), 0, 0)
        return w.text()


@cache
def attention(**given: Any) -> str:
    return Attention(**given).text()


def rows(kind: str = "f16", steps: int = MOST, transposed: bool = False) -> list[Any]:
    """Rows of every kind: the first, the last block masked out, all of it, a NaN, +inf early and late, one key left,
    scores that rise or fall.
    """
    x = np.zeros((ROWS, KEYS), np.float32)
    x[1, :STEP] = -np.inf
    x[2, -STEP:] = -np.inf
    x[3] = -np.inf
    x[4, 70], x[5, 3], x[6, KEYS - 2] = np.nan, np.inf, np.inf
    x[7, 1:], x[8, :-1] = -np.inf, -np.inf
    x[9] = np.linspace(0, 60, KEYS)
    x[10] = np.linspace(60, 0, KEYS)
    tiles = [random((each, WIDTH), kind, seed) for seed, each in enumerate((ROWS, KEYS, KEYS), 1)]
    out = np.full((WIDTH, ROWS) if transposed else (ROWS, WIDTH), 7.0, np.float32)
    return [*tiles, x, out, steps]


def expected(mask: str = "", power: str = "exp", transposed: bool = False) -> Any:
    def numpy_says(q: Any, k: Any, v: Any, x: Any, o: Any, t: int) -> dict[int, Any]:
        with np.errstate(all="ignore"):
            score = (q.astype(np.float64) @ k.astype(np.float64).T + x)[:, : t * STEP]
            if mask == "causal":
                score = np.where(np.arange(t * STEP)[None, :] <= np.arange(ROWS)[:, None], score, -np.inf)
            made = getattr(np, power)(score - np.fmax.reduce(score, axis=1, keepdims=True))
            found = (made / made.sum(1, keepdims=True)) @ v.astype(np.float64)[: t * STEP]
        return {4: found.T if transposed else found}

    return numpy_says


FORMS: dict[str, dict[str, Any]] = {
    "three": {}, "three, the result divided": {"divided": "result"},
    "three, by a reciprocal": {"divided": "reciprocal"}, "three, causal": {"mask": "causal"},
    "three, guarded": {"guard": True, "power": "exp2"}, "three, of vectors": {"levels": (ROWS,)},
    "three, transposed": {"transposed": True, "levels": (1, ROWS)}, "three, bf16": {"kind": "bf16"},
    "three, below a start": {"start": 3.0, "kind": "bf16"}, "three, below a low start": {"start": -1e30},
    "three, left out": {"guard": True, "out": True, "divided": "result", "kind": "bf16"},  # f16 has no e^-60
    "two": {"form": "two"}, "two, causal": {"form": "two", "mask": "causal"},
    "two, guarded": {"form": "two", "guard": True}, "two, transposed": {"form": "two", "transposed": True},
    "found": {"form": "found"}, "found, by a reciprocal": {"form": "found", "divided": "reciprocal"},
    "found, guarded": {"form": "found", "guard": True},
}  # fmt: skip


def entry_of(text: str) -> ct.Entry:
    return find_entry(read(text, {}), None)[1]


def loops(entry: ct.Entry) -> int:
    return sum(isinstance(op, ct.For) for op in entry.walk())


def online(text: str, finite: bool = False) -> ct.Module:
    """The module in one pass."""
    module = load(text)
    entry, ops = module.entries[0], module.body.block.ops
    sums, products = (finite_sums_online, finite_attention_online) if finite else (sums_online, attention_online)
    ops[ops.index(entry)] = products(sums(entry))
    verify(module)
    return module


@pytest.mark.sampled(6)
@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_one_pass_says_what_several_do(name: str, finite: bool) -> None:
    """NaN and infinities in the same places, and of no blocks nothing."""
    given = FORMS[name]
    text = attention(**given)
    plain, joined = load(text), online(text, finite)
    assert loops(plain.entries[0]) > 1
    assert loops(joined.entries[0]) == 1
    for steps in range(MOST + 1):
        found: list[Any] = []
        kept = (given.get("kind", "f16"), steps, given.get("transposed", False))
        for module in (plain, joined):
            arguments = rows(*kept)
            if finite:
                arguments[3][:] = np.where(np.isinf(arguments[3]), -50.0, arguments[3])
            with np.errstate(all="ignore"):
                run(module, (1,), arguments)
            found.append(arguments[4])
        np.testing.assert_allclose(*found, rtol=1e-2, atol=1e-2)
        assert np.isfinite(found[0]).any() or not steps


@pytest.mark.sampled(48)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FORMS)
def test_attention_in_one_pass(name: str, target: str) -> None:
    given = FORMS[name]
    text, transposed = attention(**given), given.get("transposed", False)
    plain = expected(given.get("mask", ""), given.get("power", "exp"), transposed)
    numpy_says = None if {"guard", "out", "start"}.intersection(given) else plain
    kept = (given.get("kind", "f16"), MOST, transposed)
    program = Program(name, lambda: text, lambda: rows(*kept), (1,), numpy_says, 1e-2)
    joined = check(program, target, fast=FAST, forbid=("loop.pairs",))
    apart = tilesat.compile(text, target, fast=FAST, forbid=("loop.pairs", "loop.attention"))
    assert joined.cost < apart.cost
    assert "loop.attention" in {each.name for each in joined.compiled.selection.loops if each.taken}
    assert loops(joined.compiled.saturated.program.entry) < loops(apart.compiled.saturated.program.entry)


APART: dict[str, dict[str, Any]] = {
    "other scores": {"form": "two", "wrong": "other scores"}, "squares": {"form": "two", "wrong": "squares"},
    "sums added": {"form": "found", "wrong": "sums added"}, "an infinite start": {"form": "two", "start": np.inf},
    "a store between them": {"form": "two", "wrong": "a store between them"},
    "a sum along the rows": {"form": "found", "wrong": "a sum along the rows"},
    "left out where nothing is found": {"form": "two", "out": True},
    "left out behind the quotient": {"form": "found", "guard": True, "wrong": "left out late"},
}  # fmt: skip


@pytest.mark.parametrize("what", APART)
def test_passes_stay_apart(what: str) -> None:
    given = APART[what]
    entry = entry_of(attention(**given))
    assert attention_online(entry) is entry
    assert sums_online(entry) is entry
    right = entry_of(attention(**given | {"wrong": "", "out": False, "start": -np.inf}))
    assert attention_online(right) is not right


def test_quotients_of_few_exponents_stay_below_a_start() -> None:
    """Powers below a start that no score of the row reaches may be lost in f16, their quotients are not."""
    entry = entry_of(attention(start=3.0))
    assert attention_online(entry) is entry
    assert finite_attention_online(entry) is entry
    for right in ({"start": 3.0, "divided": "result"}, {"start": 3.0, "kind": "bf16"}, {"start": -1e30}):
        entry = entry_of(attention(**right))
        assert attention_online(entry) is not entry


def test_the_finite_form_may_leave_terms_out() -> None:
    """Where no maximum is infinite, no NaN is left out either."""
    entry = entry_of(attention(form="two", out=True))
    assert finite_attention_online(entry) is not entry


@pytest.mark.parametrize(("form", "pairs"), [("two", False), ("three", False), ("three", True)])
def test_levels_of_one_pass_may_lag(form: str, pairs: bool) -> None:
    """What gives NaN where a maximum is infinite reads the level, and says the same of one that lags. Sums that terms
    were divided by are 1 where there was no block.
    """
    text = attention(form=form)
    module = online(text)
    entry, ops = module.entries[0], module.body.block.ops
    joined = levelled_steps(entry) if pairs else entry
    assert (joined is not entry) is pairs
    ops[ops.index(entry)] = lagging_levels(joined)
    assert module.entries[0] is not joined
    verify(module)
    for steps in range(MOST + 1):
        found: list[Any] = []
        for each in (load(text), module):
            arguments = rows(steps=steps)
            with np.errstate(all="ignore"):
                run(each, (1,), arguments)
            found.append(arguments[4])
        np.testing.assert_allclose(*found, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dim", [0, 1])
def test_an_element_is_below_the_maximum_of_its_own_row(dim: int) -> None:
    """Below that of a column a term may be above 1, and early ones above what any float holds."""
    w = Writer("square", x="ptr<f32>", y="ptr<f32>", t="i32")
    view = w.view(w.x, [ROWS, ROWS * MOST], [ROWS * MOST, 1], [ROWS, ROWS])
    with w.loop(0, w.t, carried=[w.const(-np.inf, "f32", ROWS)]) as first:
        first.values = [first.values[0].max(w.load(view, 0, first.counter).reduce(dim, "max"))]
    with w.loop(0, w.t, carried=[w.const(0.0, "f32", ROWS)]) as second:
        term = (w.load(view, 0, second.counter) - first.values[0].column(ROWS)).exp()
        second.values = [second.values[0] + term.reduce(1)]
    w.store(second.values[0], w.view(w.y, [ROWS], [1], [ROWS]), 0)
    entry = entry_of(w.text())
    assert (sums_online(entry) is entry) is (dim == 0)
