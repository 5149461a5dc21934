"""Anchor layouts: the ones a program starts from, before placement carries them through it."""

from __future__ import annotations

from functools import cache

from lowering.layouts.f2 import log2
from lowering.layouts.layout import LANE_BITS, Layout
from lowering.layouts.shapes import Shape, dim_bits

VECTOR_BYTES = 16  # widest global access of one thread on every target; source: PTX ISA, ld (.v4.b32)


@cache
def coalesced(
    shape: Shape, contiguous_dim: int, element_bytes: int, warps: int, vector_bytes: int = VECTOR_BYTES
) -> Layout:
    """Vectors along `contiguous_dim`, then lanes along it, then lanes and warps over the other dimensions.

    The rest goes to registers; a tile smaller than the CTA is replicated over the high lanes and warps.
    Dimensions after the contiguous one are filled from the last to the first.
    """
    fields = dim_bits(shape)
    order = [d for d in [contiguous_dim, *reversed(range(len(shape)))] if shape]
    order = list(dict.fromkeys(order))
    units = [1 << (fields[d].shift + k) for d in order for k in range(fields[d].width)]
    row = fields[contiguous_dim].width if shape else 0
    vector = min(row, log2(max(1, vector_bytes // element_bytes)))
    threads = units[vector : vector + LANE_BITS + log2(warps)]
    rest = units[vector + len(threads) :]
    threads += [0] * (LANE_BITS + log2(warps) - len(threads))
    reg = tuple(units[:vector] + rest)
    return Layout(reg, tuple(threads[:LANE_BITS]), tuple(threads[LANE_BITS:]), len(units))


@cache
def row_per_warp(shape: Shape, warps: int, element_bytes: int, vector_bytes: int = VECTOR_BYTES) -> Layout:
    """Each row (last dimension) lies in one warp, so that reducing it needs no shared memory; rows go over warps."""
    fields = dim_bits(shape)
    row = fields[-1].width if shape else 0
    bits = sum(field.width for field in fields)
    vector = min(row, log2(max(1, vector_bytes // element_bytes)))
    lane = [1 << k for k in range(vector, min(row, vector + LANE_BITS))]
    outer = [1 << k for k in range(row, bits)]
    spare = LANE_BITS - len(lane)
    warp_bits = log2(warps)
    lane += outer[:spare]
    lane += [0] * (LANE_BITS - len(lane))
    outer = outer[spare:]
    warp = outer[:warp_bits] + [0] * (warp_bits - len(outer[:warp_bits]))
    reg = [1 << k for k in range(vector)] + [1 << k for k in range(vector + LANE_BITS, row)] + outer[warp_bits:]
    return Layout(tuple(reg), tuple(lane), tuple(warp), bits)
