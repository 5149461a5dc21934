"""Scaled matrix products as products of scaled operands.

    mmaf_scaled(a, b, c, s, t) = mmaf(bf16(a) * bf16(spread s), bf16(b) * bf16(spread t), c)
An f8 number has at most four bits and its scale is a power of two, so the products are exact in bf16, which has eight
bits, unless they leave its range of exponents (2^-133 to 2^128). Source: CUDA Tile IR 13.4, mmaf_scaled.
"""

from __future__ import annotations

from typing import cast

from egraph.packing import unpacked_from
from ir.core import Block, Builder, Op, Value
from ir.dialects import cuda_tile as ct
from ir.types import BF16, F4E2M1FN, F8E4M3FN, I8, FloatType, TileType

MAGNITUDE = 0x7F
"""The bits of f8E4M3FN but for its sign."""


def by_factors(op: ct.MmaFScaled) -> tuple[list[Op], list[Value]]:
    """Operations to stand in the place of `op`, and what stands for its result."""
    block = Block()
    b = Builder(block, op.location)
    rank = len(ct.tile_type(op.acc).shape)
    left = scaled(op.lhs, op.lhs_scale, rank - 1, b)
    right = scaled(op.rhs, op.rhs_scale, rank - 2, b)
    result = b.value(ct.MmaF, left, right, op.acc)
    for made in block.ops:
        made.parent = op.parent  # loops and branches around it are those around the source
    return block.ops, [result]


def of_bytes(op: ct.MmaFScaled) -> tuple[list[Op], tuple[Value, Value]] | None:
    """Operations that make factors of f4 as tiles of bytes that hold two neighbours along K each, [M, K / 2] and
    [K / 2, N], and these tiles; None where the factors are not unpacked from such bytes.
    """
    left, columns_of = unpacked(op.lhs), columns(op.rhs)
    right = None if columns_of is None else unpacked(columns_of)
    if left is None or right is None or columns_of is None:
        return None
    *lead, n, k = cast(TileType, columns_of.type).shape
    order = transposing(columns_of)
    block = Block()
    b = Builder(block, op.location)
    m = ct.tile_type(op.lhs).shape[-2]
    a = b.value(ct.Reshape, left, types=[TileType((*lead, m, k // 2), I8)])
    turned = b.value(ct.Reshape, right, types=[TileType((*lead, n, k // 2), I8)])
    made = b.value(ct.Permute, turned, types=[TileType((*lead, k // 2, n), I8)], permutation=order)
    for each in block.ops:
        each.parent = op.parent
    return block.ops, (a, made)


def columns(value: Value) -> Value | None:
    """The tile of which a right factor is the transpose, if it is one."""
    turned = value.op
    transpose = isinstance(turned, ct.Permute) and turned.permutation == transposing(turned.source)
    return turned.source if transpose and isinstance(turned, ct.Permute) else None


def transposing(value: Value) -> tuple[int, ...]:
    """The permutation of the last two dimensions of a tile."""
    lead = len(cast(TileType, value.type).shape) - 2
    return (*range(lead), lead + 1, lead)


def by_magnitudes(op: ct.MmaFScaled) -> bool:
    """Is no scale negative?"""
    return all(magnitudes(each) for each in (op.lhs_scale, op.rhs_scale))


def magnitudes(scale: Value) -> bool:
    """Are these numbers without a sign: of a type that has none, or by a mask that leaves them none?"""
    while isinstance(scale.op, ct.Reshape | ct.Permute | ct.Broadcast):
        scale = scale.op.source
    if cast(TileType, scale.type).element != F8E4M3FN:
        return True
    made = scale.op.source.op if isinstance(scale.op, ct.Bitcast) else None
    mask = made.rhs.op if isinstance(made, ct.AndI) else None
    return isinstance(mask, ct.Constant) and mask.value.splat and mask.value.item == MAGNITUDE


def unpacked(value: Value) -> Value | None:
    """The bytes in memory order that a tile of f4 is unpacked from."""
    return unpacked_from(value) if cast(TileType, value.type).element == F4E2M1FN else None


def scaled(operand: Value, scale: Value, k: int, b: Builder) -> Value:
    """An operand times its scales, each of which stands for a block of neighbours along dimension `k`."""
    kind, few = (ct.tile_type(value) for value in (operand, scale))
    *outer, blocks = few.shape[: k + 1]
    inner = few.shape[k + 1 :]
    apart, spread = (TileType((*outer, blocks, n, *inner), BF16) for n in (1, kind.shape[k] // blocks))
    whole = TileType(kind.shape, BF16)
    factors = b.value(ct.Reshape, widened(scale, b), types=[apart])
    factors = b.value(ct.Reshape, b.value(ct.Broadcast, factors, types=[spread]), types=[whole])
    return b.value(ct.MulF, widened(operand, b), factors)


def widened(value: Value, b: Builder) -> Value:
    """A tile in bf16, which holds every number of the narrower formats."""
    kind = ct.tile_type(value)
    assert isinstance(kind.element, FloatType)
    return b.value(ct.FToF, value, types=[TileType(kind.shape, BF16)])
