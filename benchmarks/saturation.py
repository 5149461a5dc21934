"""CPU milliseconds and matches of saturation, by kernel: `python -m benchmarks.saturation [TARGET] [PERMISSIONS]`.

`first` is the saturation of a kernel of the ablation as it is written, `all` that of all its forms that were tried;
`chosen` are the matches for the form that was chosen. With `--beside WORKTREE` the same programs also go through a
worktree of another commit, without permissions, in turns and in a process of its own for each kernel, so that both meet
the same machine and no rules of another kernel; the least milliseconds of each count. Programs are exported here, so
that the other commit need not have them; one that does not compile is reported as such.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import lowering.passes.source as passes
import tilesat

REPEATED = 5
"""First saturations of each process, whose minimum time counts; the first one of a process loads the rules."""

HERE = Path(__file__).resolve()


class _EnoughError(BaseException):
    """The first saturation of a compilation is done; nothing catches this on its way."""


@dataclass(frozen=True)
class Figures:
    """Milliseconds of the first saturation and of all, their number, and matches of the first and of the chosen one."""

    first: float
    whole: float
    number: int
    matches: int
    chosen: int

    @staticmethod
    def least(found: list[Figures]) -> Figures:
        """The least milliseconds of several processes, which count the same."""
        counts = {(each.number, each.matches, each.chosen) for each in found}
        assert len(counts) == 1, f"expected the same counts of every process, got {counts}"
        return Figures(min(each.first for each in found), min(each.whole for each in found), *counts.pop())


def measured(source: Path, target: str, fast: str) -> Figures:
    """Compile a program once, then as often as is counted until its first saturation is done."""
    more: dict[str, Any] = {"fast": fast.split(",")} if fast else {}
    spent: list[float] = []
    matches: list[int] = []
    enough = False
    saturate = passes.saturate_program

    def timed(*given: Any) -> Any:
        start = time.process_time()
        found = saturate(*given)
        spent.append(1000 * (time.process_time() - start))
        matches.append(sum(sum(each.matches.values()) for each in found.report.iterations))
        if enough:
            raise _EnoughError
        return found

    passes.saturate_program = timed
    try:
        kernel: Any = tilesat.compile(source, target, **more)
        number, enough = len(spent), True
        for _ in range(REPEATED):
            try:
                tilesat.compile(source, target, **more)
            except _EnoughError:
                continue
    finally:
        passes.saturate_program = saturate
    chosen = sum(sum(each.matches.values()) for each in kernel.compiled.saturated.report.iterations)
    first = min(spent[number:])
    return Figures(first, first + sum(spent[1:number]), number, matches[0], chosen)


def in_process(tree: Path, source: Path, target: str, fast: str) -> Figures | None:
    """The figures of a program, in a process of its own with the modules of a tree; None where it does not compile."""
    command = [sys.executable, str(HERE), target, fast, "--source", str(source)]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    ended = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True)
    if ended.returncode:
        print(ended.stderr.strip().splitlines()[-1], file=sys.stderr)
        return None
    return Figures(*json.loads(ended.stdout))


def exported(target: str, names: list[str], folder: Path) -> dict[str, Path]:
    """A file for each kernel of the ablation, of all or of those that are named; those of cuTile become bytecode."""
    from benchmarks.ablation.cases import CASES
    from benchmarks.ablation.figures import kernels
    from tilesat.cutile_kernels import export

    found: dict[str, Path] = {}
    for case in CASES:
        if not names or case.name in names:
            found[case.name] = case.file or folder / f"{case.name}.tileirbc"
            if case.file is None:
                found[case.name].write_bytes(export(kernels()[case.name], case.signature, target))
    return found


def beside(other: Path, given: argparse.Namespace, sources: dict[str, Path]) -> None:
    """Both trees in turns; a row for each kernel."""
    columns = ("first before, ms", f"{given.fast or 'IEEE'}, ms", "ratio", "matches", "ratio", "of chosen", "all, ms")
    print(f"| kernel, {given.target} | {' | '.join(columns)} |\n|{'---|' * 8}")
    for name, source in sources.items():
        ours: list[Figures] = []
        theirs: list[Figures] = []
        for _ in range(given.turns):
            for tree, fast, found in ((other, "", theirs), (HERE.parents[1], given.fast, ours)):
                found += [each for each in (in_process(tree, source, given.target, fast),) if each]
        shown = "does not compile"
        if ours and theirs:
            shown = compared(Figures.least(theirs), Figures.least(ours))
        print(f"| {name} | {shown} |", flush=True)


def compared(old: Figures, new: Figures) -> str:
    """The columns of two commits."""
    times = f"{old.first:.1f} | {new.first:.1f} | {new.first / old.first:.2f}"
    matches = f"{old.matches:,} to {new.matches:,} | {new.matches / old.matches:.2f} | {new.chosen / old.chosen:.2f}"
    return f"{times} | {matches} | {old.whole:.0f} to {new.whole:.0f}"


def main() -> None:
    """Print one row per kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", default="sm_80")
    parser.add_argument("fast", nargs="?", default="", help="permissions, separated by commas")
    parser.add_argument("--kernel", default="", help="of the ablation, separated by commas; all where none is named")
    parser.add_argument("--beside", type=Path, help="a worktree of another commit")
    parser.add_argument("--turns", type=int, default=5, help="processes of each tree with --beside")
    parser.add_argument("--source", type=Path, help="print the figures of this program alone, as JSON")
    given = parser.parse_args()
    if given.source is not None:
        print(json.dumps(astuple(measured(given.source, given.target, given.fast))))
        return
    with tempfile.TemporaryDirectory() as folder:
        sources = exported(given.target, [name for name in given.kernel.split(",") if name], Path(folder))
        if given.beside is not None:
            beside(given.beside.resolve(), given, sources)
            return
        alone(given, sources)


def alone(given: argparse.Namespace, sources: dict[str, Path]) -> None:
    """A row for each kernel, of this tree."""
    columns = ("first, ms", "all, ms", "saturations", "matches", "of chosen")
    print(f"| kernel, {given.target}, {given.fast or 'IEEE'} | {' | '.join(columns)} |\n|{'---|' * 6}")
    found = [measured(source, given.target, given.fast) for source in sources.values()]
    for name, each in zip(sources, found, strict=True):
        times = f"{each.first:.0f} | {each.whole:.0f} | {each.number}"
        print(f"| {name} | {times} | {each.matches:,} | {each.chosen:,} |")
    print(f"| all | {sum(each.first for each in found):.0f} | {sum(each.whole for each in found):.0f} | | | |")


if __name__ == "__main__":
    main()
