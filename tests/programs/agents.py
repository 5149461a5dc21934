"""Products whose tiles are found by scalars that one agent has to tell another, and loops of tiles in loops.

Each is A[rows of tile i, K] times B: what i is, and how often, is the point. All are compiled for sm_90a, where a
producer agent brings the tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from tests.programs.program import Program, random
from tilesat.fuzz.writer import Tile, Writer

M, N, K, DEEP, TILES = 64, 64, 32, 160, 5
"""A tile of A is M x K of rows x DEEP, one of B K x N of DEEP x N, one of D M x N."""

AGENTS: dict[str, Program] = {}
"""By name; not part of the corpus for the other targets."""


class Product:
    """A program over A[rows, DEEP], B[DEEP, N], D[tiles, M, N], an i32 table and an f32 side array."""

    def __init__(self, w: Writer):
        self.w = w
        self.a = w.view(w.a, [w.rows, DEEP], [DEEP, 1], [M, K])
        self.b = w.view(w.b, [DEEP, N], [N, 1], [K, N])
        self.d = w.view(w.d, [w.rows, N], [N, 1], [M, N])

    def zeros(self) -> Tile:
        return self.w.const(0.0, "f32", M, N)

    def step(self, row: Tile, k: Tile, c: Tile) -> Tile:
        return self.w.dot(self.w.load(self.a, row, k), self.w.load(self.b, k, 0), c)

    def product(self, row: Tile, steps: int | Tile = DEEP // K, start: Tile | None = None) -> Tile:
        """Row `row` of tiles of A times B, the K loop included."""
        with self.w.loop(0, steps, carried=[start or self.zeros()]) as loop:
            loop.values = [self.step(row, loop.counter, loop.values[0])]
        return loop.values[0]


def agents(
    name: str, body: Callable[[Product], None], expected: Callable[..., Any], blocks: int = 2, tiles: int = TILES
) -> None:
    """`expected(a, b, d, table, side)` gives what the arrays written hold, by name; A has `tiles` tiles of rows."""

    def source() -> str:
        w = Writer(name.replace("-", "_"), a="ptr<f16>", b="ptr<f16>", d="ptr<f32>", table="ptr<i32>", side="ptr<f32>",
                   rows="i32")  # fmt: skip
        w.promise(a=16, b=16, d=16, side=16, rows=1)
        body(Product(w))
        return w.text()

    def arguments() -> list[Any]:
        table = np.random.default_rng(7).permutation(tiles).astype(np.int32)
        return [
            random((tiles * M, DEEP), "f16", 1, 0.3), random((DEEP, N), "f16", 2), random((tiles * M, N), "f32", 3),
            table, random((512,), "f32", 4), tiles * M,
        ]  # fmt: skip

    def says(a: Any, b: Any, d: Any, table: Any, side: Any, _: int) -> dict[int, Any]:
        wide, tiled = a.astype(np.float64).reshape(tiles, M, DEEP), d.reshape(tiles, M, N)
        found = expected(wide, b.astype(np.float64), tiled, table, side)
        places = {"a": 0, "d": 2, "table": 3, "side": 4}
        return {places[k]: np.asarray(v).reshape((a, b, d, table, side)[places[k]].shape) for k, v in found.items()}

    AGENTS[name] = Program(name, source, arguments, (blocks,), says, 2e-3)


def fill(d: Any, rows: Any, products: Any) -> dict[str, Any]:
    """D with these tiles changed."""
    for row, product in zip(rows, products, strict=True):
        d[row] = product
    return {"d": d}


def known_before(p: Product) -> None:
    """The row of tiles is read from a table before the loop."""
    row = p.w.gather(p.w.table[p.w.ids[0]])[0]
    p.w.store(p.product(row), p.d, p.w.ids[0], 0)


def scalar(p: Product, at: Tile, token: Tile | None = None) -> Tile:
    """An element of the table as frontends load it: a tile of one element."""
    return p.w.load(p.w.view(p.w.table, [5], [1], [1]), at, token=token).reshape()


def known_by_view(p: Product) -> None:
    """The row is a tile of one element."""
    p.w.store(p.product(scalar(p, p.w.ids[0])), p.d, p.w.ids[0], 0)


def expert(p: Product) -> None:
    """The operand's base is moved by an index from memory: the host cannot make a tensor map."""
    row = scalar(p, p.w.ids[0])
    base = p.w.a[row * (M * DEEP)].assume(ct.DivBy(16))
    p.a = p.w.view(base, [M, DEEP], [DEEP, 1], [M, K])
    p.w.store(p.product(p.w.i32(0)), p.d, p.w.ids[0], 0)


def experts_by_view(p: Product) -> None:
    """Each round of a persistent loop takes row and steps from the table, as tiles of one element."""
    with p.w.loop(p.w.ids[0], 5, p.w.grid[0]) as tiles:
        row = scalar(p, tiles.counter)
        p.w.store(p.product(row, scalar(p, row)), p.d, tiles.counter, 0)


def known_bound(p: Product) -> None:
    """The number of steps is read from memory."""
    steps = p.w.gather(p.w.table[p.w.ids[0]])[0]
    p.w.store(p.product(p.w.ids[0], steps), p.d, p.w.ids[0], 0)


def table_each_step(p: Product) -> None:
    """Every step reads from the table which tile of K is next."""
    with p.w.loop(0, DEEP // K, carried=[p.zeros()]) as loop:
        k = p.w.gather(p.w.table[loop.counter])[0]
        loop.values = [p.step(p.w.ids[0], k, loop.values[0])]
    p.w.store(loop.values[0], p.d, p.w.ids[0], 0)


def carried_number(p: Product) -> None:
    """The tile of K is carried, and multiplied round the loop."""
    with p.w.loop(0, 7, carried=[p.zeros(), p.w.ids[0]]) as loop:
        c, k = loop.values
        loop.values = [p.step(p.w.ids[0], k, c), (k * 3 + 1).rem(5)]
    p.w.store(loop.values[0], p.d, p.w.ids[0], 0)


def linked_list(p: Product) -> None:
    """Each step reads from the table where to go next."""
    with p.w.loop(0, 7, carried=[p.zeros(), p.w.ids[0]]) as loop:
        c, k = loop.values
        loop.values = [p.step(p.w.ids[0], k, c), p.w.gather(p.w.table[k])[0]]
    p.w.store(loop.values[0], p.d, p.w.ids[0], 0)


def from_the_result(p: Product) -> None:
    """The next tile of K depends on the sign of the sum so far: only the consumers know it."""
    with p.w.loop(0, 7, carried=[p.zeros(), p.w.ids[0]]) as loop:
        c, k = loop.values
        c = p.step(p.w.ids[0], k, c)
        up = c.reduce(1).reduce(0) < 0.0
        loop.values = [c, up.where((k + 1).rem(5), (k + 3).rem(5))]
    p.w.store(loop.values[0], p.d, p.w.ids[0], 0)


def filled_by_consumers(p: Product) -> None:
    """Tiles of B overhang and are padded with -0, which only the consumers' own threads can write."""
    rows = p.w.view(p.w.b, [DEEP - 7, N], [N, 1], [K, N], "neg_zero")
    with p.w.loop(0, DEEP // K, carried=[p.zeros()]) as loop:
        right = p.w.load(rows, loop.counter, 0)
        loop.values = [p.w.dot(p.w.load(p.a, p.w.ids[0], loop.counter), right, loop.values[0])]
    p.w.store(loop.values[0], p.d, p.w.ids[0], 0)


def seen_in_a_branch(p: Product) -> None:
    """One round stores the sum so far: the products may not be in flight then."""
    below = p.w.view(p.w.d, [p.w.rows, N], [N, 1], [M, N])
    with p.w.loop(0, DEEP // K, carried=[p.zeros()]) as loop:
        c = p.step(p.w.ids[0], loop.counter, loop.values[0])

        def keep() -> list[Tile]:
            p.w.store(c, below, p.w.ids[0] + 2, 0)
            return []

        p.w.branch(loop.counter.eq(2), keep, list)
        loop.values = [c]
    p.w.store(loop.values[0], p.d, p.w.ids[0], 0)


def tile_tells_tile(p: Product) -> None:
    """Which tile of B is next depends on the tile of A: a producer of both could not bring the first alone."""
    with p.w.loop(0, DEEP // K, carried=[p.zeros()]) as loop:
        left = p.w.load(p.a, p.w.ids[0], loop.counter)
        up = left.to("f32").reduce(1).reduce(0) < 0.0
        right = p.w.load(p.b, up.where(loop.counter, p.w.i32(0)), 0)
        loop.values = [p.w.dot(left, right, loop.values[0])]
    p.w.store(loop.values[0], p.d, p.w.ids[0], 0)


def reduced(p: Product) -> None:
    """The row of tiles is where the side array's sum says."""
    side = p.w.load(p.w.view(p.w.side, [512], [1], [512]), 0)
    row = (side.reduce(0) < 0.0).where(p.w.i32(1), p.w.i32(3)) + p.w.ids[0]
    p.w.store(p.product(row), p.d, p.w.ids[0], 0)


def scratch_before(p: Product) -> None:
    """A sum over all warps, whose scratch memory must not lie under tiles that the producer brings meanwhile."""
    side = p.w.load(p.w.view(p.w.side, [512], [1], [512]), 0)
    total = side.exp().reduce(0)
    p.w.store(p.product(p.w.ids[0], start=total.splat(M, N)), p.d, p.w.ids[0], 0)


def scratch_in_a_branch(p: Product) -> None:
    """The same where sum and loop stand in one side of a branch."""

    def yes() -> list[Tile]:
        side = p.w.load(p.w.view(p.w.side, [512], [1], [512]), p.w.ids[0] * 0)
        return [p.product(p.w.ids[0], start=(side * p.w.ids[0].to("f32").splat(512)).reduce(0).splat(M, N))]

    p.w.store(p.w.branch(p.w.ids[0] < 3, yes, lambda: [p.zeros()])[0], p.d, p.w.ids[0], 0)


def stored_before(p: Product) -> None:
    """A scalar is stored and then loaded: the producer must get what was stored."""
    mine = p.w.table[p.w.ids[0]]
    old, read = p.w.gather(mine)
    done = p.w.scatter(mine, (old + 2).rem(5), token=read)
    row = p.w.gather(mine, token=done)[0]
    p.w.store(p.product(row), p.d, p.w.ids[0], 0)


def read_then_overwritten(p: Product) -> None:
    """A scalar is loaded and its place overwritten before the loop: the producer must not read it late."""
    mine = p.w.table[p.w.ids[0]]
    row, read = p.w.gather(mine)
    p.w.scatter(mine, row + 100, token=read)
    p.w.store(p.product(row), p.d, p.w.ids[0], 0)


def tile_stored_before(p: Product) -> None:
    """A tile of A is written and then read by the loop: no agent may read it early."""
    a = p.w.load_token(p.a, p.w.ids[0], 0)
    done = p.w.store(a[0] * 2.0, p.a, p.w.ids[0], 0, token=a[1])
    with p.w.loop(0, DEEP // K, carried=[p.zeros()]) as loop:
        left = p.w.load(p.a, p.w.ids[0], loop.counter, token=done)
        loop.values = [p.w.dot(left, p.w.load(p.b, loop.counter, 0), loop.values[0])]
    p.w.store(loop.values[0], p.d, p.w.ids[0], 0)


def stored_each_round(p: Product) -> None:
    """Each round halves a tile of A and then reads A again: store, loop and next store in the order of their tokens."""
    row = p.w.ids[0]
    with p.w.loop(0, 3, carried=[p.zeros(), p.w.token]) as rounds:
        a, read = p.w.load_token(p.a, row, 0, token=rounds.values[1])
        stored = p.w.store(a * 0.5, p.a, row, 0, token=read)
        with p.w.loop(0, DEEP // K, carried=[rounds.values[0], stored]) as loop:
            left, seen = p.w.load_token(p.a, row, loop.counter, token=stored)
            c = p.w.dot(left, p.w.load(p.b, loop.counter, 0), loop.values[0])
            loop.values = [c, p.w.join(loop.values[1], seen)]
        rounds.values = loop.values
    p.w.store(rounds.values[0], p.d, row, 0)


def persistent(p: Product) -> None:
    """Each block takes every second row of tiles, the K loop inside."""
    with p.w.loop(p.w.ids[0], 5, p.w.grid[0]) as tiles:
        p.w.store(p.product(tiles.counter), p.d, tiles.counter, 0)


def persistent_table(p: Product) -> None:
    """The same by a table, with a number of steps that may be none."""
    with p.w.loop(p.w.ids[0], 5, p.w.grid[0]) as tiles:
        row = p.w.gather(p.w.table[tiles.counter])[0]
        p.w.store(p.product(row, row), p.d, row, 0)


def persistent_ordered(p: Product) -> None:
    """Each round reads the number that the last round has stored: of a tile and of its steps, which may be none."""
    mine = p.w.table[p.w.ids[0]]
    with p.w.loop(0, 6, carried=[p.w.token]) as rounds:
        row, read = p.w.gather(mine, token=rounds.values[0])
        rounds.values = [p.w.scatter(mine, (row + 2).rem(5), token=read)]
        p.w.store(p.product(row, row), p.d, row, 0)


def work_queue(p: Product) -> None:
    """A persistent kernel whose blocks draw their rows of tiles from a counter in memory."""
    with p.w.loop(0, 3, carried=[p.w.token]) as rounds:
        drawn, token = p.w.update(p.w.table[p.w.i32(0)], p.w.i32(1), mode="add", token=rounds.values[0])
        rounds.values = [token]
        row = drawn.rem(5)
        p.w.store(p.product(row), p.d, row, 0)


def endless_queue(p: Product) -> None:
    """The same until a row beyond the last is drawn: only the consumers know when that is."""
    w = p.w

    def body(values: list[Tile]) -> list[Tile]:
        drawn, token = w.update(w.table[w.i32(0)], w.i32(1), mode="add", token=values[0])
        w.branch(drawn < 8, list, lambda: w.leave(ct.Break, token))
        row = drawn.rem(5)
        w.store(p.product(row, row), p.d, row, 0)
        return [token]

    w.endless([w.token], body)


def acquired(p: Product) -> None:
    """Row and steps by an acquiring load and a weak one behind it: neither may be made early, nor twice."""
    more = {"order": ct.MemoryOrder.ACQUIRE, "scope": ct.Scope.DEVICE}
    row, after = p.w.gather(p.w.table[p.w.ids[0]], **more)
    steps = scalar(p, p.w.ids[0] + 1, after)
    p.w.store(p.product(row, steps), p.d, p.w.ids[0], 0)


def in_a_branch(p: Product) -> None:
    """Either of two K loops, by a scalar from memory."""
    row = p.w.gather(p.w.table[p.w.ids[0]])[0]
    yes = lambda: [p.product(row)]  # noqa: E731
    no = lambda: [p.product(row, 2) * 2.0]  # noqa: E731
    p.w.store(p.w.branch(row < 2, yes, no)[0], p.d, p.w.ids[0], 0)


def two_loops(p: Product) -> None:
    """Two K loops after each other in a loop, one of them only in some rounds."""
    with p.w.loop(p.w.ids[0], 5, p.w.grid[0]) as tiles:
        row = tiles.counter
        first = p.product(row)
        other = p.w.branch(p.w.gather(p.w.table[row])[0] < 3, lambda: [p.product(4 - row, 3)], lambda: [p.zeros()])
        p.w.store(first + other[0], p.d, row, 0)


def ring_around_ring(p: Product) -> None:
    """A tile of A for each round of the outer loop, one of B for each of the inner one: two rings, one inside."""
    with p.w.loop(0, DEEP // K, carried=[p.zeros()]) as outer:
        left = p.w.load(p.a, p.w.ids[0], outer.counter)
        with p.w.loop(0, outer.counter, carried=[outer.values[0]]) as inner:
            right = p.w.load(p.b, inner.counter, 0)
            inner.values = [p.w.dot(left, right, inner.values[0])]
        outer.values = [inner.values[0] * 0.5]
    p.w.store(outer.values[0], p.d, p.w.ids[0], 0)


def links(table: Any, start: int, count: int) -> list[int]:
    found = [start]
    while len(found) < count:
        found.append(int(table[found[-1]]))
    return found


def part(a: Any, b: Any, k: int) -> Any:
    """Step k of a row of tiles."""
    return a[:, k * K : (k + 1) * K] @ b[k * K : (k + 1) * K]


def by_sign(a: Any, b: Any, k: int) -> Any:
    c = np.zeros((M, N))
    for _ in range(7):
        c = c + part(a, b, k)
        k = (k + 1) % 5 if c.sum() < 0 else (k + 3) % 5
    return c


def told(a: Any, b: Any, k: int) -> Any:
    left = a[:, k * K : (k + 1) * K]
    k = k if left.sum() < 0 else 0
    return left @ b[k * K : (k + 1) * K]


def rings(a: Any, b: Any) -> Any:
    c = np.zeros((M, N))
    for k in range(DEEP // K):
        c = (c + sum(a[:, k * K : (k + 1) * K] @ b[j * K : (j + 1) * K] for j in range(k))) * 0.5
    return c


def halved(a: Any, b: Any) -> Any:
    c = np.zeros((M, N))
    for _ in range(3):
        a[:, :K] /= 2
        c = c + a @ b
    return c


def rounds(a: Any, b: Any, d: Any, table: Any) -> dict[str, Any]:
    for block in range(1):
        for _ in range(6):
            row = table[block]
            d[row] = a[row][:, : K * row] @ b[: K * row]
            table[block] = (row + 2) % 5
    return {"d": d, "table": table}


def doubled(a: Any) -> Any:
    for block in range(2):
        a[block, :, :K] *= 2
    return a


TWO = range(2)
agents("agents-known-before", known_before, lambda a, b, d, t, s: fill(d, TWO, [a[t[i]] @ b for i in TWO]))
agents("agents-known-by-view", known_by_view, lambda a, b, d, t, s: fill(d, TWO, [a[t[i]] @ b for i in TWO]))
agents("agents-expert", expert, lambda a, b, d, t, s: fill(d, TWO, [a[t[i]] @ b for i in TWO]))
agents(
    "agents-experts-by-view", experts_by_view,
    lambda a, b, d, t, s: fill(d, range(5), [a[r][:, : K * t[r]] @ b[: K * t[r]] for r in t]),
)  # fmt: skip
agents(
    "agents-known-bound", known_bound,
    lambda a, b, d, t, s: fill(d, TWO, [a[i][:, : K * t[i]] @ b[: K * t[i]] for i in TWO]),
)  # fmt: skip
agents("agents-table-each-step", table_each_step, lambda a, b, d, t, s: fill(d, TWO, [a[i] @ b for i in TWO]))
agents(
    "agents-carried-number", carried_number,
    lambda a, b, d, t, s: fill(
        d, TWO, [sum(part(a[i], b, k) for k in links([(3 * k + 1) % 5 for k in range(5)], i, 7)) for i in TWO]
    ),
)  # fmt: skip
agents(
    "agents-linked-list", linked_list,
    lambda a, b, d, t, s: fill(d, TWO, [sum(part(a[i], b, k) for k in links(t, i, 7)) for i in TWO]),
)  # fmt: skip
agents(
    "agents-from-the-result", from_the_result, lambda a, b, d, t, s: fill(d, TWO, [by_sign(a[i], b, i) for i in TWO])
)
agents(
    "agents-filled-by-consumers", filled_by_consumers,
    lambda a, b, d, t, s: fill(d, TWO, [a[i][:, :-7] @ b[:-7] for i in TWO]),
)  # fmt: skip
agents(
    "agents-seen-in-a-branch", seen_in_a_branch,
    lambda a, b, d, t, s: fill(
        d, range(4), [a[i] @ b for i in TWO] + [a[i][:, : 3 * K] @ b[: 3 * K] for i in TWO]
    ),
)  # fmt: skip
agents(
    "agents-tile-tells-tile", tile_tells_tile,
    lambda a, b, d, t, s: fill(d, TWO, [sum(told(a[i], b, k) for k in range(DEEP // K)) for i in TWO]),
)  # fmt: skip
agents(
    "agents-reduced", reduced,
    lambda a, b, d, t, s: fill(d, TWO, [a[(1 if s.sum() < 0 else 3) + i] @ b for i in TWO]),
)  # fmt: skip
agents(
    "agents-scratch-before", scratch_before,
    lambda a, b, d, t, s: fill(d, TWO, [a[i] @ b + np.exp(s.astype(np.float64)).sum() for i in TWO]),
)  # fmt: skip
agents(
    "agents-scratch-in-a-branch", scratch_in_a_branch,
    lambda a, b, d, t, s: fill(d, TWO, [a[i] @ b + i * s.astype(np.float64).sum() for i in TWO]),
)  # fmt: skip
agents(
    "agents-stored-before", stored_before,
    lambda a, b, d, t, s: {
        **fill(d, TWO, [a[(t[i] + 2) % 5] @ b for i in TWO]), "table": np.r_[(t[:2] + 2) % 5, t[2:]],
    },
)  # fmt: skip
agents(
    "agents-read-then-overwritten", read_then_overwritten,
    lambda a, b, d, t, s: {**fill(d, TWO, [a[t[i]] @ b for i in TWO]), "table": np.r_[t[:2] + 100, t[2:]]},
)  # fmt: skip
agents(
    "agents-tile-stored-before", tile_stored_before,
    lambda a, b, d, t, s: fill(d, TWO, [x @ b for x in doubled(a)[:2]]),
)  # fmt: skip
agents("agents-persistent", persistent, lambda a, b, d, t, s: fill(d, range(5), [x @ b for x in a]))
agents(
    "agents-persistent-table", persistent_table,
    lambda a, b, d, t, s: fill(d, t, [a[r][:, : K * r] @ b[: K * r] for r in t]),
)  # fmt: skip
agents("agents-persistent-ordered", persistent_ordered, lambda a, b, d, t, s: rounds(a, b, d, t), blocks=1)
agents(
    "agents-work-queue", work_queue,
    lambda a, b, d, t, s: {**fill(d, range(5), [x @ b for x in a]), "table": np.r_[t[0] + 6, t[1:]]},
)  # fmt: skip
agents(
    "agents-endless-queue", endless_queue,
    lambda a, b, d, t, s: {
        **fill(d, *zip(*((r % 5, a[r % 5][:, : K * (r % 5)] @ b[: K * (r % 5)]) for r in range(t[0], 8)), strict=True)),
        "table": np.r_[8 + 2, t[1:]],
    },
)  # fmt: skip
agents(
    "agents-acquired", acquired,
    lambda a, b, d, t, s: fill(d, TWO, [a[t[i]][:, : K * t[i + 1]] @ b[: K * t[i + 1]] for i in TWO]),
)  # fmt: skip
agents(
    "agents-in-a-branch", in_a_branch,
    lambda a, b, d, t, s: fill(
        d, TWO, [a[t[i]] @ b if t[i] < 2 else 2 * a[t[i]][:, : 2 * K] @ b[: 2 * K] for i in TWO]
    ),
)  # fmt: skip
agents(
    "agents-two-loops", two_loops,
    lambda a, b, d, t, s: fill(
        d, range(5), [a[i] @ b + (a[4 - i][:, : 3 * K] @ b[: 3 * K] if t[i] < 3 else 0) for i in range(5)]
    ),
)  # fmt: skip
agents("agents-ring-around-ring", ring_around_ring, lambda a, b, d, t, s: fill(d, TWO, [rings(a[i], b) for i in TWO]))
agents(
    "agents-stored-each-round", stored_each_round, lambda a, b, d, t, s: fill(d, TWO, [halved(a[i], b) for i in TWO])
)
