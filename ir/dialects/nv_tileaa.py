"""nv_tileaa: the logical program. Tiles are plain tensors, memory order is explicit tokens, nothing is placed yet.

Elementwise arithmetic is arith/math on tensors, loops and branches are scf; this file holds what those dialects lack.
A tile of rank 0 is a scalar. Source of names: the seeds' ConvertCudaTileToTileAA. Deviations: loads and stores carry no
copy atom (the e-graph chooses it, so it first appears in nv_tileas), and a tile of a view is named by its index in a
`partition` and not by an advanced memref, because the edge of the array must stay known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ir.core import (
    CONTROL,
    READ,
    WRITE,
    Attr,
    Attribute,
    Op,
    Operand,
    OptionalOperand,
    RegionField,
    Result,
    Type,
    Variadic,
    VariadicResult,
    flag,
    op,
    optional,
    same_type_as,
)
from ir.dialects.gpu import verify_text
from ir.types import GLOBAL_PTR, I1, I32, IntType, TensorType


@dataclass(frozen=True, slots=True)
class MemTokenType(Type):
    """What a memory access comes after; a value without run-time content."""

    def __str__(self) -> str:
        return "!nv_tileaa.mem_token"


@dataclass(frozen=True, slots=True)
class MemrefType(Type):
    """A strided array in global memory; None is a dynamic size or stride (in elements)."""

    shape: tuple[int | None, ...]
    element: Type
    strides: tuple[int | None, ...]

    def __str__(self) -> str:
        dims = "".join(f"{_text(d)}x" for d in self.shape)
        return f"!nv_tileaa.memref<{dims}{self.element}, strides=[{', '.join(map(_text, self.strides))}], global>"


@dataclass(frozen=True, slots=True)
class TiledViewType(Type):
    """A memref cut into tiles; tile dimension i runs along memref dimension `dim_map[i]`.

    `padding` is what a load gives beyond the edge: zero, neg_zero, nan, pos_inf, neg_inf, or None (unspecified).
    """

    tile: tuple[int, ...]
    memref: MemrefType
    dim_map: tuple[int, ...]
    padding: str | None = None

    def __str__(self) -> str:
        padding = f", padding={self.padding}" if self.padding else ""
        identity = self.dim_map == tuple(range(len(self.dim_map)))
        dims = "" if identity else f", dim_map=[{', '.join(map(str, self.dim_map))}]"
        return f"!nv_tileaa.tiled_view<{'x'.join(map(str, self.tile))}, {self.memref}{padding}{dims}>"


MEM_TOKEN = MemTokenType()


def _text(size: int | None) -> str:
    return "?" if size is None else str(size)


def _is_token(kind: Type) -> bool:
    return kind == MEM_TOKEN


def _is_memref(kind: Type) -> bool:
    return isinstance(kind, MemrefType)


def _is_view(kind: Type) -> bool:
    return isinstance(kind, TiledViewType)


def _is_integer(kind: Type) -> bool:
    return isinstance(kind, IntType)


def shape_of(kind: Type) -> tuple[int, ...]:
    """Dimensions of a tensor; a scalar has none."""
    return kind.shape if isinstance(kind, TensorType) else ()


def element_of(kind: Type) -> Type:
    """The element type of a tensor, or the scalar type itself."""
    return kind.element if isinstance(kind, TensorType) else kind


def tensor(shape: tuple[int, ...], element: Type) -> Type:
    """A tensor without a layout; rank 0 is the scalar."""
    return TensorType(shape, element) if shape else element


def _is_pointer(kind: Type) -> bool:
    return element_of(kind) == GLOBAL_PTR


def _is_mask(kind: Type) -> bool:
    return element_of(kind) == I1


@op("nv_tileaa.func")
class Func(Op):
    """A kernel; block arguments are its parameters: scalars and global addresses."""

    sym_name = Attr(str)
    body = RegionField()

    effect = CONTROL

    def verify(self) -> None:
        """The body ends in a return."""
        self.expect(isinstance(self.body.block.terminator, Return), "must end in nv_tileaa.return")


@op("nv_tileaa.return")
class Return(Op):
    """End of the kernel."""

    effect = CONTROL


@op("nv_tileaa.get_program_id")
class ProgramId(Op):
    """Tile-block coordinate along `axis` (0, 1, 2)."""

    axis = Attr(int)
    result = Result(lambda t: t == I32)


@op("nv_tileaa.get_num_programs")
class NumPrograms(Op):
    """Grid extent along `axis`, in tile blocks."""

    axis = Attr(int)
    result = Result(lambda t: t == I32)


@op("nv_tileaa.assume")
class Assume(Op):
    """The value unchanged, with a promise about it."""

    value = Operand()
    predicate = Attr(Attribute)
    result = same_type_as("value")


# --- tokens


@op("nv_tileaa.create_mem_token")
class CreateMemToken(Op):
    """A token that comes after nothing."""

    result = Result(_is_token)


@op("nv_tileaa.join_mem_tokens")
class JoinMemTokens(Op):
    """A token that comes after all of `tokens`."""

    tokens = Variadic(_is_token)
    result = Result(_is_token)


# --- views and pointers


@op("nv_tileaa.make_memref")
class MakeMemref(Op):
    """A strided array at `base`; `sizes` and `strides` (elements) fill the "?" of the type in order."""

    base = Operand(_is_pointer)
    sizes = Variadic(_is_integer)
    strides = Variadic(_is_integer)
    result = Result(_is_memref)

    def verify(self) -> None:
        """One value for every dynamic size and stride."""
        kind = self.result.type
        if isinstance(kind, MemrefType):
            for name, values, given in (("sizes", self.sizes, kind.shape), ("strides", self.strides, kind.strides)):
                wanted = sum(d is None for d in given)
                self.expect(len(values) == wanted, "{} has {} values, {} needs {}", name, len(values), kind, wanted)


@op("nv_tileaa.partition")
class Partition(Op):
    """A grid of tiles over a memref."""

    source = Operand(_is_memref)
    result = Result(_is_view)


@op("nv_tileaa.memref_shape")
class MemrefShape(Op):
    """Size of a memref along each dimension."""

    source = Operand(_is_memref)
    sizes = VariadicResult()


@op("nv_tileaa.index_space_shape")
class IndexSpaceShape(Op):
    """Number of tiles of a view along each dimension."""

    source = Operand(_is_view)
    counts = VariadicResult()


@op("nv_tileaa.addptr")
class AddPtr(Op):
    """ptr + offset * element_bytes, elementwise; offsets are signed."""

    ptr = Operand(_is_pointer)
    offset = Operand()
    element_bytes = Attr(int)
    result = same_type_as("ptr")

    def verify(self) -> None:
        """One shape."""
        self.expect(shape_of(self.ptr.type) == shape_of(self.offset.type), "'ptr' and 'offset' differ in shape")


# --- memory


@op("nv_tileaa.tiled_load")
class TiledLoad(Op):
    """One tile of a view, after `token`; elements beyond the edge are the view's padding."""

    view = Operand(_is_view)
    index = Variadic(_is_integer)
    token = Operand(_is_token)
    order = Attr(str, "weak")
    scope = optional(str)
    inbounds = Attr[tuple[bool, ...]](tuple, ())
    result = Result()
    result_token = Result(_is_token)

    effect = READ

    def verify(self) -> None:
        """The result is the view's tile, named by one index a dimension."""
        _verify_tile(self, self.view.type, len(self.index), self.result.type)


@op("nv_tileaa.tiled_store")
class TiledStore(Op):
    """One tile of a view written, after `token`; nothing is written beyond the edge."""

    value = Operand()
    view = Operand(_is_view)
    index = Variadic(_is_integer)
    token = Operand(_is_token)
    order = Attr(str, "weak")
    scope = optional(str)
    inbounds = Attr[tuple[bool, ...]](tuple, ())
    result_token = Result(_is_token)

    effect = WRITE

    def verify(self) -> None:
        """The value is the view's tile, named by one index a dimension."""
        _verify_tile(self, self.view.type, len(self.index), self.value.type)


def _verify_tile(op: Op, view: Type, indices: int, tile: Type) -> None:
    if isinstance(view, TiledViewType):
        wanted = tensor(view.tile, view.memref.element)
        op.expect(tile == wanted, "the tile is {}, the view's is {}", tile, wanted)
        op.expect(indices == len(view.tile), "{} indices for a view of rank {}", indices, len(view.tile))


@op("nv_tileaa.load")
class Load(Op):
    """Load through pointers, after `token`; where `mask` is false the element is `other` (unspecified without one)."""

    ptr = Operand(_is_pointer)
    mask = OptionalOperand(_is_mask)
    other = OptionalOperand()
    token = Operand(_is_token)
    order = Attr(str, "weak")
    scope = optional(str)
    result = Result()
    result_token = Result(_is_token)

    effect = READ

    def verify(self) -> None:
        """One shape."""
        _verify_shapes(self, self.ptr.type, (self.result, self.mask, self.other))


@op("nv_tileaa.store")
class Store(Op):
    """Store through pointers where `mask` is true, after `token`."""

    ptr = Operand(_is_pointer)
    value = Operand()
    mask = OptionalOperand(_is_mask)
    token = Operand(_is_token)
    order = Attr(str, "weak")
    scope = optional(str)
    result_token = Result(_is_token)

    effect = WRITE

    def verify(self) -> None:
        """One shape."""
        _verify_shapes(self, self.ptr.type, (self.value, self.mask))


def _verify_shapes(op: Op, pointer: Type, values: tuple[Any, ...]) -> None:
    for value in values:
        if value is not None and shape_of(value.type) != shape_of(pointer):
            op.fail("{} does not have the shape of the pointers, {}", value.type, pointer)


@op("nv_tileaa.atomic")
class Atomic(Op):
    """Each element behind the pointers updated in one step where `mask` is true, after `token`; the old elements.

    `mode` is a mode of atomic_rmw_tko with one value, or cas with the value to compare with and the new one.
    """

    ptr = Operand(_is_pointer)
    values = Variadic()
    mask = OptionalOperand(_is_mask)
    token = Operand(_is_token)
    mode = Attr(str)
    order = Attr(str)
    scope = Attr(str)
    result = Result()
    result_token = Result(_is_token)

    effect = WRITE

    def verify(self) -> None:
        """One shape."""
        _verify_shapes(self, self.ptr.type, (self.result, *self.values, self.mask))


@op("nv_tileaa.assert")
class Assert(Op):
    """The launch ends with a message where an element of `condition` is false."""

    condition = Operand(_is_mask)
    message = Attr(str)

    effect = WRITE


@op("nv_tileaa.print")
class Print(Op):
    """A text is printed; its conversions, as of C's printf, stand for the elements of the operands in order."""

    args = Variadic()
    format = Attr(str)

    effect = WRITE

    def verify(self) -> None:
        """A conversion for each element, of i32, i64 or f64."""
        verify_text(self, self.format, [value.type for value in self.args])


# --- tiles


@op("nv_tileaa.constant_tensor")
class ConstantTensor(Op):
    """A tile literal; `value` is a DenseElements attribute, one element where all are equal."""

    value = Attr[Any](object)
    result = Result()


@op("nv_tileaa.get_global")
class GetGlobal(Op):
    """The address of an array of the module."""

    symbol = Attr(str)
    result = Result()


@op("nv_tileaa.iota")
class Iota(Op):
    """0, 1, 2, ... along a 1-D tensor."""

    result = Result()


@op("nv_tileaa.broadcast")
class Broadcast(Op):
    """Dimensions of size 1 repeated to the result's size; ranks are equal."""

    source = Operand()
    result = Result()

    def verify(self) -> None:
        """Each dimension stays, or grows from 1."""
        small, large = shape_of(self.source.type), shape_of(self.result.type)
        fits = len(small) == len(large) and all(a in (1, b) for a, b in zip(small, large, strict=True))
        self.expect(fits, "{} cannot be broadcast to {}", self.source.type, self.result.type)


@op("nv_tileaa.view")
class View(Op):
    """The same elements in row-major order under another shape; a scalar is a shape without dimensions."""

    source = Operand()
    result = Result()


@op("nv_tileaa.permute")
class Permute(Op):
    """Dimension i of the result is dimension permutation[i] of the source."""

    source = Operand()
    permutation = Attr[tuple[int, ...]](tuple)
    result = Result()

    def verify(self) -> None:
        """The permutation names every dimension once and gives the result's shape."""
        source = shape_of(self.source.type)
        named = sorted(self.permutation) == list(range(len(source)))
        fits = named and tuple(source[d] for d in self.permutation) == shape_of(self.result.type)
        self.expect(fits, "{} permuted by {} is not {}", self.source.type, self.permutation, self.result.type)


@op("nv_tileaa.extract")
class Extract(Op):
    """The part of a tensor at tile-space indices; its size is the result's."""

    source = Operand()
    indices = Variadic(_is_integer)
    result = Result()


@op("nv_tileaa.cat")
class Cat(Op):
    """Two tensors joined along dimension `dim`."""

    lhs = Operand()
    rhs = Operand()
    dim = Attr(int)
    result = Result()


@op("nv_tileaa.insert")
class Insert(Op):
    """`destination` with the part at tile-space indices replaced by `source`."""

    source = Operand()
    destination = Operand()
    indices = Variadic(_is_integer)
    result = same_type_as("destination")


@op("nv_tileaa.dot")
class Dot(Op):
    """a @ b + c. Shapes: a [B,] M x K, b [B,] K x N, c and result [B,] M x N.

    `signed` says how integers of a and b are read.
    """

    a = Operand()
    b = Operand()
    c = Operand()
    fast_acc = flag()
    signed: Attr[tuple[bool, bool]] = Attr(tuple, (True, True))
    result = same_type_as("c")

    def verify(self) -> None:
        """Shapes fit."""
        a, b, c = (shape_of(v.type) for v in (self.a, self.b, self.c))
        fits = len(a) == len(b) == len(c) and a[:-2] == b[:-2] and a[-1:] == b[-2:-1] and (*a[:-1], *b[-1:]) == c
        self.expect(fits, "{} @ {} does not add to {}", self.a.type, self.b.type, self.c.type)


@op("nv_tileaa.reduce")
class Reduce(Op):
    """One dimension of tensors of one shape folded by the combiner region (lhs0, rhs0, lhs1, rhs1, ... in, one of each
    out), which starts from `identities`.
    """

    sources = Variadic()
    dim = Attr(int)
    identities = Attr[Any](object)
    outs = VariadicResult()
    combiner = RegionField()

    def verify(self) -> None:
        """Each result lacks dimension `dim`."""
        shape = shape_of(self.sources[0].type)
        wanted = (*shape[: self.dim], *shape[self.dim + 1 :])
        for result in self.results:
            self.expect(shape_of(result.type) == wanted, "result is {}, wanted shape {}", result.type, wanted)


@op("nv_tileaa.scan")
class Scan(Op):
    """Inclusive prefixes along one dimension by the combiner region, as of reduce; from the far end where `reverse`."""

    sources = Variadic()
    dim = Attr(int)
    reverse = flag()
    identities = Attr[Any](object)
    outs = VariadicResult()
    combiner = RegionField()
