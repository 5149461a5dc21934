"""The sweep: what it finds right and wrong, and how a log is continued."""

import json
from pathlib import Path

import pytest

from tests.programs import sweep
from tests.programs.program import Program
from tests.programs.promises_random import promised

ARGUMENTS = ["--kinds", "promised", "--targets", "sm_80,sm_90a", "--without-ptxas"]


def test_sweep_goes_on_where_its_log_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = ["--log", str(tmp_path / "log")]
    assert sweep.main([*ARGUMENTS, *log, "--count", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{target}: 2 programs, 2 ok, 0 refused, 0 wrong" for target in ("sm_80", "sm_90a")
    ]
    assert sweep.main([*ARGUMENTS, *log, "--count", "3"]) == 0
    assert "sm_80: 3 programs, 3 ok" in capsys.readouterr().out
    names = [json.loads(line)["program"] for line in (tmp_path / "log").read_text().splitlines()]
    assert names == [f"promised-{seed}" for seed in range(3) for _ in range(2)]


def test_sweep_says_what_is_wrong_and_judges_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(kernel: object, program: Program) -> list[object]:
        return program.arguments()  # as if nothing had run

    arguments = [*ARGUMENTS, "--log", str(tmp_path / "log"), "--count", "1"]
    with monkeypatch.context() as context:
        context.setattr(sweep, "simulate", late)
        assert sweep.main(arguments) == 1
    assert "promised-0 sm_80 wrong: argument 1 is" in capsys.readouterr().out
    assert sweep.main(arguments) == 0
    assert "sm_90a: 1 programs, 1 ok, 0 refused, 0 wrong" in capsys.readouterr().out


def test_exceptions_are_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(kernel: object, program: Program) -> list[object]:
        raise KeyError("lost")

    monkeypatch.setattr(sweep, "simulate", broken)
    assert list(sweep.judge(promised(0), ["sm_80"])) == [("sm_80", "wrong", "KeyError: 'lost'")]
    garbled = Program("garbled", lambda: "entry {", list)
    ((_, verdict, reason),) = sweep.judge(garbled, ["sm_80"])
    assert verdict == "wrong"
    assert "ParseError" in reason


def test_unknown_kind_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        sweep.main(["--kinds", "magic"])
    assert "unknown kind 'magic': choose of generated, ordered, promised, nested" in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(12))
def test_promises_that_are_not_made_are_not_believed(seed: int) -> None:
    assert [found for _, found, reason in sweep.judge(promised(seed), ["sm_80", "sm_90a"], assembled=False)] == [
        "ok"
    ] * 2
