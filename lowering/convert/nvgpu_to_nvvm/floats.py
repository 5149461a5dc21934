"""Signs and comparisons of floats: a sign that is set twice, a product or quotient equal to another operation."""

from __future__ import annotations

import struct

from ir.core import Value
from ir.dialects import llvm, nvvm
from ir.types import F16, F32, I1
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter


def negative(e: Emitter, x: Value) -> Value:
    """-x; twice is nothing, a constant flips."""
    if x in e.known:
        return e.constant(x.type, -e.known[x])
    inner = x.owner
    return inner.operands[0] if type(inner) is llvm.FNeg else e.value(llvm.FNeg, x.type, x)


def widened_with_other_sign(e: Emitter, x: Value) -> Value | None:
    """f32 of -x, which there is already, for x of f16: then f32 of x is its negation, an operand's modifier, and not a
    second conversion. The sign may be of a register of two.
    """
    made, other = x.owner, x
    if type(made) is llvm.FNeg:
        other = made.operands[0]
    elif type(made) is nvvm.Unpack:
        (register,) = made.operands
        inner = register.owner
        negated = inner if type(inner) is llvm.FNeg else e.seen(llvm.FNeg, register.type, register)
        opposite = None if negated is None else negated.operands[0] if negated is inner else negated.results[0]
        parts = None if opposite is None else e.seen(nvvm.Unpack, x.type, opposite)
        other = x if parts is None else parts.results[made.results.index(x)]
    found = None if other is x else e.seen(llvm.FPExt, F32, other)
    return None if found is None else found.results[0]


def magnitude(e: Emitter, x: Value) -> Value:
    """|x|; of a magnitude itself, of -x that of x."""
    if x in e.known:
        return e.constant(x.type, abs(e.known[x]))
    inner = x.owner
    if type(inner) is llvm.FAbs:
        return x
    return magnitude(e, inner.operands[0]) if type(inner) is llvm.FNeg else e.value(llvm.FAbs, x.type, x)


def compare(e: Emitter, predicate: str, x: Value, y: Value, ftz: bool = False) -> Value:
    """fcmp; a magnitude is never below zero, and zero exactly if its number is."""
    flags: dict[str, object] = {"ftz": True} if ftz else {}
    inner, number, other = x.owner, e.known.get(y), y.owner
    if type(inner) is llvm.FPExt and type(other) is llvm.FPExt and not ftz:
        x_, y_ = inner.operands[0], other.operands[0]
        if x_.type == y_.type == F32:  # a wider type orders them alike
            return compare(e, predicate, x_, y_)
    if type(inner) is llvm.FPExt and inner.operands[0].type == F16 and number is not None and is_half(number):
        return compare(e, predicate, inner.operands[0], e.constant(F16, number))  # two halves by one HSETP2
    if type(inner) is llvm.FAbs and number is not None:
        if (predicate == "olt" and number <= 0) or (predicate == "ole" and number < 0):
            return e.boolean(False)
        if number == 0 and predicate[1:] in ("eq", "ne"):
            x = inner.operands[0]
    return e.value(llvm.FCmp, I1, x, y, predicate=predicate, **flags)


def is_half(number: float) -> bool:
    """Is a number representable in f16?"""
    try:
        (found,) = struct.unpack("<e", struct.pack("<e", number))
    except OverflowError:  # beyond the largest one
        return False
    return found == number


def quotient(e: Emitter, x: Value, y: Value) -> Value:
    """x / y, rounded to nearest; of one the reciprocal, rounded alike."""
    if e.known.get(x) == 1.0:
        return e.value(nvvm.Rcp, x.type, y, rounding="rn")
    return e.value(llvm.FDiv, x.type, x, y)
