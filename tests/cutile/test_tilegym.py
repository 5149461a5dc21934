"""Operators of TileGym's package against PyTorch, their kernels on the simulator in hazard mode.

`make test-cutile` runs it in an environment of its own; docs/tilegym.md is the table of results.
"""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("tilegym")

from tests.cutile.calls import TOLERANCES, Call, largest_error
from tests.cutile.operators import OPERATORS
from tests.cutile.suites import SUITES
from tilesat import cutile

TARGETS = ("sm_80", "sm_90a")
pytestmark = [pytest.mark.cutile, pytest.mark.filterwarnings("ignore:.*optimization hint")]


def outcome(call: Call, target: str) -> list[tuple[Any, Any]]:
    """What the operator computes, paired with PyTorch's result."""
    with cutile.backend("sim", target, hazards=True) as made:
        found = call.run()
    assert made.launches
    return list(zip(found, call.reference(), strict=True))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("call", OPERATORS + SUITES, ids=lambda call: call.name)
def test_operator(call: Call, target: str, request: pytest.FixtureRequest) -> None:
    if why := call.refused.get(target, call.refused.get("")):
        request.applymarker(pytest.mark.xfail(reason=why, strict=True))
    for found, expected in outcome(call, target):
        assert largest_error(found, expected) <= (call.tolerance or TOLERANCES.get(found.dtype, 0.0))
