"""Tensor copies (TMA) as records: one instruction moves a box between global and shared memory for the whole CTA."""

from __future__ import annotations

from collections.abc import Mapping, Set

from ir.core import Op
from ir.dialects.cuda_tile import AtomicMode, AtomicRMW
from ir.records import dataclass
from ir.types import BF16, F16, F32, I32, TileType, Type
from lowering.atoms.copy import Space
from lowering.atoms.forbidden import forbidden
from lowering.targets.target import Feature, Target

MAX_RANK = 5  # PTX ISA, cp.async.bulk.tensor
MAX_BOX = 256  # elements of a box along a dimension; cuTensorMapEncodeTiled, boxDim
TMA_ALIGNMENT = 16  # bytes: alignment of base and strides, unit of the inner box; cuTensorMapEncodeTiled
DST_ALIGNMENT = 128  # bytes, without swizzle; PTX ISA, cp.async.bulk.tensor
SWIZZLES = (128, 64, 32, 0)  # bytes of a row of the box; cuTensorMapEncodeTiled, swizzle
ISSUE_CYCLES = 4.0  # one lane of one warp issues address, coordinate and copy: 3.2 instructions a box in sm_90a SASS


@dataclass(frozen=True, slots=True)
class TmaAtom:
    """cp.async.bulk.tensor of `rank` dimensions; loads complete on an mbarrier, stores in a bulk group."""

    name: str
    ptx: str
    source: Space
    target: Space
    rank: int
    features: frozenset[Feature]
    reference: str
    asynchronous: bool = True

    def __str__(self) -> str:
        return self.name

    def legal(self, target: Target) -> bool:
        """Does the target accept it?"""
        return self.features <= target.features

    def cycles(self, target: Target, moved: int) -> float:
        """SM cycles of a box of `moved` bytes: the slowest of its issue, the path to memory and the shared memory."""
        rates = target.throughput
        return max(ISSUE_CYCLES, moved / rates.global_bytes, moved / rates.smem_bytes)


def _atom(rank: int, load: bool) -> TmaAtom:
    if load:
        ptx = f"cp.async.bulk.tensor.{rank}d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
    else:
        ptx = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group"
    return TmaAtom(
        f"tma.{'load' if load else 'store'}.{rank}d",
        ptx,
        Space.GLOBAL if load else Space.SHARED,
        Space.SHARED if load else Space.GLOBAL,
        rank,
        frozenset({Feature.TMA, Feature.MBARRIER}),
        "PTX ISA, cp.async.bulk.tensor; ptx.md section 3, TMA",
    )


TMA_LOADS = {rank: _atom(rank, True) for rank in range(1, MAX_RANK + 1)}
TMA_STORES = {rank: _atom(rank, False) for rank in range(1, MAX_RANK + 1)}
TMA_ATOMS = (*TMA_LOADS.values(), *TMA_STORES.values())


PREFETCH = "prefetch.tensormap"


def prefetches(target: Target, forbid: Set[str]) -> bool:
    """Are tensor maps asked for ahead of the first copies? That takes an instruction of a warp each, and spares a copy
    the way to memory and back.
    """
    allowed = not forbidden(PREFETCH, forbid)
    return allowed and 1 / target.throughput.issue < target.latency.global_


TMA_REDUCE = "tma.reduce"
PARTS = "tma.store.parts"
"""Stores through a buffer of a part of the tile, one part after the other (lowering/selection/parted.py)."""
REDUCED: Mapping[tuple[AtomicMode, Type], str] = {
    (AtomicMode.ADDF, F16): "add",
    (AtomicMode.ADDF, BF16): "add",
    (AtomicMode.ADDF, F32): "add",
    (AtomicMode.ADD, I32): "add",
    (AtomicMode.MIN, I32): "min",
    (AtomicMode.MAX, I32): "max",
    (AtomicMode.AND, I32): "and",
    (AtomicMode.OR, I32): "or",
    (AtomicMode.XOR, I32): "xor",
}
"""Updates that the accelerator makes where a tensor copy ends, by mode and the element of the map: each relaxed at the
scope of the device. A map of i32 is of signed numbers. Source: PTX ISA 8.8, cp.reduce.async.bulk.tensor.
"""


def reduction(op: Op) -> str:
    """The tensor copy's operation that updates as an atomic update does; empty where there is none."""
    kind = op.results[0].type if isinstance(op, AtomicRMW) else None
    return REDUCED.get((op.mode, kind.element), "") if isinstance(op, AtomicRMW) and isinstance(kind, TileType) else ""
