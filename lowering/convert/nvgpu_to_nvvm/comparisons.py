"""Comparisons: their predicates, what ranges say of them, and the parts of numbers that they look at."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

from ir.core import Value
from ir.dialects import llvm
from ir.types import I1, I32, I64
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, width_of
from lowering.convert.nvgpu_to_nvvm.facts import limits

INVERSE = {"eq": "ne", "ne": "eq", "slt": "sge", "sge": "slt", "sle": "sgt", "sgt": "sle", "ult": "uge", "uge": "ult",
           "ule": "ugt", "ugt": "ule"}  # fmt: skip
SWAPPED = {"eq": "eq", "ne": "ne", "slt": "sgt", "sgt": "slt", "sle": "sge", "sge": "sle", "ult": "ugt", "ugt": "ult",
           "ule": "uge", "uge": "ule"}  # fmt: skip
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
TERMS = 4  # sums of sums that a comparison looks into
OUTCOMES = {"lt": 1, "eq": 2, "le": 3, "gt": 4, "ne": 5, "ge": 6}
"""For which outcomes a comparison holds: less 1, equal 2, greater 4."""
FLOAT_PREDICATE = dict(
    enumerate(("", "olt", "oeq", "ole", "ogt", "one", "oge", "ord", "uno", "ult", "ueq", "ule", "ugt", "une", "uge"))
)
FLOAT_OUTCOMES = {name: code for code, name in FLOAT_PREDICATE.items()}
"""As OUTCOMES, and 8 for unordered."""


def unsigned(number: int, width: int) -> int:
    """The bits of a number as one without a sign."""
    return number & ((1 << width) - 1)


def holds(predicate: str, a: int, b: int, width: int) -> bool:
    """A comparison of two numbers."""
    if predicate[0] == "u":
        a, b = unsigned(a, width), unsigned(b, width)
    return COMPARE[predicate[-2:]](a, b)


def reached(e: Emitter, predicate: str, x: Value, number: int) -> int:
    """The least number from a positive one on that x may be, by its bits, where x below the one is x below the other:
    rows 0 to 7 and 32 to 39 are below 8 as they are below 32.
    """
    zeros, found = e.facts.zeros(x), number
    if predicate[1:] not in ("lt", "ge") or number <= 0:
        return number
    while clash := found & zeros:
        above = clash.bit_length()
        found = ((found >> above) + 1) << above
    return found if found <= limits(width_of(x))[1] else number


def decided(e: Emitter, predicate: str, x: Value, y: Value) -> bool | None:
    """What ranges say of a comparison, or all that selects may choose: of labels, one group before another. None where
    they leave it open.
    """
    known = _by_ranges(e, predicate, x, y)
    if known is not None or predicate not in ("slt", "sge", "sgt", "sle"):
        return known
    if not isinstance(x.op, llvm.Select) and not isinstance(y.op, llvm.Select):
        return None
    if predicate in ("sgt", "sle"):  # x > y is y < x
        x, y = y, x
    below = True if never_above(e, x, y, less=True) else False if never_above(e, y, x) else None
    return below if below is None or predicate in ("slt", "sgt") else not below


def _by_ranges(e: Emitter, predicate: str, x: Value, y: Value) -> bool | None:
    (a, b), (c, d) = e.facts.range(x), e.facts.range(y)
    if predicate[0] == "u" and (a < 0 or c < 0):
        return None
    if predicate in ("eq", "ne"):
        return (predicate == "ne") if b < c or d < a else None
    if predicate[1:] in ("gt", "le"):  # x > y is y < x
        (a, b), (c, d) = (c, d), (a, b)
    holds = True if b < c else False if a >= d else None
    return holds if holds is None or predicate[1:] in ("lt", "gt") else not holds


def never_above(e: Emitter, x: Value, y: Value, depth: int = TERMS, less: bool = False) -> bool:
    """Is x <= y (x < y for `less`), signed, known of all that selects and minima may choose, by ranges or as sums of
    one number?
    """
    if (x is y and not less) or _by_ranges(e, "slt" if less else "sle", x, y):
        return True
    chosen, other = x.op, y.op
    if depth and isinstance(other, llvm.Select):
        return all(never_above(e, x, arm, depth - 1, less) for arm in other.operands[1:])
    if depth and isinstance(other, llvm.SMin):
        return all(never_above(e, x, each, depth - 1, less) for each in other.operands)
    if depth and isinstance(chosen, llvm.Select):
        return all(never_above(e, arm, y, depth - 1, less) for arm in chosen.operands[1:])
    (base, a), (same, b) = constant_part(e, x), constant_part(e, y)
    return base is same and a + less <= b and both_exact(e, x, y)


def terms(x: Value, depth: int) -> Iterator[Value]:
    """The terms of a sum of sums."""
    inner = x.owner
    if depth and type(inner) is llvm.Add:
        for operand in inner.operands:
            yield from terms(operand, depth - 1)
    else:
        yield x


def both_exact(e: Emitter, *sums: Value) -> bool:
    """Does none of them wrap?"""
    return all(type(x.owner) is not llvm.Add or e.facts.exact(x.owner) for x in sums)


def unsigned_part(e: Emitter, x: Value) -> Value | None:
    """The i32 that an i64 is the extension of by zeros."""
    known, inner = e.integer(x), x.owner
    if known is not None:
        return e.constant(I32, known) if x.type == I64 and 0 <= known < 1 << 32 else None
    fits = x.type == I64 and type(inner) is llvm.ZExt and inner.operands[0].type == I32
    return inner.operands[0] if fits and type(inner) is llvm.ZExt else None


def lowest_bit(e: Emitter, x: Value) -> Value | None:
    """The integer that is 1 where an i1 holds, if that is how the i1 was made."""
    inner = x.op
    masked = inner.operands[0].op if isinstance(inner, llvm.ICmp) else None
    if not isinstance(inner, llvm.ICmp) or inner.predicate != "ne" or e.integer(inner.operands[1]) != 0:
        return None
    fits = isinstance(masked, llvm.And) and e.integer(masked.operands[1]) == 1
    return inner.operands[0] if fits else None


def constant_part(e: Emitter, x: Value) -> tuple[Value, int]:
    """A sum without its constant, and the constant; 0 where there is none."""
    inner = x.op
    known = e.integer(inner.operands[1]) if isinstance(inner, llvm.Add) else None
    return (inner.operands[0], known) if isinstance(inner, llvm.Add) and known is not None else (x, 0)


def apart_from_constant(e: Emitter, x: Value, y: Value) -> tuple[list[Value], int]:
    """The terms of a sum that a loop makes anew, and its constant, where x < y is constant < y - terms: one difference
    for all columns of a tile, in place of a sum for each. That is so where neither the sum nor the difference wraps;
    none where they may, and for a counter's next value, which is needed as it is.
    """
    parts = list(terms(x, TERMS)) if x.type == I32 and e.level[x] and y not in e.known else []
    constant = sum(int(e.known[t]) for t in parts if t in e.known)
    rest = [t for t in parts if t not in e.known]
    if not constant or all(t.op is None for t in rest):
        return [], 0
    low, high = (sum(e.facts.range(t)[end] for t in rest) for end in (0, 1))
    (a, b), (bottom, top) = e.facts.range(y), limits(I32.width)
    exact = bottom <= low + constant and high + constant <= top and bottom <= a - high and b - low <= top
    return (rest, constant) if exact else ([], 0)


def compared(e: Emitter, predicate: str, x: Value, y: Value) -> Value:
    """The comparison, or the one of the other sign that is there: of numbers that are not negative both are one."""
    if predicate not in ("eq", "ne") and e.facts.range(x)[0] >= 0 and e.facts.range(y)[0] >= 0:
        other = ("u" if predicate[0] == "s" else "s") + predicate[1:]
        if e.found(llvm.ICmp, I1, x, y, predicate=predicate) is None:
            there = e.found(llvm.ICmp, I1, x, y, predicate=other)
            if there is not None:
                return there
    return e.value(llvm.ICmp, I1, x, y, predicate=predicate)


def compared_again(e: Emitter, x: Value) -> Value:
    """The same predicate from the opposite comparison: of an equal one ptxas 13.5 keeps what was made first."""
    op = x.owner
    if type(op) is not llvm.ICmp:
        return x
    opposite = e.value(llvm.ICmp, I1, *op.operands, predicate=INVERSE[op.predicate])
    return e.value(llvm.Xor, I1, opposite, e.constant(I1, 1))
