"""One record of all benchmarks, and the comparison of two."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import all as benchmarks

FOLDER = Path(benchmarks.__file__).parent
NEEDS_MORE = {"compile_time", "corpus", "fresh", "gpu", "llvm", "options", "triton_gemm"}
PARTS = {"attention", "cubin", "tileiras", "upstream"}
"""Modules that measure nothing by themselves; attention is run by gpu."""


def test_every_benchmark_is_run_or_named() -> None:
    modules = {path.stem for path in FOLDER.glob("[a-z]*.py")} | {
        path.parent.name for path in FOLDER.glob("*/__main__.py")
    }
    assert {*benchmarks.BENCHMARKS} == modules - NEEDS_MORE - PARTS - {"all"}
    for name in benchmarks.WITH_JSON:
        (source,) = [p for p in (FOLDER / f"{name}.py", FOLDER / name / "__main__.py") if p.exists()]
        assert '"--json"' in source.read_text()


def test_printed_numbers_have_their_lines() -> None:
    said = "kernel  ms\n| gemm sm_80 | 12 | 1.5 % |\nloop 3 -2e3\nloop 4\nnothing\n"
    assert benchmarks.printed(said) == {"gemm sm_80": [12, 1.5], "loop": [3, -2000], "loop (2)": [4]}


def test_records_are_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows = [{"kernel": "a", "cost": 100, "ok": True}, {"kernel": "b", "cost": 50}]
    more = [{"kernel": "b", "cost": 50.5}, {"kernel": "a", "cost": 110}, {"kernel": "c", "cost": 1}]
    old = {"date": "d1", "commit": "c1", "benchmarks": {"gemm": {"result": rows}, "peers": {"result": {}}}}
    new = {"date": "d2", "commit": "c2", "benchmarks": {"gemm": {"result": more}, "simulator": {"error": ["no"]}}}
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for file, record in zip(files, (old, new), strict=True):
        file.write_text(json.dumps(record))
    monkeypatch.setattr(sys, "argv", ["all", "--compare", *map(str, files)])
    assert benchmarks.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        "c1 (d1) to c2 (d2)",
        "gemm: /a 1/cost: 100 to 110 (+10.0 %)",
        "gemm: /c 1/cost: only in the new record",
        "peers: only in the old record",
        "simulator: only in the new record",
        "4 differ, 1 the same within 2 %",
    ]


def test_what_fails_is_recorded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(benchmarks, "BENCHMARKS", {"tile_ir": ["--repeat", "x"]})
    monkeypatch.setattr(sys, "argv", ["all", "--only", "tile_ir", "-o", str(tmp_path / "r.json")])
    assert benchmarks.main() == 1
    assert "tile_ir: failed: tile_ir.py: error: argument --repeat: invalid int value: 'x'" in capsys.readouterr().out
    assert "error" in json.loads((tmp_path / "r.json").read_text())["benchmarks"]["tile_ir"]


def test_unknown_names_are_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["all", "--only", "hemm"])
    with pytest.raises(SystemExit):
        benchmarks.main()
    assert "unknown benchmark 'hemm': choose from gemm, extraction" in capsys.readouterr().err
