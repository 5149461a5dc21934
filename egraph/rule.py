"""A rule's text in its parts: what it matches and what it does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from egraph.rulefile import Command
from egraph.sexpr import Atom, List, Sexpr
from ir.records import dataclass

REWRITTEN = "left-side"
"""The variable that stands for what a rewrite matches."""


@dataclass(frozen=True)
class Rule:
    """A rule's parts; a rewrite becomes a body that names its left side and one union."""

    name: str
    body: tuple[Sexpr, ...]
    actions: tuple[Sexpr, ...]

    @staticmethod
    def of(command: Command) -> list[Rule]:
        """The rule in a command; a birewrite is two."""
        form = command.form
        if command.head == "rule":
            return [Rule(command.name, _items(form.items[1]), _items(form.items[2]))]
        left, right = form.items[1], form.items[2]
        guards = _items(_option(form, ":when"))
        found = [_rewrite(command.name, left, right, guards)]
        if command.head == "birewrite":
            found.append(_rewrite(command.name, right, left, guards))
        return found

    @property
    def guards(self) -> tuple[Sexpr, ...]:
        """Body facts that restrict rather than match: comparisons of numbers, and permissions."""
        heads = ("<", "<=", ">", ">=", "!=", "allow", "exact_sum", "exact_product")
        return tuple([f for f in self.body if isinstance(f, List) and f.head in heads])

    def replaced_by_themselves(self) -> Rule:
        """The same rule where `(may x p)` holds because p is x: every other x has a value that some sample gives p."""
        rule = self
        for fact in self.body:
            if isinstance(fact, List) and fact.head == "may":
                left, right = fact.items[1:]
                body = [_renamed(each, left, right) for each in rule.body if each is not fact]
                rule = Rule(self.name, tuple(body), tuple([_renamed(each, left, right) for each in rule.actions]))
        return rule

    def without(self, guards: Iterable[Sexpr]) -> Rule:
        """The same rule less some of its body facts."""
        dropped = list(guards)
        return Rule(self.name, tuple([f for f in self.body if f not in dropped]), self.actions)


def _renamed(form: Sexpr, old: Sexpr, new: Sexpr) -> Sexpr:
    """The form with one variable under another name."""
    if isinstance(form, Atom):
        return new if isinstance(old, Atom) and form.text == old.text else form
    return replace(form, items=tuple([_renamed(item, old, new) for item in form.items]))


def _items(form: Sexpr | None) -> tuple[Sexpr, ...]:
    return form.items if isinstance(form, List) else ()


def _option(form: List, key: str) -> Sexpr | None:
    for at, item in enumerate(form.items[:-1]):
        if isinstance(item, Atom) and item.text == key:
            return form.items[at + 1]
    return None


def _rewrite(name: str, left: Sexpr, right: Sexpr, guards: tuple[Sexpr, ...]) -> Rule:
    line = left.line
    root = Atom(REWRITTEN, line)
    equal = List((Atom("=", line), root, left), line, 0, 0)
    union = List((Atom("union", line), root, right), line, 0, 0)
    return Rule(name, (equal, *guards), (union,))


def text(form: Sexpr) -> str:
    """As egglog reads it."""
    return form.text if isinstance(form, Atom) else f"({' '.join(map(text, form.items))})"
