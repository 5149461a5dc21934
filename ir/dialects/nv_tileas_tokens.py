"""Rules of pipelines: each stage is acquired, written and committed, waited for, read and released, once each.

    regions     a producer acquires, writes, commits; a consumer waits, reads, releases; they contain nothing else
    stages      copies into a ring's stage are in its producer's region, views of it in its consumer's
    tokens      a consumer releases each token once, in the iteration of its loop or in the next one
    iterators   one use and one step per iteration; loops and branches pass them on (a dataflow over structured code)
    depth       a ring has room for the tiles in flight and those being read
Source: the seeds' producer and consumer tokens; linear types, after Wadler (1990): such a value is used exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ir.core import Block, Op, Value
from ir.dialects import scf
from ir.dialects.nv_tileas_async import AgentSwitch, Receive, Send, TiledTmaLoad
from ir.dialects.nv_tileas_memory import AsyncGatherCopy, AsyncTiledCopy, BufferView, WriteBuffer
from ir.dialects.nv_tileas_pipeline import (
    GROUPS,
    REGIONS,
    AdvanceIter,
    ConsumeOne,
    ConsumerRead,
    ConsumerRelease,
    ConsumerWait,
    CreateIterator,
    CreateNone,
    CreatePipeline,
    Drain,
    IncIter,
    PipelineYield,
    ProduceOne,
    ProducerAcquire,
    ProducerCommit,
    ProducerWrite,
)
from ir.dialects.nv_tileas_types import CONSUMER_TOKEN, BufferType, IteratorType, PipelineType

STAGED = (BufferView, WriteBuffer, AsyncTiledCopy, AsyncGatherCopy, TiledTmaLoad)
"""Ops that use a buffer and its stage."""
TAKING = (ProduceOne, ConsumeOne, Send, Receive)
"""Ops that use an iterator, once per iteration."""
STEPS: dict[type[Op], tuple[type[Op], str]] = {
    ProducerAcquire: (ProduceOne, "produce_one"),
    ProducerWrite: (ProduceOne, "produce_one"),
    ProducerCommit: (ProduceOne, "produce_one"),
    ConsumerWait: (ConsumeOne, "consume_one"),
    ConsumerRead: (ConsumeOne, "consume_one"),
}  # fmt: skip
"""Ops that occur only in the region of another op."""
FRESH, TAKEN, MOVED = 0, 1, 2


def verify_pipelines(kernel: Op) -> None:
    """Raises VerifyError, at the operation, if a scheduled kernel uses its pipelines in any other way."""
    checker = _Checker()
    for op in kernel.walk():
        checker.look(op)
    checker.block(kernel.regions[0].block, {})
    checker.finish()


class _Checker:
    def __init__(self) -> None:
        self.uses: dict[Value, list[Op]] = {}  # of tokens
        self.tokens: list[Value] = []
        self.pipelines: list[CreatePipeline] = []
        self.users: dict[Value, set[type[Op]]] = {}  # of pipelines
        self.releases: list[ConsumerRelease] = []
        self.origin: dict[Value, Value] = {}  # for each iterator: the first one, or the argument of its loop
        self.ring: dict[Value, Value] = {}  # by origin

    # --- each operation

    def look(self, op: Op) -> None:
        """Check one op; its uses and values are recorded."""
        for value in op.operands:
            if value.type == CONSUMER_TOKEN:
                self.uses.setdefault(value, []).append(op)
        self.tokens += [value for value in op.results if value.type == CONSUMER_TOKEN]
        if isinstance(op, STAGED):
            staged(op)
        elif isinstance(op, ProduceOne):
            self.users.setdefault(op.pipeline, set()).add(ProduceOne)
            produces(op)
        elif isinstance(op, ConsumeOne):
            self.users.setdefault(op.pipeline, set()).add(ConsumeOne)
            consumes(op)
        elif isinstance(op, CreatePipeline):
            self.pipelines.append(op)
        elif isinstance(op, ConsumerRelease):
            self.releases.append(op)
        elif isinstance(op, scf.For):
            self.carries(op)
        elif type(op) in STEPS:
            kind, name = STEPS[type(op)]
            op.expect(op.parent is not None and isinstance(op.parent.parent_op, kind), "must be inside a {}", name)

    def carries(self, op: scf.For) -> None:
        """The tokens of a loop: it releases the token it was given and passes on the one it has read."""
        for place, value in enumerate(op.init):
            if value.type == CONSUMER_TOKEN:
                argument = op.body.block.args[1 + place]
                self.tokens.append(argument)
                left = op.body.block.terminator.operands[place]
                made = isinstance(left.owner, ConsumeOne) and left.owner.parent is op.body.block
                op.expect(made, "must yield the token of a stage that this iteration has read")
                op.expect(ring_of(left) is ring_of(value), "must yield the token of a stage of the same ring")

    def finish(self) -> None:
        """Tokens and rings."""
        for token in self.tokens:
            self.token(token)
        for pipeline in self.pipelines:
            for kind, name in ((ProduceOne, "producer"), (ConsumeOne, "consumer")):
                pipeline.expect(kind in self.users.get(pipeline.result, ()), "the ring has no {}", name)
        for release in self.releases:
            if release.last:
                again = any(isinstance(each, scf.For | scf.While) for each in above(release))
                release.expect(
                    not again, "the ring is used again: the next run of the enclosing loop waits for this stage"
                )

    def token(self, token: Value) -> None:
        """Used once, on every path, by an op that may use it."""
        owner = token.owner if isinstance(token.owner, Op) else token.owner.parent_op
        assert owner is not None
        uses = self.uses.get(token, [])
        what = "the loop's token" if isinstance(token.owner, Block) else "its token"
        owner.expect(
            len(uses) == 1, "{} must be used once, by what releases its stage, is used {} times", what, len(uses)
        )
        (use,) = uses
        handing = (ConsumerRead, PipelineYield, ConsumerRelease, scf.For, scf.Yield)
        use.expect(isinstance(use, handing), "cannot take a consumer's token")
        if isinstance(use, scf.Yield):
            over = use.parent is not None and isinstance(use.parent.parent_op, scf.For)
            use.expect(over, "only a counted loop may carry a consumer's token")
        held = isinstance(token.owner, Block)
        use.expect(not held or isinstance(use, ConsumerRelease), "the loop must release the stage that it was given")
        here = token.owner if isinstance(token.owner, Block) else owner.parent
        use.expect(scope(use.parent) is scope(here), "the stage must be released on every path from where it is read")

    # --- iterators: an abstract interpretation of the structured code

    def block(self, block: Block, state: dict[Value, int]) -> None:
        """Run a block on the `state` of the iterators that may be used in it, which is updated."""
        for op in block.ops:
            if isinstance(op, scf.For | scf.While):
                self.loop(op, state)
            elif isinstance(op, scf.If):
                self.branch(op, state)
            elif isinstance(op, AgentSwitch):
                for region in op.regions:
                    self.block(region.block, {})
            elif isinstance(op, CreateIterator):
                self.ring[op.result] = op.ring
                self.make(op.result, op.result, state)
            elif isinstance(op, IncIter):
                op.expect(self.known(op, op.iterator, state) == TAKEN, "advances past a stage that nothing has used")
                self.advance(op, state)
            elif isinstance(op, Drain):
                op.expect(self.known(op, op.iterator, state) == FRESH, "comes after a use of the stage of its iterator")
                op.expect(self.ring[self.origin[op.iterator]] is op.pipeline, "the iterator belongs to another ring")
                self.advance(op, state)
            elif isinstance(op, AdvanceIter):
                op.expect(self.known(op, op.iterator, state) == FRESH, "advances from a stage that has been used")
                op.expect(self.ring[self.origin[op.iterator]] is op.pipeline, "the iterator belongs to another ring")
                self.advance(op, state)
            else:
                if isinstance(op, TAKING):
                    self.take(op, op.operands[1 if isinstance(op, ProduceOne | ConsumeOne) else -1], state)
                for region in op.regions if isinstance(op, REGIONS) else ():
                    self.block(region.block, state)
                if isinstance(op, REGIONS):
                    self.inline(op, state)

    def make(self, value: Value, origin: Value, state: dict[Value, int]) -> None:
        """A fresh iterator."""
        self.origin[value] = origin
        state[value] = FRESH

    def known(self, op: Op, iterator: Value, state: dict[Value, int]) -> int:
        """The uses of an iterator so far."""
        op.expect(iterator in state, "the enclosing loop does not carry the iterator")
        op.expect(state[iterator] != MOVED, "the iterator has advanced: its stage may no longer be used")
        return state[iterator]

    def take(self, op: Op, iterator: Value, state: dict[Value, int]) -> None:
        """An iteration's use."""
        if not isinstance(iterator.type, IteratorType):
            return
        pair = isinstance(op, ConsumeOne) and by_groups(op.pipeline)
        done = self.known(op, iterator, state)
        op.expect(self.ring[self.origin[iterator]] is op.operands[0], "the iterator belongs to another ring")
        op.expect(done == FRESH or pair, "the stage of the iterator is used twice: expected inc_iter in between")
        op.expect(not isinstance(iterator.op, IncIter), "the iterator advances twice in one iteration")
        state[iterator] = TAKEN

    def advance(self, op: IncIter | AdvanceIter | Drain, state: dict[Value, int]) -> None:
        """A later stage."""
        state[op.iterator] = MOVED
        self.make(op.result, self.origin[op.iterator], state)

    def move(self, op: Op, values: Iterable[Value], state: dict[Value, int]) -> None:
        """Iterators are passed on."""
        for value in values:
            if isinstance(value.type, IteratorType):
                op.expect(self.known(op, value, state) == FRESH, "passes on an iterator before its inc_iter")
                state[value] = MOVED

    def loop(self, op: scf.For | scf.While, state: dict[Value, int]) -> None:
        """A loop, in which only its carried values may be used."""
        self.move(op, op.init, state)
        block = op.body.block
        arguments = block.args[1:] if isinstance(op, scf.For) else block.args
        inside: dict[Value, int] = {}
        for argument, first in zip(arguments, op.init, strict=True):
            if isinstance(argument.type, IteratorType):
                self.ring[argument] = self.ring[self.origin[first]]
                self.make(argument, argument, inside)
        self.block(block, inside)
        end = block.terminator
        left = end.operands[len(end.operands) - len(arguments) :]
        self.move(end, left, inside)
        for argument, value, result, first in zip(arguments, left, op.results, op.init, strict=True):
            if isinstance(argument.type, IteratorType):
                same = self.origin.get(value) is argument
                end.expect(same, "must yield the loop's own iterator, advanced or not")
                self.make(result, self.origin[first], state)

    def branch(self, op: scf.If, state: dict[Value, int]) -> None:
        """Both sides, which leave the same iterators."""
        sides: list[tuple[Op, list[Value]]] = []
        after: list[dict[Value, int]] = []
        for region in op.regions:
            inside = dict(state)
            self.block(region.block, inside)
            end = region.block.terminator
            self.move(end, end.operands, inside)
            sides.append((end, end.operands))
            after.append(inside)
        for value in state:
            state[value] = max(side[value] for side in after)
        for place, result in enumerate(op.results):
            if isinstance(result.type, IteratorType):
                (_, then), (end, otherwise) = sides
                origin = self.origin[then[place]]
                end.expect(self.origin[otherwise[place]] is origin, "both branches must yield the same iterator")
                self.make(result, origin, state)

    def inline(self, op: Op, state: dict[Value, int]) -> None:
        """Iterators that the region of a producer or a consumer yields."""
        end = op.regions[0].block.terminator
        results = op.results[len(op.results) - len(end.operands) :]
        self.move(end, end.operands, state)
        for value, result in zip(end.operands, results, strict=True):
            if isinstance(value.type, IteratorType):
                self.make(result, self.origin[value], state)


def by_groups(pipeline: Value) -> bool:
    """Whether the readers of a ring's stages also fill them."""
    return isinstance(pipeline.op, CreatePipeline) and pipeline.op.by == GROUPS


def stages_of(pipeline: Value) -> int:
    """Stages of a ring."""
    return pipeline.type.stages if isinstance(pipeline.type, PipelineType) else 0


def ring_of(token: Value) -> Value | None:
    """The ring whose stage a consumer's token refers to."""
    op = token.owner if isinstance(token.owner, Op) else token.owner.parent_op
    match op:
        case CreateNone() | ConsumerWait():
            return op.pipeline
        case scf.For():
            return ring_of(op.init[token.index - (1 if isinstance(token.owner, Block) else 0)])
        case ConsumerRead() if token.index == 0:
            return ring_of(op.waited)
        case ConsumeOne() | ConsumerRead():
            return ring_of(op.body.block.terminator.operands[token.index - len(op.results)])
        case _:
            return None


def above(op: Op) -> Iterable[Op]:
    """The ops around an op within its agent, innermost first."""
    each = op.parent.parent_op if op.parent else None
    while each is not None and not isinstance(each, AgentSwitch):
        yield each
        each = each.parent.parent_op if each.parent else None


def scope(block: Block | None) -> Block | None:
    """The block of a loop, a branch or an agent that contains a block; regions of pipelines do not count."""
    while block is not None and isinstance(block.parent_op, REGIONS):
        block = block.parent_op.parent
    return block


def around(op: Op, kind: type[Any]) -> Any:
    """The nearest op of a kind around an op, None if there is none."""
    return next((each for each in above(op) if isinstance(each, kind)), None)


def staged(op: Op) -> None:
    """A stage is written between its acquire and its commit, and read between its wait and its release."""
    buffer, place = op.operands[0].type, next((v for v in op.operands if isinstance(v.type, IteratorType)), None)
    if place is None or not isinstance(buffer, BufferType):
        return
    reads = isinstance(op, BufferView)
    step, whole = (ConsumerRead, ConsumeOne) if reads else (ProducerWrite, ProduceOne)
    region = around(op, step)
    user = None if region is None else around(region, whole)
    if user is None or user.iterator is not place:
        verb, name = ("read", "consumer_read") if reads else ("written", "producer_write")
        op.fail("the stage of an iterator may be {} only inside its {}", verb, name)
    ring = user.pipeline
    op.expect(buffer.stages == stages_of(ring), "the buffer has {} stages, the ring {}", buffer.stages, stages_of(ring))
    if isinstance(op, TiledTmaLoad):
        op.expect(op.pipeline is ring, "arrives at the barriers of another ring")


def ends(op: Op) -> list[Value]:
    """What the region of a producer or consumer yields. Raises VerifyError if it does not end in a yield."""
    end = scf.end_of(op, op.regions[0])
    op.expect(isinstance(end, PipelineYield), "must end in nv_tileas.async.pipeline.yield")
    return end.operands


def chain(op: ProduceOne | ConsumeOne, kinds: tuple[type[Op], ...], words: str) -> list[Any]:
    """The ops of a region, which are of these kinds; the first must use the op's own stage."""
    ends(op)
    ops: list[Any] = op.body.block.ops
    op.expect(tuple(map(type, ops)) == (*kinds, PipelineYield), "must {}, in this order and once each", words)
    same = ops[0].pipeline is op.pipeline and ops[0].iterator is op.iterator
    ops[0].expect(same, "must use the stage of its {}", op.info.mnemonic.rpartition(".")[2])
    stages = stages_of(op.pipeline)
    op.expect(
        op.iterator.type == IteratorType(stages), "the ring has {} stages, its iterator is {}", stages, op.iterator.type
    )
    return ops


def produces(op: ProduceOne) -> None:
    """Acquire, write, commit, in time for a ring of this depth."""
    kinds = (ProducerAcquire, ProducerWrite, ProducerCommit)
    acquire, write, commit, end = chain(op, kinds, "acquire its stage, write it, commit it")
    write.expect(write.acquired is acquire.token, "must write the stage that has been acquired")
    commit.expect(commit.written is write.token, "must commit the stage that has been written")
    handed = [value.type for value in ends(write)]
    write.expect(all(isinstance(kind, IteratorType) for kind in handed), "may yield iterators only")
    write.expect([r.type for r in write.results[1:]] == handed, "the results must be the token and what it yields")
    op.expect([r.type for r in op.results] == [v.type for v in end.operands], "the results must be what it yields")
    groups, stages = by_groups(op.pipeline), stages_of(op.pipeline)
    op.expect(groups == (op.ahead > 0), "must fill stages ahead of its loop exactly when the ring is filled by groups")
    op.expect(
        op.ahead < stages,
        "a ring that is filled {} iterations ahead needs {} stages, has {}",
        op.ahead,
        op.ahead + 1,
        stages,
    )
    if groups:
        loop = op.parent.parent_op if op.parent else None
        op.expect(isinstance(loop, scf.For), "a ring filled by groups needs a counted loop")
        assert isinstance(loop, scf.For)
        block = loop.body.block
        carried = op.iterator.owner is block
        first = carried and isinstance(loop.init[op.iterator.index - 1].op, CreateIterator)
        op.expect(first, "a ring filled by groups starts with its loop, which must carry the ring's first iterator")
        known_ahead(write, block, op.iterator)


def known_ahead(write: ProducerWrite, loop: Block, iterator: Value) -> None:
    """Copies ahead of their iteration depend on the loop's counter and on nothing else in the loop."""
    inside = {result for op in write.walk() for result in op.results}
    outside = {loop.args[0], iterator}
    for op in write.body.block.ops:
        for value in op.operands:
            block = value.owner if isinstance(value.owner, Block) else value.owner.parent
            known = value in inside or value in outside or not within(block, loop)
            op.expect(known, "a copy issued ahead may depend on no value of the loop but its counter")
        if isinstance(op, STAGED):
            plain = isinstance(op, AsyncTiledCopy | AsyncGatherCopy) and op.enable is None
            op.expect(plain, "a ring filled by groups needs unconditional copies by threads")


def within(block: Block | None, outer: Block) -> bool:
    """Whether a block is, or is inside, another one."""
    while block is not None and block is not outer:
        above = block.parent_op
        block = above.parent if above is not None else None
    return block is outer


def consumes(op: ConsumeOne) -> None:
    """Wait, read, release, with room for what is still being read of the previous iteration."""
    kinds = (ConsumerWait, ConsumerRead, ConsumerRelease)
    wait, read, release, end = chain(op, kinds, "wait for its stage, read it, release it or the one before")
    read.expect(read.waited is wait.token, "must read the stage that has been waited for")
    inside = [CONSUMER_TOKEN, *(value.type for value in ends(read))]
    read.expect([r.type for r in read.results] == inside, "the results must be the token and what the region yields")
    op.expect([r.type for r in op.results] == [v.type for v in end.operands], "the results must be what it yields")
    own = release.read is read.results[0]
    if not own:
        carried = isinstance(release.read.owner, Block) and isinstance(release.read.owner.parent_op, scf.For)
        release.expect(carried, "must release the stage that has been read, or the one that the loop carries")
        release.expect(ring_of(release.read) is op.pipeline, "must release a stage of its own ring")
        release.expect(
            stages_of(op.pipeline) > 1, "a ring whose stages are read for two iterations needs 2 stages, has 1"
        )
        release.expect(not by_groups(op.pipeline), "the barrier of the next iteration releases a ring filled by groups")
