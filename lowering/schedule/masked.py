"""Which loops are split at their masks: those predicted to save more time than the added code costs, in kernels that do
not grow too much.

Time is counted in instructions that a warp issues. If loading the tiles of an iteration takes longer than its
instructions, fewer instructions save no time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Final

from ir.core import Location, Op, Value
from ir.dialects import arith, nv_tileas, scf
from ir.records import dataclass
from ir.types import TensorType
from lowering.atoms.forbidden import forbidden
from lowering.atoms.names import PEELING
from lowering.cost import UNKNOWN_TRIPS
from lowering.layouts.elements import element_bytes
from lowering.schedule.compared import length
from lowering.schedule.masks import constant
from lowering.schedule.peeling import Split, split, ways, without_masks
from lowering.schedule.readers import readers_first
from lowering.schedule.size import kernel, warp_atom, work
from lowering.targets import Target

GROWTH: Final = 0.57
"""The maximum growth of a kernel, in `size` counts: 1.40 to 1.53 times as long in the SASS of 8 attention kernels,
within 1.5 times the code of Triton and tileiras.
"""
COLD: Final = 2.0
"""Idle issue slots of a warp for each instruction executed for the first time: an estimate, for 16 bytes from the L2
cache.
"""
SEAM: Final = 50.0
"""Instructions to compute the split point of two loops and pass on carried values: 39 to 61 in the SASS of 12 attention
kernels; ptxas 13.5.
"""


@dataclass(frozen=True)
class Plan:
    """One way to split a loop: instructions of an iteration, those of them for masks, iterations, instructions added to
    the kernel; why it is not split, empty if it is.
    """

    split: Split
    length: float
    saved: float
    trips: float
    added: float
    why_not: str = ""

    @property
    def location(self) -> Location:
        """Of the loop."""
        return self.split.loop.location

    @property
    def gain(self) -> float:
        """Instructions of a warp, or slots that it has none in, that are saved in all."""
        return self.saved * max(0.0, self.trips - self.split.rest) - COLD * self.added


def plans(func: nv_tileas.Func, target: Target, forbid: Sequence[str] = ()) -> Iterator[Plan]:
    """For each loop of a scheduled kernel that could be split, the best way."""
    whole = kernel(func, target)
    left = GROWTH * whole
    for options in ways(func):
        found = [plan(each, func, target) for each in options]
        fitting = [each for each in found if each.added <= left]
        best = max(fitting or found, key=lambda each: each.gain)
        why_not = ""
        if forbidden(PEELING, forbid):
            why_not = f"{PEELING}: forbidden by the caller"
        elif best.gain <= 0:
            why_not = f"over {best.trips:g} iterations that saves less than the new code costs"
        elif not fitting:
            why_not = f"{best.added:.0f} more instructions are too many for a kernel of {whole:.0f}"
        if not why_not:
            left -= best.added
        yield Plan(best.split, best.length, best.saved, best.trips, best.added, why_not)


def peel(func: nv_tileas.Func, target: Target, forbid: Sequence[str] = ()) -> int:
    """Split the loops of a scheduled kernel in place where that pays off; returns how many."""
    made = [each for each in plans(func, target, forbid) if not each.why_not]
    for each in made:
        middle = split(each.split)
        for dot in [op for op in middle.body.block.ops if isinstance(op, nv_tileas.Dot) and op.in_flight]:
            readers_first(dot, target, func.warps)
    return len(made)


def plan(made: Split, func: nv_tileas.Func, target: Target) -> Plan:
    """What a split of a loop saves and adds."""
    loop, middle = made.loop, without_masks(made)
    before, after = length(loop, func, target), length(middle, func, target)
    slots = target.throughput.issue / func.warps  # of a warp in a cycle
    waits = brought(loop) / float(target.throughput.global_bytes) * slots - multiplied(loop, target) * slots
    saved = max(before, waits) - max(after, waits)
    added = after + (made.loops - 2) * before + SEAM * (made.loops - 1)
    return Plan(made, before, saved, trips(loop), added)


def multiplied(loop: scf.For, target: Target) -> float:
    """Cycles of the tensor cores in which the warps of their products issue nothing: those of warpgroups go on."""
    return sum(
        2.0 * work(op) / target.throughput.tensor[str(atom.dtypes[0])]
        for op in loop.walk()
        if isinstance(op, nv_tileas.Dot) and (atom := warp_atom(op)) is not None
    )


def trips(loop: scf.For) -> float:
    """Iterations, where the bounds are numbers; else an estimate, no more than there can be."""
    lower, upper, step = (constant(v) for v in (loop.lower, loop.upper, loop.step))
    if lower is not None and upper is not None and step:
        return float(max(0, -(-(upper - lower) // step)))
    return min(float(UNKNOWN_TRIPS), remainder(loop.lower, loop.upper))


def remainder(lower: Value, upper: Value) -> float:
    """What a number is at most above itself rounded down, which another is, if not 0; infinite where it is not so."""
    made = lower.op
    if not isinstance(made, arith.MulI):
        return inf
    part, size = made.lhs.op, constant(made.rhs)
    part = part.true_value.op if isinstance(part, arith.Select) and constant(part.false_value) == 0 else part
    if not isinstance(part, arith.ShRUI) or part.lhs is not upper or size is None:
        return inf
    shift = constant(part.rhs)
    return size - 1.0 if shift is not None and size == 1 << shift else inf


def brought(loop: Op) -> float:
    """Bytes of global memory that all threads of a CTA read and write in an iteration."""
    return sum(map(moved, loop.walk()))


def moved(op: Op) -> float:
    """Bytes that an operation moves to or from global memory."""
    match op:
        case nv_tileas.TiledLoad() | nv_tileas.Gather():
            return held(op.results[0])
        case nv_tileas.TiledStore() | nv_tileas.Scatter() | nv_tileas.TiledTmaStore():
            return held(op.value)
        case nv_tileas.BufferView():
            return held(op.result)  # a stage is read for each time that it is filled
        case _:
            return 0.0


def held(value: Value) -> float:
    """Bytes of a tile."""
    kind = value.type
    if not isinstance(kind, TensorType):
        return 0.0
    total = element_bytes(kind.element)
    for extent in kind.shape:
        total *= extent
    return float(total)


def explained(func: nv_tileas.Func, target: Target, forbid: Sequence[str]) -> Iterator[str]:
    """The report on the loops of a scheduled kernel with masks."""
    for number, each in enumerate(plans(func, target, forbid)):
        if not number:
            yield "masks (instructions of a warp, predicted)"
        sides = [name for name, side in (("the first", each.split.front), ("the last", each.split.back)) if side]
        less = f"{each.length - each.saved:.0f} without masks except in {' and '.join(sides)}"
        how = f"not split: {each.why_not}" if each.why_not else "split"
        yield f"  loop at {each.location}: {each.length:.0f} per iteration, {less}: {how}"
