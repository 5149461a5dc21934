"""Minima and maxima of integers, whose outcome may follow from ranges."""

from __future__ import annotations

from ir.core import Op, Value
from ir.dialects import llvm
from ir.types import I1
from lowering.convert.nvgpu_to_nvvm.comparisons import TERMS, decided, never_above, unsigned
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, width_of
from lowering.convert.nvgpu_to_nvvm.integers import bit_and, bit_or, select


def extremum(e: Emitter, cls: type[Op], x: Value, y: Value) -> Value:
    """SMax, SMin, UMax or UMin; for bits, whose signed values are 0 and -1, `and` or `or`."""
    if x.type == I1:
        return bit_and(e, x, y) if cls in (llvm.SMax, llvm.UMin) else bit_or(e, x, y)
    a, b = e.integer(x), e.integer(y)
    if a is not None and b is not None:
        pick = max if cls in (llvm.SMax, llvm.UMax) else min
        signed = cls in (llvm.SMax, llvm.SMin)
        return e.constant(x.type, pick(a, b, key=lambda n: n if signed else unsigned(n, width_of(x))))
    least = "slt" if cls in (llvm.SMin, llvm.SMax) else "ult"
    below = decided(e, least, x, y), decided(e, least, y, x)
    if True in below or False in below:  # x < y or x >= y: which one is known
        smaller, larger = (x, y) if below[0] or below[1] is False else (y, x)
        return smaller if cls in (llvm.SMin, llvm.UMin) else larger
    chosen = _chosen_first(e, x, y) or _chosen_first(e, y, x) if cls is llvm.SMin else None
    if chosen is not None:
        return chosen
    return x if x is y else e.symmetric(cls, x, y)


def _chosen_first(e: Emitter, x: Value, y: Value, depth: int = TERMS) -> Value | None:
    """min(c ? a : b, y) where a <= y: c ? a : min(b, y), if the latter is known or of the same form; otherwise None.
    This selects the first of several labels without a minimum.
    """
    inner = x.op
    if not depth or not isinstance(inner, llvm.Select) or not never_above(e, inner.operands[1], y):
        return None
    condition, first, rest = inner.operands
    left = y if never_above(e, y, rest) else _chosen_first(e, rest, y, depth - 1)
    return None if left is None else select(e, condition, first, left)
