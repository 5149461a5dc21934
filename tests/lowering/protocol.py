"""A protocol with one of its parts changed: what PTX becomes, and whether any order of warps shows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import pytest

from ptxsim import SimulatorError


def changed(ptx: str, change: tuple[str, str], count: int = 0) -> str:
    """PTX with what matches a pattern replaced, `count` times (0: everywhere); it must match."""
    made, found = re.subn(*change, ptx, count=count)
    assert found
    return made


def caught(right: Callable[[str], bool], orders: Iterable[str]) -> None:
    """Fail where a run is `right` in each of the orders; an error of the simulator shows the change as well."""
    for order in orders:
        try:
            if not right(order):
                return
        except SimulatorError:
            return
    pytest.fail("nothing is found in any order")
