"""How each kind of placed e-node becomes nv_tileas ops: `VALUES` maps its name to a function of the decoder, the
builder of the block it stands in, its class, itself and its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from egraph.frozen import Node
from ir.core import OPS, Block, Builder, Op, Region, Type, Value
from ir.dialects import arith, nv_tileas
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.storage import find_global
from ir.types import I32, PointerType, TensorType, TileType
from lowering.atoms.lanes import SHUFFLES, lanes_atom
from lowering.atoms.pairs import pairs_atom
from lowering.convert.elementwise import scalar_op
from lowering.decode.combiners import combiner
from lowering.decode.types import element_type, uniform_type
from lowering.layouts.layout import Layout
from lowering.layouts.shapes import reduce_dim
from lowering.placement.oracle import Mechanism

if TYPE_CHECKING:
    from lowering.decode.decoder import Decoder


def elementwise(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """An elementwise op: the scalar op of the next level on placed tiles."""
    signature = d.arithmetic[node.op]
    op = OPS["cuda_tile." + signature.mnemonic]
    attributes = attributes_of(d, op, node)
    kind = d.type_of(cls)
    if op is ct.Offset:
        pointer = cast(Value, operands[0]).type
        width = pointee_bytes(d, cls)
        return b.value(nv_tileas.AddPtr, *operands, types=[pointer], element_bytes=width)
    source = d.sources.get(d.selection.owner[cls][0])
    if op is ct.NegI:
        zero = literal(d, b, 0, kind)
        return b.value(arith.SubI, zero, *operands, types=[kind])
    found, extra = scalar_op(op, attributes, element_type(operands[0].type), element_type(kind), source)
    layout = kind.layout if isinstance(kind, TensorType) else None
    registers = layout.n_regs if isinstance(layout, Layout) else 1
    if pairs_atom(d.selection.target, d.selection.forbid, signature.mnemonic, element_type(kind), registers):
        extra["paired"] = True
    return b.value(found, *operands, types=[kind], **extra)


def literal(d: Decoder, b: Builder, number: int | float, kind: Type) -> Value:
    """A number as a scalar or a tile of it."""
    if isinstance(kind, TensorType):
        import numpy as np

        dtype = ct.dtype_of(cast(Any, kind.element))
        return b.value(nv_tileas.Constant, types=[kind], value=ct.DenseElements(np.array([number], dtype)))
    return b.value(arith.Constant, types=[kind], value=number)


def attributes_of(d: Decoder, op: type[Op], node: Node) -> dict[str, Any]:
    """The op's attributes out of the node's integers."""
    signature = d.arithmetic[node.op]
    found: dict[str, Any] = {}
    for attribute in op.info.attributes:
        if attribute.name in signature.integers:
            number = node.literals[signature.integers.index(attribute.name)]
            kind: Any = attribute.kind
            plain = isinstance(kind, type) and issubclass(kind, int)
            found[attribute.name] = kind(number) if plain else d.interner.attributes[number]
    return found


def pointee_bytes(d: Decoder, cls: int) -> int:
    """Bytes of what a pointer value points to."""
    kind = d.interner.type(d.frozen.analysis["type"][d.selection.owner[cls][0]])
    element = cast(TileType, kind).element
    return max(1, cast(PointerType, element).pointee.width // 8)


# --- leaves and shape operations


def own(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Any:
    """The value itself."""
    return operands[0]


def convert(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A conversion between two layouts."""
    ty, _, layout = node.literals
    return b.value(nv_tileas.ConvertLayout, operands[0], types=[d.type_at(ty, layout)])


def argument(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A parameter."""
    return d.arguments[node.literals[0]]


def induction(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A loop's counter."""
    counter = d.loops[node.literals[0]][1]
    assert counter is not None
    return counter


def carry(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A loop's carried value."""
    return d.loops[node.literals[0]][2][node.literals[1]]


def result(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A loop's result."""
    return d.results[node.literals[0], node.literals[1]]


def effect(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A result of a branch or of an access that stays in order."""
    return d.effects[node.literals[0], node.literals[1]][1]


def missing(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> None:
    """An operand that is left out."""


def constant(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A literal."""
    value, ty, layout = node.literals
    kind = d.type_at(ty, layout)
    literal: ct.DenseElements = d.interner.attributes[value]
    if not isinstance(kind, TensorType):
        return b.value(arith.Constant, types=[kind], value=literal.item)
    return b.value(nv_tileas.Constant, types=[kind], value=literal)


def get_global(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """The base of a module's array."""
    name: str = d.interner.attributes[node.literals[0]]
    module = cast(Op, cast(Block, d.program.entry.parent).parent_op)
    found = cast(ct.Global, find_global(module, name))  # its uses were verified
    return b.value(
        nv_tileas.GetGlobal, types=[d.type_of(cls)], symbol=name, type=found.type, value=found.value,
        alignment=found.alignment,
    )  # fmt: skip


def splat(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """An integer in every element."""
    value, ty, layout = node.literals
    return literal(d, b, value, d.type_at(ty, layout))


def iota(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """Element numbers."""
    return b.value(nv_tileas.Iota, types=[d.type_of(cls)])


def reshape(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """The same elements under another shape."""
    kind = d.type_of(cls)
    return operands[0] if operands[0].type == kind else b.value(nv_tileas.Reshape, operands[0], types=[kind])


def broadcast(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """Dimensions of size 1 repeated."""
    return b.value(nv_tileas.Broadcast, operands[0], types=[d.type_of(cls)])


def permute(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """Dimensions exchanged."""
    permutation = d.interner.attributes[node.literals[0]]
    return b.value(nv_tileas.Permute, operands[0], types=[d.type_of(cls)], permutation=permutation)


def extract(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A part of a tile."""
    source, indices = operands
    shared: dict[str, Any] = {"shared": True} if node.op == "p.extract_shared" else {}
    segments = (1, len(indices))
    return b.add(nv_tileas.Extract, source, *indices, types=[d.type_of(cls)], segments=segments, **shared).result


def cat(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """Two tiles joined."""
    return b.value(nv_tileas.Cat, *operands, types=[d.type_of(cls)], dim=node.literals[0])


def insert(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A tile with a part replaced."""
    source, whole, indices = operands
    segments = (1, 1, len(indices))
    return b.add(nv_tileas.Insert, source, whole, *indices, types=[d.type_of(cls)], segments=segments).result


# --- uniform values


def nil(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> list[Value]:
    """The empty operand list."""
    return []


def cons(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> list[Value]:
    """An operand list."""
    return [operands[0], *operands[1]]


def tensor_view(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A strided array."""
    base, sizes, strides = operands
    kind = d.interner.type(node.literals[0])
    return b.add(
        nv_tileas.MakeMemref, base, *sizes, *strides, types=[kind], segments=(1, len(sizes), len(strides))
    ).result


def partition(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """An array cut into tiles."""
    return b.value(nv_tileas.Partition, operands[0], types=[d.interner.type(node.literals[0])])


def index_space(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> list[Value]:
    """Tiles along each dimension of a view."""
    types = [uniform_type(t) for t in d.interner.attributes[node.literals[-1]]]
    return b.add(nv_tileas.IndexSpaceShape, operands[0], types=types).results


def tensor_shape(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> list[Value]:
    """Sizes of an array."""
    types = [uniform_type(t) for t in d.interner.attributes[node.literals[-1]]]
    return b.add(nv_tileas.TensorShape, operands[0], types=types).results


def block_id(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> list[Value]:
    """Coordinates of the tile block."""
    return [b.value(nv_tileas.ProgramId, types=[I32], axis=i) for i in range(3)]


def num_blocks(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> list[Value]:
    """Extents of the grid."""
    return [b.value(nv_tileas.NumPrograms, types=[I32], axis=i) for i in range(3)]


def project(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """One of several results."""
    return operands[0][node.literals[0]]


# --- memory, products, reductions


def load_view(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A tile straight into registers."""
    view, index = operands
    ty, _, layout, nbytes = node.literals
    kind = d.type_at(ty, layout)
    ordered = not d.order.alone(cls, node)
    return b.value(nv_tileas.TiledLoad, view, *index, types=[kind], bytes=nbytes, ordered=ordered)


def copy(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A tile into shared memory."""
    view, index = operands
    ty, _, shared, nbytes, inside, mechanism = node.literals
    kind = d.type_at(ty, shared)
    return b.value(
        nv_tileas.TiledCopy, view, *index, types=[kind], bytes=nbytes, ragged=inside < nbytes,
        asynchronous=mechanism != Mechanism.REGISTERS, tma=mechanism == Mechanism.TMA, ordered=cls in d.ordered,
        stages=d.selection.stages.get(cls, 1), after_store=bool(d.order.stores_before(node)),
    )  # fmt: skip


def shared_read(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A tile out of shared memory."""
    ty, method, layout = node.literals
    atom = d.interner.attributes[method]
    return b.value(nv_tileas.SharedLoad, operands[0], types=[d.type_at(ty, layout)], atom=atom)


def gather_copy(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A tile through pointers into shared memory."""
    ty, _, shared, width = node.literals
    pointer, mask = operands
    present = [x for x in (pointer, mask) if x is not None]
    return b.add(
        nv_tileas.GatherCopy, *present, types=[d.type_at(ty, shared)], segments=(1, int(mask is not None)), width=width,
        asynchronous=True, ordered=cls in d.ordered, stages=d.selection.stages.get(cls, 1),
        after_store=bool(d.order.stores_before(node)),
    ).result  # fmt: skip


def hold(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A tile out of registers into shared memory."""
    return b.value(nv_tileas.Hold, operands[0], types=[d.type_of(cls)], atom=d.interner.attributes[node.literals[2]])


def load_ptr(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A tile through pointers."""
    pointer, mask, other = operands
    ty, layout, width = node.literals
    if mask is None:
        other = None
    present = [x for x in (pointer, mask, other) if x is not None]
    segments = (1, int(mask is not None), int(other is not None))
    return b.add(
        nv_tileas.Gather, *present, types=[d.type_at(ty, layout)], segments=segments, width=width,
        ordered=not d.order.alone(cls, node),
    ).result  # fmt: skip


def rename_shared(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A tile in shared memory under another shape."""
    kind = d.type_of(cls)
    if node.op == "p.reshape_shared":
        return b.value(nv_tileas.Reshape, operands[0], types=[kind])
    permutation = d.interner.attributes[node.literals[0]]
    return b.value(nv_tileas.Permute, operands[0], types=[kind], permutation=permutation)


def product(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """A matrix product by its atom."""
    choice = d.selection.oracle.choice(node.literals[0])
    kind, negated = d.type_of(cls), node.op.startswith("p.wgmma") and node.literals[-1] < 0
    more = {"negated": True} if negated else {}
    return b.value(nv_tileas.Dot, *operands, types=[kind], atom=choice.atom.name, grid=choice.grid, **more)


def reduce(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> Value:
    """One dimension folded."""
    dim, body, identities, _, layout = node.literals
    kinds, units = [d.type_of(cls)], d.interner.attributes[identities]
    return folded(d, b, operands, kinds, body, layout, dim=dim, identities=units)[0]


def fold(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> list[Value]:
    """One dimension of several tiles folded together."""
    dim, body, identities, types, layout = node.literals
    kinds: tuple[TileType, ...] = d.interner.attributes[types]
    source = d.selection.layout(layout)
    shape = operands[0][0].type.shape
    assert isinstance(source, Layout)
    reduced = reduce_dim(shape, dim, source).layout
    placed = [TensorType(k.shape, k.element, reduced) if k.shape else uniform_type(k) for k in kinds]
    return folded(d, b, operands[0], placed, body, layout, dim=dim, identities=d.interner.attributes[identities])


def folded(
    d: Decoder, b: Builder, operands: list[Value], kinds: Sequence[Type], body: int, layout: int, **attributes: Any
) -> list[Value]:
    """A reduction; its lanes by the atom that was priced."""
    source = d.selection.layout(layout)
    assert isinstance(source, Layout)
    bits = reduce_dim(cast(TensorType, operands[0].type).shape, attributes["dim"], source).lane_bits
    region = combiner(d.program.bodies[body].region)
    atom = lanes_atom(d.selection.target, d.selection.forbid, region, bits) if len(operands) == 1 else SHUFFLES
    more = attributes if atom == SHUFFLES else {**attributes, "atom": atom}
    return combined(b, nv_tileas.Reduce, operands, kinds, region, **more)


def scan(d: Decoder, b: Builder, cls: int, node: Node, operands: list[Any]) -> list[Value]:
    """Prefixes of one or more tiles."""
    dim, reverse, body, identities, types, layout = node.literals
    kinds = [d.placed_type(kind, layout) for kind in d.interner.attributes[types]]
    more = {"reverse": True} if reverse else {}
    region, units = combiner(d.program.bodies[body].region), d.interner.attributes[identities]
    return combined(b, nv_tileas.Scan, operands[0], kinds, region, dim=dim, identities=units, **more)


def combined(
    b: Builder, op: type[Op], operands: list[Value], kinds: Sequence[Type], region: Region, **attributes: Any
) -> list[Value]:
    """A reduction or scan with its combiner."""
    return b.add(op, *operands, types=kinds, segments=(len(operands),), regions=[region], **attributes).results


Maker = Callable[[Any, Builder, int, Node, list[Any]], Any]
VALUES: dict[str, Maker] = {
    "own": own, "cvt": convert, "p.assume": own, "p.promised": own, "p.arg": argument,
    "p.iv": induction, "p.carry": carry, "p.res": result, "p.effect": effect,
    "p.branch": effect,
    "p.none": missing, "p.constant": constant, "p.splat": splat, "p.iota": iota,
    "p.reshape": reshape, "p.broadcast": broadcast, "p.permute": permute,
    "p.nil": nil, "p.cons": cons, "p.make_tensor_view": tensor_view,
    "p.make_partition_view": partition, "p.get_index_space_shape": index_space,
    "p.get_tensor_shape": tensor_shape, "p.get_tile_block_id": block_id,
    "p.get_num_tile_blocks": num_blocks, "p.proj": project, "p.load_view": load_view,
    "p.copy": copy, "p.shared_read": shared_read, "p.hold": hold, "p.gather_copy": gather_copy, "p.load_ptr": load_ptr,
    "p.mmaf": product, "p.mmai": product, "p.wgmma": product, "p.wgmma_rs": product,
    "p.permute_shared": rename_shared, "p.reshape_shared": rename_shared, "p.reduce": reduce,
    "p.list": cons,
    "p.get_global": get_global,
    "p.fold": fold,
    "p.extract": extract,
    "p.extract_shared": extract,
    "p.cat": cat,
    "p.insert": insert,
    "p.scan": scan,
}  # fmt: skip
