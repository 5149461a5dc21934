"""Kernels of another commit beside ours: hot loop, all code, what of it rarely runs, registers; what is longer now."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.ablation.cases import COLUMNS, Case
from benchmarks.ablation.figures import IN_PASSES, KERNELS, WITH_PRODUCTS, Counts, Made, compiled, counted, counts

CHILD = Path(__file__).with_name("elsewhere.py")
WAYS: tuple[tuple[str, ...], ...] = ((), IN_PASSES, WITH_PRODUCTS)
"""What is forbidden in the compilations that are counted."""


def there(worktree: Path, cases: Sequence[Case], target: str) -> list[Counts | str]:
    """Counts of kernels compiled by the packages of a worktree without permissions, or why it does not compile one."""
    requests = [
        {"kernels": str(KERNELS), "name": case.name, "source": str(case.file or ""), "signature": case.signature,
         "target": target, "forbid": forbid}
        for case in cases for forbid in WAYS
    ]  # fmt: skip
    made = subprocess.run(
        [sys.executable, str(CHILD)], input=json.dumps(requests), capture_output=True, text=True, cwd=worktree,
        env={**os.environ, "PYTHONPATH": str(worktree)}, check=False,
    )  # fmt: skip
    if made.returncode:
        raise SystemExit(f"--beside: cannot compile with {worktree}: {made.stderr.strip().splitlines()[-1]}")
    answers = iter(map(json.loads, made.stdout.splitlines()))
    return [count(case, target, [next(answers) for _ in WAYS]) for case in cases]


def count(case: Case, target: str, answers: Sequence[dict[str, Any]]) -> Counts | str:
    """Counts of a kernel compiled in all ways that are counted."""
    whys = [each["why"] for each in answers if "why" in each]
    if whys:
        return whys[0]
    made = {forbid: Made(**each) for forbid, each in zip(WAYS, answers, strict=True)}
    return counts(made[()].ptx, target, case.passes, lambda names: made[tuple(names)])


def hot(code: Counts) -> int:
    """Instructions of a step of the hot loop."""
    return round(code.hot / code.steps)


def longer(before: Counts, after: Counts) -> str:
    """What is longer: the hot loop, or code without a loop; slow paths only, where all else is not."""
    if hot(after) <= hot(before):
        return ""
    straight = before.hot == before.sass and after.hot == after.sass
    return "slow paths" if straight and after.sass - after.rare <= before.sass - before.rare else "longer"


def cell(code: Counts | str) -> str:
    """Counts as in the table."""
    if isinstance(code, str):
        return code
    slow = f" ({code.rare} in slow paths)" if code.rare else ""
    return f"{hot(code)} / {code.sass}{slow}, {code.registers}"


def lines(worktree: Path, cases: Sequence[Case], targets: Sequence[str], columns: Sequence[str]) -> Iterator[str]:
    """The table: a line for each kernel and target, with a cell for each column and what is longer in it."""
    yield f"| kernel | target | there | {' | '.join(columns)} | longer |\n|{'---|' * (len(columns) + 4)}"
    for target in targets:
        for case, before in zip(cases, there(worktree, cases, target), strict=True):
            found: dict[str, Counts] = {}
            for column in columns:
                fast = COLUMNS[column]
                found[column] = counted(case, target, fast, compiled(case, target, fast, ()))
            marks = () if isinstance(before, str) else ((name, longer(before, each)) for name, each in found.items())
            said = "; ".join(f"{name}: {what}" for name, what in marks if what)
            yield f"| {' | '.join((case.name, target, cell(before), *map(cell, found.values()), said))} |"
