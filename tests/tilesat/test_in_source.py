"""What kernels print, assert and access outside of arrays is shown at the line of their source."""

from __future__ import annotations

import traceback
from pathlib import Path

import cuda.tile as ct
import numpy as np
import pytest

from ir.core import Location, TileError
from ptxsim import OutOfBoundsError, SimulatorError
from ptxsim.errors import AssertionFailedError
from tests.tilesat.test_backend import run
from tilesat import cutile
from tilesat.in_source import raised_in

PROGRAM = """\
import sys
import cuda.tile as ct
import numpy as np


@ct.kernel
def far(x, y):
    i = ct.arange(64, dtype=ct.int32)
    v = ct.gather(x, i + 100000, check_bounds=False)
    ct.scatter(y, i, v)


def beyond(v):
    ct.assert_(v < 3, "too large")


@ct.kernel
def asserting(x, y):
    v = ct.load(x, (0,), (64,))
    ct.printf("sum %f\\n", ct.sum(v))
    beyond(ct.sum(v))
    ct.store(y, (0,), v)


def launched(kernel):
    ct.launch(None, (1,), kernel, (np.ones(64, np.float32), np.zeros(64, np.float32)))


def test_far():
    launched(far)


def test_asserting():
    launched(asserting)


if __name__ == "__main__":
    launched(globals()[sys.argv[1]])
"""


def line_of(text: str) -> int:
    """The number of the line of PROGRAM that has a text."""
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


@pytest.mark.in_turn
def test_pytest_shows_the_lines_of_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "test_kernels.py").write_text(PROGRAM)
    done = run("pytest", "-q", "-p", "tilesat.cutile", "test_kernels.py", folder=tmp_path)
    shown = done.stdout
    for text, error in (("v = ct.gather", "OutOfBoundsError"), ("ct.assert_(v", "AssertionFailedError")):
        assert f">       {text}" in shown or f">   {text}" in shown.replace("    ct", "ct"), shown
        assert f"test_kernels.py:{line_of(text)}: {error}" in shown, shown
    assert "schedule.py" not in shown  # nothing of the simulator
    prints = shown.partition("Captured kernel prints call")[2]
    assert f"test_kernels.py:{line_of('printf')}: sum 64.000000" in prints
    assert "\nsum 64.000000\n" in shown.partition("Captured stdout call")[2]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("options", [(), ("--plain-prints",), ("--on", "ref")])
def test_a_script_shows_the_lines_of_the_kernel(options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run("tilesat.cutile", *options, "program.py", "asserting", folder=tmp_path)
    place = "" if options else f"program.py:{line_of('printf')}: "
    assert done.stdout == f"{place}sum 64.000000\n", done.stderr
    assert f"program.py:{line_of('ct.assert_')}" in done.stderr.splitlines()[0]
    assert 'ct.assert_(v < 3, "too large")' in done.stderr
    assert done.stderr.splitlines()[-1] == f"launched at program.py:{line_of('ct.launch')}"


@ct.kernel
def copied(x, y, n: ct.Constant[int]):
    v = ct.gather(x, ct.arange(n, dtype=ct.int32) + 1000, check_bounds=False)
    ct.scatter(y, ct.arange(n, dtype=ct.int32), v)


def test_a_load_keeps_its_own_line() -> None:
    """A store asks for what it stores, and the load was said to stand at the store."""
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    with cutile.backend(), pytest.raises(OutOfBoundsError) as caught:
        ct.launch(None, (1,), copied, (x, y, 64))
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.name) == (__file__, "copied")
    assert last.line is not None
    assert "ct.gather(x" in last.line


@ct.kernel
def asserted(x, n: ct.Constant[int]):
    v = ct.load(x, (0,), (n,))
    ct.printf("first %f\n", ct.max(v))
    ct.printf("then %f\n", ct.min(v))
    ct.assert_(ct.sum(v) == 0)  # noqa: PT009 (cuTile's)


def test_what_was_printed_before_the_end_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    with cutile.backend(), pytest.raises(AssertionFailedError):
        ct.launch(None, (1,), asserted, (np.ones(64, np.float32), 64))
    assert capsys.readouterr().out == "first 1.000000\nthen 1.000000\n"


def test_an_error_without_a_place_stays_as_it_is() -> None:
    code = line_of.__code__
    for error in (SimulatorError("no place"), TileError("none", Location("<bytes>", offset=3))):
        assert raised_in(error, code) is error
        assert error.__traceback__ is None


def test_a_line_of_another_file_is_not_the_kernels() -> None:
    error = SimulatorError("elsewhere", 7, "ld")
    error.source = f"{__file__}:1"
    frame = traceback.extract_tb(raised_in(error, line_of.__code__).__traceback__)[-1]
    assert (frame.name, frame.lineno) == ("kernel", 1)
