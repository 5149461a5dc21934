"""Loops split where the copies of their tiles end inside the array: no access is a prefix in the first of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import nv_tileas, scf
from runtime.ptxas import assemble
from tests.programs.program import Program, interpret, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

M, N, K, PITCH = 128, 128, 64, 648


def source() -> str:
    """D = A B^T of rows that are aligned, of a length that is known at run time alone."""
    w = Writer("gemm", a="ptr<f16>", b="ptr<f16>", d="ptr<f32>", k="i32")
    w.promise(a=16, b=16, d=16, k=1)
    left = w.view(w.a, [M, w.k], [PITCH, 1], [M, K])
    right = w.view(w.b, [N, w.k], [PITCH, 1], [N, K])
    with w.loop(0, w.tiles(left)[1], carried=[w.const(0.0, "f32", M, N)]) as loop:
        a, b = w.load(left, 0, loop.counter), w.load(right, 0, loop.counter)
        loop.values = [w.dot(a, b.T, loop.values[0])]
    w.store(loop.values[0], w.view(w.d, [M, N], [N, 1], [M, N]), 0, 0)
    return w.text()


@cache
def kernel(forbid: str = "") -> Kernel:
    return tilesat.compile(source(), "sm_80", forbid=[forbid] if forbid else [])


def copies(made: Kernel) -> list[list[bool]]:
    """Of each loop: is a copy of it ragged?"""
    loops = [op for op in made.compiled.modules["nv_tileas"].walk() if isinstance(op, scf.For)]
    return [[op.ragged for op in loop.walk() if isinstance(op, nv_tileas.AsyncTiledCopy)] for loop in loops]


def test_first_loop_copies_whole_accesses() -> None:
    assert copies(kernel()) == [[False, False], [True, True]]
    assert copies(kernel("loop.peel")) == [[True, True]]
    assembled = assemble(kernel().ptx, "sm_80")
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("k", [0, 1, 7, 63, 64, 65, 200, 250, 256, 257, 333, 634])
def test_every_length_is_right(k: int) -> None:
    """Fewer tiles than stages, a last tile of one element, none; what lies behind a row is not zero."""

    def arguments() -> list[Any]:
        return [random((M, PITCH), "f16", 1), random((N, PITCH), "f16", 2), random((M, N), "f32", 3), k]

    program = Program("gemm", source, arguments, (1,), None, 3e-3)
    found, reference = simulate(kernel(), program)[2], interpret(kernel(), program)[2]
    assert largest_error(found, reference) <= program.tolerance
    a, b, *_ = (x.astype(np.float64) for x in arguments()[:2])
    assert largest_error(found, a[:, :k] @ b[:, :k].T) <= program.tolerance
