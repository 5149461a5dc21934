"""Products with a batch dimension of one: of two dimensions inside, so that tensor memory takes them too."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import cuda_tile as ct
from tests.lowering.scaled_products import FORMATS, numbers
from tests.lowering.test_clusters import ORDERS
from tests.programs.program import Program, check, random, simulate
from tests.programs.test_swapped_products import arguments, products
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Tile, Writer

BATCH, M, N, K, TILE = 2, 200, 136, 168, (128, 128, 64)


def batched(w: Writer, kind: str, turned: bool, tile: tuple[int, int, int]) -> tuple[list[Tile], list[Tile]]:
    """Views of A [batch, m, k], of B [batch, n, k] or, not turned, [batch, k, n], and of D; their places."""
    m, n, k = tile
    a = w.view(w.a, [BATCH, w.m, w.k], [M * K, K, 1], [1, m, k])
    b = w.view(w.b, [BATCH, w.n, w.k], [N * K, K, 1], [1, n, k]) if turned else (
        w.view(w.b, [BATCH, w.k, w.n], [N * K, N, 1], [1, k, n])
    )  # fmt: skip
    return [a, b, w.view(w.d, [BATCH, w.m, w.n], [M * N, N, 1], [1, m, n])], list(w.ids)


def source(kind: str = "f16", turned: bool = True, read: bool = False, tile: tuple[int, int, int] = TILE) -> str:
    """D = A B of each batch; `read`: each step's product is doubled before it is added."""
    m, n, _ = tile
    w = Writer("batched", a=f"ptr<{kind}>", b=f"ptr<{kind}>", d="ptr<f32>", m="i32", n="i32", k="i32")
    w.promise(a=16, b=16, d=16, m=1, n=8, k=8)
    (a, b, d), (x, y, z) = batched(w, kind, turned, tile)
    with w.loop(0, w.tiles(a)[2], carried=[w.const(0, "f32", 1, m, n)]) as loop:
        i, total = loop.counter, loop.values[0]
        right = w.load(b, z, y, i).permute(0, 2, 1) if turned else w.load(b, z, i, y)
        left = w.load(a, z, x, i)
        if read:
            loop.values = [total + w.dot(left, right, w.const(0, "f32", 1, m, n)) * 2.0]
        else:
            loop.values = [w.dot(left, right, total)]
    w.store(loop.values[0], d, z, x, y)
    return w.text()


def program(kind: str = "f16", turned: bool = True, read: bool = False, sizes: tuple[int, int, int] = (M, N, K),
            tile: tuple[int, int, int] = TILE) -> Program:  # fmt: skip
    m, n, k = sizes

    def given() -> list[Any]:
        right = (BATCH, N, K) if turned else (BATCH, K, N)
        return [random((BATCH, M, K), kind, 1), random(right, kind, 2), random((BATCH, M, N), "f32", 3), m, n, k]

    def expected(a: Any, b: Any, d: Any, *_: Any) -> dict[int, Any]:
        left, right = (x.astype(np.float64) for x in (a, b.transpose(0, 2, 1) if turned else b))
        made = d.astype(np.float64)
        made[:, :m, :n] = (2 if read else 1) * (left[:, :m, :k] @ right[:, :k, :n])
        return {2: made}

    grid = (-(-M // tile[0]), -(-N // tile[1]), BATCH)
    return Program("batched", lambda: source(kind, turned, read, tile), given, grid, expected, 4e-3)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", ["sm_100a", "sm_103a", "sm_110a"])
@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_sums_of_loops(kind: str, turned: bool, target: str) -> None:
    """Tails in each dimension, of each batch."""
    assert "tcgen05.mma" in check(program(kind, turned), target).ptx


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_products_that_are_read(target: str) -> None:
    check(program(read=True), target)


@pytest.mark.in_turn
@pytest.mark.parametrize("way", ["loop", "alone"])
def test_of_one_batch(way: str) -> None:
    text = products(128, batch=True, way=way)
    check(Program("batch", lambda: text, lambda: arguments(128), (1,), None, 2e-3), "sm_100a")
    assert "tcgen05.mma" in tilesat.compile(text, "sm_100a").ptx


@pytest.mark.sampled(5)
@pytest.mark.parametrize("order", ORDERS)
def test_in_skewed_orders(order: str) -> None:
    given = program()
    kernel = compiled()
    assert largest_error(simulate(kernel, given, schedule=order)[2], given.expected(*given.arguments())[2]) < 4e-3


@cache
def compiled() -> Any:
    return tilesat.compile(source(), "sm_100a")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_few_steps(steps: int) -> None:
    given = program(sizes=(M, N, 64 * steps))
    assert largest_error(simulate(compiled(), given)[2], given.expected(*given.arguments())[2]) < 4e-3


def test_by_a_pair() -> None:
    """Each CTA of a cluster has half of the rows of one batch."""
    tile = (256, 128, 64)
    kernel, given = tilesat.compile(source(tile=tile), "sm_100a", num_ctas=2), program(tile=tile)
    assert "cta_group::2" in kernel.ptx
    assert largest_error(simulate(kernel, given)[2], given.expected(*given.arguments())[2]) < 4e-3


def test_costs_what_a_product_without_a_batch_does() -> None:
    """The same loop, but for the batch's place."""
    with_batch, without = (tilesat.compile(products(128, batch=each), "sm_100a").cost for each in (True, False))
    assert with_batch == pytest.approx(without, rel=0.05)


def scaled(name: str) -> Program:
    """Block-scaled factors of f4 in memory, or f8, in batches of one."""
    form, (m, n, k), steps = FORMATS[name], FORMATS[name].tile, 2

    def text() -> str:
        w = Writer("scaled", a=f"ptr<{form.factor}>", b=f"ptr<{form.factor}>", s=f"ptr<{form.scale}>",
                   t=f"ptr<{form.scale}>", d="ptr<f32>")  # fmt: skip
        w.promise(a=16, b=16, s=16, t=16, d=16)
        deep, few = k * steps, k // form.block
        a, b = (w.view(p, [BATCH, r, deep], [r * deep, deep, 1], [1, r, k]) for p, r in ((w.a, m), (w.b, n)))
        s, t = (
            w.view(p, [BATCH, r, few * steps], [r * few * steps, few * steps, 1], [1, r, few])
            for p, r in ((w.s, m), (w.t, n))
        )
        z = w.ids[0]
        with w.loop(0, steps, carried=[w.const(0, "f32", 1, m, n)]) as loop:
            i, total = loop.counter, loop.values[0]
            right, across = (w.load(v, z, 0, i).permute(0, 2, 1) for v in (b, t))
            made = (w.load(a, z, 0, i), right, total, w.load(s, z, 0, i), across)
            loop.values = [w.op(ct.MmaFScaled, *made, types=[total.type])]
        w.store(loop.values[0], w.view(w.d, [BATCH, m, n], [m * n, n, 1], [1, m, n]), z, 0, 0)
        return w.text()

    def given() -> list[Any]:
        rng = np.random.default_rng(1)
        if form.in_byte == 2:
            factors: list[Any] = [rng.integers(-128, 128, (BATCH, r, k * steps // 2), np.int8) for r in (m, n)]
        else:
            factors = [random((BATCH, r, k * steps), form.factor, r + i) for i, r in enumerate((m, n))]
        scales = [abs(random((BATCH, r, k // form.block * steps), form.scale, 5 + i)) for i, r in enumerate((m, n))]
        return [*factors, *scales, random((BATCH, m, n), "f32", 9)]

    def expected(a: Any, b: Any, s: Any, t: Any, d: Any) -> dict[int, Any]:
        def whole(x: Any, scale: Any) -> Any:
            flat = x.reshape(-1, x.shape[-1])
            plain = numbers(flat) if form.in_byte == 2 else flat.astype(np.float64)
            return plain.reshape(*x.shape[:-1], -1) * np.repeat(scale.astype(np.float64), form.block, axis=-1)

        return {4: whole(a, s) @ whole(b, t).transpose(0, 2, 1)}

    return Program("scaled", text, given, (BATCH,), expected, 2e-3)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("target", ["sm_100a", "sm_120a"])
@pytest.mark.parametrize("name", ["mxfp8", "mxfp4-f4", "nvfp4-f4", "fp4-powers"])
def test_block_scaled(name: str, target: str) -> None:
    kernel = check(scaled(name), target, fast=["uscale"])
    assert f"kind::{FORMATS[name].kind.split('.')[0]}.block_scale" in kernel.ptx
