"""The savings of an alternative: cost, SASS instructions, registers and serial round trips to memory of kernels with it
and with its atoms forbidden.

python -m benchmarks.options --target sm_100a --forbid f32x2 --forbid minmax3 examples/*.mlir
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import tilesat
from runtime.ptxas import assemble, disassemble
from tilesat.mca.listing import functions
from tilesat.mca.waits import round_trips

INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)")


def mix(listing: str) -> Counter[str]:
    """SASS instructions by the first part of their names, without the padding at the end."""
    return Counter(name for name in INSTRUCTION.findall(listing) if name != "NOP")


def trips(listing: str) -> int:
    """Serial round trips to global memory."""
    return sum(round_trips(each.instructions) for each in functions(listing))


def row(path: Path, target: str, forbid: Sequence[str]) -> str:
    """A line of the table: with, and without."""
    made = [tilesat.compile(path, target, forbid=names) for names in ((), forbid)]
    cubins = [assemble(kernel.ptx, target) for kernel in made]
    listings = [disassemble(cubin) for cubin in cubins]
    mixes = [mix(listing) for listing in listings]
    changed = sorted(mixes[0].keys() | mixes[1].keys(), key=lambda name: -abs(mixes[0][name] - mixes[1][name]))
    most = ", ".join(f"{name} {mixes[1][name]} to {mixes[0][name]}" for name in changed[:4])
    pairs = [
        (f"{made[1].cost:.6g}", f"{made[0].cost:.6g}"),
        (mixes[1].total(), mixes[0].total()),
        (cubins[1].registers, cubins[0].registers),
        (cubins[1].spill_stores, cubins[0].spill_stores),
        (trips(listings[1]), trips(listings[0])),
    ]
    return f"| {path.stem} | " + " | ".join(f"{old} to {new}" for old, new in pairs) + f" | {most} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--target", default="sm_100a")
    parser.add_argument("--forbid", action="append", default=[], metavar="ATOM")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| kernel | cost | SASS | registers | spills | round trips | instructions |\n|---|---|---|---|---|---|---|")
    for path in given.files:
        print(row(path, given.target, given.forbid), flush=True)


if __name__ == "__main__":
    main()
