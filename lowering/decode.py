"""The chosen e-nodes as an nv_tileas program: every value where its operands allow it, effects in skeleton order.

A value stands in the innermost loop that its operands need, so what does not change in a loop is computed before it.
Memory tokens are spent here: an access whose token says that it comes after another access gets a barrier between them
(the threads of a CTA then see each other's writes), and loads that a store must follow are placed before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from egraph.frozen import Node
from egraph.skeleton import For, If, Item, Region, Return, Store
from egraph.terms import signatures
from ir.core import OPS, Block, Builder, Op, Type, UnsupportedError, Value
from ir.core import Region as OpRegion
from ir.dataclass import dataclass, field
from ir.dialects import arith, nv_tileas, scf
from ir.dialects import cuda_tile as ct
from ir.types import GLOBAL_PTR, I1, I32, PointerType, TensorType, TensorViewType, TileType, TokenType
from lowering.convert.elementwise import scalar_op
from lowering.placement.oracle import Mechanism
from lowering.selection import BRANCH, Selection
from lowering.tokens import LOADS, Accesses, Order


@dataclass
class Scope:
    """A block under construction inside `depth` loops or branches.

    `open` are the accesses since the last barrier: those of other threads may still be under way. In a loop they
    begin with all that an earlier iteration may have made, `body`; other scopes have no body.
    """

    builder: Builder
    depth: int
    open: set[int] = field(default_factory=set[int])
    body: Accesses | None = None


def decode(selection: Selection, name: str) -> nv_tileas.Func:
    """Build the placed program. Raises UnsupportedError, located, for operations without a per-thread form."""
    return _Decoder(selection).func(name)


class _Decoder:
    def __init__(self, selection: Selection):
        self.selection = selection
        self.frozen = selection.saturated.frozen
        self.program = selection.saturated.program
        self.interner = self.program.interner
        self.values: dict[int, Any] = {}  # placed class -> Value, list of Values, or None for a missing operand
        self.depth: dict[int, int] = {}  # placed class -> depth of the scope it stands in
        self.scopes: list[Scope] = []
        self.loops: dict[int, tuple[int, list[Value]]] = {}  # loop -> (depth, iv and carried values)
        self.sides: dict[int, int] = {}  # side of a branch that is being built -> depth
        self.loaded: set[int] = set()  # placed loads that stand somewhere, perhaps in a scope that is closed
        self.results: dict[tuple[int, int], Value] = {}
        self.effects: dict[tuple[int, int], tuple[int, Value]] = {}
        self.arithmetic = {"p." + s.name: s for s in signatures().values()}
        self.order = Order(selection)
        self.ordered: set[int] = set()  # placed copies that come after a store of their own loop
        self.sources: dict[int, Op] = {}
        self.guarded: dict[int, int] = {}  # value of a pointer load -> loops and branches around it
        for op in self.program.source.values():
            for result in op.results:
                value = self.frozen.class_of(self.program.number_of(result))
                self.sources.setdefault(value, op)
                if isinstance(op, ct.LoadPtr):
                    around = enclosing(op)
                    self.guarded[value] = min(self.guarded.get(value, around), around)

    def func(self, name: str) -> nv_tileas.Func:
        entry = self.program.entry
        block = Block([uniform_type(a.type) for a in entry.body.block.args])
        self.scopes.append(Scope(Builder(block, entry.location), 0))
        self.arguments = block.args
        self.region(self.program.skeleton)
        attributes = {"sym_name": name, "target": self.selection.target.name, "warps": self.selection.warps}
        return nv_tileas.Func((), (), attributes, [OpRegion([block])], entry.location)

    # --- effects

    def region(self, region: Region) -> None:
        for item in region.items:
            _ITEMS[type(item)](self, item)

    @property
    def builder(self) -> Builder:
        """The innermost block."""
        return self.scopes[-1].builder

    def uniform(self, number: int) -> Value:
        """A source value that every thread holds."""
        return self.placed(self.frozen.at[self.frozen.class_of(number), 0])

    def store(self, item: Store) -> None:
        op, choice = item.op, self.selection.stores[item.item]
        self.before(item)
        if isinstance(op, ct.StoreView):
            value = self.value_at(item.operands[0], choice.layout)
            last = -1 if op.token is not None else None
            rest = [self.uniform(k) for k in item.operands[1:last]]
            self.builder.location = op.location
            self.builder.add(nv_tileas.TiledStore, value, *rest, types=(), bytes=choice.width)
        else:
            store = cast(ct.StorePtr, op)
            numbers = item.operands[: 2 + (store.mask is not None)]
            operands = [self.value_at(k, choice.layout) for k in numbers]
            self.builder.location = op.location
            self.builder.add(nv_tileas.Scatter, *operands, types=(), width=choice.width)
        self.opened(self.order.store_id(item), len(self.scopes) - 1)

    def value_at(self, number: int, layout: int) -> Value:
        """A source value in a layout."""
        return self.placed(self.frozen.at[self.frozen.class_of(number), layout])

    def before(self, item: Store) -> None:
        """Make what must precede a store precede it: its loads placed, then a barrier if threads may race."""
        for load in sorted(self.order.loads_before(item)):
            for placed in self.order.loads[load]:
                if placed not in self.loaded:
                    self.placed(placed)
        self.builder.location = item.op.location
        self.barrier_behind(self.order.of_store(item), len(self.scopes) - 1)

    def barrier_behind(self, accesses: Accesses, depth: int) -> None:
        """A barrier at the end of a scope if one of these accesses is open there."""
        scope = self.scopes[depth]
        if accesses & scope.open:
            scope.builder.add(nv_tileas.Barrier, types=())
            scope.open.clear()

    def opened(self, access: int, depth: int) -> None:
        """An access was put at the end of a scope, before what stands in the inner ones."""
        for scope in self.scopes[depth:]:
            scope.open.add(access)

    def loop(self, item: For) -> None:
        op = item.op
        bounds = [self.uniform(k) for k in (item.lower, item.upper, item.step)]
        indices = [i for i, r in enumerate(op.results) if not isinstance(r.type, TokenType)]
        inits = [self.value_at(item.inits[i], self.selection.carried[item.loop, i]) for i in indices]
        body = Block([bounds[0].type, *(v.type for v in inits)])
        depth = len(self.scopes)
        slots: list[Value] = list(body.args[:1]) * (1 + len(op.results))
        for i, argument in zip(indices, body.args[1:], strict=True):
            slots[1 + i] = argument
        self.loops[item.loop] = (depth, slots)
        inside = self.order.inside(item)
        self.scopes.append(Scope(Builder(body, op.location), depth, self.scopes[-1].open | inside, inside))
        self.region(item.body)
        yields = [self.value_at(item.yields[i], self.selection.carried[item.loop, i]) for i in indices]
        self.builder.add(scf.Yield, *yields, types=())
        left = self.scopes.pop().open
        self.scopes[-1].open |= left  # beside what was open: the body may not have run
        self.builder.location = op.location
        made = self.builder.add(
            scf.For, *bounds, *inits, types=[v.type for v in inits], segments=(1, 1, 1, len(inits)),
            regions=[OpRegion([body])], **({"unsigned": True} if cast(ct.For, op).unsigned_cmp else {}),
        )  # fmt: skip
        self.results.update({(item.loop, i): r for i, r in zip(indices, made.results, strict=True)})

    def branch(self, item: If) -> None:
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
        self.builder.location = item.op.location
        self.builder.add(nv_tileas.Return, types=())

    # --- values

    def placed(self, cls: int) -> Any:
        """The value of a placed class, made now unless it was made before."""
        if cls not in self.values:
            self.make(cls)
        return self.values[cls]

    def make(self, cls: int) -> None:
        """Make a class and, before it, what it needs, without recursion on long chains."""
        stack = [cls]
        while stack:
            top = stack[-1]
            if top in self.values:
                stack.pop()
                continue
            node = self.selection.node[top]
            missing = [c for c in node.children if self.frozen.sort[c] == "P" and c not in self.values]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            self.build(top, node)

    def build(self, cls: int, node: Node) -> None:
        """One op, in the block of its deepest operand."""
        children = [c for c in node.children if self.frozen.sort[c] == "P"]
        operands = [self.values[c] for c in children]
        depth = max((self.depth[c] for c in children), default=0)
        handler = _VALUES.get(node.op)
        if node.op in ("p.iv", "p.carry"):
            depth = self.loops[node.literals[0]][0]
        elif node.op == "p.res":
            depth = self.result_depth(node)
        elif node.op in ("p.effect", "p.branch"):
            depth = self.effects[node.literals[0], node.literals[1]][0]
        elif node.op in LOADS:
            depth = self.load_depth(cls, node, depth)
        scope = self.scopes[depth]
        source = self.sources.get(self.selection.owner[cls][0]) if cls in self.selection.owner else None
        if source is not None:
            scope.builder.location = source.location
        self.depth[cls] = depth
        self.values[cls] = (handler or _Decoder.arith)(self, scope.builder, cls, node, operands)

    def result_depth(self, node: Node) -> int:
        """Depth of the block that holds a loop."""
        return self.loops[node.literals[0]][0] - 1

    def load_depth(self, cls: int, node: Node, depth: int) -> int:
        """A load stands no higher than what its token comes after; a barrier orders it behind stores.

        An asynchronous copy in a loop may be moved ahead of it, so what it comes after outside is waited for there.
        A load through pointers, which no bounds protect, stays inside the loops and branches that it was written in.
        """
        stores = self.order.of_load(node) - self.order.load_ids
        guarded = self.guarded.get(self.selection.owner[cls][0], 0)
        depth = max(depth, self.token_depth(node), min(guarded, len(self.scopes) - 1))
        scope = self.scopes[depth]
        if node.op == "p.copy" and scope.body is not None:
            if stores & scope.body:
                self.ordered.add(cls)
            else:
                self.barrier_behind(stores, depth - 1)
                scope.open -= stores
        self.barrier_behind(stores, depth)
        self.opened(self.order.load_id(cls), depth)
        self.loaded.add(cls)
        return depth

    def token_depth(self, node: Node) -> int:
        """Depth of the innermost loop or branch that a load's token depends on."""
        deps = self.frozen.analysis.get("deps", {}).get(self.order.token_of(node), 0)
        scopes = [*((loop, depth) for loop, (depth, _) in self.loops.items()), *self.sides.items()]
        return max((depth for scope, depth in scopes if deps >> scope & 1), default=0)

    def type_of(self, cls: int) -> Type:
        """The nv_tileas type of a placed class."""
        value, layout = self.selection.owner[cls]
        kind = self.interner.type(self.frozen.analysis["type"][value])
        return self.placed_type(kind, layout)

    def placed_type(self, kind: Type, layout: int) -> Type:
        """A tile type in a layout; rank 0 is a scalar."""
        if isinstance(kind, TileType) and kind.shape:
            return TensorType(kind.shape, kind.element, self.selection.layout(layout))
        return uniform_type(kind)

    def type_at(self, ty: int, layout: int) -> Type:
        """The nv_tileas type of an interned tile type in a layout."""
        return self.placed_type(self.interner.type(ty), layout)

    def arith(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        """An elementwise op: the scalar op of the next level on placed tiles."""
        signature = self.arithmetic[node.op]
        op = OPS["cuda_tile." + signature.mnemonic]
        attributes = self.attributes(op, node)
        kind = self.type_of(cls)
        if op is ct.Offset:
            pointer = cast(Value, operands[0]).type
            width = self.pointee_bytes(cls)
            return b.value(nv_tileas.AddPtr, *operands, types=[pointer], element_bytes=width)
        source = self.sources.get(self.selection.owner[cls][0])
        if op is ct.NegI:
            zero = self.literal(b, 0, kind)
            return b.value(arith.SubI, zero, *operands, types=[kind])
        found, extra = scalar_op(op, attributes, element_type(operands[0].type), element_type(kind), source)
        return b.value(found, *operands, types=[kind], **extra)

    def literal(self, b: Builder, number: int | float, kind: Type) -> Value:
        """A number as a scalar or a tile of it."""
        if isinstance(kind, TensorType):
            import numpy as np

            dtype = ct.dtype_of(cast(Any, kind.element))
            return b.value(nv_tileas.Constant, types=[kind], value=ct.DenseElements(np.array([number], dtype)))
        return b.value(arith.Constant, types=[kind], value=number)

    def attributes(self, op: type[Op], node: Node) -> dict[str, Any]:
        """The op's attributes out of the node's integers."""
        signature = self.arithmetic[node.op]
        found: dict[str, Any] = {}
        for attribute in op.info.attributes:
            if attribute.name in signature.integers:
                number = node.literals[signature.integers.index(attribute.name)]
                kind: Any = attribute.kind
                plain = isinstance(kind, type) and issubclass(kind, int)
                found[attribute.name] = kind(number) if plain else self.interner.attributes[number]
        return found

    def pointee_bytes(self, cls: int) -> int:
        """Bytes of what a pointer value points to."""
        kind = self.interner.type(self.frozen.analysis["type"][self.selection.owner[cls][0]])
        element = cast(TileType, kind).element
        return max(1, cast(PointerType, element).pointee.width // 8)

    # --- leaves and shape operations

    def own(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Any:
        return operands[0]

    def convert(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        ty, _, layout = node.literals
        return b.value(nv_tileas.ConvertLayout, operands[0], types=[self.type_at(ty, layout)])

    def argument(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        return self.arguments[node.literals[0]]

    def induction(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        return self.loops[node.literals[0]][1][0]

    def carry(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        return self.loops[node.literals[0]][1][1 + node.literals[1]]

    def result(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        return self.results[node.literals[0], node.literals[1]]

    def effect(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        return self.effects[node.literals[0], node.literals[1]][1]

    def missing(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> None:
        return None

    def constant(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        value, ty, layout = node.literals
        kind = self.type_at(ty, layout)
        literal: ct.DenseElements = self.interner.attributes[value]
        if not isinstance(kind, TensorType):
            return b.value(arith.Constant, types=[kind], value=literal.item)
        return b.value(nv_tileas.Constant, types=[kind], value=literal)

    def splat(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        value, ty, layout = node.literals
        return self.literal(b, value, self.type_at(ty, layout))

    def iota(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        return b.value(nv_tileas.Iota, types=[self.type_of(cls)])

    def reshape(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        kind = self.type_of(cls)
        return operands[0] if operands[0].type == kind else b.value(nv_tileas.Reshape, operands[0], types=[kind])

    def broadcast(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        return b.value(nv_tileas.Broadcast, operands[0], types=[self.type_of(cls)])

    def permute(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        permutation = self.interner.attributes[node.literals[0]]
        return b.value(nv_tileas.Permute, operands[0], types=[self.type_of(cls)], permutation=permutation)

    # --- uniform values

    def nil(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> list[Value]:
        return []

    def cons(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> list[Value]:
        return [operands[0], *operands[1]]

    def tensor_view(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        base, sizes, strides = operands
        kind = self.interner.type(node.literals[0])
        return b.add(
            nv_tileas.MakeMemref, base, *sizes, *strides, types=[kind], segments=(1, len(sizes), len(strides))
        ).result

    def partition(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        return b.value(nv_tileas.Partition, operands[0], types=[self.interner.type(node.literals[0])])

    def index_space(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> list[Value]:
        types = [uniform_type(t) for t in self.interner.attributes[node.literals[-1]]]
        return b.add(nv_tileas.IndexSpaceShape, operands[0], types=types).results

    def tensor_shape(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> list[Value]:
        types = [uniform_type(t) for t in self.interner.attributes[node.literals[-1]]]
        return b.add(nv_tileas.TensorShape, operands[0], types=types).results

    def block_id(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> list[Value]:
        return [b.value(nv_tileas.ProgramId, types=[I32], axis=i) for i in range(3)]

    def num_blocks(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> list[Value]:
        return [b.value(nv_tileas.NumPrograms, types=[I32], axis=i) for i in range(3)]

    def project(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        return operands[0][node.literals[0]]

    # --- memory, products, reductions

    def load_view(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        view, index = operands
        ty, _, layout, nbytes = node.literals
        kind = self.type_at(ty, layout)
        return b.value(nv_tileas.TiledLoad, view, *index, types=[kind], bytes=nbytes)

    def copy(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        view, index = operands
        ty, _, shared, nbytes, inside, mechanism = node.literals
        kind = self.type_at(ty, shared)
        return b.value(
            nv_tileas.TiledCopy, view, *index, types=[kind], bytes=nbytes, ragged=inside < nbytes,
            asynchronous=mechanism != Mechanism.REGISTERS, tma=mechanism == Mechanism.TMA, ordered=cls in self.ordered,
            stages=self.selection.stages.get(cls, 1),
        )  # fmt: skip

    def shared_read(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        ty, method, layout = node.literals
        atom = self.interner.attributes[method]
        return b.value(nv_tileas.SharedLoad, operands[0], types=[self.type_at(ty, layout)], atom=atom)

    def load_ptr(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        pointer, mask, other = operands
        ty, layout, width = node.literals
        if mask is None:
            other = None
        present = [x for x in (pointer, mask, other) if x is not None]
        segments = (1, int(mask is not None), int(other is not None))
        return b.add(
            nv_tileas.Gather, *present, types=[self.type_at(ty, layout)], segments=segments, width=width
        ).result

    def rename_shared(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        kind = self.type_of(cls)
        if node.op == "p.reshape_shared":
            return b.value(nv_tileas.Reshape, operands[0], types=[kind])
        permutation = self.interner.attributes[node.literals[0]]
        return b.value(nv_tileas.Permute, operands[0], types=[kind], permutation=permutation)

    def product(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        choice = self.selection.oracle.choice(node.literals[0])
        kind = self.type_of(cls)
        return b.value(nv_tileas.Dot, *operands, types=[kind], atom=choice.atom.name, grid=choice.grid)

    def reduce(self, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
        dim, body, identities, _, _ = node.literals
        region = self.program.bodies[body].region
        kind = self.type_of(cls)
        combiner = self.combiner(region)
        identity = self.interner.attributes[identities][0]
        return b.add(nv_tileas.Reduce, operands[0], types=[kind], regions=[combiner], dim=dim, identity=identity).result

    def combiner(self, region: OpRegion) -> OpRegion:
        """A combiner region with the scalar ops of the next level."""
        source = region.block
        block = Block([uniform_type(a.type) for a in source.args])
        values = dict(zip(source.args, block.args, strict=True))
        b = Builder(block)
        for op in source.ops:
            operands = [values[v] for v in op.operands]
            b.location = op.location
            if isinstance(op, ct.Yield):
                b.add(scf.Yield, *operands, types=())
            elif isinstance(op, ct.Constant):
                kind = uniform_type(op.result.type)
                values[op.result] = b.value(arith.Constant, types=[kind], value=op.value.item)
            else:
                kind = uniform_type(op.results[0].type)
                attributes = {a.name: op.attributes.get(a.name, a.default) for a in op.info.attributes}
                found, extra = scalar_op(type(op), attributes, operands[0].type, kind, op)
                values[op.results[0]] = b.value(found, *operands, types=[kind], **extra)
        return OpRegion([block])


def enclosing(op: Op) -> int:
    """Loops and branches around an op."""
    count, above = 0, op.parent.parent_op if op.parent else None
    while above is not None:
        count += isinstance(above, ct.For | ct.If)
        above = above.parent.parent_op if above.parent else None
    return count


def uniform_type(kind: Type) -> Type:
    """A value that every thread holds: scalars by their element type, pointers as global addresses."""
    if isinstance(kind, TileType):
        return GLOBAL_PTR if isinstance(kind.element, PointerType) else kind.element
    return kind


def element_type(kind: Type) -> Type:
    """The element type of a placed tile or scalar."""
    return kind.element if isinstance(kind, TensorType) else kind


_ITEMS: dict[type[Item], Callable[[_Decoder, Any], None]] = {
    Store: _Decoder.store, For: _Decoder.loop, If: _Decoder.branch, Return: _Decoder.end,
}  # fmt: skip
Maker = Callable[[_Decoder, Builder, int, Node, list[Any]], Any]
_VALUES: dict[str, Maker] = {
    "own": _Decoder.own, "cvt": _Decoder.convert, "p.assume": _Decoder.own, "p.arg": _Decoder.argument,
    "p.iv": _Decoder.induction, "p.carry": _Decoder.carry, "p.res": _Decoder.result, "p.effect": _Decoder.effect,
    "p.branch": _Decoder.effect,
    "p.none": _Decoder.missing, "p.constant": _Decoder.constant, "p.splat": _Decoder.splat, "p.iota": _Decoder.iota,
    "p.reshape": _Decoder.reshape, "p.broadcast": _Decoder.broadcast, "p.permute": _Decoder.permute,
    "p.nil": _Decoder.nil, "p.cons": _Decoder.cons, "p.make_tensor_view": _Decoder.tensor_view,
    "p.make_partition_view": _Decoder.partition, "p.get_index_space_shape": _Decoder.index_space,
    "p.get_tensor_shape": _Decoder.tensor_shape, "p.get_tile_block_id": _Decoder.block_id,
    "p.get_num_tile_blocks": _Decoder.num_blocks, "p.proj": _Decoder.project, "p.load_view": _Decoder.load_view,
    "p.copy": _Decoder.copy, "p.shared_read": _Decoder.shared_read, "p.load_ptr": _Decoder.load_ptr,
    "p.mmaf": _Decoder.product, "p.wgmma": _Decoder.product, "p.wgmma_rs": _Decoder.product,
    "p.permute_shared": _Decoder.rename_shared, "p.reshape_shared": _Decoder.rename_shared, "p.reduce": _Decoder.reduce,
}  # fmt: skip

__all__ = ["I1", "TensorViewType", "UnsupportedError", "decode"]
