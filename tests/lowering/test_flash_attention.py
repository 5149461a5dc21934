"""Two products in a loop with a softmax between them: right in bf16 too, and without what Hopper adds."""

from __future__ import annotations

import re
from functools import cache

import ml_dtypes
import numpy as np
import pytest

import tilesat
from runtime.ptxas import assemble
from tests.lowering.test_hopper import simulate
from tests.tilesat.example_cases import EXAMPLES, flash_attention
from tilesat.execution import largest_error, type_tolerance
from tilesat.kernel import Kernel

SOURCE = EXAMPLES / "flash_attention.mlir"


@cache
def compiled(target: str, kind: str = "f16", forbid: tuple[str, ...] = ()) -> Kernel:
    text = SOURCE.read_text().replace("ptr<f16>", f"ptr<{kind}>").replace("xf16", f"x{kind}")
    return tilesat.compile(text, target, forbid=forbid)


def test_second_product_takes_its_weights_from_registers() -> None:
    """On sm_90a the scores never see memory: what the first product made is the A operand of the second."""
    ptx = compiled("sm_90a").ptx
    operands = re.findall(r"wgmma\.mma_async[^{]*\{[^}]*\}, (\{|%rd)", ptx)
    loops = 2  # without masks, and with them
    assert operands.count("{") == 4 * loops  # a block of 64 queries for each warpgroup by four steps of 16 keys
    assert operands.count("%rd") == 4 * loops + 4  # the scores, and before the loops those of the first iteration
    loads = re.findall(r"cp\.async\.bulk\.tensor\.3d\.shared", ptx)
    assert len(loads) == 4  # keys and values, the first keys, the queries


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_bf16(target: str) -> None:
    kernel, case = compiled(target, "bf16"), flash_attention(2, 200, 100)
    given = [a.astype(ml_dtypes.bfloat16) if isinstance(a, np.ndarray) else a for a in case.fresh()]
    q, k, v = (a[:2, :, :64].astype(np.float64) for a in given[:3])
    score = q @ k.transpose(0, 2, 1) * given[-1]
    power = np.exp(score - score.max(-1, keepdims=True))
    found = case.logical(simulate(kernel, kernel.ptx, case.grid, given))
    allowed = type_tolerance(np.dtype(ml_dtypes.bfloat16))
    assert largest_error(found, power / power.sum(-1, keepdims=True) @ v) <= allowed
    made = assemble(kernel.ptx, target)
    assert made.spill_stores == made.spill_loads == 0
    assert not made.infos


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("forbid", "absent", "present"),
    [("wgmma", "wgmma", "mma.sync"), ("tma", "cp.async.bulk", "cp.async.cg")],
)
def test_without_what_hopper_adds(forbid: str, absent: str, present: str) -> None:
    kernel, case = compiled("sm_90a", forbid=(forbid,)), flash_attention(2, 200, 100)
    assert absent not in kernel.ptx
    assert present in kernel.ptx
    found = simulate(kernel, kernel.ptx, case.grid, case.fresh())
    assert largest_error(case.logical(found), case.expected) <= case.tolerance
    assert case.outside_untouched(found)
    made = assemble(kernel.ptx, "sm_90a")
    assert (made.spill_stores, made.stack, made.infos) == (0, 0, ())


def test_sums_begin_with_zero_once() -> None:
    """Both ways out of the test whether the loop runs begin with the same numbers in the same registers."""
    zeros = re.findall(r"mov\.b32 (%f\d+), 0f00000000;", compiled("sm_90a").ptx)
    assert len(zeros) >= 32
    assert len(zeros) == len(set(zeros))
