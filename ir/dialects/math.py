"""math: float functions on scalars and packed 16-bit pairs; names as in MLIR's math dialect.

`rounding` "rn" and "full" ask for an accurate result (f32 exp within 2 ulp), "approx" for the hardware approximation.
"""

from __future__ import annotations

from ir.core import Attr, Op, Operand, flag, op, same_type_as
from ir.dialects.arith import is_float, is_integer


class FloatUnary(Op):
    """Shape shared by one-operand functions."""

    operand = Operand(is_float)
    rounding = Attr(str, "rn")
    result = same_type_as("operand")


class FlushingUnary(FloatUnary):
    """Those that may flush subnormal operands and results of f32 to zero."""

    ftz = flag()


@op("math.fma", upstream=True)
class Fma(Op):
    """a * b + c with one rounding; `paired` as in arith."""

    a = Operand(is_float)
    b = Operand(is_float)
    c = Operand(is_float)
    rounding = Attr(str, "rn")
    ftz = flag()
    paired = flag()
    result = same_type_as("a")

    def verify(self) -> None:
        """All operands have one type."""
        self.expect(self.a.type == self.b.type == self.c.type, "operands differ")


@op("math.exp", upstream=True)
class Exp(FloatUnary):
    """e^x; approx is ex2.approx(x * log2 e)."""


@op("math.exp2", upstream=True)
class Exp2(FlushingUnary):
    """2^x."""


@op("math.log", upstream=True)
class Log(FloatUnary):
    """Natural logarithm."""


@op("math.log2", upstream=True)
class Log2(FloatUnary):
    """Base-2 logarithm."""


@op("math.sqrt", upstream=True)
class Sqrt(FlushingUnary):
    """Square root."""


@op("math.rsqrt", upstream=True)
class Rsqrt(FlushingUnary):
    """1 / sqrt(x)."""


@op("math.absf", upstream=True)
class AbsF(FloatUnary):
    """Magnitude."""


@op("math.tanh", upstream=True)
class Tanh(FloatUnary):
    """Hyperbolic tangent."""


@op("math.tan", upstream=True)
class Tan(FloatUnary):
    """Tangent of radians."""


@op("math.sinh", upstream=True)
class Sinh(FloatUnary):
    """Hyperbolic sine."""


@op("math.cosh", upstream=True)
class Cosh(FloatUnary):
    """Hyperbolic cosine."""


@op("math.atan2", upstream=True)
class Atan2(Op):
    """The angle of the point whose ordinate comes first, then its abscissa."""

    y = Operand(is_float)
    x = Operand(is_float)
    result = same_type_as("y")


@op("math.powf", upstream=True)
class PowF(Op):
    """base ^ exponent by IEEE 754's pow."""

    base = Operand(is_float)
    exponent = Operand(is_float)
    result = same_type_as("base")


@op("math.fpowi", upstream=True)
class FPowI(Op):
    """base ^ exponent, a signed integer."""

    base = Operand(is_float)
    exponent = Operand(is_integer)
    result = same_type_as("base")


class IntUnary(Op):
    """Shape shared by functions of one integer."""

    operand = Operand(is_integer)
    result = same_type_as("operand")


@op("math.absi", upstream=True)
class AbsI(IntUnary):
    """Magnitude; the minimum integer maps to itself."""


@op("math.ctpop", upstream=True)
class CtPop(IntUnary):
    """Number of set bits."""


@op("math.ctlz", upstream=True)
class CtLz(IntUnary):
    """Zeros above the highest set bit; all bits for zero."""


@op("math.cttz", upstream=True)
class CtTz(IntUnary):
    """Zeros below the lowest set bit; all bits for zero."""


@op("math.sin", upstream=True)
class Sin(FloatUnary):
    """Sine of radians."""


@op("math.cos", upstream=True)
class Cos(FloatUnary):
    """Cosine of radians."""


@op("math.floor", upstream=True)
class Floor(FloatUnary):
    """Largest integer not above x."""


@op("math.ceil", upstream=True)
class Ceil(FloatUnary):
    """Smallest integer not below x."""


@op("math.trunc", upstream=True)
class Trunc(FloatUnary):
    """x rounded to an integer towards zero."""
