"""docs/seed-coverage.md is what trying every item makes."""

from tests.seeds.page import OUTPUT, page


def test_the_page_is_what_trying_makes() -> None:
    assert OUTPUT.read_text() == page(), "run python -m tests.seeds.page"
