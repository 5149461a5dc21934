"""Type constraints of cuda_tile operands and results, and the base class of its operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from ir.core import Op, Region, Type, Value
from ir.dialects.cuda_tile.attributes import SHAPE, Array, Placement, Rounding
from ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I1,
    I8,
    I32,
    I64,
    TOKEN,
    Constraint,
    FloatType,
    GatherScatterViewType,
    IntType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
)

ARITHMETIC_FLOATS = (F16, BF16, F32, F64)
"""Floats that arithmetic accepts; the others only convert and multiply (CUDA Tile IR 13.4, element types)."""


def tile_of(meaning: str, accept: Callable[[Type], bool]) -> Constraint:
    """A tile of any shape whose element type passes `accept`."""
    return Constraint(f"a tile of {meaning}", lambda t: isinstance(t, TileType) and accept(t.element))


def scalar_of(meaning: str, accept: Callable[[Type], bool]) -> Constraint:
    """A rank-0 tile whose element type passes `accept`."""
    return Constraint(
        f"a scalar tile of {meaning}", lambda t: isinstance(t, TileType) and not t.shape and accept(t.element)
    )


def is_int(element: Type) -> bool:
    """Integers of 1, 8, 16, 32 or 64 bits; i4 only converts and packs."""
    return isinstance(element, IntType) and element.width != 4


ANY_TILE = tile_of("any element type", lambda e: True)
INT = tile_of("integers", is_int)
WIDER_INT = tile_of("integers of any width", lambda e: isinstance(e, IntType))
BOOL = tile_of("i1", lambda e: e == I1)
FLOAT = tile_of("f16, bf16, f32 or f64", lambda e: e in ARITHMETIC_FLOATS)
ANY_FLOAT = tile_of("floats", lambda e: isinstance(e, FloatType))
NUMBER = tile_of("numbers", lambda e: isinstance(e, IntType | FloatType))
POINTER = tile_of("pointers", lambda e: isinstance(e, PointerType))
ADDRESS_INT = tile_of("i64", lambda e: e == I64)
SCALAR = scalar_of("any element type", lambda e: True)
SCALAR_INT = scalar_of("integers", is_int)
SCALAR_BOOL = scalar_of("i1", lambda e: e == I1)
SCALAR_I32 = scalar_of("i32", lambda e: e == I32)
SCALAR_POINTER = scalar_of("pointers", lambda e: isinstance(e, PointerType))
TOKEN_TYPE = Constraint("a token", lambda t: t == TOKEN)
TENSOR_VIEW = Constraint("a tensor view", lambda t: isinstance(t, TensorViewType))
PARTITION_VIEW = Constraint("a partition view", lambda t: isinstance(t, PartitionViewType))
STRIDED_VIEW = Constraint("a strided view", lambda t: isinstance(t, StridedViewType))
GATHER_SCATTER_VIEW = Constraint("a gather-scatter view", lambda t: isinstance(t, GatherScatterViewType))
TILE_VIEW = Constraint(
    "a partition, strided or gather-scatter view",
    lambda t: isinstance(t, PartitionViewType | StridedViewType | GatherScatterViewType),
)
BYTES = tile_of("i8", lambda e: e == I8)


class TileOp(Op):
    """An operation of cuda_tile.

    Besides its fields a class declares `placement` (how layouts are chosen for it), `lowers_to` (the scalar operation
    of the next level, elementwise ops only; `lowers_to_unsigned` if signedness selects another one) and, when pure,
    `reference`: its meaning on NumPy arrays, called with the operands and then the attributes by name.
    """

    placement: ClassVar[Placement] = SHAPE
    lowers_to: ClassVar[str] = ""
    lowers_to_unsigned: ClassVar[str] = ""
    needs_result_type: ClassVar[bool] = False
    """Whether `reference` takes the result's TileType as keyword `result_type`."""
    is_terminator: ClassVar[bool] = False
    yields: ClassVar[bool] = False
    """Whether regions end in yield."""
    syntax: ClassVar[str] = ""
    """The text form: `$operand`, `{attribute}`, `<attribute>` (elided at its default, `_` keeps the blank before it),
    `flag?`, `[integers]`, then the types after a colon; empty where `ir.text` has a form of its own."""
    result_names: ClassVar[tuple[str, ...]] = ()
    """Names that the disassembler gives the results; those without a name are numbered."""

    mirrored: ClassVar[bool] = False
    """Whether the levels below have it with the same operands, attributes and result: nv_tileaa, placed terms and
    nv_tileas. Operands are tiles, or groups of indices; attributes are numbers; elements only move."""

    @property
    def joins(self) -> int | None:
        """The dimension along which the operands lie one behind the other in the result, if any."""
        return None

    def evaluate(self, operands: Sequence[Array]) -> Array:
        """The result of a pure one-result op on concrete operands, by its `reference`."""
        return self.computed(operands, self.attributes, self.results[0].type)

    @classmethod
    def computed(cls, operands: Sequence[Array], attributes: Mapping[str, object], result: Type) -> Array:
        """The same without an operation: with these attributes, others at their default, and this type of result."""
        keywords: dict[str, object] = {a.name: attributes.get(a.name, a.default) for a in cls.info.attributes}
        if cls.needs_result_type:
            keywords["result_type"] = result
        reference: Callable[..., Array] = getattr(cls, "reference")  # noqa: B009
        return reference(*operands, **keywords)

    def same_type(self, name: str, value: Value, like_name: str, like: Value) -> None:
        """Operand `name` must have the type of operand `like_name`."""
        if value.type != like.type:
            self.fail(
                "operand '{}' has type {}, must have the type of '{}', {}", name, value.type, like_name, like.type
            )

    def same_shape(self, name: str, value: Value, like_name: str, like: Value) -> None:
        """Operand or result `name` must have the shape of `like_name`."""
        if shape_of(value) != shape_of(like):
            message = "'{}' has type {}, must have the shape of '{}', {}"
            self.fail(message, name, value.type, like_name, like.type)

    def f32_only(self, what: str, value: Value) -> None:
        """`what` is an attribute that only f32 has."""
        self.expect(element_type(value) == F32, "{} needs f32, operand is {}", what, value.type)

    def rounding_among(self, rounding: Rounding, allowed: Sequence[Rounding], value: Value) -> None:
        """`rounding` must be allowed, and its approximate forms need f32."""
        names = ", ".join(map(str, allowed))
        self.expect(rounding in allowed, "rounding must be one of {}, is {}", names, rounding)
        if rounding in (Rounding.APPROX, Rounding.FULL):
            self.f32_only(f"rounding<{rounding}>", value)


def verify_region(op: Op, region: Region, ends: tuple[str, ...]) -> Op:
    """The terminator of a one-block region, which must be one of `ends`; no earlier operation may be a terminator."""
    words = " or ".join(f"'{end}'" for end in ends)
    op.expect(len(region.blocks) == 1, "a region must have one block, has {}", len(region.blocks))
    ops = region.block.ops
    op.expect(bool(ops), "a region must end with {}, is empty", words)
    for each in ops[:-1]:
        if isinstance(each, TileOp) and each.is_terminator:
            each.fail("must be the last operation of its block")
    last = ops[-1]
    if last.name not in ends:
        last.fail("cannot end a region of '{}' at {}, which ends with {}", op.name, op.location, words)
    return last


def verify_types(op: Op, what: str, found: Sequence[Type], wanted: Sequence[Type]) -> None:
    """The types of the values that cross a region's border."""
    if list(found) != list(wanted):
        texts = (", ".join(map(str, types)) or "nothing" for types in (found, wanted))
        op.fail("{}: types are ({}), must be ({})", what, *texts)


def tile_type(value: Value) -> TileType:
    """The type of a value already known to be a tile."""
    type_ = value.type
    if not isinstance(type_, TileType):
        raise TypeError(f"{value!r} is not a tile")
    return type_


def width_of(value: Value) -> int:
    """Bits of an element of a value already known to be a tile."""
    return tile_type(value).element.width


def element_type(value: Value) -> Type:
    """The element type of a value already known to be a tile."""
    return tile_type(value).element


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape of a value already known to be a tile."""
    return tile_type(value).shape
