"""The graph of each innermost loop of a chosen program: its e-nodes with their prices, and their dependences.

Renamings (reshapes, broadcasts, carried values) cost nothing, so their readers read what they rename. A register-wise
operation may start when the first registers of its operands are available, and ends after the last; products,
reductions and conversions wait for whole tiles, and are waited for whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from egraph import leaves, placed
from egraph.forms import PlacedForm
from egraph.skeleton import SkeletonBranch, SkeletonEffect, SkeletonLoop
from egraph.term import Node, Term
from ir.dialects.nv_tileas_cluster import Exchange, Meet
from ir.records import dataclass
from lowering.cost import Cost, units_of
from lowering.decode.needs import Needs
from lowering.loops import paths
from lowering.modulo.graph import Dependence, Graph, Operation, delay
from lowering.selection import Selection, StoreChoice
from lowering.selection.prices.values import in_parts, partly
from lowering.selection.pricing import WHOLE, NodeContext, NodeCost, Pricer
from lowering.selection.trips import Trips, trip_counts

COPIES = (placed.Copy, placed.GatherCopy)
LOADS = (placed.LoadView, placed.LoadPointer)


@dataclass(frozen=True)
class Loop:
    """An innermost loop, and the graph of its body in cycles: for a CTA's warps in lockstep, or for one of the `turns`
    in which they use the units of an SM.
    """

    item: SkeletonLoop
    graph: Graph
    cost: float
    """Of an iteration, as extraction sums it up, before a part of its powers is by polynomials."""
    runs: Mapping[int, int]
    """Elements that one copy brings, by the operations that gather."""
    stored: frozenset[int] = frozenset()
    """The operations that store tiles in shared memory for products."""

    @property
    def cycles(self) -> float:
        """The cycles of an iteration without overlap."""
        return sum(each.busy for each in self.graph.operations)


def loops(selection: Selection, wanted: Collection[int] | None = None, turns: float = 1.0) -> Iterator[Loop]:
    """Every innermost loop of a program that has operations with a price, in program order; of those `wanted`.
    `turns`: operations are those of one of so many equal parts of the CTA.
    """
    if wanted is not None and not wanted:
        return
    pricer = Pricer(selection.saturated, selection.oracle, selection.target, selection.forbid, selection.owner)
    around = paths(selection.saturated.program.skeleton)
    inner = {path[-2] for path in around.values() if len(path) > 1}
    for item in selection.saturated.program.skeleton.walk():
        if isinstance(item, SkeletonLoop) and item.loop not in inner and (wanted is None or item.loop in wanted):
            body = _Body(selection, pricer, item, around, turns)
            graph = body.graph()
            if graph.operations:
                cost = sum(each.scalar() for each in body.costs) - body.more
                yield Loop(item, graph, cost, body.runs, frozenset(body.stored))


class _Body:
    """One loop while its graph is made."""

    def __init__(
        self,
        selection: Selection,
        pricer: Pricer,
        item: SkeletonLoop,
        around: Mapping[int, tuple[int, ...]],
        turns: float,
    ):
        self.selection, self.pricer, self.item, self.around, self.turns = selection, pricer, item, around, turns
        self.frozen = selection.saturated.frozen
        self.needs = Needs(selection)
        self.nodes = {cls: node for cls, node in selection.node.items() if self.inside(cls)}
        for (product, _), made in selection.again.items():
            if product in self.nodes:
                self.nodes |= made
        self.numbers: dict[int, int] = {}  # placed class -> operation
        self.operations: list[Operation] = []
        self.costs: list[Cost] = []
        self.more = 0.0  # that they are than extraction's, for powers by polynomials
        self.whole: list[tuple[bool, bool]] = []  # of each operation: waits for whole tiles, is waited for whole
        self.dependences: list[Dependence] = []
        self.runs: dict[int, int] = {}
        self.stored: set[int] = set()

    def inside(self, cls: int) -> bool:
        """Is a placed class computed in the loop?"""
        value = self.selection.owner.get(cls, (-1, 0))[0]
        return bool(self.frozen.analysis["deps"].get(value, 0) >> self.item.loop & 1)

    def graph(self) -> Graph:
        """Operations and effects first, then what they read."""
        for cls, node in self.nodes.items():
            price = self.price(cls, node)
            if price is not None and (price.cost.parts or price.cost.tensor):
                ahead = self.selection.stages.get(cls, 1) > 1
                self.numbers[cls] = self.add(
                    self.name(cls, node), price.cost, self.needs.size(cls), self.waits(node), self.late(node), ahead
                )
                if isinstance(node, placed.Hold):
                    self.stored.add(self.numbers[cls])
                if ahead and isinstance(node, placed.GatherCopy):
                    self.runs[self.numbers[cls]] = node.width
        effects = self.effects()
        for cls, number in self.numbers.items():
            node = self.nodes[cls]
            if isinstance(node, leaves.ItemResult):
                continue  # its operation is an effect
            for child in node.children:
                self.reads(number, child, isinstance(node, placed.Product) and child == node.c)
        for item, number in effects:
            layout = self.selection.stores[item.item].layout
            for place, operand in enumerate(item.placed):
                for child in self.placed(operand, layout if place == 0 else 0):
                    self.reads(number, child)
        return Graph(tuple(self.operations), tuple(dict.fromkeys(self.dependences)))

    def add(self, name: str, cost: Cost, registers: float, waits: bool, late: bool, ahead: bool = False) -> int:
        """An operation; instructions take slots of the schedulers beside their pipe."""
        uses = {unit: use / self.turns for unit, use in units_of(cost, self.selection.target).items()}
        self.operations.append(Operation(name, uses, registers, ahead))
        self.costs.append(cost)
        self.whole.append((waits, late))
        return len(self.operations) - 1

    def price(self, cls: int, node: Node) -> NodeCost | None:
        """The cost of a chosen node in its context, of powers as their loop computes them."""
        site = NodeContext(self.selection.owner.get(cls, (-1, 0))[1], self.selection.warps, self.item.loop)
        found, powers = self.pricer.price(node, site), self.selection.powers.get(self.item.loop)
        if found is None or powers is None or not isinstance(node, PlacedForm) or not partly(self.pricer, node, site):
            return found
        cost = in_parts(self.pricer, found.cost, site, *powers)
        self.more += cost.scalar() - found.cost.scalar()
        return replace(found, cost=cost)

    def name(self, cls: int, node: Node) -> str:
        """The operation, and the line of the source that it comes from, where it comes from one."""
        value = self.selection.owner.get(cls, (-1, 0))[0]
        op = self.sources.get(value)
        title = node.title() if isinstance(node, Term) else node.op
        return f"{title} line {op}" if op else title

    @cached_property
    def sources(self) -> Mapping[int, int]:
        """Lines of the source by value class."""
        program = self.selection.saturated.program
        return {self.frozen.class_of(k): op.location.line for k, op in reversed(program.source.items())}

    def waits(self, node: Node) -> bool:
        """Does a node take its operands as a whole? A product of single warps takes them step by step."""
        asynchronous = isinstance(node, placed.WarpgroupProduct | placed.InTensorMemory)
        warps = isinstance(node, placed.Product) and not asynchronous
        return isinstance(node, WHOLE) and not warps

    def late(self, node: Node) -> bool:
        """Is the result of a node there only as a whole?"""
        return isinstance(node, (*WHOLE, *COPIES, *LOADS, placed.Hold))

    def reads(self, reader: int, child: int, adds: bool = False) -> None:
        """The dependences of an operation on what a class renames. `adds`: tensor cores add to their own last result,
        of which one part is done while others are under way.
        """
        for source, later in self.made_by(child, 0, set()):
            chained = adds and self.costs[source].tensor > 0
            delay = self.operations[source].busy if chained else self.delay(source, reader)
            self.dependences.append(Dependence(source, reader, delay, later, bool(self.operations[source].registers)))

    def made_by(self, cls: int, distance: int, seen: set[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """The operations that define a class, and how many iterations earlier; none if it is live-in."""
        node = self.nodes.get(cls)
        if cls in self.numbers:
            yield self.numbers[cls], distance
        elif node is not None and (cls, distance) not in seen:
            seen.add((cls, distance))
            again = isinstance(node, leaves.Carry) and node.loop == self.item.loop
            if not again or distance <= len(self.item.yields):
                for child in self.renamed(cls, node):
                    yield from self.made_by(child, distance + again, seen)

    def renamed(self, cls: int, node: Node) -> Iterator[int]:
        """The placed classes that a node without an operation of its own hands on."""
        layout = self.selection.owner.get(cls, (-1, 0))[1]
        if isinstance(node, leaves.Carry) and node.loop == self.item.loop:
            yield from self.placed(self.item.yields[node.index], layout)
        elif isinstance(node, leaves.ItemResult):
            item = self.branches.get(node.item)
            for number in () if item is None else (item.then_yields[node.index], item.otherwise_yields[node.index]):
                yield from self.placed(number, layout)
            yield from self.placed(item.condition, 0) if item is not None else ()
        else:
            yield from node.children

    def placed(self, number: int, layout: int) -> Iterator[int]:
        """The placed class of a source value in a layout, or as all threads hold it."""
        value = self.frozen.class_of(number)
        made = self.frozen.held_in.get((value, layout), self.frozen.held_in.get((value, 0)))
        if made is not None:
            yield made

    @cached_property
    def branches(self) -> dict[int, SkeletonBranch]:
        """The branches of the body by their items."""
        return {item.item: item for item in self.item.body.walk() if isinstance(item, SkeletonBranch)}

    def delay(self, source: int, reader: int) -> float:
        """Cycles from the start of one operation to the start of another that reads its result."""
        whole = self.whole[source][1] or self.whole[reader][0]
        return delay(self.operations[source], self.latency(source), self.operations[reader], whole)

    def latency(self, operation: int) -> float:
        """Cycles from an instruction of an operation to the use of what it makes."""
        latency, cost = self.selection.target.latency, self.costs[operation]
        if cost.tensor:
            return float(latency.mma)
        units = cost.uses()
        if "global" in units:
            return max(float(latency.global_), cost.latency)
        return cost.latency + float(latency.shared if "shared" in units else latency.alu)

    def effects(self) -> list[tuple[SkeletonEffect, int]]:
        """Operations for the stores, updates and loads in order of the body, one after the other; a load's result is
        made by its operation.
        """
        effects = (item for item in self.item.body.walk() if isinstance(item, SkeletonEffect))
        items = [item for item in effects if item.item in self.selection.stores]
        before: int | None = None
        first: int | None = None
        prices, found = self.store_costs(), list[tuple[SkeletonEffect, int]]()
        made = {(n.item, n.index): cls for cls, n in self.nodes.items() if isinstance(n, leaves.ItemResult)}
        for item in items:
            cycles = prices.get(item.item, 0.0)
            waits = isinstance(item.op, Exchange | Meet)  # it only waits; no unit is busy
            cost = Cost(latency=cycles) if waits else Cost(memory=cycles, parts=(("global", cycles),))
            number = self.add(f"{item.op.name.split('.')[-1]} line {item.op.location.line}", cost, 0.0, False, False)
            found.append((item, number))
            self.numbers |= {cls: number for (owner, _), cls in made.items() if owner == item.item}
            if before is not None:
                self.dependences.append(Dependence(before, number, 1.0, 0, False))
            before, first = number, number if first is None else first
        if before is not None and first is not None and before != first:
            self.dependences.append(Dependence(before, first, 1.0, 1, False))
        return found

    def store_costs(self) -> dict[int, float]:
        """What the chosen stores cost in one iteration."""
        selection = self.selection
        trips = Trips(trip_counts(selection.saturated), self.around).of(self.item.loop)
        found: dict[int, float] = {}
        for node in selection.answer.chosen.values():
            choice = selection.choices.get(node)
            if isinstance(choice, StoreChoice):
                found[choice.item] = selection.graph.columns.cost[node] / trips
        return found
