"""Limits count work: the program is the same whatever the clock says, and a limit that ends something names itself."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import pytest

import tilesat
from ir.core import TileError
from tilesat.cli import main

GEMM = Path("examples/gemm.mlir")


def hours() -> object:
    """A clock on which an hour passes between any two looks."""
    ticks = count()
    return lambda: 3600.0 * next(ticks)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_a_clock_that_runs_wild_changes_nothing(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = tilesat.compile(GEMM, target)
    names = ("perf_counter", "monotonic", "time", "process_time")
    clocks = {id(getattr(sys.modules["time"], name)) for name in names}
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").partition(".")[0] in ("extract", "egraph", "lowering", "ir", "tilesat"):
            for name in [name for name, value in vars(module).items() if id(value) in clocks]:
                monkeypatch.setattr(module, name, hours())
    monkeypatch.setattr("time.perf_counter", hours())
    busy = tilesat.compile(GEMM, target)
    assert sum(busy.seconds.values()) > 3600
    assert (busy.ptx, busy.cost, busy.bound, busy.limits) == (quiet.ptx, quiet.cost, quiet.bound, [])


def test_a_budget_that_ends_the_search_names_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = tilesat.compile(GEMM, "sm_90a", extract_budget=1)
    (limit,) = kernel.limits
    assert limit.startswith("the extraction budget of 1 units ended the search: cost ")
    assert "--extract-budget" in limit
    assert "the extraction budget of 1 units ended the search" in kernel.report
    assert main(["compile", str(GEMM), "--extract-budget", "1", "-o", str(tmp_path / "k.ptx")]) == 0
    assert "tilesat: warning: sm_80: the extraction budget of 1 units ended" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--extract-budget", "--saturate-budget"])
@pytest.mark.parametrize("value", ["0", "-3", "ten"])
def test_wrong_budgets_are_refused(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compile", str(GEMM), f"{option}={value}"])
    assert f"{value!r} is not a whole number above 0" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["extract_budget", "saturate_budget"])
def test_wrong_budgets_are_refused_in_python(name: str) -> None:
    with pytest.raises(TileError, match=f"{name}: expected a number above 0, got 0"):
        tilesat.compile(GEMM, **{name: 0})
