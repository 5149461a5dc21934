"""Matching a rule's left side against terms, given part of the match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from egraph.firings import Tables
from egraph.proofs import Terms
from egraph.rule import text
from egraph.sexpr import Atom, List, Sexpr
from egraph.term import INTEGER
from ir.records import dataclass

Bound = Mapping[str, int]


@dataclass(frozen=True)
class Matcher:
    """values: bindings of variables; those in `classes` are terms, and a term whose class is not in `kept` may stand
    for any of them. by_op: terms by operator.
    """

    terms: Terms[Any]
    known: Tables
    values: Bound
    kept: set[int]
    by_op: Mapping[str, Sequence[int]]
    classes: set[str]

    def facts(self, body: Sequence[Sexpr]) -> Iterator[Bound]:
        """What variables may stand for so that all terms of the left side are there; each way once."""
        patterns = [(form, name) for fact in body for form, name in self.patterns(fact)]
        seen: set[tuple[tuple[str, int], ...]] = set()
        for found in self.all(patterns, {}):
            key = tuple(sorted((name, self.terms.find(term)) for name, term in found.items()))
            if key not in seen:
                seen.add(key)
                yield found

    def patterns(self, fact: Sexpr) -> Iterator[tuple[List, str]]:
        """Terms of a fact, and the variable that it gives each; empty where it gives none."""
        if isinstance(fact, List):
            parts = fact.items[1:] if fact.head == "=" else (fact,)
            name = next((each.text for each in parts if isinstance(each, Atom) and each.text in self.classes), "")
            for part in parts:
                if isinstance(part, List) and part.head in self.terms.places:
                    yield part, name
                elif isinstance(part, List):
                    yield from ((form, "") for item in part.items[1:] for form, _ in self.patterns(item))

    def all(self, patterns: Sequence[tuple[List, str]], bound: Bound) -> Iterator[Bound]:
        """Ways to match patterns one after the other."""
        if not patterns:
            yield bound
            return
        (form, name), *rest = patterns
        for term in self.by_op.get(form.head, ()):
            begun = self.bind(name, term, bound) if name else bound
            if begun is not None:
                for found in self.at(form, term, begun):
                    yield from self.all(rest, found)

    def at(self, form: List, term: int, bound: Bound) -> Iterator[Bound]:
        """Ways to match a pattern with this very term."""
        ways = [bound]
        for item, sort, arg in zip(form.items[1:], self.known[form.head].inputs, self.terms.args[term], strict=True):
            if sort == INTEGER:
                said = self.values.get(text(item))
                said = int(text(item)) if said is None and text(item).lstrip("-").isdigit() else said
                ways = ways if said == arg else []
            elif isinstance(item, Atom):
                ways = [found for way in ways if (found := self.bind(item.text, arg, way)) is not None]
            else:
                same = [t for t in self.by_op.get(item.head, ()) if self.terms.find(t) == self.terms.find(arg)]
                ways = [found for way in ways for t in same for found in self.at(item, t, way)]
        yield from ways

    def bind(self, name: str, term: int, bound: Bound) -> Bound | None:
        """With a variable that stands for a term; None where it cannot."""
        find = self.terms.find
        if name in bound:
            return bound if find(bound[name]) == find(term) else None
        able = find(term) == find(self.values[name]) or find(term) not in self.kept
        return {**bound, name: term} if able else None
