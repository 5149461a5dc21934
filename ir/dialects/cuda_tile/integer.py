"""cuda_tile integer arithmetic, comparison and bit operations on signless integers."""

from __future__ import annotations

import numpy as np

from ir.core import Attr, Operand, Result, op, same_type_as
from ir.dialects.cuda_tile.attributes import ELEMENTWISE, Array, Overflow, Predicate, Rounding, Signedness
from ir.dialects.cuda_tile.constraints import BOOL, INT, TileOp
from ir.dialects.cuda_tile.numerics import compare, read_unsigned, read_wide, wrap


class IntBinary(TileOp):
    """Two integer tiles of one type give a third."""

    lhs = Operand(INT)
    rhs = Operand(INT)
    result = same_type_as("lhs")

    placement = ELEMENTWISE

    def verify(self) -> None:
        """Both operands have one type."""
        self.same_type("rhs", self.rhs, "lhs", self.lhs)


@op("cuda_tile.addi", opcode=3)
class AddI(IntBinary):
    """Wrapping sum."""

    syntax = "$lhs, $rhs <overflow> : lhs"

    overflow = Attr(Overflow, Overflow.NONE)
    lowers_to = "arith.addi"

    @staticmethod
    def reference(lhs: Array, rhs: Array, overflow: Overflow = Overflow.NONE) -> Array:
        """lhs + rhs modulo 2^width."""
        return wrap(np.add, lhs, rhs)


@op("cuda_tile.subi", opcode=104)
class SubI(IntBinary):
    """Wrapping difference."""

    syntax = "$lhs, $rhs <overflow> : lhs"

    overflow = Attr(Overflow, Overflow.NONE)
    lowers_to = "arith.subi"

    @staticmethod
    def reference(lhs: Array, rhs: Array, overflow: Overflow = Overflow.NONE) -> Array:
        """lhs - rhs modulo 2^width."""
        return wrap(np.subtract, lhs, rhs)


@op("cuda_tile.muli", opcode=78)
class MulI(IntBinary):
    """Wrapping product."""

    syntax = "$lhs, $rhs <overflow> : lhs"

    overflow = Attr(Overflow, Overflow.NONE)
    lowers_to = "arith.muli"

    @staticmethod
    def reference(lhs: Array, rhs: Array, overflow: Overflow = Overflow.NONE) -> Array:
        """lhs * rhs modulo 2^width."""
        return wrap(np.multiply, lhs, rhs)


@op("cuda_tile.mulhii", opcode=77)
class MulHiI(TileOp):
    """The high half of the unsigned double-width product."""

    syntax = "$x, $y : x"

    x = Operand(INT)
    y = Operand(INT)
    result = same_type_as("x")

    placement = ELEMENTWISE
    lowers_to = "arith.mulhui"

    def verify(self) -> None:
        """Both operands have one type."""
        self.same_type("y", self.y, "x", self.x)

    @staticmethod
    def reference(x: Array, y: Array) -> Array:
        """(x * y) >> width on unsigned values, through Python integers."""
        if x.dtype == np.bool_:
            return np.zeros_like(x)
        bits = x.dtype.itemsize * 8
        high = (read_unsigned(x).astype(object) * read_unsigned(y).astype(object)) >> bits
        return np.asarray(high, dtype=object).astype(f"u{x.dtype.itemsize}").view(x.dtype).reshape(x.shape)


@op("cuda_tile.divi", opcode=21)
class DivI(IntBinary):
    """Quotient, rounded towards zero, down (signed only) or up; division by zero is undefined (here 0)."""

    syntax = "$lhs, $rhs {signedness} <rounding> : lhs"

    signedness = Attr(Signedness)
    rounding = Attr(Rounding, Rounding.ZERO)
    lowers_to = "arith.divsi"
    lowers_to_unsigned = "arith.divui"

    def verify(self) -> None:
        """Rounding is towards zero, up, or for signed integers down."""
        super().verify()
        allowed = (Rounding.ZERO, Rounding.NEGATIVE_INF, Rounding.POSITIVE_INF)
        self.rounding_among(self.rounding, allowed, self.lhs)
        down = self.rounding == Rounding.NEGATIVE_INF
        self.expect(not down or bool(self.signedness), "rounding<negative_inf> needs signed operands")

    @staticmethod
    def reference(lhs: Array, rhs: Array, signedness: Signedness, rounding: Rounding = Rounding.ZERO) -> Array:
        """Floor division of NumPy corrected by the sign of the remainder."""
        a, b = (lhs, rhs) if signedness else (read_unsigned(lhs), read_unsigned(rhs))
        a, b = read_wide(a), read_wide(b)
        with np.errstate(divide="ignore", over="ignore"):
            quotient, remainder = np.floor_divide(a, b), np.remainder(a, b)
        inexact = remainder != 0
        if rounding == Rounding.POSITIVE_INF:
            quotient = quotient + inexact
        elif rounding == Rounding.ZERO:
            quotient = quotient + (inexact & ((a < 0) != (b < 0)))
        return quotient.astype(lhs.dtype)


@op("cuda_tile.remi", opcode=90)
class RemI(IntBinary):
    """Remainder with the sign of the dividend; by zero is undefined (here 0)."""

    syntax = "$lhs, $rhs {signedness} : lhs"

    signedness = Attr(Signedness)
    lowers_to = "arith.remsi"
    lowers_to_unsigned = "arith.remui"

    @staticmethod
    def reference(lhs: Array, rhs: Array, signedness: Signedness) -> Array:
        """C's %."""
        a, b = (lhs, rhs) if signedness else (read_unsigned(lhs), read_unsigned(rhs))
        with np.errstate(divide="ignore"):
            return np.fmod(read_wide(a), read_wide(b)).astype(lhs.dtype)


@op("cuda_tile.negi", opcode=80)
class NegI(TileOp):
    """Wrapping negation."""

    syntax = "$source <overflow> : source"

    source = Operand(INT)
    overflow = Attr(Overflow, Overflow.NONE, since=(13, 2))
    result = same_type_as("source")

    placement = ELEMENTWISE
    lowers_to = "arith.subi"

    def verify(self) -> None:
        """Only zero has a negation that does not wrap as an unsigned number."""
        useful = self.overflow != Overflow.NO_UNSIGNED_WRAP
        self.expect(useful, "overflow<{}> has no meaning for a negation", self.overflow)

    @staticmethod
    def reference(source: Array, overflow: Overflow = Overflow.NONE) -> Array:
        """0 - source modulo 2^width."""
        return wrap(np.subtract, np.zeros_like(source), source)


@op("cuda_tile.absi", opcode=1)
class AbsI(TileOp):
    """Absolute value; the minimum integer maps to itself."""

    syntax = "$source : source"

    source = Operand(INT)
    result = same_type_as("source")

    placement = ELEMENTWISE
    lowers_to = "math.absi"

    @staticmethod
    def reference(source: Array) -> Array:
        """numpy.abs."""
        return np.abs(source)


class IntExtremum(IntBinary):
    """Selection of one of two integers by order."""

    syntax = "$lhs, $rhs {signedness} : lhs"

    signedness = Attr(Signedness)

    @staticmethod
    def choose(function: np.ufunc, lhs: Array, rhs: Array, signedness: Signedness) -> Array:
        """Apply numpy.maximum or minimum to the values as signed or unsigned."""
        if signedness:
            return np.asarray(function(read_wide(lhs), read_wide(rhs))).astype(lhs.dtype)
        return np.asarray(function(read_unsigned(lhs), read_unsigned(rhs))).view(lhs.dtype)


@op("cuda_tile.maxi", opcode=70)
class MaxI(IntExtremum):
    """The larger."""

    lowers_to = "arith.maxsi"
    lowers_to_unsigned = "arith.maxui"

    @staticmethod
    def reference(lhs: Array, rhs: Array, signedness: Signedness) -> Array:
        """Maximum by signedness."""
        return IntExtremum.choose(np.maximum, lhs, rhs, signedness)


@op("cuda_tile.mini", opcode=72)
class MinI(IntExtremum):
    """The smaller."""

    lowers_to = "arith.minsi"
    lowers_to_unsigned = "arith.minui"

    @staticmethod
    def reference(lhs: Array, rhs: Array, signedness: Signedness) -> Array:
        """Minimum by signedness."""
        return IntExtremum.choose(np.minimum, lhs, rhs, signedness)


@op("cuda_tile.cmpi", opcode=15)
class CmpI(TileOp):
    """Elementwise comparison to i1."""

    syntax = "{predicate} $lhs, $rhs, {signedness} : lhs -> result"

    lhs = Operand(INT)
    rhs = Operand(INT)
    predicate = Attr(Predicate)
    signedness = Attr(Signedness)
    result = Result(BOOL)

    placement = ELEMENTWISE
    lowers_to = "arith.cmpi"

    def verify(self) -> None:
        """Both operands have one type, the result their shape."""
        self.same_type("rhs", self.rhs, "lhs", self.lhs)
        self.same_shape("result", self.result, "lhs", self.lhs)

    @staticmethod
    def reference(lhs: Array, rhs: Array, predicate: Predicate, signedness: Signedness) -> Array:
        """Compare as signed or unsigned."""
        if not signedness:
            lhs, rhs = read_unsigned(lhs), read_unsigned(rhs)
        return compare(predicate, read_wide(lhs), read_wide(rhs))


@op("cuda_tile.andi", opcode=4)
class AndI(IntBinary):
    """Bitwise and."""

    syntax = "$lhs, $rhs : lhs"

    lowers_to = "arith.andi"

    @staticmethod
    def reference(lhs: Array, rhs: Array) -> Array:
        """lhs & rhs."""
        return np.bitwise_and(lhs, rhs)


@op("cuda_tile.ori", opcode=82)
class OrI(IntBinary):
    """Bitwise or."""

    syntax = "$lhs, $rhs : lhs"

    lowers_to = "arith.ori"

    @staticmethod
    def reference(lhs: Array, rhs: Array) -> Array:
        """lhs | rhs."""
        return np.bitwise_or(lhs, rhs)


@op("cuda_tile.xori", opcode=108)
class XorI(IntBinary):
    """Bitwise exclusive or."""

    syntax = "$lhs, $rhs : lhs"

    lowers_to = "arith.xori"

    @staticmethod
    def reference(lhs: Array, rhs: Array) -> Array:
        """lhs ^ rhs."""
        return np.bitwise_xor(lhs, rhs)


@op("cuda_tile.shli", opcode=96)
class ShlI(IntBinary):
    """Shift left by an unsigned amount; undefined for amounts of at least the width (here 0)."""

    syntax = "$lhs, $rhs <overflow> : lhs"

    overflow = Attr(Overflow, Overflow.NONE)
    lowers_to = "arith.shli"

    @staticmethod
    def reference(lhs: Array, rhs: Array, overflow: Overflow = Overflow.NONE) -> Array:
        """lhs << rhs modulo 2^width."""
        return wrap(np.left_shift, lhs, rhs)


@op("cuda_tile.shri", opcode=97)
class ShrI(IntBinary):
    """Shift right by an unsigned amount, copying the sign bit if signed; undefined for amounts of at least the
    width.
    """

    syntax = "$lhs, $rhs {signedness} : lhs"

    signedness = Attr(Signedness)
    lowers_to = "arith.shrsi"
    lowers_to_unsigned = "arith.shrui"

    @staticmethod
    def reference(lhs: Array, rhs: Array, signedness: Signedness) -> Array:
        """Arithmetic or logical shift."""
        if lhs.dtype == np.bool_:
            return np.where(rhs & (not signedness), False, lhs)
        a, amount = (lhs, rhs) if signedness else (read_unsigned(lhs), read_unsigned(rhs))
        return np.right_shift(a, amount).view(lhs.dtype)
