"""More unusual loops around products: stores in them, factors masked or read twice, exits on loaded values."""

from __future__ import annotations

from ir.dialects import cuda_tile as ct
from tests.programs.corners import Product, product
from tilesat.fuzz.writer import Tile

GREATER = ct.Predicate.GREATER_THAN_OR_EQUAL


@product
def next_factor_stored(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros(), p.w.token]) as loop:
        acc, token = loop.values
        a, token = p.w.load_token(p.a, p.block, loop.counter, token=token)
        token = p.w.store(a * 0.5, p.a, p.block, loop.counter + 1, token=token)
        loop.values = [p.w.dot(a, p.w.load(p.b, loop.counter, 0), acc), token]
    p.store(loop.values[0])


@product
def sum_in_memory(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.w.token]) as loop:
        d, token = p.w.load_token(p.d, p.block, 0, token=loop.values[0])
        loop.values = [p.w.store(p.step(d, loop.counter), p.d, p.block, 0, token=token)]


@product
def left_by_a_loaded_scalar(p: Product) -> None:
    def body(values: list[Tile]) -> list[Tile]:
        k, acc = values
        acc = p.step(acc, k)
        p.w.branch(p.table(k + 1).compare(GREATER, p.w.steps), lambda: p.w.leave(ct.Break, acc))
        return [k + 1, acc]

    p.store(p.w.endless([p.w.i32(0), p.zeros()], body, [p.zeros()])[0])


@product
def left_by_a_sum(p: Product) -> None:
    def body(values: list[Tile]) -> list[Tile]:
        k, acc = values
        p.w.branch(k.compare(GREATER, p.w.steps), lambda: p.w.leave(ct.Break, acc))
        made = p.step(acc, k)
        p.w.branch(made.reduce(1, "max").reduce(0, "max") > 100.0, lambda: p.w.leave(ct.Break, made))
        return [k + 1, made]

    p.store(p.w.endless([p.w.i32(0), p.zeros()], body, [p.zeros()])[0])


@product
def steps_left_out(p: Product) -> None:
    with p.w.loop(0, p.w.steps + 2, carried=[p.zeros()]) as loop:
        acc = loop.values[0]
        p.w.branch(p.table(loop.counter).eq(1), lambda: p.w.leave(ct.Continue, acc))
        loop.values = [p.step(acc, loop.counter)]
    p.store(loop.values[0])


@product
def masked_left_factor(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros()]) as loop:
        k = (loop.counter * p.k).splat(p.k) + p.w.iota(p.k)
        a = (k < (p.w.steps * 50).splat(p.k)).row(p.m).where(p.w.load(p.a, p.block, loop.counter), 0.0)
        loop.values = [p.w.dot(a, p.w.load(p.b, loop.counter, 0), loop.values[0])]
    p.store(loop.values[0])


@product
def one_of_two_products_masked(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros()]) as loop:
        a, b = p.w.load(p.a, p.block, loop.counter), p.w.load(p.b, loop.counter, 0)
        column = p.w.iota(p.n) + (loop.counter * p.n).splat(p.n)
        masked = (column < p.w.const(200, "i32", p.n)).row(p.m).where(p.w.dot(a, b, p.zeros()), -1.0)
        loop.values = [p.w.dot(a, b, loop.values[0] * 0.5) + masked]
    p.store(loop.values[0])


@product
def factors_loaded_a_step_before(p: Product) -> None:
    tiles = [p.w.load(p.a, p.block, 0), p.w.load(p.b, 0, 0)]
    with p.w.loop(0, p.w.steps, carried=[p.zeros(), *tiles]) as loop:
        acc, a, b = loop.values
        following = loop.counter + 1
        loop.values = [p.w.dot(a, b, acc), p.w.load(p.a, p.block, following), p.w.load(p.b, following, 0)]
    p.store(loop.values[0])


@product
def factor_summed_too(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros(), p.w.const(0, "f32", p.m)]) as loop:
        a, (acc, rows) = p.w.load(p.a, p.block, loop.counter), loop.values
        loop.values = [p.w.dot(a, p.w.load(p.b, loop.counter, 0), acc), rows + a.to("f32").reduce(1)]
    p.store(loop.values[0] + loop.values[1].column(p.n))


@product
def two_sums_in_turn(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros(), p.zeros() + 1.0]) as loop:
        loop.values = [loop.values[1], p.step(loop.values[0], loop.counter)]
    p.store(loop.values[0] - loop.values[1])


@product
def ticket_for_each_step(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros()]) as loop:
        old, _ = p.w.update(p.w.table[p.block + 20], p.w.i32(1), mode="add")
        loop.values = [p.step(loop.values[0], old & 7)]
    p.store(loop.values[0])


@product
def steps_by_a_table(p: Product) -> None:
    with p.w.loop(0, 3, carried=[p.zeros()]) as outer:
        outer.values = [outer.values[0] + p.total(upper=p.table(outer.counter))]
    p.store(outer.values[0])


@product
def steps_by_a_sum(p: Product) -> None:
    with p.w.loop(0, 3, carried=[p.zeros(), p.w.i32(2)]) as outer:
        x = p.total(outer.values[0], upper=outer.values[1])
        highest = x.reduce(1, "max").reduce(0, "max")
        outer.values = [x, (highest > 0.0).where(p.w.i32(3), p.w.i32(1))]
    p.store(outer.values[0])


@product
def table_changed_in_the_loop(p: Product) -> None:
    place = p.w.table[p.block]
    with p.w.loop(0, p.w.steps, carried=[p.zeros(), p.w.token]) as loop:
        k, token = p.w.gather(place, token=loop.values[1])
        token = p.w.scatter(place, k + 1, token=token)
        loop.values = [p.step(loop.values[0], k), token]
    p.store(loop.values[0])


@product
def token_of_a_branch(p: Product) -> None:
    def doubled() -> list[Tile]:
        a, token = p.w.load_token(p.a, p.block, 0)
        return [p.w.store(a * 2.0, p.a, p.block, 0, token=token)]

    token = p.w.branch(p.table(5).eq(5), doubled, lambda: [p.w.token])[0]
    with p.w.loop(0, p.w.steps, carried=[p.zeros()]) as loop:
        loop.values = [p.step(loop.values[0], loop.counter, token=token)]
    p.store(loop.values[0])


@product
def sum_is_a_factor(p: Product) -> None:
    q = p.total().to("f16")
    rows = p.w.view(p.w.b, [4 * p.n, p.n], [p.n, 1], [p.n, p.n])
    with p.w.loop(0, p.w.steps, carried=[p.zeros()]) as loop:
        loop.values = [p.w.dot(q, p.w.load(rows, loop.counter, 0), loop.values[0])]
    p.store(loop.values[0] * 0.01)


@product
def nothing_gathered(p: Product) -> None:
    with p.w.loop(0, p.w.steps, carried=[p.zeros()]) as loop:
        places = p.w.iota(p.k).column(p.n) * p.n + p.w.iota(p.n).row(p.k) - 1000000
        b, _ = p.w.gather(p.w.b[places], places > 0, 0.0)
        loop.values = [p.w.dot(p.w.load(p.a, p.block, loop.counter), b, loop.values[0] + 1.0)]
    p.store(loop.values[0])
