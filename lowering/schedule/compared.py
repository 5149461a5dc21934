"""The cost of comparisons in a loop: less than an instruction for each element, and none for sums that only they read.

A sum with an iota tile is not computed if only comparisons read it: `j * 1024 + column < length` compares the
column with `length - j * 1024`. If both sides except the column are multiples of 16, runs of 16 columns have the same
outcome, computed once. Source: nvgpu_to_nvvm/comparisons.py; without it a masked loop of layernorm came out 37 % too
long (ptxas 13.5).
"""

from __future__ import annotations

from math import gcd

from ir.core import Op, Value
from ir.dialects import arith, nv_tileas, scf
from ir.types import TensorType
from lowering.schedule.masks import SHAPES, Masks, Range, constants
from lowering.schedule.size import count_of, layout_of, size
from lowering.targets import Target


def length(loop: scf.For, func: nv_tileas.Func, target: Target) -> float:
    """Instructions of an iteration of a loop."""
    return size(loop, target) - Comparisons(loop, func).spared()


class Comparisons:
    """The comparisons of a loop of a kernel."""

    def __init__(self, loop: scf.For, func: nv_tileas.Func):
        params = func.body.block.args
        ranges: dict[Value, Range] = {params[n]: (least, greatest) for n, least, greatest, _ in func.ranges}
        self.divisors = {params[n]: divisor for n, _, _, divisor in func.ranges}
        self.masks = Masks(loop, ranges)
        self.found = [op for op in loop.walk() if isinstance(op, arith.CmpI) and isinstance(op.result.type, TensorType)]

    def spared(self) -> int:
        """Instructions that `size` counts but that are not emitted."""
        sums = {side: None for op in self.found for side in (op.lhs, op.rhs) if self.only_compared(side)}
        alike = sum(count_of(op.result) - self.outcomes(op) for op in self.found)
        return alike + sum(count_of(side) for side in sums)

    def only_compared(self, value: Value) -> bool:
        """Is it a sum with a tile of numbers, for comparisons alone?"""
        made, users = value.op, self.masks.users.get(value, ())
        if not isinstance(made, arith.AddI) or not all(isinstance(user, arith.CmpI) for user in users):
            return False
        return any(numbered(side) for side in (made.lhs, made.rhs))

    def outcomes(self, op: arith.CmpI) -> int:
        """How many elements of a thread may have different outcomes."""
        apart, layout, kind = self.masks.apart(op), layout_of(op.result), op.result.type
        every = count_of(op.result)
        if apart is None or layout is None or not isinstance(kind, TensorType) or len(kind.shape) != 1:
            return every
        block = gcd(apart.slope, *(factor * self.divisors.get(value, 1) for value, factor in apart.terms))
        if apart.high - apart.low != kind.shape[0] - 1 or not block:
            return every
        places = [layout.element(register) for register in range(layout.n_regs)]
        growing, falling = (
            {(start + sign * place) // block for place in places} for start, sign in ((apart.low, 1), (apart.high, -1))
        )
        return max(len(growing), len(falling))


def numbered(value: Value) -> bool:
    """A tile of numbers that are known."""
    while isinstance(value.op, SHAPES):
        value = value.op.source
    made: Op | None = value.op
    return isinstance(made, nv_tileas.Iota) or constants(value) is not None
