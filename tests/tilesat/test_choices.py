"""The e-graph decides: take a rule or an atom away, and the next best lowering is extracted and computes right."""

import re
from functools import cache
from typing import Any

import pytest

import tilesat
from tests.tilesat.example_cases import EXAMPLES, F16_TOLERANCE, Case, gemm, gemm_negated
from tilesat.execution import largest_error
from tilesat.kernel import Kernel

INSTRUCTION = re.compile(r"^\s+(?:@!?%p\d+ )?([a-z][\w.:]+)", re.M)


@cache
def compiled(example: str, forbid: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> Kernel:
    return tilesat.compile(EXAMPLES / f"{example}.mlir", "sm_80", forbid=forbid, without=without)


def computes_right(kernel: Kernel, case: Case) -> None:
    arguments = case.fresh()
    kernel.run(case.grid, *arguments)
    assert largest_error(case.logical(arguments), case.expected) <= F16_TOLERANCE
    assert case.outside_untouched(arguments)


def mma_loop(ptx: str) -> list[str]:
    """The mnemonics of the innermost loop with the most tensor-core instructions."""
    found: list[list[str]] = []
    for label in re.finditer(r"^(\$?\w+):", ptx, re.M):
        back = re.search(rf"bra(?:\.uni)? {re.escape(label[1])};", ptx[label.end() :])
        if back:
            found.append(INSTRUCTION.findall(ptx[label.end() : label.end() + back.end()]))
    return min(found, key=lambda loop: (-sum(m.startswith("mma") for m in loop), len(loop)))


def chosen(kernel: Kernel) -> set[str]:
    """Operators of the extracted nodes."""
    return {node.op for node in kernel.compiled.selection.node.values()}


def test_gemm_loop_holds_only_what_it_must() -> None:
    loop = mma_loop(compiled("gemm").ptx)
    assert sum(m.startswith("mma.sync") for m in loop) == 128
    unwanted = ("neg", "div", "rem", "cvt.", "shfl", "st.shared", "st.global", "ld.global")
    assert [m for m in loop if m.startswith(unwanted)] == []
    assert "cvt" not in chosen(compiled("gemm"))


def test_without_ldmatrix_fragments_come_by_shared_loads() -> None:
    best, next_best = compiled("gemm"), compiled("gemm", ("ldmatrix",))
    assert "ldmatrix" in best.ptx
    assert "ldmatrix" not in next_best.ptx
    assert any(m.startswith("ld.shared") for m in mma_loop(next_best.ptx))
    assert next_best.cost > best.cost
    computes_right(next_best, gemm(200, 136, 72))


def test_without_cp_async_copies_go_through_registers() -> None:
    best, next_best = compiled("gemm"), compiled("gemm", ("cp.async",))
    assert "cp.async" in best.ptx
    assert "cp.async" not in next_best.ptx
    assert next_best.cost > best.cost
    computes_right(next_best, gemm(200, 136, 72))


def test_without_mma_the_product_is_scalar_fma() -> None:
    best, next_best = compiled("gemm"), compiled("gemm", ("mma.sync",))
    assert "mma.sync" not in next_best.ptx
    assert next_best.ptx.count("fma.rn.f32") >= 64 * 128  # 128x128x64 multiply-adds over 128 threads
    assert next_best.cost > 2 * best.cost
    computes_right(next_best, gemm(130, 100, 24))


def test_without_sinking_negations_cost_more() -> None:
    best, next_best = compiled("gemm_negated"), compiled("gemm_negated", (), ("sink-negf",))
    assert next_best.cost > best.cost
    computes_right(best, gemm_negated(200, 136, 72))
    computes_right(next_best, gemm_negated(200, 136, 72))


NEEDLESS = """    %there = permute %sum [1, 0] : tile<128x128xf32> -> tile<128x128xf32>
    %flat = reshape %there : tile<128x128xf32> -> tile<16384xf32>
    %square = reshape %flat : tile<16384xf32> -> tile<128x128xf32>
    %back = permute %square [1, 0] : tile<128x128xf32> -> tile<128x128xf32>
    %done = store_view_tko weak %back,"""


def test_needless_rearrangement_disappears() -> None:
    source = (EXAMPLES / "gemm.mlir").read_text()
    kernel = tilesat.compile(source.replace("    %done = store_view_tko weak %sum,", NEEDLESS), "sm_80")
    assert kernel.stages["cuda_tile"].count("permute") == 3
    assert "cvt" not in chosen(kernel)
    assert kernel.cost == compiled("gemm").cost


@pytest.mark.parametrize("extractor", ["tree", "greedy", "ilp"])
def test_extractors_agree_on_what_the_bound_allows(extractor: str) -> None:
    kernel = tilesat.compile(EXAMPLES / "softmax.mlir", "sm_80", extractor=extractor)
    assert kernel.bound <= kernel.cost
    best: Any = tilesat.compile(EXAMPLES / "softmax.mlir", "sm_80", extractor="ilp").cost
    assert kernel.cost >= best * (1 - 1e-9)
