"""Semantics of parts of tiles: extract, insert and cat, drawn and placed. A thread that computes one from registers
must hold every element of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness.model import Datum, Unsound
from egraph.soundness.sampling import Array
from ir.checked import checked
from ir.types import I32, TileType
from lowering.placement.context import Held, LayoutSample
from lowering.placement.values import whole


def drawn(sample: LayoutSample, form: List) -> Datum:
    """The value of an extract, an insert or a cat, with its free variables drawn."""
    return _DRAWN[form.head](sample, form.items[1:])


def _tile(sample: LayoutSample, form: Sexpr) -> Datum:
    """A tile with dimensions."""
    if isinstance(form, Atom) and sample.is_free(form):
        sample.env[form.text] = sample.any_tile()
    found = sample.datum(form)
    sample.require(bool(sample.tile_type(found).shape))
    return found


def _like(sample: LayoutSample, form: Sexpr, type_: TileType) -> Datum:
    if isinstance(form, Atom) and sample.is_free(form):
        sample.env[form.text] = Datum(type_, sample.random.tile(type_))
    found = sample.datum(form)
    sample.require(found.type == type_)
    return found


def _divided(sample: LayoutSample, type_: TileType) -> TileType:
    """The type of a part."""
    sizes = tuple([max(1, n // sample.random.pick((1, 2, 4))) for n in type_.shape])
    return TileType(sizes, type_.element)


def _indices(sample: LayoutSample, form: Sexpr, tile: TileType, part: TileType) -> tuple[int, ...]:
    """The index of the part; drawn if it is free."""
    if isinstance(form, Atom) and sample.is_free(form):
        counts = [a // b for a, b in zip(tile.shape, part.shape, strict=True)]
        numbers = [np.asarray(int(sample.random.rng.integers(n)), np.int32) for n in counts]
        sample.env[form.text] = Datum(None, tuple([Datum(TileType((), I32), x) for x in numbers]))
    return numbers_of(sample.datum(form))


def numbers_of(indices: Datum) -> tuple[int, ...]:
    """The numbers of a list of indices."""
    data: tuple[Datum, ...] = indices.data
    return tuple([int(each.data) for each in data])


def _window(indices: Sequence[int], part: TileType) -> tuple[slice, ...]:
    return tuple([slice(i * n, (i + 1) * n) for i, n in zip(indices, part.shape, strict=True)])


def _extract(sample: LayoutSample, items: Sequence[Sexpr]) -> Datum:
    source, at, ty = items
    tile = _tile(sample, source)
    type_ = sample.tile_type(tile)
    if isinstance(ty, Atom) and sample.is_free(ty):
        sample.env[ty.text] = sample.interner.types.id(_divided(sample, type_))
    part = sample.type_at(ty)
    sample.require(_tiles(part, type_))
    return Datum(part, np.asarray(tile.data)[_window(_indices(sample, at, type_, part), part)])


def _insert(sample: LayoutSample, items: Sequence[Sexpr]) -> Datum:
    source, destination, at = items
    tile = _tile(sample, destination)
    type_ = sample.tile_type(tile)
    free = isinstance(source, Atom) and sample.is_free(source)
    piece = _like(sample, source, _divided(sample, type_)) if free else sample.datum(source)
    kind = sample.tile_type(piece)
    sample.require(_tiles(kind, type_))
    found = np.array(tile.data)
    found[_window(_indices(sample, at, type_, kind), kind)] = piece.data
    return Datum(type_, found)


def _tiles(part: TileType, tile: TileType) -> bool:
    alike = part.element == tile.element and len(part.shape) == len(tile.shape)
    return alike and all(b % a == 0 for a, b in zip(part.shape, tile.shape, strict=True))


def _cat(sample: LayoutSample, items: Sequence[Sexpr]) -> Datum:
    first, second, dim, ty = items
    left = _tile(sample, first)
    type_ = sample.tile_type(left)
    right = _like(sample, second, type_)
    if isinstance(dim, Atom) and sample.is_free(dim):
        sample.env[dim.text] = sample.random.dimension(len(type_.shape))
    d = sample.integer(dim)
    found = np.concatenate((np.asarray(left.data), np.asarray(right.data)), axis=d)
    joined = TileType(found.shape, type_.element)
    if isinstance(ty, Atom) and sample.is_free(ty):
        sample.env[ty.text] = sample.interner.types.id(joined)
    sample.require(sample.type_at(ty) == joined)
    return Datum(joined, found)


_DRAWN: dict[str, Callable[[LayoutSample, Sequence[Sexpr]], Datum]] = {
    "extract": _extract,
    "insert": _insert,
    "cat": _cat,
}
PARTS = tuple(_DRAWN)
"""Their constructors."""


# --- placed


def repeated(source: Held, wanted: Array) -> Array:
    """The required elements from each thread's registers: numbers [threads, registers] in the source's order. Raises
    Unsound if a thread does not hold one; -1 requires nothing.
    """
    if np.size(source.data) == 1:
        return np.broadcast_to(np.reshape(source.data, -1)[0], wanted.shape).copy()
    if source.layout is None:
        raise Unsound("a tile is read as if every thread held it whole")
    places = source.layout.element_map()
    found = np.zeros(wanted.shape, source.data.dtype)
    for thread in range(len(wanted)):
        at = {int(e): r for r, e in enumerate(places[thread])} | {-1: 0}
        if not at.keys() >= set(wanted[thread].tolist()):
            raise Unsound("a thread does not hold what it would recompute")
        found[thread] = source.data[thread, [at[int(e)] for e in wanted[thread]]]
    return found


def _given(sample: LayoutSample, type_: TileType, data: Array, layout: Sexpr) -> Held:
    """The threads' results, in the layout that the term names; every thread has a single element."""
    id_ = sample.integer(layout)
    if id_ == 0:
        return Held(type_, np.reshape(data.reshape(-1)[0], type_.shape))
    return Held(type_, data, sample.oracle.layout(id_))


def extracted(sample: LayoutSample, items: Sequence[Sexpr]) -> Held:
    """A part of a tile, within each thread's registers."""
    source, at, ty, layout = items
    held, part = sample.placed(source), sample.type_at(ty)
    after = sample.oracle.layout(sample.integer(layout))
    tile = checked(held.type, TileType)
    numbers = np.arange(tile.size).reshape(tile.shape)[_window(numbers_of(sample.placed(at)), part)]
    return _given(sample, part, repeated(held, numbers.reshape(-1)[after.element_map()]), layout)


def extracted_shared(sample: LayoutSample, items: Sequence[Sexpr]) -> Held:
    """A part of a tile, through shared memory."""
    source, at, ty, layout, before = items
    held, part = sample.placed(source), sample.type_at(ty)
    found = whole(sample, held, sample.integer(before))[_window(numbers_of(sample.placed(at)), part)]
    return sample.held(Datum(part, found), sample.integer(layout))


def joined(sample: LayoutSample, items: Sequence[Sexpr]) -> Held:
    """Two tiles in one: each element is in a register of the one or of the other."""
    first, second, dim, ty, layout = items
    left, right, type_, d = sample.placed(first), sample.placed(second), sample.type_at(ty), sample.integer(dim)
    after = sample.oracle.layout(sample.integer(layout))
    shape = checked(left.type, TileType).shape
    numbers, absent = np.arange(checked(left.type, TileType).size).reshape(shape), np.full(shape, -1)
    places = after.element_map()
    of_left = np.concatenate((numbers, absent), axis=d).reshape(-1)[places]
    of_right = np.concatenate((absent, numbers), axis=d).reshape(-1)[places]
    found = np.where(of_left >= 0, repeated(left, of_left), repeated(right, of_right))
    return _given(sample, type_, found.astype(left.data.dtype), layout)


def inserted(sample: LayoutSample, items: Sequence[Sexpr]) -> Held:
    """A tile with a part replaced, in the registers of the tile."""
    source, destination, at, layout = items
    piece, held = sample.placed(source), sample.placed(destination)
    after = sample.oracle.layout(sample.integer(layout))
    tile, part = checked(held.type, TileType), checked(piece.type, TileType)
    numbers = np.full(tile.shape, -1)
    numbers[_window(numbers_of(sample.placed(at)), part)] = np.arange(part.size).reshape(part.shape)
    wanted = numbers.reshape(-1)[after.element_map()]
    if held.layout is not None and held.data.shape != wanted.shape:
        raise Unsound("a tile is read in a layout of a different size")
    data = np.broadcast_to(held.data.reshape(-1)[0], wanted.shape) if held.layout is None else held.data
    return _given(sample, tile, np.where(wanted >= 0, repeated(piece, wanted), data), layout)


PLACED: dict[str, Callable[[LayoutSample, Sequence[Sexpr]], Held]] = {
    "p.extract": extracted,
    "p.extract_shared": extracted_shared,
    "p.insert": inserted,
    "p.cat": joined,
}
"""What the placed ones give, by constructor."""
