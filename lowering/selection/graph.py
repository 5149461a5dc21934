"""The extraction problem of one target: placed classes, effects, choice groups and resource rows, and its answer.

The graph handed to `extract` has the placed classes that the kernel's effects can reach, a class for every store (one
node for each layout it may read) and one for every loop-carried value (one node a layout, tied to the leaves and
results of the loop by a choice group). The number of consumer warps and of stages of a loop's ring are choice groups
too: whatever depends on them takes the class of its alternative as a child.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain

from egraph.placed import Copy, GatherCopy, Mechanism, PlacedBranch, PlacedCarry, PlacedLoopResult, Product, WriteShared
from egraph.saturate import Saturated
from egraph.skeleton import SkeletonBranch, SkeletonEffect, SkeletonLoop
from egraph.term import Node
from extract import (
    Answer,
    Graph,
    GraphBuilder,
)
from ir.checked import checked
from ir.core import Location, UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas_cluster import Exchange
from ir.types import PartitionViewType, TileType, TokenType
from lowering.atoms.copy import WIDE_STORE, widest
from lowering.atoms.forbidden import forbidden
from lowering.atoms.names import OUTER_COPIES
from lowering.atoms.tma import TMA_ALIGNMENT, TMA_REDUCE
from lowering.cost import Cost
from lowering.layouts.access import MAX_BYTES, GlobalPlan, global_access
from lowering.layouts.elements import element_bytes
from lowering.layouts.layout import Layout
from lowering.placement import LayoutOracle
from lowering.placement.copied import contiguous_dim
from lowering.selection import ordered, parted, printing
from lowering.selection.again import Kept
from lowering.selection.choices import BRANCH, Alternative, CarryChoice, Selection, StoreChoice, staged
from lowering.selection.context import Problem
from lowering.selection.hints import allows_tma
from lowering.selection.pressure import Pressure
from lowering.selection.pricing import NodeContext, NodeCost
from lowering.selection.products import of_pair_otherwise
from lowering.selection.resources import CTAS, SPILLS, Rows, has_producer
from lowering.selection.shape import Shape
from lowering.targets import Feature, Target

INFINITE = float("inf")
STAGES = (2, 3, 4, 6)  # of a ring: each further stage saves less time for the same memory, so not all are offered
# One stage, where copies and readers wait for each other, is offered only to tensor copies of an agent: readers that
# fill their own ring would need no ring for it.


def saturated_early(saturated: Saturated, what: str, place: Location) -> UnsupportedError:
    """The error if a limit ended saturation before there was any program."""
    ended = saturated.report.ended
    return UnsupportedError(f"{what}: saturation ended early, {ended}", place, "--saturate-budget N allows more")


class Selector(Problem):
    """The extraction problem of a program, and the meaning of its answers. `written`: value classes that are computed
    as the source says.
    """

    def __init__(
        self,
        saturated: Saturated,
        oracle: LayoutOracle,
        target: Target,
        forbid: frozenset[str],
        apart: bool,
        written: frozenset[int] = frozenset(),
    ):
        super().__init__(saturated, oracle, target, forbid, written)
        self.apart = apart
        self.repeated = any(count > 1 for count in self.trips.counts.values())  # else only agents fill rings
        self.counted = {loop for loop, item in self.loops.loops.items() if not item.again}  # only they have rings
        inner = self.loops.loops.keys() - self.around
        self.copying = inner if forbidden(OUTER_COPIES, forbid) else {-1, *self.loops.loops}  # tiles to shared memory
        self.rings = self.ring_loops(apart)
        shared = self.pace.waits({loop: self.trips.of(loop) for loop in chain(*self.rings)}, STAGES[-1])
        self.pressure = Pressure(self, SPILLS)
        alone = not target.has(Feature.WGMMA) and self.pace.apart(self.trips, max(oracle.warps)) > 0
        offered, straight = CTAS if shared else CTAS[:2] if alone else CTAS[:1], self.pressure.straight()
        self.rows = Rows(self.paths, self.rings, target, oracle.warps, offered, straight)
        self.builder = GraphBuilder(resource_names=self.rows.names, limit=self.rows.limits)
        self.enodes: dict[int, Node] = {}
        self.choices: dict[int, StoreChoice | CarryChoice] = {}
        stores = (item for item in self.program.skeleton.walk() if isinstance(item, SkeletonEffect))
        self.exchanges = {BRANCH + item.item for item in stores if isinstance(item.op, Exchange)}
        self.shape = Shape(self)
        self.staged: dict[int, int] = {}  # node of a copy -> stages of its ring
        self.kept = Kept(self)
        self.products = [node for node in self.frozen.nodes if isinstance(node, Product)]
        able = filter(self.on_tensor_cores, self.products)
        self.pricer.tensor_products = frozenset(self.owner[node.cls][0] for node in able)

    @cached_property
    def graph(self) -> Graph:
        """The problem. Raises GraphError if an effect has no program."""
        self.require_products()
        nothing = self.effect("the end", [Alternative([])])  # a kernel may have no effect at all
        effects = (self.effect(f"effect {i}", ways) for i, ways in enumerate(self.effects()))
        roots = [nothing, *self.shape.shared_by(), *effects]
        for placed in self.reached:  # grows while it is walked
            self.add_class(placed)
        roots += self.pressure.roots()
        self.pressure.finish()
        return self.builder.build(sorted(set(roots)), n_classes=len(self.names), class_name=self.names)

    def as_written(self, values: frozenset[int]) -> Selector:
        """The same problem without replacements of these values too."""
        known = self.loops.written | values
        return Selector(self.saturated, self.oracle, self.target, self.forbid, self.apart, known)

    def offered(self, graph: Graph) -> dict[str, tuple[int, ...]]:
        """The candidate numbers of warps and of CTAs an SM, unless the costs forbid all of them."""
        known = {name: self.groups.get((name,)) for name in ("warps", "ctas")}
        return {name: tuple(graph.groups[group]) for name, group in known.items() if group in graph.groups}

    def selection(self, graph: Graph, tables: Graph, answer: Answer) -> Selection:
        """The answer in the terms of the program."""
        of_dense = {d: c for c, d in self.dense.items()}
        of_warps = {d: warps for warps, d in self.shape.warp_classes.items()}
        warps = next((of_warps[cls] for cls in answer.chosen if cls in of_warps), min(self.oracle.warps))
        ctas = next((c for c, cls in self.shape.cta_classes.items() if cls in answer.chosen), 1)
        shape = {cls: self.names[cls] for cls in self.shape.classes}
        found = Selection(
            self.saturated, self.oracle, self.target, graph, answer, warps, {}, shape, {}, self.owner, {}, {},
            self.pricer.folds, enodes=self.enodes, choices=self.choices, forbid=self.forbid,
            branch=self.groups.get(("warps",)), priced=self.priced, within=self.within, tables=tables, ctas=ctas,
            offered=self.offered(graph), written=self.loops.written,
        )  # fmt: skip
        for cls, node in answer.chosen.items():
            choice = self.choices.get(node)
            if isinstance(choice, StoreChoice):
                found.stores[choice.item] = choice
            elif isinstance(choice, CarryChoice):
                found.carried[choice.loop, choice.index] = choice.layout
            elif node in self.pressure.spilled:
                name, registers = self.pressure.spilled[node]
                found.spilled[name] = registers
            elif cls in of_dense:
                placed = of_dense[cls]
                found.node[placed] = self.enodes[node]
                found.costs[placed] = graph.columns.cost[node]
                if node in self.staged:
                    found.stages[placed] = self.staged[node]
        found.again = self.kept.read_again(found)
        return found

    def on_tensor_cores(self, node: Product) -> bool:
        """Can this product be chosen, and do tensor cores compute it?"""
        choice = self.oracle.choice(node.choice)
        return choice.atom.threads > 1 and self.pricer.allowed(choice) and self.buildable.issuperset(node.children)

    def require_products(self) -> None:
        """Every matrix product needs a legal atom: raise an error for a product without one, located."""
        legal: dict[int, bool] = {}
        for node in self.products:
            place, layout = self.owner[node.cls]
            site = NodeContext(layout, self.oracle.layout(layout).n_warps, -1)
            legal[place] = legal.get(place, False) or self.pricer.price(node, site) is not None
        for number, op in self.program.source.items():
            if isinstance(op, ct.MmaF | ct.MmaI) and not legal.get(self.frozen.class_of(number), False):
                if self.saturated.report.ended:
                    raise saturated_early(self.saturated, f"'{op.name}': no matrix instruction was found", op.location)
                counts = " or ".join(map(str, self.oracle.warps))
                raise UnsupportedError(
                    f"'{op.name}': no matrix instruction of {self.target.name} fits "
                    f"{op.lhs.type} x {op.rhs.type} -> {op.acc.type} with {counts} warps",
                    op.location,
                    "convert the operands to f16, bf16 or f32",
                )

    def made_by(self, warps: int) -> list[int]:
        """What a node made for CTAs of that many warps takes as a child, where there is a choice."""
        return self.shape.warps(warps)

    # --- effects

    def effect(self, name: str, ways: list[Alternative]) -> int:
        """A new class for an effect."""
        cls = self.new_class(name)
        for way in ways:
            choice = way.choice
            group, alternative = -1, 0
            children = way.children
            if choice is not None:
                placed = self.oracle.layouts[choice.layout]
                if choice.layout and isinstance(placed, Layout):
                    children = [*children, *self.shape.warps(placed.n_warps)]
            if choice is not None and way.decision:
                group, alternative = self.group(*way.decision), choice.layout
            node = self.builder.add(
                choice.way if isinstance(choice, StoreChoice) else name,
                cls,
                children,
                way.trips * way.cost.scalar(),
                group=group,
                alternative=alternative,
                resource=self.rows.use(way.use),
            )
            self.priced[node] = way.trips, way.cost
            if choice is not None:
                self.choices[node] = choice
        return cls

    def effects(self) -> Iterator[list[Alternative]]:
        """Alternatives of everything that must happen, in skeleton order."""
        for item in self.program.skeleton.walk():
            if isinstance(item, SkeletonEffect):
                yield self.store(item)
            elif isinstance(item, SkeletonLoop):
                yield [Alternative(self.all_at([item.lower, item.upper, item.step, item.again]))]
                for index, kind in enumerate(item.types):
                    if not isinstance(kind, TokenType):
                        ends = (item.inits[index], item.yields[index])
                        yield self.chosen(item.carried[index], ends, item.loop, index)
            elif isinstance(item, SkeletonBranch):
                numbers = [item.condition]
                for index, kind in enumerate(item.types):
                    ends = (item.then_yields[index], item.otherwise_yields[index])
                    if isinstance(kind, TileType) and kind.size > 1:
                        yield self.chosen(item.results[index], ends, BRANCH + item.item, index)
                    elif not isinstance(kind, TokenType):
                        numbers += ends
                yield [Alternative(self.all_at(numbers))]

    def all_at(self, numbers: list[int]) -> list[int]:
        """Uniform values."""
        return [cls for k in numbers if (cls := self.at(k, 0)) is not None]

    def chosen(self, leaf: int, ends: tuple[int, int], group: int, index: int) -> list[Alternative]:
        """An alternative for each layout that a carried value or a branch's result may have: both its ends in that
        layout.
        """
        leaf = self.frozen.class_of(leaf)
        found: list[Alternative] = []
        for value, layout in self.frozen.native:
            if value == leaf:
                children = [self.at(k, layout) for k in ends]
                if None not in children:
                    there = [c for c in children if c is not None]
                    registers = self.pricer.carried(leaf, layout)
                    use = dict.fromkeys(self.rows.of_loop(group), float(registers))
                    choice = CarryChoice(group, index, layout)
                    found.append(Alternative(there, choice=choice, decision=("carried", group, index), use=use))
        return found

    def store(self, item: SkeletonEffect) -> list[Alternative]:
        """An alternative for each layout in which the stored value is demanded."""
        op = item.op
        if isinstance(op, ct.Assert):
            return self.assertion(item)
        trips = self.trips.product(self.analysis("deps", item.results[0], 0))
        if item.alone:
            return [Alternative([], trips=trips, choice=StoreChoice(item.item, 0, 1))]  # every program has it
        if isinstance(op, Exchange):
            return ordered.told(self, item, trips)
        if isinstance(op, ct.Print):
            return printing.ways(item, self.oracle, self.at, trips)
        if isinstance(op, ct.LoadPtr | ct.AtomicRMW | ct.AtomicCAS):
            return [*ordered.ways(self, item, trips), *(self.store_staged(item, trips) if item.at else ())]
        found: list[Alternative] = []
        number = item.operands[0] if isinstance(op, ct.StoreView) else item.operands[1]
        value = self.frozen.class_of(number)
        for wanted, layout in [] if self.pricer.forbidden("st.global") else list(self.frozen.held_in):
            if wanted == value:
                way = self.store_view(item, layout) if isinstance(op, ct.StoreView) else self.store_ptr(item, layout)
                stored = self.at(number, layout)
                if way is not None and stored is not None:
                    way.children.insert(0, stored)
                    way.trips = trips
                    found.append(way)
        return [*found, *(self.store_staged(item, trips) if isinstance(op, ct.StoreView) else ())]

    def assertion(self, item: SkeletonEffect) -> list[Alternative]:
        """In any demanded layout of its condition: an instruction an element, and a branch."""
        condition = self.frozen.class_of(item.operands[0])
        trips = self.trips.product(self.analysis("deps", item.operands[0], 0))
        found: list[Alternative] = []
        for layout in [layout for value, layout in self.frozen.held_in if value == condition]:
            placed, machine = self.at(item.operands[0], layout), self.pricer.machines[self.warps_of(layout)]
            if placed is not None:
                cost = Cost(alu=machine.instructions("int_add", self.oracle.layout(layout).n_regs + 1))
                found.append(Alternative([placed], cost, trips, StoreChoice(item.item, layout, 1)))
        return found

    def store_view(self, item: SkeletonEffect, layout: int) -> Alternative:
        """From registers to global memory."""
        place = staged(item)[1]
        plan, size = self.access(place[0], layout, widest(self.target, self.forbid, WIDE_STORE))
        machine = self.pricer.machines[self.warps_of(layout)]
        cost = machine.global_access(plan.thread, plan.contiguous_dim, len(plan.accesses), size)
        choice = StoreChoice(item.item, layout, plan.vector * size)
        return Alternative(self.all_at(place), cost, choice=choice)

    def access(self, array: int, layout: int, most: int) -> tuple[GlobalPlan, int]:
        """The accesses of a store from registers to a view, of at most `most` bytes, and the bytes of an element."""
        view = self.view(array)
        size = element_bytes(view.view.element)
        contiguous = contiguous_dim(view)
        width = min(self.analysis("view_bytes", array, size), most) // size if contiguous is not None else 1
        return global_access(self.oracle.layout(layout), view.tile, contiguous or 0, max(1, width)), size

    def view(self, array: int) -> PartitionViewType:
        """The type of a view by its number."""
        return checked(self.pricer.value_type(self.frozen.class_of(array)), PartitionViewType)

    def store_staged(self, item: SkeletonEffect, trips: float) -> Iterator[Alternative]:
        """Through shared memory: one for each layout and instruction that writes the buffer of the tensor copies."""
        op, (number, place) = item.op, staged(item)
        array, way = place[0], TMA_REDUCE if item.at else "tma.store"
        known = self.pricer.host.computes(self.frozen.class_of(array)) and allows_tma(op, self.target)
        if not known or self.pricer.forbidden(way) or self.analysis("aligned_bytes", array, 0) < TMA_ALIGNMENT:
            return
        view, value = self.view(array), self.frozen.class_of(number)
        loop = max((each for each in self.paths if self.analysis("deps", item.results[0], 0) >> each & 1), default=-1)
        for shared, out in [(id, cls) for (stored, id), cls in self.frozen.out.items() if stored == value]:
            for node in (each for each in self.frozen.by_class[out] if isinstance(each, WriteShared)):
                held, atom = node.source, self.program.interner.attributes[node.atom]
                layout = self.owner[held][1]
                price = self.pricer.staged_store(view, self.oracle.layout(layout), self.oracle.shared(shared), atom)
                if price is None or held not in self.buildable:
                    continue
                plan, size = self.access(array, layout, MAX_BYTES)
                spread, buffer = self.oracle.layout(layout), self.oracle.shared(shared)
                for parts, own, each in parted.ways(self.pricer, view, spread, buffer, price, loop >= 0):
                    children = [self.cls(held), *self.all_at(place), *self.shape.own_map(self.frozen.class_of(array))]
                    children += self.pressure.peak(self.scratch_rows(value, loop), each.scratch)
                    target, width = self.oracle.layout_id(own), plan.vector * size
                    choice = StoreChoice(item.item, layout, width, target, atom, bool(item.at), parts=parts)
                    yield Alternative(children, each.cost, trips, choice)

    def store_ptr(self, item: SkeletonEffect, layout: int) -> Alternative | None:
        """Through pointers; None if they or the mask are not available in this layout."""
        op = checked(item.op, ct.StorePtr)
        kind = ct.tile_type(op.value)
        numbers = [item.operands[0], *([item.operands[2]] if op.mask is not None else [])]
        children = [self.at(k, layout) for k in numbers]
        if None in children:
            return None
        runs = [self.analysis("pointer_run", numbers[0], 1), *(self.analysis("mask_run", k, 1) for k in numbers[1:])]
        size = element_bytes(kind.element)
        dim = max(0, len(kind.shape) - 1)
        width = max(1, min(*runs, widest(self.target, self.forbid, WIDE_STORE) // size))
        plan = global_access(self.oracle.layout(layout), kind.shape, dim, width)
        machine = self.pricer.machines[self.warps_of(layout)]
        cost = machine.global_access(plan.thread, dim, len(plan.accesses), size)
        there = [c for c in children if c is not None]
        return Alternative(there, cost, choice=StoreChoice(item.item, layout, plan.vector))

    # --- nodes

    def add_class(self, placed: int) -> None:
        """All nodes of one placed class."""
        value, layout = self.owner.get(placed, (-1, -1))
        trips, loop = self.trips.product(self.frozen.analysis.get("deps", {}).get(value, 0)), self.loop_of(value)
        sort = self.frozen.sort
        for node in self.frozen.by_class.get(placed, ()):
            below = [c for c in node.children if sort[c] == "P"]
            if self.loops.stands(node) and self.buildable.issuperset(below):
                for warps, tied in self.made_for(node, layout, below):
                    site = NodeContext(layout, warps, loop)
                    outer = isinstance(node, Copy | GatherCopy) and loop not in self.copying
                    unfit = isinstance(node, Copy) and of_pair_otherwise(self.oracle.shared(node.shared), node, loop)
                    price = None if outer or unfit else self.pricer.price(node, site)
                    children = [*map(self.cls, below), *(self.shape.warps(warps) if tied else ())]
                    self.add_node(node, placed, children, price, site, trips)

    def made_for(self, node: Node, layout: int, below: Sequence[int]) -> list[tuple[int, bool]]:
        """Numbers of warps that a node is valid for, and whether it must depend on them: layouts imply it."""
        placed = self.oracle.layouts[layout] if layout > 0 else None
        if isinstance(placed, Layout):
            return [(placed.n_warps, False)]
        if isinstance(node, Copy) and node.mechanism != Mechanism.TMA:
            return [(warps, True) for warps in self.oracle.warps]
        typed = self.frozen.analysis.get("type", {})  # ends of lists and missing operands are in every layout
        layouts = {self.owner[c][1] for c in below if c in self.owner and self.owner[c][0] in typed}
        counts = {self.warps_of(id) for id in layouts if id and isinstance(self.oracle.layouts[id], Layout)}
        return [(warps, True) for warps in counts] or [(min(self.oracle.warps), False)]

    def add_node(
        self, node: Node, placed: int, children: list[int], price: NodeCost | None, site: NodeContext, trips: float
    ) -> None:
        """One node, or one for each number of stages of the ring that it fills."""
        loop, value = site.loop, self.owner.get(placed, (-1, -1))[0]
        group, alternative = -1, 0
        if isinstance(node, PlacedCarry | PlacedLoopResult | PlacedBranch):
            item = BRANCH + node.item if isinstance(node, PlacedBranch) else node.loop
            index = 0 if item in self.exchanges else node.index  # all results in one layout
            group, alternative = self.group("carried", item, index), node.layout
        use, offered = self.pressure.unpacked(node, placed, loop), STAGES
        ring = price is not None and loop in self.counted and self.fills_ring(node, self.owner[placed][0])
        if price is not None:
            children = [*children, *self.pressure.peak(self.scratch_rows(self.owner[placed][0], loop), price.scratch)]
            children += self.pressure.running(node, value, site, price)
            for operand in price.held:
                children += self.kept.needed(loop, operand)
            boxed = isinstance(node, Copy) and node.mechanism == Mechanism.TMA
            if (ring or (boxed and loop < 0)) and has_producer(self.target, boxed):
                children.append(self.shape.producer(boxed))
                offered = (1, *STAGES) if boxed and self.shape.single_stages(loop) else STAGES
            if isinstance(node, Copy) and boxed:
                children += self.shape.own_map(self.owner[node.view][0])
            use |= self.rows.of_columns(price.columns, loop)
            if price.buffer and not ring:
                own = self.rows.of_ring(loop) if price.shares else []
                use |= dict.fromkeys((*(own or self.rows.shared), *self.rows.after), float(price.buffer))
        for stages in offered if ring and price is not None else (1,):
            made = self.builder.add(
                node.op,
                self.dense[placed],
                [*children, self.shape.stage(loop, stages)] if ring else children,
                INFINITE if price is None else trips * price.cost.scalar(),
                group=group,
                alternative=alternative,
                resource=self.rows.use(
                    dict.fromkeys(self.rows.of_ring(loop), float(stages * price.buffer)) if ring and price else use
                ),
            )
            self.enodes[made] = node
            if price is not None:
                self.priced[made] = trips, price.cost
                self.within[made] = loop
            if ring:
                self.staged[made] = stages

    def fills_ring(self, node: Node, value: int) -> bool:
        """Does a node copy tiles ahead of its loop's iterations? Copies of a single iteration, which need no ring, go
        into a ring that other loops share, or that an agent fills.
        """
        if isinstance(node, Copy) and node.mechanism != Mechanism.REGISTERS:
            boxed = node.mechanism == Mechanism.TMA
            beside = has_producer(self.target, boxed)
            return (beside or self.repeated) and self.pricer.ahead.copied(value, boxed=boxed)
        return isinstance(node, GatherCopy) and value in self.pricer.ahead and self.repeated

    def scratch_rows(self, value: int, loop: int) -> tuple[int, ...]:
        """The resource rows of scratch memory: outside loops it overlays the rings, unless a producer may be
        filling them by then.
        """
        ahead = self.target.has(Feature.MBARRIER) and value in self.loops.before_last
        return self.rows.shared if loop >= 0 or ahead else self.rows.after

    def ring_loops(self, apart: bool) -> list[list[int]]:
        """The loops that may have rings, grouped by depth because those follow one another. `apart`: each alone."""
        deps, found = self.frozen.analysis.get("deps", {}), dict[int, list[int]]()
        for node in self.frozen.nodes:
            if not isinstance(node, (Copy, GatherCopy)):
                continue
            value = self.owner.get(node.cls, (-1, -1))[0]
            loop = self.innermost(deps.get(value, 0))
            if loop in self.counted and self.fills_ring(node, value):
                together = found.setdefault(loop if apart else len(self.paths[loop]), [])
                if loop not in together:
                    together.append(loop)
        return list(found.values())
