"""Every program of the corpus, compiled for sm_80: simulator = reference interpreter = NumPy."""

import pytest

from tests.programs import control, cutile, elementwise, memory, products, reductions  # noqa: F401
from tests.programs.program import PROGRAMS, check


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    check(PROGRAMS[name])
