"""Checking rules by running them on numbers: a rule's text is read, its left side drawn at random, both sides are
evaluated by the operations' reference semantics, and every equality and fact that the rule states is tested.

A rule states something only where its guards hold, so samples that miss them are drawn again; facts are given to the
rule as strong as they are true, or weaker. What the left side leaves undefined (a broken promise, a division by zero)
proves nothing; what the right side leaves undefined is an error. A loop of a few trips is run (`loops`). Rules about
placed values and relations of the user's own cannot be evaluated and are reported as such.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from egraph.permissions import NNAN, NSZ
from egraph.rule import REWRITTEN, Rule
from egraph.rule import text as _text
from egraph.rulefile import Command
from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness import loops, meaning, permissions, rounding
from egraph.soundness.instances import EQUALITIES
from egraph.soundness.knowledge import described
from egraph.soundness.mirrors import spelled_out
from egraph.soundness.sample import NO_HINTS, Bound, Datum, Hints, NotCovered, Reject, Sample, Unbound, Unsound
from egraph.terms import by_name
from ir.records import dataclass

CHECKED_RULESETS = ("analysis", "canon", "algebra")
"""The rulesets about logical values; demand, place and isel are about layouts, which have their own model."""

SAMPLES, SEED = 100, 11
"""Samples a rule that `make test` draws, and from which seed."""
GROUPED = 4
"""Factor on the samples of two kinds of rules: those about groups along a dimension, where only one sample in ten has
no group of a single element, and those that change rounding, where few samples round exactly once or flush."""

TRIES = 3000
"""Draws to find the samples in that satisfy a rule's guards; the rarest guards of ours hold once in 80 draws."""
_ROUNDING = 0.5
"""How often a rule that lets operations round otherwise is tried on floats of few bits."""
_NEAR = 0.8
"""How often such a draw is of numbers beside zero or a limit."""
_TIGHT, _TIGHTER = 6, 3
"""One more draw in so many is to satisfy a comparison with nothing to spare: of few samples, and of SAMPLES."""
LEFT, RIGHT = "left side", "right side"
"""Under these names a counterexample shows what both sides are."""
_BOUNDS = ("(set (low ", "(set (high ")
"""What states a bound: wrong most often of numbers beside a limit."""
_MANY = 1 << 62
"""No attribute is that large."""
_SPARE = {"<=": 0, ">=": 0, "<": 1, ">": 1}
"""How far apart the sides of such a comparison are."""


@dataclass(frozen=True)
class Verdict:
    """What checking a rule found: `failure` says how it is wrong, `reason` why it cannot be checked, `obstacle` what
    most draws did not satisfy, where too few did.
    """

    rule: str
    satisfied: int
    tries: int
    failure: str = ""
    reason: str = ""
    obstacle: str = ""

    @property
    def sound(self) -> bool:
        """True where the rule was tried and never wrong."""
        return self.satisfied > 0 and not self.failure


def check(
    command: Command, seed: int = 0, wanted: int = SAMPLES, tries: int = TRIES, grouped: int = GROUPED
) -> Verdict:
    """Check one rule on random tiles, both directions of a birewrite; the verdict is that of the direction that is
    wrong, or that fewer samples satisfied.
    """
    verdicts = [check_rule(rule, seed, wanted, tries, grouped=grouped) for rule in Rule.of(command)]
    return next((v for v in verdicts if not v.sound), min(verdicts, key=lambda v: v.satisfied))


def check_rule(
    rule: Rule,
    seed: int = 0,
    wanted: int = SAMPLES,
    tries: int = TRIES,
    sample_of: type[Sample] = Sample,
    grouped: int = GROUPED,
) -> Verdict:
    """Check one rule until `wanted` samples satisfied its guards, or `grouped` times as many (see GROUPED), at most
    `tries` draws; `sample_of` makes a sample. Then try some that satisfy one of its comparisons with nothing to spare.
    """
    rule = _terms_first(spelled_out(rule.replaced_by_themselves()), sample_of(np.random.default_rng(seed)))
    satisfied, tried, hints = 0, 0, _hints(rule)
    obstacles: list[Sexpr | str] = []
    wanted *= grouped if hints.grouped > NO_HINTS.grouped or hints.short == _ROUNDING else 1
    while tried < tries and satisfied < wanted:
        sample = sample_of(np.random.default_rng((seed, tried)), hints)
        found = _sample(rule, sample)
        tried += 1
        if isinstance(found, Verdict):
            return replace(found, satisfied=satisfied, tries=tried)
        satisfied += found
        if not found:
            obstacles.append(sample.obstacle)
    near = hints if hints.grouped > NO_HINTS.grouped else replace(hints, edged=_NEAR)
    compared = [f for f in rule.body if isinstance(f, List) and f.head in _SPARE and not _bounds_rounding(f, rule)]
    bounds = any(_text(action).startswith(_BOUNDS) for action in rule.actions)
    part = _TIGHT if wanted < SAMPLES else _TIGHTER
    for more in range(tries // part if satisfied and (compared or bounds) else 0):
        sample = sample_of(np.random.default_rng((seed, tries + more)), near)
        sample.tight = compared[more % len(compared)] if compared else None
        found = _sample(rule, sample)
        if isinstance(found, Verdict):
            return replace(found, satisfied=satisfied, tries=tried + more + 1)
    return Verdict(rule.name, satisfied, tried, obstacle=_most_common(obstacles) if satisfied < wanted else "")


def _most_common(obstacles: Iterable[Sexpr | str]) -> str:
    counts = Counter(each if isinstance(each, str) else _text(each) for each in obstacles)
    return counts.most_common(1)[0][0] if counts else ""


def _named(failure: str) -> str:
    """A counterexample, with what a rewrite matches called by its name."""
    return failure.replace(REWRITTEN, LEFT)


def _sample(rule: Rule, sample: Sample) -> bool | Verdict:
    """Whether a sample satisfies the guards; the verdict where the rule is wrong of it, or cannot be evaluated."""
    try:
        _match(loops.run(rule.body, sample) if sample.runs_loops else rule.body, sample)
        _act(rule, sample)
    except Reject:
        return False
    except NotCovered as missing:
        return Verdict(rule.name, 0, 0, reason=str(missing))
    except Unbound as name:
        return Verdict(rule.name, 0, 0, reason=f"nothing binds the variable {name}")
    except Unsound as wrong:
        return Verdict(rule.name, 0, 0, failure=_named(f"{wrong}; {described(rule, sample.env, sample.interner)}"))
    return True


def check_all(commands: Iterable[Command], seed: int = 0) -> list[Verdict]:
    """Check every rule about logical values."""
    return [check(c, seed) for c in commands if c.is_rule and c.ruleset in CHECKED_RULESETS]


_SINGLED_OUT = {"1": (1.0,), "2": (2.0,), "-1": (-1.0,), "0": (0.0,), "-2": (-0.0,)}
"""Numbers that `float_is` speaks of (egraph.facts)."""
_FACTORS = (3.0, 0.1, -0.7, 1e-3, 1024.0, 0.5, -4.0)
"""Factors that round, and powers of two."""
_RECIPROCALS = (2.0, 0.5, -4.0, 0.25, 1.0, 8.0)


def _hints(rule: Rule) -> Hints:
    """What to draw more often."""
    found: dict[str, tuple[float, ...]] = {}
    rounds = not _permissions(rule) <= permissions.EXACT
    for fact in rule.body:
        if isinstance(fact, List) and len(fact.items) > 1 and isinstance(name := fact.items[1], Atom):
            if fact.head == "float_is" and isinstance(fact.items[2], Atom):
                found[name.text] = _SINGLED_OUT.get(fact.items[2].text, ())
            elif fact.head == "float_splat" and rounds:
                found[name.text] = _FACTORS
            elif fact.head == "float_reciprocal":
                found[name.text] = _RECIPROCALS
    spoken = " ".join(map(_text, (*rule.body, *rule.actions)))
    grouped = 0.7 if any(f"({fact} " in spoken for fact in meaning.BY_DIMENSION) else NO_HINTS.grouped
    compared = any(
        isinstance(f, List) and f.head in ("<", "<=", ">", ">=", "exact_sum", "exact_product") for f in rule.body
    )
    edged = 0.45 if compared and grouped == NO_HINTS.grouped else NO_HINTS.edged
    edged = 0.45 if any(said in spoken for said in ("(itof ", *_BOUNDS)) else edged
    flushes = any(f"({name} " in spoken for name in permissions.FUNCTIONS)
    return Hints(found, grouped, edged, _ROUNDING if rounds else 0.2 if flushes else 0.0, _ranges(rule))


def _ranges(rule: Rule) -> dict[str, tuple[int, int]]:
    """The least and the greatest number of each variable that a guard compares with a number."""
    found: dict[str, tuple[int, int]] = {}
    for fact in rule.body:
        if isinstance(fact, List) and fact.head in ("<=", ">=", "<", ">"):
            name, bound = fact.items[1:]
            if isinstance(name, Atom) and isinstance(bound, Atom) and bound.text.lstrip("-").isdigit():
                least, most = found.get(name.text, (-_MANY, _MANY))
                end = int(bound.text)
                below, above = (end if fact.head == "<=" else end - 1, end if fact.head == ">=" else end + 1)
                found[name.text] = (least, min(most, below)) if "<" in fact.head else (max(least, above), most)
    return found


def _bounds_rounding(fact: List, rule: Rule) -> bool:
    """Does a comparison bound a rounding by a number? There are few roundings: samples are drawn within (`_ranges`)."""
    name, bound = fact.items[1:]
    both = isinstance(name, Atom) and isinstance(bound, Atom) and bound.text.isdigit()
    return both and any(_text(name) == column for term in rule.body for column in _roundings(term))


def _roundings(form: Sexpr) -> Iterator[str]:
    """The columns of a term and of those in it that are roundings."""
    if isinstance(form, List):
        if (term := by_name().get(form.head)) is not None and "rounding" in term.integers:
            yield _text(form.items[1 + len(term.operands) + term.integers.index("rounding")])
        for item in form.items:
            yield from _roundings(item)


def _permissions(rule: Rule) -> set[int]:
    """What a rule asks for as `(allow n)`."""
    granted = [f.items[1] for f in rule.body if isinstance(f, List) and f.head == "allow"]
    return {int(a.text) for a in granted if isinstance(a, Atom)}


# --- the left side


def _match(body: Sequence[Sexpr], sample: Sample) -> None:
    """Make a body true that has its terms first: draw them, then evaluate the rest, binding what it computes."""
    rest: list[Sexpr] = []
    for fact in body:
        defined = _defined_term(fact, sample)
        if defined is None:
            rest.append(fact)
            continue
        name, term = defined
        sample.obstacle = term
        value = sample.draw(term)
        if name in sample.env:
            sample.require(sample.same(sample.env[name], value))
        elif name:
            sample.env[name] = value
    while rest:
        waiting: list[Sexpr] = []
        for fact in rest:
            sample.obstacle = fact
            try:
                _fact(fact, sample)
            except Unbound:
                waiting.append(fact)
        if len(waiting) == len(rest) and not any(_draw_free(f, sample) for f in waiting):
            raise NotCovered(f"nothing binds the variables of {_text(waiting[0])}")
        rest = waiting


def _defined_term(fact: Sexpr, sample: Sample) -> tuple[str, List] | None:
    """(variable, term) of a fact that matches a term; the variable is empty for a bare term."""
    if not isinstance(fact, List):
        return None
    if sample.is_term(fact):
        return "", fact
    if fact.head == "=" and len(fact.items) == 3:
        left, right = fact.items[1], fact.items[2]
        if isinstance(left, Atom) and isinstance(right, List) and sample.is_term(right):
            return left.text, right
    return None


def _terms_first(rule: Rule, sample: Sample) -> Rule:
    """The rule with the terms of its body before all other facts, in the order in which they can be drawn."""
    terms = [f for f in rule.body if _defined_term(f, sample) is not None]
    rest = [f for f in rule.body if _defined_term(f, sample) is None]
    return replace(rule, body=(*_definitions_first(terms, sample), *rest))


def _definitions_first(terms: list[Sexpr], sample: Sample) -> list[Sexpr]:
    """Terms in an order that makes a variable's own term come before the terms that use it."""
    ordered: list[Sexpr] = []
    waiting = list(terms)
    while waiting:
        names = {d[0] for f in waiting if (d := _defined_term(f, sample))}
        ready = [f for f in waiting if not (_variables((_defined_term(f, sample) or ("", f))[1]) & names)]
        ready = ready or waiting[:1]
        ordered += ready
        waiting = [f for f in waiting if f not in ready]
    return ordered


def _variables(form: Sexpr) -> set[str]:
    if isinstance(form, Atom):
        return {form.text}
    return set[str]().union(*[_variables(item) for item in form.items[1:]])


def _fact(fact: Sexpr, sample: Sample) -> None:
    """Evaluate one fact; Reject where it does not hold, Unbound where it cannot be evaluated yet."""
    if not isinstance(fact, List):
        raise NotCovered(f"fact {_text(fact)}")
    head, arguments = fact.head, fact.items[1:]
    if head == "=":
        _equation(arguments, sample)
    elif head == "!=" and any(isinstance(sample.evaluate(a), Datum) for a in arguments):
        return  # two classes not joined yet: says nothing about their values
    elif head in ("<", "<=", ">", ">=", "!="):
        left, right = (sample.integer(a) for a in arguments)
        holds = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right, "!=": left != right}
        sample.require(holds[head] and (fact is not sample.tight or abs(left - right) == _SPARE[head]))
    else:
        sample.relation(head, arguments)


def _equation(sides: Sequence[Sexpr], sample: Sample) -> None:
    left, right = sides
    for free, other in ((left, right), (right, left)):
        if isinstance(free, Atom) and sample.is_free(free):
            sample.env[free.text] = sample.evaluate(other)
            return
    sample.require(sample.same(sample.evaluate(left), sample.evaluate(right)))


def _draw_free(fact: Sexpr, sample: Sample) -> bool:
    """Draw a tile for a variable that only facts mention."""
    if isinstance(fact, Atom):
        return False
    if fact.head == "=" and all(isinstance(i, Atom) and sample.is_free(i) for i in fact.items[1:]):
        sample.env[_text(fact.items[1])] = sample.any_tile()  # the left side of a rewrite is a variable
        return True
    if sample.is_relation(fact.head):
        return sample.any_row(fact)
    if sample.is_analysis(fact.head) and isinstance(fact.items[1], Atom) and sample.is_free(fact.items[1]):
        sample.env[fact.items[1].text] = sample.any_tile() if fact.head == "type" else sample.any_integer_tile()
        return True
    return any(_draw_free(item, sample) for item in fact.items[1:])


# --- the right side


def _act(rule: Rule, sample: Sample) -> None:
    """Test everything the rule states."""
    sample.building = True
    allowed = _permissions(rule)
    claims = {
        c.head: 0
        for a in rule.actions
        if isinstance(a, List) and a.head == "set"
        for c in a.items[1:2]
        if isinstance(c, List)
    }
    for action in rule.actions:
        if not isinstance(action, List) or action.head == "subsume":
            continue
        if action.head == "let":
            sample.env[_text(action.items[1])] = sample.evaluate(action.items[2])
        elif action.head in EQUALITIES:
            _union(rule, action, sample, allowed)
        elif action.head == "set":
            target = action.items[1]
            if isinstance(target, List):
                sample.claim(target, sample.integer(action.items[2]), _claimed_contiguity(rule, sample, claims))
        elif sample.is_term(action):
            sample.evaluate(action)  # it says nothing, and must be one
        else:
            sample.assertion(action)


def _union(rule: Rule, action: List, sample: Sample, allowed: set[int]) -> None:
    """Test that two terms are equal, but for what the rule's permissions let it change."""
    sample.approximates = False
    left, right = (sample.evaluate(item) for item in action.items[1:])
    if _same(sample, left, right, allowed) and not sample.approximates:
        return
    sides = " is not ".join(map(_text, action.items[1:]))
    shown = {RIGHT: right} if isinstance(action.items[2], List) else {}
    if not allowed and not sample.approximates:
        sample.env |= shown
        raise Unsound(sides)
    named = dict(found for fact in rule.body if (found := _defined_term(fact, sample)))
    before, after = (permissions.written_out(item, named) for item in action.items[1:])
    wrong = _difference(sample, before, after, (False, True) if sample.approximates else (False,), allowed)
    if wrong:
        sample.env |= shown
        raise Unsound(f"{sides}: {wrong}")


def _same(sample: Sample, left: Bound, right: Bound, allowed: set[int]) -> bool:
    """Equality, but for the signs of zeros and for what is NaN on the left, where that is allowed."""
    if NNAN in allowed and isinstance(left, Datum) and isinstance(right, Datum):
        right = permissions.but_nans(left, right)
    return sample.same(left, right, NSZ in allowed)


def _difference(sample: Sample, before: Sexpr, after: Sexpr, ways: Sequence[bool], allowed: set[int]) -> str:
    """How the term `after` differs from all that `before` may be computed as; the empty string where it does not. In
    each of the `ways`: with approximations that are the nearest numbers, or others.
    """
    if not allowed <= permissions.EXACT:
        approximate, flushed = (bool(allowed & each) for each in (permissions.APPROXIMATE, permissions.FLUSHING))
        return rounding.difference(sample, before, after, ways, approximate, flushed)
    return (
        ""
        if all(_is_alternative(sample, before, sample.computed(after, way), allowed) for way in ways)
        else "they differ"
    )


def _is_alternative(sample: Sample, before: Sexpr, right: Bound, allowed: set[int]) -> bool:
    """Is the right value, bit for bit, one of those that the permissions let the term be computed as?"""
    for form, near in product(permissions.alternatives(before, allowed), (False, True)):
        try:
            if _same(sample, sample.computed(form, near), right, allowed):
                return True
        except Unsound:  # no term: only f32 is flushed
            continue
    return False


def _claimed_contiguity(rule: Rule, sample: Sample, claims: dict[str, int]) -> int | None:
    """The contiguity that the same actions claim: alignment refers to it."""
    if "contiguity" not in claims:
        return None
    for action in rule.actions:
        if isinstance(action, List) and action.head == "set":
            target = action.items[1]
            if isinstance(target, List) and target.head == "contiguity":
                return sample.integer(action.items[2])
    return None
