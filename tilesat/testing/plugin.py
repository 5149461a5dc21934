"""The pytest plugin: the fixture `tile`, the option --bless, and tests that end as skipped where a tool is missing.

pytest finds it by the entry point of the installed package. Nothing of the compiler is loaded before a test asks for
the fixture.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tilesat.testing.tile import Tile

LEFT_OUT = pytest.StashKey[list[str]]()
"""What a test expected of a tool that is missing."""
CACHE = pytest.StashKey[dict[object, object]]()
"""Kernels of the session, compiled once."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --bless."""
    group = parser.getgroup("tilesat")
    group.addoption("--bless", action="store_true", help="write what kernels are now into their golden files")


@pytest.fixture
def tile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tile:
    """Compiles kernels for a test, and runs files that state their own commands: see tilesat.testing."""
    from tilesat.testing.tile import Tile

    left_out = request.node.stash.setdefault(LEFT_OUT, list[str]())
    cache = request.config.stash.setdefault(CACHE, dict[object, object]())
    bless = bool(request.config.getoption("--bless"))
    name = str(request.node.name)
    return Tile(Path(request.path), name, bless, left_out, cache, lambda: tmp_path_factory.getbasetemp())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A test that passed without all that it expects counts as skipped, with what was left out as the reason."""
    result = yield
    left_out = item.stash.get(LEFT_OUT, list[str]())
    if left_out:
        raise pytest.skip.Exception(f"everything else holds, but {_told(left_out)}", _use_item_location=True)
    return result


def _told(left_out: list[str]) -> str:
    """What was left out, together where the reason is one."""
    reasons: dict[str, list[str]] = {}
    for each in dict.fromkeys(left_out):
        what, _, reason = each.partition(": ")
        reasons.setdefault(reason, []).append(what)
    return "; ".join(f"{', '.join(what)}: {reason}" for reason, what in reasons.items())
