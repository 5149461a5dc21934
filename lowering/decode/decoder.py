"""The chosen e-nodes as an nv_tileas program: every value where its operands allow it, effects in skeleton order.

A value stands in the innermost loop that its operands need, so what does not change in a loop is computed before it.
Memory tokens are spent here: an access whose token says that it comes after another access gets a barrier between them
(the threads of a CTA then see each other's writes), and loads that a store must follow are placed before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from egraph.facts import limits
from egraph.leaves import Carry, Induction, ItemResult, LoopResult, Promised
from egraph.placed import Load, SharedCopy
from egraph.skeleton import Item, Return, SkeletonBranch, SkeletonEffect, SkeletonLoop, SkeletonRegion
from egraph.term import Node
from ir.core import Block, Builder, Op, Type, Value
from ir.core import Region as OpRegion
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas, scf
from ir.types import IntType, TensorType, TileType, TokenType
from lowering import launch
from lowering.atoms.evictions import streamed_classes
from lowering.atoms.tma import reduction
from lowering.decode import accesses, effects
from lowering.decode.needs import Needs
from lowering.decode.types import uniform_type
from lowering.decode.values import LOWERINGS
from lowering.layouts.layout import Layout
from lowering.placement.printing import copies
from lowering.selection import BRANCH, Selection, StoreChoice, staged
from lowering.tokens import STORE, Accesses, Order


@dataclass
class Scope:
    """A block under construction inside `depth` loops or branches.

    `open` are the accesses since the last barrier: those of other threads may still be under way. In a loop they
    begin with all that an earlier iteration may have made, `body`; other scopes have no body. `allocated` is memory
    that lasts until the end of the block.
    """

    builder: Builder
    depth: int
    open: set[int] = field(default_factory=set[int])
    body: Accesses | None = None
    allocated: list[Value] = field(default_factory=list[Value])


def decode(selection: Selection, name: str) -> nv_tileas.Func:
    """Build the placed program. Raises UnsupportedError, located, for operations without a per-thread form."""
    return Decoder(selection).func(name)


class Decoder:
    """The walk over a chosen program."""

    def __init__(self, selection: Selection):
        self.selection = selection
        self.frozen = selection.saturated.frozen
        self.program = selection.saturated.program
        self.interner = self.program.interner
        self.values: dict[int, Any] = {}  # placed class -> Value, list of Values, or None for a missing operand
        self.needs = Needs(selection)
        self.depth: dict[int, int] = {}  # placed class -> depth of the scope it stands in
        self.scopes: list[Scope] = []
        self.loops: dict[int, tuple[int, Value | None, dict[int, Value]]] = {}  # loop -> depth, counter, carried values
        self.sides: dict[int, int] = {}  # side of a branch that is being built -> depth
        self.streamed = streamed_classes(selection.saturated, selection.forbid)
        self.loaded: set[int] = set()  # placed loads that stand somewhere, perhaps in a scope that is closed
        self.results: dict[tuple[int, int], Value] = {}
        self.effects: dict[tuple[int, int], tuple[int, Value]] = {}
        self.order = Order(selection)
        self.ordered: set[int] = set()  # placed copies that come after a store of their own loop
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

    def func(self, name: str) -> nv_tileas.Func:
        """The placed kernel."""
        entry = self.program.entry
        block = Block([uniform_type(a.type) for a in entry.parameters])
        self.scopes.append(Scope(Builder(block, entry.location), 0))
        self.arguments = block.args
        self.region(self.program.skeleton)
        target = self.selection.target
        attributes = {
            "sym_name": name, "target": target.name, "warps": self.selection.warps, "params": launch.parameters(entry),
            "ranges": tuple(self.ranges(entry.parameters)), "asked_ctas": target.asked_ctas,
            "cluster": (entry.cluster, 1, 1),
        }  # fmt: skip
        return nv_tileas.Func((), (), attributes, [OpRegion([block])], entry.location)

    def ranges(self, parameters: Sequence[Value]) -> Iterator[tuple[int, int, int, int]]:
        """Parameters of which every execution promises more than their type says: the number, the least and the
        greatest value, a power of two that divides it.
        """
        for number, parameter in enumerate(parameters):
            kind, cls = parameter.type, self.frozen.class_of(self.program.number_of(parameter))
            if isinstance(kind, TileType) and isinstance(kind.element, IntType):
                whole = limits(kind.element.width)
                low, high = (
                    self.frozen.analysis["low"].get(cls, whole[0]),
                    self.frozen.analysis["high"].get(cls, whole[1]),
                )
                divisor = self.frozen.analysis["divisor"].get(cls, 1)
                if (*whole, 1) != (low, high, divisor) and low <= high:  # promises that contradict each other are none
                    yield number, low, high, divisor

    # --- effects

    def region(self, region: SkeletonRegion) -> None:
        """Every item of a region in order."""
        for item in region.items:
            _ITEMS[type(item)](self, item)

    @property
    def builder(self) -> Builder:
        """The innermost block."""
        return self.scopes[-1].builder

    def uniform(self, number: int) -> Value:
        """A source value that every thread holds."""
        return self.placed(self.frozen.held_in[self.frozen.class_of(number), 0])

    def store(self, item: SkeletonEffect) -> None:
        """A store in the layout that was chosen for it."""
        op, choice = item.op, self.selection.stores[item.item]
        if item.alone:
            effects.effect(self, item)
            return
        self.before(item)
        if choice.atom:
            self.store_staged(item, choice)
        elif isinstance(op, ct.LoadPtr | ct.AtomicRMW | ct.AtomicCAS):
            accesses.access(self, item, choice)
        elif isinstance(op, nv_tileas.Exchange):
            accesses.exchange(self, item, choice)
            return
        elif isinstance(op, ct.Assert):
            condition = self.value_at(item.operands[0], choice.layout)
            self.builder.location = op.location
            at = op.location
            where: dict[str, Any] = {"file": at.file, "line": max(at.line, 0)}
            self.builder.add(nv_tileas.Assert, condition, types=(), message=op.message, **where)
            return
        elif isinstance(op, ct.Print):
            args = [self.value_at(*place) for place in copies(item, self.selection.oracle, choice.width)]
            self.builder.location = op.location
            self.builder.add(nv_tileas.Print, *args, types=(), segments=(len(args),), format=op.str_)
            return
        elif isinstance(op, ct.StoreView):
            self.store_view(item, op, choice)
        else:
            store = cast(ct.StorePtr, op)
            numbers = item.operands[: 2 + (store.mask is not None)]
            operands = [self.value_at(k, choice.layout) for k in numbers]
            self.builder.location = op.location
            order = accesses.ordering(store.order, store.scope)
            self.builder.add(nv_tileas.Scatter, *operands, types=(), width=choice.width, **order)
        self.opened(self.order.store_id(item), len(self.scopes) - 1)

    def store_view(self, item: SkeletonEffect, op: ct.StoreView, choice: StoreChoice) -> None:
        """From registers."""
        value = self.value_at(item.operands[0], choice.layout)
        rest = [self.uniform(k) for k in item.operands[1 : -1 if op.token is not None else None]]
        self.builder.location = op.location
        self.builder.add(nv_tileas.TiledStore, value, *rest, types=(), bytes=choice.width)

    def store_staged(self, item: SkeletonEffect, choice: StoreChoice) -> None:
        """Through shared memory: a store, or an update of a tile."""
        value, place = staged(item)
        held = self.placed(self.frozen.native[self.frozen.class_of(value), choice.layout])
        rest = [self.uniform(k) for k in place]
        more: dict[str, Any] = {"reduction": kind} if (kind := reduction(item.op)) else {}
        self.builder.location = item.op.location
        self.builder.add(
            nv_tileas.StagedStore, held, *rest, types=(), shared=self.selection.oracle.shared(choice.shared),
            atom=choice.atom, bytes=choice.width, ordered=bool(self.order.of_store(item)),
            parts=choice.parts, **more,
        )  # fmt: skip

    def eviction(self, node: Load) -> str:
        """The policy of the L2 cache for what a load brings; empty: none."""
        return self.streamed.get(self.selection.owner[node.cls][0], "")

    def used(self, item: int, index: int) -> bool:
        """Does the chosen program use this result of a skeleton item?"""
        return (item, index) in self.leaves

    def value_at(self, number: int, layout: int) -> Value:
        """A source value in a layout."""
        return self.placed(self.frozen.held_in[self.frozen.class_of(number), layout])

    def before(self, item: SkeletonEffect) -> None:
        """Make what must precede a store precede it: its loads placed, then a barrier if threads may race."""
        self.loads_before(item)
        self.barrier_behind(self.order.of_store(item), len(self.scopes) - 1)

    def loads_before(self, item: SkeletonEffect) -> None:
        """Place the loads that an item comes after."""
        for load in sorted(self.order.loads_before(item)):
            for placed in self.order.loads[load]:
                if placed not in self.loaded:
                    self.placed(placed)
        self.builder.location = item.op.location

    def barrier_behind(self, accesses: Accesses, depth: int) -> None:
        """A barrier at the end of a scope if one of these accesses is open there. What tensor copies store stays open
        where it was not waited for: threads that meet know nothing of it.
        """
        scope = self.scopes[depth]
        if accesses & scope.open:
            left = scope.open & self.staged
            if self.stores_written(accesses, depth):
                left = set[int]()
            scope.builder.add(nv_tileas.Barrier, types=())
            scope.open.intersection_update(left)

    def stores_written(self, accesses: Accesses, depth: int) -> bool:
        """All tensor stores that are open in a scope have written memory, if one is among these accesses; says so."""
        scope = self.scopes[depth]
        found = bool(accesses & scope.open & self.staged)
        if found:
            scope.builder.add(nv_tileas.StoreWait, types=())
        return found

    def release(self) -> None:
        """At the end of the innermost block nobody uses the memory that was asked for there any more."""
        scope = self.scopes[-1]
        if scope.allocated:
            self.stores_written(frozenset(scope.open), len(self.scopes) - 1)
            scope.builder.add(nv_tileas.Barrier, types=())
            scope.open.clear()
        for memory in scope.allocated:
            scope.builder.add(nv_tileas.Free, memory, types=())

    def opened(self, access: int, depth: int) -> None:
        """An access was put at the end of a scope, before what stands in the inner ones."""
        for scope in self.scopes[depth:]:
            scope.open.add(access)

    def loop(self, item: SkeletonLoop) -> None:
        """A loop: counted, or endless until its body says that it is over."""
        op, builder = item.op, self.builder
        bounds = [] if item.again else [self.uniform(k) for k in (item.lower, item.upper, item.step)]
        indices = [i for i, kind in enumerate(item.types) if not isinstance(kind, TokenType)]
        inits = [self.value_at(item.inits[i], self.selection.carried[item.loop, i]) for i in indices]
        body = Block([*(v.type for v in bounds[:1]), *(v.type for v in inits)])
        depth = len(self.scopes)
        carried = body.args[len(bounds[:1]) :]
        self.loops[item.loop] = (depth, body.args[0] if bounds else None, dict(zip(indices, carried, strict=True)))
        inside = self.order.inside(item)
        self.scopes.append(Scope(Builder(body, op.location), depth, self.scopes[-1].open | inside, inside))
        self.region(item.body)
        yields = self.carried_on([(item.yields[i], self.selection.carried[item.loop, i]) for i in indices])
        again = self.uniform(item.again) if item.again else None
        self.release()
        if again is not None:
            self.builder.add(scf.Condition, again, *yields, types=())
        else:
            self.builder.add(scf.Yield, *yields, types=())
        left = self.scopes.pop().open
        self.scopes[-1].open |= left  # beside what was open: the body may not have run
        builder.location = op.location
        types, regions = [v.type for v in inits], [OpRegion([body])]
        if item.again:
            made = builder.add(scf.While, *inits, types=types, regions=regions, segments=(len(inits),))
        else:
            made = builder.add(
                scf.For, *bounds, *inits, types=types, segments=(1, 1, 1, len(inits)), regions=regions,
                **({"unsigned": True} if cast(ct.For, op).unsigned_cmp else {}),
            )  # fmt: skip
        self.results.update({(item.loop, i): r for i, r in zip(indices, made.results, strict=True)})

    def carried_on(self, values: Sequence[tuple[int, int]]) -> list[Value]:
        """What a loop carries on, numbers and layouts. Made first is what needs no product of its own: the sum of a row
        takes the tile that is an operand of the next product too, and leaves a column of it. Not where tiles do not fit
        anyhow (swa_attention of TileGym on sm_120a: 260 registers of 201, 60 bytes are spilled so and 4 otherwise).
        """
        classes = [self.frozen.held_in[self.frozen.class_of(number), layout] for number, layout in values]
        needed = self.needs.products(classes, self.values)
        once = several = 0
        for cls in dict.fromkeys(classes):
            several |= once & needed[cls]
            once |= needed[cls]
        crowded = any(self.selection.spilled.values())
        for cls in sorted(classes, key=lambda cls: not crowded and bool(needed[cls] & ~several)):
            self.placed(cls)
        return [self.values[cls] for cls in classes]

    def branch(self, item: SkeletonBranch) -> None:
        """A branch, both sides in scopes of their own."""
        op = item.op
        condition = self.uniform(item.condition)
        indices = [i for i, kind in enumerate(item.types) if not isinstance(kind, TokenType)]
        regions: list[OpRegion] = []
        types: list[Type] = []
        left: set[int] = set()
        sides = ((item.then, item.then_yields), (item.otherwise, item.otherwise_yields))
        for side, (region, yields) in zip(item.scopes, sides, strict=True):
            block = Block()
            self.sides[side] = len(self.scopes)
            self.scopes.append(Scope(Builder(block, op.location), len(self.scopes), set(self.scopes[-1].open)))
            before = set(self.values)
            self.region(region)
            values = [self.value_at(yields[i], self.selection.carried.get((BRANCH + item.item, i), 0)) for i in indices]
            self.release()
            self.builder.add(scf.Yield, *values, types=())
            types = [v.type for v in values]
            depth = len(self.scopes) - 1
            left |= self.scopes.pop().open
            del self.sides[side]
            for placed in set(self.values) - before:  # what stands inside is not seen after it
                if self.depth[placed] >= depth:
                    del self.values[placed], self.depth[placed]
            regions.append(OpRegion([block]))
        self.scopes[-1].open |= left
        self.builder.location = op.location
        made = self.builder.add(scf.If, condition, types=types, regions=regions)
        for i, result in zip(indices, made.results, strict=True):
            self.effects[item.item, i] = (len(self.scopes) - 1, result)

    def end(self, item: Return) -> None:
        """The end of the kernel."""
        self.builder.location = item.op.location
        self.release()
        self.builder.add(nv_tileas.Return, types=())

    # --- values

    def placed(self, cls: int) -> Any:
        """The value of a placed class, made now unless it was made before."""
        if cls not in self.values:
            self.make(cls)
        return self.values[cls]

    def make(self, cls: int) -> None:
        """Make a class and, before it, what it needs, without recursion on long chains: copies to shared memory first,
        which take no registers and arrive meanwhile; then what needs most registers, so that a tile that is only read
        from memory is not held while the other operand is computed.
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
        """The placed classes that must be there before a node is built: its operands, or what makes those again."""
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
        """An operand that is there, or made again here."""
        if cls not in again:
            return self.values[cls]
        node = again[cls]
        made = {c: self.operand(builder, c, again) for c in node.children if self.frozen.sort[c] == "P"}
        return LOWERINGS[type(node)](self, builder, node, made)

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
        self.values[cls] = LOWERINGS[type(node)](self, scope.builder, node, made)

    def load_depth(self, node: Load, depth: int) -> int:
        """A load stands no higher than what its token comes after; a barrier orders it behind stores.

        An asynchronous copy in a loop may be moved ahead of it, so what it comes after outside is waited for there.
        A load through pointers, which no bounds protect, stays inside the loops and branches that it was written in.
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


def enclosing(op: Op) -> int:
    """Loops and branches around an op."""
    count, above = 0, op.parent.parent_op if op.parent else None
    while above is not None:
        count += isinstance(above, ct.For | ct.Loop | ct.If)
        above = above.parent.parent_op if above.parent else None
    return count


_ITEMS: dict[type[Item], Callable[[Decoder, Any], None]] = {
    SkeletonEffect: Decoder.store, SkeletonLoop: Decoder.loop, SkeletonBranch: Decoder.branch, Return: Decoder.end,
}  # fmt: skip
