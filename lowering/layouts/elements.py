"""The size of one tile element: in memory, and when threads exchange it."""

from __future__ import annotations

from ir.types import I1, Type

REGISTER_BITS = 32
REGISTER_BYTES = REGISTER_BITS // 8
POINTER_BITS = 64  # of global addresses; PTX ISA, .address_size 64


def element_bytes(element: Type) -> int:
    """Bytes of one element in memory; a predicate takes one."""
    return max(8, getattr(element, "width", POINTER_BITS)) // 8


def moved_bits(element: Type) -> int:
    """Bits of one element in registers and in scratch memory: a predicate is moved as a word."""
    return 32 if element == I1 else 8 * element_bytes(element)


def tile_registers(values: int, element: Type) -> int:
    """32-bit registers of a thread that holds `values` elements of a tile."""
    return -(-values * moved_bits(element) // REGISTER_BITS)
