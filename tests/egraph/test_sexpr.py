"""Commands are found by one regular expression; the reader, token by token, says the same."""

from __future__ import annotations

import random

import pytest

from egraph.rulefile import RULES_DIRECTORY
from egraph.sexpr import Span, end_of_list, read, spans
from ir.core import TileError


def read_spans(text: str) -> list[Span]:
    return [Span(each.start, each.end, each.line) for each in read(text, "t.egg")]


@pytest.mark.parametrize("path", sorted(RULES_DIRECTORY.glob("*.egg")), ids=lambda path: path.stem)
def test_our_rules(path) -> None:
    text = path.read_text()
    found = spans(text, path.name)
    assert len(found) > 3
    assert found == read_spans(text)


def some_list(chance: random.Random, depth: int) -> str:
    parts = ["(", *("" for _ in range(chance.randrange(3)))]
    for _ in range(chance.randrange(5)):
        kind = chance.randrange(5)
        if kind == 0 and depth:
            parts.append(some_list(chance, depth - 1))
        else:
            parts.append(("atom", '"a (string; \\" "', "; a comment ) (\n", "\n\n", "12")[kind])
    return " ".join([*parts, ")"])


def test_any_text() -> None:
    chance = random.Random(7)
    for _ in range(300):
        text = "\n".join(some_list(chance, 24) for _ in range(3))
        assert spans(text, "t.egg") == read_spans(text)


def test_a_list_deeper_than_the_expression() -> None:
    text = "\n" + "(a " * 40 + ")" * 40 + " (b)"
    assert spans(text, "t.egg") == read_spans(text)
    assert [span.line for span in spans(text, "t.egg")] == [2, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(a)\n(b", "'(' is never closed"),
        ("(a))", "')' without a matching '('"),
        ("(a)\nstray (b)", "'stray' is outside"),
        ('(a)\n(b "open)', "a string is not closed"),
        ("(a) stray", "'stray' is outside"),
    ],
)
def test_what_is_no_list_of_commands(text: str, message: str) -> None:
    with pytest.raises(TileError) as caught:
        spans(text, "t.egg")
    assert message in str(caught.value)


def test_end_of_list() -> None:
    text = '(rule ((= a "x)") ; )\n (f)) (g))'
    assert text[: end_of_list(text, 6)].endswith("(f))")
    assert end_of_list("(a (b)", 0) == 6
