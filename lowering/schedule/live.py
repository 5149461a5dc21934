"""No agents wait for one another for ever: their programs are run on the counts of their rings and channels alone.

Agents are sequential and wait for one ring at a time, so they are a Kahn network: whether it comes to its end does not
depend on who goes first, and one run says so, as a cycle without a token of its marked graph would. Loops run until
each ring has gone round, those around others twice; each branch goes one way in all agents, once either way.
Source: Kahn, "The Semantics of a Simple Language for Parallel Programming", 1974; marked graphs as in turns.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ir.core import Block, Op, TileError, Value
from ir.dialects import nv_tileas, scf
from lowering.schedule.states import LOOPS

AROUND = 2  # runs of a loop around others: what one leaves the next begins with
EVENTS = (*nv_tileas.REGIONS, nv_tileas.Send, nv_tileas.Receive)
Loop = scf.For | scf.While


def refuse_deadlock(func: nv_tileas.Func) -> None:
    """Raises TileError at what an agent of a pipelined kernel would wait for in vain."""
    for switch in (op for op in func.body.block.ops if isinstance(op, nv_tileas.AgentSwitch)):
        blocks = [region.block for region in switch.regions]
        branches = any(isinstance(op, scf.If) and takes_part(op) for block in blocks for op in walked(block))
        for side in (0, 1)[: 1 + branches]:
            stuck = _Run(blocks, side).stuck()
            if stuck:
                others = ", ".join(str(op.location) for op in stuck[1:]) or "their ends"
                raise TileError(
                    f"the agents wait for one another for ever: '{stuck[0].name}' here, the others at {others}",
                    stuck[0].location, "fill rings in the order in which they are read, or give them more stages",
                )  # fmt: skip


def walked(block: Block) -> Iterator[Op]:
    """All operations of a block."""
    return (each for op in block.ops for each in op.walk())


def takes_part(op: Op) -> bool:
    """Does an operation fill or read a ring or a channel?"""
    return any(isinstance(each, EVENTS) for each in op.walk())


def holds_loops(op: Loop) -> bool:
    """Is it around other loops that take part? It may be so in one agent alone, and runs as often in all of them."""
    return any(isinstance(each, LOOPS) and takes_part(each) for each in walked(op.body.block))


@dataclass
class Counts:
    """How often each agent has filled, waited for and given back a stage of a ring; a channel has one stage."""

    stages: int
    filled: dict[int, int] = field(default_factory=dict[int, int])
    waited: dict[int, int] = field(default_factory=dict[int, int])
    freed: dict[int, int] = field(default_factory=dict[int, int])

    def empty(self, agent: int) -> bool:
        """Is there a stage that an agent may fill?"""
        return self.filled[agent] - min(self.freed.values(), default=0) < self.stages

    def full(self, agent: int) -> bool:
        """Is there one that it may read?"""
        return self.waited[agent] < min(self.filled.values(), default=0)


Wait = tuple[Op, Callable[[int], bool]]
"""What an agent waits at, and for what."""


class _Run:
    """One run of all agents; branches go to their `side`."""

    def __init__(self, blocks: Sequence[Block], side: int):
        self.blocks = blocks
        self.side = side
        self.counts: dict[Value, Counts] = {}
        self.held: dict[Value, Counts | None] = {}  # of tokens: the ring of the stage that is behind one, if there is
        for agent, block in enumerate(blocks):
            for op in walked(block):
                if isinstance(op, nv_tileas.ProduceOne | nv_tileas.Send):
                    self.of(op).filled[agent] = 0
                elif isinstance(op, nv_tileas.ConsumeOne | nv_tileas.Receive):
                    self.of(op).waited[agent] = self.of(op).freed[agent] = 0
        self.trips = 2 + max((each.stages for each in self.counts.values()), default=0)
        loops = [op for block in blocks for op in walked(block) if isinstance(op, LOOPS)]
        self.around = {op.location for op in loops if holds_loops(op)}

    def of(self, op: Op) -> Counts:
        """The counts of what an operation, or the region around it, fills or reads."""
        while not isinstance(op, nv_tileas.ProduceOne | nv_tileas.ConsumeOne | nv_tileas.Send | nv_tileas.Receive):
            op = cast(Op, cast(Block, op.parent).parent_op)
        ring = op.operands[0]
        stages = ring.type.stages if isinstance(ring.type, nv_tileas.PipelineType) else 1
        return self.counts.setdefault(ring, Counts(stages))

    def stuck(self) -> list[Op]:
        """Where the agents are when none of them can go on; nothing where all come to their end."""
        running: dict[int, tuple[Iterator[Wait], Wait]] = {}
        for agent, block in enumerate(self.blocks):
            program = self.program(agent, block)
            if (first := next(program, None)) is not None:
                running[agent] = program, first
        while running:
            able = [agent for agent, (_, (_, ready)) in running.items() if ready(agent)]
            if not able:
                return [op for _, (op, _) in running.values()]
            for agent in able:
                program, _ = running.pop(agent)
                if (following := next(program, None)) is not None:
                    running[agent] = program, following
        return []

    def program(self, agent: int, block: Block) -> Iterator[Wait]:
        """What an agent waits for in a block; what it fills and gives back is counted on the way."""
        for op in block.ops:
            if isinstance(op, LOOPS):
                yield from self.loop(agent, op)
            elif isinstance(op, scf.If):
                yield from self.program(agent, op.regions[self.side].block)
            elif isinstance(op, nv_tileas.REGIONS):
                yield from self.program(agent, op.regions[0].block)
                self.hand(op.results, [*self.first(op), *op.regions[0].block.terminator.operands])
            elif isinstance(op, nv_tileas.ProducerAcquire | nv_tileas.Send):
                yield op, self.of(op).empty
                self.of(op).filled[agent] += isinstance(op, nv_tileas.Send)
            elif isinstance(op, nv_tileas.ProducerCommit):
                self.of(op).filled[agent] += 1
            elif isinstance(op, nv_tileas.ConsumerWait | nv_tileas.Receive):
                yield op, self.of(op).full
                self.of(op).waited[agent] += 1
                self.of(op).freed[agent] += isinstance(op, nv_tileas.Receive)
                self.held[op.results[0]] = self.of(op)
            elif isinstance(op, nv_tileas.CreateNone):
                self.held[op.result] = None
            elif isinstance(op, nv_tileas.ConsumerRelease) and (counts := self.held[op.read]) is not None:
                counts.freed[agent] += 1

    @staticmethod
    def first(op: Op) -> list[Value]:
        """The token that a read hands on before what it yields."""
        return [op.waited] if isinstance(op, nv_tileas.ConsumerRead) else []

    def hand(self, to: Sequence[Value], given: Sequence[Value]) -> None:
        """Tokens are handed on."""
        self.held.update({new: self.held[old] for new, old in zip(to, given, strict=False) if old in self.held})

    def loop(self, agent: int, op: Loop) -> Iterator[Wait]:
        """Some iterations of a loop; none where it takes no part."""
        if not takes_part(op):
            return
        body: Any = op.body.block
        counted = isinstance(op, scf.For)
        arguments, left = (body.args[1:], 0) if counted else (body.args, 1)
        self.hand(arguments, op.init)
        for _ in range(AROUND if op.location in self.around else self.trips):
            yield from self.program(agent, body)
            self.hand(arguments, body.terminator.operands[left:])
        self.hand(op.results, body.terminator.operands[left:])
