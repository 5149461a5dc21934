"""The simulator's command line, and its README unchanged."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from ptxsim import command
from tests import test_tutorial

README = Path(command.__file__).parent / "README.md"
RACE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry race(.param .u64 out) .reqntid 64
{
  .reg .b64 %at; .reg .b32 %i; .shared .align 4 .b32 word;
  mov.u32 %i, %tid.x;
  st.shared.u32 [word], %i;
  ret;
}
"""


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command says that fails."""
    with pytest.raises(SystemExit) as ended:
        command.main([*words])
    assert ended.value.code
    return f"{ended.value.code}\n{capsys.readouterr().out}"


def test_the_readme(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    test_tutorial.prepare(tmp_path)
    ptxsim = tmp_path / "bin" / "ptxsim"
    ptxsim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {command.__package__} "$@"\n')
    ptxsim.chmod(0o755)
    text = README.read_text()
    renewed = text
    for block, said in test_tutorial.transcripts(text, tmp_path):
        renewed = renewed.replace(block[0], test_tutorial.blessed(block, said))
    if request.config.getoption("--bless"):
        README.write_text(renewed)
    else:
        assert renewed == text


def test_arrays_are_saved_and_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ptx, x = tmp_path / "scale.ptx", np.random.default_rng(3).standard_normal(64).astype(np.float32)
    ptx.write_text(
        next(b["body"] for b in test_tutorial.BLOCK.finditer(README.read_text()) if b["file"] == "scale.ptx")
    )
    np.save(tmp_path / "x.npy", x)
    given = [str(ptx), "--grid", "2", "--block", "32", "--arg", f"f32[64]={tmp_path}/x.npy", "--arg", "f32=-2"]
    with pytest.raises(SystemExit) as ended:
        command.main([*given, "--save", str(tmp_path / "out.npz")])
    assert ended.value.code == 0
    assert np.array_equal(np.load(tmp_path / "out.npz")["arg0"], -2 * x)
    assert "ptxsim: error: argument" in refused(
        capsys, *given[:5], "--arg", f"f32[32]={tmp_path}/x.npy", "--arg", "f32=1"
    )


def test_hazards_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "race.ptx").write_text(RACE)
    given = [str(tmp_path / "race.ptx"), "--grid", "1", "--arg", "u32[1]=zeros"]
    assert "race" in refused(capsys, *given)
    with pytest.raises(SystemExit) as ended:
        command.main([*given, "--hazards", "off"])
    assert ended.value.code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--arg", "f33[2]=zeros"], r"cannot parse argument 'f33[2]=zeros': expected TYPE[SHAPE]=CONTENTS, such as"),
        (["--arg", "u32=x"], "cannot parse argument 'u32=x': 'x' is not a number"),
        (["--arg", "u32[1]=nowhere.npy"], "contents are zeros, ones, arange, normal, uniform, integers or a file;"),
        ([], "expects 1 argument (out), got 0"),
    ],
)
def test_messages(words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "race.ptx").write_text(RACE)
    assert message in refused(capsys, str(tmp_path / "race.ptx"), "--grid", "1", *words)


def test_a_block_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "race.ptx").write_text(RACE.replace(".reqntid 64", ""))
    said = refused(capsys, str(tmp_path / "race.ptx"), "--grid", "1", "--arg", "u32[1]=zeros")
    assert "--block is needed: entry `race` has no .reqntid" in said
    assert "No such file" in refused(capsys, "nowhere.ptx")
