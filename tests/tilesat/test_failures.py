"""What is wrong with the user's input is one located message with its line and a caret."""

import errno
from pathlib import Path

import pytest

from extract.errors import InfeasibleError
from ir.core import Location, TileError, VerifyError
from tilesat.failures import describe, user_errors


def test_error_in_a_file_shows_line_caret_and_hint(tmp_path: Path) -> None:
    source = tmp_path / "kernel.mlir"
    source.write_text("entry @k() {\n\t%0 = addf %a, %b\n}\n")
    shown = describe(VerifyError("unknown value %a", Location(str(source), 2, 12), "define it first"))
    assert shown.splitlines() == [
        f"{source}:2:12: error: unknown value %a",
        "    2 | \t%0 = addf %a, %b",
        "      | \t          ^",
        "hint: define it first",
    ]


@pytest.mark.parametrize(
    "location", [Location("no/such/file", 3, 1), Location("<bytes>", offset=17), Location("x\0y", 1, 1)]
)
def test_error_without_a_readable_source_is_one_line(location: Location) -> None:
    assert describe(TileError("bad", location)) == f"{location}: error: bad"


def test_error_past_the_end_of_a_changed_file(tmp_path: Path) -> None:
    source = tmp_path / "short"
    source.write_text("one line\n")
    assert describe(TileError("bad", Location(str(source), 9, 1))) == f"{source}:9:1: error: bad"


def test_error_without_a_location_names_the_program() -> None:
    assert describe(TileError("unknown target 'sm_1'")) == "tilesat: error: unknown target 'sm_1'"


def test_other_errors_of_the_user_are_one_line() -> None:
    missing = FileNotFoundError(errno.ENOENT, "No such file or directory", "a.mlir")
    assert describe(missing) == "a.mlir: error: No such file or directory"
    assert describe(InfeasibleError("class 3 has no node")) == "tilesat: error: class 3 has no node"
    assert not issubclass(TypeError, user_errors())
