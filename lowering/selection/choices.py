"""The decisions of extraction, in terms of the program: nodes, layouts of stores and carried values, warps, stages."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from egraph.frozen import Frozen
from egraph.placed import Product
from egraph.saturate import Saturated
from egraph.skeleton import SkeletonEffect
from egraph.term import Node
from extract import Answer, Graph
from ir.core import Location, TileError, UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.records import dataclass
from ir.types import TokenType
from lowering.atoms.tma import TMA_REDUCE
from lowering.cost import FREE, Cost
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout
from lowering.placement import LayoutOracle
from lowering.targets import Target

if TYPE_CHECKING:
    from lowering.persistence.order import Order
    from lowering.persistence.price import Scheduled
    from lowering.selection.folding import Folds

BRANCH = 1 << 32  # beyond every loop id
ValueLayout = tuple[int, int]  # (value class, layout)


def places(frozen: Frozen) -> dict[int, ValueLayout]:
    """The value and the layout of every placed class, including buffers that stores copy out.

    Raises TileError if rules have merged two layouts into one class: its nodes would be read as if they were in either.
    """
    found: dict[int, ValueLayout] = {}
    typed = frozen.analysis.get("type", {})  # a missing operand has no layout
    for (value, layout), cls in (*frozen.out.items(), *frozen.held_in.items(), *frozen.native.items()):
        other = found.get(cls, (value, layout))[1]
        if other != layout and value in typed:
            ops = ", ".join(sorted({node.op for node in frozen.by_class.get(cls, ())}))
            hint = "a placed term must name everything it depends on, including its layout unless the operands imply it"
            raise TileError(f"rules put layouts {other} and {layout} into one class of {ops}", hint=hint)
        found[cls] = (value, layout)
    return found


@dataclass(frozen=True, slots=True)
class Held:
    """A placed class computed before a loop that needs it: registers of the whole, and of the pieces in use at one time
    if it is produced piecewise.
    """

    placed: int
    registers: int
    pieces: int


@dataclass(frozen=True)
class StoreChoice:
    """The lowering of a store: from a value in `layout`, `width` bytes (views) or elements (pointers) an access.

    With an `atom` (stmatrix or st.shared) it goes through a buffer in layout `shared`, in `parts` one after the other.
    `drained`: the exchange of CTAs overlays drained rings.
    """

    item: int
    layout: int
    width: int
    shared: int = 0
    atom: str = ""
    reduces: bool = False
    drained: bool = False
    parts: int = 1

    @property
    def way(self) -> str:
        """Its instructions, by the names under which they can be forbidden."""
        return f"{self.atom}, {TMA_REDUCE if self.reduces else 'tma.store'}" if self.atom else "st.global"


def staged(item: SkeletonEffect) -> tuple[int, list[int]]:
    """The tile stored or updated through shared memory: its number, and those of its view and index."""
    if item.at:
        return item.operands[1], list(item.at)
    pairs = zip(item.operands[1:], item.op.operands[1:], strict=True)
    return item.operands[0], [k for k, value in pairs if not isinstance(value.type, TokenType)]


@dataclass(frozen=True)
class CarryChoice:
    """The layout of a loop-carried value, or of a tile that a branch yields: then `loop` is `BRANCH` + the item."""

    loop: int
    index: int
    layout: int


@dataclass
class Alternative:
    """One lowering of an effect: the classes it needs, the cost of one execution, its number of executions, its
    resources.

    `decision` is the choice group of the layout if other nodes follow it.
    """

    children: list[int]
    cost: Cost = FREE
    trips: float = 1.0
    choice: StoreChoice | CarryChoice | None = None
    decision: tuple[Hashable, ...] = ()
    use: dict[int, float] = field(default_factory=dict[int, float])


@dataclass(frozen=True)
class Ranked:
    """A program that was ranked by time: the shape of its CTAs, its cost, its predicted cycles."""

    shape: str
    cost: float
    cycles: float


@dataclass(frozen=True)
class StretchTime:
    """Straight-line code between loops: where; predicted cycles of the SM for each CTA, and of a CTA with the SM to
    itself, in the order of the source and as scheduled; `loads` that come before barriers or waits that they came
    after; why there are none, empty if there are.
    """

    location: Location
    before: tuple[float, float]
    after: tuple[float, float]
    loads: int
    why_not: str = ""

    def __str__(self) -> str:
        source = f"{self.location}: {times(self.before)} in source order"
        if self.why_not:
            return f"{source}: kept, {self.why_not}"
        return f"{source}, {times(self.after)} with {self.loads} of its loads earlier: applied"


def times(cycles: tuple[float, float]) -> str:
    """Cycles of an SM with several CTAs, and of one alone."""
    return f"{cycles[0]:.0f} ({cycles[1]:.0f} alone)"


@dataclass(frozen=True)
class OtherLoops:
    """Alternative loops: their name; the cost of the program, 0 if it is too high; predicted cycles of it and of the
    best one before, if these count; registers of a thread for results of products, if it was not tried for them.
    """

    name: str
    cost: float = 0.0
    cycles: tuple[float, ...] = ()
    taken: bool = False
    crowded: int = 0

    def __str__(self) -> str:
        if self.crowded:
            return f"{self.name}: not tried, its products' results would take {self.crowded} registers a thread"
        if not self.cost:
            return f"{self.name}: costs more"
        time = f", predicted {self.cycles[0]:.0f} cycles, {self.cycles[1]:.0f} without" if self.cycles else ""
        return f"{self.name}: cost {self.cost:.0f}{time}{', taken' * self.taken}"


@dataclass(frozen=True)
class TileTime:
    """How warpgroups share the tiles of a persistent loop: cycles of a tile in its main loop, in everything else, and
    amortised over many tiles, which a unit may `limit`; or why they cannot.
    """

    way: str
    shape: str = ""
    main: float = 0.0
    rest: float = 0.0
    total: float = float("inf")
    limit: str = ""
    reason: str = ""
    taken: bool = False

    @property
    def hidden(self) -> float:
        """Cycles of a tile that overlap with other tiles."""
        return 0.0 if self.reason else self.main + self.rest - self.total

    def __str__(self) -> str:
        if self.reason:
            return f"{self.way}: not possible, {self.reason}"
        limit = f", as {self.limit} allows" * bool(self.limit) + ", taken" * self.taken
        return (
            f"{self.way}, {self.shape}: main loop {self.main:,.0f}, the rest {self.rest:,.0f}: {self.total:,.0f}{limit}"
        )


@dataclass(frozen=True)
class Clustered:
    """A tried number of CTAs of a tile block: the cost of a CTA, what multicast `saves` and the hand-over through
    memory `adds`, in cycles; the factor for a tile block (`times`); or why there is no such program. `along`: they
    divide the steps of products, not the tile; `grid`: as CTAs of the grid, not of a cluster; `even`: as many as fit
    the device share the steps of all tile blocks. `parts`: into which the tile is cut along its dimensions.
    """

    ctas: int
    cost: float = 0.0
    saves: float = 0.0
    times: int = 1
    reason: str = ""
    along: bool = False
    grid: bool = False
    adds: float = 0.0
    even: bool = False
    parts: tuple[int, ...] = ()

    @property
    def total(self) -> float:
        """The total that is compared."""
        return float("inf") if self.reason else (self.cost - self.saves + self.adds) * self.times

    def __str__(self) -> str:
        what = (
            ("1 CTA" if self.ctas == 1 else f"{self.ctas} CTAs") + " of the grid" * self.grid + " along K" * self.along
        )
        what = f"{self.ctas} CTAs in even shares along K" if self.even else what
        what += f", {'x'.join(map(str, self.parts))}" if self.parts else ""
        if self.reason:
            return f"{what}: not possible, {self.reason}"
        less = f" - {self.saves:,.0f} saved by multicast" if self.saves else ""
        more = f" + {self.adds:,.0f} through memory" if self.adds else ""
        return f"{what}: ({self.cost:,.0f}{less}{more}) x {self.times} = {self.total:,.0f}"


@dataclass
class Selection:
    """The chosen program: for every placed class its node, for stores and carried values their layouts.

    Consumer `warps` of the CTA (agents that only move data come on top), `stages` of the ring that each copy fills,
    `shape`: the meaning of the classes of `graph` that decide these. `again`: a product and an operand rematerialised
    in each iteration of its loop -> the node of every placed class computed there.
    """

    saturated: Saturated
    oracle: LayoutOracle
    target: Target
    graph: Graph
    answer: Answer
    warps: int
    stages: dict[int, int]
    shape: dict[int, str]
    node: dict[int, Node]  # placed class -> chosen e-node
    owner: dict[int, ValueLayout]
    stores: dict[int, StoreChoice]
    carried: dict[tuple[int, int], int]
    folds: Folds
    costs: dict[int, float] = field(default_factory=dict[int, float])  # placed class -> cost of its chosen node
    enodes: dict[int, Node] = field(default_factory=dict[int, Node])  # node of `graph` -> e-node
    choices: dict[int, StoreChoice | CarryChoice] = field(default_factory=dict[int, StoreChoice | CarryChoice])
    forbid: frozenset[str] = frozenset()
    spilled: dict[str, int] = field(default_factory=dict[str, int])  # row of registers -> beyond its limit, at a cost
    again: dict[tuple[int, int], dict[int, Node]] = field(default_factory=dict[tuple[int, int], dict[int, Node]])
    branch: int | None = None  # the choice group of `warps`, which divides the graph
    priced: dict[int, tuple[float, Cost]] = field(default_factory=dict[int, tuple[float, Cost]])
    """node of `graph` -> executions, and the cost of one; nodes with other costs are absent"""
    within: dict[int, int] = field(default_factory=dict[int, int])
    """node of `graph` -> the innermost loop in which it is computed, -1: outside loops; only nodes of values"""
    early: frozenset[int] = frozenset()  # loops whose first product is issued one iteration early, known after decoding
    powers: Mapping[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """loop -> how many of `OF` pairs of its powers of two are polynomials, and their degree; known after decoding"""
    apart: Mapping[int, float] = field(default_factory=dict[int, float])
    """loop -> cycles of an iteration of the slower of its agents, where a transformer computes tiles; likewise"""
    ctas: int = 1  # that share an SM
    aside: bool = False  # the search was suspended: there may be a cheaper program
    written: frozenset[int] = frozenset()  # values computed as the source says, as one layout alone had a replacement
    tables: Graph | None = None  # `graph` under the costs of the target's tables, if it has others
    offered: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Numbers of `warps` and of `ctas` that extraction chose from; no entry if it had no choice."""
    ranked: tuple[Ranked, ...] = ()  # programs that were compared by predicted time, the cheapest first
    consumers: tuple[TileTime, ...] = ()  # compared ways for warpgroups to share tiles
    loops: tuple[OtherLoops, ...] = ()  # alternatives to the source's loops that were tried
    straight: tuple[StretchTime, ...] = ()  # straight-line code in which loads could come earlier
    clusters: tuple[Clustered, ...] = ()  # numbers of CTAs that were tried, if that was a choice
    schedules: tuple[Scheduled, ...] = ()  # schedules of tile blocks that were tried, if that was a choice
    orders: tuple[Order, ...] = ()  # possible orders of tile blocks

    @property
    def shaped(self) -> str:
        """The shape of its CTAs, in words."""
        return f"{self.warps} warps" + (f", {self.ctas} CTAs per SM" if "ctas" in self.offered else "")

    @property
    def by_tables(self) -> Graph:
        """The graph under the costs of the target's tables."""
        return self.graph if self.tables is None else self.tables

    def scalar_products(self) -> list[TileError]:
        """Warnings, not raised, for products computed by scalar instructions only because the tensor cores' are
        forbidden.
        """
        frozen = self.saturated.frozen
        products = [node for node in self.node.values() if isinstance(node, Product)]
        chosen = {self.owner[node.cls][0] for node in products if self.scalar(node)}
        able = {
            self.owner[node.cls][0]
            for node in (frozen.nodes if chosen else ())
            if isinstance(node, Product)
            and not self.scalar(node)
            and self.oracle.choice(node.choice).atom.legal(self.target)
        }
        return [
            UnsupportedError(f"'{op.name}' is computed without tensor cores, whose atoms are forbidden", op.location)
            for number, op in self.saturated.program.source.items()
            if frozen.class_of(number) in chosen & able and isinstance(op, ct.MmaF | ct.MmaI)
        ]

    def scalar(self, node: Product) -> bool:
        """Is this product computed by scalar instructions?"""
        return self.oracle.choice(node.choice).atom.threads == 1

    def layout(self, id: int) -> Layout | SharedLayout:
        """The layout of an id; for uniform values, one with the chosen number of warps."""
        return self.oracle.layouts[id] if id else Layout.trivial(self.warps)
