"""State of decoding a chosen program to nv_tileas: the scopes under construction, the result for each placed class, the
open accesses; and the tables of lowerings for placed operations, skeleton items and effects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from egraph.leaves import Carry, Induction, ItemResult, LoopResult, Promised
from egraph.placed import Load, SharedCopy
from egraph.skeleton import SkeletonEffect, SkeletonRegion
from egraph.term import Node
from ir.core import Builder, Op, Type, Value
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from ir.records import dataclass
from ir.types import TensorType, TileType
from lowering.atoms.evictions import streamed_classes
from lowering.decode.needs import Needs
from lowering.decode.types import uniform_type
from lowering.dispatch import Lowerings
from lowering.layouts.layout import Layout
from lowering.selection import Selection
from lowering.tokens import STORE, Accesses, Order

Made = Mapping[int, Any]
"""The results for the classes of the operands."""


@dataclass
class Scope:
    """A block under construction inside `depth` loops or branches.

    `open` are the accesses since the last barrier: those of other threads may still be in flight. In a loop they start
    with all that an earlier iteration may have made, `body`; other scopes have no body. `allocated` is memory that
    lasts until the end of the block.
    """

    builder: Builder
    depth: int
    open: set[int] = field(default_factory=set[int])
    body: Accesses | None = None
    allocated: list[Value] = field(default_factory=list[Value])


class Decoder:
    """Decoding of a chosen program: state and services."""

    def __init__(self, selection: Selection):
        self.selection = selection
        self.frozen = selection.saturated.frozen
        self.program = selection.saturated.program
        self.interner = self.program.interner
        self.values: dict[int, Any] = {}  # placed class -> Value, list of Values, or None for a missing operand
        self.needs = Needs(selection)
        self.depth: dict[int, int] = {}  # placed class -> depth of its scope
        self.scopes: list[Scope] = []
        self.arguments: list[Value] = []
        self.loops: dict[int, tuple[int, Value | None, dict[int, Value]]] = {}  # loop -> depth, counter, carried values
        self.sides: dict[int, int] = {}  # side of a branch under construction -> depth
        self.streamed = streamed_classes(selection.saturated, selection.forbid)
        self.loaded: set[int] = set()  # placed loads that have been emitted, perhaps in a closed scope
        self.results: dict[tuple[int, int], Value] = {}
        self.effects: dict[tuple[int, int], tuple[int, Value]] = {}
        self.order = Order(selection)
        self.ordered: set[int] = set()  # placed copies ordered after a store of their own loop
        self.staged = frozenset(STORE + item for item, choice in selection.stores.items() if choice.atom)
        self.leaves = {(n.item, n.index) for n in selection.node.values() if isinstance(n, ItemResult)}
        self.sources: dict[int, Op] = {}
        self.guarded: dict[int, int] = {}  # value of a pointer load -> loops and branches around it
        for number, op in self.program.source.items():
            value = self.frozen.class_of(number)
            self.sources.setdefault(value, op)
            if isinstance(op, ct.LoadPtr):
                around = enclosing(op)
                self.guarded[value] = min(self.guarded.get(value, around), around)

    # --- effects

    @property
    def builder(self) -> Builder:
        """The innermost block."""
        return self.scopes[-1].builder

    def uniform(self, number: int) -> Value:
        """A source value that every thread holds."""
        return self.placed(self.frozen.held_in[self.frozen.class_of(number), 0])

    def region(self, region: SkeletonRegion) -> None:
        """Every item of a region in order."""
        for item in region.items:
            lowers_item[type(item)](self, item)

    def eviction(self, node: Load) -> str:
        """The L2 cache policy of a load; empty: none."""
        return self.streamed.get(self.selection.owner[node.cls][0], "")

    def used(self, item: int, index: int) -> bool:
        """Does the chosen program use this result of a skeleton item?"""
        return (item, index) in self.leaves

    def value_at(self, number: int, layout: int) -> Value:
        """A source value in a layout."""
        return self.placed(self.frozen.held_in[self.frozen.class_of(number), layout])

    def before(self, item: SkeletonEffect) -> None:
        """Emit what must precede a store: place its loads, then a barrier if threads may race."""
        self.loads_before(item)
        self.barrier_behind(self.order.of_store(item), len(self.scopes) - 1)

    def loads_before(self, item: SkeletonEffect) -> None:
        """Place the loads that an item is ordered after."""
        for load in sorted(self.order.loads_before(item)):
            for placed in self.order.loads[load]:
                if placed not in self.loaded:
                    self.placed(placed)
        self.builder.location = item.op.location

    def barrier_behind(self, accesses: Accesses, depth: int) -> None:
        """A barrier at the end of a scope if one of these accesses is open there. Tensor stores stay open unless waited
        for: a barrier does not order them.
        """
        scope = self.scopes[depth]
        if accesses & scope.open:
            left = scope.open & self.staged
            if self.stores_written(accesses, depth):
                left = set[int]()
            scope.builder.add(nv_tileas.Barrier, types=())
            scope.open.intersection_update(left)

    def stores_written(self, accesses: Accesses, depth: int) -> bool:
        """Wait for all open tensor stores of a scope if one is among these accesses; returns whether it did."""
        scope = self.scopes[depth]
        found = bool(accesses & scope.open & self.staged)
        if found:
            scope.builder.add(nv_tileas.StoreWait, types=())
        return found

    def release(self) -> None:
        """Free the memory allocated in the innermost block at its end."""
        scope = self.scopes[-1]
        if scope.allocated:
            self.stores_written(frozenset(scope.open), len(self.scopes) - 1)
            scope.builder.add(nv_tileas.Barrier, types=())
            scope.open.clear()
        for memory in scope.allocated:
            scope.builder.add(nv_tileas.Free, memory, types=())

    def opened(self, access: int, depth: int) -> None:
        """Record that an access was added at the end of a scope, before the contents of inner ones."""
        for scope in self.scopes[depth:]:
            scope.open.add(access)

    # --- values

    def placed(self, cls: int) -> Any:
        """The value of a placed class, emitted now unless it already exists."""
        if cls not in self.values:
            self.make(cls)
        return self.values[cls]

    def make(self, cls: int) -> None:
        """Emit a class after its operands, without recursion on long chains: copies to shared memory first, which take
        no registers and arrive meanwhile; then the operand that needs the most registers, so that a tile that is only
        loaded is not live while the other operand is computed.
        """
        stack = [cls]
        while stack:
            top = stack[-1]
            if top in self.values:
                stack.pop()
                continue
            node = self.selection.node[top]
            needed = self.outside(top, node)
            missing = [c for c in needed if c not in self.values]
            if missing:
                stack.extend(sorted(missing, key=self.urgency))
                continue
            stack.pop()
            self.build(top, node)

    def outside(self, cls: int, node: Node) -> list[int]:
        """The placed classes that must exist before a node is built: its operands, or the inputs to rematerialise
        them.
        """
        found: list[int] = []
        stack = [(c, self.selection.again.get((cls, c), {})) for c in reversed(node.children)]
        while stack:
            top, again = stack.pop()
            if top in again:
                stack.extend((c, again) for c in reversed(again[top].children))
            elif self.frozen.sort[top] == "P":
                found.append(top)
        return found

    def operand(self, builder: Builder, cls: int, again: dict[int, Node]) -> Any:
        """An existing operand, or one rematerialised here."""
        if cls not in again:
            return self.values[cls]
        node = again[cls]
        made = {c: self.operand(builder, c, again) for c in node.children if self.frozen.sort[c] == "P"}
        return lowers[type(node)](self, node, builder, made)

    def urgency(self, cls: int) -> tuple[bool, int]:
        """The order of operands, the most urgent last: is it a copy, and how many registers it needs beyond its own."""
        return isinstance(self.selection.node[cls], SharedCopy), self.needs.beyond(cls)

    def build(self, cls: int, node: Node) -> None:
        """One op, in the block of its deepest operand."""
        children = [c for c in node.children if self.frozen.sort[c] == "P"]
        depth = max((self.depth[c] for c in self.outside(cls, node)), default=0)
        match node:
            case Induction() | Carry():
                depth = self.loops[node.loop][0]
            case LoopResult():
                depth = self.loops[node.loop][0] - 1
            case ItemResult():
                depth = self.effects[node.item, node.index][0]
            case Load():
                depth = self.load_depth(node, depth)
            case Promised():
                depth = max(depth, self.depth_of(node.scope))
            case _:
                pass
        scope = self.scopes[depth]
        source = self.sources.get(self.selection.owner[cls][0]) if cls in self.selection.owner else None
        if source is not None:
            scope.builder.location = source.location
        again = self.selection.again
        made = {c: self.operand(scope.builder, c, again.get((cls, c), {})) for c in children}
        self.depth[cls] = depth
        self.values[cls] = lowers[type(node)](self, node, scope.builder, made)

    def load_depth(self, node: Load, depth: int) -> int:
        """A load is placed no higher than the accesses its token is ordered after; a barrier orders it after stores.

        An asynchronous copy in a loop may be moved ahead of the loop, so accesses outside that it is ordered after are
        waited for there. A load through pointers, which has no bounds check, stays inside its source loops and
        branches.
        """
        stores = self.order.stores_before(node)
        guarded = self.guarded.get(self.selection.owner[node.cls][0], 0)
        depth = max(depth, self.token_depth(node), min(guarded, len(self.scopes) - 1))
        scope = self.scopes[depth]
        if isinstance(node, SharedCopy) and scope.body is not None:
            if stores & scope.body:
                self.ordered.add(node.cls)
            else:
                self.barrier_behind(stores, depth - 1)
                scope.open -= stores
        self.barrier_behind(stores, depth)
        self.opened(self.order.load_id(node.cls), depth)
        self.loaded.add(node.cls)
        return depth

    def token_depth(self, node: Load) -> int:
        """Depth of the innermost loop or branch that a load's token depends on."""
        return self.depth_of(self.frozen.analysis.get("deps", {}).get(node.token, 0))

    def depth_of(self, deps: int) -> int:
        """Depth of the innermost loop or branch among these."""
        scopes = [*((loop, depth) for loop, (depth, _, _) in self.loops.items()), *self.sides.items()]
        return max((depth for scope, depth in scopes if deps >> scope & 1), default=0)

    def type_of(self, cls: int) -> Type:
        """The nv_tileas type of a placed class."""
        value, layout = self.selection.owner[cls]
        kind = self.interner.type(self.frozen.analysis["type"][value])
        return self.placed_type(kind, layout)

    def layout(self, id: int) -> Layout:
        """The layout of a tile in registers."""
        found = self.selection.layout(id)
        assert isinstance(found, Layout)
        return found

    def placed_type(self, kind: Type, layout: int) -> Type:
        """A tile type in a layout; rank 0 is a scalar."""
        if isinstance(kind, TileType) and kind.shape:
            return TensorType(kind.shape, kind.element, self.selection.layout(layout))
        return uniform_type(kind)

    def type_at(self, ty: int, layout: int) -> Type:
        """The nv_tileas type of an interned tile type in a layout."""
        return self.placed_type(self.interner.type(ty), layout)


lowers: Lowerings[Decoder, [Builder, Made], Any] = Lowerings("lowering")
"""The lowering of a placed operation in its block: a Value, a list of them (operand lists, several
results), or None for a missing operand."""
lowers_item: Lowerings[Decoder, [], None] = Lowerings("decoding")
"""The lowering of a skeleton item."""
lowers_effect: Lowerings[Decoder, [SkeletonEffect], None] = Lowerings("lowering")
"""The lowering of the operation of a skeleton item."""


def enclosing(op: Op) -> int:
    """Loops and branches around an op."""
    count, above = 0, op.parent.parent_op if op.parent else None
    while above is not None:
        count += isinstance(above, ct.For | ct.Loop | ct.If)
        above = above.parent.parent_op if above.parent else None
    return count
