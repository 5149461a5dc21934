"""The choice among a kernel's schedules of tile blocks."""

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
"""Schedules that are tried; *atomic* is what dynamic means if the hardware cannot hand over tiles."""

CLEARLY = 0.97  # required ratio: start-up times and waits are estimates; same value as for warps (`passes.candidates`)


def cheapest_schedule(
    entry: ct.Entry, target: Target, made: Mapping[str, Compiled], errors: Mapping[str, TileError], tile_blocks: int
) -> Compiled:
    """The cheapest schedule for a launch of `tile_blocks`, if clearly cheaper than those before it in `SCHEDULES`; with
    the cost of each, or why it is not possible.
    """
    counted, best = orders(entry, target, tile_blocks)[0], best_order(entry, target, tile_blocks)
    programs = {name: priced(each, entry) for name, each in made.items()}
    together = {name for name, each in made.items() if name != "off" and not in_turn(each)}  # as for off: no ping-pong
    waits = min((programs[name].waits for name in together), default=0.0)
    found: list[Scheduled] = []
    for name in SCHEDULES:
        if name in made:
            program = programs[name]
            if name == "off":  # extraction prices the waits of loops, including those over tile blocks
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
    """The figures of a program for the choice; a loop over tile blocks is its outermost one."""
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
    """Cycles of a tile that overlap with other warpgroups' tiles, in ping-pong."""
    return sum(each.hidden for each in made.selection.consumers if each.taken)


def overlaps(ops: list[Op], held: int) -> bool:
    """Do the steps of a tile block overlap with the threads' work on the sums of another? They do if one warp runs all
    product loops, in an agent or in another CTA.
    """
    agents = any(isinstance(op, nv_tileas.AgentSwitch) and nv_tileas.MULTIPLY in op.roles for op in ops)
    dots = [op for op in ops if isinstance(op, nv_tileas.TensorDot)]
    alone = bool(dots) and all(any(multiplies(each) for each in enclosing(op)) for op in dots)
    return alone and (agents or held > 1)


def shorter_side(known: Sequence[tuple[float, Cost]], tiles: int, busy: float) -> float:
    """Cycles of a tile block in its product loops, or those of everything else, whichever is less."""
    steps = sum(trips / tiles * cost.scalar() for trips, cost in known if trips > tiles)
    return max(0.0, min(steps, busy - steps))
