"""cuda_tile conversions between element types; shapes never change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir.core import Attr, Operand, Result, Type, flag, op
from ir.dialects.cuda_tile.attributes import ELEMENTWISE, Array, Overflow, Rounding, Signedness, dtype_of
from ir.dialects.cuda_tile.constraints import (
    ADDRESS_INT,
    ANY_FLOAT,
    INT,
    NUMBER,
    POINTER,
    WIDER_INT,
    TileOp,
    element_type,
    width_of,
)
from ir.dialects.cuda_tile.numerics import (
    convert_float,
    float_to_int,
    from_bits,
    int_to_float,
    read_unsigned,
    read_wide,
    to_bits,
)
from ir.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E5M3FNU,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    TF32,
    TileType,
)


@op("cuda_tile.bitcast", opcode=9)
class Bitcast(TileOp):
    """The same bits read as another number type of the same width."""

    syntax = "$source : source -> result"

    source = Operand(NUMBER)
    result = Result(NUMBER)

    placement = ELEMENTWISE
    lowers_to = "arith.bitcast"
    needs_result_type = True

    def verify(self) -> None:
        """Shape and width stay."""
        self.same_shape("result", self.result, "source", self.source)
        widths = [width_of(value) for value in (self.source, self.result)]
        self.expect(widths[0] == widths[1], "{} bits cannot be read as {}", *widths)

    def evaluate(self, operands: Sequence[Array]) -> Array:
        """The source's element type determines what its bits mean if NumPy has no type of that format."""
        if F8E5M3FNU in (element_type(self.source), element_type(self.result)):
            return from_bits(to_bits(operands[0], element_type(self.source)), element_type(self.result))
        return super().evaluate(operands)

    @staticmethod
    def reference(source: Array, result_type: TileType) -> Array:
        """A view of the bytes."""
        return np.ascontiguousarray(source).view(dtype_of(result_type.element)).reshape(source.shape)


@op("cuda_tile.exti", opcode=37)
class ExtI(TileOp):
    """A wider integer by sign or zero extension."""

    syntax = "$from {signedness} : from -> to"

    from_ = Operand(WIDER_INT)
    signedness = Attr(Signedness)
    to = Result(WIDER_INT)

    placement = ELEMENTWISE
    lowers_to = "arith.extsi"
    lowers_to_unsigned = "arith.extui"
    needs_result_type = True

    def verify(self) -> None:
        """The shape stays, the width grows."""
        self.same_shape("to", self.to, "from", self.from_)
        wider = width_of(self.to) > width_of(self.from_)
        self.expect(wider, "result {} must be wider than operand 'from', {}", self.to.type, self.from_.type)

    @staticmethod
    def reference(from_: Array, signedness: Signedness, result_type: TileType) -> Array:
        """The value as signed or unsigned, in the wider type."""
        values = read_wide(from_) if signedness else read_unsigned(from_)
        return values.astype(dtype_of(result_type.element))


@op("cuda_tile.trunci", opcode=107)
class TruncI(TileOp):
    """The low bits of an integer."""

    syntax = "$from <overflow> : from -> to"

    from_ = Operand(WIDER_INT)
    overflow = Attr(Overflow, Overflow.NONE)
    to = Result(WIDER_INT)

    placement = ELEMENTWISE
    lowers_to = "arith.trunci"
    needs_result_type = True

    def verify(self) -> None:
        """The shape stays, the width shrinks."""
        self.same_shape("to", self.to, "from", self.from_)
        narrower = width_of(self.to) < width_of(self.from_)
        self.expect(narrower, "result {} must be narrower than operand 'from', {}", self.to.type, self.from_.type)

    @staticmethod
    def reference(from_: Array, overflow: Overflow = Overflow.NONE, *, result_type: TileType) -> Array:
        """The value modulo 2^width; to i1 the lowest bit."""
        dtype = dtype_of(result_type.element)
        return (from_ & 1).astype(np.bool_) if dtype == np.bool_ else from_.astype(dtype)


FORMATS: dict[Type, tuple[int, int, int]] = {
    F16: (10, -14, 15),
    BF16: (7, -126, 127),
    F32: (23, -126, 127),
    TF32: (10, -126, 127),
    F64: (52, -1022, 1023),
    F8E4M3FN: (3, -6, 8),
    F8E5M2: (2, -14, 15),
    F8E8M0FNU: (0, -127, 127),
    F4E2M1FN: (1, 0, 2),
    F8E5M3FNU: (3, -14, 16),
}
"""Mantissa bits, minimum and maximum exponent of normal numbers (IEEE 754-2019; OCP microscaling formats 1.0)."""
NARROW = (F8E4M3FN, F8E5M2, F4E2M1FN, F8E5M3FNU)
NEAREST, ZERO, DOWN, UP, AWAY = (
    Rounding.NEAREST_EVEN,
    Rounding.ZERO,
    Rounding.NEGATIVE_INF,
    Rounding.POSITIVE_INF,
    Rounding.NEAREST_AWAY,
)


def roundings_between(source: Type, target: Type) -> tuple[Rounding, ...]:
    """The roundings that ftof allows between two formats; if nothing is lost, all (tileirdisasm 13.4)."""
    if target == F8E8M0FNU:
        return ZERO, UP
    if target in NARROW:
        return (NEAREST,)
    (bits, least, most), (kept, lowest, highest) = FORMATS[source], FORMATS[target]
    if bits <= kept and least >= lowest and most <= highest:
        return NEAREST, ZERO, DOWN, UP, AWAY
    if (source, target) == (F64, F32):
        return NEAREST, ZERO, DOWN, UP
    return (NEAREST, ZERO, AWAY) if (source, target) == (F32, TF32) else (NEAREST, ZERO)


@op("cuda_tile.ftof", opcode=42)
class FToF(TileOp):
    """Float to float; narrowing rounds (lowers to arith.truncf)."""

    syntax = "$from <rounding>_ : from -> to"

    from_ = Operand(ANY_FLOAT)
    rounding = Attr(Rounding, Rounding.NEAREST_EVEN)
    to = Result(ANY_FLOAT)

    placement = ELEMENTWISE
    lowers_to = "arith.extf"
    needs_result_type = True

    def verify(self) -> None:
        """The shape stays, the type changes; the rounding is one that the pair of formats allows."""
        self.same_shape("to", self.to, "from", self.from_)
        self.expect(self.to.type != self.from_.type, "operand and result have the same type, {}", self.to.type)
        allowed = roundings_between(element_type(self.from_), element_type(self.to))
        self.rounding_among(self.rounding, allowed, self.from_)

    @staticmethod
    def reference(from_: Array, rounding: Rounding = Rounding.NEAREST_EVEN, *, result_type: TileType) -> Array:
        """One rounding; tf32 keeps 10 mantissa bits."""
        return convert_float(from_, result_type.element, rounding)


@op("cuda_tile.ftoi", opcode=43)
class FToI(TileOp):
    """Float to integer, rounded towards zero; out of range is undefined unless `saturating` (here it saturates)."""

    syntax = "$from {signedness} <rounding>_ saturating? : from -> to"

    from_ = Operand(ANY_FLOAT)
    signedness = Attr(Signedness)
    rounding = Attr(Rounding, Rounding.NEAREST_INT_TO_ZERO)
    saturating = flag(since=(13, 4))
    to = Result(INT)

    placement = ELEMENTWISE
    lowers_to = "arith.fptosi"
    lowers_to_unsigned = "arith.fptoui"
    needs_result_type = True

    def verify(self) -> None:
        """The shape stays; rounding is towards zero."""
        self.same_shape("to", self.to, "from", self.from_)
        self.rounding_among(self.rounding, (Rounding.NEAREST_INT_TO_ZERO,), self.from_)

    @staticmethod
    def reference(
        from_: Array,
        signedness: Signedness,
        rounding: Rounding = Rounding.NEAREST_INT_TO_ZERO,
        saturating: bool = False,
        *,
        result_type: TileType,
    ) -> Array:
        """Truncation, then saturation; NaN gives 0."""
        return float_to_int(from_, bool(signedness), dtype_of(result_type.element))


@op("cuda_tile.itof", opcode=59)
class IToF(TileOp):
    """Integer to float, rounded to nearest."""

    syntax = "$from {signedness} <rounding>_ : from -> to"

    from_ = Operand(INT)
    signedness = Attr(Signedness)
    rounding = Attr(Rounding, Rounding.NEAREST_EVEN)
    to = Result(ANY_FLOAT)

    placement = ELEMENTWISE
    lowers_to = "arith.sitofp"
    lowers_to_unsigned = "arith.uitofp"
    needs_result_type = True

    def verify(self) -> None:
        """The shape stays; rounding is to nearest, which f8E8M0FNU does not have."""
        self.same_shape("to", self.to, "from", self.from_)
        scale = element_type(self.to) == F8E8M0FNU
        self.expect(not scale, "result 'to' cannot be {}: convert to another float first", self.to.type)
        self.rounding_among(self.rounding, (Rounding.NEAREST_EVEN,), self.from_)

    @staticmethod
    def reference(
        from_: Array,
        signedness: Signedness,
        rounding: Rounding = Rounding.NEAREST_EVEN,
        *,
        result_type: TileType,
    ) -> Array:
        """The value as signed or unsigned, rounded once."""
        values = read_wide(from_) if signedness else read_unsigned(from_)
        return int_to_float(values, result_type.element, rounding)


@op("cuda_tile.int_to_ptr", opcode=51)
class IntToPtr(TileOp):
    """An i64 address as a pointer."""

    syntax = "$source : source -> result"

    source = Operand(ADDRESS_INT)
    result = Result(POINTER)

    placement = ELEMENTWISE
    lowers_to = "llvm.inttoptr"

    def verify(self) -> None:
        """The shape stays."""
        self.same_shape("result", self.result, "source", self.source)

    @staticmethod
    def reference(source: Array) -> Array:
        """Addresses are int64."""
        return source


@op("cuda_tile.ptr_to_int", opcode=86)
class PtrToInt(TileOp):
    """A pointer as its i64 address."""

    syntax = "$source : source -> result"

    source = Operand(POINTER)
    result = Result(ADDRESS_INT)

    placement = ELEMENTWISE
    lowers_to = "llvm.ptrtoint"

    def verify(self) -> None:
        """The shape stays."""
        self.same_shape("result", self.result, "source", self.source)

    @staticmethod
    def reference(source: Array) -> Array:
        """Addresses are int64."""
        return source


@op("cuda_tile.ptr_to_ptr", opcode=87)
class PtrToPtr(TileOp):
    """The same address with another pointee."""

    syntax = "$source : source -> result"

    source = Operand(POINTER)
    result = Result(POINTER)

    placement = ELEMENTWISE
    lowers_to = "llvm.bitcast"

    def verify(self) -> None:
        """The shape stays."""
        self.same_shape("result", self.result, "source", self.source)

    @staticmethod
    def reference(source: Array) -> Array:
        """Addresses are int64."""
        return source
