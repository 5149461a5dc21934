"""Loops of few trips are written out: which, that the interpreter says the same of them, and what that saves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import verify
from ir.dialects import cuda_tile as ct
from ir.interpreter import run
from ir.load import load
from lowering.source.unrolling import MOST_OPERATIONS, MOST_REGISTERS, MOST_TRIPS, unrolled
from tests.programs.program import random
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Loop, Tile, Writer

SIZE = 64
ROW = 1024
Body = Callable[[Writer, Tile, Loop], None]


def kernel(bounds: tuple[Any, Any, Any], body: Body, kind: str = "i32", **more: Any) -> str:
    """y = the value that a loop carries from x on, which `body` changes; y is of 64 f32."""
    w = Writer("few", x="ptr<f32>", y="ptr<f32>", n="i32")
    lane = w.iota(SIZE)
    first, _ = w.gather(w.x[lane])
    ends = [each if isinstance(each, Tile) else w.const(each, kind) for each in bounds]
    with w.loop(*ends, carried=[first], **more) as loop:
        body(w, lane, loop)
    w.scatter(w.y[lane], loop.values[0])
    return w.text()


def scaled(w: Writer, lane: Tile, loop: Loop) -> None:
    """Carried on: x + counter * x[lane] read again."""
    again, _ = w.gather(w.x[lane])
    loop.values = [loop.values[0] * 2.0 + again * loop.counter.to("f32").splat(SIZE)]


def nested(w: Writer, lane: Tile, loop: Loop) -> None:
    with w.loop(0, 2, carried=loop.values) as inner:
        scaled(w, lane, inner)
    loop.values = [inner.values[0] + loop.counter.to("f32").splat(SIZE)]


def chosen(w: Writer, lane: Tile, loop: Loop) -> None:
    """A branch whose sides yield, and a reduction: regions that stay."""
    high = loop.counter > 0
    (picked,) = w.branch(high, lambda: [loop.values[0] * 3.0], lambda: [loop.values[0] - 1.0])
    loop.values = [picked + picked.reduce(0).splat(SIZE)]


def leaving(w: Writer, lane: Tile, loop: Loop) -> None:
    """A branch that begins the next iteration."""
    w.branch(loop.counter > 0, lambda: w.leave(ct.Continue, loop.values[0] + 1.0))
    scaled(w, lane, loop)


def product(w: Writer, lane: Tile, loop: Loop) -> None:
    x = loop.values[0].reshape(8, 8)
    loop.values = [w.dot(x, x, w.const(0, "f32", 8, 8)).reshape(SIZE)]


def long(w: Writer, lane: Tile, loop: Loop) -> None:
    for _ in range(60):
        loop.values = [loop.values[0] * 0.5 + 1.0]


def wide(w: Writer, lane: Tile, loop: Loop) -> None:
    """Loads more than the registers that several trips may take."""
    several, _ = w.gather(w.x[w.iota(128 * MOST_REGISTERS).rem(SIZE)])
    loop.values = [loop.values[0] + several.reduce(0).splat(SIZE)]


WRITTEN_OUT: dict[str, tuple[tuple[int, int, int], Body, str, dict[str, Any]]] = {
    "once": ((0, 1, 1), scaled, "i32", {}),
    "once, by its step": ((5, 4096, 4096), scaled, "i32", {}),
    "never": ((3, 3, 1), scaled, "i32", {}),
    "never, below": ((3, -3, 1), scaled, "i32", {}),
    "twice": ((-1, 1, 1), scaled, "i32", {}),
    "uneven": ((0, 7, 2), scaled, "i32", {}),
    "end of its type": ((100, 127, 20), scaled, "i8", {}),
    "unsigned": ((1, 4, 1), scaled, "i32", {"unsigned_cmp": True}),
    "nested": ((0, 2, 1), nested, "i32", {}),
    "branches": ((0, 2, 1), chosen, "i32", {}),
    "long, once": ((0, 1, 1), long, "i32", {}),
    "wide, once": ((0, 1, 1), wide, "i32", {}),
}
KEPT: dict[str, tuple[tuple[int, int, int], Body, str, dict[str, Any]]] = {
    "many trips": ((0, MOST_TRIPS + 1, 1), scaled, "i32", {}),
    "unsigned, from the upper half": ((-4, -1, 1), scaled, "i32", {"unsigned_cmp": True}),
    "unsigned, to the upper half": ((0, -1, 1 << 30), scaled, "i32", {"unsigned_cmp": True}),
    "a branch goes on": ((0, 2, 1), leaving, "i32", {}),
    "product": ((0, 1, 1), product, "i32", {}),
    "long": ((0, 2, 1), long, "i32", {}),
    "wide": ((0, 2, 1), wide, "i32", {}),
}


def loops(text: str) -> tuple[int, ct.Module]:
    """The loops that are left, and the module with the entry as it is then."""
    module = load(text)
    entry = module.entries[0]
    ops = module.body.block.ops
    made = ops[ops.index(entry)] = unrolled(entry)
    verify(module)
    assert (made is entry) == (len(list(made.walk())) == len(list(entry.walk())))
    return sum(isinstance(op, ct.For) for op in made.walk()), module


def same(text: str, module: ct.Module) -> None:
    """Interpreted alike, and simulated as interpreted."""
    whole, x = load(text), random((SIZE,), "f32", 3)
    results: list[Any] = []
    for each in (whole, module):
        arguments = [x.copy(), np.zeros_like(x), 1]
        run(each, (1,), arguments)
        results.append(arguments[1])
    np.testing.assert_array_equal(results[0], results[1])
    for target in ("sm_80", "sm_90a"):
        y = np.zeros_like(x)
        tilesat.compile(text, target).run((1, 1, 1), x.copy(), y, 1)
        assert largest_error(y, results[0]) < 1e-4


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_loops_of_few_trips_are_written_out(name: str) -> None:
    bounds, body, kind, more = WRITTEN_OUT[name]
    text = kernel(bounds, body, kind, **more)
    left, module = loops(text)
    assert left == 0
    same(text, module)


@pytest.mark.parametrize("name", KEPT)
def test_other_loops_stay(name: str) -> None:
    bounds, body, kind, more = KEPT[name]
    assert loops(kernel(bounds, body, kind, **more))[0] == 1


def test_loop_whose_trips_are_an_argument_stays() -> None:
    w = Writer("many", x="ptr<f32>", n="i32")
    with w.loop(0, w.n) as loop:
        w.scatter(w.x[w.iota(SIZE) + loop.counter.splat(SIZE) * SIZE], w.const(1, "f32", SIZE))
    assert loops(w.text())[0] == 1


def test_entry_without_such_loops_stays_the_same() -> None:
    w = Writer("plain", x="ptr<f32>")
    w.scatter(w.x[w.iota(SIZE)], w.const(1, "f32", SIZE))
    entry = load(w.text()).entries[0]
    assert unrolled(entry) is entry


def test_two_loops_of_one_trip_load_a_tile_once() -> None:
    """As in a normalisation whose row fits a tile: one loop sums it, one writes what is left of it."""
    w = Writer("twice", x="ptr<f32>", y="ptr<f32>")
    w.promise(x=16, y=16)
    lane = w.iota(ROW)
    with w.loop(0, ROW, ROW, carried=[w.const(0, "f32")]) as first:
        row, _ = w.gather(w.x[lane + first.counter.splat(ROW)])
        first.values = [first.values[0] + row.reduce(0)]
    with w.loop(0, ROW, ROW) as second:
        here = lane + second.counter.splat(ROW)
        row, _ = w.gather(w.x[here])
        w.scatter(w.y[here], row - first.values[0].splat(ROW))
    ptx = tilesat.compile(w.text()).ptx
    assert ptx.count("ld.global") == 2
    assert "bra" not in ptx


def numbers(w: Writer, factor: Tile, trips: int) -> str:
    """y = what a loop makes of 1, which it adds the counter to, and multiplies in every other iteration."""
    with w.loop(0, trips, carried=[w.const(1, "i32")]) as loop:
        odd = loop.counter.rem(2) > 0
        total = loop.values[0] + loop.counter
        loop.values = w.branch(odd, lambda: [total * factor], lambda: [total])
    lane = w.iota(SIZE)
    w.scatter(w.y[lane], loop.values[0].to("f32").splat(SIZE))
    return w.text()


def test_loops_of_constants_run_in_the_compiler() -> None:
    trips = 3 * MOST_TRIPS
    w = Writer("constants", x="ptr<f32>", y="ptr<f32>", n="i32")
    text = numbers(w, w.const(3, "i32"), trips)
    left, module = loops(text)
    assert left == 0
    same(text, module)
    ptx = tilesat.compile(text).ptx
    value = 1
    for counter in range(trips):
        value = (value + counter) * (3 if counter % 2 else 1)
    assert "bra" not in ptx
    assert f"0f{np.float32(value).view(np.uint32):08X}" in ptx


@pytest.mark.parametrize("case", ["a number of the kernel", "too many operations"])
def test_other_loops_of_numbers_stay(case: str) -> None:
    w = Writer("numbers", x="ptr<f32>", y="ptr<f32>", n="i32")
    given = case == "a number of the kernel"
    text = numbers(w, w.n, 3 * MOST_TRIPS) if given else numbers(w, w.const(3, "i32"), MOST_OPERATIONS)
    assert loops(text)[0] == 1
