"""Lagging levels: while a running maximum rises only slightly, sums keep their current level.

    m' = max(m, x)                               m' = max(m, x); n = m if |log2 f(m, m')| <= 8 else m'
    l, o = l f(m, m') + ..., o f(m, m') + ...    l, o = l f(m, n) + ..., o f(m, n) + ...;  n is carried
Terms are then at most 2^8 times as large, and most factors f(m, n) are 1, so that a sum in tensor memory need not be
read and written (`nv_tileas.tensor_scale` passes over it). What is carried differs from the source's; quotients of
sums and levels plus logarithms of sums do not, and nothing else may be read behind the loop.
Source: FlashAttention-4 (flash_attn/cute, rescale threshold 8.0 in powers of two).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import cast

from ir.core import Builder, Op, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.constraints import element_type, shape_of
from ir.records import dataclass
from ir.types import F8E8M0FNU, F32, I1, FloatType, TileType
from lowering.skeletons.passes import SHAPING, closure, shaped_from
from lowering.skeletons.scaled_products import zero
from lowering.skeletons.step_folds import PRODUCTS, Carried, Factor, Key, StepFolds, scaled_fold
from lowering.source.rewriting import Rewriter, constant
from lowering.source.unrolling import constant_of

LAG: Mapping[type[Op], float] = {ct.Exp2: 8.0, ct.Exp: 5.5}
"""By how much an exponent may be above zero: 2^8 = 256, e^5.5 = 245. The largest f8E4M3FN is 448."""
LOGARITHM: Mapping[type[Op], type[Op]] = {ct.Exp2: ct.Log2, ct.Exp: ct.Log}
LEAST_BITS = 8
"""Bits of the floats that hold 2^8."""
ZERO = {ct.Predicate.EQUAL: True, ct.Predicate.NOT_EQUAL: False}
"""What comparisons with zero say of a zero, where they say the opposite of all else."""
RENAMED = (*SHAPING, ct.Permute)


@dataclass(frozen=True)
class Levelled:
    """A loop that adds up sums below a level: the places of both among what it carries, the factor of the sums in a
    step, and the exponents that it is computed from.
    """

    loop: ct.For
    level: int
    sums: tuple[int, ...]
    factor: Factor
    exponents: tuple[Value, ...]
    terms: frozenset[Value]

    @property
    def risen(self) -> Op | None:
        """What makes the next level."""
        return self.loop.body.block.ops[-1].operands[self.level].op

    @property
    def before(self) -> Value:
        """The level that a step begins with."""
        return self.loop.body.block.args[1 + self.level]


def lagging_levels(entry: ct.Entry, wanted: bool = True) -> ct.Entry:
    """The entry with levels that lag where that changes nothing but rounding; the same one where it has none, or where
    that is not `wanted`. Names, places and hints stay.
    """
    loops = [op for op in entry.walk() if isinstance(op, ct.For)] if wanted else []
    plan = {found.risen: found for loop in loops if (found := levelled(loop)) is not None and may_lag(found)}
    return _Writer(plan).entry(entry) if plan else entry


def levelled(loop: ct.For) -> Levelled | None:
    """A loop with one level and sums below it; None where it does anything else but fold."""
    folds = StepFolds(loop)
    if not folds.found():
        return None
    faded = {place: factor for place, factor in folds.faded.items() if isinstance(factor, Factor)}
    factors = set(faded.values())
    levels = {place for factor in factors for place in carried_in(factor.exponent)}
    if len(levels) != 1 or len(factors) != 1:
        return None
    (level,), (factor,) = levels, factors
    exponents = folds.exponents[factor]
    powers = (op for op in loop.body.block.ops if isinstance(op, ct.Exp | ct.Exp2) and op.source not in exponents)
    terms = folds.dependent.intersection(op.results[0] for op in powers)
    return Levelled(loop, level, tuple(faded), factor, tuple(exponents), frozenset(terms))


def may_lag(found: Levelled) -> bool:
    """Is the level a maximum, do all types hold larger terms and sums, and is nothing read but quotients of sums?"""
    alike = element_type(found.before) == F32 and shape_of(found.exponents[0]) == shape_of(found.before)
    sums = (found.loop.results[place] for place in found.sums)
    f32 = all(element_type(each) == F32 for each in sums)
    return alike and f32 and bounded(found) and small(found) and Behind(found).quotients()


def bounded(found: Levelled) -> bool:
    """Is the level a maximum over all that the terms are powers of, so that none is above 1?"""
    risen = found.risen
    if not isinstance(risen, ct.MaxF):
        return False
    reduce = scaled_fold(risen.rhs if risen.lhs is found.before else risen.lhs)[1].op
    if not isinstance(reduce, ct.Reduce):
        return False
    (folded,) = reduce.operands
    ops = [op for op in found.loop.body.block.ops if op is not risen]  # what terms are made of beside the level
    return all(any(folded in (*op.operands, *op.results) for op in closure([term], ops)) for term in found.terms)


def carried_in(key: Key) -> Iterator[int]:
    """Places of the carried values that a level is computed from."""
    if isinstance(key, Carried):
        yield key.place
    elif isinstance(key, tuple):
        yield from chain.from_iterable(map(carried_in, cast(tuple[Key, ...], key)))


def small(found: Levelled) -> bool:
    """Are the terms below a level nothing but powers, in types that hold 2^8, until they are added up in f32?"""
    terms, ops = set(found.terms), found.loop.body.block.ops
    for op in ops:
        if not terms.intersection(op.operands):
            continue
        if isinstance(op, (*PRODUCTS, ct.Reduce)):
            if element_type(op.results[0]) != F32:
                return False
            continue
        if not isinstance(op, (*RENAMED, ct.FToF, ct.Select, ct.NegF)):
            return False
        kind = element_type(op.results[0])
        if not isinstance(kind, FloatType) or kind.width < LEAST_BITS or kind == F8E8M0FNU:
            return False
        terms.update(op.results)
    return True


class Behind:
    """What becomes of sums behind their loop. `degree`: by value, the power of a row's scale that it has."""

    def __init__(self, found: Levelled):
        self.found = found
        self.loops: list[ct.For] = []
        self.degree: dict[Value, int] = {}
        self.tests: dict[Value, bool] = {}  # of a sum with zero, and what is said where it is zero
        self.logarithms: set[Value] = set()
        self.levels: set[Value] = set()
        self.nothings: set[Value] = set()  # 0, or NaN where the level is infinite, however it lags
        self.passed: set[Value] = set()  # below the level of a loop that another one goes on from
        plain = found.factor.exponent == Carried(found.level)
        self.logarithm = LOGARITHM[found.factor.power] if plain else None
        self.ended(found)

    def ended(self, found: Levelled) -> None:
        """Note what such a loop ends with."""
        self.loops.append(found.loop)
        self.levels.add(found.loop.results[found.level])
        self.degree |= dict.fromkeys((found.loop.results[place] for place in found.sums), 1)

    def quotients(self) -> bool:
        """Is nothing read but quotients of sums, and levels with a sum's logarithm?"""
        loop = self.found.loop
        assert loop.parent is not None
        return all(map(self.taken, loop.parent.ops[loop.parent.ops.index(loop) + 1 :]))

    def taken(self, op: Op) -> bool:
        """May an operation behind the loop take what it does?"""
        about = {*self.degree, *self.logarithms, *self.levels}
        if self.nothing(op):
            self.nothings.add(op.results[0])
            return True
        read = {value for each in op.walk() for value in each.operands}
        if not about.intersection(read):
            return self.passed.isdisjoint(read)
        if not self.passed.isdisjoint(read):
            return False
        if isinstance(op, ct.For):
            return self.goes_on(op, about)
        degrees = [self.degree.get(value, 0) for value in op.operands]
        if self.levels.union(self.logarithms).intersection(op.operands):
            return self.with_level(op)
        match op:
            case ct.Broadcast() | ct.Reshape() | ct.Permute() | ct.NegF():
                found = degrees[0]
            case ct.AddF() if op.rhs in self.nothings:
                found = degrees[0]
            case ct.AddF() | ct.SubF() if degrees[0] == degrees[1]:
                found = degrees[0]
            case ct.DivF():
                found = degrees[0] - degrees[1]
            case ct.MulF():
                found = degrees[0] + degrees[1]
            case ct.CmpF() if degrees == [1, 0] and zero(shaped_from(op.rhs)):
                if op.predicate in ZERO:
                    self.tests[op.result] = ZERO[op.predicate]
                found = 0
            case ct.Select():
                return self.chosen(op)
            case ct.Log() | ct.Log2() if type(op) is self.logarithm and degrees == [1]:
                self.logarithms.add(op.results[0])
                return True
            case _:
                return False
        if found:
            self.degree[op.results[0]] = found
        return True

    def nothing(self, op: Op) -> bool:
        """Is it 0, or NaN where the level is infinite? What joins loops writes such values (online_sums.py)."""
        match op:
            case ct.SubF():
                return op.lhs is op.rhs and op.lhs in self.levels
            case ct.Select():
                return op.val_if_true in self.nothings and zero(shaped_from(op.val_if_false))
            case ct.Broadcast() | ct.Reshape():
                return op.source in self.nothings
            case _:
                return False

    def goes_on(self, loop: ct.For, about: set[Value]) -> bool:
        """Does another loop go on with level and sums, and read nothing else of them?"""
        again = levelled(loop)
        if again is None or again.factor != self.found.factor or loop.init_values[again.level] not in self.levels:
            return False
        given = [loop.init_values[place] for place in again.sums]
        inside = (value for op in loop.walk() if op is not loop for value in op.operands)
        others = [v for place, v in enumerate(loop.init_values) if place not in (again.level, *again.sums)]
        fits = all(self.degree.get(each) == 1 for each in given) and not about.intersection((*inside, *others))
        self.passed |= about
        for each in (self.degree, self.tests):
            each.clear()
        for each in (self.logarithms, self.levels):
            each.clear()
        self.ended(again)
        return fits

    def chosen(self, op: ct.Select) -> bool:
        """One of two such values, or one of them and a literal where a sum is zero or nothing lags."""
        arms = [each for each in (op.val_if_true, op.val_if_false) if not isinstance(shaped_from(each).op, ct.Constant)]
        found = {self.degree.get(each, 0) for each in arms}
        if len(found) != 1 or (len(arms) == 1 and not self.literal(shaped_from(op.cond), arms[0] is op.val_if_false)):
            return False
        (self.degree[op.result],) = found
        return True

    def literal(self, test: Value, said: bool) -> bool:
        """Is a sum zero, or has the loop made no trip, where a test says this? A level that has not risen does not lag.
        What joins loops writes such tests (online_sums.py).
        """
        if test in self.tests:
            return self.tests[test] is said
        op = test.op
        if said or not isinstance(op, ct.CmpI) or op.predicate is not ct.Predicate.LESS_THAN:
            return False
        return all(idle(loop, op) for loop in self.loops)

    def with_level(self, op: Op) -> bool:
        """A level with a sum's logarithm added, or either in another shape."""
        if isinstance(op, RENAMED):
            same = self.levels if op.operands[0] in self.levels else self.logarithms
            same.add(op.results[0])
            return True
        lhs, rhs = (op.lhs, op.rhs) if isinstance(op, ct.AddF) else (None, None)
        return (lhs in self.levels and rhs in self.logarithms) or (lhs in self.logarithms and rhs in self.levels)


def idle(loop: ct.For, test: ct.CmpI) -> bool:
    """Does a loop make no trip where a comparison of bounds is false: its own, or those that its trips are counted
    from, where its iterations are done in pairs (joined_steps.py)?
    """
    if same(loop.lower_bound, test.lhs) and same(loop.upper_bound, test.rhs):
        return bool(loop.unsigned_cmp) is (test.signedness is ct.Signedness.UNSIGNED)
    return all(zero_without(bound, test) for bound in (loop.lower_bound, loop.upper_bound))


def zero_without(number: Value, test: ct.CmpI) -> bool:
    """Is a number 0 where lower < upper is false, being counted from max(upper, lower) - lower?"""
    if constant_of(number) == 0:
        return True
    match op := number.op:
        case ct.MaxI():
            return constant_of(test.lhs) == 0 and larger(number, test)
        case ct.SubI():
            return same(op.rhs, test.lhs) and larger(op.lhs, test)
        case ct.DivI():
            return bool(constant_of(op.rhs)) and zero_without(op.lhs, test)
        case ct.MulI():
            return zero_without(op.lhs, test)
        case ct.Select():
            return zero_without(op.val_if_true, test) and zero_without(op.val_if_false, test)
        case _:
            return False


def larger(number: Value, test: ct.CmpI) -> bool:
    """Is a number the larger one of two bounds, which is the lower one where lower < upper is false?"""
    op, ends = number.op, (test.lhs, test.rhs)
    if not isinstance(op, ct.MaxI) or op.signedness is not test.signedness:
        return False
    return any(all(map(same, pair, ends)) for pair in ((op.lhs, op.rhs), (op.rhs, op.lhs)))


def same(a: Value, b: Value) -> bool:
    """One value, or one number."""
    return a is b or (constant_of(a) is not None and constant_of(a) == constant_of(b))


class _Writer(Rewriter):
    """Operations anew, some levels lagging."""

    def __init__(self, plan: Mapping[Op | None, Levelled]):
        super().__init__()
        self.plan = plan

    def operation(self, op: Op, b: Builder) -> None:
        """One; behind what makes a level, the choice between it and the one before."""
        super().operation(op, b)
        if op in self.plan:
            self.lag(op, self.plan[op], b)

    def lag(self, risen: Op, found: Levelled, b: Builder) -> None:
        """The level before in place of the next one, where the factor of sums would be close enough to 1."""
        exponent = found.exponents[0]
        ahead = [op for op in closure([exponent], found.loop.body.block.ops) if op.results[0] not in self.new]
        for op in ahead:
            super().operation(op, b)
        kind = exponent.type
        assert isinstance(kind, TileType)
        away = b.value(ct.AbsF, self.new[exponent], types=[kind])
        near = b.value(
            ct.CmpF,
            away,
            constant(b, LAG[found.factor.power], kind),
            types=[TileType(kind.shape, I1)],
            predicate=ct.Predicate.LESS_THAN_OR_EQUAL,
            ordering=ct.Ordering.ORDERED,
        )
        kept = b.value(ct.Select, near, self.new[found.before], self.new[risen.results[0]], types=[kind])
        for op in ahead:
            for result in op.results:
                del self.new[result]
        self.bind(risen.results, [kept])


def lags(factor: Value) -> bool:
    """Is a factor of sums that below a level which lags, so that it is 1 most of the time?"""
    op = shaped_from(factor).op
    if not isinstance(op, ct.Exp | ct.Exp2) or op.parent is None:
        return False
    return any(
        isinstance(each, ct.Select) and each.val_if_true in op.parent.args and is_near(each.cond)
        for each in closure([op.source], op.parent.ops)
    )


def is_near(test: Value) -> bool:
    """Is it a test that `lag` writes?"""
    op = test.op
    return (
        isinstance(op, ct.CmpF) and isinstance(op.lhs.op, ct.AbsF) and op.predicate is ct.Predicate.LESS_THAN_OR_EQUAL
    )
