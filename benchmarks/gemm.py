"""The GEMM of examples/: seconds per stage, warm and as a fresh process, and ptxas's result.

python -m benchmarks.gemm [--target sm_80[,sm_86...]] [--repeat 5] [--json OUT.json]

Seconds are medians of wall-clock time; the CPU seconds next to them show how much other work on the machine disturbed
them. ptxas is never counted.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "examples" / "gemm.mlir"

GOALS = {"warm": 0.25, "fresh": 0.8}
"""Seconds that the project aims at."""
LOOP_GOALS = {8: 60, 128: 260}
"""SASS instructions of the MMA loop, by the products in it: 8 HGMMA on sm_90a, 128 HMMA before."""


def main() -> None:
    parser = argparse.ArgumentParser(description="seconds per stage and assembled code of the GEMM")
    parser.add_argument("--target", default="sm_80,sm_86,sm_89,sm_90a")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results = {target: measure(target, arguments.repeat) for target in arguments.target.split(",")}
    for target, result in results.items():
        report(target, result)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


def measure(target: str, repeat: int) -> dict[str, Any]:
    """Everything about one target."""
    import tilesat
    from runtime.ptxas import assemble

    stages: list[dict[str, float]] = []
    tilesat.compile(SOURCE, target)  # loads the rules: what follows is a warm process
    start = time.process_time()
    for _ in range(repeat):
        stages.append(tilesat.compile(SOURCE, target).seconds)
    cpu = (time.process_time() - start) / repeat
    kernel = tilesat.compile(SOURCE, target)
    assembled = assemble(kernel.ptx, target)
    fresh_process(target)  # Python writes the compiled modules, which any second process finds
    fresh = [fresh_process(target) for _ in range(repeat)]
    return {
        "warm": {stage: statistics.median(each[stage] for each in stages) for stage in stages[0]},
        "warm_total": statistics.median(sum(each.values()) for each in stages),
        "warm_cpu": cpu,
        "fresh_total": statistics.median(wall for wall, _ in fresh),
        "fresh_cpu": statistics.median(cpu for _, cpu in fresh),
        "registers": assembled.registers,
        "spill_bytes": assembled.spill_stores + assembled.spill_loads,
        "loop": loop_counts(kernel.stages["sass"]),
        "cost": kernel.cost,
        "bound": kernel.bound,
        "dynamic_smem": kernel.manifest["dynamic_smem"],
    }


def fresh_process(target: str) -> tuple[float, float]:
    """Wall-clock and CPU seconds of `tilesat compile`, interpreter start and imports included."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tilesat", "compile", str(SOURCE), "--target", target, "-o", f"{folder}/g.ptx"]
        environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run(command, check=True, cwd=ROOT, env=environment)
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def loop_counts(listing: str) -> dict[str, Any]:
    """Length and instruction mix of the MMA loop."""
    from tilesat.mca.flow import loops, product_loop
    from tilesat.mca.listing import functions

    loop = product_loop(each for function in functions(listing) for each in loops(function))
    if loop is None:
        return {"instructions": 0, "mma": 0, "mix": {}}
    return {"instructions": loop.length, "mma": loop.products, "mix": dict(loop.mix.most_common())}


def report(target: str, result: dict[str, Any]) -> None:
    """Print one target."""
    loop = result["loop"]
    print(f"{target}: {SOURCE.name}")
    for stage, seconds in result["warm"].items():
        print(f"  {stage:14} {seconds:8.4f} s")
    print(f"  {'warm total':14} {result['warm_total']:8.4f} s, CPU {result['warm_cpu']:.4f}  (goal {GOALS['warm']})")
    print(
        f"  {'fresh process':14} {result['fresh_total']:8.4f} s, CPU {result['fresh_cpu']:.4f}  (goal {GOALS['fresh']})"
    )
    goal = LOOP_GOALS.get(loop["mma"], "-")
    print(f"  MMA loop: {loop['instructions']} instructions, {loop['mma']} MMA  (goal {goal})")
    print("    " + ", ".join(f"{name} {count}" for name, count in list(loop["mix"].items())[:12]))
    print(
        f"  {result['registers']} registers, {result['spill_bytes']} bytes spilled, {result['dynamic_smem']} bytes smem"
    )


if __name__ == "__main__":
    main()
