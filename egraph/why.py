"""Queries on a recording: where a node comes from, why terms are equal, and whether one rule alone proves it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from egraph.engine import Engine
from egraph.firings import Observed
from egraph.frozen import Frozen
from egraph.proofs import Edge
from egraph.provenance import LOADING, Origin, Reason, Recorder, Step
from egraph.rulefile import Command
from egraph.sexpr import Atom, List, Sexpr
from egraph.term import INTEGER, Node
from ir.records import dataclass

DEPTH = 3
"""Terms inside one another that are written out; what is deeper is named."""
OPAQUE = "opaque."
"""Constructors, by sort, of the constants that variables are bound to when a rule is run alone."""
_PRIMITIVE_GUARDS = frozenset(("!=", "<", "<=", ">", ">=", "or", "and", "not"))


@dataclass
class Provenance:
    """What was recorded of a saturation; `names`: of the source's values, by number."""

    recorder: Recorder
    frozen: Frozen
    commands: tuple[Command, ...]
    names: Mapping[int, str]
    _classes: dict[int, int] = field(default_factory=dict[int, int])
    """Class of the frozen e-graph -> a term of it."""
    _engines: dict[str, Engine] = field(default_factory=dict[str, Engine])
    _named: dict[int, str] = field(default_factory=dict[int, str])
    """Terms that stand for a class -> what the source calls a value of it."""

    def __post_init__(self) -> None:
        for number, cls in self.frozen.numbers.items():
            term = self.recorder.terms.lookup("N", (number,))
            if term is not None:
                self._classes[cls] = term
                if number in self.names:
                    self._named.setdefault(self.recorder.terms.find(term), self.names[number])
        for op in ("held_in", "native", "out"):
            self._places(op)
        waiting = self.frozen.nodes
        while waiting:
            left = [node for node in waiting if not self._learn(node)]
            if len(left) == len(waiting):
                break
            for op in ("held_in", "native", "out"):
                self._places(op)
            waiting = left

    def _places(self, op: str) -> None:
        found: Mapping[tuple[int, int], int] = getattr(self.frozen, op)
        for (value, layout), cls in found.items():
            if cls not in self._classes and value in self._classes:
                term = self.recorder.terms.lookup(op, (self._classes[value], layout))
                if term is not None:
                    self._classes[cls] = term

    def _learn(self, node: Node) -> bool:
        term = self.term(node)
        if term is not None:
            self._classes.setdefault(node.cls, term)
        return term is not None

    @property
    def cost(self) -> str:
        """What recording took, in words."""
        missed = f", {self.recorder.missed} not explained" if self.recorder.missed else ""
        size = f"{self.recorder.firings} firings, {len(self.recorder.terms)} terms{missed}"
        return f"provenance: {self.recorder.seconds:.2f} s on top of the observers' share of saturation; {size}"

    # --- terms

    def term(self, node: Node) -> int | None:
        """The term of a node, None where what made it was not noted."""
        sorts = self.recorder.known[node.op].inputs
        args = [arg if sort == INTEGER else self._classes.get(arg) for sort, arg in zip(sorts, node.args, strict=True)]
        known = [each for each in args if each is not None]
        return self.recorder.terms.lookup(node.op, tuple(known)) if len(known) == len(args) else None

    def value(self, number: int) -> int:
        """The term of a source value. Raises KeyError."""
        term = self.recorder.terms.lookup("N", (number,))
        if term is None:
            raise KeyError(number)
        return term

    def written(self, term: int, depth: int = DEPTH) -> str:
        """A term as text; source values by their names."""
        op, args = self.recorder.terms.ops[term], self.recorder.terms.args[term]
        if op == "N":
            return self.names.get(args[0], f"v{args[0]}")
        if depth == 0:
            return self._named.get(self.recorder.terms.find(term), f"#{term}")
        places = self.recorder.terms.places[op]
        parts = [self.written(arg, depth - 1) if at in places else str(arg) for at, arg in enumerate(args)]
        return f"({' '.join((op, *parts))})"

    # --- origins

    def origin(self, node: Node) -> Origin | None:
        """What made a node first, None where that was not noted."""
        term = self.term(node)
        if term is None:
            return None
        firing = self.recorder.terms.reasons[term].firing
        matched = tuple(self.written(each, 1) for each in firing.lhs)
        return Origin(firing.rule, firing.phase, firing.iteration, matched)

    # --- equalities

    def why(self, left: int, right: int, check: bool = True) -> list[Step]:
        """The rules that lead from one term to an equal one, step by step; what is inside equal operands comes first.

        check: each step is tried with its rule alone. Raises KeyError where the terms are not equal.
        """
        steps = list(self._steps(left, right, set()))
        return [replace(step, checked=self.confirmed(step.reason)) for step in steps] if check else steps

    def _steps(self, left: int, right: int, done: set[tuple[int, int]]) -> Iterator[Step]:
        if left == right or (left, right) in done:
            return
        done |= {(left, right), (right, left)}
        for edge in self.recorder.terms.why(left, right):
            if edge.reason is not None:
                yield from self._step(edge)
                continue
            for a, b in zip(*map(self.recorder.terms.operands, edge[:2]), strict=True):
                yield from self._steps(a, b, done)

    def _step(self, edge: Edge[Reason]) -> Iterator[Step]:
        reason = edge.reason
        if reason is not None and reason.firing.phase != LOADING:  # a name of the source for a term
            firing = reason.firing
            before, after = self.written(edge.left), self.written(edge.right)
            yield Step(firing.rule, firing.phase, firing.iteration, before, after, edge.left != reason.left, reason)

    # --- each rule alone

    def confirmed(self, reason: Reason) -> bool:
        """Does the rule alone, given just what it matched with constants for its variables, pass the equality?"""
        by, values = reason.firing.by, reason.firing.values
        ground = _Ground(dict(by.variables), values)
        facts = [made for fact in by.rule.body if (made := ground.fact(fact, self.recorder.known)) is not None]
        facts += [f"(set {ground.term(form)} {values[name]})" for name, form in by.looked]
        goal = next(
            (
                f"(= {ground.term(a.items[1])} {ground.term(a.items[2])})"
                for a in by.rule.actions
                if isinstance(a, List) and a.head == "union" and self._stated(a, reason)
            ),
            None,
        )
        return goal is not None and self._engine(by).holds(facts, by.command.ruleset, goal)

    def _stated(self, union: List, reason: Reason) -> bool:
        """Is this union of the rule the one of the reason? Most have one only."""
        unions = [a for a in reason.firing.by.rule.actions if isinstance(a, List) and a.head == "union"]
        return len(unions) == 1 or all(
            not isinstance(item, Atom) or reason.firing.values.get(item.text) == side
            for item, side in zip(union.items[1:3], (reason.left, reason.right), strict=True)
        )

    def _engine(self, by: Observed) -> Engine:
        """An engine that knows one rule."""
        key = by.command.text
        if key not in self._engines:
            constants = [Command.of(f"(constructor {OPAQUE}{s} (i64) {s} :unextractable)", "<why>") for s in "VP"]
            declared = [each for each in self.commands if not each.is_rule]
            self._engines[key] = Engine([*declared, *constants, by.command])
        return self._engines[key]


@dataclass(frozen=True)
class _Ground:
    """A rule's forms with constants and numbers in place of its variables."""

    sorts: Mapping[str, str]
    values: Mapping[str, int]

    def term(self, form: Sexpr) -> str:
        """An expression."""
        if isinstance(form, List):
            return f"({' '.join((form.head, *(self.term(item) for item in form.items[1:])))})"
        sort = self.sorts.get(form.text)
        if sort is None:
            return form.text
        value = self.values[form.text]
        return str(value) if sort == INTEGER else f"({OPAQUE}{sort} {value})"

    def fact(self, form: Sexpr, known: Mapping[str, object]) -> str | None:
        """A command that makes a fact of the left side true; None for one that compares numbers."""
        if not isinstance(form, List) or form.head in _PRIMITIVE_GUARDS:
            return None
        if form.head != "=":
            return self.term(form)
        parts = form.items[1:]
        tables = [each for each in parts if isinstance(each, List) and each.head in known]
        if not tables:
            return None
        others = [each for each in parts if each is not tables[0]]
        signature = known[tables[0].head]
        if getattr(signature, "makes", False):
            return f"(union {self.term(others[0])} {self.term(tables[0])})"
        return f"(set {self.term(tables[0])} {self.term(others[0])})"
