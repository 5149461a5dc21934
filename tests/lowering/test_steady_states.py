"""Attention and GEMM in every form that a schedule must keep right: lengths that no tile divides, few iterations or
none, loops one after the other, around each other and in branches; in hazard mode and in skewed orders of warps.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from runtime.ptxas import assemble
from tests.programs.program import Program, interpret, random, simulate
from tests.programs.rings import causal_attention, two_products
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel

ORDERS = tuple(f"skewed:{seed}" for seed in range(5))
TARGETS = ("sm_80", "sm_90a", "sm_120a")
ROWS, STEP, HEADS = 128, 64, 2


def attention(
    width: int, causal: bool, length: int, kind: str = "f16", rows: int = ROWS, step: int = STEP
) -> Program:  # fmt: skip
    """Flash attention in one loop, whose mask cuts the last keys and, where `causal`, the diagonal."""

    def source() -> str:
        w = Writer("attention", q=f"ptr<{kind}>", k=f"ptr<{kind}>", v=f"ptr<{kind}>", o="ptr<f32>", n="i32")
        w.promise(q=16, k=16, v=16, o=16, n=1)

        def view(array: Tile, tile: int) -> Tile:
            return w.view(array, [HEADS, w.n, width], [w.n * width, width, 1], [1, tile, width])

        def load(array: Tile, tile: int, number: Tile) -> Tile:
            return w.load(view(array, tile), w.ids[1], number, 0).reshape(tile, width)

        q = load(w.q, rows, w.ids[0])
        end = ((w.ids[0] + 1) * rows).min(w.n) if causal else w.n
        start = [w.const(-np.inf, "f32", rows), w.const(0.0, "f32", rows), w.const(0.0, "f32", rows, width)]
        with w.loop(0, (end + (step - 1)).div(step), carried=start) as loop:
            highest, total, out = loop.values
            score = w.dot(q, load(w.k, step, loop.counter).T) * 0.25
            key = (loop.counter * step).splat(step) + w.iota(step)
            inside = (key < w.n.splat(step)).row(rows)
            if causal:
                inside = inside & (key.row(rows) <= ((w.ids[0] * rows).splat(rows) + w.iota(rows)).column(step))
            score = inside.where(score, -np.inf)
            new = highest.max(score.reduce(1, "max"))
            power = (score - new.column(step)).exp2()
            fade = (highest - new).exp2()
            out = w.dot(power.to(kind), load(w.v, step, loop.counter), out * fade.column(width))
            loop.values = [new, total * fade + power.reduce(1), out]
        _, total, out = loop.values
        w.store((out / total.column(width)).reshape(1, rows, width), view(w.o, rows), w.ids[1], w.ids[0], 0)
        return w.text()

    def arguments() -> list[Any]:
        shape = (HEADS, length, width)
        return [*(random(shape, kind, 1 + i) for i in range(3)), random(shape, "f32", 5), length]

    def expected(q: Any, k: Any, v: Any, o: Any, n: int) -> dict[int, Any]:
        q, k, v = (x.astype(np.float64) for x in (q, k, v))
        score = np.einsum("hqd,hkd->hqk", q, k) * 0.25
        if causal:
            score = np.where(np.tri(n, dtype=bool), score, -np.inf)
        power = np.exp2(score - score.max(2, keepdims=True))
        return {3: power / power.sum(2, keepdims=True) @ v}

    tolerance = {"f16": 2e-3, "bf16": 1.6e-2}.get(kind, 6e-2)
    name = f"attention-{width}-{'causal' if causal else 'full'}-{length}-{kind}"
    return Program(name, source, arguments, (-(-length // rows), HEADS), expected, tolerance)


def gemm(steps: int, persistent: bool, kind: str = "f16", k: int = 64) -> Program:
    """D = A B^T, whose K is known at run time alone; `persistent`: two tile blocks share five tiles of D."""
    m, n = 128, 128
    tiles = 5 if persistent else 2

    def source() -> str:
        w = Writer("gemm", a=f"ptr<{kind}>", b=f"ptr<{kind}>", d="ptr<f32>", k="i32")
        w.promise(a=16, b=16, d=16, k=8 if kind == "f16" else 16)
        left = w.view(w.a, [tiles * m, w.k], [w.k, 1], [m, k])
        right = w.view(w.b, [n, w.k], [w.k, 1], [n, k])
        out = w.view(w.d, [tiles * m, n], [n, 1], [m, n])

        def tile(number: Tile) -> None:
            with w.loop(0, w.tiles(left)[1], carried=[w.const(0.0, "f32", m, n)]) as loop:
                a, b = w.load(left, number, loop.counter), w.load(right, 0, loop.counter)
                loop.values = [w.dot(a, b.T, loop.values[0])]
            w.store(loop.values[0], out, number, 0)

        if persistent:
            with w.loop(w.ids[0], tiles, 2) as outer:
                tile(outer.counter)
        else:
            tile(w.ids[0])
        return w.text()

    width = steps * k - (24 if kind == "f16" else 32) if steps else 0

    def arguments() -> list[Any]:
        return [
            random((tiles * m, width), kind, 1),
            random((n, width), kind, 2),
            random((tiles * m, n), "f32", 3),
            width,
        ]

    def expected(a: Any, b: Any, d: Any, k: int) -> dict[int, Any]:
        return {2: a.astype(np.float64) @ b.astype(np.float64).T}

    return Program(f"gemm-{steps}-{persistent}", source, arguments, (2,), expected, 3e-3)


@cache
def compiled(text: str, target: str) -> Kernel:
    """One kernel for all lengths: they are known at run time."""
    kernel = tilesat.compile(text, target)
    assembled = assemble(kernel.ptx, target)
    assert (assembled.warnings, assembled.infos) == ((), ()), "ptxas complains"
    return kernel


def right(program: Program, target: str, orders: tuple[str, ...] = ("together",)) -> None:
    """The simulator in hazard mode, in each order, and the interpreter and NumPy agree."""
    kernel = compiled(program.source(), target)
    reference = interpret(kernel, program)
    wanted = program.expected(*program.arguments()) if program.expected else {}
    for order in orders:
        found = simulate(kernel, program, schedule=order)
        for position, array in enumerate(reference):
            if isinstance(array, np.ndarray):
                assert largest_error(found[position], array) <= program.tolerance, (order, position)
        for position, array in wanted.items():
            assert largest_error(found[position], array) <= program.tolerance, (order, position)


F8 = (("sm_90a", "f8E4M3FN"), ("sm_120a", "f8E4M3FN"))
SOME = {("sm_90a", 64, True, 65), ("sm_80", 64, False, 65)}
"""In make test."""


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("target", "width", "causal", "length"),
    [
        pytest.param(*case, marks=() if case in SOME else pytest.mark.slow)
        for target in TARGETS
        for width in (64, 128, 256)
        for causal in (False, True)
        for length in ((1, 64, 65, 128, 129, 300) if width == 64 else (1, 129))
        for case in [(target, width, causal, length)]
    ],
)
def test_attention(target: str, width: int, causal: bool, length: int) -> None:
    orders = ("together", *(ORDERS if length == 129 else ()))
    right(attention(width, causal, length, rows=64 if width == 256 else ROWS), target, orders)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "kind"), [*((target, "bf16") for target in TARGETS), *F8])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_other_types(target: str, kind: str, causal: bool) -> None:
    right(attention(64, causal, 200, kind), target, ("together", *ORDERS))


@pytest.mark.slow
@pytest.mark.parametrize(("target", "kind"), [("sm_80", "bf16"), ("sm_90a", "bf16"), *F8])
@pytest.mark.parametrize("width", [128, 256])
def test_wide_attention_of_other_types(target: str, kind: str, width: int) -> None:
    right(attention(width, True, 129, kind, rows=64 if width == 256 else ROWS), target, ("together", ORDERS[0]))


STEPS = (0, 1, 2, 3, 9)
"""Of K: none, fewer than stages, more."""


@pytest.mark.sampled(18)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("steps", [pytest.param(n, marks=() if n < 2 else pytest.mark.slow) for n in STEPS])
def test_gemm(target: str, persistent: bool, steps: int) -> None:
    right(gemm(steps, persistent), target, ("together", *(ORDERS if steps > 2 else ())))


@pytest.mark.slow
@pytest.mark.parametrize(("target", "kind"), F8)
@pytest.mark.parametrize("steps", STEPS)
def test_gemm_of_f8(target: str, kind: str, steps: int) -> None:
    right(gemm(steps, False, kind, k=128), target, ("together", ORDERS[0]))


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "program",
    [
        two_products("in-a-row", (128, 128, 64)),
        two_products("in-a-branch", (128, 128, 64), branch=True),
        two_products("around", (128, 128, 64), repeated=True),
        causal_attention(128, 64, 64, 3),
        causal_attention(128, 64, 64, 5, persistent=True),
    ],
    ids=lambda program: program.name,
)
def test_loops_after_loops(target: str, program: Program) -> None:
    right(program, target, ("together", *ORDERS))
