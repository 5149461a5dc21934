"""Rules of `simplify-by-uses` for the order of sums and of other chains whose bits do not depend on the order.

Source: LLVM, Reassociate.cpp, for pairs that several sums share, and the shape of a chain.
"""

from __future__ import annotations

from collections import Counter
from functools import reduce

from ir.core import Op, Value
from ir.dialects import llvm
from ir.types import I1, I8, I16, I32, I64
from lowering.convert.nvgpu_to_nvvm.demands import number
from lowering.convert.nvgpu_to_nvvm.readers import Pair, Uses


def _free(value: Value) -> bool:
    """Is it an i32 sum whose terms can be reordered without losing flags?"""
    made = value.op
    return isinstance(made, llvm.Add) and value.type == I32 and not made.nsw and number(made.operands[1]) is None


def _split(u: Uses, op: Op) -> tuple[Value, Value, Value] | None:
    """The terms of a sum of three, (x + p) + q, whose inner sum has no other use, x known last."""
    if not _free(op.results[0]):
        return None
    for inner, q in (op.operands, op.operands[::-1]):
        made = u.only(inner, op, llvm.Add) if _free(inner) else None
        if made is None or any(isinstance(term.op, llvm.Add) for term in (q, *made.operands)):
            continue
        x, p = sorted(made.operands, key=lambda term: u.ranks.get(term, -1), reverse=True)
        if p is not q and u.ranks.get(x, -1) > u.ranks.get(q, -1):
            return x, p, q
    return None


def pairs(u: Uses, ops: list[Op]) -> Counter[Pair]:
    """How many sums of three prefer to add two older terms first."""
    sums = [op for op in ops if isinstance(op, llvm.Add) and op.results[0] in u.users]
    return Counter((op.parent, frozenset(found[1:])) for op in sums if (found := _split(u, op)) is not None)


def shared_pair(u: Uses, op: llvm.Add) -> bool:
    """(x + p) + q, where another such sum has p and q too: x + (p + q), whose inner sum they share. The last known term
    is added last, so that no other pair is formed afterwards.
    """
    found = _split(u, op)
    pair = (op.parent, frozenset(found[1:])) if found is not None else (None, frozenset[Value]())
    if found is None or u.pairs[pair] < 2:
        return False
    if pair not in u.sums:
        u.sums[pair] = u.computed(llvm.Add, op, *found[1:])
    u.replace(op, u.computed(llvm.Add, op, found[0], u.sums[pair]))
    return True


def chained(u: Uses, op: Op) -> bool:
    """(a + b) + (c + d), with single-use sums, as ((a + b) + c) + d: one instruction adds three; likewise for and, or,
    xor.
    """
    kind = op.results[0].type
    if kind not in (I1, I8, I16, I32, I64) or op.attributes.get("nsw"):
        return False
    first, second = (u.only(value, op, type(op)) for value in op.operands)
    if first is None or second is None or first is second:
        return False
    if kind == I1 and not all(u.only(value, op, llvm.ICmp, llvm.FCmp) for value in second.operands):
        return False  # a comparison and a predicate become one instruction
    if any(each.attributes.get("nsw") or number(each.operands[1]) is not None for each in (first, second)):
        return False
    longer = u.computed(type(op), op, first.results[0], second.operands[0])
    u.replace(op, u.computed(type(op), op, longer, second.operands[1]))
    return True


def one_difference(u: Uses, op: Op) -> bool:
    """(a - b) + (c - d), i64 with single-use terms, as (a + c) - (b + d): ptxas 13.5 adds three in two instructions
    with carries, and inserts moves around each difference. Terms known later than all subtracted ones are added after
    the difference.
    """
    readers = u.users[op.results[0]]
    if op.results[0].type != I64 or (len(readers) == 1 and isinstance(readers[0], llvm.Add | llvm.Sub)):
        return False  # the sum that reads it is looked at
    added, taken = list[Value](), list[Value]()
    if _terms(u, op, added, taken) < 2 or not added:
        return False
    block = op.parent
    places = {each: at for at, each in enumerate(block.ops)} if block is not None else {}
    place = {value: places.get(value.op, -1) if value.op is not None else -1 for value in (*added, *taken)}
    last = max(place[value] for value in taken)
    added.sort(key=lambda value: place[value] >= last)  # a stable order
    count = max(1, sum(place[value] < last for value in added))
    early, later = added[:count], added[count:]
    first, second = (reduce(lambda x, y: u.computed(llvm.Add, op, x, y), each) for each in (early, taken))
    u.replace(op, reduce(lambda x, y: u.computed(llvm.Add, op, x, y), later, u.computed(llvm.Sub, op, first, second)))
    return True


def _terms(u: Uses, op: Op, added: list[Value], taken: list[Value]) -> int:
    """Collect the added and the subtracted terms; returns the number of differences."""
    count = int(isinstance(op, llvm.Sub))
    for value, other in zip(op.operands, (False, bool(count)), strict=True):
        inner = u.only(value, op, llvm.Add, llvm.Sub)
        sides = (taken, added) if other else (added, taken)
        if inner is None:
            sides[0].append(value)
        else:
            count += _terms(u, inner, *sides)
    return count


def late_product(u: Uses, op: llvm.Add) -> bool:
    """(x + y n) + z, with a single-use inner sum and y n known last, as (x + z) + y n: the sum is computed while y is
    pending, and the multiply-add comes last.
    """
    if op.results[0].type != I32 or op.attributes.get("nsw") or op.parent is None:
        return False
    for value, z in (op.operands, op.operands[::-1]):
        inner = u.only(value, op, llvm.Add)
        if inner is None or inner.attributes.get("nsw") or number(z) is not None:
            continue
        for x, product in (inner.operands, inner.operands[::-1]):
            made = u.only(product, inner, llvm.Mul)
            factor = number(made.operands[1]) if made is not None else None
            if made is None or factor is None or not factor & factor - 1 or number(x) is not None:
                continue
            places = {each: at for at, each in enumerate(op.parent.ops)}
            if z.op is None or places.get(z.op, -1) < places[made]:
                u.replace(op, u.computed(llvm.Add, op, u.computed(llvm.Add, op, x, z), product))
                return True
    return False


def negated_term(u: Uses, op: Op) -> bool:
    """x + (0 - y) and x - (0 - y): x - y and x + y."""
    other = llvm.Sub if isinstance(op, llvm.Add) else llvm.Add
    pairs = (op.operands, op.operands[::-1]) if isinstance(op, llvm.Add) else (op.operands,)
    for x, y in pairs:
        negative = y.op
        if isinstance(negative, llvm.Sub) and number(negative.operands[0]) == 0:
            u.replace(op, u.computed(other, op, x, negative.operands[1]))
            return True
    return False
