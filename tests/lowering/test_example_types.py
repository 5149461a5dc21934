"""The examples with other operand types than f16: simulator in hazard mode = interpreter = NumPy, ptxas clean."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilesat
from runtime.ptxas import assemble
from tests.lowering.test_hopper import simulate
from tests.tilesat.example_cases import EXAMPLES, Case, flash_attention, gemm, gemm_negated
from tilesat.execution import largest_error, type_tolerance
from tilesat.kernel import Kernel

DTYPES = {"bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f8E4M3FN": ml_dtypes.float8_e4m3fn}
TOLERANCES = {"bf16": type_tolerance(np.dtype(ml_dtypes.bfloat16)), "tf32": 2e-3, "f8E4M3FN": 1e-1}
"""f8: relative to the largest element."""
CASES = {
    "gemm-256x128x192": lambda: gemm(256, 128, 192),
    "gemm-200x136x72": lambda: gemm(200, 136, 72),
    "gemm_negated-128x128x64": lambda: gemm_negated(128, 128, 64),
    "gemm_negated-200x136x72": lambda: gemm_negated(200, 136, 72),
    "flash_attention-1x128x64": lambda: flash_attention(1, 128, 64),
    "flash_attention-2x200x100": lambda: flash_attention(2, 200, 100),
}
PLAN = [
    *((name, "bf16", target) for name in CASES for target in ("sm_80", "sm_90a")),
    *((name, "tf32", target) for name in CASES if name.startswith("gemm-") for target in ("sm_80", "sm_90a")),
    *((name, "f8E4M3FN", target) for name in CASES if name.startswith("gemm-") for target in ("sm_89", "sm_90a")),
]


@cache
def compiled(example: str, kind: str, target: str) -> Kernel:
    text = (EXAMPLES / f"{example}.mlir").read_text()
    return tilesat.compile(text.replace("ptr<f16>", f"ptr<{kind}>").replace("xf16", f"x{kind}"), target)


def converted(case: Case, kind: str) -> list[Any]:
    """The arguments with f16 arrays in another type; tf32 keeps ten bits of mantissa."""

    def convert(given: Any) -> Any:
        if not isinstance(given, np.ndarray) or given.dtype != np.float16:
            return given
        made = given.astype(np.float32)
        return made if kind == "tf32" else made.astype(DTYPES[kind])

    return [convert(each) for each in case.fresh()]


def expected(case: Case, arguments: list[Any], kind: str) -> Any:
    """What NumPy says in double precision of the operands as they were rounded."""
    held = {k: arguments[k][tuple(map(slice, extent))] for k, extent in case.extents.items()}
    wide = {k: value.astype(np.float64) for k, value in held.items()}
    match case.example:
        case "gemm":
            return wide[0] @ wide[1].T + wide[2]
        case "gemm_negated":
            scaled = (held[0].astype(np.float32) * -held[2].astype(np.float32)).astype(DTYPES[kind])
            return scaled.astype(np.float64) @ wide[1].T
        case _:
            score = wide[0] @ wide[1].transpose(0, 2, 1) * arguments[-1]
            power = np.exp(score - score.max(-1, keepdims=True))
            return power / power.sum(-1, keepdims=True) @ wide[2]


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("name", "kind", "target"), PLAN, ids=["-".join(each) for each in PLAN])
def test_example_in_another_type(name: str, kind: str, target: str) -> None:
    case = CASES[name]()
    kernel = compiled(case.example, kind, target)
    made = assemble(kernel.ptx, target)
    assert (made.warnings, made.infos, made.spill_stores) == ((), (), 0)
    reference, given = converted(case, kind), converted(case, kind)
    wanted = expected(case, given, kind)
    kernel.run(case.grid, *reference, on="ref")
    found = case.logical(simulate(kernel, kernel.ptx, case.grid, given)).astype(np.float64)
    scale = float(np.abs(wanted).max()) if kind == "f8E4M3FN" else 1.0
    assert largest_error(found / scale, case.logical(reference).astype(np.float64) / scale) <= TOLERANCES[kind]
    assert largest_error(found / scale, wanted / scale) <= TOLERANCES[kind]


@pytest.mark.in_turn
def test_products_take_the_tensor_cores() -> None:
    for kind, target, product in (
        ("bf16", "sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.bf16"),
        ("tf32", "sm_80", "m16n8k8.row.col.f32.tf32"),
        ("f8E4M3FN", "sm_89", "m16n8k32.row.col.f32.e4m3"),
        ("bf16", "sm_90a", "wgmma.mma_async.sync.aligned.m64n128k16"),
        ("tf32", "sm_90a", "wgmma.mma_async.sync.aligned.m64n128k8"),
        ("f8E4M3FN", "sm_90a", "wgmma.mma_async.sync.aligned.m64n128k32"),
    ):
        assert product in compiled("gemm", kind, target).ptx, (kind, target)
