"""nv_tileaa: the logical program. Tiles are plain tensors, memory order is explicit tokens, nothing is placed yet.

Elementwise arithmetic is arith/math on tensors, loops and branches are scf; this file and `nv_tileaa_memory` declare
what those dialects lack. A tile of rank 0 is a scalar. Source of names: the seeds' ConvertCudaTileToTileAA. Deviations:
loads and stores carry no copy atom (the e-graph chooses it, so it first appears in nv_tileas), a tile of a view is
identified by its index in a `partition`, not by an advanced memref, because the edge of the array must stay known, and
branches and loops with early exits are our own operations, because scf has none.
"""

from __future__ import annotations

from typing import ClassVar

from ir.core import (
    CONTROL,
    Attr,
    Attribute,
    Operand,
    RegionField,
    Result,
    Type,
    Variadic,
    VariadicResult,
    flag,
    op,
    same_type_as,
)
from ir.dialects import cuda_tile as ct
from ir.dialects import scf
from ir.dialects.cuda_tile.attributes import DenseElements
from ir.dialects.mirrored import declared, mirror, mirrored
from ir.dialects.nv_tileaa_memory import (
    AddPtr,
    Alloca,
    Assert,
    AtomicCAS,
    AtomicRMW,
    CreateMemToken,
    FenceAlias,
    GetGlobal,
    IndexSpaceShape,
    IntToPtr,
    JoinMemTokens,
    LaunchDependents,
    Load,
    Logical,
    MakeMemref,
    MemrefShape,
    MultimemLoadReduce,
    MultimemReduce,
    MultimemStore,
    Partition,
    PartitionSparse,
    PartitionStrided,
    Print,
    PtrToInt,
    PtrToPtr,
    Store,
    TiledLoad,
    TiledReduce,
    TiledStore,
    WaitOnDependency,
    pointee_bytes,
)
from ir.dialects.nv_tileaa_types import (
    MEM_TOKEN,
    MemrefType,
    MemTokenType,
    PtrType,
    TiledViewType,
    element_of,
    hints,
    is_float,
    is_integer,
    is_number,
    is_parameter,
    is_scalar,
    is_tile,
    member,
    shape_of,
    tensor,
)
from ir.types import I1, I32, Constraint, FloatType, IntType

is_i32 = Constraint("i32", lambda t: t == I32)
is_i1 = Constraint("i1", lambda t: t == I1)


@op("nv_tileaa.func")
class Func(Logical):
    """A kernel; block arguments are its parameters: scalars, global addresses and memory tokens.

    `names` are those of the parameters, `hints` the optimization hints of the kernel by architecture, `module` the name
    of its module.
    """

    sym_name = Attr(str)
    module = Attr(str, "")
    names: Attr[tuple[str, ...]] = Attr(tuple, ())
    hints = hints()
    body = RegionField()

    effect = CONTROL

    def verify(self) -> None:
        """Structured regions; the kernel's ends in a return; a name for each parameter."""
        for each in self.walk():
            for region in each.regions:
                whole = len(region.blocks) == 1 and bool(region.block.ops)
                each.expect(whole, "a region must have one block, which ends in a terminator")
        self.expect(isinstance(self.body.block.terminator, Return), "must end in nv_tileaa.return")
        for argument in self.body.block.args:
            self.expect(
                is_parameter(argument.type), "a parameter must be {}, is {}", is_parameter.meaning, argument.type
            )
        fits = not self.names or len(self.names) == len(self.body.block.args)
        fits = fits and all(isinstance(name, str) for name in self.names)  # pyright: ignore[reportUnnecessaryIsInstance]
        self.expect(fits, "attribute 'names' must be a string for each of {} parameters", len(self.body.block.args))


# --- control flow


@op("nv_tileaa.return")
class Return(Logical):
    """End of the kernel, also from inside loops and branches."""

    means = ct.Return

    effect = CONTROL


@op("nv_tileaa.loop")
class Loop(Logical):
    """Infinite loop left by `break` with its results; body arguments are the carried values, initially `init`."""

    means = ct.Loop

    init = Variadic()
    outs = VariadicResult()
    body = RegionField()

    effect = CONTROL


@op("nv_tileaa.if")
class If(Logical):
    """scf.if in which a branch may leave the loop or the kernel; one that does not ends in scf.yield of the results."""

    means = ct.If

    condition = Operand(is_i1)
    outs = VariadicResult()
    then = RegionField()
    otherwise = RegionField()

    effect = CONTROL


@op("nv_tileaa.continue")
class Continue(Logical):
    """The next iteration of the innermost loop, with its carried values."""

    means = ct.Continue

    values = Variadic()

    effect = CONTROL


@op("nv_tileaa.break")
class Break(Logical):
    """Leave the innermost nv_tileaa.loop with its results."""

    means = ct.Break

    values = Variadic()

    effect = CONTROL


# --- scalars


@op("nv_tileaa.get_program_id")
class ProgramId(Logical):
    """Tile-block coordinate along `axis` (0, 1, 2)."""

    axis = Attr(int, among=(0, 1, 2))
    result = Result(is_i32)


@op("nv_tileaa.get_num_programs")
class NumPrograms(Logical):
    """Grid extent along `axis`, in tile blocks."""

    axis = Attr(int, among=(0, 1, 2))
    result = Result(is_i32)


@op("nv_tileaa.assume")
class Assume(Logical):
    """The value unchanged, with an assumption about it."""

    means = ct.Assume

    value = Operand()
    predicate = Attr(Attribute)
    result = same_type_as("value")


# --- tiles


@op("nv_tileaa.constant_tensor")
class ConstantTensor(Logical):
    """A tile literal; `value` is a DenseElements attribute, one element if all are equal."""

    means = ct.Constant

    value = Attr(DenseElements)
    result = Result(is_number)


@op("nv_tileaa.negi")
class NegI(Logical):
    """Wrapping negation, which arith has for floats only."""

    means = ct.NegI

    source = Operand(is_integer)
    overflow = member(ct.Overflow, ct.Overflow.NONE)
    result = same_type_as("source")


@op("nv_tileaa.iota")
class Iota(Logical):
    """0, 1, 2, ... along a 1-D tensor."""

    means = ct.Iota

    result = Result(is_integer)


@op("nv_tileaa.broadcast")
class Broadcast(Logical):
    """Dimensions of size 1 repeated to the result's size; ranks are equal."""

    means = ct.Broadcast

    source = Operand(is_tile)
    result = Result(is_tile)

    def verify(self) -> None:
        """Each dimension stays, or grows from 1."""
        small, large = shape_of(self.source.type), shape_of(self.result.type)
        fits = len(small) == len(large) and all(a in (1, b) for a, b in zip(small, large, strict=True))
        self.expect(fits, "{} cannot be broadcast to {}", self.source.type, self.result.type)


@op("nv_tileaa.view")
class View(Logical):
    """The same elements in row-major order under another shape; a scalar has no dimensions."""

    means = ct.Reshape

    source = Operand(is_tile)
    result = Result(is_tile)


@op("nv_tileaa.permute")
class Permute(Logical):
    """Dimension i of the result is dimension permutation[i] of the source."""

    means = ct.Permute

    source = Operand(is_tile)
    permutation = Attr[tuple[int, ...]](tuple)
    result = Result(is_tile)

    def verify(self) -> None:
        """The permutation names every dimension once and gives the result's shape."""
        source = shape_of(self.source.type)
        named = all(type(d) is int for d in self.permutation) and sorted(self.permutation) == list(range(len(source)))
        fits = named and tuple(source[d] for d in self.permutation) == shape_of(self.result.type)
        self.expect(fits, "{} permuted by {} is not {}", self.source.type, self.permutation, self.result.type)


@op("nv_tileaa.pack")
class Pack(Logical):
    """The bytes of a 1-D tensor in memory order; elements narrower than a byte fill it from its low bits."""

    means = ct.Pack

    source = Operand(is_number)
    result = Result(is_integer)


@op("nv_tileaa.unpack")
class Unpack(Logical):
    """Bytes in memory order as a 1-D tensor of another element type."""

    means = ct.Unpack

    source = Operand(is_integer)
    result = Result(is_number)


# --- products and folds


@op("nv_tileaa.dot")
class Dot(Logical):
    """a @ b + c. Shapes: a [B,] M x K, b [B,] K x N, c and result [B,] M x N.

    `signed`: how integers of a and b are interpreted; `fast_acc` lets f8 operands accumulate in fewer bits.
    """

    a = Operand(is_number)
    b = Operand(is_number)
    c = Operand(is_number)
    fast_acc = flag()
    signed: Attr[tuple[bool, bool]] = Attr(tuple, (True, True))
    result = same_type_as("c")

    def verify(self) -> None:
        """Shapes fit; integers are interpreted as `signed`, floats have no such attribute."""
        a, b, c = (shape_of(v.type) for v in (self.a, self.b, self.c))
        fits = len(a) == len(b) == len(c) and a[:-2] == b[:-2] and a[-1:] == b[-2:-1] and (*a[:-1], *b[-1:]) == c
        self.expect(fits, "{} @ {} does not add to {}", self.a.type, self.b.type, self.c.type)
        given = [type(each) for each in self.signed]
        self.expect(given == [bool, bool], "attribute 'signed' must be two of true and false, is {}", self.signed)
        if is_float(self.c.type):
            self.expect(all(self.signed), "attribute 'signed' applies to integers, the sum is {}", self.c.type)
        else:
            self.expect(not self.fast_acc, "attribute 'fast_acc' applies to floats, the sum is {}", self.c.type)


@op("nv_tileaa.dot_scaled")
class DotScaled(Logical):
    """(a * a_scale) @ (b * b_scale) + c, with one scale element for each block of B along K.

    Shapes: a [B,] M x K, a_scale [B,] M x K/B, b [B,] K x N, b_scale [B,] K/B x N, c [B,] M x N.
    """

    means = ct.MmaFScaled

    a = Operand(is_float)
    b = Operand(is_float)
    c = Operand(is_float)
    a_scale = Operand(is_float)
    b_scale = Operand(is_float)
    result = same_type_as("c")


def holds(element: Type, number: object) -> bool:
    """Whether this Python number is valid for an element type."""
    if isinstance(element, FloatType):
        return type(number) is float
    if element == I1:
        return type(number) is bool
    if not isinstance(element, IntType) or type(number) is not int:
        return False
    return -(1 << (element.width - 1)) <= number < 1 << element.width


class Fold(Logical):
    """Tensors of one shape combined along `dim` by a region (takes lhs0, rhs0, lhs1, rhs1, ..., gives one of each),
    starting from `identities`.
    """

    folds: ClassVar[type[ct.Combining]]

    sources = Variadic(is_number)
    dim = Attr(int, least=0)
    identities = Attr[tuple[object, ...]](tuple)
    outs = VariadicResult()
    combiner = RegionField()

    def verify(self) -> None:
        """Results of the right shape; identities are numbers of the elements' types."""
        self.expect(bool(self.sources), "must have an operand")
        self.expect(
            len(self.identities) == len(self.sources),
            "needs {} identities, has {}",
            len(self.sources),
            len(self.identities),
        )
        for value, identity in zip(self.sources, self.identities, strict=True):
            element = element_of(value.type)
            self.expect(holds(element, identity), "identity {!r} is not a number of {}", identity, element)
        wanted = self.wanted(shape_of(self.sources[0].type))
        for result in self.results:
            self.expect(shape_of(result.type) == wanted, "result is {}, expected shape {}", result.type, wanted)
        end = self.combiner.block.terminator
        self.expect(isinstance(end, scf.Yield), "the combiner must end in scf.yield")

    def wanted(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the results: without dimension `dim`, unless they keep it."""
        return shape if self.folds.keeps else (*shape[: self.dim], *shape[self.dim + 1 :])


DERIVED = (
    *(declared(of, "nv_tileaa", Fold, {"folds": of, **{name: flag() for name in of.flagged()}}) for of in ct.COMBINING),
    *(mirror(of, "nv_tileaa", Logical, is_tile, is_scalar) for of in mirrored()),
)
"""Operations that Tile IR's declarations say: nothing is declared twice."""


__all__ = [
    "MEM_TOKEN",
    "AddPtr",
    "Alloca",
    "Assert",
    "AtomicCAS",
    "AtomicRMW",
    "CreateMemToken",
    "FenceAlias",
    "GetGlobal",
    "IndexSpaceShape",
    "IntToPtr",
    "JoinMemTokens",
    "LaunchDependents",
    "Load",
    "Logical",
    "MakeMemref",
    "MemTokenType",
    "MemrefShape",
    "MemrefType",
    "MultimemLoadReduce",
    "MultimemReduce",
    "MultimemStore",
    "Partition",
    "PartitionSparse",
    "PartitionStrided",
    "Print",
    "PtrToInt",
    "PtrToPtr",
    "PtrType",
    "Store",
    "TiledLoad",
    "TiledReduce",
    "TiledStore",
    "TiledViewType",
    "WaitOnDependency",
    "element_of",
    "pointee_bytes",
    "shape_of",
    "tensor",
]  # parts of this dialect in other files
