"""Rules of `simplify-by-uses` on single bits: what a mask or another operand already decides.

Source: LLVM, InstCombineAndOrXor.cpp, the parts that occur in kernels.
"""

from __future__ import annotations

from ir.core import Op, Value
from ir.dialects import llvm
from ir.types import I16, I32, I64
from lowering.convert.nvgpu_to_nvvm.demands import number, ones
from lowering.convert.nvgpu_to_nvvm.readers import Uses

DEPTH = 4
"""Nesting of operations in which an operand is searched for."""


def absorbed(u: Uses, op: Op) -> bool:
    """x | y, where x is a bitwise function of y: x as if y were 0. x & y: as if y were all ones."""
    for x, y in (op.operands, op.operands[::-1]):
        if number(y) is None and _reads(u, op, x, y, DEPTH):
            without = _assuming(u, op, x, y, isinstance(op, llvm.And))
            u.replace(op, u.computed(type(op), op, without, y))
            return True
    return False


def _reads(u: Uses, op: Op, x: Value, y: Value, depth: int) -> bool:
    """Is y an operand of bitwise logic used only by this value?"""
    made = u.only(x, op, llvm.And, llvm.Or, llvm.Xor) if depth else None
    return made is not None and (y in made.operands or any(_reads(u, op, v, y, depth - 1) for v in made.operands))


def _assuming(u: Uses, op: Op, x: Value, y: Value, bits: bool) -> Value:
    """x, where each bit of y is `bits`."""
    kind = x.type
    known = u.constant(kind, ones(x) if bits else 0)
    if x is y:
        return known
    if not _reads(u, op, x, y, DEPTH):
        return x
    made = x.op
    assert made is not None
    operands = [_assuming(u, op, v, y, bits) for v in made.operands]
    for first, second in (operands, operands[::-1]):
        if number(second) == 0:
            return second if isinstance(made, llvm.And) else first
        if number(second) == ones(x) and not isinstance(made, llvm.Xor):
            return second if isinstance(made, llvm.Or) else first
    return u.computed(type(made), op, *operands)


def merged_masks(u: Uses, op: Op) -> bool:
    """(x & m) | (y & n), where x has no bit of n beyond m, nor y of m beyond n: (x | y) & (m | n), one LOP3, and so of
    exclusive ors.
    """
    first, second = (u.only(value, op, llvm.And) for value in op.operands)
    if first is None or second is None or first is second:
        return False
    (x, m), (y, n) = ((each.operands[0], number(each.operands[1])) for each in (first, second))
    if m is None or n is None or x in u.loose or y in u.loose:
        return False
    if n & ~m & ~u.facts.zeros(x) or m & ~n & ~u.facts.zeros(y):
        return False
    both = u.computed(type(op), op, x, y)
    u.replace(op, u.computed(llvm.And, op, both, u.constant(both.type, m | n)))
    return True


def shifted_back(u: Uses, op: llvm.Mul) -> bool:
    """(x >> a) << b, whose lowest b bits are unused, and (x >> a & m) << b: one shift by the difference."""
    result, factor = op.results[0], number(op.operands[1])
    if not factor or factor & factor - 1:
        return False
    masked = u.only(op.operands[0], op, llvm.And)
    mask = number(masked.operands[1]) if masked is not None else None
    moved = u.only(masked.operands[0], op, llvm.LShr) if masked is not None and mask is not None else op.operands[0].op
    up, down = factor.bit_length() - 1, number(moved.operands[1]) if isinstance(moved, llvm.LShr) else None
    if moved is None or down is None or not 0 < down < ones(result).bit_length():
        return False
    if (mask is None and u.bits.get(result, 0) & factor - 1) or (mask is not None and up == down):
        return False
    x = moved.operands[0]
    if up > down:
        x = u.computed(llvm.Mul, op, x, u.constant(x.type, 1 << up - down))
    elif down > up:
        x = u.computed(llvm.LShr, op, x, u.constant(x.type, down - up))
    u.replace(op, x if mask is None else u.computed(llvm.And, op, x, u.constant(x.type, mask << up)))
    return True


def narrowed_shift(u: Uses, op: llvm.Trunc) -> bool:
    """The low half of a 64-bit (x + y) >> k whose highest k bits are unused: a 32-bit sum, shifted."""
    result = op.results[0]
    moved = u.only(op.operands[0], op, llvm.LShr)
    total = u.only(moved.operands[0], op, llvm.Add) if moved is not None else None
    place = number(moved.operands[1]) if moved is not None else None
    if result.type != I32 or moved is None or total is None or total.results[0].type != I64 or place is None:
        return False
    if not 0 < place < 32 or u.bits.get(result, 0) >> 32 - place:
        return False
    low = u.computed(llvm.Add, op, *(_low_half(u, op, value) for value in total.operands), type=I32)
    shifted = u.computed(llvm.LShr, op, low, u.constant(I32, place))
    u.replace(op, shifted)
    u.loose.add(shifted)
    return True


def _low_half(u: Uses, op: Op, value: Value) -> Value:
    """The i32 that an i64 extends, or is truncated to."""
    made, known = value.op, number(value)
    if known is not None:
        return u.constant(I32, known)
    if isinstance(made, llvm.SExt | llvm.ZExt) and made.operands[0].type == I32:
        return made.operands[0]
    return u.computed(llvm.Trunc, op, value, type=I32)


def raised_sum(u: Uses, op: llvm.Mul) -> bool:
    """(x + c) << k, whose sum has no other use: (x << k) + (c << k), one LEA in ptxas 13.5."""
    result, factor = op.results[0], number(op.operands[1])
    total = u.only(op.operands[0], op, llvm.Add)
    if result.type != I32 or not factor or factor & factor - 1 or total is None:
        return False
    x, known = total.operands[0], number(total.operands[1])
    if known is None or any(isinstance(user, llvm.GetElementPtr | llvm.SExt) for user in u.users[result]):
        return False
    raised = u.computed(llvm.Mul, op, x, op.operands[1])
    u.replace(op, u.computed(llvm.Add, op, raised, u.constant(I32, known * factor)))
    return True


def masked_sum(u: Uses, op: llvm.And) -> bool:
    """(x + y) & m, where y has no bit up to the highest of m: x & m."""
    total, mask = op.operands[0].op, number(op.operands[1])
    if mask is None or not isinstance(total, llvm.Add):
        return False
    for x, y in (total.operands, total.operands[::-1]):
        if not (1 << mask.bit_length()) - 1 & ~u.facts.zeros(y):
            u.replace(op, u.computed(llvm.And, op, x, op.operands[1]))
            return True
    return False


def widened_back(u: Uses, op: llvm.ZExt) -> bool:
    """A value truncated and widened again, of which only the low bits are read: the value before truncation."""
    result, x = op.results[0], op.operands[0]
    width = ones(x).bit_length()
    while isinstance(x.op, llvm.Trunc | llvm.ZExt) and x.type != result.type:
        x = x.op.operands[0]
        width = min(width, ones(x).bit_length())
    if x.type != result.type or u.bits.get(result, 0) >> width:
        return False
    u.replace(op, x)
    return True


def masked_number(u: Uses, op: Op) -> bool:
    """A float of x & 65535: of the i16, one I2F in ptxas 13.5."""
    masked = u.only(op.operands[0], op, llvm.And)
    if masked is None or number(masked.operands[1]) != 0xFFFF or masked.results[0].type not in (I32, I64):
        return False
    low = u.computed(llvm.Trunc, op, masked.operands[0], type=I16)
    u.replace(op, u.computed(llvm.UIToFP, op, low, type=op.results[0].type))
    return True
