"""`tilesat demo`: a real GEMM, Tile IR to PTX for sm_100a, sm_90a and sm_80, run on the simulator and checked twice."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from ir.core import Location, TileError
from tilesat import execution
from tilesat.cli import FAILED, OK
from tilesat.compiler import compile
from tilesat.kernel import Kernel
from tilesat.output import with_target, write_file
from tilesat.spec import Argument, Array

SOURCE = Path(__file__).resolve().parents[2] / "examples" / "gemm.mlir"
TARGETS = ("sm_100a", "sm_90a", "sm_80")
INSTRUCTIONS = (
    "tcgen05.mma",
    "tcgen05.ld",
    "wgmma.mma_async",
    "mma.sync",
    "cp.async.bulk.tensor",
    "cp.async.cg",
    "mbarrier.try_wait",
)
"""What tells the generations apart: their products, their copies, and how they wait for them."""
TILE = 128
M, N, K = 200, 136, 72
"""None is a multiple of the 128 x 128 x 64 tile, so that padding and partial stores are exercised."""
SEED = 2024


def run(arguments: argparse.Namespace) -> int:
    """For each target: compile, assemble where ptxas is found, run, compare; then say how well and where the PTX is."""
    if not SOURCE.exists():
        raise TileError(
            "the demo needs the examples of the source tree", Location(str(SOURCE)), "run it in a checkout: make demo"
        )
    print(f"D = A * B^T + C: A {M}x{K} f16, B {N}x{K} f16, C and D {M}x{N} f32")
    verdicts = {target: _show(target, with_target(arguments.output / "gemm.ptx", target, True)) for target in TARGETS}
    print()
    for target, (error, tolerance, ptx) in verdicts.items():
        verdict = "ok" if error <= tolerance else "WRONG"
        print(
            f"{verdict}: {target}, largest error {error:.3g} against the reference interpreter "
            f"(tolerance {tolerance:g}); PTX: {ptx}"
        )
    return OK if all(error <= tolerance for error, tolerance, _ in verdicts.values()) else FAILED


def _show(target: str, ptx: Path) -> tuple[float, float, Path]:
    """Compile and run for one target; the largest error, the tolerance, and the file of PTX."""
    print(f"\n{target}")
    kernel = compile(SOURCE, target)
    write_file(ptx, kernel.ptx)
    write_file(ptx.with_suffix(".json"), json.dumps(kernel.manifest, indent=2) + "\n")
    _print_compilation(kernel)
    _print_assembly(kernel)
    return (*_run_and_compare(kernel), ptx)


def _print_compilation(kernel: Kernel) -> None:
    spent = ", ".join(f"{stage} {seconds:.3f}" for stage, seconds in kernel.seconds.items())
    print(f"compiled in {sum(kernel.seconds.values()):.3f} s ({spent})")
    print(f"extracted cost {kernel.cost:.6g} cycles, lower bound {kernel.bound:.6g}")
    lines = kernel.ptx.splitlines()
    counts = {name: sum(name in line for line in lines) for name in INSTRUCTIONS}
    found = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    print(f"{len(lines)} lines of PTX, including {found}")


def _print_assembly(kernel: Kernel) -> None:
    from runtime.ptxas import PtxasNotFoundError, assemble

    try:
        made = assemble(kernel.ptx, kernel.target)
    except PtxasNotFoundError as error:
        print(f"not assembled: {error}")
        return
    print(f"ptxas: {made.registers} registers, {made.spill_stores + made.spill_loads} bytes of spills")


def _run_and_compare(kernel: Kernel) -> tuple[float, float]:
    """Largest error of the simulator against the interpreter, and the tolerance; NumPy's agreement is printed."""
    rng = np.random.default_rng(SEED)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((M, K), (N, K)))
    c = rng.standard_normal((M, N)).astype(np.float32)
    sizes = (M, N, K, K, K, N, N)  # then the row pitches of A, B, C, D
    grid = (-(-M // TILE), -(-N // TILE), 1)
    results: dict[str, list[Argument | int]] = {}
    for on in ("sim", "ref"):
        results[on] = [a.copy(), b.copy(), c.copy(), np.full((M, N), np.nan, np.float32), *sizes]
        start = time.perf_counter()
        kernel.run(grid, *results[on], on=on)
        print(
            f"{'simulator' if on == 'sim' else 'interpreter'}: {grid[0] * grid[1]} tile blocks in "
            f"{time.perf_counter() - start:.2f} s"
        )
    expected = a.astype(np.float64) @ b.astype(np.float64).T + c
    found = _array(results["sim"][3])
    print(f"largest error against NumPy in f64: {execution.largest_error(found, expected):.3g}")
    compared = execution.compare(_arrays(results["sim"]), _arrays(results["ref"]))
    worst = max(compared, key=lambda each: each.error)
    return worst.error, worst.tolerance


def _array(value: Argument | int) -> Array:
    return np.asarray(value)


def _arrays(values: list[Argument | int]) -> list[Argument]:
    return [value for value in values if isinstance(value, np.ndarray)]
