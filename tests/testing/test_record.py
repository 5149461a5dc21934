"""`tilesat bench-record` and `bench-diff`: what is counted, what is worse, and what is not a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tilesat
from tests.tilesat.test_tileiras import has_ptxas
from tilesat.cli import main
from tilesat.testing.record import Figures, Thresholds, changes, read_run, write

EXAMPLES = Path(__file__).parents[2] / "examples"
BASE = Figures(1000.0, 200, 40, 0, 1024, 1.0)


def recorded(path: Path, assembled: bool = True, **kernels: Figures) -> Path:
    path.write_text(write(kernels, assembled))
    return path


def diff(tmp_path: Path, before: dict[str, Figures], after: dict[str, Figures], *words: str) -> int:
    old, new = recorded(tmp_path / "old.json", **before), recorded(tmp_path / "new.json", **after)
    return main(["bench-diff", str(old), str(new), *words])


@pytest.mark.in_turn
def test_a_folder_is_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "kernels" / "below"
    folder.mkdir(parents=True)
    (folder / "add.mlir").write_text((EXAMPLES / "vecadd_ptr.mlir").read_text())
    (folder / "broken.mlir").write_text("entry {")
    (folder / "ignored.txt").write_text("entry {")
    out = tmp_path / "run.json"
    assert main(["bench-record", str(folder.parent), "--target", "sm_80,sm_90a", "-o", str(out)]) == 0
    run, assembled = read_run(out)
    assert list(run) == [
        "below/add.mlir@vecadd_ptr sm_80", "below/add.mlir@vecadd_ptr sm_90a",
        "below/broken.mlir sm_80", "below/broken.mlir sm_90a",
    ]  # fmt: skip
    assert "below/broken.mlir sm_80: " in capsys.readouterr().err
    found = run["below/add.mlir@vecadd_ptr sm_80"]
    assert found.cost == tilesat.compile(folder / "add.mlir").cost
    assert found.seconds > 0
    assert assembled == has_ptxas()
    assert found.registers > 0 or not assembled
    assert run["below/broken.mlir sm_80"].error
    assert main(["bench-diff", str(out), str(out)]) == 0
    assert "4 kernels, 0 changed, 0 worse than the threshold allows" in capsys.readouterr().out


def test_without_ptxas_instructions_of_ptx_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = EXAMPLES / "vecadd_ptr.mlir", tmp_path / "run.json"
    assert main(["bench-record", str(path), "-o", str(out), "--without-ptxas"]) == 0
    (found,) = read_run(out)[0].values()
    assert found.instructions > 20
    assert found.registers == 0
    monkeypatch.setattr("runtime.ptxas.find", lambda program: missing())
    monkeypatch.setattr("tilesat.commands.bench_record.find", lambda program: missing())
    assert main(["bench-record", str(path), "-o", str(out)]) == 0
    assert "ptxas is gone; PTX instructions are counted in place of SASS" in capsys.readouterr().err
    counted = recorded(tmp_path / "other.json", k=BASE)
    assert main(["bench-diff", str(out), str(counted)]) == 1
    assert "one run counts SASS, the other PTX" in capsys.readouterr().err


def missing() -> Any:
    from runtime.ptxas import PtxasNotFoundError

    raise PtxasNotFoundError("ptxas is gone")


@pytest.mark.parametrize(
    ("change", "worse"),
    [
        ({"cost": 1019.0}, False), ({"cost": 1021.0}, True), ({"cost": 900.0}, False),
        ({"instructions": 204}, False), ({"instructions": 205}, True), ({"registers": 41}, True),
        ({"shared_memory": 2048}, True), ({"spills": 4}, True), ({"seconds": 1.4}, False), ({"seconds": 1.6}, True),
        ({"seconds": 0.2}, False),
    ],
)  # fmt: skip
def test_what_is_worse_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], worse: bool
) -> None:
    assert diff(tmp_path, {"k": BASE}, {"k": replace(BASE, **change)}) == worse
    said = capsys.readouterr().out
    assert (" ! |" in said) == worse
    shown = "seconds" not in change or worse
    assert (f"| {next(iter(change))} " in said) == shown


def test_thresholds_are_given(tmp_path: Path) -> None:
    after = {"k": replace(BASE, cost=1100.0, seconds=1.6)}
    assert diff(tmp_path, {"k": BASE}, after, "--threshold", "10", "--time-threshold", "60") == 0
    assert diff(tmp_path, {"k": BASE}, after, "--threshold", "9.9", "--time-threshold", "60") == 1
    assert Thresholds().worse("seconds", 0.01, 0.05) is False, "a tenth of a second is noise"
    with pytest.raises(SystemExit):
        diff(tmp_path, {"k": BASE}, after, "--threshold", "-1")


def test_kernels_that_fail_or_are_gone_are_worse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = Figures(error="no lowering")
    before = {"a": BASE, "b": failed, "c": BASE, "d": failed}
    after = {"a": failed, "b": BASE, "d": replace(failed, error="other"), "e": BASE}
    notes = {each.kernel: (each.note, each.failed) for each in changes(before, after, Thresholds())}
    assert notes == {
        "a": ("no longer compiles: no lowering", True), "b": ("compiles now", False), "c": ("gone", True),
        "d": ("another error: other", False), "e": ("new", False),
    }  # fmt: skip
    assert diff(tmp_path, before, after) == 1
    assert "4 kernels, 5 changed, 2 worse than the threshold allows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "expected a recorded run"),
        ("no json", "expected a recorded run"),
        ("[]", "expected a recorded run"),
        (json.dumps({"form": "tilesat-run-0"}), "expected tilesat-run-1, got tilesat-run-0"),
    ],
)
def test_what_is_not_a_run(tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    assert main(["bench-diff", str(path), str(path)]) == 1
    assert message in capsys.readouterr().err


def test_a_folder_without_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench-record", str(tmp_path)]) == 1
    assert "no kernel: expected files that end in .mlir, .tileirbc, .bc" in capsys.readouterr().err
    assert main(["bench-record", str(tmp_path / "gone")]) == 1
    assert "there is no such folder" in capsys.readouterr().err
