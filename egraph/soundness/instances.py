"""A rule at each value that its attribute columns may have: roundings and flushing, of which there are few.

So a changed rule is the rule itself by exhaustion: where each of its instances is one of the rule's, or states only
that x is x.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import product

from egraph.rule import Rule, text
from egraph.sexpr import Atom, List, Sexpr
from egraph.terms import by_name
from ir.core import OPS, Block, TileError, Value, verify
from ir.dialects.cuda_tile import Rounding, TileOp
from ir.types import F32, TileType

EQUALITIES = ("union", "instead", "may")
"""Actions that say of two terms that they are equal, or may stand for one another by a permission."""

MOST = 200
"""Instances of one rule that are looked at; a rule with more is taken to be another."""

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "!=": operator.ne,
    "=": operator.eq,
}


def states_nothing(rule: Rule) -> bool:
    """Is all that a rule does to say of terms that they are themselves?"""
    terms = {text(f.items[1]): text(f.items[2]) for f in rule.body if isinstance(f, List) and f.head == "="}
    said = [a for a in rule.actions if isinstance(a, List) and a.head != "subsume"]
    return bool(said) and all(
        a.head in EQUALITIES and text(a.items[2]) in (text(a.items[1]), terms.get(text(a.items[1]))) for a in said
    )


def instances(rule: Rule) -> Iterator[tuple[Mapping[str, int], Rule]]:
    """The rule with numbers for the variables of its attribute columns, less comparisons that then hold; none where one
    does not, and none of terms that the verifier refuses.
    """
    choices = _choices(rule)
    for numbers in product(*choices.values()):
        given = dict(zip(choices, numbers, strict=True))
        found = at(rule, given)
        if found is not None:
            yield given, found


def number_of_instances(rule: Rule) -> int:
    """How many there are at most; 1 for a rule without such variables."""
    found = 1
    for values in _choices(rule).values():
        found *= len(values)
    return found


def at(rule: Rule, given: Mapping[str, int]) -> Rule | None:
    """The rule with numbers for variables; None where a comparison does not hold of them."""
    body: list[Sexpr] = []
    for fact in rule.body:
        changed = _substituted(fact, given)
        holds = _holds(changed)
        if holds is False:
            return None
        if holds is None:
            body.append(changed)
    return Rule(rule.name, tuple(body), tuple([_substituted(a, given) for a in rule.actions]))


def _choices(rule: Rule) -> dict[str, tuple[int, ...]]:
    """Values of each variable in a column of a rounding or of flushing that the left side matches."""
    found: dict[str, tuple[int, ...]] = {}
    for fact in rule.body:
        for name, values in _columns(fact):
            found[name] = tuple([v for v in found.get(name, values) if v in values])
    return found


def _columns(form: Sexpr) -> Iterator[tuple[str, tuple[int, ...]]]:
    if isinstance(form, Atom):
        return
    term = by_name().get(form.head)
    for index, item in enumerate(form.items[1:]):
        if isinstance(item, List):
            yield from _columns(item)
        elif term is not None and index >= len(term.operands) and not item.text.lstrip("-").isdigit():
            column = term.integers[index - len(term.operands)]
            if column == "rounding":
                yield item.text, roundings(form.head)
            elif column == "flush_to_zero":
                yield item.text, (0, 1)


@cache
def roundings(constructor: str) -> tuple[int, ...]:
    """Roundings that an operation on f32 may have, as its verifier says; all of an operation with a type of its own."""
    term = by_name()[constructor]
    cls = next(c for c in OPS.values() if issubclass(c, TileOp) and c.info.mnemonic == term.mnemonic)
    if term.like < 0:
        return tuple(map(int, Rounding))
    block, found = Block(), list[int]()
    for rounding in Rounding:
        operands = [Value(TileType((2,), F32), block, 0) for _ in term.operands]
        try:
            verify(cls(operands, None, {"rounding": rounding}, ()))
        except TileError:
            continue
        found.append(int(rounding))
    return tuple(found)


def _substituted(form: Sexpr, given: Mapping[str, int]) -> Sexpr:
    if isinstance(form, Atom):
        return Atom(str(given[form.text]), form.line) if form.text in given else form
    return List(tuple([_substituted(item, given) for item in form.items]), form.line, form.start, form.end)


def _holds(fact: Sexpr) -> bool | None:
    """Whether a comparison of numbers holds; None of any other fact."""
    if not isinstance(fact, List) or fact.head not in _COMPARISONS:
        return None
    left, right = (_number(side) for side in fact.items[1:])
    return None if left is None or right is None else _COMPARISONS[fact.head](left, right)


def _number(form: Sexpr) -> int | None:
    if isinstance(form, Atom):
        return int(form.text) if form.text.lstrip("-").isdigit() else None
    if form.head not in ("+", "-") or len(form.items) != 3:
        return None
    left, right = (_number(item) for item in form.items[1:])
    if left is None or right is None:
        return None
    return left + right if form.head == "+" else left - right
