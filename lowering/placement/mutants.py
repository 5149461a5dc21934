"""Rules about layouts made wrong on purpose: as `egraph.soundness.mutants`, and what only placed terms have changed.

A layout may be any other of the rule's, operands and columns of placed operations may be exchanged, and of a least
width one side may be forgotten. Of rules that only ask or wish, layouts alone are changed: what fits is right.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph.placed import TERMS
from egraph.rule import Rule, text
from egraph.rulefile import Command
from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness.mutants import COMMUTATIVE, OPERATORS, Change, Mutant, Operator, in_actions, mutants, with_item
from egraph.term import PREFIX

_LAYOUT_SECOND = ("want", "offer", "has", "held_in", "native", "want_shared", "staged", "out")
"""What has a layout in its second column, after the value."""


def placed_mutants(command: Command) -> list[Mutant]:
    """All mutants of a rule of demand, place or isel."""
    stated = [action.head for rule in Rule.of(command) for action in rule.actions if isinstance(action, List)]
    wishes = all(head in ("want", "offer", "want_shared", "taken") or head.startswith("ask_") for head in stated)
    return mutants(command, {"layout": _other_layout} if wishes else PLACED_OPERATORS)


def _layouts(form: Sexpr) -> Iterator[str]:
    """The variables that are layouts of values."""
    if isinstance(form, List):
        if form.head in _LAYOUT_SECOND and isinstance(at := form.items[2], Atom) and not at.text.isdigit():
            yield at.text
        for item in form.items:
            yield from _layouts(item)


def _other_layout(rule: Rule) -> Iterator[Change]:
    """Another layout of the rule's, where it states something."""
    names = sorted({name for form in (*rule.body, *rule.actions) for name in _layouts(form)})

    def change(form: List) -> Iterator[tuple[str, Sexpr]]:
        if form.head in _LAYOUT_SECOND and isinstance(at := form.items[2], Atom) and at.text in names:
            other = names[(names.index(at.text) + 1) % len(names)]
            if other != at.text:
                yield f"{text(form)} to {other}", with_item(form, 2, Atom(other, form.line))

    return in_actions(rule, change)


def _exchanged(rule: Rule) -> Iterator[Change]:
    """Two neighbours of one kind exchanged in a placed operation: two operands, types, layouts or numbers."""

    def change(form: List) -> Iterator[tuple[str, Sexpr]]:
        term = TERMS.get(form.head)
        columns = term.columns if term is not None else ()
        first = 3 if form.head.removeprefix(PREFIX) in COMMUTATIVE else 1
        for at in range(first, len(columns)):
            left, right = form.items[at : at + 2]
            if type(columns[at - 1]) is type(columns[at]) and text(left) != text(right):
                yield (
                    f"{text(left)} and {text(right)} in {form.head}",
                    with_item(with_item(form, at, right), at + 1, left),
                )

    return in_actions(rule, change)


def _forgotten(rule: Rule) -> Iterator[Change]:
    """One side of a least or greatest number alone."""

    def change(form: List) -> Iterator[tuple[str, Sexpr]]:
        if form.head in ("min", "max"):
            for item in form.items[1:]:
                yield f"{text(form)} to {text(item)}", item

    yield from in_actions(rule, change)
    for at, fact in enumerate(rule.body):
        if isinstance(fact, List) and fact.head == "=" and isinstance(fact.items[2], List):
            for what, changed in change(fact.items[2]):
                yield (
                    what,
                    Rule(rule.name, (*rule.body[:at], with_item(fact, 2, changed), *rule.body[at + 1 :]), rule.actions),
                )


PLACED_OPERATORS: dict[str, Operator] = {
    **OPERATORS,
    "layout": _other_layout,
    "exchanged": _exchanged,
    "width": _forgotten,
}
"""What is changed, by name."""
