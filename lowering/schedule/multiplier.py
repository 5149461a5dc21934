"""An agent that issues products: loops that accumulate in tensor memory, with their enclosing loops, on a separate
warp.

    multiplier   wait until an accumulator is empty;  for k: D (+)= A(k) B(k);  commit D;  go on to the next accumulator
    consumers    wait until it is full, load it, leave it empty; go on with the tile while the next one is added up
It is a slice of the consumers' code, as a producer is of the source: it rematerialises what its loops need where
possible, and receives the rest at its first use. The accumulators are a ring between the two, with two stages if tensor
memory has enough columns. Source: CUTLASS's persistent main loop for sm_100, an accumulator pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ir.core import PURE, Block, Builder, Op, Value
from ir.dialects import nv_tileas, scf
from lowering.layouts.tensor import allocation, memory_columns
from lowering.schedule.boundary import ControlFlow, Slice
from lowering.schedule.pairs import together
from lowering.schedule.pipes import consume, produce, stage_alone, unknown
from lowering.schedule.producer import Producer
from lowering.schedule.states import Site, enclosing
from lowering.schedule.tensor import adopted, looped, multiplies, nested, refuse
from lowering.selection.resources import columns_of
from lowering.targets import Target

if TYPE_CHECKING:
    from lowering.schedule.agents import Agents

STAGES = 2  # alternating accumulators: one is read while the next is computed


class Accumulator:
    """A sum of a nested loop: its place, the ring of its stages, and the ops that take and yield its iterators in
    either agent.
    """

    def __init__(self, loop: scf.For, consumer: Block, agents: Agents, warps: int, stages: int):
        dots = {op.d for op in loop.walk() if isinstance(op, nv_tileas.TensorDot)}
        assert len(dots) == 1
        (self.d,) = dots
        memory = self.d.op
        assert isinstance(memory, nv_tileas.AllocTensorMemory)
        self.memory, self.loop, self.stages = memory, loop, stages
        memory.attributes["stages"] = stages
        peers = together(1) if memory.paired else 1
        self.pipeline = agents.common.add(
            nv_tileas.CreatePipeline,
            types=[nv_tileas.PipelineType(stages)],
            offset=0,
            consumers=warps,
            each="warp",
            meet=True,
            accumulators=True,
            paired=memory.paired,
            peers=peers,
        )
        self.filled: dict[Op, Site] = {}
        self.read: dict[Op, Site] = {}
        for op in nested(consumer):
            if isinstance(op, nv_tileas.TensorCommit) and op.d is self.d and op.parent is not None:
                op.parent.ops.remove(op)  # the ring's barriers say that it is complete
            elif isinstance(op, nv_tileas.TensorLoad) and op.d is self.d:
                self.load(op, consumer)

    def place(self, first: int) -> int:
        """Give it its columns, and those of its scales behind, from the `first` on; how many they take."""
        end = first + self.stages * columns_for(self.d)
        self.memory.attributes["column"] = first
        for each in scales_of(self.loop):
            assert each.op is not None
            each.op.attributes["column"] = end
            end += columns_for(each)
        return end - first

    def load(self, op: nv_tileas.TensorLoad, consumer: Block) -> None:
        """Wait for the accumulator of an iteration where the consumers load it, and release it afterwards."""
        block, ring = op.parent, self.pipeline.result
        assert block is not None
        iterator, read = unknown(ring, self.stages), Block()
        op.operands.insert(op.segments[0] + op.segments[1] + op.segments[2], iterator)
        op.segments = (*op.segments[:3], 1, *op.segments[4:])
        made, at = Builder(Block(), op.location), block.ops.index(op)
        op.parent = read
        read.ops.append(op)
        (tile,) = consume(made, ring, iterator, read, [op.result])
        reader = made.block.ops[-1]
        self.read[reader] = stage_alone(reader, made)
        inside = {each for top in made.block.ops for each in top.walk()}
        for each in nested(consumer):
            if each not in inside:
                each.operands = [tile if v is op.result else v for v in each.operands]
        block.ops[at : at + 1] = adopted(made.block, block)


class Part(Slice):
    """What the agent of some loops needs from the consumers' code; code before the agent split is common to all."""

    def __init__(self, consumer: Block, loops: list[scf.For]):
        self.inside = {*nested(consumer)}
        skeleton = {each for loop in loops for each in enclosing(loop)}
        inputs = ((value, None) for loop in loops for value in outside(loop))
        super().__init__((op for op in nested(consumer) if isinstance(op, ControlFlow) and op in skeleton), inputs)

    def sources(self, value: Value) -> list[Value]:
        """Nothing for what the common part makes."""
        common = isinstance(value.owner, Op) and value.owner not in self.inside
        return [] if common else super().sources(value)


class Multiplier(Producer):
    """Builds the agent's code, of which the loops themselves are the consumers' until then."""

    def __init__(self, part: Part, sums: dict[scf.For, Accumulator], channels: dict[Value, Value], agents: Agents):
        super().__init__(part, [], {}, channels, agents.zero, agents.map_number)
        self.sums = sums

    def block(self, ops: Sequence[Op], b: Builder) -> None:
        """What is needed of a block."""
        for op in list(ops):
            if isinstance(op, scf.For) and op in self.sums:
                b.location = op.location
                self.multiply(op, self.sums[op], b)
            else:
                super().block([op], b)

    def multiply(self, loop: scf.For, found: Accumulator, b: Builder) -> None:
        """A loop of products, on an accumulator that is empty."""
        assert loop.parent is not None
        loop.parent.ops.remove(loop)
        iterator = unknown(found.pipeline.result, found.stages)
        for op in loop.walk():
            op.operands = self.known(op.operands)
            if isinstance(op, nv_tileas.TensorDot):
                op.operands.insert(sum(op.segments[:4]), iterator)
                op.segments = (*op.segments[:4], 1, *op.segments[5:])

        def write(inside: Builder) -> None:
            loop.parent = inside.block
            inside.block.ops.append(loop)

        made = produce(b, found.pipeline.result, iterator, write)
        found.filled[made] = stage_alone(made, b)


def multiplier(consumer: Block, agents: Agents, warps: int, target: Target) -> Block | None:
    """Split nested product loops from the consumers' code; returns the agent's code, if there are any. Raises
    TensorAgentError, located, if it cannot have what it needs.
    """
    loops = [op for op in nested(consumer) if isinstance(op, scf.For) and multiplies(op) and looped(op)]
    if not loops:
        return None
    for loop in loops:  # the consumers' code has all that the source computes there
        prune(loop.walk)
    part = Part(consumer, loops)
    if not part.legal:
        refuse(loops[0], "its agent cannot compute everything that its loops need")
    stages = STAGES if taken(loops, STAGES) <= columns_of(target, max(1, target.asked_ctas)) else 1
    sums = {loop: Accumulator(loop, consumer, agents, warps, stages) for loop in loops}
    channels = agents.hand_over(part, {value: value for value in part.ways})
    made, block = Multiplier(part, sums, channels, agents), Block()
    made.block(consumer.ops, Builder(block, agents.common.location))
    made.receive_late()
    agents.received += made.receives
    agents.accumulators += sums.values()
    return block


def taken(loops: list[scf.For], stages: int) -> int:
    """Columns of an allocation for all sums of some loops."""
    sums = (op.d for loop in loops for op in loop.walk() if isinstance(op, nv_tileas.TensorDot))
    scales = sum(columns_for(each) for loop in loops for each in scales_of(loop))
    return allocation(stages * sum(map(columns_for, sums)) + scales)


def columns_for(memory: Value) -> int:
    """Columns of tensor memory that something takes."""
    kind = memory.type
    assert isinstance(kind, nv_tileas.TensorMemoryType)
    return memory_columns(kind)


def scales_of(loop: scf.For) -> list[Value]:
    """Where the scales of a loop's products lie."""
    return [op.scales for op in loop.walk() if isinstance(op, nv_tileas.TensorScaledDot)]


def pure(op: Op) -> bool:
    """May an operation go if nothing reads what it makes?"""
    return op.effect is PURE and not op.regions


def prune(walk: Callable[[], Iterable[Op]], goes: Callable[[Op], bool] = pure) -> None:
    """Remove dead code from a loop or block: what `goes` if it is unread. walk: gives all of its operations."""
    while True:
        ops = [*walk()]
        read = {value for op in ops for value in op.operands}
        unread = [op for op in ops if goes(op) and read.isdisjoint(op.results)]
        if not unread:
            return
        for op in unread:
            assert op.parent is not None
            op.parent.ops.remove(op)


def outside(loop: scf.For) -> Iterator[Value]:
    """The live-in values of a loop."""
    ops = [*loop.walk()]
    made = {result for op in ops for result in op.results}
    made.update(argument for op in ops for region in op.regions for argument in region.block.args)
    yield from dict.fromkeys(value for op in ops for value in op.operands if value not in made)
