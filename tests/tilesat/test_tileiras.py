"""The drop-in for tileiras: options, exit codes, version probe, messages."""

from pathlib import Path

import pytest
from cuda.tile._bytecode.version import BytecodeVersion
from cuda.tile._bytecode.writer import write_bytecode

from runtime.ptxas import PtxasNotFoundError, find
from tilesat.tileiras import main

DATA = Path(__file__).resolve().parents[1] / "data/bytecode"
SOFTMAX = DATA / "softmax.13.4.tileirbc"


def has_ptxas():
    try:
        return bool(find())
    except PtxasNotFoundError:
        return False


@pytest.fixture
def target(tmp_path):
    return tmp_path / "out.cubin"


def assembled(code, target):
    """Success where ptxas is installed, else a message that says how to get it."""
    if has_ptxas():
        assert code == 0
        assert target.read_bytes().startswith(b"\x7fELF")
    else:
        assert code == 5


@pytest.mark.parametrize("gpu", ["sm_80", "sm_90", "sm_120"])
def test_a_cubin_comes_out(gpu, target):
    options = ["-o", str(target), "--gpu-name", gpu, "-O3", "--lineinfo"]
    assembled(main([str(SOFTMAX), *options]), target)


def test_the_version_probe_of_cutile(tmp_path, target):
    """An empty module of each version that is read is compiled, one of a later version is not."""
    for version in BytecodeVersion:
        buffer = bytearray()
        with write_bytecode(0, buffer, version):
            pass
        file = tmp_path / "probe.bytecode"
        file.write_bytes(bytes(buffer))
        assembled(main([str(file), "-o", str(target), "--gpu-name", "sm_120"]), target)
    buffer[9] = 6
    file.write_bytes(bytes(buffer))
    assert main([str(file), "-o", str(target), "--gpu-name", "sm_120"]) == 3


def test_remarks_are_accepted_and_empty(tmp_path, target):
    remarks = tmp_path / "remarks.yaml"
    options = ["--remark-format=yaml", "--remarks=all", f"--remarks-output-file={remarks}"]
    assembled(main([str(SOFTMAX), "-o", str(target), "--gpu-name=sm_80", *options]), target)
    assert remarks.exists() == has_ptxas()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 1, "error: no input file"),
        (["--frob"], 1, "error: unknown option '--frob'"),
        (["a", "b"], 1, "error: more than one input file: 'b'"),
        ([str(SOFTMAX), "-o"], 1, "error: -o needs a value"),
        ([str(SOFTMAX), "--gpu-name", "sm_70"], 1, "error: unknown GPU 'sm_70'"),
        ([str(SOFTMAX), "-l", "x.tilelib"], 1, "error: linking 'x.tilelib' is not supported"),
        (["nothing.bytecode"], 1, "error: nothing.bytecode: No such file"),
        ([__file__], 3, "error: not Tile IR bytecode"),
        ([str(DATA / "control.13.4.tileirbc"), "--gpu-name", "sm_80"], 5,
         'loc("tests/data/bytecode/many_ops.py":43:29): error: '),
    ],
)  # fmt: skip
def test_failures_have_the_codes_of_tileiras(arguments, code, message, capsys):
    assert main(arguments) == code
    error = capsys.readouterr().err
    assert error.startswith(message), error
    assert ("failed to compile Tile IR program" in error) == (code == 5)


def test_questions_are_answered(capsys):
    assert main(["--version"]) == 0
    assert "13.4" in capsys.readouterr().out
    assert main(["--list-versions"]) == 0
    assert capsys.readouterr().out.split() == ["13.1", "13.2", "13.3", "13.4", "13.5"]
    assert main(["--help"]) == 0
