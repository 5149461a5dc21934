"""The facts of one sample: the strongest true fact of each value, or a weaker one, and whether a claim is true.

A value in the body of a loop has been several tiles; a fact about it must hold for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import numpy as np

from egraph.interner import Interner
from egraph.rule import Rule, text
from egraph.sexpr import Atom, Sexpr
from egraph.soundness import meaning
from egraph.soundness.model import Datum, Unsound, tiles
from egraph.soundness.sampling import Sampler
from egraph.terms import by_name
from ir.dialects.cuda_tile import DenseElements
from ir.dialects.cuda_tile.attributes import Array, is_array
from ir.types import TOKEN, TileType

_SHOWN = 16
"""Elements of a tile that a counterexample shows."""


class Knowledge:
    """Facts of the values of one sample, the same each time that they are asked for."""

    def __init__(self, random: Sampler):
        self._random = random
        self._weaken = random.chance(0.4)
        self._facts: dict[tuple[int, str, int], int] = {}
        self._bounds: dict[tuple[int, str], int] = {}
        self._kept: list[Datum] = []

    def of(self, head: str, value: Datum, type_: TileType, d: int) -> int:
        """A fact of a value, of dimension `d` where it is one by dimension."""
        key = (id(value), head, d)
        if key not in self._facts:
            group = self.of("contiguity", value, type_, d) if head in ("alignment", "run") else 1
            each = [meaning.strongest(head, data, type_, d, group) for data in tiles(value)]
            found = max(each) if head == "high" else min(each)
            if self._weaken and self._random.chance(0.5):
                found = meaning.weaker(head, found, type_, int(self._random.rng.integers(4)))
            self._kept.append(value)  # keeps the id in use
            self._facts[key] = min(found, group) if head == "run" else found
        return self._facts[key]

    def claim(self, head: str, number: int, value: Datum, type_: TileType, d: int, contiguity: int | None) -> None:
        """Test a fact that a rule sets: raise Unsound unless it is true. `contiguity`: what alignment refers to."""
        group = contiguity or (self.of("contiguity", value, type_, d) if head == "alignment" else 1)
        for data in tiles(value):
            if not meaning.true_claim(head, number, data, type_, d, group):
                raise Unsound(f"{head} {number} is not true of {shown(np.asarray(data))} along {d}")
        if head in ("low", "high"):
            self._bounds[id(value), head] = number
            if self._bounds.get((id(value), "low"), number) > self._bounds.get((id(value), "high"), number):
                raise Unsound("bounds contradict each other, so anything follows")


_TYPES, _ATTRIBUTES = ("ty", "type"), ("types", "value", "permutation", "predicate")
_OF_FACTS = {
    "tile": (True, False, True),
    "integer": (True,),
    "floating": (True,),
    "rank": (True,),
    "dimension": (True,),
}
"""Which columns of a fact are ids: True of types, False of attributes."""


def described(rule: Rule, values: Mapping[str, Datum | int], interner: Interner) -> str:
    """The values of a rule's variables, in words: an id as the type or attribute that it is of."""
    ids = {name: of_type for form in (*rule.body, *rule.actions) for name, of_type in _ids(form)}
    parts: list[str] = []
    for name, value in values.items():
        if isinstance(value, Datum):
            parts.append(f"{name} = {_value(value)}")
        else:
            table = interner.types if ids.get(name) else interner.attributes
            known = name in ids and 0 <= value < len(table)
            parts.append(f"{name} = {_attribute(table[value]) if known else value}")
    return "sample: " + ", ".join(parts)


def _ids(form: Sexpr) -> Iterator[tuple[str, bool]]:
    """The variables of a form that are ids: True where of types, False where of attributes."""
    if isinstance(form, Atom):
        return
    term = by_name().get(form.head)
    if term is not None:
        for item, column in zip(form.items[1 + len(term.operands) :], term.integers, strict=False):
            several = column == "type" and term.results != 1
            enumerated = column == "predicate" and term.mnemonic in ("cmpi", "cmpf")
            if isinstance(item, Atom) and column in (*_TYPES, *_ATTRIBUTES) and not enumerated:
                yield item.text, column in _TYPES and not several
    elif form.head == "=" and isinstance(name := form.items[1], Atom) and text(form.items[2]).startswith("(type "):
        yield name.text, True
    for item, of_type in zip(form.items[1:], _OF_FACTS.get(form.head, ()), strict=False):
        if isinstance(item, Atom):
            yield item.text, of_type
    for item in form.items:
        yield from _ids(item)


def _value(value: object) -> str:
    """A tile, a token, or a list of values, in words."""
    if not isinstance(value, Datum):
        return str(value)
    data: object = value.data
    if data is None:
        return "nothing"
    if value.type is None and (several := listed(data)) is not None:
        return f"({', '.join(map(_value, several))})"
    if value.type == TOKEN:
        events: frozenset[int] = value.data
        return f"token {' '.join(map(str, sorted(events)))}"
    return f"{value.type} {shown(data) if is_array(data) else data}"


def _attribute(value: object) -> str:
    """An attribute or a type: a literal by its numbers, several types by their names."""
    if isinstance(value, DenseElements):
        return shown(value.array)
    several = listed(value)
    return str(value) if several is None else f"({', '.join(map(str, several))})"


def listed(value: object) -> tuple[object, ...] | None:
    """What a tuple holds; None of anything else."""
    return cast("tuple[object, ...]", value) if isinstance(value, tuple) else None


def shown(data: Array) -> str:
    """A tile's elements, of many the first."""
    few = data.tolist() if data.size <= _SHOWN else [*data.reshape(-1)[:_SHOWN].tolist(), ...]
    return str(few).replace("Ellipsis", "...")
