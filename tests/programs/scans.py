"""Reductions of several tiles, and prefix scans: every way through registers, lanes and warps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.program import Program, add, random
from tilesat.fuzz.writer import Tile, Writer

Combine = Callable[[list[Tile], list[Tile]], list[Tile]]


def better(a: list[Tile], b: list[Tile]) -> list[Tile]:
    """The larger value with its index; of equal ones the smaller index."""
    first = (a[0] > b[0]) | (a[0].eq(b[0]) & (a[1] < b[1]))
    return [first.where(a[0], b[0]), first.where(a[1], b[1])]


def argmax(name: str, shape: tuple[int, ...], dim: int, kind: str = "f32") -> None:
    """Largest element along a dimension, and where it is; values repeat, so that ties are decided."""
    size = int(np.prod(shape))
    rest = tuple(n for d, n in enumerate(shape) if d != dim)

    def source() -> str:
        w = Writer("argmax", x=f"ptr<{kind}>", value=f"ptr<{kind}>", index="ptr<i32>")
        w.promise(x=16, value=16, index=16)
        x = w.gather(w.x[w.iota(size)])[0].reshape(*shape)
        spread = tuple(n if d == dim else 1 for d, n in enumerate(shape))
        at = w.iota(shape[dim]).reshape(*spread).broadcast(*shape)
        low = -np.inf if kind.startswith("f") else np.iinfo(kind.replace("i", "int")).min
        value, index = w.fold([x, at], dim, better, [float(low) if kind.startswith("f") else int(low), 1 << 30])
        if rest:
            i = w.iota(int(np.prod(rest))).reshape(*rest)
            w.scatter(w.value[i], value)
            w.scatter(w.index[i], index)
        else:
            w.scatter(w.value, value)
            w.scatter(w.index, index)
        return w.text()

    def arguments() -> list[Any]:
        x = np.round(random(shape, kind, 1).astype(np.float64) * 4).astype(random((1,), kind).dtype)
        return [x, random(rest or (1,), kind, 2), random(rest or (1,), "i32", 3)]

    def expected(x: Any, *rest: Any) -> dict[int, Any]:
        return {1: x.max(dim).reshape(rest[0].shape), 2: x.argmax(dim).astype(np.int32).reshape(rest[1].shape)}

    add(Program(name, source, arguments, (1,), expected, 0.0))


argmax("argmax-1d", (512,), 0)
argmax("argmax-small", (8,), 0)
argmax("argmax-rows", (32, 64), 1)
argmax("argmax-columns", (64, 32), 0)
argmax("argmax-i64", (16, 128), 1, "i64")
argmax("argmax-f16", (64, 64), 0, "f16")


def moments() -> str:
    """Count, mean and sum of squared differences in one reduction: Welford's combination of two halves."""

    def join(a: list[Tile], b: list[Tile]) -> list[Tile]:
        count = a[0] + b[0]
        apart = b[1] - a[1]
        share = b[0] / count.max(1.0)
        return [count, a[1] + apart * share, a[2] + b[2] + apart * apart * a[0] * share]

    w = Writer("moments", x="ptr<f32>", mean="ptr<f32>", m2="ptr<f32>", n="i32")
    w.promise(x=16)
    i = w.iota(1024)
    inside = i < w.n.splat(1024)
    x = w.gather(w.x[i], inside, 0.0)[0]
    count = inside.where(w.const(1.0, "f32", 1024), 0.0)
    _, mean, m2 = w.fold([count, x, w.const(0.0, "f32", 1024)], 0, join, [0.0, 0.0, 0.0])
    w.scatter(w.mean, mean)
    w.scatter(w.m2, m2)
    return w.text()


add(Program(
    "reduce-moments", moments, lambda: [random((1000,), "f32", 1), random((1,), "f32", 2), random((1,), "f32", 3), 900],
    (1,), lambda x, mean, m2, n: {1: x[:n].mean(), 2: np.square(x[:n] - x[:n].mean()).sum()}, 1e-4,
))  # fmt: skip


SUM: Combine = lambda a, b: [a[0] + b[0]]  # noqa: E731
LARGEST: Combine = lambda a, b: [a[0].max(b[0])]  # noqa: E731
EITHER: Combine = lambda a, b: [a[0] | b[0]]  # noqa: E731


def recurrence(a: list[Tile], b: list[Tile]) -> list[Tile]:
    """y = factor * y_before + term, as pairs (factor, term): associative, not commutative."""
    return [a[0] * b[0], a[1] * b[0] + b[1]]


def scan(
    name: str, shape: tuple[int, ...], dim: int, combine: Combine, fold: Any, kind: str = "f32",
    reverse: bool = False, through_product: bool = False,
) -> None:  # fmt: skip
    """y = prefixes of x along a dimension."""
    identity = False if kind == "i1" else 0.0 if kind.startswith("f") else 0

    def source() -> str:
        w = Writer("scan", x=f"ptr<{kind}>", y=f"ptr<{kind}>")
        w.promise(x=16, y=16)
        strides = [int(np.prod(shape[d + 1 :])) for d in range(len(shape))]
        zeros = [0] * len(shape)
        x = w.load(w.view(w.x, shape, strides, shape), *zeros)
        y = w.fold([x], dim, combine, [identity], scan=True, reverse=reverse)[0]
        w.store(y, w.view(w.y, shape, strides, shape), *zeros)
        return w.text()

    def expected(x: Any, y: Any) -> dict[int, Any]:
        turned = np.flip(x, dim) if reverse else x
        wide = turned.astype(np.float64) if kind == "f32" else turned
        found = fold.accumulate(wide, dim, dtype=wide.dtype)
        return {1: np.flip(found, dim) if reverse else found}

    error = 1e-8 * max(2000, np.prod(shape))  # sums in another order
    add(Program(name, source, lambda: [random(shape, kind, 1), random(shape, kind, 2)], (1,), expected, float(error)))


scan("scan-1d", (1024,), 0, SUM, np.add)
scan("scan-1d-long", (8192,), 0, SUM, np.add)
scan("scan-1d-short", (16,), 0, SUM, np.add)
scan("scan-1d-reverse", (2048,), 0, SUM, np.add, reverse=True)
scan("scan-rows", (32, 64), 1, SUM, np.add)
scan("scan-rows-reverse", (16, 128), 1, SUM, np.add, reverse=True)
scan("scan-columns", (64, 32), 0, SUM, np.add)
scan("scan-columns-reverse", (128, 16), 0, SUM, np.add, reverse=True)
scan("scan-middle", (4, 32, 16), 1, SUM, np.add)
scan("scan-max-i32", (512,), 0, LARGEST, np.maximum, "i32")
scan("scan-add-i64", (8, 64), 1, SUM, np.add, "i64")
scan("scan-add-i8", (256,), 0, SUM, np.add, "i8")
scan("scan-or-i1", (256,), 0, EITHER, np.logical_or, "i1")


def linear(name: str, shape: tuple[int, int], dim: int, reverse: bool) -> None:
    """h[t] = a[t] h[t-1] + x[t] by a scan of two tiles: order matters."""

    def source() -> str:
        w = Writer("linear", a="ptr<f32>", x="ptr<f32>", h="ptr<f32>", p="ptr<f32>")
        w.promise(a=16, x=16, h=16, p=16)
        view = lambda p: w.view(p, shape, [shape[1], 1], shape)  # noqa: E731
        a, x = (w.load(view(p), 0, 0) for p in (w.a, w.x))
        product, h = w.fold([a, x], dim, recurrence, [1.0, 0.0], scan=True, reverse=reverse)
        w.store(h, view(w.h), 0, 0)
        w.store(product, view(w.p), 0, 0)
        return w.text()

    def expected(a: Any, x: Any, h: Any, p: Any) -> dict[int, Any]:
        a, x = (np.moveaxis(np.flip(v, dim) if reverse else v, dim, 0).astype(np.float64) for v in (a, x))
        found, before = np.empty_like(x), np.zeros_like(x[0])
        for t in range(len(x)):
            before = found[t] = a[t] * before + x[t]
        turn = lambda v: np.flip(np.moveaxis(v, 0, dim), dim) if reverse else np.moveaxis(v, 0, dim)  # noqa: E731
        return {2: turn(found), 3: turn(np.multiply.accumulate(a, 0))}

    arguments = lambda: [random(shape, "f32", k, 0.5 if k == 1 else 1.0) for k in (1, 2, 3, 4)]  # noqa: E731
    add(Program(name, source, arguments, (1,), expected, 2e-5))


linear("scan-recurrence", (16, 64), 1, False)
linear("scan-recurrence-columns", (64, 16), 0, False)
linear("scan-recurrence-reverse", (8, 128), 1, True)


def scan_in_loop() -> str:
    """Prefix sums of a long row by blocks; the last element of each block is carried."""
    w = Writer("blocks", x="ptr<f32>", y="ptr<f32>", n="i32")
    w.promise(x=16, y=16, n=8)
    x, y = (w.view(p, [w.n], [1], [256]) for p in (w.x, w.y))
    with w.loop(0, (w.n + 255).div(256), carried=[w.const(0.0, "f32")]) as loop:
        tile = w.load(x, loop.counter)
        prefixes = w.fold([tile], 0, SUM, [0.0], scan=True)[0]
        w.store(prefixes + loop.values[0].splat(256), y, loop.counter)
        loop.values = [loop.values[0] + tile.reduce(0)]
    return w.text()


add(Program(
    "scan-in-loop", scan_in_loop, lambda: [random((1000,), "f32", 1), random((1000,), "f32", 2), 1000], (1,),
    lambda x, y, n: {1: np.add.accumulate(x.astype(np.float64))}, 2e-5,
))  # fmt: skip


def bounded(name: str, kind: str, shape: tuple[int, int], dim: int, scan: bool) -> None:
    """Sums of each row or column that stop at a limit, or its maxima where a flag says so: the combiner reads both, and
    each step of a loop brings another limit.
    """
    steps = 2
    out = shape if scan else (1, shape[1 - dim])

    def source() -> str:
        w = Writer("bounded", x=f"ptr<{kind}>", y=f"ptr<{kind}>", limit=kind, maxima="i32")
        w.promise(x=16, y=16)
        x = w.view(w.x, [steps * shape[0], shape[1]], [shape[1], 1], shape)
        y = w.view(w.y, [steps * out[0], out[1]], [out[1], 1], out)
        largest = w.const(0, "i32") < w.maxima
        with w.loop(0, steps, carried=[w.limit]) as loop:
            (limit,) = loop.values
            combine = lambda a, b: [largest.where(a[0].max(b[0]), (a[0] + b[0]).min(limit))]  # noqa: E731
            (found,) = w.fold([w.load(x, loop.counter, 0)], dim, combine, [0.0 if kind[0] == "f" else 0], scan=scan)
            w.store(found.reshape(*out), y, loop.counter, 0)
            loop.values = [limit + limit]
        return w.text()

    for maxima in (0, 1):

        def arguments(maxima: int = maxima) -> list[Any]:
            x = np.abs(random((steps * shape[0], shape[1]), kind, 1)) % 50
            return [x.astype(x.dtype), random((steps * out[0], out[1]), kind, 2), x.dtype.type(90), maxima]

        def expected(x: Any, y: Any, limit: Any, maxima: int) -> dict[int, Any]:
            found = []
            for step in range(steps):
                tile = x[step * shape[0] :][: shape[0]]
                sums = np.add.accumulate(tile.astype(np.float64), dim)
                prefixes = np.maximum.accumulate(tile, dim) if maxima else np.minimum(sums, float(limit) * (step + 1))
                found.append((prefixes if scan else np.take(prefixes, [-1], dim)).reshape(out))
            return {1: np.concatenate(found)}

        add(Program(f"{name}-{'maxima' if maxima else 'sums'}", source, arguments, (1,), expected, 2e-5))


bounded("bounded-rows", "f32", (16, 64), 1, False)
bounded("bounded-columns-i32", "i32", (64, 16), 0, False)
bounded("bounded-prefixes", "i32", (8, 64), 1, True)
bounded("bounded-prefixes-f32", "f32", (64, 8), 0, True)
