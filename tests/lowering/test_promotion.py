"""Products of f8 by warpgroups, whose sums are promoted every 128 of K unless the program says fast_acc."""

import re
from functools import cache

import ml_dtypes
import numpy as np
import pytest

import tilesat
from ir.dialects import cuda_tile as ct
from ir.types import F8E4M3FN, F8E5M2, F16, F32
from lowering.atoms.wgmma import PROMOTION, WGMMA_ATOMS
from tilesat.fuzz.writer import Writer

M, N = 64, 64


@cache
def gemm(tile_k: int, fast: bool, kind: str = "f8E4M3FN", target: str = "sm_90a") -> tilesat.Kernel:
    """C = A B^T of 64 x 64 a CTA, K in steps of `tile_k`."""
    w = Writer("gemm", a=f"ptr<{kind}>", b=f"ptr<{kind}>", c="ptr<f32>", k="i32", steps="i32")
    w.promise(a=16, b=16, c=16, k=16)
    a, b = (w.view(base, [M, w.k], [w.k, 1], [M, tile_k]) for base in (w.a, w.b))
    c = w.view(w.c, [M, N], [N, 1], [M, N])
    with w.loop(0, w.steps, carried=[w.const(0.0, "f32", M, N)]) as loop:
        left, right = w.load(a, 0, loop.counter), w.load(b, 0, loop.counter).T
        loop.values = [w.op(ct.MmaF, left, right, loop.values[0], types=[loop.values[0].type], fast_acc=fast)]
    w.store(loop.values[0], c, 0, 0)
    return tilesat.compile(w.text(), target)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("k", [0, 64, 128, 192, 1024])
@pytest.mark.parametrize("tile_k", [64, 256])
@pytest.mark.parametrize("fast", [False, True])
def test_sums_are_those_of_the_reference(tile_k: int, k: int, fast: bool) -> None:
    """In hazard mode, for K of no tile, of part of one, and of many. Tensor maps have no empty dimension."""
    rng = np.random.default_rng(k)
    a, b = (rng.standard_normal((M, k or tile_k)).astype(ml_dtypes.float8_e4m3fn) for _ in range(2))
    c = np.full((M, N), 7, np.float32)
    gemm(tile_k, fast).run((1, 1, 1), a, b, c, k or tile_k, -(-k // tile_k), check=True)
    expected = a[:, :k].astype(np.float32) @ b[:, :k].astype(np.float32).T
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4)


def promotions(ptx: str) -> tuple[int, int, int]:
    """Groups of products, products that begin at zero, and additions of registers."""
    groups = ptx.count("wgmma.commit_group")
    fresh = len(re.findall(r"wgmma\.mma_async[^;]*, 0, 1, 1;", ptx))
    return groups, fresh, ptx.count("add.f32") + ptx.count("add.rn.f32")


@pytest.mark.parametrize(("tile_k", "groups"), [(64, 1), (128, 1), (256, 2), (512, 4)])
def test_each_128_of_k_starts_from_zero_and_is_added(tile_k: int, groups: int) -> None:
    found = promotions(gemm(tile_k, False).ptx)
    print(found)
    assert found == (groups, groups, groups * M * N // 128)


@pytest.mark.parametrize("tile_k", [64, 256])
def test_fast_sums_are_the_tensor_cores(tile_k: int) -> None:
    groups, _, added = promotions(gemm(tile_k, True).ptx)
    assert (groups, added) == (1, 0)


def test_only_sums_of_f8_in_f32_are_promoted() -> None:
    f8 = WGMMA_ATOMS[F8E4M3FN, F8E5M2, 64, False]
    assert (f8.promotion(fast=False), f8.promotion(fast=True)) == (PROMOTION, 0)
    assert WGMMA_ATOMS[F16, F16, 64, False].promotion(fast=False) == 0
    assert f8.dtypes[2] == F32
