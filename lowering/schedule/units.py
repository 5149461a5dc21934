"""Execution units: the warps of a CTA assigned to each agent.

    demand    how many warps an agent's code is written for, read off its layouts (`propagate`)
    mapping   agents of whole warpgroups first; each begins at a multiple of its group; small agents fill the holes that
              this leaves; the CTA is padded to whole warpgroups, since setmaxnreg acts on them
An agent whose warp count is a power of two starts at a multiple of it, so the low bits of a thread number are its
number within the agent. Source: the seeds' OptimizeExecutionUnitMapping and PropagateExecutionUnit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ir.core import Block, Location, Op, TileError
from ir.dialects import nv_tileas
from ir.records import dataclass
from ir.types import TensorType
from lowering.atoms.wgmma import WARPGROUP
from lowering.layouts.layout import Layout
from lowering.schedule.rings import align
from lowering.targets import Target
from lowering.targets.target import WARP

GROUP = WARPGROUP // WARP  # warps of a warpgroup, which setmaxnreg acts on; PTX ISA, setmaxnreg


@dataclass(frozen=True)
class Demand:
    """An agent asks for `num_warps` warps, the first of which has a number that is a multiple of `group`."""

    num_warps: int
    group: int


@dataclass(frozen=True)
class Units:
    """Warps of each agent: how many, the first, and how many lie between it and the next agent's first.

    The strides of all agents add up to the warps of the CTA.
    """

    num_warps: tuple[int, ...]
    warp_id: tuple[int, ...]
    agent_strides: tuple[int, ...]

    @property
    def total(self) -> int:
        """Warps of the CTA, idle ones included."""
        return sum(self.agent_strides)


def demand(block: Block, groups: int = 1) -> Demand:
    """What an agent's code asks for, run by so many groups of warps: one warp where nothing in it is spread over warps.

    Raises TileError, located, if the code is written for different numbers of warps.
    """
    warps = propagate(block) or 1
    return Demand(groups * warps, warps)


def propagate(block: Block) -> int | None:
    """Warps that all code of a block, loops and branches included, is written for; None where any number will do."""
    found: int | None = None
    for op in block.ops:
        inner = (propagate(each) for region in op.regions for each in region.blocks)
        for warps in (*spread(op), *inner):
            if warps is not None and found is not None and warps != found:
                raise TileError(
                    "inconsistent numWarps in the agent switch, maybe it is called in different agents with different "
                    f"numWarps: '{op.name}' is for {warps} warps, what precedes it for {found}",
                    op.location,
                    "place all tiles of an agent in layouts of its own warps",
                )
            found = found or warps
    return found


def spread(op: Op) -> Iterator[int]:
    """Warps of the layouts that an op itself has: of its tiles, and of the threads that copy."""
    types = (value.type for value in (*op.operands, *op.results))
    layouts = [kind.layout for kind in types if isinstance(kind, TensorType)]
    if isinstance(op, nv_tileas.AsyncTiledCopy):
        layouts.append(op.threads)
    # one element is the same in every thread, however many there are
    yield from (layout.n_warps for layout in layouts if isinstance(layout, Layout) and layout.size > 1)


def side_by_side(demands: Sequence[Demand]) -> Units:
    """As many warps as are asked for, each agent behind the one before, before `map_agents` aligns them."""
    counts = tuple(each.num_warps for each in demands)
    return Units(counts, tuple(sum(counts[:i]) for i in range(len(counts))), counts)


def map_agents(func: nv_tileas.Func, target: Target) -> nv_tileas.Func:
    """Give the agents of a kernel their warps, in place. Raises TileError, located, as `demand` and `map_units` do."""
    for op in func.walk():
        if isinstance(op, nv_tileas.AgentSwitch):
            units = map_units(
                [demand(region.block, op.groups_of(agent)) for agent, region in enumerate(op.regions)],
                target,
                op.location,
            )
            op.attributes |= {
                "num_warps": units.num_warps,
                "warp_id": units.warp_id,
                "agent_strides": units.agent_strides,
            }
    return func


def map_units(demands: Sequence[Demand], target: Target, location: Location) -> Units:
    """First warps for the agents, in the order of `demands`. Raises TileError, located, where a CTA is too small."""
    first: dict[int, int] = {}
    holes: list[tuple[int, int]] = []
    cursor = 0
    for agent in sorted(range(len(demands)), key=lambda i: demands[i].num_warps % GROUP != 0):
        asked = demands[agent]
        hole = next((h for h in holes if align(h[0], asked.group) + asked.num_warps <= h[1]), None)
        if hole is None:
            hole = (cursor, align(cursor, asked.group) + asked.num_warps)
            cursor = hole[1]
        else:
            holes.remove(hole)
        first[agent] = align(hole[0], asked.group)
        left = [(hole[0], first[agent]), (first[agent] + asked.num_warps, hole[1])]
        holes = sorted([*holes, *((begin, end) for begin, end in left if begin < end)])
    total = align(cursor, GROUP)
    if WARP * total > target.threads_per_cta:
        raise TileError(
            f"the agents need {total} warps, {target.name} has {int(target.threads_per_cta) // WARP} per block",
            location,
            "use smaller tiles",
        )
    ends = [*sorted(first.values()), total]
    strides = {begin: end - begin for begin, end in pairwise(ends)}
    agents = range(len(demands))
    return Units(
        tuple(d.num_warps for d in demands), tuple(first[i] for i in agents), tuple(strides[first[i]] for i in agents)
    )
