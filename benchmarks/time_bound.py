"""The distance of the programs that extraction chooses, by sums, from the minimum time of loops whose units overlap.

python -m benchmarks.time_bound FILE_OR_DIR... [--target sm_80,sm_90a] [--every N]

Compiles examples or bytecode (DIR/<target>/**/*.bc, as `benchmarks.corpus` exports) and prints, for each kernel with
loops, the cost and its proved gap, the cycles if the units of a loop overlap, a lower bound for all programs, and the
gap to it (`lowering.selection.units`); then the distribution of gaps. Predicted by the tables of the targets.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import tilesat
from lowering.selection.units import Least, least_time

CLOSE = (0.01, 0.03, 0.1)
"""Parts of the time that are counted."""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.time_bound")
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--target", default="sm_80,sm_90a")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one kernel of N, by its name")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for target in arguments.target.split(","):
        gaps: list[float] = []
        print("| kernel | cost | gap | cycles | at least | gap | best met | CPU s |\n|---|---|---|---|---|---|---|---|")
        for path in kernels(arguments.paths, target, arguments.every):
            try:
                kernel = tilesat.compile(path, target=target)
            except tilesat.TileError as error:
                print(f"| {path.stem} | {str(error).splitlines()[0]} |")
                continue
            begun = time.process_time()
            least = least_time(kernel.compiled.selection)
            if least.time.loops:
                print(row(path.stem, kernel.cost, kernel.bound, least, time.process_time() - begun), flush=True)
                gaps.append(least.gap)
        near = ", ".join(f"{sum(gap <= part for gap in gaps)} within {100 * part:g} %" for part in CLOSE)
        print(f"\n{target}: {len(gaps)} kernels with loops, {near}\n")


def kernels(paths: list[Path], target: str, every: int) -> Iterator[Path]:
    """The files; for a folder those of the target, or its Tile IR texts."""
    for path in paths:
        inside = sorted((path / target).rglob("*.bc")) or sorted(path.glob("*.mlir"))
        yield from (each for each in ([path] if path.is_file() else inside) if crc32(each.stem.encode()) % every == 0)


def row(name: str, cost: float, bound: float, least: Least, seconds: float) -> str:
    """One kernel."""
    sums = f"{cost:.0f} | {100 * (cost - bound) / cost:.1f} %"
    best = f"{least.best.cycles:.0f}" if least.best.cycles < least.time.cycles else ""
    return (
        f"| {name} | {sums} | {least.time.cycles:.0f} | {least.bound:.0f} | {100 * least.gap:.1f} % | {best} "
        + f"| {seconds:.2f} |"
    )


if __name__ == "__main__":
    main()
