"""Tiles from before a loop that its products need: read again from shared memory where registers would not do."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import tilesat
from ir.dialects import nv_tileas, scf
from runtime.ptxas import assemble
from tests.programs.products import attention
from tests.programs.program import PROGRAMS, Program, check, random
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

attention("queries-again", "f16", 128, 256, 69, 32)
QUERIES = PROGRAMS.pop("queries-again")  # not of the corpus: 128 registers of sums beside 64 of queries

ROWS, WIDTH, COLUMNS, STEP, STEPS = 128, 256, 256, 32, 3


def scaled() -> Program:
    """D = (A / 2) (B C) / 64, a step of B's rows at a time: the halves of A are computed before the loop."""

    def source() -> str:
        w = Writer("scaled", a="ptr<f16>", b="ptr<f16>", c="ptr<f16>", d="ptr<f32>", length="i32")
        w.promise(a=16, b=16, c=16, d=16, length=1)
        a = w.load(w.view(w.a, [ROWS, WIDTH], [WIDTH, 1], [ROWS, WIDTH]), 0, 0) * 0.5
        b = w.view(w.b, [w.length, WIDTH], [WIDTH, 1], [STEP, WIDTH])
        c = w.view(w.c, [w.length, COLUMNS], [COLUMNS, 1], [STEP, COLUMNS])
        with w.loop(0, w.tiles(b)[0], carried=[w.const(0.0, "f32", ROWS, COLUMNS)]) as loop:
            k = loop.counter
            inner = (w.dot(a, w.load(b, k, 0).T) * 2**-6).to("f16")
            loop.values = [w.dot(inner, w.load(c, k, 0), loop.values[0])]
        w.store(loop.values[0], w.view(w.d, [ROWS, COLUMNS], [COLUMNS, 1], [ROWS, COLUMNS]), 0, 0)
        return w.text()

    def arguments() -> list[Any]:
        shapes = ((ROWS, WIDTH), (STEP * STEPS, WIDTH), (STEP * STEPS, COLUMNS))
        tiles = [random(shape, "f16", seed) for seed, shape in enumerate(shapes, 1)]
        return [*tiles, random((ROWS, COLUMNS), "f32", 4), STEP * STEPS]

    def expected(a: Any, b: Any, c: Any, *rest: Any) -> dict[int, Any]:
        a, b, c = (x.astype(np.float64) for x in (a, b, c))
        return {3: a @ b.T * 2**-7 @ c}

    return Program("scaled-again", source, arguments, (1,), expected, 4e-3)


def reads(kernel: Kernel) -> list[str]:
    """What loops read from buffers that are filled before them: the instruction of each tile."""
    func = kernel.compiled.modules["nv_tileas"]
    loop = next(op for op in func.walk() if isinstance(op, scf.For))
    inside = {id(op) for op in loop.walk()}
    found = [op for op in loop.walk() if isinstance(op, nv_tileas.SharedLoad)]
    return [op.atom for op in found if id(cast(Any, op.operands[0].op)) not in inside]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", [QUERIES, scaled()], ids=lambda program: program.name)
def test_tiles_are_read_again(program: Program) -> None:
    """Held through the loop they would take the registers of the sums, which would be spilled or cut into slices."""
    kernel = check(program, "sm_80")
    assert reads(kernel) == ["ldmatrix"]
    made = assemble(kernel.ptx, "sm_80")
    assert (made.spill_stores, made.stack, made.infos) == (0, 0, ())


def test_tiles_that_fit_are_held() -> None:
    """Where there are registers a read costs more than none."""
    assert not reads(tilesat.compile(PROGRAMS["attention-f16-128"].source(), "sm_80"))
