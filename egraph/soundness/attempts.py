"""Attempts at an operation on random operands: built from their types, verified, and only then given tiles."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import TypeVar

from egraph.interner import Interner
from egraph.soundness.model import Datum
from egraph.soundness.sampling import Sampler
from ir.core import Block, Op, OptionalOperand, TileError, Type, Value
from ir.core import Operand as OneOperand
from ir.dialects.cuda_tile import DenseElements, TileOp
from ir.types import F32, FloatType, TileType

UNDRAWN = object()
"""Elements of a tile that has only a type so far."""

OF_LITERALS = ("float_is", "float_splat")
"""Facts of float literals."""

Place = TypeVar("Place")


def with_tiles(
    random: Sampler, data: Sequence[Datum], chosen: Sequence[tuple[Place, Datum | int]]
) -> tuple[list[Datum], list[tuple[Place, Datum | int]]]:
    """The operands and free variables of an attempt, with the tiles that are not drawn yet."""
    made: dict[int, Datum] = {}
    for operand in data:
        if operand.data is UNDRAWN and isinstance(operand.type, TileType) and id(operand) not in made:
            made[id(operand)] = Datum(operand.type, random.tile(operand.type))
    return [made.get(id(d), d) for d in data], [(item, made.get(id(v), v)) for item, v in chosen]


def literal(random: Sampler, values: Mapping[str, Datum | int], wanted: tuple[float, ...]) -> DenseElements:
    """A literal that no term of a rule holds, mostly of the element type of a tile that was drawn."""
    drawn = [v.type for v in values.values() if isinstance(v, Datum) and isinstance(v.type, TileType)]
    floats = [type_ for type_ in drawn if isinstance(type_.element, FloatType)]
    return random.literal(random.pick(floats) if floats and random.chance(0.8) else TileType((), F32), wanted)


def said(error: Exception) -> str:
    """What is wrong with an attempt, without the place, which it has not."""
    return error.message if isinstance(error, TileError) else str(error)


def decoded(interner: Interner, kind: object, integer: int) -> object:
    """An attribute from its column."""
    if isinstance(kind, type) and issubclass(kind, enum.IntEnum):
        return kind(integer) if integer >= 0 else None
    if kind is bool:
        return bool(integer)
    return integer if kind is int else interner.attributes[integer]


def build(
    cls: type[TileOp],
    data: Sequence[Datum],
    results: list[Type] | None,
    attributes: Mapping[str, object],
    block: Block,
) -> Op:
    """The operation on placeholder operands of the right types. Raises ValueError where one has no type."""
    values: list[Value] = []
    segments: list[int] = []
    for group, operand in zip(cls.info.operands, data, strict=True):
        if operand.data is None:
            segments.append(0)
            continue
        items = [operand] if isinstance(group, OneOperand | OptionalOperand) else list(operand.data)
        segments.append(len(items))
        for each in items:
            if each.type is None:
                raise ValueError("an operand has no type")
            values.append(Value(each.type, block, 0))
    return cls(values, results, attributes, (), segments=tuple(segments))
