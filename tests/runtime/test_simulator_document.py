"""docs/simulator.md is what the generator makes of the code."""

from tests.runtime.simulator_document import OUTPUT, page


def test_the_page_is_current() -> None:
    assert OUTPUT.read_text() == page(), "run python -m tests.runtime.simulator_document"
