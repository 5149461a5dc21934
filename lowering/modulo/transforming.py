"""Which agent computes the tiles that threads store for products: the consumers, or a transformer of its own warps.

    consumers      load, compute, store, meet at a barrier, then wait for their products, one after the other
    transformer    loads, computes and stores for the next iterations while the consumers only wait and issue products
Both share the units of an SM, but wait for themselves alone. The prediction for each number of warps is that of loops
elsewhere (in_order.py), with the loop's graph cut where tiles are stored (`lowering/schedule/transform.py`). The
fastest way is taken if it is clearly faster and registers and memory are left for it; `--explain` prints all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from ir.dialects import nv_tileas, scf
from ir.records import dataclass
from ir.types import TensorType
from lowering.atoms.barrier import (
    LEAST_REGISTERS,
    PRODUCER_REGISTERS,
    REGISTER_MARGIN,
    moves_registers,
    register_shares,
)
from lowering.atoms.forbidden import forbidden
from lowering.atoms.names import BY_TRANSFORMER
from lowering.atoms.wgmma import WARPGROUP, wgmma_named
from lowering.layouts.elements import tile_registers
from lowering.layouts.shared import PERIOD
from lowering.modulo.ahead import placed_loops, registers_of
from lowering.modulo.assignment import memory_of, plans_of, resident
from lowering.modulo.bounds import bounds
from lowering.modulo.graph import Graph
from lowering.modulo.in_order import interval
from lowering.modulo.loops import Loop, loops
from lowering.modulo.predict import SOONER, turns_of
from lowering.ptx.grant import BESIDE_PRODUCTS
from lowering.schedule import transform
from lowering.schedule.boundary import Plan
from lowering.schedule.pipelining import asynchronous
from lowering.schedule.rings import align, tile_of
from lowering.selection import Selection
from lowering.targets import Feature, target
from lowering.targets.occupancy import occupancy
from lowering.targets.target import WARP

WRITERS = (8, 4)
"""Numbers of warps of a transformer to try: whole warpgroups, on which setmaxnreg acts."""
STAGES = (3, 2)
"""Of its ring, as many as there is memory for: one that products read, one that is full, one that is being filled."""
FENCED = 75
"""Cycles of a wait for a stage and of a fence for asynchronous readers, in either way. An estimate: `tilesat mca` has
27 for SYNCS, 22 to 28 for FENCE and 24 for MEMBAR (sm_90a, GEMM of 128 x 128 x 64 with B of i8)."""


@dataclass(frozen=True)
class Way:
    """Cycles of an iteration of a loop if a transformer of so many warps computes its stored tiles (`writers` 0: the
    consumers do), with `ctas` on the SM; `waiting`, the cycles that the slower agent takes alone; why it is
    not possible.
    """

    writers: int
    cycles: float
    waiting: float
    ctas: int
    stages: int = 0
    why_not: str = ""

    @property
    def who(self) -> str:
        """Who computes them, in words."""
        return f"an agent of {self.writers} warps" if self.writers else "the consumers"

    def __str__(self) -> str:
        shared = f" of {self.ctas} CTAs per SM" if self.ctas > 1 else ""
        return f"{self.who} {self.cycles:.0f}{shared}" + (f" (not possible: {self.why_not})" if self.why_not else "")


@dataclass(frozen=True)
class Ways:
    """The prediction for each way to compute the stored tiles of a loop, the consumers' first."""

    loop: Loop
    ways: tuple[Way, ...]

    @property
    def taken(self) -> Way:
        """The fastest, if it is clearly faster than the consumers."""
        able = [way for way in self.ways[1:] if not way.why_not]
        best = min(able, key=lambda way: (way.cycles, way.writers), default=self.ways[0])
        return best if best.cycles < SOONER * self.ways[0].cycles else self.ways[0]

    def __str__(self) -> str:
        return f"tiles stored for products: {', '.join(map(str, self.ways))}; taken: {self.taken.who}"


def transformings(selection: Selection, func: nv_tileas.Func) -> Iterator[tuple[Ways, scf.For]]:
    """The ways for each loop of a placed kernel in which threads compute and store tiles for products of warpgroups."""
    kind = selection.target
    if not (kind.has(Feature.WGMMA) and moves_registers(kind)):
        return
    storing = {number: op for number, op in placed_loops(selection, func).items() if holds(op)}
    if not storing:
        return
    turns = turns_of(selection)
    for loop in loops(selection, storing, turns):
        op = storing[loop.item.loop]
        if not loop.stored:  # its stored tiles depend on nothing in it
            continue
        ways, plans = [consuming(selection, loop, turns)], plans_of(selection, func, op)
        for writers in WRITERS:
            share = max(1.0, writers / kind.throughput.issue)
            (apart,) = loops(selection, [loop.item.loop], share)
            ways.append(_Split(selection, func, op, plans, writers).way(loop.graph, turns, apart.graph, loop.stored))
        yield Ways(loop, tuple(ways)), op


def choose_agents(selection: Selection, func: nv_tileas.Func) -> int:
    """Mark the tiles of a placed kernel that a transformer computes, and note its loop's time; returns its warps."""
    found = [(ways, op) for ways, op in transformings(selection, func) if ways.taken.writers]
    if len(found) != 1:
        return 0
    ((ways, op),) = found
    way = ways.taken
    for each in holds(op):
        each.attributes |= {"writers": way.writers, "stages": way.stages}
    selection.apart = {ways.loop.item.loop: way.waiting}
    return way.writers


def holds(loop: scf.For) -> list[nv_tileas.Hold]:
    """What threads store for the products of a loop."""
    return [op for op in loop.body.block.ops if isinstance(op, nv_tileas.Hold)]


def consuming(selection: Selection, loop: Loop, turns: float) -> Way:
    """The consumers compute."""
    latency = selection.target.latency
    _, ctas = resident(selection)
    busy = bounds(Graph(loop.graph.operations, ())).resource * turns
    waiting = interval(loop.graph, float(latency.mma)) + float(latency.barrier) + FENCED
    return Way(0, max(busy, waiting / ctas), waiting, ctas)


@dataclass(frozen=True)
class _Split:
    """One loop with its stored tiles computed by a transformer of `writers` warps."""

    selection: Selection
    func: nv_tileas.Func
    loop: scf.For
    plans: list[Plan]
    writers: int

    def way(self, graph: Graph, turns: float, apart: Graph, stored: frozenset[int]) -> Way:
        """The prediction: `graph` is the loop of one of the consumers' `turns`, `apart` that of one of the writers'."""
        latency, moved = float(self.selection.target.latency.mma), serving(graph, stored)
        busy = bounds(Graph(graph.operations, ())).resource * turns
        rest = Graph(
            tuple(replace(op, uses={}, ahead=True) if n in moved else op for n, op in enumerate(graph.operations)),
            graph.dependences,
        )
        own = interval(kept(apart, moved), latency) + 2 * FENCED
        waiting = max(own, interval(rest, latency))
        stages = self.stages()
        ctas, reason = self.resident(stages) if stages else (0, "no shared memory is left for its ring")
        ctas = max(1, ctas)
        return Way(self.writers, max(busy, waiting / ctas), waiting, ctas, stages, self.why_not() or reason)

    def why_not(self) -> str:
        """Why it is not possible; empty if it is."""
        selection, func, found = self.selection, self.func, holds(self.loop)
        if forbidden(BY_TRANSFORMER, selection.forbid):
            return f"{BY_TRANSFORMER} is forbidden"
        if func.cluster != (1, 1, 1):
            return "CTAs of a cluster share tiles"
        if not self.plans:
            return "no producer loads tiles for them"
        others = (op for op in func.walk() if isinstance(op, scf.For) and op is not self.loop)
        if any(asynchronous(op.body.block) for op in others):
            return "other loops have rings too"
        if selection.early or any(isinstance(op, nv_tileas.Hold) and op not in found for op in func.walk()):
            return "a product is issued an iteration early, or tiles are stored elsewhere"
        return transform.why_not(found, self.plans, selection.target, self.writers)

    @property
    def bytes(self) -> int:
        """Of a stage."""
        return sum(align(tile_of(op)[1].size_bytes, PERIOD) for op in holds(self.loop))

    def stages(self) -> int:
        """Of the ring, as many as shared memory is left for; extraction has counted two."""
        left = int(self.selection.target.smem_bytes) - memory_of(self.selection) - 2 * PERIOD
        return next((count for count in STAGES if (count - 2) * self.bytes <= left), 0)

    def resident(self, stages: int) -> tuple[int, str]:
        """CTAs an SM, and why they are too few."""
        selection = self.selection
        whole, memory = target(selection.target.name), memory_of(selection) + (stages - 2) * self.bytes + PERIOD
        threads, least = WARP * (selection.warps + self.writers), max(1, selection.target.asked_ctas, selection.ctas)
        most = occupancy(whole, threads + WARPGROUP, LEAST_REGISTERS, memory).count
        sums = max((registers_of(op.result) for op in self.loop.walk() if isinstance(op, nv_tileas.Dot)), default=0)
        need = max(sums, self.held()) + REGISTER_MARGIN
        for ctas in range(most, 0, -1):
            shares = register_shares(threads, WARPGROUP, PRODUCER_REGISTERS, whole.shared_by(ctas))
            if shares.consumer >= need and shares.launch > self.at_launch():
                return ctas, "" if ctas >= least else f"only {ctas} CTAs would fit an SM, not {least}"
        return 0, f"threads would need {need} registers, {self.at_launch() + 1} of them at launch"

    def at_launch(self) -> int:
        """Registers that ptxas wants for the sums of one product before any are moved."""
        atoms = [wgmma_named(op.atom) for op in self.loop.walk() if isinstance(op, nv_tileas.Dot)]
        return max((atom.shape[1] // 2 for atom in atoms if atom is not None), default=0) + BESIDE_PRODUCTS

    def held(self) -> int:
        """Registers of a transformer's thread for tiles: those that it loads before it releases a stage, and those from
        outside of the loop.
        """
        copies = [copy for plan in self.plans for copy in plan.copies]
        needs = transform.Needs(holds(self.loop), copies, self.selection.target, self.writers)
        inside = {*self.loop.walk()}
        loaded = [op.result for op in needs.loads]
        outside = [v for v in needs.layouts if v.owner not in inside and not isinstance(v.op, transform.SHAPES)]
        return sum(
            tile_registers(layout.n_regs, value.type.element)
            for value in (*loaded, *outside)
            if isinstance(value.type, TensorType)
            for layout in needs.layouts[value]
        )


def kept(graph: Graph, numbers: Set[int]) -> Graph:
    """Some operations of a graph."""
    places = {number: place for place, number in enumerate(sorted(numbers))}
    inside = (each for each in graph.dependences if each.source in places and each.target in places)
    dependences = tuple(replace(each, source=places[each.source], target=places[each.target]) for each in inside)
    return Graph(tuple(graph.operations[number] for number in places), dependences)


def serving(graph: Graph, stored: frozenset[int]) -> set[int]:
    """The operations that store tiles, and those that only they read, but copies."""
    found = {*stored}
    waiting = [*stored]
    while waiting:
        for each in graph.before[waiting.pop()]:
            source = each.source
            readers = {after.target for after in graph.after[source]}
            if source not in found and not graph.operations[source].ahead and found.issuperset(readers):
                found.add(source)
                waiting.append(source)
    return found
