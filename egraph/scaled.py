"""Scaled matrix products as products of scaled operands.

    mmaf_scaled(a, b, c, s, t) = mmaf(bf16(a) * bf16(spread s), bf16(b) * bf16(spread t), c)
An f8 number has at most four bits and its scale is a power of two, so the products are exact in bf16, which has eight
bits, unless they leave its range of exponents (2^-133 to 2^128). Source: CUDA Tile IR 13.4, mmaf_scaled.
"""

from __future__ import annotations

from typing import cast

from ir.core import Block, Builder, Op, Value
from ir.dialects import cuda_tile as ct
from ir.types import BF16, FloatType, TileType


def by_factors(op: ct.MmaFScaled) -> tuple[list[Op], list[Value]]:
    """Operations to stand in the place of `op`, and what stands for its result."""
    block = Block()
    b = Builder(block, op.location)
    rank = len(cast(TileType, op.acc.type).shape)
    left = scaled(op.lhs, op.lhs_scale, rank - 1, b)
    right = scaled(op.rhs, op.rhs_scale, rank - 2, b)
    result = b.value(ct.MmaF, left, right, op.acc)
    for made in block.ops:
        made.parent = op.parent  # loops and branches around it are those around the source
    return block.ops, [result]


def scaled(operand: Value, scale: Value, k: int, b: Builder) -> Value:
    """An operand times its scales, each of which stands for a block of neighbours along dimension `k`."""
    kind, few = (cast(TileType, value.type) for value in (operand, scale))
    *outer, blocks = few.shape[: k + 1]
    inner = few.shape[k + 1 :]
    apart, spread = (TileType((*outer, blocks, n, *inner), BF16) for n in (1, kind.shape[k] // blocks))
    whole = TileType(kind.shape, BF16)
    factors = b.value(ct.Reshape, widened(scale, b), types=[apart])
    factors = b.value(ct.Reshape, b.value(ct.Broadcast, factors, types=[spread]), types=[whole])
    return b.value(ct.MulF, widened(operand, b), factors)


def widened(value: Value, b: Builder) -> Value:
    """A tile in bf16, which holds every number of the narrower formats."""
    kind = cast(TileType, value.type)
    assert isinstance(kind.element, FloatType)
    return b.value(ct.FToF, value, types=[TileType(kind.shape, BF16)])
