"""CPU milliseconds of saturation, by kernel of the ablation: `python -m benchmarks.saturation [TARGET] [PERMISSIONS]`.

`first` is the saturation of the kernel as it is written, `all` that of all its forms that were tried. With
`--beside WORKTREE` the same file also runs in a worktree of another commit, without permissions, in turns and in a
process of its own for each kernel, so that both meet the same machine and no rules of another kernel; the least of each
counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import lowering.passes.source as passes
import tilesat
from benchmarks.ablation.__main__ import kernels
from benchmarks.ablation.cases import CASES, Case

REPEATED = 5
"""Compilations of each kernel, whose minimum time counts; the first one of a process loads the rules."""

HERE = Path(__file__).resolve()

Row = tuple[str, float, float, int, int]
"""A kernel, milliseconds of its first saturation and of all, their number, and the matches for the chosen program."""


def measured(case: Case, target: str, more: dict[str, Any]) -> tuple[float, float, int, int]:
    """Seconds of the first saturation and of all, their number, and the matches for the chosen program."""
    spent: list[float] = []
    saturate = passes.saturate_program

    def timed(*given: Any) -> Any:
        start = time.process_time()
        found = saturate(*given)
        spent.append(time.process_time() - start)
        return found

    passes.saturate_program = timed
    try:
        source, rest = (case.file, {}) if case.file else (kernels()[case.name], {"signature": case.signature})
        kernel: Any = tilesat.compile(source, target, **rest, **more)
    finally:
        passes.saturate_program = saturate
    matches = sum(sum(each.matches.values()) for each in kernel.compiled.saturated.report.iterations)
    return spent[0], sum(spent), len(spent), matches


def rows(target: str, fast: str, names: list[str]) -> list[Row]:
    """One row per kernel, of all or of those that are named."""
    more = {"fast": fast.split(",")} if fast else {}
    found: list[Row] = []
    for case in CASES:
        if not names or case.name in names:
            runs = [measured(case, target, more) for _ in range(REPEATED)]
            first, whole = (1000 * min(run[place] for run in runs) for place in (0, 1))
            found.append((case.name, first, whole, runs[0][2], runs[0][3]))
    return found


def in_process(tree: Path, target: str, fast: str, name: str) -> list[Row]:
    """The row of a kernel, where a tree has it, in a process of its own with the modules of that tree."""
    command = [sys.executable, str(HERE), target, fast, "--json", "--kernel", name]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    ended = subprocess.run(command, env=environment, cwd=tree, stdout=subprocess.PIPE, text=True, check=True)
    return [(row[0], row[1], row[2], row[3], row[4]) for row in json.loads(ended.stdout)]


def least(rows: list[Row]) -> Row:
    """A kernel's row with its least milliseconds."""
    return (rows[0][0], min(row[1] for row in rows), min(row[2] for row in rows), *rows[0][3:])


def beside(other: Path, given: argparse.Namespace, names: list[str]) -> None:
    """Both trees in turns; one row per kernel that both have."""
    trees = {HERE.parents[1]: given.fast, other: ""}
    print(f"| kernel, {given.target}, first saturation | before, ms | {given.fast or 'IEEE'}, ms | ratio | matches |")
    print("|---|---|---|---|---|")
    totals = [0.0, 0.0]
    for name in names or [case.name for case in CASES]:
        found: dict[Path, list[Row]] = {tree: [] for tree in trees}
        for _ in range(given.turns):
            for tree, fast in trees.items():
                found[tree] += in_process(tree, given.target, fast, name)
        if all(found.values()):
            (_, new, _, _, many), (_, old, _, _, few) = map(least, found.values())
            totals = [totals[0] + old, totals[1] + new]
            print(f"| {name} | {old:.1f} | {new:.1f} | {new / old:.2f} | {many / few:.2f} |", flush=True)
    print(f"| all | {totals[0]:.1f} | {totals[1]:.1f} | {totals[1] / totals[0]:.2f} | |")


def main() -> None:
    """Print one row per kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", default="sm_80")
    parser.add_argument("fast", nargs="?", default="", help="permissions, separated by commas")
    parser.add_argument("--kernel", default="", help="of the ablation, separated by commas; all where none is named")
    parser.add_argument("--beside", type=Path, help="a worktree of another commit")
    parser.add_argument("--turns", type=int, default=5, help="processes of each tree with --beside")
    parser.add_argument("--json", action="store_true", help="print rows for a process that runs this one")
    given = parser.parse_args()
    names = [name for name in given.kernel.split(",") if name]
    if given.beside is not None:
        beside(given.beside.resolve(), given, names)
        return
    found = rows(given.target, given.fast, names)
    if given.json:
        print(json.dumps(found))
        return
    print(f"| kernel, {given.target}, {given.fast or 'IEEE'} | first, ms | all, ms | saturations | matches |")
    print("|---|---|---|---|---|")
    for name, first, whole, number, matches in found:
        print(f"| {name} | {first:.0f} | {whole:.0f} | {number} | {matches:,} |")
    print(f"| all | {sum(row[1] for row in found):.0f} | {sum(row[2] for row in found):.0f} | | |")


if __name__ == "__main__":
    main()
