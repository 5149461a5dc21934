"""Sums of terms below a level that another loop finds: what a loop adds up of exp(x_j - m), and where m is in each sum.

A term is a power, or what is made of it linearly: it in another type or shape, negated, times what the level does not
enter, in part left out, added up, or multiplied by a tile. All terms of an element of a sum then have one row's level,
so that the sum can be rescaled when the level rises; and what all terms of a row are multiplied or divided by, the sum
can be in their place. No power is above 1 in any step, so that no type overflows that did not before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from ir.core import Op, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.constraints import element_type, shape_of
from ir.records import dataclass
from ir.types import BF16, F8E8M0FNU, F32, F64, FloatType
from lowering.skeletons.passes import SHAPING, Rows, closure, folds, moved, shaped_from
from lowering.skeletons.scaled_products import inside, zero


@dataclass(frozen=True)
class Scale:
    """What all terms of a row are multiplied or divided by: a value of before the loop, and where its rows are."""

    op: ct.MulF | ct.DivF
    value: Value
    rows: Rows


@dataclass(frozen=True)
class Term:
    """Where the rows of the level are in a term, and its scales. weighed: it is not only a power; masked: some of it is
    left out; product: it is made by one; narrowed: scaled before it was converted to a type of fewer exponents.
    """

    rows: Rows
    scales: tuple[Scale, ...] = ()
    weighed: bool = False
    masked: bool = False
    product: bool = False
    narrowed: bool = False

    def placed(self, place: Callable[[int], int | None]) -> Term | None:
        """The same where dimensions are in another place; None where one is gone, or before one that it was behind."""
        rows = through(self.rows, place)
        scales = [replace(each, rows=found) for each in self.scales if (found := through(each.rows, place)) is not None]
        if rows is None or len(scales) < len(self.scales):
            return None
        return replace(self, rows=rows, scales=tuple(scales))


def through(rows: Rows, place: Callable[[int], int | None]) -> Rows | None:
    """Other places of dimensions; None where one is gone, or before one that it was behind."""
    found = [place(dim) for dim in rows]
    there = tuple(dim for dim in found if dim is not None)
    return there if len(there) == len(rows) and list(there) == sorted(there) else None


def rows_of(value: Value, base: Value) -> Rows | None:
    """Where the rows of a value are in another shape of it; None where they are cut or joined."""
    if value is base:
        return tuple(dim for dim, size in enumerate(shape_of(base)) if size > 1)
    op = value.op
    assert isinstance(op, SHAPING)
    found = rows_of(op.source, base)
    return None if found is None else through(found, lambda dim: moved(op, dim))


class Sums:
    """What a loop adds up of a power; of `derived` values nothing else in it may be made but what is `steady`. `terms`:
    by value; `plain`: by each operation that scales a term, the term; `totals`: the terms that each carried value is
    the sum of.
    """

    def __init__(self, loop: ct.For, power: ct.Exp | ct.Exp2, rows: Rows, derived: Set[Value], steady: Sequence[Op]):
        self.loop, self.block, self.power = loop, loop.body.block, power
        self.derived = {*derived, power.source}
        self.steady = steady
        self.terms: dict[Value, Term] = {power.result: Term(rows)}
        self.plain: dict[Op, Value] = {}
        self.totals: list[Term] = []
        self.carried = self.block.args[1:]
        self.kind = element_type(power.result)

    def found(self) -> bool:
        """Does the loop do nothing but add up such terms, from zero?"""
        last = self.block.ops[-1]
        ends = [value.op for value in last.operands]
        first = {self.power, self.power.source.op, *self.steady}
        for op in self.block.ops[:-1]:
            reads = {value for each in op.walk() for value in each.operands}
            if op in first or op in ends or reads.isdisjoint({*self.derived, *self.terms, *self.carried}):
                continue
            term = self.term(op)
            if term is None:
                return False
            self.terms[op.results[0]] = term
        totals = [self.total(carried, op) for carried, op in zip(self.carried, ends, strict=True)]
        self.totals = [each for each in totals if each is not None]
        once = all(self.reads(value) == 1 for value in (*self.carried, *last.operands))
        return len(self.totals) == len(totals) and once and all(map(zero, self.loop.init_values))

    def reads(self, value: Value) -> int:
        """How often the loop reads a value."""
        return sum(each is value for op in self.loop.walk() if op is not self.loop for each in op.operands)

    def total(self, carried: Value, op: Op | None) -> Term | None:
        """The term that an operation adds to the carried value."""
        term = None
        if isinstance(op, ct.MmaF) and op.acc is carried:
            term = self.product(op)
        elif isinstance(op, ct.AddF) and not op.flush_to_zero and carried in (op.lhs, op.rhs):
            term = self.terms.get(op.rhs if op.lhs is carried else op.lhs)
        if term is None or op is None or element_type(op.results[0]) != self.kind:
            return None
        return term if not term.scales or self.kind in (F32, F64) else None

    def term(self, op: Op) -> Term | None:
        """The result of an operation on a term; None if that is not a term, or depends on more than one."""
        match op:
            case ct.FToF():
                return self.converted(op)
            case ct.NegF():
                return self.terms.get(op.source)
            case ct.Broadcast() | ct.Reshape():
                return self.moved(op.source, lambda dim: moved(op, dim))
            case ct.Permute():
                return self.moved(op.source, op.permutation.index)
            case ct.Reduce() if folds(op, ct.AddF):
                return self.moved(op.operands[0], lambda dim: None if dim == op.dim else dim - (dim > op.dim))
            case ct.MulF() | ct.DivF() if not op.flush_to_zero:
                return self.scaled(op)
            case ct.Select() if self.free(op.cond) and zero(shaped_from(op.val_if_false)):
                term = self.terms.get(op.val_if_true)  # a scale may be NaN where all of a row is left out
                return None if term is None or term.scales else replace(term, masked=True)
            case ct.MmaF() if zero(op.acc):
                return self.product(op)
            case _:
                return None

    def moved(self, source: Value, place: Callable[[int], int | None]) -> Term | None:
        """A term whose dimensions are in other places."""
        term = self.terms.get(source)
        return None if term is None else term.placed(place)

    def free(self, value: Value) -> bool:
        """Does no level enter a value?"""
        return value not in self.derived and value not in self.terms and value not in self.carried

    def converted(self, op: ct.FToF) -> Term | None:
        """A term in another type; what is not only a power may be too large for a narrower one."""
        term, kind, before = self.terms.get(op.from_), element_type(op.results[0]), element_type(op.from_)
        assert isinstance(kind, FloatType)
        assert isinstance(before, FloatType)
        narrower = kind.width < before.width
        if term is None or kind == F8E8M0FNU or (narrower and term.weighed):
            return None
        return replace(term, narrowed=term.narrowed or (narrower and kind != BF16 and bool(term.scales)))

    def scaled(self, op: ct.MulF | ct.DivF) -> Term | None:
        """A term times, or divided by, a scale of each row, or times what no level enters."""
        sides = [(op.lhs, op.rhs)] if isinstance(op, ct.DivF) else [(op.lhs, op.rhs), (op.rhs, op.lhs)]
        for value, by in sides:
            term, base = self.terms.get(value), shaped_from(by)
            if term is None or by in self.terms or by in self.carried:
                continue
            if by not in self.derived:
                return replace(term, weighed=True) if isinstance(op, ct.MulF) else None
            rows = rows_of(by, base) if base.op in self.steady or not inside(base, self.loop) else None
            if rows is not None:
                self.plain[op] = value
                return replace(term, scales=(*term.scales, Scale(op, base, rows)))
        return None

    def product(self, op: ct.MmaF) -> Term | None:
        """A product of terms and a tile that no level enters; the rows are not what it is added up along."""
        rank = len(shape_of(op.lhs))
        for value, other, along in ((op.lhs, op.rhs, rank - 1), (op.rhs, op.lhs, rank - 2)):
            if value in self.terms and self.free(other):
                made = self.moved(value, lambda dim, along=along: None if dim == along else dim)
                return None if made is None else replace(made, product=True, weighed=True)
        return None

    @property
    def behind(self) -> list[Op]:
        """The operations of the loop that its scales need."""
        return closure((each.value for term in self.totals for each in term.scales), self.steady)

    def needed(self, cut: Set[Value]) -> list[Op]:
        """The operations that the sums need, in order, but for what only `cut` values and scales need."""
        wanted, found = set(self.block.ops[-1].operands), list[Op]()
        for op in reversed(self.block.ops[:-1]):
            if wanted.intersection(op.results) and cut.isdisjoint(op.results):
                plain = self.plain.get(op)
                reads = (value for each in op.walk() for value in each.operands)
                wanted.update(reads if plain is None else (plain,))
                found.append(op)
        return found[::-1]
