"""Policies of the L2 cache for loads: what one tile block reads once makes room first for what many read.

No cost decides this: how long lines live in the L2 cache depends on what else runs on the device, which no model here
says; a policy costs one instruction a thread, and none a load. It is given by reuse alone, and only where a kernel has
something to protect: another array of which several tile blocks read the same tile. cp.async carries none yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from egraph.encode import EncodedProgram
from egraph.saturate import Saturated
from ir.core import Block, Op, Value
from ir.dialects import cuda_tile as ct
from lowering.atoms.forbidden import forbidden

EVICT_FIRST = "evict_first"
NAME = "l2.evict_first"  # by which it can be forbidden
AXES = 3
COMMON = (ct.Constant, ct.GetNumTileBlocks, ct.GetIndexSpaceShape, ct.GetTensorShape)
ARITHMETIC = (ct.ExtI, ct.TruncI, ct.Assume, ct.AddI, ct.SubI, ct.MulI)


@dataclass(frozen=True)
class Reach:
    """What an index counts: axes of the grid whose tile blocks have different ones, loops whose iterations do."""

    axes: frozenset[int] = frozenset()
    loops: frozenset[Op] = frozenset()

    def __or__(self, other: Reach) -> Reach:
        return Reach(self.axes | other.axes, self.loops | other.loops)


@dataclass
class Indices:
    """The reach of indices, each found once."""

    known: dict[Value, Reach | None] = field(default_factory=dict[Value, "Reach | None"])

    def of(self, value: Value) -> Reach | None:
        """Of a multiple of one block id or counter plus what all tile blocks have in common; None of others."""
        if value not in self.known:
            self.known[value] = None
            self.known[value] = self._found(value)
        return self.known[value]

    def _found(self, value: Value) -> Reach | None:
        op = value.owner
        if isinstance(op, Block):
            return self._argument(value, op)
        if isinstance(op, ct.GetTileBlockId):
            return Reach(frozenset((op.results.index(value),)))
        if isinstance(op, COMMON):
            return Reach()
        if not isinstance(op, ARITHMETIC):
            return None
        parts = [self.of(each) for each in op.operands]
        found = [part for part in parts if part is not None]
        moving = [part for part in found if part != Reach()]
        return sum_of(found) if len(found) == len(parts) and len(moving) <= 1 else None

    def _argument(self, value: Value, block: Block) -> Reach | None:
        loop = block.parent_op
        if isinstance(loop, ct.Entry):
            return Reach()
        if not isinstance(loop, ct.For) or value is not block.args[0]:
            return None
        start, step = self.of(loop.lower_bound), loop.step.owner
        if start is None or start.loops:
            return None
        if start.axes:  # each tile block begins at its own number and goes on by the number of all
            strided = isinstance(step, ct.GetNumTileBlocks) and start.axes == frozenset(
                (step.results.index(loop.step),)
            )
            return Reach(start.axes, frozenset((loop,))) if strided else None
        return Reach(frozenset(), frozenset((loop,)))


def sum_of(parts: list[Reach]) -> Reach:
    """All that the parts count."""
    found = Reach()
    for part in parts:
        found |= part
    return found


def streamed(program: EncodedProgram) -> list[Value]:
    """Tiles of views that one tile block of all reads, once, in a kernel where several read one of another view."""
    loads = list(dict.fromkeys(op for op in program.source.values() if isinstance(op, ct.LoadView)))
    everything = list(program.entry.walk())
    used = {value for op in everything for value in op.operands}
    ids = [op for op in everything if isinstance(op, ct.GetTileBlockId)]
    grid = frozenset(axis for op in ids for axis in range(AXES) if op.results[axis] in used)
    stored = {base(op.view) for op in everything if isinstance(op, ct.StoreView | ct.AtomicRedView)}
    indices, shared, found = Indices(), False, list[Value]()
    for op in loads:
        parts = [part for index in op.index if (part := indices.of(index)) is not None]
        if len(parts) < len(op.index):
            continue
        reach = sum_of(parts)
        shared = shared or not grid <= reach.axes
        array = base(op.view)
        once = sum(base(each.view) is array for each in loads) == 1 and array not in stored
        if once and grid <= reach.axes and enclosing(op) <= reach.loops:
            found.append(op.results[0])
    return found if shared and grid else []


def base(view: Value) -> Value:
    """The pointer behind a view, without promises."""
    while isinstance(view.owner, ct.MakePartitionView | ct.MakeTensorView | ct.Assume | ct.MakeStridedView):
        view = view.owner.operands[0]
    return view


def enclosing(op: Op) -> frozenset[Op]:
    """The loops around an operation."""
    found: set[Op] = set()
    above = op.parent.parent_op if op.parent else None
    while above is not None:
        if isinstance(above, ct.For | ct.Loop):
            found.add(above)
        above = above.parent.parent_op if above.parent else None
    return frozenset(found)


def streamed_classes(saturated: Saturated, forbid: Set[str]) -> Mapping[int, str]:
    """Value classes of loads with a policy, and which."""
    if forbidden(NAME, forbid):
        return {}
    program = saturated.program
    return {saturated.frozen.class_of(program.number_of(value)): EVICT_FIRST for value in streamed(program)}
