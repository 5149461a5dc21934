"""Tiles gathered through pointers that run along the first of two dimensions, as transposes of tiles whose pointers run
along the last one, where whole runs are loaded, or copied to shared memory, at once (rules in isel.egg).
"""

from __future__ import annotations

import enum

from ir.core import Block, Builder, Op, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.attributes import ELEMENTWISE
from ir.dialects.cuda_tile.constraints import TileOp
from ir.types import TileType

DEPTH = 32  # operands of operands that are asked; the kernels of TileGym take up to 12
SWAP = (1, 0)


class Along(enum.Enum):
    """How elements vary along a dimension: equal, increasing by one (pointers: by one element), or arbitrary."""

    EQUAL = enum.auto()
    RUN = enum.auto()
    OTHER = enum.auto()


def is_turned(op: Op) -> bool:
    """Is this a weak load whose pointers run along the first of two dimensions, and not along the last?"""
    if not isinstance(op, ct.LoadPtr) or op.order != ct.MemoryOrder.WEAK or len(shape_of(op.source)) != 2:
        return False
    first, last = (along(op.source, d) for d in (0, 1))
    return first is Along.RUN and last is not Along.RUN


def by_transposition(op: ct.LoadPtr) -> tuple[list[Op], list[Value]]:
    """The same: the operations that replace `op`, and the values that replace its results."""
    block = Block()
    b = Builder(block, op.location)
    tiles = [v for v in (op.source, op.mask, op.padding_value) if v is not None]
    token = [] if op.token is None else [op.token]
    segments = (1, int(op.mask is not None), int(op.padding_value is not None), len(token))
    tile, after = op.results
    made = b.add(
        ct.LoadPtr,
        *(swapped(b, v) for v in tiles),
        *token,
        types=[turned(tile), after.type],
        segments=segments,
        **op.attributes,
    )
    back = swapped(b, made.results[0])
    for each in block.ops:
        each.parent = op.parent  # loops and branches around it are those around the source
    return block.ops, [back, made.results[1]]


def swapped(b: Builder, value: Value) -> Value:
    """A transposed tile."""
    return b.value(ct.Permute, value, types=[turned(value)], permutation=SWAP)


def turned(value: Value) -> TileType:
    """The type of the transposed tile."""
    kind = ct.tile_type(value)
    return TileType((kind.shape[1], kind.shape[0]), kind.element)


def along(value: Value, d: int, depth: int = DEPTH) -> Along:
    """What the elements of a tile do along dimension `d`, as far as operations of the source tell."""
    op, shape = value.op, shape_of(value)
    if shape[d] == 1 or (isinstance(op, ct.Constant) and op.value.splat):
        return Along.EQUAL
    if op is None or not depth:
        return Along.OTHER
    if isinstance(op, ct.Iota):
        return Along.RUN
    if isinstance(op, ct.Permute):
        return along(op.source, op.permutation[d], depth - 1)
    if isinstance(op, ct.Reshape):
        place = reshaped(shape_of(op.source), shape, d)
        return Along.OTHER if place is None else along(op.source, place, depth - 1)
    if isinstance(op, ct.Broadcast):
        return along(op.source, d, depth - 1)
    if not isinstance(op, ct.Offset | ct.Assume) and not (isinstance(op, TileOp) and op.placement is ELEMENTWISE):
        return Along.OTHER
    found = [along(v, d, depth - 1) for v in op.operands]
    if all(each is Along.EQUAL for each in found):
        return Along.EQUAL
    return Along.RUN if runs(op, found) else Along.OTHER


def runs(op: Op, operands: list[Along]) -> bool:
    """Does an elementwise operation make a run of these operands?"""
    if isinstance(op, ct.AddI | ct.Offset):
        return sorted(each.name for each in operands) == ["EQUAL", "RUN"]
    if isinstance(op, ct.MulI):
        return any(each is Along.RUN and is_one(op.operands[1 - i]) for i, each in enumerate(operands))
    return isinstance(op, ct.ExtI | ct.Assume | ct.SubI) and operands[0] is Along.RUN and Along.RUN not in operands[1:]


def is_one(value: Value) -> bool:
    """Is this a literal of ones?"""
    return isinstance(value.op, ct.Constant) and value.op.value.splat and value.op.value.item == 1


def reshaped(source: tuple[int, ...], shape: tuple[int, ...], d: int) -> int | None:
    """Dimension `d` of a shape in one that differs by dimensions of size 1; None where it differs by more."""
    if [n for n in source if n != 1] != [n for n in shape if n != 1]:
        return None
    number = sum(n != 1 for n in shape[:d])
    return [e for e, n in enumerate(source) if n != 1][number]


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape of a tile."""
    return ct.tile_type(value).shape
