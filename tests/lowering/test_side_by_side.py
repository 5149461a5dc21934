"""Kernels that share the tensor memory of one SM: two CTAs of one, and a matrix product with attention. In hazard
mode, in skewed orders of warps, and with each part of the protocol of allocations changed.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from tests.lowering.protocol import caught, changed
from tests.lowering.test_clusters import ORDERS
from tests.lowering.test_steady_states import attention
from tests.lowering.test_tensor_agents import STEPS, K, M, N, Rows, own
from tests.lowering.test_tensor_agents import products as product_of
from tests.programs.program import Program, interpret, random, reported, side_by_side
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

ERROR = 2e-3
"""Of attention's f16 probabilities; products are within 1e-4."""
ALL = ("together", *ORDERS)


@cache
def products() -> tuple[Kernel, Program]:
    """Tiles of 128 x 64 in a loop over k, three of them, a CTA each."""

    def source() -> str:
        w = Writer("products", a="ptr<f16>", b="ptr<f16>", d="ptr<f32>", table="ptr<i32>")
        w.promise(a=16, b=16, d=16)
        rows = Rows(w)
        rows.store(rows.sum(w.ids[0]), w.ids[0])
        return w.text()

    given = Program("products", source, own("one").arguments, (3,), None)
    return tilesat.compile(source(), "sm_100a"), given


@cache
def flash() -> tuple[Kernel, Program]:
    given = attention(64, True, 200)
    return tilesat.compile(given.source(), "sm_100a"), given


@cache
def wanted() -> tuple[np.ndarray, np.ndarray]:
    """D of the products' first three tiles, and what attention gives."""
    a, b, d, *_ = products()[1].arguments()
    d[: 3 * M] = product_of(a[: 3 * M], b)
    return d, interpret(*flash())[3]


def columns(kernel: Kernel) -> int:
    """Of tensor memory that a CTA allocates."""
    (found,) = re.findall(r"tcgen05\.alloc.*, (\d+);", kernel.ptx)
    return int(found)


def both(order: str, ptx: dict[int, str] | None = None) -> float:
    """The larger error of the products and of attention side by side."""
    found = side_by_side([products(), flash()], order, ptx or {})
    return max(largest_error(found[0][2], wanted()[0]), largest_error(found[1][3], wanted()[1]))


def two(which: tuple[Kernel, Program], position: int, right: np.ndarray, order: str, ptx: str = "") -> float:
    """The error of a kernel with two CTAs on each SM."""
    kernel, given = which
    return largest_error(reported(kernel, given, ptx=ptx, schedule=order, on_one_sm=2)[0][position], right)


@cache
def pairs() -> tuple[Kernel, Program]:
    """Tiles of 256 x 64, two of them, a pair of CTAs each."""

    def source() -> str:
        w = Writer("pairs", a="ptr<f16>", b="ptr<f16>", d="ptr<f32>")
        w.promise(a=16, b=16, d=16)
        deep = STEPS * K
        a = w.view(w.a, [4 * M, deep], [deep, 1], [2 * M, K])
        b = w.view(w.b, [deep, N], [N, 1], [K, N])
        with w.loop(0, STEPS, carried=[w.const(0.0, "f32", 2 * M, N)]) as loop:
            k = loop.counter
            loop.values = [w.dot(w.load(a, w.ids[0], k), w.load(b, k, 0), loop.values[0])]
        w.store(loop.values[0], w.view(w.d, [4 * M, N], [N, 1], [2 * M, N]), w.ids[0], 0)
        return w.text()

    def arguments() -> list[Any]:
        a, b = random((4 * M, STEPS * K), "f16", 1, 0.3), random((STEPS * K, N), "f16", 2, 0.3)
        return [a, b, random((4 * M, N), "f32", 3)]

    kernel = tilesat.compile(source(), "sm_100a", num_ctas=2)
    assert kernel.manifest["cluster"] == [2, 1, 1]
    assert "tcgen05.alloc.cta_group::2" in kernel.ptx
    return kernel, Program("pairs", source, arguments, (2,), None)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("order", ALL)
def test_two_pairs_on_two_sms(order: str) -> None:
    a, b, _ = pairs()[1].arguments()
    assert two(pairs(), 2, a.astype(np.float64) @ b.astype(np.float64), order) < 1e-4


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["the permit kept", "columns kept", "column 0 assumed"])
def test_mutants_of_pairs_are_caught(name: str) -> None:
    a, b, _ = pairs()[1].arguments()
    right, ptx = a.astype(np.float64) @ b.astype(np.float64), changed(pairs()[0].ptx, MUTANTS[name])
    caught(lambda order: two(pairs(), 2, right, order, ptx) <= 1e-4, ALL)


@pytest.mark.in_turn
def test_what_they_take() -> None:
    assert columns(products()[0]) == 64
    assert columns(flash()[0]) == 256


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", ALL)
def test_products_with_attention(order: str) -> None:
    assert both(order) < ERROR


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", ALL)
def test_two_ctas_of_a_kernel(order: str) -> None:
    assert two(products(), 2, wanted()[0], order) < ERROR
    assert two(flash(), 3, wanted()[1], order) < ERROR


MUTANTS: dict[str, tuple[str, str]] = {
    "the permit kept": (r"tcgen05\.relinquish_alloc_permit.*;", ""),
    "columns kept": (r"tcgen05\.dealloc.*;", ""),
    "column 0 assumed": (r"(tcgen05\.fence::after_thread_sync;\s+)ld\.shared\.b32 (%r\d+), .*;", r"\1mov.b32 \2, 0;"),
    "half the columns": (r"(tcgen05\.alloc.*), (\d+);", r"\1, 32;"),
    "half given back": (r"(tcgen05\.dealloc.*), (\d+);", r"\1, 32;"),
    "given back at column 0": (r"(tcgen05\.dealloc\S+) %r\d+,", r"\1 0,"),
}  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("which", ["products", "attention"])
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(name: str, which: str) -> None:
    kernel, position = (products()[0], 0) if which == "products" else (flash()[0], 1)
    ptx = changed(kernel.ptx, MUTANTS[name])
    caught(lambda order: both(order, {position: ptx}) <= ERROR, ALL)
