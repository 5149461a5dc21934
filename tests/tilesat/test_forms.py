"""`tilesat check` and `tilesat cat`: every form to every other, standard input, several programs, errors."""

import io
import sys
from pathlib import Path

import pytest

from ir.bytecode import read_bytecode
from ir.text import parse, print_text
from tilesat.cli import main

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.mlir"))
TWO = """entry @a() { }
// -----
entry @b(%x: tile<i32>) {
  %y = addf %x, %x : tile<i32>
}
// -----
entry @c() { }
"""


def given(monkeypatch, data):
    """Standard input holds `data`."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def bare(text):
    """The lines of a module's entries: bytecode has no place for the module's name."""
    lines = [line.strip() for line in text.decode().splitlines()]
    return lines[1:-1] if lines[0].startswith("cuda_tile.module") else lines


def run(capfdbinary, *arguments):
    code = main([str(a) for a in arguments])
    return code, capfdbinary.readouterr()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_form_becomes_every_other(path, tmp_path, capfdbinary):
    _, (text, _) = run(capfdbinary, "cat", path)
    for form in ("generic", "bytecode", "text"):
        file = tmp_path / form
        assert run(capfdbinary, "cat", path, "--as", form, "-o", file)[0] == 0
        code, (found, error) = run(capfdbinary, "cat", file)
        assert (code, error) == (0, b"")
        assert found == text if form != "bytecode" else bare(found) == bare(text)


@pytest.mark.parametrize("version", ["13.1", "13.2", "13.3", "13.4"])
def test_the_version_asked_for_is_written(version, capfdbinary):
    code, (data, _) = run(capfdbinary, "cat", EXAMPLES[0], "--as", "bytecode", "--bytecode-version", version)
    assert code == 0
    assert f"{data[8]}.{data[9]}" == version
    assert print_text(read_bytecode(data))


def test_standard_input(monkeypatch, capfdbinary):
    given(monkeypatch, b"entry @k() { }")
    assert run(capfdbinary, "cat") == (0, (b"entry @k() {\n  return\n}\n", b""))
    given(monkeypatch, b"entry @k() { }")
    assert run(capfdbinary, "check", "-") == (0, (b"<stdin>: ok, @k, 3 operations\n", b""))
    given(monkeypatch, b"entry @k() { }")
    assert run(capfdbinary, "check") == (0, (b"<stdin>: ok, @k, 3 operations\n", b""))
    given(monkeypatch, b"entry @k( { }")
    code, (_, error) = run(capfdbinary, "check", "-")
    assert code == 1
    assert error.startswith(b"<stdin>:1:11: error: ")


def test_every_command_reads_standard_input(monkeypatch, capfdbinary):
    given(monkeypatch, b'entry @k() { print_tko "hi" -> token }')
    code, (out, _) = run(capfdbinary, "run", "-", "--grid", "2", "--on", "ref")
    assert (code, out.count(b"hi")) == (0, 2)
    for command in (["compile", "-"], ["run", "-", "--grid", "1", "--on", "ref"], ["cat"], ["check"]):
        given(monkeypatch, b"entry @k() {\n  %a = addi %b, %b : tile<i32>\n}")
        code, (_, error) = run(capfdbinary, *command)
        assert code == 1
        assert error.startswith(b"<stdin>:2:13: error: '%b' is not defined here")


def test_places_are_printed_and_read(tmp_path, capfdbinary):
    data = (ROOT / "tests/data/bytecode/gemm.13.4.tileirbc").read_bytes()
    file = tmp_path / "gemm.mlir"
    assert run(capfdbinary, "cat", ROOT / "tests/data/bytecode/gemm.13.4.tileirbc", "--locations", "-o", file)[0] == 0
    assert 'loc("examples/cutile/gemm.py":' in file.read_text()
    pairs = list(zip(read_bytecode(data).walk(), parse(file.read_text()).walk(), strict=True))
    known = [(a.location, b.location) for a, b in pairs if a.location.line]
    assert len(known) > 40
    assert all((a.file, a.line, a.column) == (b.file, b.line, b.column) for a, b in known)


def test_wrong_hints_are_silent_warnings_or_errors(tmp_path, capfdbinary):
    file = tmp_path / "hints.mlir"
    file.write_text("entry @k() optimization_hints=<sm_90 = {occupancy = 33}> {\n}\n")
    says = "'cuda_tile.entry': optimization hint 'occupancy' for sm_90 must be 1 to 32, is 33"
    code, (_, told) = run(capfdbinary, "check", file)
    assert (code, told.decode().splitlines()[0]) == (0, f"{file}:1:1: warning: {says}")
    assert run(capfdbinary, "check", file, "--hints", "silent")[1][1] == b""
    code, (_, told) = run(capfdbinary, "check", file, "--hints", "error")
    assert (code, told.decode().splitlines()[0]) == (1, f"{file}:1:1: error: {says}")


def test_several_programs_are_checked_one_by_one(tmp_path, capfdbinary):
    file = tmp_path / "several.mlir"
    file.write_text(TWO)
    code, (said, error) = run(capfdbinary, "check", file)
    assert code == 1
    assert said.decode().splitlines() == [
        f"{file}: program 1: ok, @a, 3 operations",
        f"{file}: program 3: ok, @c, 3 operations",
        f"{file}: 2 of 3 programs are correct",
    ]
    assert error.decode().startswith(f"{file}:4:8: error: 'cuda_tile.addf': operand 'lhs' must be")
    code, (_, error) = run(capfdbinary, "cat", file)
    assert code == 1
    file.write_text(TWO.replace("addf", "addi"))
    assert run(capfdbinary, "cat", file)[1][0].count(b"// -----") == 2
    code, (_, error) = run(capfdbinary, "cat", file, "--as", "bytecode")
    assert code == 1
    assert b"bytecode holds one module, the file has 3" in error


def test_what_a_version_cannot_hold_is_refused(tmp_path, capfdbinary):
    file = tmp_path / "k.mlir"
    file.write_text("entry @k() {\n  %t = gdc_wait_tko -> token\n}\n")
    code, (_, error) = run(capfdbinary, "cat", file, "--as", "bytecode", "--bytecode-version", "13.3")
    assert code == 1
    assert error.decode().startswith(f"{file}:2:8: error: 'cuda_tile.gdc_wait_tko' was added in 13.4")
