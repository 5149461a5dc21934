"""docs/seed-coverage.md is what trying every item makes."""

import pytest

from tests.seeds.items import ROSTER, Item
from tests.seeds.page import ITEMS, OUTPUT, page, row


def test_the_roster_is_whole() -> None:
    """The document has 33 instructions, two of them in one line each of the last two."""
    names = [item.name for item in ROSTER]
    assert len(names) == len(set(names)) == 33


@pytest.mark.sampled(10)
@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
def test_a_row_is_what_trying_makes(item: Item) -> None:
    assert row(item) in OUTPUT.read_text().splitlines(), "run python -m tests.seeds.page"


@pytest.mark.slow
def test_the_page_is_what_trying_makes() -> None:
    assert OUTPUT.read_text() == page(), "run python -m tests.seeds.page"
