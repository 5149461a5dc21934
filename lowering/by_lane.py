"""What a loop folds in each iteration and carries, carried before it is folded.

    for j: m = max(m, reduce_max(x_j))          for j: M = max(M, x_j)              reduce_max(M)
    for j: l = l a + reduce_add(p_j)            for j: L = L broadcast(a) + p_j     reduce_add(L)
Threads then exchange nothing in the loop: their own elements are folded with those of the iterations before, and across
lanes and warps once behind it. Exact of maxima, minima and sums of integers; sums of floats are in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from ir.core import Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.types import TileType
from lowering.rewriting import Rewriter, constant
from lowering.scaled_products import Uses, zero
from lowering.unrolling import continues_early

EXACT = (ct.MaxF, ct.MinF, ct.MaxI, ct.MinI, ct.AddI)
"""Operations that give one result in any order."""
IDEMPOTENT = (ct.MaxF, ct.MinF, ct.MaxI, ct.MinI)
"""Of these a tile begins with the initial value in every element, of sums with zeros."""


@dataclass(frozen=True)
class ByLane:
    """A carried value of a loop: its place; the operation that gives the next one, of it and of the fold; the factor
    that it is multiplied by before, and by which operation; the fold, and all that goes with it.
    """

    place: int
    carried: Value
    op: Op
    factor: Value | None
    product: Op | None
    fold: ct.Reduce
    gone: tuple[Op, ...]

    @property
    def tile(self) -> TileType:
        """The type of what is carried instead."""
        return cast(TileType, self.fold.operands[0].type)


def exact_by_lane(entry: ct.Entry) -> ct.Entry:
    """The entry with maxima, minima and sums of integers carried so; the same one where it has none."""
    return by_lane(entry, EXACT)


def sums_by_lane(entry: ct.Entry) -> ct.Entry:
    """The entry with sums of floats carried so; the same one where it has none."""
    return by_lane(entry, (ct.AddF,))


def by_lane(entry: ct.Entry, kinds: tuple[type[Op], ...]) -> ct.Entry:
    """The entry with folds by some operations carried so. Names, places and hints stay."""
    uses = Uses(entry)
    loops = [op for op in entry.walk() if isinstance(op, ct.For) and not continues_early(op)]
    plan: dict[Op, list[ByLane]] = {loop: found for loop in loops if (found := list(folded(loop, kinds, uses)))}
    return _Writer(plan).entry(entry) if plan else entry


def folded(loop: ct.For, kinds: tuple[type[Op], ...], uses: Uses) -> Iterator[ByLane]:
    """Carried values of which a loop does nothing but fold more into them."""
    block = loop.body.block
    last = block.ops[-1]
    for place, carried in enumerate(block.args[1:]):
        following = last.operands[place]
        op = following.op
        if not isinstance(op, kinds) or op.parent is not block or uses.get(following) != [last]:
            continue
        if not isinstance(op, IDEMPOTENT) and not zero(loop.init_values[place]):
            continue
        for other, value in (op.operands, op.operands[::-1]):
            kept = scaled(other, carried, op, uses)
            fold = fold_of(value, op, block, uses)
            if kept is not None and fold is not None:
                factor, product = kept
                yield ByLane(place, carried, op, factor, product, fold[0], (*fold, *([product] if product else [])))
                break


def scaled(value: Value, carried: Value, op: Op, uses: Uses) -> tuple[Value | None, Op | None] | None:
    """The factor and the product, where a value is what is carried, or that times a factor."""
    if value is carried and uses.get(carried) == [op]:
        return None, None
    product = value.op
    if isinstance(op, ct.AddF) and isinstance(product, ct.MulF) and uses.get(value) == [op]:
        for kept, factor in (product.operands, product.operands[::-1]):
            if kept is carried and uses.get(carried) == [product]:
                return factor, product
    return None


def fold_of(value: Value, op: Op, block: Block, uses: Uses) -> tuple[ct.Reduce, *tuple[Op, ...]] | None:
    """The fold that a value is by the operation of the loop, then the reshapes between, all read by nothing else."""
    reshapes, reader = list[Op](), op
    while isinstance(value.op, ct.Reshape) and uses.get(value) == [reader]:
        reader = value.op
        reshapes.append(reader)
        value = value.op.source
    fold = value.op
    if not isinstance(fold, ct.Reduce) or len(fold.operands) != 1 or fold.parent is not block:
        return None
    made, inner = fold.body.block.ops[0], fold.body.block
    alike = type(made) is type(op) and made.attributes == op.attributes and set(made.operands) == set(inner.args)
    return (fold, *reshapes) if alike and len(inner.ops) == 2 and uses.get(value) == [reader] else None


class _Writer(Rewriter):
    """Operations anew, some folds carried as tiles."""

    def __init__(self, plan: dict[Op, list[ByLane]]):
        super().__init__()
        self.plan = plan
        self.made: dict[Op, ByLane] = {each.op: each for found in plan.values() for each in found}
        self.gone: set[Op] = {op for found in plan.values() for each in found for op in each.gone}

    def operation(self, op: Op, b: Builder) -> None:
        """One; a loop that carries tiles; the next tile that it carries; nothing of a fold that stands behind it."""
        if isinstance(op, ct.For) and op in self.plan:
            self.loop(op, self.plan[op], b)
        elif op in self.made:
            self.next(self.made[op], b)
        elif op not in self.gone:
            super().operation(op, b)

    def next(self, each: ByLane, b: Builder) -> None:
        """The tile that the next iteration begins with."""
        carried = self.new[each.carried]
        if each.factor is not None and each.product is not None:
            factor = self.spread(self.new[each.factor], each, b)
            carried = b.value(ct.MulF, carried, factor, types=[each.tile], **each.product.attributes)
        more = self.new[each.fold.operands[0]]
        made = b.value(type(each.op), carried, more, types=[each.tile], **each.op.attributes)
        self.new[each.op.results[0]] = made

    def spread(self, value: Value, each: ByLane, b: Builder) -> Value:
        """A value of the fold's shape, in every element that is folded into it."""
        shape, dim = each.tile.shape, each.fold.dim
        kept = TileType((*shape[:dim], 1, *shape[dim + 1 :]), each.tile.element)
        found = value if value.type == kept else b.value(ct.Reshape, value, types=[kept])
        return found if kept == each.tile else b.value(ct.Broadcast, found, types=[each.tile])

    def loop(self, loop: ct.For, found: Sequence[ByLane], b: Builder) -> None:
        """The loop, and behind it the folds."""
        kinds = [value.type for value in loop.init_values]
        inits = [self.new[value] for value in loop.init_values]
        for each in found:
            kinds[each.place] = each.tile
            inits[each.place] = self.first(inits[each.place], each, b)
        inner = Block([loop.body.block.args[0].type, *kinds])
        self.bind(loop.body.block.args, inner.args)
        inside = Builder(inner, loop.location)
        self.operations(loop.body.block.ops[:-1], inside)
        inside.add(ct.Continue, *(self.new[value] for value in loop.body.block.ops[-1].operands), types=())
        b.location = loop.location
        bounds = [self.new[value] for value in (loop.lower_bound, loop.upper_bound, loop.step)]
        made = b.add(ct.For, *bounds, *inits, types=kinds, regions=[Region([inner])], segments=(1, 1, 1, len(kinds)),
                     **loop.attributes)  # fmt: skip
        self.bind(loop.results, made.results)
        for each in found:
            self.behind(loop.results[each.place], each, b)

    def first(self, init: Value, each: ByLane, b: Builder) -> Value:
        """What the loop begins with."""
        if isinstance(each.op, IDEMPOTENT):
            return self.spread(init, each, b)
        return constant(b, 0, each.tile)

    def behind(self, result: Value, each: ByLane, b: Builder) -> None:
        """The fold of what the loop leaves."""
        fold, kind = each.fold, result.type
        made = b.add(type(fold), self.new[result], types=[value.type for value in fold.results],
                     regions=[self.region(fold.body)], segments=fold.segments, **fold.attributes)  # fmt: skip
        value = made.results[0]
        self.new[result] = value if value.type == kind else b.value(ct.Reshape, value, types=[kind])
