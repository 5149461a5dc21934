"""Sums in tensor memory that a loop scales: warps pass over the scaling where all of their factors are 1."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from ptxsim import SimulatorError
from tests.lowering.test_steady_states import attention
from tests.programs.program import Program, check, interpret, reported
from tilesat.execution import largest_error
from tilesat.kernel import Kernel

TARGET, KEYS, STEP = "sm_100a", 200, 64
ATTENTION = attention(64, False, KEYS, rows=256)


def early(q: Any, k: Any) -> None:
    """The highest scores of all rows are those of the first step."""
    k[:, STEP:] *= 0.01


def late(q: Any, k: Any) -> None:
    """Those of all rows grow in the second step."""
    k[:, STEP : 2 * STEP] *= 8


def mixed(q: Any, k: Any) -> None:
    """Those of one warp are all alike, others grow."""
    q[:, 32:64] = 0


def with_nan(q: Any, k: Any) -> None:
    """One row has NaN."""
    early(q, k)
    q[:, 5] = np.nan


def case(change: Any) -> Program:
    """Attention with other queries and keys."""

    def arguments() -> list[Any]:
        made = ATTENTION.arguments()
        change(*made[:2])
        return made

    return replace(ATTENTION, arguments=arguments, expected=None)


CASES = {change.__name__: case(change) for change in (early, late, mixed, with_nan)}


@cache
def compiled() -> Kernel:
    return check(ATTENTION, TARGET)


@cache
def interpreted(name: str) -> Any:
    return interpret(compiled(), CASES[name])[3]


def run(name: str, ptx: str = "", order: str = "together") -> tuple[float, int]:
    """The error, in what is allowed, and how often warps store to tensor memory."""
    found, report = reported(compiled(), CASES[name], ptx=ptx, schedule=order)
    stores = sum(count for opcode, count in report.instructions.items() if opcode.startswith("tcgen05.st."))
    return largest_error(found[3], interpreted(name)) / ATTENTION.tolerance, stores


@pytest.mark.sampled(20)
@pytest.mark.parametrize("order", ["together", "skewed:1"])
@pytest.mark.parametrize("name", CASES)
def test_sums_are_right(name: str, order: str) -> None:
    assert run(name, order=order)[0] <= 1


def test_warps_pass_over_the_scaling() -> None:
    """Those whose maxima stay, and no others: the first step scales zeros by 0."""
    few, more = run("early")[1], run("late")[1]
    assert few < more


def test_not_a_number_is_multiplied() -> None:
    assert np.isnan(interpreted("with_nan")[:, 5]).all()


MUTANTS = {
    "warps whose factors are all other than 1 scale alone": ("vote.sync.any.pred", "vote.sync.all.pred"),
    "warps whose factors are 1 scale": ("setp.neu.", "setp.equ."),
}


@pytest.mark.in_turn
@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_changed_is_found(name: str) -> None:
    old, new = MUTANTS[name]
    assert old in compiled().ptx
    changed = compiled().ptx.replace(old, new)
    try:
        assert max(run(each, changed)[0] for each in ("late", "mixed")) > 10, "nobody sees it"
    except SimulatorError:
        return
