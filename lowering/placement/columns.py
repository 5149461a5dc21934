"""Columns of placed operations: those that the operation it does has too are the same."""

from __future__ import annotations

from collections.abc import Sequence

from egraph.placed import TERMS
from egraph.sexpr import List
from egraph.soundness.model import Unsound
from egraph.soundness.sample import Sample
from egraph.term import PREFIX, AttributeId, Number, TypeId, TypesId
from egraph.terms import by_name

_KEPT = (Number, AttributeId, TypeId, TypesId)
"""Columns that say what an operation computes; the others are layouts and choices of instructions."""
_FAST = 1 + len(by_name()["mmaf"].operands) + by_name()["mmaf"].integers.index("fast_acc")
"""The column of a product that lets sums be rounded more."""


def test(sample: Sample, matched: Sequence[List], form: List) -> None:
    """Raise Unsound where a placed operation has another number, attribute or type than the term that it is of."""
    logical = form.head.removeprefix(PREFIX)
    placed = numbers(form)
    for term in [term for term in matched if term.head == logical]:
        for name, column in numbers(term).items():
            if name in placed and sample.integer(form.items[placed[name]]) != sample.integer(term.items[column]):
                raise Unsound(f"column '{name}' of {form.head} is not that of {term.head}")
    for term in [term for term in matched if term.head == "mmaf"] if "fast" in placed else []:
        if sample.integer(form.items[placed["fast"]]) != sample.integer(term.items[_FAST]):
            raise Unsound(f"column 'fast' of {form.head} is not that of {term.head}")


def numbers(form: List) -> dict[str, int]:
    """Where the columns are that an operation keeps, by name."""
    term = TERMS.get(form.head)
    columns = enumerate(term.columns if term is not None else (), 1)
    return {column.name: at for at, column in columns if isinstance(column, _KEPT) and at < len(form.items)}
