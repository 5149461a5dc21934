"""Arrays of f4E2M1FN, two elements in a byte: views of every kind, loaded, stored, moved, converted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from ir.types import I32, GatherScatterViewType, PartitionViewType, StridedViewType, TileType
from tests.programs.atomics import other_view
from tests.programs.half_bytes import VALUES, codes
from tests.programs.program import Program, add, random
from tilesat.fuzz.writer import Tile, Writer

F4 = "f4E2M1FN"
M, N, PITCH = 70, 90, 96
TILE = (32, 64)
GRID = (-(-M // TILE[0]), -(-N // TILE[1]))
Body = Callable[[Writer], object]


def numbers(held: Any) -> Any:
    """What bytes hold, the low half first."""
    whole = np.asarray(held).view(np.uint8)
    return VALUES[np.stack([whole & 15, whole >> 4], -1).reshape(*whole.shape[:-1], -1)]


def in_bytes(found: Any) -> Any:
    """Numbers as bytes."""
    made = codes(found)
    return (made[..., ::2] | made[..., 1::2] << 4).astype(np.uint8).view(np.int8)


def held(rows: int, columns: int, seed: int) -> Any:
    """Random codes."""
    return np.random.default_rng(seed).integers(-128, 128, (rows, columns // 2)).astype(np.int8)


def accessed(name: str, before: str, after: str, body: Body, given: list[Any],
             expected: Callable[..., dict[int, Any]], grid: tuple[int, ...] = GRID) -> None:  # fmt: skip
    """y = body(x), of arrays with sizes m and n and a pitch, all multiples of 2 alone."""

    def source() -> str:
        w = Writer("memory", x=f"ptr<{before}>", y=f"ptr<{after}>", m="i32", n="i32", pitch="i32")
        w.promise(x=16, y=16, m=1, n=2, pitch=2)
        body(w)
        return w.text()

    arguments = lambda: [*(each.copy() for each in given), M, N, PITCH]  # noqa: E731
    add(Program(f"f4-memory-{name}", source, arguments, grid, expected, 0.0))


def rows(w: Writer, base: Tile, padding: str | None = "zero") -> Tile:
    """The rows of an array."""
    return w.view(base, [w.m, w.n], [w.pitch, 1], TILE, padding)


def put(found: Any, part: Any) -> Any:
    """An array with its first rows and columns replaced."""
    made = found.copy()
    made[: part.shape[0], : part.shape[1]] = part
    return made


def copied(w: Writer) -> None:
    w.store(w.load(rows(w, w.x), *w.ids[:2]), rows(w, w.y, None), *w.ids[:2])


def converted(kind: str) -> Body:
    return lambda w: w.store(w.load(rows(w, w.x), *w.ids[:2]).to(kind), rows(w, w.y, None), *w.ids[:2])


HALF, WHOLE = held(M + 1, PITCH, 1), random((M + 1, PITCH), "f32", 2)
accessed("copy", F4, F4, copied, [HALF, held(M + 1, PITCH, 2)],
         lambda x, y, *_: {1: put(y, x[:M, : N // 2])})  # fmt: skip
accessed("to-f32", F4, "f32", converted("f32"), [HALF, WHOLE], lambda x, y, *_: {1: put(y, numbers(x)[:M, :N])})
accessed("of-f32", "f32", F4, converted(F4), [WHOLE * 2, HALF],
         lambda x, y, *_: {1: put(y, in_bytes(x)[:M, : N // 2])})  # fmt: skip


def columns(w: Writer) -> None:
    """Of x neighbours in a column share a byte: it is read turned, and stored in rows."""
    x = w.view(w.x, [w.n, w.m], [1, w.pitch], TILE[::-1])
    w.store(w.load(x, w.ids[1], w.ids[0]).permute(1, 0), rows(w, w.y, None), *w.ids[:2])


def mapped(w: Writer) -> None:
    """The tile's rows run along the packed dimension; sizes and strides are known."""
    x = w.view(w.x, [M, N], [PITCH, 1], TILE[::-1], "zero", [1, 0])
    w.store(
        w.load(x, w.ids[1], w.ids[0]), w.view(w.y, [M, N], [PITCH, 1], TILE[::-1], None, [1, 0]), w.ids[1], w.ids[0]
    )


for name, body in (("columns", columns), ("mapped", mapped)):
    accessed(name, F4, F4, body, [HALF, held(M + 1, PITCH, 2)],
             lambda x, y, *_: {1: put(y, x[:M, : N // 2])})  # fmt: skip


def windows(w: Writer) -> None:
    """Windows of 16 x 32 every 8 rows and 16 columns, the sum of each one's columns in a row of y."""
    kind = lambda whole: StridedViewType((16, 32), (8, 16), whole, (0, 1), "zero")  # noqa: E731
    x = other_view(w, w.x, [w.m, w.n], [w.pitch, 1], ct.MakeStridedView, kind)
    at = w.ids[0] * w.tiles(x)[1] + w.ids[1]
    total = w.load(x, *w.ids[:2]).to("f32").reduce(0, "add").reshape(1, 32)
    w.store(total, w.view(w.y, [M + 1, PITCH], [PITCH, 1], [1, 32], None), at, 0)


def of_windows(x: Any, y: Any, *_: Any) -> dict[int, Any]:
    padded, found = np.zeros((M + 32, N + 64), np.float32), y.copy()
    padded[:M, :N] = numbers(x)[:M, :N]
    for i in range(9):
        for j in range(6):
            found[6 * i + j, :32] = padded[8 * i : 8 * i + 16, 16 * j : 16 * j + 32].sum(0)
    return {1: found}


accessed("windows", F4, "f32", windows, [HALF, WHOLE], of_windows, (9, 6))


def gathered(w: Writer) -> None:
    """Rows 3 apart, from column 6 on."""
    index = w.iota(16) * 3
    kind = lambda whole: GatherScatterViewType((16, 32), whole, 0, "zero")  # noqa: E731
    x = other_view(w, w.x, [w.m, w.n], [w.pitch, 1], ct.MakeGatherScatterView, kind)
    tile = w.load(x, index, (w.ids[0] * 32).assume(ct.DivBy(2)) + 6)
    w.store(tile, w.view(w.y, [M, PITCH], [PITCH, 1], [16, 32], None), 1, w.ids[0])


def of_rows(x: Any, y: Any, *_: Any) -> dict[int, Any]:
    found = y.copy()
    found[16:32, :16], found[16:32, 16:32] = x[: 3 * 16 : 3, 3:19], x[: 3 * 16 : 3, 19:35]
    return {1: found}


accessed("gathered", F4, F4, gathered, [HALF, held(M + 1, PITCH, 2)], of_rows, (2,))


def tiles_of(whole: Any) -> Any:
    """Its tiles of 8 x 32."""
    return PartitionViewType((8, 32), whole, (0, 1), "zero")


def moved(w: Writer) -> None:
    """From the fourth element of row 2 on, by an offset pointer; the sizes of the view are adjusted."""
    start = w.op(ct.Offset, w.x, w.pitch * 2 + 4)
    whole = other_view(w, start, [w.m, w.n], [w.pitch, 1], ct.MakePartitionView, tiles_of)
    made = whole.value.op.tensor_view
    sizes = w.builder.add(ct.GetTensorShape, made, types=[TileType((), I32)] * 2).results
    number = Tile(w, sizes[0]) * 1000 + Tile(w, sizes[1])
    w.store(w.load(whole, 0, 0).to("f32"), w.view(w.y, [M, PITCH], [PITCH, 1], [8, 32], None), 0, 0)
    w.store(number.to("f32").splat(1, 1), w.view(w.y, [M, PITCH], [PITCH, 1], [1, 1], None), 40, 40)


def of_moved(x: Any, y: Any, *_: Any) -> dict[int, Any]:
    found = y.copy()
    found[:8, :32] = numbers(x)[2:10, 4:36]
    found[40, 40] = M * 1000 + N
    return {1: found}


accessed("moved", F4, "f32", moved, [HALF, WHOLE], of_moved, (1,))
LITERAL = VALUES[np.random.default_rng(5).integers(0, 16, 256)]


def literal(w: Writer) -> None:
    """A global of the module, added to a tile."""
    table = w.view(w.array("table", LITERAL, F4), [8, 32], [32, 1], [8, 32])
    x = w.load(w.view(w.x, [M, PITCH], [PITCH, 1], [8, 32]), 0, 0)
    found = x.to("f32") + w.load(table, 0, 0).to("f32")
    w.store(found, w.view(w.y, [M, PITCH], [PITCH, 1], [8, 32], None), 0, 0)


accessed("literal", F4, "f32", literal, [HALF, WHOLE],
         lambda x, y, *_: {1: put(y, numbers(x)[:8, :32] + LITERAL.reshape(8, 32))}, (1,))  # fmt: skip


def looped(w: Writer) -> None:
    """Sums of tiles along a row of tiles, in a loop that copies ahead."""
    x = w.view(w.x, [w.m, w.n], [w.pitch, 1], (16, 32))
    with w.loop(0, w.tiles(x)[1], carried=[w.const(0.0, "f32", 16, 32)]) as loop:
        loop.values = [loop.values[0] + w.load(x, w.ids[0], loop.counter).to("f32")]
    w.store(loop.values[0], w.view(w.y, [M, PITCH], [PITCH, 1], (16, 32), None), w.ids[0], 0)


def of_loop(x: Any, y: Any, *_: Any) -> dict[int, Any]:
    padded, found = np.zeros((M, 96), np.float32), y.copy()
    padded[:, :N] = numbers(x)[:M, :N]
    found[:M, :32] = padded.reshape(M, 3, 32).sum(1)
    return {1: found}


accessed("looped", F4, "f32", looped, [HALF, WHOLE], of_loop, (5,))
