"""Products whose right factor is computed in the loop from tiles that a producer brings."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.pingpong import pitch
from tests.programs.program import DTYPES, Program, random
from tilesat.fuzz.writer import Tile, Writer

Sizes = tuple[int, int, int]


def computed_factor(
    name: str, tile: Sizes = (128, 128, 64), steps: int = 5, element: str = "i8", scales: str = "column",
    rows_of_k: bool = False, tail: Sizes = (0, 0, 0), grid: tuple[int, int] = (1, 1), tiles: int = 0,
    both: bool = False, again: bool = False,
) -> Program:  # fmt: skip
    """D = A W, W in `element`s converted to f16 in the loop over K, and multiplied by a scale of its `column`, of a
    `group` (its column and step of K), or by none. `rows_of_k`: W lies in rows along K, as tensor copies bring what
    products read. Arrays end `tail` elements inside their last tiles. `tiles`: so many rows of tiles, taken one by one
    in a loop around, each with one step more than the one before. `both`: A is converted too. `again`: the same product
    once more behind it, into rows of D below.
    """
    m, n, k = tile
    high = (max(tiles, 1) * grid[0]) * m - tail[0]
    wide, deep = grid[1] * n - tail[1], max(steps, 1) * k - tail[2]
    left = element if both else "f16"

    def source() -> str:
        w = Writer("computed", a=f"ptr<{left}>", b=f"ptr<{element}>", s="ptr<f32>", d="ptr<f32>", t="i32")
        w.promise(a=16, b=16, s=16, d=16)
        shape, block = ([wide, deep], [n, k]) if rows_of_k else ([deep, wide], [k, n])
        a, b = w.view(w.a, [high, deep], [pitch(deep), 1], [m, k]), w.view(w.b, shape, [pitch(shape[1]), 1], block)
        s = w.view(w.s, [max(steps, 1), wide], [pitch(wide), 1], [1, n])
        d = w.view(w.d, [(1 + again) * max(tiles, 1) * grid[0] * m, wide], [pitch(wide), 1], [m, n])

        def scaled(tile: Tile, step: int | Tile) -> Tile:
            if scales == "none":
                return tile.to("f16")
            row = w.load(s, step, w.ids[1])
            column = row.reshape(n, 1) if rows_of_k else row
            return (tile.to("f32") * column.broadcast(*block)).to("f16")

        def products(number: Tile, upper: Tile, out: Tile) -> None:
            fixed = scaled_columns() if scales == "column" else None
            with w.loop(w.i32(0), upper, carried=[w.const(0.0, "f32", m, n)]) as loop:
                x, y = (
                    w.load(a, number, loop.counter),
                    (w.load(b, w.ids[1], loop.counter) if rows_of_k else w.load(b, loop.counter, w.ids[1])),
                )
                x = x.to("f16") if both else x
                y = scaled(y, loop.counter) if fixed is None else (y.to("f32") * fixed).to("f16")
                loop.values = [w.dot(x, y.T if rows_of_k else y, loop.values[0])]
            w.store(loop.values[0], d, out, w.ids[1])

        def scaled_columns() -> Tile:
            row = w.load(s, 0, w.ids[1])
            return (row.reshape(n, 1) if rows_of_k else row).broadcast(*block)

        if tiles:
            with w.loop(w.i32(0), w.i32(tiles)) as outer:
                products(outer.counter, w.t - w.i32(tiles - 1) + outer.counter, outer.counter)
        else:
            products(w.ids[0], w.t, w.ids[0])
            if again:
                products(w.ids[0], w.t, w.ids[0] + w.i32(grid[0]))
        return w.text()

    def arguments() -> list[Any]:
        shape = (wide, pitch(deep)) if rows_of_k else (deep, pitch(wide))
        a, b = random((high, pitch(deep)), left, 1), random(shape, element, 2)
        s = random((max(steps, 1), pitch(wide)), "f32", 3)
        d = random(((1 + again) * max(tiles, 1) * grid[0] * m, pitch(wide)), "f32", 4)
        return [a, b, s, d, np.int32(steps)]

    def expected(a: Any, b: Any, s: Any, d: Any, t: int) -> dict[int, Any]:
        found = d.astype(np.float64)
        weights = (b[:wide, :deep].T if rows_of_k else b[:deep, :wide]).astype(np.float32)
        by_row = s[np.arange(deep) // k, :wide] if scales == "group" else s[0, :wide]
        weights = (weights if scales == "none" else weights * by_row).astype(DTYPES["f16"]).astype(np.float64)
        for number in range(max(tiles, 1)):
            taken = min(deep, max(0, steps - (tiles - 1 - number if tiles else 0)) * k)
            rows = slice(number * m, (number + 1) * m) if tiles else slice(0, grid[0] * m)
            whole = a[rows, :taken].astype(np.float64) @ weights[:taken]
            for copy in range(1 + again):
                at = rows.start + copy * grid[0] * m
                found[at : at + len(whole), :wide] = whole
                found[at + len(whole) : at + rows.stop - rows.start, :wide] = 0.0
        return {3: found.astype(np.float32)}

    return Program(name, source, arguments, grid, expected, 5e-3)
