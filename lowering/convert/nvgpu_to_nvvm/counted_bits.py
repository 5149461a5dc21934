"""Bits of integers counted: set ones, zeros above and below them, by instructions that look at 32 bits."""

from __future__ import annotations

from ir.core import Op, Type, Value
from ir.dialects import llvm, math
from ir.types import I32, I64
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.context import lowers_each
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, width_of

WORD = 32


def resized(e: Emitter, count: Value, kind: Type) -> Value:
    """A count, which 32 bits hold, in the type of what was counted."""
    return ints.extend(e, count, kind, False) if kind == I64 else ints.truncate(e, count, kind)


def halves(e: Emitter, x: Value) -> tuple[Value, Value]:
    """The low and the high 32 bits of an i64."""
    return ints.truncate(e, x, I32), ints.truncate(e, ints.shift_right(e, llvm.LShr, x, e.constant(I64, WORD)), I32)


def widened(e: Emitter, x: Value) -> Value:
    """An integer of at most 32 bits with zeros above it."""
    return x if x.type == I32 else ints.extend(e, x, I32, False)


def leading(e: Emitter, x: Value) -> Value:
    """Zeros of an i32 above its bits."""
    return e.value(llvm.CtLz, I32, x, is_zero_poison=False)


@lowers_each(math.CtPop)
def set_bits(e: Emitter, op: Op, x: Value) -> Value:
    """popc, of an i64 of both halves."""
    parts = halves(e, x) if x.type == I64 else (widened(e, x),)
    counts = [e.value(llvm.CtPop, I32, part) for part in parts]
    return resized(e, counts[0] if len(counts) == 1 else ints.add(e, counts[0], counts[1]), x.type)


@lowers_each(math.CtLz)
def leading_zeros(e: Emitter, op: Op, x: Value) -> Value:
    """clz; of an i64 that of the half with the highest bit, of fewer bits less those that were put above."""
    if x.type != I64:
        made = leading(e, widened(e, x))
        return resized(e, ints.add(e, made, e.i32(width_of(x) - WORD)), x.type)
    low, high = halves(e, x)
    below = ints.add(e, leading(e, low), e.i32(WORD))
    return resized(e, ints.select(e, ints.icmp(e, "eq", high, e.i32(0)), below, leading(e, high)), x.type)


@lowers_each(math.CtTz)
def trailing_zeros(e: Emitter, op: Op, x: Value) -> Value:
    """clz of the bits in reverse order; fewer than 32 have a bit above them, which zero is counted up to."""

    def trailing(part: Value) -> Value:
        return leading(e, e.value(llvm.BitReverse, I32, part))

    if x.type == I64:
        low, high = halves(e, x)
        above = ints.add(e, trailing(high), e.i32(WORD))
        return resized(e, ints.select(e, ints.icmp(e, "eq", low, e.i32(0)), above, trailing(low)), x.type)
    part = widened(e, x)
    if width_of(x) < WORD:
        part = ints.bit_or(e, part, e.i32(1 << width_of(x)))
    return resized(e, trailing(part), x.type)
