"""Loops that run at most once have no branch back, whatever their bounds wrap to."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import tilesat
from ir.core import Value
from ir.dialects import arith
from ir.types import I32
from tests.lowering.nvgpu_harness import GLOBAL_PTR, Kernel, run
from tests.programs.program import Program, check, random
from tilesat.fuzz.writer import Writer

THREADS = 64
NEAR = [v % (1 << 32) for base in (0, 1 << 28, 1 << 31, 3 << 30) for v in range(base - 3, base + 4)]
Bounds = Callable[[Kernel, Value, Value], tuple[Value, Value]]


def signed(bits: int) -> int:
    return (bits + (1 << 31)) % (1 << 32) - (1 << 31)


def times(k: Kernel, x: Value, factor: int) -> Value:
    return k.value(arith.MulI, x, k.const(factor))


def plus(k: Kernel, x: Value, y: Value | int) -> Value:
    return k.value(arith.AddI, x, y if isinstance(y, Value) else k.const(y))


def block(k: Kernel, x: Value, y: Value, after: int = 8) -> tuple[Value, Value]:
    return times(k, x, 8), plus(k, times(k, x, 8), after)


def following(k: Kernel, x: Value, y: Value) -> tuple[Value, Value]:
    return times(k, x, 8), times(k, plus(k, x, 1), 8)


def clipped(k: Kernel, x: Value, y: Value) -> tuple[Value, Value]:
    low, high = following(k, x, y)
    return low, k.value(arith.MinSI, y, high)


def raised(k: Kernel, x: Value, y: Value) -> tuple[Value, Value]:
    low, high = following(k, x, y)
    return k.value(arith.MaxSI, low, y), high


def backwards(k: Kernel, x: Value, y: Value) -> tuple[Value, Value]:
    return k.value(arith.SubI, y, k.const(5)), k.value(arith.SubI, y, k.const(-3))


FORMS: dict[str, tuple[Bounds, Callable[[int, int], tuple[int, int]]]] = {
    "block": (block, lambda x, y: (8 * x, 8 * x + 8)),
    "shorter": (lambda k, x, y: block(k, x, y, 3), lambda x, y: (8 * x, 8 * x + 3)),
    "following": (following, lambda x, y: (8 * x, 8 * (x + 1))),
    "clipped": (clipped, lambda x, y: (8 * x, min(y, signed(8 * x + 8)))),
    "raised": (raised, lambda x, y: (max(signed(8 * x), y), 8 * x + 8)),
    "backwards": (backwards, lambda x, y: (y - 5, y + 3)),
}


def built(bounds: Bounds, unsigned: bool, step: int = 8) -> Kernel:
    """z[thread] = the sum of the counters, and z[thread + 64] their number."""
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, GLOBAL_PTR, threads=THREADS)
    at = k.index()
    x, y = (k.load(k.element(p, at, I32), I32) for p in k.params[:2])
    low, high = bounds(k, x, y)
    found = k.loop(low, high, k.const(step), [k.const(0), k.const(0)],
                   lambda iv, c: [plus(k, c[0], iv), plus(k, c[1], 1)], unsigned=unsigned)  # fmt: skip
    for i, value in enumerate(found):
        k.store(value, k.element(k.params[2], plus(k, at, i * THREADS), I32))
    return k


def branches_back(ptx: str) -> int:
    """Branches to a label above."""
    labels = {m[1]: m.start() for m in re.finditer(r"^(\$\w+):", ptx, re.MULTILINE)}
    return sum(labels[m[1]] < m.start() for m in re.finditer(r"bra (\$\w+);", ptx))


@pytest.mark.parametrize("form", FORMS)
def test_no_branch_back(form: str) -> None:
    bounds, expected = FORMS[form]
    x = np.resize(np.array(NEAR, np.uint32), THREADS)
    y = np.roll(x, 5)
    if form in ("clipped", "raised"):  # near the other bound
        y[::2] = (8 * x + np.arange(THREADS, dtype=np.uint32) % 12 - 2)[::2]
    ptx = built(bounds, False).ptx()
    assert branches_back(ptx) == 0
    given = x.view(np.int32), y.view(np.int32)
    out = run(ptx, 1, THREADS, [*given, np.zeros(2 * THREADS, np.int32)])[2].tolist()
    for thread, (a, b) in enumerate(zip(*(each.tolist() for each in given), strict=True)):
        counters = range(*(signed(v) for v in expected(a, b)), 8)
        assert (out[thread], out[thread + THREADS]) == (signed(sum(counters)), len(counters))


@pytest.mark.parametrize("form", ["block", "following", "backwards"])
def test_no_branch_back_without_signs(form: str) -> None:
    bounds, expected = FORMS[form]
    x = np.resize(np.array(NEAR, np.uint32), THREADS)
    ptx = built(bounds, True).ptx()
    assert branches_back(ptx) == 0
    out = run(ptx, 1, THREADS, [x.view(np.int32), x.view(np.int32), np.zeros(2 * THREADS, np.int32)])[2].tolist()
    for thread, a in enumerate(x.tolist()):
        counters = range(*(v % (1 << 32) for v in expected(a, a)), 8)
        assert (out[thread], out[thread + THREADS]) == (signed(sum(counters)), len(counters))


def test_signs_tell_the_less_of_two() -> None:
    """What is less with signs may be more without."""
    assert branches_back(built(clipped, True).ptx()) == 1
    assert branches_back(built(raised, True).ptx()) == 1


@pytest.mark.parametrize(
    "bounds",
    [
        lambda k, x, y: block(k, x, y, 9),
        lambda k, x, y: (x, y),
        lambda k, x, y: (times(k, x, 8), times(k, plus(k, y, 1), 8)),
        lambda k, x, y: (times(k, x, 8), times(k, plus(k, x, 2), 8)),
    ],
)
def test_what_may_run_twice_branches_back(bounds: Bounds) -> None:
    assert branches_back(built(bounds, False).ptx()) == 1


def diagonal(first: bool = True) -> Program:
    """The blocks of a product up to the diagonal, the last in a loop of its own, as causal attention has them; without
    the `first` loop that block alone.
    """
    size, depth = 192, 64

    def source() -> str:
        w = Writer("diagonal", a="ptr<f16>", b="ptr<f16>", d="ptr<f32>", n="i32")
        w.promise(a=16, b=16, d=16)
        a = w.view(w.a, [w.n, size], [size, 1], [64, depth])
        b = w.view(w.b, [size, 64], [64, 1], [depth, 64])
        out = w.const(0.0, "f32", 64, 64)
        start = w.ids[0] * 64
        for low, high in ((0, start), (start, (w.ids[0] + 1) * 64))[not first :]:
            with w.loop(low, high, 64, carried=[out]) as loop:
                block = loop.counter.div(64)
                loop.values = [w.dot(w.load(a, w.ids[0], block), w.load(b, block, 0), loop.values[0])]
            (out,) = loop.values
        w.store(out, w.view(w.d, [w.n, 64], [64, 1], [64, 64]), w.ids[0], 0)
        return w.text()

    def arguments() -> list[object]:
        a, b = random((size, size), "f16"), random((size, 64), "f16")
        return [a, b, random((size, 64), "f32"), size]

    def expected(a: np.ndarray, b: np.ndarray, d: np.ndarray, n: int) -> dict[int, np.ndarray]:
        blocks = np.tril(np.ones((3, 3))) if first else np.eye(3)
        kept = np.kron(blocks, np.ones((64, 64)))
        return {2: (a * kept).astype(np.float64) @ b.astype(np.float64)}

    return Program("diagonal", source, arguments, (3,), expected, 2e-3)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_the_block_on_the_diagonal(target: str) -> None:
    """Of the two loops the second has no way back; a producer has both once more."""
    kernel = check(diagonal(), target)
    agents = 2 if "mbarrier.try_wait" in kernel.ptx else 1
    assert branches_back(re.sub(r"bra \$W\d+;", "", kernel.ptx)) == agents  # but for loops that wait


@pytest.mark.in_turn
@pytest.mark.parametrize(("target", "copies"), [("sm_80", 0), ("sm_90a", 2), ("sm_120a", 2)])
def test_readers_need_no_ring_for_one_iteration(target: str, copies: int) -> None:
    """Two copies fill a ring where an agent does, or where a loop of more iterations has one whose memory they use."""
    alone, both = (tilesat.compile(diagonal(first).source(), target) for first in (False, True))
    assert len(alone.compiled.selection.stages) == copies
    assert len(both.compiled.selection.stages) == 4
    check(diagonal(first=False), target)
