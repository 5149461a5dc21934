"""Rules of `simplify-by-uses` for a value that is compared with two constants.

Source: LLVM, InstCombineAndOrXor.cpp (foldAndOrOfICmpsUsingRanges), the part needed for window masks: the difference of
a row and a column number, within two bounds.
"""

from __future__ import annotations

from ir.core import Op, Value
from ir.dialects import llvm
from lowering.convert.nvgpu_to_nvvm.comparisons import INVERSE
from lowering.convert.nvgpu_to_nvvm.demands import number
from lowering.convert.nvgpu_to_nvvm.emitter import width_of, wrap
from lowering.convert.nvgpu_to_nvvm.readers import Uses

LEAST = {"sge": 0, "sgt": 1}
MOST = {"sle": 0, "slt": -1}
"""What to add to a constant to get the least or greatest number that passes the comparison."""


def between(u: Uses, op: Op) -> bool:
    """low <= x & x <= high, where x is a single-use difference or sum with a constant: x - low, which costs the same,
    is at most high - low, unsigned. For x < low | x > high it is greater.
    """
    inside = isinstance(op, llvm.And)
    pair = [u.only(value, op, llvm.ICmp) for value in op.operands]
    bounds: dict[bool, int] = {}
    for each in pair:
        bound = None if each is None else number(each.operands[1])
        if each is None or bound is None:
            return False
        predicate = str(each.attributes["predicate"])
        predicate = predicate if inside else INVERSE[predicate]
        for low, steps in ((True, LEAST), (False, MOST)):
            if predicate in steps:
                bounds[low] = wrap(bound, width_of(each.operands[1])) + steps[predicate]
    first, second = pair
    assert first is not None
    assert second is not None
    x = first.operands[0]
    if len(bounds) < 2 or x is not second.operands[0] or len(u.users[x]) > 2 or bounds[True] > bounds[False]:
        return False
    offset = _less(u, op, x, bounds[True])
    if offset is None:
        return False
    width = u.constant(x.type, bounds[False] - bounds[True])
    u.replace(
        op, u.computed(llvm.ICmp, op, offset, width, type=op.results[0].type, predicate="ule" if inside else "ugt")
    )
    return True


def _less(u: Uses, op: Op, x: Value, amount: int) -> Value | None:
    """x - amount in no more operations than x takes; None if that is not known to be possible."""
    made = x.op
    if isinstance(made, llvm.Sub):
        taken = made.operands[1]
        key = (op.parent, taken, amount)
        if key not in u.shifted:
            u.shifted[key] = u.computed(llvm.Add, op, taken, u.constant(x.type, amount))
        return u.computed(llvm.Sub, op, made.operands[0], u.shifted[key])
    if isinstance(made, llvm.Add) and (term := number(made.operands[1])) is not None:
        return u.computed(llvm.Add, op, made.operands[0], u.constant(x.type, term - amount))
    return None
