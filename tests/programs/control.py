"""Loops: several carried values, nests, unsigned and 64-bit counters, no iterations, grid strides; scratch, rings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.program import Program, add, random
from tilesat.fuzz.writer import Writer


def program(
    name: str,
    body: Callable[[Writer], None],
    parameters: dict[str, str],
    arguments: Callable[[], list[Any]],
    expected: Callable[..., dict[int, Any]],
    grid: tuple[int, ...] = (1,),
    tolerance: float = 2e-5,
) -> None:
    """`body` writes the kernel; arrays are promised to start on 16 bytes and numbers not to be negative."""

    def source() -> str:
        w = Writer("control", **parameters)
        w.promise(**{p: 16 if kind.startswith("ptr") else 1 for p, kind in parameters.items()})
        body(w)
        return w.text()

    add(Program(name, source, arguments, grid, expected, tolerance))


F32 = {"x": "ptr<f32>", "y": "ptr<f32>"}


def row_sums(w: Writer) -> None:
    """Sum, maximum and count of every row in one loop over its pieces."""
    view = w.view(w.x, [w.m, w.n], [w.n, 1], [8, 32])
    start = [w.const(0.0, "f32", 8), w.const(-np.inf, "f32", 8), w.const(0, "i32")]
    with w.loop(0, w.tiles(view)[1], carried=start) as loop:
        x = w.load(view, w.ids[0], loop.counter)
        total, highest, count = loop.values
        loop.values = [total + x.reduce(1), highest.max(x.reduce(1, "max")), count + 1]
    total, highest, count = loop.values
    w.store(total + highest + count.to("f32").splat(8), w.view(w.y, [w.m], [1], [8]), w.ids[0])


program(
    "loop-three-carried",
    row_sums,
    {**F32, "m": "i32", "n": "i32"},
    lambda: [random((20, 96), "f32", 1), random((20,), "f32", 2), 20, 96],
    lambda x, y, m, n: {1: x.sum(1) + np.maximum(x.max(1), -np.inf) + 3},
    (3,),
)


def row_sums_late(w: Writer) -> None:
    """The whole tile is carried and reduced once, after the loop."""
    view = w.view(w.x, [w.m, w.n], [w.n, 1], [4, 64])
    with w.loop(0, w.tiles(view)[1], carried=[w.const(0.0, "f32", 4, 64)]) as loop:
        loop.values = [loop.values[0] + w.load(view, w.ids[0], loop.counter)]
    w.store(loop.values[0].reduce(1), w.view(w.y, [w.m], [1], [4]), w.ids[0])


program(
    "loop-carried-tile",
    row_sums_late,
    {**F32, "m": "i32", "n": "i32"},
    lambda: [random((10, 200), "f32", 1), random((10,), "f32", 2), 10, 200],
    lambda x, y, m, n: {1: x.sum(1)},
    (3,),
)


def swapped(w: Writer) -> None:
    """Two carried tiles change places: Fibonacci-like sums."""
    view = w.view(w.x, [256], [1], [256])
    x = w.load(view, 0)
    with w.loop(0, w.n, carried=[x, x * 0.5]) as loop:
        a, b = loop.values
        loop.values = [b, a + b]
    w.store(loop.values[0] - loop.values[1], w.view(w.y, [256], [1], [256]), 0)


def fibonacci(x: Any, y: Any, n: int) -> dict[int, Any]:
    a, b = x, x * np.float32(0.5)
    for _ in range(n):
        a, b = b, a + b
    return {1: a - b}


for n in (0, 1, 7):
    program(
        f"loop-swapped-{n}",
        swapped,
        {**F32, "n": "i32"},
        lambda n=n: [random((256,), "f32", 1), random((256,), "f32", 2), n],
        fibonacci,
    )


def nested(w: Writer) -> None:
    """Sum over all tiles of a matrix by a nest of two loops; the inner one carries the outer's values on."""
    view = w.view(w.x, [w.m, w.n], [w.n, 1], [8, 16])
    rows, columns = w.tiles(view)
    with w.loop(0, rows, carried=[w.const(0.0, "f32", 8, 16)]) as outer:
        with w.loop(0, columns, carried=[outer.values[0] * 0.5]) as inner:
            scale = (outer.counter + inner.counter).to("f32").splat(8, 16)
            inner.values = [inner.values[0] + w.load(view, outer.counter, inner.counter) * scale]
        outer.values = inner.values
    w.store(outer.values[0], w.view(w.y, [8, 16], [16, 1], [8, 16]), 0, 0)


def nested_expected(x: Any, y: Any, m: int, n: int) -> dict[int, Any]:
    held = np.zeros((-(-m // 8) * 8, -(-n // 16) * 16))
    held[:m, :n] = x
    total = np.zeros((8, 16))
    for i in range(held.shape[0] // 8):
        total *= 0.5
        for j in range(held.shape[1] // 16):
            total += held[8 * i : 8 * i + 8, 16 * j : 16 * j + 16] * (i + j)
    return {1: total}


program(
    "loop-nested",
    nested,
    {**F32, "m": "i32", "n": "i32"},
    lambda: [random((20, 50), "f32", 1), random((8, 16), "f32", 2), 20, 50],
    nested_expected,
)


def triangular(w: Writer) -> None:
    """The inner loop runs as often as the outer counter says; its step is two."""
    with w.loop(0, 6, carried=[w.const(0, "i32")]) as outer:
        with w.loop(1, outer.counter, 2, carried=[outer.values[0]]) as inner:
            inner.values = [inner.values[0] + inner.counter * 10 + outer.counter]
        outer.values = inner.values
    total = outer.values[0].splat(64) + w.iota(64)
    w.store(total, w.view(w.y, [64], [1], [64]), 0)


program(
    "loop-triangular",
    triangular,
    {"y": "ptr<i32>"},
    lambda: [random((64,), "i32", 1)],
    lambda y: {0: np.arange(64) + sum(10 * j + i for i in range(6) for j in range(1, i, 2))},
)


def grid_stride(w: Writer) -> None:
    """Each block takes every so-many-th tile, as persistent kernels do."""
    x, y = (w.view(base, [w.n], [1], [128]) for base in (w.x, w.y))
    with w.loop(w.ids[0], w.tiles(x)[0], w.grid[0]) as loop:
        w.store(w.load(x, loop.counter) * 2.0 + 1.0, y, loop.counter)


program(
    "loop-grid-stride",
    grid_stride,
    {**F32, "n": "i32"},
    lambda: [random((1000,), "f32", 1), random((1000,), "f32", 2), 1000],
    lambda x, y, n: {1: x * 2 + 1},
    (3,),
)


def persistent_matmul(w: Writer) -> None:
    """A persistent GEMM: an outer loop over output tiles numbered in a row, an inner one over k."""
    a = w.view(w.a, [w.m, w.k], [w.k, 1], [32, 32])
    b = w.view(w.b, [w.k, w.n], [w.n, 1], [32, 32])
    d = w.view(w.d, [w.m, w.n], [w.n, 1], [32, 32])
    rows, columns = w.tiles(d)
    with w.loop(w.ids[0], rows * columns, w.grid[0]) as outer:
        i, j = outer.counter.div(columns), outer.counter.rem(columns)
        with w.loop(0, w.tiles(a)[1], carried=[w.const(0.0, "f32", 32, 32)]) as inner:
            left, right = w.load(a, i, inner.counter), w.load(b, inner.counter, j)
            inner.values = [w.dot(left, right, inner.values[0])]
        w.store(inner.values[0], d, i, j)


program(
    "loop-persistent-matmul",
    persistent_matmul,
    {"a": "ptr<f16>", "b": "ptr<f16>", "d": "ptr<f32>", "m": "i32", "n": "i32", "k": "i32"},
    lambda: [random((72, 80), "f16", 1), random((80, 72), "f16", 2), random((72, 72), "f32", 3), 72, 72, 80],
    lambda a, b, d, *r: {2: a.astype(np.float64) @ b.astype(np.float64)},
    (2,),
    2e-3,
)


def wide_counter(w: Writer) -> None:
    """A 64-bit counter, and an unsigned one."""
    zero, one, n = w.const(0, "i64"), w.const(1, "i64"), w.n.to("i64")
    with w.loop(zero, n, one, carried=[w.const(0, "i64")]) as loop:
        loop.values = [loop.values[0] + loop.counter * loop.counter]
    total = loop.values[0]
    with w.loop(0, w.n, carried=[w.const(0, "i32")], unsigned_cmp=True) as other:
        other.values = [other.values[0] + other.counter]
    w.store((total + other.values[0].to("i64")).splat(32), w.view(w.y, [32], [1], [32]), 0)


program(
    "loop-wide-counter",
    wide_counter,
    {"y": "ptr<i64>", "n": "i32"},
    lambda: [random((32,), "i64", 1), 9],
    lambda y, n: {0: np.full(32, sum(i * i + i for i in range(n)))},
)


def from_argument(w: Writer) -> None:
    """Bounds and step are arguments; the tile index is computed from the counter."""
    x, y = (w.view(base, [512], [1], [32]) for base in (w.x, w.y))
    with w.loop(w.a, w.b, w.s) as loop:
        w.store(w.load(x, loop.counter + 1) * loop.counter.to("f32").splat(32), y, loop.counter)


def from_argument_expected(x: Any, y: Any, a: int, b: int, s: int) -> dict[int, Any]:
    for i in range(a, b, s):
        y[32 * i : 32 * i + 32] = x[32 * i + 32 : 32 * i + 64] * i
    return {1: y}


program(
    "loop-bounds-given",
    from_argument,
    {**F32, "a": "i32", "b": "i32", "s": "i32"},
    lambda: [random((512,), "f32", 1), random((512,), "f32", 2), 2, 13, 3],
    from_argument_expected,
)


def stores_each_step(w: Writer) -> None:
    """A running sum is stored at every step: an effect in the loop uses a carried tile."""
    x, y = (w.view(base, [w.m, 64], [64, 1], [1, 64]) for base in (w.x, w.y))
    with w.loop(0, w.m, carried=[w.const(0.0, "f32", 1, 64)]) as loop:
        total = loop.values[0] + w.load(x, loop.counter, 0)
        w.store(total, y, loop.counter, 0)
        loop.values = [total]


program(
    "loop-running-sum",
    stores_each_step,
    {**F32, "m": "i32"},
    lambda: [random((9, 64), "f32", 1), random((9, 64), "f32", 2), 9],
    lambda x, y, m: {1: np.cumsum(x, 0)},
)


def block_numbers(w: Writer) -> None:
    """All coordinates of the grid and its extents."""
    at = (w.ids[2] * w.grid[1] + w.ids[1]) * w.grid[0] + w.ids[0]
    w.scatter(w.y[at], at * 7 + w.grid[2])


program(
    "block-numbers",
    block_numbers,
    {"y": "ptr<i32>"},
    lambda: [random((24,), "i32", 1)],
    lambda y: {0: np.arange(24) * 7 + 2},
    (4, 3, 2),
)


def swizzled_blocks(w: Writer) -> None:
    """Grouped ordering of blocks by integer division and remainder, as GEMMs number theirs."""
    pid, rows, columns, group = w.ids[0], w.m.div(16), w.n.div(16), 2
    per_group = columns * group
    first = pid.div(per_group) * group
    size = (rows - first).min(group)
    i = first + pid.rem(per_group).rem(size)
    j = pid.rem(per_group).div(size)
    y = w.view(w.y, [w.m, w.n], [w.n, 1], [16, 16])
    w.store((pid.to("f32")).splat(16, 16), y, i, j)


def swizzled_expected(y: Any, m: int, n: int) -> dict[int, Any]:
    rows, columns, group = m // 16, n // 16, 2
    for pid in range(rows * columns):
        first = pid // (columns * group) * group
        size = min(rows - first, group)
        i, j = first + pid % (columns * group) % size, pid % (columns * group) // size
        y[16 * i : 16 * i + 16, 16 * j : 16 * j + 16] = pid
    return {0: y}


program(
    "swizzled-blocks",
    swizzled_blocks,
    {"y": "ptr<f32>", "m": "i32", "n": "i32"},
    lambda: [random((48, 64), "f32", 1), 48, 64],
    swizzled_expected,
    (12,),
)


def products_then_reduce(w: Writer) -> None:
    """Two products without a loop, whose staged operand is used again after conversions and reductions."""
    view = lambda base, rows, columns: w.view(base, [rows, columns], [columns, 1], [rows, columns])  # noqa: E731
    a, b = w.load(view(w.a, 64, 64), 0, 0), w.load(view(w.b, 64, 64), 0, 0)
    score = w.dot(a, b.T)
    power = (score * 0.05 - (score * 0.05).reduce(1, "max").column(64)).exp()
    part = (power / power.reduce(1).column(64)).to("f16")
    out = w.dot(part, b) + a.to("f32") + b.T.to("f32")
    w.store(out, view(w.d, 64, 64), 0, 0)


def products_expected(a: Any, b: Any, d: Any) -> dict[int, Any]:
    a, b = a.astype(np.float64), b.astype(np.float64)
    power = np.exp(a @ b.T * 0.05)
    return {2: power / power.sum(1, keepdims=True) @ b + a + b.T}


program(
    "products-without-loop",
    products_then_reduce,
    {"a": "ptr<f16>", "b": "ptr<f16>", "d": "ptr<f32>"},
    lambda: [random((64, 64), "f16", 1), random((64, 64), "f16", 2), random((64, 64), "f32", 3)],
    products_expected,
    (1,),
    2e-3,
)


def scratch_before_loop(w: Writer) -> None:
    """A softmax over columns, then a loop of products whose copies may reuse the memory that it needed."""
    view = lambda base, rows, columns: w.view(base, [rows, columns], [columns, 1], [64, 64])  # noqa: E731
    x = w.load(view(w.q, 64, 64), 0, 0).to("f32")
    power = (x - x.reduce(0, "max").row(64)).exp()
    part = (power / power.reduce(0).row(64)).to("f16").T
    a = view(w.a, 64, 256)
    with w.loop(0, 4, carried=[w.const(0.0, "f32", 64, 64)]) as loop:
        loop.values = [w.dot(part, w.load(a, 0, loop.counter), loop.values[0])]
    out = loop.values[0] - loop.values[0].reduce(0).row(64)
    w.store(out, view(w.d, 64, 64), 0, 0)


def scratch_expected(q: Any, a: Any, d: Any) -> dict[int, Any]:
    q, a = q.astype(np.float64), a.astype(np.float64)
    part = (np.exp(q) / np.exp(q).sum(0)).astype(np.float16).astype(np.float64).T
    out = part @ a.reshape(64, 4, 64).sum(1)
    return {2: out - out.sum(0)}


program(
    "scratch-before-loop",
    scratch_before_loop,
    {"q": "ptr<f16>", "a": "ptr<f16>", "d": "ptr<f32>"},
    lambda: [random((64, 64), "f16", 1), random((64, 256), "f16", 2), random((64, 64), "f32", 3)],
    scratch_expected,
    (1,),
    2e-3,
)


def scratch_between_loops(w: Writer) -> None:
    """A sum across warps before each of two loops of products, whose copies may run ahead of these sums."""
    a, b = w.view(w.a, [64, 256], [256, 1], [64, 64]), w.view(w.b, [256, 64], [64, 1], [64, 64])
    x = w.view(w.x, [2048], [1], [1024])
    carried = w.const(0.0, "f32", 64, 64)
    for half in range(2):
        total = w.load(x, half).reduce(0).splat(64, 64)
        with w.loop(0, 4, carried=[carried + total]) as loop:
            loop.values = [w.dot(w.load(a, 0, loop.counter), w.load(b, loop.counter, 0), loop.values[0])]
        carried = loop.values[0]
    w.store(carried, w.view(w.d, [64, 64], [64, 1], [64, 64]), 0, 0)


def scratch_between_expected(x: Any, a: Any, b: Any, d: Any) -> dict[int, Any]:
    return {3: 2 * (a.astype(np.float64) @ b.astype(np.float64)) + x.astype(np.float64).sum()}


program(
    "scratch-between-loops",
    scratch_between_loops,
    {"x": "ptr<f32>", "a": "ptr<f16>", "b": "ptr<f16>", "d": "ptr<f32>"},
    lambda: [
        random((2048,), "f32", 4),
        random((64, 256), "f16", 1),
        random((256, 64), "f16", 2),
        random((64, 64), "f32", 3),
    ],
    scratch_between_expected,
    (1,),
    2e-3,
)
