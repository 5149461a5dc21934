"""Where values lie that CTAs of a cluster send one another."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ir.core import Value
from ir.types import TensorType, TileType
from lowering.layouts.elements import element_bytes
from lowering.schedule.rings import align

EXCHANGE_ALIGNMENT = 16  # bytes: the widest access


def places(values: Sequence[Value]) -> list[int]:
    """Byte offsets of the values that one CTA tells another."""
    found: list[int] = []
    free = 0
    for value in values:
        found.append(free)
        free = align(free + size_of(value), EXCHANGE_ALIGNMENT)
    return found


def sent_bytes(values: Sequence[Value]) -> int:
    """Bytes of what one CTA tells another, for which there is a place in any case."""
    if not values:
        return EXCHANGE_ALIGNMENT
    return align(places(values)[-1] + size_of(values[-1]), EXCHANGE_ALIGNMENT)


def size_of(value: Value) -> int:
    """Bytes of a tile or a scalar."""
    kind = value.type
    if isinstance(kind, TensorType | TileType):
        return prod(kind.shape) * element_bytes(kind.element)
    return element_bytes(kind)
