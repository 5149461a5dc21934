"""docs/simulator.md is what the generator makes of the code."""

from tests.runtime.simulator_document import PAGE, render


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == render(), "run python -m tests.runtime.simulator_document"
