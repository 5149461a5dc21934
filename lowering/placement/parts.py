"""Semantics of parts of tiles, drawn and placed, and of what moves elements, placed. A thread that computes one from
registers must hold every element of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from egraph.placed import MOVED, Moved
from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness.model import Datum, Unsound
from egraph.soundness.sampling import Array
from ir.checked import checked
from ir.core import OPS, Operand
from ir.dialects import cuda_tile as ct
from ir.types import I32, TileType
from lowering.placement.context import Held, LayoutSample
from lowering.placement.values import whole


def drawn(sample: LayoutSample, form: List) -> Datum:
    """The value of what speaks of a part of a tile, with its free variables drawn."""
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


def _windowed(cls: type[ct.Windowed], sample: LayoutSample, items: Sequence[Sexpr]) -> Datum:
    """What speaks of a part of a tile: its size is drawn, if it is free."""
    names = [group.name for group in cls.info.operands]
    forms = dict(zip(names, items, strict=False))
    tile = _tile(sample, forms[cls.whole])
    type_ = sample.tile_type(tile)
    found = {cls.whole: tile}
    if cls.selects():
        part = _part_type(sample, items[-1], type_)
    else:
        form = forms[cls.part]
        free = isinstance(form, Atom) and sample.is_free(form)
        found[cls.part] = _like(sample, form, _divided(sample, type_)) if free else sample.datum(form)
        part = sample.tile_type(found[cls.part])
    sample.require(_tiles(part, type_))
    index = _indices(sample, forms["indices"], type_, part)
    operands = [np.asarray(found[name].data) for name in names if name in found]
    return Datum(part if cls.selects() else type_, cls.computed([*operands, *map(np.asarray, index)], {}, part))


def _part_type(sample: LayoutSample, ty: Sexpr, tile: TileType) -> TileType:
    """The type of a part that is the result."""
    if isinstance(ty, Atom) and sample.is_free(ty):
        sample.env[ty.text] = sample.interner.types.id(_divided(sample, tile))
    return sample.type_at(ty)


def _tiles(part: TileType, tile: TileType) -> bool:
    alike = part.element == tile.element and len(part.shape) == len(tile.shape)
    return alike and all(b % a == 0 for a, b in zip(part.shape, tile.shape, strict=True))


_DRAWN: dict[str, Callable[[LayoutSample, Sequence[Sexpr]], Datum]] = {
    cls.info.mnemonic: partial(_windowed, cls) for cls in OPS.values() if issubclass(cls, ct.Windowed)
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


def extracted_shared(sample: LayoutSample, items: Sequence[Sexpr]) -> Held:
    """A part of a tile, through shared memory."""
    source, at, ty, layout, before = items
    held, part = sample.placed(source), sample.type_at(ty)
    found = whole(sample, held, sample.integer(before))[_window(numbers_of(sample.placed(at)), part)]
    return sample.held(Datum(part, found), sample.integer(layout))


def moved(cls: type[Moved], sample: LayoutSample, items: Sequence[Sexpr]) -> Held:
    """What only moves elements: its reference, of numbers in their place, says which element of which operand each
    thread needs. An operand of the type of the result lies where the result does.
    """
    info, layout = cls.means.info, items[-1]
    after = sample.oracle.layout(sample.integer(layout))
    tiles: dict[str, Held] = {}
    operands: list[Array] = []
    end = 0
    for group, item in zip(info.operands, items, strict=False):
        if isinstance(group, Operand):
            tiles[group.name] = held = sample.placed(item)
            kind = checked(held.type, TileType)
            operands.append(np.arange(end, end + kind.size).reshape(kind.shape))
            end += kind.size
        else:
            operands += map(np.asarray, numbers_of(sample.placed(item)))
    like = info.results[0].like
    if like and tiles[like].layout not in (None, after):
        raise Unsound(f"'{like}' is read in another layout than that of the result")
    type_ = checked(tiles[like].type, TileType) if like else sample.type_at(items[-2])
    names = [attribute.name for attribute in info.attributes]
    attributes = dict(zip(names, map(sample.integer, items[len(info.operands) :]), strict=False))
    wanted = cls.means.computed(operands, attributes, type_).reshape(-1)[after.element_map()]
    return _given(sample, type_, gathered(list(tiles.values()), wanted), layout)


def gathered(tiles: Sequence[Held], wanted: Array) -> Array:
    """The required elements from each thread's registers: numbers count through all tiles, one behind the other."""
    found = np.zeros(wanted.shape, tiles[0].data.dtype)
    first = 0
    for held in tiles:
        end = first + checked(held.type, TileType).size
        here = (wanted >= first) & (wanted < end)
        found = np.where(here, repeated(held, np.where(here, wanted - first, -1)), found)
        first = end
    return found.astype(tiles[0].data.dtype)


PLACED: dict[str, Callable[[LayoutSample, Sequence[Sexpr]], Held]] = {
    "p.extract_shared": extracted_shared,
    **{cls.constructor: partial(moved, cls) for cls in MOVED},
}
"""What the placed ones give, by constructor."""
