"""Attention with large tiles: products stay on tensor cores, whatever registers it takes, and extraction proves it."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import tilesat
from runtime.ptxas import assemble
from tests.programs.products import attention
from tests.programs.program import PROGRAMS, interpret, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

SHAPES = ((128, 128, 128), (256, 64, 128), (256, 128, 128))  # queries, keys, width
for queries, keys, width in SHAPES:
    attention(f"tiles-{queries}x{keys}x{width}", "f16", queries, width, keys + 37, keys)
OWN = {shape: PROGRAMS.pop(f"tiles-{'x'.join(map(str, shape))}") for shape in SHAPES}  # not of the corpus


@cache
def compiled(target: str, shape: tuple[int, int, int]) -> Kernel:
    return tilesat.compile(OWN[shape].source(), target)


def products(kernel: Kernel) -> tuple[int, int]:
    """Matrix instructions and scalar multiply-adds."""
    matrices = re.findall(r"(?:^|\s)(?:mma\.sync|wgmma\.mma_async|tcgen05\.mma)\.", kernel.ptx)
    return len(matrices), kernel.ptx.count("fma.rn.f32")


CASES = [
    pytest.param(target, shape, marks=() if shape is SHAPES[0] and target in ("sm_80", "sm_90a") else pytest.mark.slow)
    for target in ("sm_80", "sm_90a", "sm_100a", "sm_120a")
    for shape in SHAPES
]


@pytest.mark.in_turn
@pytest.mark.parametrize(("target", "shape"), CASES)
def test_products_stay_on_tensor_cores(target: str, shape: tuple[int, int, int]) -> None:
    """Scalar products took no registers, and the first limit with any answer was kept whatever it cost: 8,200 fma."""
    kernel = compiled(target, shape)
    matrices, scalar = products(kernel)
    assert matrices >= 16
    assert scalar < 1000  # exp takes some
    if kernel.bound < 0.999 * kernel.cost:  # a small gap ended the search: what is proved costs hardly less
        proved = tilesat.compile(OWN[shape].source(), target, extract_budget=60_000)
        assert proved.bound == pytest.approx(proved.cost)
        assert proved.cost == pytest.approx(kernel.cost, rel=5e-3)


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", pytest.param("sm_100a", marks=pytest.mark.slow), "sm_120a"])
def test_nothing_spills(target: str) -> None:
    """Fragments of the values were all read before the weights went through shared memory, 128 registers; on sm_120a,
    where no registers move, a producer of one warp took 87 of every thread's.
    """
    made = assemble(compiled(target, SHAPES[0]).ptx, target)
    assert (made.spill_stores, made.stack, made.infos) == (0, 0, ())


@pytest.mark.parametrize(("target", "shape"), CASES)
def test_is_right(target: str, shape: tuple[int, int, int]) -> None:
    kernel, program = compiled(target, shape), OWN[shape]
    found, reference = simulate(kernel, program), interpret(kernel, program)
    assert largest_error(found[3], reference[3]) <= program.tolerance
    assert not np.array_equal(reference[3], program.arguments()[3])


def product(rows: int, columns: int, depth: int) -> str:
    w = Writer("product", a="ptr<f16>", b="ptr<f16>", d="ptr<f32>")
    w.promise(a=16, b=16, d=16)
    left = w.load(w.view(w.a, [rows, depth], [depth, 1], [rows, depth]), 0, 0)
    right = w.load(w.view(w.b, [depth, columns], [columns, 1], [depth, columns]), 0, 0)
    w.store(w.dot(left, right), w.view(w.d, [rows, columns], [columns, 1], [rows, columns]), 0, 0)
    return w.text()


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_scalar_products_are_never_cheaper(target: str) -> None:
    """However small: scalar instructions compute what a tensor core can compute only on request."""
    matrices, scalar = products(tilesat.compile(product(64, 16, 16), target))
    assert matrices > 0
    assert scalar == 0
    with pytest.warns(UserWarning, match="'cuda_tile.mmaf' is computed without tensor cores"):
        forced = tilesat.compile(product(64, 16, 16), target, forbid=("mma", "wgmma"))
    assert products(forced) == (0, 64 * 16 * 16 // 128)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_small_scores_stay_on_tensor_cores(target: str) -> None:
    """16 x 16 scores fill two of four warps: the products of decoding fell to scalar multiply-adds, 512 registers."""
    matrices, scalar = products(tilesat.compile(product(16, 16, 512), target))
    assert (matrices, scalar) == (512 // 16, 0)


def test_explanation_says_why_no_scalar_product() -> None:
    report = tilesat.compile(product(64, 16, 16), "sm_80").compiled.explain()
    assert "not legal: fma.rn.f32: tensor cores compute this product" in report
    with pytest.warns(UserWarning, match="without tensor cores"):
        forced = tilesat.compile(product(64, 16, 16), "sm_80", forbid=("mma",)).compiled.explain()
    assert re.search(r": fma\.rn\.f32 on ", forced)
    assert "mma.sync.m16n8k16.f16.f16: forbidden by the caller" in forced


@pytest.mark.slow
def test_spilled_registers_are_stated_and_priced() -> None:
    """A loop that needs more registers than a thread has: `--explain` says how many spill."""
    report = compiled("sm_80", (128, 128, 128)).compiled.explain()
    assert re.search(r"\nregisters in loop 0: \d+ of \d+ a thread(, \d+ spill)?\n", report)
