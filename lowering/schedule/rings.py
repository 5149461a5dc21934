"""What the pipelines of every target share: the tile a copy makes, and what its place depends on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ir.core import Block, Op, Value
from ir.dialects import arith, nv_tileas
from ir.types import TensorType
from lowering.layouts.shared import PERIOD, SharedLayout


def tile_of(op: nv_tileas.TiledCopy) -> tuple[TensorType, SharedLayout]:
    """The tile and shared layout that a copy makes."""
    kind = op.result.type
    if not isinstance(kind, TensorType) or not isinstance(kind.layout, SharedLayout):
        raise TypeError(f"{kind} is not a tile in shared memory")
    return kind, kind.layout


def slice_of(operands: list[Value], body: Block) -> list[Op] | None:
    """The scalar ops of the body that compute `operands` from its counter and values from outside, in order.

    None where they need a carried value or memory: such a tile is not known ahead.
    """
    wanted = set(operands)
    found: list[Op] = []
    for op in reversed(body.ops):
        if wanted.intersection(op.results):
            if not isinstance(op, nv_tileas.MakeMemref | nv_tileas.Partition) and type(op).__module__ != arith.__name__:
                return None
            found.append(op)
            wanted.update(op.operands)
    return None if wanted.intersection(body.args[1:]) else found[::-1]


def arrange(
    once: Sequence[nv_tileas.AllocTensor], rings: Sequence[tuple[Sequence[nv_tileas.AllocTensor], int]]
) -> tuple[int, int]:
    """Give all buffers their places in shared memory; where those that are filled once end, and where all do.

    They come first, so that scratch may lie over all rings. Of a ring: its buffers, and the bytes of all stages.
    """
    kept = 0
    for buffer in once:
        kept = align(kept, cast(SharedLayout, cast(nv_tileas.BufferType, buffer.result.type).layout).alignment)
        buffer.attributes["offset"] = kept
        kept += buffer.stage_bytes
    free = kept
    for buffers, size in rings:
        start = align(free, PERIOD)
        for buffer in buffers:
            buffer.attributes["offset"] += start
        free = start + size
    return kept, free


def align(value: int, to: int) -> int:
    """The next multiple."""
    return -(-value // to) * to
