"""The correspondence of cuda_tile and nv_tileaa: types, arithmetic, and the operations that have the same parts.

Each is declared in one direction and inverted here, so that `cuda_tile_to_tileaa` and `tileaa_to_cuda_tile` cannot
differ: an operation of nv_tileaa names what it `means`, and arithmetic uses `scalar_op`, whose inverse is a table of
all its possible inputs. Equality comparisons lose their signedness, which has no effect.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from ir.checked import checked
from ir.core import OPS, AttrField, Op, Type, UnsupportedError, Value
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileaa
from ir.dialects.cuda_tile.constraints import TileOp
from ir.types import (
    F16,
    F32,
    TOKEN,
    FloatType,
    GatherScatterViewType,
    IntType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorType,
    TensorViewType,
    TileType,
    TileViewType,
    TokenType,
)
from lowering.convert.elementwise import scalar_op

# Types


@cache
def logical_type(kind: Type) -> Type:
    """Tiles as tensors (rank 0 as scalars), views as memrefs and tiled views, tokens as memory tokens."""
    match kind:
        case TileType():
            return nv_tileaa.tensor(kind.shape, _logical_element(kind.element))
        case TensorViewType():
            return _memref(kind)
        case TokenType():
            return nv_tileaa.MEM_TOKEN
        case PartitionViewType() | StridedViewType() | GatherScatterViewType():
            traversal = kind.traversal if isinstance(kind, StridedViewType) else None
            sparse = kind.sparse_dim if isinstance(kind, GatherScatterViewType) else None
            memref = _memref(kind.view)
            return nv_tileaa.TiledViewType(kind.tile, memref, kind.dim_map, kind.padding, traversal, sparse)
        case _:
            raise TypeError(f"{kind} is not a type of cuda_tile")


def _logical_element(element: Type) -> Type:
    return nv_tileaa.PtrType(element.pointee, element.attr) if isinstance(element, PointerType) else element


def _memref(kind: TensorViewType) -> nv_tileaa.MemrefType:
    return nv_tileaa.MemrefType(kind.shape, kind.element, kind.strides, kind.attr)


@cache
def tile_ir_type(kind: Type) -> Type | None:
    """The inverse of `logical_type`; None if no type has this logical type."""
    match kind:
        case nv_tileaa.MemTokenType():
            return TOKEN
        case nv_tileaa.MemrefType():
            return _array(kind)
        case nv_tileaa.TiledViewType():
            return _view(kind)
        case IntType() | FloatType() | nv_tileaa.PtrType():
            return TileType((), _element(kind))
        case TensorType(layout=None, element=IntType() | FloatType() | nv_tileaa.PtrType()):
            return TileType(kind.shape, _element(kind.element))
        case _:
            return None


def _element(kind: Type) -> IntType | FloatType | PointerType:
    if isinstance(kind, nv_tileaa.PtrType):
        return PointerType(kind.pointee, kind.attr)
    return checked(kind, IntType, FloatType)


def _array(kind: nv_tileaa.MemrefType) -> TensorViewType:
    return TensorViewType(kind.shape, kind.element, kind.strides, kind.attr)


def _view(kind: nv_tileaa.TiledViewType) -> TileViewType | None:
    array = _array(kind.memref)
    if kind.sparse_dim is not None:
        made = GatherScatterViewType(kind.tile, array, kind.sparse_dim, kind.padding)
        return made if kind.traversal is None and kind.dim_map == made.dim_map else None
    if kind.traversal is not None:
        return StridedViewType(kind.tile, kind.traversal, array, kind.dim_map, kind.padding)
    return PartitionViewType(kind.tile, array, kind.dim_map, kind.padding)


# Operations with the same parts


@cache
def same_parts() -> dict[type[Op], type[Op]]:
    """For each operation of Tile IR, the nv_tileaa operation that means it."""
    logical = (cls for cls in OPS.values() if issubclass(cls, nv_tileaa.Logical) and cls.means is not None)
    return {cls.means: cls for cls in logical if cls.means is not None}


def bind(values: dict[Value, Value], old: Sequence[Value], new: Sequence[Value]) -> None:
    """Map old values to new ones and pass on their names; an operation without new values maps nothing."""
    for before, after in zip(old, new, strict=False):
        values[before] = after
        after.name = after.name or before.name


# Arithmetic

DIALECTS = ("arith.", "math.")
Form = tuple[type[Op], dict[str, Any]]
WRAPS = {
    ct.Overflow.NO_SIGNED_WRAP: {"nsw": True},
    ct.Overflow.NO_UNSIGNED_WRAP: {"nuw": True},
    ct.Overflow.NO_WRAP: {"nsw": True, "nuw": True},
}


def arithmetic(cls: type[Op], attributes: Mapping[str, Any], source: Type, result: Type, op: Op | None = None) -> Form:
    """The operation of arith or math, and its attributes, for an elementwise one of Tile IR.

    `source` and `result` are element types. Raises UnsupportedError, located at `op`, if there is none.
    """
    given = {a.name: attributes.get(a.name, a.default) for a in cls.info.attributes}
    found, extra = scalar_op(cls, given, source, result, op)
    extra |= WRAPS.get(given.get("overflow", ct.Overflow.NONE), {})
    if given.get("saturating", False):
        extra["saturating"] = True
    return found, extra


def tile_ir_arithmetic(op: Op) -> Form | None:
    """The inverse of `arithmetic`: the elementwise operation of Tile IR, and its attributes; None without one."""
    meanings = _inverse().get(type(op))
    return None if meanings is None else meanings.get(_said(type(op), op.attributes))


Said = frozenset[tuple[str, object]]


def _said(cls: type[Op], attributes: Mapping[str, object]) -> Said:
    """Attributes that are not at their default."""
    defaults = {a.name: a.default for a in cls.info.attributes}
    return frozenset((name, value) for name, value in attributes.items() if value != defaults[name])


@cache
def _inverse() -> dict[type[Op], dict[Said, Form]]:
    """The meaning of each form of arithmetic; of several, the one nearest to its defaults."""
    found: dict[type[Op], dict[Said, Form]] = {}
    for cls in (cls for cls in OPS.values() if issubclass(cls, TileOp) and cls.lowers_to.startswith(DIALECTS)):
        for attributes in _choices(cls):
            for source, result in ((F16, F32), (F32, F16)):
                try:
                    scalar, extra = arithmetic(cls, attributes, source, result)
                except UnsupportedError:
                    continue
                found.setdefault(scalar, {}).setdefault(_said(scalar, extra), (cls, attributes))
    return found


def _choices(cls: type[TileOp]) -> Iterator[dict[str, object]]:
    """All attributes that an elementwise operation can have, without those at their default."""
    fields = cls.info.attributes
    for values in product(*map(_values, fields)):
        yield {f.name: value for f, value in zip(fields, values, strict=True) if f.required or value != f.default}


def _values(field: AttrField) -> list[Any]:
    """The values of an attribute: its default first, then signed before unsigned."""
    kind: type[Any] = field.kind
    members: list[object] = list(kind) if issubclass(kind, enum.Enum) else [False, True]
    return sorted(members, key=lambda value: (value != field.default, -int(value)))


TYPES = "its types are integers, floats, !nv_tileaa.ptr, tensors of them, memref, tiled_view and mem_token"
