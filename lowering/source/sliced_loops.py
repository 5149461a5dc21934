"""Counted loops in slices: `count` iterations a trip, one after the other, then a loop over the remainder.

The loads of all slices come before the first store of a trip, as far as tokens and operands allow, so that more of them
are in flight at a time. Source: the seeds' TileASSlicingPass (sliceCount: N slices and a residual loop); its errors are
of the same four kinds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from egraph.facts import limits
from ir.core import PURE, Block, Builder, Op, Region, UnsupportedError, Value
from ir.dialects import cuda_tile as ct
from ir.types import TileType
from lowering.source.rewriting import Rewriter, constant, without_promises
from lowering.source.unrolling import constant_of, continues_early, trips_of

MOST = 16
"""Slices of a loop, an estimate: more slices only make the code longer."""
LOADS = (ct.LoadView, ct.LoadPtr)
LOOPS = (ct.For, ct.Loop)


def in_trips(entry: ct.Entry, count: int) -> tuple[ct.Entry, int]:
    """The entry with each innermost counted loop in `count` slices, and how many loops those are.

    Raises UnsupportedError, located, for a loop that cannot be sliced.
    """
    if not 2 <= count <= MOST:
        raise UnsupportedError(
            f"cannot slice loops: expected a count of 2 to {MOST}, found {count}", entry.location, "0 leaves them whole"
        )
    wanted = {op for op in entry.walk() if isinstance(op, ct.For) and innermost(op) and not few(op, count)}
    for loop in wanted:
        refuse_unsliceable(loop, count)
    return _Writer(wanted, count).entry(entry), len(wanted)


def innermost(loop: ct.For) -> bool:
    """Does it contain no other loops?"""
    return not any(isinstance(op, LOOPS) and op is not loop for op in loop.walk())


def few(loop: ct.For, count: int) -> bool:
    """Are there known to be fewer iterations than slices?"""
    trips = trips_of(loop)
    return trips is not None and trips < count


def refuse_unsliceable(loop: ct.For, count: int) -> None:
    """Raise UnsupportedError for a loop that cannot be sliced."""

    def refuse(what: str, op: Op, hint: str) -> None:
        raise UnsupportedError(f"cannot slice the loop: {what}", op.location, hint)

    if continues_early(loop):
        last = loop.body.block.ops[-1]
        leaving = next(op for op in loop.walk() if isinstance(op, ct.Continue | ct.Return) and op is not last)
        refuse(f"'{leaving.name}' is not expected inside a slice", leaving, "slices run to their end; use a select")
    lower = without_promises(loop.lower_bound)
    least = constant_of(loop.lower_bound)
    if not isinstance(lower.op, ct.GetTileBlockId) and (least is None or least < 0):
        refuse("unsupported lower bound", loop, "expected a constant of 0 or more, or the number of a tile block")
    step, kind = constant_of(loop.step), loop.body.block.args[0].type
    assert isinstance(kind, TileType)
    if step is None or not 0 < step * count <= limits(kind.element.width)[1]:
        refuse("unsupported step", loop, f"expected a constant such that {count} times it fits in {kind}")
    for op in loop.walk():
        if isinstance(op, ct.Assert):
            refuse(
                f"unsupported '{op.name}' in it",
                op,
                "loads of later slices would move above it: take it out of the loop",
            )


class _Writer(Rewriter):
    """Rewrites operations, with some loops in slices."""

    def __init__(self, wanted: set[ct.For], count: int):
        super().__init__()
        self.wanted, self.count = wanted, count

    def operation(self, op: Op, b: Builder) -> None:
        """One operation, or the two loops that a loop becomes."""
        if op in self.wanted and isinstance(op, ct.For):
            self.slices(op, b)
        else:
            super().operation(op, b)

    def slices(self, loop: ct.For, b: Builder) -> None:
        """Iterations are counted from 0, so no bound overflows its type: up to `whole` in trips of several, then one by
        one.
        """
        kind = loop.body.block.args[0].type
        assert isinstance(kind, TileType)
        count = Numbers(b, kind)
        known = trips_of(loop)
        if known is not None:
            trips, whole = count.constant(known), count.constant(known // self.count * self.count)
        else:
            trips = trips_between(loop, count, self.new)
            whole = count.times(count.divided(trips, count.constant(self.count)), count.constant(self.count))
        values = [self.new[value] for value in loop.init_values]
        values = self.trips(loop, count.constant(0), whole, self.count, values, b)
        if known is None or known % self.count:
            values = self.trips(loop, whole, trips, 1, values, b)
        self.new.update(zip(loop.results, values, strict=True))

    def trips(
        self, loop: ct.For, first: Value, end: Value, slices: int, values: Sequence[Value], b: Builder
    ) -> list[Value]:
        """A loop over iterations from `first` to `end` with `slices` a trip; returns the carried values at its end."""
        counter, *carried = loop.body.block.args
        kind = counter.type
        assert isinstance(kind, TileType)
        inner = Block([kind, *(value.type for value in values)])
        inside = Builder(inner, loop.location)
        held: list[Value] = list(inner.args[1:])
        for number in range(slices):
            numbers = Numbers(inside, kind)
            inside.location = loop.location
            self.new[counter] = self.counted(loop, numbers, inner.args[0], number)
            self.new.update(zip(carried, held, strict=True))
            self.operations(loop.body.block.ops[:-1], inside)
            held = [self.new[value] for value in loop.body.block.ops[-1].operands]
        loads_first(inner)
        inside.add(ct.Continue, *held, types=())
        step = Numbers(b, kind).constant(slices)
        made = b.add(
            ct.For, first, end, step, *values, types=[value.type for value in values], regions=[Region([inner])],
            segments=(1, 1, 1, len(values)), unsigned_cmp=loop.unsigned_cmp,
        )  # fmt: skip
        return list(made.results)

    def counted(self, loop: ct.For, numbers: Numbers, trip: Value, slice_: int) -> Value:
        """The counter of an iteration: lower bound + (trip + slice) * step."""
        number = numbers.more(trip, numbers.constant(slice_)) if slice_ else trip
        if constant_of(loop.step) != 1:
            number = numbers.times(number, self.new[loop.step])
        if constant_of(loop.lower_bound) != 0:
            number = numbers.more(number, self.new[loop.lower_bound])
        return number


class Numbers:
    """Arithmetic on a loop's counters, none of which overflows its type."""

    def __init__(self, b: Builder, kind: TileType):
        self.b, self.kind = b, kind

    def constant(self, number: int) -> Value:
        """A number."""
        return constant(self.b, number, self.kind)

    def more(self, left: Value, right: Value) -> Value:
        """Their sum."""
        return self._exact(ct.AddI, left, right)

    def less(self, left: Value, right: Value) -> Value:
        """Their difference."""
        return self._exact(ct.SubI, left, right)

    def times(self, left: Value, right: Value) -> Value:
        """Their product."""
        return self._exact(ct.MulI, left, right)

    def larger(self, left: Value, right: Value, unsigned: bool) -> Value:
        """The larger one."""
        signed = ct.Signedness.UNSIGNED if unsigned else ct.Signedness.SIGNED
        return self.b.value(ct.MaxI, left, right, types=[self.kind], signedness=signed)

    def divided(self, left: Value, right: Value) -> Value:
        """The quotient of numbers of 0 or more, rounded down."""
        return self.b.value(ct.DivI, left, right, types=[self.kind], signedness=ct.Signedness.UNSIGNED)

    def rounded_up(self, left: Value, right: Value) -> Value:
        """The quotient of numbers of 0 or more, rounded up."""
        return self.b.value(
            ct.DivI, left, right, types=[self.kind], signedness=ct.Signedness.UNSIGNED,
            rounding=ct.Rounding.POSITIVE_INF,
        )  # fmt: skip

    def _exact(self, kind: type[Op], left: Value, right: Value) -> Value:
        return self.b.value(kind, left, right, types=[self.kind])


def trips_between(loop: ct.For, count: Numbers, new: Mapping[Value, Value]) -> Value:
    """Iterations of a loop, in terms of its mapped bounds."""
    lower, upper, step = (new[value] for value in (loop.lower_bound, loop.upper_bound, loop.step))
    return count.rounded_up(count.less(count.larger(upper, lower, bool(loop.unsigned_cmp)), lower), step)


def loads_first(block: Block) -> None:
    """Move weak loads, and what their operands need, before the first operation that does more than load, except those
    that depend on later operations.
    """
    ops = block.ops
    early = [not op.regions and (op.effect is PURE or loads(op)) for op in ops]
    begin = early.index(False) if False in early else len(ops)
    late: set[Value] = set()
    movable: list[Op] = []
    for op, only in zip(ops[begin:], early[begin:], strict=True):
        if only and late.isdisjoint(op.operands):
            movable.append(op)
        else:
            late.update(op.results)
    needed: set[Value] = set()
    moved: set[Op] = set()
    for op in reversed(movable):
        if loads(op) or not needed.isdisjoint(op.results):
            moved.add(op)
            needed.update(op.operands)
    block.ops = [*ops[:begin], *(op for op in movable if op in moved), *(op for op in ops[begin:] if op not in moved)]


def loads(op: Op) -> bool:
    """Is it a weak load, which only tokens order?"""
    return isinstance(op, LOADS) and op.order is ct.MemoryOrder.WEAK
