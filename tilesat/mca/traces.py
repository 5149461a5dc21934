"""The loops of assembled code as traces: the warps that share a scheduler, and the units that they take."""

from __future__ import annotations

from collections.abc import Iterator

from lowering.targets import Target
from tilesat.mca import units
from tilesat.mca.flow import Loop, loops
from tilesat.mca.listing import functions
from tilesat.mca.timing import Issued, steady
from viz.trace import Process, Slice, Track

ITERATIONS = 3
"""That are drawn, of the steady state."""


def processes(listing: str, target: Target, warps: int = 1) -> Iterator[Process]:
    """A process a loop of a disassembly (`nvdisasm -c -hex`). Raises TileError where there is no code."""
    for function in functions(listing):
        for loop in loops(function):
            name = f"{function.name}, loop at 0x{loop.address:x} for {target.name}"
            yield Process(name, list(tracks(loop, target, warps)))


def tracks(loop: Loop, target: Target, warps: int = 1) -> Iterator[Track]:
    """When instructions of each warp are issued, what each unit does, and how long results are under way."""
    issued = steady(loop.path, target, ITERATIONS, warps)
    for warp in range(warps):
        own = [each for each in issued if each.warp == warp]
        following = [each.at for each in own[1:]] + [own[-1].at + max(1, own[-1].instruction.stall)]
        issue = [_slice(each, each.at, end - each.at) for each, end in zip(own, following, strict=True)]
        yield Track(f"issue of {'one warp' if warps == 1 else f'warp {warp}'}, stalls included", issue)
    for unit in dict.fromkeys(units.unit(each.instruction.opcode) for each in issued):
        busy = [_slice(each, each.begins, each.taken) for each in issued if units.unit(each.instruction.opcode) == unit]
        if unit and any(each.cycles for each in busy):
            yield Track(unit, [each for each in busy if each.cycles])
    waits = [_slice(each, each.at, each.ready - each.at) for each in issued if each.ready is not None]
    if waits:
        yield Track("results in flight", waits)


def _slice(each: Issued, start: float, cycles: float) -> Slice:
    code = each.instruction
    notes = {
        "warp": each.warp,
        "address": f"0x{code.address:x}",
        "instruction": str(code),
        "iteration": each.iteration,
        "stall": code.stall,
    }
    waits = {"waits for barriers": sorted(code.waits)} if code.waits else {}
    return Slice(code.opcode, start, cycles, notes | waits)
