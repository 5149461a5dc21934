"""Folds of one kind that do not depend on each other, as one fold of several tiles.

    s = reduce_add(x); t = reduce_add(y)        s, t = reduce(x, y) { s + s', t + t' }
Where warps share a row, each fold writes the sums of its warps to shared memory, waits for all threads, and reads them.
One fold of both tiles waits once: the sums of dy w and dy w x in the backward pass of LayerNorm, of the powers of a
polynomial norm. Each tile is folded as before, in the same order: exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from egraph.combiners import structure, taken
from egraph.placed import PlacedReduce
from ir.core import PURE, Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.types import TileType
from lowering.layouts.shapes import reduce_dim
from lowering.skeletons.by_lane import folds
from lowering.source.rewriting import Rewriter

if TYPE_CHECKING:
    from lowering.selection import Selection

MOST = 8
"""Tiles of one fold: the partial results of each are in registers until all are written."""


class Group(NamedTuple):
    """Folds of one block that become one, in order; what the later ones read, to be computed before the first."""

    folds: list[ct.Reduce]
    needed: set[Op]


def merged_folds(entry: ct.Entry, crossing: Sequence[bool]) -> ct.Entry:
    """The entry with such folds merged; the same one where it has none. `crossing`: of each of its folds, in order,
    whether warps share it (`crossing_of`); others stay, and so do folds of several tiles or with scalars from outside.
    """
    shared = (fold for fold, each in zip(folds(entry), crossing, strict=True) if each)
    wanted = {fold for fold in shared if len(fold.operands) == 1 and not taken(fold)}
    found = list(groups(entry, wanted))
    return _Writer(found).entry(entry) if found else entry


def crossing_of(found: Selection) -> tuple[bool, ...]:
    """Which folds of a chosen program's entry combine results of several warps, in order."""
    program, frozen = found.saturated.program, found.saturated.frozen
    shared: set[tuple[int, int]] = set()
    for node in found.node.values():
        if isinstance(node, PlacedReduce):
            value, _ = found.owner[node.list]
            shape = cast(TileType, program.interner.type(frozen.analysis["type"][value])).shape
            if reduce_dim(shape, node.dim, found.oracle.layout(node.source_layout)).warp_bits:
                shared.add((value, node.dim))
    numbers = [(program.numbers.get(fold.operands[0]), fold.dim) for fold in folds(program.entry)]
    return tuple(n is not None and (frozen.class_of(n), dim) in shared for n, dim in numbers)


def supposed_crossing(entry: ct.Entry) -> tuple[bool, ...]:
    """The same of an entry whose program is not known yet: all of them."""
    return (True,) * len(folds(entry))


def groups(entry: ct.Entry, wanted: set[ct.Reduce]) -> Iterator[Group]:
    """Folds that can be merged. Those of one group come before those of the next, so no two wait for each other."""
    for block in dict.fromkeys(fold.parent for fold in folds(entry) if fold in wanted):
        assert block is not None
        order = {op: place for place, op in enumerate(block.ops)}
        rest = [op for op in block.ops if isinstance(op, ct.Reduce) and op in wanted]
        while rest:
            group = group_of(rest, order)
            last = order[group.folds[-1]]
            rest = [each for each in rest[1:] if order[each] > last]
            if len(group.folds) > 1:
                yield group


def group_of(rest: Sequence[ct.Reduce], order: dict[Op, int]) -> Group:
    """The first of a block's folds, with those after it that can be computed where it is."""
    first = rest[0]
    group = Group([first], set())
    for fold in rest[1:]:
        if kind_of(fold) == kind_of(first) and len(group.folds) < MOST:
            needed = read_after(first, fold, order)
            if needed.isdisjoint(group.folds) and all(map(moves, needed)):
                group.folds.append(fold)
                group.needed.update(needed)
    return group


def kind_of(fold: ct.Reduce) -> Hashable:
    """What folds that are merged have in common."""
    return cast(TileType, fold.operands[0].type).shape, fold.dim, structure(fold.body), tuple(fold.identities)


def read_after(first: Op, fold: Op, order: dict[Op, int]) -> set[Op]:
    """The operations of the block behind `first` that a fold depends on."""
    found, waiting = set[Op](), [fold]
    while waiting:
        op = waiting.pop()
        for value in read_by(op):
            made = value.op
            if made is not None and order.get(made, -1) >= order[first] and made not in found:
                found.add(made)
                waiting.append(made)
    return found


def read_by(op: Op) -> Iterator[Value]:
    """What an operation reads, and those in its regions."""
    yield from op.operands
    for region in op.regions:
        for each in region.block.ops:
            yield from read_by(each)


def moves(op: Op) -> bool:
    """May an operation be computed earlier? An assumption may not: it may hold behind an assertion only."""
    alone = not op.regions or isinstance(op, ct.Combining)
    return op.effect is PURE and alone and not isinstance(op, ct.Assume)


class _Writer(Rewriter):
    """Operations anew, some folds merged into the first of their group."""

    def __init__(self, found: Sequence[Group]):
        super().__init__()
        self.groups = {group.folds[0]: group for group in found}
        self.gone: set[Op] = {op for group in found for op in group.folds[1:]}

    def operations(self, ops: Sequence[Op], b: Builder) -> None:
        """All of them; what the other folds of a group read is computed before its first, once."""
        for place, op in enumerate(ops):
            group = self.groups.get(op) if isinstance(op, ct.Reduce) else None
            if group is not None:
                self.merged(group, [each for each in ops[place:] if each in group.needed], b)
            elif op not in self.gone:
                b.location = op.location
                self.operation(op, b)

    def merged(self, group: Group, needed: Sequence[Op], b: Builder) -> None:
        """One fold for a group, behind what it reads."""
        for op in needed:
            b.location = op.location
            self.operation(op, b)
        self.gone.update(needed)
        first = group.folds[0]
        b.location = first.location
        operands = [self.new[fold.operands[0]] for fold in group.folds]
        made = b.add(
            ct.Reduce, *operands, types=[fold.results[0].type for fold in group.folds],
            regions=[self.side_by_side(group.folds)], segments=(len(operands),),
            **first.attributes | {"identities": tuple(each for fold in group.folds for each in fold.identities)},
        )  # fmt: skip
        for fold, result in zip(group.folds, made.results, strict=True):
            self.bind(fold.results, [result])

    def side_by_side(self, found: Sequence[ct.Reduce]) -> Region:
        """A combiner that does to the elements of each tile what its fold does."""
        inner = Block([argument.type for fold in found for argument in fold.body.block.args])
        inside = Builder(inner, found[0].location)
        ends: list[Value] = []
        for place, fold in enumerate(found):
            *ops, last = fold.body.block.ops
            self.bind(fold.body.block.args, inner.args[2 * place : 2 * place + 2])
            super().operations(ops, inside)
            ends += [self.new[value] for value in last.operands]
        inside.add(ct.Yield, *ends, types=())
        return Region([inner])
