"""State that an agent carries from one run of an op to the next: iterators of rings and channels, stages of buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from ir.core import Block, Builder, Op, Value
from ir.dialects import arith, nv_tileas, scf
from ir.records import dataclass
from ir.types import I32

LOOPS = (scf.For, scf.While)


class Numbers:
    """What states begin with and go on by: constants in `common`, which is built before agents part."""

    common: Builder

    @cached_property
    def zero(self) -> Value:
        """What states begin with."""
        return self.common.value(arith.Constant, types=[I32], value=0)

    def other(self, stage: Value) -> Op:
        """The other one of two stages."""
        return arith.XOrI((stage, self.one), (I32,))

    @cached_property
    def one(self) -> Value:
        """What the stage of two buffers is flipped by."""
        return self.common.value(arith.Constant, types=[I32], value=1)


def enclosing(op: Op) -> Iterator[scf.For | scf.While | scf.If]:
    """The loops and branches around an op, innermost first."""
    return (each for each in around(op) if isinstance(each, scf.For | scf.While | scf.If))


def around(op: Op) -> Iterator[Op]:
    """The ops of an agent around an op, innermost first: loops, branches, regions of producers and consumers."""
    above = op.parent.parent_op if op.parent else None
    while isinstance(above, (scf.For, scf.While, scf.If, *nv_tileas.REGIONS)):
        yield above
        above = above.parent.parent_op if above.parent else None


@dataclass(frozen=True)
class Site:
    """An op that takes a state as the operands `slots`, and what it leaves of it; `users` take the same values."""

    slots: Sequence[int]
    left: Sequence[Value]
    users: Sequence[Op] = ()


def thread(sites: Mapping[Op, Site], begin: Sequence[Value]) -> None:
    """Carry a state through all code around some ops: what one of them leaves is what the next one takes, in the order
    in which they run. The first takes `begin`, values from outside of all of it. What no loop repeats and no other op
    takes leaves nothing.
    """
    _Threading(sites).block(outermost(next(iter(sites))), list(begin), wanted=False)


class _Threading:
    def __init__(self, sites: Mapping[Op, Site]):
        self.sites = sites
        self.around = {each for op in sites for each in around(op)}

    def block(self, block: Block, state: list[Value], wanted: bool) -> list[Value]:
        """The state behind a block; `wanted`: something takes it there."""
        ops = [op for op in block.ops if op in self.sites or op in self.around]
        for op in ops:
            site = self.sites.get(op)
            if site is None:
                state = self.through(op, state, wanted or op is not ops[-1])
            else:
                for slot, value in zip(site.slots, state, strict=True):
                    before, op.operands[slot] = op.operands[slot], value
                    for each in site.users:
                        each.operands = [value if v is before else v for v in each.operands]
                state = list(site.left)
        return state

    def through(self, op: Op, state: list[Value], wanted: bool) -> list[Value]:
        """The state behind a loop, which carries it, behind a branch, or behind a region that yields it."""
        loop = isinstance(op, LOOPS)
        inner = [_argument(op, value) for value in state] if loop else state
        for region in op.regions:
            left = self.block(region.block, inner, wanted or loop)
            if wanted or loop:
                _yield(region.block, left)
        return [_result(op, value) for value in state] if wanted or loop else state


def outermost(op: Op) -> Block:
    """The block that holds all code around an op."""
    block = (list(around(op)) or [op])[-1].parent
    if block is None:
        raise TypeError(f"{op} is in no block")
    return block


def alternate(op: Op, slot: int, following: Callable[[Value], Op]) -> None:
    """What `op` takes as operand `slot` goes on from one run to the next: `following` makes the op that gives it."""
    block = op.parent
    if block is None or not any(isinstance(each, LOOPS) for each in enclosing(op)):
        return
    step = following(op.operands[slot])
    step.location = op.location
    block.ops.insert(block.ops.index(op) + 1, step)
    step.parent = block
    thread({op: Site([slot], [step.result0])}, [op.operands[slot]])
    step.operands[0] = op.operands[slot]


def _argument(loop: Op, value: Value) -> Value:
    """A further value that a loop carries, `value` at first."""
    block = loop.regions[0].block
    block.args.append(Value(value.type, block, len(block.args)))
    loop.operands.append(value)
    loop.segments = (*loop.segments[:-1], loop.segments[-1] + 1)
    return block.args[-1]


def _yield(block: Block, values: Sequence[Value]) -> None:
    """Further values at a block's end."""
    end = block.terminator
    end.operands += values
    end.segments = (*end.segments[:-1], end.segments[-1] + len(values))


def _result(op: Op, like: Value) -> Value:
    """A further result."""
    op.results.append(Value(like.type, op, len(op.results)))
    return op.results[-1]
