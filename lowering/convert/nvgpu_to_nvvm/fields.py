"""Bits extracted from a register and put back in place: the register, or a mask of it. Bits of a sum that come only
from its constant.
"""

from __future__ import annotations

from typing import NamedTuple

from ir.core import Value
from ir.dialects import llvm
from ir.types import IntType
from lowering.convert.nvgpu_to_nvvm.comparisons import constant_part
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter

DEPTH = 6  # operations between a register and a piece of it: a shift, a truncation, an extension, a product


class Field(NamedTuple):
    """(root >> place) & mask, extended by zeros or cut off."""

    root: Value
    place: int
    mask: int


def _ones(value: Value) -> int:
    return (1 << value.type.width) - 1 if isinstance(value.type, IntType) else 0


def _field(e: Emitter, x: Value, depth: int = DEPTH) -> Field:
    """The bits of x as bits of a register not defined by masks and right shifts."""
    op = x.owner
    if depth and isinstance(op, (llvm.ZExt, llvm.Trunc)):
        root, place, mask = _field(e, op.operands[0], depth - 1)
        return Field(root, place, mask & _ones(op.operands[0]) & _ones(x))
    if depth and isinstance(op, (llvm.LShr, llvm.And)):
        number = e.integer(op.operands[1])
        if isinstance(op, llvm.And) and number is not None:
            root, place, mask = _field(e, op.operands[0], depth - 1)
            return Field(root, place, mask & number)
        if number is not None and 0 <= number < _ones(x).bit_length():
            root, place, mask = _field(e, op.operands[0], depth - 1)
            return Field(root, place + number, mask >> number)
    return Field(x, 0, _ones(x))


def in_place(e: Emitter, x: Value) -> tuple[Value, int]:
    """(root, mask) with x = root & mask; x itself if it has other bits."""
    op, place, number = x.owner, 0, x
    factor = e.integer(op.operands[1]) if isinstance(op, llvm.Mul) else None
    if isinstance(op, llvm.Mul) and factor is not None:
        factor &= _ones(x)
        if factor and not factor & factor - 1:
            place, number = factor.bit_length() - 1, op.operands[0]
    found = _field(e, number)
    if found.place != place or found.root.type != x.type:
        return x, _ones(x)
    return found.root, found.mask << place & _ones(x)


def apart(e: Emitter, x: Value) -> tuple[Value, int]:
    """(rest, constant) with x = rest + constant, which have no common bits; 0 if there is no such constant. A bitwise
    operation applies to each of them separately, so that an address keeps its displacement.
    """
    rest, constant = constant_part(e, x)
    apart = constant > 0 and constant & ~e.facts.zeros(rest) == 0
    return (rest, constant) if apart else (x, 0)
