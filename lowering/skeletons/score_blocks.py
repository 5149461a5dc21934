"""Attention whose scores of a row are one tile, in blocks of keys, where reassoc and afn are permitted.

    x = q k; m = max x; p = exp(x - m); l = sum p     for j: n = max(m, max x_j); f = exp(m - n); ...
    o = p / l v                                       as online_sums.py does
The dimension along which scores are reduced and multiplied with values is cut into blocks, in all that is computed
along it. What combines blocks (maxima, sums, products with values) becomes a loop over them for each step of what
needs whole results of those before: a loop of maxima, one of what is below them. These are attention in several
passes, which one pass replaces; where it cannot, the tile stays whole.
Source: Rabe and Staats, Self-attention does not need O(n^2) memory, arXiv 2112.05682.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isinf

from ir.core import PURE, READ, Block, Builder, Op, Region, Type, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.constraints import shape_of, tile_type
from ir.dialects.nv_tileas_cluster import Exchange, PartialSum
from ir.records import dataclass
from ir.types import I32, PartitionViewType, TileType, TokenType
from ir.walks import blocks
from lowering.skeletons.online_sums import attention_online, finite_attention_online
from lowering.skeletons.passes import closure, folds
from lowering.skeletons.scaled_products import zero
from lowering.slicing.cuts import Dim, OpCut, cut_of, is_splat
from lowering.source.rewriting import Rewriter, constant

WIDTH = 64
"""Keys of a block: those of a step of attention as most write it (cuTile's samples, FlashAttention-2)."""


INFINITE = ("neg_inf", "pos_inf")
"""Paddings of views."""


class _NoBlocksError(Exception):
    """Something cannot be computed block by block."""


@dataclass(frozen=True)
class Row:
    """A dimension of a tile that is cut into `count` blocks: what is computed along it in one block of operations, how
    each operation there is cut, and those among them that combine blocks into whole results.
    """

    block: Block
    ops: dict[Op, OpCut]
    joins: tuple[ct.Reduce | ct.MmaF, ...]
    count: int

    @property
    def infinite(self) -> bool:
        """Does a mask or padding put infinities into it?"""
        made, waiting = set[Op](self.ops), list[Op](self.ops)
        while waiting:
            for value in waiting.pop().operands:
                if value.op is not None and value.op not in made and not isinstance(value.type, TokenType):
                    made.add(value.op)
                    waiting.append(value.op)
        views = (op.view.type for op in made if isinstance(op, ct.LoadView))
        padded = any(isinstance(each, PartitionViewType) and each.padding in INFINITE for each in views)
        literals = (op.value for op in made if isinstance(op, ct.Constant))
        return padded or any(any(map(isinf, each.array.reshape(-1).tolist())) for each in literals)

    def levels(self) -> dict[Op, int]:
        """How many loops, one after the other, each operation waits for."""
        found: dict[Op, int] = {}
        for op in self.block.ops:
            makers = [value.op for each in op.walk() for value in each.operands]
            found[op] = max([found[m] + (m in self.joins) for m in makers if m is not None and m in found], default=0)
        return found


def online_by_blocks(entry: ct.Entry) -> ct.Entry:
    """The entry with such rows in one loop each; the same one where it has none."""
    return _by_blocks(entry, attention_online)


def finite_online_by_blocks(entry: ct.Entry) -> ct.Entry:
    """The same where no block of scores has an infinite maximum: of a tile that a mask leaves out in part, or padding,
    some blocks are left out whole.
    """
    return _by_blocks(entry, finite_attention_online, finite=True)


def _by_blocks(entry: ct.Entry, online: Callable[[ct.Entry], ct.Entry], finite: bool = False) -> ct.Entry:
    found = [row for block in blocks(entry.body.block) for row in rows(block)]
    if not found or (finite and any(row.infinite for row in found)):
        return entry
    try:
        made = _Writer(found).entry(entry)
    except _NoBlocksError:
        return entry
    joined = online(made)
    return entry if joined is made else joined


def rows(block: Block) -> Iterator[Row]:
    """Scores whose maxima are found, and whose exponentials are multiplied with values, in a block of operations."""
    taken = set[Op]()
    for op in block.ops:
        if isinstance(op, ct.Reduce) and op not in taken and folds(op, ct.MaxF):
            size = shape_of(op.operands[0])[op.dim]
            cut = _Cut(block, size)
            if size >= 2 * WIDTH and cut.made(op):
                taken.update(cut.ops)
                joins = [cut.joins[each] for each in block.ops if each in cut.joins]
                if any(isinstance(each, ct.MmaF) for each in joins):
                    yield Row(block, cut.ops, tuple(joins), size // WIDTH)


class _Cut:
    """What is computed along a dimension of `size` elements: `dims` of values, and `ops`."""

    def __init__(self, block: Block, size: int):
        self.block, self.size = block, size
        self.dims: dict[Value, int] = {}
        self.ops: dict[Op, OpCut] = {}
        self.joins: dict[Op, ct.Reduce | ct.MmaF] = {}
        self.pending: list[Value] = []
        self.users: dict[Value, list[Op]] = {}

    def made(self, first: ct.Reduce) -> bool:
        """Can all be computed in blocks that the operand of a reduction has to do with?"""
        for op in self.block.ops:
            for value in (value for each in op.walk() for value in each.operands):
                self.users.setdefault(value, []).append(op)
        try:
            self.value(first.operands[0], first.dim)
            while self.pending:
                self.touched(self.pending.pop())
        except _NoBlocksError:
            return False
        return True

    def value(self, value: Value, dim: int) -> None:
        """A value is cut along a dimension; a literal of one number is made anew where it is used."""
        if is_splat(value):
            return
        op = value.op
        if self.dims.setdefault(value, dim) != dim or shape_of(value)[dim] != self.size:
            raise _NoBlocksError
        if op is None or op.parent is not self.block:
            raise _NoBlocksError
        self.pending.append(value)

    def touched(self, value: Value) -> None:
        """What makes and what reads a value."""
        dim = self.dims[value]
        assert value.op is not None
        self.operation(value.op, cut_of(value.op, None, value.index, dim))
        for op in self.users.get(value, ()):
            for slot, operand in enumerate(op.operands):
                if operand is value:
                    joined = joining(op, slot, dim)
                    self.operation(op, joined or cut_of(op, slot, None, dim))
                    if joined is not None and isinstance(op, ct.Reduce | ct.MmaF):
                        self.joins[op] = op
            if value not in op.operands:  # an operation inside reads it
                raise _NoBlocksError

    def operation(self, op: Op, cut: OpCut | None) -> None:
        """One, cut in one way alone; its tokens are not waited for."""
        if cut is None or (op in self.ops and self.ops[op] != cut) or not possible(op):
            raise _NoBlocksError
        if op in self.ops:
            return
        self.ops[op] = cut
        for values, dims in ((op.operands, cut.operands), (op.results, cut.results)):
            for value, dim in zip(values, dims, strict=True):
                if dim is not None and self.dims.get(value) != dim:
                    self.value(value, dim)
        if any(isinstance(value.type, TokenType) and value in self.users for value in op.results):
            raise _NoBlocksError


def joining(op: Op, slot: int, dim: int) -> OpCut | None:
    """How an operation is cut that combines blocks into a whole result: a maximum, a sum, a product along them."""
    if isinstance(op, ct.Reduce) and dim == op.dim and (folds(op, ct.MaxF) or folds(op, ct.AddF)):
        return OpCut((dim,), (None,))
    if isinstance(op, ct.MmaF) and zero(op.acc):
        rank = len(shape_of(op.lhs))
        if (slot, dim) in ((0, rank - 1), (1, rank - 2)):
            return OpCut((rank - 1, rank - 2, None), (None,))
    return None


def possible(op: Op) -> bool:
    """Can an operation be made in a loop over blocks, and is it harmless there?"""
    counted = not isinstance(op, ct.Iota) or tile_type(op.result).element == I32
    regions = not op.regions or isinstance(op, ct.Reduce)
    return counted and regions and op.effect in (PURE, READ) and not isinstance(op, Exchange | PartialSum | ct.Constant)


class _Writer(Rewriter):
    """Operations anew; loops over blocks where the first of what they combine was."""

    def __init__(self, found: Sequence[Row]):
        super().__init__()
        self.rows = {op: row for row in found for op in row.ops}
        self.levels = {op: level for row in found for op, level in row.levels().items() if op in row.ops}

    def operation(self, op: Op, b: Builder) -> None:
        """One, if it is not there yet; a loop in place of what combines blocks, which makes what it needs."""
        row = self.rows.get(op)
        if row is None:
            if not op.results or op.results[0] not in self.new:
                super().operation(op, b)
        elif op in row.joins and op.results[0] not in self.new:
            self.loop(row, self.levels[op], b)

    def needed(self, value: Value, b: Builder) -> Value:
        """A value from outside of a loop; it is computed before it where that has no effect."""
        op = value.op
        if value not in self.new:
            if op is None or op.effect is not PURE:
                raise _NoBlocksError
            for each in (each for inner in op.walk() for each in inner.operands):
                if each.op is not None and each.op.parent is op.parent:
                    self.needed(each, b)
            self.operation(op, b)
        return self.new[value]

    def loop(self, row: Row, level: int, b: Builder) -> None:
        """All that combines blocks and waits for so many loops."""
        joins = [op for op in row.joins if self.levels[op] == level]
        carried: dict[Op, int] = {op: place for place, op in enumerate(joins, 1)}
        others = [op for op in row.block.ops if op in row.ops and op not in row.joins]
        inside = closure((value for op in joins for value in op.operands), others)
        body = [op for op in row.block.ops if op in inside or op in carried]
        for op in body:
            for value, dim in zip(op.operands, row.ops[op].operands, strict=True):
                if dim is None:
                    self.needed(value, b)
        starts = [self.start(op, b) for op in joins]
        views: dict[Op, Value] = {op: self.view(op, row, b) for op in body if isinstance(op, ct.LoadView)}
        index = TileType((), I32)
        bounds = [constant(b, number, index) for number in (0, row.count, 1)]
        inner = Block([index, *(value.type for value in starts)])
        made = b.add(ct.For, *bounds, *starts, types=[value.type for value in starts], regions=[Region([inner])],
                     segments=(1, 1, 1, len(starts)))  # fmt: skip
        step = _Step(row, self.new, views, Builder(inner, b.location))
        for op in body:
            step.operation(op, inner.args[carried[op]] if op in carried else None)
        step.b.add(ct.Continue, *(step.parts[op.results[0]] for op in joins), types=())
        for op, result in zip(joins, made.results, strict=True):
            self.bind(op.results, [result])

    def start(self, op: ct.Reduce | ct.MmaF, b: Builder) -> Value:
        """What combining begins with."""
        if isinstance(op, ct.Reduce):
            return constant(b, op.identities[0], tile_type(op.results[0]))
        return constant(b, 0.0, tile_type(op.acc))

    def view(self, op: ct.LoadView, row: Row, b: Builder) -> Value:
        """The partition of a tensor into blocks."""
        kind, maker, dim = op.view.type, op.view.op, row.ops[op].results[0]
        assert isinstance(kind, PartitionViewType)
        assert isinstance(maker, ct.MakePartitionView)
        tile = tuple(WIDTH if place == dim else size for place, size in enumerate(kind.tile))
        made = PartitionViewType(tile, kind.view, kind.dim_map, kind.padding)
        return b.value(ct.MakePartitionView, self.needed(maker.tensor_view, b), types=[made])


class _Step:
    """One block: `parts` of the values that are cut."""

    def __init__(self, row: Row, new: dict[Value, Value], views: dict[Op, Value], b: Builder):
        self.row, self.new, self.views, self.b = row, new, views, b
        (self.counter,) = b.block.args[:1]
        self.parts: dict[Value, Value] = {}

    def operation(self, op: Op, carried: Value | None) -> None:
        """One; what combines blocks adds its part to what is carried."""
        cut, b = self.row.ops[op], self.b
        b.location = op.location
        operands = [self.operand(value, dim) for value, dim in zip(op.operands, cut.operands, strict=True)]
        if isinstance(op, ct.Assume):  # a promise about all elements of a row may not hold of a part
            self.parts[op.result] = operands[0]
            return
        if isinstance(op, ct.MmaF) and carried is not None:
            operands[2] = carried
        if isinstance(op, ct.LoadView):
            operands = self.access(op, operands, cut)
        types = [narrowed(value, dim) for value, dim in zip(op.results, cut.results, strict=True)]
        regions = [Rewriter().region(region) for region in op.regions]
        made = b.add(type(op), *operands, types=types, regions=regions, segments=op.segments, **op.attributes)
        found = list(made.results)
        if isinstance(op, ct.Iota):
            found = [b.value(ct.AddI, found[0], self.first(found[0]), types=types)]
        if isinstance(op, ct.Reduce) and carried is not None:
            fold = op.body.block.ops[0]
            found = [b.value(type(fold), carried, found[0], types=types, **fold.attributes)]
        self.parts.update(zip(op.results, found, strict=True))

    def operand(self, value: Value, dim: Dim) -> Value:
        """An operand: whole, a part, or a literal of a part's size."""
        if dim is None:
            return self.new[value]
        if is_splat(value):
            assert isinstance(value.op, ct.Constant)
            return self.b.value(ct.Constant, types=[narrowed(value, dim)], value=value.op.value)
        return self.parts[value]

    def access(self, op: ct.LoadView, operands: list[Value], cut: OpCut) -> list[Value]:
        """Tile i of `count` blocks begins with block i * count."""
        place, dim = op.operands.index(op.view), cut.results[0]
        assert dim is not None
        at = place + 1 + dim
        kind = tile_type(operands[at])
        whole = self.b.value(ct.MulI, operands[at], constant(self.b, self.row.count, kind), types=[kind])
        return [*operands[:place], self.views[op], *operands[place + 1 : at], self.sum(whole), *operands[at + 1 :]]

    def sum(self, index: Value) -> Value:
        """An index and the block's number."""
        return self.b.value(ct.AddI, index, self.counter, types=[index.type])

    def first(self, iota: Value) -> Value:
        """The number of the block's first element, in every element of a tile."""
        kind, index = tile_type(iota), TileType((), I32)
        number = self.b.value(ct.MulI, self.counter, constant(self.b, WIDTH, index), types=[index])
        one = self.b.value(ct.Reshape, number, types=[TileType((1,), I32)])
        return self.b.value(ct.Broadcast, one, types=[kind])


def narrowed(value: Value, dim: Dim) -> Type:
    """The type of a part of a value."""
    if dim is None:
        return value.type
    kind = tile_type(value)
    return TileType(tuple(WIDTH if place == dim else size for place, size in enumerate(kind.shape)), kind.element)
