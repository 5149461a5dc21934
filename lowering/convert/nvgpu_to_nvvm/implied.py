"""What a test implies about the compared numbers, on the side of a branch where it holds, and on the other.

Source: LLVM's constant ranges of a comparison (ConstantRange::makeAllowedICmpRegion, LazyValueInfo.cpp), of which this
is the part for signed ranges.
"""

from __future__ import annotations

from collections.abc import Callable

from ir.core import Value
from ir.dialects import llvm

Range = tuple[int, int]
INVERSE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}


def implied_ranges(condition: Value, holds: bool, range_of: Callable[[Value], Range]) -> dict[Value, Range]:
    """Ranges of the values that a condition compares, if it holds or not; a value with an empty range is left out."""
    found: dict[Value, Range] = {}
    for comparison, way in _comparisons(condition, holds):
        order = comparison.predicate[-2:]
        x, y = comparison.operands
        first, second = (found.get(v) or range_of(v) for v in (x, y))
        ranges = _narrowed(order if way else INVERSE[order], comparison.predicate[0] == "u", first, second)
        found.update({v: r for v, r in zip((x, y), ranges, strict=True) if not isinstance(v.op, llvm.Constant)})
    return {
        value: (low, high) for value, (low, high) in found.items() if low <= high and (low, high) != range_of(value)
    }


def _comparisons(condition: Value, holds: bool) -> list[tuple[llvm.ICmp, bool]]:
    """The integer comparisons that all hold (or all fail) if a condition does."""
    op = condition.op
    if isinstance(op, llvm.ICmp):
        return [(op, holds)]
    if isinstance(op, llvm.Xor) and isinstance(known := op.operands[1].op, llvm.Constant) and known.value:
        return _comparisons(op.operands[0], not holds)
    if isinstance(op, llvm.And if holds else llvm.Or):
        return [each for operand in op.operands for each in _comparisons(operand, holds)]
    return []


def _narrowed(order: str, unsigned: bool, x: Range, y: Range) -> tuple[Range, Range]:
    """Two ranges, narrowed by a comparison of their values that holds."""
    (a, b), (c, d) = x, y
    if order in ("gt", "ge"):
        below, above = _narrowed("lt" if order == "gt" else "le", unsigned, y, x)
        return above, below
    if order == "eq":
        return (max(a, c), min(b, d)), (max(a, c), min(b, d))
    if order == "ne":
        if c == d:
            return (a + (a == c), b - (b == c)), y
        return (x, (c + (c == a), d - (d == a))) if a == b else (x, y)
    if unsigned and c < 0:  # the unsigned bound may be any large number
        return x, y
    less = order == "lt"
    if unsigned and a < 0:
        return (0, d - less), y
    return (a, min(b, d - less)), (max(c, a + less), d)
