"""Reductions carried by a loop, carried as tiles and reduced after it.

    for j: m = max(m, reduce_max(x_j))          for j: M = max(M, x_j)              reduce_max(M)
    for j: l = l a + reduce_add(p_j)            for j: L = L broadcast(a) + p_j     reduce_add(L)
Threads then exchange nothing in the loop: their own elements are combined with those of previous iterations, and across
lanes and warps once after it. Exact for maxima, minima and integer sums; float sums are reordered.

If a thread holds many elements along the reduced dimension, these are reduced first, so that it carries one: for
accumulators of 128 x 64, whose columns are spread over four lanes, a tile of 128 x 4. The chosen program of the
original loop shows which elements are in one thread (`runs_of`). Source: FlashAttention-3 (hopper/softmax.h), which
carries the sums of rows so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING

from egraph.placed import PlacedReduce
from ir.checked import checked
from ir.core import Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.records import dataclass
from ir.types import TileType, Type
from lowering.layouts.f2 import log2
from lowering.layouts.layout import Layout
from lowering.skeletons.any_order import EXACT, IDEMPOTENT
from lowering.skeletons.scaled_products import Uses, zero
from lowering.source.rewriting import Rewriter, constant
from lowering.source.unrolling import continues_early
from lowering.targets.target import LEAST_WARPS, WARP

if TYPE_CHECKING:
    from lowering.selection import Selection

Runs = tuple[tuple[int, bool], ...]
"""A dimension cut into parts, the outermost first: how many elements each has, and whether they lie in one thread."""

FEW = 16
"""Registers of a thread that the whole tile may be carried in. Its layout is then free: of seven tiles of 2 to 16
registers in tests/data/programs (sm_80) none costs less where it is cut, four (gemv, group_norm, decode-16,
attention-bf16) 9 to 24 % more; those of 32 (attention) cost 0.2 % less.
"""


@dataclass(frozen=True)
class ByLane:
    """A carried value of a loop: its place; the operation that gives the next one, of it and of the fold; the factor
    that it is multiplied by before, and by which operation; the fold, and all that goes with it; how the dimension that
    is folded is cut, where a part of it is folded first.
    """

    place: int
    carried: Value
    op: Op
    factor: Value | None
    product: Op | None
    fold: ct.Reduce
    gone: tuple[Op, ...]
    runs: Runs = ()

    @property
    def tile(self) -> TileType:
        """The type of what is carried instead."""
        kind, dim = checked(self.fold.operands[0].type, TileType), self.fold.dim
        if not self.runs:
            return kind
        crossing = prod(size for size, inside in self.runs if not inside)
        return TileType((*kind.shape[:dim], crossing, *kind.shape[dim + 1 :]), kind.element)


def exact_by_lane(entry: ct.Entry, runs: Sequence[Runs] = ()) -> ct.Entry:
    """The entry with maxima, minima and sums of integers carried so; the same one where it has none. `runs`: of its
    folds, as `runs_of` says.
    """
    return by_lane(entry, EXACT, runs)


def sums_by_lane(entry: ct.Entry, runs: Sequence[Runs] = ()) -> ct.Entry:
    """The entry with sums of floats carried so; the same one where it has none. `runs`: of its folds."""
    return by_lane(entry, (ct.AddF, ct.Fma), runs)


def by_lane(entry: ct.Entry, kinds: tuple[type[Op], ...], runs: Sequence[Runs]) -> ct.Entry:
    """The entry with folds by some operations carried so. Names, places and hints stay."""
    uses = Uses(entry)
    loops = [op for op in entry.walk() if isinstance(op, ct.For) and not continues_early(op)]
    cut = dict(zip(folds(entry), runs, strict=True)) if runs else {}
    plan: dict[Op, list[ByLane]] = {loop: found for loop in loops if (found := list(folded(loop, kinds, cut, uses)))}
    return _Writer(plan).entry(entry) if plan else entry


def folds(entry: ct.Entry) -> list[ct.Reduce]:
    """All folds of an entry, in order."""
    return [op for op in entry.walk() if isinstance(op, ct.Reduce)]


def runs_of(found: Selection) -> tuple[Runs, ...]:
    """How the folds of a chosen program's entry are cut, in order; nothing of one that is carried as a whole."""
    program, frozen = found.saturated.program, found.saturated.frozen
    wanted = folds(program.entry)
    if not wanted:
        return ()
    made: dict[tuple[int, Type, int], Layout] = {}
    for node in found.node.values():
        if isinstance(node, PlacedReduce):
            kind = program.interner.type(frozen.analysis["type"][found.owner[node.children[0]][0]])
            layout = found.layout(node.source_layout)
            if isinstance(layout, Layout) and layout.n_regs > FEW:
                made[found.owner[node.cls][0], kind, node.dim] = layout
    runs: list[Runs] = []
    for fold in wanted:
        number, kind = program.numbers.get(fold.results[0]), checked(fold.operands[0].type, TileType)
        layout = None if number is None else made.get((frozen.class_of(number), kind, fold.dim))
        runs.append(() if layout is None else cut(kind.shape, fold.dim, layout))
    return tuple(runs)


def supposed_runs(entry: ct.Entry) -> tuple[Runs, ...]:
    """What `runs_of` may say of an entry whose program is not known yet: large folds are cut as in a product's rows, of
    which each lane holds neighbours in pairs.
    """
    kinds = [checked(fold.operands[0].type, TileType) for fold in folds(entry)]
    sizes = [(kind.shape[fold.dim], prod(kind.shape)) for fold, kind in zip(folds(entry), kinds, strict=True)]
    large = FEW * WARP * LEAST_WARPS
    return tuple([((n // 8, True), (4, False), (2, True)) if n >= 16 and size > large else () for n, size in sizes])


def cut(shape: Sequence[int], dim: int, layout: Layout) -> Runs:
    """A dimension of a tile in a layout, cut into what lies in registers of one thread and what does not; nothing where
    all lies so, or none.
    """
    low = log2(prod(shape[dim + 1 :]))
    inside = [1 << low + k in layout.reg for k in range(log2(shape[dim]))]
    if all(inside) or not any(inside):
        return ()
    return tuple((1 << len(list(run)), own) for own, run in groupby(reversed(inside)))


def folded(loop: ct.For, kinds: tuple[type[Op], ...], runs: dict[ct.Reduce, Runs], uses: Uses) -> Iterator[ByLane]:
    """Carried values that a loop only folds more values into."""
    block = loop.body.block
    last = block.ops[-1]
    for place, carried in enumerate(block.args[1:]):
        following = last.operands[place]
        op = following.op
        if not isinstance(op, kinds) or op.parent is not block or uses.get(following) != [last]:
            continue
        if not isinstance(op, IDEMPOTENT) and not zero(loop.init_values[place]):
            continue
        added = addend(op, carried, uses)
        fold = fold_of(added[0], op, block, uses) if added is not None else None
        if added is not None and fold is not None:
            _, factor, product = added
            gone = (*fold, *([product] if product else []))
            yield ByLane(place, carried, op, factor, product, fold[0], gone, runs.get(fold[0], ()))


def addend(op: Op, carried: Value, uses: Uses) -> tuple[Value, Value | None, Op | None] | None:
    """What an operation folds into what is carried, which nothing else reads; the factor of that before, if it has one,
    and the product, which may be fused with the sum.
    """
    readers = uses.get(carried, [])
    if len(readers) != 1:
        return None
    (reader,) = readers
    if isinstance(op, ct.Fma):
        return (op.acc, other(op, carried), op) if reader is op else None
    if reader is op:
        return other(op, carried), None, None
    product = reader.results[0] if isinstance(op, ct.AddF) and isinstance(reader, ct.MulF) else None
    if product is None or uses.get(product) != [op]:
        return None
    return other(op, product), other(reader, carried), reader


def other(op: Op, value: Value) -> Value:
    """What an operation combines with a value."""
    lhs, rhs = op.operands[:2]
    return rhs if lhs is value else lhs


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
    kind = ct.AddF if isinstance(op, ct.Fma) else type(op)
    alike = type(made) is kind and made.attributes == op.attributes and set(made.operands) == set(inner.args)
    return (fold, *reshapes) if alike and len(inner.ops) == 2 and uses.get(value) == [reader] else None


class _Writer(Rewriter):
    """Operations anew, some folds carried as tiles."""

    def __init__(self, plan: dict[Op, list[ByLane]]):
        super().__init__()
        self.plan = plan
        self.made: dict[Op, ByLane] = {each.op: each for found in plan.values() for each in found}
        self.gone: set[Op] = {op for found in plan.values() for each in found for op in each.gone}

    def operation(self, op: Op, b: Builder) -> None:
        """One operation; a loop that carries tiles; its next carried tile; nothing for a reduction that moves after
        it.
        """
        if isinstance(op, ct.For) and op in self.plan:
            self.loop(op, self.plan[op], b)
        elif op in self.made:
            self.next(self.made[op], b)
        elif op not in self.gone:
            super().operation(op, b)

    def next(self, each: ByLane, b: Builder) -> None:
        """The tile that the next iteration begins with."""
        operands = [self.new[each.carried]]
        if each.factor is not None:
            operands.append(self.spread(self.new[each.factor], each, b))
        if each.product is not None and each.product is not each.op:
            operands = [b.value(ct.MulF, *operands, types=[each.tile], **each.product.attributes)]
        more = self.inside(self.new[each.fold.operands[0]], each, b)
        made = b.value(type(each.op), *operands, more, types=[each.tile], **each.op.attributes)
        self.new[each.op.results[0]] = made

    def inside(self, value: Value, each: ByLane, b: Builder) -> Value:
        """A tile, what each thread has of it folded."""
        if not each.runs:
            return value
        kind, dim = checked(value.type, TileType), each.fold.dim
        before, after, element = kind.shape[:dim], kind.shape[dim + 1 :], kind.element
        parts = tuple(size for size, _ in each.runs)
        apart = sorted(range(len(parts)), key=lambda k: each.runs[k][1])  # what lies in one thread comes last
        order = [*range(dim), *(dim + k for k in apart), *range(dim + len(parts), len(kind.shape) + len(parts) - 1)]
        steps = (*before, *parts, *after), (*before, *(parts[k] for k in apart), *after)
        value = b.value(ct.Reshape, value, types=[TileType(steps[0], element)])
        value = b.value(ct.Permute, value, types=[TileType(steps[1], element)], permutation=tuple(order))
        inside = prod(size for size, own in each.runs if own)
        crossing = each.tile.shape[dim]
        value = b.value(ct.Reshape, value, types=[TileType((*before, crossing, inside, *after), element)])
        return self.fold(value, dim + 1, each.tile, each.fold, b)

    def fold(self, value: Value, dim: int, kind: TileType, like: ct.Reduce, b: Builder) -> Value:
        """A tile folded as another fold does."""
        attributes = {**like.attributes, "dim": dim}
        return b.add(
            ct.Reduce, value, types=[kind], regions=[self.region(like.body)], segments=like.segments, **attributes
        ).results[0]

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
        made = b.add(
            ct.For,
            *bounds,
            *inits,
            types=kinds,
            regions=[Region([inner])],
            segments=(1, 1, 1, len(kinds)),
            **loop.attributes,
        )
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
        value = self.fold(self.new[result], fold.dim, checked(fold.results[0].type, TileType), fold, b)
        self.new[result] = value if value.type == kind else b.value(ct.Reshape, value, types=[kind])
