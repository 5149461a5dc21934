"""Meanings of views of arrays: what base, sizes and strides say of the bytes that an access may take at once.

A tensor view is drawn with its base, its dynamic sizes and strides as numbers, its static ones in its type. As many
bytes are aligned as divide the base and the bytes between rows; of these as many at a time are inside of the array, or
outside, as divide a row. An element counts as aligned. A partition view has what its tensor view has; of any other view
both are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np

from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness import meaning
from egraph.soundness.model import Datum, Unsound
from ir.checked import checked
from ir.narrowing import is_tuple
from ir.types import F16, F32, I8, I32, PointerType, TensorViewType, TileType
from lowering.layouts.elements import element_bytes
from lowering.placement.context import Access, LayoutSample
from lowering.placement.values import known

WIDTHS = ("view_bytes", "aligned_bytes")
"""Facts of views: bytes at a time that are inside of the array, or outside; and that are aligned."""
DIVISOR = "list_divisor"
"""The fact of a list of numbers."""
RELATIONS = ("item", "view_strides")
ANSWERS: dict[str, tuple[tuple[str, tuple[int, ...]], ...]] = {"view_form": (("ask_view", (0,)),)}
_NOTHING = 1 << 30
"""What divides every number of an empty list."""
_WIDEST = 32
"""Bytes that are aligned at most, of a view that is drawn without a base."""
_ELEMENTS = (F16, F32, I8)
_ODD = (1, 3, 5)
_STATIC = 0.4
"""How often a size or a stride is static."""


def drawn(sample: LayoutSample, element: int) -> Access:
    """Any."""
    aligned = max(element, 1 << int(sample.random.rng.integers(_WIDEST.bit_length())))
    return Access(element, aligned, max(element, aligned >> int(sample.random.rng.integers(4))))


def opaque(sample: LayoutSample) -> Datum:
    """A view that is known by its name."""
    return Datum(TileType((), I32), ("view", int(sample.random.rng.integers(1000))))


def access(sample: LayoutSample, key: object) -> Access:
    """What is true of a view."""
    if key not in sample.views:
        if is_tuple(key) and key[0] == "make_partition_view":
            sample.views[key] = access(sample, key[1])
        else:
            sample.views[key] = drawn(sample, 1 << int(sample.random.rng.integers(3)))
    return sample.views[key]


def tensor(sample: LayoutSample, form: List) -> Datum:
    """A tensor view of numbers, whose operands and type are drawn."""
    element = sample.random.pick(_ELEMENTS)
    size, rank = element_bytes(element), 1 + int(sample.random.rng.integers(3))
    along = rank - 1 if sample.random.chance(0.7) else int(sample.random.rng.integers(rank))
    base = size * _number(sample)
    extents, rows = ([_number(sample) for _ in range(rank)] for _ in range(2))
    rows[along] = 1
    shape = tuple([n if sample.random.chance(_STATIC) else None for n in extents])
    strides = tuple([n if d == along or sample.random.chance(_STATIC) else None for d, n in enumerate(rows)])
    sizes = [n for n, static in zip(extents, shape, strict=True) if static is None]
    steps = [n for n, static in zip(rows, strides, strict=True) if static is None]
    pointer = Datum(TileType((), PointerType(element)), np.asarray(base, np.int64))
    kind = sample.interner.types.id(TensorViewType(shape, element, strides))
    operands = pointer, _list(sizes), _list(steps)
    for item, found in zip(form.items[1:], (*operands, kind), strict=True):
        sample.env[checked(item, Atom).text] = found
    aligned = _power(gcd(base, *(n * size for d, n in enumerate(rows) if d != along)))
    inside = min(aligned, _power(extents[along] * size))
    view = known(form.head, [each.data for each in operands], [kind])
    sample.views[view.data] = Access(size, max(size, aligned), max(size, inside))
    return view


def _number(sample: LayoutSample) -> int:
    """One with a power of two in it."""
    return sample.random.pick(_ODD) << int(sample.random.rng.integers(6))


def _power(number: int) -> int:
    """The largest power of two that divides a number."""
    return number & -number


def _list(numbers: Sequence[int]) -> Datum:
    return Datum(None, tuple([Datum(TileType((), I32), np.asarray(n, np.int32)) for n in numbers]))


def width(sample: LayoutSample, fact: str, form: Sexpr) -> int:
    """A fact about a view: as strong as it is true, or weaker; the same each time it is asked."""
    key = sample.datum(form).data
    true = access(sample, key)
    less = true.of(fact) >> int(sample.random.rng.integers(3)) * sample.random.chance(0.3)
    return sample.widths.setdefault((fact, key), max(true.element, less))


def divisor(sample: LayoutSample, form: Sexpr) -> int:
    """What divides all numbers of a list, or less."""
    true = _divisor(sample, sample.datum(form))
    return max(1, true >> int(sample.random.rng.integers(3)) * sample.random.chance(0.3))


def _divisor(sample: LayoutSample, found: Datum) -> int:
    items: tuple[Datum, ...] = found.data
    return min([_NOTHING, *(meaning.strongest("divisor", each.data, sample.tile_type(each)) for each in items)])


def relation(sample: LayoutSample, head: str, arguments: Sequence[Sexpr]) -> None:
    """An item of a list; what is aligned of a view."""
    free = [isinstance(a, Atom) and sample.is_free(a) for a in arguments]
    if head == "view_strides":
        true = access(sample, sample.datum(arguments[0]).data)
        if free[1]:
            sample.env[checked(arguments[1], Atom).text] = width(sample, "aligned_bytes", arguments[0])
        sample.require(sample.integer(arguments[1]) <= true.aligned)
        return
    items: tuple[Datum, ...] = sample.datum(arguments[0]).data
    sample.require(bool(items))
    if free[1]:
        sample.env[checked(arguments[1], Atom).text] = int(sample.random.rng.integers(len(items)))
    at = sample.integer(arguments[1])
    sample.require(0 <= at < len(items))
    if free[2]:
        sample.env[checked(arguments[2], Atom).text] = items[at]
    sample.require(sample.same(sample.datum(arguments[2]), items[at]))


def claim(sample: LayoutSample, fact: str, form: Sexpr, number: int) -> None:
    """Test a fact that a rule sets."""
    about = sample.datum(form)
    if fact == DIVISOR:
        wrong = number < 1 or number & (number - 1) or number > _divisor(sample, about)
    else:
        true = access(sample, about.data)
        wrong = number < 1 or number & (number - 1) or number > true.of(fact)
    if wrong:
        raise Unsound(f"({fact} ...) is not {number}")


def assertion(sample: LayoutSample, head: str, arguments: Sequence[Sexpr]) -> None:
    """Test a relation that a rule inserts."""
    if head == "view_strides":
        claim(sample, "aligned_bytes", arguments[0], sample.integer(arguments[1]))
        return
    items: tuple[Datum, ...] = sample.datum(arguments[0]).data
    at = sample.integer(arguments[1])
    if not (0 <= at < len(items) and sample.same(items[at], sample.datum(arguments[2]))):
        raise Unsound(f"item {at} of a list differs")
