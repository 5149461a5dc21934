"""Loops of copies carry the addresses of the rows that they read; what may wrap is multiplied in each iteration."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.programs.program import Program, check, random
from tilesat.fuzz.writer import Writer

M, N, K = 64, 64, 32
MULTIPLIED = re.compile(r"mul\.(?:wide\.[us]32|lo\.s64) %rd\d+, %rd?\d+, %rd?\d+;")
"""A row times a pitch that is known at run time alone."""


def product(depth: int, width: int, first: int = 0, stride: int = 1, bounded: bool = True) -> Program:
    """D = A B over every `stride`th tile of K from the `first` one on, where a tile of B is rows of a matrix whose
    width is known at run time alone; `bounded`: there are at most 1,000 such tiles.
    """

    def source() -> str:
        w = Writer("product", a="ptr<f16>", b="ptr<f16>", d="ptr<f32>", k="i32", n="i32")
        w.promise(a=16, b=16, d=16, k=8, n=8)
        left = w.view(w.a, [M, w.k], [w.k, 1], [M, K])
        right = w.view(w.b, [w.k, w.n], [w.n, 1], [K, N])
        count = w.tiles(left)[1]
        with w.loop(first, count.min(1000) if bounded else count, stride, carried=[w.const(0.0, "f32", M, N)]) as loop:
            a, b = w.load(left, 0, loop.counter), w.load(right, loop.counter, 0)
            loop.values = [w.dot(a, b, loop.values[0])]
        w.store(loop.values[0], w.view(w.d, [M, N], [N, 1], [M, N]), 0, 0)
        return w.text()

    def arguments() -> list[Any]:
        return [random((M, depth), "f16", 1), random((depth, width), "f16", 2), random((M, N), "f32", 3), depth, width]

    def expected(a: Any, b: Any, d: Any, k: int, n: int) -> dict[int, Any]:
        a, b = a.astype(np.float64), b.astype(np.float64)[:, :N]
        taken = [c for tile in range(first, -(-k // K), stride) for c in range(tile * K, min(k, (tile + 1) * K))]
        return {2: a[:, taken] @ b[taken]}

    return Program(f"product-{depth}-{width}-{first}-{stride}", source, arguments, (1,), expected, 4e-3)


def loops_of(ptx: str) -> list[str]:
    """The blocks with products and copies."""
    blocks = re.split(r"(?m)^(?=\$L\d+:)", ptx)
    return [text for text in blocks if "mma.sync" in text and "cp.async.c" in text]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("depth", "first", "stride"), [(8, 0, 1), (232, 0, 1), (200, 1, 2), (200, 9, 1)])
def test_rows_are_carried(depth: int, first: int, stride: int) -> None:
    """An iteration goes on by the rows of a tile, of two bytes times the pitch; the last loop does not run."""
    (loop,) = loops_of(check(product(depth, 72, first, stride)).ptx)
    assert not MULTIPLIED.search(loop)
    assert re.search(rf"mul\.wide\.[us]32 %rd\d+, %r\d+, {2 * K * stride};", loop)


def test_rows_that_may_wrap_are_multiplied() -> None:
    """A row some iterations ahead may be beyond 2^31, where nothing is copied."""
    (loop,) = loops_of(check(product(200, 72, bounded=False)).ptx)
    assert MULTIPLIED.search(loop)
