"""Loops of few trips, written out before a program is encoded: counted loops of one trip, and small ones of a few; of
more trips those that compute with constants alone, which so run in the compiler.

Their loads are then terms like all others: what two loops load is loaded once. Nothing is carried, so no layout has to
suit all trips, and no store waits for one of a trip that there was not.
"""

from __future__ import annotations

from ir.core import PURE, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.types import TileType
from lowering.slicing import THREADS
from lowering.slicing.fit import Product
from lowering.source.rewriting import Rewriter, constant, without_promises
from lowering.source.supported import registers_of

MOST_TRIPS = 4  # of a loop that is written out, an estimate; those over the channels of a group in TileGym have 2
MOST_OPERATIONS = 192  # that a loop of several trips becomes, an estimate; those of TileGym's group_norm become 132
MOST_REGISTERS = 64  # a thread for what such a loop loads in all its trips: a quarter of what a thread has


def unrolled(entry: ct.Entry) -> ct.Entry:
    """The entry with such loops unrolled; the same one where it has none. Names, places and hints stay."""
    plan = _Plan()
    plan.length(entry.body)
    if not plan.trips:
        return entry
    return _Writer(plan.trips).entry(entry)


class _Plan:
    """Which loops are written out, with their trips; found from the inside out."""

    def __init__(self) -> None:
        self.trips: dict[Op, int] = {}

    def length(self, region: Region) -> int | None:
        """Operations that a region becomes; None where it keeps a loop."""
        total: int | None = 0
        for block in region.blocks:
            for op in block.ops:
                inside = [self.length(each) for each in op.regions]
                found = None if None in inside else 1 + sum(each or 0 for each in inside)
                if isinstance(op, ct.For):
                    found = self.written_out(op, found)
                elif isinstance(op, ct.Loop):
                    found = None
                total = None if total is None or found is None else total + found
        return total

    def written_out(self, loop: ct.For, length: int | None) -> int | None:
        """Operations that a loop becomes; None where it stays."""
        trips = trips_of(loop)
        if trips is None or continues_early(loop):
            return None
        if trips > 1:
            loaded = sum(
                registers_of(op.results[0], THREADS) for op in loop.walk() if isinstance(op, ct.LoadView | ct.LoadPtr)
            )
            if length is None or trips * length > MOST_OPERATIONS:
                return None
            if trips > MOST_TRIPS and not of_constants(loop):
                return None
            if trips * loaded > MOST_REGISTERS:
                return None
        if any(isinstance(op, Product) for op in loop.walk()):
            return None  # the operands of products come through rings, which loops have
        self.trips[loop] = trips
        return None if length is None else trips * length


class _Writer(Rewriter):
    """Operations anew, some loops unrolled."""

    def __init__(self, trips: dict[Op, int]):
        super().__init__()
        self.trips = trips

    def operation(self, op: Op, b: Builder) -> None:
        """One, or the trips of a loop."""
        trips = self.trips.get(op)
        if isinstance(op, ct.For) and trips is not None:
            self.loop(op, trips, b)
        else:
            super().operation(op, b)

    def loop(self, loop: ct.For, trips: int, b: Builder) -> None:
        """One trip after another: what a trip carries on is what the next one begins with."""
        counter, *carried = loop.body.block.args
        first, step = (constant_of(value) or 0 for value in (loop.lower_bound, loop.step))
        values = [self.new[value] for value in loop.init_values]
        for trip in range(trips):
            kind = counter.type
            assert isinstance(kind, TileType)
            b.location = loop.location
            self.new[counter] = constant(b, first + trip * step, kind)
            self.new.update(zip(carried, values, strict=True))
            self.operations(loop.body.block.ops[:-1], b)
            values = [self.new[value] for value in loop.body.block.ops[-1].operands]
        self.new.update(zip(loop.results, values, strict=True))


def constant_of(value: Value) -> int | None:
    """The number that an operand is, where the program says so; promises about it say no more."""
    op = without_promises(value).op
    return int(op.value.item) if isinstance(op, ct.Constant) and op.value.splat else None


def trips_of(loop: ct.For) -> int | None:
    """How often a loop runs, where its bounds are constants; its counter then passes no end of its type."""
    bounds = [constant_of(value) for value in (loop.lower_bound, loop.upper_bound, loop.step)]
    lower, upper, step = bounds
    if lower is None or upper is None or step is None or step <= 0 or (loop.unsigned_cmp and min(lower, upper) < 0):
        return None
    return max(0, -(-(upper - lower) // step))


def of_constants(loop: ct.For) -> bool:
    """Does it compute with constants and its counter alone, and nothing but values? So do its trips, written out."""
    ops = list(loop.walk())
    own = {arg for op in ops for region in op.regions for block in region.blocks for arg in block.args}
    own.update(result for op in ops for result in op.results)
    pure = all(op.effect is PURE or isinstance(op, (ct.For, ct.If, ct.Yield, ct.Continue)) for op in ops)
    return pure and all(value in own or constant_of(value) is not None for op in ops for value in op.operands)


def continues_early(loop: ct.For) -> bool:
    """Does a branch inside it end the iteration, or more?"""
    last = loop.body.block.ops[-1]
    return any(
        isinstance(op, ct.Return) or (isinstance(op, ct.Continue) and op is not last and ct.enclosing_loop(op) is loop)
        for op in loop.walk()
    )
