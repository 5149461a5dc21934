"""Which agent gathers the tiles of a loop: the consumers, or a producer of 1, 2 or 4 warps; the fastest by prediction.

    no producer    all warps make pointers, copy, meet at a barrier and wait for their products, in the order of the
                   code
    a producer     those who compute wait for stages alone, so that products may run on; the producer makes pointers and
                   copies, on as many of the schedulers as it has warps
Both share the resources of an SM. Only the first pointer and mask of a run copied at once are computed. Any producer
uses tensor copies for tiles that allow them. Loops without gathered tiles have one sensible assignment: a producer,
which takes instructions off the consumers and adds none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ir.core import Block, Builder
from ir.dialects import nv_tileas, scf
from ir.records import dataclass
from lowering.atoms.barrier import LEAST_REGISTERS, PRODUCER_REGISTERS, agents_gather, register_shares
from lowering.atoms.wgmma import WARPGROUP
from lowering.cost import ASYNCHRONOUS, Machine
from lowering.loops import paths
from lowering.modulo.ahead import placed_loops
from lowering.modulo.bounds import bounds
from lowering.modulo.graph import Graph
from lowering.modulo.in_order import interval, products
from lowering.modulo.loops import Loop, loops
from lowering.modulo.predict import SOONER
from lowering.schedule.agents import Agents
from lowering.schedule.boundary import Plan
from lowering.schedule.fills import Fill, Threaded
from lowering.schedule.pipelining import asynchronous, ranks_of, rings_of
from lowering.schedule.rings import Staged, tile_of
from lowering.selection import Selection
from lowering.selection.resources import ADDRESSES, REGISTERS, SHARED, registers, where
from lowering.selection.trips import Trips, trip_counts
from lowering.targets import Feature, target
from lowering.targets.occupancy import occupancy
from lowering.targets.target import WARP

PRODUCERS = (4, 2, 1)
"""Numbers of producer warps to try, the largest first: of equal times the one whose copies are issued soonest."""
OUTSIDE = f"{REGISTERS} {where((), True)}"  # the row of code outside of all loops
POINTER = 2  # 32-bit registers that a thread of a producer holds for each of its copies


@dataclass(frozen=True)
class Assignment:
    """Cycles of an SM for an iteration of a loop if the consumers gather its tiles (`producers` 0) or a producer of
    that many warps does, with `ctas` sharing the SM; why it is not possible, empty if it is.
    """

    producers: int
    cycles: float
    ctas: int
    why_not: str = ""

    @property
    def who(self) -> str:
        """Who gathers, in words."""
        return f"a producer of {self.producers} warp{'s' * (self.producers > 1)}" if self.producers else "no producer"

    def __str__(self) -> str:
        shared = f" of {self.ctas} CTAs per SM" if self.ctas > 1 else ""
        return f"{self.who} {self.cycles:.0f}{shared}" + (f" (not possible: {self.why_not})" if self.why_not else "")


@dataclass(frozen=True)
class Assigned:
    """The prediction for each way to gather the tiles of a loop, without a producer first."""

    loop: Loop
    ways: tuple[Assignment, ...]


def assignments(selection: Selection, func: nv_tileas.Func) -> Iterator[tuple[Assigned, scf.For]]:
    """The ways for each loop of a placed kernel that has gathered tiles in a ring, on targets where agents gather."""
    if not agents_gather(selection.target):
        return
    gathering = {number: op for number, op in placed_loops(selection, func).items() if gathers(op)}
    for loop in loops(selection, gathering):
        op, number = gathering[loop.item.loop], loop.item.loop
        if number in selection.early or not loop.runs:
            continue
        times = _Times(selection, loop)
        ways = [Assignment(0, times.alone(), times.ctas)]
        for count in PRODUCERS:
            reason = why_not(selection, func, op, count)
            ways.append(Assignment(count, times.beside(count), times.beside_ctas, reason))
        yield Assigned(loop, tuple(ways)), op


def assign(selection: Selection, func: nv_tileas.Func) -> int:
    """Mark the gathered copies performed by the kernel's producer; returns its warps, 0 if it performs none."""
    found = [*assignments(selection, func)]
    count = shortest(selection, [each for each, _ in found])
    for _, op in found if count else ():
        for copy in gathers(op):
            copy.attributes["producers"] = count
    return count


def shortest(selection: Selection, found: list[Assigned]) -> int:
    """Warps of the producer with the shortest total time of the loops, 0 if it saves too little."""
    trips = Trips(trip_counts(selection.saturated), paths(selection.saturated.program.skeleton))
    _, outside = spilled(selection)
    once = Machine(selection.target, selection.warps).spill(outside).scalar()
    best, least = 0, 0.0
    for place in range(len(found[0].ways) if found else 0):
        ways = [each.ways[place] for each in found]
        time = sum(trips.of(each.loop.item.loop) * way.cycles for each, way in zip(found, ways, strict=True))
        if not place:
            least = SOONER * time
        elif time + once < least and not any(way.why_not for way in ways):
            best, least = ways[0].producers, time + once
    return best


def resident(selection: Selection) -> tuple[int, int]:
    """CTAs that an SM is estimated to hold without a producer, which ptxas gives no more registers than it needs, and
    with one: as many as a hint asks for (`lowering/ptx/grant.py`), else the most that registers and memory allow.
    """
    warps, memory = selection.warps, memory_of(selection)
    asked, whole = selection.target.asked_ctas, target(selection.target.name)
    tier = selection.target.shared_by(selection.ctas) if selection.ctas > 1 else selection.target
    need = registers(tier, warps, 0) + ADDRESSES - max(0, min(spare(selection).values(), default=0))
    least = max(1, asked, selection.ctas)
    alone = max(least, occupancy(whole, WARP * warps, need, memory).count)
    beside = occupancy(whole, WARP * warps + WARPGROUP, PRODUCER_REGISTERS, memory).count
    fitting = [
        ctas
        for ctas in range(least + 1, beside + 1)
        if register_shares(WARP * warps, WARPGROUP, PRODUCER_REGISTERS, whole.shared_by(ctas)).consumer >= need
    ]
    return alone, least if asked else max((least, *fitting))


def memory_of(selection: Selection) -> int:
    """Bytes of shared memory that the rows of a program add up to."""
    used, kind = selection.answer.resources, selection.target
    tier = kind.shared_by(selection.ctas) if selection.ctas > 1 else kind
    lacking = float(kind.smem_bytes - tier.smem_bytes)  # what the rows have of it for the other CTAs
    return int(max((use for name, use in used.items() if name.startswith(SHARED)), default=lacking) - lacking)


def gathers(loop: scf.For) -> list[nv_tileas.GatherCopy]:
    """The gathered copies of a loop that fill a ring."""
    return [op for op in loop.body.block.ops if isinstance(op, nv_tileas.GatherCopy) and op.stages]


class _Times:
    """The time of an iteration of one loop, by the agent that performs its copies; CTAs of an SM wait while others
    compute.
    """

    def __init__(self, selection: Selection, loop: Loop):
        self.target = selection.target
        self.ctas, self.beside_ctas = resident(selection)
        operations = list(loop.graph.operations)
        self.ahead = feeding(loop.graph)
        for number, run in runs(loop.graph, loop.runs, self.ahead).items():
            each = operations[number]
            if not each.ahead:
                operations[number] = replace(each, uses={unit: use / run for unit, use in each.uses.items()})
        self.whole = Graph(tuple(operations), loop.graph.dependences)
        rest = (replace(each, uses={}) if n in self.ahead else each for n, each in enumerate(operations))
        self.rest = Graph(tuple(rest), loop.graph.dependences)
        self.joined = self.target.has(Feature.WGMMA)

    @property
    def busiest(self) -> float:
        """The time of the SM's busiest unit, over all agents."""
        return bounds(Graph(self.whole.operations, ())).resource

    @property
    def filling(self) -> float:
        """The time of the instructions, over all schedulers, that compute pointers and issue copies."""
        uses: dict[str, float] = {}
        for number in self.ahead:
            for unit, use in self.whole.operations[number].uses.items():
                uses[unit] = uses.get(unit, 0.0) + use * (unit not in ASYNCHRONOUS)
        return max(uses.values(), default=0.0)

    def alone(self) -> float:
        """Without a producer: copies are issued between the barrier and the products that an iteration waits for."""
        latency = self.target.latency
        found = interval(self.rest, float(latency.mma), joined=self.joined)
        found = max(found, waited(self.rest, float(latency.mma)) if self.joined else 0.0)
        return max(self.busiest, (found + self.filling + latency.barrier) / self.ctas)

    def beside(self, warps: int) -> float:
        """With a producer of that many warps: it waits for a stage, an access to shared memory, and fills it."""
        latency, schedulers = self.target.latency, float(self.target.throughput.issue)
        filled = self.filling * max(1.0, schedulers / warps) + latency.shared
        computed = interval(self.rest, float(latency.mma), joined=self.joined)
        computed += 0.0 if self.joined and products(self.rest) else latency.shared
        return max(self.busiest, max(filled, computed) / self.beside_ctas)


def waited(graph: Graph, latency: float) -> float:
    """The time of the products of an iteration that waits for each of them."""
    return sum(graph.operations[number].busy for number in products(graph)) + latency * bool(products(graph))


def feeding(graph: Graph) -> set[int]:
    """The operations that copy ahead, and those used only by such copies, whose work is done by the copying agent."""
    found = {number for number, each in enumerate(graph.operations) if each.ahead}
    waiting = [*found]
    while waiting:
        for source in {each.source for each in graph.before[waiting.pop()]} - found:
            readers = [each.target for each in graph.after[source]]
            if readers and found.issuperset(readers):
                found.add(source)
                waiting.append(source)
    return found


def runs(graph: Graph, copies: Mapping[int, int], ahead: set[int]) -> dict[int, int]:
    """Elements of which one is computed, by the operations `ahead`: as many as the narrowest copy that needs it."""
    found: dict[int, int] = {}
    for copy, run in copies.items():
        waiting, seen = [copy], {copy}
        while waiting:
            number = waiting.pop()
            found[number] = min(found.get(number, run), run)
            more = {each.source for each in graph.before[number]} & ahead - seen
            seen |= more
            waiting += more
    return found


def plans_of(selection: Selection, func: nv_tileas.Func, loop: scf.For, warps: int = 0) -> list[Plan]:
    """How a producer fills the rings of a loop, gathered tiles too if `warps` of it gather; empty if it cannot."""
    ops, arguments = func.body.block.ops, {argument: i for i, argument in enumerate(func.body.block.args)}
    agents = Agents(Builder(Block(), func.location), ops, arguments, ranks_of(func, selection.target), warps)
    return agents.plan(loop, rings_of(asynchronous(loop.body.block), gathered=warps > 0))


def why_not(selection: Selection, func: nv_tileas.Func, loop: scf.For, warps: int) -> str:
    """What prevents a producer of that many warps from filling the ring of a loop; empty if nothing does."""
    kind, plans = selection.target, plans_of(selection, func, loop, warps)
    if not plans:
        return "it cannot compute everything that its copies need"
    tier = kind.shared_by(selection.ctas) if selection.ctas > 1 else kind
    shares = register_shares(WARP * selection.warps, WARPGROUP, PRODUCER_REGISTERS, tier)
    pointers = sum(copies_of(copy, fill) for plan in plans for copy, fill in zip(plan.copies, plan.fills, strict=True))
    held = LEAST_REGISTERS + POINTER * pointers
    if held > shares.other:
        return f"its threads would need {held} registers, at most {shares.other} are granted"
    inside, _ = spilled(selection)
    return f"the consumers' loops would spill {inside} registers" if inside else ""


def copies_of(copy: Staged, fill: Fill) -> int:
    """Copies of a tile that each thread of a producer makes."""
    if not isinstance(fill, Threaded):
        return 0
    _, shared = tile_of(copy)
    assert not isinstance(copy, nv_tileas.Hold)
    run = copy.width if isinstance(copy, nv_tileas.GatherCopy) else copy.bytes // shared.element_bytes
    return fill.layout.n_regs // run


def spilled(selection: Selection) -> tuple[int, int]:
    """Registers that each thread lacks beside a producer, more than it spills anyway, in loops and outside of them."""
    warps = selection.warps
    tier = selection.target.shared_by(selection.ctas) if selection.ctas > 1 else selection.target
    taken = registers(tier, warps, 0) - registers(tier, warps, PRODUCER_REGISTERS)
    lacking = {name: max(0, taken - max(0, left)) for name, left in spare(selection).items()}
    outside = lacking.pop(OUTSIDE, 0)
    return max(lacking.values(), default=0), outside


def spare(selection: Selection) -> dict[str, int]:
    """Registers of a thread that the tiles of a program leave, by the rows of registers; less than 0: they spill."""
    graph, used = selection.graph, selection.answer.resources
    limits = zip(graph.resource_names, graph.columns.limit, strict=True)
    return {
        name: int(limit - used[name]) - selection.spilled[name] for name, limit in limits if name in selection.spilled
    }
