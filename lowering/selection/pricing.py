"""What each placed e-node costs on a target, and what it takes of shared memory and registers while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any, TypeVar, cast

from egraph import leaves, placed
from egraph.forms import PlacedForm, placed_classes
from egraph.frozen import Frozen
from egraph.saturate import Saturated
from egraph.skeleton import SkeletonLoop
from egraph.term import ByClass, Node, Term
from ir.core import Type
from ir.dialects.cuda_tile import DenseElements, DivI, RemI
from ir.types import F32, I32, FloatType, PartitionViewType, TileType
from lowering.atoms.copy import WIDE_LOAD, widest
from lowering.atoms.folds import thread_share
from lowering.atoms.forbidden import forbidden
from lowering.atoms.lanes import REDUX
from lowering.atoms.mma import MmaAtom
from lowering.atoms.pairs import F32X2, pairs_atom
from lowering.atoms.tma import TMA_STORES
from lowering.atoms.wgmma import IMM_SCALE
from lowering.cost import FREE, RAGGED, SECTOR, TENSOR_PART, Cost, Machine, exposed, priced, priced_as
from lowering.counts import CONSTANT, Form, modifiers, type_names
from lowering.layouts.access import MAX_BYTES, access_plan, async_copy, global_access, ldmatrix
from lowering.layouts.boxes import boxes
from lowering.layouts.conversions import estimate
from lowering.layouts.elements import REGISTER_BITS, element_bytes, moved_bits
from lowering.layouts.layout import Layout
from lowering.layouts.scans import Part, scan_dim
from lowering.layouts.shared import PERIOD, SharedLayout
from lowering.placement import LayoutOracle, MmaChoice
from lowering.placement.accumulated import by_agent, over_scores
from lowering.placement.copied import contiguous_dim, copy_threads
from lowering.selection.choices import Held, ValueLayout
from lowering.selection.early import Early
from lowering.selection.folding import Folds
from lowering.selection.hints import loads_without_tma
from lowering.selection.host import Host
from lowering.selection.products import agent_forbidden, by_threads, columns, emulated, outdone, promoted
from lowering.targets import Feature, Target
from lowering.targets.target import WARP

FRAGMENTS = 2  # steps of k whose operands are in registers: one multiplies while the next is read; ptxas does so
FROM_GLOBAL = (placed.LoadView, placed.LoadPointer)
READS = (*FROM_GLOBAL, placed.SharedRead, placed.Constant, placed.PlacedSplat, placed.Iota)
WHOLE = (placed.Product, placed.PlacedReduce, leaves.Around, leaves.Branch, placed.Convert)  # made as a whole tile


@dataclass(frozen=True, slots=True)
class NodeCost:
    """Cycles, and what is taken: bytes of a buffer (one stage), of scratch; registers beside those carried in loops and
    what stays in registers all through the loop; columns of tensor memory. shares: the buffer with other loops.
    """

    cost: Cost
    buffer: int = 0
    scratch: int = 0
    registers: int = 0
    held: tuple[Held, ...] = ()
    columns: int = 0
    shares: bool = False


@dataclass(frozen=True, slots=True)
class NodeContext:
    """Where a node stands: layout of its class, warps of the CTA, the innermost loop or -1."""

    layout: int
    warps: int
    loop: int

    @property
    def looped(self) -> bool:
        """Does it stand in a loop?"""
        return self.loop >= 0


NodeT = TypeVar("NodeT", bound=Node)
Pricing = Callable[["Pricer", NodeT, NodeContext], NodeCost | None]
PRICES: ByClass[Pricing[Any]] = ByClass("price")


def prices(*kinds: type[NodeT]) -> Callable[[Pricing[NodeT]], Pricing[NodeT]]:
    """Declare the price of placed operations, or of all that have these bases."""

    def declare(method: Pricing[NodeT]) -> Pricing[NodeT]:
        PRICES.add(kinds, method)
        return method

    return declare


class Pricer:
    """Prices for one program on one target; None is for what is not legal there."""

    def __init__(
        self,
        saturated: Saturated,
        oracle: LayoutOracle,
        target: Target,
        forbid: frozenset[str],
        owner: dict[int, ValueLayout],
    ):
        self.frozen: Frozen = saturated.frozen
        self.interner = saturated.program.interner
        self.bodies = saturated.program.bodies
        self.oracle = oracle
        self.target = target
        self.forbid = forbid
        self.owner = owner
        loops = [item for item in saturated.program.skeleton.walk() if isinstance(item, SkeletonLoop)]
        self.yields = {self.frozen.class_of(number) for item in loops for number in item.yields}
        self._streams: dict[int, bool] = {}
        self._conversions: dict[tuple[int, int, int], NodeCost | None] = {}  # two nodes of three are conversions
        self.folds = Folds(self.bodies, oracle, target, forbid)
        self.machines = {warps: Machine(target, warps) for warps in oracle.warps}
        self.ahead = Early(saturated, target)
        self.without_tma = loads_without_tma(saturated, target)
        self.host = Host(self.frozen, self.interner)
        self.by_agent = {self.frozen.class_of(number): scaled for number, scaled in by_agent(saturated.program).items()}
        stay = (placed.TensorProduct, placed.TensorScaledProduct)
        sums = (n.c for n in self.frozen.nodes if isinstance(n, stay) and not agent_forbidden(self, n))
        self.summed = {owner[c] for c in sums if target.has(Feature.TCGEN05) and not self.forbidden("tcgen05")}
        self.over_scores = {self.frozen.class_of(number) for number in over_scores(saturated.program)}
        self.tensor_products: frozenset[int] = frozenset()  # value classes that scalar instructions may not compute

    def price(self, node: Node, site: NodeContext) -> NodeCost | None:
        """The price of a node."""
        return PRICES[type(node)](self, node, site)

    @prices(Node)
    def unknown(self, node: Node, site: NodeContext) -> NodeCost | None:
        """A term that only a rule file of the user's declares. Raises TileError."""
        return NodeCost(self.machines[site.warps].elementwise(Form(node.op, (), (str(I32),)), 1))

    @prices(
        placed.Identity, placed.Assume, placed.Instead, placed.Reshape, placed.Broadcast, placed.Permute,
        placed.PermuteShared, placed.ReshapeShared, placed.Cat, placed.TileList, placed.PlacedSplat, leaves.Projection,
        leaves.Missing, leaves.Nil, leaves.Cons, leaves.Argument, leaves.LoopLeaf, leaves.ItemResult, leaves.Promised,
    )  # fmt: skip
    def free(self, node: Term, site: NodeContext) -> NodeCost | None:
        """Nothing: registers under other names, and what is there already."""
        return NodeCost(FREE)

    @prices(PlacedForm)
    def arithmetic(self, node: PlacedForm, site: NodeContext) -> NodeCost | None:
        """By the cost tables."""
        if any(self.stays(child) for child in node.children):
            return None
        form = self.form(node)
        tile = self.oracle.layouts[site.layout]
        registers = tile.n_regs if isinstance(tile, Layout) else 1  # shared operands are renamed, not computed
        if form.types[-1] == str(F32) and pairs_atom(self.target, self.forbid, node.title(), F32, registers):
            form = form._replace(modifiers=(*form.modifiers, F32X2))
        return NodeCost(self.machines[site.warps].elementwise(form, registers))

    def form(self, node: PlacedForm) -> Form:
        """The operation with its modifiers, and the types of its first operand and of its result."""
        of = modifiers(node.operation, node.numbers)
        if node.operation in (DivI, RemI) and self.frozen.is_constant(self.owner[node.operand(node.operation.rhs)][0]):
            of = (*of, CONSTANT)
        first = node.operand(node.operation.info.operands[0]) if node.operation.info.operands else node.cls
        kinds = (self.value_type(self.owner.get(cls, (-1, -1))[0]) for cls in (first, node.cls))
        return Form(priced_as(node.title()), of, type_names(*kinds))

    def allowed(self, choice: MmaChoice) -> bool:
        """May this atom be used?"""
        return choice.atom.legal(self.target) and not self.forbidden(choice.atom.name)

    def forbidden(self, name: str) -> bool:
        """Did the caller forbid atoms of this name?"""
        return forbidden(name, self.forbid)

    def value_type(self, value: int) -> Type | None:
        """The type of a value class."""
        ty = self.frozen.analysis["type"].get(value)
        return None if ty is None else self.interner.type(ty)

    def registers(self, value: int, layout: int) -> int:
        """32-bit registers a thread that hold a tile."""
        placed = self.oracle.layouts[layout]
        return -(-placed.n_regs * self.bits(value) // REGISTER_BITS) if isinstance(placed, Layout) else 0

    def carried(self, value: int, layout: int) -> int:
        """The same of what a loop carries; none of a sum in tensor memory, whose layout is that of the load behind."""
        return 0 if (value, layout) in self.summed else self.registers(value, layout)

    def stays(self, cls: int) -> bool:
        """Is this what a loop carries in tensor memory, where only its product reads it?"""
        place = self.owner.get(cls, (-1, -1))
        return place in self.summed and place[1] in self.oracle.kept

    def bits(self, value: int) -> int:
        """Bits that an element of a value takes in registers and in scratch; a predicate is moved as a word."""
        kind = self.value_type(value)
        return moved_bits(kind.element) if isinstance(kind, TileType) else 64

    def exposed(self, looped: bool) -> Cost:
        """The wait for global memory where no pipeline hides it."""
        return exposed(self.target) if looped else FREE

    # --- conversions and reductions

    @prices(placed.Convert)
    def convert(self, node: placed.Convert, site: NodeContext) -> NodeCost | None:
        """Scratch is what a round trip through shared memory takes."""
        if node.layout in self.oracle.kept or self.stays(node.source):
            return None
        key = (node.type, node.source_layout, node.layout)
        if key not in self._conversions:
            here, there = self.oracle.layout(node.source_layout), self.oracle.layout(node.layout)
            kind = self.oracle.tile(node.type)
            bits = moved_bits(kind.element)
            cost = estimate(here, there, bits, self.target)
            scratch = kind.size * bits // 8 if cost else 0
            parts = (("shared", cost),) if cost else ()
            fits = scratch <= self.target.smem_bytes
            self._conversions[key] = NodeCost(Cost(latency=cost, parts=parts), scratch=scratch) if fits else None
        return self._conversions[key]

    def operands(self, node: leaves.Combining) -> list[TileType]:
        """The types of the tiles that a reduction or scan takes."""
        value, _ = self.owner[node.list]
        if (kind := self.value_type(value)) is not None:
            return [cast(TileType, kind)]
        return [cast(TileType, self.value_type(each)) for each in self.frozen.listed(value)]

    def combining(self, node: leaves.Combining) -> float:
        """Instructions of a combiner."""
        return float(len(self.bodies[node.body].region.block.ops) - 1)

    @prices(placed.PlacedReduce, placed.PlacedFold)
    def reduce(self, node: placed.PlacedReduce | placed.PlacedFold, site: NodeContext) -> NodeCost | None:
        """Registers, then lanes by shuffles or redux, then warps through scratch."""
        kinds, each = self.operands(node), self.combining(node)
        layout = self.oracle.layout(node.source_layout)
        folding = self.folds.of(node, kinds[0].shape, len(kinds))
        plan, machine = folding.plan, self.machines[site.warps]
        results = len(plan.groups)
        registers = layout.n_regs * thread_share(self.target, folding.thread)
        redux = results if folding.lanes == REDUX else 0
        steps = 0 if redux else len(plan.lane_bits) * results
        cost = machine.busy("fma_f32", each * (registers + steps))
        cost += machine.busy("shuffle", len(kinds) * steps) + machine.busy("redux", redux)
        latency = (1 if redux else len(plan.lane_bits)) * self.target.latency.exchange
        scratch = 0
        if plan.warp_bits:
            latency += 2 * len(kinds) * float(self.target.latency.barrier + self.target.latency.shared)
            cost += machine.busy("fma_f32", each * (results << len(plan.warp_bits)))
            scratch = (1 << plan.layout.bits + len(plan.warp_bits)) * max(element_bytes(k.element) for k in kinds)
        return NodeCost(cost + Cost(latency=latency), scratch=scratch)

    @prices(placed.PlacedScan)
    def scan(self, node: placed.PlacedScan, site: NodeContext) -> NodeCost | None:
        """A step for each bit of the coordinate: values and totals combined, totals exchanged."""
        layout = self.oracle.layout(node.layout)
        kinds, each = self.operands(node), self.combining(node)
        plan = scan_dim(kinds[0].shape, node.dim, layout)
        if plan is None:
            return None
        machine, totals = self.machines[site.warps], layout.n_regs
        cost, latency = FREE, 0.0
        for step in plan.steps:
            if step.part is Part.REGISTER:
                totals //= 2
            elif step.part is Part.LANE:
                cost += machine.busy("shuffle", len(kinds) * totals)
                latency += self.target.latency.exchange
            else:
                latency += 2 * float(self.target.latency.barrier + self.target.latency.shared)
            chosen = 0 if step.part is Part.REGISTER else len(kinds)
            cost += machine.busy("fma_f32", (each + chosen) * layout.n_regs + (each + 2 * chosen) * totals)
        threads = 1 << len(layout.thread)
        scratch = plan.slots * threads * sum(element_bytes(k.element) for k in kinds)
        return NodeCost(cost + Cost(latency=latency), scratch=scratch)

    @prices(placed.Constant)
    def constant(self, node: placed.Constant, site: NodeContext) -> NodeCost | None:
        """Nothing where all elements are equal, else a load of an array of the module."""
        literal: DenseElements = self.interner.attributes[node.value]
        layout = self.oracle.layouts[site.layout]
        if literal.splat or not isinstance(layout, Layout):
            return NodeCost(FREE)
        size = element_bytes(self.oracle.tile(node.type).element)
        plan = global_access(layout, (1 << layout.bits,), 0, max(1, MAX_BYTES // size))
        return NodeCost(self.machines[site.warps].global_access(plan.thread, 0, len(plan.accesses), size))

    @prices(placed.Extract)
    def extract(self, node: placed.Extract, site: NodeContext) -> NodeCost | None:
        """Registers chosen."""
        return self.select_part(node.indices, node.source, site)

    @prices(placed.Insert)
    def insert(self, node: placed.Insert, site: NodeContext) -> NodeCost | None:
        """Registers chosen."""
        return self.select_part(node.indices, node.whole, site)

    def select_part(self, indices: int, tile: int, site: NodeContext) -> NodeCost | None:
        """Nothing where the indices are known, else a select for every register of the whole."""
        known = self.known_list(self.owner[indices][0])
        whole = self.oracle.layout(self.owner[tile][1])
        machine = self.machines[site.warps]
        return NodeCost(FREE if known else machine.busy("int_add", whole.n_regs))

    def known_list(self, value: int) -> bool:
        """Are all numbers of an operand list known?"""
        low, high = self.frozen.analysis.get("low", {}), self.frozen.analysis.get("high", {})
        return all(item in low and low[item] == high.get(item) for item in self.frozen.listed(value))

    @prices(placed.ExtractShared)
    def extract_shared(self, node: placed.ExtractShared, site: NodeContext) -> NodeCost | None:
        """A round trip of the whole through scratch memory."""
        value, source = self.owner[node.source]
        kind, layout = cast(TileType, self.value_type(value)), self.oracle.layout(source)
        size = element_bytes(kind.element)
        machine, latency = self.machines[site.warps], self.target.latency
        words = max(1, layout.n_regs * size // 4) + max(1, self.oracle.layout(site.layout).n_regs * size // 4)
        cost = machine.shared_access(words, words) + Cost(latency=float(2 * latency.barrier + 2 * latency.shared))
        return NodeCost(cost, scratch=kind.size * size)

    @prices(placed.Iota)
    def iota(self, node: placed.Iota, site: NodeContext) -> NodeCost | None:
        """One integer instruction an element."""
        registers = self.oracle.layout(site.layout).n_regs
        return NodeCost(self.machines[site.warps].busy("int_add", registers))

    # --- loads

    @prices(placed.LoadView)
    def load(self, node: placed.LoadView, site: NodeContext) -> NodeCost | None:
        """Straight from global memory."""
        view: PartitionViewType = self.interner.types[node.view_type]
        size = element_bytes(view.view.element)
        if node.bytes > widest(self.target, self.forbid, WIDE_LOAD):
            return None
        contiguous = contiguous_dim(view) or 0
        plan = global_access(self.oracle.layout(node.layout), view.tile, contiguous, max(1, node.bytes // size))
        return NodeCost(self.machines[site.warps].load(plan, contiguous, size, node.bytes, site.looped))

    @prices(placed.LoadPointer)
    def gather(self, node: placed.LoadPointer, site: NodeContext) -> NodeCost | None:
        """Through pointers."""
        kind = self.oracle.tile(node.type)
        dim = max(0, len(kind.shape) - 1)
        plan = global_access(self.oracle.layout(node.layout), kind.shape, dim, node.width)
        size = element_bytes(kind.element)
        if node.width * size > widest(self.target, self.forbid, WIDE_LOAD):
            return None
        return NodeCost(self.machines[site.warps].load(plan, dim, size, node.width * size, site.looped))

    # --- copies to shared memory

    @prices(placed.Copy)
    def copy(self, node: placed.Copy, site: NodeContext) -> NodeCost | None:
        """One tile into one stage, which begins at a multiple of PERIOD."""
        view: PartitionViewType = self.interner.types[node.view_type]
        shared = self.oracle.shared(node.shared)
        if node.mechanism == placed.Mechanism.REGISTERS:
            cost = None if node.shared in self.oracle.scales else self.register_copy(view, shared, node.bytes, site)
        elif view.padding not in (None, "zero"):
            return None  # asynchronous copies fill in zeros out of bounds
        elif node.mechanism == placed.Mechanism.TMA:
            # outside of loops the agent that fills rings brings it, or after all threads where it cannot
            value, array = (self.owner[cls][0] for cls in (node.cls, node.view))
            threads = site.looped or self.async_copy(view, shared, node.bytes, node.inside, site.warps) is not None
            brought = value in self.ahead if site.looped else threads and self.ahead.boxed(self.without_tma)
            usable = brought and value not in self.without_tma and self.host.maps(array)
            cost = self.box_copy(view, shared) if usable else None
        else:
            cost = self.async_copy(view, shared, node.bytes, node.inside, site.warps)
            if cost is not None and not self.ahead.copied(self.owner[node.cls][0], boxed=False):
                cost += self.exposed(site.looped)
        return None if cost is None else NodeCost(cost, buffer=-(-shared.size_bytes // PERIOD) * PERIOD)

    def register_copy(self, view: PartitionViewType, shared: SharedLayout, nbytes: int, site: NodeContext) -> Cost:
        """Load and store again; in a loop a thread waits for as many registers as are in flight at once."""
        machine = self.machines[site.warps]
        threads = copy_threads(view, site.warps, nbytes)
        contiguous, size = contiguous_dim(view) or 0, shared.element_bytes
        loads = global_access(threads, view.tile, contiguous, max(1, nbytes // size))
        stores = access_plan(threads, shared, "store")
        cost = machine.global_access(loads.thread, contiguous, len(loads.accesses), size)
        cost += machine.shared_access(stores.wavefronts, len(stores.accesses))
        return cost + (exposed(self.target, len(loads.accesses), nbytes) if site.looped else FREE)

    def async_copy(
        self, view: PartitionViewType, shared: SharedLayout, nbytes: int, inside: int, warps: int
    ) -> Cost | None:
        """cp.async by all threads."""
        if not self.target.has(Feature.CP_ASYNC) or self.forbidden("cp.async"):
            return None
        machine = self.machines[warps]
        threads = copy_threads(view, warps, nbytes)
        contiguous = contiguous_dim(view) or 0
        plan = async_copy(threads, view.tile, contiguous, shared, nbytes)
        if plan is None or plan.bytes != nbytes:
            return None
        cost = machine.global_access(plan.source_thread, contiguous, len(plan.copies), shared.element_bytes)
        if inside < nbytes:
            cost += machine.busy("int_add", RAGGED * len(plan.copies))
        written = machine.shared_access(plan.wavefronts, len(plan.copies))
        issued = machine.instructions("load_store", len(plan.copies))
        return cost + Cost(memory=written.memory - issued, parts=written.parts[:1])

    @prices(placed.GatherCopy)
    def gather_copy(self, node: placed.GatherCopy, site: NodeContext) -> NodeCost | None:
        """cp.async of the runs of a gathered tile by all threads; a mask chooses how many bytes each reads."""
        kind, run = self.oracle.tile(node.type), node.width
        shared, layout = self.oracle.shared(node.shared), self.oracle.layout(node.layout)
        if not self.target.has(Feature.CP_ASYNC) or self.forbidden("cp.async"):
            return None
        plan = async_copy(layout, kind.shape, len(kind.shape) - 1, shared, run * shared.element_bytes)
        if plan is None or plan.vector != run:
            return None
        machine, copies = self.machines[layout.n_warps], len(plan.copies)
        cost = machine.global_access(plan.source_thread, len(kind.shape) - 1, copies, shared.element_bytes)
        written = machine.shared_access(plan.wavefronts, copies)
        issued = machine.instructions("load_store", copies)
        cost += Cost(memory=written.memory - issued, parts=written.parts[:1])
        cost += machine.busy("int_add", copies)
        if self.owner[node.cls][0] not in self.ahead:
            cost += self.exposed(site.looped)
        return NodeCost(cost, buffer=shared.size_bytes)

    def box_copy(self, view: PartitionViewType, shared: SharedLayout) -> Cost | None:
        """The tensor memory accelerator, started by one thread of an agent of its own."""
        contiguous = contiguous_dim(view)
        legal = self.target.has(Feature.TMA) and not self.forbidden("tma")
        if not legal or contiguous is None or boxes(view.tile, contiguous, shared) is None:
            return None
        cycles = shared.size_bytes / self.target.throughput.global_bytes
        return Cost(memory=cycles, parts=(("global", cycles),))

    @prices(placed.SharedRead)
    def shared_read(self, node: placed.SharedRead, site: NodeContext) -> NodeCost | None:
        """A fragment, by ldmatrix or plain loads."""
        name: str = self.interner.attributes[node.atom]
        machine = self.machines[site.warps]
        layout, shared = self.oracle.layout(node.layout), self.oracle.shared(self.owner[node.source][1])
        if name == "ldmatrix":
            plan = ldmatrix(layout, shared)
            if plan is None or not self.target.has(Feature.LDMATRIX) or self.forbidden("ldmatrix"):
                return None
            return NodeCost(machine.shared_access(plan.wavefronts, len(plan.instructions)))
        plain = access_plan(layout, shared)
        cost = machine.shared_access(plain.wavefronts, len(plain.accesses))
        packing = layout.n_regs if plain.vector * shared.element_bytes < 4 else 0
        return NodeCost(cost + machine.busy("int_add", packing))

    @prices(placed.Hold)
    def hold(self, node: placed.Hold, site: NodeContext) -> NodeCost | None:
        """Registers to a buffer that a product reads: one of two in a loop, but that all wait for tensor memory's."""
        shared, layout = self.oracle.shared(site.layout), self.oracle.layout(self.owner[node.source][1])
        atom: str = self.interner.attributes[node.atom]
        written = None if self.forbidden(atom) else self.written(layout, shared, atom)
        if written is None or not self.target.features & {Feature.WGMMA, Feature.TCGEN05}:
            return None
        waits = float(self.target.latency.shared + self.target.latency.barrier)
        waited = self.target.has(Feature.TCGEN05)
        size = (1 + (site.looped and not waited)) * shared.size_bytes
        return NodeCost(written + Cost(latency=waits), buffer=size, shares=waited)

    # --- stores

    @prices(placed.WriteShared)
    def write(self, node: placed.WriteShared, site: NodeContext) -> NodeCost | None:
        """The store that copies the buffer to global memory has the price of both: `staged_store`."""
        return None

    def staged_store(self, view: PartitionViewType, layout: Layout, shared: SharedLayout, atom: str) -> NodeCost | None:
        """Registers to scratch memory, by tensor copies from there to the array.

        Waiting is that of a round trip through shared memory: what was written must be seen, what is read must have
        been read. Boxes with rows shorter than a sector move the whole sector.
        """
        contiguous = contiguous_dim(view)
        plan = None if contiguous is None else boxes(view.tile, contiguous, shared)
        legal = self.target.has(Feature.TMA) and not self.forbidden(atom)
        if not legal or plan is None or shared.size_bytes > self.target.smem_bytes:
            return None
        written = self.written(layout, shared, atom)
        if written is None:
            return None
        waits = 2 * float(self.target.latency.shared + self.target.latency.barrier)
        row = plan.box[0] * shared.element_bytes
        moved = prod(plan.box) * shared.element_bytes * max(1, SECTOR // row)
        copied = len(plan.places) * TMA_STORES[len(plan.dims)].cycles(self.target, moved)
        return NodeCost(
            written + Cost(memory=copied, latency=waits, parts=(("global", copied),)), scratch=shared.size_bytes
        )

    def written(self, layout: Layout, shared: SharedLayout, atom: str) -> Cost | None:
        """A tile to shared memory, by stmatrix or plain stores; None where the target lacks the instruction."""
        machine = self.machines[layout.n_warps]
        if atom == "stmatrix":
            matrices = ldmatrix(layout, shared)
            if matrices is None or not self.target.has(Feature.STMATRIX):
                return None
            return machine.shared_access(matrices.wavefronts, len(matrices.instructions))
        plain = access_plan(layout, shared, "store")
        return machine.shared_access(plain.wavefronts, len(plain.accesses))

    # --- matrix products

    @prices(placed.Product)
    def product(self, node: placed.Product, site: NodeContext) -> NodeCost | None:
        """Tensor cores at the atom's rate; scalar multiply-adds only where no tensor core computes the product."""
        choice = self.oracle.choice(node.choice)
        scalar = choice.atom.threads == 1 and self.owner[node.cls][0] in self.tensor_products
        a, b = (self.oracle.layouts[self.owner[c][1]] for c in (node.a, node.b))
        c, unwanted = self.oracle.layout(site.layout), scalar or not self.allowed(choice) or agent_forbidden(self, node)
        if unwanted or outdone(self, node, a, c, site.loop) or (placed.negated(node) and self.forbidden(IMM_SCALE)):
            return None
        work = 2.0 ** ((a.bits + b.bits + c.bits) / 2)  # multiply-adds of the tile: sqrt(mk * kn * mn)
        machine, atom = self.machines[site.warps], choice.atom
        (m, n, k), (registers, held) = atom.shape, self.live(node, site)
        if isinstance(a, Layout) and isinstance(b, Layout) and isinstance(atom, MmaAtom) and atom.threads == 1:
            kind = cast(TileType, self.value_type(self.owner[node.a][0])).element
            if isinstance(kind, FloatType) and kind.width < 16 and not self.target.has(Feature.CVT_FP8):
                return None
            operands = a.n_regs + b.n_regs
            fma, convert = work / atom.scalar_rate(self.target), machine.busy("convert", operands)
            cost = Cost(alu=fma, parts=(("fma_f32", fma),)) + convert
            return NodeCost(cost, registers=registers, held=held)
        copies = site.warps / prod(choice.grid) if isinstance(atom, MmaAtom) else 1  # by warps, where the tile is small
        count = work / (m * n * k) * copies
        cost = emulated(self.target, atom, count / site.warps, (a, b), machine)
        issued = count * atom.threads / WARP / self.target.throughput.issue
        cost += Cost(tensor=count * atom.cycles(self.target), alu=issued, parts=(("issue", issued),))
        sums, more = promoted(self, node, int(work / (1 << c.bits)), c, machine)
        cost += by_threads(self, node, c, machine)
        return NodeCost(cost + sums, registers=registers + more, held=held, columns=columns(self, node, c))

    def live(self, node: placed.Product, site: NodeContext) -> tuple[int, tuple[Held, ...]]:
        """Registers of a product beside what loops carry, and the operands that stay in registers all through its loop.

        The result takes the place of what its loop carries where it is carried on. An operand read from shared memory
        comes and goes in steps of k; a computed one is there as a whole, and so is a register operand of a warpgroup
        product, which must be complete before it starts.
        """
        first, second, accumulator = (self.owner[c] for c in (node.a, node.b, node.c))
        fragments, held = 0, list[Held]()
        for child, (value, layout) in ((node.a, first), (node.b, second)):
            registers, pieces = self.registers(value, layout), self.pieces(node, site.layout, child)
            if registers and site.loop >= 0 and not self.frozen.analysis.get("deps", {}).get(value, 0) >> site.loop & 1:
                held.append(Held(child, registers, pieces))
            else:
                fragments += pieces if self.streams(child) or isinstance(node, placed.InTensorMemory) else registers
        if isinstance(node, placed.ScaledMmaF):
            fragments += sum(self.registers(*self.owner[child]) for child in (node.a_scales, node.b_scales))
        carried = self.owner[node.cls][0] in self.yields or any(
            isinstance(each, leaves.Carry) for each in self.frozen.by_class.get(accumulator[0], ())
        )
        return fragments + (0 if carried else self.registers(accumulator[0], site.layout)), tuple(held)

    def pieces(self, node: placed.Product, layout: int, operand: int) -> int:
        """Registers of an operand that a product (its result in `layout`) uses at one time, if it comes in pieces."""
        a, b, c = (self.oracle.layouts[id].bits for id in (self.owner[node.a][1], self.owner[node.b][1], layout))
        steps = max(1, (1 << (a + b - c) // 2) // self.oracle.choice(node.choice).atom.shape[2])
        registers = self.registers(*self.owner[operand])
        if isinstance(node, placed.WarpgroupProduct):
            return registers
        parts = TENSOR_PART if isinstance(node, placed.InTensorMemory) else -(-FRAGMENTS * registers // steps)
        return min(registers, parts)

    def streams(self, placed: int) -> bool:
        """May this operand be made piece by piece, from memory? Not what products, reductions and loops leave."""
        found = self._streams.get(placed)
        if found is None:
            self._streams[placed] = False  # while it is asked for: a cycle adds nothing
            nodes = self.frozen.by_class.get(placed, ())
            found = self._streams[placed] = any(map(self.makes_pieces, nodes))
        return found

    def makes_pieces(self, node: Node) -> bool:
        """Does a node make its tile piece by piece?"""
        if isinstance(node, READS):
            return True
        below = [c for c in node.children if self.frozen.sort[c] == "P" and self.owner.get(c, (0, 0))[1]]
        return not isinstance(node, WHOLE) and all(map(self.streams, below))


def unpriced(classes: Iterable[type[Node]]) -> list[str]:
    """Placed operations that have no price: neither a method nor, where they are arithmetic, a row of the tables."""
    rows = priced()
    found = [cls for cls in classes if issubclass(cls, Term)]
    return sorted(
        cls.constructor for cls in found
        if PRICES.find(cls) in (None, Pricer.unknown)
        or (PRICES.find(cls) is Pricer.arithmetic and priced_as(cls.title()) not in rows)
    )  # fmt: skip


if missing := unpriced(placed_classes()):
    raise LookupError(f"no price for {', '.join(missing)}: run benchmarks.calibrate, or add methods with @prices")
