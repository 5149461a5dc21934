"""The placed operations: the ways in which rules can compute a value in a layout, each declared once.

Rules match and create them by position (egraph/rules/*.egg); all other code reads their columns by name. Elementwise
and uniform operations are not here: their placed forms derive from their declarations (`egraph.forms`). Its price and
its lowering are found by its class: `prices` in lowering/selection/pricing.py, `lowers` in lowering/decode/values.py.
"""

from __future__ import annotations

from typing import ClassVar

from egraph.leaves import KEEPING, Branch, Carry, Fold, Keeping, LoopResult, Projection, Reduce, Splat
from egraph.term import (
    PREFIX,
    TERMS,
    AttributeId,
    ChoiceId,
    Enumerated,
    LayoutId,
    Node,
    Number,
    Operand,
    Placed,
    TypeId,
    Value,
    derived,
    named,
    term,
)
from ir.dialects import nv_tileas
from ir.dialects.cuda_tile.attributes import TextEnum
from ir.dialects.cuda_tile.constraints import TileOp


class Mechanism(TextEnum):
    """The mechanism of a copy to shared memory."""

    REGISTERS = 0
    CP_ASYNC = 1
    TMA = 2


class Moved(Placed):
    """An operation of Tile IR that only moves elements: registers under other names, or selected by indices. Its
    columns are those of the operation, and the layout of the result.
    """

    __slots__ = ()
    means: ClassVar[type[TileOp]]
    becomes: ClassVar[type[nv_tileas.Mirrored]]
    layout = LayoutId()


# --- what every kernel has


@term("identity")
class Identity(Placed):
    """A value in a layout because it is computed there."""

    __slots__ = ()
    source = Operand()


@term("cvt", source="linear layouts, arXiv 2505.23819")
class Convert(Placed):
    """A value converted from one layout to another: registers renamed, shuffled, or through scratch memory."""

    __slots__ = ()
    source = Operand()
    type = TypeId()
    source_layout = LayoutId()
    layout = LayoutId()


@term("p.proj")
class PlacedProjection(Projection, Placed):
    """One of several placed results."""

    __slots__ = ()


# --- loads and copies from global memory; what reads and writes shared memory


class Load(Placed):
    """An access to global memory, ordered by its token."""

    __slots__ = ()
    token = Value("the token that it comes after")


class SharedCopy(Load):
    """A load whose tile arrives in shared memory."""

    __slots__ = ()
    shared = LayoutId("of the buffer")


@term("p.load_view", source="PTX ISA, ld")
class LoadView(Load):
    """A tile of a view straight into registers."""

    __slots__ = ()
    view = Operand()
    index = Operand()
    token = Value("the token that it comes after")
    type = TypeId()
    view_type = TypeId()
    layout = LayoutId()
    bytes = Number("of an access, at most 32: as many as are aligned and all inside or all outside of the array")


@term("p.shared_read", source="PTX ISA, ldmatrix and ld")
class SharedRead(Placed):
    """A tile out of shared memory."""

    __slots__ = ()
    source = Operand()
    type = TypeId()
    atom = AttributeId("ldmatrix, ldmatrix.b8 or ld.shared")
    layout = LayoutId()


@term("p.copy", source="PTX ISA, cp.async and cp.async.bulk.tensor; cuTensorMapEncodeTiled")
class Copy(SharedCopy):
    """A tile of a view into shared memory."""

    __slots__ = ()
    view = Operand()
    index = Operand()
    token = Value("the token that it comes after")
    type = TypeId()
    view_type = TypeId()
    shared = LayoutId("of the buffer")
    bytes = Number("of an access, as many as are aligned; TMA: what base and rows are aligned to")
    inside = Number("bytes that are all inside or all outside of the array")
    mechanism = Enumerated(Mechanism, "through registers, by cp.async, or by a tensor copy")


@term("p.permute_shared")
class PermuteShared(Placed):
    """A permutation of the dimensions of a tile in shared memory."""

    __slots__ = ()
    source = Operand()
    permutation = AttributeId()
    type = TypeId()


@term("p.reshape_shared")
class ReshapeShared(Placed):
    """A tile in shared memory under another shape."""

    __slots__ = ()
    source = Operand()
    type = TypeId()


@term("p.hold", source="PTX ISA, stmatrix and st")
class Hold(Placed):
    """A tile out of registers into a buffer that a product reads."""

    __slots__ = ()
    source = Operand()
    type = TypeId()
    shared = LayoutId("of the buffer")
    atom = AttributeId("stmatrix or st.shared")


@term("p.load_ptr", source="PTX ISA, ld")
class LoadPointer(Load):
    """A tile through pointers straight into registers."""

    __slots__ = ()
    pointer = Operand()
    mask = Operand()
    padding = Operand("elements that the mask leaves out")
    token = Value("the token that it comes after")
    type = TypeId()
    layout = LayoutId()
    width = Number("elements of an access, under one bit of the mask")


@term("p.gather_copy", source="PTX ISA, cp.async")
class GatherCopy(SharedCopy):
    """A tile through pointers into shared memory, in runs under one bit of the mask."""

    __slots__ = ()
    pointer = Operand()
    mask = Operand()
    token = Value("the token that it comes after")
    type = TypeId()
    layout = LayoutId("of pointers and mask")
    shared = LayoutId("of the buffer")
    width = Number("elements of a run")


# --- matrix products


class Product(Placed):
    """a @ b + c by an atom."""

    __slots__ = ()
    a = Operand()
    b = Operand()
    c = Operand()
    choice = ChoiceId()


@term("p.mmaf", source="PTX ISA, mma.sync")
class MmaF(Product):
    """A product of floats, all three in registers."""

    __slots__ = ()
    fast = Number("may sums of f8 take fewer bits?")
    type = TypeId("of the result")


@term("p.mmai", source="PTX ISA, mma.sync")
class MmaI(Product):
    """A product of integers, all three in registers."""

    __slots__ = ()
    type = TypeId("of the result")


@term("p.mmaf_scaled", source="PTX ISA, mma with .block_scale")
class ScaledMmaF(Product):
    """A product of floats, each factor with its scales, all five in registers."""

    __slots__ = ()
    a_scales = Operand()
    b_scales = Operand()
    type = TypeId("of the result")


class WarpgroupProduct(Product):
    """A product of warpgroups, whose right factor is in shared memory."""

    __slots__ = ()
    fast = Number("may sums of f8 take fewer bits?")
    type = TypeId("of the result")
    sign = Number("of a: -1 is what imm-scale-a negates")


def negated(node: Node) -> bool:
    """Does a product negate its left factor as it reads it?"""
    return isinstance(node, NegatedTensorProduct) or (isinstance(node, WarpgroupProduct) and node.sign < 0)


@term("p.wgmma", source="PTX ISA, wgmma.mma_async")
class Wgmma(WarpgroupProduct):
    """A product of warpgroups, both factors in shared memory."""

    __slots__ = ()


@term("p.wgmma_rs", source="PTX ISA, wgmma.mma_async")
class WgmmaRegisters(WarpgroupProduct):
    """A product of warpgroups, the left factor in registers."""

    __slots__ = ()


class InTensorMemory(Product):
    """A product computed in tensor memory, the right factor in shared memory, the left one there too or, if it is in
    registers, in tensor memory.
    """

    __slots__ = ()
    fast = Number("may sums of f8 take fewer bits?")
    type = TypeId("of the result")


@term("p.tcgen05", source="PTX ISA, tcgen05.mma")
class TensorProduct(InTensorMemory):
    """A product that accumulates there throughout a loop."""

    __slots__ = ()


@term("p.tcgen05_negated", source="PTX ISA, tcgen05.mma, Instruction descriptor, Negate A Matrix")
class NegatedTensorProduct(TensorProduct):
    """The same, its left factor negated as it is read."""

    __slots__ = ()


@term("p.tcgen05_scaled", source="PTX ISA, tcgen05.mma, tcgen05.ld and tcgen05.st")
class TensorScaledProduct(InTensorMemory):
    """A product that accumulates there throughout a loop that scales the previous sum by a tile in registers."""

    __slots__ = ()
    factor = Operand()


@term("p.tcgen05_kept", source="PTX ISA, tcgen05.mma")
class TensorKeptProduct(InTensorMemory):
    """A product that accumulates there throughout a loop whose threads compute more than its factors' addresses."""

    __slots__ = ()


@term("p.tcgen05_block_scaled", source="PTX ISA, tcgen05.mma with .block_scale and tcgen05.cp")
class TensorBlockScaledProduct(TensorProduct):
    """A product that accumulates there throughout a loop, each factor with its scales, all four in shared memory."""

    __slots__ = ()
    a_scales = Operand()
    b_scales = Operand()


@term("p.tcgen05_read", source="PTX ISA, tcgen05.mma and tcgen05.ld")
class TensorReadProduct(InTensorMemory):
    """A product that is read from there when it is complete, and added in registers."""

    __slots__ = ()


# --- values made from nothing: the layout stands in the term, or classes of different layouts would merge


@term("p.constant")
class Constant(Placed):
    """A literal."""

    __slots__ = ()
    value = AttributeId()
    type = TypeId()
    layout = LayoutId()


@term("p.splat")
class PlacedSplat(Splat, Placed):
    """An integer in every element."""

    __slots__ = ()
    layout = LayoutId()


@term("p.iota")
class Iota(Placed):
    """Element numbers."""

    __slots__ = ()
    type = TypeId()
    layout = LayoutId()


# --- shape operations: registers under other numbers


@term("p.assume")
class Assume(Placed):
    """The value itself; its assumption was a fact."""

    __slots__ = ()
    source = Operand()


@term("p.instead")
class Instead(Placed):
    """A permitted replacement of a value, computed in the same layout (egraph/rules/permitted.egg)."""

    __slots__ = ()
    source = Operand()
    value = Value("that it stands for: two values may have one replacement, and are not equal by that")


@term("p.reshape")
class Reshape(Placed):
    """The same elements under another shape, in the same layout."""

    __slots__ = ()
    source = Operand()
    type = TypeId()


@term("p.broadcast")
class Broadcast(Placed):
    """Dimensions of size 1 repeated."""

    __slots__ = ()
    source = Operand()
    type = TypeId()
    layout = LayoutId()


@term("p.permute")
class Permute(Placed):
    """Dimensions exchanged."""

    __slots__ = ()
    source = Operand()
    permutation = AttributeId()
    type = TypeId()


# --- parts of tiles


@term("p.extract_shared")
class ExtractShared(Placed):
    """A part of a tile, read back from scratch memory; `indices`: the list of its coordinates, in parts."""

    __slots__ = ()
    source = Operand()
    indices = Operand()
    type = TypeId()
    layout = LayoutId()
    source_layout = LayoutId()


def _moved(of: type[TileOp], becomes: type[nv_tileas.Mirrored]) -> type[Moved]:
    """The placed form of an operation."""
    operands = {group.name: Operand() for group in of.info.operands}
    numbers = {attribute.name: Number() for attribute in of.info.attributes}
    kind = {} if of.info.results[0].like else {"type": TypeId()}
    columns = {**operands, **numbers, **kind, "layout": LayoutId()}
    return derived(PREFIX + named(of.info.mnemonic), of, Moved, {"means": of, "becomes": becomes, **columns})


MOVED = tuple(_moved(of, becomes) for of, becomes in nv_tileas.MIRRORED.items())
"""One of each operation of Tile IR that only moves elements, by its declaration."""


# --- reductions, in the layout of their operand


@term("p.reduce")
class PlacedReduce(Reduce, Placed):
    """A reduction of one dimension of a tile: registers, then lanes, then warps."""

    __slots__ = ()
    source_layout = LayoutId()


@term("p.list")
class TileList(Placed):
    """Tiles in one layout: the first and the others."""

    __slots__ = ()
    head = Operand()
    tail = Operand()


@term("p.fold")
class PlacedFold(Fold, Placed):
    """A reduction of one dimension of several tiles together."""

    __slots__ = ()
    source_layout = LayoutId()


class PlacedKeeping(Keeping, Placed):
    """What keeps the dimension along which it combines tiles: registers, then lanes, then warps."""

    __slots__ = ()
    layout = LayoutId()


def _keeping(of: type[Keeping]) -> type[PlacedKeeping]:
    """The placed form of a term."""
    return derived(PREFIX + of.constructor, of.means, PlacedKeeping, {"layout": LayoutId()}, (of,))


PLACED_KEEPING = tuple(map(_keeping, KEEPING))
"""One of each operation that combines and keeps the dimension, by its declaration."""


# --- leaves whose layout is a choice


@term("p.carry")
class PlacedCarry(Carry, Placed):
    """A carried value of a loop, in its body."""

    __slots__ = ()
    layout = LayoutId()


@term("p.res")
class PlacedLoopResult(LoopResult, Placed):
    """A carried value of a loop, after the loop."""

    __slots__ = ()
    layout = LayoutId()


@term("p.branch")
class PlacedBranch(Branch, Placed):
    """A tile that a branch or an access in order yields."""

    __slots__ = ()
    layout = LayoutId()


# --- stores


@term("p.write_shared", source="PTX ISA, stmatrix and st")
class WriteShared(Placed):
    """A tile out of registers into the buffer that a store copies to global memory."""

    __slots__ = ()
    source = Operand()
    type = TypeId()
    atom = AttributeId("stmatrix or st.shared")
    shared = LayoutId("of the buffer")


def operations() -> list[type[Placed]]:
    """All of them, in the order of this file."""
    return [cls for cls in TERMS.values() if issubclass(cls, Placed)]
