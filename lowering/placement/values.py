"""Meanings of values that are no single tile with a reference: lists of tiles, folds and scans of them, and what only a
kernel has (arguments, counters, views, tokens), which is known by what made it.

A fold of a list and a scan of it have results that depend on every tile of the list and on its place in it, so that no
two can be exchanged: the greatest element along a dimension, or the greatest up to each place, of every tile and its
place together. They stand for any combiner.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import cast

import numpy as np

from egraph import leaves
from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness import meaning
from egraph.soundness.model import Datum, Unsound
from egraph.terms import by_name
from ir.checked import checked
from ir.dialects.cuda_tile.attributes import Array, is_array
from ir.narrowing import is_tuple
from ir.records import dataclass
from ir.types import I32, TileType
from lowering.layouts.shapes import reduce_dim
from lowering.placement.context import Held, LayoutSample

OF_KERNELS = (
    "arg", "iv", "effect", "get_global", "make_token", "join_tokens", "make_tensor_view", "make_partition_view",
    "get_tile_block_id", "get_num_tile_blocks", "get_tensor_shape", "get_index_space_shape",
)  # fmt: skip
"""Terms that have no value outside of a kernel: each is one by its operands and columns."""
KEEPING = tuple([cls.constructor for cls in leaves.KEEPING])
"""Terms of what combines tiles and keeps the dimension."""
FOLDS = (leaves.Fold.constructor, *KEEPING)
_RESULTS = 3
"""Results of a term of a kernel that has several."""
_LONGEST = 2
"""Tiles of a list that is drawn."""


@dataclass(frozen=True, eq=False)
class Folded(Datum):
    """The results of a fold along `dim`, or of a scan (-1), which lie where the tiles of type `source` lie."""

    source: TileType | None = None
    dim: int = -1


def made(sample: LayoutSample, form: List) -> Datum:
    """A term that only a kernel has: known by its operands and columns, which are drawn where they are free."""
    term = by_name()[form.head]
    split = 1 + len(term.operands)
    for item in form.items[1:split]:
        if isinstance(item, Atom) and sample.is_free(item):
            sample.env[item.text] = _scalar((item.text, int(sample.random.rng.integers(1000))))
    for item, name in zip(form.items[split:], term.integers, strict=True):
        if isinstance(item, Atom) and sample.is_free(item):
            named = name in ("ty", "type")
            sample.env[item.text] = _type_id(sample) if named else int(sample.random.rng.integers(4))
    operands = [sample.datum(item).data for item in form.items[1:split]]
    return known(form.head, operands, [sample.integer(item) for item in form.items[split:]])


def placed(sample: LayoutSample, head: str, items: Sequence[Sexpr]) -> Held:
    """The same term of placed operands, which every thread holds whole."""
    count = len(by_name()[head].operands)
    operands = [sample.placed(item).data for item in items[:count]]
    found = known(head, operands, [sample.integer(item) for item in items[count:]])
    return Held(found.type, found.data)


def projected(sample: LayoutSample, items: Sequence[Sexpr]) -> Held:
    """One result of a placed term with several."""
    found = sample.placed(items[0]).data[sample.integer(items[1])]
    return found if isinstance(found, Held) else Held(found.type, found.data)


def known(head: str, operands: Sequence[object], columns: Sequence[int]) -> Datum:
    """A term that is known by its name, its operands and columns."""
    key = (head, *map(_key, operands), *columns)
    several = by_name()[head].results != 1
    return Datum(None, tuple([_scalar((*key, k)) for k in range(_RESULTS)])) if several else _scalar(key)


def _key(data: object) -> Hashable:
    """What tells a value from another: of a tile its bits."""
    if is_array(data):
        return (data.dtype.name, data.shape, data.tobytes())
    items = cast("tuple[Datum, ...]", data) if isinstance(data, tuple) else ()
    return tuple([_key(each.data) for each in items]) if _all_values(items) else cast("Hashable", data)


def _all_values(items: tuple[object, ...]) -> bool:
    return bool(items) and all(isinstance(each, Datum) for each in items)


def _scalar(key: object) -> Datum:
    return Datum(TileType((), I32), key)


def _type_id(sample: LayoutSample) -> int:
    return sample.interner.types.id(TileType((), I32))


# --- lists, folds and scans


def tile_list(sample: LayoutSample, form: List) -> Datum:
    """A list of tiles of one type, with what is free of it drawn; `(nil)` is empty."""
    if form.head == "nil":
        return Datum(None, ())
    head, rest = form.items[1:]
    if isinstance(head, Atom) and sample.is_free(head):
        sample.env[head.text] = sample.any_tile()
    first = sample.datum(head)
    if isinstance(rest, Atom) and sample.is_free(rest):
        more = int(sample.random.rng.integers(_LONGEST))
        type_ = sample.tile_type(first)
        sample.env[rest.text] = Datum(None, tuple([Datum(type_, sample.random.tile(type_)) for _ in range(more)]))
    return Datum(None, (first, *sample.datum(rest).data))


def held_list(sample: LayoutSample, items: Sequence[Sexpr]) -> Held:
    """A tile before a list of tiles, all placed."""
    return Held(None, (sample.placed(items[0]), *sample.placed(items[1]).data))


def folded(sample: LayoutSample, form: List) -> Folded:
    """A fold or a scan of a list of tiles."""
    of, dim, *rest = form.items[1:]
    if isinstance(of, Atom) and sample.is_free(of):
        sample.env[of.text] = tile_list(sample, List((Atom("cons", 0), Atom("x'", 0), Atom("n'", 0)), 0, 0, 0))
    tiles: tuple[Datum, ...] = sample.datum(of).data
    type_ = sample.tile_type(tiles[0]) if tiles else None
    sample.require(type_ is not None and bool(type_.shape) and all(tile.type == type_ for tile in tiles))
    assert type_ is not None
    if isinstance(dim, Atom) and sample.is_free(dim):
        sample.env[dim.text] = sample.random.dimension(len(type_.shape))
    d = sample.integer(dim)
    sample.require(d < len(type_.shape))
    for column in rest:
        if isinstance(column, Atom) and sample.is_free(column):
            sample.env[column.text] = int(sample.random.rng.integers(2))
    numbers = [sample.integer(column) for column in rest]
    return _results(form.head, type_, [np.asarray(tile.data) for tile in tiles], d, numbers)


def _results(head: str, type_: TileType, tiles: Sequence[Array], d: int, columns: Sequence[int]) -> Folded:
    """The results of tiles as they are, whose other columns are told apart by a sign."""
    mixed = sum((k + 1) * (meaning.integers(tile) % 251) for k, tile in enumerate(tiles))
    mixed = np.asarray(mixed, np.int64) * (1 if sum(columns) % 2 == 0 else -1)
    if head in KEEPING:
        numbers = np.maximum.accumulate(mixed, axis=d)
        kind, dim = TileType(type_.shape, I32), -1
    else:
        numbers = mixed.max(axis=d)
        kind, dim = TileType((*type_.shape[:d], *type_.shape[d + 1 :]), I32), d
    each = tuple([Datum(kind, (numbers + 7 * k).astype(np.int32)) for k in range(len(tiles))])
    return Folded(None, each, type_, dim)


def placed_fold(head: str, sample: LayoutSample, items: Sequence[Sexpr]) -> Held:
    """A fold or a scan of placed tiles: each is read in the layout that the term names, and results lie as in it."""
    source, dim, *rest = items
    layout_id = sample.integer(rest[-1])
    held: tuple[Held, ...] = sample.placed(source).data
    tiles = [whole(sample, each, layout_id) for each in held]
    type_ = checked(held[0].type, TileType)
    return placed_results(
        sample, _results(head, type_, tiles, sample.integer(dim), [sample.integer(c) for c in rest[:-1]]), layout_id
    )


def whole(sample: LayoutSample, held: Held, layout_id: int) -> Array:
    """The tile of a placed value, read where a layout says that its elements lie."""
    if held.layout is None:
        return np.asarray(held.data)
    shape = checked(held.type, TileType).shape
    return sample.gathered(held, sample.oracle.layout(layout_id)).reshape(shape)


def placed_results(sample: LayoutSample, value: Folded, layout_id: int) -> Held:
    """The results of a fold or a scan, each where its source lies in a layout, less the dimension that is folded."""
    assert value.source is not None
    if layout_id and value.dim >= 0:
        left = reduce_dim(value.source.shape, value.dim, sample.oracle.layout(layout_id)).layout
        layout_id = sample.oracle.layout_id(left)
    return Held(None, tuple([sample.held(each, layout_id) for each in value.data]))


def fits_list(sample: LayoutSample, value: Datum, layout_id: int) -> bool:
    """Is it a layout of each tile of a list, or of each source of a fold?"""
    if isinstance(value, Folded):
        return sample.fits(Datum(value.source, None), layout_id)
    return all(sample.fits(each, layout_id) for each in value.data)


def held_each(sample: LayoutSample, value: Datum, layout_id: int) -> Held:
    """A list, or results, in a layout."""
    if not fits_list(sample, value, layout_id):
        raise Unsound(f"layout {layout_id} is not one of what a list holds")
    if isinstance(value, Folded):
        return placed_results(sample, value, layout_id)
    return Held(None, tuple([sample.held(each, layout_id) for each in value.data]))


def is_list(value: Datum) -> bool:
    """Is it a list of tiles, or several results?"""
    data: object = value.data
    return value.type is None and is_tuple(data) and (not data or _all_values(data))


def layout_of(value: Datum) -> Datum:
    """A tile whose layouts are those of the value: of a list any of its tiles, of a fold its source."""
    if isinstance(value, Folded):
        return Datum(value.source, None)
    if is_list(value) and value.data:
        return value.data[0]
    return value


PLACED: dict[str, Callable[[LayoutSample, Sequence[Sexpr]], Held]] = {
    f"p.{head}": partial(placed_fold, head) for head in FOLDS
}
"""What placed folds and scans give, by constructor."""
