"""Arithmetic that LLVM has no operation for: the special function unit, conversions of pairs, parts of registers."""

from __future__ import annotations

from collections.abc import Iterator

from ir.core import Attr, Operand, Result, Variadic, VariadicResult, flag, same_type_as
from ir.instruction import (
    REGISTER,
    SM_80,
    SM_89,
    WORD,
    Form,
    Instruction,
    Needs,
    instruction,
    ptx_type,
    register_bits,
)
from ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, F64, I8, I16, I32, I64, Constraint, IntType, VectorType
from ir.upstream import enumeration

FLOAT = Constraint("f16, bf16, f32 or f64, or a pair of halves", lambda t: ptx_type(t)[0] in "fb", (F32,))
SINGLE = Constraint("f32", lambda t: ptx_type(t) == "f32", (F32,))
INTEGER = Constraint("i32 or i64", lambda t: t in (I32, I64), (I32, I64))
HALVES = Constraint(
    "a pair of f16 or bf16",
    lambda t: isinstance(t, VectorType) and t.shape == (2,) and t.element in (F16, BF16),
    (VectorType((2,), F16), VectorType((2,), BF16)),
)
BYTES = Constraint(
    "a pair of f8",
    lambda t: isinstance(t, VectorType) and t.shape == (2,) and t.element in (F8E4M3FN, F8E5M2),
    (VectorType((2,), F8E4M3FN), VectorType((2,), F8E5M2)),
)

BYTE = Constraint("i8", lambda t: t == I8, (I8,))
INTEGER_OF_HALVES = Constraint("i8, i16 or i32", lambda t: t in (I8, I16, I32), (I8, I16, I32))


@instruction("nvvm.mov.pack", "mov.b{bits} {result}, {parts:bits};", SM_80, source="PTX ISA 8.8, mov (pack)")
class Pack(Instruction):
    """One register from its parts, low part first (ours; llvm.insertelement upstream)."""

    parts = Variadic(REGISTER)
    result = Result(REGISTER)

    @property
    def bits(self) -> int:
        """Size of the whole."""
        return register_bits(self.results[0].type)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Pairs of halves and of words, four halves."""
        yield Form(((F16, F16),), (VectorType((2,), F16),), {})
        yield Form(((I32, I32),), (I64,), {})
        yield Form(((I16,) * 4,), (I64,), {})


@instruction(
    "nvvm.mov.unpack", "mov.b{bits} {out:sink16}, {whole:register};", SM_80, source="PTX ISA 8.8, mov (unpack)"
)
class Unpack(Instruction):
    """The parts of a register, low part first (ours; llvm.extractelement upstream)."""

    whole = Operand(REGISTER)
    out = VariadicResult()

    @property
    def bits(self) -> int:
        """Size of the whole."""
        return register_bits(self.operands[0].type)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Pairs of halves and of words, four halves."""
        yield Form(((VectorType((2,), F16),),), (F16, F16), {})
        yield Form(((I64,),), (I32, I32), {})
        yield Form(((I64,),), (I16,) * 4, {})


class Conversion(Instruction):
    """Shape shared by conversions of two f32 into one register, the low one first."""

    low = Operand(SINGLE)
    high = Operand(SINGLE)


@instruction(
    "nvvm.convert.f32x2.to.f16x2",
    "cvt.{rounding}.{type}.f32 {result}, {high}, {low};",
    SM_80,
    source="PTX ISA 8.8, cvt: the high half comes first",
)
class ConvertF32x2(Conversion):
    """Two f32 rounded into one packed pair of f16 or bf16."""

    rounding = Attr(str, "rn", among=("rn", "rz"))
    result = Result(HALVES)

    @property
    def type(self) -> str:
        """PTX's name of the pair."""
        return ptx_type(self.results[0].type)


@instruction(
    "nvvm.convert.f32x2.to.f8x2",
    "cvt.rn.satfinite.{type}.f32 {result}, {high}, {low};",
    SM_89,
    source="PTX ISA 8.8, cvt: to f8 with .satfinite only",
)
class ConvertF32x2ToF8x2(Conversion):
    """Two f32 rounded to nearest into two bytes, the low one first; values that are too large become the
    largest one.
    """

    result = Result(BYTES)

    @property
    def type(self) -> str:
        """PTX's name of the pair."""
        return ptx_type(self.results[0].type)


@instruction("nvvm.convert.f8x2.to.f16x2", "cvt.rn.f16x2.{type} {result}, {source};", SM_89, source="PTX ISA 8.8, cvt")
class ConvertF8x2ToF16x2(Instruction):
    """Two bytes as a pair of f16, exactly."""

    source = Operand(BYTES)
    result = Result(HALVES)

    @property
    def type(self) -> str:
        """PTX's name of the bytes."""
        return ptx_type(self.operands[0].type)


F4_TARGETS = frozenset({"sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a"})
"""Targets with cvt to and from e2m1. Source: PTX ISA 8.8, cvt; ptxas 13.5 accepts it for each of them."""
F4 = Needs(100, (8, 6), F4_TARGETS)


@instruction(
    "nvvm.convert.f32.to.f4", "", F4, source="PTX ISA 8.8, cvt: .satfinite only, the high half byte comes first"
)
class ConvertF32ToF4(Instruction):
    """2, 4 or 8 f32 rounded to nearest, the half bytes of an i8, i16 or i32, the first one lowest; values that are too
    large become the largest one, and NaN the largest positive number (upstream has convert.f32x2.to.f4x2).
    """

    sources = Variadic(SINGLE)
    result = Result(INTEGER_OF_HALVES)

    @property
    def text(self) -> str:
        """One conversion for every two; mov of their bytes is not a separate instruction (ptxas 13.5 merges them)."""
        made = [f"b{i}" for i in range(len(self.sources) // 2)]
        pairs = "".join(
            f" cvt.rn.satfinite.e2m1x2.f32 {byte}, {{sources.{2 * i + 1}}}, {{sources.{2 * i}}};"
            for i, byte in enumerate(made)
        )
        joined = (
            f"mov.b{8 * len(made)} {{result}}, {{{{{', '.join(made)}}}}};"
            if len(made) > 1
            else "cvt.u16.u8 {result}, b0;"
        )
        return f"{{{{ .reg .b8 {', '.join(made)};{pairs} {joined} }}}}"

    def verify(self) -> None:
        """As many numbers as the result has half bytes."""
        kind, count = self.result.type, len(self.sources)
        fits = count in (2, 4, 8) and isinstance(kind, IntType) and kind.width == 4 * count
        self.expect(fits, "{} numbers do not fill the half bytes of {}", count, kind)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Two, four and eight numbers."""
        for count, kind in ((2, I8), (4, I16), (8, I32)):
            yield Form(((F32,) * count,), (kind,), {})


@instruction(
    "nvvm.convert.f4x2.to.f16x2",
    "{{ .reg .b8 b0; cvt.u8.u16 b0, {source:register}; cvt.rn.f16x2.e2m1x2 {result}, b0; }}",
    F4,
    source="PTX ISA 8.8, cvt",
)
class ConvertF4x2ToF16x2(Instruction):
    """The half bytes of an i8 as a pair of f16, exactly; the low one first."""

    source = Operand(BYTE)
    result = Result(HALVES)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """The only one."""
        yield Form(((I8,),), (VectorType((2,), F16),), {})


@instruction("nvvm.mul.hi", "mul.hi.{sign}{bits} {result}, {lhs}, {rhs};", SM_80, source="PTX ISA 8.8, mul")
class MulHigh(Instruction):
    """The high half of a product of i32 or i64, unsigned or not (ours; llvm.nvvm.mulhi.ui, .i upstream)."""

    lhs = Operand(INTEGER)
    rhs = Operand(INTEGER)
    signed = flag()
    result = same_type_as("lhs")

    @property
    def sign(self) -> str:
        """Letter of the type."""
        return "s" if self.signed else "u"

    @property
    def bits(self) -> int:
        """Width of the factors."""
        return register_bits(self.operands[0].type)

    def verify(self) -> None:
        """Factors of one type."""
        self.expect(self.lhs.type == self.rhs.type, "factors differ: {} and {}", self.lhs.type, self.rhs.type)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Both widths, both signs."""
        for kind in (I32, I64):
            yield Form(((kind,), (kind,)), (kind,), {})
            yield Form(((kind,), (kind,)), (kind,), {"signed": True})


PERMUTE_MODES = ("default", "f4e", "b4e")
"""Modes of prmt that read two registers; those of one register (rc8, ecl, ecr, rc16) are index modes too."""


@instruction(
    "nvvm.prmt", "prmt.b32{suffix} {result}, {lo}, {hi}, {selector};", SM_80, upstream=True, source="PTX ISA 8.8, prmt"
)
class Permute(Instruction):
    """Four of the eight bytes of two registers, selected by four half bytes of `selector` ("default"); or starting at a
    byte, forwards or backwards.
    """

    lo = Operand(WORD)
    hi = Operand(WORD)
    selector = Operand(WORD)
    mode = Attr(str, form=enumeration("nvvm.permute_mode", PERMUTE_MODES), among=PERMUTE_MODES)
    result = Result(WORD)

    @property
    def suffix(self) -> str:
        """PTX has no suffix for the first mode."""
        return "" if self.mode == "default" else f".{self.mode}"


class FloatUnary(Instruction):
    """Base of functions of one float; `ftz` flushes subnormal numbers to zero."""

    operand = Operand(FLOAT)
    ftz = flag()
    result = same_type_as("operand")

    @property
    def type(self) -> str:
        """PTX's name of the operand's type."""
        return ptx_type(self.operands[0].type)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Of f32, flushed and not."""
        yield Form(((F32,),), (F32,), {})
        yield Form(((F32,),), (F32,), {"ftz": True})


def _text(mnemonic: str) -> str:
    return f"{mnemonic}.approx{{ftz?.ftz}}.{{type}} {{result}}, {{operand}};"


@instruction("nvvm.ex2", _text("ex2"), SM_80, source="PTX ISA 8.8, ex2")
class Ex2(FloatUnary):
    """2^x, approximately."""


@instruction("nvvm.lg2", _text("lg2"), SM_80, source="PTX ISA 8.8, lg2")
class Lg2(FloatUnary):
    """log2 x, approximately."""


@instruction("nvvm.sin", _text("sin"), SM_80, source="PTX ISA 8.8, sin")
class Sin(FloatUnary):
    """Sine, approximately."""


@instruction("nvvm.cos", _text("cos"), SM_80, source="PTX ISA 8.8, cos")
class Cos(FloatUnary):
    """Cosine, approximately."""


@instruction("nvvm.tanh", _text("tanh"), SM_80, source="PTX ISA 8.8, tanh")
class Tanh(FloatUnary):
    """Hyperbolic tangent, approximately."""

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """For f32 and halves; it has no .ftz."""
        for kind in (F32, F16, VectorType((2,), F16)):
            yield Form(((kind,),), (kind,), {})


@instruction("nvvm.rsqrt", _text("rsqrt"), SM_80, source="PTX ISA 8.8, rsqrt")
class Rsqrt(FloatUnary):
    """1 / sqrt x, approximately."""


@instruction("nvvm.rcp", "rcp.{rounding}{ftz?.ftz}.{type} {result}, {operand};", SM_80, source="PTX ISA 8.8, rcp")
class Rcp(FloatUnary):
    """1 / x, approximately or as IEEE's division rounds it."""

    rounding = Attr(str, "approx", among=("approx", "rn", "rz", "rm", "rp"))

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Of f32 with each rounding, of f64 as IEEE's division."""
        for rounding in ("approx", "rn", "rz", "rm", "rp"):
            yield Form(((F32,),), (F32,), {"rounding": rounding})
            yield Form(((F32,),), (F32,), {"rounding": rounding, "ftz": True})
        yield Form(((F64,),), (F64,), {"rounding": "rn"})
