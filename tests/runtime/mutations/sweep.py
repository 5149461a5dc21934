"""Judges every mutant; `python -m tests.runtime.mutations.sweep [KERNEL ...]` prints what was caught, and what was not.

A mutant is caught when a run of it with hazards=True, in step or with some seed apart, reports a hazard, ends in an
error that names a PTX line (a deadlock, a loop without end), or leaves other data than the kernel does.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ptxsim import HazardError, SimulatorError
from tests.runtime.mutations.changes import OPERATOR, changes_of
from tests.runtime.mutations.equivalents import equivalent
from tests.runtime.mutations.operators import OPERATORS, Mutant, mutants_of
from tests.runtime.mutations.subjects import Array, Mode, Subject, subjects

RESULTS = Path(__file__).parent / "results.json"
SCHEDULES = ("together", "skewed:0", "skewed:3", "skewed:1")
LONGER = 8
"""A mutant that takes so many times the instructions of its kernel, and 20,000, is taken to run forever."""


@dataclass(frozen=True)
class Verdict:
    """how: "hazard (kind)", "wrong result", another error's name or "silent"; schedule: the one that found it."""

    mutant: Mutant
    how: str
    schedule: str = ""
    message: str = ""


@cache
def right(name: str) -> tuple[tuple[Array, ...], int]:
    """What the unchanged kernel leaves, and the instructions that it takes."""
    subject = subjects()[name]
    arrays, count = subject.run(subject.text(), Mode())
    return tuple(arrays), count


def mutants(subject: Subject) -> Iterator[Mutant]:
    """The mutants of a kernel: operators at every site, then changes by hand."""
    if not subject.by_hand_only:
        lines = subject.lines()
        yield from (mutant for mutant in mutants_of(subject.name, subject.text()) if mutant.line in lines)
    yield from changes_of(subject.name)


def run(mutant: Mutant, schedule: str) -> Verdict | None:
    """What one run of a mutant shows."""
    arrays, count = right(mutant.kernel)
    mode = Mode(schedule=schedule, most=LONGER * count + 20_000)
    try:
        found, _ = subjects()[mutant.kernel].run(mutant.ptx, mode)
    except SimulatorError as error:
        if error.line is None and not isinstance(error, HazardError):
            raise  # the mutant is not PTX: the operator is wrong
        how = f"hazard ({error.kind})" if isinstance(error, HazardError) else type(error).__name__
        return Verdict(mutant, how, schedule, str(error))
    same = all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(found, arrays, strict=True))
    return None if same else Verdict(mutant, "wrong result", schedule)


def judge(mutant: Mutant, schedules: Sequence[str] = SCHEDULES) -> Verdict:
    """Whether a mutant is caught, and by what."""
    for schedule in schedules:
        verdict = run(mutant, schedule)
        if verdict is not None:
            return verdict
    return Verdict(mutant, "silent")


def table(title: str, rows: dict[str, Counter[str]]) -> list[str]:
    """Counts by kernel or by operator, in columns."""
    lines = [f"| {title} | mutants | caught | equivalent | silent |", "|---|---:|---:|---:|---:|"]
    for name, count in [*rows.items(), ("all", sum(rows.values(), Counter[str]()))]:
        apart = count["equivalent"], count["silent"]
        if count.total():
            lines.append(f"| {name} | {count.total()} | {count.total() - sum(apart)} | {apart[0]} | {apart[1]} |")
    return lines


def tables(results: dict[str, Any]) -> str:
    """What the kernels' results say, by operator, by kernel and by what caught them."""
    kernels = {name: Counter[str]() for name in subjects() if name in results}
    operators = {name: Counter[str]() for name in (*(operator.name for operator in OPERATORS), OPERATOR)}
    ways = Counter[str]()
    for name, count in kernels.items():
        for operator, found in results[name]["caught"].items():
            for how, number in found.items():
                count["caught"] += number
                operators[operator]["caught"] += number
                ways[how] += number
        for operator, line, _ in results[name]["silent"]:
            kind = "silent" if equivalent(name, operator, line) is None else "equivalent"
            count[kind] += 1
            operators[operator][kind] += 1
    by = [f"| {how} | {number} |" for how, number in sorted(ways.items(), key=lambda entry: -entry[1])]
    found = ["| caught by | mutants |", "|---|---:|", *by]
    return "\n".join([*table("operator", operators), "", *table("kernel", kernels), "", *found])


def sweep(subject: Subject) -> dict[str, Any]:
    """The results of one kernel: caught by operator and way, and (operator, line, number) of those that were not."""
    caught: dict[str, Counter[str]] = {}
    silent: list[tuple[str, int, int]] = []
    for mutant in mutants(subject):
        verdict = judge(mutant)
        if verdict.how == "silent":
            silent.append((mutant.operator, mutant.line, mutant.number))
            known = equivalent(mutant.kernel, mutant.operator, mutant.line)
            print(f"{'silent' if known is None else 'equivalent'}: {mutant.name}: {mutant.statement}", flush=True)
        else:
            caught.setdefault(mutant.operator, Counter())[verdict.how] += 1
    return {"date": str(date.today()), "caught": caught, "silent": silent}


def main(names: Sequence[str]) -> None:
    """Sweep the kernels named, or all; their results replace what RESULTS holds of them."""
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results = {name: results[name] for name in subjects() if name in results}
    for name, subject in subjects().items():
        if not names or name in names:
            results[name] = sweep(subject)
            RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    print(tables(results))


if __name__ == "__main__":
    main(sys.argv[1:])
