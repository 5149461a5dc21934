"""Rules of loops: a loop of a few trips is run, and each value of its body has been several tiles, one a trip.

What a rule states of such a value must be true in every trip; what it states of a value that never was (the counter of
a loop without a trip) must not contradict itself, since facts are global (egraph/rules/README.md, 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from egraph.facts import limits
from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness.model import Carried, Datum, NotCovered
from egraph.soundness.sample import Sample
from ir.dialects.cuda_tile import dtype_of
from ir.records import dataclass
from ir.types import I8, I16, I32, I64, IntType, TileType

TRIPS = (0, 1, 2, 5)
STEPS = (1, 1, 2, 3, 4, 5, 8, 16, 100, 0, -1, -8)
"""Steps of counters; those that are not positive count as far as MOST."""
MOST = 12
"""Trips that are run of a loop whose counter wraps."""

_TERMS = ("iv", "carry", "res")
_RELATIONS = ("loop_bounds", "r.loop_signed", "loop_init", "loop_yield")


@dataclass
class _Loop:
    """What a rule says of a loop: facts by relation, and variables by the term that they name."""

    facts: dict[str, List] = field(default_factory=dict[str, List])
    named: dict[str, List] = field(default_factory=dict[str, List])
    names: dict[str, str] = field(default_factory=dict[str, str])


def run(body: Sequence[Sexpr], sample: Sample) -> list[Sexpr]:
    """Run the loop that a rule's facts speak of, bind what they name, and return the other facts."""
    loop, rest = _Loop(), list[Sexpr]()
    for fact in body:
        term = fact.items[2] if isinstance(fact, List) and fact.head == "=" else None
        if isinstance(fact, List) and fact.head in _RELATIONS:
            _once(loop.facts, fact.head, fact)
        elif isinstance(term, List) and term.head in _TERMS:
            _once(loop.named, term.head, term)
            loop.names[term.head] = _variable(fact.items[1]) if isinstance(fact, List) else ""
        else:
            rest.append(fact)
    if "iv" in loop.named:
        _count(loop, sample)
    elif loop.named or loop.facts:
        _carry(loop, sample)
    return rest


def _once(found: dict[str, List], name: str, form: List) -> None:
    if name in found:
        raise NotCovered(f"cannot evaluate two facts of '{name}' in one rule")
    found[name] = form


def _variable(form: Sexpr) -> str:
    if not isinstance(form, Atom):
        raise NotCovered("a loop's value that is not a variable cannot be evaluated")
    return form.text


def _bind(sample: Sample, form: Sexpr, value: Datum | int) -> None:
    """A variable's value; a number in the rule must be it."""
    if isinstance(form, Atom) and sample.is_free(form):
        sample.env[form.text] = value
    else:
        sample.require(sample.same(sample.evaluate(form), value))


# --- counters


def _count(loop: _Loop, sample: Sample) -> None:
    """Bounds, a step and the counter of every trip."""
    draw = sample.random
    element: IntType = draw.pick((I8, I8, I8, I16, I32, I64))
    type_ = TileType((), element)
    least, most = limits(element.width)
    start: int = draw.number(element)
    step: int = draw.pick(STEPS)
    trips: int = draw.pick(TRIPS)
    beyond = int(draw.rng.integers(1, max(step, 1), endpoint=True))
    if draw.chance(0.3):  # the last step wraps, or just does not
        start = most + draw.pick((-1, 0, 1, 1, 2)) - trips * step
    end = start + (trips - 1) * step + beyond if trips else start - draw.pick((0, 0, 1, 7))
    if draw.chance(0.1):
        start, end = draw.pick((0, 1, 2)), draw.pick((-1, -2, -3))  # beyond, as unsigned numbers
    elif draw.chance(0.2) or not least <= end <= most:
        end = draw.number(element)
    signed = draw.pick((0, 1))
    sample.require(least <= start <= most)
    counters = [start]
    while len(counters) < MOST and _less(counters[-1], end, element, bool(signed)):
        counters.append((counters[-1] + step - least) % (1 << element.width) + least)
    passed = counters[:-1] if len(counters) < MOST else counters
    _bind(sample, loop.named["iv"].items[1], 1)
    _bind(sample, loop.named["iv"].items[2], sample.interner.types.id(type_))
    dtype = dtype_of(element)
    tiles = tuple([np.asarray(x, dtype) for x in passed])
    sample.env[loop.names["iv"]] = Carried(type_, np.asarray(start, dtype), tiles)
    if (bounds := loop.facts.get("loop_bounds")) is not None:
        for form, number in zip(bounds.items[2:], (start, end, step), strict=True):
            sample.require(number <= most)
            _bind(sample, form, Datum(type_, np.asarray(number, dtype)))
    if (sign := loop.facts.get("r.loop_signed")) is not None:
        _bind(sample, sign.items[2], signed)


def _less(a: int, b: int, element: IntType, signed: bool) -> bool:
    mask = (1 << element.width) - 1
    return a < b if signed else a & mask < b & mask


# --- carried values


def _carry(loop: _Loop, sample: Sample) -> None:
    """The initial tile, what each trip yields, and the result."""
    draw = sample.random
    given = loop.facts.get("loop_yield")
    made = given.items[3] if given is not None else None
    type_ = draw.tile_type(sample.group_of(made.head) if isinstance(made, List) else None)
    initial = Datum(type_, draw.tile(type_))
    for form in (*loop.named.values(), *loop.facts.values()):
        _bind(sample, form.items[1], 1)
        _bind(sample, form.items[2], 0)
    for form in loop.named.values():
        _bind(sample, form.items[3], sample.interner.types.id(type_))
    if (init := loop.facts.get("loop_init")) is not None:
        _bind(sample, init.items[3], initial)
    trips, carry = draw.pick(TRIPS), loop.names.get("carry", "")
    carried, steps = [initial], dict[str, list[Datum]]()
    if isinstance(made, List) and made.head == "addi" and draw.chance(0.7):
        _bind(sample, made.items[3], 0)  # a promise not to wrap is rarely kept for several trips
    for _ in range(max(trips, 1)):
        carried.append(_yielded(made, carry, carried[-1], steps, sample))
        sample.require(carried[-1].type == type_)
    for name, tiles in steps.items():
        sample.env[name] = _history(tiles)
    if carry:
        sample.env[carry] = _history(carried[:-1])
    if "res" in loop.named:
        sample.env[loop.names["res"]] = carried[trips]


def _history(tiles: list[Datum]) -> Carried:
    return Carried(tiles[0].type, tiles[0].data, tuple([tile.data for tile in tiles]))


def _yielded(made: Sexpr | None, carry: str, now: Datum, steps: dict[str, list[Datum]], sample: Sample) -> Datum:
    """What one trip yields; `steps` collects the tiles of the variables that it binds."""
    draw = sample.random
    if made is None:
        return _again(now, [], sample)
    if isinstance(made, Atom):
        if made.text == carry:
            return now
        if made.text in sample.env and made.text not in steps:
            return sample.datum(made)
        found = _again(now, steps.get(made.text, []), sample)
        steps.setdefault(made.text, []).append(found)
        return found
    names = [item.text for item in made.items[1:] if isinstance(item, Atom)]
    sample.env[carry or names[0]] = now
    for name, tiles in steps.items():
        sample.env[name] = _again(tiles[-1], tiles, sample)
    new = [name for name in names if name not in sample.env]
    found = sample.draw(made)
    for name in (*new, *steps):
        value = sample.env[name]
        if isinstance(value, Datum):
            steps.setdefault(name, []).append(value)
    draw.drawn.clear()
    return found


def _again(like: Datum, before: list[Datum], sample: Sample) -> Datum:
    """A tile of the same type: the one before, or another."""
    if before and sample.random.chance(0.5):
        return before[-1]
    type_ = sample.tile_type(like)
    return Datum(type_, sample.random.tile(type_))
