"""Products in a loop over tiles, which two warpgroups may take in turn."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.program import DTYPES, Program, random
from tilesat.fuzz.writer import Tile, Writer

Sizes = tuple[int, int, int]
TOLERANCE = {"f32": 2e-3, "f16": 2e-2, "bf16": 2e-1}


def products_in_tiles(
    name: str, tile: Sizes = (64, 64, 32), tiles: int = 5, steps: int = 4, blocks: int = 1, element: str = "f16",
    out: str = "f32", tail: Sizes = (0, 0, 0), varying: bool = False, stride: int = 1, added: bool = False,
    over: int = 0, counter: str = "i32",
) -> Program:  # fmt: skip
    """D = A B^T, `tiles` rows of tiles by `blocks` CTAs, each of which takes every so manieth; `steps` along K, 0 to
    steps - 1 of them by the number of the tile where they are `varying`, every `stride`th. Arrays end `tail` elements
    inside their last tiles. `added`: D = C + A B^T. `over`: a token orders the stores, of which only the last so many
    rows of tiles are left; `added` are then what was stored there before. The numbers of tiles and steps are known when
    the kernel runs; steps are counted as `counter`s.
    """
    m, n, k = tile
    rows, columns, deep = max(tiles, 1) * m - tail[0], n - tail[1], max(steps, 1) * k - tail[2]

    def source() -> str:
        w = Writer(
            "products", a=f"ptr<{element}>", b=f"ptr<{element}>", c="ptr<f32>", d=f"ptr<{out}>", t="i32", s="i32"
        )
        w.promise(a=16, b=16, c=16, d=16)
        a, b = (
            w.view(w.a, [rows, deep], [pitch(deep), 1], [m, k]),
            w.view(w.b, [columns, deep], [pitch(deep), 1], [n, k]),
        )
        c, d = (w.view(base, [rows, columns], [pitch(columns), 1], [m, n]) for base in (w.c, w.d))
        with w.loop(w.ids[0], w.t, w.grid[0], carried=[w.token] if over else []) as outer:
            number = outer.counter
            upper: Tile = number.rem(steps) if varying else w.s
            bounds = (w.const(0, counter), upper.to(counter) if counter != "i32" else upper, w.const(stride, counter))
            with w.loop(*bounds, carried=[w.const(0.0, "f32", m, n)]) as loop:
                step = loop.counter.to("i32") if counter != "i32" else loop.counter
                x, y = w.load(a, number, step), w.load(b, 0, step)
                loop.values = [w.dot(x, y.T, loop.values[0])]
            total, at, token = (
                loop.values[0],
                number.rem(over) if over else number,
                outer.values[0] if over else w.token,
            )
            if added:
                read, after = w.load_token(d if over else c, at, 0, token=token)
                total = total + (read.to("f32") if over and out != "f32" else read)
                token = after if over else token
            stored = w.store(total.to(out) if out != "f32" else total, d, at, 0, token=token)
            outer.values = [stored] if over else []
        return w.text()

    def arguments() -> list[Any]:
        a, b = random((rows, pitch(deep)), element, 1), random((columns, pitch(deep)), element, 2)
        c, d = random((rows, pitch(columns)), "f32", 3), random((rows, pitch(columns)), out, 4)
        return [a, b, c, d, np.int32(tiles), np.int32(steps)]

    def expected(a: Any, b: Any, c: Any, d: Any, t: int, s: int) -> dict[int, Any]:
        found = d.astype(np.float64)
        wide_a, wide_b = (x.astype(np.float64) for x in (a, b))
        for number in range(tiles):
            own, at = (
                slice(each * m, min(rows, (each + 1) * m)) for each in (number, number % over if over else number)
            )
            taken = range(0, number % steps if varying else steps, stride)
            ks = [x for step in taken for x in range(step * k, min(deep, (step + 1) * k))]
            before = (found[at, :columns] if over else c[own, :columns]) if added else 0.0
            found[at, :columns] = (wide_a[own][:, ks] @ wide_b[:, ks].T + before).astype(DTYPES[out])
        return {3: found}

    return Program(name, source, arguments, (blocks,), expected, TOLERANCE[out])


def pitch(size: int) -> int:
    """Elements from row to row: of 16 bytes each, as tensor copies want them."""
    return -(-size // 16) * 16
