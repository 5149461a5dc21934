"""The cost of a tile block as the work of a cluster, for comparing cluster sizes.

Extraction's cost is that of a CTA, in cycles of an SM. A cluster takes several SMs, or several waves on one. If more
tile blocks are launched than fill the device, all SMs are busy anyway, and the cost is cycles times CTAs; for a known
number of tile blocks it is cycles times the waves of their CTAs over the device.
"""

from __future__ import annotations

from math import ceil
from typing import cast

from egraph.placed import Copy, Mechanism
from egraph.skeleton import SkeletonLoop
from ir.core import Location
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from ir.records import dataclass
from lowering.clusters.plan import by
from lowering.selection import Selection
from lowering.selection.choices import Clustered
from lowering.selection.trips import known_trips
from lowering.slicing.cuts import Products
from lowering.targets.devices import multiprocessors

TRIPS = 3  # to memory, from the last store of a part: visibility, ticket, parts; an estimate, like latencies


@dataclass(frozen=True)
class Way:
    """The CTAs that share a tile block: dividing the tile, or `along` the K steps of its products; a cluster, or CTAs
    of the `grid`; `even`: as many as fit the device share the steps of all tile blocks. `parts` of the tile along its
    dimensions, none: each operation is cut in its own way.
    """

    ctas: int
    along: bool = False
    grid: bool = False
    even: bool = False
    parts: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """For paths of passes."""
        kind = " in even shares" if self.even else " of the grid" if self.grid else ""
        whole = self.ctas == 1 or self.along
        return f"{self.ctas} CTAs{kind}" + (" along K" * self.along if whole else f" {by(self.parts)}")


def clustered(found: Selection, made: nv_tileas.Func, way: Way, tile_blocks: int) -> Clustered:
    """A program divided among several CTAs; `tile_blocks` of a launch, 0: more than fill the device. If they divide the
    steps of products, loops with an unknown number of steps were priced as if they did not.
    """
    ctas = way.ctas
    if way.even:
        return shared_evenly(found, ctas, tile_blocks)
    rounds = ceil(tile_blocks * ctas / multiprocessors(found.target.name)) if tile_blocks else ctas
    left = in_steps(found) * (1.0 - 1.0 / ctas) if way.along else 0.0
    adds = TRIPS * float(found.target.latency.global_) if way.grid else 0.0
    cost = found.answer.cost - left
    return Clustered(ctas, cost, saved(found, made), rounds, along=way.along, grid=way.grid, adds=adds, parts=way.parts)


def shared_evenly(found: Selection, ctas: int, tile_blocks: int) -> Clustered:
    """A program divided among CTAs that share all steps evenly. On average a CTA has its share of steps, and one more
    part than it has tile blocks, which it stores; the CTA that adds up reads as many, or all parts of one tile block.
    """
    share, visits, steps, adding, read = tile_blocks / ctas, 1.0, 0.0, 0.0, 0.0
    for item in (item for item in found.saturated.program.skeleton.walk() if isinstance(item, SkeletonLoop)):
        loop, inside = cast(ct.For, item.op), list(item.op.walk())[1:]
        if any(isinstance(op, ct.For) for op in inside):
            visits = float(loop.expected)
        elif any(isinstance(op, Products) for op in inside):
            steps += cycles_in(found, {item.loop})
        elif loop.expected:
            adding = cycles_in(found, {item.loop})
            read = adding / loop.expected
    rest = found.answer.cost - steps - adding
    cost = (share * steps + (share + 1.0) * rest + (max(share, 1.0 / share) + 1.0) * read) / visits
    return Clustered(ctas, cost, along=True, even=True, adds=TRIPS * float(found.target.latency.global_))


def in_steps(found: Selection) -> float:
    """Cycles in the product loops with an unknown number of steps."""
    items = [item for item in found.saturated.program.skeleton.walk() if isinstance(item, SkeletonLoop)]
    unknown = {
        item.loop
        for item in items
        if known_trips(found.saturated, item) is None and any(isinstance(op, Products) for op in item.op.walk())
    }
    return cycles_in(found, unknown)


def cycles_in(found: Selection, loops: set[int]) -> float:
    """Cycles of the choices in some loops, without nested loops."""
    chosen = (n for n in found.answer.chosen.values() if n in found.priced and found.within.get(n, -1) in loops)
    return sum(found.priced[node][0] * found.priced[node][1].scalar() for node in chosen)


def saved(found: Selection, made: nv_tileas.Func) -> float:
    """Cycles of copies that multicast saves: other CTAs load what this one also needs.

    A copy of extraction is the tensor copies of the same place in the source.
    """
    parts: dict[Location, list[float]] = {}
    for op in made.walk():
        if isinstance(op, nv_tileas.TiledTmaLoad):
            parts.setdefault(op.location, []).append(1.0 / (1 << op.alike.bit_count()))
    total, program = 0.0, found.saturated.program
    for node in found.answer.chosen.values():
        copy = found.enodes.get(node)
        if not isinstance(copy, Copy) or copy.mechanism != Mechanism.TMA or node not in found.priced:
            continue
        value, (trips, cost) = found.owner[copy.cls][0], found.priced[node]
        numbers = (k for k, op in program.source.items() if found.saturated.frozen.class_of(k) == value and op.results)
        own = next((parts[place] for k in numbers if (place := program.source[k].location) in parts), [1.0])
        total += trips * cost.scalar() * (1.0 - sum(own) / len(own))
    return total
