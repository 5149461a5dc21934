"""Reading Tile IR: a kernel of 450 operations from bytecode and from text, and what importing tilesat costs.

python -m benchmarks.tile_ir [--operations 450] [--repeat 20] [--json OUT.json]

Seconds are the minimum of `repeat` runs in CPU time, which is what a quiet machine needs; the medians are next to them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

GOALS = {"bytecode": 0.010, "text": 0.060, "import": 0.150}
"""Seconds that the project aims at."""
HEAD = """entry @many(%x: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %i = iota : tile<128xi32>
  %r = reshape %x : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b = broadcast %r : tile<1xptr<f32>> -> tile<128xptr<f32>>
  %p = offset %b, %i : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
  %v0, %t0 = load_ptr_tko weak %p token=%t : tile<128xptr<f32>> -> tile<128xf32>, token
"""
STEP = """  %a{n} = mulf %v{n}, %v{n} : tile<128xf32>
  %c{n} = constant <f32: {n}.5> : tile<128xf32>
  %d{n} = cmpf less_than ordered %a{n}, %c{n} : tile<128xf32> -> tile<128xi1>
  %v{m} = select %d{n}, %a{n}, %v{n} : tile<128xi1>, tile<128xf32>
  %q{m} = offset %p, %i : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
  %t{m} = store_ptr_tko weak %q{m}, %v{m} token=%t{n} : tile<128xptr<f32>>, tile<128xf32> -> token
"""


def kernel_text(operations: int) -> str:
    """A kernel of about this many operations: loads, arithmetic, comparisons, stores."""
    steps = max(1, (operations - 8) // 6)
    return HEAD + "".join(STEP.format(n=n, m=n + 1) for n in range(steps)) + "  return\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="seconds to read Tile IR and to import tilesat")
    parser.add_argument("--operations", type=int, default=450)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results = measure(arguments.operations, arguments.repeat)
    for name, (least, median) in results.items():
        print(f"{name:9} {least * 1000:8.1f} ms   median {median * 1000:8.1f} ms   goal {GOALS[name] * 1000:.0f} ms")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


def measure(operations: int, repeat: int) -> dict[str, tuple[float, float]]:
    """(least, median) seconds of each reading."""
    from ir.bytecode import read_bytecode, write_bytecode
    from ir.text import parse

    text = kernel_text(operations)
    module = parse(text)
    data = write_bytecode(module)
    print(f"{len(module.entries[0].body.block.ops)} operations, {len(data)} bytes, {len(text)} characters")
    return {
        "bytecode": timed(lambda: read_bytecode(data), repeat),
        "text": timed(lambda: parse(text), repeat),
        "import": timed_import(repeat),
    }


def timed(work: Callable[[], object], repeat: int) -> tuple[float, float]:
    spent: list[float] = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent), statistics.median(spent)


def timed_import(repeat: int) -> tuple[float, float]:
    """`import tilesat` in a fresh process, not counting the interpreter's own start."""
    code = "import time; s = time.process_time(); import tilesat; print(time.process_time() - s)"
    spent = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout)
        for _ in range(max(3, repeat // 4))
    ]
    return min(spent), statistics.median(spent)


if __name__ == "__main__":
    main()
