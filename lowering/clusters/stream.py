"""Stream-K: the CTAs that fit a device take equal shares of the K steps of all tile blocks.

    rounds       tile blocks c, c + n, c + 2 n, ... as wholes, by CTA c of n, while more than two rounds are left
    shares       of the steps of all tile blocks that are left CTA c takes those from c U / n to (c + 1) U / n
    parts        of a tile block that several CTAs share each leaves its sums in memory and draws as many tickets as
                 it took steps; the one that draws the last adds up all parts and does what follows the loops

For launches whose last round would leave multiprocessors idle, on any target; no CTA waits for another. A CTA shares at
most two tile blocks with CTAs before it, and two with CTAs after it, so two slots in memory suffice: one for a part
that starts at a tile block's first step, one for another part. Parts are added in the order of the steps, whichever CTA
is last. Source: Osama et al., Stream-K (PPoPP 2023, arXiv 2301.03598), its two-tile form; CUTLASS's
PersistentTileSchedulerSm90StreamK.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import cast

from ir.core import PURE, Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.records import dataclass
from ir.types import I32, I64, TOKEN, FloatType, IntType, PointerType, TileType
from lowering.clusters.grid import ALIGNED, divisible, rows
from lowering.clusters.order import equal
from lowering.clusters.plan import Refusal
from lowering.clusters.rewrite import as_type, number, plus
from lowering.clusters.split import begun, from_zero
from lowering.launch import GRID, SHARES, TICKETS
from lowering.layouts.elements import element_bytes
from lowering.persistence.loop import Tiles, Writer
from lowering.persistence.order import as_counted, grouped
from lowering.source.numbers import (
    MOST,
    NUMBER,
    added,
    clamped,
    difference,
    equals,
    flipped,
    least,
    less,
    minus,
    most,
    pick,
    product,
    promised,
    quotient,
)
from lowering.source.rewriting import Rewriter, constant
from lowering.source.unrolling import trips_of

PLACES = 2  # for parts of a CTA: one that starts at the first step of a tile block, and one that does not
LONG = TileType((), I64)


def streamed(entry: ct.Entry, ctas: int, tile_blocks: int, width: int = 0) -> ct.Entry | Refusal:
    """The entry for as many CTAs as fit the device, which take equal shares of the steps of its products, in groups of
    `width` along x; or why not. `ctas` and `tile_blocks`: the expected numbers, only for the cost.
    """
    loops = divisible(entry)
    if isinstance(loops, Refusal):
        return loops
    first, *others = ([loop.lower_bound, loop.upper_bound, loop.step] for loop in loops)
    if any(not all(map(equal, first, other)) for other in others):
        return Refusal("its loops have different numbers of steps", loops[-1])
    bounds = sources(first)
    if bounds is None or any(loop.unsigned_cmp for loop in loops):
        return Refusal("its number of steps depends on the tile block", loops[0])
    expected = Expected(tile_blocks // ctas + 1, max(PLACES, ceil(ctas / tile_blocks)))
    return _Streamed(entry, loops, bounds, expected).divided(width)


@dataclass(frozen=True)
class Expected:
    """Expected tile blocks of a CTA, and parts of a shared one, for pricing loops."""

    visits: int
    parts: int


def sources(values: Sequence[Value]) -> list[Op] | None:
    """The operations that compute values common to all tile blocks, in source order; None if there are none."""
    found: set[Op] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        op = value.op
        if op is None:
            if not isinstance(value.owner, Block) or not isinstance(value.owner.parent_op, ct.Entry):
                return None
        elif op not in found:
            if op.effect is not PURE or op.regions or isinstance(op, ct.GetTileBlockId):
                return None
            found.add(op)
            waiting += op.operands
    if not found:
        return []
    block = next(iter(found)).parent
    return [op for op in block.ops if op in found] if block is not None else None


@dataclass(frozen=True)
class Shares:
    """How the steps of tile blocks are shared, as values before the loop: CTAs, tile blocks assigned whole, `each`
    CTA's steps of the others and how many CTAs have one more, this CTA's share, and the tile blocks it visits.
    """

    steps: Value
    rounds: Value
    whole: Value
    each: Value
    more: Value
    begin: Value
    end: Value
    first: Value
    visits: Value

    def owner(self, step: Value, b: Builder) -> Value:
        """The CTA that has a step."""
        larger = product(b, self.more, added(b, self.each, number(b, 1)))
        early = less(b, step, larger)
        size = pick(b, early, added(b, self.each, number(b, 1)), most(b, self.each, number(b, 1)))
        behind = quotient(b, promised(b, minus(b, step, pick(b, early, number(b, 0), larger)), 0), promised(b, size, 1))
        return promised(b, added(b, pick(b, early, number(b, 0), self.more), behind), 0)


def shares(b: Builder, cta: Value, ctas: Value, tiles: Value, steps: Value) -> Shares:
    """The shares of a CTA. If there are too many steps to count, they are not shared."""
    zero, one = number(b, 0), number(b, 1)
    full = quotient(b, tiles, ctas)
    left = difference(b, tiles, product(b, full, ctas))
    rounds = pick(b, less(b, zero, left), most(b, minus(b, full, one), zero), full)
    countable = less(b, steps, quotient(b, number(b, MOST // 2), ctas))
    rounds = promised(b, pick(b, countable, rounds, full), 0)
    whole = product(b, rounds, ctas)
    all_steps = pick(b, countable, product(b, difference(b, tiles, whole), steps), zero)
    # tile blocks with more steps than can be counted: a last round of whole ones
    late = b.value(ct.AndI, less(b, cta, left), flipped(b, countable))
    rounds = promised(b, pick(b, late, added(b, rounds, one), rounds), 0)
    each = quotient(b, promised(b, all_steps, 0), ctas)
    more = difference(b, all_steps, product(b, each, ctas))
    begin = promised(b, added(b, product(b, cta, each), least(b, cta, more)), 0)
    end = promised(b, added(b, added(b, begin, each), pick(b, less(b, cta, more), one, zero)), 0)
    first = quotient(b, begin, steps)
    last = quotient(b, promised(b, most(b, minus(b, end, one), zero), 0), steps)
    shared = pick(b, less(b, begin, end), added(b, minus(b, last, first), one), zero)
    visits = promised(b, added(b, rounds, promised(b, shared, 0)), 0)
    return Shares(steps, rounds, whole, each, more, begin, end, promised(b, first, 0), visits)


class _Bounds(Rewriter):
    """Operations common to all tile blocks, in terms of the grid."""

    def __init__(self, grid: Sequence[Value]):
        super().__init__()
        self.grid = grid

    def operation(self, op: Op, b: Builder) -> None:
        """One."""
        if isinstance(op, ct.GetNumTileBlocks):
            self.new.update(zip(op.results, self.grid, strict=True))
        else:
            super().operation(op, b)


class _Streamed(Writer):
    """An entry in a loop over the tile blocks of which a CTA has a share."""

    def __init__(self, entry: ct.Entry, loops: Sequence[ct.For], bounds: Sequence[Op], expected: Expected):
        self.source, self.loops_of_products, self.bounds, self.expected = entry, loops, bounds, expected
        self.sums = [value for loop in loops for value in loop.results]
        self.size = sum(ct.tile_type(value).size for value in self.sums)

    def divided(self, width: int) -> ct.Entry:
        """The rewritten entry."""
        old, kind = self.source.body.block, cast(TileType, self.sums[0].type)
        element = cast("IntType | FloatType", kind.element)
        pointers = {TICKETS: PointerType(I32), SHARES: PointerType(element)}
        given = {**dict.fromkeys(GRID, NUMBER), **{name: TileType((), each) for name, each in pointers.items()}}
        body = Block([*(argument.type for argument in old.args), *given.values()])
        b, extra = Builder(body, self.source.location), body.args[len(old.args) :]
        for name, value in zip(given, extra, strict=True):
            value.name = name.replace(" ", "_")
        grid = [promised(b, value, 1) for value in extra[: len(GRID)]]
        self.tickets, memory = extra[len(GRID) :]
        self.memory = b.value(ct.Assume, memory, types=[memory.type], predicate=ct.DivBy(ALIGNED))
        steps = self.steps(old.args, body.args[: len(old.args)], grid, b)
        self.cta = promised(b, b.add(ct.GetTileBlockId, types=[NUMBER] * 3).results[0], 0)
        ctas = promised(b, b.add(ct.GetNumTileBlocks, types=[NUMBER] * 3).results[0], 1)
        groups = grouped(b, grid, width) if width else None
        plane = product(b, grid[0], grid[1]) if groups is None else groups.plane
        self.shares = shares(b, self.cta, ctas, promised(b, product(b, plane, grid[2]), 1), steps)
        block = Block([NUMBER])
        inside = Builder(block, b.location)
        visit = promised(inside, block.args[0], 0)
        tile = self.visited(visit, ctas, inside)
        ids = as_counted(inside, tile, grid) if groups is None else groups.coordinates(inside, tile)
        self.wrapped(Tiles(ct.For, (), (1, 1, 1, 0), block, inside, ids, grid), tile, old, body, b)
        bounds = number(b, 0), self.shares.visits, number(b, 1)
        b.add(
            ct.For, *bounds, types=(), regions=[Region([block])], segments=(1, 1, 1, 0), expected=self.expected.visits
        )
        b.add(ct.Return, types=())
        more = {"given": (*self.source.given, *given), "sums": PLACES * self.size * element_bytes(element)}
        made = ct.Entry((), (), {**self.source.attributes, **more}, [Region([body])], self.source.location)
        made.parent = self.source.parent
        return made

    def steps(self, args: Sequence[Value], new: Sequence[Value], grid: Sequence[Value], b: Builder) -> Value:
        """Steps of each tile block, at least one: a tile block needs a place in the order of all steps."""
        writer = _Bounds(grid)
        writer.bind(args, new)
        writer.operations(self.bounds, b)
        loop = self.loops_of_products[0]
        lower, upper, step = (writer.new[each] for each in (loop.lower_bound, loop.upper_bound, loop.step))
        kind = ct.tile_type(lower)
        count = b.value(ct.SubI, upper, lower, types=[kind])
        rounded = b.value(
            ct.DivI, count, step, types=[kind], signedness=ct.Signedness.SIGNED, rounding=ct.Rounding.POSITIVE_INF
        )
        return promised(b, most(b, clamped(b, rounded), number(b, 1)), 1)

    def visited(self, visit: Value, ctas: Value, b: Builder) -> Value:
        """The number of a visit's tile block, and which of its steps this CTA takes."""
        own, zero = self.shares, number(b, 0)
        self.is_shared = flipped(b, less(b, visit, own.rounds))
        place = promised(b, added(b, own.first, promised(b, most(b, minus(b, visit, own.rounds), zero), 0)), 0)
        self.base = promised(b, product(b, place, own.steps), 0)
        start = most(b, minus(b, own.begin, self.base), zero)
        stop = least(b, minus(b, own.end, self.base), own.steps)
        self.start = promised(b, pick(b, self.is_shared, start, zero), 0)
        self.stop = promised(b, pick(b, self.is_shared, stop, own.steps), 0)
        self.taken = promised(b, minus(b, self.stop, self.start), 0)
        whole = added(b, self.cta, product(b, visit, ctas))
        return promised(b, pick(b, self.is_shared, added(b, own.whole, place), whole), 0)

    def wrapped(self, tiles: Tiles, tile: Value, old: Block, body: Block, b: Builder) -> None:
        """A visit: its steps, then the code after the loops if it is the last visit of the tile block."""
        super().__init__(tiles, b)
        self.bind(old.args, body.args[: len(old.args)])
        last = max(place for place, op in enumerate(old.ops) if self.sums[-1] in op.results) + 1
        inside = tiles.inside
        self.operations(old.ops[:last], inside)
        parts = [self.new[value] for value in self.sums]
        shared, whole, final = (Builder(Block(), inside.location) for _ in range(3))
        ends, token = self.handed_over(parts, tile, shared)
        self.finished(old.ops[last:-1], self.totals(parts, token, final), final)
        shared.add(ct.If, ends, types=(), regions=[Region([final.block]), Region([])])
        shared.add(ct.Yield, types=())
        self.finished(old.ops[last:-1], parts, whole)  # a copy: sums from memory have another layout
        partial = less(inside, self.taken, self.shares.steps)
        inside.add(ct.If, partial, types=(), regions=[Region([shared.block]), Region([whole.block])])
        inside.add(ct.Continue, types=())

    def finished(self, ops: Sequence[Op], sums: Sequence[Value], b: Builder) -> None:
        """The code after the loops, once the sums of a tile block are known."""
        inits = [init for loop in self.loops_of_products for init in loop.init_values]
        self.bind(self.sums, begun(inits, sums, self.new, b))
        self.varying.update(self.new[value] for value in self.sums)
        self.operations(ops, b)
        if not b.block.ops or not isinstance(b.block.ops[-1], ct.Continue):
            b.add(ct.Yield, types=())

    def operation(self, op: Op, b: Builder) -> None:
        """Rewrite one; product loops run this CTA's steps."""
        if not isinstance(op, ct.For) or op not in self.loops_of_products:
            super().operation(op, b)
            return
        kind = ct.tile_type(op.step)
        lower, upper, step = (self.new[value] for value in (op.lower_bound, op.upper_bound, op.step))

        def at(count: Value) -> Value:
            return b.value(ct.AddI, lower, b.value(ct.MulI, as_type(count, kind, b), step))

        end = b.value(ct.MinI, at(self.stop), upper, signedness=ct.Signedness.SIGNED)
        inits = [from_zero(value, self.new, b) for value in op.init_values]
        made = b.add(
            ct.For,
            at(self.start),
            end,
            step,
            *inits,
            types=[v.type for v in op.results],
            segments=op.segments,
            regions=[self.region(op.regions[0])],
            **op.attributes | {"expected": trips_of(op) or 0},
        )
        self.bind(op.results, made.results)

    def handed_over(self, parts: Sequence[Value], tile: Value, b: Builder) -> tuple[Value, Value]:
        """Store a part to memory and draw tickets: returns whether it is the last, and a token ordered after the
        others' stores.
        """
        slot = self.slot(self.cta, equals(b, self.start, number(b, 0)), b)
        token = b.value(ct.MakeToken, types=[TOKEN])
        stored: list[Value] = []
        for part, view in zip(parts, self.views(parts, slot, b), strict=True):
            index = [number(b, 0) for _ in ct.tile_type(part).shape]
            operands = part, view, *index, token
            stored.append(b.value(ct.StoreView, *operands, types=[TOKEN], segments=(1, 1, len(index), 1)))
        token = stored[0] if len(stored) == 1 else b.value(ct.JoinTokens, *stored, types=[TOKEN])
        drawn, token = b.add(
            ct.AtomicRMW,
            b.value(ct.Offset, self.tickets, tile),
            self.taken,
            token,
            types=[NUMBER, TOKEN],
            segments=(1, 1, 0, 1),
            order=ct.MemoryOrder.ACQ_REL,
            scope=ct.Scope.DEVICE,
            mode=ct.AtomicMode.ADD,
        ).results
        return equals(b, b.value(ct.AddI, drawn, self.taken), self.shares.steps), token

    def totals(self, parts: Sequence[Value], token: Value, b: Builder) -> list[Value]:
        """The sums of all parts of a tile block, in the order of the steps."""
        first = self.shares.owner(self.base, b)
        final = added(b, self.base, difference(b, self.shares.steps, number(b, 1)))
        behind = added(b, self.shares.owner(promised(b, final, 0), b), number(b, 1))
        kinds = [ct.tile_type(part) for part in parts]
        block = Block([NUMBER, *kinds])
        each = Builder(block, b.location)
        slot = self.slot(block.args[0], equals(each, block.args[0], first), each)
        sums: list[Value] = []
        for total, view in zip(block.args[1:], self.views(parts, slot, each), strict=True):
            index = [number(each, 0) for _ in ct.tile_type(total).shape]
            read = each.add(ct.LoadView, view, *index, token, types=[total.type, TOKEN], segments=(1, len(index), 1))
            sums.append(plus(total, read.results[0], each))
        each.add(ct.Continue, *sums, types=())
        zeros = [constant(b, 0, kind) for kind in kinds]
        made = b.add(ct.For, first, behind, number(b, 1), *zeros, types=kinds, regions=[Region([block])],
                     segments=(1, 1, 1, len(zeros)), expected=self.expected.parts)  # fmt: skip
        return list(made.results)

    def slot(self, cta: Value, begins: Value, b: Builder) -> Value:
        """The memory slot of a CTA's part."""
        second = pick(b, begins, number(b, 1), number(b, 0))
        return promised(b, added(b, product(b, cta, number(b, PLACES)), second), 0)

    def views(self, parts: Sequence[Value], slot: Value, b: Builder) -> list[Value]:
        """The memory of a slot, for a part of each sum."""
        wide = b.value(ct.ExtI, slot, types=[LONG], signedness=ct.Signedness.SIGNED)
        offset = b.value(ct.MulI, wide, constant(b, self.size, LONG))
        made: list[Value] = []
        before = 0
        for part in parts:
            kind = ct.tile_type(part)
            place = b.value(ct.AddI, offset, constant(b, before, LONG)) if before else offset
            made.append(rows(b, b.value(ct.Offset, self.memory, place), kind, 1))
            before += kind.size
        return made
