"""The agents of a kernel, and what an iteration of all of them takes together.

An agent brings tiles, or begins products in tensor memory, each by one warp, or it computes. Loops that do the same of
these are of one agent where control flow leads from one to the other, else of several (a comparison with the number of
a warp stands before each agent's code, so control flow leads from agent to agent too). Sides of a branch, one of which
runs, are taken for one agent where they are about as long; agents with the same code twice are not told from these.
All run at the same time and go round in step, as rings keep them: an iteration of each takes as long as the slowest
one, or as the busiest unit of the SM, which all share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lowering.targets import Target
from tilesat.mca.flow import Block, Loop, blocks
from tilesat.mca.timing import FULL, Timing, by_one_warp, timing

STEADY = 0.5
"""What has fewer instructions than this share of an agent's longest loop is not its steady loop, an estimate."""


@dataclass(frozen=True)
class Together:
    """An iteration of every agent: its steady loop by address and cycles, in the order of the code; cycles of each unit
    for all; what all of it takes, and the unit or "the loop at 0x..." that sets it.
    """

    agents: tuple[tuple[int, float], ...]
    cycles: dict[str, float]
    predicted: float
    limit: str


def together(found: Sequence[Loop], target: Target, warps: int) -> Together | None:
    """The agents of a function with these loops, each of which has `warps` on a scheduler but for those of one warp;
    None where there is one alone, or none of one warp.
    """
    groups = agents(found)
    if len(groups) < 2 or not any(map(work, found)):
        return None
    loops = [steady(group) for group in groups]
    times = [timing(loop.path, target) for loop in loops]
    each = [time.with_warps(warps) for time in times]
    busy = shared(times, warps)
    unit = max(busy, key=lambda name: busy[name])
    slowest = max(range(len(each)), key=lambda number: each[number])
    predicted = max(each[slowest], busy[unit])
    limit = unit if busy[unit] >= FULL * predicted else f"the loop at 0x{loops[slowest].address:x}"
    return Together(
        tuple((loop.address, cycles) for loop, cycles in zip(loops, each, strict=True)), busy, predicted, limit
    )


def shared(times: Sequence[Timing], warps: int) -> dict[str, float]:
    """Cycles of each unit for all agents, on the scheduler that has a warp of each."""
    busy: dict[str, float] = {}
    for time in times:
        for unit, cycles in time.of_all(warps).items():
            busy[unit] = busy.get(unit, 0.0) + cycles
    return busy


def agents(found: Sequence[Loop]) -> list[list[Loop]]:
    """Loops by agent, in the order of the code."""
    groups: list[list[Loop]] = []
    flow = blocks(found[0].function) if found else []
    for loop in found:
        group = next((each for each in groups if any(joined(other, loop, flow) for other in each)), None)
        if group is None:
            groups.append([loop])
        else:
            group.append(loop)
    return groups


def joined(first: Loop, second: Loop, flow: Sequence[Block]) -> bool:
    """Are two loops of one agent, by the blocks of their function?"""
    if work(first) != work(second):
        return False
    return leads(first, second, flow) or leads(second, first, flow) or alike(first, second)


def alike(first: Loop, second: Loop) -> bool:
    """Do two loops do about as much of the same? So do the sides of a branch, of which one runs."""
    lengths = sorted((len(first.path), len(second.path)))
    return first.products == second.products and lengths[0] >= STEADY * lengths[1]


def work(loop: Loop) -> str:
    """What one warp does in a loop for all: "products", "copies"; "" where threads compute."""
    if not by_one_warp(loop.path):
        return ""
    return "products" if loop.products else "copies"


def leads(first: Loop, second: Loop, flow: Sequence[Block]) -> bool:
    """Does control flow lead from one loop of a function to another one?"""
    seen, rest = set(first.body), list(first.body)
    while rest:
        for to in flow[rest.pop()].follow:
            if to not in seen:
                seen.add(to)
                rest.append(to)
    return second.header in seen


def steady(group: Sequence[Loop]) -> Loop:
    """The loop that an agent is in most of the time: of those with the most products, about as long as the longest, the
    shortest, since loops are split where masks let everything pass.
    """
    most = max(loop.products for loop in group)
    candidates = [loop for loop in group if loop.products == most]
    longest = max(len(loop.path) for loop in candidates)
    return min((loop for loop in candidates if len(loop.path) >= STEADY * longest), key=lambda loop: len(loop.path))
