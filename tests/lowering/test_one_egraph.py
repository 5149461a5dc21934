"""One saturated e-graph serves every target: each extracts its own program from it, with its own instructions."""

import pytest

import tilesat
from runtime.ptxas import assemble
from tests.lowering.test_hopper import check
from tests.tilesat.example_cases import EXAMPLES, QUICK

TARGETS = ("sm_80", "sm_90a", "sm_120a")
PRODUCTS = {"sm_80": "mma.sync.aligned", "sm_90a": "wgmma.mma_async", "sm_120a": "mma.sync.aligned"}
COPIES = {"sm_80": "cp.async.c", "sm_90a": "cp.async.bulk.tensor", "sm_120a": "cp.async.bulk.tensor"}


@pytest.fixture(scope="module")
def kernels() -> list[tilesat.Kernel]:
    return tilesat.compile_for(EXAMPLES / "gemm.mlir", TARGETS)


@pytest.mark.in_turn
def test_the_graph_is_one_and_the_programs_differ(kernels: list[tilesat.Kernel]) -> None:
    assert len({id(kernel.compiled.saturated.frozen) for kernel in kernels}) == 1
    for kernel, target in zip(kernels, TARGETS, strict=True):
        assert kernel.target == target
        assert PRODUCTS[target] in kernel.ptx
        assert COPIES[target] in kernel.ptx
        assert kernel.compiled.selection.answer.optimal


@pytest.mark.in_turn
def test_each_costs_what_its_own_graph_would_give(kernels: list[tilesat.Kernel]) -> None:
    """Offers for other targets change nothing: they cost infinity here."""
    for kernel in kernels:
        assert kernel.cost == pytest.approx(tilesat.compile(EXAMPLES / "gemm.mlir", kernel.target).cost)


@pytest.mark.in_turn
@pytest.mark.parametrize("number", range(len(TARGETS)), ids=TARGETS)
def test_each_is_right_and_assembles(kernels: list[tilesat.Kernel], number: int) -> None:
    kernel = kernels[number]
    for name in ("gemm-200x136x72", "gemm-130x96x56"):
        check(QUICK[name](), kernel)
    made = assemble(kernel.ptx, kernel.target)
    assert (made.warnings, made.infos, made.spill_stores) == ((), (), 0)


def test_forbidden_atoms_leave_the_same_graph_to_others() -> None:
    first, second = tilesat.compile_for(EXAMPLES / "gemm.mlir", ("sm_80", "sm_90a"), forbid=["wgmma", "tma"])
    assert first.compiled.saturated is second.compiled.saturated
    assert "mma.sync" in second.ptx
    assert "cp.async.bulk" not in second.ptx
    check(QUICK["gemm-200x136x72"](), second)
