"""The page of coverage is what the samples give."""

from tests.ir.coverage import OUTPUT, table


def test_the_page_is_up_to_date():
    assert OUTPUT.read_text() == table(), "run: python -m tests.ir.coverage"
