"""Lowers pipelines to per-thread operations: iterators become stage and parity, regions become waits, copies and
arrivals.

    by mbarriers   a producer waits until the stage is empty and announces its bytes, a consumer waits until it is full
                   and arrives when it has read it; the parity flips when the ring wraps
    by groups      before the loop the first stages are filled, a group of copies each; an iteration waits for its own
                   group and a barrier, fills the stage that the one before has read, then reads its own
One barrier an iteration is enough for the latter: it comes after the wait (all threads' copies are visible) and before
the fill (all threads are done with the stage that is overwritten). Past the end of the loop stages are zero-filled,
using the bounds that a copy has anyway, and waited for at the end of the loop; a loop with no later use of shared
memory issues no such copies, and has nothing to wait for. No decisions are made here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from ir.core import Block, Builder, Op, Value
from ir.dialects import arith, nv_tileas, scf
from ir.records import dataclass
from ir.types import I1, I32
from lowering.schedule.first_fills import begin_before_wait
from lowering.schedule.live import refuse_deadlock
from lowering.schedule.passed import passed_over
from lowering.schedule.publish import publish
from lowering.schedule.scratch import scratch_of
from lowering.targets import Target

Ring = nv_tileas.CreatePipeline | nv_tileas.CreateChannel


@dataclass(frozen=True)
class IteratorState:
    """The lowered form of an iterator: stage and parity of a ring; current and previous stage of a ring by groups;
    parity of a channel. Without values: a ring by groups that no loop has started.
    """

    ring: Ring
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Held:
    """A stage that is being filled or read, or, where it is handed on to be released later (`place`), that of its empty
    barrier; it is one only where `valid`, made when asked for, holds; None: always.
    """

    pipeline: Value
    stage: Value
    valid: Callable[[Builder], Value] | None = None
    place: bool = False


def lower_pipelines(func: nv_tileas.Func, target: Target) -> nv_tileas.Func:
    """Lower a kernel in place; its regions have been verified. Raises TileError, located, if agents would deadlock."""
    refuse_deadlock(func)
    lowering = _Lowering(func, target)
    lowering.block(func.body.block)
    lowering.finish()
    func.attributes.pop("pipelined", None)
    return func


class _Lowering:
    """The walk; `values` are renamed results of regions, `places` and `held` what iterators and tokens became."""

    def __init__(self, func: nv_tileas.Func, target: Target):
        self.func = func
        self.target = target
        self.values: dict[Value, Value] = {}
        self.places: dict[Value, IteratorState] = {}
        self.held: dict[Value, Held] = {}
        self.before: dict[Value, Value] = {}  # parity of a round, and that of the one before it, where one is asked for
        self.loops: list[scf.For] = []
        self.common: list[Op] = []
        self.twins: dict[Op, Mapping[int, int]] = {}  # of the ends of loops
        self.last = last_ring(func, target)
        self.passed = passed_over(func)
        self.late = {op.pipeline for op in func.walk() if isinstance(op, nv_tileas.CreateNone)}
        self.tensor = any(isinstance(each, nv_tileas.TensorDot) for each in func.walk())

    @cached_property
    def zero(self) -> Value:
        """The initial state."""
        return self.constant(0)

    @cached_property
    def one(self) -> Value:
        """The stage that rings begin with whose first is passed over."""
        return self.constant(1)

    def constant(self, value: int) -> Value:
        """A constant shared by all agents."""
        made = arith.Constant((), (I32,), {"value": value}, location=self.func.location)
        made.parent = self.func.body.block
        self.common.append(made)
        return made.result

    def finish(self) -> None:
        """Ops common to all agents come first."""
        self.func.body.block.ops[:0] = self.common

    def block(self, block: Block) -> None:
        """Every op of a block, which is built anew."""
        ops, block.ops = block.ops, []
        self.ops(ops, Builder(block))

    def ops(self, ops: Sequence[Op], b: Builder) -> None:
        """Ops in order."""
        for op in ops:
            b.location = op.location
            handler = _HANDLERS.get(type(op))
            if handler is None:
                self.keep(op, b)
            else:
                handler(self, op, b)

    def known(self, value: Value) -> Value:
        """What a value is now; of an iterator its stage, or the parity of a channel."""
        place = self.places.get(value)
        return self.values.get(value, value) if place is None else place.values[0]

    def spread(self, values: Sequence[Value], twins: Mapping[int, int], b: Builder) -> list[Value]:
        """What loops and regions hand on of values: all of an iterator but of a twin, the place of a token."""
        found: list[Value] = []
        for place, value in enumerate(values):
            if place in twins:
                continue
            if value in self.places:
                found += self.places[value].values
            else:
                held = self.held.get(value)
                found.append(self.values.get(value, value) if held is None else self.empty(held, b))
        return found

    def keep(self, op: Op, b: Builder) -> None:
        """A kept op, on new operands."""
        op.operands = [self.known(v) for v in op.operands]
        op.parent = b.block
        b.block.ops.append(op)

    def switch(self, op: nv_tileas.AgentSwitch, b: Builder) -> None:
        """Every agent."""
        for region in op.regions:
            self.block(region.block)
        self.keep(op, b)

    # --- rings and iterators

    def pipeline(self, op: nv_tileas.CreatePipeline, b: Builder) -> None:
        """Rings by groups have no barriers of their own."""
        if op.by == nv_tileas.MBARRIERS:
            self.keep(op, b)

    def iterator(self, op: nv_tileas.CreateIterator, b: Builder) -> None:
        """The first stage in the first round; the one behind it, where the first is passed over."""
        ring = cast(Ring, op.ring.op)
        if op in self.passed:
            if self.passed[op]:
                b.add(nv_tileas.BarrierExpectTx, op.ring, self.zero, types=(), bytes=0)
            self.places[op.result] = IteratorState(ring, (self.one, self.zero))
            return
        if isinstance(ring, nv_tileas.CreateChannel):
            values = (self.zero,)
        else:
            values = () if ring.by == nv_tileas.GROUPS else (self.zero, self.zero)
        self.places[op.result] = IteratorState(ring, values)

    def increment(self, op: nv_tileas.IncIter, b: Builder) -> None:
        """The next stage of a ring, and its parity."""
        place = self.places[op.iterator]
        if isinstance(place.ring, nv_tileas.CreateChannel):
            one = b.value(arith.Constant, types=[I32], value=1)
            self.places[op.result] = IteratorState(place.ring, (b.value(arith.XOrI, place.values[0], one),))
            return
        stage, other = place.values
        stages = cast(nv_tileas.PipelineType, place.ring.result.type).stages
        if stages == 1:  # each round has one
            flip = b.value(arith.Constant, types=[I32], value=1)
            self.places[op.result] = IteratorState(place.ring, (stage, b.value(arith.XOrI, other, flip)))
            return
        if stage is self.zero and place.ring.by == nv_tileas.MBARRIERS:
            self.places[op.result] = IteratorState(place.ring, (self.one, other))
            return
        following, wrapped = self.following(stage, stages, b)
        before = self.before.get(other)
        if place.ring.by == nv_tileas.GROUPS:
            values = (following, stage)
        elif before is not None and before.owner in b.block.ops:  # parities alternate
            values = (following, b.value(arith.Select, wrapped, before, other))
        else:
            flip = b.value(arith.ExtUI, wrapped, types=[I32])
            values = (following, b.value(arith.XOrI, other, flip))
        self.places[op.result] = IteratorState(place.ring, values)

    def advance(self, op: nv_tileas.AdvanceIter, b: Builder) -> None:
        """Stage and parity of a ring's round so many steps further: of 2 rounds one is that of parity 1."""
        place, count = self.places[op.iterator], self.known(op.steps)
        stages = cast(nv_tileas.PipelineType, place.ring.result.type).stages
        stage, phase = place.values
        zero, one, ring = (b.value(arith.Constant, types=[I32], value=n) for n in (0, 1, stages))
        around = b.value(arith.Constant, types=[count.type], value=2 * stages)
        rest = b.value(arith.RemUI, count, around)
        rest = rest if count.type == I32 else b.value(arith.TruncI, rest, types=[I32])
        second = b.value(arith.CmpI, rest, ring, types=[I1], predicate="uge")
        found = b.value(arith.AddI, stage, b.value(arith.Select, second, b.value(arith.SubI, rest, ring), rest))
        wraps = b.value(arith.CmpI, found, ring, types=[I1], predicate="uge")
        following = b.value(arith.SubI, found, b.value(arith.Select, wraps, ring, zero))
        flips = b.value(arith.XOrI, *(b.value(arith.Select, each, one, zero) for each in (second, wraps)))
        self.places[op.result] = IteratorState(place.ring, (following, b.value(arith.XOrI, phase, flips)))

    def following(self, stage: Value, stages: int, b: Builder) -> tuple[Value, Value]:
        """The stage behind one, and whether that is the first."""
        one, zero, count = (b.value(arith.Constant, types=[I32], value=n) for n in (1, 0, stages))
        found = b.value(arith.AddI, stage, one)
        wrapped = b.value(arith.CmpI, found, count, types=[I1], predicate="eq")
        return b.value(arith.Select, wrapped, zero, found), wrapped

    def empty(self, held: Held, b: Builder) -> Value:
        """The place of the empty barrier of a stage."""
        stages = cast(nv_tileas.PipelineType, held.pipeline.type).stages
        if held.place or held.pipeline not in self.late or stages == 1:
            return held.stage
        return self.one if held.stage is self.zero else self.following(held.stage, stages, b)[0]

    # --- what carries them

    def loop(self, op: scf.For, b: Builder) -> None:
        """A loop that may carry iterators and tokens."""
        lower, upper, step = (self.known(v) for v in op.operands[:3])
        op.operands[:3] = [lower, upper, step]
        ahead = [self.begin(op, v, b) for v in op.init if v in self.places]
        predicate = "ult" if op.unsigned else "slt"
        self.begin_beside(op.init)
        twins = self.in_step(op)
        inits, init = op.init, self.spread(op.init, twins, b)
        counter = op.body.block.args[0]

        def later(b: Builder) -> Value:
            return b.value(arith.CmpI, counter, lower, types=[I1], predicate="ne")

        def ran(b: Builder) -> Value:
            return b.value(arith.CmpI, lower, upper, types=[I1], predicate=predicate)

        block, results = op.body.block, op.results
        block.args = [counter, *self.handed(block.args[1:], inits, block, 1, later, twins)]
        self.twins[block.terminator] = twins
        op.operands, op.segments = [lower, upper, step, *init], (1, 1, 1, len(init))
        self.loops.append(op)
        self.block(block)
        self.loops.pop()
        op.results = self.handed(results, inits, op, 0, ran, twins)
        op.parent = b.block
        b.block.ops.append(op)
        if any(ahead) and op is not self.last:
            b.add(nv_tileas.AsyncWait, types=(), pending=0)  # fills past the end may still be in flight

    def begin_beside(self, inits: Sequence[Value]) -> None:
        """Tokens of no stage begin where the iterator of their ring does, with which they go on."""
        at = {place.ring.results[0]: place.values for v in inits if (place := self.places.get(v)) is not None}
        for token in (v for v in inits if v in self.held):
            held = self.held[token]
            if held.valid is _nowhere and at.get(held.pipeline):
                self.held[token] = Held(held.pipeline, at[held.pipeline][0], _nowhere, True)

    def in_step(self, op: scf.For) -> dict[int, int]:
        """The carried iterators that begin as earlier ones of as many stages and go on with them, by their places."""
        found: dict[tuple[object, ...], int] = {}
        twins: dict[int, int] = {}
        end, carried = op.body.block.terminator, op.body.block.args[1:]
        for number, (value, argument) in enumerate(zip(op.init, carried, strict=True)):
            place, step = self.places.get(value), end.operands[number].op
            if place is not None and len(place.values) == 2 and isinstance(step, nv_tileas.IncIter):
                first = found.setdefault((*place.values, value.type), number)
                if first != number and step.iterator is argument:
                    twins[number] = first
        return twins

    def handed(
        self, values: Sequence[Value], inits: Sequence[Value], owner: Op | Block, first: int,
        valid: Callable[[Builder], Value], twins: Mapping[int, int],
    ) -> list[Value]:  # fmt: skip
        """The arguments or results in place of `values`, which a loop makes of `inits`. A token that begins as that of
        no stage is one where `valid`.
        """
        found: list[Value] = []

        def scalar() -> Value:
            found.append(Value(I32, owner, first + len(found)))
            return found[-1]

        for number, (value, init) in enumerate(zip(values, inits, strict=True)):
            if number in twins:
                self.places[value] = IteratorState(self.places[init].ring, self.places[values[twins[number]]].values)
            elif init in self.places:
                place = self.places[init]
                self.places[value] = IteratorState(place.ring, tuple(scalar() for _ in place.values))
            elif init in self.held:
                held = self.held[init]
                self.held[value] = Held(held.pipeline, scalar(), held.valid and valid, True)
            else:
                value.index = first + len(found)
                found.append(value)
        return found

    def endless(self, op: scf.While, b: Builder) -> None:
        """A loop without a count."""
        inits, init = op.init, self.spread(op.init, {}, b)
        block, results = op.body.block, op.results
        block.args = self.handed(block.args, inits, block, 0, _nowhere, {})
        op.operands, op.segments = init, (len(init),)
        self.block(block)
        op.results = self.handed(results, inits, op, 0, _nowhere, {})
        op.parent = b.block
        b.block.ops.append(op)

    def branch(self, op: scf.If, b: Builder) -> None:
        """Both sides, which may leave iterators."""
        left = op.then.block.terminator.operands
        op.operands = [self.known(op.condition)]
        for region in op.regions:
            self.block(region.block)
        op.results = self.handed(op.results, left, op, 0, _nowhere, {})
        op.parent = b.block
        b.block.ops.append(op)

    def end(self, op: scf.Yield | scf.Condition, b: Builder) -> None:
        """The end of a region of these."""
        fixed = op.operands[: len(op.operands) - op.segments[-1]]
        values = self.spread(op.values, self.twins.get(op, {}), b)
        op.operands = [*(self.known(v) for v in fixed), *values]
        op.segments = (*op.segments[:-1], len(values))
        op.parent = b.block
        b.block.ops.append(op)

    # --- producers and consumers

    def produce(self, op: nv_tileas.ProduceOne, b: Builder) -> None:
        """With mbarriers, its contents; for rings by groups the tiles of a later iteration, after the barrier of
        this one.
        """
        if not op.ahead:
            self.inline(op, b)
            return
        loop, place = self.loops[-1], self.places[op.iterator]
        counter = loop.body.block.args[0]
        b.add(nv_tileas.AsyncWait, types=(), pending=op.ahead - 1)
        publish(b, self.target, fills=True, tensor=self.tensor)
        distance = b.value(arith.Constant, types=[counter.type], value=op.ahead)
        jump = b.value(arith.MulI, loop.step, distance)
        at = b.value(arith.AddI, counter, jump)
        self.fill(op, loop, at, place.values[1], b)

    def begin(self, loop: scf.For, iterator: Value, b: Builder) -> bool:
        """Fill the first stages of a ring by groups before its loop; False for other rings."""
        if self.places[iterator].values:
            return False
        produce = next(each for each in loop.body.block.ops if isinstance(each, nv_tileas.ProduceOne) and each.ahead)
        at, start = loop.lower, len(b.block.ops)
        for stage in range(produce.ahead):
            number = b.value(arith.Constant, types=[I32], value=stage)
            self.fill(produce, loop, at, number, b)
            at = b.value(arith.AddI, at, loop.step)
        begin_before_wait(b.block, start, produce.ahead)
        last = b.value(arith.Constant, types=[I32], value=produce.ahead)
        self.places[iterator] = IteratorState(self.places[iterator].ring, (self.zero, last))
        return True

    def fill(self, op: nv_tileas.ProduceOne, loop: scf.For, at: Value, stage: Value, b: Builder) -> None:
        """Copy the tiles of the iteration at `at` into a stage, as one group, if there is such an iteration."""
        enable = b.value(arith.CmpI, at, loop.upper, types=[I1], predicate="ult" if loop.unsigned else "slt")
        values: dict[Value, Value] = {loop.body.block.args[0]: at, op.iterator: stage}
        write = next(each for each in op.body.block.ops if isinstance(each, nv_tileas.ProducerWrite))
        for each in write.body.block.ops[:-1]:
            self.clone(each, values, enable, loop is self.last, b)
        b.add(nv_tileas.AsyncCommit, types=())

    def clone(self, op: Op, values: dict[Value, Value], enable: Value, skips: bool, b: Builder) -> None:
        """An op of a producer's region once more; copies only where `enable`, else zeros, unless that `skips`."""
        operands = [values[v] if v in values else self.known(v) for v in op.operands]
        segments, attributes = op.segments, dict(op.attributes)
        if isinstance(op, nv_tileas.AsyncTiledCopy | nv_tileas.AsyncGatherCopy):
            operands.insert(2, enable)
            segments = (*segments[:2], 1, *segments[3:])
            attributes["skips"] = skips
        b.location = op.location
        made = b.add(
            type(op), *operands, types=[r.type for r in op.results], segments=segments, regions=op.regions, **attributes
        )
        for region in op.regions:
            region.parent = made
        values.update(zip(op.results, made.results, strict=True))

    def inline(self, op: nv_tileas.ProduceOne | nv_tileas.ProducerWrite, b: Builder) -> None:
        """What is in the region of a producer; its results are what that yields."""
        block = op.body.block
        self.ops(block.ops[:-1], b)
        self.yielded(op.results[len(op.results) - len(block.terminator.operands) :], block.terminator.operands)

    def acquire(self, op: nv_tileas.ProducerAcquire, b: Builder) -> None:
        """Wait until the stage is empty, which refers to the previous round, if any; announce the bytes."""
        stage, phase = self.places[op.iterator].values
        held = self.held[op.token] = Held(op.pipeline, stage)
        if phase is not self.zero and not op.implied:
            one = b.value(arith.Constant, types=[I32], value=1)
            self.before[phase] = before = b.value(arith.XOrI, phase, one)
            b.add(nv_tileas.BarrierWait, op.pipeline, self.empty(held, b), before, types=(), empty=True)
        if op.bytes:
            b.add(nv_tileas.BarrierExpectTx, op.pipeline, stage, types=(), bytes=op.bytes)

    def drain(self, op: nv_tileas.Drain, b: Builder) -> None:
        """Wait until the stage before is empty: of rings with one, that is the round before, if there was one."""
        place = self.places[op.result] = self.places[op.iterator]
        stage, phase = place.values
        if phase is not self.zero:
            one = b.value(arith.Constant, types=[I32], value=1)
            before = b.value(arith.XOrI, phase, one)
            b.add(nv_tileas.BarrierWait, op.pipeline, stage, before, types=(), empty=True)

    def write(self, op: nv_tileas.ProducerWrite, b: Builder) -> None:
        """The copies."""
        self.inline(op, b)
        self.held[op.token] = self.held[op.acquired]

    def commit(self, op: nv_tileas.ProducerCommit, b: Builder) -> None:
        """Bytes that were announced arrive by themselves."""
        held = self.held[op.written]
        ring = cast(nv_tileas.CreatePipeline, held.pipeline.op)
        if op.copies:
            b.add(nv_tileas.BarrierArriveCopies, held.pipeline, held.stage, types=())
        elif ring.written:
            b.add(nv_tileas.BarrierArrive, held.pipeline, held.stage, types=(), segments=(1, 1, 0), full=True)
        elif ring.accumulators:
            b.add(nv_tileas.BarrierArriveProducts, held.pipeline, held.stage, types=())

    def consume(self, op: nv_tileas.ConsumeOne | nv_tileas.ConsumerRead, b: Builder) -> None:
        """The contents of a consumer's region; its results are the yielded values."""
        block, results = op.body.block, op.results
        if isinstance(op, nv_tileas.ConsumerRead):
            self.held[op.results[0]] = self.held[op.waited]
            results = results[1:]
        self.ops(block.ops[:-1], b)
        self.yielded(results, block.terminator.operands)

    def yielded(self, results: Sequence[Value], values: Sequence[Value]) -> None:
        """Results of a region are what it yields."""
        for result, value in zip(results, values, strict=True):
            if value in self.places:
                self.places[result] = self.places[value]
            elif value in self.held:
                self.held[result] = self.held[value]
            else:
                self.values[result] = self.values.get(value, value)

    def wait(self, op: nv_tileas.ConsumerWait, b: Builder) -> None:
        """Wait for the full barrier; a stage that is filled by groups has been waited for where the next one is."""
        place = self.places[op.iterator]
        self.held[op.token] = Held(op.pipeline, place.values[0])
        if not self.by_groups(op.pipeline):
            b.add(nv_tileas.BarrierWait, op.pipeline, *place.values, types=())

    def none(self, op: nv_tileas.CreateNone, b: Builder) -> None:
        """Nothing is held, or the first stage, which has been passed over."""
        passed = any(each.ring is op.pipeline for each in self.passed)
        self.held[op.result] = Held(op.pipeline, self.zero, None if passed else _nowhere, not passed)

    def release(self, op: nv_tileas.ConsumerRelease, b: Builder) -> None:
        """Arrive at the empty barrier; for rings by groups the next barrier does it."""
        held = self.held[op.read]
        if op.last or op.implied or held.valid is _nowhere or self.by_groups(held.pipeline):
            return
        enable = [] if held.valid is None else [held.valid(b)]
        place = self.empty(held, b)
        b.add(nv_tileas.BarrierArrive, held.pipeline, place, *enable, types=(), segments=(1, 1, len(enable)))

    @staticmethod
    def by_groups(pipeline: Value) -> bool:
        """Is a ring filled by its readers?"""
        return isinstance(pipeline.op, nv_tileas.CreatePipeline) and pipeline.op.by == nv_tileas.GROUPS


def last_ring(func: nv_tileas.Func, target: Target) -> scf.For | None:
    """The loop of a ring by groups with no later use of shared memory. Not one with products, which pays more for the
    predicates of its copies than for one wait (attention with 128x64x64 tiles on sm_80: 736 SASS instructions an
    iteration for 722).
    """
    for op in reversed(func.body.block.ops):
        inside = list(op.walk())
        if isinstance(op, scf.For) and any(isinstance(each, nv_tileas.ProduceOne) and each.ahead for each in inside):
            return None if any(isinstance(each, nv_tileas.Dot) for each in inside) else op
        if any(scratch_of(each, target) or takes_buffer(each) for each in inside):
            return None
    return None


def takes_buffer(op: Op) -> bool:
    """Does an operation read or write a buffer in shared memory?"""
    return any(isinstance(value.type, nv_tileas.BufferType) for value in op.operands)


def _nowhere(b: Builder) -> Value:
    raise TypeError("a token without a stage is never valid")


_HANDLERS: dict[type[Op], Callable[[Any, Any, Builder], None]] = {
    nv_tileas.AgentSwitch: _Lowering.switch,
    nv_tileas.CreatePipeline: _Lowering.pipeline,
    nv_tileas.CreateIterator: _Lowering.iterator,
    nv_tileas.IncIter: _Lowering.increment,
    nv_tileas.AdvanceIter: _Lowering.advance,
    nv_tileas.CreateNone: _Lowering.none,
    nv_tileas.Drain: _Lowering.drain,
    nv_tileas.ProduceOne: _Lowering.produce,
    nv_tileas.ProducerAcquire: _Lowering.acquire,
    nv_tileas.ProducerWrite: _Lowering.write,
    nv_tileas.ProducerCommit: _Lowering.commit,
    nv_tileas.ConsumeOne: _Lowering.consume,
    nv_tileas.ConsumerWait: _Lowering.wait,
    nv_tileas.ConsumerRead: _Lowering.consume,
    nv_tileas.ConsumerRelease: _Lowering.release,
    scf.For: _Lowering.loop,
    scf.While: _Lowering.endless,
    scf.If: _Lowering.branch,
    scf.Yield: _Lowering.end,
    scf.Condition: _Lowering.end,
}
