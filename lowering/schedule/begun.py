"""Products that threads read or write for, issued by single-thread agents instead of consumer threads.

    consumers   for j: wait for S;  load it;  ...;  wait for O;  store P, scale O;  arrive
    agent       for j: wait for K;  S = Q K;  commit;  wait for V, P;  O += P V;  commit
Each warpgroup with its own block of rows has a separate agent, which runs the products of that block in source order,
so that no warpgroup waits for another; otherwise one agent issues all. A sum that threads read is a ring of one stage
that the agent fills; what threads write for a product (a left factor, a rescaled sum) is a ring that they fill, and
that the product reads and releases. Tiles in shared memory are used only by the agents. If a product is read before
threads write the operand of the next one, or rewrite its own operand, each of the two rings implies the other's empty
barrier: products are issued in order, and the end of one implies the end of all earlier ones. After a loop whose
products have not all been read everyone waits for its end; before the next loop, whose sums overlay these, the threads
pass a turn, behind a barrier where several warps share rows.

In a loop over tiles all of this goes round with it. Of one main loop a tile the rings say all that the next tile has to
wait for: scores are made where the last have been read, a sum begins anew where the same threads have loaded the last
one, and left factors come behind scores; so the next tile's first scores are made during the epilogue. Where several
main loops follow one another in a tile the first one, too, lies over another: it has a turn.

A left factor may overlay the scores that the next product recomputes. PTX orders only products with the same
accumulator, so the agent waits for the one that reads it (PTX ISA 8.8, tcgen05, implicitly pipelined instructions).
Source of the roles: FlashAttention-4's MMA warp; CUTLASS's sm_100 fmha.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ir.checked import checked
from ir.core import Block, Builder, Op, Value
from ir.dialects import nv_tileas, scf
from ir.types import TensorType
from lowering.atoms.forbidden import forbidden
from lowering.atoms.tcgen05 import BY_AGENT_READ, M
from lowering.layouts.tensor import WARPS
from lowering.schedule.begun_time import Begun, predicted, together
from lowering.schedule.boundary import ControlFlow, Slice, Way
from lowering.schedule.correction import Correction, corrected
from lowering.schedule.fills import Boxed
from lowering.schedule.multiplier import Part, prune
from lowering.schedule.pipes import Handover, consume, imply, produce, stage_alone, unknown
from lowering.schedule.producer import Producer
from lowering.schedule.runs import (
    before,
    inline,
    innermost,
    is_view,
    kept,
    last_use,
    main_loops,
    place,
    read_of,
    release_of,
    replace,
    same_run,
    steps_to,
)
from lowering.schedule.states import Site, enclosing
from lowering.schedule.tensor import adopted, drop, has, multiplies, nested
from lowering.schedule.units import GROUP
from lowering.targets import Target

if TYPE_CHECKING:
    from lowering.schedule.agents import Agents

WRITTEN = (nv_tileas.TensorStore, nv_tileas.TensorScale)
"""What threads do for a later product."""
GONE = (nv_tileas.TensorDot, nv_tileas.TensorCommit, nv_tileas.TensorWait)
"""Ops removed from the consumers' code."""


def begin_apart(consumer: Block, agents: Agents, warps: int, target: Target, forbid: tuple[str, ...]) -> None:
    """Split the products from the consumers' code, if that is possible and predicted to be faster, and the scaling of
    their sums from it too, likewise; record which.
    """
    dots = [op for op in nested(consumer) if isinstance(op, nv_tileas.TensorDot)]
    if not dots:
        return
    found = Products(consumer, dots, agents, warps)
    reason = f"{BY_AGENT_READ} is forbidden" if forbidden(BY_AGENT_READ, forbid) else found.why_not()
    if reason:
        agents.said = f"consumer threads issue the products: {reason}"
        return
    summaries = [found.summary(loop) for loop in found.loops or [None]]
    times = together([predicted(each, target) for each in summaries])
    agents.said = times.said()
    if times.better:
        found.correction, how = corrected(found, summaries, target, forbid)
        agents.said += how
        found.part()


class ControlSkeleton(Part):
    """What an agent needs of the consumers' code: the loops and branches around products, and their control."""

    def __init__(self, consumer: Block, dots: Sequence[Op]):
        self.inside = {*nested(consumer)}
        around = {each for dot in dots for each in enclosing(dot)}
        Slice.__init__(self, (op for op in nested(consumer) if isinstance(op, ControlFlow) and op in around), ())


class Products:
    """The products of a kernel, and the reads and writes of threads for them."""

    def __init__(self, consumer: Block, dots: list[nv_tileas.TensorDot], agents: Agents, warps: int):
        self.consumer, self.dots, self.agents, self.warps = consumer, dots, agents, warps
        ops = nested(consumer)
        self.loads = [op for op in ops if isinstance(op, nv_tileas.TensorLoad)]
        self.written = [op for op in ops if isinstance(op, WRITTEN)]
        self.rows = {checked(dot.d.type, nv_tileas.TensorMemoryType).shape[0] // M for dot in dots}
        self.groups = warps // WARPS if self.rows == {warps // WARPS} else 1
        self.rings = {ring.pipeline.result: ring for ring in agents.rings.values()}
        self.skeletons = ControlSkeleton(consumer, dots)
        self.read: dict[Value, Handover] = {}  # by accumulator: threads read the products
        self.fed: dict[Value, Handover] = {}  # threads write for them
        self.loops = main_loops(dots)
        self.repeated = bool(self.loops) and innermost(self.loops[0]) is not None  # all of them, by a loop over tiles
        self.ends: dict[Op | None, Handover] = {}  # after each loop, and after all of them
        self.turns: dict[Op, Handover] = {}  # before each further loop: the place of its sums has been read
        self.correction: Correction | None = None  # where warps of their own scale sums

    def why_not(self) -> str:
        """Why agents cannot have all that products need, or there are no warps besides the producer's; empty: they
        can.
        """
        rings, ops = self.agents.rings.values(), nested(self.consumer)
        if not self.rings:
            return "no producer loads tiles for them"
        if any(map(multiplies, self.skeletons.skeleton)) or self.agents.accumulators:
            return "others are issued by one warp that has its own loop"
        around = {innermost(dot) for dot in self.dots}.difference(self.loops)
        if len({list(steps_to(loop))[-1][0] for loop in self.loops}) > 1 or around - {innermost(self.loops[0])}:
            return "their loops do not follow one another"
        boxed = all(isinstance(fill, Boxed) for job in self.agents.jobs for fill in job.plan.fills)
        if not boxed or 1 + self.groups > GROUP:
            return "the producer leaves no warps for them"
        if any(ring.pipeline.peers > 1 or ring.passing for ring in rings):
            return "CTAs of a cluster, or groups of warps, share their tiles"
        if any(isinstance(op, nv_tileas.CreateNone) for op in ops) or not self.factors():
            return "threads load or read their tiles, or write some to shared memory"
        if len(self.rows) > 1 or not self.sums():
            return "threads also access their sums elsewhere"
        known = self.skeletons.legal and Way.SEND not in self.skeletons.ways.values()
        return "" if known else "their agent cannot compute how often to issue them"

    def factors(self) -> bool:
        """Do all tiles in shared memory come through rings, and serve only products?"""
        tiles = {view.results[0]: view for view in nested(self.consumer) if is_view(view)}
        ringed = {
            value
            for value, view in tiles.items()
            if not isinstance(view, nv_tileas.BufferView) or isinstance(view.operands[-1].type, nv_tileas.IteratorType)
        }
        users = (op for op in nested(self.consumer) if not tiles.keys().isdisjoint(op.operands))
        lefts = [dot.a for dot in self.dots if isinstance(dot.a.type, nv_tileas.TensorMemoryType)]
        wanted = {factor for dot in self.dots for factor in (dot.a, dot.b)}.difference(lefts)
        plain = all(is_view(op) or isinstance(op, nv_tileas.TensorDot) for op in users)
        once = len(set(lefts)) == len(lefts) and len(ringed) == len(tiles)
        stages = {op.pipeline for op in nested(self.consumer) if isinstance(op, nv_tileas.ConsumeOne)}
        brought = wanted <= ringed and stages <= self.rings.keys()
        return plain and once and brought and all(self.serves(ring) for ring in self.rings)

    def serves(self, ring: Value) -> bool:
        """Are there products in all that reads a ring?"""
        return all(
            has(op, nv_tileas.TensorDot)
            for op in nested(self.consumer)
            if isinstance(op, nv_tileas.ConsumeOne) and op.pipeline is ring
        )

    def sums(self) -> bool:
        """Is each sum either read when complete, or written by threads before one product in a block?"""
        for d in dict.fromkeys(dot.d for dot in self.dots):
            dots = [dot for dot in self.dots if dot.d is d]
            feeds = self.feeds(dots[0])
            read = [load for load in self.loads if load.d is d]
            if any(load.written is not None for load in read) or (feeds and len(dots) > 1):
                return False
            kept = bool(feeds) and {load.waited for load in read} == {True}
            begins = (op.value.type for op in self.written if isinstance(op, nv_tileas.TensorStore) and op.d is d)
            if self.repeated and {*begins} - {load.result.type for load in read}:
                return False  # a thread would store where another one still loads the last tile's sum
            if not read or {load.waited for load in read} != {kept} or not all(before(op, dots[0]) for op in feeds):
                return False
        return True

    def feeds(self, dot: nv_tileas.TensorDot) -> list[nv_tileas.TensorStore | nv_tileas.TensorScale]:
        """What threads do for a product: its left factor, its sum scaled; not the sum that a loop begins with."""
        scaled = (op for op in self.written if isinstance(op, nv_tileas.TensorScale) and op.d is dot.d)
        return [*(op for op in self.written if isinstance(op, nv_tileas.TensorStore) and op.d is dot.a), *scaled]

    def summary(self, loop: scf.For | scf.While | None) -> Begun:
        """Figures of a loop with products, or of a kernel without loops, for predicting its time."""
        body = self.consumer if loop is None else loop.body.block
        inside = [dot for dot in self.dots if loop is None or loop in enclosing(dot)]
        waits = sum(isinstance(op, nv_tileas.ConsumeOne) for op in nested(body))
        turned = sum(self.alternates(dot) or self.in_turn(dot) is not None for dot in inside)
        feeding = sum(bool(self.feeds(dot)) for dot in inside)
        return Begun(body, inside, self.warps, self.groups, waits, feeding, len(inside) - feeding, turned)

    def in_turn(self, dot: nv_tileas.TensorDot) -> nv_tileas.TensorDot | None:
        """The product after the load of one that threads read, with its operand written in the same straight-line code:
        its ring implies that this one has been read, and this one's next fill implies that it is complete.
        """
        loads = [load for load in self.loads if load.d is dot.d]
        alone = [each for each in self.dots if each.d is dot.d] == [dot] and len(loads) == 1
        if self.feeds(dot) or not alone or not same_run(dot, loads[0]):
            return None
        behind = (each for each in self.dots if self.feeds(each) and same_run(loads[0], each))
        return next((each for each in behind if all(same_run(loads[0], op) for op in self.feeds(each))), None)

    def alternates(self, dot: nv_tileas.TensorDot) -> bool:
        """Is a product that threads write for read in the same run of their code, before they write for the next?"""
        loads = [load for load in self.loads if load.d is dot.d]
        return bool(self.feeds(dot)) and len(loads) == 1 and not loads[0].waited and same_run(dot, loads[0])

    def over(self, d: Value) -> list[Handover]:
        """What threads write for products whose left factors lie in the place of a sum."""
        lefts = ((dot, dot.a.op) for dot in self.dots if dot.d in self.fed)
        return [
            self.fed[dot.d] for dot, made in lefts if isinstance(made, nv_tileas.AllocTensorMemory) and made.over is d
        ]

    def drained(self) -> list[Handover]:
        """What threads write for products that someone waits for apart from those who write again."""
        behind = [self.fed[load.d] for load in self.loads if load.waited and load.d in self.fed]
        return [*behind, *(ring for dot in self.dots if dot.d not in self.fed for ring in self.over(dot.d))]

    # --- the change

    def part(self) -> None:
        """Build the agents' code, and change the consumers'."""
        for dot in self.dots:
            table = self.fed if self.feeds(dot) else self.read
            if dot.d not in table:
                table[dot.d] = self.handover(written=table is self.fed)
            if table is self.fed and dot.d not in self.read and not kept(dot, self.loads):
                self.read[dot.d] = self.handover(written=False)
        for dot in self.dots:
            behind = self.in_turn(dot)
            if behind is not None:
                self.read[dot.d].implied = self.fed[behind.d].implied = True
            if self.alternates(dot):
                self.read[dot.d].implied = self.fed[dot.d].implied = True
        ended = self.ended()
        self.ends = {each: self.handover(written=False) for each in (*ended, None)}
        self.mark()
        if self.correction is not None:
            self.correction.begin()
        if (
            self.repeated
        ):  # between two rounds of a turn threads wait for an end or a load, and before an end for a turn
            for each in (*self.turns.values(), *(self.ends[loop] for loop in ended)):
                each.implied = True
        for ring in self.rings.values():
            ring.pipeline.attributes |= {"consumers": self.groups, "each": nv_tileas.COMMIT, "meet": False}
        blocks = [Beginner(self, self.skeletons).build() for _ in range(self.groups)]
        if self.correction is not None:
            self.agents.corrector = self.correction.build()
        self.strip()
        self.agents.beginners = blocks
        self.agents.blocks = range(self.groups) if self.groups > 1 else (-1,)
        self.agents.handovers = self.handovers
        if self.correction is not None:
            self.agents.handovers += self.correction.hand_over()
            self.agents.buffers = self.correction.buffers

    @property
    def turned(self) -> bool:
        """Does the first loop, too, come behind another one whose sums lie over its own: the last one of a tile?"""
        return self.repeated and len(self.loops) > 1

    def ended(self) -> list[scf.For | scf.While]:
        """The loops whose end everyone waits for. Not those whose products threads have all read; but of loops that
        have turns in a loop over tiles at least one, unless threads load a product between these loops in any case:
        otherwise they could pass the next turn before the agent has taken the last one.
        """
        loops = self.loops if self.turned else self.loops[:-1]
        unread = [loop for loop in loops if not self.all_read(loop)]
        return unread if unread or not self.turned or self.between() else loops

    def between(self) -> bool:
        """Do threads load a product between the main loops, in any case?"""
        block = list(steps_to(self.loops[0]))[-1][0]
        alone = (load for load in self.loads if load.d in self.read and not load.waited)
        return any(list(steps_to(load))[-1][0] is block for load in alone)

    def all_read(self, loop: scf.For | scf.While) -> bool:
        """Have threads read all products of a loop behind it?"""
        sums = {dot.d for dot in self.dots if loop in enclosing(dot)}
        loads = [load for load in self.loads if load.d in sums and loop not in enclosing(load)]
        ahead = all(same_run(load, loop) for load in loads)
        return ahead and all(d in self.read and not self.elsewhere(d, loop) for d in sums)

    def elsewhere(self, d: Value, loop: scf.For | scf.While) -> bool:
        """Does code of another main loop make this sum?"""
        return any(dot.d is d and not {*enclosing(dot)}.isdisjoint({*self.loops} - {loop}) for dot in self.dots)

    @property
    def handovers(self) -> list[Handover]:
        """All of them."""
        return [*self.read.values(), *self.fed.values(), *self.ends.values(), *self.turns.values()]

    def handover(self, *, written: bool) -> Handover:
        """A ring of one stage for each warpgroup, or for all."""
        warps = self.warps // self.groups
        read: dict[str, Any] = {"consumers": warps, "each": "warp", "meet": True}
        fed: dict[str, Any] = {"producers": warps, "each": nv_tileas.COMMIT, "written": True}
        kind, more = nv_tileas.PipelineType(1), fed if written else read
        return Handover(
            self.agents.common.add(
                nv_tileas.CreatePipeline, types=[kind], offset=0, accumulators=True, groups=self.groups, **more
            )
        )

    def mark(self) -> None:
        """Mark where products of a further loop may start: before the first op that creates or writes a sum of it."""
        runs: list[tuple[Op, Block | None, Op | None]] = [(loop, op.parent, op) for op, loop in pairwise(self.loops)]
        if self.turned:
            runs.append((self.loops[0], list(steps_to(self.loops[0]))[-1][0], None))
        for loop, block, last in runs:
            assert block is not None
            behind = block.ops if last is None else block.ops[block.ops.index(last) + 1 :]
            first = next(op for op in behind if has(op, nv_tileas.TensorDot, *WRITTEN))
            mark = Builder(Block(), loop.location)
            self.turns[mark.add(nv_tileas.TensorMeet, types=())] = self.handover(written=True)
            place(mark, first)

    def strip(self) -> None:
        """Remove the products, and the loads of their factors, from the consumers' code."""
        ops = nested(self.consumer)
        iterators = {op.iterator for op in ops if isinstance(op, nv_tileas.ConsumeOne)}
        for op in ops:
            if isinstance(op, nv_tileas.ConsumeOne):
                inline(op, self.consumer)
        for dot in self.dots:
            if dot.d in self.fed:
                self.write(dot, self.fed[dot.d])
        for load in self.loads:
            if load.waited:
                self.load_after_loop(load)
            elif load.d in self.read:
                self.load(load)
        for loop in self.loops:
            if loop in self.ends:
                self.wait(loop, self.ends[loop])
        for mark, ring in self.turns.items():
            self.hand_on(mark, ring)
        self.close()
        for op in nested(self.consumer):
            stepped = isinstance(op, nv_tileas.IncIter) and op.iterator in iterators
            if (isinstance(op, GONE) or stepped) and op.parent is not None:
                op.parent.ops.remove(op)
        for ring in self.rings.values():
            ring.alone.clear()
        runs = [run for ring in self.rings.values() for run in ring.runs]
        for run in sorted(runs, key=lambda run: -run.slot):
            drop(run.loop, run.slot - 3)
        for ring in self.rings.values():
            ring.runs.clear()
        prune(partial(nested, self.consumer))

    def close(self) -> None:
        """After the last products everyone waits for the end of all: then their operands may be overwritten."""
        last = next(op for op in reversed(self.consumer.ops) if has(op, nv_tileas.TensorDot))
        self.wait(last, self.ends[None])

    def wait(self, op: Op, ring: Handover) -> None:
        """After an op everyone waits for the end of all issued products."""
        made, block = Builder(Block(), op.location), op.parent
        consume(made, ring.pipeline.result, ring.iterator, Block(), [])
        waits = made.block.ops[-1]
        release_of(waits).attributes["last"] = not ring.implied
        imply(waits, nv_tileas.ConsumerRelease, ring.implied)
        ring.sites[0][waits] = stage_alone(waits, made)
        assert block is not None
        place(made, block.ops[block.ops.index(op) + 1])

    def hand_on(self, mark: Op, turn: Handover) -> None:
        """Allow products of the next loop; behind a barrier where several warps share rows, of which one may write what
        another one has read.
        """
        made = Builder(Block(), mark.location)
        if self.warps // self.groups > WARPS:
            made.add(nv_tileas.Barrier, types=(), publishes=False)
        filled = produce(made, turn.pipeline.result, turn.iterator, lambda _: None)
        imply(filled, nv_tileas.ProducerAcquire, turn.implied)
        turn.sites[0][filled] = stage_alone(filled, made)
        place(made, mark)
        assert mark.parent is not None
        mark.parent.ops.remove(mark)

    def write(self, dot: nv_tileas.TensorDot, ring: Handover) -> None:
        """Fill a stage with what threads write for a product."""
        block = dot.parent
        assert block is not None
        moved = [op for op in self.feeds(dot) if self.correction is None or op not in self.correction.factors]
        for op in moved:
            assert op.parent is not None
            op.parent.ops.remove(op)
        made = Builder(Block(), dot.location)

        def write(inside: Builder) -> None:
            for op in moved:
                inside.block.append(op)

        filled = produce(made, ring.pipeline.result, ring.iterator, write)
        imply(filled, nv_tileas.ProducerAcquire, ring.implied)
        ring.sites[0][filled] = stage_alone(filled, made)
        place(made, dot)

    def load(self, op: nv_tileas.TensorLoad) -> None:
        """Threads load a sum that the agent has filled."""
        block, ring, read = op.parent, self.read[op.d], Block()
        assert block is not None
        op.attributes["waited"] = True
        made, at = Builder(Block(), op.location), block.ops.index(op)
        read.append(op)
        (tile,) = consume(made, ring.pipeline.result, ring.iterator, read, [op.result])
        reader = made.block.ops[-1]
        imply(reader, nv_tileas.ConsumerRelease, ring.implied)
        ring.sites[0][reader] = stage_alone(reader, made)
        inside = {each for top in made.block.ops for each in top.walk()}
        replace(self.consumer, {op.result: tile}, inside)
        block.ops[at : at + 1] = adopted(made.block, block)

    def load_after_loop(self, load: nv_tileas.TensorLoad) -> None:
        """Threads load a sum after its loop when all products are complete, as they are after all loops and
        branches.
        """
        if load.parent is self.consumer:
            return
        ring, made = self.fed[load.d], Builder(Block(), load.location)
        drained = made.add(nv_tileas.Drain, ring.pipeline.result, ring.iterator, types=[nv_tileas.IteratorType(1)])
        ring.sites[0][drained] = Site([1], [drained.result])
        place(made, load)


class Beginner(Producer):
    """Builds the code of an agent out of the consumers', before that changes."""

    def __init__(self, products: Products, skeletons: Slice):
        agents = products.agents
        super().__init__(skeletons, [], {}, {}, agents.zero, agents.map_number)
        self.products, self.location = products, agents.common.location
        for handover in products.handovers:
            handover.sites.append({})
        for ring in products.rings.values():
            ring.readers.append({})

    def build(self) -> Block:
        """All of it."""
        block = Block()
        b = Builder(block, self.location)
        self.block(self.products.consumer.ops, b)
        self.tell(self.products.ends[None], b)
        prune(partial(nested, block))
        return block

    def block(self, ops: Sequence[Op], b: Builder) -> None:
        """What is needed of a block."""
        for op in ops:
            b.location = op.location
            if op in self.products.turns:
                self.await_turn(self.products.turns[op], b)
            elif isinstance(op, nv_tileas.ConsumeOne):
                self.consume(op, b)
            elif isinstance(op, nv_tileas.TensorDot):
                self.dot(op, b)
            elif is_view(op):
                made = b.add(
                    type(op),
                    *self.known(op.operands),
                    types=[op.results[0].type],
                    segments=op.segments,
                    **op.attributes,
                )
                self.values[op.results[0]] = made.results[0]
            else:
                super().block([op], b)
            if op in self.products.ends:
                self.tell(self.products.ends[op], b)

    def tell(self, end: Handover, b: Builder) -> None:
        """Signal the end of all issued products."""
        made = produce(b, end.pipeline.result, end.iterator, lambda _: None)
        imply(made, nv_tileas.ProducerAcquire, end.implied)
        end.sites[-1][made] = stage_alone(made, b)

    def await_turn(self, turn: Handover, b: Builder) -> None:
        """Wait until all have read the results of the last loop."""
        consume(b, turn.pipeline.result, turn.iterator, Block(), [])
        made = b.block.ops[-1]
        release_of(made).attributes["last"] = not turn.implied
        imply(made, nv_tileas.ConsumerRelease, turn.implied)
        turn.sites[-1][made] = stage_alone(made, b)

    def consume(self, op: nv_tileas.ConsumeOne, b: Builder) -> None:
        """Wait for a stage, emit its readers, release it when the products are complete; then the following code."""
        ring, reading = self.products.rings[op.pipeline], read_of(op)
        ops = reading.ops[:-1]
        iterator = self.values[op.iterator] = unknown(op.pipeline, ring.memory.stages)
        end, read = 1 + last_use(ops), Block()
        self.block(ops[:end], Builder(read, op.location))
        consume(b, op.pipeline, iterator, read, [])
        made = b.block.ops[-1]
        if innermost(op) is None and len(ring.alone) + len(ring.runs) == 1:
            release_of(made).attributes["last"] = True
        ring.readers[-1][made] = stage_alone(made, b)
        self.block(ops[end:], b)

    def dot(self, op: nv_tileas.TensorDot, b: Builder) -> None:
        """A product, after threads have written its operands, for its readers."""
        read, fed = self.products.read.get(op.d), self.products.fed.get(op.d)
        if fed is None:
            self.drain(op, b)
            self.begin_product(op, read, b)
            return
        iterator, inside = fed.iterator, Block()
        self.begin_product(op, read, Builder(inside, op.location))
        consume(b, fed.pipeline.result, iterator, inside, [])
        made = b.block.ops[-1]
        release_of(made).attributes["implied"] = fed.implied and fed not in self.products.drained()
        fed.sites[-1][made] = stage_alone(made, b)

    def begin_product(self, op: nv_tileas.TensorDot, ring: Handover | None, b: Builder) -> None:
        """The product; if threads read it, it fills a stage."""

        def write(inside: Builder) -> None:
            operands = [self.known([v])[0] if isinstance(v.type, TensorType) else v for v in op.operands]
            if op.adds is not None and op.adds.op is not None:
                again = op.adds.op
                operands[3] = inside.value(
                    type(again), *self.known(again.operands), types=[op.adds.type], **again.attributes
                )
            inside.add(nv_tileas.TensorDot, *operands, types=(), segments=op.segments, atom=op.atom, negated=op.negated)

        if ring is None:
            write(b)
            return
        made = produce(b, ring.pipeline.result, ring.iterator, write)
        imply(made, nv_tileas.ProducerAcquire, ring.implied)
        ring.sites[-1][made] = stage_alone(made, b)

    def drain(self, op: nv_tileas.TensorDot, b: Builder) -> None:
        """Wait for products whose left factors are in the place of this one."""
        for ring in self.products.over(op.d):
            drained = b.add(nv_tileas.Drain, ring.pipeline.result, ring.iterator, types=[nv_tileas.IteratorType(1)])
            ring.sites[-1][drained] = Site([1], [drained.result])
