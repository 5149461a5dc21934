"""Types and constants of the nvvm level in LLVM, and their register constraints in inline PTX."""

from __future__ import annotations

from ir.bits import bit_pattern
from ir.core import Type
from ir.instruction import memory_bits, register_bits
from ir.text.level_attributes import float_number, number_text
from ir.types import BF16, F16, F32, F64, SHARED_PTR, TENSOR_MAP, TF32, FloatType, IntType, VectorType

FLOATS = (F16, BF16, F32, F64)
CONSTRAINTS = {1: "b", 16: "h", 32: "r", 64: "l"}
FLOAT_CONSTRAINTS = {"f32": "f", "f64": "d"}
"""Source: LLVM, language reference, supported constraint code list, NVPTX."""


def llvm_type(kind: Type) -> str:
    """LLVM's type for a register: what it has no type for are integers, and so are addresses in shared memory, which
    have 64 bits in LLVM and 32 in ours; a tensor map is its generic address.
    """
    if kind == TF32:
        return "f32"
    if kind == TENSOR_MAP:
        return "!llvm.ptr"
    if kind == SHARED_PTR:
        return "i32"
    if isinstance(kind, VectorType):
        pair = kind.shape == (2,) and kind.element in (F16, BF16)
        return str(kind) if pair else f"i{register_bits(kind)}"
    if isinstance(kind, FloatType) and kind not in FLOATS:
        return f"i{memory_bits(kind)}"
    return str(kind)


def constraint(kind: Type) -> str:
    """The kind of register that inline PTX takes a value in."""
    return FLOAT_CONSTRAINTS.get(llvm_type(kind)) or CONSTRAINTS[register_bits(kind)]


def literal(kind: Type, number: int | float) -> str:
    """A constant with its type in LLVM."""
    written = llvm_type(kind)
    if isinstance(kind, IntType):
        return number_text(number, kind)
    if isinstance(kind, FloatType) and kind in FLOATS:
        return number_text(number, kind)
    if isinstance(kind, VectorType) and written == str(kind) and isinstance(kind.element, FloatType):
        return f"dense<{float_number(float(number), kind.element)}> : {written}"
    bits = bit_pattern(kind, number)
    return f"0x{bits:08X} : f32" if written == "f32" else f"{bits} : {written}"
