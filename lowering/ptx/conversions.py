"""PTX templates of conversions between numbers: cvt in all its forms but those between integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir.core import Op, Type, Value
from ir.dialects import llvm, nvvm
from ir.types import F8E4M3FN, F64, IntType, VectorType
from lowering.ptx.templates import bits, flags, simple, suffix, template

if TYPE_CHECKING:
    from lowering.ptx.select import Selector


@template(llvm.FPExt, llvm.FPTrunc)
def convert_float(s: Selector, op: Op) -> None:
    """cvt between floats."""
    to, source = op.results[0].type, op.operands[0].type
    uses: list[Value] = []
    rounding = "" if isinstance(op, llvm.FPExt) else f".{op.attributes.get('rounding', 'rn')}"
    ftz = flags(op) if F64 not in (to, source) and "bf16" not in (str(to), str(source)) else ""
    operand = s.register(op.operands[0], uses)
    s.emit(f"cvt{rounding}{ftz}.{to}.{suffix(source)} %s, {operand};", [op.results[0]], uses)


@template(nvvm.ConvertF32x2)
def convert_pair(s: Selector, op: nvvm.ConvertF32x2) -> None:
    """cvt of two f32 to a packed pair; the high half comes first."""
    uses: list[Value] = []
    operands = f"{s.use(op.operands[1], uses)}, {s.use(op.operands[0], uses)}"
    rounding = op.attributes.get("rounding", "rn")
    s.emit(f"cvt.{rounding}.{suffix(op.results[0].type)}.f32 %s, {operands};", [op.results[0]], uses)


@template(nvvm.ConvertF32x2ToF8x2)
def narrow_pair(s: Selector, op: nvvm.ConvertF32x2ToF8x2) -> None:
    """cvt of two f32 to two bytes; PTX has it with .satfinite only."""
    uses: list[Value] = []
    operands = f"{s.use(op.operands[1], uses)}, {s.use(op.operands[0], uses)}"
    s.emit(f"cvt.rn.satfinite.{byte_pair(op.results[0].type)}.f32 %s, {operands};", [op.results[0]], uses)


@template(nvvm.ConvertF8x2ToF16x2)
def widen_pair(s: Selector, op: nvvm.ConvertF8x2ToF16x2) -> None:
    """cvt of two bytes to two f16."""
    simple(s, op, f"cvt.rn.f16x2.{byte_pair(op.operands[0].type)}")


@template(nvvm.ConvertF32ToF4)
def narrow_to_halves(s: Selector, op: nvvm.ConvertF32ToF4) -> None:
    """cvt of each two f32 to a byte; mov of two or four such bytes is no instruction of its own (ptxas 13.5 merges)."""
    uses: list[Value] = []
    count = len(op.sources) // 2
    made = [f"b{i}" for i in range(count)]
    text = ["{", f".reg .b8 {', '.join(made)};"]
    for i, byte in enumerate(made):
        high, low = (s.use(op.sources[2 * i + k], uses) for k in (1, 0))
        text.append(f"cvt.rn.satfinite.e2m1x2.f32 {byte}, {high}, {low};")
    text.append(f"mov.b{8 * count} %s, {{{', '.join(made)}}};" if count > 1 else f"cvt.u16.u8 %s, {made[0]};")
    result = op.results[0]
    s.emit(" ".join((*text, "}")), [result], uses, [*uses, result])


@template(nvvm.ConvertF4x2ToF16x2)
def widen_halves(s: Selector, op: nvvm.ConvertF4x2ToF16x2) -> None:
    """cvt of a byte, from a register of that size."""
    uses: list[Value] = []
    source, result = s.register(op.source, uses), op.results[0]
    text = f"{{ .reg .b8 b0; cvt.u8.u16 b0, {source}; cvt.rn.f16x2.e2m1x2 %s, b0; }}"
    s.emit(text, [result], uses, [*uses, result])


def byte_pair(kind: Type) -> str:
    """The PTX type of two f8."""
    return "e4m3x2" if isinstance(kind, VectorType) and kind.element == F8E4M3FN else "e5m2x2"


@template(llvm.SIToFP, llvm.UIToFP)
def integer_to_float(s: Selector, op: Op) -> None:
    """cvt.rn from an integer."""
    letter = "s" if isinstance(op, llvm.SIToFP) else "u"
    kind = f"{suffix(op.results[0].type)}.{letter}{bits(op.operands[0])}"
    uses: list[Value] = []
    operand = s.register(op.operands[0], uses)
    s.emit(f"cvt.{op.attributes.get('rounding', 'rn')}.{kind} %s, {operand};", [op.results[0]], uses)


@template(llvm.FPToSI, llvm.FPToUI)
def float_to_integer(s: Selector, op: Op) -> None:
    """cvt.rzi to an integer."""
    letter, to = "s" if isinstance(op, llvm.FPToSI) else "u", op.results[0].type
    width = to.width if isinstance(to, IntType) else 32
    uses: list[Value] = []
    operand = s.register(op.operands[0], uses)
    s.emit(f"cvt.rzi{flags(op)}.{letter}{width}.{suffix(op.operands[0].type)} %s, {operand};", [op.results[0]], uses)
