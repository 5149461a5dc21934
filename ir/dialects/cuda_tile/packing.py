"""cuda_tile packing: the bits of a rank-1 tile as bytes, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ir.core import Operand, Result, Type, op
from ir.dialects.cuda_tile.attributes import NOT_LOWERED, Array
from ir.dialects.cuda_tile.constraints import BYTES, NUMBER, TileOp, tile_type, width_of
from ir.dialects.cuda_tile.numerics import from_bits, to_bits
from ir.types import FloatType, IntType, TileType


def _verify_bytes(op: TileOp) -> None:
    source, result = tile_type(op.operands[0]), tile_type(op.results[0])
    flat = len(source.shape) == len(result.shape) == 1
    op.expect(flat, "operand 'source' {} and result {} must have one dimension", source, result)
    same = width_of(op.operands[0]) == width_of(op.results[0])
    op.expect(not same, "operand 'source' {} and result {} must differ in width: use bitcast", source, result)
    sizes = [tile.size * tile.element.width for tile in (source, result)]
    message = "operand 'source' {} has {} bits, result {} has {}"
    op.expect(sizes[0] == sizes[1], message, source, sizes[0], result, sizes[1])


@op("cuda_tile.pack", since=(13, 3), opcode=111)
class Pack(TileOp):
    """The bytes of a tile in memory order; elements narrower than a byte fill it from its low bits."""

    syntax = "$source : source -> result"

    source = Operand(NUMBER)
    result = Result(BYTES)

    placement = NOT_LOWERED

    def verify(self) -> None:
        """One dimension, equal size in bits, an element width other than a byte's."""
        _verify_bytes(self)

    def evaluate(self, operands: Sequence[Array]) -> Array:
        """The source's element type determines the layout of its bits."""
        return self.reference(operands[0], tile_type(self.source).element)

    @staticmethod
    def reference(source: Array, element: Type) -> Array:
        """Little-endian bits, eight at a time."""
        width = _width(element)
        bits = to_bits(source, element)
        if width >= 8:
            words = bits.astype(f"<u{width // 8}")
            return words.view(np.int8)
        lanes = bits.astype(np.uint8).reshape(-1, 8 // width)
        shifts = (np.arange(8 // width) * width).astype(np.uint8)
        return np.bitwise_or.reduce(lanes << shifts, axis=1).astype(np.uint8).view(np.int8)


@op("cuda_tile.unpack", since=(13, 3), opcode=112)
class Unpack(TileOp):
    """Bytes in memory order as a tile of another element type."""

    syntax = "$source : source -> result"

    source = Operand(BYTES)
    result = Result(NUMBER)

    placement = NOT_LOWERED
    needs_result_type = True

    def verify(self) -> None:
        """One dimension, equal size in bits, an element width other than a byte's."""
        _verify_bytes(self)

    @staticmethod
    def reference(source: Array, result_type: TileType) -> Array:
        """Little-endian bits, `width` at a time."""
        element = result_type.element
        width = _width(element)
        raw = np.ascontiguousarray(source).view(np.uint8)
        if width >= 8:
            return from_bits(raw.view(f"<u{width // 8}"), element)
        shifts = (np.arange(8 // width) * width).astype(np.uint8)
        lanes = (raw[:, None] >> shifts) & np.uint8((1 << width) - 1)
        return from_bits(lanes.reshape(-1), element)


def _width(element: Type) -> int:
    """Bits of an element in packed memory."""
    if not isinstance(element, IntType | FloatType):
        raise TypeError(f"{element} is not packed")
    return element.width
