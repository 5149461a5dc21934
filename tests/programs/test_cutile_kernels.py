"""The cuTile kernels of tests/ir, none of them written for the compiler: simulator = NumPy on two tiers, or refused."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

import tilesat
from ir.core import UnsupportedError
from runtime.ptxas import assemble
from tests.ir.kernels.cases import CASES
from tests.ir.kernels.running import flattened, near

KERNELS = Path(__file__).resolve().parents[1] / "ir" / "kernels"
TARGETS = ("sm_80", "sm_90a")
REFUSED = {
    "sm_80": {"eight_bit", "narrow_floats", "scaled"},  # no conversions of f8 there
    "sm_90a": set[str](),
}
TABLES = {"grouped"}
"""Kernels that take a table of pointers, which a launch by NumPy arrays cannot make: compiled and assembled only."""


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_kernel(name: str, target: str) -> None:
    source = KERNELS / f"{name}.mlir"
    if name in REFUSED[target]:
        with pytest.raises(UnsupportedError) as caught:
            tilesat.compile(source, target)
        assert caught.value.location.line > 0
        assert caught.value.hint
        return
    kernel = tilesat.compile(source, target)
    made = assemble(kernel.ptx, target)
    assert (made.warnings, made.infos, made.spill_stores) == ((), (), 0)
    if name not in TABLES:
        case = CASES[name]
        values = case.values(np.random.default_rng(12))
        wanted = case.wanted(*copy.deepcopy(values))
        kernel.run(case.grid, *flattened(values), on="sim")
        for found, expected in zip(values, wanted, strict=True):
            if expected is not None:
                near(found, expected, case.tolerance)
