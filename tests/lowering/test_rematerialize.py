"""Addresses after a heavy loop are computed there again; nothing else is, and the numbers stay the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ir.core import Value
from ir.dialects import arith, gpu
from ir.types import F32, GLOBAL_PTR, I32, SHARED_PTR
from lowering.convert.nvgpu_to_nvvm.rematerialize import HEAVY
from tests.lowering.nvgpu_harness import Kernel, run

THREADS, TRIPS = 64, 5
Use = Callable[[Kernel, Value, list[Value]], list[Value]]


def kernel(carried: int, hidden: Callable[[Kernel, Value], Value], use: Use | None = None) -> Kernel:
    """y[thread] = sum of `carried` accumulators, each x[thread] added `TRIPS` times; z[thread] = hidden(thread).

    `hidden` is computed before the loop and stored after it; `use` may use it in the loop.
    """
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, GLOBAL_PTR, I32, threads=THREADS)
    x, y, z, trips = k.params
    at = k.index()
    value = hidden(k, at)
    loaded = k.load(k.element(x, at, F32), F32)

    def body(_: Value, held: list[Value]) -> list[Value]:
        following = [k.value(arith.AddF, h, loaded) for h in held]
        return use(k, value, following) if use else following

    sums = k.loop(k.const(0), trips, k.const(1), [k.const(float(i), F32) for i in range(carried)], body)
    total = sums[0]
    for each in sums[1:]:
        total = k.value(arith.AddF, total, each)
    k.store(total, k.element(y, at, F32))
    k.store(value, k.element(z, at, I32))
    return k


def scrambled(k: Kernel, at: Value) -> Value:
    """A multiply-add that no other value shares: (at ^ 21) * 77."""
    return k.value(arith.MulI, k.value(arith.XOrI, at, k.const(21)), k.const(77))


def places(ptx: str) -> list[bool]:
    """Whether each product with 77 is after the loop."""
    lines = ptx.splitlines()
    end = max(i for i, line in enumerate(lines) if "bra $L0" in line)
    return [i > end for i, line in enumerate(lines) if line.rstrip().endswith(", 77;")]


def check(k: Kernel, carried: int) -> str:
    ptx = k.ptx()
    rng = np.random.default_rng(5)
    x = rng.integers(-50, 50, THREADS).astype(np.float32)
    y, z = run(ptx, 1, THREADS, [x, np.zeros_like(x), np.zeros(THREADS, np.int32), TRIPS])[1:]
    np.testing.assert_array_equal(y, carried * (carried - 1) / 2 + carried * TRIPS * x)
    np.testing.assert_array_equal(z, (np.arange(THREADS) ^ 21) * 77)
    return ptx


@pytest.mark.parametrize(("carried", "again"), [(HEAVY - 1, True), (HEAVY - 2, False)])
def test_only_heavy_loops_are_crossed(carried: int, again: bool) -> None:
    """The counter is one of the registers that a loop carries."""
    assert places(check(kernel(carried, scrambled), carried)) == [again]


def test_what_the_loop_holds_is_used() -> None:
    """A value of the loop is in a register anyway."""

    def use(k: Kernel, value: Value, held: list[Value]) -> list[Value]:
        k.store(value, k.element(k.params[2], k.index(), I32))
        return held

    assert places(check(kernel(HEAVY, scrambled, use), HEAVY)) == [False]


def test_what_was_loaded_is_not_loaded_again() -> None:
    """Memory may have changed, and sums of loaded values would hold two registers in place of one."""
    k = kernel(HEAVY, lambda k, at: k.value(arith.MulI, k.load(k.element(k.params[2], at, I32), I32), k.const(77)))
    assert places(k.ptx()) == [False]


def test_divisions_are_not_repeated() -> None:
    """Those by a register; by a constant they are three instructions."""

    def divided(k: Kernel, at: Value) -> Value:
        return k.value(arith.DivUI, k.value(arith.AddI, at, k.params[3]), k.params[3])

    body, after = kernel(HEAVY, divided).ptx().split("bra $L0", 1)
    assert body.count("div.u32") == 1
    assert "div.u32" not in after


def test_the_address_of_shared_memory_is_held() -> None:
    """It is one register that ptxas does not rematerialise itself, and three instructions from sm_90 on."""
    shared: list[Value] = []

    def hidden(k: Kernel, at: Value) -> Value:
        shared.append(k.value(gpu.DynamicSharedMemory, types=[SHARED_PTR]))
        k.store(at, k.element(shared[0], at, I32))
        return at

    k = kernel(HEAVY, hidden)
    k.smem = 4 * THREADS
    at = k.index()
    k.store(k.load(k.element(shared[0], at, I32), I32), k.element(k.params[2], at, I32))
    ptx = k.ptx()
    assert ptx.count("dynamic_smem") == 2
    x = np.ones(THREADS, np.float32)
    *_, z = run(ptx, 1, THREADS, [x, np.zeros_like(x), np.zeros(THREADS, np.int32), TRIPS], k.smem)
    np.testing.assert_array_equal(z, np.arange(THREADS))
