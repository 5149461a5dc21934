"""Kernels of another commit beside ours: hot loop, all code, what of it rarely runs, registers; what is longer now."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.ablation.cases import COLUMNS, Case
from benchmarks.ablation.figures import IN_PASSES, KERNELS, WITH_PRODUCTS, code_of, figures, hot_of
from lowering.skeletons.joined_steps import PAIR

CHILD = Path(__file__).with_name("elsewhere.py")
WAYS: tuple[tuple[str, ...], ...] = ((), IN_PASSES, WITH_PRODUCTS)
"""What is forbidden in the compilations that are counted."""


@dataclass(frozen=True)
class Count:
    """Instructions of the hot loop, of all code, and of it of slow paths; registers per thread."""

    hot: int
    sass: int
    rare: int
    registers: int

    def __str__(self) -> str:
        """As in the table."""
        slow = f" ({self.rare} in slow paths)" if self.rare else ""
        return f"{self.hot} / {self.sass}{slow}, {self.registers}"


def there(worktree: Path, cases: Sequence[Case], targets: Sequence[str]) -> dict[tuple[str, str], Count | str]:
    """Counts of kernels compiled by the packages of a worktree without permissions, or why it has no such kernel."""
    keys = [(case, target) for target in targets for case in cases]
    requests = [
        {"kernels": str(KERNELS), "name": case.name, "source": str(case.file or ""), "signature": case.signature,
         "target": target, "forbid": forbid}
        for case, target in keys for forbid in WAYS
    ]  # fmt: skip
    made = subprocess.run(
        [sys.executable, str(CHILD)], input=json.dumps(requests), capture_output=True, text=True, cwd=worktree,
        env={**os.environ, "PYTHONPATH": str(worktree)}, check=False,
    )  # fmt: skip
    if made.returncode:
        raise SystemExit(f"--beside: cannot compile with {worktree}: {made.stderr.strip().splitlines()[-1]}")
    answers = [json.loads(line) for line in made.stdout.splitlines()]
    ways = [answers[at : at + len(WAYS)] for at in range(0, len(answers), len(WAYS))]
    return {(case.name, target): count(case, target, way) for (case, target), way in zip(keys, ways, strict=True)}


@dataclass(frozen=True)
class _Made:
    ptx: str
    pairs: bool


def count(case: Case, target: str, way: Sequence[dict[str, Any]]) -> Count | str:
    """Counts of a kernel compiled in all ways that are counted."""
    whys = [each["why"] for each in way if "why" in each]
    if whys:
        return whys[0]
    made = {forbid: _Made(each["ptx"], each["pairs"]) for forbid, each in zip(WAYS, way, strict=True)}
    shipped = made[()].ptx
    code = code_of(shipped, target)
    inner, with_products, other = hot_of(shipped, target, case.passes, lambda names: made[tuple(names)])
    return Count(
        inner // (PAIR if with_products and other.pairs else 1) or code.sass, code.sass, code.rare, code.registers
    )


def ours(case: Case, target: str, column: str) -> Count:
    """Counts of a kernel under the permissions of a column."""
    found = figures(case, target, COLUMNS[column], ())
    return Count(round(found.hot / found.steps), found.sass, found.rare, found.registers)


def longer(before: Count, after: Count) -> str:
    """What is longer: the hot loop, or code without a loop; slow paths only, where all else is not."""
    if after.hot <= before.hot:
        return ""
    straight = before.hot == before.sass and after.hot == after.sass
    return "slow paths" if straight and after.hot - after.rare <= before.hot - before.rare else "longer"


def lines(worktree: Path, cases: Sequence[Case], targets: Sequence[str], columns: Sequence[str]) -> Iterator[str]:
    """The table: a line for each kernel and target, with a cell for each column and what is longer in it."""
    yield f"| kernel | target | there | {' | '.join(columns)} | longer |\n|{'---|' * (len(columns) + 4)}"
    before = there(worktree, cases, targets)
    for target in targets:
        for case in cases:
            known = before[case.name, target]
            found = {column: ours(case, target, column) for column in columns}
            if isinstance(known, str):
                marks = [f"there: {known}"]
            else:
                marks = [f"{column}: {why}" for column, each in found.items() if (why := longer(known, each))]
            shown = "" if isinstance(known, str) else str(known)
            cells = (case.name, target, shown, *map(str, found.values()), "; ".join(marks))
            yield f"| {' | '.join(cells)} |"
