"""How many kernels can be divided among two CTAs, and how many divisions convert a tile between CTAs.

python -m benchmarks.divisions [FOLDER...]     (default: tests/data/programs and examples)

Counts of docs/decisions/0008-divisions-are-candidates-on-the-source.md, on the source alone: nothing is compiled.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from ir.dialects import cuda_tile as ct
from ir.load import load_modules
from lowering.clusters.converted import conversions
from lowering.clusters.plan import Refusal, cuts_of, shared_state

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (ROOT / "tests/data/programs", ROOT / "examples")
SUFFIXES = {".mlir", ".tileirbc", ".bc"}


def entries(folder: Path) -> Iterator[ct.Entry]:
    """The kernels of a folder's files, not of folders in it."""
    for path in sorted(each for each in folder.iterdir() if each.suffix in SUFFIXES):
        for module in load_modules(path):
            yield from module.entries


def main() -> None:
    """Print the counts, and the kernels with a conversion."""
    kernels = [each for folder in map(Path, sys.argv[1:] or FOLDERS) for each in entries(folder)]
    divided = several = 0
    for entry in kernels:
        if next(shared_state(entry), None) is not None or isinstance(found := cuts_of(entry), Refusal):
            continue
        divided += 1
        several += len(found) > 1
        if any(next(conversions(entry, cuts), None) for _, _, cuts in found):
            print(f"{entry.sym_name}: converts a tile between CTAs")
    print(f"{len(kernels)} kernels, {divided} can be divided among two CTAs, {several} in several ways")


if __name__ == "__main__":
    main()
