"""Scalars that go with an agent from one run of an op to the next: stage and parity of a ring, parity of a channel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ir.core import Block, Op, Value
from ir.dialects import arith, scf
from ir.types import I32

LOOPS = (scf.For, scf.While)


def enclosing(op: Op) -> Iterator[scf.For | scf.While | scf.If]:
    """The loops and branches around an op, innermost first."""
    above = op.parent.parent_op if op.parent else None
    while isinstance(above, scf.For | scf.While | scf.If):
        yield above
        above = above.parent.parent_op if above.parent else None


def thread(op: Op, slots: Sequence[int], outs: Sequence[Value]) -> None:
    """Carry a state through all loops and branches around `op`: what one run leaves is what the next one takes.

    `op` takes it as the operands `slots`, which hold what it begins with: values from outside of all of them. `outs`
    are what a run leaves. What no loop repeats needs no state.
    """
    around = list(enclosing(op))
    while around and not isinstance(around[-1], LOOPS):
        around.pop()
    entering = [[op.operands[slot] for slot in slots]]
    for each in reversed(around):
        loop = not isinstance(each, scf.If)
        carried = [_argument(each, value) for value in entering[-1]] if loop else entering[-1]
        entering.append(carried)
    for slot, value in zip(slots, entering.pop(), strict=True):
        op.operands[slot] = value
    inner, left = op, list(outs)
    for each in around:
        before = entering.pop()
        for region in each.regions:
            _yield(region.block, left if region.block is inner.parent else before)
        left = [_result(each, value) for value in left]
        inner = each


def alternate(op: Op, slot: int, one: Value) -> None:
    """The parity that `op` takes as operand `slot` flips from one run to the next."""
    block = op.parent
    if block is None or not any(isinstance(each, LOOPS) for each in enclosing(op)):
        return
    flipped = arith.XOrI((op.operands[slot], one), (I32,), location=op.location)
    block.ops.insert(block.ops.index(op) + 1, flipped)
    flipped.parent = block
    thread(op, [slot], [flipped.result0])
    flipped.operands[0] = op.operands[slot]


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
