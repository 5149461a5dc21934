"""Rules made wrong on purpose, to measure the checks: each mutant is a rule of ours weakened in one place.

Operators are declared in OPERATORS. They work on the parsed rule, so new rules are mutated too. A change that leaves a
variable unbound, which egglog refuses to load, is not a mutant; neither is one that states nothing (x is x), nor one
that equals the rule itself: up to renamed variables and the operand order of commutative operations, or at every value
of its attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from egraph.rule import Rule, text
from egraph.rulefile import Command
from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness import instances
from egraph.soundness.mirrors import spelled_out
from egraph.soundness.sampling import ELEMENTS
from egraph.terms import Signature, by_name
from ir.core import OPS
from ir.dialects.cuda_tile import TileOp
from ir.records import dataclass
from ir.types import TileType

COMMUTATIVE = frozenset(
    (
        "addi",
        "muli",
        "mulhii",
        "andi",
        "ori",
        "xori",
        "mini",
        "maxi",
        "addf",
        "mulf",
        "fma",
        "minf",
        "maxf",
        "join_tokens",
    )
)
"""Operations whose first two operands may be exchanged without changing a bit of the result, NaNs counted as equal:
those that `egraph.combiners` recognises, and the high half of a product.
"""

_COMPARISONS = ("<", "<=", ">", ">=")
_ORDERED = ("-", "/", "%", "<<", ">>")
_OTHER_ROUNDING = {0: 2, 1: 0, 2: 3, 3: 2, 4: 0, 5: 0}


@dataclass(frozen=True)
class Mutant:
    """A rule changed by `operator`; `change` says from what to what."""

    rule: Rule
    file: str
    ruleset: str
    operator: str
    change: str

    @property
    def key(self) -> str:
        """The mutant's name: as long as the rule's text stays, so does it."""
        return f"{self.rule.name}: {self.operator}: {self.change}"


Change = tuple[str, Rule]


Operator = Callable[[Rule], Iterator[Change]]


def mutants(command: Command, operators: Mapping[str, Operator] | None = None) -> list[Mutant]:
    """All mutants of a rule by the operators, or OPERATORS, in order; those of both directions of a birewrite."""
    found: dict[str, Mutant] = {}
    for rule in map(spelled_out, Rule.of(command)):
        for operator, generate in (OPERATORS if operators is None else operators).items():
            for change, changed in generate(rule):
                if well_bound(changed) and _states_another(changed, rule, operator == "operands"):
                    mutant = Mutant(changed, command.file, command.ruleset, operator, change)
                    found.setdefault(mutant.key, mutant)
    return list(found.values())


# --- where a rule can be changed


def _rewritten(form: Sexpr, change: Callable[[List], Iterator[tuple[str, Sexpr]]]) -> Iterator[tuple[str, Sexpr]]:
    """The form with one list in it changed, for every list and every change of it."""
    if isinstance(form, Atom):
        return
    yield from change(form)
    for at, item in enumerate(form.items):
        for what, changed in _rewritten(item, change):
            yield what, List((*form.items[:at], changed, *form.items[at + 1 :]), form.line, form.start, form.end)


def in_actions(rule: Rule, change: Callable[[List], Iterator[tuple[str, Sexpr]]]) -> Iterator[Change]:
    """The rule with one list of its actions changed, for every list and every change of it."""
    for at, action in enumerate(rule.actions):
        if isinstance(action, List) and action.head == "subsume":
            continue
        for what, changed in _rewritten(action, change):
            yield what, Rule(rule.name, rule.body, (*rule.actions[:at], changed, *rule.actions[at + 1 :]))


def _in_body(rule: Rule, change: Callable[[List], Iterator[tuple[str, Sexpr]]]) -> Iterator[Change]:
    for at, fact in enumerate(rule.body):
        for what, changed in _rewritten(fact, change):
            yield what, Rule(rule.name, (*rule.body[:at], changed, *rule.body[at + 1 :]), rule.actions)


def _everywhere(rule: Rule, change: Callable[[List], Iterator[tuple[str, Sexpr]]]) -> Iterator[Change]:
    for what, changed in _in_body(rule, change):
        yield f"{what} on the left", changed
    for what, changed in in_actions(rule, change):
        yield f"{what} on the right", changed


def with_item(form: List, at: int, item: Sexpr) -> List:
    """The form with another item at a place."""
    return List((*form.items[:at], item, *form.items[at + 1 :]), form.line, form.start, form.end)


def _list(line: int, *items: Sexpr) -> List:
    return List(items, line, 0, 0)


# --- operators


def _dropped(rule: Rule) -> Iterator[Change]:
    """A body fact less, but for the terms that the rule matches."""
    for at, fact in enumerate(rule.body):
        if isinstance(fact, List) and not _matches_term(fact):
            yield text(fact), Rule(rule.name, (*rule.body[:at], *rule.body[at + 1 :]), rule.actions)


def _relaxed(rule: Rule) -> Iterator[Change]:
    """A comparison that lets one more number pass."""

    def change(form: List) -> Iterator[tuple[str, Sexpr]]:
        if form.head not in _COMPARISONS:
            return
        left, right = form.items[1:]
        one = Atom("1", form.line)
        if form.head in ("<", ">"):
            found = with_item(form, 0, Atom(form.head + "=", form.line))
        elif form.head == "<=":
            found = with_item(form, 2, _list(form.line, Atom("+", form.line), right, one))
        else:
            found = with_item(form, 1, _list(form.line, Atom("+", form.line), left, one))
        yield f"{text(form)} to {text(found)}", found

    yield from _in_body(rule, change)


def _extremum(rule: Rule) -> Iterator[Change]:
    """min for max and max for min, in what the rule computes."""

    def change(form: List) -> Iterator[tuple[str, Sexpr]]:
        if form.head in ("min", "max"):
            other = "max" if form.head == "min" else "min"
            yield text(form), with_item(form, 0, Atom(other, form.line))

    yield from _everywhere(rule, change)


def _order(rule: Rule) -> Iterator[Change]:
    """Two operands of a non-commutative operation, or of an egglog primitive, exchanged. On the left side, pairs whose
    types exclude each other are left out: no program contains such a term.
    """
    terms = by_name()

    def change(form: List) -> Iterator[tuple[str, Sexpr]]:
        term = terms.get(form.head)
        operands = len(term.operands) if term is not None else 2 if form.head in _ORDERED else 0
        if operands < 2 or (term is not None and term.mnemonic in COMMUTATIVE):
            return
        first = 2 if form.head == "select" else 1  # the condition is no value to exchange
        left, right = form.items[first : first + 2]
        if text(left) != text(right):
            yield text(form), with_item(with_item(form, first, right), first + 1, left)

    def matched(form: List) -> Iterator[tuple[str, Sexpr]]:
        if form.head not in terms or _exchangeable(terms[form.head]):
            yield from change(form)

    for what, changed in _in_body(rule, matched):
        yield f"{what} on the left", changed
    for what, changed in in_actions(rule, change):
        yield f"{what} on the right", changed


def _exchangeable(term: Signature) -> bool:
    """Is there a type that both operands may have, which an exchange of operands exchanges?"""
    if term.mnemonic == "cons":
        return False  # an operand and a list
    cls = next((c for c in OPS.values() if issubclass(c, TileOp) and c.info.mnemonic == term.mnemonic), None)
    if cls is None:
        return True
    pair = cls.info.operands[1:3] if term.mnemonic == "select" else cls.info.operands[:2]
    types = [TileType(shape, element) for shape in ((), (2,), (2, 2)) for element in ELEMENTS]
    return any(all(group.check is None or group.check(type_) for group in pair) for type_ in types)


def _attribute(names: frozenset[str], other: Callable[[str, Atom], str | None]) -> Callable[[Rule], Iterator[Change]]:
    """Attributes of these names in new terms, changed as `other` says."""

    def change(form: List) -> Iterator[tuple[str, Sexpr]]:
        term = by_name().get(form.head)
        if term is None:
            return
        for at, name in enumerate(term.integers, 1 + len(term.operands)):
            item = form.items[at] if at < len(form.items) else None
            value = other(name, item) if name in names and isinstance(item, Atom) else None
            if value is not None:
                yield f"{name} of {text(form)} to {value}", with_item(form, at, Atom(value, form.line))

    return lambda rule: in_actions(rule, change)


def _other_bit(_: str, item: Atom) -> str | None:
    """The other of two values; a variable becomes 0."""
    return "0" if item.text != "0" else "1"


def _other_rounding(_: str, item: Atom) -> str | None:
    return str(_OTHER_ROUNDING[int(item.text)]) if item.text.isdigit() else "0"


def _promise(_: str, item: Atom) -> str | None:
    """A promise that nothing proves."""
    return "1" if item.text == "0" else None


def _other_predicate(_: str, item: Atom) -> str | None:
    return str((int(item.text) + 1) % 6) if item.text.isdigit() else "0"


def _any_attribute(rule: Rule) -> Iterator[Change]:
    """A literal column that a matched term must have, left open: a guard written as a pattern."""
    terms = by_name()

    def change(form: List) -> Iterator[tuple[str, Sexpr]]:
        term = terms.get(form.head)
        if term is None:
            return
        for at in range(1 + len(term.operands), len(form.items)):
            item = form.items[at]
            if isinstance(item, Atom) and item.text.lstrip("-").isdigit():
                name = term.integers[at - 1 - len(term.operands)]
                yield f"any {name} in {text(form)}", with_item(form, at, Atom("any", form.line))

    yield from _in_body(rule, change)


OPERATORS: dict[str, Operator] = {
    "guard dropped": _dropped,
    "guard relaxed": _relaxed,
    "pattern relaxed": _any_attribute,
    "extremum": _extremum,
    "operands": _order,
    "signedness": _attribute(frozenset(("signedness",)), _other_bit),
    "rounding": _attribute(frozenset(("rounding",)), _other_rounding),
    "flush": _attribute(frozenset(("flush_to_zero",)), _other_bit),
    "overflow": _attribute(frozenset(("overflow",)), _promise),
    "predicate": _attribute(frozenset(("predicate",)), _other_predicate),
}
"""What is changed, by name."""


# --- what is no mutant

_SYMMETRIC = frozenset(("=", "!=", "+", "*", "&", "|", "^", "min", "max", "exact_sum", "exact_product"))


def _states_another(changed: Rule, rule: Rule, exchanged: bool) -> bool:
    """Does a changed rule state something, and something else than the rule, also after two variables are renamed where
    operands were exchanged, and also at each value of its attributes?
    """
    if instances.states_nothing(changed):
        return False
    names = sorted(_variables(List((Atom("rule", 0), *changed.body, *changed.actions), 0, 0, 0)))
    wanted = _normal(rule, {})
    pairs = [(a, b) for at, a in enumerate(names) for b in names[at + 1 :]] if exchanged else []
    if any(_normal(changed, names) == wanted for names in ({}, *({a: b, b: a} for a, b in pairs))):
        return False
    return not 1 < instances.number_of_instances(changed) <= instances.MOST or any(
        _is_new(instance, rule, given) for given, instance in instances.instances(changed)
    )


def _is_new(instance: Rule, rule: Rule, given: Mapping[str, int]) -> bool:
    """Does an instance state something that the rule does not at the same values?"""
    own = instances.at(rule, given)
    same = own is not None and _normal(own, {}) == _normal(instance, {})
    return not same and not instances.states_nothing(instance)


def _normal(rule: Rule, names: dict[str, str]) -> tuple[str, ...]:
    """The rule's parts, each under new names and with operands in one order where their order means nothing."""
    return tuple(sorted(_ordered(form, names) for form in (*rule.body, *rule.actions)))


def _ordered(form: Sexpr, names: dict[str, str]) -> str:
    if isinstance(form, Atom):
        return names.get(form.text, form.text)
    parts = [_ordered(item, names) for item in form.items[1:]]
    if form.head in ("min", "max"):  # of more than two as well
        parts = [part for item in form.items[1:] for part in _flat(item, form.head, names)]
    if form.head in _SYMMETRIC:
        parts.sort()
    elif form.head in COMMUTATIVE:
        parts[:2] = sorted(parts[:2])
    return f"({form.head} {' '.join(parts)})"


def _flat(form: Sexpr, head: str, names: dict[str, str]) -> list[str]:
    if isinstance(form, List) and form.head == head:
        return [part for item in form.items[1:] for part in _flat(item, head, names)]
    return [_ordered(form, names)]


# --- what egglog would load


def _matches_term(fact: List) -> bool:
    """Is a body fact the match of a term, bare or named?"""
    names = by_name().keys() | {"proj"}
    return fact.head in names or (
        fact.head == "=" and any(isinstance(side, List) and side.head in names for side in fact.items[1:])
    )


_COMPUTED = frozenset(("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "min", "max", "log2", *_COMPARISONS, "!="))


def _variables(form: Sexpr) -> set[str]:
    if isinstance(form, Atom):
        return set() if form.text.lstrip("-").isdigit() or form.text.startswith('"') else {form.text}
    return set[str]().union(*[_variables(item) for item in form.items[1:]])


def _matched(form: Sexpr) -> set[str]:
    """The variables that matching a form binds: all but those that only computations read."""
    if isinstance(form, Atom):
        return _variables(form)
    if form.head in _COMPUTED:
        return set[str]().union(*[_matched(item) for item in form.items[1:] if isinstance(item, List)])
    return set[str]().union(*[_matched(item) for item in form.items[1:]])


def well_bound(rule: Rule) -> bool:
    """Would egglog bind every variable? A table's columns are bound by its rows, what is computed by `=`."""
    bound: set[str] = set()
    equations = [f for f in rule.body if isinstance(f, List) and f.head == "="]
    for fact in rule.body:
        if isinstance(fact, List) and fact.head != "=":
            bound |= _matched(fact)
    before = -1
    while before != len(bound):
        before = len(bound)
        for equation in equations:
            for side, other in (equation.items[1:], equation.items[:0:-1]):
                if isinstance(other, List):
                    bound |= _matched(other)
                if _variables(other) <= bound and isinstance(side, Atom):
                    bound |= _variables(side)
    used = set[str]().union(*[_variables(form) for form in (*rule.body, *rule.actions)])
    return used <= bound
