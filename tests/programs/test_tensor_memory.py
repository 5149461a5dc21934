"""Products in tensor memory: chosen where a loop adds up, right for every number of steps, type, major and tail."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesat
from ptxsim import SimulatorError
from runtime.ptxas import assemble
from tests.lowering.test_hopper import simulate
from tests.programs.products import product
from tests.programs.program import check
from tests.programs.program import simulate as simulate_program
from tests.tilesat.example_cases import EXAMPLES, gemm
from tilesat.execution import largest_error
from tilesat.kernel import Kernel

TARGETS = ("sm_100a", "sm_103a")
BYTECODE = Path(__file__).resolve().parents[1] / "data" / "bytecode" / "gemm.13.3.tileirbc"


@cache
def example(target: str = "sm_100a", cutile: bool = False) -> Kernel:
    return tilesat.compile(BYTECODE if cutile else EXAMPLES / "gemm.mlir", target)


def error_of(
    k: int, schedule: str = "together", ptx: str = "", target: str = "sm_100a", m: int = 136, n: int = 72
) -> float:
    """Largest error of the example for K = k, in units of what is allowed, with hazards watched."""
    case, kernel = gemm(m, n, k), example(target)
    found = simulate(kernel, ptx or kernel.ptx, case.grid, case.fresh(), schedule)
    assert case.outside_untouched(found)
    return largest_error(case.logical(found), case.expected) / case.tolerance


@pytest.mark.in_turn
@pytest.mark.parametrize("target", TARGETS)
def test_the_example_multiplies_in_tensor_memory(target: str) -> None:
    kernel = example(target)
    assert kernel.ptx.count("tcgen05.mma.cta_group::1.kind::f16") == 4
    assert "mma.sync" not in kernel.ptx
    assembled = assemble(kernel.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores, assembled.stack) == ((), (), 0, 0)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("k", [1, 8, 64, 72, 128, 200, 256, 264, 384, 448])
def test_any_number_of_steps(k: int) -> None:
    """Rings of six stages that are not full, full and gone round; the last step partly beyond the edge."""
    assert error_of(k) <= 1


@pytest.mark.in_turn
def test_no_step_leaves_zeros() -> None:
    kernel, case = example(), gemm(136, 72, 8)
    arguments = case.fresh()
    arguments[6] = 0  # K
    found = simulate(kernel, kernel.ptx, case.grid, arguments)
    assert np.array_equal(case.logical(found), arguments[2][:136, :72])


@pytest.mark.parametrize(("m", "n"), [(1, 1), (128, 128), (129, 7), (256, 136)])
def test_tails(m: int, n: int) -> None:
    assert error_of(136, target="sm_103a", m=m, n=n) <= 1


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_warps(seed: int) -> None:
    assert error_of(456, f"skewed:{seed}") <= 1


@pytest.mark.in_turn
@pytest.mark.parametrize("target", TARGETS)
def test_the_cutile_form(target: str) -> None:
    kernel, case = example(target, cutile=True), gemm(136, 72, 200)
    assert "tcgen05.mma" in kernel.ptx
    given = case.fresh()
    found = iter(a for a in simulate(kernel, kernel.ptx, case.grid, case.as_cutile(given)) if isinstance(a, np.ndarray))
    arrays = [next(found) if isinstance(a, np.ndarray) else a for a in given]
    assert largest_error(case.logical(arrays), case.expected) <= case.tolerance


@pytest.mark.in_turn
def test_another_atom_is_chosen_where_it_is_forbidden_or_not_there() -> None:
    for kernel in (
        tilesat.compile(EXAMPLES / "gemm.mlir", "sm_100a", forbid=["tcgen05"]),
        tilesat.compile(EXAMPLES / "gemm.mlir", "sm_100a", forbid=["tcgen05.m128n128k16"]),
        tilesat.compile(EXAMPLES / "gemm.mlir", "sm_100"),
    ):
        assert ("tcgen05" in kernel.ptx, "mma.sync" in kernel.ptx) == (
            "n64" in kernel.report,
            "n64" not in kernel.report,
        )


PRODUCTS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "bf16-wide": ((128, 256, 64), (136, 264, 136), {"kind": "bf16"}),
    "tall": ((256, 128, 64), (264, 136, 72), {}),
    "tf32": ((128, 128, 32), (136, 136, 72), {"kind": "tf32"}),
    "e4m3": ((128, 128, 128), (136, 136, 272), {"kind": "f8E4M3FN"}),
    "e5m2-straight": ((128, 128, 64), (136, 144, 272), {"kind": "f8E5M2", "b_order": "kn"}),
    "straight": ((128, 128, 64), (136, 136, 136), {"b_order": "kn"}),
    "both": ((128, 64, 64), (136, 136, 136), {"kind": "bf16", "a_order": "km", "b_order": "kn"}),
    "narrow": ((128, 16, 64), (136, 24, 136), {}),
    "short": ((128, 64, 16), (136, 72, 40), {}),
    "f16-out": ((128, 128, 64), (136, 136, 136), {"out": "f16"}),
    "static": ((128, 128, 64), (256, 128, 128), {"static": True}),
}  # fmt: skip
"""Tile, size, and what differs from f16 to f32 of A (m, k) and B (n, k)."""


@pytest.mark.sampled(24)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_types_majors_and_tiles(name: str, target: str) -> None:
    tile, size, more = PRODUCTS[name]
    kernel = check(product(name, tile, size, **more), target)
    assert "tcgen05.mma" in kernel.ptx


@pytest.mark.sampled(48)
@pytest.mark.parametrize("target", ["sm_100a", "sm_110a"])
@pytest.mark.parametrize("orders", [("mk", "nk"), ("km", "kn")])
@pytest.mark.parametrize("signed", [(True, True), (True, False), (False, True), (False, False)])
def test_bytes(signed: tuple[bool, bool], orders: tuple[str, str], target: str) -> None:
    """Sums in i32, each factor signed or not, either major; several steps, tails."""
    given = product(
        "bytes", (128, 128, 128), (136, 144, 272), "i8", "i32", "i32", orders[0], orders[1], signed=signed
    )  # fmt: skip
    kernel = check(given, target)
    assert kernel.ptx.count("tcgen05.mma.cta_group::1.kind::i8") == 4


def test_sm_103a_multiplies_bytes_by_mma_sync() -> None:
    """ptxas refuses them for sm_103a."""
    given = product("bytes", (128, 128, 128), (136, 144, 272), "i8", "i32", "i32")
    assert "mma.sync" in tilesat.compile(given.source(), "sm_103a").ptx


@pytest.mark.sampled(5)
@pytest.mark.parametrize("k", [0, 16, 128, 400])
def test_bytes_of_persistent_kernels(k: int) -> None:
    """An agent issues the products; zeros if there are no steps."""
    given = product("bytes", (128, 128, 128), (264, 144, k), "i8", "i32", "i32")
    kernel = tilesat.compile(given.source(), "sm_100a", persistent="static")
    assert "kind::i8" in kernel.ptx
    a, b, d, *_ = given.arguments()
    found = simulate_program(kernel, given, resident=1)[2]
    wanted = a[:-1, :k].astype(np.int32) @ b[:-1, :k].T.astype(np.int32)
    assert np.array_equal(found[:264, :144], wanted)
    assert np.array_equal(found[264:], d[264:])


def test_tiles_without_tensor_copies_are_multiplied_otherwise() -> None:
    """Pitches that nobody promises to be multiples of 16 bytes: the loop has no producer, and no products in tensor
    memory, which the choice learns only when it is scheduled.
    """
    kernel = check(product("odd", (128, 128, 64), (136, 136, 136), promised=False), "sm_100a")
    assert "mma.sync" in kernel.ptx


# Of the fences around barriers and the barrier before deallocation the simulator misses none here: a barrier of the
# conversion through shared memory stands behind the loads too.
MUTANTS = {
    "the first product adds": (r"(136314896), %p\d+;", r"\1, 1;"),
    "no product adds": (r"(136314896), (%p\d+|1);", r"\1, 0;"),
    "another shape": ("136314896", "136249360"),
    "another column": (r"(mma.*)\+0\], (%rd\d+, %rd\d+, \d+, 1);", r"\1+32], \2;"),
    "all lanes multiply": (r"@%p\d+ (tcgen05\.mma)", r"\1"),
    "all lanes commit": (r"@%p\d+ (tcgen05\.commit)", r"\1"),
    "no stage is given back": (r"@%p\d+ tcgen05\.commit.*\+196656\];", ""),
    "nobody tells the end": (r"tcgen05\.commit.*\+196704\];", ""),
    "nobody waits for the end": (r"(try_wait.*\+196704\]), 0;", r"\1, 1;"),
    "no wait for loads": (r"tcgen05\.wait::ld\.sync\.aligned;", ""),
    "no deallocation": (r"tcgen05\.dealloc.*", ""),
    "deallocation of half": (r"(tcgen05\.dealloc.*), 128;", r"\1, 64;"),
    "allocation of half": (r"(tcgen05\.alloc.*), 128;", r"\1, 64;"),
    "lanes of another warp": (r"(tcgen05\.ld.*)\+32\]", r"\1+64]"),
    "stride": ("1073758272", "1073758240"),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_left_out_is_found(name: str) -> None:
    pattern, text = MUTANTS[name]
    changed, count = re.subn(pattern, text, example().ptx)
    assert count, "the mutation does not apply"
    try:
        found = max(error_of(k, schedule, changed) for k, schedule in ((456, "skewed:1"), (8, "together")))
    except SimulatorError:
        return
    assert found > 10, "nobody sees it"


def test_zeros_are_stored_where_no_product_was_begun() -> None:
    """The simulator's tensor memory starts with zeros: another number distinguishes stored ones."""
    kernel, case = example(), gemm(136, 72, 8)
    stored = re.search(r"tcgen05\.st\.sync\S* \S+, \{(%f\d+),", kernel.ptx)
    assert stored
    changed, count = re.subn(rf"mov\.b32 {stored[1]}, 0f00000000;", f"mov.b32 {stored[1]}, 0f3F800000;", kernel.ptx)
    assert count == 1
    arguments = case.fresh()
    arguments[6] = 0  # K
    found = simulate(kernel, changed, case.grid, arguments)
    assert np.array_equal(case.logical(found), arguments[2][:136, :72] + np.float32(1))
