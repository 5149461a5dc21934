"""cuda_tile transcendental and rounding functions; the reference computes in float64 and rounds once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ir.core import Attr, Operand, flag, op, same_type_as
from ir.dialects.cuda_tile.attributes import ELEMENTWISE, Array, Rounding
from ir.dialects.cuda_tile.constraints import FLOAT, INT, TileOp
from ir.dialects.cuda_tile.floating import DIRECTED
from ir.dialects.cuda_tile.numerics import flush, round_float64, sqrt_rounded


class FloatUnary(TileOp):
    """One float tile to another of its type."""

    syntax = "$source : source"

    source = Operand(FLOAT)
    result = same_type_as("source")

    placement = ELEMENTWISE


def apply(function: Callable[[Array], Array], source: Array) -> Array:
    """An elementwise function in float64, rounded to the type of `source`."""
    with np.errstate(all="ignore"):
        return round_float64(np.asarray(function(source.astype(np.float64))), source.dtype)


@op("cuda_tile.exp", opcode=23)
class Exp(FloatUnary):
    """e^x; APPROX (f32) is the fast form."""

    syntax = "$source <rounding>_ : source"

    rounding = Attr(Rounding, Rounding.FULL, since=(13, 3))
    lowers_to = "math.exp"

    def verify(self) -> None:
        """FULL is every type's form, APPROX is f32's."""
        self.expect(self.rounding in (Rounding.FULL, Rounding.APPROX), "rounding must be full or approx")
        if self.rounding == Rounding.APPROX:
            self.f32_only("rounding<approx>", self.source)

    @staticmethod
    def reference(source: Array, rounding: Rounding = Rounding.FULL) -> Array:
        """numpy.exp."""
        return apply(np.exp, source)


@op("cuda_tile.exp2", opcode=24)
class Exp2(FloatUnary):
    """2^x."""

    syntax = "$source flush_to_zero? : source"

    flush_to_zero = flag()
    lowers_to = "math.exp2"

    def verify(self) -> None:
        """Flushing needs f32."""
        if self.flush_to_zero:
            self.f32_only("flush_to_zero", self.source)

    @staticmethod
    def reference(source: Array, flush_to_zero: bool = False) -> Array:
        """numpy.exp2."""
        return flush(apply(np.exp2, flush(source, flush_to_zero)), flush_to_zero)


@op("cuda_tile.log", opcode=63)
class Log(FloatUnary):
    """Natural logarithm."""

    lowers_to = "math.log"

    @staticmethod
    def reference(source: Array) -> Array:
        """numpy.log."""
        return apply(np.log, source)


@op("cuda_tile.log2", opcode=64)
class Log2(FloatUnary):
    """Logarithm to base 2."""

    lowers_to = "math.log2"

    @staticmethod
    def reference(source: Array) -> Array:
        """numpy.log2."""
        return apply(np.log2, source)


@op("cuda_tile.sqrt", opcode=100)
class Sqrt(FloatUnary):
    """Square root."""

    syntax = "$source <rounding>_ flush_to_zero? : source"

    rounding = Attr(Rounding, Rounding.NEAREST_EVEN)
    flush_to_zero = flag()
    lowers_to = "math.sqrt"

    def verify(self) -> None:
        """Flushing and the approximation need f32."""
        self.rounding_among(self.rounding, (*DIRECTED, Rounding.APPROX), self.source)
        if self.flush_to_zero:
            self.f32_only("flush_to_zero", self.source)

    @staticmethod
    def reference(source: Array, rounding: Rounding = Rounding.NEAREST_EVEN, flush_to_zero: bool = False) -> Array:
        """The root, rounded once."""
        return flush(sqrt_rounded(flush(source, flush_to_zero), rounding), flush_to_zero)


@op("cuda_tile.rsqrt", opcode=93)
class Rsqrt(FloatUnary):
    """1 / square root."""

    syntax = "$source flush_to_zero? : source"

    flush_to_zero = flag()
    lowers_to = "math.rsqrt"

    def verify(self) -> None:
        """Flushing needs f32."""
        if self.flush_to_zero:
            self.f32_only("flush_to_zero", self.source)

    @staticmethod
    def reference(source: Array, flush_to_zero: bool = False) -> Array:
        """1 / numpy.sqrt."""
        source = flush(source, flush_to_zero)
        return flush(apply(lambda x: 1.0 / np.sqrt(x), source), flush_to_zero)


@op("cuda_tile.sin", opcode=98)
class Sin(FloatUnary):
    """Sine of radians."""

    lowers_to = "math.sin"

    @staticmethod
    def reference(source: Array) -> Array:
        """numpy.sin."""
        return apply(np.sin, source)


@op("cuda_tile.cos", opcode=18)
class Cos(FloatUnary):
    """Cosine of radians."""

    lowers_to = "math.cos"

    @staticmethod
    def reference(source: Array) -> Array:
        """numpy.cos."""
        return apply(np.cos, source)


@op("cuda_tile.tan", opcode=105)
class Tan(FloatUnary):
    """Tangent of radians."""

    lowers_to = "math.tan"

    @staticmethod
    def reference(source: Array) -> Array:
        """numpy.tan."""
        return apply(np.tan, source)


@op("cuda_tile.sinh", opcode=99)
class Sinh(FloatUnary):
    """Hyperbolic sine."""

    lowers_to = "math.sinh"

    @staticmethod
    def reference(source: Array) -> Array:
        """numpy.sinh."""
        return apply(np.sinh, source)


@op("cuda_tile.cosh", opcode=19)
class Cosh(FloatUnary):
    """Hyperbolic cosine."""

    lowers_to = "math.cosh"

    @staticmethod
    def reference(source: Array) -> Array:
        """numpy.cosh."""
        return apply(np.cosh, source)


@op("cuda_tile.tanh", opcode=106)
class Tanh(FloatUnary):
    """Hyperbolic tangent; APPROX (f32) is the fast form."""

    syntax = "$source <rounding>_ : source"

    rounding = Attr(Rounding, Rounding.FULL, since=(13, 2))
    lowers_to = "math.tanh"

    def verify(self) -> None:
        """FULL is every type's form, APPROX is f32's."""
        self.expect(self.rounding in (Rounding.FULL, Rounding.APPROX), "rounding must be full or approx")
        if self.rounding == Rounding.APPROX:
            self.f32_only("rounding<approx>", self.source)

    @staticmethod
    def reference(source: Array, rounding: Rounding = Rounding.FULL) -> Array:
        """numpy.tanh."""
        return apply(np.tanh, source)


@op("cuda_tile.floor", opcode=39)
class Floor(FloatUnary):
    """The largest integer not above."""

    lowers_to = "math.floor"

    @staticmethod
    def reference(source: Array) -> Array:
        """numpy.floor."""
        return apply(np.floor, source)


@op("cuda_tile.ceil", opcode=13)
class Ceil(FloatUnary):
    """The smallest integer not below."""

    lowers_to = "math.ceil"

    @staticmethod
    def reference(source: Array) -> Array:
        """numpy.ceil."""
        return apply(np.ceil, source)


@op("cuda_tile.atan2", since=(13, 2), opcode=110)
class Atan2(TileOp):
    """The angle of the point (y, x), where operand `x` is the ordinate, as in atan2(x, y)."""

    syntax = "$x, $y : x"

    x = Operand(FLOAT)
    y = Operand(FLOAT)
    result = same_type_as("x")

    placement = ELEMENTWISE
    lowers_to = "math.atan2"

    def verify(self) -> None:
        """Both operands have one type."""
        self.same_type("y", self.y, "x", self.x)

    @staticmethod
    def reference(x: Array, y: Array) -> Array:
        """numpy.arctan2 of the operands in order."""
        return round_float64(np.arctan2(x.astype(np.float64), y.astype(np.float64)), x.dtype)


def _power(source: Array, exponent: Array) -> Array:
    wide, by = source.astype(np.float64), exponent.astype(np.float64)
    with np.errstate(all="ignore"):
        found = np.where(by == 2, wide * wide, np.power(wide, by))  # of 95.36 and 2 numpy.power is 1 ulp off
        return round_float64(found, source.dtype)


@op("cuda_tile.pow", opcode=84)
class Pow(TileOp):
    """source ^ exponent, both floats."""

    syntax = "$source, $exponent : source"

    source = Operand(FLOAT)
    exponent = Operand(FLOAT)
    result = same_type_as("source")

    placement = ELEMENTWISE
    lowers_to = "math.powf"

    def verify(self) -> None:
        """Both operands have one type."""
        self.same_type("exponent", self.exponent, "source", self.source)

    @staticmethod
    def reference(source: Array, exponent: Array) -> Array:
        """numpy.power in float64; squares are rounded once."""
        return _power(source, exponent)


@op("cuda_tile.fpowi", since=(13, 4), opcode=121)
class FPowI(TileOp):
    """source ^ exponent with an integer exponent: powers up to the fourth are products, each rounded; for other powers
    no accuracy is specified (CUDA Tile IR 13.4 specifies none at all; tileiras 13.5 multiplies).
    """

    syntax = "$source, $exponent : source, exponent"

    source = Operand(FLOAT)
    exponent = Operand(INT)
    result = same_type_as("source")

    placement = ELEMENTWISE
    lowers_to = "math.fpowi"

    def verify(self) -> None:
        """Both operands have one shape."""
        self.same_shape("exponent", self.exponent, "source", self.source)

    @staticmethod
    def reference(source: Array, exponent: Array) -> Array:
        """numpy.power in float64; (x x) x and (x x) (x x) for exponents 3 and 4."""
        found = _power(source, exponent)
        with np.errstate(all="ignore"):
            square = round_float64(np.square(source.astype(np.float64)), source.dtype).astype(np.float64)
            for number, other in ((3, source.astype(np.float64)), (4, square)):
                found = np.where(exponent == number, round_float64(square * other, source.dtype), found)
        return found
