"""Products of fewer elements along k than the longest instruction takes: simulator = interpreter = NumPy."""

from typing import Any

import pytest

import tilesat
from ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, F64, I8, I32, TF32, Type
from lowering.atoms.mma import MMA_ATOMS, longest
from lowering.targets import ALL_TARGETS, Feature
from lowering.targets import target as target_named
from tests.programs.products import product
from tests.programs.program import check

HALF: dict[str, Any] = {"accumulator": "f16", "out": "f16", "tolerance": 1e-2}
BYTES: dict[str, Any] = {"kind": "i8", "accumulator": "i32", "out": "i32"}
CASES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "f16": ("m16n8k8.row.col.f32.f16.f16.f32", 8, {"kind": "f16"}),
    "bf16": ("m16n8k8.row.col.f32.bf16.bf16.f32", 8, {"kind": "bf16"}),
    "f16, sums of f16": ("m16n8k8.row.col.f16.f16.f16.f16", 8, {"kind": "f16", **HALF}),
    "f16, both turned": ("m16n8k8.row.col.f32.f16.f16.f32", 8, {"kind": "f16", "a_order": "km", "b_order": "kn"}),
    "tf32": ("m16n8k4.row.col.f32.tf32.tf32.f32", 4, {"kind": "tf32"}),
    "e4m3": ("m16n8k16.row.col.f32.e4m3.e4m3.f32", 16, {"kind": "f8E4M3FN"}),
    "e5m2, turned": ("m16n8k16.row.col.f32.e5m2.e5m2.f32", 16, {"kind": "f8E5M2", "b_order": "kn"}),
    **{
        "".join(kinds): (f"m16n8k16.row.col.s32.{kinds[0]}8.{kinds[1]}8.s32", 16,
                         {**BYTES, "signed": tuple(each == "s" for each in kinds)})
        for kinds in ("ss", "su", "us", "uu")
    },
    "bytes, both turned": ("m16n8k16.row.col.s32.s8.s8.s32", 16, {**BYTES, "a_order": "km", "b_order": "kn"}),
}  # fmt: skip
"""The instruction, its k, and the operands."""


@pytest.mark.sampled(48)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
@pytest.mark.parametrize("name", CASES)
def test_a_product_of_few_k(name: str, target: str) -> None:
    instruction, k, given = CASES[name]
    if given["kind"].startswith("f8") and not target_named(target).has(Feature.MMA_FP8):
        target = "sm_89"
    kernel = check(product(name, (64, 32, k), (72, 40, 3 * k + 1), **given), target)
    assert f"mma.sync.aligned.{instruction} " in kernel.ptx


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL_TARGETS)
def test_few_k_on_every_target(target: str) -> None:
    kernel = check(product("few", (32, 32, 8), (40, 40, 24), "bf16"), target)
    assert "m16n8k8.row.col.f32.bf16" in kernel.ptx


@pytest.mark.in_turn
@pytest.mark.parametrize("k", [16, 32])
def test_where_a_longer_one_fits_it_is_the_only_one(k: int) -> None:
    """Search does not grow: forbidden, it leaves a product to threads."""
    program = product("long", (32, 32, k), (32, 32, k), "f16")
    forbidden = tilesat.compile(program.source(), "sm_80", forbid=("mma.sync.m16n8k16",))
    assert "mma.sync" not in forbidden.ptx
    assert "m16n8k8" not in forbidden.report


@pytest.mark.parametrize(
    ("dtypes", "k", "found"),
    [
        ((F16, F16, F32), 4, 0), ((F16, F16, F32), 8, 8), ((F16, F16, F32), 16, 16), ((F16, F16, F32), 64, 16),
        ((BF16, BF16, F32), 8, 8), ((TF32, TF32, F32), 4, 4), ((TF32, TF32, F32), 8, 8), ((I8, I8, I32), 16, 16),
        ((I8, I8, I32), 8, 0), ((F8E5M2, F8E5M2, F32), 16, 16), ((F8E4M3FN, F8E4M3FN, F16), 16, 0),
        ((F64, F64, F64), 2, 0), ((F64, F64, F64), 64, 4),
    ],
)  # fmt: skip
def test_the_longest_that_a_tile_fills(dtypes: tuple[Type, Type, Type], k: int, found: int) -> None:
    atoms = longest(dtypes, (True, True), k)
    assert [atom.shape[2] for atom in atoms] == ([found] if found else [])
    assert all(atom in MMA_ATOMS for atom in atoms)
