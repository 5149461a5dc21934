"""Sums of squares about a mean in the pass that finds the mean, where reassoc and afn are permitted.

    for j: t = t + x_j                                 for j: t = t + x_j; d = x_j - t / n; q = q + d d n / (n - 1)
    for j: q = q + (x_j - c)^2   with c from t         q = q + n (t / n - c)^2
Each element of a tile has a running sum t, the number n of what it has added, and the sum q of squares about its own
mean t / n, which no other element's mean enters. About any c they are q + n (t / n - c)^2, so c may be what the source
makes of t: one pass over x is left, and t is what it was. q errs as Welford's sums do, not as sums of squares of which
that of the mean is taken away.

Where x_j is masked, it must be so at the end of a view and nowhere else: then an element has added all until then, and
the zeros behind leave t as it is. Source: Youngs and Cramer, Technometrics 13 (1971), equation 1.5b, and Chan, Golub
and LeVeque, The American Statistician 37 (1983), with its error bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ir.core import PURE, Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.constraints import element_type
from ir.records import dataclass
from ir.types import F32, I1, PartitionViewType, TensorViewType, TileType
from lowering.skeletons.passes import (
    SHAPING,
    addend,
    alike,
    alone,
    blocks,
    closure,
    moved,
    same_bounds,
    shaped_from,
)
from lowering.skeletons.scaled_products import inside, zero
from lowering.source.rewriting import Rewriter, constant, without_promises
from lowering.source.unrolling import constant_of


@dataclass(frozen=True)
class Moments:
    """The loop of the sum and that of the squares; what is added, the difference that is squared, and the mask of what
    counts.

    early: what the mask needs of the operations between the loops, which moves before the first.
    """

    first: ct.For
    second: ct.For
    summed: Value
    difference: ct.SubF
    mask: Value | None
    early: tuple[Op, ...]


def moments_online(entry: ct.Entry) -> ct.Entry:
    """The entry with such loops joined; the same one where it has none. Names, places and hints stay."""
    found = [moments for block in blocks(entry.body) for moments in pairs(block)]
    return _Writer(found).entry(entry) if found else entry


def pairs(block: Block) -> Iterator[Moments]:
    """Loops of a block that can be joined, each at most once."""
    taken: ct.For | None = None
    for first, second in pairwise(op for op in block.ops if isinstance(op, ct.For)):
        if first is not taken and alone(first) and alone(second) and from_zero(first) and same_bounds(first, second):
            found = joined(first, second, block)
            if found is not None:
                taken = second
                yield found


def from_zero(loop: ct.For) -> bool:
    """Does a loop count its iterations from 0 on?"""
    return constant_of(loop.lower_bound) == 0 and constant_of(loop.step) == 1


def joined(first: ct.For, second: ct.For, block: Block) -> Moments | None:
    """How two loops become one; None where they are not a sum of tiles of f32 and one of squares about one value."""
    summed, squared = addend(first), square(second)
    if summed is None or squared is None or not all(zero(loop.init_values[0]) for loop in (first, second)):
        return None
    mask, difference = masked(squared)
    same = {first.body.block.args[0]: second.body.block.args[0]}
    if not isinstance(difference, ct.SubF) or difference.flush_to_zero or element_type(summed) != F32:
        return None
    centre = shaped_from(difference.rhs)
    if inside(centre, second) or not alike(summed, difference.lhs, same):
        return None
    if mask is None:
        return Moments(first, second, summed, difference, None, ())
    early = between(mask, first, second, block)
    at_end = masks_the_end(mask, difference.lhs, second)
    return Moments(first, second, summed, difference, mask, early) if at_end and early is not None else None


def square(loop: ct.For) -> Value | None:
    """What a loop adds the square of to what it carries."""
    carried, op = loop.body.block.args[1], loop.body.block.ops[-1].operands[0].op
    if isinstance(op, ct.Fma):
        return op.lhs if op.lhs is op.rhs and op.acc is carried and not op.flush_to_zero else None
    added = addend(loop)
    made = added.op if added is not None else None
    if isinstance(made, ct.MulF) and made.lhs is made.rhs and not made.flush_to_zero:
        return made.lhs
    return made.source if isinstance(made, ct.FPowI) and constant_of(made.exponent) == 2 else None


def masked(value: Value) -> tuple[Value | None, Op | None]:
    """The mask of a tile that is zero elsewhere, and what makes it; no mask of another tile."""
    op = value.op
    if isinstance(op, ct.Select) and zero(shaped_from(op.val_if_false)):
        return op.cond, op.val_if_true.op
    return None, op


def between(mask: Value, first: ct.For, second: ct.For, block: Block) -> tuple[Op, ...] | None:
    """What a mask in the second loop needs of the operations between the loops, in order; None where that is more than
    values, or comes from the first loop.
    """
    at, end = block.ops.index(first), block.ops.index(second)
    needed = {value for op in closure([mask], second.body.block.ops) for value in op.operands} | {mask}
    found = closure(needed, block.ops[at : end + 1])
    return tuple(found) if all(op.effect is PURE and not op.regions for op in found) else None


# Masks of what lies inside of a view


@dataclass(frozen=True)
class Index:
    """A tile of integers scale * counter + (its index along `dim`, where that is given)."""

    scale: int
    dim: int | None


def masks_the_end(mask: Value, value: Value, loop: ct.For) -> bool:
    """Is a mask true of just those elements of a loaded tile that lie inside of its view along one dimension, tile
    after tile? Others are zero, and behind the first of them all are.
    """
    while isinstance(value.op, ct.FToF):
        value = value.op.from_
    load, test = value.op, shaped_from(mask).op
    if not isinstance(load, ct.LoadView) or not isinstance(test, ct.CmpI) or load.parent is not loop.body.block:
        return False
    index = index_of(test.lhs, loop.body.block.args[0])
    dim = None if index is None or index.dim is None else follow(mask, index.dim)
    if index is None or dim is None or test.predicate is not ct.Predicate.LESS_THAN:
        return False
    view = load.view.type
    if not isinstance(view, PartitionViewType) or view.padding != "zero" or view.tile[dim] != index.scale:
        return False
    signed, size = test.signedness is ct.Signedness.SIGNED, size_of(load.view, dim)
    bounded = same_number(shaped_from(test.rhs), size) and tiles_of(loop.upper_bound, size, index.scale)
    return signed and bounded and load.index[dim] is loop.body.block.args[0]


def index_of(value: Value, counter: Value) -> Index | None:
    """A tile of integers as an Index; None where it is none."""
    op = value.op
    if value is counter:
        return Index(1, None)
    if isinstance(op, ct.Iota):
        return Index(0, 0)
    if isinstance(op, SHAPING):
        found = index_of(op.source, counter)
        if found is None or found.dim is None:
            return found
        dim = moved(op, found.dim)
        return None if dim is None else Index(found.scale, dim)
    if isinstance(op, ct.MulI):
        for factor, number in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            found, scale = index_of(factor, counter), constant_of(number)
            if found is not None and found.dim is None and scale is not None:
                return Index(found.scale * scale, None)
    if isinstance(op, ct.AddI):
        parts = [index_of(each, counter) for each in (op.lhs, op.rhs)]
        left, right = parts
        if left is not None and right is not None and None in (left.dim, right.dim):
            return Index(left.scale + right.scale, right.dim if left.dim is None else left.dim)
    return None


def follow(mask: Value, dim: int) -> int | None:
    """Where a dimension of a comparison is in the mask that is made of it."""
    op = mask.op
    if not isinstance(op, SHAPING):
        return dim
    found = follow(op.source, dim)
    return None if found is None else moved(op, found)


def size_of(view: Value, dim: int) -> Value | int | None:
    """How many elements a partition view has along a dimension of its tiles."""
    made = view.op
    if not isinstance(made, ct.MakePartitionView) or not isinstance(made.result.type, PartitionViewType):
        return None
    at, whole = made.result.type.dim_map[dim], made.tensor_view
    kind, source = whole.type, whole.op
    if not isinstance(kind, TensorViewType) or not isinstance(source, ct.MakeTensorView):
        return None
    if kind.shape[at] is not None:
        return kind.shape[at]
    return without_promises(source.dynamic_shape[sum(size is None for size in kind.shape[:at])])


def same_number(value: Value, size: Value | int | None) -> bool:
    """Is a value the size of a view?"""
    return constant_of(value) == size if isinstance(size, int) else without_promises(value) is size


def tiles_of(bound: Value, size: Value | int | None, tile: int) -> bool:
    """Is a number at most that of tiles of a view, so that no index of an element wraps before the last tile?"""
    made = bound.op
    if not isinstance(made, ct.GetIndexSpaceShape) or size is None:
        return False
    dim, kind = made.outs.index(bound), made.src.type
    return isinstance(kind, PartitionViewType) and kind.tile[dim] == tile and size_of(made.src, dim) == size


class _Writer(Rewriter):
    """Operations anew, pairs of loops joined at the place of the first."""

    def __init__(self, found: Sequence[Moments]):
        super().__init__()
        self.first: dict[Op, Moments] = {each.first: each for each in found}
        self.second: dict[Op, Moments] = {each.second: each for each in found}
        self.early: set[Op] = {op for each in found for op in each.early}
        self.squares: dict[Moments, Value] = {}

    def operation(self, op: Op, b: Builder) -> None:
        """One; a loop that adds up both; in place of the second loop, the squares about the value that it asks for."""
        if op in self.first:
            for each in self.first[op].early:
                super().operation(each, b)
            self.one_pass(self.first[op], b)
        elif op in self.second:
            self.about(self.second[op], b)
        elif op not in self.early:
            super().operation(op, b)

    def one_pass(self, moments: Moments, b: Builder) -> None:
        """The loop of sums; it carries the squares too, and the reciprocal of the number of iterations so far."""
        first = moments.first
        kind = tile_of(first)
        number = TileType((), F32)
        inits = [self.new[first.init_values[0]], constant(b, 0.0, kind), constant(b, 0.0, number)]
        inner = Block([first.body.block.args[0].type, kind, kind, number])
        counter, total, squares, reciprocal = inner.args
        self.bind(first.body.block.args, (counter, total))
        inside = Builder(inner, first.location)
        self.operations(first.body.block.ops[:-1], inside)
        total = self.new[first.body.block.ops[-1].operands[0]]
        one = constant(inside, 1.0, number)
        count = inside.value(ct.AddI, counter, whole(inside, 1, counter), types=[counter.type])
        share = self.reciprocal(as_float(count, inside), inside)
        weight = inside.value(ct.AddF, reciprocal, one, types=[number])  # n / (n - 1); of n = 1 the difference is 0
        fallen = spread(inside.value(ct.NegF, share, types=[number]), kind, inside)
        away = inside.value(ct.Fma, total, fallen, self.new[moments.summed], types=[kind])
        if moments.mask is not None:
            away = inside.value(
                ct.Select, self.mask(moments, counter, inside), away, constant(inside, 0.0, kind), types=[kind]
            )
        weighed = inside.value(ct.MulF, away, spread(weight, kind, inside), types=[kind])
        more = inside.value(ct.Fma, weighed, away, squares, types=[kind])
        inside.add(ct.Continue, total, more, share, types=())
        b.location = first.location
        bounds = [self.new[value] for value in (first.lower_bound, first.upper_bound, first.step)]
        made = b.add(ct.For, *bounds, *inits, types=[kind, kind, number], regions=[Region([inner])],
                     segments=(1, 1, 1, 3), **first.attributes)  # fmt: skip
        self.bind(first.results, made.results[:1])
        self.squares[moments] = made.results[1]

    def about(self, moments: Moments, b: Builder) -> None:
        """The squares about a value, of those about each element's own mean."""
        kind, b.location = tile_of(moments.first), moments.second.location
        trips = self.new[moments.second.upper_bound]
        count = as_float(trips, b)
        number, share = (spread(each, kind, b) for each in (count, self.reciprocal(count, b)))
        if moments.mask is not None:
            last = b.value(ct.SubI, trips, whole(b, 1, trips), types=[trips.type])
            fewer = as_float(last, b)
            mask = self.mask(moments, last, b)
            number = b.value(ct.Select, mask, number, spread(fewer, kind, b), types=[kind])
            other = spread(self.reciprocal(fewer, b), kind, b)
            share = b.value(ct.Select, mask, share, other, types=[kind])
        centre = self.inside(moments.difference.rhs, moments, b)
        mean = b.value(ct.MulF, self.new[moments.first.results[0]], share, types=[kind])
        away = b.value(ct.SubF, mean, centre, types=[kind])
        none, bits = constant(b, 0.0, kind), TileType(kind.shape, I1)
        some = b.value(ct.CmpF, number, none, types=[bits], predicate=ct.Predicate.GREATER_THAN,
                       ordering=ct.Ordering.ORDERED)  # fmt: skip
        away = b.value(ct.Select, some, away, none, types=[kind])
        weighed = b.value(ct.MulF, away, number, types=[kind])
        self.new[moments.second.results[0]] = b.value(ct.Fma, weighed, away, self.squares[moments], types=[kind])

    def mask(self, moments: Moments, counter: Value, b: Builder) -> Value:
        """The mask of an iteration."""
        assert moments.mask is not None
        self.new[moments.second.body.block.args[0]] = counter
        return self.inside(moments.mask, moments, b)

    def inside(self, value: Value, moments: Moments, b: Builder) -> Value:
        """A value of the second loop, computed here."""
        for op in closure([value], moments.second.body.block.ops):
            super().operation(op, b)
        return self.new[value]

    def reciprocal(self, number: Value, b: Builder) -> Value:
        """1 / number, approximately."""
        one = constant(b, 1.0, TileType((), F32))
        return b.value(ct.DivF, one, number, types=[number.type], rounding=ct.Rounding.APPROX)


def tile_of(loop: ct.For) -> TileType:
    """The type of the tile that a loop carries."""
    kind = loop.results[0].type
    assert isinstance(kind, TileType)
    return kind


def whole(b: Builder, number: int, like: Value) -> Value:
    """An integer of a value's type."""
    kind = like.type
    assert isinstance(kind, TileType)
    return constant(b, number, kind)


def as_float(number: Value, b: Builder) -> Value:
    """An integer as f32."""
    return b.value(ct.IToF, number, types=[TileType((), F32)], signedness=ct.Signedness.SIGNED)


def spread(number: Value, kind: TileType, b: Builder) -> Value:
    """A number in every element of a tile."""
    if not kind.shape:
        return number
    one = b.value(ct.Reshape, number, types=[TileType((1,) * len(kind.shape), F32)])
    return one if one.type == kind else b.value(ct.Broadcast, one, types=[kind])
