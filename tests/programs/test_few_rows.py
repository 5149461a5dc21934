"""Products of 64 rows in tensor memory: 16 lanes of each warp, loaded by tcgen05.ld.16x256b."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from lowering.atoms.names import SWAPPED
from lowering.placement.oracle import LayoutOracle
from ptxsim import SimulatorError
from tests.lowering.test_steady_states import attention
from tests.programs.products import product
from tests.programs.program import Program, check, interpret, simulate
from tilesat.execution import largest_error
from tilesat.kernel import Kernel

TARGETS = ("sm_100a", "sm_103a")
ORDERS = ("together", *(f"skewed:{seed}" for seed in range(5)))
ONLY = [SWAPPED]
"""Products of rows, not of their columns, would be of 128 rows where a tile has as many columns."""
PRODUCTS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "plain": ((64, 64, 64), (136, 72, 136), {}),
    "wide": ((64, 256, 64), (72, 264, 136), {"kind": "bf16"}),
    "both": ((64, 64, 64), (136, 136, 136), {"kind": "bf16", "a_order": "km", "b_order": "kn"}),
    "tf32": ((64, 64, 32), (136, 72, 72), {"kind": "tf32"}),
    "e4m3": ((64, 128, 128), (72, 136, 272), {"kind": "f8E4M3FN"}),
    "narrow": ((64, 16, 64), (72, 24, 136), {}),
    "least": ((64, 8, 64), (72, 8, 136), {}),
    "f16-out": ((64, 128, 64), (136, 136, 136), {"out": "f16"}),
    "one": ((64, 64, 64), (1, 1, 72), {}),
}  # fmt: skip
"""Tile, size, and what differs from f16 to f32 of A (m, k) and B (n, k)."""


def few(kernel: Kernel) -> int:
    """Instructions on 64 rows: their M, in sixteenths, is in the bits of the instruction descriptor from 24 on."""
    found = re.findall(r"tcgen05\.mma\.\S+ \[[^]]+\], %rd\d+, %rd\d+, (\d+)", kernel.ptx)
    return sum(int(each) >> 24 & 31 == 4 for each in found)


@pytest.mark.sampled(18)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_types_majors_and_tiles(name: str, target: str) -> None:
    tile, size, more = PRODUCTS[name]
    kernel = check(product(name, tile, size, **more), target, forbid=ONLY)
    assert few(kernel) == kernel.ptx.count("tcgen05.mma.cta_group::1") > 0
    assert "tcgen05.ld.sync.aligned.16x256b" in kernel.ptx


@pytest.mark.sampled(2)
@pytest.mark.parametrize("signed", [(True, True), (False, True)])
def test_bytes(signed: tuple[bool, bool]) -> None:
    given = product("bytes", (64, 64, 128), (72, 80, 272), "i8", "i32", "i32", signed=signed)
    assert few(check(given, "sm_100a", forbid=ONLY))


@cache
def gemm(persistent: str = "off") -> Kernel:
    """One kernel for all sizes of one tile."""
    return tilesat.compile(sized(136).source(), "sm_100a", forbid=ONLY, persistent=persistent)


def sized(k: int, m: int = 136) -> Program:
    return product("few", (64, 64, 64), (m, 72, k))


@pytest.mark.sampled(14)
@pytest.mark.parametrize("persistent", ["off", "static"])
@pytest.mark.parametrize("steps", range(8))
def test_any_number_of_steps(steps: int, persistent: str) -> None:
    """None leaves zeros; the last one lies partly beyond the edge; an agent begins those of persistent kernels."""
    asked, kernel = sized(max(0, 64 * steps - 24)), gemm(persistent)
    assert few(kernel)
    reference = interpret(kernel, asked)[2]
    for order in ORDERS if steps == 7 else ORDERS[:1]:
        found = simulate(kernel, asked, schedule=order)[2]
        assert largest_error(found, reference) <= asked.tolerance, order


@pytest.mark.in_turn
def test_cost_chooses_between_it_and_mma_sync() -> None:
    """Half of the tensor core's rate is twice mma.sync's; columns, if there are 128, use all of it."""
    without = tilesat.compile(sized(136).source(), "sm_100a", forbid=["tcgen05"])
    assert "mma.sync" in without.ptx
    assert gemm().cost < without.cost
    wide = product("wide", (64, 128, 64), (136, 136, 136)).source()
    assert few(tilesat.compile(wide, "sm_100a")) == 0
    assert tilesat.compile(wide, "sm_100a").cost < tilesat.compile(wide, "sm_100a", forbid=ONLY).cost
    assert few(tilesat.compile(sized(136).source(), "sm_100a", forbid=["tcgen05.m64"])) == 0


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("width", "causal", "length"), [(64, False, 130), (128, True, 130), (64, True, 1), (64, False, 64)]
)
def test_threads_read_products_of_attention(width: int, causal: bool, length: int) -> None:
    """Scores and weighted values are read where they are complete, in five orders of warps."""
    asked = attention(width, causal, length, "bf16", rows=64)
    kernel = check(asked, "sm_100a", fast=["triton"], forbid=ONLY)
    assert few(kernel)
    reference = interpret(kernel, asked)[3]
    for order in ORDERS[1:]:
        assert largest_error(simulate(kernel, asked, schedule=order)[3], reference) <= asked.tolerance, order


def test_layouts_of_rescaled_sums_are_numbered_where_a_loop_rescales() -> None:
    """Others would renumber what comes behind them, and so change where the search ends."""
    given, weights = sized(136).source(), attention(64, False, 130, "bf16", rows=64).source()
    assert not oracle(given).kept
    assert oracle(weights).kept


def oracle(text: str | bytes) -> LayoutOracle:
    """What gave a kernel its layouts."""
    return tilesat.compile(text, "sm_100a", fast=["triton"], forbid=ONLY).compiled.selection.oracle


@cache
def rescaling() -> tuple[str | bytes, Kernel]:
    """Attention of 64 rows for any number of keys: weights are a left factor there, and their sum is rescaled there."""
    text = attention(64, False, 130, "bf16", rows=64).source()
    return text, tilesat.compile(text, "sm_100a", fast=["triton"], forbid=ONLY)


def test_left_factors_and_rescaled_sums_cost_less() -> None:
    """Scores, weights and sums lie in the same lanes: 16x256b loads and stores f32, 16x128b stores pairs of bf16."""
    text, kernel = rescaling()
    for stores in ("16x128b.x8", "16x256b.x8"):
        assert f"tcgen05.st.sync.aligned.{stores}" in kernel.ptx
    for each in ("tcgen05.ts", "tcgen05"):
        assert kernel.cost < tilesat.compile(text, "sm_100a", fast=["triton"], forbid=[*ONLY, each]).cost


@pytest.mark.sampled(8)
@pytest.mark.parametrize("keys", [1, 64, 65, 130, 200, 256, 300, 448])
def test_steps_of_rescaled_sums(keys: int) -> None:
    """One to seven steps, the last one partly beyond the edge."""
    asked = attention(64, False, keys, "bf16", rows=64)
    reference = interpret(rescaling()[1], asked)[3]
    for order in ORDERS if keys == 448 else ORDERS[:1]:
        found = simulate(rescaling()[1], asked, schedule=order)[3]
        assert largest_error(found, reference) <= asked.tolerance, order


CHANGES = {
    "rows a thread": (r"st\.sync\.aligned\.16x128b\.x8", "st.sync.aligned.32x32b.x16"),
    "a row further": (r"(tcgen05\.st\S+16x128b\.x8\S* \[%r\d+)\+(\d+)", r"\1+131072"),
    "one column further": (r"(tcgen05\.st\S+16x128b\.x8\S* \[%r\d+\+)(\d+)", r"\g<1>1\2"),
    "another left factor": (r"(tcgen05\.mma\S+ \[[^]]+\], \[%r\d+\+)(\d+)", r"\g<1>1\2"),
    "the sum a column further": (r"(tcgen05\.st\S+16x256b\.x8\S* \[%r\d+\+)(\d+)", r"\g<1>1\2"),
    "no wait for stores": (r"tcgen05\.wait::st\.sync\.aligned;", ""),
    "the sum a row a thread": (r"st\.sync\.aligned\.16x256b\.x8", "st.sync.aligned.32x32b.x32"),
    "no product adds": (r"(tcgen05\.mma.*), (%p\d+|1);", r"\1, 0;"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CHANGES)
def test_what_is_changed_of_left_factors_is_found(name: str) -> None:
    _, kernel = rescaling()
    asked = attention(64, False, 300, "bf16", rows=64)
    changed, count = re.subn(*CHANGES[name], kernel.ptx)
    assert count, "the mutation does not apply"
    try:
        found = simulate(kernel, asked, schedule="skewed:1", ptx=changed)[3]
    except SimulatorError:
        return
    assert largest_error(found, interpret(kernel, asked)[3]) > 3 * asked.tolerance, "nobody sees it"


MUTANTS = {
    "no wait for loads": (r"tcgen05\.wait::ld\.sync\.aligned;", ""),
    "one column further": (r"(tcgen05\.ld\S+ \{[^}]*\}, \[%r\d+)\+0\]", r"\1+1]"),
    "another column of the product": (r"(tcgen05\.mma\S+ \[%r\d+)\+0\]", r"\1+32]"),
    "nobody waits for the end": (r"(try_wait.*\+{done}\]), 0;", r"\1, 1;"),
    "nobody tells the end": (r"tcgen05\.commit.*\+{done}\];", ""),
    "upper lanes": (r"(tcgen05\.ld\S+ \{[^}]*\}, \[)(%r\d+)\+0\]", r"\1\2+1048576]"),
    "a row a thread": (r"16x256b\.x8", "32x32b.x32"),
    "no product adds": (r"(tcgen05\.mma.*), (%p\d+|1);", r"\1, 0;"),
    "no deallocation": (r"tcgen05\.dealloc.*", ""),
    "128 rows": (r"(tcgen05\.mma\S+ \[[^]]+\], %rd\d+, %rd\d+, )(\d+)", None),
}


def twice(found: re.Match[str]) -> str:
    """The instruction descriptor with 128 rows."""
    return found[1] + str(int(found[2]) + (4 << 24))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_left_out_is_found(name: str) -> None:
    pattern, text = MUTANTS[name]
    done = re.findall(r"mbarrier\.try_wait\S* %p\d+, \[%r\d+\+(\d+)\], 0;", gemm().ptx)[-1]
    changed, count = re.subn(pattern.replace("{done}", done), twice if text is None else text, gemm().ptx)
    assert count, "the mutation does not apply"
    try:
        error = max(
            largest_error(simulate(gemm(), asked, schedule=order, ptx=changed)[2], interpret(gemm(), asked)[2])
            for asked, order in ((sized(424), "skewed:1"), (sized(40), "together"))
        )
    except SimulatorError:
        return
    assert error > 10 * sized(40).tolerance, "nobody sees it"


def test_zeros_where_no_product_was_begun() -> None:
    asked = sized(0)
    found = simulate(gemm(), asked)[2]
    assert np.array_equal(found, interpret(gemm(), asked)[2])
