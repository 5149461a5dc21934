"""Common to the pipelines of every target: the tile of a copy, and what its position depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from ir.checked import checked
from ir.core import Block, Op, Value
from ir.dialects import arith, nv_tileas, scf
from ir.records import dataclass
from ir.types import TensorType
from lowering.layouts.shared import PERIOD, SharedLayout


@dataclass
class Ring:
    """Stages in shared memory filled by the copies of a loop, or of several consecutive loops.

    A stage has the bytes of the loop that needs the most.
    """

    stages: int
    buffers: list[nv_tileas.AllocTensor] = field(default_factory=list[nv_tileas.AllocTensor])
    stage_bytes: int = 0

    def add(self, buffers: Sequence[nv_tileas.AllocTensor], stage_bytes: int) -> None:
        """The buffers of one more loop, which lie side by side in `stage_bytes`."""
        self.stage_bytes = max(self.stage_bytes, stage_bytes)
        self.buffers += buffers
        for buffer in self.buffers:
            buffer.attributes["stage_bytes"] = self.stage_bytes

    @property
    def size(self) -> int:
        """Bytes of all stages."""
        return self.stages * self.stage_bytes


Copy = nv_tileas.TiledCopy | nv_tileas.GatherCopy
COPIES = (nv_tileas.TiledCopy, nv_tileas.GatherCopy)
Staged = Copy | nv_tileas.Hold  # what may fill a stage
TILES = (
    nv_tileas.AddPtr,
    nv_tileas.Broadcast,
    nv_tileas.Reshape,
    nv_tileas.Permute,
    nv_tileas.Iota,
    nv_tileas.Constant,
)
VIEWS = (nv_tileas.MakeMemref, nv_tileas.Partition)


def tile_of(op: Staged) -> tuple[TensorType, SharedLayout]:
    """The tile and shared layout that a copy makes."""
    kind = op.result.type
    if not isinstance(kind, TensorType) or not isinstance(kind.layout, SharedLayout):
        raise TypeError(f"{kind} is not a tile in shared memory")
    return kind, kind.layout


def before_loops(block: Block) -> set[Op]:
    """The copies of a block that fill a stage of a ring of one of its loops."""
    inside = (copy for loop in block.ops if isinstance(loop, scf.For) for copy in loop.body.block.ops)
    rings = {copy.ring for copy in inside if isinstance(copy, nv_tileas.TiledCopy)} - {0}
    return {copy for copy in block.ops if isinstance(copy, nv_tileas.TiledCopy) and copy.ring in rings}


def slice_of(operands: list[Value], body: Block) -> list[Op] | None:
    """The ops of the body that compute `operands` from its counter and values from outside, in order.

    None where they need a carried value or memory: such a tile is not known ahead.
    """
    wanted = set(operands)
    found: list[Op] = []
    for op in reversed(body.ops):
        if wanted.intersection(op.results):
            if not isinstance(op, (*VIEWS, *TILES)) and type(op).__module__ != arith.__name__:
                return None
            found.append(op)
            wanted.update(op.operands)
    return None if wanted.intersection(body.args[1:]) else found[::-1]


def arrange(
    once: Sequence[nv_tileas.AllocTensor],
    rings: Sequence[Sequence[Ring]],
    looped: Sequence[Sequence[nv_tileas.AllocTensor]] = (),
) -> tuple[int, int]:
    """Assign all buffers their places in shared memory; returns where buffers that are filled once end, and where all
    end.

    The former come first, so that scratch can overlay all rings. Rings of one group overlay each other, and so do the
    buffers of consecutive loops (`looped`).
    """
    begin = side_by_side(once, 0)
    free = kept = max((side_by_side(each, begin) for each in looped), default=begin)
    for together in rings:
        start = align(free, PERIOD)
        for buffer in (each for ring in together for each in ring.buffers):
            buffer.attributes["offset"] += start
        free = start + max(ring.size for ring in together)
    return kept, free


def side_by_side(buffers: Sequence[nv_tileas.AllocTensor], first: int) -> int:
    """Give buffers their places from byte `first` on; where they end."""
    for buffer in buffers:
        kind = checked(buffer.result.type, nv_tileas.BufferType)
        first = align(first, checked(kind.layout, SharedLayout).alignment)
        buffer.attributes["offset"] = first
        first += kind.stages * buffer.stage_bytes
    return first


def align(value: int, to: int) -> int:
    """The next multiple."""
    return -(-value // to) * to
