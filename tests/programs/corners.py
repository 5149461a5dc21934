"""Products whose loops are unusual: what they carry, how they count, what they read and who reads what they leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.program import Program, random
from tilesat.fuzz.writer import Tile, Writer

Body = Callable[["Product"], None]
PRODUCTS: dict[str, Body] = {}
"""By name."""
DEPTH = 8  # tiles along k that there are


class Product:
    """A program over A[blocks * m, k], B[k, n], D[blocks * m, n], an i32 table of 64 numbers and a number of steps."""

    def __init__(self, w: Writer, tile: tuple[int, int, int], blocks: int):
        self.w = w
        self.m, self.n, self.k = tile
        m, n, k = tile
        self.a = w.view(w.a, [m * blocks, k * DEPTH], [k * DEPTH, 1], [m, k])
        self.b = w.view(w.b, [k * DEPTH, n], [n, 1], [k, n])
        self.d = w.view(w.d, [m * blocks, n], [n, 1], [m, n])
        self.block = w.ids[0]

    def zeros(self) -> Tile:
        return self.w.const(0, "f32", self.m, self.n)

    def table(self, index: int | Tile) -> Tile:
        return self.w.gather(self.w.table[self.w.i32(index)])[0]

    def step(self, acc: Tile, k: int | Tile, right: int | Tile | None = None, token: Tile | None = None) -> Tile:
        a = self.w.load(self.a, self.block, k, token=token)
        return self.w.dot(a, self.w.load(self.b, k if right is None else right, 0), acc)

    def total(self, start: Tile | None = None, lower: Any = 0, upper: Any = None, step: int = 1, more: int = 0) -> Tile:
        """A sum of products from `lower` to `upper`, of tiles that lie `more` behind the counter."""
        with self.w.loop(lower, self.w.steps if upper is None else upper, step, [start or self.zeros()]) as loop:
            k = loop.counter + more if more else loop.counter
            loop.values = [self.step(loop.values[0], k, loop.counter)]
        return loop.values[0]

    def store(self, tile: Tile, token: Tile | None = None) -> None:
        self.w.store(tile, self.d, self.block, 0, token=token)


def program(name: str, steps: int = 3, tile: tuple[int, int, int] = (128, 128, 64), blocks: int = 1) -> Program:
    """One of `PRODUCTS` of so many steps."""
    m, n, k = tile

    def source() -> str:
        w = Writer(name, a="ptr<f16>", b="ptr<f16>", d="ptr<f32>", table="ptr<i32>", steps="i32")
        w.promise(a=16, b=16, d=16, table=16, steps=1)
        PRODUCTS[name](Product(w, tile, blocks))
        return w.text()

    def arguments() -> list[Any]:
        return [
            random((m * blocks, k * DEPTH), "f16", 1, 0.3), random((k * DEPTH, n), "f16", 2),
            random((m * blocks, n), "f32", 3), np.arange(64, dtype=np.int32), steps,
        ]  # fmt: skip

    return Program(name, source, arguments, (blocks,), None, 3e-3)


def product(body: Body) -> Body:
    """Add to the programs."""
    PRODUCTS[body.__name__] = body
    return body


@product
def scalar_read_behind(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros(), p.w.i32(5)]) as loop:
        acc, count = loop.values
        loop.values = [p.step(acc, loop.counter), count * 3 + loop.counter]
    p.store(loop.values[0])
    p.w.scatter(p.w.table, loop.values[1])


@product
def carried_index(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros(), p.w.i32(0)]) as loop:
        acc, k = loop.values
        loop.values = [p.step(acc, k), k + 1]
    p.store(loop.values[0])


@product
def carried_index_read_behind(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros(), p.w.i32(0)]) as loop:
        acc, k = loop.values
        loop.values = [p.step(acc, k), k + 1]
    p.store(loop.values[0] + loop.values[1].to("f32").splat(p.m, p.n))


@product
def two_sums(p: Product) -> None:
    p.store(p.total() - p.total(more=1))


@product
def two_loops_of_one_sum(p: Product) -> None:
    p.store(p.total(p.total(), more=1))


@product
def every_other_step(p: Product) -> None:
    p.store(p.total(lower=1, upper=p.w.steps + 2, step=2))


@product
def factor_stored_before(p: Product) -> None:
    tile, token = p.w.load_token(p.a, p.block, 0)
    token = p.w.store(tile + tile, p.a, p.block, 0, token=token)
    with p.w.loop(0, p.w.steps, carried=[p.zeros()]) as loop:
        loop.values = [p.step(loop.values[0], loop.counter, token=token)]
    p.store(loop.values[0])


@product
def from_a_loaded_tile(p: Product) -> None:
    tile, token = p.w.load_token(p.d, p.block, 0)
    p.store(p.total(tile) + 1.0, token)


@product
def sums_read_in_the_loop(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros(), p.w.const(0, "f32", p.m)]) as loop:
        acc, rows = loop.values
        acc = p.step(acc, loop.counter)
        loop.values = [acc, rows + acc.reduce(1)]
    p.store(loop.values[0] + loop.values[1].column(p.n))


@product
def steps_in_a_branch(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros()]) as loop:
        acc, k = loop.values[0], loop.counter
        a, b = p.w.load(p.a, p.block, k), p.w.load(p.b, k, 0)
        loop.values = p.w.branch((k & 1).eq(0), lambda: [p.w.dot(a, b, acc)], lambda: [acc])
    p.store(loop.values[0])


@product
def loop_in_a_branch(p: Product) -> None:
    p.store(p.w.branch(p.table(3).eq(3), lambda: [p.total()], lambda: [p.zeros() + 1.0])[0])


@product
def loop_in_a_loop(p: Product) -> None:
    with p.w.loop(0, 2, carried=[p.zeros()]) as outer:
        outer.values = [outer.values[0] * 2.0 + p.total()]
    p.store(outer.values[0])


@product
def sum_through_two_loops(p: Product) -> None:
    with p.w.loop(0, 2, carried=[p.zeros()]) as outer:
        outer.values = [p.total(outer.values[0])]
    p.store(outer.values[0])


@product
def backwards(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros()]) as loop:
        loop.values = [p.step(loop.values[0], p.w.steps - 1 - loop.counter)]
    p.store(loop.values[0])


@product
def same_left_factor(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros()]) as loop:
        loop.values = [p.step(loop.values[0], 0, loop.counter)]
    p.store(loop.values[0])


@product
def same_factors(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros()]) as loop:
        loop.values = [p.step(loop.values[0], 0)]
    p.store(loop.values[0])


@product
def loaded_bounds(p: Product) -> None:
    p.store(p.total(lower=p.table(1), upper=p.table(4)))


@product
def loaded_index(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros()]) as loop:
        loop.values = [p.step(loop.values[0], p.table(loop.counter + 2), loop.counter)]
    p.store(loop.values[0])


@product
def two_steps_at_once(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros()]) as loop:
        a, b = p.w.load(p.a, p.block, loop.counter), p.w.load(p.b, loop.counter, 0)
        loop.values = [p.w.dot(a, b, p.w.dot(a, b, loop.values[0]))]
    p.store(loop.values[0])


@product
def sum_of_the_step_before(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros(), p.zeros()]) as loop:
        loop.values = [p.step(loop.values[0], loop.counter), loop.values[0]]
    p.store(loop.values[1])
