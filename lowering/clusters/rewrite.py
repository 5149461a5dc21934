"""A source program for the CTAs of a cluster: tile-block numbers count clusters, and cut tiles are one CTA's half.

    ranked     the number of a tile block along x, and how many there are, from those of CTAs
    halved     the values in `Cuts` by halves, of which a CTA computes the one selected by a bit of its rank

The rewritten program is one for a grid of CTAs, c along x instead of one, which the reference interpreter can run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from egraph.accesses import splatted
from ir.core import Block, Builder, Op, Region, Type, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas import CancelNextProgramId, Exchange, Meet, PartialSum
from ir.types import I1, I32, FloatType, PartitionViewType, TileType, TokenType
from lowering.clusters.converted import needed
from lowering.clusters.exchanged import along, combined, exchanged, total
from lowering.clusters.order import alone, crosses
from lowering.slicing.cuts import Cuts, Dim, is_splat, shape_of
from lowering.source.numbers import NUMBER, promised, quotient, remainder
from lowering.source.rewriting import Rewriter, constant


def ranked(entry: ct.Entry, ctas: int, what: str = "cluster") -> ct.Entry:
    """The entry, whose tile blocks are `ctas` CTAs along x that all compute the same: a "cluster", or a "split"
    grid.
    """
    made = _Ranked(ctas).entry(entry)
    made.attributes[what] = ctas
    return made


def halved(entry: ct.Entry, cuts: Cuts, bit: int) -> ct.Entry:
    """The entry in which each CTA computes the half selected by bit `bit` of its rank; effects that are not cut are
    performed by the CTA whose bit is 0.
    """
    body = Block([argument.type for argument in entry.body.block.args])
    b = Builder(body, entry.location)
    writer = _Halved(entry, cuts, bit, rank_bit(b, bit))
    writer.bind(entry.body.block.args, body.args)
    writer.operations(entry.body.block.ops, b)
    return entry.with_body(body)


def nothing(b: Builder, kind: Type, token: Value | None) -> Value:
    """In place of another CTA's work: zeros, the preceding token, or an empty one."""
    if isinstance(kind, TileType):
        return constant(b, 0, kind)
    return b.value(ct.MakeToken, types=[kind]) if token is None else token


def as_type(value: Value, kind: TileType, b: Builder) -> Value:
    """A non-negative i32 as an integer of a tile's type."""
    own, width = TileType((), kind.element), getattr(kind.element, "width", 0)
    if width > I32.width:
        return b.value(ct.ExtI, value, types=[own], signedness=ct.Signedness.SIGNED)
    return b.value(ct.TruncI, value, types=[own]) if width < I32.width else value


def plus(one: Value, other: Value, b: Builder) -> Value:
    """The sum of two tiles."""
    floating = isinstance(ct.tile_type(one).element, FloatType)
    return b.value(ct.AddF if floating else ct.AddI, one, other)


def part(tile: Value, dim: int, half: int, b: Builder) -> Value:
    """A half of a tile."""
    kind = ct.tile_type(tile)
    shape = tuple(size // 2 if d == dim else size for d, size in enumerate(kind.shape))
    index = [number(b, half if d == dim else 0) for d in range(len(shape))]
    return b.value(ct.Extract, tile, *index, types=[TileType(shape, kind.element)])


def number(b: Builder, value: int, kind: TileType = NUMBER) -> Value:
    """A constant of integers."""
    return constant(b, value, kind)


def rank_bit(b: Builder, bit: int) -> Value:
    """A bit of the CTA's rank in its cluster, which is that of its number along x."""
    cta = promised(b, b.add(ct.GetTileBlockId, types=[NUMBER] * 3).results[0], 0)
    return promised(b, remainder(b, quotient(b, cta, 1 << bit), 2), 0, 1)


class _Ranked(Rewriter):
    """Numbers and counts of clusters for those of CTAs."""

    def __init__(self, ctas: int):
        super().__init__()
        self.ctas = ctas

    def operation(self, op: Op, b: Builder) -> None:
        """One."""
        super().operation(op, b)
        if isinstance(op, ct.GetTileBlockId | ct.GetNumTileBlocks | CancelNextProgramId):
            least = int(isinstance(op, ct.GetNumTileBlocks))
            x = op.x if isinstance(op, CancelNextProgramId) else op.results[0]  # that is the cluster's first CTA's
            along = promised(b, self.new[x], least * self.ctas)
            self.new[x] = promised(b, quotient(b, along, self.ctas), least)


class _Halved(Rewriter):
    """Cut tiles, by halves; `bit` selects one, bit number `place` of the rank. The results of an existing exchange go
    to more CTAs.
    """

    def __init__(self, entry: ct.Entry, cuts: Cuts, place: int, bit: Value):
        super().__init__()
        self.cuts, self.place, self.bit = cuts, place, bit
        exchanges = {op.values[0].op: op for op in entry.walk() if isinstance(op, Exchange) and not op.other}
        self.tellers = {fold: op for fold, op in exchanges.items() if self.in_parts(fold)}
        self.used = {value for op in entry.walk() for value in op.operands}
        self.converted: dict[tuple[Value, Dim, Block], Value] = {}
        self.met: dict[tuple[Value, Block], Value] = {}  # after a synchronisation in a block: tokens of the source
        self.meeting = {op for op in entry.walk() if crosses(op, cuts)}

    def in_parts(self, op: Op | None) -> bool:
        """Is it a reduction along the cut?"""
        cut = self.cuts.ops.get(op) if isinstance(op, ct.Reduce) else None
        return isinstance(op, ct.Reduce) and cut is not None and cut.operands[0] == op.dim

    def operation(self, op: Op, b: Builder) -> None:
        """Rewrite one, on halves of what is cut."""
        if op in self.meeting:  # the CTAs of both halves synchronise before it
            token = cast(Value, getattr(op, "token", None))
            before = self.new[token]
            if (token, b.block) not in self.met:
                self.met[token, b.block] = b.value(Meet, before, types=[token.type], among=1 << self.place)
            self.new[token] = self.met[token, b.block]
            self.rebuilt(op, b)
            self.new[token] = before
        else:
            self.rebuilt(op, b)

    def rebuilt(self, op: Op, b: Builder) -> None:
        """Rebuild one, after what it is ordered after."""
        cut = self.cuts.ops.get(op)
        if isinstance(op, Meet):
            among = op.among | 1 << self.place
            self.new[op.result] = b.value(Meet, self.new[op.token], types=[op.result.type], among=among)
        elif isinstance(op, PartialSum) and op.place == self.place:
            self.new[op.result] = self.added(self.new[op.value], None if cut is None else cut.results[0], b)
        elif cut is None and alone(op):
            before = {value: self.new[value] for value in op.operands}
            self.new.update((value, self.operand(value, None, b)) for value in before)
            self.alone(op, b)
            self.new.update(before)
        elif cut is not None and isinstance(op, ct.Assume):  # an assumption about rows may not hold for a half
            self.new[op.result] = self.operand(op.value, cut.operands[0], b)
        elif cut is not None and isinstance(op, ct.LoadView):
            self.access(op, b, cut.results[0])
        elif cut is not None and isinstance(op, ct.StoreView | ct.AtomicRedView):
            tile = op.tile if isinstance(op, ct.StoreView) else op.value
            self.access(op, b, cut.operands[op.operands.index(tile)])
        else:
            dims = zip(op.operands, needed(op, self.cuts), strict=True)
            operands = [self.operand(value, dim, b) for value, dim in dims]
            if isinstance(op, Exchange) and op in self.tellers.values():
                self.tell(op.results, operands, op.among | 1 << self.place, cast(ct.Reduce, op.values[0].op), b)
                return
            if isinstance(op, ct.TileOp) and cut is not None and op.joins is not None and cut.results[0] == op.joins:
                self.new[op.results[0]], _ = self.choose(operands[0], operands[1], b)
                return
            self.made(op, operands, b)
            if cut is not None and isinstance(op, ct.Iota):
                self.count_on(op, b)
            if isinstance(op, ct.Combining) and op.keeps and cut is not None and cut.operands[0] == op.dim:
                self.scan_on(op, operands[0], b)
            if isinstance(op, ct.Reduce) and self.in_parts(op) and op not in self.tellers:
                self.tell(op.results, [self.new[v] for v in op.results], 1 << self.place, op, b)

    def added(self, tile: Value, dim: Dim, b: Builder) -> Value:
        """The sum of a tile over the CTAs of both bits; of a cut one the half that this CTA keeps, for which the other
        CTA sends its part.
        """
        if dim is None:
            return plus(tile, self.others(tile, b), b)
        kept, given = self.choose(part(tile, dim, 0, b), part(tile, dim, 1, b), b)
        return plus(kept, self.others(given, b), b)

    def others(self, tile: Value, b: Builder) -> Value:
        """The other CTA's value of a tile."""
        among = 1 << self.place
        made = b.add(Exchange, tile, types=[tile.type], segments=(1, 0, 0), among=among, other=True)
        return made.results[0]

    def choose(self, first: Value, second: Value, b: Builder) -> tuple[Value, Value]:
        """This CTA's one of two tiles, and the other."""
        zero = number(b, 0)
        mine = b.value(
            ct.CmpI,
            self.bit,
            zero,
            types=[TileType((), I1)],
            predicate=ct.Predicate.EQUAL,
            signedness=ct.Signedness.SIGNED,
        )
        kind = ct.tile_type(first)
        if kind.shape:
            mine = splatted(b, mine, kind.shape)
        return b.value(ct.Select, mine, first, second), b.value(ct.Select, mine, second, first)

    def tell(self, results: Sequence[Value], values: Sequence[Value], among: int, fold: ct.Reduce, b: Builder) -> None:
        """Exchange results of which each CTA has reduced a part."""
        self.bind(results, exchanged(values, among, fold, b))

    def made(self, op: Op, operands: Sequence[Value], b: Builder) -> None:
        """The rewritten operation, with halves for results that are cut."""
        regions = [self.region(each) for each in op.regions]
        types = [self.narrowed(v.type, self.cuts.values.get(v)) for v in op.results]
        made = b.add(type(op), *operands, types=types, regions=regions, segments=op.segments, **op.attributes)
        self.bind(op.results, made.results)

    def region(self, region: Region) -> Region:
        """A region whose arguments may be halves."""
        blocks: list[Block] = []
        for block in region.blocks:
            inner = Block([self.narrowed(argument.type, self.cuts.values.get(argument)) for argument in block.args])
            self.bind(block.args, inner.args)
            self.operations(block.ops, Builder(inner))
            blocks.append(inner)
        return Region(blocks)

    def operand(self, value: Value, dim: Dim, b: Builder) -> Value:
        """A value, or its half; a splat is created with that size at its use, and a value held in a different form is
        converted there.
        """
        if dim is not None and is_splat(value):
            assert isinstance(value.op, ct.Constant)
            return b.value(ct.Constant, types=[self.narrowed(value.type, dim)], value=value.op.value)
        have = self.cuts.values.get(value)
        if have == dim or not shape_of(value) or is_splat(value):
            return self.new[value]
        if (value, dim, b.block) not in self.converted:
            self.converted[value, dim, b.block] = self.convert(self.new[value], have, dim, b)
        return self.converted[value, dim, b.block]

    def convert(self, tile: Value, have: Dim, need: Dim, b: Builder) -> Value:
        """A tile that is whole or in halves, in halves along another dimension or whole."""
        kept = given = tile
        if need is not None:
            kept, given = self.choose(part(tile, need, 0, b), part(tile, need, 1, b), b)
        if have is None:
            return kept
        first, second = self.choose(kept, self.others(given, b), b)
        return ct.joined(first, second, have, b)

    def access(self, op: ct.LoadView | ct.StoreView | ct.AtomicRedView, b: Builder, dim: Dim) -> None:
        """The tile of a view at an index is two of half the size, one after the other."""
        view, maker, place = op.view.type, op.view.op, op.operands.index(op.view)
        assert isinstance(view, PartitionViewType)
        assert isinstance(maker, ct.MakePartitionView)
        assert dim is not None
        tile = tuple(size // 2 if d == dim else size for d, size in enumerate(view.tile))
        kind = PartitionViewType(tile, view.view, view.dim_map, view.padding)
        cut = self.cuts.ops[op].operands
        operands = [self.operand(v, d, b) for v, d in zip(op.operands, cut, strict=True)]
        operands[place] = b.value(ct.MakePartitionView, self.new[maker.tensor_view], types=[kind])
        operands[place + 1 + dim] = self.second(operands[place + 1 + dim], b)
        self.made(op, operands, b)

    def second(self, index: Value, b: Builder) -> Value:
        """The index of a half."""
        kind = index.type
        assert isinstance(kind, TileType)
        twice = b.value(ct.MulI, index, number(b, 2, kind))
        return b.value(ct.AddI, twice, self.bit_as(kind, b))

    def bit_as(self, kind: TileType, b: Builder) -> Value:
        """The bit in every element of a tile of integers."""
        bit = as_type(self.bit, kind, b)
        return splatted(b, bit, kind.shape) if kind.shape else bit

    def scan_on(self, op: ct.Combining, source: Value, b: Builder) -> None:
        """In the later half, combine the total of the other CTA's half with all elements."""
        made = self.new[op.results[0]]
        shape = ct.tile_type(made).shape
        before = self.others(total(op, source, self.region(op.regions[0]), b), b)
        (later,) = combined(op, [along(before, shape, op.dim, b)], [made], b)
        first, second = (made, later) if not any(op.flags) else (later, made)
        self.new[op.results[0]], _ = self.choose(first, second, b)

    def count_on(self, op: ct.Iota, b: Builder) -> None:
        """The numbers of the second half."""
        made = self.new[op.result]
        kind = made.type
        assert isinstance(kind, TileType)
        first = b.value(ct.MulI, self.bit_as(kind, b), number(b, kind.size, kind))
        self.new[op.result] = b.value(ct.AddI, made, first)

    def alone(self, op: Op, b: Builder) -> None:
        """An effect of the CTA whose bit is 0, which sends its result to the other one if it is used. An unused token
        is replaced by the preceding one.
        """
        zero = b.value(
            ct.CmpI,
            self.bit,
            number(b, 0),
            types=[TileType((), I1)],
            predicate=ct.Predicate.EQUAL,
            signedness=ct.Signedness.SIGNED,
        )
        before = getattr(op, "token", None)
        token = None if before is None else self.new[before]
        used = [result for result in op.results if result in self.used]
        sides = Block(), Block()
        inside, other = Builder(sides[0], op.location), Builder(sides[1], op.location)
        super().operation(op, inside)
        inside.add(ct.Yield, *[self.new[result] for result in used], types=())
        kinds = [result.type for result in used]
        other.add(ct.Yield, *[nothing(other, kind, token) for kind in kinds], types=())
        regions = [Region([sides[0]]), Region([sides[1]] if used else [])]
        made = b.add(ct.If, zero, types=kinds, regions=regions)
        for result in op.results:
            if result not in self.used:
                self.new[result] = nothing(b, result.type, token)
        self.bind(used, made.results)
        values = [result for result in used if not isinstance(result.type, TokenType)]
        if values:
            kinds = [value.type for value in values for _ in range(2)]
            made = b.add(
                Exchange,
                *[self.new[value] for value in values],
                types=kinds,
                segments=(len(values), 0, 0),
                among=1 << self.place,
            )
            self.new.update(zip(values, made.results[::2], strict=True))

    def narrowed(self, kind: Type, dim: Dim) -> Type:
        """The type of a half."""
        if dim is None or not isinstance(kind, TileType):
            return kind
        shape = tuple(size // 2 if d == dim else size for d, size in enumerate(kind.shape))
        return TileType(shape, kind.element)
