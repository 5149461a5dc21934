"""Which of a kernel's programs is kept, where the way to go through tile blocks is a choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import cast

from ir.core import Op, TileError
from ir.dialects import cuda_tile as ct
from ir.dialects import llvm, nv_tileas
from lowering.compiled import Compiled
from lowering.cost import UNKNOWN_TRIPS, Cost
from lowering.persistence.order import best_order, orders
from lowering.persistence.price import PricedProgram, Scheduled, scheduled, uneven
from lowering.ptx.grant import resident
from lowering.schedule.states import enclosing
from lowering.schedule.tensor import multiplies
from lowering.targets import Target

SCHEDULES = ("off", "static", "dynamic")
"""That are tried; *atomic* is dynamic where the hardware does not hand over tiles."""

CLEARLY = 0.97  # as much less: starts and waits are estimates; that of the choice of warps (`passes.candidates`)


def cheapest_schedule(
    entry: ct.Entry, target: Target, made: Mapping[str, Compiled], errors: Mapping[str, TileError], tile_blocks: int
) -> Compiled:
    """What costs least for a launch of `tile_blocks`, and clearly less than those before it in `SCHEDULES`; with what
    each costs, or why there is none.
    """
    counted, best = orders(entry, target, tile_blocks)[0], best_order(entry, target, tile_blocks)
    programs = {name: priced(each, entry) for name, each in made.items()}
    together = {name for name, each in made.items() if name != "off" and not in_turn(each)}  # as off: no tiles in turn
    waits = min((programs[name].waits for name in together), default=0.0)
    found: list[Scheduled] = []
    for name in SCHEDULES:
        if name in made:
            program = programs[name]
            if name == "off":  # extraction prices what loops wait for: those over tile blocks too
                program = replace(program, waits=max(waits, program.waits))
            order = best if made[name].selection.orders else counted
            found.append(scheduled(name, program, order, target, tile_blocks, uneven(entry)))
        elif name in errors:
            found.append(Scheduled(name, reason=errors[name].message))
    best = found[0]
    for each in found:
        best = each if each.total < CLEARLY * best.total else best
    made[best.schedule].selection.schedules = tuple(replace(each, taken=each is best) for each in found)
    return made[best.schedule]


def priced(made: Compiled, entry: ct.Entry) -> PricedProgram:
    """What counts of a program for the choice; where it has a loop over tile blocks, that is the outermost."""
    func, found = cast(llvm.Func, made.modules["nvvm"]), made.selection
    tiles = 1 if made.persistent == "off" else UNKNOWN_TRIPS
    known = [found.priced[node] for node in found.answer.chosen.values() if node in found.priced]
    waits = sum(cost.latency for trips, cost in known if trips == tiles)
    saves = min((each.total, each.saves) for each in found.clusters)[1] if found.clusters else 0.0
    rings = any(isinstance(op, ct.For) for op in entry.walk())
    scheduled, count = [*made.modules["nv_tileas"].walk()], resident(func).count
    ahead = any(isinstance(op, nv_tileas.AgentSwitch) for op in scheduled) or not rings
    busy = (made.cost - saves) / tiles - waits
    beside = shorter_side(known, tiles, busy) if overlaps(scheduled, count) else in_turn(made)
    return PricedProgram(busy, waits, prod(func.cluster), count, ahead, beside)


def in_turn(made: Compiled) -> float:
    """Cycles of a tile that pass while warpgroups compute others, where they take tiles in turn."""
    return sum(each.hidden for each in made.selection.consumers if each.taken)


def overlaps(ops: list[Op], held: int) -> bool:
    """Do the steps of a tile block run beside what the threads do with the sums of another? Where one warp runs all
    loops of products, be it an agent or that of another CTA.
    """
    agents = any(isinstance(op, nv_tileas.AgentSwitch) and nv_tileas.MULTIPLY in op.roles for op in ops)
    dots = [op for op in ops if isinstance(op, nv_tileas.TensorDot)]
    alone = bool(dots) and all(any(multiplies(each) for each in enclosing(op)) for op in dots)
    return alone and (agents or held > 1)


def shorter_side(known: Sequence[tuple[float, Cost]], tiles: int, busy: float) -> float:
    """Cycles of a tile block in the loops of its steps, or those of all else, whichever are fewer."""
    steps = sum(trips / tiles * cost.scalar() for trips, cost in known if trips > tiles)
    return max(0.0, min(steps, busy - steps))
