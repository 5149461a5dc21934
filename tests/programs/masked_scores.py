"""Attention whose scores are masked in unusual ways: by numbers that wrap, in narrow types, by all or by nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ir.dialects import cuda_tile as ct
from tests.programs.program import Program, random
from tilesat.fuzz.writer import Tile, Writer

ROWS, WIDTH, STEP, KEYS = 128, 64, 64, 512
GREATEST = 2**31 - 1
Mask = Callable[[Tile, Tile, Tile], Tile]
"""Of a key's number, a query's number, and a number that is given."""


def fixed(number: Tile, like: Tile) -> Tile:
    """A number for each element."""
    return number.splat(*like.shape)


MASKS: dict[str, tuple[Mask, int, dict[str, int]]] = {
    "none-passes": (lambda key, _, x: key < fixed(x, key), -GREATEST - 1, {}),
    "all-pass": (lambda key, _, x: key < fixed(x, key), GREATEST, {}),
    "shifted-diagonal": (lambda key, row, x: key - fixed(x, key) <= row, 100, {}),
    "diagonal-that-wraps": (lambda key, row, x: key <= row + fixed(x, row), GREATEST - 100, {}),
    "difference-that-wraps": (lambda key, row, x: key - fixed(x, key) <= row, -GREATEST - 1, {}),
    "window": (lambda key, row, x: (key <= row) & (key > row - fixed(x, row)), 100, {}),
    "either": (lambda key, row, x: (key < row) | (key > fixed(x, key)), 150, {}),
    "unsigned": (lambda key, _, x: key.compare(ct.Predicate.LESS_THAN, fixed(x, key), signed=False), -1, {}),
    "unsigned-window": (
        lambda key, _, x: (key - fixed(x, key)).compare(ct.Predicate.LESS_THAN, 200, signed=False), 100, {},
    ),
    "bytes": (lambda key, _, x: key.to("i8") < fixed(x.to("i8"), key), 100, {}),
    "product-that-wraps": (lambda key, _, x: key * (1 << 26) < fixed(x, key), 10**9, {}),
    "every-other-step": (lambda key, _, x: key < fixed(x, key), 300, {"step": 2}),
    "from-the-middle": (lambda key, row, _: key <= row, 0, {"lower": 3}),
    "no-step": (lambda key, row, _: key <= row, 0, {"lower": 5, "upper": 3}),
}  # fmt: skip
"""By name: the mask, the number, and the loop where it is not from 0 to 6 by 1."""


def masked_scores(name: str, blocks: int = 2) -> Program:
    """Attention with one of the masks."""
    mask, number, bounds = MASKS[name]
    lower, upper, step = bounds.get("lower", 0), bounds.get("upper", 6), bounds.get("step", 1)

    def source() -> str:
        w = Writer("masked", q="ptr<f16>", k="ptr<f16>", v="ptr<f16>", o="ptr<f32>", x="i32", lower="i32", upper="i32")
        w.promise(q=16, k=16, v=16, o=16)
        queries, out = (w.view(each, [ROWS * blocks, WIDTH], [WIDTH, 1], [ROWS, WIDTH]) for each in (w.q, w.o))
        keys, values = (w.view(each, [KEYS, WIDTH], [WIDTH, 1], [STEP, WIDTH]) for each in (w.k, w.v))
        q = w.load(queries, w.ids[0], 0)
        row = ((w.ids[0] * ROWS).splat(ROWS) + w.iota(ROWS)).column(STEP)
        carried = [w.const(-1e30, "f32", ROWS), w.const(0.0, "f32", ROWS), w.const(0.0, "f32", ROWS, WIDTH)]
        with w.loop(w.lower, w.upper, step, carried=carried) as loop:
            highest, total, acc = loop.values
            key = ((loop.counter * STEP).splat(STEP) + w.iota(STEP)).row(ROWS)
            score = w.dot(q, w.load(keys, loop.counter, 0).T) * 0.125
            score = mask(key, row, w.x).where(score, -1e30)
            new = highest.max(score.reduce(1, "max"))
            power, fade = (score - new.column(STEP)).exp2(), (highest - new).exp2()
            acc = w.dot(power.to("f16"), w.load(values, loop.counter, 0), acc * fade.column(WIDTH))
            loop.values = [new, total * fade + power.reduce(1), acc]
        _, total, acc = loop.values
        w.store(acc / (total + 1.0).column(WIDTH), out, w.ids[0], 0)
        return w.text()

    def arguments() -> list[Any]:
        arrays = [random((size, WIDTH), "f16", seed) for seed, size in enumerate((ROWS * blocks, KEYS, KEYS), 1)]
        return [*arrays, random((ROWS * blocks, WIDTH), "f32", 4), number, lower, upper]

    return Program(f"masked-{name}", source, arguments, (blocks,), None, 4e-3)
