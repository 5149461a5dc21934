"""The page of coverage is what the samples give."""

from tests.ir.coverage import OUTPUT, page


def test_the_page_is_up_to_date():
    assert OUTPUT.read_text() == page(), "run: python -m tests.ir.coverage"
