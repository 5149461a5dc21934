"""Types of nv_tileaa: typed pointers, strided arrays in global memory, grids of tiles over them, memory tokens.

Deviation from the seeds' !llvm.ptr<1>: a pointer has a pointee type, which the launch manifest records and loads
require.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from typing import TypeVar

from ir.core import Attr, Type, spelled
from ir.dialects.cuda_tile.attributes import OptimizationHints, TextEnum
from ir.narrowing import is_mapping
from ir.quoting import escape, key_text
from ir.records import dataclass
from ir.types import I1, SCALARS, Constraint, FloatType, IntType, TensorType
from ir.upstream_form import UpstreamForm

_SIZE = r"(?:\d{1,18}|\?)"
_SIZES = rf"\[((?:{_SIZE}(?:, {_SIZE})*)?)\]"
_POINTER = r"(\w+)(?:, (\w+))?"
_MEMREF = rf"((?:{_SIZE}x)*)(\w+), strides={_SIZES}, global(?:, (\w+))?"
_VIEW = (
    rf"(\d{{1,18}}(?:x\d{{1,18}})*), (!nv_tileaa\.memref<[^<>]*>)(?:, padding=(\w+))?(?:, dim_map={_SIZES})?"
    rf"(?:, traversal={_SIZES})?(?:, sparse_dim=(\d{{1,18}}))?"
)
EnumT = TypeVar("EnumT", bound=IntEnum)
PADDINGS = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")


@spelled("!nv_tileaa.mem_token")
@dataclass(frozen=True, slots=True)
class MemTokenType(Type):
    """The memory accesses that an access must follow; a value without run-time content."""

    def __str__(self) -> str:
        return "!nv_tileaa.mem_token"

    @staticmethod
    def read(body: str, *_: object) -> MemTokenType:
        """From nothing."""
        if body:
            raise ValueError("it has no parameters")
        return MEM_TOKEN


MEM_TOKEN = MemTokenType()


@spelled("!nv_tileaa.ptr")
@dataclass(frozen=True, slots=True)
class PtrType(Type):
    """The address of an element in global memory; `attr` is its pointer attribute (multicast), if any."""

    pointee: IntType | FloatType
    attr: str | None = None

    def __str__(self) -> str:
        return f"!nv_tileaa.ptr<{self.pointee}{_attr(self.attr)}>"

    @staticmethod
    def read(body: str, *_: object) -> PtrType:
        """From the element's type, and the attribute."""
        match = re.fullmatch(_POINTER, body)
        if match is None:
            raise ValueError("expected an element type")
        return PtrType(_number(match[1]), match[2])


@spelled("!nv_tileaa.memref")
@dataclass(frozen=True, slots=True)
class MemrefType(Type):
    """A strided array in global memory; None is a dynamic size or stride (in elements); `attr` is the pointer's."""

    shape: tuple[int | None, ...]
    element: IntType | FloatType
    strides: tuple[int | None, ...]
    attr: str | None = None

    def __str__(self) -> str:
        dims = "".join(f"{_text(d)}x" for d in self.shape)
        strides = ", ".join(map(_text, self.strides))
        return f"!nv_tileaa.memref<{dims}{self.element}, strides=[{strides}], global{_attr(self.attr)}>"

    @staticmethod
    def read(body: str, *_: object) -> MemrefType:
        """From sizes, element type, strides and attribute."""
        match = re.fullmatch(_MEMREF, body)
        if match is None:
            raise ValueError("expected sizes, an element type, strides and global")
        shape, strides = match[1].split("x")[:-1], match[3].split(", ") if match[3] else []
        if len(shape) != len(strides):
            raise ValueError(f"{len(shape)} sizes and {len(strides)} strides")
        return MemrefType(tuple(map(_size, shape)), _number(match[2]), tuple(map(_size, strides)), match[4])


@spelled("!nv_tileaa.tiled_view")
@dataclass(frozen=True, slots=True)
class TiledViewType(Type):
    """A memref cut into tiles; tile dimension i runs along memref dimension `dim_map[i]`.

    `padding` is the value of loaded elements beyond the edge: zero, neg_zero, nan, pos_inf, neg_inf, or None
    (unspecified). The origins of tiles are `traversal` elements apart if given, otherwise the tile's sizes; along
    `sparse_dim` each row's position is given by its own index.
    """

    tile: tuple[int, ...]
    memref: MemrefType
    dim_map: tuple[int, ...]
    padding: str | None = None
    traversal: tuple[int, ...] | None = None
    sparse_dim: int | None = None

    def __str__(self) -> str:
        padding = f", padding={self.padding}" if self.padding else ""
        identity = self.dim_map == tuple(range(len(self.dim_map)))
        dims = "" if identity else f", dim_map={list(self.dim_map)}"
        traversal = "" if self.traversal is None else f", traversal={list(self.traversal)}"
        sparse = "" if self.sparse_dim is None else f", sparse_dim={self.sparse_dim}"
        tile = "x".join(map(str, self.tile))
        return f"!nv_tileaa.tiled_view<{tile}, {self.memref}{padding}{dims}{traversal}{sparse}>"

    @staticmethod
    def read(body: str, type_of: Callable[[str], Type], _: object) -> TiledViewType:
        """From sizes, memref and non-default parameters."""
        match = re.fullmatch(_VIEW, body)
        memref = type_of(match[2]) if match is not None else None
        if match is None or not isinstance(memref, MemrefType):
            raise ValueError("expected the sizes of a tile and a memref")
        if match[3] is not None and match[3] not in PADDINGS:
            raise ValueError(f"{match[3]!r} is not one of {', '.join(PADDINGS)}")
        tile = tuple(map(int, match[1].split("x")))
        dims = tuple(range(len(tile))) if match[4] is None else _integers(match[4])
        traversal = None if match[5] is None else _integers(match[5])
        return TiledViewType(tile, memref, dims, match[3], traversal, None if match[6] is None else int(match[6]))


def _attr(attr: str | None) -> str:
    return "" if attr is None else f", {attr}"


def _text(size: int | None) -> str:
    return "?" if size is None else str(size)


def _size(text: str) -> int | None:
    return None if text == "?" else int(text)


def _integers(text: str) -> tuple[int, ...]:
    """Numbers between commas. Raises ValueError, of "?" too."""
    return tuple(map(int, text.split(", "))) if text else ()


def _number(text: str) -> IntType | FloatType:
    found = SCALARS.get(text)
    if found is None:
        raise ValueError(f"{text!r} is not one of {', '.join(SCALARS)}")
    return found


# Constraints


def shape_of(kind: Type) -> tuple[int, ...]:
    """Dimensions of a tensor; a scalar has none."""
    return kind.shape if isinstance(kind, TensorType) else ()


def element_of(kind: Type) -> Type:
    """The element type of a tensor, or the scalar type itself."""
    return kind.element if isinstance(kind, TensorType) else kind


def tensor(shape: tuple[int, ...], element: Type) -> Type:
    """A tensor without a layout; rank 0 is the scalar."""
    return TensorType(shape, element) if shape else element


def _tile_of(meaning: str, accept: Callable[[Type], bool]) -> Constraint:
    """A tensor without a layout or a scalar, whose element passes."""
    return Constraint(meaning, lambda t: accept(element_of(t)) and getattr(t, "layout", None) is None)


ELEMENTS = (IntType, FloatType, PtrType)
is_token = Constraint("a memory token", lambda t: t == MEM_TOKEN)
is_memref = Constraint("a memref", lambda t: isinstance(t, MemrefType))
is_view = Constraint("a tiled view", lambda t: isinstance(t, TiledViewType))
is_scalar = Constraint("an integer", lambda t: isinstance(t, IntType))
is_address = Constraint("a pointer", lambda t: isinstance(t, PtrType))
is_tile = _tile_of("a tensor without a layout, or a scalar", lambda e: isinstance(e, ELEMENTS))
is_integer = _tile_of("an integer or a tensor of them", lambda e: isinstance(e, IntType))
is_number = _tile_of("a number or a tensor of them", lambda e: isinstance(e, IntType | FloatType))
is_float = _tile_of("a float or a tensor of them", lambda e: isinstance(e, FloatType))
is_pointer = _tile_of("a pointer or a tensor of them", lambda e: isinstance(e, PtrType))
is_mask = _tile_of("an i1 or a tensor of them", lambda e: e == I1)
is_parameter = Constraint(
    "an integer, a float, a pointer or a memory token", lambda t: isinstance(t, (*ELEMENTS, MemTokenType))
)


# Attributes shared with Tile IR


def member(kind: type[EnumT], default: object = ...) -> Attr[EnumT]:
    """An enumeration of Tile IR, written as the text of a member."""

    def read(text: object) -> EnumT:
        for each in kind:
            if isinstance(each, TextEnum) and each.text == text:
                return each
        raise ValueError(f"must be one of {', '.join(str(each) for each in kind)}")

    return Attr(kind, default, form=UpstreamForm("", lambda value: escape(str(value)), read))


def hints() -> Attr[OptimizationHints | None]:
    """Optimization hints by architecture: `{sm_80 = {occupancy = 4 : i64}}`."""
    return Attr(OptimizationHints, None, form=UpstreamForm("", _hints_text, _read_hints))  # pyright: ignore[reportReturnType]


def _hints_text(value: OptimizationHints) -> str:
    entries = (
        f"{key_text(arch)} = {{{', '.join(f'{key_text(key)} = {_hint(each)}' for key, each in pairs)}}}"
        for arch, pairs in value.entries
    )
    return f"{{{', '.join(entries)}}}"


def _hint(value: int | bool | str) -> str:
    plain = OptimizationHints.value_text(value)
    return plain if isinstance(value, bool | str) else f"{plain} : i64"


def _read_hints(given: object) -> OptimizationHints:
    found: list[tuple[str, tuple[tuple[str, int | bool | str], ...]]] = []
    for arch, pairs in given.items() if is_mapping(given) else [("", None)]:
        hints = [(key, v) for key, v in pairs.items() if isinstance(v, int | str)] if is_mapping(pairs) else []
        if not is_mapping(pairs) or len(hints) != len(pairs):
            raise ValueError("must be a dictionary of hints for each architecture")
        found.append((str(arch), tuple(hints)))
    return OptimizationHints(tuple(found))
