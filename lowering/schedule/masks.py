"""Comparisons in a loop with the same outcome for all elements of a tile in a range of iterations, and that range.

Both sides of a comparison are interpreted as slope x counter + loop-invariant values + a per-element part. Wrapping
sums, differences and products by constants are correct modulo the width of their type, so they equal the exact integers
whenever those fit in the type; this is part of the conditions. The conditions are a list of numbers that must not be
negative; each is linear in the counter, so it holds up to some iteration, or from one on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ir.core import Op, Value
from ir.dialects import arith, nv_tileas, scf
from ir.dialects.arith import element_of
from ir.records import dataclass
from ir.types import I1, IntType, PartitionViewType, TensorType
from lowering.placement.copied import contiguous_dim

LEAST, GREATEST = -(1 << 31), (1 << 31) - 1
"""Of a leaf: values of more than 32 bits are none."""
ROOM: Final = 1 << 61
"""Conditions are computed in i64: no term exceeds this, and a few terms are added up."""
LARGE: Final = 1e4
"""A literal beyond this is added to masked-out elements."""
SHAPES = (nv_tileas.Broadcast, nv_tileas.Reshape, nv_tileas.Permute, nv_tileas.ConvertLayout)
"""What hands on the elements of a tile as they are."""
OPPOSITE = {"slt": "sge", "sge": "slt", "sle": "sgt", "sgt": "sle", "ult": "uge", "uge": "ult", "ule": "ugt",
            "ugt": "ule"}  # fmt: skip
Range = tuple[int, int]


@dataclass(frozen=True)
class Linear:
    """slope x counter + a factor of each of some values + a number between low and high that differs by element."""

    slope: int
    terms: tuple[tuple[Value, int], ...] = ()
    low: int = 0
    high: int = 0

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """The sum with so many times another."""
        terms = dict(self.terms)
        for value, number in other.terms:
            terms[value] = terms.get(value, 0) + factor * number
        ends = sorted((factor * other.low, factor * other.high))
        kept = tuple((value, number) for value, number in terms.items() if number)
        return Linear(self.slope + factor * other.slope, kept, self.low + ends[0], self.high + ends[1])

    @property
    def number(self) -> int | None:
        """It, where it is a number."""
        return self.low if not self.slope and not self.terms and self.low == self.high else None

    @property
    def size(self) -> int:
        """Nothing that is computed of it is larger."""
        return (abs(self.slope) + sum(abs(n) for _, n in self.terms)) * -LEAST + max(abs(self.low), abs(self.high))


@dataclass(frozen=True)
class Known:
    """A comparison that is `truth` for all elements in the iterations in which none of some numbers is negative: from
    one on (`later`) or up to one. `spread`: iterations, about, in which it is so for some elements, for others not.
    Or a copy of which no access straddles the end of its array then, or whose tile is `inside` it, and which is made.
    """

    op: arith.CmpI | nv_tileas.AsyncTiledCopy
    truth: bool
    needs: tuple[Linear, ...]
    later: bool
    spread: int
    inside: bool = False


class Masks:
    """The comparisons of a loop; `ranges`: what is promised of values from outside."""

    def __init__(self, loop: scf.For, ranges: Mapping[Value, Range]):
        self.loop = loop
        self.ranges = ranges
        self.counter = loop.body.block.args[0]
        self.inside = {v for op in loop.walk() if op is not loop for v in op.results}
        self.inside.update(v for op in loop.walk() for r in op.regions for block in r.blocks for v in block.args)
        self.memo: dict[Value, Linear | None] = {}
        self.users: dict[Value, list[Op]] = {}
        for op in loop.walk():
            for value in op.operands if op is not loop else ():
                self.users.setdefault(value, []).append(op)

    def found(self) -> Iterator[Known]:
        """Every comparison of tiles with a uniform outcome in some iterations, the one with which a mask passes
        everything.
        """
        kind, step = self.counter.type, constant(self.loop.step)
        if self.loop.unsigned or not isinstance(kind, IntType) or kind.width > 32 or step is None or step <= 0:
            return
        for op in self.loop.walk():
            if isinstance(op, arith.CmpI) and isinstance(op.result.type, TensorType):
                truth = self.passing(op.result)
                known = None if truth is None else self.known(op, truth, step)
                if known is not None:
                    yield known
            elif isinstance(op, nv_tileas.AsyncTiledCopy) and op.asynchronous and op.ragged:
                known = self.whole(op)
                if known is not None:
                    yield known

    def whole(self, op: nv_tileas.AsyncTiledCopy) -> Known | None:
        """What must hold for a tile to end inside its array along the dimension of its accesses: each of these is then
        inside or outside as a whole.
        """
        kind = op.view.type
        dim = contiguous_dim(kind) if isinstance(kind, PartitionViewType) else None
        if dim is None or not isinstance(kind, PartitionViewType):
            return None
        size, number = self.extent(op.view, kind.dim_map[dim]), self.linear(op.index[dim])
        if size is None or number is None or number.slope <= 0:
            return None
        start = Linear(0).plus(number, kind.tile[dim])
        needs = (size.plus(start, -1).plus(Linear(0, (), -kind.tile[dim], -kind.tile[dim])), start)
        if any(each.size > ROOM for each in needs):
            return None
        return Known(op, True, tuple(each for each in needs if not self.always(each)), False, 1)

    def copies(self) -> Iterator[Known]:
        """Every copy whose tile lies in its array and is for an iteration that there is, up to some iteration."""
        for op in self.loop.walk():
            if isinstance(op, nv_tileas.AsyncTiledCopy) and op.asynchronous:
                needs = self.within(op)
                if needs is not None and any(each.slope < 0 for each in needs):
                    ahead = max(number.low for number in map(self.linear, op.index) if number and number.slope)
                    yield Known(op, True, tuple(needs), False, 1 + ahead, inside=True)

    def within(self, op: nv_tileas.AsyncTiledCopy) -> list[Linear] | None:
        """What must hold for the whole tile of a copy to be inside its array, and the copy enabled; None where a tile
        may end outside along a dimension that the loop does not go along: all its iterations would keep the bounds.
        """
        kind, needs = op.view.type, list[Linear]()
        if not isinstance(kind, PartitionViewType):
            return None
        for dim, index in enumerate(op.index):
            size, number, extent = self.extent(op.view, kind.dim_map[dim]), self.linear(index), kind.tile[dim]
            if size is None or number is None:
                return None
            start = Linear(0).plus(number, extent)
            end = size.plus(start, -1).plus(Linear(0, (), -extent, -extent))
            if not number.slope and extent > 1 and not self.always(end):
                return None
            needs += [end, start]
        if op.enable is not None:
            apart = self.apart(op.enable.op) if isinstance(op.enable.op, arith.CmpI) else None
            if apart is None:
                return None
            needs.append(apart)
        if any(each.size > ROOM for each in needs):
            return None
        return [each for each in needs if not self.always(each)]

    def extent(self, view: Value, axis: int) -> Linear | None:
        """The size of an array along one of its dimensions."""
        memref = view.op.source if isinstance(view.op, nv_tileas.Partition) else None
        if memref is None or not isinstance(memref.op, nv_tileas.MakeMemref):
            return None
        shape: Sequence[int | None] = view.type.view.shape if isinstance(view.type, PartitionViewType) else ()
        static = shape[axis]
        if static is not None:
            return Linear(0, (), static, static)
        return self.linear(memref.op.sizes[sum(each is None for each in shape[:axis])])

    def passing(self, mask: Value) -> bool | None:
        """The value of a mask with which its users take the computed value rather than the replacement; None if
        unclear.
        """
        wanted: set[bool | None] = set()
        for user in self.users.get(mask, ()):
            if isinstance(user, arith.Select) and mask is user.condition:
                wanted.add(preferred(user))
            elif isinstance(user, (*SHAPES, arith.AndI, arith.OrI)):
                wanted.add(self.passing(user.results[0]))
            elif isinstance(user, arith.XOrI):
                number = next((constant(v) for v in user.operands if v is not mask), None)
                through = None if number is None else self.passing(user.result)
                wanted.add(None if through is None or number is None else through != bool(number))
            elif isinstance(user, nv_tileas.Gather | nv_tileas.AsyncGatherCopy):
                wanted.add(True)
            else:
                wanted.add(None)
        return wanted.pop() if len(wanted) == 1 else None

    def known(self, op: arith.CmpI, truth: bool, step: int) -> Known | None:
        """What must hold for a comparison to be `truth` for all elements; None where it does not depend on the counter
        alone.
        """
        predicate = op.predicate if truth else OPPOSITE.get(op.predicate, "")
        kind, sides = element_of(op.lhs.type), self.sides(op, predicate)
        if sides is None or not isinstance(kind, IntType):
            return None
        left, right = sides
        apart = difference(left, right, predicate)
        if not apart.slope or apart.size > ROOM:
            return None
        needs = [apart]
        if kind.width <= 32 or predicate[0] == "u":  # the left side is not below the type: then nor is the right one
            least = 1 << kind.width - 1 if predicate[0] == "s" else 0
            needs.append(left.plus(Linear(0, (), least, least)))
        if kind.width <= 32:  # the right side is not above the type, where both signs count alike; then nor is the left
            greatest = (1 << kind.width - 1) - 1
            needs.append(Linear(0, (), greatest, greatest).plus(right, -1))
        if any(each.size > ROOM for each in needs):
            return None
        open_ = [Linear(each.slope, each.terms, each.low, each.low) for each in needs if not self.always(each)]
        spread = -(-(apart.high - apart.low) // (abs(apart.slope) * step))
        return Known(op, truth, tuple(open_), apart.slope > 0, spread)

    def apart(self, op: arith.CmpI) -> Linear | None:
        """A number that is not negative if an ordering comparison holds; None if it is not linear in the counter."""
        sides = self.sides(op, op.predicate)
        return None if sides is None else difference(*sides, op.predicate)

    def sides(self, op: arith.CmpI, predicate: str) -> tuple[Linear, Linear] | None:
        """Both sides of a comparison, that first that is less."""
        left, right = self.linear(op.lhs), self.linear(op.rhs)
        if predicate not in OPPOSITE or left is None or right is None:
            return None
        return (right, left) if predicate[1:] in ("gt", "ge") else (left, right)

    def always(self, need: Linear) -> bool:
        """Is it never negative, by the assumed ranges of its values?"""
        first = self.range(self.loop.lower)[0]
        last = self.range(self.loop.upper)[1] - 1
        total = need.low + need.slope * (first if need.slope > 0 else last)
        for value, factor in need.terms:
            total += factor * self.range(value)[0 if factor > 0 else 1]
        return total >= 0

    def range(self, value: Value) -> Range:
        """The least and the greatest that a value can be."""
        number = constant(value)
        if number is not None:
            return number, number
        if isinstance(value.op, nv_tileas.ProgramId | nv_tileas.NumPrograms):
            return 0, GREATEST
        width = value.type.width if isinstance(value.type, IntType) else 32
        low, high = self.ranges.get(value, (LEAST, GREATEST))
        return max(low, -(1 << width - 1)), min(high, (1 << width - 1) - 1)

    def linear(self, value: Value) -> Linear | None:
        """A value in terms of the counter; None if it is not linear in it."""
        if value not in self.memo:
            self.memo[value] = self._linear(value)
        return self.memo[value]

    def _linear(self, value: Value) -> Linear | None:
        op, kind = value.op, element_of(value.type)
        if value is self.counter:
            return Linear(1)
        if not isinstance(kind, IntType):
            return None
        number = constants(value)
        if number is not None:
            return Linear(0, (), *number)
        if isinstance(op, nv_tileas.Iota):
            return Linear(0, (), 0, value.type.shape[0] - 1) if isinstance(value.type, TensorType) else None
        if isinstance(op, SHAPES):
            return self.linear(op.source)
        if isinstance(op, arith.ExtSI) and (inner := self.linear(op.value)) is not None and self.fits(inner, op):
            return inner
        if isinstance(op, arith.AddI | arith.SubI | arith.MulI | arith.ShLI):
            made = self.combined(op)
            if made is not None and (made.slope or value in self.inside or isinstance(value.type, TensorType)):
                return made
        scalar = value not in self.inside and value.type == kind and 8 <= kind.width <= 32
        return Linear(0, ((value, 1),)) if scalar else None

    def combined(self, op: arith.AddI | arith.SubI | arith.MulI | arith.ShLI) -> Linear | None:
        """A sum, a difference, a product by a number."""
        left, right = self.linear(op.lhs), self.linear(op.rhs)
        if left is None or right is None:
            return None
        if isinstance(op, arith.ShLI):
            kind = element_of(op.result.type)
            if right.number is None or not isinstance(kind, IntType) or not 0 <= right.number < kind.width:
                return None
            made = Linear(0).plus(left, 1 << right.number)
        elif not isinstance(op, arith.MulI):
            made = left.plus(right, 1 if isinstance(op, arith.AddI) else -1)
        elif right.number is not None:
            made = Linear(0).plus(left, right.number)
        elif left.number is not None:
            made = Linear(0).plus(right, left.number)
        else:
            return None
        return made if made.size <= ROOM else None

    def fits(self, inner: Linear, op: arith.ExtSI) -> bool:
        """Is a number that is extended surely the exact one?"""
        kind = element_of(op.value.type)
        greatest = (1 << kind.width - 1) - 1 if isinstance(kind, IntType) else 0
        least = Linear(0, (), greatest + 1, greatest + 1)
        return self.always(inner.plus(least)) and self.always(Linear(0, (), greatest, greatest).plus(inner, -1))


def difference(left: Linear, right: Linear, predicate: str) -> Linear:
    """What is not negative where the left side is less, or not more."""
    return right.plus(left, -1).plus(Linear(0, (), -1, -1) if predicate[1:] in ("lt", "gt") else Linear(0))


def preferred(op: arith.Select) -> bool | None:
    """The condition with which a select takes what is computed: the other arm is a literal."""
    arms = [constants_of(v) for v in (op.true_value, op.false_value)]
    literal = [arm is not None for arm in arms]
    if literal[0] and literal[1]:  # what is added to scores, or what they are multiplied by
        large = [arm is not None and max(map(abs, arm)) > LARGE for arm in arms]
        return None if large[0] == large[1] else large[1]
    return None if literal[0] == literal[1] else literal[1]


def constant(value: Value) -> int | None:
    """The integer that a scalar, or each element of a tile, is; None where that is not known."""
    found = constants(value)
    return found[0] if found is not None and found[0] == found[1] else None


def constants(value: Value) -> Range | None:
    """The least and the greatest element of an integer literal."""
    made = constants_of(value)
    if made is None or not isinstance(element_of(value.type), IntType):
        return None
    return int(min(made)), int(max(made))


def constants_of(value: Value) -> Sequence[float] | None:
    """The elements of a literal, one where all are equal; a reshaped literal is one."""
    while isinstance(value.op, SHAPES):
        value = value.op.source
    if isinstance(value.op, arith.Constant):
        return (value.op.value,)
    if isinstance(value.op, nv_tileas.Constant):
        return (value.op.value.item,) if value.op.value.splat else list(value.op.value)
    return None


def is_mask(value: Value) -> bool:
    """A tile of predicates."""
    return isinstance(value.type, TensorType) and value.type.element == I1
