"""python -m extract, run in process."""

import json
import pathlib

import pytest

from extract.__main__ import main

FILE = str(pathlib.Path(__file__).parent / "data" / "matmul.json")


@pytest.mark.parametrize("method", ["tree", "greedy", "ilp"])
def test_json_output(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([FILE, "--method", method, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["cost"] == 36.0
    assert record["bound"] <= 36.0
    assert record["method"] == method
    assert (record["nodes"], record["classes"]) == (13, 9)
    assert record["chosen"]["acc.blocked"] == "cvt"
    assert {"gap", "optimal", "seconds"} <= record.keys()


def test_text_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([FILE, "--method", "ilp"]) == 0
    out = capsys.readouterr().out
    assert "cost     36" in out
    assert "optimal" in out
    assert "resource smem: 1536 of 2048" in out


def test_failures_are_one_line_on_stderr(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.json")]) == 1
    err = capsys.readouterr().err
    assert err.startswith("extract: ")
    assert err.count("\n") == 1


def test_wrong_usage_exits_2() -> None:
    with pytest.raises(SystemExit) as stopped:
        main([FILE, "--time-limit", "soon"])
    assert stopped.value.code == 2
