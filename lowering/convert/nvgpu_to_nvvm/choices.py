"""Rules of `simplify-by-uses` on selects: what both values share is done once, to the one that is chosen.

Source: LLVM, InstCombineSelect.cpp (foldSelectOpOp) and InstCombineLoadStoreAlloca.cpp, of which these are the parts
that kernels have.
"""

from __future__ import annotations

from collections.abc import Callable
from math import copysign, inf

from ir.core import PURE, Block, Op, Value
from ir.dialects import llvm, nvvm
from ir.types import I32, LLVMPointerType
from lowering.convert.nvgpu_to_nvvm.demands import number
from lowering.convert.nvgpu_to_nvvm.readers import Uses

SYMMETRIC = (llvm.Add, llvm.Mul, llvm.And, llvm.Or, llvm.Xor)
SHARED = (*SYMMETRIC, llvm.Sub, llvm.SExt, llvm.ZExt, llvm.FAdd, llvm.FMul, llvm.GetElementPtr)
"""Operations that are done behind a choice."""


def chosen_operand(u: Uses, op: llvm.Select) -> bool:
    """c ? f(x, p) : f(x, q), which nothing else reads, as f(x, c ? p : q): of labels only what differs is chosen."""
    condition, *arms = op.operands
    first, second = (u.only(arm, op, *SHARED) for arm in arms)
    if first is None or second is None or first is second or type(first) is not type(second):
        return False
    if _flags(first) != _flags(second) or first.segments != second.segments:
        return False
    if [v.type for v in first.operands] != [v.type for v in second.operands]:
        return False
    others = second.operands
    if isinstance(first, SYMMETRIC) and (first.operands[0] is others[1] or first.operands[1] is others[0]):
        others = others[::-1]
    pairs = {(a, b) for a, b in zip(first.operands, others, strict=True) if a is not b}
    if len(pairs) != 1:
        return False
    ((p, q),) = pairs
    choice = u.computed(llvm.Select, op, condition, p, q, type=p.type)
    given = [a if a is b else choice for a, b in zip(first.operands, others, strict=True)]
    made = type(first)(given, [op.results[0].type], _flags(first), (), op.location, first.segments)
    assert op.parent is not None
    for value in given:
        u.users.setdefault(value, []).append(made)
    u.replace(op, u.append(made, op.parent))
    for gone in (first, second):
        for value in gone.operands:
            u.users[value].remove(gone)
    return True


def chosen_constant(u: Uses, op: llvm.Select) -> bool:
    """c ? x + a : x + b, sums and addresses that nothing else reads, as x + (c ? a : b). Not of x and x + b, which is
    one addition under a predicate in ptxas 13.5, but in a choice of more numbers.
    """
    condition, *arms = op.operands
    (x, a), (y, b) = (_apart(u, arm, op) for arm in arms)
    kind = op.results[0].type
    if x is not y or a == b or not all(arm is x or u.only(arm, op, llvm.Add, llvm.GetElementPtr) for arm in arms):
        return False
    pointer = isinstance(kind, LLVMPointerType)
    if not pointer and not (a and b) and not all(isinstance(user, llvm.Select) for user in u.users[op.results[0]]):
        return False
    if pointer and not all(abs(each) < 1 << 31 for each in (a, b)):
        return False
    of = I32 if pointer else kind
    sums = [arm.op for arm in arms if arm is not x and arm.op is not None]
    exact = not pointer and op.results[0] not in u.loose and all(u.facts.exact(each) for each in sums)
    choice = u.computed(llvm.Select, op, condition, u.constant(of, a), u.constant(of, b), type=of)
    attributes = {"nsw": True} if exact else {}
    u.replace(op, u.computed(llvm.GetElementPtr if pointer else llvm.Add, op, x, choice, type=kind, **attributes))
    return True


def _apart(u: Uses, value: Value, op: Op) -> tuple[Value, int]:
    """What a constant is added to, and the constant."""
    made = value.op
    if isinstance(made, llvm.GetElementPtr) and made.index is None:
        return made.base, made.offset
    known = number(made.operands[1]) if isinstance(made, llvm.Add) and made.parent is op.parent else None
    return (value, 0) if made is None or known is None else (made.operands[0], known)


def chosen_twice(u: Uses, op: llvm.Select) -> bool:
    """c ? (d ? x : y) : y as c & d ? x : y; c ? x : (d ? x : y) as c | d ? x : y."""
    condition, then, other = op.operands
    for arm, left, cls, taken in ((then, other, llvm.And, 2), (other, then, llvm.Or, 1)):
        inner = u.only(arm, op, llvm.Select)
        if inner is not None and inner.operands[taken] is left:
            both = u.computed(cls, op, condition, inner.operands[0])
            kept = inner.operands[3 - taken]
            arms = (kept, left) if taken == 2 else (left, kept)
            u.replace(op, u.computed(llvm.Select, op, both, *arms, type=op.results[0].type))
            return True
    return False


def chosen_result(u: Uses, op: llvm.FAdd | llvm.FSub | llvm.FMul) -> bool:
    """f(c ? k : x, c ? l : y), choices that nothing else reads, as c ? f(k, l) : f(x, y) where f(k, l) is k or l, as of
    zeros and of infinities: one choice in place of two.
    """
    first, second = (u.only(value, op, llvm.Select) for value in op.operands)
    if first is None or second is None or first is second or first.operands[0] is not second.operands[0]:
        return False
    if op.attributes.get("ftz") or op.attributes.get("rounding", "rn") != "rn":
        return False
    for at in (1, 2):
        known = [each.operands[at] for each in (first, second)]
        numbers = [v.op.attributes["value"] for v in known if isinstance(v.op, llvm.Constant)]
        if len(numbers) < 2 or not all(abs(n) in (0.0, inf) for n in numbers):
            continue
        result = FOLDED[type(op)](*numbers)
        same = next((v for v, n in zip(known, numbers, strict=True) if _signed(n) == result), None)
        if same is not None:
            rest = u.computed(type(op), op, first.operands[3 - at], second.operands[3 - at], **op.attributes)
            arms = (same, rest) if at == 1 else (rest, same)
            u.replace(op, u.computed(llvm.Select, op, first.operands[0], *arms, type=op.results[0].type))
            return True
    return False


def _signed(number: float) -> tuple[float, float]:
    return number, copysign(1, number)


FOLDED: dict[type[Op], Callable[[float, float], tuple[float, float]]] = {
    llvm.FAdd: lambda a, b: _signed(a + b),
    llvm.FSub: lambda a, b: _signed(a - b),
    llvm.FMul: lambda a, b: _signed(a * b),
}
"""Of zeros and infinities, which all types have: the number and its sign."""


def _flags(op: Op) -> dict[str, object]:
    """What an operation does, without its promise."""
    return {name: value for name, value in op.attributes.items() if name != "nsw"}


def chosen_load(u: Uses, op: llvm.Select) -> bool:
    """c ? load p : load q, which nothing else reads, as load (c ? p : q): one of the two addresses is as good as the
    other, since both are read.
    """
    condition, *arms = op.operands
    first, second = (u.only(arm, op, nvvm.Ld) for arm in arms)
    if first is None or second is None or first is second or op.parent is None:
        return False
    same = first.attributes == second.attributes and first.segments == second.segments
    if (
        not same
        or len(first.operands) != 1
        or len(first.results) != 1
        or first.operands[0].type != second.operands[0].type
    ):
        return False
    if len(second.results) != 1 or not _unwritten(op.parent, first, second):
        return False
    place = u.computed(llvm.Select, op, condition, first.operands[0], second.operands[0], type=first.operands[0].type)
    made = nvvm.Ld((place,), [op.results[0].type], dict(first.attributes), (), op.location, first.segments)
    u.users.setdefault(place, []).append(made)
    u.replace(op, u.append(made, op.parent))
    for gone in (first, second):
        op.parent.ops.remove(gone)
        u.users[gone.operands[0]].remove(gone)
    return True


def _unwritten(block: Block, first: Op, second: Op) -> bool:
    """Does nothing between two plain loads and the end of what was walked past write, wait or order?"""
    start = min(block.ops.index(first), block.ops.index(second))
    return all(each.effect is PURE or (isinstance(each, nvvm.Ld) and not each.order) for each in block.ops[start:])
