"""Arithmetic on numbers of tile blocks in a source program: none is negative, and none wraps."""

from __future__ import annotations

from typing import cast

from ir.core import Builder, Value
from ir.dialects import cuda_tile as ct
from ir.types import I1, I32, IntType, TileType
from lowering.source.rewriting import constant

NUMBER = TileType((), I32)
FLAG = TileType((), I1)
MOST = (1 << 31) - 1


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
    """The difference of two numbers, not negative."""
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


def minus(b: Builder, left: Value, right: Value) -> Value:
    """A difference that may be negative."""
    return b.value(ct.SubI, left, right, types=[NUMBER], overflow=ct.Overflow.NO_SIGNED_WRAP)


def least(b: Builder, left: Value, right: Value) -> Value:
    """The smaller number."""
    return b.value(ct.MinI, left, right, types=[NUMBER], signedness=ct.Signedness.SIGNED)


def most(b: Builder, left: Value, right: Value) -> Value:
    """The larger number."""
    return b.value(ct.MaxI, left, right, types=[NUMBER], signedness=ct.Signedness.SIGNED)


def pick(b: Builder, condition: Value, yes: Value, no: Value) -> Value:
    """One of two numbers."""
    return b.value(ct.Select, condition, yes, no, types=[NUMBER])


def less(b: Builder, left: Value, right: Value) -> Value:
    """Is a number less than another?"""
    return compared(b, ct.Predicate.LESS_THAN, left, right)


def equals(b: Builder, left: Value, right: Value) -> Value:
    """Are two numbers equal?"""
    return compared(b, ct.Predicate.EQUAL, left, right)


def compared(b: Builder, predicate: ct.Predicate, left: Value, right: Value) -> Value:
    """A comparison of two numbers, as signed integers."""
    return b.value(ct.CmpI, left, right, types=[FLAG], predicate=predicate, signedness=ct.Signedness.SIGNED)


def true(b: Builder) -> Value:
    """True."""
    return b.value(ct.Constant, types=[FLAG], value=ct.DenseElements.of(True, I1))


def flipped(b: Builder, condition: Value) -> Value:
    """The negated truth value."""
    return b.value(ct.XorI, condition, true(b), types=[FLAG])


def clamped(b: Builder, value: Value) -> Value:
    """An integer of any width as a number, saturated to the largest one."""
    kind = cast(TileType, value.type)
    width = cast(IntType, kind.element).width
    if width > I32.width:
        value = b.value(ct.MinI, value, constant(b, MOST, kind), types=[kind], signedness=ct.Signedness.SIGNED)
        return b.value(ct.TruncI, value, types=[NUMBER])
    if width < I32.width:
        return b.value(ct.ExtI, value, types=[NUMBER], signedness=ct.Signedness.SIGNED)
    return value
