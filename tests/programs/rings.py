"""Loops that follow one another, each over a ring of stages: they share shared memory, and with agents one ring."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.program import Program, random
from tilesat.fuzz.writer import Tile, Writer


def causal_attention(
    rows: int, width: int, step: int, blocks: int, name: str = "causal", persistent: bool = False, kind: str = "f16"
) -> Program:
    """Attention in two loops: keys that every row of the block sees, then those that the diagonal cuts.

    `persistent`: two tile blocks share all blocks of queries, in a loop around both.
    """
    length = rows * blocks

    def source() -> str:
        w = Writer("attention", q=f"ptr<{kind}>", k=f"ptr<{kind}>", v=f"ptr<{kind}>", o="ptr<f32>")
        w.promise(q=16, k=16, v=16, o=16)
        queries = w.view(w.q, [length, width], [width, 1], [rows, width])
        keys = w.view(w.k, [length, width], [width, 1], [step, width])
        values = w.view(w.v, [length, width], [width, 1], [step, width])
        out = w.view(w.o, [length, width], [width, 1], [rows, width])

        def block(number: Tile) -> None:
            q = w.load(queries, number, 0)
            carried = [w.const(-1e30, "f32", rows), w.const(0.0, "f32", rows), w.const(0.0, "f32", rows, width)]
            whole = (number * rows).div(step)
            last = ((number + 1) * rows).div(step)
            for lower, upper, masked in ((0, whole, False), (whole, last, True)):
                with w.loop(lower, upper, carried=carried) as loop:
                    highest, total, acc = loop.values
                    score = w.dot(q, w.load(keys, loop.counter, 0).T) * 0.125
                    if masked:
                        key = ((loop.counter * step).splat(step) + w.iota(step)).row(rows)
                        row = ((number * rows).splat(rows) + w.iota(rows)).column(step)
                        score = (key <= row).where(score, -1e30)
                    new = highest.max(score.reduce(1, "max"))
                    power = (score - new.column(step)).exp2()
                    fade = (highest - new).exp2()
                    total = total * fade + power.reduce(1)
                    acc = w.dot(power.to(kind), w.load(values, loop.counter, 0), acc * fade.column(width))
                    loop.values = [new, total, acc]
                carried = loop.values
            _, total, acc = carried
            w.store(acc / total.column(width), out, number, 0)

        if persistent:
            with w.loop(w.ids[0], blocks, 2) as outer:
                block(outer.counter)
        else:
            block(w.ids[0])
        return w.text()

    def arguments() -> list[Any]:
        shapes = [(length, width)] * 3
        return [random(shape, kind, 1 + i) for i, shape in enumerate(shapes)] + [random((length, width), "f32", 5)]

    def expected(q: Any, k: Any, v: Any, o: Any) -> dict[int, Any]:
        q, k, v = (x.astype(np.float64) for x in (q, k, v))
        score = np.where(np.tri(length, dtype=bool), q @ k.T * 0.125, -np.inf)
        power = np.exp2(score - score.max(1, keepdims=True))
        return {3: power / power.sum(1, keepdims=True) @ v}

    return Program(name, source, arguments, (2 if persistent else blocks,), expected, 3e-3)


def two_products(
    name: str, tile: tuple[int, int, int], steps: tuple[int, int] = (3, 2), pitches: tuple[int, int] = (0, 0),
    branch: bool = False, repeated: bool = False,
) -> Program:  # fmt: skip
    """D = A B^T + E F^T in two loops; `pitches` lengthen the rows of each pair, in elements. `branch`: the first loop
    runs in blocks of even number only. `repeated`: both run in an outer loop, over two tiles of D.
    """
    m, n, k = tile
    rows = [step * k + more for step, more in zip(steps, pitches, strict=True)]

    def source() -> str:
        w = Writer("products", a="ptr<f16>", b="ptr<f16>", e="ptr<f16>", f="ptr<f16>", d="ptr<f32>")
        w.promise(a=16, b=16, e=16, f=16, d=16)
        pairs = [
            [
                w.view(base, [2 * size, step * k], [row, 1], [size, k])
                for base, size in ((left, m), (right, n))
            ]
            for left, right, row, step in ((w.a, w.b, rows[0], steps[0]), (w.e, w.f, rows[1], steps[1]))
        ]  # fmt: skip
        out = w.view(w.d, [2 * m, n], [n, 1], [m, n])

        def products(number: Tile) -> None:
            def run(total: Tile, which: int) -> Tile:
                left, right = pairs[which]
                with w.loop(0, steps[which], carried=[total]) as loop:
                    a, b = w.load(left, number, loop.counter), w.load(right, 0, loop.counter)
                    loop.values = [w.dot(a, b.T, loop.values[0])]
                return loop.values[0]

            total = w.const(0.0, "f32", m, n)
            if branch:
                total = w.branch((number & 1).eq(0), lambda: [run(total, 0)], lambda: [total])[0]
            else:
                total = run(total, 0)
            w.store(run(total, 1), out, number, 0)

        if repeated:
            with w.loop(0, 2) as outer:
                products(outer.counter)
        else:
            products(w.ids[0])
        return w.text()

    def arguments() -> list[Any]:
        shapes = [(2 * size, row) for row in rows for size in (m, n)]
        arrays = [random(shape, "f16", 1 + i) for i, shape in enumerate(shapes)]
        return [*arrays, random((2 * m, n), "f32", 9)]

    def expected(a: Any, b: Any, e: Any, f: Any, d: Any) -> dict[int, Any]:
        a, b = (x[:, : steps[0] * k].astype(np.float64) for x in (a, b))
        e, f = (x[:, : steps[1] * k].astype(np.float64) for x in (e, f))
        first = a @ b[:n].T
        if branch:
            first[m:] = 0
        return {4: first + e @ f[:n].T}

    return Program(name, source, arguments, (1,) if repeated else (2,), expected, 2e-3)
