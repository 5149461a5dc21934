"""Limits count work: the program is the same whatever the clock says, and a limit that ends something names itself."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import pytest

import tilesat
from egraph.report import StopReason
from ir.core import TileError
from tilesat.cli import main

GEMM = Path("examples/gemm.mlir")


def hours() -> object:
    """A clock on which an hour passes between any two looks."""
    ticks = count()
    return lambda: 3600.0 * next(ticks)


@pytest.mark.in_turn
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


@pytest.mark.in_turn
def test_a_budget_that_ends_the_search_names_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = tilesat.compile(GEMM, "sm_80", extract_budget=1)
    (limit,) = kernel.limits
    assert limit.startswith("the extraction budget of 1 units ended the search: cost ")
    assert "--extract-budget" in limit
    assert "the extraction budget of 1 units ended the search" in kernel.report
    assert main(["compile", str(GEMM), "--extract-budget", "1", "-o", str(tmp_path / "k.ptx")]) == 0
    assert "tilesat: warning: sm_80: the extraction budget of 1 units ended" in capsys.readouterr().err


GROWING = '(rewrite (addf x y r f) (mulf (addf (mulf x y r f) y r f) x r f) :ruleset {} :name "mine/grow")'
"""Not sound, so only the limit and that there is a program are looked at."""


@pytest.mark.in_turn
@pytest.mark.parametrize("ruleset", ["algebra", "canon"])
def test_a_budget_that_ends_saturation_names_itself_and_leaves_a_program(
    ruleset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "grow.egg"
    rules.write_text(GROWING.format(ruleset))
    kernel = tilesat.compile("examples/vecadd_view.mlir", rules=[rules], unchecked=True, saturate_budget=500)
    (limit,) = kernel.limits
    assert limit.startswith("saturation ended early, algebra at its limit of ")
    assert "--saturate-budget" in limit
    assert "st.global" in kernel.ptx
    arguments = [
        "compile",
        "examples/vecadd_view.mlir",
        "--rules",
        str(rules),
        "--unchecked",
        "-o",
        str(tmp_path / "k.ptx"),
    ]
    assert main([*arguments, "--saturate-budget", "500"]) == 0
    assert "tilesat: warning: sm_80: saturation ended early, algebra at its limit of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kernel", "what"), [("vecadd_view", "no lowering for sm_80"), ("gemm", "no matrix instruction was found")]
)
def test_saturation_that_ends_before_there_is_a_program_says_so(
    kernel: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("egraph.saturate._Run.placement", lambda *_: StopReason.MATCH_LIMIT)
    with pytest.raises(TileError, match=f"{what}: saturation ended early, placement at its limit of") as caught:
        tilesat.compile(f"examples/{kernel}.mlir")
    assert "--saturate-budget" in (caught.value.hint or "")


def test_facts_without_end_are_refused_with_the_rules_that_make_them(tmp_path: Path) -> None:
    rules = tmp_path / "climb.egg"
    rules.write_text(
        '(rule ((= d (divisor v)) (< d 1000000)) ((set (divisor v) (+ d 1))) :ruleset analysis :name "mine/climb")'
    )
    with pytest.raises(TileError, match=r"analysis facts do not reach a fixpoint: algebra at .*mine/climb") as caught:
        tilesat.compile("examples/vecadd_ptr.mlir", rules=[rules], unchecked=True)
    assert "--without" in (caught.value.hint or "")


@pytest.mark.parametrize("option", ["--extract-budget", "--saturate-budget"])
@pytest.mark.parametrize("value", ["0", "-3", "ten"])
def test_wrong_budgets_are_refused(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compile", str(GEMM), f"{option}={value}"])
    assert f"{value!r} is not a positive integer" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["extract_budget", "saturate_budget"])
def test_wrong_budgets_are_refused_in_python(name: str) -> None:
    with pytest.raises(TileError, match=f"{name}: expected a number above 0, got 0"):
        tilesat.compile(GEMM, **{name: 0})
