"""arith: integer and float arithmetic on scalars, on packed 16-bit pairs (vector<2xf16>, vector<2xbf16>) of the
per-thread levels, and elementwise on the tensors of nv_tileaa and nv_tileas.

Names and semantics are those of MLIR's arith dialect, except `mulsi_wide` and `mului_wide` (ours: i32 x i32 -> i64).
Float ops carry `rounding` (rn, rz, rm, rp, rna, approx, full) and `ftz`, which PTX has and MLIR does not.
"""

from __future__ import annotations

from ir.core import Attr, Op, Operand, Result, flag, op, same_type_as
from ir.types import I1, I32, I64, TF32, FloatType, IntType, TensorType, Type, VectorType
from ir.upstream import SAME, codes, overflow

INT_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = ("oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno")
UPSTREAM_BITS: dict[Type, int] = {TF32: 19}
"""Widths of floats that upstream counts without their padding (builtin dialect, FloatTF32Type)."""
ROUNDINGS = ("rn", "rz", "rm", "rp", "rna", "approx", "full")


def element_of(type: Type) -> Type:
    """The scalar type under a vector or tensor, or the type itself."""
    return type.element if isinstance(type, VectorType | TensorType) else type


def is_integer(type: Type) -> bool:
    """An integer, or a vector or tensor of integers."""
    return isinstance(element_of(type), IntType)


def is_float(type: Type) -> bool:
    """A float, or a vector or tensor of floats."""
    return isinstance(element_of(type), FloatType)


def is_predicate(type: Type) -> bool:
    """A predicate, or a tensor of predicates."""
    return element_of(type) == I1


@op("arith.constant", upstream=True)
class Constant(Op):
    """A number of the result's type; on a packed pair both halves hold it. Integers may be given as signed."""

    value: Attr[int | float] = Attr(float, form=SAME)
    result = Result()


class IntBinary(Op):
    """Shape shared by two-operand integer ops."""

    lhs = Operand(is_integer)
    rhs = Operand(is_integer)
    result = same_type_as("lhs")

    def verify(self) -> None:
        """Both operands have one type."""
        self.expect(self.lhs.type == self.rhs.type, "operands differ: {} and {}", self.lhs.type, self.rhs.type)


class FloatBinary(Op):
    """Shape shared by two-operand float ops."""

    lhs = Operand(is_float)
    rhs = Operand(is_float)
    rounding = Attr(str, "rn")
    ftz = flag()
    result = same_type_as("lhs")

    def verify(self) -> None:
        """Both operands have one type and the rounding mode is known."""
        self.expect(self.lhs.type == self.rhs.type, "operands differ: {} and {}", self.lhs.type, self.rhs.type)
        self.expect(self.rounding in ROUNDINGS, "unknown rounding {}", self.rounding)


class FloatArithmetic(FloatBinary):
    """Shape shared by sum, difference and product; `paired`: for tiles, a thread's elements are processed two
    at a time.
    """

    paired = flag()


class Cast(Op):
    """Shape shared by conversions; the result type is given at creation."""

    value = Operand()
    result = Result()


@op("arith.addi", upstream=True)
class AddI(IntBinary):
    """Sum modulo 2^width; `nsw` asserts no signed wrap, `nuw` no unsigned one."""

    nsw = flag(form=overflow("arith"))
    nuw = flag()


@op("arith.subi", upstream=True)
class SubI(IntBinary):
    """Difference modulo 2^width; `nsw` asserts no signed wrap, `nuw` no unsigned one."""

    nsw = flag(form=overflow("arith"))
    nuw = flag()


@op("arith.muli", upstream=True)
class MulI(IntBinary):
    """Product modulo 2^width; `nsw` asserts no signed wrap, `nuw` no unsigned one."""

    nsw = flag(form=overflow("arith"))
    nuw = flag()


@op("arith.divsi", upstream=True)
class DivSI(IntBinary):
    """Signed quotient, rounded towards zero."""


@op("arith.divui", upstream=True)
class DivUI(IntBinary):
    """Unsigned quotient, rounded down."""


@op("arith.remsi", upstream=True)
class RemSI(IntBinary):
    """Signed remainder with the sign of the dividend."""


@op("arith.remui", upstream=True)
class RemUI(IntBinary):
    """Unsigned remainder."""


@op("arith.floordivsi", upstream=True)
class FloorDivSI(IntBinary):
    """Signed quotient, rounded towards minus infinity."""


@op("arith.ceildivsi", upstream=True)
class CeilDivSI(IntBinary):
    """Signed quotient, rounded towards plus infinity."""


@op("arith.ceildivui", upstream=True)
class CeilDivUI(IntBinary):
    """Unsigned quotient, rounded up."""


@op("arith.shli", upstream=True)
class ShLI(IntBinary):
    """Shift left; an amount of at least the width gives an undefined value. `nsw` asserts that no bit that differs from
    the sign is shifted out, `nuw` that no set bit is.
    """

    nsw = flag(form=overflow("arith"))
    nuw = flag()


@op("arith.shrsi", upstream=True)
class ShRSI(IntBinary):
    """Arithmetic shift right."""


@op("arith.shrui", upstream=True)
class ShRUI(IntBinary):
    """Logical shift right."""


@op("arith.andi", upstream=True)
class AndI(IntBinary):
    """Bitwise and."""


@op("arith.ori", upstream=True)
class OrI(IntBinary):
    """Bitwise or."""


@op("arith.xori", upstream=True)
class XOrI(IntBinary):
    """Bitwise exclusive or."""


@op("arith.maxsi", upstream=True)
class MaxSI(IntBinary):
    """Signed maximum."""


@op("arith.maxui", upstream=True)
class MaxUI(IntBinary):
    """Unsigned maximum."""


@op("arith.minsi", upstream=True)
class MinSI(IntBinary):
    """Signed minimum."""


@op("arith.minui", upstream=True)
class MinUI(IntBinary):
    """Unsigned minimum."""


@op("arith.mulhui")
class MulHUI(IntBinary):
    """The high half of the unsigned double-width product (arith.mului_extended's second result upstream)."""


class WideMultiply(Op):
    """Shape shared by the widening products."""

    lhs = Operand(lambda t: t == I32)
    rhs = Operand(lambda t: t == I32)
    result = Result(lambda t: t == I64)


@op("arith.mulsi_wide")
class MulSIWide(WideMultiply):
    """Signed i32 x i32 -> i64 (ours)."""


@op("arith.mului_wide")
class MulUIWide(WideMultiply):
    """Unsigned i32 x i32 -> i64 (ours)."""


@op("arith.cmpi", upstream=True)
class CmpI(Op):
    """Integer comparison; `predicate` is one of INT_PREDICATES."""

    lhs = Operand(is_integer)
    rhs = Operand(is_integer)
    predicate = Attr(str, form=codes(INT_PREDICATES))
    result = Result(is_predicate)

    def verify(self) -> None:
        """One operand type, a known predicate."""
        self.expect(self.lhs.type == self.rhs.type, "operands differ: {} and {}", self.lhs.type, self.rhs.type)
        self.expect(self.predicate in INT_PREDICATES, "unknown predicate {}", self.predicate)


@op("arith.select", upstream=True)
class Select(Op):
    """`true_value` if the condition holds, otherwise `false_value`."""

    condition = Operand(is_predicate)
    true_value = Operand()
    false_value = Operand()
    result = same_type_as("true_value")


@op("arith.extsi", upstream=True)
class ExtSI(Cast):
    """Sign extension."""


@op("arith.extui", upstream=True)
class ExtUI(Cast):
    """Zero extension; i1 gives 0 or 1."""


@op("arith.trunci", upstream=True)
class TruncI(Cast):
    """The low bits; `nsw` asserts that they equal the value as a signed number, `nuw` as an unsigned one."""

    nsw = flag(form=overflow("arith"))
    nuw = flag()


@op("arith.index_cast")
class IndexCast(Cast):
    """Sign extension or truncation between integer widths."""


@op("arith.addf", upstream=True)
class AddF(FloatArithmetic):
    """Sum."""


@op("arith.subf", upstream=True)
class SubF(FloatArithmetic):
    """Difference."""


@op("arith.mulf", upstream=True)
class MulF(FloatArithmetic):
    """Product."""


@op("arith.divf", upstream=True)
class DivF(FloatBinary):
    """Quotient; rounding `full` (2 ulp) and `approx` (2 ulp, limited range) are PTX's faster forms."""


@op("arith.remf", upstream=True)
class RemF(Op):
    """Remainder of truncated division, exact; the sign of the dividend."""

    lhs = Operand(is_float)
    rhs = Operand(is_float)
    result = same_type_as("lhs")

    def verify(self) -> None:
        """Both operands have one type."""
        self.expect(self.lhs.type == self.rhs.type, "operands differ: {} and {}", self.lhs.type, self.rhs.type)


@op("arith.negf", upstream=True)
class NegF(Op):
    """Sign flip."""

    operand = Operand(is_float)
    result = same_type_as("operand")


@op("arith.maximumf", upstream=True)
class MaximumF(FloatBinary):
    """Maximum; NaN if either operand is NaN; -0 < +0."""


@op("arith.maxnumf", upstream=True)
class MaxNumF(FloatBinary):
    """Maximum; the other operand if one is NaN."""


@op("arith.minimumf", upstream=True)
class MinimumF(FloatBinary):
    """Minimum; NaN if either operand is NaN; -0 < +0."""


@op("arith.minnumf", upstream=True)
class MinNumF(FloatBinary):
    """Minimum; the other operand if one is NaN."""


@op("arith.cmpf", upstream=True)
class CmpF(Op):
    """Float comparison; `predicate` is one of FLOAT_PREDICATES (o: false on NaN, u: true on NaN)."""

    lhs = Operand(is_float)
    rhs = Operand(is_float)
    predicate = Attr(str, form=codes(FLOAT_PREDICATES, first=1))
    ftz = flag()
    result = Result(is_predicate)

    def verify(self) -> None:
        """One operand type, a known predicate."""
        self.expect(self.lhs.type == self.rhs.type, "operands differ: {} and {}", self.lhs.type, self.rhs.type)
        self.expect(self.predicate in FLOAT_PREDICATES, "unknown predicate {}", self.predicate)


class FloatCast(Cast):
    """A conversion with a rounding mode."""

    rounding = Attr(str, "rn")
    ftz = flag()

    def sizes(self) -> tuple[int, int]:
        """Bits of operand and result as upstream counts them."""
        source, result = (element_of(value.type) for value in (self.value, self.result))
        return tuple([UPSTREAM_BITS.get(t, getattr(t, "width", 0)) for t in (source, result)])  # pyright: ignore[reportReturnType]


@op("arith.extf", upstream=True)
class ExtF(FloatCast):
    """To a wider float; exact."""

    def is_upstream(self) -> bool:
        """Must be wider also as upstream counts."""
        source, result = self.sizes()
        return source < result


@op("arith.truncf", upstream=True)
class TruncF(FloatCast):
    """To a narrower float, including tf32, or another one of equal width. rn rounds to nearest even; tf32 also takes
    `rna` (ties away).
    """

    def is_upstream(self) -> bool:
        """Must be narrower also as upstream counts."""
        source, result = self.sizes()
        return source > result


class IntegerCast(FloatCast):
    """A conversion from an integer; `mantissas`: for tiles, a register of bytes at a time, as mantissas of floats."""

    mantissas = flag()


@op("arith.sitofp", upstream=True)
class SIToFP(IntegerCast):
    """Signed integer to float."""


@op("arith.uitofp", upstream=True)
class UIToFP(IntegerCast):
    """Unsigned integer to float."""


@op("arith.fptosi", upstream=True)
class FPToSI(FloatCast):
    """Float to signed integer towards zero; `saturating`: out-of-range values give the nearest integer, NaN gives 0."""

    saturating = flag()


@op("arith.fptoui", upstream=True)
class FPToUI(FloatCast):
    """Float to unsigned integer towards zero; `saturating` as for fptosi."""

    saturating = flag()


@op("arith.bitcast", upstream=True)
class Bitcast(Cast):
    """The same bits under another type of the same width."""
