"""What kernels print in a test: to standard output, and in the test's report with the lines that print it."""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest


class Prints:
    """A plugin of pytest; `take` is given what kernels print."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def take(self, text: str, place: str) -> None:
        """A text that a kernel printed, and file and line of its source."""
        sys.stdout.write(text)
        self.lines.append(f"{place or 'kernel'}: {text}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """A section of the report for what was printed until the end of the test."""
        try:
            yield
        finally:
            if self.lines:
                item.add_report_section("call", "kernel prints", "".join(self.lines))
                self.lines.clear()
