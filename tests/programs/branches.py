"""Branches: scalars and tiles that they yield, loads and products inside, a return or continue on one side."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from tests.programs.control import F32, program
from tests.programs.program import random
from tilesat.fuzz.writer import Tile, Writer


def branches(w: Writer) -> None:
    """Scalars chosen by a branch, a store on one side only, a branch in a loop."""
    at = w.ids[0]
    scale, shift = w.branch(at < 2, lambda: [w.const(2.0, "f32"), at * 3], lambda: [at.to("f32"), w.const(5, "i32")])
    view = w.view(w.y, [w.n], [1], [32])
    x = w.load(w.view(w.x, [w.n], [1], [32]), at)
    result = x * scale.splat(32) + shift.to("f32").splat(32)
    w.branch(at.ne(1), lambda: [w.store(result, view, at)][:0])
    with w.loop(0, 6, carried=[w.const(0, "i32")]) as loop:
        both = w.branch((loop.counter & 1).eq(0), lambda: [loop.values[0] + 10], lambda: [loop.values[0] * 2])
        loop.values = both
    w.branch(at.eq(1), lambda: [w.store(loop.values[0].to("f32").splat(32), view, at)][:0], list)


def branches_expected(x: Any, y: Any, n: int) -> dict[int, Any]:
    tiles = np.concatenate([x, np.zeros(-n % 32, np.float32)]).reshape(-1, 32)
    out = np.stack([t * (2 if i < 2 else i) + (i * 3 if i < 2 else 5) for i, t in enumerate(tiles)])
    total = 0
    for i in range(6):
        total = total + 10 if i % 2 == 0 else total * 2
    out[1] = total
    return {1: out.reshape(-1)[:n]}


program(
    "branches",
    branches,
    {**F32, "n": "i32"},
    lambda: [random((150,), "f32", 1), random((150,), "f32", 2), 150],
    branches_expected,
    (5,),
)


def branch_around_loop(w: Writer) -> None:
    """A loop on one side of a branch, whose carried scalar the branch yields."""

    def side() -> list[Tile]:
        with w.loop(0, w.n, carried=[w.const(1, "i32")]) as loop:
            loop.values = [loop.values[0] * 3]
        return loop.values

    (found,) = w.branch(w.ids[0].eq(0), side, lambda: [w.ids[0]])
    w.scatter(w.y[w.ids[0]], found)


program(
    "branch-around-loop",
    branch_around_loop,
    {"y": "ptr<i32>", "n": "i32"},
    lambda: [random((4,), "i32", 1), 5],
    lambda y, n: {0: np.array([243, 1, 2, y[3]])},
    (3,),
)


def branch_with_load(w: Writer) -> None:
    """Loads on both sides of a branch, from different arrays; the loaded tile is stored there."""
    at = w.ids[0]
    x, z, y = (w.view(base, [w.n], [1], [64]) for base in (w.x, w.z, w.y))
    w.branch(
        (at & 1).eq(0),
        lambda: [w.store(w.load(x, at) * 2.0, y, at)][:0],
        lambda: [w.store(w.load(z, at) - 1.0, y, at)][:0],
    )


program(
    "branch-with-load",
    branch_with_load,
    {"x": "ptr<f32>", "z": "ptr<f32>", "y": "ptr<f32>", "n": "i32"},
    lambda: [random((200,), "f32", 1), random((200,), "f32", 3), random((200,), "f32", 2), 200],
    lambda x, z, y, n: {2: np.where(np.arange(n) // 64 % 2 == 0, x * 2, z - 1)},
    (4,),
)


def branch_with_tile(w: Writer) -> None:
    """A branch chooses a tile: causal kernels mask only the diagonal block."""
    at = w.ids[0]
    x = w.load(w.view(w.x, [w.n], [1], [64]), at)
    (chosen,) = w.branch(at < 2, lambda: [x * 2.0], lambda: [x + 1.0])
    w.store(chosen, w.view(w.y, [w.n], [1], [64]), at)


program(
    "branch-with-tile",
    branch_with_tile,
    {**F32, "n": "i32"},
    lambda: [random((200,), "f32", 1), random((200,), "f32", 2), 200],
    lambda x, y, n: {1: np.where(np.arange(n) < 128, x * 2, x + 1)},
    (4,),
)


def branch_in_loop_with_load(w: Writer) -> None:
    """An accumulator updated by what one side of a branch loads."""
    x = w.view(w.x, [w.n], [1], [64])
    with w.loop(0, w.tiles(x)[0], carried=[w.const(0.0, "f32", 64)]) as loop:
        (more,) = w.branch(
            loop.counter.rem(3).ne(0),
            lambda: [w.load(x, loop.counter) + loop.values[0]],
            lambda: [loop.values[0] * 0.5],
        )
        loop.values = [more]
    w.store(loop.values[0], w.view(w.y, [64], [1], [64]), 0)


def branch_in_loop_expected(x: Any, y: Any, n: int) -> dict[int, Any]:
    total = np.zeros(64)
    for i, tile in enumerate(np.concatenate([x, np.zeros(-n % 64)]).reshape(-1, 64)):
        total = total + tile if i % 3 else total * 0.5
    return {1: total}


program(
    "branch-in-loop-with-load",
    branch_in_loop_with_load,
    {**F32, "n": "i32"},
    lambda: [random((400,), "f32", 1), random((64,), "f32", 2), 400],
    branch_in_loop_expected,
)


def product_in_branch(w: Writer) -> None:
    """A loop of products on one side of a branch in a loop, a single product on the other, both staged."""
    a, b = w.view(w.a, [64, 256], [256, 1], [64, 32]), w.view(w.b, [256, 64], [64, 1], [32, 64])
    with w.loop(0, 3, carried=[w.const(0.0, "f32", 64, 64)]) as outer:

        def long() -> list[Tile]:
            with w.loop(0, 8, carried=[outer.values[0]]) as inner:
                inner.values = [w.dot(w.load(a, 0, inner.counter), w.load(b, inner.counter, 0), inner.values[0])]
            return inner.values

        def short() -> list[Tile]:
            return [w.dot(w.load(a, 0, outer.counter), w.load(b, outer.counter, 0), outer.values[0] * 0.5)]

        outer.values = w.branch(outer.counter.eq(1), long, short)
    w.store(outer.values[0], w.view(w.d, [64, 64], [64, 1], [64, 64]), 0, 0)


def product_in_branch_expected(a: Any, b: Any, d: Any) -> dict[int, Any]:
    a, b = a.astype(np.float64), b.astype(np.float64)
    part = lambda i: a[:, 32 * i : 32 * i + 32] @ b[32 * i : 32 * i + 32]  # noqa: E731
    return {2: (part(0) + a @ b) * 0.5 + part(2)}


program(
    "product-in-branch",
    product_in_branch,
    {"a": "ptr<f16>", "b": "ptr<f16>", "d": "ptr<f32>"},
    lambda: [random((64, 256), "f16", 1), random((256, 64), "f16", 2), random((64, 64), "f32", 3)],
    product_in_branch_expected,
    (1,),
    2e-3,
)


def exits(w: Writer) -> None:
    """A return on the other side than usual, behind values of the branch; a continue with computed values."""
    at = w.ids[0]
    x, y = (w.view(base, [w.n], [1], [32]) for base in (w.x, w.y))

    def stay() -> list[Tile]:
        return [w.load(x, at) * 2.0]

    def leave() -> list[Tile]:
        w.store(w.load(x, at), y, at)
        w.builder.add(ct.Return, types=())
        return []

    (doubled,) = w.branch(at.rem(3).ne(0), stay, leave)
    with w.loop(0, 5, carried=[doubled, w.const(0, "i32")]) as loop:
        value, count = loop.values

        def skip() -> list[Tile]:
            w.builder.add(ct.Continue, value.value, (count + 1).value, types=())
            return []

        w.branch(loop.counter.eq(2), skip, list)
        loop.values = [value + count.to("f32").splat(32), count + loop.counter]
    w.store(loop.values[0], y, at)


def exits_expected(x: Any, y: Any, n: int) -> dict[int, Any]:
    out = x.copy()
    for at in range(-(-n // 32)):
        if at % 3:
            value, count = x[32 * at : 32 * at + 32] * 2, 0
            for i in range(5):
                value, count = (value, count + 1) if i == 2 else (value + np.float32(count), count + i)
            out[32 * at : 32 * at + 32] = value
    return {1: out}


program(
    "exits",
    exits,
    {**F32, "n": "i32"},
    lambda: [random((150,), "f32", 1), random((150,), "f32", 2), 150],
    exits_expected,
    (5,),
)
