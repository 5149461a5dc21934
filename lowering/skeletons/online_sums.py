"""Sums of exponentials in the pass that finds their maximum, where reassoc and afn are permitted.

    for j: m = max(m, max x_j)               for j: n = max(m, max x_j); l = l exp(m - n) + sum exp(x_j - n); m = n
    for j: l = l + sum exp(x_j - m)
The pairs (m, l) are a monoid with identity (-inf, 0), of which both loops compute the product; one pass over x is left.
Where n is -inf, 0 is taken away in its place: x is -inf too, its exponential 0, and so is the factor of l, which is 0.
Behind the loops all is as with two passes: of a row of nothing but -inf they leave NaN, which m - m gives again. Where
ninf is permitted too, n is finite: neither is done.
Source: Milakov and Gimelshein, Online normalizer calculation for softmax, arXiv 1805.02867.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ir.core import PURE, READ, Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.records import dataclass
from ir.types import I1, TileType
from lowering.skeletons.scaled_products import Uses, zero
from lowering.source.rewriting import Rewriter, constant
from lowering.source.unrolling import constant_of, continues_early

SHAPING = (ct.Broadcast, ct.Reshape)


@dataclass(frozen=True)
class Passes:
    """The loop of the maximum, that of the sum, and what stands between them and depends on the first; the
    exponential, and the difference that it is of.
    """

    first: ct.For
    second: ct.For
    between: tuple[Op, ...]
    power: ct.Exp | ct.Exp2
    difference: ct.SubF


def sums_online(entry: ct.Entry) -> ct.Entry:
    """The entry with such loops joined; the same one where it has none. Names, places and hints stay."""
    return _joined(entry, finite=False)


def finite_sums_online(entry: ct.Entry) -> ct.Entry:
    """The same where no iteration ends with an infinite maximum: what masks leave out has finite elements beside it."""
    return _joined(entry, finite=True)


def _joined(entry: ct.Entry, finite: bool) -> ct.Entry:
    uses = Uses(entry)
    found = [passes for block in blocks(entry.body) for passes in pairs(block, uses)]
    return _Writer(found, finite).entry(entry) if found else entry


def blocks(region: Region) -> Iterator[Block]:
    """All blocks of a region, outer before inner."""
    for block in region.blocks:
        yield block
        for op in block.ops:
            for inner in op.regions:
                yield from blocks(inner)


def pairs(block: Block, uses: Uses) -> Iterator[Passes]:
    """Loops of a block that can be joined, each at most once."""
    loops = [op for op in block.ops if isinstance(op, ct.For)]
    for first, second in pairwise(loops):
        if alone(first) and alone(second) and same_bounds(first, second):
            found = joined(first, second, block, uses)
            if found is not None:
                yield found


def alone(loop: ct.For) -> bool:
    """Does a loop carry one value, and nothing but compute and load?"""
    return len(loop.results) == 1 and not continues_early(loop) and all(
        harmless(op) for op in loop.body.block.ops[:-1]
    )  # fmt: skip


def harmless(op: Op) -> bool:
    """Computes, or loads what no order forbids."""
    plain = op.effect is PURE or (op.effect is READ and not op.attributes.get("order", ct.MemoryOrder.WEAK))
    return plain and all(harmless(each) for region in op.regions for block in region.blocks for each in block.ops[:-1])


def same_bounds(first: ct.For, second: ct.For) -> bool:
    """Do two loops run over the same numbers?"""
    ends = ((each.lower_bound, each.upper_bound, each.step) for each in (first, second))
    return first.unsigned_cmp == second.unsigned_cmp and all(
        a is b or (constant_of(a) is not None and constant_of(a) == constant_of(b)) for a, b in zip(*ends, strict=True)
    )


def joined(first: ct.For, second: ct.For, block: Block, uses: Uses) -> Passes | None:
    """How two loops become one; None where they are not a maximum and the sum of exponentials below it."""
    summed = addend(second)
    highest = folded(addend(first, ct.MaxF), ct.MaxF)
    if summed is None or highest is None or not zero(second.init_values[0]):
        return None
    power = (found := folded(summed, ct.AddF)) and found.op
    difference = power.source.op if isinstance(power, ct.Exp | ct.Exp2) else None
    if not isinstance(power, ct.Exp | ct.Exp2) or not isinstance(difference, ct.SubF):
        return None
    same = {first.body.block.args[0]: second.body.block.args[0]}
    if shaped_from(difference.rhs) is not first.results[0] or not alike(highest, difference.lhs, same):
        return None
    at, end = block.ops.index(first), block.ops.index(second)
    derived, between = {first.results[0]}, list[Op]()
    for op in block.ops[at + 1 : end]:
        if derived.intersection(op.operands):
            if not isinstance(op, SHAPING):
                return None
            derived.update(op.results)
            between.append(op)
    readers = [op for op in (second, *second.walk()) if op is not difference and derived.intersection(op.operands)]
    inside = [op for op in readers if isinstance(op, SHAPING)]
    read_once = uses.get(difference.result) == [power] and len(uses.get(power.result, ())) == 1
    if len(inside) < len(readers) or not read_once or carried_elsewhere(first, uses) or carried_elsewhere(second, uses):
        return None
    return Passes(first, second, tuple(between), power, difference)


def carried_elsewhere(loop: ct.For, uses: Uses) -> bool:
    """Does a loop read what it carries for anything but the next value?"""
    last = loop.body.block.ops[-1].operands[0]
    return len(uses.get(loop.body.block.args[1], ())) != 1 or len(uses.get(last, ())) != 1


def addend(loop: ct.For, kind: type[ct.AddF | ct.MaxF] = ct.AddF) -> Value | None:
    """What a loop combines with what it carries in each iteration."""
    carried, op = loop.body.block.args[1], loop.body.block.ops[-1].operands[0].op
    if not isinstance(op, kind) or op.flush_to_zero or carried not in (op.lhs, op.rhs):
        return None
    return op.rhs if op.lhs is carried else op.lhs


def folded(value: Value | None, kind: type[ct.AddF | ct.MaxF]) -> Value | None:
    """The tile of which a value is the fold by one operation, in whatever shape."""
    reduce = shaped_from(value).op if value is not None else None
    if not isinstance(reduce, ct.Reduce) or len(reduce.operands) != 1:
        return None
    body = reduce.body.block
    made = body.ops[0]
    plain = len(body.ops) == 2 and isinstance(made, kind) and not made.flush_to_zero
    return reduce.operands[0] if plain and set(made.operands) == set(body.args) else None


def shaped_from(value: Value) -> Value:
    """The value behind broadcasts and reshapes."""
    while isinstance(value.op, SHAPING):
        value = value.op.source
    return value


def alike(a: Value, b: Value, same: dict[Value, Value]) -> bool:
    """Are two values computed in the same way, of values that are the same?"""
    if a is b or same.get(a) is b:
        return True
    x, y = a.op, b.op
    if x is None or y is None or type(x) is not type(y) or x.regions or not harmless(x):
        return False
    alike_here = a.index == b.index and a.type == b.type and x.attributes == y.attributes
    return alike_here and len(x.operands) == len(y.operands) and all(
        alike(left, right, same) for left, right in zip(x.operands, y.operands, strict=True)
    )  # fmt: skip


class _Writer(Rewriter):
    """Operations anew, pairs of loops joined at the place of the second."""

    def __init__(self, found: Sequence[Passes], finite: bool):
        super().__init__()
        self.finite = finite
        self.joined: dict[Op, Passes] = {each.second: each for each in found}
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
        first, second = passes.first, passes.second
        values = (first.init_values[0], second.init_values[0])
        inner = Block([first.body.block.args[0].type, *(value.type for value in values)])
        counter, before, total = inner.args
        self.bind(first.body.block.args, (counter, before))
        inside = Builder(inner, second.location)
        self.operations(first.body.block.ops[:-1], inside)
        highest = self.new[first.body.block.ops[-1].operands[0]]
        taken = highest if self.finite else self.taken(highest, inside)
        self.bind(second.body.block.args, (counter, self.rescaled(total, before, taken, passes, inside)))
        self.new[first.results[0]] = taken
        for op in passes.between:
            super().operation(op, inside)
        self.operations(second.body.block.ops[:-1], inside)
        inside.add(ct.Continue, highest, self.new[second.body.block.ops[-1].operands[0]], types=())
        b.location = second.location
        bounds = [self.new[value] for value in (second.lower_bound, second.upper_bound, second.step)]
        made = b.add(ct.For, *bounds, *(self.new[value] for value in values), types=[value.type for value in values],
                     regions=[Region([inner])], segments=(1, 1, 1, 2), **second.attributes)  # fmt: skip
        self.bind([first.results[0]], [made.results[0]])
        total = made.results[1]
        self.new[second.results[0]] = total if self.finite else self.as_two_passes(made.results[0], total, second, b)
        for op in passes.between:
            super().operation(op, b)

    def taken(self, highest: Value, b: Builder) -> Value:
        """What is taken away before exponentials: the maximum, or 0 where that is -inf."""
        kind = highest.type
        assert isinstance(kind, TileType)
        nothing = b.value(
            ct.CmpF, highest, constant(b, -math.inf, kind), types=[TileType(kind.shape, I1)],
            predicate=ct.Predicate.EQUAL, ordering=ct.Ordering.ORDERED,
        )  # fmt: skip
        return b.value(ct.Select, nothing, constant(b, 0.0, kind), highest, types=[kind])

    def rescaled(self, total: Value, before: Value, taken: Value, passes: Passes, b: Builder) -> Value:
        """The sum so far, below the new maximum."""
        kind = total.type
        fallen = b.value(ct.SubF, before, taken, types=[kind], **passes.difference.attributes)
        factor = b.value(type(passes.power), fallen, types=[kind], **passes.power.attributes)
        return b.value(ct.MulF, total, factor, types=[kind])

    def as_two_passes(self, highest: Value, total: Value, loop: ct.For, b: Builder) -> Value:
        """The sum; NaN where the loop has run and the maximum is infinite, as -inf - -inf has made it there."""
        kind = highest.type
        assert isinstance(kind, TileType)
        sign = ct.Signedness.UNSIGNED if loop.unsigned_cmp else ct.Signedness.SIGNED
        ends = (self.new[loop.lower_bound], self.new[loop.upper_bound])
        ran = b.value(ct.CmpI, *ends, types=[TileType((), I1)], predicate=ct.Predicate.LESS_THAN, signedness=sign)
        if kind.shape:
            ones = TileType((1,) * len(kind.shape), I1)
            ran = b.value(ct.Reshape, ran, types=[ones])
            whole = TileType(kind.shape, I1)
            ran = ran if ones == whole else b.value(ct.Broadcast, ran, types=[whole])
        nothing = b.value(ct.SubF, highest, highest, types=[kind])
        more = b.value(ct.Select, ran, nothing, constant(b, 0.0, kind), types=[kind])
        return b.value(ct.AddF, total, more, types=[kind])
