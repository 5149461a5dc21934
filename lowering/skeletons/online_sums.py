"""Sums below a maximum in the pass that finds it, where reassoc and afn are permitted.

    for j: m = max(m, max x_j)               for j: n = max(m, max x_j); f = exp(m - n); l = l f + sum exp(x_j - n);
    for j: l = l + sum exp(x_j - m)                 o = o f + exp(x_j - n) v_j; m = n
    for j: o = o + exp(x_j - m) / l v_j      o = o / l
The pairs (m, l) and (m, o) are monoids with identity (-inf, 0), of which the loops compute the products; one pass over
x is left. Sums alone are joined where that costs less, and both with their products (online attention) where that does.
Where n is -inf, 0 is taken away in its place: x is -inf too, its exponential 0, and so is the factor of l, which is 0.
Behind the loops all is as with several passes: of a row of nothing but -inf they leave NaN, which m - m gives again,
unless the source takes 0 away there itself. Where ninf is permitted too, n is finite: neither is done.
Source: Milakov and Gimelshein, Online normalizer calculation for softmax, arXiv 1805.02867; Rabe and Staats,
Self-attention does not need O(n^2) memory, arXiv 2112.05682.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

from ir.core import PURE, Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.constraints import shape_of, tile_type
from ir.records import dataclass
from ir.types import I1, TileType
from ir.walks import blocks
from lowering.skeletons.below import Scale, Sums, rows_of
from lowering.skeletons.passes import (
    Rows,
    addend,
    alike,
    folded,
    only_reads,
    ran,
    same_bounds,
    shaped_from,
    spread,
    steady,
)
from lowering.skeletons.step_folds import guarded
from lowering.source.rewriting import Rewriter, constant

LOW = -(2.0**31)
"""A maximum that begins here or below is met by a score, or all powers are 0: f32 as low are 256 apart. One that begins
above all scores of a row leaves powers that are all small: a quotient by their sum is not, but in f16 they are lost.
"""


@dataclass(frozen=True)
class Passes:
    """A loop that finds a maximum of tiles, at a place of what it carries; one of sums below it; what is between them
    and made of what the first finds; the tile. guarded: the source itself takes 0 away where the maximum is -inf.
    """

    first: ct.For
    place: int
    sums: Sums
    between: tuple[Op, ...]
    tile: Value
    rows: Rows
    guarded: bool

    @property
    def difference(self) -> ct.SubF:
        """What the terms are powers of."""
        op = self.sums.power.source.op
        assert isinstance(op, ct.SubF)
        return op


def sums_online(entry: ct.Entry) -> ct.Entry:
    """The entry with such loops joined; the same one where it has none. Names, places and hints stay."""
    return _joined(entry, finite=False, products=False)


def finite_sums_online(entry: ct.Entry) -> ct.Entry:
    """The same where no iteration ends with an infinite maximum: what masks leave out has finite elements beside it."""
    return _joined(entry, finite=True, products=False)


def attention_online(entry: ct.Entry) -> ct.Entry:
    """The entry with loops joined that add up products of such terms, and sums before them, which alone may not pay;
    the same one where it has no such products.
    """
    return _with_products(entry, finite=False)


def finite_attention_online(entry: ct.Entry) -> ct.Entry:
    """The same where no iteration ends with an infinite maximum."""
    return _with_products(entry, finite=True)


def _with_products(entry: ct.Entry, finite: bool) -> ct.Entry:
    sums = _joined(entry, finite, products=False)
    made = _joined(sums, finite, products=True)
    return entry if made is sums else made


def _joined(entry: ct.Entry, finite: bool, products: bool) -> ct.Entry:
    found = [passes for block in blocks(entry.body.block) for passes in pairs(block, finite, products)]
    return _Writer(found, finite).entry(entry) if found else entry


def pairs(block: Block, finite: bool, products: bool) -> Iterator[Passes]:
    """Loops of a block that can be joined, each at most once."""
    taken: ct.For | None = None
    for first, second in pairwise(op for op in block.ops if isinstance(op, ct.For)):
        if first is not taken and only_reads(first) and only_reads(second) and same_bounds(first, second):
            found = joined(first, second, block)
            if found is None or any(term.product for term in found.sums.totals) is not products:
                continue
            if finite or found.guarded or not any(term.masked for term in found.sums.totals):
                taken = second
                yield found


def joined(first: ct.For, second: ct.For, block: Block) -> Passes | None:
    """How two loops become one; None where they are not a maximum and sums of exponentials below it."""
    derived, between = made_of(first, second, block)
    same_in_all = steady(second)
    for op in same_in_all:
        if not derived.isdisjoint(op.operands):
            derived.update(op.results)
    power, difference = next(powers(second, derived), (None, None))
    if power is None or difference is None or between is None:
        return None
    base = shaped_from(difference.rhs)
    inner = guarded(base.op) if isinstance(base.op, ct.Select) else None
    level = base if inner is None else shaped_from(inner)
    if level not in first.results or shape_of(level) != shape_of(base):
        return None
    place, rows = level.index, rows_of(difference.rhs, base)
    tile = highest_of(first, place, rows)
    same = {first.body.block.args[0]: second.body.block.args[0]}
    start = begins_with(first.init_values[place])
    if tile is None or rows is None or start == math.inf:
        return None
    if tile.type != difference.lhs.type or not alike(tile, difference.lhs, same):
        return None
    sums = Sums(second, power, rows, derived, same_in_all)
    if not sums.found() or (start > LOW and any(term.narrowed for term in sums.totals)):
        return None
    return Passes(first, place, sums, between, tile, rows, inner is not None)


def highest_of(loop: ct.For, place: int, rows: Rows | None) -> Value | None:
    """The tile of which a loop finds the maximum of each of these rows, at a place of what it carries: no element is
    above that of its own row.
    """
    more = addend(loop, ct.MaxF, place)
    tile, reduce = folded(more, ct.MaxF), None if more is None else shaped_from(more).op
    if more is None or tile is None or not isinstance(reduce, ct.Reduce) or rows_of(more, reduce.results[0]) is None:
        return None
    left = tuple(dim for dim, size in enumerate(shape_of(tile)) if size > 1 and dim != reduce.dim)
    return tile if left == rows else None


def begins_with(start: Value) -> float:
    """What a maximum begins with; infinity where that is not known."""
    op = shaped_from(start).op
    return op.value.item if isinstance(op, ct.Constant) and op.value.splat else math.inf


def made_of(first: ct.For, second: ct.For, block: Block) -> tuple[set[Value], tuple[Op, ...] | None]:
    """What is made of a loop's results before the next one, and by what; None where that is more than values."""
    derived, between = set(first.results), list[Op]()
    for op in block.ops[block.ops.index(first) + 1 : block.ops.index(second)]:
        if not derived.isdisjoint(value for each in op.walk() for value in each.operands):
            derived.update(op.results)
            between.append(op)
    plain = all(op.effect is PURE and not op.regions for op in between)
    return derived, tuple(between) if plain else None


def powers(loop: ct.For, derived: Set[Value]) -> Iterator[tuple[ct.Exp | ct.Exp2, ct.SubF]]:
    """Powers of differences in a loop, from which a value made before is taken away."""
    for op in loop.body.block.ops:
        difference = op.source.op if isinstance(op, ct.Exp | ct.Exp2) else None
        if not isinstance(op, ct.Exp | ct.Exp2) or not isinstance(difference, ct.SubF):
            continue
        if not derived.isdisjoint((difference.rhs, shaped_from(difference.rhs))):
            yield op, difference


class _Writer(Rewriter):
    """Operations anew, pairs of loops joined at the place of the second."""

    def __init__(self, found: Sequence[Passes], finite: bool):
        super().__init__()
        self.finite = finite
        self.joined: dict[Op, Passes] = {each.sums.loop: each for each in found}
        self.later: set[Op] = {op for each in found for op in (each.first, *each.between)}

    def operation(self, op: Op, b: Builder) -> None:
        """One; nothing yet of what waits for the second loop."""
        passes = self.joined.get(op)
        if passes is not None:
            self.one_pass(passes, b)
        elif op not in self.later:
            super().operation(op, b)

    def one_pass(self, passes: Passes, b: Builder) -> None:
        """Both loops, and behind them what depends on the first."""
        first, second = passes.first, passes.sums.loop
        values = [self.new[value] for value in (*first.init_values, *second.init_values)]
        inner = Block([first.body.block.args[0].type, *(value.type for value in values)])
        self.step(passes, inner)
        b.location = second.location
        bounds = [self.new[value] for value in (first.lower_bound, first.upper_bound, first.step)]
        made = b.add(
            ct.For,
            *bounds,
            *values,
            types=[value.type for value in values],
            regions=[Region([inner])],
            segments=(1, 1, 1, len(values)),
            **second.attributes,
        )
        found, totals = made.results[: len(first.results)], made.results[len(first.results) :]
        self.bind(first.results, found)
        for op in (*passes.between, *passes.sums.behind):
            super().operation(op, b)
        b.location = second.location
        iterates = ran(first, self.new, b)
        if not self.finite and not passes.guarded:
            more = self.nothing_found(found[passes.place], iterates, b)
            rows = [
                spread(more, term.rows, shape_of(total), b)
                for term, total in zip(passes.sums.totals, totals, strict=True)
            ]
            totals = [b.value(ct.AddF, *each, types=[each[0].type]) for each in zip(totals, rows, strict=True)]
        for result, total, term in zip(second.results, totals, passes.sums.totals, strict=True):
            self.new[result] = self.scaled(total, term.scales, iterates, b)

    def step(self, passes: Passes, inner: Block) -> None:
        """An iteration of both."""
        first, second, inside = passes.first, passes.sums.loop, Builder(inner, passes.sums.loop.location)
        counter, *carried = inner.args
        before, sums = carried[: len(first.results)], carried[len(first.results) :]
        self.bind(first.body.block.args, (counter, *before))
        self.operations(first.body.block.ops[:-1], inside)
        values = [self.new[value] for value in first.body.block.ops[-1].operands]
        inside.location = second.location
        highest = values[passes.place]
        taken = highest if self.finite else self.taken(highest, inside)
        factor = self.factor(before[passes.place], taken, passes, inside)
        faded = [
            inside.value(ct.MulF, total, spread(factor, term.rows, shape_of(total), inside), types=[total.type])
            for total, term in zip(sums, passes.sums.totals, strict=True)
        ]
        self.bind(second.body.block.args, (counter, *faded))
        tile, level = passes.difference.lhs, passes.difference.rhs
        self.new[tile] = self.new[passes.tile]
        self.new[level] = spread(taken, passes.rows, shape_of(level), inside)
        for op in passes.sums.needed({tile, level}):
            inside.location = op.location
            self.term(op, passes, inside)
        inside.add(ct.Continue, *values, *(self.new[value] for value in second.body.block.ops[-1].operands), types=())

    def term(self, op: Op, passes: Passes, b: Builder) -> None:
        """An operation on terms; a scale waits for the end."""
        plain = passes.sums.plain.get(op)
        if plain is None:
            super().operation(op, b)
        else:
            self.new[op.results[0]] = self.new[plain]

    def scaled(self, total: Value, scales: Sequence[Scale], iterates: Value, b: Builder) -> Value:
        """A sum times, or divided by, what its terms were; it is 0 where there were none, whatever the scales are."""
        for each in scales:
            by, kind = self.new[each.value], tile_type(each.value)
            by = b.value(ct.Select, spread(iterates, (), kind.shape, b), by, constant(b, 1.0, kind), types=[kind])
            by = spread(by, each.rows, shape_of(total), b)
            total = b.value(type(each.op), total, by, types=[total.type], **each.op.attributes)
        return total

    def taken(self, highest: Value, b: Builder) -> Value:
        """What is taken away before exponentials: the maximum, or 0 where that is -inf."""
        kind = tile_type(highest)
        nothing = b.value(
            ct.CmpF,
            highest,
            constant(b, -math.inf, kind),
            types=[TileType(kind.shape, I1)],
            predicate=ct.Predicate.EQUAL,
            ordering=ct.Ordering.ORDERED,
        )
        return b.value(ct.Select, nothing, constant(b, 0.0, kind), highest, types=[kind])

    def factor(self, before: Value, taken: Value, passes: Passes, b: Builder) -> Value:
        """By what sums so far become sums below the new maximum."""
        kind, power = before.type, passes.sums.power
        fallen = b.value(ct.SubF, before, taken, types=[kind], **passes.difference.attributes)
        return b.value(type(power), fallen, types=[kind], **power.attributes)

    def nothing_found(self, highest: Value, iterates: Value, b: Builder) -> Value:
        """NaN where the loop has run and the maximum is infinite, as -inf - -inf has made it there; else 0."""
        kind = tile_type(highest)
        none = b.value(ct.SubF, highest, highest, types=[kind])
        some = spread(iterates, (), kind.shape, b)
        return b.value(ct.Select, some, none, constant(b, 0.0, kind), types=[kind])
