"""The nv_tileas types of source types."""

from __future__ import annotations

from ir.core import Type
from ir.types import GLOBAL_PTR, PointerType, TensorType, TileType


def uniform_type(kind: Type) -> Type:
    """A value that every thread holds: scalars by their element type, pointers as global addresses."""
    if isinstance(kind, TileType):
        return GLOBAL_PTR if isinstance(kind.element, PointerType) else kind.element
    return kind


def element_type(kind: Type) -> Type:
    """The element type of a placed tile or scalar."""
    return kind.element if isinstance(kind, TensorType) else kind
