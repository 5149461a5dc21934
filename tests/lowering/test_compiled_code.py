"""What the compiled examples do on the machine: pipeline depth, bank conflicts, hazards, order of accesses."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesat
from ptxsim import GlobalMemory, launch
from tests.tilesat.example_cases import EXAMPLES, QUICK
from tilesat.kernel import Kernel

TARGETS = ("sm_80", "sm_86", "sm_89")


@cache
def compiled(source: Path, target: str = "sm_80") -> Kernel:
    return tilesat.compile(source, target)


def simulate(kernel: Kernel, grid: tuple[int, ...], arguments: list[Any], hazards: bool) -> Any:
    """Run on fresh memory; the report."""
    memory = GlobalMemory()
    values = [memory.put(a) if isinstance(a, np.ndarray) else a for a in arguments]
    manifest = kernel.manifest
    blocks = (*grid, 1, 1)[:3]
    return launch(
        kernel.ptx, grid=blocks, block=tuple(manifest["block"]), args=values, memory=memory,
        dynamic_smem=manifest["dynamic_smem"], hazards=hazards,
    )  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", QUICK)
def test_examples_run_without_hazards(name: str) -> None:
    """No read before a wait, no race between threads, nothing uninitialised: the simulator would stop the run."""
    case = QUICK[name]()
    report = simulate(compiled(case.source), case.grid, case.fresh(), hazards=True)
    assert sum(report.instructions.values()) > 0


@pytest.mark.in_turn
@pytest.mark.parametrize("example", ["gemm", "gemm_negated"])
def test_swizzled_buffers_have_no_bank_conflicts(example: str) -> None:
    """cp.async writes and ldmatrix reads take one pass a phase."""
    case = QUICK[f"{example}-200x136x72"]()
    kernel = compiled(case.source)
    report = simulate(kernel, case.grid, case.fresh(), hazards=False)
    lines = kernel.ptx.splitlines()
    moved = [n for n in report.bank_conflicts if re.search(r"ldmatrix|cp\.async\.c[ag]", lines[n - 1])]
    assert len(moved) >= 48
    assert sum(report.bank_conflicts[n] for n in moved) == 0


@pytest.mark.in_turn
@pytest.mark.parametrize("target", TARGETS)
def test_gemm_has_at_least_three_stages(target: str) -> None:
    kernel = compiled(EXAMPLES / "gemm.mlir", target)
    stages = {int(n) for n in re.findall(r"smem<(\d+)x128x64xf16", kernel.stages["nv_tileas"])}
    assert len(stages) == 1
    assert min(stages) >= 3
    waits = [int(n) for n in re.findall(r"cp\.async\.wait_group (\d+)", kernel.ptx)]
    assert min(stages) - 2 in waits


@pytest.mark.parametrize("target", TARGETS)
def test_gemm_keeps_its_fragments_in_flight(target: str) -> None:
    """Inside the loop the fragments of the next k step are loaded before the products of this one."""
    text = compiled(EXAMPLES / "gemm.mlir", target).ptx
    start = text.index("mma.sync")
    body = text[text.rindex(":", 0, start) : text.index("bra", start)]
    kinds = ["l" if "ldmatrix" in line else "m" for line in body.splitlines() if re.search("ldmatrix|mma", line)]
    order = re.sub(r"(.)\1*", r"\1", "".join(kinds))
    assert order == "lmlmlm"  # four k steps: two loaded first, then one ahead of each product
    assert kinds[:16].count("l") == 16


STORE_THEN_LOAD = """
cuda_tile.module @m {
  entry @turn(%x: tile<ptr<f32>>) {
    %start = make_token : token
    %lane = iota : tile<1024xi32>
    %top = constant <i32: 1023> : tile<1024xi32>
    %mirror = subi %top, %lane : tile<1024xi32>
    %x_1 = reshape %x : tile<ptr<f32>> -> tile<1xptr<f32>>
    %x_all = broadcast %x_1 : tile<1xptr<f32>> -> tile<1024xptr<f32>>
    %here = offset %x_all, %lane : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
    %there = offset %x_all, %mirror : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
    %a, %read = load_ptr_tko weak %here token=%start : tile<1024xptr<f32>> -> tile<1024xf32>, token
    %b, %read_b = load_ptr_tko weak %there token=%read : tile<1024xptr<f32>> -> tile<1024xf32>, token
    %sum = addf %a, %a : tile<1024xf32>
    %stored = store_ptr_tko weak %there, %sum token=%read_b : tile<1024xptr<f32>>, tile<1024xf32> -> token
    %c, %again = load_ptr_tko weak %here token=%stored : tile<1024xptr<f32>> -> tile<1024xf32>, token
    %total = addf %c, %b : tile<1024xf32>
    %done = store_ptr_tko weak %here, %total token=%again : tile<1024xptr<f32>>, tile<1024xf32> -> token
    return
  }
}
"""


def test_tokens_order_accesses_of_different_threads() -> None:
    """Each element is read, written and read again by other threads: the tokens become barriers."""
    kernel = tilesat.compile(STORE_THEN_LOAD)
    x = np.random.default_rng(3).standard_normal(1024).astype(np.float32)
    expected = (2 * x)[::-1] + x[::-1]
    memory = GlobalMemory()
    address = memory.put(x)
    launch(kernel.ptx, grid=(1, 1, 1), block=tuple(kernel.manifest["block"]), args=[address], memory=memory,
           dynamic_smem=kernel.manifest["dynamic_smem"], hazards=True)  # fmt: skip
    np.testing.assert_array_equal(memory.get(address, (1024,), np.float32), expected)
    assert kernel.ptx.count("bar.sync") >= 3


GUARDED = """
entry @sum(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %n: tile<i32>) {
  %start = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %nothing = constant <f32: 0.0> : tile<f32>
  %total = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%sum = %nothing) -> (tile<f32>) {
    %a, %t = load_ptr_tko weak %x token=%start : tile<ptr<f32>> -> tile<f32>, token
    %next = addf %sum, %a : tile<f32>
    continue %next : tile<f32>
  }
  %done = store_ptr_tko weak %y, %total token=%start : tile<ptr<f32>>, tile<f32> -> token
  return
}
"""


@pytest.mark.parametrize("trips", [0, 3])
def test_pointer_load_of_a_loop_that_does_not_run_is_not_made(trips: int) -> None:
    """The load does not change in the loop, but its pointer is only good if the loop runs."""
    kernel = tilesat.compile(GUARDED)
    memory = GlobalMemory()
    x, y = (memory.put(np.array([v], np.float32)) for v in (2.5, -1.0))
    launch(kernel.ptx, grid=(1, 1, 1), block=tuple(kernel.manifest["block"]), args=[x if trips else 16, y, trips],
           memory=memory, dynamic_smem=kernel.manifest["dynamic_smem"])  # fmt: skip
    assert memory.get(y, (1,), np.float32)[0] == 2.5 * trips
