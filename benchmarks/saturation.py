"""CPU milliseconds of saturation, by kernel of the ablation: `python -m benchmarks.saturation [TARGET] [PERMISSIONS]`.

`first` is the saturation of the kernel as it is written, `all` that of all its forms that were tried. To compare with
another commit, run this file in a worktree of it: `PYTHONPATH=WORKTREE python benchmarks/saturation.py`.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import lowering.passes.source as passes
import tilesat
from benchmarks.ablation.__main__ import kernels
from benchmarks.ablation.cases import CASES, Case

REPEATED = 5
"""Compilations of each kernel, whose minimum time counts; the first one of a process loads the rules."""


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


def main(target: str = "sm_80", fast: str = "") -> None:
    """Print one row per kernel."""
    more = {"fast": fast.split(",")} if fast else {}
    print(
        f"| kernel, {target}, {fast or 'IEEE'} | first, ms | all, ms | saturations | matches |\n|---|---|---|---|---|"
    )
    totals = [0.0, 0.0]
    for case in CASES:
        runs = [measured(case, target, more) for _ in range(REPEATED)]
        first, whole = (1000 * min(run[place] for run in runs) for place in (0, 1))
        totals = [totals[0] + first, totals[1] + whole]
        print(f"| {case.name} | {first:.0f} | {whole:.0f} | {runs[0][2]} | {runs[0][3]:,} |", flush=True)
    print(f"| all | {totals[0]:.0f} | {totals[1]:.0f} | | |")


if __name__ == "__main__":
    main(*sys.argv[1:])
