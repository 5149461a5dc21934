"""cuda_tile float arithmetic and comparison; every result is rounded to its own type."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ir.core import Attr, Operand, Result, flag, op, same_type_as
from ir.dialects.cuda_tile.attributes import ELEMENTWISE, Array, Ordering, Predicate, Rounding
from ir.dialects.cuda_tile.constraints import BOOL, FLOAT, TileOp
from ir.dialects.cuda_tile.numerics import (
    add_rounded,
    compare,
    divide_rounded,
    extremum,
    flush,
    fma_rounded,
    multiply_rounded,
)

NEAREST = Rounding.NEAREST_EVEN
DIRECTED = (Rounding.NEAREST_EVEN, Rounding.ZERO, Rounding.NEGATIVE_INF, Rounding.POSITIVE_INF)
"""Rounding modes of IEEE arithmetic; some operations add the f32 approximations."""


class FloatBinary(TileOp):
    """Two float tiles of one type give a third, rounded by `rounding`; f32 may flush denormals to zero."""

    syntax = "$lhs, $rhs <rounding>_ flush_to_zero? : lhs"

    lhs = Operand(FLOAT)
    rhs = Operand(FLOAT)
    rounding = Attr(Rounding, Rounding.NEAREST_EVEN)
    flush_to_zero = flag()
    result = same_type_as("lhs")

    placement = ELEMENTWISE
    roundings: ClassVar[tuple[Rounding, ...]] = DIRECTED

    def verify(self) -> None:
        """Both operands have one type; flushing and the approximations need f32."""
        self.same_type("rhs", self.rhs, "lhs", self.lhs)
        self.rounding_among(self.rounding, self.roundings, self.lhs)
        if self.flush_to_zero:
            self.f32_only("flush_to_zero", self.lhs)


@op("cuda_tile.addf", opcode=2)
class AddF(FloatBinary):
    """Sum."""

    lowers_to = "arith.addf"

    @staticmethod
    def reference(lhs: Array, rhs: Array, rounding: Rounding = NEAREST, flush_to_zero: bool = False) -> Array:
        """lhs + rhs, rounded once."""
        lhs, rhs = flush(lhs, flush_to_zero), flush(rhs, flush_to_zero)
        return flush(add_rounded(lhs, rhs, rounding), flush_to_zero)


@op("cuda_tile.subf", opcode=103)
class SubF(FloatBinary):
    """Difference."""

    lowers_to = "arith.subf"

    @staticmethod
    def reference(lhs: Array, rhs: Array, rounding: Rounding = NEAREST, flush_to_zero: bool = False) -> Array:
        """lhs - rhs, rounded once."""
        lhs, rhs = flush(lhs, flush_to_zero), flush(rhs, flush_to_zero)
        return flush(add_rounded(lhs, np.negative(rhs), rounding), flush_to_zero)


@op("cuda_tile.mulf", opcode=76)
class MulF(FloatBinary):
    """Product."""

    lowers_to = "arith.mulf"

    @staticmethod
    def reference(lhs: Array, rhs: Array, rounding: Rounding = NEAREST, flush_to_zero: bool = False) -> Array:
        """lhs * rhs, rounded once."""
        lhs, rhs = flush(lhs, flush_to_zero), flush(rhs, flush_to_zero)
        return flush(multiply_rounded(lhs, rhs, rounding), flush_to_zero)


@op("cuda_tile.divf", opcode=20)
class DivF(FloatBinary):
    """Quotient; APPROX and FULL (f32) allow 2 ulp, the reference gives the nearest."""

    lowers_to = "arith.divf"
    roundings = (*DIRECTED, Rounding.APPROX, Rounding.FULL)

    @staticmethod
    def reference(lhs: Array, rhs: Array, rounding: Rounding = NEAREST, flush_to_zero: bool = False) -> Array:
        """lhs / rhs, rounded once."""
        lhs, rhs = flush(lhs, flush_to_zero), flush(rhs, flush_to_zero)
        return flush(divide_rounded(lhs, rhs, rounding), flush_to_zero)


@op("cuda_tile.fma", opcode=40)
class Fma(TileOp):
    """lhs * rhs + acc with one rounding."""

    syntax = "$lhs, $rhs, $acc <rounding>_ flush_to_zero? : lhs"

    lhs = Operand(FLOAT)
    rhs = Operand(FLOAT)
    acc = Operand(FLOAT)
    rounding = Attr(Rounding, Rounding.NEAREST_EVEN)
    flush_to_zero = flag()
    result = same_type_as("lhs")

    placement = ELEMENTWISE
    lowers_to = "math.fma"

    def verify(self) -> None:
        """The operands have one type; flushing needs f32."""
        self.same_type("rhs", self.rhs, "lhs", self.lhs)
        self.same_type("acc", self.acc, "lhs", self.lhs)
        self.rounding_among(self.rounding, DIRECTED, self.lhs)
        if self.flush_to_zero:
            self.f32_only("flush_to_zero", self.lhs)

    @staticmethod
    def reference(
        lhs: Array, rhs: Array, acc: Array, rounding: Rounding = NEAREST, flush_to_zero: bool = False
    ) -> Array:
        """The exact product and sum, rounded once."""
        lhs, rhs, acc = (flush(x, flush_to_zero) for x in (lhs, rhs, acc))
        return flush(fma_rounded(lhs, rhs, acc, rounding), flush_to_zero)


@op("cuda_tile.remf", opcode=89)
class RemF(TileOp):
    """Remainder of truncated division (C fmod); the sign of the dividend."""

    syntax = "$lhs, $rhs : lhs"

    lhs = Operand(FLOAT)
    rhs = Operand(FLOAT)
    result = same_type_as("lhs")

    placement = ELEMENTWISE
    lowers_to = "arith.remf"

    def verify(self) -> None:
        """Both operands have one type."""
        self.same_type("rhs", self.rhs, "lhs", self.lhs)

    @staticmethod
    def reference(lhs: Array, rhs: Array) -> Array:
        """numpy.fmod, exact in float64."""
        with np.errstate(invalid="ignore"):
            return np.fmod(lhs.astype(np.float64), rhs.astype(np.float64)).astype(lhs.dtype)


@op("cuda_tile.negf", opcode=79)
class NegF(TileOp):
    """The sign flipped, of NaN and zero too."""

    syntax = "$source : source"

    source = Operand(FLOAT)
    result = same_type_as("source")

    placement = ELEMENTWISE
    lowers_to = "arith.negf"

    @staticmethod
    def reference(source: Array) -> Array:
        """-source."""
        return np.negative(source)


@op("cuda_tile.absf", opcode=0)
class AbsF(TileOp):
    """The sign cleared."""

    syntax = "$source : source"

    source = Operand(FLOAT)
    result = same_type_as("source")

    placement = ELEMENTWISE
    lowers_to = "math.absf"

    @staticmethod
    def reference(source: Array) -> Array:
        """numpy.abs."""
        return np.abs(source)


class FloatExtremum(TileOp):
    """Selection of one of two floats by order; a NaN is the result with `propagate_nan`, otherwise the other
    operand is.
    """

    syntax = "$lhs, $rhs flush_to_zero? propagate_nan? : lhs"

    lhs = Operand(FLOAT)
    rhs = Operand(FLOAT)
    propagate_nan = flag()
    flush_to_zero = flag()
    result = same_type_as("lhs")

    placement = ELEMENTWISE

    def verify(self) -> None:
        """Both operands have one type; flushing needs f32."""
        self.same_type("rhs", self.rhs, "lhs", self.lhs)
        if self.flush_to_zero:
            self.f32_only("flush_to_zero", self.lhs)


@op("cuda_tile.maxf", opcode=69)
class MaxF(FloatExtremum):
    """The larger; +0 is larger than -0. Lowers to arith.maximumf if NaN propagates."""

    lowers_to = "arith.maxnumf"

    @staticmethod
    def reference(lhs: Array, rhs: Array, propagate_nan: bool = False, flush_to_zero: bool = False) -> Array:
        """Maximum with the stated NaN rule."""
        return flush(extremum(flush(lhs, flush_to_zero), flush(rhs, flush_to_zero), propagate_nan, True), flush_to_zero)


@op("cuda_tile.minf", opcode=71)
class MinF(FloatExtremum):
    """The smaller; -0 is smaller than +0. Lowers to arith.minimumf if NaN propagates."""

    lowers_to = "arith.minnumf"

    @staticmethod
    def reference(lhs: Array, rhs: Array, propagate_nan: bool = False, flush_to_zero: bool = False) -> Array:
        """Minimum with the stated NaN rule."""
        lhs, rhs = flush(lhs, flush_to_zero), flush(rhs, flush_to_zero)
        return flush(extremum(lhs, rhs, propagate_nan, False), flush_to_zero)


@op("cuda_tile.cmpf", opcode=14)
class CmpF(TileOp):
    """Elementwise comparison to i1; with a NaN operand UNORDERED gives true, ORDERED false."""

    syntax = "{predicate} {ordering} $lhs, $rhs : lhs -> result"

    lhs = Operand(FLOAT)
    rhs = Operand(FLOAT)
    predicate = Attr(Predicate)
    ordering = Attr(Ordering)
    result = Result(BOOL)

    placement = ELEMENTWISE
    lowers_to = "arith.cmpf"

    def verify(self) -> None:
        """Both operands have one type, the result their shape."""
        self.same_type("rhs", self.rhs, "lhs", self.lhs)
        self.same_shape("result", self.result, "lhs", self.lhs)

    @staticmethod
    def reference(lhs: Array, rhs: Array, predicate: Predicate, ordering: Ordering) -> Array:
        """IEEE comparison."""
        nan = np.isnan(lhs) | np.isnan(rhs)
        plain = compare(predicate, lhs, rhs)
        return plain & ~nan if ordering == Ordering.ORDERED else plain | nan
