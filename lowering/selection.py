"""From a saturated e-graph to one target's cheapest placed program: costs, choice groups, resources, extraction.

The graph handed to `extract` has the placed classes that the kernel's effects can reach, a class for every store (one
node for each layout it may be made from) and one for every loop-carried value (one node a layout, tied to the leaves
and results of the loop by a choice group).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from egraph.frozen import Frozen, Node
from egraph.saturate import Saturated
from egraph.skeleton import For, If, Store
from egraph.terms import signatures
from extract import Answer, ExtractionError, Graph, GraphBuilder, GraphError, InfeasibleError, extract
from ir.core import TileError, Type, UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.types import I1, PartitionViewType, PointerType, TileType, TokenType
from lowering.atoms.mma import MmaAtom
from lowering.cost import FREE, RAGGED, UNKNOWN_TRIPS, Cost, Machine
from lowering.layouts.access import access_plan, async_copy, global_access, ldmatrix
from lowering.layouts.anchors import coalesced
from lowering.layouts.boxes import boxes
from lowering.layouts.conversions import estimate
from lowering.layouts.layout import Layout
from lowering.layouts.shapes import reduce_dim
from lowering.layouts.shared import SharedLayout
from lowering.loops import Loops
from lowering.placement import LayoutOracle, MmaChoice
from lowering.placement.oracle import Mechanism, contiguous_dim, element_bytes
from lowering.targets import Feature, Target

INFINITE = float("inf")
PRODUCTS = ("p.mmaf", "p.wgmma", "p.wgmma_rs")
SYNC_RATE = 0.62  # of the tensor cores' rate that mma.sync reaches where wgmma exists; arXiv 2402.13499, H100
STAGES = 2  # buffers of a copy inside a loop that the resource row counts; scheduling uses more where they fit
BRANCH = 1 << 32  # beyond every loop id
Place = tuple[int, int]  # (value class, layout)


@dataclass(frozen=True)
class StoreChoice:
    """How a store is made: from a value in `layout`, `width` bytes (views) or elements (pointers) an access."""

    item: int
    layout: int
    width: int


@dataclass(frozen=True)
class CarryChoice:
    """The layout of a loop-carried value, or of a tile that a branch yields: then `loop` is `BRANCH` + the item."""

    loop: int
    index: int
    layout: int


@dataclass
class Selection:
    """The chosen program: for every placed class its node, for stores and carried values their layouts."""

    saturated: Saturated
    oracle: LayoutOracle
    target: Target
    graph: Graph
    answer: Answer
    node: dict[int, Node]  # placed class -> chosen e-node
    owner: dict[int, Place]
    stores: dict[int, StoreChoice]
    carried: dict[tuple[int, int], int]
    costs: dict[int, float] = field(default_factory=dict[int, float])  # placed class -> cost of its chosen node
    enodes: dict[int, Node] = field(default_factory=dict[int, Node])  # node of `graph` -> e-node
    choices: dict[int, StoreChoice | CarryChoice] = field(default_factory=dict[int, StoreChoice | CarryChoice])
    forbid: frozenset[str] = frozenset()


def select(
    saturated: Saturated, oracle: LayoutOracle, target: Target, forbid: frozenset[str], method: str
) -> Selection:
    """Extract the cheapest program for `target`; atoms whose name starts with one of `forbid` may not be chosen.

    Raises UnsupportedError or TileError, located, where no program exists or shared memory does not suffice.
    """
    return _Selector(saturated, oracle, target, forbid).run(method)


class _Selector:
    def __init__(self, saturated: Saturated, oracle: LayoutOracle, target: Target, forbid: frozenset[str]):
        self.saturated = saturated
        self.frozen: Frozen = saturated.frozen
        self.program = saturated.program
        self.oracle = oracle
        self.target = target
        self.forbid = forbid
        self.machine = Machine(target, oracle.warps)
        self.trips = trip_counts(saturated)
        self.loops = Loops(saturated)
        self.owner = {cls: place for table in (self.frozen.at, self.frozen.nat) for place, cls in table.items()}
        self.builder = GraphBuilder(resource_names=("shared memory",), limit=(float(target.smem_bytes),))
        self.dense: dict[int, int] = {}
        self.reached: list[int] = []
        self.names: list[str] = []
        self.enodes: dict[int, Node] = {}
        self.choices: dict[int, StoreChoice | CarryChoice] = {}
        self.groups: dict[tuple[int, int], int] = {}
        self.arithmetic = {"p." + s.name: s.mnemonic for s in signatures().values()}
        self.buildable = buildable(self.frozen, self.stands)

    def run(self, method: str) -> Selection:
        self.require_products()
        nothing = self.effect("the end", [([], FREE, 1.0, None)])  # a kernel may have no effect at all
        roots = [nothing, *(self.effect(f"effect {i}", nodes) for i, nodes in enumerate(self.effects()))]
        for placed in self.reached:  # grows while it is walked
            self.add_class(placed)
        try:
            graph = self.builder.build(sorted(set(roots)), n_classes=len(self.names), class_name=self.names)
            answer = extract(graph, cast(Any, method))
        except (InfeasibleError, GraphError) as error:  # GraphError: an effect that no layout can be made for
            raise self.infeasible(error) from error
        except ExtractionError as error:
            raise TileError(str(error), self.program.entry.location) from error
        return self.selection(graph, answer)

    def selection(self, graph: Graph, answer: Answer) -> Selection:
        of_dense = {d: c for c, d in self.dense.items()}
        found = Selection(
            self.saturated, self.oracle, self.target, graph, answer, {}, self.owner, {}, {},
            enodes=self.enodes, choices=self.choices, forbid=self.forbid,
        )  # fmt: skip
        for cls, node in answer.chosen.items():
            choice = self.choices.get(node)
            if isinstance(choice, StoreChoice):
                found.stores[choice.item] = choice
            elif isinstance(choice, CarryChoice):
                found.carried[choice.loop, choice.index] = choice.layout
            elif cls in of_dense:
                found.node[of_dense[cls]] = self.enodes[node]
                found.costs[of_dense[cls]] = float(graph.cost[node])
        return found

    def infeasible(self, error: InfeasibleError | GraphError) -> TileError:
        """Say it in the user's terms: shared memory, or an operation that nothing lowers."""
        text = str(error)
        if "shared memory" in text:
            return TileError(
                f"the kernel needs more than the {int(self.target.smem_bytes)} bytes of shared memory of {self.target}",
                self.program.entry.location, "use smaller tiles",
            )  # fmt: skip
        return UnsupportedError(
            f"no lowering for {self.target.name}: {text}", self.program.entry.location,
            "see what is supported in docs/, or allow the forbidden atoms",
        )  # fmt: skip

    def require_products(self) -> None:
        """Every matrix product needs an atom that is legal here: say which product has none, and where."""
        legal: dict[int, bool] = {}
        for node in self.frozen.nodes:
            if node.op in PRODUCTS:
                place, layout = self.owner[node.cls]
                legal[place] = legal.get(place, False) or self.cost_product(node, layout, False)[0] is not None
        for number, op in self.program.source.items():
            if isinstance(op, ct.MmaF) and not legal.get(self.frozen.class_of(number), False):
                raise UnsupportedError(
                    f"'{op.name}': no matrix instruction of {self.target.name} fits "
                    f"{op.lhs.type} x {op.rhs.type} -> {op.acc.type} with {self.oracle.warps} warps",
                    op.location, "use a tile of at least 16x8x16 with f16, bf16, tf32 or f32 operands and f32 acc",
                )  # fmt: skip

    def allowed(self, choice: MmaChoice) -> bool:
        """May this atom be used?"""
        return choice.atom.legal(self.target) and not self.forbidden(choice.atom.name)

    def forbidden(self, name: str) -> bool:
        """Did the caller forbid atoms of this name?"""
        return any(name.startswith(prefix) for prefix in self.forbid)

    # --- the graph

    def cls(self, placed: int) -> int:
        """The extraction class of a placed e-class."""
        found = self.dense.get(placed)
        if found is None:
            found = self.dense[placed] = len(self.names)
            self.reached.append(placed)
            value, layout = self.owner.get(placed, (-1, -1))
            self.names.append(f"value {value} in {self.oracle.layouts[layout] if layout >= 0 else 'any layout'}")
        return found

    def at(self, number: int, layout: int) -> int | None:
        """The class of source value `number` in `layout`, None where it was not wanted there."""
        placed = self.frozen.at.get((self.frozen.class_of(number), layout))
        return self.cls(placed) if placed in self.buildable else None

    def effect(self, name: str, nodes: list[tuple[list[int], Cost, float, StoreChoice | CarryChoice | None]]) -> int:
        """A class of its own for an effect."""
        cls = len(self.names)
        self.names.append(name)
        for children, cost, trips, choice in nodes:
            group = self.group(choice.loop, choice.index) if isinstance(choice, CarryChoice) else -1
            alternative = choice.layout if isinstance(choice, CarryChoice) else 0
            node = self.builder.add(name, cls, children, trips * cost.scalar(), group=group, alternative=alternative)
            if choice is not None:
                self.choices[node] = choice
        return cls

    def group(self, loop: int, index: int) -> int:
        """The choice group of a carried value."""
        return self.groups.setdefault((loop, index), len(self.groups))

    def effects(self) -> Iterator[list[tuple[list[int], Cost, float, StoreChoice | CarryChoice | None]]]:
        """Alternatives of everything that must happen, in skeleton order."""
        for item in self.program.skeleton.walk():
            if isinstance(item, Store):
                yield self.store(item)
            elif isinstance(item, For):
                yield [(self.all_at([item.lower, item.upper, item.step]), FREE, 1.0, None)]
                for index, result in enumerate(item.op.results):
                    if not isinstance(result.type, TokenType):
                        ends = (item.inits[index], item.yields[index])
                        yield self.chosen(item.carried[index], ends, item.loop, index)
            elif isinstance(item, If):
                numbers = [item.condition]
                for index, kind in enumerate(item.types):
                    ends = (item.then_yields[index], item.otherwise_yields[index])
                    if isinstance(kind, TileType) and kind.size > 1:
                        yield self.chosen(item.results[index], ends, BRANCH + item.item, index)
                    elif not isinstance(kind, TokenType):
                        numbers += ends
                yield [(self.all_at(numbers), FREE, 1.0, None)]

    def all_at(self, numbers: list[int]) -> list[int]:
        """Uniform values."""
        return [cls for k in numbers if (cls := self.at(k, 0)) is not None]

    def chosen(
        self, leaf: int, ends: tuple[int, int], group: int, index: int
    ) -> list[tuple[list[int], Cost, float, StoreChoice | CarryChoice | None]]:
        """A node for each layout that a carried value or a branch's result may have: both its ends in that layout."""
        leaf = self.frozen.class_of(leaf)
        found: list[tuple[list[int], Cost, float, StoreChoice | CarryChoice | None]] = []
        for value, layout in self.frozen.nat:
            if value == leaf:
                children = [self.at(k, layout) for k in ends]
                if None not in children:
                    there = [c for c in children if c is not None]
                    found.append((there, FREE, 1.0, CarryChoice(group, index, layout)))
        return found

    def store(self, item: Store) -> list[tuple[list[int], Cost, float, StoreChoice | CarryChoice | None]]:
        op = item.op
        trips = self.trips_of(item.results[0])
        found: list[tuple[list[int], Cost, float, StoreChoice | CarryChoice | None]] = []
        number = item.operands[0] if isinstance(op, ct.StoreView) else item.operands[1]
        value = self.frozen.class_of(number)
        for wanted, layout in list(self.frozen.at):
            if wanted != value:
                continue
            choice, cost, children = (
                self.store_view(item, op, layout) if isinstance(op, ct.StoreView) else self.store_ptr(item, layout)
            )
            stored = self.at(number, layout)
            if children is not None and stored is not None:
                found.append(([stored, *children], cost, trips, choice))
        return found

    def store_view(self, item: Store, op: ct.StoreView, layout: int) -> tuple[StoreChoice, Cost, list[int] | None]:
        view = cast(PartitionViewType, op.view.type)
        size = element_bytes(view.view.element)
        contiguous = contiguous_dim(view)
        proven = self.frozen.analysis.get("view_bytes", {}).get(self.frozen.class_of(item.operands[1]), size)
        placed = self.layout(layout)
        width = proven // size if contiguous is not None else 1
        plan = global_access(placed, view.tile, contiguous or 0, max(1, width))
        cost = self.machine.global_access(plan.thread, contiguous or 0, len(plan.accesses), size)
        uniform = list(item.operands[1:])
        if op.token is not None:
            uniform.pop()
        return StoreChoice(item.item, layout, plan.vector * size), cost, self.all_at(uniform)

    def store_ptr(self, item: Store, layout: int) -> tuple[StoreChoice, Cost, list[int] | None]:
        op = cast(ct.StorePtr, item.op)
        kind = cast(TileType, op.value.type)
        numbers = [item.operands[0], *([item.operands[2]] if op.mask is not None else [])]
        children = [self.at(k, layout) for k in numbers]
        if None in children:
            return StoreChoice(item.item, layout, 1), FREE, None
        runs = [self.analysis("pointer_run", numbers[0], 1)]
        if op.mask is not None:
            runs.append(self.analysis("mask_run", numbers[1], 1))
        size = element_bytes(kind.element)
        dim = max(0, len(kind.shape) - 1)
        width = max(1, min(*runs, 16 // size) if len(runs) > 1 else min(runs[0], 16 // size))
        plan = global_access(self.layout(layout), kind.shape, dim, width)
        cost = self.machine.global_access(plan.thread, dim, len(plan.accesses), size)
        return StoreChoice(item.item, layout, plan.vector), cost, [c for c in children if c is not None]

    def analysis(self, name: str, number: int, default: int) -> int:
        """A fact about a source value."""
        return self.frozen.analysis.get(name, {}).get(self.frozen.class_of(number), default)

    def trips_of(self, number: int) -> float:
        """How often the item that makes this value runs."""
        return self.trip_product(self.analysis("deps", number, 0))

    def trip_product(self, deps: int) -> float:
        """Iterations of all loops in a dependence mask."""
        product = 1.0
        for loop, trips in self.trips.items():
            if deps >> loop & 1:
                product *= trips
        return product

    def layout(self, id: int) -> Layout:
        """The distributed layout behind an id."""
        return self.oracle.layout(id)

    def add_class(self, placed: int) -> None:
        """All nodes of one placed class."""
        value, layout = self.owner.get(placed, (-1, -1))
        deps = self.frozen.analysis.get("deps", {}).get(value, 0)
        trips = self.trip_product(deps)
        for node in self.frozen.by_class.get(placed, ()):
            if not self.stands(node):
                continue
            cost, shared = self.node_cost(node, value, layout, bool(deps))
            placed_children = [c for c in node.children if self.frozen.sort[c] == "P"]
            if not self.buildable.issuperset(placed_children):
                continue
            children = [self.cls(c) for c in placed_children]
            group, alternative = -1, 0
            if node.op in ("p.carry", "p.res", "p.branch"):
                item = node.literals[0] + (BRANCH if node.op == "p.branch" else 0)
                group, alternative = self.group(item, node.literals[1]), node.literals[3]
            total = INFINITE if cost is None else trips * cost.scalar()
            made = self.builder.add(
                node.op, self.dense[placed], children, total, group=group, alternative=alternative,
                resource=(float(shared),),
            )  # fmt: skip
            self.enodes[made] = node

    def stands(self, node: Node) -> bool:
        """May a placed node be chosen for its class? A loop's leaf only where its value needs the loop."""
        return self.loops.stands(node, self.owner.get(node.cls, (-1, -1))[0])

    def node_cost(self, node: Node, value: int, layout: int, looped: bool) -> tuple[Cost | None, int]:
        """Cost (None: not legal here) and shared memory bytes of a node."""
        special = _COSTS.get(node.op)
        if special is not None:
            return special(self, node, layout, looped)
        mnemonic = self.arithmetic.get(node.op, node.op.removeprefix("p."))
        kind = self.value_type(value)
        placed = self.oracle.layouts[layout]
        registers = placed.n_regs if isinstance(placed, Layout) else 1  # shared operands are renamed, not computed
        width = getattr(kind.element, "width", 64) if isinstance(kind, TileType) else 32
        return self.machine.elementwise(mnemonic, registers, width), 0

    def value_type(self, value: int) -> Type | None:
        """The type of a value class."""
        ty = self.frozen.analysis["type"].get(value)
        return None if ty is None else self.program.interner.type(ty)

    # --- costs of the nodes that are no plain arithmetic

    def cost_convert(self, node: Node, layout: int, looped: bool) -> tuple[Cost | None, int]:
        ty, source, target = node.literals
        element = self.oracle.tile(ty).element
        bits = 32 if element == I1 else 64 if isinstance(element, PointerType) else 8 * element_bytes(element)
        cost = estimate(self.layout(source), self.layout(target), bits, self.target)
        if cost and self.oracle.tile(ty).size * bits // 8 > self.target.smem_bytes:
            return None, 0  # no scratch memory holds it
        return Cost(latency=cost), 0

    def cost_load(self, node: Node, layout: int, looped: bool) -> tuple[Cost | None, int]:
        _, vty, id, nbytes = node.literals
        view: PartitionViewType = self.program.interner.types[vty]
        size = element_bytes(view.view.element)
        contiguous = contiguous_dim(view) or 0
        plan = global_access(self.layout(id), view.tile, contiguous, max(1, nbytes // size))
        cost = self.machine.global_access(plan.thread, contiguous, len(plan.accesses), size)
        return cost + self.exposed(looped), 0

    def exposed(self, looped: bool) -> Cost:
        """The wait for global memory where no pipeline hides it."""
        return Cost(latency=float(self.target.latency.global_)) if looped else FREE

    def cost_gather(self, node: Node, layout: int, looped: bool) -> tuple[Cost | None, int]:
        ty, id, width = node.literals
        kind = self.oracle.tile(ty)
        dim = max(0, len(kind.shape) - 1)
        plan = global_access(self.layout(id), kind.shape, dim, width)
        cost = self.machine.global_access(plan.thread, dim, len(plan.accesses), element_bytes(kind.element))
        return cost + self.exposed(looped), 0

    def cost_copy(self, node: Node, layout: int, looped: bool) -> tuple[Cost | None, int]:
        _, vty, shared_id, nbytes, inside, mechanism = node.literals
        view: PartitionViewType = self.program.interner.types[vty]
        shared = self.oracle.shared(shared_id)
        padded_with_zero = view.padding in (None, "zero")  # what asynchronous copies fill in out of bounds
        if mechanism == Mechanism.REGISTERS:
            return self.register_copy(view, shared, nbytes) + self.exposed(looped), shared.size_bytes
        if not padded_with_zero:
            return None, 0
        stages = STAGES if looped else 1
        cost = (
            self.box_copy(view, shared) if mechanism == Mechanism.TMA else self.async_copy(view, shared, nbytes, inside)
        )
        usable = cost is not None and (looped or mechanism != Mechanism.TMA)  # one box by itself has nothing to hide it
        return (cost, stages * shared.size_bytes) if usable else (None, 0)

    def register_copy(self, view: PartitionViewType, shared: SharedLayout, nbytes: int) -> Cost:
        """Load and store again."""
        threads = copy_threads(view, self.oracle.warps, nbytes)
        contiguous, size = contiguous_dim(view) or 0, shared.element_bytes
        loads = global_access(threads, view.tile, contiguous, max(1, nbytes // size))
        stores = access_plan(threads, shared, "store")
        cost = self.machine.global_access(loads.thread, contiguous, len(loads.accesses), size)
        return cost + self.machine.shared_access(stores.wavefronts, len(stores.accesses))

    def async_copy(self, view: PartitionViewType, shared: SharedLayout, nbytes: int, inside: int) -> Cost | None:
        """cp.async by all threads."""
        if not self.target.has(Feature.CP_ASYNC) or self.forbidden("cp.async"):
            return None
        threads = copy_threads(view, self.oracle.warps, nbytes)
        contiguous = contiguous_dim(view) or 0
        plan = async_copy(threads, view.tile, contiguous, shared, nbytes)
        if plan is None or plan.bytes != nbytes:
            return None
        cost = self.machine.global_access(plan.source_thread, contiguous, len(plan.copies), shared.element_bytes)
        if inside < nbytes:
            cost += Cost(alu=self.machine.instructions("int_add", RAGGED * len(plan.copies)))
        written = self.machine.shared_access(plan.wavefronts, len(plan.copies))
        return cost + Cost(memory=written.memory - self.machine.instructions("load_store", len(plan.copies)))

    def box_copy(self, view: PartitionViewType, shared: SharedLayout) -> Cost | None:
        """The tensor memory accelerator, started by one thread of an agent of its own."""
        contiguous = contiguous_dim(view)
        legal = self.target.has(Feature.TMA) and not self.forbidden("tma")
        if not legal or contiguous is None or boxes(view.tile, contiguous, shared) is None:
            return None
        return Cost(memory=shared.size_bytes / self.target.throughput.global_bytes)

    def cost_shared_read(self, node: Node, layout: int, looped: bool) -> tuple[Cost | None, int]:
        _, method, id = node.literals
        name: str = self.program.interner.attributes[method]
        source = self.owner[node.children[0]][1]
        shared = self.oracle.shared(source)
        if name == "ldmatrix":
            plan = ldmatrix(self.layout(id), shared)
            if plan is None or not self.target.has(Feature.LDMATRIX) or self.forbidden("ldmatrix"):
                return None, 0
            return self.machine.shared_access(plan.wavefronts, len(plan.instructions)), 0
        plain = access_plan(self.layout(id), shared)
        cost = self.machine.shared_access(plain.wavefronts, len(plain.accesses))
        packing = self.layout(id).n_regs if plain.vector * shared.element_bytes < 4 else 0
        return cost + Cost(alu=self.machine.instructions("int_add", packing)), 0

    def cost_product(self, node: Node, layout: int, looped: bool) -> tuple[Cost | None, int]:
        choice = self.oracle.choice(node.literals[0])
        if not self.allowed(choice):
            return None, 0
        a, b = (self.oracle.layouts[self.owner[c][1]] for c in node.children[:2])
        c = self.layout(layout)
        work = 2.0 ** ((a.bits + b.bits + c.bits) / 2)  # multiply-adds of the tile: sqrt(mk * kn * mn)
        atom = choice.atom
        m, n, k = atom.shape
        if atom.threads == 1:
            if self.operand_width(node) < 16:
                return None, 0  # no target widens f8 one element at a time
            operands = a.n_regs + b.n_regs
            cost = Cost(alu=work / self.target.throughput.fma_f32 + self.machine.instructions("convert", operands))
            return cost, 0
        cycles = work / (m * n * k) * atom.cycles(self.target)
        if isinstance(atom, MmaAtom) and self.target.has(Feature.WGMMA):
            cycles /= SYNC_RATE
        return Cost(tensor=cycles), 0

    def operand_width(self, node: Node) -> int:
        """Bits of an element of a product's first operand."""
        kind = self.value_type(self.owner[node.children[0]][0])
        return getattr(kind.element, "width", 64) if isinstance(kind, TileType) else 64

    def cost_reduce(self, node: Node, layout: int, looped: bool) -> tuple[Cost | None, int]:
        dim, _, _, _, source = node.literals
        value, _ = self.owner[node.children[0]]
        kind = cast(TileType, self.value_type(value))
        plan = reduce_dim(kind.shape, dim, self.layout(source))
        registers, results = self.layout(source).n_regs, len(plan.groups)
        steps = len(plan.lane_bits) * results
        alu = self.machine.instructions("fma_f32", registers + steps)
        alu += self.machine.instructions("shuffle", steps)
        latency = len(plan.lane_bits) * float(self.target.latency.shuffle)
        if plan.warp_bits:
            latency += 2 * float(self.target.latency.barrier + self.target.latency.shared)
            alu += self.machine.instructions("fma_f32", results << len(plan.warp_bits))
        return Cost(alu=alu, latency=latency), 0

    def cost_iota(self, node: Node, layout: int, looped: bool) -> tuple[Cost | None, int]:
        return Cost(alu=self.machine.instructions("int_add", self.layout(layout).n_regs)), 0


Coster = Callable[[_Selector, Node, int, bool], tuple[Cost | None, int]]
_COSTS: dict[str, Coster] = {
    "cvt": _Selector.cost_convert,
    "p.load_view": _Selector.cost_load,
    "p.load_ptr": _Selector.cost_gather,
    "p.copy": _Selector.cost_copy,
    "p.shared_read": _Selector.cost_shared_read,
    "p.mmaf": _Selector.cost_product,
    "p.wgmma": _Selector.cost_product,
    "p.wgmma_rs": _Selector.cost_product,
    "p.reduce": _Selector.cost_reduce,
    "p.iota": _Selector.cost_iota,
}


def buildable(frozen: Frozen, legal: Callable[[Node], bool]) -> set[int]:
    """Placed classes that some legal term makes: a layout may be wanted that nothing offers, as shared operands are."""
    waiting = [
        (n.cls, [c for c in n.children if frozen.sort[c] == "P"])
        for n in frozen.nodes
        if frozen.sort[n.cls] == "P" and legal(n)
    ]
    found: set[int] = set()
    while True:
        left = [(cls, children) for cls, children in waiting if cls not in found]
        new = {cls for cls, children in left if found.issuperset(children)}
        if not new:
            return found
        found |= new
        waiting = left


def copy_threads(view: PartitionViewType, warps: int, nbytes: int) -> Layout:
    """Which thread copies what: rows along the contiguous dimension, `nbytes` a thread and access."""
    contiguous = contiguous_dim(view)
    dim = len(view.tile) - 1 if contiguous is None else contiguous
    return coalesced(view.tile, dim, element_bytes(view.view.element), warps, nbytes)


def trip_counts(saturated: Saturated) -> dict[int, float]:
    """Iterations of every loop where its bounds are known numbers, else an estimate."""
    frozen = saturated.frozen
    low, high = frozen.analysis.get("low", {}), frozen.analysis.get("high", {})
    counts: dict[int, float] = {}
    for item in saturated.program.skeleton.walk():
        if isinstance(item, For):
            classes = [frozen.class_of(k) for k in (item.lower, item.upper, item.step)]
            known = [low[c] if c in low and low[c] == high.get(c) else None for c in classes]
            lower, upper, step = known
            if lower is not None and upper is not None and step:
                counts[item.loop] = float(max(1, -(-(upper - lower) // step)))
            else:
                counts[item.loop] = float(UNKNOWN_TRIPS)
    return counts
