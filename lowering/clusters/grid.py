"""The CTAs of a grid divide the steps of products: each accumulates a part, and the last one to finish adds up all
parts.

    part r of s CTAs: the steps r, r + s, r + 2 s, ...; its sums go to memory, then it draws a ticket of its tile block
    ticket s - 1:     all parts are in memory; they are added in the order of r, and the code after the loops runs

For products whose grid leaves multiprocessors idle, on any target; no CTA waits for another. The launcher provides the
tickets, zeroed, and memory for the sums. Parts are added in a fixed order, whichever CTA is last, so results are the
same in every launch. Source: CUTLASS's serial split-K (gemm_splitk_parallel adds in a second grid instead).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import cast

from ir.core import WRITE, Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.types import I1, I32, I64, TOKEN, FloatType, IntType, PartitionViewType, PointerType, TensorViewType, TileType
from lowering.clusters.order import alone
from lowering.clusters.plan import ORDER, Refusal, shared_state
from lowering.clusters.rewrite import number, plus, ranked
from lowering.clusters.split import Split, adds_up, begun
from lowering.launch import SUMS, TICKETS
from lowering.layouts.elements import element_bytes
from lowering.slicing.cuts import Products
from lowering.source.numbers import NUMBER, promised, quotient, remainder
from lowering.source.rewriting import constant

ALIGNED = 16  # bytes: alignment of a launcher's memory, and of each part
LAST = (TileType((), PointerType(I32)), TileType((), I1))


def in_grid(entry: ct.Entry, ctas: int) -> ct.Entry | Refusal:
    """The entry for grids of `ctas` CTAs a tile block, which divide the K steps of its products; or why not."""
    found = divisible(entry)
    return found if isinstance(found, Refusal) else _InGrid(ranked(entry, ctas, "split"), ctas).divided()


def divisible(entry: ct.Entry) -> list[ct.For] | Refusal:
    """The loops whose steps CTAs of a grid may divide: all loops with products; or why they may not."""
    if (found := next(shared_state(entry), None)) is not None:
        return found
    ops = entry.body.block.ops
    loops = [op for op in ops if isinstance(op, ct.For) and adds_up(op)]
    products = [op for op in entry.walk() if isinstance(op, Products)]
    if not products:
        return Refusal("it has no product whose K steps could be divided among CTAs", entry)
    within = {each for loop in loops for each in loop.walk()}
    if (rest := next((op for op in products if op not in within), None)) is not None:
        return Refusal("no loop only accumulates it", rest)
    before = ops[: ops.index(loops[-1]) + 1]
    if (refusal := next(in_between(before, loops), None)) is not None:
        return refusal
    sums = [value for loop in loops for value in loop.results]
    kinds = {ct.tile_type(value).element for value in sums}
    if len(kinds) > 1 or any(bytes_of(value) % ALIGNED for value in sums):
        return Refusal("its sums have several types, or are not multiples of 16 bytes", loops[-1])
    return loops


def bytes_of(tile: Value) -> int:
    """Of a tile in memory."""
    kind = ct.tile_type(tile)
    return element_bytes(kind.element) * kind.size


def in_between(ops: Sequence[Op], loops: Sequence[ct.For]) -> Iterator[Refusal]:
    """What all CTAs would do before the last one is known: effects, and uses of partial sums."""
    sums = {value for loop in loops for value in loop.results}
    for each in (inner for op in ops for inner in op.walk()):
        if alone(each) or (each.effect is WRITE and not isinstance(each, ORDER)):
            yield Refusal("it comes before a product whose K steps are divided among CTAs", each)
        if not sums.isdisjoint(each.operands):
            yield Refusal("it needs a sum before the last product", each)


class _InGrid(Split):
    """An entry, ranked by CTAs of a tile block, with partial sums in memory and the rest for the last CTA."""

    def __init__(self, entry: ct.Entry, ctas: int):
        super().__init__(ctas)
        self.source = entry
        self.parts: list[Value] = []

    def divided(self) -> ct.Entry:
        """The rewritten entry."""
        old = self.source.body.block
        loops = [op for op in old.ops if isinstance(op, ct.For) and adds_up(op)]
        sums = [value for op in loops for value in op.results]
        element = ct.tile_type(sums[0]).element
        given = {TICKETS: LAST[0], SUMS: TileType((), PointerType(cast("IntType | FloatType", element)))}
        body = Block([*(argument.type for argument in old.args), *given.values()])
        b = Builder(body, self.source.location)
        self.bind(old.args, body.args[: len(old.args)])
        last = max(number for number, op in enumerate(old.ops) if sums[-1] in op.results) + 1
        self.operations(old.ops[:last], b)
        size = sum(ct.tile_type(value).size for value in sums)
        tickets, memory = body.args[len(old.args) :]
        inside = Builder(Block(), b.location)
        totals = self.gathered([self.new[v] for v in sums], tickets, memory, size, b, inside)
        self.bind(sums, begun([init for op in loops for init in op.init_values], totals, self.new, inside))
        self.operations(old.ops[last:-1], inside)
        if not inside.block.ops or not isinstance(inside.block.ops[-1], ct.Return):
            inside.add(ct.Yield, types=())
        b.add(ct.If, self.comes_last, types=(), regions=[Region([inside.block]), Region([])])
        b.add(ct.Return, types=())
        bytes_ = self.ctas * size * element_bytes(element)
        more = {"given": (*self.source.given, *given), "sums": bytes_}
        made = ct.Entry((), (), {**self.source.attributes, **more}, [Region([body])], self.source.location)
        made.parent = self.source.parent
        return made

    def finished(self, loop: ct.For, parts: Sequence[Value], b: Builder) -> list[Value]:
        """A partial sum of each accumulator, which starts at zero."""
        return list(parts)

    def gathered(
        self, parts: Sequence[Value], tickets: Value, memory: Value, size: int, b: Builder, inside: Builder
    ) -> list[Value]:
        """The sums of all CTAs' parts, `inside` the code that only the last one runs; `size`: elements of a CTA's
        parts.
        """
        tile, rank = self.place(b)
        wide = b.value(ct.ExtI, tile, types=[TileType((), I64)], signedness=ct.Signedness.SIGNED)
        views: list[Value] = []
        stored: list[Value] = []
        token, first = b.value(ct.MakeToken, types=[TOKEN]), 0
        memory = b.value(ct.Assume, memory, types=[memory.type], predicate=ct.DivBy(ALIGNED))
        for part in parts:
            offset = b.value(ct.MulI, wide, constant(b, self.ctas * size, TileType((), I64)))
            offset = b.value(ct.AddI, offset, constant(b, self.ctas * first, TileType((), I64)))
            views.append(rows(b, b.value(ct.Offset, memory, offset), ct.tile_type(part), self.ctas))
            stored.append(b.value(ct.StoreView, part, views[-1], *self.index(b, rank, part), token, types=[TOKEN],
                                  segments=(1, 1, len(ct.tile_type(part).shape), 1)))  # fmt: skip
            first += ct.tile_type(part).size
        token = stored[0] if len(stored) == 1 else b.value(ct.JoinTokens, *stored, types=[TOKEN])
        ticket = b.value(ct.Offset, tickets, tile)
        drawn, token = b.add(
            ct.AtomicRMW,
            ticket,
            number(b, 1),
            token,
            types=[NUMBER, TOKEN],
            segments=(1, 1, 0, 1),
            order=ct.MemoryOrder.ACQ_REL,
            scope=ct.Scope.DEVICE,
            mode=ct.AtomicMode.ADD,
        ).results
        self.comes_last = b.value(
            ct.CmpI,
            drawn,
            number(b, self.ctas - 1),
            types=[LAST[1]],
            predicate=ct.Predicate.EQUAL,
            signedness=ct.Signedness.SIGNED,
        )
        return [self.all_of(part, view, token, inside) for part, view in zip(parts, views, strict=True)]

    def place(self, b: Builder) -> tuple[Value, Value]:
        """The number of the tile block, and this CTA's number in it."""
        ids = [promised(b, value, 0) for value in b.add(ct.GetTileBlockId, types=[NUMBER] * 3).results]
        counts = [promised(b, value, 1) for value in b.add(ct.GetNumTileBlocks, types=[NUMBER] * 3).results]
        rank = promised(b, remainder(b, ids[0], self.ctas), 0, self.ctas - 1)
        x, wide = promised(b, quotient(b, ids[0], self.ctas), 0), promised(b, quotient(b, counts[0], self.ctas), 1)
        row = b.value(ct.AddI, b.value(ct.MulI, ids[2], counts[1]), ids[1])
        return promised(b, b.value(ct.AddI, b.value(ct.MulI, row, wide), x), 0), rank

    def index(self, b: Builder, rank: Value, part: Value) -> list[Value]:
        """The index of a CTA's part among all of a tile block."""
        return [rank, *(number(b, 0) for _ in cast(TileType, part.type).shape[1:])]

    def all_of(self, part: Value, view: Value, token: Value, b: Builder) -> Value:
        """The sum of all parts in the order of the CTAs."""
        total: Value | None = None
        for rank in range(self.ctas):
            index = self.index(b, number(b, rank), part)
            read = b.add(ct.LoadView, view, *index, token, types=[part.type, TOKEN], segments=(1, len(index), 1))
            total = read.results[0] if total is None else plus(total, read.results[0], b)
        return cast(Value, total)


def rows(b: Builder, base: Value, kind: TileType, count: int) -> Value:
    """Memory for a number of tiles, stacked by rows."""
    shape = (kind.shape[0] * count, *kind.shape[1:])
    strides = tuple(prod(shape[at + 1 :]) for at in range(len(shape)))
    whole = TensorViewType(shape, cast("IntType | FloatType", kind.element), strides)
    made = b.value(ct.MakeTensorView, base, types=[whole], segments=(1, 0, 0))
    return b.value(ct.MakePartitionView, made, types=[PartitionViewType(kind.shape, whole, tuple(range(len(shape))))])
