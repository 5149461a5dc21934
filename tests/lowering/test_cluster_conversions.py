"""Conversions of tiles over the CTAs of a cluster: halves that become whole or other halves through distributed shared
memory. In hazard mode and in skewed orders of warps; where they are made, and where holding the whole is cheaper.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from ir.load import load
from ir.types import F32, TOKEN, TileType
from lowering.clusters import Refusal, planned
from lowering.slicing.cuts import shape_of
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.programs.program import Program, interpret, random, simulate
from tilesat.execution import largest_error
from tilesat.execution import simulate as simulate_ptx
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel

ORDERS = tuple(f"skewed:{seed}" for seed in range(5))
TARGETS = ("sm_90a", "sm_100a", "sm_120a")
ERROR = 2e-5


def layers(hidden: int = 128, steps: int = 8, columns: int = 128) -> Program:
    """Y = (X A) B of 64 rows: too few to be cut. CTAs divide the columns of both products; the second one needs all
    columns of what the first one gives.
    """
    w = Writer("layers", x="ptr<f16>", a="ptr<f16>", b="ptr<f16>", y="ptr<f32>")
    w.promise(x=16, a=16, b=16, y=16)
    x, a = w.view(w.x, [128, 64 * steps], [64 * steps, 1], [64, 64]), w.view(w.a, [64 * steps, hidden], [hidden, 1],
                                                                             [64, hidden])  # fmt: skip
    b, y = (
        w.view(w.b, [hidden, columns], [columns, 1], [hidden, columns]),
        w.view(w.y, [128, columns], [columns, 1], [64, columns]),
    )
    row = w.ids[0]
    with w.loop(0, steps, carried=[w.const(0, "f32", 64, hidden)]) as loop:
        loop.values = [w.dot(w.load(x, row, loop.counter), w.load(a, loop.counter, 0), loop.values[0])]
    w.store(w.dot(loop.values[0].to("f16"), w.load(b, 0, 0), w.const(0, "f32", 64, columns)), y, row, 0)
    text = w.text()

    def arguments() -> list[Any]:  # whole numbers, whose sums are exact
        x, a, b = (np.sign(random(shape, "f16", seed)) for seed, shape in
                   enumerate(((128, 64 * steps), (64 * steps, hidden), (hidden, columns))))  # fmt: skip
        return [*(each.astype(np.float16) for each in (x, a, b)), np.zeros((128, columns), np.float32)]

    return Program("layers", lambda: text, arguments, (2,), None)


def recurrence(w: Writer, x: Tile, dim: int) -> Tile:
    """y = x / 4 y' + x along a dimension, which does not commute and so is not divided along itself."""

    def combine(first: list[Tile], second: list[Tile]) -> list[Tile]:
        return [first[0] * second[0], first[1] * second[0] + second[1]]

    return w.fold([x * 0.25, x], dim, combine, [1.0, 0.0], scan=True)[1]


def rows_and_columns(size: int = 64, steps: int = 0) -> Program:
    """Along columns, then along rows: CTAs divide the columns at one, the rows at the other; in a loop too."""
    w = Writer("both", x="ptr<f32>", y="ptr<f32>")
    w.promise(x=16, y=16)
    wide = size * max(steps, 1)
    x, y = w.view(w.x, [size, wide], [wide, 1], [size, size]), w.view(w.y, [size, size], [size, 1], [size, size])
    if steps:
        with w.loop(0, steps, carried=[w.const(0, "f32", size, size)]) as loop:
            tile = w.load(x, 0, loop.counter) + loop.values[0] * 0.5
            loop.values = [recurrence(w, recurrence(w, tile, 0), 1) * 0.1]
        made = loop.values[0]
    else:
        made = recurrence(w, recurrence(w, w.load(x, 0, 0), 0), 1)
    w.store(made, y, 0, 0)
    text = w.text()
    arguments = lambda: [random((size, wide), "f32", 1), np.zeros((size, size), np.float32)]  # noqa: E731
    return Program("both", lambda: text, arguments, (1,), None)


def put_together(size: int = 64) -> Program:
    """Columns, then two such tiles side by side along rows, and a part of the result stored."""
    w = Writer("joined", x="ptr<f32>", y="ptr<f32>", z="ptr<f32>")
    w.promise(x=16, y=16, z=16)
    x, y = w.view(w.x, [size, size], [size, 1], [size, size]), w.view(w.y, [size, 2 * size], [2 * size, 1],
                                                                      [size, 2 * size])  # fmt: skip
    tile = recurrence(w, w.load(x, 0, 0), 0)
    wide = TileType((size, 2 * size), tile.type.element)
    made = recurrence(w, w.op(ct.Cat, tile, tile * 2.0, types=[wide], dim=1), 1)
    w.store(made, y, 0, 0)
    z = w.view(w.z, [size * size // 2], [1], [size * size // 2])
    part = TileType((size, size // 2), tile.type.element)
    w.store(w.op(ct.Extract, made, w.const(0, "i32"), w.const(3, "i32"), types=[part]).reshape(size * size // 2), z, 0)
    text = w.text()

    def arguments() -> list[Any]:
        made = [np.zeros((size, 2 * size), np.float32), np.zeros(size * size // 2, np.float32)]
        return [random((size, size), "f32", 1), *made]

    return Program("joined", lambda: text, arguments, (1,), None)


CASES = {
    "layers": layers(), "wide layers": layers(256, 8, 256), "rows and columns": rows_and_columns(128),
    "in a loop": rows_and_columns(128, 2), "put together": put_together(),
}  # fmt: skip
RUNS = [
    ("layers", 2), ("wide layers", 4), ("rows and columns", 2), ("rows and columns", 4), ("put together", 2),
    ("put together", 4),
]  # fmt: skip


@cache
def compiled(name: str, ctas: int, target: str) -> Kernel:
    kernel = tilesat.compile(CASES[name].source(), target, num_ctas=ctas)
    assembled = assemble(kernel.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)
    assert kernel.manifest["cluster"] == [ctas, 1, 1]
    return kernel


def entry_of(name: str) -> ct.Entry:
    return next(op for op in load(CASES[name].source()).walk() if isinstance(op, ct.Entry))


def sent(entry: ct.Entry) -> list[tuple[int, ...]]:
    """Shapes of what a CTA sends the other one of each bit."""
    return [shape_of(op.values[0]) for op in entry.walk() if isinstance(op, nv_tileas.Exchange) and op.other]


def right(kernel: Kernel, given: Program, **options: Any) -> bool:
    found, wanted = simulate(kernel, given, **options), interpret(kernel, given)
    return all(largest_error(one, other) < ERROR for one, other in zip(found, wanted, strict=True))


@pytest.mark.sampled(24)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("name", "ctas"), RUNS)
def test_kernels(name: str, ctas: int, target: str) -> None:
    assert right(compiled(name, ctas, target), CASES[name])


@pytest.mark.sampled(77)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("name", "ctas"), [*RUNS, ("in a loop", 2)])
def test_skewed_orders(name: str, ctas: int, order: str) -> None:
    assert right(compiled(name, ctas, "sm_90a"), CASES[name], schedule=order)


# --- where


@pytest.mark.parametrize(
    ("name", "ctas", "shapes"),
    [
        ("layers", 2, [(64, 64)]),  # half of the hidden columns, of which each CTA needs all
        ("wide layers", 4, [(64, 64)] * 3),
        ("rows and columns", 2, [(64, 64)] * 2),  # a quarter of 128 x 128; of both tiles that the scan takes
        ("rows and columns", 4, [(32, 64)] * 2),
        ("in a loop", 2, [(64, 64)] * 3),  # and back again
        ("put together", 2, []),  # each CTA takes one of the two tiles
    ],
)
def test_what_is_sent(name: str, ctas: int, shapes: list[tuple[int, int]]) -> None:
    made = planned(entry_of(name), ctas)
    assert isinstance(made, ct.Entry)
    assert sent(made) == shapes


def test_a_plan_is_a_program_for_a_grid_of_ctas() -> None:
    made = planned(entry_of("layers"), 2)
    assert isinstance(made, ct.Entry)
    assert [op.acc.type.shape for op in made.walk() if isinstance(op, ct.MmaF)] == [(64, 64), (64, 64)]  # type: ignore[union-attr]


def test_cost_decides() -> None:
    """Two exchanges an iteration would take longer than what they save of small tiles; a short first product is held
    whole by both CTAs, which divide the second one.
    """
    text = rows_and_columns(64, 3).source()
    found = planned(next(op for op in load(text).walk() if isinstance(op, ct.Entry)), 2)
    assert isinstance(found, Refusal)
    text = layers(steps=1).source()
    made = planned(next(op for op in load(text).walk() if isinstance(op, ct.Entry)), 2)
    assert isinstance(made, ct.Entry)
    assert sent(made) == []
    assert [op.acc.type.shape for op in made.walk() if isinstance(op, ct.MmaF)] == [(64, 128), (64, 64)]  # type: ignore[union-attr]


@pytest.mark.in_turn
def test_chosen_by_cost() -> None:
    """A launch of two tile blocks on 132 multiprocessors."""
    kernel = tilesat.compile(CASES["layers"].source(), "sm_90a", num_ctas="auto", tile_blocks=2)
    assert kernel.manifest["cluster"][0] > 1
    assert kernel.cost < 0.8 * tilesat.compile(CASES["layers"].source(), "sm_90a").cost
    assert right(kernel, CASES["layers"])


@pytest.mark.in_turn
def test_explain_says_why_one_cta_cannot() -> None:
    report = tilesat.compile(rows_and_columns(128).source(), "sm_120a", num_ctas=2).report
    assert "    1 CTA: not possible, the kernel needs more than the 101376 bytes" in report
    assert "\n    2 CTAs: " in report


def test_who_prints_needs_all_of_a_tile() -> None:
    """An element of a product; each CTA has half of the rows."""
    w = Writer("printed", a="ptr<f16>", b="ptr<f16>", y="ptr<f32>")
    w.promise(a=16, b=16, y=16)
    a, b = (w.view(each, [rows, 1024], [1024, 1], [rows, 64]) for each, rows in ((w.a, 256), (w.b, 64)))
    y = w.view(w.y, [256, 64], [64, 1], [256, 64])
    with w.loop(0, 16, carried=[w.const(0, "f32", 256, 64)]) as loop:
        loop.values = [w.dot(w.load(a, 0, loop.counter), w.load(b, 0, loop.counter).T, loop.values[0])]
    w.store(loop.values[0], y, 0, 0)
    one = w.op(ct.Extract, loop.values[0], w.const(97, "i32"), w.const(5, "i32"), types=[TileType((1, 1), F32)])
    w.op(ct.Print, one, types=[TOKEN], segments=(1, 0), str="%f\n")
    left, right = (np.sign(random((rows, 1024), "f16", rows)).astype(np.float16) for rows in (256, 64))
    found = np.zeros((256, 64), np.float32)
    said: list[str] = []
    kernel = tilesat.compile(w.text(), "sm_120a", num_ctas=2)
    simulate_ptx(kernel.ptx, kernel.manifest, (1, 1, 1), [left, right, found], output=lambda text, _: said.append(text))
    wanted = left.astype(np.float32) @ right.astype(np.float32).T
    assert np.array_equal(found, wanted)
    assert said == [f"[[{wanted[97, 5]:f}]]\n"]


# --- the protocol

ARRIVAL = r"(@%p\d+) mbarrier\.arrive\.release\.cluster\.shared::cluster\.b64 _, \[(%r\d+)\];"
MUTANTS: dict[str, tuple[str, str]] = {
    "told nobody": (r"(?:@%p\d+ )?st\.shared::cluster.*;", ""),
    "told this CTA": (r"xor\.b32 (%r\d+), (%r\d+), 1;(?=\s+mapa)", r"mov.b32 \1, \2;"),
    "no arrival": (ARRIVAL, ""),
    "arrival relaxed": (ARRIVAL, r"\1 mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [\2];"),
    "no wait": (r"\s+(\$W\d+):\s+mbarrier\.try_wait\.parity\.acquire.*\n.*bra \1;", ""),
    "wait relaxed": (r"parity\.acquire\.cluster", "parity.relaxed.cluster"),
    "counts one less": (r"(mbarrier\.init.*), 8;", r"\1, 7;"),
    "counts one more": (r"(mbarrier\.init.*), 8;", r"\1, 9;"),
    "the other half is kept": (r"selp\.f32 (%f\d+), (%f\d+), (%f\d+), (%p\d+);", r"selp.f32 \1, \3, \2, \4;"),
}
"""Pattern in PTX of two CTAs and what is written there instead."""


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_protocol_are_caught(name: str) -> None:
    kernel = compiled("rows and columns", 2, "sm_120a")
    ptx = changed(kernel.ptx, MUTANTS[name])
    caught(lambda order: right(kernel, CASES["rows and columns"], ptx=ptx, schedule=order), ORDERS)
