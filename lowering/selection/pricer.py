"""The inputs of prices: the program, the target, forbidden atoms; and the table of prices."""

from __future__ import annotations

from math import prod

from egraph import leaves, placed
from egraph.forms import PlacedForm
from egraph.frozen import Frozen
from egraph.saturate import Saturated
from egraph.skeleton import SkeletonLoop
from egraph.term import Node
from ir.checked import checked
from ir.core import Type
from ir.dialects.cuda_tile import DivI, RemI
from ir.records import dataclass
from ir.types import PartitionViewType, TileType
from lowering.atoms.forbidden import forbidden
from lowering.atoms.tcgen05 import BY_AGENT
from lowering.atoms.tma import TMA_STORES
from lowering.cost import FREE, SECTOR, TENSOR_PART, Cost, Machine, exposed, priced_as
from lowering.counts import CONSTANT, Form, modifiers, type_names
from lowering.dispatch import Lowerings
from lowering.layouts.access import access_plan, ldmatrix
from lowering.layouts.boxes import boxes
from lowering.layouts.elements import REGISTER_BITS, moved_bits
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout
from lowering.placement import LayoutOracle, MmaChoice
from lowering.placement.accumulated import by_agent, over_scores, seldom_scaled
from lowering.placement.copied import contiguous_dim
from lowering.selection.choices import Held, ValueLayout
from lowering.selection.early import Early
from lowering.selection.folding import Folds
from lowering.selection.hints import loads_without_tma
from lowering.selection.host import Host
from lowering.targets import Feature, Target

FROM_GLOBAL = (placed.LoadView, placed.LoadPointer)
READS = (*FROM_GLOBAL, placed.SharedRead, placed.Constant, placed.PlacedSplat, placed.Iota)
FRAGMENTS = 2  # steps of k whose operands are in registers: one multiplies while the next is read; ptxas does so
WHOLE = (placed.Product, placed.PlacedReduce, leaves.Around, leaves.Branch, placed.Convert)  # computed as a whole tile


@dataclass(frozen=True, slots=True)
class NodeCost:
    """Cycles and resources: bytes of a buffer (one stage), of scratch; registers in addition to carried values and
    values that stay in registers throughout the loop; columns of tensor memory. shares: the buffer is shared with other
    loops.
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
    """The context of a node: layout of its class, warps of the CTA, the innermost loop or -1."""

    layout: int
    warps: int
    loop: int

    @property
    def looped(self) -> bool:
        """Is it in a loop?"""
        return self.loop >= 0


class Pricer:
    """Prices for one program on one target; None means not legal there."""

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
        self.conversions: dict[tuple[int, int, int], NodeCost | None] = {}  # two nodes of three are conversions
        self.folds = Folds(self.bodies, oracle, target, forbid)
        self.machines = {warps: Machine(target, warps) for warps in oracle.warps}
        self.ahead = Early(saturated, target)
        self.without_tma = loads_without_tma(saturated, target)
        self.host = Host(self.frozen, self.interner)
        self.by_agent = {self.frozen.class_of(number): scaled for number, scaled in by_agent(saturated.program).items()}
        stay = (placed.TensorProduct, placed.TensorScaledProduct, placed.TensorKeptProduct)
        sums = (n.c for n in self.frozen.nodes if isinstance(n, stay) and not self.agent_forbidden(n))
        self.summed = {owner[c] for c in sums if target.has(Feature.TCGEN05) and not self.forbidden("tcgen05")}
        self.seldom = {self.frozen.class_of(number) for number in seldom_scaled(saturated.program)}
        self.over_scores = {self.frozen.class_of(number) for number in over_scores(saturated.program)}
        self.tensor_products: frozenset[int] = frozenset()  # value classes that scalar instructions must not compute

    def price(self, node: Node, site: NodeContext) -> NodeCost | None:
        """The price of a node."""
        return prices[type(node)](self, node, site)

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
        """32-bit registers a thread for a tile."""
        placed = self.oracle.layouts[layout]
        return -(-placed.n_regs * self.bits(value) // REGISTER_BITS) if isinstance(placed, Layout) else 0

    def carried(self, value: int, layout: int) -> int:
        """The same for a carried value; 0 for a sum in tensor memory, whose layout is that of the load after the
        loop.
        """
        return 0 if (value, layout) in self.summed else self.registers(value, layout)

    def stays(self, cls: int) -> bool:
        """Is this a carried value in tensor memory, read only by its product?"""
        place = self.owner.get(cls, (-1, -1))
        return place in self.summed and place[1] in self.oracle.kept

    def bits(self, value: int) -> int:
        """Bits that an element of a value takes in registers and in scratch; a predicate is moved as a word."""
        kind = self.value_type(value)
        return moved_bits(kind.element) if isinstance(kind, TileType) else 64

    def exposed(self, looped: bool) -> Cost:
        """The wait for global memory that no pipeline hides."""
        return exposed(self.target) if looped else FREE

    def operands(self, node: leaves.Combining) -> list[TileType]:
        """The types of the tiles that a reduction or scan takes."""
        value, _ = self.owner[node.list]
        if (kind := self.value_type(value)) is not None:
            return [checked(kind, TileType)]
        return [checked(self.value_type(each), TileType) for each in self.frozen.listed(value)]

    def combining(self, node: leaves.Combining) -> float:
        """Instructions of a combiner."""
        return float(len(self.bodies[node.body].region.block.ops) - 1)

    def known_list(self, value: int) -> bool:
        """Are all numbers of an operand list known?"""
        low, high = self.frozen.analysis.get("low", {}), self.frozen.analysis.get("high", {})
        return all(item in low and low[item] == high.get(item) for item in self.frozen.listed(value))

    def written(self, layout: Layout, shared: SharedLayout, atom: str) -> Cost | None:
        """A tile to shared memory, by stmatrix or plain stores; None if the target lacks the instruction."""
        machine = self.machines[layout.n_warps]
        if atom == "stmatrix":
            matrices = ldmatrix(layout, shared)
            if matrices is None or not self.target.has(Feature.STMATRIX):
                return None
            return machine.shared_access(matrices.wavefronts, len(matrices.instructions))
        plain = access_plan(layout, shared, "store")
        return machine.shared_access(plain.wavefronts, len(plain.accesses))

    def staged_store(self, view: PartitionViewType, layout: Layout, shared: SharedLayout, atom: str) -> NodeCost | None:
        """Registers to scratch memory, by tensor copies from there to the array.

        The waits are those of a round trip through shared memory: writes must be visible, reads must have completed.
        Boxes with rows shorter than a sector move the whole sector.
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

    def pieces(self, node: placed.Product, layout: int, operand: int) -> int:
        """Registers of an operand that a product (its result in `layout`) uses at one time, if it is produced
        piecewise.
        """
        a, b, c = (self.oracle.layouts[id].bits for id in (self.owner[node.a][1], self.owner[node.b][1], layout))
        steps = max(1, (1 << (a + b - c) // 2) // self.oracle.choice(node.choice).atom.shape[2])
        registers = self.registers(*self.owner[operand])
        if isinstance(node, placed.WarpgroupProduct):
            return registers
        parts = TENSOR_PART if isinstance(node, placed.InTensorMemory) else -(-FRAGMENTS * registers // steps)
        return min(registers, parts)

    def streams(self, placed: int) -> bool:
        """May this operand be produced piecewise, from memory? Not results of products, reductions and loops."""
        found = self._streams.get(placed)
        if found is None:
            self._streams[placed] = False  # during the query: a cycle adds nothing
            nodes = self.frozen.by_class.get(placed, ())
            found = self._streams[placed] = any(map(self.makes_pieces, nodes))
        return found

    def makes_pieces(self, node: Node) -> bool:
        """Does a node produce its tile piecewise?"""
        if isinstance(node, READS):
            return True
        below = [c for c in node.children if self.frozen.sort[c] == "P" and self.owner.get(c, (0, 0))[1]]
        return not isinstance(node, WHOLE) and all(map(self.streams, below))

    def agent_forbidden(self, node: placed.Product) -> bool:
        """Is this a sum of a nested loop that an agent would accumulate, if that is forbidden, or otherwise one that
        all threads read step by step, unless it is block-scaled (then it is a different product, with a sum in a
        different layout)? Or one that a pair of CTAs would issue, although its threads read it separately?
        """
        if isinstance(node, placed.TensorReadProduct) and getattr(self.oracle.choice(node.choice).atom, "ctas", 1) > 1:
            return True
        scaled = self.by_agent.get(self.owner[node.cls][0])
        if self.forbidden(BY_AGENT):
            return scaled is not None and isinstance(node, placed.TensorProduct)
        return scaled is False and isinstance(node, placed.TensorReadProduct)


prices: Lowerings[Pricer, [NodeContext], NodeCost | None] = Lowerings("price")
"""The cost and resources of a node in its context; None if it is not legal."""
