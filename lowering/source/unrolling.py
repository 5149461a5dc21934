"""Loops of few trips, unrolled before a program is encoded: counted loops of one trip, and small ones of a few; longer
loops if they compute with constants alone, which then run in the compiler.

Their loads become terms like all others: equal loads of two loops are performed once. Nothing is carried, so no layout
has to suit all trips, and no store waits for a nonexistent trip.
"""

from __future__ import annotations

from ir.core import PURE, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.types import TileType
from lowering.slicing import THREADS
from lowering.slicing.fit import Product
from lowering.source.rewriting import Rewriter, constant, without_promises
from lowering.source.supported import registers_of

MOST_TRIPS = 4  # of an unrolled loop, an estimate; those over the channels of a group in TileGym have 2
MOST_OPERATIONS = 192  # of an unrolled loop of several trips, an estimate; those of TileGym's group_norm have 132
MOST_REGISTERS = 64  # a thread for the loads of all trips of such a loop: a quarter of a thread's registers


def unrolled(entry: ct.Entry) -> ct.Entry:
    """The entry with such loops unrolled; unchanged if it has none. Names, locations and hints stay."""
    plan = _Plan()
    plan.length(entry.body)
    if not plan.trips:
        return entry
    return _Writer(plan.trips).entry(entry)


class _Plan:
    """Which loops are unrolled, with their trip counts; found from the inside out."""

    def __init__(self) -> None:
        self.trips: dict[Op, int] = {}

    def length(self, region: Region) -> int | None:
        """Operations of a region after unrolling; None if it keeps a loop."""
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
        """Operations of an unrolled loop; None if it stays."""
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
            return None  # the operands of products come through rings, which need a loop
        self.trips[loop] = trips
        return None if length is None else trips * length


class _Writer(Rewriter):
    """Rewrites operations, with some loops unrolled."""

    def __init__(self, trips: dict[Op, int]):
        super().__init__()
        self.trips = trips

    def operation(self, op: Op, b: Builder) -> None:
        """One operation, or the trips of a loop."""
        trips = self.trips.get(op)
        if isinstance(op, ct.For) and trips is not None:
            self.loop(op, trips, b)
        else:
            super().operation(op, b)

    def loop(self, loop: ct.For, trips: int, b: Builder) -> None:
        """One trip after another: each trip starts with the carried values of the previous one."""
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
    """The constant that an operand equals, if any, looking through assumptions."""
    op = without_promises(value).op
    return int(op.value.item) if isinstance(op, ct.Constant) and op.value.splat else None


def trips_of(loop: ct.For) -> int | None:
    """The trip count of a loop with constant bounds; its counter then does not overflow its type."""
    bounds = [constant_of(value) for value in (loop.lower_bound, loop.upper_bound, loop.step)]
    lower, upper, step = bounds
    if lower is None or upper is None or step is None or step <= 0 or (loop.unsigned_cmp and min(lower, upper) < 0):
        return None
    return max(0, -(-(upper - lower) // step))


def of_constants(loop: ct.For) -> bool:
    """Does it compute only values, from constants and its counter alone? Then so do its unrolled trips."""
    ops = list(loop.walk())
    own = {arg for op in ops for region in op.regions for block in region.blocks for arg in block.args}
    own.update(result for op in ops for result in op.results)
    pure = all(op.effect is PURE or isinstance(op, (ct.For, ct.If, ct.Yield, ct.Continue)) for op in ops)
    return pure and all(value in own or constant_of(value) is not None for op in ops for value in op.operands)


def continues_early(loop: ct.For) -> bool:
    """Does a branch inside it exit the iteration, or more, early?"""
    last = loop.body.block.ops[-1]
    return any(
        isinstance(op, ct.Return) or (isinstance(op, ct.Continue) and op is not last and ct.enclosing_loop(op) is loop)
        for op in loop.walk()
    )
