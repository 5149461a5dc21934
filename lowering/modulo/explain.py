"""Schedules as text: the interval with its bounds, where each operation starts, and the reservation table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from string import ascii_lowercase, ascii_uppercase

from egraph.skeleton import SkeletonEffect, SkeletonLoop
from ir.dialects.nv_tileas_cluster import Exchange, Meet
from lowering.atoms.names import BELOW
from lowering.decode import decode
from lowering.modulo.ahead import Prediction, choose, predictions
from lowering.modulo.assignment import Assigned, assign, assignments, shortest
from lowering.modulo.graph import Schedule
from lowering.modulo.loops import loops
from lowering.modulo.powers import choose_powers, powers_of
from lowering.modulo.search import Found, search
from lowering.modulo.transforming import choose_agents, transformings
from lowering.schedule import lower_pipelines, materialize
from lowering.schedule.masked import explained
from lowering.schedule.rotation import rotate
from lowering.schedule.tensor import place_accumulators
from lowering.selection import Selection

LETTERS = ascii_lowercase + ascii_uppercase
"""Of operations in the table; further ones share '#'."""
LITTLE = 0.05
"""Shares of a slot below this are not drawn."""


def schedules(selection: Selection) -> Iterator[str]:
    """How fast each innermost loop of a chosen program could go if its iterations overlapped as well as they can.

    Times are predicted by the tables of the target, not measured. The code follows these schedules only as far as
    `ahead` chose.
    """
    placed = decode(selection, selection.saturated.program.entry.sym_name)
    made = {each.loop.item.loop: each for each, _, _ in predictions(selection, placed)}
    gathered = [each for each, _ in assignments(selection, placed)]
    computed = {ways.loop.item.loop: ways for ways, _ in transformings(selection, placed)}
    producers, assigned = shortest(selection, gathered), {each.loop.item.loop: each for each in gathered}
    for number, loop in enumerate(loops(selection)):
        if not number:
            yield "loops (predicted by the target's tables: what the chosen operations allow)"
        yield f"  loop at {loop.item.op.location}: {loop.cycles:.0f} cycles per iteration without overlap"
        if loop.item.loop in made:
            yield f"    {early_product(made[loop.item.loop])}"
        if loop.item.loop in assigned:
            yield f"    {gathering(assigned[loop.item.loop], producers)}"
        if loop.item.loop in computed:
            yield f"    {computed[loop.item.loop]}"
        if meets(loop.item):
            yield "    not scheduled: CTAs of the cluster wait for each other in this loop"
            continue
        yield from (f"    {line}" for line in lines(search(loop.graph)))


def powers(selection: Selection) -> Iterator[str]:
    """The prediction for each loop by the part of its powers of two that polynomials compute."""
    placed = decode(selection, selection.saturated.program.entry.sym_name)
    yield from (str(each) for each, _ in powers_of(replace(selection, powers={}), placed))


def meets(loop: SkeletonLoop) -> bool:
    """Do the CTAs of a cluster wait for each other in a loop? With delays of hundreds of cycles the search for its
    schedule takes minutes, and the delays determine the result anyway.
    """
    return any(isinstance(item, SkeletonEffect) and isinstance(item.op, Exchange | Meet) for item in loop.body.walk())


def masks(selection: Selection) -> Iterator[str]:
    """Which loops of a chosen program are split at their masks, and why others are not."""
    placed = decode(selection, selection.saturated.program.entry.sym_name)
    choose(selection, placed)
    choose_powers(selection, placed)
    assign(selection, placed)
    choose_agents(selection, placed)
    rotate(placed, selection.target)
    place_accumulators(placed)
    names = BELOW["tileas-materialize-schedule"]
    forbidden = tuple(prefix for prefix in selection.forbid if any(name.startswith(prefix) for name in names))
    scheduled = lower_pipelines(materialize(placed, selection.target, forbid=forbidden), selection.target)
    yield from explained(scheduled, selection.target, tuple(selection.forbid))


def early_product(made: Prediction) -> str:
    """The prediction for a loop with its first product one iteration early, and whether it is applied."""
    how = "applied" if not made.why_not else f"not applied: {made.why_not}"
    turns = f"; with its warpgroups taking turns {made.turns:.0f}: {'applied' if made.in_turns else 'not applied'}"
    said = f"in source order {made.before:.0f}, with its first product one iteration early {made.after:.0f}: {how}"
    return said if made.why_not else said + turns


def gathering(found: Assigned, producers: int) -> str:
    """The prediction for each way to gather the tiles of a loop, and the chosen one."""
    taken = next(each for each in found.ways if each.producers == producers)
    return f"gathered tiles: {', '.join(map(str, found.ways))}; taken: {taken.who}"


def lines(found: Found) -> Iterator[str]:
    """The interval and its bounds, the reservation table, the operations as they start."""
    schedule, limits = found.schedule, found.bounds
    operations = schedule.graph.operations
    proof = "proved shortest" if found.proved else f"not proved: at least {found.least * found.slot:.0f}"
    yield f"an iteration begins every {found.cycles:.0f} cycles, {proof} for slots of {found.slot:.3g} cycles"
    yield f"resource bound {limits.resource:.0f}: {limits.unit}"
    if limits.cycle:
        names = " -> ".join(operations[each].name for each in limits.cycle)
        yield f"recurrence bound {limits.recurrence:.0f}: {names}"
    held = f"{schedule.registers():.0f} registers per thread hold results on average"
    yield f"{schedule.stages} iterations at a time; {held}, " + ("the fewest" if found.fewest else "not proved minimal")
    letters = dict(zip(order(schedule), LETTERS, strict=False))
    width = max(map(len, schedule.graph.units), default=0)
    for unit in schedule.graph.units:
        yield f"{unit:{width}} |{row(schedule, unit, letters)}|"
    for number in order(schedule):
        slot, behind = schedule.place(number)
        busy = ", ".join(f"{unit} {use * found.slot:.0f}" for unit, use in operations[number].uses.items())
        late = f", {behind} iteration{'s' if behind > 1 else ''} later" if behind else ""
        yield f"{letters.get(number, '#')} {operations[number].name}: from {slot * found.slot:.0f}{late}; {busy}"


def order(schedule: Schedule) -> list[int]:
    """Operations as they start in the steady state."""
    return sorted(range(len(schedule.starts)), key=lambda each: (schedule.place(each), each))


def row(schedule: Schedule, unit: str, letters: dict[int, str]) -> str:
    """A character a slot: the operation that takes most of the unit there."""
    most = [(LITTLE, ".")] * schedule.interval
    for number, each in enumerate(schedule.graph.operations):
        for slot in range(schedule.starts[number], schedule.starts[number] + each.span):
            share = each.takes(unit), letters.get(number, "#")
            if share[0] > most[slot % schedule.interval][0]:
                most[slot % schedule.interval] = share
    return "".join(letter for _, letter in most)
