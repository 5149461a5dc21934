"""Where operations of the consumers' code are: the loops around them, their order in straight-line code, the regions in
which stages are read; and how such code is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ir.checked import checked
from ir.core import Block, Builder, Op, Value
from ir.dialects import nv_tileas, scf
from ir.types import TensorType
from lowering.layouts.shared import SharedLayout
from lowering.schedule.states import enclosing
from lowering.schedule.tensor import adopted, nested


def is_view(op: Op) -> bool:
    """Does an op name a tile in shared memory?"""
    kinds = (nv_tileas.BufferView, nv_tileas.Permute, nv_tileas.Reshape)
    kind = op.results[0].type if isinstance(op, kinds) else None
    return isinstance(kind, TensorType) and isinstance(kind.layout, SharedLayout)


def loops_around(op: Op) -> Iterator[scf.For | scf.While]:
    """The loops around an op, innermost first."""
    return (each for each in enclosing(op) if isinstance(each, scf.For | scf.While))


def main_loops(dots: Iterable[Op]) -> list[scf.For | scf.While]:
    """The loops with products that have no other such loop inside, in order."""
    found = dict.fromkeys(loop for dot in dots for loop in loops_around(dot))
    around = {each for loop in found for each in loops_around(loop)}
    return [loop for loop in found if loop not in around]


def innermost(op: Op) -> Op | None:
    """The innermost of these."""
    return next(loops_around(op), None)


def read_of(op: nv_tileas.ConsumeOne) -> Block:
    """The block that reads the stage."""
    return next(each for each in op.body.block.ops if isinstance(each, nv_tileas.ConsumerRead)).body.block


def release_of(op: Op) -> Op:
    """The op that releases the stage."""
    return next(each for each in op.regions[0].block.ops if isinstance(each, nv_tileas.ConsumerRelease))


def before(op: Op, dot: nv_tileas.TensorDot) -> bool:
    """Does an op precede a product in its block?"""
    block = dot.parent
    return block is not None and op.parent is block and block.ops.index(op) < block.ops.index(dot)


def same_run(first: Op, second: Op) -> bool:
    """Are two ops in one block, ignoring regions that read stages, in this order?"""
    path, other = list(steps_to(first)), list(steps_to(second))
    if path[-1][0] is not other[-1][0]:
        return False
    return [place for _, place in reversed(path)] < [place for _, place in reversed(other)]


def steps_to(op: Op) -> Iterator[tuple[Block, int]]:
    """The blocks around an op up to that of a loop, a branch or an agent, and its place in each."""
    block = op.parent
    while block is not None:
        yield block, block.ops.index(op)
        above = block.parent_op
        if not isinstance(above, nv_tileas.REGIONS):
            return
        op, block = above, above.parent


def kept(dot: nv_tileas.TensorDot, loads: Iterable[nv_tileas.TensorLoad]) -> bool:
    """Is a sum read only after its loop?"""
    return all(load.waited for load in loads if load.d is dot.d)


def last_use(ops: Sequence[Op]) -> int:
    """The place of the last op that names a tile of a stage, or reads one; not of those of other rings in it."""
    tiles = {op.results[0] for op in ops if isinstance(op, nv_tileas.BufferView)}
    last = -1
    for place, op in enumerate(ops):
        for each in op.walk():
            if not tiles.isdisjoint((*each.operands, *each.results)):
                last = place
                tiles.update(each.results if is_view(each) else ())
    return last


def place(made: Builder, op: Op) -> None:
    """Insert new ops before an op."""
    block = op.parent
    assert block is not None
    at = block.ops.index(op)
    block.ops[at:at] = adopted(made.block, block)


def replace(block: Block, values: dict[Value, Value], but: Iterable[Op] = ()) -> None:
    """Other values for some, in all of a block `but` some ops."""
    left = {*but}
    for op in nested(block):
        if op not in left:
            op.operands = [values.get(v, v) for v in op.operands]


def inline(op: nv_tileas.ConsumeOne, whole: Block) -> None:
    """Replace a region that reads a stage by its contents."""
    block, read = op.parent, read_of(op)
    assert block is not None
    reading = checked(read.parent_op, Op)
    inner = dict(zip(reading.results[1:], read.terminator.operands, strict=True))
    outer = dict(zip(op.results, (inner.get(v, v) for v in op.body.block.terminator.operands), strict=True))
    at, ops = block.ops.index(op), read.ops[:-1]
    block.ops[at : at + 1] = ops
    for each in ops:
        each.parent = block
    replace(whole, outer)
