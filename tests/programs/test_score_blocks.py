"""Attention whose scores of a row are one tile, in a loop over blocks of keys: simulator = interpreter = NumPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import TileError, verify
from ir.interpreter import run
from ir.load import load
from lowering.skeletons.score_blocks import finite_online_by_blocks, online_by_blocks
from tests.programs.program import Program, check, random
from tests.programs.test_online_attention import KEYS, MOST, ROWS, STEP, TARGETS, WIDTH, entry_of, expected, loops, rows
from tilesat.fuzz.writer import Tile, Writer

FAST = ("reassoc", "afn")


class Attention:
    """Attention of one tile of queries and one of keys, of which `t` times STEP are looked at, scores with a bias.
    divided: terms by their sum, or times its "reciprocal", or the "result"; mask: "causal" as well, "late": what is
    before is left out, there by an infinity that is "repeated", "none"; wrong: what is not as it has to be.
    """

    def __init__(
        self, divided: str = "terms", mask: str = "", transposed: bool = False, power: str = "exp", kind: str = "f16",
        wrong: str = "", keys: int = KEYS,
    ):  # fmt: skip
        self.divided, self.mask, self.transposed, self.power, self.kind = divided, mask, transposed, power, kind
        self.wrong, self.keys, self.length = wrong, keys, max(keys, KEYS)
        w = self.w = Writer(
            "attention", q=f"ptr<{kind}>", k=f"ptr<{kind}>", v=f"ptr<{kind}>", x="ptr<f32>", o="ptr<f32>", t="i32"
        )
        w.promise(q=16, k=16, v=16, x=16, o=16, t=1)

    def score(self) -> Tile:
        w = self.w
        query = w.load(w.view(w.q, [ROWS, WIDTH], [WIDTH, 1], [ROWS, WIDTH]), 0, 0)
        keys = w.load(w.view(w.k, [self.length, WIDTH], [WIDTH, 1], [self.keys, WIDTH]), 0, 0)
        bias = w.load(w.view(w.x, [ROWS, self.length], [self.length, 1], [ROWS, self.keys]), 0, 0)
        found = w.dot(query, keys.T) + bias
        place, bound = w.iota(self.keys).row(ROWS), (w.t * STEP).splat(ROWS, self.keys)
        if self.mask == "late, repeated":
            nothing = w.const(-np.inf, "f32").reshape(1, 1).broadcast(ROWS, self.keys)
            found = (place >= bound).where(found, nothing)
        elif self.mask != "none":
            found = ((place >= bound) if self.mask == "late" else (place < bound)).where(found, -np.inf)
        if self.mask == "causal":
            found = (place <= w.iota(ROWS).column(self.keys)).where(found, -np.inf)
        return found.T if self.transposed else found

    def spread(self, level: Tile, columns: int) -> Tile:
        """A number of each row in every column of a tile, of the transposed one in every row."""
        if self.transposed:
            return level.reshape(1, ROWS).broadcast(columns, ROWS)
        return level.reshape(ROWS, 1).broadcast(ROWS, columns)

    def divide(self, tile: Tile, total: Tile, columns: int) -> Tile:
        if self.divided == "reciprocal":
            return tile * self.spread(self.w.const(1.0, "f32", ROWS) / total, columns)
        return tile / self.spread(total, columns)

    def stored(self) -> Tile:
        w, along = self.w, 0 if self.transposed else 1
        score = self.score()
        term = getattr(score - self.spread(score.reduce(along, "max"), self.keys), self.power)()
        total = term.reduce(along, "add")
        term = term if self.divided == "result" else self.divide(term, total, self.keys)
        if self.wrong == "terms stored":
            w.store(term, w.view(w.x, [ROWS, self.length], [self.length, 1], [ROWS, self.keys]), 0, 0)
        values = w.load(w.view(w.v, [self.length, WIDTH], [WIDTH, 1], [self.keys, WIDTH]), 0, 0)
        term = term.to(self.kind)
        more = (w.const(1.0, "f32", ROWS, WIDTH),) if self.wrong == "a sum that begins with one" else ()
        found = w.dot(values.T, term) if self.transposed else w.dot(term, values, *more)
        return self.divide(found, total, WIDTH) if self.divided == "result" else found

    def text(self) -> str:
        w, shape = self.w, [WIDTH, ROWS] if self.transposed else [ROWS, WIDTH]
        w.store(self.stored(), w.view(w.o, shape, [shape[1], 1], shape), 0, 0)
        return w.text()


@cache
def attention(**given: Any) -> str:
    return Attention(**given).text()


FORMS: dict[str, dict[str, Any]] = {
    "terms": {}, "result": {"divided": "result"}, "reciprocal": {"divided": "reciprocal"},
    "causal": {"mask": "causal"}, "transposed": {"transposed": True}, "bf16, exp2": {"kind": "bf16", "power": "exp2"},
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_blocks_say_what_the_whole_does(name: str, finite: bool) -> None:
    """NaN and infinities in the same places: whole blocks masked out, first, last and all."""
    given = {**FORMS[name], "mask": "none"} if finite else FORMS[name]
    plain, made = load(attention(**given)), load(attention(**given))
    entry, ops = made.entries[0], made.body.block.ops
    ops[ops.index(entry)] = (finite_online_by_blocks if finite else online_by_blocks)(entry)
    verify(made)
    assert (loops(plain.entries[0]), loops(made.entries[0])) == (0, 1)
    for steps in (MOST,) if finite else range(MOST + 1):
        found: list[Any] = []
        for module in (plain, made):
            arguments = rows(given.get("kind", "f16"), steps, given.get("transposed", False))
            if finite:
                arguments[3][:] = np.where(np.isinf(arguments[3]), -50.0, arguments[3])
            with np.errstate(all="ignore"):
                run(module, (1,), arguments)
            found.append(arguments[4])
        np.testing.assert_allclose(*found, rtol=1e-2, atol=1e-2)
        assert np.isfinite(found[0]).any() or not steps


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FORMS)
def test_attention_by_blocks(name: str, target: str) -> None:
    given = FORMS[name]
    text, transposed = attention(**given), given.get("transposed", False)
    numpy_says = expected(given.get("mask", ""), given.get("power", "exp"), transposed)
    kept = (given.get("kind", "f16"), MOST, transposed)
    program = Program(name, lambda: text, lambda: rows(*kept), (1,), numpy_says, 1e-2)
    made = check(program, target, fast=FAST, forbid=("loop.pairs",))
    whole = tilesat.compile(text, target, fast=FAST, forbid=("loop.blocks",))
    tried = {each.name: each.taken for each in made.compiled.selection.loops}
    assert tried["loop.blocks"] is (made.cost < whole.cost)
    assert loops(made.compiled.saturated.program.entry) == tried["loop.blocks"]


@pytest.mark.parametrize("mask", ["", "causal", "late", "late, repeated"])
def test_blocks_that_a_mask_leaves_out_are_no_infinities(mask: str) -> None:
    """By ninf a mask may leave out a part of a tile; that may be a whole block, which only a guard handles."""
    entry = entry_of(attention(mask=mask))
    assert finite_online_by_blocks(entry) is entry
    assert online_by_blocks(entry) is not entry


WHOLE: dict[str, dict[str, Any]] = {
    "terms stored": {"wrong": "terms stored"}, "a sum that begins with one": {"wrong": "a sum that begins with one"},
    "one block": {"keys": 64},
}  # fmt: skip


@pytest.mark.parametrize("what", WHOLE)
def test_rows_stay_whole(what: str) -> None:
    entry = entry_of(attention(**WHOLE[what]))
    assert online_by_blocks(entry) is entry
    assert finite_online_by_blocks(entry) is entry


def test_a_row_that_no_cta_holds_is_taken_by_blocks() -> None:
    """64 x 1,024 sums do not fit in registers, and 64 rows are not cut."""
    text, keys = attention(keys=1024), 1024
    with pytest.raises(TileError, match="allow slicing by rows or columns"):
        tilesat.compile(text, "sm_80", fast=FAST, forbid=("loop.blocks",))
    with pytest.raises(TileError, match="allow slicing by rows or columns"):
        tilesat.compile(text, "sm_80")

    def arguments() -> list[Any]:
        tiles = [random((each, WIDTH), "f16", seed) for seed, each in enumerate((ROWS, keys, keys), 1)]
        bias = random((ROWS, keys), "f32", 4)
        bias[1], bias[2, :900] = -np.inf, -np.inf
        return [*tiles, bias, np.full((ROWS, WIDTH), 7.0, np.float32), keys // STEP - 1]

    check(Program("long", lambda: text, arguments, (1,), expected(), 1e-2), "sm_80", fast=FAST)
    tilesat.compile(text, "sm_80", fast=FAST, num_ctas="auto")


class TwoHeads(Attention):
    """The same twice, one after the other in one block."""

    def text(self) -> str:
        w = self.w
        for place in range(2):
            result = self.stored()
            w.store(result, w.view(w.o, [2 * ROWS, WIDTH], [WIDTH, 1], [ROWS, WIDTH]), place, 0)
        return w.text()


def test_two_rows_of_scores_in_one_block() -> None:
    text, found = TwoHeads().text(), list[Any]()
    plain, made = load(text), load(text)
    entry, ops = made.entries[0], made.body.block.ops
    ops[ops.index(entry)] = online_by_blocks(entry)
    verify(made)
    assert loops(made.entries[0]) == 2
    for module in (plain, made):
        given = rows("f16", MOST, False)
        given[:3] = [random(each.shape, "f16", seed) for seed, each in enumerate(given[:3])]
        given[3] = random(given[3].shape, "f32", 3)
        given[4] = np.zeros((2 * ROWS, WIDTH), given[4].dtype)
        run(module, (1,), given)
        found.append(given[4])
    np.testing.assert_allclose(*found, rtol=1e-2, atol=1e-2)


@pytest.mark.in_turn
def test_tiles_that_must_be_cut_are_taken_by_blocks_before() -> None:
    """Scores of 128 rows are cut in two, but as blocks they need not be."""
    w = Writer("attention", q="ptr<f16>", k="ptr<f16>", v="ptr<f16>", o="ptr<f32>")
    w.promise(q=16, k=16, v=16, o=16)
    query, keys, values = (
        w.load(w.view(of, [size, WIDTH], [WIDTH, 1], [size, WIDTH]), 0, 0)
        for of, size in ((w.q, 128), (w.k, 512), (w.v, 512))
    )
    score = w.dot(query, keys.T)
    term = (score - score.reduce(1, "max").column(512)).exp()
    found = w.dot(term.to("f16"), values) / term.reduce(1, "add").column(WIDTH)
    w.store(found, w.view(w.o, [128, WIDTH], [WIDTH, 1], [128, WIDTH]), 0, 0)
    text = w.text()
    made, cut = (tilesat.compile(text, "sm_90a", fast=FAST, forbid=each) for each in ((), ("loop.blocks",)))
    assert made.cost < cut.cost
    assert [loops(each.compiled.saturated.program.entry) for each in (made, cut)] == [1, 0]
