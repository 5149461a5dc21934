"""Which rule made which node, from which nodes, in which iteration; why two terms are equal.

While rules run, observers (`egraph.firings`) note what each one matched. `Recorder` repeats that on terms of its own
with a proof forest (`egraph.proofs`), where every term and every equality keeps the firing that it comes from.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import NamedTuple

from egraph.ematch import Matcher
from egraph.engine import Engine, IterationReport, Table
from egraph.firings import Observed, Tables, observed, tables
from egraph.proofs import Terms
from egraph.rule import text
from egraph.rulefile import Command
from egraph.schedulers import Turns
from egraph.sexpr import Atom, List, Sexpr
from egraph.term import INTEGER
from ir.records import dataclass

LOADING = "load"
"""The ruleset whose rules make the terms of the source, and the phase in which it runs."""


class Firing(NamedTuple):
    """One match of a rule. values: numbers and terms by variable, computed numbers by their text; `lhs`: the terms of
    its left side.
    """

    by: Observed
    phase: str
    iteration: int
    values: Mapping[str, int]
    lhs: tuple[int, ...]

    @property
    def rule(self) -> str:
        """The rule's name."""
        return self.by.rule.name


class Reason(NamedTuple):
    """What a firing stated: the terms of a union, in the order of the rule; -1 if it only made a term."""

    firing: Firing
    left: int = -1
    right: int = -1


@dataclass(frozen=True)
class Origin:
    """Where a node comes from: the rule, when, and the terms that it matched, as text; of facts alone none."""

    rule: str
    phase: str
    iteration: int
    matched: tuple[str, ...]

    @property
    def loaded(self) -> bool:
        """Is it a term of the source? Rules of other phases have names that begin with "load/", too."""
        return self.phase == LOADING

    def __str__(self) -> str:
        if self.loaded:
            return "in the source"
        matched = f", from {' and '.join(self.matched)}" if self.matched else ""
        return f"by {self.rule} in iteration {self.iteration} of {self.phase}{matched}"


@dataclass(frozen=True)
class Step:
    """One application of a rule to a term, or backwards; `checked`: the rule alone gives this equality, None where that
    was not tried.
    """

    rule: str
    phase: str
    iteration: int
    before: str
    after: str
    backwards: bool
    reason: Reason = field(repr=False, compare=False)
    checked: bool | None = None

    def __str__(self) -> str:
        way = "backwards, " if self.backwards else ""
        mark = {True: ", checked", False: ", NOT CONFIRMED by the rule alone", None: ""}[self.checked]
        return (
            f"{self.before}\n  = {self.after}\n    {self.rule} ({way}iteration {self.iteration} of {self.phase}{mark})"
        )


Firings = list[tuple[Observed, tuple[int, ...]]]
"""Rules, and the rows that their observers noted."""


@dataclass
class Recorder(Turns):
    """Runs rulesets as `Turns` does and repeats what fires."""

    watched: list[Observed]
    known: Tables
    terms: Terms[Reason]
    seconds: float = 0.0
    firings: int = 0
    missed: int = 0
    """Firings whose terms were not found: what they did is not explained."""
    _classes: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    """Sort and number of a class in the engine -> a term of it."""
    _seen: set[tuple[str, tuple[int, ...]]] = field(default_factory=set[tuple[str, tuple[int, ...]]])
    _by_name: dict[str, Observed] = field(default_factory=dict[str, Observed])

    @staticmethod
    def of(commands: Sequence[Command]) -> Recorder:
        """For the rules among these commands."""
        known = tables(commands)
        watched = observed(commands, known)
        terms = [name for name, each in known.items() if each.makes]
        places = {name: tuple(at for at, s in enumerate(known[name].inputs) if s != INTEGER) for name in terms}
        return Recorder(watched, known, Terms(places), _by_name={each.observer: each for each in watched})

    def commands(self, commands: Sequence[Command]) -> tuple[Command, ...]:
        """The same with the observers."""
        return (*commands, *(command for each in self.watched for command in each.commands()))

    def fresh(self) -> Recorder:
        """For another program."""
        return Recorder(self.watched, self.known, Terms(self.terms.places), _by_name=self._by_name)

    def step(self, engine: Engine, ruleset: str, phase: str, iteration: int) -> IterationReport:
        """One iteration; what observers matched goes into the terms, not into the report."""
        done = engine.run(ruleset)
        start = time.perf_counter()
        fired = [self._by_name[name] for name in done.matches if name in self._by_name]
        if fired:
            self._record(engine, fired, phase, iteration)
        self.seconds += time.perf_counter() - start
        matches = {rule: n for rule, n in done.matches.items() if rule not in self._by_name}
        spent = {rule: s for rule, s in done.rule_seconds.items() if rule not in self._by_name}
        return replace(done, matches=matches, rule_seconds=spent)

    def _record(self, engine: Engine, fired: Sequence[Observed], phase: str, iteration: int) -> None:
        found = engine.tables({each.table for each in fired})
        new: Firings = []
        for each in fired:
            for row, _ in found[each.table].rows if each.table in found else ():
                if (each.table, row) not in self._seen:
                    self._seen.add((each.table, row))
                    new.append((each, row))
        self.firings += len(new)
        if any(
            (sort, row[at]) not in self._classes
            for each, row in new
            for at, (_, sort) in enumerate(each.variables)
            if sort != INTEGER
        ):
            self._learn(engine.tables(set(self.terms.places)))
        left = new
        while left:  # a left side may need what another firing of the same iteration unites
            waiting = [(each, row) for each, row in left if not self._apply(each, row, phase, iteration)]
            if len(waiting) == len(left):
                waiting = self._united(engine, waiting, phase, iteration)
                if len(waiting) == len(left):
                    self.missed += len(waiting)
                    return
            left = waiting

    def _united(self, engine: Engine, left: Firings, phase: str, iteration: int) -> Firings:
        """Of firings whose left side names a class that this very iteration has united with another: repeat the first
        that can have matched one thing only, and give the rest.

        The engine reports matches by the classes as they are after the iteration, so terms of classes that no longer
        exist match any class.
        """
        found = engine.tables(set(self.terms.places))
        alive = {(table.output, out) for table in found.values() for _, out in table.rows}
        kept = {self.terms.find(self._classes[key]) for key in alive if key in self._classes}
        by_op: dict[str, list[int]] = {}
        for term, op in enumerate(self.terms.ops):
            by_op.setdefault(op, []).append(term)
        for at, (by, row) in enumerate(left):
            values = self._values(by, row)
            if values is None:
                continue
            matcher = Matcher(self.terms, self.known, values, kept, by_op, {n for n, s in by.variables if s != INTEGER})
            ways = list(itertools.islice(matcher.facts(by.rule.body), 2))
            if len(ways) == 1:
                self._fire(by, {**values, **ways[0]}, phase, iteration)
                return [*left[:at], *left[at + 1 :]]
        return left

    def _learn(self, found: Mapping[str, Table]) -> None:
        """Find the terms of classes that are not known yet, by their nodes."""
        waiting = [
            (name, table, args, out)
            for name, table in found.items()
            for args, out in table.rows
            if (table.output, out) not in self._classes
        ]
        changed = True
        while changed and waiting:
            changed, left = False, list[tuple[str, Table, tuple[int, ...], int]]()
            for name, table, args, out in waiting:
                term = self._term(name, table.inputs, args)
                if term is None:
                    left.append((name, table, args, out))
                elif (table.output, out) not in self._classes:
                    self._classes[table.output, out] = term
                    changed = True
            waiting = left

    def _term(self, op: str, sorts: Sequence[str], args: Sequence[int]) -> int | None:
        """The term of a row, None where an operand or the term itself is not known."""
        made = [
            arg if sort == INTEGER else self._classes.get((sort, arg)) for sort, arg in zip(sorts, args, strict=True)
        ]
        known = [each for each in made if each is not None]
        return self.terms.lookup(op, tuple(known)) if len(known) == len(made) else None

    def _values(self, by: Observed, row: tuple[int, ...]) -> dict[str, int] | None:
        """The binding of each variable in an observer's row; None if a class is not known."""
        values: dict[str, int] = {}
        for (name, sort), given in zip(by.variables, row, strict=False):
            number = given if sort == INTEGER else self._classes.get((sort, given))
            if number is None:
                return None
            values[name] = number
        return values | dict(zip(by.numbers, row[len(by.variables) :], strict=True))

    def _apply(self, by: Observed, row: tuple[int, ...], phase: str, iteration: int) -> bool:
        """Repeat a firing; False where its left side is not there."""
        values = self._values(by, row)
        return values is not None and self._fire(by, values, phase, iteration)

    def _fire(self, by: Observed, values: dict[str, int], phase: str, iteration: int) -> bool:
        """The same, of values."""
        lhs: list[int] = []
        if not self._match(by.rule.body, values, lhs):
            return False
        firing = Firing(by, phase, iteration, values, tuple(lhs))
        for action in by.rule.actions:
            self._act(action, firing)
        return True

    def _match(self, body: Sequence[Sexpr], values: dict[str, int], lhs: list[int]) -> bool:
        """Find the terms of the left side, and bind each variable that names one to it."""
        for fact in body:
            if not isinstance(fact, List):
                continue
            parts = fact.items[1:] if fact.head == "=" else (fact,)
            heads = [p for p in parts if isinstance(p, List) and p.head in self.terms.places]
            inner = [q for p in parts if isinstance(p, List) and p not in heads for q in self._inside(p)]
            for form in (*heads, *inner):
                term = self._instance(form, values)
                if term is None:
                    return False
                lhs.append(term)
                for other in parts if form in heads else ():
                    if isinstance(other, Atom) and other.text in values:
                        values[other.text] = term
        return True

    def _inside(self, form: List) -> Iterator[List]:
        """Terms among the columns of a fact."""
        for item in form.items[1:]:
            if isinstance(item, List):
                yield from (item,) if item.head in self.terms.places else self._inside(item)

    def _instance(self, form: Sexpr, values: Mapping[str, int]) -> int | None:
        """The term of a pattern, which must be there; exactly as the pattern has it."""
        args = self._arguments(form, values, lambda each: self._instance(each, values))
        if isinstance(form, Atom) or args is None:
            return None if isinstance(form, List) else values.get(form.text)
        found = self.terms.lookup(form.head, args)
        return None if found is None else self.terms.add(form.head, args, self.terms.reasons[found])

    def _arguments(
        self, form: Sexpr, values: Mapping[str, int], inner: Callable[[Sexpr], int | None]
    ) -> tuple[int, ...] | None:
        """Numbers and terms of a form's columns."""
        if isinstance(form, Atom):
            return None
        sorts, made = self.known[form.head].inputs, list[int]()
        for item, sort in zip(form.items[1:], sorts, strict=True):
            number = self._number(item, values) if sort == INTEGER else inner(item)
            if number is None:
                return None
            made.append(number)
        return tuple(made)

    def _number(self, form: Sexpr, values: Mapping[str, int]) -> int | None:
        """A number: a variable, a literal, or computed by the rule."""
        said = text(form)
        if said in values:
            return values[said]
        return int(said) if said.lstrip("-").isdigit() else None

    def _act(self, form: Sexpr, firing: Firing) -> None:
        """What an action makes and unites."""
        if isinstance(form, Atom) or form.head in ("subsume", "delete"):
            return
        if form.head == "union":
            left, right = (self._make(each, firing) for each in form.items[1:3])
            if left is not None and right is not None:
                self.terms.union(left, right, Reason(firing, left, right))
        elif form.head in self.terms.places:
            self._make(form, firing)
        else:
            for item in form.items[1:]:
                self._act(item, firing)

    def _make(self, form: Sexpr, firing: Firing) -> int | None:
        """The term of an expression, made where it is not there."""
        if isinstance(form, Atom):
            return firing.values.get(form.text)
        args = self._arguments(form, firing.values, lambda each: self._make(each, firing))
        return None if args is None else self.terms.add(form.head, args, Reason(firing))
