"""The lowering of each placed operation to nv_tileas ops: a function of the decoder, the e-node, and the builder of its
block. `made` holds the results for the classes of its operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from egraph import leaves, placed
from egraph.forms import PlacedForm, placed_form
from egraph.placed import Mechanism
from egraph.term import Node, Number, Placed
from ir.checked import checked
from ir.core import Block, Builder, Op, Region, Type, Value
from ir.dialects import arith, nv_tileas
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.storage import find_global
from ir.types import F32, I32, PointerType, TensorType, TileType
from lowering.atoms.bytes import bytes_atom
from lowering.atoms.lanes import SHUFFLES
from lowering.atoms.pairs import pairs_atom
from lowering.atoms.wgmma import WgmmaAtom
from lowering.convert.elementwise import scalar_op
from lowering.counts import Form, modifiers
from lowering.decode.combiners import combiner
from lowering.decode.context import Decoder, Made, lowers
from lowering.decode.types import element_type, uniform_type
from lowering.layouts.layout import Layout


@lowers(PlacedForm)
def elementwise(d: Decoder, node: PlacedForm, b: Builder, made: Made) -> Value:
    """An elementwise op: the scalar op of the next level on placed tiles."""
    op, operands = node.operation, [made[c] for c in node.children]
    attributes = attributes_of(d, node)
    kind = d.type_of(node.cls)
    if op is ct.Offset:
        width = pointee_bytes(d, node.cls)
        return b.value(nv_tileas.AddPtr, *operands, types=[operands[0].type], element_bytes=width)
    source = d.sources.get(d.selection.owner[node.cls][0])
    if op is ct.NegI:
        zero = literal(d, b, 0, kind)
        return b.value(arith.SubI, zero, *operands, types=[kind])
    found, extra = scalar_op(op, attributes, element_type(operands[0].type), element_type(kind), source)
    layout = kind.layout if isinstance(kind, TensorType) else None
    registers = layout.n_regs if isinstance(layout, Layout) else 1
    if pairs_atom(d.selection.target, d.selection.forbid, node.title(), element_type(kind), registers):
        extra["paired"] = True
    if op is ct.IToF:
        extra |= as_mantissas(d, node, operands[0].type, kind)
    return b.value(found, *operands, types=[kind], **extra)


def as_mantissas(d: Decoder, node: PlacedForm, source: Type, result: Type) -> dict[str, bool]:
    """The flag of a conversion of bytes that is priced as mantissas."""
    types = tuple(str(element_type(kind)) for kind in (source, result))
    form = Form(node.title(), modifiers(node.operation, node.numbers), types)
    atom = bytes_atom(d.selection.target, d.selection.forbid, form, getattr(result, "layout", None))
    return {"mantissas": True} if atom else {}


def literal(d: Decoder, b: Builder, number: int | float, kind: Type) -> Value:
    """A number as a scalar or a tile of it."""
    if isinstance(kind, TensorType):
        return b.value(nv_tileas.Constant, types=[kind], value=ct.DenseElements.of(number, kind.element))
    return b.value(arith.Constant, types=[kind], value=number)


def attributes_of(d: Decoder, node: PlacedForm) -> dict[str, Any]:
    """The op's attributes out of the node's integers."""
    found: dict[str, Any] = {}
    for attribute in node.operation.info.attributes:
        if attribute.name in node.signature.integers:
            number = node.number(attribute)
            kind: Any = attribute.kind
            plain = isinstance(kind, type) and issubclass(kind, int)
            found[attribute.name] = kind(number) if plain else d.interner.attributes[number]
    return found


def pointee_bytes(d: Decoder, cls: int) -> int:
    """Bytes of the pointee of a pointer value."""
    kind = d.interner.type(d.frozen.analysis["type"][d.selection.owner[cls][0]])
    element = checked(kind, TileType).element
    return max(1, checked(element, PointerType).pointee.width // 8)


# --- leaves and shape operations


@lowers(placed.Identity, placed.Assume, placed.Instead, leaves.Promised)
def identity(
    d: Decoder, node: placed.Identity | placed.Assume | placed.Instead | leaves.Promised, b: Builder, made: Made
) -> Any:
    """The value itself, or its replacement."""
    return made[node.source]


@lowers(placed.Convert)
def convert(d: Decoder, node: placed.Convert, b: Builder, made: Made) -> Value:
    """A conversion between two layouts."""
    return b.value(nv_tileas.ConvertLayout, made[node.source], types=[d.type_at(node.type, node.layout)])


@lowers(leaves.Argument)
def argument(d: Decoder, node: leaves.Argument, b: Builder, made: Made) -> Value:
    """A parameter."""
    return d.arguments[node.index]


@lowers(leaves.Induction)
def induction(d: Decoder, node: leaves.Induction, b: Builder, made: Made) -> Value:
    """A loop's counter."""
    counter = d.loops[node.loop][1]
    assert counter is not None
    return counter


@lowers(leaves.Carry)
def carry(d: Decoder, node: leaves.Carry, b: Builder, made: Made) -> Value:
    """A loop's carried value."""
    return d.loops[node.loop][2][node.index]


@lowers(leaves.LoopResult)
def result(d: Decoder, node: leaves.LoopResult, b: Builder, made: Made) -> Value:
    """A loop's result."""
    return d.results[node.loop, node.index]


@lowers(leaves.ItemResult)
def effect(d: Decoder, node: leaves.ItemResult, b: Builder, made: Made) -> Value:
    """A result of a branch or of an access that stays in order."""
    return d.effects[node.item, node.index][1]


@lowers(leaves.Missing)
def missing(d: Decoder, node: leaves.Missing, b: Builder, made: Made) -> None:
    """An absent operand."""


@lowers(placed.Constant)
def constant(d: Decoder, node: placed.Constant, b: Builder, made: Made) -> Value:
    """A literal."""
    kind = d.type_at(node.type, node.layout)
    value: ct.DenseElements = d.interner.attributes[node.value]
    if not isinstance(kind, TensorType):
        return b.value(arith.Constant, types=[kind], value=value.item)
    return b.value(nv_tileas.Constant, types=[kind], value=value)


@lowers(placed_form(ct.GetGlobal))
def get_global(d: Decoder, node: PlacedForm, b: Builder, made: Made) -> Value:
    """The base of a module's array."""
    name: str = d.interner.attributes[node.number(ct.GetGlobal.name_)]
    module = checked(checked(d.program.entry.parent, Block).parent_op, Op)
    found = checked(find_global(module, name), ct.Global)  # its uses were verified
    return b.value(
        nv_tileas.GetGlobal,
        types=[d.type_of(node.cls)],
        symbol=name,
        type=found.type,
        value=found.value,
        alignment=found.alignment,
    )


@lowers(placed.PlacedSplat)
def splat(d: Decoder, node: placed.PlacedSplat, b: Builder, made: Made) -> Value:
    """An integer in every element."""
    return literal(d, b, node.number, d.type_at(node.type, node.layout))


@lowers(placed.Iota)
def iota(d: Decoder, node: placed.Iota, b: Builder, made: Made) -> Value:
    """Element numbers."""
    return b.value(nv_tileas.Iota, types=[d.type_of(node.cls)])


@lowers(placed.Reshape)
def reshape(d: Decoder, node: placed.Reshape, b: Builder, made: Made) -> Value:
    """The same elements under another shape."""
    kind, source = d.type_of(node.cls), made[node.source]
    return source if source.type == kind else b.value(nv_tileas.Reshape, source, types=[kind])


@lowers(placed.ReshapeShared)
def reshape_shared(d: Decoder, node: placed.ReshapeShared, b: Builder, made: Made) -> Value:
    """A tile in shared memory under another shape."""
    return b.value(nv_tileas.Reshape, made[node.source], types=[d.type_of(node.cls)])


@lowers(placed.Broadcast)
def broadcast(d: Decoder, node: placed.Broadcast, b: Builder, made: Made) -> Value:
    """Dimensions of size 1 repeated."""
    return b.value(nv_tileas.Broadcast, made[node.source], types=[d.type_of(node.cls)])


@lowers(placed.Permute, placed.PermuteShared)
def permute(d: Decoder, node: placed.Permute | placed.PermuteShared, b: Builder, made: Made) -> Value:
    """Dimensions exchanged."""
    permutation = d.interner.attributes[node.permutation]
    return b.value(nv_tileas.Permute, made[node.source], types=[d.type_of(node.cls)], permutation=permutation)


@lowers(placed.ExtractShared)
def extract_shared(d: Decoder, node: placed.ExtractShared, b: Builder, made: Made) -> Value:
    """A part of a tile, through scratch memory."""
    source, indices = made[node.source], made[node.indices]
    segments = (1, len(indices))
    return b.add(nv_tileas.ExtractShared, source, *indices, types=[d.type_of(node.cls)], segments=segments).result


@lowers(placed.Moved)
def moved(d: Decoder, node: placed.Moved, b: Builder, made: Made) -> Value:
    """The operation that it becomes; a list of operands is a group of indices."""
    numbers = {c.name: getattr(node, c.name) for c in node.columns if isinstance(c, Number)}
    groups: list[list[Value]] = [made[c] if isinstance(made[c], list) else [made[c]] for c in node.children]
    operands, segments = [v for group in groups for v in group], tuple(map(len, groups))
    return b.add(node.becomes, *operands, types=[d.type_of(node.cls)], segments=segments, **numbers).result0


# --- uniform values


@lowers(leaves.Nil)
def nil(d: Decoder, node: leaves.Nil, b: Builder, made: Made) -> list[Value]:
    """The empty operand list."""
    return []


@lowers(leaves.Cons, placed.TileList)
def cons(d: Decoder, node: leaves.Cons | placed.TileList, b: Builder, made: Made) -> list[Value]:
    """An operand list."""
    return [made[node.head], *made[node.tail]]


@lowers(placed_form(ct.MakeTensorView))
def tensor_view(d: Decoder, node: PlacedForm, b: Builder, made: Made) -> Value:
    """A strided array."""
    base, sizes, strides = [made[c] for c in node.children]
    kind, segments = d.interner.type(node.result_type), (1, len(sizes), len(strides))
    return b.add(nv_tileas.MakeMemref, base, *sizes, *strides, types=[kind], segments=segments).result


@lowers(placed_form(ct.MakePartitionView))
def partition(d: Decoder, node: PlacedForm, b: Builder, made: Made) -> Value:
    """An array cut into tiles."""
    return b.value(nv_tileas.Partition, *made.values(), types=[d.interner.type(node.result_type)])


@lowers(placed_form(ct.GetIndexSpaceShape))
def index_space(d: Decoder, node: PlacedForm, b: Builder, made: Made) -> list[Value]:
    """Tiles along each dimension of a view."""
    types = [uniform_type(t) for t in d.interner.attributes[node.result_type]]
    return b.add(nv_tileas.IndexSpaceShape, *made.values(), types=types).results


@lowers(placed_form(ct.GetTensorShape))
def tensor_shape(d: Decoder, node: PlacedForm, b: Builder, made: Made) -> list[Value]:
    """Sizes of an array."""
    types = [uniform_type(t) for t in d.interner.attributes[node.result_type]]
    return b.add(nv_tileas.TensorShape, *made.values(), types=types).results


@lowers(placed_form(ct.GetTileBlockId))
def block_id(d: Decoder, node: PlacedForm, b: Builder, made: Made) -> list[Value]:
    """Coordinates of the tile block."""
    return [b.value(nv_tileas.ProgramId, types=[I32], axis=i) for i in range(3)]


@lowers(placed_form(ct.GetNumTileBlocks))
def num_blocks(d: Decoder, node: PlacedForm, b: Builder, made: Made) -> list[Value]:
    """Extents of the grid."""
    return [b.value(nv_tileas.NumPrograms, types=[I32], axis=i) for i in range(3)]


@lowers(leaves.Projection)
def project(d: Decoder, node: leaves.Projection, b: Builder, made: Made) -> Value:
    """One of several results."""
    return made[node.source][node.index]


# --- memory, products, reductions


@lowers(placed.LoadView)
def load_view(d: Decoder, node: placed.LoadView, b: Builder, made: Made) -> Value:
    """A tile straight into registers."""
    return b.value(
        nv_tileas.TiledLoad,
        made[node.view],
        *made[node.index],
        types=[d.type_at(node.type, node.layout)],
        bytes=node.bytes,
        ordered=not d.order.alone(node),
        evict=d.eviction(node),
    )


@lowers(placed.Copy)
def copy(d: Decoder, node: placed.Copy, b: Builder, made: Made) -> Value:
    """A tile into shared memory."""
    return b.value(
        nv_tileas.TiledCopy,
        made[node.view],
        *made[node.index],
        types=[d.type_at(node.type, node.shared)],
        bytes=node.bytes,
        ragged=node.inside < node.bytes,
        asynchronous=node.mechanism != Mechanism.REGISTERS,
        tma=node.mechanism == Mechanism.TMA,
        ordered=node.cls in d.ordered,
        stages=d.selection.stages.get(node.cls, 0),
        after_store=d.order.after_store(node),
        evict=d.eviction(node) if node.mechanism == Mechanism.TMA else "",
    )


@lowers(placed.SharedRead)
def shared_read(d: Decoder, node: placed.SharedRead, b: Builder, made: Made) -> Value:
    """A tile out of shared memory."""
    kind, atom = d.type_at(node.type, node.layout), d.interner.attributes[node.atom]
    return b.value(nv_tileas.SharedLoad, made[node.source], types=[kind], atom=atom)


@lowers(placed.GatherCopy)
def gather_copy(d: Decoder, node: placed.GatherCopy, b: Builder, made: Made) -> Value:
    """A tile through pointers into shared memory."""
    pointer, mask = made[node.pointer], made[node.mask]
    present = [x for x in (pointer, mask) if x is not None]
    return b.add(
        nv_tileas.GatherCopy,
        *present,
        types=[d.type_at(node.type, node.shared)],
        segments=(1, int(mask is not None)),
        width=node.width,
        asynchronous=True,
        ordered=node.cls in d.ordered,
        stages=d.selection.stages.get(node.cls, 0),
        after_store=d.order.after_store(node),
    ).result


@lowers(placed.Hold)
def hold(d: Decoder, node: placed.Hold, b: Builder, made: Made) -> Value:
    """A tile out of registers into shared memory."""
    atom = d.interner.attributes[node.atom]
    return b.value(nv_tileas.Hold, made[node.source], types=[d.type_of(node.cls)], atom=atom)


@lowers(placed.LoadPointer)
def load_ptr(d: Decoder, node: placed.LoadPointer, b: Builder, made: Made) -> Value:
    """A tile through pointers."""
    pointer, mask = made[node.pointer], made[node.mask]
    other = None if mask is None else made[node.padding]
    present = [x for x in (pointer, mask, other) if x is not None]
    segments = (1, int(mask is not None), int(other is not None))
    return b.add(
        nv_tileas.Gather,
        *present,
        types=[d.type_at(node.type, node.layout)],
        segments=segments,
        width=node.width,
        ordered=not d.order.alone(node),
    ).result


@lowers(placed.Product)
def product(d: Decoder, node: placed.Product, b: Builder, made: Made) -> Value:
    """A matrix product by its atom."""
    choice = d.selection.oracle.choice(node.choice)
    operands = [made[each] for each in (node.a, node.b, node.c)]
    more: dict[str, object] = {}
    if isinstance(node, placed.WarpgroupProduct):
        found = {"negated": node.sign < 0, "promote": checked(choice.atom, WgmmaAtom).promotion(fast=node.fast == 1)}
        more = {name: value for name, value in found.items() if value}
    if isinstance(node, placed.NegatedTensorProduct):
        more["negated"] = True
    if isinstance(node, placed.TensorScaledProduct):
        c, factor = operands[2], made[node.factor]
        paired = pairs_atom(
            d.selection.target, d.selection.forbid, "mulf", F32, d.layout(d.selection.owner[node.cls][1]).n_regs
        )
        flag = {"paired": True} if paired else {}
        operands[2] = b.value(arith.MulF, c, factor, types=[c.type], **flag)
    if isinstance(node, placed.TensorScaledProduct | placed.TensorKeptProduct):
        more["kept"] = True
    if isinstance(node, placed.TensorReadProduct):
        registers = d.selection.oracle.layout(d.selection.owner[node.cls][1]).n_regs
        paired = pairs_atom(d.selection.target, d.selection.forbid, "addf", F32, registers)
        more |= {"read": True, **({"paired": True} if paired else {})}
    op = nv_tileas.Dot
    if isinstance(node, placed.ScaledMmaF | placed.TensorBlockScaledProduct):
        op, operands = nv_tileas.ScaledDot, [*operands, made[node.a_scales], made[node.b_scales]]
    return b.value(op, *operands, types=[d.type_of(node.cls)], atom=choice.atom.name, grid=choice.grid, **more)


@lowers(placed.PlacedReduce)
def reduce(d: Decoder, node: placed.PlacedReduce, b: Builder, made: Made) -> Value:
    """Reduce one dimension."""
    return folded(d, b, node, [made[node.list]], [checked(d.interner.type(node.type), TileType)])[0]


@lowers(placed.PlacedFold)
def fold(d: Decoder, node: placed.PlacedFold, b: Builder, made: Made) -> list[Value]:
    """Reduce one dimension of several tiles together."""
    operands: list[Value] = made[node.list]
    return folded(d, b, node, operands, d.interner.attributes[node.types])


def folded(
    d: Decoder,
    b: Builder,
    node: placed.PlacedReduce | placed.PlacedFold,
    operands: list[Value],
    kinds: Sequence[TileType],
) -> list[Value]:
    """A reduction; its registers and lanes by the atoms that were priced."""
    folding = d.selection.folds.of(node, checked(operands[0].type, TensorType).shape)
    types = [TensorType(k.shape, k.element, folding.plan.layout) if k.shape else uniform_type(k) for k in kinds]
    more: dict[str, object] = {} if folding.lanes == SHUFFLES else {"atom": folding.lanes}
    more |= {"thread_atom": folding.thread} if folding.thread else {}
    region, units = combiner(d.program.bodies[node.body].region), d.interner.attributes[node.identities]
    return combined(b, nv_tileas.Reduce, operands, types, region, dim=node.dim, identities=units, **more)


@lowers(placed.PlacedKeeping)
def keeping(d: Decoder, node: placed.PlacedKeeping, b: Builder, made: Made) -> list[Value]:
    """Prefixes of one or more tiles."""
    kinds = [d.placed_type(kind, node.layout) for kind in d.interner.attributes[node.types]]
    more = {name: True for name in node.means.flagged() if getattr(node, name)}
    region, units = combiner(d.program.bodies[node.body].region), d.interner.attributes[node.identities]
    return combined(
        b, nv_tileas.KEEPING[node.means], made[node.list], kinds, region, dim=node.dim, identities=units, **more
    )


def combined(
    b: Builder, op: type[Op], operands: list[Value], kinds: Sequence[Type], region: Region, **attributes: object
) -> list[Value]:
    """What combines tiles, with its combiner."""
    return b.add(op, *operands, types=kinds, segments=(len(operands),), regions=[region], **attributes).results


@lowers(placed.WriteShared)
def write_shared(d: Decoder, node: placed.WriteShared, b: Builder, made: Made) -> None:
    """Part of the store that copies the buffer to global memory: `accesses.store_staged`."""


NEVER_ASKED = (ct.MakeToken, ct.JoinTokens)
"""Tokens are resolved when the order of accesses is decided (`lowering.tokens`): they have no values."""


def without_lowering(classes: Iterable[type[Node]]) -> list[str]:
    """Placed operations without a lowering: neither a function nor, if they are arithmetic, a scalar op."""
    missing: list[str] = []
    for cls in classes:
        maker = lowers.find(cls)
        if maker is elementwise and issubclass(cls, PlacedForm) and cls.operation not in NEVER_ASKED:
            op = cls.operation
            known = op in (ct.Offset, ct.NegI) or (issubclass(op, ct.TileOp) and bool(op.lowers_to))
            maker = maker if known else None
        if maker is None and issubclass(cls, Placed):
            missing.append(cls.constructor)
    return sorted(missing)
