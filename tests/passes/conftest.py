"""Collects *.mlir of this folder: `runs` says what they state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.passes.runs import FailedRun, check


class File(pytest.File):
    """One .mlir file."""

    def collect(self) -> Iterator[pytest.Item]:
        yield Check.from_parent(self, name="run")


class Check(pytest.Item):
    """The commands of a file."""

    def runtest(self) -> None:
        check(Path(self.path))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:
        return str(excinfo.value) if isinstance(excinfo.value, FailedRun) else str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.path.name


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return File.from_parent(parent, path=file_path) if file_path.suffix == ".mlir" else None
