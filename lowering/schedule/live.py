"""Deadlock check: the agents' programs are executed abstractly on the counts of their rings and channels.

Agents are sequential and wait for one ring at a time, so they form a Kahn network: whether it terminates does not
depend on the order of execution, and one run decides it, as a cycle without a token of its marked graph would. Loops
run until each ring has wrapped around, outer loops twice; each branch takes the same side in all agents, with one run
for either side. Groups of an agent's warps that alternate on tiles are separate agents: each runs its own tiles,
selected by a number that the loop carries, and turns are counted as they are passed on. A ring's stage is free when
each of them has released or skipped it. Source: Kahn, "The Semantics of a Simple Language for Parallel Programming",
1974; marked graphs as in turns.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any, cast

from ir.core import Block, Op, TileError, Value
from ir.dialects import arith, nv_tileas, scf
from ir.records import dataclass
from lowering.schedule.states import LOOPS

AROUND = 2  # runs of an outer loop: the state of one run is the start of the next
EVENTS = (*nv_tileas.REGIONS, nv_tileas.Send, nv_tileas.Receive)
RINGED = (
    nv_tileas.ProduceOne, nv_tileas.ConsumeOne, nv_tileas.Send, nv_tileas.Receive, nv_tileas.AdvanceIter,
    nv_tileas.Drain,
)  # fmt: skip
"""Ops whose first operand is the ring or channel."""
TURNS = (nv_tileas.TakeTurn, nv_tileas.PassTurn, nv_tileas.BeginTurns)
Loop = scf.For | scf.While
Agent = tuple[int, int]
"""The number of a region, and of the group of its warps that runs it."""


def refuse_deadlock(func: nv_tileas.Func) -> None:
    """Raises TileError at an op of a pipelined kernel on which an agent would wait forever."""
    for switch in (op for op in func.body.block.ops if isinstance(op, nv_tileas.AgentSwitch)):
        blocks = [region.block for region in switch.regions]
        branches = any(isinstance(op, scf.If) and takes_part(op) for block in blocks for op in walked(block))
        for side in (0, 1)[: 1 + branches]:
            stuck = _Run(blocks, [switch.groups_of(agent) for agent in range(len(blocks))], side).stuck()
            if stuck:
                others = ", ".join(str(op.location) for op in stuck[1:]) or "their ends"
                raise TileError(
                    f"the agents deadlock: '{stuck[0].name}' here, the others at {others}",
                    stuck[0].location, "fill the rings in the order in which they are read, or use more stages",
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
    filled: dict[Agent, int] = field(default_factory=dict[Agent, int])
    waited: dict[Agent, int] = field(default_factory=dict[Agent, int])
    freed: dict[Agent, int] = field(default_factory=dict[Agent, int])

    def empty(self, agent: Agent) -> bool:
        """Is there a stage that an agent may fill?"""
        return self.filled[agent] - min(self.freed.values(), default=0) < self.stages

    def drained(self, agent: Agent) -> bool:
        """Has all that was filled been read, as far as an agent knows that it was filled?"""
        known = self.filled.get(agent, self.waited.get(agent, 0))
        return known <= min(self.freed.values(), default=0)

    def full(self, agent: Agent) -> bool:
        """Is there one that it may read?"""
        return self.waited[agent] < min(self.filled.values(), default=0)


Wait = tuple[Op, Callable[[Agent], bool]]
"""What an agent waits at, and for what."""


class _Run:
    """One run of all agents; branches go to their `side`, but those at whether a tile is a group's own."""

    def __init__(self, blocks: Sequence[Block], groups: Sequence[int], side: int):
        self.blocks = {(agent, group): block for agent, block in enumerate(blocks) for group in range(groups[agent])}
        self.groups = groups
        self.side = side
        self.counts: dict[Value, Counts] = {}
        self.held: dict[tuple[Agent, Value], Counts | None] = {}  # of tokens: the ring of the stage behind one, if any
        self.numbers: dict[tuple[Agent, Value], int] = {}  # those that loops carry from tile to tile
        self.turns: defaultdict[tuple[int, Agent], int] = defaultdict(
            int
        )  # passed on to a group that has not taken them
        for agent, block in self.blocks.items():
            for op in walked(block):
                if isinstance(op, nv_tileas.ProduceOne | nv_tileas.Send):
                    self.of(op).filled[agent] = 0
                elif isinstance(op, nv_tileas.ConsumeOne | nv_tileas.Receive):
                    self.of(op).waited[agent] = self.of(op).freed[agent] = 0
        self.trips = 2 + max((each.stages for each in self.counts.values()), default=0)
        loops = [op for block in blocks for op in walked(block) if isinstance(op, LOOPS)]
        self.around = {op.location for op in loops if holds_loops(op)}
        self.asked = {op.number for block in blocks for op in walked(block) if isinstance(op, nv_tileas.IsMine)}
        self.rounds = AROUND * max(groups) + (max(groups) > 1)  # an odd number of tiles, where groups share them

    def of(self, op: Op) -> Counts:
        """The counts of what an operation, or the region around it, fills or reads."""
        while not isinstance(op, RINGED):
            op = cast(Op, cast(Block, op.parent).parent_op)
        ring = op.operands[0]
        stages = ring.type.stages if isinstance(ring.type, nv_tileas.PipelineType) else 1
        return self.counts.setdefault(ring, Counts(stages))

    def stuck(self) -> list[Op]:
        """The positions of the agents when none can continue; nothing if all finish."""
        running: dict[Agent, tuple[Iterator[Wait], Wait]] = {}
        for agent, block in self.blocks.items():
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

    def program(self, agent: Agent, block: Block) -> Iterator[Wait]:
        """The waits of an agent in a block; its fills and releases are counted on the way."""
        for op in block.ops:
            if isinstance(op, LOOPS):
                yield from self.loop(agent, op)
            elif isinstance(op, scf.If):
                yield from self.program(agent, op.regions[self.taken(agent, op)].block)
            elif isinstance(op, TURNS):
                yield from self.turn(agent, op)
            elif isinstance(op, nv_tileas.REGIONS):
                yield from self.program(agent, op.regions[0].block)
                self.hand(agent, op.results, [*self.first(op), *op.regions[0].block.terminator.operands])
            elif isinstance(op, nv_tileas.ProducerAcquire | nv_tileas.Send):
                yield op, self.of(op).empty
                self.of(op).filled[agent] += isinstance(op, nv_tileas.Send)
            elif isinstance(op, nv_tileas.ProducerCommit):
                self.of(op).filled[agent] += 1
            elif isinstance(op, nv_tileas.ConsumerWait | nv_tileas.Receive):
                yield op, self.of(op).full
                self.of(op).waited[agent] += 1
                self.of(op).freed[agent] += isinstance(op, nv_tileas.Receive)
                self.held[agent, op.results[0]] = self.of(op)
            elif isinstance(op, nv_tileas.Drain):
                yield op, self.of(op).drained
            elif isinstance(op, nv_tileas.AdvanceIter):
                self.past(agent, op)
            elif isinstance(op, nv_tileas.CreateNone):
                self.held[agent, op.result] = None
            elif isinstance(op, nv_tileas.ConsumerRelease) and (counts := self.held[agent, op.read]) is not None:
                counts.freed[agent] += 1

    def taken(self, agent: Agent, op: scf.If) -> int:
        """The side of a branch."""
        mine = op.condition.op
        if not isinstance(mine, nv_tileas.IsMine):
            return self.side
        return int(self.number(agent, mine.number) != agent[1])

    def number(self, agent: Agent, value: Value) -> int:
        """A number that a loop carries, one that is given, or such numbers changed."""
        made = value.op
        if isinstance(made, arith.Constant):
            return int(made.value)
        if isinstance(made, arith.XOrI):
            return self.number(agent, made.lhs) ^ self.number(agent, made.rhs)
        return self.numbers[agent, value]

    def turn(self, agent: Agent, op: Op) -> Iterator[Wait]:
        """A group's turn; those of warpgroups within one agent are checked where they are made (turns.py)."""
        (number, group), of = agent, int(op.attributes.get("of", 0))
        groups, begins = self.groups[number], isinstance(op, nv_tileas.BeginTurns)
        if groups == 1 or (begins and group < groups - 1):
            return
        if isinstance(op, nv_tileas.TakeTurn):
            yield op, lambda own: self.turns[of, own] > 0
            self.turns[of, agent] -= 1
        else:
            self.turns[of, (number, (group + 1) % groups)] += 1

    def past(self, agent: Agent, op: nv_tileas.AdvanceIter) -> None:
        """A group goes past the stages of a tile that is not its own."""
        counts = self.of(op)
        counts.waited[agent] += self.trips
        counts.freed[agent] += self.trips

    @staticmethod
    def first(op: Op) -> list[Value]:
        """The token that a read hands on before what it yields."""
        return [op.waited] if isinstance(op, nv_tileas.ConsumerRead) else []

    def hand(self, agent: Agent, to: Sequence[Value], given: Sequence[Value]) -> None:
        """Tokens and numbers of tiles are handed on."""
        pairs = list(zip(to, given, strict=False))
        tokens = {(agent, new): self.held[agent, old] for new, old in pairs if (agent, old) in self.held}
        numbers = {(agent, new): self.number(agent, old) for new, old in pairs if new in self.asked}
        self.held.update(tokens)
        self.numbers.update(numbers)

    def loop(self, agent: Agent, op: Loop) -> Iterator[Wait]:
        """Some iterations of a loop; none where it takes no part."""
        if not takes_part(op):
            return
        body: Any = op.body.block
        counted = isinstance(op, scf.For)
        arguments, left = (body.args[1:], 0) if counted else (body.args, 1)
        self.hand(agent, arguments, op.init)
        for _ in range(self.rounds if op.location in self.around else self.trips):
            yield from self.program(agent, body)
            self.hand(agent, arguments, body.terminator.operands[left:])
        self.hand(agent, op.results, body.terminator.operands[left:])
