"""Sums of which a part already exists as a sum with one of their terms."""

from __future__ import annotations

from ir.core import Value
from ir.dialects import llvm
from ir.types import I64
from lowering.convert.nvgpu_to_nvvm.comparisons import unsigned
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, width_of


def shared_sum(e: Emitter, x: Value, y: Value) -> Value | None:
    """(p + q) + y -> (p + y) + q where p + y exists: of two running sums one stays one addition away from the other
    (for i64, where a sum is two instructions; three i32 terms are one). y is a term or 0, by a condition, as in a scan:
    scan-add-i64 grew by two instructions when the sum itself was selected.
    """
    inner = x.op
    if not isinstance(inner, llvm.Add) or inner.operands[1] in e.known or not isinstance(y.op, llvm.Select):
        return None
    for p, q in (inner.operands, inner.operands[::-1]):
        there = _sum(e, p, y)
        if there is not None and there.type == I64 and e.level[q] <= e.level[there]:
            return e.symmetric(llvm.Add, there, q)
    return None


def flipped_sum(e: Emitter, x: Value, y: Value) -> tuple[Value, Value] | None:
    """x + (t ^ m) is (x + t) ^ m where x + t exists and has no carries, and x has none of the bits of m: that sum XOR
    m. This happens for reversed elements whose own position is needed too.
    """
    inner = y.op
    mask = e.integer(inner.operands[1]) if isinstance(inner, llvm.Xor) else None
    if mask is None or not isinstance(inner, llvm.Xor) or unsigned(mask, width_of(x)) & ~e.facts.zeros(x):
        return None
    there = _sum(e, x, inner.operands[0])
    apart = e.facts.zeros(x) | e.facts.zeros(inner.operands[0]) == (1 << width_of(x)) - 1
    return (there, inner.operands[1]) if there is not None and apart else None


def _sum(e: Emitter, x: Value, y: Value) -> Value | None:
    """x + y, if it exists and is available here."""
    return e.found(llvm.Add, x.type, x, y) or e.found(llvm.Add, x.type, y, x)
