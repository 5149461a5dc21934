"""Two groups of consumers on successive tiles of a persistent loop (ping-pong): one's epilogue under the other's
products.

    group 0    tiles 0, 2, 4, ... of this CTA: waits for its turn, main loop, passes it on; epilogue
    group 1    tiles 1, 3, 5, ... in the same way
Both groups of warps of one agent run the same code: each iterates over all tiles and skips those of the other,
advancing its iterators past their stages by the number of steps, which is computed before the main loop anyway. The
turn at the main loop orders the groups' reads of the rings: an mbarrier exposes one bit of its phase, so no group may
wait for a phase before all have waited for the previous one. The turn is passed on after the last product is issued,
not after it completes. Epilogues take turns if they use scratch memory, which they share, or make accesses that others
are ordered with. Source: CUTLASS's sm90 ping-pong kernel, whose OrderedSequenceBarrier has the same two stages.
"""

from __future__ import annotations

from typing import NoReturn

from ir.core import WRITE, Block, Builder, Op, Region, UnsupportedError, Value
from ir.dialects import arith, nv_tileas, scf
from ir.records import dataclass
from ir.types import I1, I32
from lowering.schedule.agent_rings import AgentRing
from lowering.schedule.agents import Agents
from lowering.schedule.boundary import Boundary, Way, computes, is_strong, loads_scalar
from lowering.schedule.pipes import unknown
from lowering.schedule.scratch import scratch_of
from lowering.schedule.states import Site
from lowering.schedule.units import GROUP
from lowering.targets import Target

NAME = "ping-pong"  # of the option
GROUPS = 2
MAIN, EPILOGUE = 0, 1  # sections in which they take turns
QUIET = (
    nv_tileas.TiledStore,
    nv_tileas.Scatter,
    nv_tileas.DotWait,
    nv_tileas.ConsumerRelease,
    nv_tileas.CreateNone,
    nv_tileas.WaitOnDependency,
    nv_tileas.LaunchDependents,
)
"""Writes that need no turn unless they are ordered with other accesses."""


def part(consumer: Block, agents: Agents, warps: int, target: Target) -> None:
    """Let two groups of `warps` warps run the consumers' code, each on every other tile, in place. Raises
    UnsupportedError, located, if that is not possible.
    """
    if not agents.jobs:
        refuse(consumer.ops[-1], "no producer loads their tiles")
    tiles = tile_loop(consumer, agents)
    if warps != GROUP:
        refuse(tiles, f"a tile is computed by {warps} warps, not one warpgroup")
    if agents.ranks is not None or agents.tensor:
        refuse(tiles, "its CTAs are in clusters" if agents.ranks else "accumulators lie in tensor memory")
    if agents.transforms:
        refuse(tiles, "another agent computes tiles for them")
    main = main_loop(tiles, agents)
    body = tiles.body.block
    place = body.ops.index(main)
    front = steps_from(main, body.ops[:place])
    for op in (*(each for each in consumer.ops if each is not tiles), *body.ops[:place]):
        if loud(op, target):
            refuse(op, f"'{op.name}' comes before the main loop or outside the tiles, where both groups would run it")
    Split(tiles, main, agents, front, target).build()
    agents.groups = GROUPS


def refuse(op: Op, why: str) -> NoReturn:
    """It is not possible, and why."""
    message = f"two groups of warps cannot take tiles in turn: {why}"
    raise UnsupportedError(message, op.location, "compile with --consumers cooperative")


def tile_loop(consumer: Block, agents: Agents) -> scf.For:
    """The only loop of the consumers' code, which carries nothing from tile to tile."""
    found = [op for op in consumer.ops if op.regions]
    if len(found) != 1 or not isinstance(found[0], scf.For):
        refuse(found[0] if found else consumer.ops[-1], "expected a single counted loop over tiles")
    if any(run.loop is found[0] for ring in agents.rings.values() for run in ring.runs):
        refuse(found[0], "the outermost loop itself reads the producer's tiles")
    if found[0].init:
        refuse(found[0], "the loop carries values from tile to tile")
    return found[0]


def main_loop(tiles: scf.For, agents: Agents) -> scf.For:
    """The loop of a tile for which the producer fills rings."""
    runs = [run.loop for ring in agents.rings.values() for run in ring.runs]
    for ring in agents.rings.values():
        for op in ring.alone:
            refuse(op, "a tile of the producer is read outside its main loop")
    if len(set(runs)) != 1 or runs[0].parent is not tiles.body.block:
        refuse(runs[-1], "the producer's tiles are read in several loops, or in loops of loops")
    boundary = Boundary(agents.ops, [job.plan for job in agents.jobs])
    handed = [op for value, way in boundary.ways.items() if way is Way.SEND and (op := value.op) is not None]
    for op in (*agents.sends, *handed):
        refuse(op, "both groups would send the producer what it needs")
    return runs[0]


def steps_from(main: scf.For, ops: list[Op]) -> set[Op]:
    """What computes the number of steps of the main loop, of the tile's code before it."""
    wanted, found = {main.lower, main.upper, main.step}, set[Op]()
    for op in reversed(ops):
        if wanted.isdisjoint(op.results):
            continue
        alone = loads_scalar(op) and not op.attributes.get("ordered", False)
        if not (computes(op) or alone):
            refuse(op, "the number of steps is not computed from scalars alone")
        found.add(op)
        wanted.update(op.operands)
    return found


def loud(op: Op, target: Target) -> bool:
    """Is this ordered with accesses of other tiles, or does it need its own memory?"""
    return any(
        scratch_of(each, target) > 0
        or bool(each.attributes.get("ordered", False))
        or is_strong(each)
        or (each.effect is WRITE and not isinstance(each, QUIET))
        for each in op.walk()
    )


@dataclass
class Split:
    """The loop over tiles, in which a group does what is its own; `front` computes the steps of all tiles."""

    tiles: scf.For
    main: scf.For
    agents: Agents
    front: set[Op]
    target: Target

    def build(self) -> None:
        """The loop anew: it carries whose turn a tile is."""
        tiles, old = self.tiles, self.tiles.body.block
        location = tiles.location
        number = Value(I32, old, len(old.args))
        old.args.append(number)
        end = old.terminator
        ops, old.ops = old.ops[:-1], []
        b = Builder(old, location)
        for op in ops:
            if op in self.front:
                old.append(op)
        mine = b.value(nv_tileas.IsMine, number, types=[I1])
        sides = [self.own([op for op in ops if op not in self.front]), self.others()]
        b.add(scf.If, mine, types=(), regions=[Region([side]) for side in sides])
        one = b.value(arith.Constant, types=[I32], value=1)
        end.operands.append(b.value(arith.XOrI, number, one))
        end.segments = (len(end.operands),)
        old.append(end)
        tiles.operands.append(self.agents.zero)
        tiles.segments = (1, 1, 1, 1)
        tiles.results.append(Value(I32, tiles, 0))

    def own(self, ops: list[Op]) -> Block:
        """A tile of this group: its main loop in its turn, and the parts of its epilogue that need a turn."""
        block, place = Block(), ops.index(self.main)
        turn = next((op for op in ops[place + 1 :] if loud(op, self.target)), None)
        b = Builder(block, self.main.location)
        for op in ops:
            if op is self.main:
                b.add(nv_tileas.TakeTurn, types=(), of=MAIN)
            elif op is turn:
                b.add(nv_tileas.TakeTurn, types=(), of=EPILOGUE)
            block.append(op)
            if op is self.main:
                b.add(nv_tileas.PassTurn, types=(), of=MAIN)
        if any(isinstance(each, nv_tileas.StoreWait) for op in ops for each in op.walk()):
            b.add(nv_tileas.StoreWait, types=())  # the next group's thread would wait for its own stores only
        if turn is not None:
            b.add(nv_tileas.PassTurn, types=(), of=EPILOGUE)
        self.agents.turns += [MAIN] if turn is None else [MAIN, EPILOGUE]
        b.add(scf.Yield, types=())
        return block

    def others(self) -> Block:
        """A tile of another group: skip its stages."""
        block = Block()
        b = Builder(block, self.main.location)
        count = steps(self.main, b)
        for ring in self.agents.rings.values():
            self.past(ring, count, b)
        b.add(scf.Yield, types=())
        return block

    def past(self, ring: AgentRing, count: Value, b: Builder) -> None:
        """A ring goes on by as many stages as the main loop has steps."""
        pipeline = ring.pipeline.result
        iterator = unknown(pipeline, ring.memory.stages)
        made = b.add(nv_tileas.AdvanceIter, pipeline, iterator, count, types=[iterator.type])
        ring.passing[made] = Site([1], [made.result])


def steps(loop: scf.For, b: Builder) -> Value:
    """How often a counted loop runs, as an unsigned number."""
    kind = loop.lower.type
    predicate = "ult" if loop.unsigned else "slt"
    runs = b.value(arith.CmpI, loop.lower, loop.upper, types=[I1], predicate=predicate)
    zero, one = (b.value(arith.Constant, types=[kind], value=n) for n in (0, 1))
    count = b.value(arith.SubI, loop.upper, loop.lower)
    made = loop.step.op
    if not isinstance(made, arith.Constant) or made.value != 1:
        last = b.value(arith.DivUI, b.value(arith.SubI, count, one), loop.step)
        count = b.value(arith.AddI, last, one)
    return b.value(arith.Select, runs, count, zero)
