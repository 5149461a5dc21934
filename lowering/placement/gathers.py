"""Semantics of loads through pointers: an element is read from its address if its mask is true, otherwise it is a given
value.

Addresses are drawn in consecutive, aligned groups, as in gathers of rows. A vector can be loaded if a thread holds it
as a whole, its addresses are consecutive and aligned to its bytes, and one bit of the mask decides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egraph.sexpr import Atom, Sexpr
from egraph.soundness import meaning
from egraph.soundness.model import Datum, Unsound
from egraph.soundness.sampling import Array
from ir.checked import checked
from ir.types import I1, FloatType, IntType, PointerType, TileType
from lowering.layouts.elements import element_bytes
from lowering.layouts.layout import Layout
from lowering.placement import memory
from lowering.placement.context import Held, LayoutSample

RUNS = ("pointer_run", "mask_run")
"""Facts of pointers and masks: elements along the last dimension that one access takes."""
ANSWERS: dict[str, tuple[tuple[str, tuple[int, ...]], ...]] = {
    "gather_run": (("ask_gather_run", (0, 1)),),
    "runs_read": (("ask_runs", (0, 1)),),
}
_ANY = 1 << 30  # without a mask, the whole tile is one run
_GROUPS = (1, 2, 4, 8, 8)
_SPACE = 1 << 12
"""Addresses are below this times the bytes of a group."""


def pointers(sample: LayoutSample, type_: TileType) -> Datum:
    """Pointers to elements of a type: groups of consecutive ones, aligned or not."""
    size, shape = element_bytes(type_.element), type_.shape
    group = min(sample.random.pick(_GROUPS), shape[-1])
    firsts = sample.random.rng.integers(0, _SPACE, (*shape[:-1], shape[-1] // group, 1)) * group
    firsts += int(sample.random.chance(0.2))
    found = np.asarray((firsts + np.arange(group)) * size, np.int64).reshape(shape)
    return Datum(TileType(shape, PointerType(checked(type_.element, IntType, FloatType))), found)


def mask(sample: LayoutSample, shape: tuple[int, ...]) -> Datum:
    """None, or one of groups along the last dimension."""
    if sample.random.chance(0.3):
        return Datum(None, None)
    group = min(sample.random.pick(_GROUPS), shape[-1])
    bits = sample.random.rng.integers(0, 2, (*shape[:-1], shape[-1] // group, 1))
    return Datum(TileType(shape, I1), np.repeat(bits, group, -1).reshape(shape).astype(np.bool_))


def gathered(sample: LayoutSample, arguments: Sequence[Sexpr]) -> None:
    """A value loaded by a gather: drawn, or of its number's type; padded with zeros if r.runs mentions it."""
    value, names = arguments[0], [checked(each, Atom).text for each in arguments]
    known = None if isinstance(value, Atom) and sample.is_free(value) else sample.datum(value)
    type_ = sample.tile_type(memory.tile(sample) if known is None else known)
    sample.require(bool(type_.shape) and isinstance(type_.element, IntType | FloatType) and type_.element.width >= 8)
    addresses, allowed = pointers(sample, type_), mask(sample, type_.shape)
    zeros = sample.random.chance(0.5)
    other = Datum(type_, np.zeros_like(sample.random.tile(type_)) if zeros else sample.random.tile(type_))
    if allowed.data is None:
        other = Datum(None, None)
    number = int(sample.random.rng.integers(4))
    made = Datum(type_, _taken(sample, addresses.data, allowed.data, other.data, type_))
    sample.env.update(
        zip(names, (made, addresses, allowed, other, number, sample.interner.types.id(type_)), strict=True)
    )
    if known is not None:  # the value of a number: the same under that name
        sample.renamed(known, made)
    sample.padded = allowed.data is not None and not zeros


def run(sample: LayoutSample, head: str, form: Sexpr) -> int:
    """A fact about runs, at most as strong as is true; the same for each query."""
    value = sample.datum(form)
    key = head, id(value)
    if key not in sample.runs:
        sizes = (
            [_ANY] if value.data is None else [1 << k for k in range(sample.tile_type(value).shape[-1].bit_length())]
        )
        true = max(n for n in sizes if is_run(head, value, n))
        sample.runs[key] = max(1, true >> int(sample.random.rng.integers(3)) * sample.random.chance(0.3))
    return sample.runs[key]


def is_run(head: str, value: Datum, count: int) -> bool:
    """Do pointers, or a mask, have such runs?"""
    if count <= 1 or value.data is None:
        return True
    type_, data = checked(value.type, TileType), value.data
    dim = len(type_.shape) - 1
    if type_.shape[dim] % count:
        return False
    if head == "mask_run":
        return meaning.constant(data, dim, count)
    size = element_bytes(checked(type_.element, PointerType).pointee)
    return meaning.contiguous(data, type_, dim, count) and meaning.aligned(data, dim, count, count * size)


def claim(sample: LayoutSample, head: str, form: Sexpr, count: int) -> None:
    """Test a fact about runs that a rule sets."""
    if not is_run(head, sample.datum(form), count):
        raise Unsound(f"({head} ...) is not {count}")


def _taken(
    sample: LayoutSample, addresses: Array, allowed: Array | None, other: Array | None, type_: TileType
) -> Array:
    """The contents of addresses, where the mask allows."""
    flat = meaning.integers(addresses).reshape(-1)
    found = np.array(sample.random.tile(type_)).reshape(-1)
    for k, address in enumerate(flat):
        found[k] = sample.cells.setdefault(int(address), found[k])
    found = found.reshape(np.shape(addresses))
    return found if allowed is None or other is None else np.where(allowed, found, other)


def _vectors(sample: LayoutSample, layout: Layout, shape: tuple[int, ...], count: int) -> None:
    """Raise Unsound where some thread does not hold vectors of so many elements along the last dimension as a whole."""
    for row in layout.element_map():
        held = set(map(int, row))
        if any(first + k not in held for first in {each // count * count for each in held} for k in range(count)):
            raise Unsound(f"a thread does not hold {count} elements of a vector")
    if shape[-1] % count:
        raise Unsound(f"vectors of {count} elements in rows of {shape[-1]}")


def _runs(
    addresses: Held, allowed: Held, layout: Layout, shape: tuple[int, ...], count: int, sample: LayoutSample
) -> None:
    """Raise Unsound where an access of so many elements is not contiguous, or splits a mask."""
    for head, held in zip(RUNS, (addresses, allowed), strict=True):
        if held.data is None:
            continue
        whole = sample.gathered(held, layout).reshape(shape)
        if not is_run(head, Datum(held.type, whole), count):
            raise Unsound(f"{count} elements of one access do not make a run ({head})")


def loaded(sample: LayoutSample, items: Sequence[Sexpr]) -> Held:
    """A gather of registers: each thread loads the elements whose pointers it holds."""
    addresses, allowed, other = (sample.placed(item) for item in items[:3])
    type_, layout, count = (
        sample.type_at(items[4]),
        sample.oracle.layout(sample.integer(items[5])),
        sample.integer(items[6]),
    )
    _vectors(sample, layout, type_.shape, count)
    _runs(addresses, allowed, layout, type_.shape, count, sample)
    where = sample.gathered(addresses, layout)
    parts = [None if held.data is None else sample.gathered(held, layout) for held in (allowed, other)]
    found = _taken(sample, where, parts[0], parts[1], TileType((layout.size,), type_.element))
    return Held(type_, found[layout.element_map()], layout)


def copied(sample: LayoutSample, items: Sequence[Sexpr]) -> memory.Stored:
    """The same copied to shared memory, with zeros for masked elements."""
    addresses, allowed = (sample.placed(item) for item in items[:2])
    type_, layout, shared = (
        sample.type_at(items[3]),
        sample.oracle.layout(sample.integer(items[4])),
        sample.integer(items[5]),
    )
    count = sample.integer(items[6])
    _vectors(sample, layout, type_.shape, count)
    _runs(addresses, allowed, layout, type_.shape, count, sample)
    first = sample.gathered(addresses, layout)
    second = None if allowed.data is None else sample.gathered(allowed, layout)
    flat = TileType((layout.size,), type_.element)
    zeros = np.zeros_like(sample.random.tile(flat))
    return memory.stored(sample, Datum(type_, _taken(sample, first, second, zeros, flat)), shared)
