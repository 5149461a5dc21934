"""Memory that a tile block asks for, fences between addresses, grids that depend on each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from ir.types import TOKEN, PointerType, TileType
from tests.programs.program import TOLERANCE, Program, add, random
from tilesat.fuzz.writer import Tile, Writer, element

N = 256


def memory(w: Writer, size: int, kind: str = "f32", alignment: int = 16, **more: bool) -> Tile:
    """An alloca."""
    pointer = TileType((), PointerType(element(kind)))
    return w.op(ct.Alloca, types=[pointer], num_elem=size, alignment=alignment, **more)


def wait(w: Writer, *token: Tile) -> Tile:
    """gdc_wait_tko."""
    return w.op(ct.GdcWait, *token, types=[TOKEN], segments=(len(token),))


def launch(w: Writer, *token: Tile) -> Tile:
    """gdc_launch_dependents_tko."""
    return w.op(ct.GdcLaunchDependents, *token, types=[TOKEN], segments=(len(token),))


def fence(w: Writer, token: Tile) -> Tile:
    """memory_fence_alias_tko."""
    return w.op(ct.MemoryFenceAlias, token, types=[TOKEN])


def program(name: str, write: Callable[[Writer], None], expected: Any, grid: int = 2, **more: Any) -> None:
    """A program on x and y of 2 tiles each, and a number of 3."""

    def source() -> str:
        w = Writer(name, x="ptr<f32>", y="ptr<f32>", n="i32")
        w.promise(x=16, y=16)
        write(w)
        return w.text()

    def arguments() -> list[Any]:
        return [random((2 * N,), "f32", 1), random((2 * N,), "f32", 2), 3]

    add(Program(name, source, arguments, (grid,), lambda x, y, n: {1: expected(x, y)}, 0.0, **more))


def own(w: Writer) -> Tile:
    """The elements of this tile block."""
    return w.iota(N) + (w.ids[0] * N).splat(N)


def reversed_tiles(x: Any, y: Any) -> Any:
    return x.reshape(2, N)[:, ::-1].reshape(-1)


def through_memory(w: Writer, **more: Any) -> None:
    """Written in one order, read in the other."""
    p, at = memory(w, N, **more), own(w)
    value, read = w.gather(w.x[at])
    written = w.scatter(p[w.iota(N)], value, token=read)
    back, after = w.gather(p[N - 1 - w.iota(N)], token=written)
    w.scatter(w.y[at], back, token=after)


def two_at_once(w: Writer) -> None:
    """Memory of two operations is not the same."""
    i, p, q = w.iota(N), memory(w, N), memory(w, N, alignment=128, **{"global": True})
    value = w.gather(w.x[own(w)])[0]
    written = w.join(w.scatter(p[i], value), w.scatter(q[i], value * 2.0))
    first, read = w.gather(p[N - 1 - i], token=written)
    second, also = w.gather(q[i], token=written)
    w.scatter(w.y[own(w)], first + second, token=w.join(read, also))


def in_loop(w: Writer) -> None:
    """Each iteration has its own; what it read goes on to the next one."""
    i = w.iota(N)
    value = w.gather(w.x[own(w)])[0]
    with w.loop(0, w.n, carried=[value, w.token]) as loop:
        value, token = loop.values
        p = memory(w, N)
        back, read = w.gather(p[N - 1 - i], token=w.scatter(p[i], value + 1.0, token=token))
        loop.values = [back, read]
    w.scatter(w.y[own(w)], loop.values[0], token=loop.values[1])


def in_branch(w: Writer) -> None:
    """Only one tile block asks for memory."""
    i, at = w.iota(N), own(w)

    def then() -> list[Tile]:
        p = memory(w, N)
        value = w.gather(w.x[at])[0]
        back, read = w.gather(p[N - 1 - i], token=w.scatter(p[i], value))
        return [w.scatter(w.y[at], back, token=read)]

    w.branch(w.ids[0].eq(1), then, lambda: [w.token])


def before_an_exit(w: Writer) -> None:
    """Given back on every way out."""
    i, at, p = w.iota(N), own(w), memory(w, N)
    value, read = w.gather(w.x[at])
    written = w.scatter(p[i], value, token=read)
    w.branch(w.ids[0].eq(1), lambda: w.leave(ct.Return))
    back, after = w.gather(p[N - 1 - i], token=written)
    w.scatter(w.y[at], back, token=after)


def by_views(w: Writer) -> None:
    """An array in allocated memory, as a view, which tensor copies cannot load."""
    p = memory(w, 16 * 16, alignment=128)
    rows, array = w.view(p, [16, 16], [16, 1], [16, 16]), w.view(w.x, [32, 16], [16, 1], [16, 16])
    tile, read = w.load_token(array, w.ids[0], 0)
    written = w.store(tile, rows, 0, 0, token=read)
    columns = w.view(p, [16, 16], [1, 16], [16, 16])
    back, after = w.load_token(columns, 0, 0, token=written)
    w.store(back, w.view(w.y, [32, 16], [16, 1], [16, 16]), w.ids[0], 0, token=after)


def transposed(x: Any, y: Any) -> Any:
    return x.reshape(2, 16, 16).transpose(0, 2, 1).reshape(-1)


def fenced(w: Writer) -> None:
    """The same array by one address and by the other."""
    p, q, i = w.x[own(w)], w.y[own(w)], w.iota(N)
    value, read = w.gather(p)
    written = fence(w, w.scatter(q, value, token=read))
    back, after = w.gather(w.y[(w.ids[0] * N).splat(N) + (N - 1 - i)], token=written)
    w.scatter(q, back, token=fence(w, after))


def dependent(w: Writer) -> None:
    """As a grid in a chain: wait, read, let the next one begin, write."""
    first = wait(w)
    value, read = w.gather(w.x[own(w)], token=first)
    w.scatter(w.y[own(w)], value + 1.0, token=launch(w, read))


def dependent_in_loop(w: Writer) -> None:
    """With tokens that go round a loop, in a branch too."""
    with w.loop(0, w.n, carried=[w.const(0, "f32", N), w.token]) as loop:
        total, token = loop.values
        value, read = w.gather(w.x[own(w)], token=wait(w, token))
        (after,) = w.branch(loop.counter.eq(1), lambda: [launch(w, read)], lambda: [wait(w, read)])
        loop.values = [total + value, after]
    w.scatter(w.y[own(w)], loop.values[0], token=loop.values[1])


def three_times(x: Any, y: Any) -> Any:
    return (x + x) + x


program("alloca", through_memory, reversed_tiles)
program("alloca-global", lambda w: through_memory(w, alignment=256, **{"global": True}), reversed_tiles)
program("alloca-two", two_at_once, lambda x, y: reversed_tiles(x, y) + 2 * x)
program(
    "alloca-loop", in_loop,
    lambda x, y: reversed_tiles(((x.reshape(2, N) + 1)[:, ::-1] + 1)[:, ::-1].reshape(-1) + 1, y),
)  # fmt: skip
program("alloca-branch", in_branch, lambda x, y: np.concatenate([y[:N], x[N:][::-1]]))
program("alloca-exit", before_an_exit, lambda x, y: np.concatenate([x[:N][::-1], y[N:]]))
program("alloca-view", by_views, transposed)
program("fence-alias", fenced, reversed_tiles)
program("dependent", dependent, lambda x, y: x + 1)
program("dependent-loop", dependent_in_loop, three_times)


def product() -> None:
    """A product whose factors another grid makes: in a ring, filled by another agent where the target has that."""
    size, depth = 128, 320

    def source() -> str:
        w = Writer("dependent-product", a="ptr<f16>", b="ptr<f16>", c="ptr<f32>", k="i32")
        w.promise(a=16, b=16, c=16, k=64)
        first = wait(w)
        a = w.view(w.a, [size, w.k], [w.k, 1], [size, 64])
        b = w.view(w.b, [w.k, size], [size, 1], [64, size])
        with w.loop(0, w.tiles(a)[1], carried=[w.const(0, "f32", size, size)]) as loop:
            left, right = w.load(a, 0, loop.counter, token=first), w.load(b, loop.counter, 0, token=first)
            loop.values = [w.dot(left, right, loop.values[0])]
        c = w.view(w.c, [size, size], [size, 1], [size, size])
        w.store(loop.values[0], c, 0, 0, token=launch(w, first))
        return w.text()

    def arguments() -> list[Any]:
        return [random((size, depth), "f16", 1), random((depth, size), "f16", 2), random((size, size), "f32", 3), depth]

    def expected(a: Any, b: Any, c: Any, k: int) -> dict[int, Any]:
        return {2: a.astype(np.float32) @ b.astype(np.float32)}

    add(Program("dependent-product", source, arguments, (1,), expected, TOLERANCE["f16"]))


product()
