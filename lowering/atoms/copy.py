"""Data movement instructions as records: bytes, features, state spaces, mnemonic, cost."""

from __future__ import annotations

import enum
from collections.abc import Set

from ir.records import dataclass
from lowering.atoms.forbidden import forbidden
from lowering.targets.target import WARP, Feature, Target


class Space(enum.Enum):
    """PTX state space (or the register file of the same or another lane)."""

    REG = "reg"
    SHARED = "shared"
    GLOBAL = "global"
    LANE = "lane"


@dataclass(frozen=True, slots=True)
class CopyAtom:
    """One instruction that moves `bytes` for each lane (of a full warp) from `source` to `target`.

    `ptx` is the mnemonic. `matrices` and `trans` belong to ldmatrix and stmatrix, `asynchronous` to cp.async.
    """

    name: str
    ptx: str
    source: Space
    target: Space
    bytes: int
    features: frozenset[Feature]
    reference: str
    matrices: int = 0
    trans: bool = False
    asynchronous: bool = False

    def __str__(self) -> str:
        return self.name

    def legal(self, target: Target) -> bool:
        """Does the target accept it?"""
        return self.features <= target.features

    def cycles(self, target: Target) -> float:
        """SM cycles of one conflict-free, coalesced warp-wide instruction on its busiest pipe."""
        rates = target.throughput
        moved = WARP * self.bytes
        busy = WARP / rates.load_store
        if self.source is Space.LANE or self.target is Space.LANE:
            return WARP / rates.shuffle
        if Space.SHARED in (self.source, self.target):
            busy = max(busy, moved / rates.smem_bytes)
        if Space.GLOBAL in (self.source, self.target):
            busy = max(busy, moved / rates.global_bytes)
        return busy


def _plain(operation: str, space: Space, size: int, features: frozenset[Feature] = frozenset()) -> CopyAtom:
    """ld or st of `size` bytes: scalar up to 4, vectors of b32 above."""
    suffix = f"b{8 * size}" if size <= 4 else f"v{size // 4}.b32"
    name = f"{operation}.{space.value}.{suffix}"
    source, target = (space, Space.REG) if operation == "ld" else (Space.REG, space)
    return CopyAtom(name, name, source, target, size, features, "PTX ISA, ld and st")


def _matrix(operation: str, num: int, trans: bool) -> CopyAtom:
    """ldmatrix or stmatrix of `num` 8x8 b16 matrices: 4 bytes a lane and matrix."""
    suffix = ".trans" if trans else ""
    ptx = f"{operation}.sync.aligned.m8n8.x{num}{suffix}.shared.b16"
    load = operation == "ldmatrix"
    return CopyAtom(
        f"{operation}.x{num}{suffix}",
        ptx,
        Space.SHARED if load else Space.REG,
        Space.REG if load else Space.SHARED,
        4 * num,
        frozenset({Feature.LDMATRIX if load else Feature.STMATRIX}),
        f"PTX ISA, {operation}",
        matrices=num,
        trans=trans,
    )


def _cp_async(size: int) -> CopyAtom:
    """cp.async; .cg (past L1) exists for 16 bytes only."""
    ptx = f"cp.async.{'cg' if size == 16 else 'ca'}.shared.global"
    return CopyAtom(
        f"cp.async.{size}",
        ptx,
        Space.GLOBAL,
        Space.SHARED,
        size,
        frozenset({Feature.CP_ASYNC}),
        "PTX ISA, cp.async; ptx.md section 2 (cg refuses 4 and 8, 12 is not a size)",
        asynchronous=True,
    )


PLAIN_SIZES = (1, 2, 4, 8, 16)
LOADS_GLOBAL = {size: _plain("ld", Space.GLOBAL, size) for size in PLAIN_SIZES}
STORES_GLOBAL = {size: _plain("st", Space.GLOBAL, size) for size in PLAIN_SIZES}
WIDE_LOAD, WIDE_STORE = (_plain(each, Space.GLOBAL, 32, frozenset({Feature.WIDE_GLOBAL})) for each in ("ld", "st"))
LOADS_SHARED = {size: _plain("ld", Space.SHARED, size) for size in PLAIN_SIZES}
STORES_SHARED = {size: _plain("st", Space.SHARED, size) for size in PLAIN_SIZES}
LDMATRIX = {(num, trans): _matrix("ldmatrix", num, trans) for num in (1, 2, 4) for trans in (False, True)}
STMATRIX = {(num, trans): _matrix("stmatrix", num, trans) for num in (1, 2, 4) for trans in (False, True)}
CP_ASYNC = {size: _cp_async(size) for size in (4, 8, 16)}
SHUFFLES = {
    mode: CopyAtom(f"shfl.{mode}", f"shfl.sync.{mode}.b32", Space.LANE, Space.REG, 4, frozenset(), "PTX ISA, shfl.sync")
    for mode in ("idx", "bfly", "up", "down")
}

COPY_ATOMS: tuple[CopyAtom, ...] = (
    *LOADS_GLOBAL.values(),
    *STORES_GLOBAL.values(),
    WIDE_LOAD,
    WIDE_STORE,
    *LOADS_SHARED.values(),
    *STORES_SHARED.values(),
    *LDMATRIX.values(),
    *STMATRIX.values(),
    *CP_ASYNC.values(),
    *SHUFFLES.values(),
)


def widest(target: Target, forbid: Set[str], wide: CopyAtom) -> int:
    """Bytes of the widest global access of a thread: those of `wide` where the target has it and nobody forbids it.
    Half the instructions, and half the addresses and bounds around them, move the same sectors.
    """
    allowed = wide.legal(target) and not forbidden(wide.name, forbid)
    return wide.bytes if allowed else LOADS_GLOBAL[16].bytes
