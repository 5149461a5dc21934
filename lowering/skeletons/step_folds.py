"""Carried values as reductions over all steps of a loop: two steps can then become one of twice the size.

    m = max(m, max x_j)                     a fold of what no step before has made
    l = l f(m, m') + sum f(x_j, m')         a sum of terms below a level that rises: f(a, b) = exp(g(a) - g(b))
    o = o f(m, m') + p_j v_j, p = f(x, m')  the same, of products
Of both steps of a pair the level m' is the maximum, and f(a, b) f(b, c) = f(a, c), so that l and o are again a scaled
sum, of twice as many terms. Maxima, minima and integer sums, and products that are added up along k, are exact; sums of
floats are in another order, and exponentials of sums are products of exponentials.
Source: the pairs (m, l) are a monoid (Milakov and Gimelshein, arXiv 1805.02867); steps of 128 keys: FlashAttention-3.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from math import inf
from typing import NamedTuple

from egraph.permissions import AFN, REASSOC
from ir.core import Op, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile import TileOp
from ir.dialects.cuda_tile.attributes import ELEMENTWISE
from ir.dialects.cuda_tile.constraints import element_type
from ir.types import FloatType
from lowering.skeletons.any_order import EXACT
from lowering.skeletons.passes import SHAPING, harmless, shaped_from
from lowering.skeletons.scaled_products import zero
from lowering.source.unrolling import continues_early

Key = Hashable
"""How a level is computed from what a loop carries, or a factor from a level: equal where both are computed alike."""


class Carried(NamedTuple):
    """What a loop carries, as it is at one end of a step."""

    place: int


class Factor(NamedTuple):
    """A power of the difference of levels at both ends of a step, each computed as `exponent`."""

    power: type[ct.Exp | ct.Exp2]
    exponent: Key


PRODUCTS = (ct.MmaF, ct.MmaI)
NARROW = 8
"""Bits of factors whose sums some atoms add up in parts (promotion), which longer steps cut elsewhere."""


class StepFolds:
    """The folds of a loop. `added`: by each operation that gives a next carried value, what it folds into it (of a
    product itself); `faded`: by place, the factor that a carried sum has in each step, () for 1; `exponents`: of what
    powers these factors are; `scales`: numbers that may not be negative, since a scaled maximum is then no maximum;
    `needs`: permissions for two steps at once. None of them where a loop does something else.
    """

    def __init__(self, loop: ct.For):
        self.loop = loop
        block = loop.body.block
        self.last = block.ops[-1].operands
        self.carried = {value: place for place, value in enumerate(block.args[1:])}
        self.dependent = self.reached(set(self.carried))
        self.varying = self.reached(set(block.args))
        self.risen = {value: place for place, value in enumerate(self.last)}
        self.explained: set[Op] = set()
        self.added: dict[Op, Value] = {}
        self.faded: dict[int, Key] = {}
        self.exponents: dict[Key, list[Value]] = {}
        self.scales: list[Value] = []
        self.needs: set[int] = set()

    def found(self) -> bool:
        """Does the loop do nothing but fold?"""
        ops = self.loop.body.block.ops[:-1]
        if continues_early(self.loop) or not all(map(harmless, ops)) or any(self.nested(op) for op in ops):
            return False
        if not all(value is self.last[place] or self.fold(value) for value, place in self.carried.items()):
            return False
        rest = [op for op in ops if self.dependent.intersection(op.results) and not isinstance(op, SHAPING)]
        return self.explained.issuperset(rest)

    def reached(self, values: set[Value]) -> set[Value]:
        """These values, and all that the loop computes from them."""
        for op in self.loop.body.block.ops[:-1]:
            if any(value in values for each in op.walk() for value in each.operands):
                values.update(op.results)
        return values

    def nested(self, op: Op) -> bool:
        """Has it regions that are no fold of a tile?"""
        return bool(op.regions) and not isinstance(op, ct.Reduce)

    def fold(self, carried: Value) -> bool:
        """Is the next value of what is carried a fold of more into it?"""
        op = self.last[self.carried[carried]].op
        if op is None or op.parent is not self.loop.body.block:
            return False
        self.explained.add(op)
        match op:
            case ct.MmaF() | ct.MmaI():
                kind = self.scaled(op.acc, carried)
                self.faded[self.carried[carried]] = kind
                known = kind is not None and self.product(op, kind)
                self.added[op] = op.result
                return known
            case ct.Fma() if carried in (op.lhs, op.rhs):
                kind = self.factor(op.rhs if op.lhs is carried else op.lhs)
                self.faded[self.carried[carried]] = kind
                return kind is not None and self.sum(op, op.acc, kind)
            case ct.AddF():
                for before, more in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                    kind = self.scaled(before, carried)
                    if kind is not None:
                        self.faded[self.carried[carried]] = kind
                        return self.sum(op, more, kind)
            case _ if isinstance(op, EXACT) and carried in op.operands:
                lhs, rhs = op.operands[:2]
                return self.extremum(op, rhs if lhs is carried else lhs)
            case _:
                pass
        return False

    def scaled(self, value: Value, carried: Value) -> Key | None:
        """The factor with which a value is what is carried; () for 1, None where it is something else."""
        if value is carried:
            return ()
        op = value.op
        if isinstance(op, ct.MulF) and carried in (op.lhs, op.rhs):
            self.explained.add(op)
            return self.factor(op.rhs if op.lhs is carried else op.lhs)
        return None

    def extremum(self, op: Op, more: Value) -> bool:
        """Does it fold by its own operation what does not depend on what is carried?"""
        self.added[op] = more
        scales, fold = scaled_fold(more)
        self.scales += [shaped_from(scale) for scale in scales if not positive(scale)]
        rounded = isinstance(op, ct.MaxF | ct.MinF) and all(map(self.invariant, scales))
        return fold not in self.dependent and folds_by(fold.op, op) and (rounded or not scales)

    def sum(self, op: Op, more: Value, kind: Key) -> bool:
        """Does it add sums of terms that have this factor?"""
        self.added[op] = more
        self.needs.add(REASSOC)
        value = more
        while isinstance(value.op, (*SHAPING, ct.MulF)):
            self.explained.add(value.op)
            sources = [each for each in value.op.operands if not self.invariant(each)]
            if len(sources) != 1:
                return False
            value = sources[0]
        made = value.op
        if made is None:
            return False
        self.explained.add(made)
        if isinstance(made, ct.MmaF):
            return zero(made.acc) and self.product(made, kind)
        return isinstance(made, ct.Reduce) and folds_by(made, op) and self.weight(made.operands[0]) == kind

    def product(self, op: ct.MmaF | ct.MmaI, kind: Key) -> bool:
        """Has one of its operands this factor, the other none?"""
        narrow = element_type(op.lhs)
        if isinstance(op, ct.MmaF) and isinstance(narrow, FloatType) and narrow.width <= NARROW:
            self.needs.add(REASSOC)
        return sorted((self.weight(op.lhs), self.weight(op.rhs)), key=bool) == [(), kind]

    def factor(self, value: Value) -> Key | None:
        """exp(g(m) - g(m')), or None: how it is computed."""
        op = shaped_from(value).op
        if not isinstance(op, ct.Exp | ct.Exp2):
            return None
        self.explained.add(op)
        self.needs.update((REASSOC, AFN))
        key = self.fallen(op.source)
        if key is None:
            return None
        found = Factor(type(op), key)
        self.exponents.setdefault(found, []).append(op.source)
        return found

    def fallen(self, value: Value) -> Key | None:
        """g of g(m) - g(m')."""
        op = shaped_from(value).op
        if isinstance(op, ct.MulF):
            return self.times(op, self.fallen)
        if not isinstance(op, ct.SubF):
            return None
        self.explained.add(op)
        before, after = self.level(op.lhs, self.carried), self.level(op.rhs, self.risen)
        return before if before == after else None

    def weight(self, value: Value) -> Key | None:
        """The factor that a term has: exp(g(m')) to the power of -1; () for 1."""
        if value not in self.dependent:
            return ()
        op = value.op
        if op is None:
            return None
        self.explained.add(op)
        match op:
            case ct.Exp() | ct.Exp2():
                key = self.below(op.source)
                return None if key is None else Factor(type(op), key)
            case ct.FToF():
                return self.weight(op.from_)
            case ct.Reshape() | ct.Broadcast() | ct.Permute() | ct.NegF():
                return self.weight(op.operands[0])
            case ct.MulF():
                found = sorted((self.weight(op.lhs), self.weight(op.rhs)), key=bool)
                return found[1] if found[0] == () else None
            case ct.Select():
                arms = [each for each in (op.val_if_true, op.val_if_false) if not zero(shaped_from(each))]
                return self.weight(arms[0]) if len(arms) == 1 and op.cond not in self.dependent else None
            case _:
                return None

    def below(self, value: Value) -> Key | None:
        """g of x - g(m'), where x does not depend on what is carried."""
        op = shaped_from(value).op
        if op is None:
            return None
        self.explained.add(op)
        match op:
            case ct.SubF() if op.lhs not in self.dependent:
                return self.level(op.rhs, self.risen)
            case ct.AddF():
                plain = [each for each in op.operands[:2] if each not in self.dependent]
                rest = [each for each in op.operands[:2] if each in self.dependent]
                return self.negated(rest[0]) if len(plain) == len(rest) == 1 else None
            case ct.Fma() if op.lhs not in self.dependent and op.rhs not in self.dependent:
                return self.negated(op.acc)
            case ct.MulF():
                return self.times(op, self.below)
            case _:
                return None

    def negated(self, value: Value) -> Key | None:
        """g of -g(m')."""
        op = shaped_from(value).op
        if not isinstance(op, ct.NegF):
            return None
        self.explained.add(op)
        return self.level(op.source, self.risen)

    def times(self, op: ct.MulF, inner: Callable[[Value], Key | None]) -> Key | None:
        """g of an exponent that is multiplied by what does not change in the loop."""
        self.explained.add(op)
        for exponent, scale in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if self.invariant(scale):
                key = inner(exponent)
                return None if key is None else ("times", key, leaf(scale))
        return None

    def level(self, value: Value, ends: Mapping[Value, int]) -> Key | None:
        """How a value is computed from what is carried, as it is at one end of a step, and of what does not change."""
        value = shaped_from(value)
        if value in ends:
            return Carried(ends[value])
        if self.invariant(value):
            return leaf(value)
        op = value.op
        if value not in self.dependent or not isinstance(op, TileOp) or op.placement is not ELEMENTWISE:
            return None
        self.explained.add(op)
        if isinstance(op, ct.Select) and (inner := guarded(op)) is not None:
            self.explained.update(each for each in (op.cond.op,) if each is not None)
            return self.level(inner, ends)
        parts = tuple(self.level(each, ends) for each in op.operands)
        return None if None in parts else (type(op), tuple(sorted(op.attributes.items())), parts)

    def invariant(self, value: Value) -> bool:
        """Is it the same in all iterations?"""
        return value not in self.varying


def guarded(op: ct.Select) -> Value | None:
    """The level in whose place zero is taken away where it is -inf: all terms and factors are zeros there."""
    test = shaped_from(op.cond).op
    if not isinstance(test, ct.CmpF) or leaf(test.rhs) != ("number", -inf):
        return None
    nothing, inner = (op.val_if_true, op.val_if_false)
    if test.predicate in (ct.Predicate.NOT_EQUAL, ct.Predicate.GREATER_THAN):
        nothing, inner = inner, nothing
    elif test.predicate is not ct.Predicate.EQUAL:
        return None
    return inner if zero(shaped_from(nothing)) and shaped_from(inner) is shaped_from(test.lhs) else None


def leaf(value: Value) -> Key:
    """A value that does not change, or the number that it is."""
    op = shaped_from(value).op
    return ("number", op.value.item) if isinstance(op, ct.Constant) and op.value.splat else shaped_from(value)


def scaled_fold(value: Value) -> tuple[list[Value], Value]:
    """The scales of a fold, in whatever shape, the last one first; and the fold."""
    scales: list[Value] = []
    value = shaped_from(value)
    while isinstance(value.op, ct.MulF):
        sides = value.op.operands[:2]
        folds = [side for side in sides if isinstance(scaled_fold(side)[1].op, ct.Reduce)]
        if len(folds) != 1:
            break
        scales += [side for side in sides if side is not folds[0]]
        value = shaped_from(folds[0])
    return scales, value


def positive(value: Value) -> bool:
    """Is it a literal above zero?"""
    op = shaped_from(value).op
    return isinstance(op, ct.Constant) and op.value.splat and op.value.item > 0


def folds_by(reduce: Op | None, op: Op) -> bool:
    """Is it a fold of one tile by an operation, a sum where that is fused?"""
    if not isinstance(reduce, ct.Reduce) or len(reduce.operands) != 1:
        return False
    inner = reduce.body.block
    made, kind = inner.ops[0], ct.AddF if isinstance(op, ct.Fma) else type(op)
    alike = kind is ct.AddF or made.attributes == op.attributes
    return len(inner.ops) == 2 and type(made) is kind and set(made.operands) == set(inner.args) and alike
