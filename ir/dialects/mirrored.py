"""Operations of Tile IR that levels below have with the same parts: nothing is declared twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from ir.core import OPS, Attr, Op, Operand, Result, Variadic, op, same_type_as
from ir.dialects.cuda_tile.constraints import TileOp
from ir.types import Constraint

OpT = TypeVar("OpT", bound=Op)


def mirrored() -> list[type[TileOp]]:
    """The operations that say so, in declared order."""
    return [of for of in OPS.values() if issubclass(of, TileOp) and of.mirrored]


def mirror(of: type[TileOp], level: str, base: type[OpT], tile: Constraint, index: Constraint) -> type[OpT]:
    """The operation of a level whose operands and result are its tiles, whose groups of operands are its indices, and
    whose attributes are numbers from 0 on.
    """
    groups = of.info.operands
    operands = {group.name: Operand(tile) if isinstance(group, Operand) else Variadic(index) for group in groups}
    numbers = {attr.name: Attr(int, least=0) for attr in of.info.attributes}
    like = of.info.results[0].like
    return declared(of, level, base, {**operands, **numbers, "result": same_type_as(like) if like else Result(tile)})


def declared(of: type[TileOp], level: str, base: type[OpT], parts: Mapping[str, object]) -> type[OpT]:
    """An operation of a level by the name and the meaning of one of Tile IR."""
    body = {"__doc__": of.__doc__, "__module__": base.__module__, "means": of, **parts}
    return op(f"{level}.{of.info.mnemonic}")(cast("type[OpT]", type(of.__name__, (base,), body)))
