"""How an nvgpu value is held in registers: one a scalar, 16-bit vector elements in pairs, bytes in fours."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from ir.bits import bit_pattern, number_of
from ir.checked import checked
from ir.core import Type, Value
from ir.dialects import llvm, nvvm
from ir.types import F8E4M3FN, F8E5M2, F16, F32, I8, I16, I32, FloatType, IntType, LLVMPointerType, VectorType
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter

BYTES = (F8E4M3FN, F8E5M2)
"""Floats that PTX holds in bytes and converts in pairs."""


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
    """One register of type `to` from its elements; undoes an unpack, and fuses two rounded f32 into one conversion."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0].owner
    if type(first) is nvvm.Unpack and first.results == parts and first.operands[0].type == to:
        return first.operands[0]
    if parts[0] in e.known and all(p is parts[0] for p in parts):
        return e.constant(to, e.known[parts[0]])
    if bits_of(parts[0].type) == 8:
        fused = _narrow_together(e, parts, to) or _halves_together(e, parts, to)
        return _word_of(e, parts, to) if fused is None else fused
    fused = _round_pair(e, parts, to)
    return fused if fused is not None else e.value(nvvm.Pack, to, *parts)


def _round_pair(e: Emitter, parts: list[Value], to: Type) -> Value | None:
    low, high = parts[0].op, parts[1].op
    if len(parts) != 2 or not isinstance(low, llvm.FPTrunc) or not isinstance(high, llvm.FPTrunc):
        return None
    sources = low.operands[0], high.operands[0]
    if any(s.type != F32 for s in sources) or low.rounding != high.rounding or low.rounding in ("rm", "rp"):
        return None  # cvt to pairs rounds to nearest and to zero only
    attributes = {"rounding": low.rounding} if low.rounding != "rn" else {}
    return e.value(nvvm.ConvertF32x2, to, *sources, **attributes)


def narrowed(e: Emitter, x: Value, to: Type) -> Value:
    """An f32 as f8; PTX converts two at a time."""
    made = e.value(nvvm.ConvertF32x2ToF8x2, VectorType((2,), checked(to, FloatType)), x, e.constant(F32, 0.0))
    return bitcast(e, ints.truncate(e, bitcast(e, made, I16), I8), to)


def widened_byte(e: Emitter, x: Value) -> Value:
    """An f8 as f16; a byte of a word is converted with its neighbour, so that two conversions are one."""
    word, place = _word_behind(e, x)
    pair = VectorType((2,), checked(x.type, FloatType))
    if word is None:
        half, place = ints.extend(e, bitcast(e, x, I8), I16, False), 0
    elif word.type == I32:
        half = ints.truncate(e, ints.shift_right(e, llvm.LShr, word, e.i32(place // 2 * 16)), I16)
    else:
        half = word
    made = e.value(nvvm.ConvertF8x2ToF16x2, VectorType((2,), F16), bitcast(e, half, pair))
    return e.pure(nvvm.Unpack, [F16, F16], (made,)).results[place % 2]


def _word_behind(e: Emitter, x: Value) -> tuple[Value | None, int]:
    """The i32 or i16 from which `_bytes_of` extracted this byte, and its position."""
    cut = x.owner.operands[0].owner if type(x.owner) is llvm.Bitcast else None
    if type(cut) is not llvm.Trunc:
        return None, 0
    source = cut.operands[0]
    if type(source.owner) is llvm.LShr and source.owner.operands[1] in e.known:
        return source.owner.operands[0], int(e.known[source.owner.operands[1]]) // 8
    return source, 0


def _narrow_together(e: Emitter, parts: list[Value], to: Type) -> Value | None:
    """Bytes that are all rounded f32: one conversion for every two of them."""
    sources: list[Value] = []
    for part in parts:
        word, place = _word_behind(e, part)
        made = word.owner.operands[0].owner if word is not None and type(word.owner) is llvm.Bitcast else None
        if place or type(made) is not nvvm.ConvertF32x2ToF8x2:
            return None
        sources.append(made.operands[0])
    kind = VectorType((2,), checked(parts[0].type, FloatType))
    halves = [
        bitcast(e, e.value(nvvm.ConvertF32x2ToF8x2, kind, *sources[i : i + 2]), I16) for i in range(0, len(sources), 2)
    ]
    return bitcast(e, halves[0] if len(halves) == 1 else e.value(nvvm.Pack, I32, *halves), to)


def _halves_together(e: Emitter, parts: list[Value], to: Type) -> Value | None:
    """Bytes that are all pairs of f32 rounded to f4: one conversion."""
    sources: list[Value] = []
    for part in parts:
        made = part.owner
        if type(made) is not nvvm.ConvertF32ToF4:
            return None
        sources += made.sources
    return bitcast(e, e.value(nvvm.ConvertF32ToF4, IntType(4 * len(sources)), *sources), to)


def _bytes_of(e: Emitter, value: Value, kind: VectorType) -> list[Value]:
    """Bytes of a register by shifts: mov cannot unpack parts below 16 bits into registers that instructions accept."""
    integer = I32 if kind.shape[0] == 4 else I16
    word = bitcast(e, value, integer)
    shifted = [ints.shift_right(e, llvm.LShr, word, e.constant(integer, 8 * i)) for i in range(kind.shape[0])]
    return [bitcast(e, ints.truncate(e, s, I8), kind.element) for s in shifted]


def _word_of(e: Emitter, parts: list[Value], to: Type) -> Value:
    """Bytes side by side in one register; undoes an unpack."""
    whole = _whole_word(e, parts)
    if whole is not None:
        return bitcast(e, whole, to)
    integer = I32 if len(parts) == 4 else I16
    word = e.constant(integer, 0)
    for i, part in enumerate(parts):
        wide = ints.extend(e, bitcast(e, part, I8), integer, False)
        word = ints.bit_or(e, word, ints.shl(e, wide, e.constant(integer, 8 * i)))
    return bitcast(e, word, to)


def _whole_word(e: Emitter, parts: list[Value]) -> Value | None:
    """The i32 whose bytes these are, the lowest first."""
    found: list[tuple[Value, int]] = []
    for part in parts:
        cut = bitcast(e, part, I8).owner
        if type(cut) is not llvm.Trunc:
            return None
        source = cut.operands[0]
        moved = source.owner
        if type(moved) is llvm.LShr and moved.operands[1] in e.known and found:
            found.append((moved.operands[0], int(e.known[moved.operands[1]])))
        else:
            found.append((source, 0))
    word = found[0][0]
    return word if word.type == I32 and found == [(word, 8 * at) for at in range(4)] else None
