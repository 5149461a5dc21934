"""Relations whose rows stand for terms: a rule about rows is checked, proved and mutated as a rule about the terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from egraph.rule import Rule, text
from egraph.sexpr import Atom, List, Sexpr, read

MIRRORS = {
    "plus": "(plus v x n o) (addi x (splat n t) o)",
    "times": "(times v x n o) (muli x (splat n t) o)",
    "over": "(over v x n s) (divi x (splat n t) s 1)",
}
"""By relation: a row, and the term that its first column is equal to (egraph/rules/integer.egg); t is their type."""


def spelled_out(rule: Rule) -> Rule:
    """The rule with terms for rows: those that it matches, and those that it states."""
    body = [_equal("=", fact, f"matched{at}") or fact for at, fact in enumerate(rule.body)]
    actions: list[Sexpr] = []
    for at, action in enumerate(rule.actions):
        stated = _equal("union", action, f"stated{at}")
        if stated is not None:
            body.append(_list("=", Atom(f"stated{at}", 0), _list("type", stated.items[1])))
        actions.append(stated or action)
    return Rule(rule.name, tuple(body), tuple(actions))


def _equal(how: str, row: Sexpr, type_: str) -> List | None:
    """The equality that a row stands for; None if it is not a row."""
    if not isinstance(row, List) or row.head not in MIRRORS:
        return None
    columns, term = read(MIRRORS[row.head], "<mirrors>")
    given = dict(zip([text(name) for name in columns.items[1:]], row.items[1:], strict=True))
    return _list(how, row.items[1], _with(term, {**given, "t": Atom(type_, 0)}))


def _with(form: Sexpr, given: Mapping[str, Sexpr]) -> Sexpr:
    """A form with others for its variables."""
    if isinstance(form, Atom):
        return given.get(form.text, form)
    return replace(form, items=(form.items[0], *(_with(item, given) for item in form.items[1:])))


def _list(head: str, *items: Sexpr) -> List:
    return List((Atom(head, 0), *items), 0, 0, 0)
