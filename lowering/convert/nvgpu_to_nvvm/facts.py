"""Facts about integers: a signed range, and bits that are zero in every thread.

Facts follow from what an op computes, from its flags (`nsw`), from parameter ranges that hold in every execution
(gpu.func, `ranges`), and from enclosing tests, never from how a result is used. They prove that a sum cannot wrap, so
that a constant can move from it into the displacement of an address. Source: LLVM's known bits and constant ranges
(llvm/Support/KnownBits.h, llvm/IR/ConstantRange.h), of which this is a subset.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ir.core import Op, Value
from ir.dialects import llvm, nvvm
from ir.types import I32, IntType
from lowering.convert.nvgpu_to_nvvm.implied import Range, implied_ranges

GRID = {"x": (1 << 31) - 1, "y": 65535, "z": 65535}  # most blocks along a dimension; CUDA C++ Programming Guide, limits
THREADS = {"x": 1024, "y": 1024, "z": 64}  # most threads of a block; same source
DEPTH = 24  # nesting of operands that is queried; deeper ones are unknown


def limits(width: int) -> Range:
    """The signed numbers of a width; a bit is 0 or 1."""
    return (0, 1) if width == 1 else (-1 << width - 1, (1 << width - 1) - 1)


class Facts:
    """Ranges and zero bits of the values of one function, computed on demand; `block`: the threads of a CTA."""

    def __init__(self, block: tuple[int, ...]):
        self.block = dict(zip("xyz", block, strict=False))
        self._found: dict[Value, tuple[Range, int]] = {}
        self._assumed: dict[Value, tuple[Range, int]] = {}
        self._outside: list[tuple[dict[Value, tuple[Range, int]], dict[Value, tuple[Range, int]]]] = []

    def assume(self, value: Value, range: Range, divisor: int = 1) -> None:
        """Record a range, and a power-of-two divisor, known by the creator of a value: a counter, a parameter."""
        self._assumed[value] = range, divisor - 1

    def enter(self, condition: Value, holds: bool) -> None:
        """Queries until `leave` are on the side of a branch where a condition holds, or does not."""
        self._outside.append((self._found, self._assumed))
        ranges = implied_ranges(condition, holds, self.range)
        if ranges:
            self._found, self._assumed = {}, dict(self._assumed)
            for value, found in ranges.items():
                self._assumed[value] = found, self._assumed.get(value, (found, 0))[1]

    def leave(self) -> None:
        """Back to where `enter` was."""
        self._found, self._assumed = self._outside.pop()

    def range(self, value: Value) -> Range:
        """Least and greatest signed number."""
        return self._known(value, DEPTH)[0]

    def zeros(self, value: Value) -> int:
        """Mask of the bits that are 0."""
        return self._known(value, DEPTH)[1]

    def exact(self, op: Op) -> bool:
        """Does a sum, difference or product of this op's operands, as signed numbers, never wrap?"""
        return bool(op.attributes.get("nsw")) or self._fits(op, DEPTH)

    def adds(self, *values: Value, plus: int = 0) -> bool:
        """Does the sum of two values and a number fit their width, as signed numbers?"""
        low, high = limits(_width(values[0]))
        ranges = [self.range(v) for v in values]
        return low <= sum(r[0] for r in ranges) + plus and sum(r[1] for r in ranges) + plus <= high

    def multiplies(self, x: Value, y: Value) -> bool:
        """Does the product of two values fit their width, as signed numbers?"""
        low, high = limits(_width(x))
        least, most = _product(self.range(x), self.range(y))
        return low <= least and most <= high

    def _known(self, value: Value, depth: int) -> tuple[Range, int]:
        found = self._found.get(value)
        if found is not None:
            return found
        width = _width(value)
        if not width:
            return (0, 0), 0
        if depth == 0:
            return limits(width), 0
        bounds, zeros = self._of(value, width, depth - 1)
        assumed = self._assumed.get(value)
        if assumed is not None:
            (low, high), multiple = assumed
            bounds, zeros = (max(bounds[0], low), min(bounds[1], high)), zeros | multiple
        mask = (1 << width) - 1
        if bounds[0] >= 0:
            zeros |= mask & ~((1 << bounds[1].bit_length()) - 1)
        if zeros >> width - 1 & 1 or width == 1:
            bounds = max(bounds[0], 0), min(bounds[1], mask & ~zeros)
        self._found[value] = found = bounds, zeros
        return found

    def _of(self, value: Value, width: int, depth: int) -> tuple[Range, int]:
        op, full = value.op, limits(width)
        if op is None:
            return full, 0
        if isinstance(op, llvm.Constant):
            number = int(op.attributes["value"])
            return (number, number), ~number & (1 << width) - 1
        if isinstance(op, nvvm.SpecialRegister):
            return self._special(op), 0
        rule = _RULES.get(type(op))
        if rule is None:
            return full, 0
        low, high = full
        (least, most), zeros = rule(self, op, width, depth)
        return ((least, most) if low <= least and most <= high else full), zeros

    def _special(self, op: Op) -> Range:
        kind, _, dimension = op.name.removeprefix("nvvm.read.ptx.sreg.").partition(".")
        if dimension not in THREADS:  # nothing is known about the position in a cluster
            return limits(I32.width)
        threads, most = self.block.get(dimension, THREADS[dimension]), GRID[dimension]
        return {
            "tid": (0, threads - 1),
            "ntid": (threads, threads),
            "ctaid": (0, most - 1),
            "nctaid": (1, most),
            "clusterid": (0, most - 1),
            "nclusterid": (1, most),
        }[kind]

    def _fits(self, op: Op, depth: int) -> bool:
        """Without the flag: by ranges, or because the operands have no common bits."""
        width = _width(op.results[0])
        if type(op) is llvm.Add and self._apart(op, width, depth):
            return True
        low, high = limits(width)
        least, most = self._exactly(op, depth)
        return low <= least and most <= high

    def _apart(self, op: Op, width: int, depth: int) -> bool:
        x, y = (self._known(v, depth)[1] for v in op.operands)
        return (x | y) == (1 << width) - 1

    def _exactly(self, op: Op, depth: int) -> Range:
        first, second = (self._known(v, depth)[0] for v in op.operands)
        if type(op) is llvm.Mul:
            return _product(first, second)
        (a, b), (c, d) = first, second
        return (a + c, b + d) if type(op) is llvm.Add else (a - d, b - c)


Rule = Callable[[Facts, Any, int, int], tuple[Range, int]]
"""(facts, op, width, depth) -> range, where a range that does not fit the width counts as unknown, and zero bits."""


def _product(x: Range, y: Range) -> Range:
    """Least and greatest product of numbers of two ranges."""
    corners = [a * b for a in x for b in y]
    return min(corners), max(corners)


def _width(value: Value) -> int:
    kind = value.type
    return kind.width if isinstance(kind, IntType) else 0


def trailing(zeros: int) -> int:
    """How many of the lowest bits are 0."""
    return (~zeros & zeros + 1).bit_length() - 1


def _operands(facts: Facts, op: Op, depth: int) -> list[tuple[Range, int]]:
    return [facts._known(v, depth) for v in op.operands]  # pyright: ignore[reportPrivateUsage]


def _arithmetic(facts: Facts, op: Op, width: int, depth: int) -> tuple[Range, int]:
    """Sum, difference, product."""
    (_, x), (_, y) = _operands(facts, op, depth)
    mask = (1 << width) - 1
    low = trailing(x) + trailing(y) if type(op) is llvm.Mul else min(trailing(x), trailing(y))
    zeros = (1 << min(low, width)) - 1
    if type(op) is llvm.Add and (x | y) == mask:
        zeros = x & y
    if type(op) is llvm.Mul and (place := _place(facts, op.operands[1], depth)) is not None:
        zeros = (x << place | (1 << place) - 1) & mask
    least, most = facts._exactly(op, depth)  # pyright: ignore[reportPrivateUsage]
    if op.attributes.get("nsw"):  # wrapping values cannot occur
        bottom, top = limits(width)
        return (max(least, bottom), min(most, top)), zeros
    if type(op) is llvm.Add and (x | y) == mask:
        return (max(least, limits(width)[0]), min(most, limits(width)[1])), zeros
    return (least, most), zeros


def _place(facts: Facts, factor: Value, depth: int) -> int | None:
    """The exponent of a power of two."""
    (low, high), _ = facts._known(factor, depth)  # pyright: ignore[reportPrivateUsage]
    number = low & (1 << _width(factor)) - 1
    return number.bit_length() - 1 if low == high and number and not number & number - 1 else None


def _and(facts: Facts, op: Op, width: int, depth: int) -> tuple[Range, int]:
    """Never more than an operand that is not negative."""
    (a, x), (b, y) = _operands(facts, op, depth)
    tops = [r[1] for r in (a, b) if r[0] >= 0]
    return ((0, min(tops)) if tops else limits(width)), x | y


def _or(facts: Facts, op: Op, width: int, depth: int) -> tuple[Range, int]:
    """Or and xor: zero where both are; the range follows from the bits."""
    (_, x), (_, y) = _operands(facts, op, depth)
    return limits(width), x & y


def _divide(facts: Facts, op: Op, width: int, depth: int) -> tuple[Range, int]:
    """Division of a non-negative by a positive number, signed or not."""
    (a, _), (b, _) = _operands(facts, op, depth)
    if a[0] < 0 or b[0] <= 0:
        return limits(width), 0
    if isinstance(op, (llvm.SRem, llvm.URem)):
        return (0, min(a[1], b[1] - 1)), 0
    return (a[0] // b[1], a[1] // b[0]), 0


def _shift(facts: Facts, op: Op, width: int, depth: int) -> tuple[Range, int]:
    """A shift to the right, by a constant or by one of several amounts."""
    (a, zeros), (b, _) = _operands(facts, op, depth)
    if not 0 <= b[0] <= b[1] < width:
        return limits(width), 0
    if b[0] != b[1]:
        return ((0, a[1] >> b[0]) if a[0] >= 0 else limits(width)), 0
    if type(op) is llvm.AShr:
        return (a[0] >> b[0], a[1] >> b[0]), 0
    mask = (1 << width) - 1
    return limits(width), (zeros >> b[0] | ~(mask >> b[0])) & mask


def _extend(facts: Facts, op: Op, width: int, depth: int) -> tuple[Range, int]:
    """Sign or zero extension; a bit extends to -1."""
    ((a, zeros),) = _operands(facts, op, depth)
    narrow = _width(op.operands[0])
    high = (1 << width) - (1 << narrow)
    if type(op) is llvm.ZExt:
        return (a if a[0] >= 0 else (0, (1 << narrow) - 1)), zeros | high
    if narrow == 1:
        return (-1, 0), 0
    return a, zeros | (high if zeros >> narrow - 1 & 1 else 0)


def _truncate(facts: Facts, op: Op, width: int, depth: int) -> tuple[Range, int]:
    """The same number where it fits."""
    ((a, zeros),) = _operands(facts, op, depth)
    return a, zeros & (1 << width) - 1


def _permute(facts: Facts, op: Op, width: int, depth: int) -> tuple[Range, int]:
    """The bytes that a constant selects."""
    (_, x), (_, y), (chosen, _) = _operands(facts, op, depth)
    if chosen[0] != chosen[1] or op.attributes["mode"] != "default":
        return limits(width), 0
    zeros, pool = 0, x | y << 32
    for at in range(4):
        byte = chosen[0] >> 4 * at & 15
        zeros |= 0 if byte & 8 else (pool >> 8 * byte & 255) << 8 * at
    return limits(width), zeros


def _select(facts: Facts, op: Op, width: int, depth: int) -> tuple[Range, int]:
    """Either."""
    _, (a, x), (b, y) = _operands(facts, op, depth)
    return (min(a[0], b[0]), max(a[1], b[1])), x & y


def _extremum(facts: Facts, op: Op, width: int, depth: int) -> tuple[Range, int]:
    """Signed ones, and unsigned ones of non-negative numbers."""
    (a, x), (b, y) = _operands(facts, op, depth)
    if isinstance(op, (llvm.UMax, llvm.UMin)) and (a[0] < 0 or b[0] < 0):
        tops = [r[1] for r in (a, b) if r[0] >= 0]
        return ((0, min(tops)) if type(op) is llvm.UMin and tops else limits(width)), x & y
    pick = max if isinstance(op, (llvm.SMax, llvm.UMax)) else min
    return (pick(a[0], b[0]), pick(a[1], b[1])), x & y


_RULES: dict[type[Op], Rule] = {
    llvm.Add: _arithmetic, llvm.Sub: _arithmetic, llvm.Mul: _arithmetic, llvm.And: _and, llvm.Or: _or, llvm.Xor: _or,
    llvm.SDiv: _divide, llvm.UDiv: _divide, llvm.SRem: _divide, llvm.URem: _divide, llvm.LShr: _shift,
    llvm.AShr: _shift, llvm.SExt: _extend, llvm.ZExt: _extend, llvm.Trunc: _truncate, llvm.Select: _select,
    nvvm.Permute: _permute, llvm.SMax: _extremum, llvm.SMin: _extremum, llvm.UMax: _extremum, llvm.UMin: _extremum,
}  # fmt: skip
