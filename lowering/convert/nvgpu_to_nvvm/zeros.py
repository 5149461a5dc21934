"""Rules of `simplify-by-uses` for comparisons with zero: bytes by a mask of their word, several comparisons at once,
and the conjunctions they form.

ptxas 13.5 makes one LOP3 of a mask, or of an or, and the comparison of its result with zero.
"""

from __future__ import annotations

from typing import TypeGuard

from ir.core import Op, Value
from ir.dialects import llvm
from ir.types import I1, I32
from lowering.convert.nvgpu_to_nvvm.bytes import BYTE, bytes_of, register
from lowering.convert.nvgpu_to_nvvm.comparisons import INVERSE
from lowering.convert.nvgpu_to_nvvm.demands import number, ones
from lowering.convert.nvgpu_to_nvvm.readers import Uses


def byte_compared(u: Uses, op: llvm.ICmp) -> bool:
    """A shifted byte of a word, compared with 0: the word, masked."""
    x = op.operands[0]
    if op.predicate not in ("eq", "ne") or number(op.operands[1]) != 0:
        return False
    found = [byte for byte in bytes_of(x) or () if byte is not None]
    roots = list(dict.fromkeys((value, place // 4) for value, place in found))
    if len(roots) != 1 or roots[0][0] in (x, _masked(x)[0]):
        return False
    word = register(u, op, *roots[0])
    mask = sum({BYTE << place % 4 * 8 for _, place in found})
    u.users[x].remove(op)
    if mask != ones(word):
        word = u.computed(llvm.And, op, word, u.constant(I32, mask))
    u.users.setdefault(word, []).append(op)
    op.operands[:] = [word, u.constant(I32, 0)]
    return True


def _masked(value: Value) -> tuple[Value, int]:
    """x and m of x & m; m of all ones if there is no mask."""
    op = value.op
    mask = number(op.operands[1]) if isinstance(op, llvm.And) else None
    return (value, ones(value)) if op is None or mask is None else (op.operands[0], mask)


def parity_compared(u: Uses, op: llvm.ICmp) -> bool:
    """Is x + c odd, if the sum is otherwise only multiplied? The parity follows from that of x."""
    masked = u.only(op.operands[0], op, llvm.And)
    if masked is None or number(masked.operands[1]) != 1 or number(op.operands[1]) != 0:
        return False
    total = masked.operands[0].op
    known = number(total.operands[1]) if isinstance(total, llvm.Add) else None
    if op.predicate not in ("eq", "ne") or total is None or known is None:
        return False
    if not all(user is masked or isinstance(user, llvm.Mul) for user in u.users[total.results[0]]):
        return False
    x = total.operands[0]
    bit = u.computed(llvm.And, op, x, masked.operands[1])
    u.users[op.operands[0]].remove(op)
    u.users[masked.operands[0]].remove(masked)
    u.users.setdefault(bit, []).append(op)
    op.operands[0] = bit
    op.attributes["predicate"] = INVERSE[op.predicate] if known & 1 else op.predicate
    return True


def zeros_together(u: Uses, op: Op) -> bool:
    """x = 0 and y = 0: (x | y) = 0; x != 0 or y != 0 likewise. If the comparisons have other uses, only if the result
    is one LOP3: masks of one value, or at most one masked operand.
    """
    wanted = "eq" if isinstance(op, llvm.And) else "ne"
    first, second = (value.op for value in op.operands)
    if op.results[0].type != I1 or first is second:
        return False
    compared = [each.operands[0] for each in (first, second) if _zero(each, wanted) and each.parent is op.parent]
    if len(compared) != 2:
        return False
    (x, m), (y, n) = (_masked(value) for value in compared)
    if x is not y and ones(x) not in (m, n) and not all(u.only(value, op, llvm.ICmp) for value in op.operands):
        return False
    if x is y:
        both = u.computed(llvm.And, op, x, u.constant(I32, m | n))
    elif m == n != ones(x):
        both = u.computed(llvm.And, op, u.computed(llvm.Or, op, x, y), u.constant(I32, m))
    else:
        both = u.computed(llvm.Or, op, *compared)
    u.replace(op, u.computed(llvm.ICmp, op, both, u.constant(I32, 0), type=I1, predicate=wanted))
    return True


def _zero(op: Op | None, predicate: str) -> TypeGuard[llvm.ICmp]:
    """Is this a comparison of an i32 with zero by this predicate?"""
    if not isinstance(op, llvm.ICmp) or op.predicate != predicate:
        return False
    return op.operands[0].type == I32 and number(op.operands[1]) == 0


def shared_conjunction(u: Uses, op: llvm.And) -> bool:
    """(a & b) & c, where b & c exists: a & (b & c). Guards of loads and stores share those of rows and columns."""
    if op.results[0].type != I1:
        return False
    for inner, c in (op.operands, op.operands[::-1]):
        made = u.only(inner, op, llvm.And)
        for a, b in (made.operands, made.operands[::-1]) if made is not None else ():
            there = u.both.get(frozenset((b, c)))
            if there is not None and there.op is not None and there.op.parent in (op.parent, u.blocks[0]):
                u.replace(op, u.computed(llvm.And, op, a, there))
                return True
    return False
