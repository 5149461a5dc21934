"""Types and attributes of the levels below cuda_tile from their generic form."""

from __future__ import annotations

import re
from functools import cache

from ir.core import SPELLED, Attribute, TileError, Type
from ir.text.type_text import TypeTextError, read_type
from ir.types import SCALARS, FloatType, IntType, LLVMPointerType, TensorType, VectorType, read_dims
from ir.upstream import Opaque

_NAMED = re.compile(r"([!#][\w$.]+)(?:<(.*)>)?", re.DOTALL)
_LAYOUT = re.compile(r",\s*(?=#)")
_POINTER = re.compile(r"!llvm\.ptr(?:<(\d{1,4})>)?")


@cache
def level_type(text: str) -> Type:
    """The type that `text` spells. Raises TypeTextError."""
    text = text.strip()
    if text in SCALARS:
        return SCALARS[text]
    if match := _POINTER.fullmatch(text):
        return LLVMPointerType(int(match[1] or 0))
    if text.startswith("vector<"):
        dims, element = read_dims(text[7:-1])
        kind = level_type(element)
        if not isinstance(kind, IntType | FloatType):
            raise TypeTextError(f"{text!r} is not a type", "vectors are of integers or floats")
        return VectorType(dims, kind)
    if text.startswith("tensor<"):
        tile, layout = _split(text[7:-1])
        dims, element = read_dims(tile)
        return TensorType(dims, level_type(element), level_attribute(layout) if layout else None)
    if text.startswith("!cuda_tile."):
        return read_type(text)
    found = _named(text)
    if not isinstance(found, Type):
        raise TypeTextError(f"{text!r} is not a type", "types are written as i32, vector<2xf16>, !llvm.ptr<1>")
    return found


def _split(body: str) -> tuple[str, str]:
    """Tile and layout of a tensor, the latter empty where it has none; types of elements may hold commas."""
    match = _LAYOUT.search(body)
    return (body[: match.start()], body[match.end() :]) if match else (body, "")


@cache
def level_attribute(text: str) -> Attribute:
    """The attribute `#dialect.name<...>` that `text` spells. Raises TypeTextError."""
    found = _named(text)
    return found if isinstance(found, Attribute) else Opaque(text)


def _named(text: str) -> Type | Attribute | None:
    """What a name of SPELLED and its body spell; None for another name."""
    match = _NAMED.fullmatch(text)
    read = SPELLED.get(match[1]) if match else None
    if match is None or read is None:
        return None
    try:
        return read((match[2] or "").strip(), level_type, level_attribute)
    except (ValueError, TileError) as error:
        reason = error.message if isinstance(error, TileError) else str(error)
        raise TypeTextError(f"cannot read {text!r}: {reason}") from error
