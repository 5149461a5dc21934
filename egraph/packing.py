"""Packing and unpacking as shifts: the bits of elements of one width as elements of another, low bits first.

    split   part k of an element = element >> k * width, cut to its width
    join    element = the or of its parts, each shifted to its place
Source: CUDA Tile IR 13.4, pack and unpack.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from ir.core import Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.types import I1, I8, FloatType, IntType, TileType


def by_shifts(op: ct.Pack | ct.Unpack) -> tuple[list[Op], list[Value]]:
    """Operations to stand in the place of `op`, and what stands for its result: nothing for what was unpacked as it is
    packed.
    """
    if isinstance(op, ct.Pack) and (before := unpacked_from(op.source)) is not None and before.type == op.result.type:
        return [], [before]
    block = Block()
    b = Builder(block, op.location)
    source, result = (ct.tile_type(value) for value in (op.source, op.result))
    bits = as_integers(b, op.source)
    wide, narrow = (integers(kind) for kind in sorted((source, result), key=lambda t: t.size))
    made = join(b, bits, wide) if source.size > result.size else split(b, bits, wide, narrow)
    if made.type != result:
        made = b.value(ct.Bitcast, made, types=[result])
    for each in block.ops:
        each.parent = op.parent  # loops and branches around it are those around the source
    return block.ops, [made]


def unpacked_from(value: Value) -> Value | None:
    """What a tile was unpacked from, whose elements it has in their order."""
    while isinstance(value.op, ct.Reshape):
        value = value.op.source
    return value.op.source if isinstance(value.op, ct.Unpack) else None


def is_narrow_literal(op: Op) -> bool:
    """Different elements of less than a byte, but for truth values, which have bytes in memory."""
    if not isinstance(op, ct.Constant) or op.value.splat:
        return False
    element = cast("IntType | FloatType", ct.tile_type(op.result).element)
    return element != I1 and element.width < 8


def by_bytes(op: ct.Constant) -> tuple[list[Op], list[Value]]:
    """A literal whose elements have less than a byte as one of bytes, cut to what they hold."""
    block = Block()
    b = Builder(block, op.location)
    kind = ct.tile_type(op.result)
    bits = np.ascontiguousarray(op.value.expand(kind.shape)).view(np.int8)
    whole = b.value(ct.Constant, types=[TileType(kind.shape, I8)], value=ct.DenseElements(bits))
    made = b.value(ct.TruncI, whole, types=[integers(kind)])
    return block.ops, [made if made.type == kind else b.value(ct.Bitcast, made, types=[kind])]


def integers(kind: TileType) -> TileType:
    """The integers of an element's width."""
    return TileType(kind.shape, IntType(cast("IntType | FloatType", kind.element).width))


def as_integers(b: Builder, value: Value) -> Value:
    """The bits of a tile."""
    kind = integers(ct.tile_type(value))
    return value if value.type == kind else b.value(ct.Bitcast, value, types=[kind])


def split(b: Builder, value: Value, wide: TileType, narrow: TileType) -> Value:
    """Each element as several narrower ones."""
    count, parts = wide.size, narrow.size // wide.size
    column = b.value(ct.Reshape, value, types=[TileType((count, 1), wide.element)])
    spread = b.value(ct.Broadcast, column, types=[TileType((count, parts), wide.element)])
    shifted = b.value(ct.ShrI, spread, places(b, count, parts, wide), signedness=ct.Signedness.UNSIGNED)
    cut = b.value(ct.TruncI, shifted, types=[TileType((count, parts), narrow.element)])
    return b.value(ct.Reshape, cut, types=[narrow])


def join(b: Builder, value: Value, wide: TileType) -> Value:
    """Several neighbouring elements as one."""
    narrow = ct.tile_type(value)
    count, parts = wide.size, narrow.size // wide.size
    rows = b.value(ct.Reshape, value, types=[TileType((count, parts), narrow.element)])
    spread = TileType((count, parts), wide.element)
    extended = b.value(ct.ExtI, rows, types=[spread], signedness=ct.Signedness.UNSIGNED)
    shifted = b.value(ct.ShlI, extended, places(b, count, parts, wide))
    scalar = TileType((), wide.element)
    body = Block([scalar, scalar])
    inside = Builder(body, b.location)
    inside.add(ct.Yield, inside.value(ct.OrI, *body.args), types=())
    return b.add(ct.Reduce, shifted, types=[wide], regions=[Region([body])], dim=1, identities=(0,)).results[0]


def places(b: Builder, count: int, parts: int, wide: TileType) -> Value:
    """How far each part is shifted, for every element: k times the width of a part."""
    element = cast(IntType, wide.element)
    row = TileType((parts,), element)
    width = ct.DenseElements.of(element.width // parts, element)
    scaled = b.value(ct.MulI, b.value(ct.Iota, types=[row]), b.value(ct.Constant, types=[row], value=width))
    once = b.value(ct.Reshape, scaled, types=[TileType((1, parts), element)])
    return b.value(ct.Broadcast, once, types=[TileType((count, parts), element)])
