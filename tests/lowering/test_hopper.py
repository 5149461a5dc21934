"""sm_90a from the same e-graph: tensor copies by a producer agent, warpgroup products, and the code without them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesat
from ptxsim import GlobalMemory, SimulatorError, launch
from runtime.ptxas import assemble
from tests.tilesat.example_cases import EXAMPLES, QUICK, RAGGED, Case, gemm
from tilesat.execution import check_arguments, largest_error, launch_arguments
from tilesat.grid import as_grid
from tilesat.kernel import Kernel

BYTECODE = Path(__file__).resolve().parents[1] / "data" / "bytecode"


@cache
def compiled(source: Path, forbid: tuple[str, ...] = ()) -> Kernel:
    return tilesat.compile(source, "sm_90a", forbid=forbid)


def simulate(
    kernel: Kernel, ptx: str, grid: tuple[int, ...], arguments: list[Any], schedule: str = "together"
) -> list[Any]:
    """Run `ptx` with hazards watched; the arguments as the kernel leaves them."""
    arguments = check_arguments(kernel.entry, arguments)
    memory = GlobalMemory()
    addresses = {id(a): memory.put(a) for a in arguments if isinstance(a, np.ndarray)}
    manifest = kernel.manifest
    launch(
        ptx, grid=as_grid(grid), block=tuple(manifest["block"]), memory=memory,
        args=launch_arguments(manifest, arguments, addresses, memory), dynamic_smem=manifest["dynamic_smem"],
        hazards=True, schedule=schedule,
    )  # fmt: skip
    return [memory.get(addresses[id(a)], a.shape, a.dtype) if isinstance(a, np.ndarray) else a for a in arguments]


def check(case: Case, kernel: Kernel, ptx: str | None = None, cutile: bool = False) -> None:
    given = case.fresh()
    found = simulate(kernel, ptx or kernel.ptx, case.grid, case.as_cutile(given) if cutile else given)
    if cutile:
        arrays = iter([a for a in found if isinstance(a, np.ndarray)])
        found = [next(arrays) if isinstance(a, np.ndarray) else a for a in given]
    assert largest_error(case.logical(found), case.expected) <= case.tolerance


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", QUICK)
def test_examples_on_sm_90a(name: str) -> None:
    """Right numbers and no hazard: every wait, fence and barrier that the machine needs is there."""
    check(QUICK[name](), compiled(QUICK[name]().source))


@pytest.mark.in_turn
@pytest.mark.parametrize("name", RAGGED)
def test_bytecode_with_rows_that_end_anywhere(name: str) -> None:
    case = RAGGED[name]()
    check(case, compiled(BYTECODE / f"{case.example}.13.3.tileirbc"), cutile=True)


@pytest.mark.parametrize("example", sorted(p.stem for p in EXAMPLES.glob("*.mlir")))
def test_ptxas_takes_every_example(example: str) -> None:
    made = assemble(compiled(EXAMPLES / f"{example}.mlir").ptx, "sm_90a")
    assert made.spill_stores == made.spill_loads == 0
    assert not made.infos  # no C75xx line: nothing serialised, setmaxnreg not ignored


def test_gemm_is_warp_specialised() -> None:
    kernel = compiled(EXAMPLES / "gemm.mlir")
    assert kernel.ptx.count("wgmma.mma_async") == 8  # two blocks of 64 rows by four k steps
    assert kernel.ptx.count("cp.async.bulk.tensor.2d") == 2
    assert ".maxnreg 255" in kernel.ptx  # alone on its SM, eight warps may have as many each
    assert "mma.sync" not in kernel.ptx
    assert [p["kind"] for p in kernel.manifest["params"]].count("tensormap") == 2
    assert kernel.manifest["block"] == [256, 1, 1]


def test_without_wgmma_the_same_ring_feeds_mma_sync() -> None:
    kernel = compiled(EXAMPLES / "gemm.mlir", ("wgmma",))
    assert "wgmma" not in kernel.ptx
    assert "mma.sync" in kernel.ptx
    assert "cp.async.bulk.tensor" in kernel.ptx
    check(QUICK["gemm-200x136x72"](), kernel)


def test_without_tma_cp_async_feeds_wgmma() -> None:
    kernel = compiled(EXAMPLES / "gemm.mlir", ("tma",))
    assert "cp.async.bulk" not in kernel.ptx
    assert "cp.async.cg" in kernel.ptx
    assert "wgmma.mma_async" in kernel.ptx
    assert "fence.proxy.async" in kernel.ptx
    check(QUICK["gemm-200x136x72"](), kernel)


MUTATIONS = {
    "parity of the producer never flips": (r"xor\.b32 (%r\d+), \1, %r\d+;", ""),
    "consumers do not release": (r"@%p\d+ mbarrier\.arrive\.\S+ _, \[\S+\];", ""),
    "too few bytes announced": (r"(expect_tx\S+ _, \[\S+\]), 32768", r"\1, 16384"),
    "second tile in the wrong place": (r"(tensor\S+ \[%r\d+)\+16384\]", r"\1+8192]"),
    "stride of the descriptor": ("1073741888}", "1073741856}"),
    "no fence before the products": (r"wgmma\.fence\.sync\.aligned;", ""),
    "no wait for the products": (r"wgmma\.wait_group\.sync\.aligned 0;", ""),
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", MUTATIONS)
def test_mutations_are_caught(name: str) -> None:
    """A wrong number, a hazard or a deadlock: nothing passes in silence. The ring goes round more than once."""
    old, new = MUTATIONS[name]
    kernel = compiled(EXAMPLES / "gemm.mlir")
    changed, count = re.subn(old, new, kernel.ptx, count=1)
    assert count == 1
    case = gemm(130, 96, 392)
    check(case, kernel)
    with pytest.raises((SimulatorError, AssertionError)):
        check(case, kernel, changed)
