"""Reductions over CTAs: each folds its part of a tile, sends the others what came of it, and combines all parts.

The parts are combined two by two in the order of the CTAs' ranks, by the region of the reduction on whole tiles, so
that all CTAs hold the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from egraph.accesses import splatted
from egraph.combiners import is_elementwise
from ir.core import Builder, Op, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas import Exchange
from ir.types import I1, IntType, TileType

BYTE = 8  # bits; of narrower elements but predicates none has an address


def may_be_exchanged(op: Op, dim: int) -> bool:
    """Is `dim` what a reduction folds, and can its region combine whole tiles?"""
    if not isinstance(op, ct.Reduce) or dim != op.dim:
        return False
    made = set(op.body.block.args)
    for each in op.body.block.ops[:-1]:
        if not made.isdisjoint(each.operands):
            if not is_elementwise(each):
                return False
            made.update(each.results)
    kinds = [cast(TileType, value.type).element for value in op.results]
    return all(kind == I1 or getattr(kind, "width", BYTE) >= BYTE for kind in kinds) and all(map(is_number, kinds))


def is_number(kind: object) -> bool:
    """Has an element a size that is moved by itself? Pointers are not."""
    return isinstance(kind, IntType) or hasattr(kind, "width")


def exchanged(values: Sequence[Value], among: int, fold: ct.Reduce, b: Builder) -> list[Value]:
    """What the CTAs whose ranks differ in bits `among` hold of some values, in the order of their ranks: of each value
    half as many, since the halves that differ in the highest bit are combined.
    """
    ctas = 1 << among.bit_count()
    kinds = [value.type for value in values for _ in range(ctas)]
    parts = b.add(Exchange, *values, types=kinds, segments=(len(values), 0, 0), among=among).results
    groups = [parts[at : at + ctas] for at in range(0, len(parts), ctas)]
    half = ctas // 2
    pairs = [([group[k] for group in groups], [group[k + half] for group in groups]) for k in range(half)]
    made = [combined(fold, left, right, b) for left, right in pairs]
    return [results[number] for number in range(len(values)) for results in made]


def combined(fold: ct.Reduce, left: Sequence[Value], right: Sequence[Value], b: Builder) -> list[Value]:
    """The region of a reduction on whole tiles; scalars from around it in every element."""
    shape = cast(TileType, left[0].type).shape
    block = fold.body.block
    given = [value for pair in zip(left, right, strict=True) for value in pair]
    new: dict[Value, Value] = dict(zip(block.args, given, strict=True))
    tiles = set(given)

    def tile(value: Value) -> Value:
        found = new.get(value, value)
        if found not in tiles and shape:
            found = splatted(b, found, shape)
        return found

    for each in block.ops[:-1]:
        wide = any(new.get(value, value) in tiles for value in each.operands)
        operands = [tile(value) if wide else new.get(value, value) for value in each.operands]
        types = [result.type for result in each.results]
        if wide:
            types = [TileType(shape, cast(TileType, kind).element) for kind in types]
        made = b.add(type(each), *operands, types=types, segments=each.segments, **each.attributes)
        new.update(zip(each.results, made.results, strict=True))
        tiles.update(made.results if wide else ())
    return [tile(value) for value in block.terminator.operands]
