"""Output files are whole or absent."""

import os
from pathlib import Path

import pytest

from tilesat.output import with_target, write_file


def test_file_is_written_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.ptx"
    write_file(path, "text\n")
    assert path.read_text() == "text\n"
    write_file(path, b"\x00\x01")
    assert path.read_bytes() == b"\x00\x01"
    assert os.listdir(path.parent) == ["b.ptx"]


def test_failed_write_leaves_the_earlier_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "k.ptx"
    write_file(path, "earlier")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_file(path, "later")
    assert path.read_text() == "earlier"
    assert os.listdir(tmp_path) == ["k.ptx"]


def test_folder_that_cannot_be_written_is_reported_by_the_given_name(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError) as caught:
        write_file(tmp_path, "text")
    assert caught.value.filename == str(tmp_path)
    assert os.listdir(tmp_path.parent).count(tmp_path.name) == 1
    assert not [name for name in os.listdir(tmp_path.parent) if name.startswith(f".{tmp_path.name}.")]


def test_written_file_is_readable_by_others_as_the_umask_says(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        write_file(tmp_path / "k.ptx", "x")
    finally:
        os.umask(old)
    assert (tmp_path / "k.ptx").stat().st_mode & 0o777 == 0o644


def test_several_targets_get_a_file_each() -> None:
    assert with_target(Path("out/k.ptx"), "sm_80", True) == Path("out/k.sm_80.ptx")
    assert with_target(Path("out/k.ptx"), "sm_80", False) == Path("out/k.ptx")


def test_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    """`-o /dev/null` of a privileged user put a file in its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_file(pipe, "text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
