"""Values that a loop carries are computed in addition to what it stores."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import tilesat
from runtime.ptxas import assemble
from tests.programs.program import Program, check, random
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

TILE, STEPS = 8192, 3


def differences() -> str:
    """Stores halves of differences and carries the sum of their squares: both read both tiles."""
    w = Writer("differences", a="ptr<f32>", b="ptr<f32>", y="ptr<f32>", s="ptr<f32>")
    w.promise(a=16, b=16, y=16, s=16)
    a, b, y = (w.view(base, [STEPS, TILE], [TILE, 1], [1, TILE]) for base in (w.a, w.b, w.y))
    with w.loop(0, STEPS, carried=[w.const(0.0, "f32", 1, TILE)]) as loop:
        difference = w.load(a, loop.counter, 0) - w.load(b, loop.counter, 0)
        w.store(difference * 0.5, y, loop.counter, 0)
        loop.values = [loop.values[0] + difference * difference]
    w.store(loop.values[0], w.view(w.s, [1, TILE], [TILE, 1], [1, TILE]), 0, 0)
    return w.text()


@cache
def compiled() -> Kernel:
    return tilesat.compile(differences(), "sm_80", forbid=("cp.async",))


def test_tiles_are_not_held_while_others_are_stored() -> None:
    """All of the store was made first: each thread held 64 values of each tile, 168 registers with the sums."""
    kinds = re.findall(r"\b(st\.global|add\.rn\.f32)", compiled().ptx)
    assert "add.rn.f32" in kinds[: kinds.index("st.global")]
    assert assemble(compiled().ptx, "sm_80").registers < 150


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_is_right(target: str) -> None:
    def arguments() -> list[np.ndarray]:
        shapes = ((STEPS, TILE), (STEPS, TILE), (STEPS, TILE), (1, TILE))
        return [random(shape, "f32", seed) for seed, shape in enumerate(shapes)]

    check(Program("differences", differences, arguments), target)
