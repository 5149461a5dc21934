"""Arithmetic from Blackwell on, on pairs of f32 and with three operands; formats of four, six and eight bits."""

from __future__ import annotations

from collections.abc import Iterator

from ir.core import Attr, Operand, Result, flag, same_type_as
from ir.dialects.nvvm.numbers import F4, HALVES, SINGLE
from ir.instruction import HALF_WORD, Form, Instruction, Needs, instruction
from ir.types import BF16, F16, F32, I16, I64, Constraint, VectorType

SM_100 = Needs(100, (8, 6))
ROUNDINGS = ("rn", "rz", "rm", "rp")
F32X2 = VectorType((2,), F32)
PAIR = Constraint("i64 or vector<2xf32>", lambda t: t in (I64, F32X2), (I64,))
"""A 64-bit register; in nvgpu, two f32, which everywhere else are in one register each."""


class Pairs(Instruction):
    """Shape shared by arithmetic on two f32 in one register of 64 bits, low one first."""

    x = Operand(PAIR)
    y = Operand(PAIR)
    rounding = Attr(str, "rn", among=ROUNDINGS)
    ftz = flag()

    def verify(self) -> None:
        """All operands have one type."""
        self.expect(len({value.type for value in self.operands}) == 1, "operands differ")


@instruction(
    "nvvm.add.packed.f32x2",
    "add.{rounding}{ftz?.ftz}.f32x2 {result}, {x:register}, {y:register};",
    SM_100,
    source="PTX ISA 8.8, add",
    seed="nvgpu.add.packed.f32x2",
)
class AddF32x2(Pairs):
    """Two sums."""

    result = same_type_as("x")


@instruction(
    "nvvm.sub.packed.f32x2",
    "sub.{rounding}{ftz?.ftz}.f32x2 {result}, {x:register}, {y:register};",
    SM_100,
    source="PTX ISA 8.8, sub",
)
class SubF32x2(Pairs):
    """Two differences."""

    result = same_type_as("x")


@instruction(
    "nvvm.mul.packed.f32x2",
    "mul.{rounding}{ftz?.ftz}.f32x2 {result}, {x:register}, {y:register};",
    SM_100,
    source="PTX ISA 8.8, mul",
    seed="nvgpu.mul.packed.f32x2",
)
class MulF32x2(Pairs):
    """Two products."""

    result = same_type_as("x")


@instruction(
    "nvvm.fma.packed.f32x2",
    "fma.{rounding}{ftz?.ftz}.f32x2 {result}, {x:register}, {y:register}, {z:register};",
    SM_100,
    source="PTX ISA 8.8, fma",
    seed="nvgpu.fma.packed.f32x2",
)
class FmaF32x2(Pairs):
    """Two products, each plus a number, rounded once."""

    z = Operand(PAIR)
    result = same_type_as("x")


class OfThree(Instruction):
    """Shape shared by extrema of three f32."""

    x = Operand(SINGLE)
    y = Operand(SINGLE)
    z = Operand(SINGLE)
    ftz = flag()
    nan = flag()
    result = same_type_as("x")


@instruction(
    "nvvm.max3", "max{ftz?.ftz}{nan?.NaN}.f32 {result}, {x}, {y}, {z};", Needs(100, (8, 8)), source="PTX ISA 8.8, max"
)
class Max3(OfThree):
    """The maximum of three; `nan`: NaN if one of them is."""


@instruction(
    "nvvm.min3", "min{ftz?.ftz}{nan?.NaN}.f32 {result}, {x}, {y}, {z};", Needs(100, (8, 8)), source="PTX ISA 8.8, min"
)
class Min3(OfThree):
    """The minimum of three; `nan`: NaN if one of them is."""


SIX = ("e2m3", "e3m2")
"""Formats of six bits, each in a byte."""


@instruction(
    "nvvm.convert.f32x2.to.f6x2",
    "cvt.rn.satfinite{relu?.relu}.{kind}x2.f32 {result}, {high}, {low};",
    F4,
    source="PTX ISA 8.8, cvt",
    seed="nvgpu.cvt_fptrunc",
)
class ConvertF32x2ToF6x2(Instruction):
    """Two f32 rounded to nearest into six bits of a byte each; `relu`: negative values become zero."""

    low = Operand(SINGLE)
    high = Operand(SINGLE)
    kind = Attr(str, among=SIX)
    relu = flag()
    result = Result(HALF_WORD)


@instruction(
    "nvvm.convert.f6x2.to.f16x2",
    "cvt.rn.f16x2.{kind}x2 {result}, {source:register};",
    F4,
    source="PTX ISA 8.8, cvt",
    seed="nvgpu.cvt_fpext",
)
class ConvertF6x2ToF16x2(Instruction):
    """Two bytes of six bits as a pair of f16, exactly."""

    source = Operand(HALF_WORD)
    kind = Attr(str, among=SIX)
    result = Result(HALVES)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Both formats."""
        for kind in SIX:
            yield Form(((I16,),), (VectorType((2,), F16),), {"kind": kind})


@instruction(
    "nvvm.convert.f32x2.to.f8x2.ue8m0",
    "cvt.{rounding}{finite?.satfinite}.ue8m0x2.f32 {result}, {high}, {low};",
    F4,
    source="PTX ISA 8.8, cvt: rounded to zero or up",
    seed="nvgpu.cvt_fptrunc",
)
class ConvertF32x2ToScales(Instruction):
    """Two f32 rounded to powers of two, a byte each; `finite`: values that are too large become the largest one."""

    low = Operand(SINGLE)
    high = Operand(SINGLE)
    rounding = Attr(str, among=("rz", "rp"))
    finite = flag()
    result = Result(HALF_WORD)


@instruction(
    "nvvm.convert.ue8m0x2.to.bf16x2",
    "cvt.rn.bf16x2.ue8m0x2 {result}, {source:register};",
    F4,
    source="PTX ISA 8.8, cvt",
    seed="nvgpu.cvt_fpext",
)
class ConvertScalesToBF16x2(Instruction):
    """Two powers of two of a byte each as a pair of bf16, exactly."""

    source = Operand(HALF_WORD)
    result = Result(HALVES)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """The only one."""
        yield Form(((I16,),), (VectorType((2,), BF16),), {})
