"""Reductions over CTAs: each reduces its part of a tile, sends the others its partial result, and combines all parts.
Scans: each scans its part, and CTAs with later parts add the totals of the earlier parts.

The parts are combined two by two in the order of the CTAs' ranks, by the region of the reduction on whole tiles, so
that all CTAs hold the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from egraph.accesses import splatted
from egraph.combiners import is_elementwise
from ir.core import Builder, Op, Region, Type, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas import Exchange
from ir.types import I1, IntType, TileType

COMMUTATIVE = (
    ct.AddF, ct.AddI, ct.MulF, ct.MulI, ct.MaxF, ct.MaxI, ct.MinF, ct.MinI, ct.AndI, ct.OrI, ct.XorI,
)  # fmt: skip
BYTE = 8  # bits; narrower elements, except predicates, have no address


def may_be_exchanged(op: Op, dim: int) -> bool:
    """Is `dim` the dimension of a reduction or scan, and can its region combine whole tiles?"""
    if not isinstance(op, ct.Combining) or dim != op.dim or (op.keeps and not commutes(op)):
        return False
    made = set(op.body.block.args)
    for each in op.body.block.ops[:-1]:
        if not made.isdisjoint(each.operands):
            if not is_elementwise(each):
                return False
            made.update(each.results)
    return all(is_sent(ct.tile_type(value).element) for value in op.results)


def is_sent(kind: Type) -> bool:
    """Do elements have a size with which they can be sent?"""
    return (kind == I1 or getattr(kind, "width", BYTE) >= BYTE) and is_number(kind)


def commutes(scan: ct.Combining) -> bool:
    """Does one operation combine elements, in any order? Then a reduction gives the total of a part."""
    first, *rest = scan.body.block.ops
    return (
        len(scan.operands) == len(rest) == 1
        and isinstance(first, COMMUTATIVE)
        and first.operands[0] is not first.operands[1]
    )


def total(scan: ct.Combining, source: Value, body: Region, b: Builder) -> Value:
    """The total of a half, broadcast along the dimension: the reduction by the scan's region."""
    kind = cast(TileType, source.type)
    rest = TileType((*kind.shape[: scan.dim], *kind.shape[scan.dim + 1 :]), kind.element)
    attributes = {name: scan.attributes[name] for name in ct.Combining.encoded}
    return b.add(ct.Reduce, source, types=[rest], regions=[body], **attributes).results[0]


def along(value: Value, shape: tuple[int, ...], dim: int, b: Builder) -> Value:
    """A tile without a dimension, broadcast along it."""
    kind = cast(TileType, value.type)
    if not kind.shape:
        return splatted(b, value, shape)
    row = TileType((*shape[:dim], 1, *shape[dim + 1 :]), kind.element)
    return b.value(ct.Broadcast, b.value(ct.Reshape, value, types=[row]), types=[TileType(shape, kind.element)])


def is_number(kind: object) -> bool:
    """Can an element be moved by itself? Pointers cannot."""
    return isinstance(kind, IntType) or hasattr(kind, "width")


def exchanged(values: Sequence[Value], among: int, fold: ct.Reduce, b: Builder) -> list[Value]:
    """The values of the CTAs whose ranks differ in bits `among`, in the order of their ranks: half as many for each
    value, because the halves that differ in the highest bit are combined.
    """
    ctas = 1 << among.bit_count()
    kinds = [value.type for value in values for _ in range(ctas)]
    parts = b.add(Exchange, *values, types=kinds, segments=(len(values), 0, 0), among=among).results
    groups = [parts[at : at + ctas] for at in range(0, len(parts), ctas)]
    half = ctas // 2
    pairs = [([group[k] for group in groups], [group[k + half] for group in groups]) for k in range(half)]
    made = [combined(fold, left, right, b) for left, right in pairs]
    return [results[number] for number in range(len(values)) for results in made]


def combined(fold: ct.Combining, left: Sequence[Value], right: Sequence[Value], b: Builder) -> list[Value]:
    """The region of a reduction on whole tiles; live-in scalars are broadcast to every element."""
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
