"""How an nvgpu value is held in registers: one a scalar, 16-bit vector elements in pairs, bytes in fours."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from ir.core import Type, Value
from ir.dialects import llvm, nvvm
from ir.types import F32, I8, I16, I32, FloatType, IntType, LLVMPointerType, VectorType
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter
from lowering.ptx.bits import bit_pattern, number_of


def lanes_of(type: Type) -> int:
    """Elements that one register of this type holds."""
    return type.shape[0] if isinstance(type, VectorType) else 1


def bits_of(type: Type) -> int:
    """Width of a register type."""
    if isinstance(type, VectorType):
        return prod(type.shape) * type.element.width
    if isinstance(type, LLVMPointerType):
        return 32 if type.space == 3 else 64
    return type.width if isinstance(type, (IntType, FloatType)) else 0


@lru_cache(maxsize=256)
def register_types(type: Type) -> list[Type]:
    """Types of the registers that hold a value of `type`, in row-major order of its elements."""
    if not isinstance(type, VectorType):
        return [type]
    count, element = prod(type.shape), type.element
    lanes = max(32 // element.width, 1)
    if element.width >= 32 or element.width == 1:
        lanes = 1
    while count % lanes:
        lanes //= 2
    return [VectorType((lanes,), element) if lanes > 1 else element] * (count // lanes)


def bitcast(e: Emitter, value: Value, to: Type) -> Value:
    """The same bits under another type."""
    if value.type == to:
        return value
    inner = value.owner
    if type(inner) is llvm.Bitcast:
        return bitcast(e, inner.operands[0], to)
    if value in e.known and not isinstance(to, VectorType):
        return e.constant(to, number_of(to, bit_pattern(value.type, e.known[value])))
    return e.value(llvm.Bitcast, to, value)


def unpack(e: Emitter, value: Value) -> list[Value]:
    """The elements of a register."""
    kind = value.type
    if not isinstance(kind, VectorType):
        return [value]
    inner = value.owner
    if type(inner) is nvvm.Pack:
        return list(inner.operands)
    known = e.known.get(value)
    if known is not None:
        return [e.constant(kind.element, known)] * kind.shape[0]
    if kind.element.width == 8:
        return _bytes_of(e, value, kind)
    return list(e.pure(nvvm.Unpack, [kind.element] * kind.shape[0], (value,)).results)


def pack(e: Emitter, parts: list[Value], to: Type) -> Value:
    """One register of type `to` from its elements; undoes an unpack and fuses two rounded f32 into one conversion."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0].owner
    if type(first) is nvvm.Unpack and first.results == parts and first.operands[0].type == to:
        return first.operands[0]
    if parts[0] in e.known and all(p is parts[0] for p in parts):
        return e.constant(to, e.known[parts[0]])
    if bits_of(parts[0].type) == 8:
        return _word_of(e, parts, to)
    fused = _round_pair(e, parts, to)
    return fused if fused is not None else e.value(nvvm.Pack, to, *parts)


def _round_pair(e: Emitter, parts: list[Value], to: Type) -> Value | None:
    low, high = parts[0].op, parts[1].op
    if len(parts) != 2 or not isinstance(low, llvm.FPTrunc) or not isinstance(high, llvm.FPTrunc):
        return None
    sources = low.operands[0], high.operands[0]
    if any(s.type != F32 for s in sources) or low.rounding != high.rounding:
        return None
    attributes = {"rounding": low.rounding} if low.rounding != "rn" else {}
    return e.value(nvvm.ConvertF32x2, to, *sources, **attributes)


def _bytes_of(e: Emitter, value: Value, kind: VectorType) -> list[Value]:
    """Bytes of a register by shifts: mov unpacks no parts below 16 bits into registers that instructions take."""
    integer = I32 if kind.shape[0] == 4 else I16
    word = bitcast(e, value, integer)
    shifted = [ints.shift_right(e, llvm.LShr, word, e.constant(integer, 8 * i)) for i in range(kind.shape[0])]
    return [bitcast(e, ints.truncate(e, s, I8), kind.element) for s in shifted]


def _word_of(e: Emitter, parts: list[Value], to: Type) -> Value:
    """Bytes side by side in one register."""
    integer = I32 if len(parts) == 4 else I16
    word = e.constant(integer, 0)
    for i, part in enumerate(parts):
        wide = ints.extend(e, bitcast(e, part, I8), integer, False)
        word = ints.bit_or(e, word, ints.shl(e, wide, e.constant(integer, 8 * i)))
    return bitcast(e, word, to)
