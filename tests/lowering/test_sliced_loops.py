"""Loops in slices: the interpreter and the simulator say the same of them; which are refused; loads before stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import UnsupportedError, verify
from ir.dialects import cuda_tile as ct
from ir.interpreter import run
from ir.load import load
from ir.text import print_text
from ir.types import I32
from lowering.source.sliced_loops import MOST, in_trips
from tests.programs.program import random
from tilesat.fuzz.writer import Loop, Writer

SIZE = 64
Body = Callable[[Writer, Loop], None]


def carried(w: Writer, loop: Loop) -> None:
    """A value from one iteration to the next, in which the counter shows, and a store of each."""
    number = loop.counter if loop.counter.type.element == I32 else loop.counter.to("i32")
    here = w.iota(SIZE) + (number * SIZE).splat(SIZE)
    row, _ = w.gather(w.x[here])
    loop.values = [loop.values[0] * 0.5 + row * number.to("f32").splat(SIZE)]
    w.scatter(w.y[here], loop.values[0])


def kernel(first: Any, last: Any, step: int, body: Body = carried, kind: str = "i32", **more: Any) -> str:
    """A loop whose bounds are numbers, or the parameter "n"."""
    w = Writer("loop", x="ptr<f32>", y="ptr<f32>", n="i32")
    ends = [w.n if each == "n" else w.const(each, kind) for each in (first, last, step)]
    with w.loop(*ends, carried=[w.const(1.0, "f32", SIZE)], **more) as loop:
        body(w, loop)
    w.scatter(w.y[w.iota(SIZE) + 31 * SIZE], loop.values[0])
    return w.text()


def sliced(text: str, count: int) -> tuple[ct.Module, int]:
    """The module with the loops of its entry in slices."""
    module = load(text)
    entry, ops = module.entries[0], module.body.block.ops
    made, found = in_trips(entry, count)
    ops[ops.index(entry)] = made
    verify(module)
    return module, found


def loops(module: ct.Module) -> int:
    return sum(isinstance(op, ct.For) for op in module.entries[0].walk())


def results(module: ct.Module, n: int) -> Any:
    arguments = [random((32, SIZE), "f32", 3), np.zeros((32, SIZE), np.float32), n]
    run(module, (1,), arguments)
    return arguments[1]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("n", [-(2**31), -1, 0, 1, 3, 4, 5, 13, 30])
@pytest.mark.parametrize(("first", "step"), [(0, 1), (3, 1), (1, 4)])
def test_any_number_of_iterations(first: int, step: int, n: int, count: int) -> None:
    text = kernel(first, "n", step)
    module, found = sliced(text, count)
    assert (found, loops(module)) == (1, 2)
    np.testing.assert_array_equal(results(load(text), n), results(module, n))


@pytest.mark.parametrize(
    ("first", "last", "step", "kind", "more", "left"),
    [
        (0, 8, 1, "i32", {}, 1), (0, 9, 1, "i32", {}, 2), (2, 21, 5, "i32", {}, 1), (0, 3, 1, "i32", {}, 1),
        (0, 30, 7, "i8", {}, 2), (1, 31, 7, "i8", {"unsigned_cmp": True}, 2),
    ],
)  # fmt: skip
def test_known_numbers_of_iterations(
    first: int, last: int, step: int, kind: str, more: dict[str, Any], left: int
) -> None:
    """Without a loop over what is left where nothing is; whole where there are fewer iterations than slices."""
    text = kernel(first, last, step, kind=kind, **more)
    module, _ = sliced(text, 4)
    assert loops(module) == left
    np.testing.assert_array_equal(results(load(text), 0), results(module, 0))


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_simulated_alike(target: str) -> None:
    text = kernel(0, "n", 1)
    module, _ = sliced(text, 4)
    for n in (0, 3, 11):
        x, y = random((32, SIZE), "f32", 3), np.zeros((32, SIZE), np.float32)
        tilesat.compile(print_text(module), target).run((1, 1, 1), x, y, n)
        np.testing.assert_allclose(y, results(load(text), n), rtol=1e-6)


def test_loads_come_before_the_first_store() -> None:
    module, _ = sliced(kernel(0, "n", 1), 4)
    loop = next(op for op in module.entries[0].walk() if isinstance(op, ct.For))
    effects = [type(op) for op in loop.body.block.ops if isinstance(op, ct.LoadPtr | ct.StorePtr)]
    assert effects == [ct.LoadPtr] * 4 + [ct.StorePtr] * 4


def test_a_load_that_waits_for_a_store_stays_behind_it() -> None:
    def chained(w: Writer, loop: Loop) -> None:
        lane = w.iota(SIZE)
        token = w.scatter(w.y[lane], loop.values[0])
        again, _ = w.gather(w.y[lane], token=token)
        loop.values = [again * 2.0]

    text = kernel(0, "n", 1, chained)
    module, _ = sliced(text, 3)
    loop = next(op for op in module.entries[0].walk() if isinstance(op, ct.For))
    effects = [type(op) for op in loop.body.block.ops if isinstance(op, ct.LoadPtr | ct.StorePtr)]
    assert effects == [ct.StorePtr, ct.LoadPtr] * 3
    np.testing.assert_array_equal(results(load(text), 5), results(module, 5))


def leaving(w: Writer, loop: Loop) -> None:
    w.branch(loop.counter > 0, lambda: w.leave(ct.Continue, loop.values[0] + 1.0))
    carried(w, loop)


def checked(w: Writer, loop: Loop) -> None:
    w.builder.add(ct.Assert, (loop.counter < 30).value, types=(), message="below 30")
    carried(w, loop)


@pytest.mark.parametrize(
    ("text", "count", "message"),
    [
        (kernel(0, "n", 1, leaving), 2, "cannot slice the loop: 'cuda_tile.continue' is not expected inside a slice"),
        (kernel(-1, "n", 1), 2, "cannot slice the loop: unsupported lower bound"),
        (kernel("n", 9, 1), 2, "cannot slice the loop: unsupported lower bound"),
        (kernel(0, "n", 1 << 30), 2, "cannot slice the loop: unsupported step"),
        (kernel(0, 30, "n"), 2, "cannot slice the loop: unsupported step"),
        (kernel(0, "n", 1, checked), 2, "cannot slice the loop: unsupported 'cuda_tile.assert' in it"),
        (kernel(0, "n", 1), 1, f"cannot slice loops: expected a count of 2 to {MOST}, found 1"),
        (kernel(0, "n", 1), MOST + 1, f"cannot slice loops: expected a count of 2 to {MOST}, found {MOST + 1}"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, count: int, message: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        sliced(text, count)
    assert message in str(caught.value)
    assert caught.value.location.line > 1


def test_only_innermost_loops_are_cut() -> None:
    def around(w: Writer, loop: Loop) -> None:
        with w.loop(0, w.n, carried=loop.values) as inner:
            carried(w, inner)
        loop.values = inner.values

    text = kernel(0, 2, 1, around)
    module, found = sliced(text, 2)
    assert (found, loops(module)) == (1, 3)
    np.testing.assert_array_equal(results(load(text), 5), results(module, 5))
