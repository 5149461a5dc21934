"""Scratch memory and rings that lie over each other: a ring is filled once all threads have read the scratch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import Block, Builder
from ir.dialects import arith, nv_tileas
from ir.types import F32
from lowering.convert.tileas_to_nvgpu.emitter import EVERYWHERE, Emitter
from lowering.convert.tileas_to_nvgpu.registers import Registers
from lowering.layouts.anchors import coalesced
from lowering.schedule.scratch import read_by
from lowering.targets import target
from tests.programs.agents import DEEP, K, M, N, Product
from tests.programs.products import block_scaled
from tests.programs.program import PROGRAMS, Program, check, random
from tilesat.fuzz.writer import Tile, Writer

SMALL, LARGE, TILES, SIDE = 32, 128, 5, 512
"""Tiles of the first ring, and of the product whose transpose goes through more scratch than that ring holds."""

Body = Callable[[Product, Tile], Tile]


def zero_trips(p: Product, never: Tile) -> Tile:
    """The first ring is in a loop that does not run."""
    transposed(p)
    with p.w.loop(0, never.where(p.w.i32(3), 0), carried=[zeros(p)]) as outer:
        outer.values = [small_product(p, outer.values[0])]
    return outer.values[0]


def side_not_taken(p: Product, never: Tile) -> Tile:
    """The first ring is on the side of a branch that is not taken."""
    transposed(p)
    return p.w.branch(never, lambda: [small_product(p, zeros(p))], lambda: [zeros(p)])[0]


def other_side(p: Product, never: Tile) -> Tile:
    """The scratch is on one side of a branch, the first ring on the other."""

    def scratch() -> list[Tile]:
        transposed(p)
        return [zeros(p)]

    return p.w.branch(never.eq(False), scratch, lambda: [small_product(p, zeros(p))])[0]


def zeros(p: Product) -> Tile:
    return p.w.const(0.0, "f32", SMALL, SMALL)


def transposed(p: Product) -> None:
    """The largest of a product and its transpose in each row: one of the two needs another layout."""
    w = p.w
    a = w.view(w.a, [w.rows, DEEP], [DEEP, 1], [LARGE, K])
    product = w.dot(w.load(a, 0, 0), w.load(a, 1, 0).T)
    w.store((product + product.T).reduce(1, "max"), w.view(w.side, [SIDE], [1], [LARGE]), 0)


def small_product(p: Product, c: Tile) -> Tile:
    """A loop whose tiles come ahead into a small ring."""
    w = p.w
    a = w.view(w.a, [w.rows, DEEP], [DEEP, 1], [SMALL, SMALL])
    b = w.view(w.b, [DEEP, N], [N, 1], [SMALL, SMALL])
    with w.loop(0, DEEP // SMALL, carried=[c]) as loop:
        loop.values = [w.dot(w.load(a, 0, loop.counter), w.load(b, loop.counter, 0), loop.values[0])]
    return loop.values[0]


def program(body: Body) -> Program:
    """`body`, then a product with a ring of its own; table[0] is below 1000."""

    def source() -> str:
        w = Writer(body.__name__, a="ptr<f16>", b="ptr<f16>", d="ptr<f32>", table="ptr<i32>", side="ptr<f32>",
                   rows="i32")  # fmt: skip
        w.promise(a=16, b=16, d=16, side=16, rows=1)
        p = Product(w)
        small = body(p, w.gather(w.table)[0] > 1000)
        w.store(p.product(w.i32(0)), p.d, 0, 0)
        w.store(small, w.view(w.d, [w.rows, N], [N, 1], [SMALL, SMALL]), M // SMALL, 0)
        return w.text()

    def arguments() -> list[Any]:
        return [
            random((TILES * M, DEEP), "f16", 1, 0.3), random((DEEP, N), "f16", 2), random((TILES * M, N), "f32", 3),
            np.array([999], np.int32), random((SIDE,), "f32", 4), TILES * M,
        ]  # fmt: skip

    def says(a: Any, b: Any, d: Any, table: Any, side: Any, rows: int) -> dict[int, Any]:
        a, b = a.astype(np.float64), b.astype(np.float64)
        product = a[:LARGE, :K] @ a[LARGE : 2 * LARGE, :K].T
        d[:M], d[M : M + SMALL, :SMALL], side[:LARGE] = a[:M] @ b, 0.0, (product + product.T).max(1)
        return {2: d, 4: side}

    return Program(body.__name__, source, arguments, (1,), says, 2e-3)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("body", [zero_trips, side_not_taken, other_side])
def test_a_ring_over_scratch_waits_for_its_readers(body: Body, target: str) -> None:
    """The scratch lies over both rings on sm_80, whichever of them is filled."""
    kernel = check(program(body), target)
    text = kernel.stages["nv_tileas"]
    scratch, rings = (sorted(int(n) for n in re.findall(rf"\b{key} = (\d+)", text)) for key in ("scratch", "offset"))
    assert scratch, "nothing goes through scratch memory"
    assert target != "sm_80" or scratch[0] in rings[:-2], "the scratch lies beside the rings: the test could not fail"


def rings_and_buffers(p: Product, never: Tile) -> Tile:
    """Rings between buffers that are filled once: with 64 KiB of scratch they fit only where those lie together."""
    small = zeros(p)
    for _ in range(4):
        transposed(p)
        small = p.w.branch(never, lambda small=small: [small_product(p, small)], lambda small=small: [small])[0]
    transposed(p)
    return small


@pytest.mark.in_turn
def test_buffers_that_are_filled_once_lie_together() -> None:
    kernel = check(program(rings_and_buffers), "sm_80")
    resources = kernel.compiled.selection.answer.resources
    used = max(bytes for name, bytes in resources.items() if name.startswith("shared memory"))
    assert 0 < kernel.manifest["dynamic_smem"] <= used + 1024 * len(resources)


class Waiting(Registers):
    """A tile in shared memory that waits to be read; counts when it is forced."""

    reads_shared = True
    forced = 0

    def force(self) -> None:
        self.forced += 1


@pytest.mark.parametrize("publishes", [False, True])
@pytest.mark.parametrize("scratch", [False, True])
def test_a_barrier_that_only_publishes_leaves_tiles_in_shared_memory(publishes: bool, scratch: bool) -> None:
    """All fragments of the values were read before the keys had arrived: 128 registers of sliding-window attention. A
    tile in scratch that is read behind the barrier has scratch in use, so its next use waits for all readers.
    """
    emitter = Emitter(Block([]), 4)
    tile = Waiting(emitter, coalesced((64,), 0, 4, 4), F32)
    tile.reads_scratch = scratch
    emitter.pending.append(tile)
    emitter.scratch_read = EVERYWHERE
    emitter.barrier(publishes)
    assert (tile.forced, emitter.pending) == ((0, [tile]) if publishes else (1, []))
    assert emitter.scratch_read == (EVERYWHERE if publishes and scratch else range(0))


def chained(steps: int, looped: bool) -> Program:
    """Each reduction across warps needs the one before it."""

    def source() -> str:
        w = Writer(f"chained{steps}", x="ptr<f32>", y="ptr<f32>")
        w.promise(x=16, y=16)
        value = w.load(w.view(w.x, [SIDE], [1], [SIDE]), 0)

        def follow(value: Tile) -> Tile:
            for step in range(steps):
                value = value * 0.5 - value.reduce(0, ("max", "add", "min")[step % 3]).splat(SIDE) * 0.01
            return value

        if looped:
            with w.loop(0, 40, carried=[value]) as loop:
                loop.values = [follow(loop.values[0])]
            value = loop.values[0]
        w.store(follow(value), w.view(w.y, [SIDE], [1], [SIDE]), 0)
        return w.text()

    return Program(f"chained{steps}", source, lambda: [random((SIDE,), "f32", 1), random((SIDE,), "f32", 2)])


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_reductions_in_a_row_meet_once_each(target: str) -> None:
    """All wrote the same bytes, so each waited for the readers of the one before: twice as many barriers."""
    assert check(chained(5, False), target).ptx.count("bar.sync") == 5


@pytest.mark.in_turn
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_reductions_of_a_loop_wait_for_the_iteration_before(steps: int) -> None:
    """An odd number of them ends where it begins; without its first barrier the loop is a race."""
    kernel = check(chained(steps, True), "sm_80")
    assert kernel.ptx.count("bar.sync") == 2 * steps + 2


block_scaled("scaled-apart", "f8E4M3FN", (256, 256, 128), 32, 2)
SCALED = PROGRAMS.pop("scaled-apart")  # not of the corpus


@pytest.mark.in_turn
def test_factors_lie_apart_where_registers_would_not_hold_one() -> None:
    """Both come through scratch memory; 504 bytes of spills where writing one made the other be read as a whole."""
    kernel = check(SCALED, "sm_100")
    assert "apart" in kernel.stages["nv_tileas"]


@pytest.mark.in_turn
def test_what_a_scaled_factor_is_read_from() -> None:
    """Scaling goes register by register, so it reads the conversion before it in pieces as the product would."""
    func, tier = (
        tilesat.compile(SCALED.source(), "sm_100a", forbid=["tcgen05"]).compiled.modules["nv_tileas"],
        target("sm_100a"),
    )
    products = [op for op in func.walk() if isinstance(op, nv_tileas.Dot)]
    factors = [value for op in products for value in (op.a, op.b) if read_by(value, tier)]
    assert factors
    for factor in factors:
        scaled = Builder(Block()).add(arith.MulF, factor, factor, types=[factor.type])
        assert read_by(scaled.result, tier) == read_by(factor, tier)
