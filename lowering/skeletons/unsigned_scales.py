"""Block-scaled products whose scales may be negative, as products by the magnitudes of these: signs go to the factors.

    mmaf_scaled(unpack(a), b, c, s, t)      mmaf_scaled(unpack(a ^ spread(signs of s)), b, c, |s|, t)     and so b, t
Tensor cores read scales of f8E4M3FN as ue4m3, which has no sign (PTX ISA, mma with .block_scale). A number of f4 is a
sign beside a magnitude, so a negative scale is a positive one of factors whose signs are turned over: exact.
"""

from __future__ import annotations

from typing import cast

from egraph.scaled import MAGNITUDE, columns, of_bytes, transposing, unpacked
from ir.core import Builder, Op, Value
from ir.dialects import cuda_tile as ct
from ir.types import F8E4M3FN, I8, TileType
from lowering.skeletons.swapped_products import permuted
from lowering.source.rewriting import Rewriter, constant

SIGNS = 0x88 - 256
"""The signs of both f4 in a byte, as an i8."""


def signs_to_factors(entry: ct.Entry, takes_scales: bool) -> ct.Entry:
    """The entry with all products by scales with signs made so; the same one where the target `takes_scales` in none of
    its instructions, where there are no such products, or where factors of one are not unpacked from bytes.
    """
    products = [op for op in entry.walk() if isinstance(op, ct.MmaFScaled) and signed(op)]
    if not takes_scales or not products or not all(map(of_bytes, products)):
        return entry
    return _Writer(set(products)).entry(entry)


def signed(op: ct.MmaFScaled) -> bool:
    """Does a product have scales with signs?"""
    return cast(TileType, op.lhs_scale.type).element == F8E4M3FN


class _Writer(Rewriter):
    """Operations anew, some products by magnitudes of their scales."""

    def __init__(self, products: set[Op]):
        super().__init__()
        self.products = products

    def operation(self, op: Op, b: Builder) -> None:
        """One."""
        if op not in self.products or not isinstance(op, ct.MmaFScaled):
            super().operation(op, b)
            return
        right = columns(op.rhs)
        assert right is not None
        left_factor, left_scale = self.factor(op.lhs, self.new[op.lhs_scale], b)
        turned = permuted(self.new[op.rhs_scale], b)
        right_factor, right_scale = self.factor(right, turned, b)
        across = b.value(ct.Permute, right_factor, types=[op.rhs.type], permutation=transposing(right))
        made = b.value(
            ct.MmaFScaled, left_factor, across, self.new[op.acc], left_scale, permuted(right_scale, b),
            types=[op.result.type], **op.attributes,
        )  # fmt: skip
        self.bind([op.result], [made])

    def factor(self, value: Value, scale: Value, b: Builder) -> tuple[Value, Value]:
        """A factor whose rows have their blocks along K, with the signs of its scales; the magnitudes of these."""
        found = unpacked(value)
        assert found is not None
        kind, few = cast(TileType, value.type), cast(TileType, scale.type)
        bytes_of = TileType(few.shape, I8)
        bits = b.value(ct.Bitcast, scale, types=[bytes_of])
        magnitude = b.value(ct.AndI, bits, constant(b, MAGNITUDE, bytes_of), types=[bytes_of])
        signs = b.value(ct.ShrI, bits, constant(b, 7, bytes_of), types=[bytes_of], signedness=ct.Signedness.SIGNED)
        signs = b.value(ct.AndI, signs, constant(b, SIGNS, bytes_of), types=[bytes_of])
        each = kind.shape[-1] // few.shape[-1] // 2
        apart = b.value(ct.Reshape, signs, types=[TileType((*few.shape, 1), I8)])
        spread = b.value(ct.Broadcast, apart, types=[TileType((*few.shape, each), I8)])
        flat = cast(TileType, found.type)
        turned = b.value(ct.XorI, self.new[found], b.value(ct.Reshape, spread, types=[flat]), types=[flat])
        whole = b.value(ct.Unpack, turned, types=[TileType((kind.size,), kind.element)])
        return (
            b.value(ct.Reshape, whole, types=[kind]),
            b.value(ct.Bitcast, magnitude, types=[few]),
        )
