"""docs/seed-coverage.md is what trying every item makes."""

from tests.seeds.items import ROSTER
from tests.seeds.page import OUTPUT, page


def test_the_roster_is_whole() -> None:
    """The document has 33 instructions, two of them in one line each of the last two."""
    names = [item.name for item in ROSTER]
    assert len(names) == len(set(names)) == 33


def test_the_page_is_what_trying_makes() -> None:
    assert OUTPUT.read_text() == page(), "run python -m tests.seeds.page"
