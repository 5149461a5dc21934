"""Tiles from outside loops that the producer loads in addition to a loop's rings, each awaited where it is read."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from ptxsim import SimulatorError
from tests.programs.program import FAR_APART, Program, check, interpret, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel

M, N, K, STEPS = 64, 64, 64, 3


def sums(stored: bool = False, branch: bool = False) -> Program:
    """D = sum of (A_0 + A_1) B_j, with both tiles of A loaded before the loop; `stored`: the second has been doubled by
    this kernel; `branch`: all of it is one side of a branch.
    """

    def source() -> str:
        w = Writer("sums", a="ptr<f16>", b="ptr<f16>", d="ptr<f32>", n="i32")
        w.promise(a=16, b=16, d=16, n=1)
        left = w.view(w.a, [2 * M, K], [K, 1], [M, K])
        right = w.view(w.b, [w.n * K, N], [N, 1], [K, N])

        def total() -> Tile:
            first = w.load(left, 0, 0)
            token = w.store(w.load(left, 1, 0) * 2.0, left, 1, 0) if stored else None
            second = w.load(left, 1, 0, token=token)
            with w.loop(0, w.n, carried=[w.const(0.0, "f32", M, N)]) as loop:
                b = w.load(right, loop.counter, 0)
                loop.values = [w.dot(second, b, w.dot(first, b, loop.values[0]))]
            return loop.values[0]

        zero = w.const(0.0, "f32", M, N)
        found = w.branch(w.n > 0, lambda: [total()], lambda: [zero])[0] if branch else total()
        w.store(found, w.view(w.d, [M, N], [N, 1], [M, N]), 0, 0)
        return w.text()

    def arguments() -> list[Any]:
        return [random((2 * M, K), "f16", 1), random((STEPS * K, N), "f16", 2), random((M, N), "f32", 3), STEPS]

    def expected(a: Any, b: Any, d: Any, n: int) -> dict[int, Any]:
        a, b = a.astype(np.float64).reshape(2, M, K), b.astype(np.float64).reshape(n, K, N)
        return {2: (a[0] + a[1] * (2.0 if stored else 1.0)) @ b.sum(0)}

    return Program(f"sums-{stored}-{branch}", source, arguments, (1,), expected, 4e-3)


@cache
def compiled(stored: bool, target: str) -> Kernel:
    """Checked against the interpreter and NumPy, with hazards watched."""
    return check(sums(stored), target)


def threads_copy(kernel: Kernel) -> bool:
    """Does any thread copy by cp.async?"""
    return re.search(r"cp\.async\.c[ag]\.", kernel.ptx) is not None


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
def test_the_producer_brings_both(target: str) -> None:
    kernel = compiled(False, target)
    assert not threads_copy(kernel)
    assert kernel.ptx.count("cp.async.bulk.tensor.2d.shared") == 3
    reference = interpret(kernel, sums())[2]
    for order in FAR_APART:
        assert largest_error(simulate(kernel, sums(), schedule=order)[2], reference) <= sums().tolerance


def test_what_this_kernel_has_stored_its_threads_bring() -> None:
    assert threads_copy(compiled(True, "sm_90a"))


def test_in_a_branch_threads_bring_them() -> None:
    """The agents' code is one region only where everything behind the tile is."""
    kernel = check(sums(branch=True), "sm_90a")
    assert threads_copy(kernel)
    assert "setmaxnreg" in kernel.ptx


@pytest.mark.parametrize("which", [0, 1])
def test_each_is_waited_for(which: int) -> None:
    kernel = compiled(False, "sm_90a")
    consumers = kernel.ptx.index("setmaxnreg.inc")
    waits = list(re.finditer(r" *\$W\d+:\n.*try_wait.*, 0;\n.*bra \$W\d+;\n", kernel.ptx[consumers:]))
    place = waits[which]
    changed = kernel.ptx[: consumers + place.start()] + kernel.ptx[consumers + place.end() :]
    with pytest.raises(SimulatorError):
        simulate(kernel, sums(), ptx=changed)


def test_the_first_stages_are_filled_without_a_wait() -> None:
    """Nobody has read them: a wait for the round before the first one would hold at once."""
    text = compiled(False, "sm_90a").ptx
    producer = text[text.index("setmaxnreg.dec") : text.index("setmaxnreg.inc")]
    assert "try_wait" not in producer.partition("cp.async.bulk.tensor")[0]
