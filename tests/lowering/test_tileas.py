"""The placed and scheduled level of every example for sm_80, as recorded: a change of any choice shows up in review."""

from collections.abc import Callable
from pathlib import Path

import pytest

import tilesat

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.sampled(10)
@pytest.mark.parametrize("example", sorted(path.stem for path in EXAMPLES.glob("*.mlir")))
def test_example_is_as_recorded(example: str, golden: Callable[[str, str], None]) -> None:
    golden(f"nv_tileas/{example}.mlir", tilesat.compile(EXAMPLES / f"{example}.mlir").stages["nv_tileas"])
