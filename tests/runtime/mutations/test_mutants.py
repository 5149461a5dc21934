"""The mutants: a sample is judged, the table of results is complete and good enough; the whole sweep is slow."""

import json
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.runtime.mutations.changes import OPERATOR
from tests.runtime.mutations.equivalents import EQUIVALENTS, equivalent
from tests.runtime.mutations.operators import OPERATORS, Mutant
from tests.runtime.mutations.subjects import Mode, subjects
from tests.runtime.mutations.sweep import RESULTS, SCHEDULES, judge, mutants, right, sweep, tables

FOUND: dict[str, Any] = json.loads(RESULTS.read_text())
KERNELS = sorted(subjects())
NAMES = [*(operator.name for operator in OPERATORS), OPERATOR]
CAUGHT, EQUIVALENT = 0.97, 0.10
"""Of the mutants that are faults, how many must be caught; of all, how many may be no faults."""


def _silent(kernel: str) -> set[tuple[str, int, int]]:
    return {(operator, line, number) for operator, line, number in FOUND[kernel]["silent"]}


@cache
def _mutants(name: str) -> list[Mutant]:
    return list(mutants(subjects()[name]))


def _sampled(operator: str) -> list[Mutant]:
    """A mutant by an operator that was caught, of kernels in turn; of changes by hand one of each kernel."""
    turn = NAMES.index(operator) * 5 % len(KERNELS)
    found: list[Mutant] = []
    for name in KERNELS[turn:] + KERNELS[:turn]:
        if operator in FOUND[name]["caught"]:
            silent = {line for by, line, _ in _silent(name) if by == operator}
            found.append(next(m for m in _mutants(name) if m.operator == operator and m.line not in silent))
    return found if operator == OPERATOR else found[:1]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("operator", NAMES)
def test_mutants_are_caught(operator: str) -> None:
    for mutant in _sampled(operator):
        assert judge(mutant).how != "silent"


def _unchanged(name: str, schedule: str) -> None:
    subject = subjects()[name]
    arrays, _ = subject.run(subject.text(), Mode(schedule=schedule))
    for found, expected in zip(arrays, right(name)[0], strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("number", range(1, len(KERNELS), 6))
def test_the_unchanged_kernel_is_right(number: int) -> None:
    _unchanged(KERNELS[number], SCHEDULES[1 + number % 3])


@pytest.mark.slow
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", KERNELS)
def test_every_unchanged_kernel_is_right(name: str, schedule: str) -> None:
    _unchanged(name, schedule)


def _totals(results: dict[str, Any]) -> Counter[str]:
    count = Counter[str]()
    for name, each in results.items():
        count["caught"] += sum(number for ways in each["caught"].values() for number in ways.values())
        for operator, line, _ in each["silent"]:
            count["silent" if equivalent(name, operator, line) is None else "equivalent"] += 1
    return count


def _check(results: dict[str, Any]) -> None:
    count = _totals(results)
    assert len(results) >= 20
    assert count.total() >= 300
    assert count["caught"] >= CAUGHT * (count.total() - count["equivalent"])
    assert count["equivalent"] <= EQUIVALENT * count.total()


def test_enough_are_caught() -> None:
    _check(FOUND)


@pytest.mark.parametrize("name", KERNELS)
def test_the_results_are_of_these_mutants(name: str) -> None:
    """A kernel or an operator that changed must be swept again: python -m tests.runtime.mutations.sweep KERNEL."""
    given = Counter(mutant.operator for mutant in _mutants(name))
    swept = Counter(operator for operator, _, _ in FOUND[name]["silent"])
    for operator, ways in FOUND[name]["caught"].items():
        swept[operator] += sum(ways.values())
    assert swept == given


@pytest.mark.parametrize("entry", EQUIVALENTS, ids=lambda entry: f"{entry.kernel} {entry.operator} {entry.lines}")
def test_an_equivalent_has_its_line(entry: Any) -> None:
    text = subjects()[entry.kernel].text().splitlines()
    line, words = entry.because
    assert words in text[line - 1]
    silent = {(operator, line) for operator, line, _ in _silent(entry.kernel)}
    assert {(entry.operator, line) for line in entry.lines} <= silent


@pytest.mark.slow
def test_the_whole_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the counts by operator and by kernel; no mutant is silent that was caught before."""
    results = {name: sweep(subject) for name, subject in subjects().items()}
    with capsys.disabled():
        print("\n" + tables(results))
    _check(results)
    for name, each in results.items():
        assert set(each["silent"]) <= _silent(name)
