"""Types from their text, with or without the dialect's prefix."""

from __future__ import annotations

import re

from ir.core import Type
from ir.types import (
    SCALARS,
    TOKEN,
    Element,
    FloatType,
    GatherScatterViewType,
    IntType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
)

_PREFIX = re.compile(r"!?cuda_tile\.|!(?=[a-z])")
_TOO_LONG = re.compile(r"\d{20}")
_POINTER = re.compile(r"ptr<(\w+)(?:,(?:#ptr_attr)?<(\w+)>)?>")
_TILE = re.compile(r"tile<((?:\d+x)*)(ptr<\w+(?:,(?:#ptr_attr)?<\w+>)?>|\w+)>")
_TENSOR_VIEW = re.compile(
    r"tensor_view<((?:(?:\d+|\?)x)*)(\w+)(?:,strides=\[((?:-?\d+|\?)(?:,(?:-?\d+|\?))*|)\])?(?:,#ptr_attr<(\w+)>)?>"
)
_INTEGERS = r"\[((?:-?\d+(?:,-?\d+)*)?)\]"
_VIEW = re.compile(
    r"(partition|strided|gather_scatter)_view<tile=\(((?:\d+(?:x\d+)*)?)\)"
    rf"(?:,traversal_strides={_INTEGERS})?(?:,padding_value=(\w+))?,(tensor_view<(?:[^<>]|<\w+>)*>)"
    rf"(?:,dim_map={_INTEGERS})?(?:,sparse_dim=(\d+))?>"
)
PADDINGS = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")
_SPLIT_WORD = re.compile(r"\w\s+\w")
_cache: dict[str, Type] = {}


class TypeTextError(Exception):
    """Why a text is not a type, and what to do; the caller adds the location."""

    def __init__(self, message: str, hint: str = ""):
        super().__init__(message)
        self.message = message
        self.hint = hint


def read_type(text: str) -> Type:
    """The type that `text` spells. Raises TypeTextError."""
    found = _cache.get(text)
    if found is None:
        if _SPLIT_WORD.search(re.sub(r"\s*\bx\b\s*", "x", text)):
            raise TypeTextError(f"{text!r} is not a type: unexpected space inside it")
        found = _cache[text] = _read(_PREFIX.sub("", re.sub(r"\s+", "", text)))
    return found


def _read(text: str) -> Type:
    if _TOO_LONG.search(text):
        raise TypeTextError("a size has too many digits", "sizes and strides must fit in 64 bits")
    if text == "token":
        return TOKEN
    if text in SCALARS:
        return SCALARS[text]
    if match := _TILE.fullmatch(text):
        return TileType(_sizes(match[1]), _element(match[2]))
    if match := _TENSOR_VIEW.fullmatch(text):
        return _tensor_view(match)
    if match := _VIEW.fullmatch(text):
        return _tile_view(match)
    if match := _POINTER.fullmatch(text):
        return PointerType(_number(match[1]), match[2])
    raise TypeTextError(f"{text!r} is not a type", "types are written as tile<128x64xf16>, ptr<f32>, token")


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(d) for d in text.split("x") if d)


def _number(text: str) -> IntType | FloatType:
    found = SCALARS.get(text)
    if found is None:
        raise TypeTextError(f"{text!r} is not an element type", f"element types are {', '.join(SCALARS)} and ptr<...>")
    return found


def _element(text: str) -> Element:
    match = _POINTER.fullmatch(text)
    return PointerType(_number(match[1]), match[2]) if match else _number(text)


def _dynamic(text: str) -> int | None:
    return None if text == "?" else int(text)


def _tensor_view(match: re.Match[str]) -> TensorViewType:
    shape = tuple(_dynamic(d) for d in match[1].split("x") if d)
    strides = tuple(_dynamic(s) for s in (match[3] or "").split(",") if s)
    if len(shape) != len(strides):
        raise TypeTextError(f"a tensor_view of rank {len(shape)} cannot have {len(strides)} strides")
    if not shape and match[3] is not None:
        raise TypeTextError("a tensor_view of rank 0 has no strides", "write tensor_view<f32>")
    return TensorViewType(shape, _number(match[2]), strides, match[4])


def _tile_view(match: re.Match[str]) -> Type:
    kind, sizes, traversal, padding, viewed, dims, sparse = match.groups()
    view = read_type(viewed)
    if not isinstance(view, TensorViewType):
        raise TypeTextError(f"{viewed!r} is not a tensor_view")
    tile = _sizes(sizes)
    if padding is not None and padding not in PADDINGS:
        raise TypeTextError(f"{padding!r} is not a padding value", f"padding values are {', '.join(PADDINGS)}")
    if (traversal is not None) != (kind == "strided"):
        raise TypeTextError("traversal_strides is allowed only in a strided_view")
    if (sparse is not None) != (kind == "gather_scatter"):
        raise TypeTextError("sparse_dim is allowed only in a gather_scatter_view")
    if kind == "gather_scatter":
        if dims is not None:
            raise TypeTextError("a gather_scatter_view has no dim_map")
        return GatherScatterViewType(tile, view, int(sparse), padding)
    dim_map = tuple(range(len(tile))) if dims is None else tuple(int(d) for d in dims.split(",") if d)
    if len(dim_map) != len(tile):
        raise TypeTextError(f"dim_map has {len(dim_map)} entries for a tile of rank {len(tile)}")
    if kind == "partition":
        return PartitionViewType(tile, view, dim_map, padding)
    return StridedViewType(tile, tuple(int(t) for t in traversal.split(",") if t), view, dim_map, padding)
