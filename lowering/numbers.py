"""Arithmetic on numbers of tile blocks in a source program: none is negative, and none wraps."""

from __future__ import annotations

from ir.core import Builder, Value
from ir.dialects import cuda_tile as ct
from ir.types import I32, TileType
from lowering.rewriting import constant

NUMBER = TileType((), I32)


def promised(b: Builder, value: Value, least: int, most: int | None = None) -> Value:
    """A number within bounds."""
    return b.value(ct.Assume, value, types=[NUMBER], predicate=ct.Bounded(least, most))


def product(b: Builder, left: Value, right: Value) -> Value:
    """Of two extents; the launcher refuses a grid whose tiles do not fit an i32."""
    return b.value(ct.MulI, left, right, types=[NUMBER], overflow=ct.Overflow.NO_SIGNED_WRAP)


def added(b: Builder, left: Value, right: Value) -> Value:
    """A sum of numbers of tiles."""
    return b.value(ct.AddI, left, right, types=[NUMBER], overflow=ct.Overflow.NO_SIGNED_WRAP)


def difference(b: Builder, left: Value, right: Value) -> Value:
    """What is left of a number."""
    made = b.value(ct.SubI, left, right, types=[NUMBER], overflow=ct.Overflow.NO_SIGNED_WRAP)
    return promised(b, made, 0)


def quotient(b: Builder, left: Value, right: Value | int) -> Value:
    """Of two numbers."""
    if right == 1:
        return left
    divisor = constant(b, right, NUMBER) if isinstance(right, int) else right
    return b.value(ct.DivI, left, divisor, types=[NUMBER], signedness=ct.Signedness.SIGNED)


def remainder(b: Builder, left: Value, right: Value | int) -> Value:
    """Of two numbers."""
    divisor = constant(b, right, NUMBER) if isinstance(right, int) else right
    return b.value(ct.RemI, left, divisor, types=[NUMBER], signedness=ct.Signedness.SIGNED)
