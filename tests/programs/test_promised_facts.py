"""Facts about tiles, addresses, lengths and counters that hold in a region only: nothing outside may rest on them.

In each program some execution computes on values that break the promise, outside the region that makes it. The last
test believes promises everywhere, as if regions did not exist, and every program that it lists must then go wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ir.dialects import cuda_tile as ct
from ptxsim import SimulatorError
from tests.programs.program import Program, check
from tilesat.fuzz.writer import Tile, Writer

SIZE = 64
TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
PARAMETERS = {"x": "ptr<i32>", "y": "ptr<i32>", "v": "i32", "none": "i32"}
BODIES: dict[str, tuple[Callable[[Writer], None], int, int]] = {}
"""By name: what writes the kernel, the value of v, and how many blocks run. `none` is 0."""


def program(v: int, blocks: int = 1) -> Callable[[Callable[[Writer], None]], Callable[[Writer], None]]:
    """Enter a kernel by its name."""

    def enter(body: Callable[[Writer], None]) -> Callable[[Writer], None]:
        BODIES[body.__name__] = body, v, blocks
        return body

    return enter


def never(w: Writer, side: Callable[[], object]) -> None:
    """A side of a branch that no execution takes."""

    def written() -> list[Tile]:
        side()
        return []

    w.branch(w.none.ne(0), written)


def copied(w: Writer, base: Tile, length: int | Tile, index: int | Tile = 0) -> None:
    """y[32 index:32 index + 32] = those of the base, as far as the length goes."""
    x = w.load(w.view(base, [length], [1], [32]), index)
    w.store(x, w.view(w.y, [length], [1], [32]), index)


@program(v=3)
def multiple_of_a_tile(w: Writer) -> None:
    tile = w.iota(32) + w.v.splat(32)
    out = w.view(w.y, [SIZE], [1], [32])
    never(w, lambda: w.store(tile.assume(ct.DivBy(16)), out, 0))
    w.store(tile.rem(16), out, 1)


@program(v=1)
def alignment_of_an_address(w: Writer) -> None:
    base = w.x[w.v]
    never(w, lambda: copied(w, base.assume(ct.DivBy(16)), 32))
    copied(w, base, 32)


@program(v=20)
def least_length(w: Writer) -> None:
    never(w, lambda: copied(w, w.x, w.v.assume(ct.Bounded(32, None))))
    copied(w, w.x, w.v)


@program(v=1)
def bounds_of_an_index(w: Writer) -> None:
    never(w, lambda: copied(w, w.x, 50, w.v.assume(ct.Bounded(0, 0))))
    copied(w, w.x, 50, w.v)


@program(v=9)
def multiple_of_a_stride(w: Writer) -> None:
    def rows(stride: Tile) -> None:
        w.store(w.load(w.view(w.x, [4, 8], [stride, 1], [4, 8]), 0, 0), w.view(w.y, [4, 8], [8, 1], [4, 8]), 0, 0)

    never(w, lambda: rows(w.v.assume(ct.Bounded(1, None), ct.DivBy(4))))
    rows(w.v)


@program(v=1)
def equal_elements(w: Writer) -> None:
    """A mask would be one for each four addresses."""
    at = w.iota(4 * SIZE)
    odd = at & w.v.splat(4 * SIZE)
    out = w.view(w.y, [4 * SIZE], [1], [4 * SIZE])
    never(w, lambda: w.store(odd.assume(ct.SameElements((4,))), out, 0))
    w.scatter(w.y[at], at, odd < 1)


@program(v=6)
def other_promise_on_either_side(w: Writer) -> None:
    of = (16, 2)
    (found,) = w.branch(w.none.ne(0), *(lambda n=n: [w.v.assume(ct.DivBy(n))] for n in of))
    w.scatter(w.y, found.rem(16))
    w.scatter(w.y[w.const(1, "i32")], w.v.rem(16))


@program(v=14)
def true_in_one_trip(w: Writer) -> None:
    with w.loop(0, 3) as loop:
        number = w.v + loop.counter
        w.branch(loop.counter.eq(2), lambda: [w.scatter(w.y[loop.counter], number.assume(ct.DivBy(16)))][:0])
        w.scatter(w.y[loop.counter + 8], number.rem(16))


@program(v=14, blocks=3)
def true_in_one_block(w: Writer) -> None:
    at = w.ids[0]
    number = w.v + at
    w.branch(at.eq(2), lambda: [w.scatter(w.y[at], number.assume(ct.DivBy(16)))][:0])
    w.scatter(w.y[at + 8], number.rem(16))


@program(v=3)
def carried_through_no_trip(w: Writer) -> None:
    with w.loop(0, w.none, carried=[w.v]) as loop:
        loop.values = [loop.values[0].assume(ct.DivBy(16)) + 16]
    w.scatter(w.y, loop.values[0].rem(16))


@program(v=200_000_000)
def invariant_of_a_loop_without_trips(w: Writer) -> None:
    tile = w.iota(32) + w.v.splat(32)
    out = w.view(w.y, [SIZE], [1], [32])
    with w.loop(0, w.none):
        w.store(w.op(ct.MulI, tile, w.const(12, "i32", 32), overflow=ct.Overflow.NO_SIGNED_WRAP).div(12), out, 0)
    w.store((tile * 12).div(12), out, 1)


@program(v=3)
def promised_in_the_inner_of_two_loops(w: Writer) -> None:
    with w.loop(0, 2) as outer:
        number = w.v + outer.counter
        with w.loop(outer.counter, w.none):
            w.scatter(w.y, number.assume(ct.Bounded(100, 200)))
        w.scatter(w.y[outer.counter + 8], number.max(100, signedness=ct.Signedness.SIGNED))


BELIEVED = frozenset(BODIES) - {"equal_elements", "carried_through_no_trip"}
"""Programs that are wrong where promises hold everywhere."""


@program(v=3)
def counter_of_a_loop_without_trips(w: Writer) -> None:
    """The counter would be at least 7 and less than `none`: nothing follows for `none`."""
    with w.loop(7, w.none) as loop:
        w.scatter(w.y[loop.counter], loop.counter)
    w.scatter(w.y, w.none.max(8, signedness=ct.Signedness.SIGNED))
    w.scatter(w.y[w.const(1, "i32")], (w.none > 7).where(w.v, w.none))


@program(v=3)
def divisor_of_a_division(w: Writer) -> None:
    """What is divided by is not zero where the division runs."""
    never(w, lambda: w.scatter(w.y, w.v.div(w.none)))
    w.scatter(w.y[w.const(1, "i32")], w.none.eq(0).where(w.v, w.none))


def made(name: str) -> Program:
    body, v, blocks = BODIES[name]

    def source() -> str:
        w = Writer(name, **PARAMETERS)
        w.promise(x=16, y=16)
        body(w)
        return w.text()

    def arguments() -> list[Any]:
        return [np.random.default_rng(v).integers(1, 1000, 5 * SIZE, np.int32), np.full(4 * SIZE, -1, np.int32), v, 0]

    return Program(name, source, arguments, (blocks,), tolerance=0.0)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", BODIES)
def test_facts_of_a_region_stay_in_it(name: str, target: str) -> None:
    check(made(name), target)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", sorted(BELIEVED))
def test_promises_that_hold_everywhere_are_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("egraph.encode._Encoder.believed", True)
    with pytest.raises((AssertionError, SimulatorError)):
        check(made(name), "sm_80")
