"""Which products are issued one iteration early: those whose loops are then predicted to be faster and still fit.

The prediction is for the chosen operations in code order (`in_order`). A thread then holds the carried and live-in
values of the loop and the sums of two iterations: no such product may cause spills.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph.skeleton import SkeletonLoop
from ir.core import Op, Value
from ir.dialects import nv_tileas, scf
from ir.records import dataclass
from ir.types import TensorType
from lowering.atoms.barrier import LEAST_REGISTERS
from lowering.layouts.elements import tile_registers
from lowering.layouts.layout import Layout
from lowering.modulo.in_order import early, in_turns, interval
from lowering.modulo.loops import Loop, loops
from lowering.schedule.rotation import Early, find
from lowering.schedule.tensor import columns_apart
from lowering.schedule.units import GROUP
from lowering.selection import Selection
from lowering.selection.resources import ADDRESSES, SAFETY, columns_of, registers
from lowering.selection.trips import trip_counts

LESS = ADDRESSES - 36
"""Fewer registers are needed in addition to such tiles if a CTA has an SM alone, because fragments take the place of
sums: with tiles of 202 of 240 registers (attention of 128 x 128 x 128) and 206 of 248 (128 x 64 x 64) ptxas 13.5 spills
none. With 174 of 232, two CTAs an SM (AttentionFMHA), it spills 64 bytes, so there `SAFETY` holds as elsewhere.
"""
TURN = 2 * 20
"""Minimum cycles of a wait and an arrival at a named barrier, an estimate: each as long as a shared memory access."""
FREE = (nv_tileas.Constant, nv_tileas.Iota, nv_tileas.Broadcast)
"""Ops whose tiles take no registers, or as many as their source."""


@dataclass(frozen=True)
class Prediction:
    """The prediction for one loop: cycles of an iteration in source order, and with its first product one iteration
    early; why it is not applied, empty if it is. turns: cycles with the warpgroups at different points of the loop,
    which named barriers enforce if they are `in_turns`.
    """

    loop: Loop
    before: float
    after: float
    why_not: str = ""
    turns: float = 0.0
    in_turns: bool = False


def predictions(selection: Selection, func: nv_tileas.Func) -> Iterator[tuple[Prediction, scf.For, Early]]:
    """A prediction for each loop of a placed kernel that has a product that can be issued early."""
    latency = float(selection.target.latency.mma)
    trips = trip_counts(selection.saturated)
    able = {number: (op, found) for number, op in placed_loops(selection, func).items() if (found := find(op))}
    for loop in loops(selection, able):
        first, (op, found) = early(loop.graph), able[loop.item.loop]
        if not first:
            continue
        before, after = (interval(loop.graph, latency, ahead) for ahead in (frozenset[int](), first))
        once = sum(loop.graph.operations[number].busy for number in first) + latency
        held, room = held_registers(op, found), room_of(selection)
        columns, most = columns_apart(func), columns_of(selection.target, max(1, selection.target.asked_ctas))
        why_not = ""
        count = trips[loop.item.loop]
        if (count - 1) * (before - after) <= once:  # the first one's product is waited for as before
            why_not = f"{count:g} iterations are too few to pay for one more product"
        elif held > room:
            why_not = f"tiles would need {held} registers per thread, at most {room} are free"
        elif columns > most:  # its accumulator is then not free for the next product's left factor
            why_not = f"it would need {columns} columns of tensor memory, at most {most} are free"
        groups = selection.warps // GROUP
        turns = in_turns(loop.graph, latency, first, groups) if groups > 1 else after
        yield Prediction(loop, before, after, why_not, turns, turns + TURN < after), op, found


def room_of(selection: Selection) -> int:
    """Registers of a thread for tiles."""
    target = selection.target
    return registers(target, selection.warps, LEAST_REGISTERS) + (-SAFETY if target.asked_ctas > 1 else LESS)


def choose(selection: Selection, func: nv_tileas.Func) -> int:
    """Mark the products of a placed kernel to issue one iteration early; returns how many."""
    chosen = [(made, found) for made, _, found in predictions(selection, func) if not made.why_not]
    for made, found in chosen:
        found.product.attributes |= {"early": True, "turns": made.in_turns}
    selection.early = frozenset(made.loop.item.loop for made, _ in chosen)
    return len(chosen)


def placed_loops(selection: Selection, func: nv_tileas.Func) -> dict[int, scf.For]:
    """The loops of a placed kernel by their numbers: it has them in the order of the program."""
    items = [
        item
        for item in selection.saturated.program.skeleton.walk()
        if isinstance(item, SkeletonLoop) and not item.again
    ]
    ops = [op for op in func.walk() if isinstance(op, scf.For)]
    return {item.loop: op for item, op in zip(items, ops, strict=True)}


def held_registers(loop: scf.For, found: Early) -> int:
    """Registers of a thread for tiles all through an iteration: what the loop carries, what it reads from outside of
    it, what stays until it has ended, the sums of this iteration and, but in tensor memory, the next one's.
    """
    body = loop.body.block
    inside = {result for op in loop.walk() for result in op.results} | set(body.args)
    outside = {v for op in body.ops for v in op.operands if v not in inside} | set(through(loop))
    held = {*body.args, *(v for v in outside if not free(v))}
    return sum(map(registers_of, held)) + (1 if found.product.read else 2) * registers_of(found.product.result)


def through(loop: Op) -> Iterator[Value]:
    """Values live across an operation, or across what encloses it."""
    block = loop.parent
    while block is not None:
        place = block.ops.index(loop)
        before = {result for op in block.ops[:place] for result in op.results}
        for op in block.ops[place + 1 :]:
            yield from (v for each in op.walk() for v in each.operands if v in before)
        above = block.parent_op
        if above is None:
            return
        loop, block = above, above.parent


def free(value: Value) -> bool:
    """Does a tile take no registers, or as many as what it is spread from?"""
    while isinstance(value.op, nv_tileas.Reshape | nv_tileas.Permute):
        value = value.op.source
    return isinstance(value.op, FREE)


def registers_of(value: Value) -> int:
    """Registers of a thread that hold a tile; one for a scalar, none for what lies in shared memory."""
    kind = value.type
    if not isinstance(kind, TensorType):
        return 1
    if not isinstance(kind.layout, Layout):
        return 0
    return tile_registers(kind.layout.n_regs, kind.element)
