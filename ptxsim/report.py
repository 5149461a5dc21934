"""The results of a launch: instructions, shared-memory wavefronts, global sectors, final shared memory."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from ptxsim.findings import Hazard
from ptxsim.ptx_types import Array

# Shared memory has 32 banks of 4 bytes (CUDA C++ Programming Guide, "Shared Memory", compute capability 5.x and later).
BANKS = 32
# A sector is the 32-byte unit of global memory traffic (Nsight Compute documentation, "Memory Tables").
SECTOR = 32
WARP = 32


@dataclass(slots=True)
class Sectors:
    """Global traffic of one PTX line: warp-wide accesses, and the distinct 32-byte sectors each touched, summed."""

    accesses: int = 0
    sectors: int = 0

    @property
    def per_access(self) -> float:
        """Sectors a warp-wide access touches on average."""
        return self.sectors / self.accesses if self.accesses else 0.0


@dataclass(slots=True)
class Report:
    """Counts over the whole grid.

    instructions: full opcode to instructions issued by warps (predicated-off ones too); bank_conflicts: PTX line to
    wavefronts beyond one per phase; sectors: PTX line to global traffic; shared: the bytes of shared memory [CTAs of
    the last batch, shared_bytes] as the kernel left them; shared_bytes: bytes a CTA, static and dynamic; printed: the
    output of each printf of each thread; printed_at: the PTX lines of these calls; barrier_waits: PTX line of an
    mbarrier wait, cluster barrier or CTA barrier to the number of warps that had to wait there for others; hazards,
    suppressed: with hazards="report", by line.
    """

    instructions: Counter[str] = field(default_factory=Counter[str])
    bank_conflicts: dict[int, int] = field(default_factory=dict[int, int])
    sectors: dict[int, Sectors] = field(default_factory=dict[int, Sectors])
    shared: Array = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
    shared_bytes: int = 0
    printed: list[str] = field(default_factory=list[str])
    printed_at: list[int] = field(default_factory=list[int])
    barrier_waits: dict[int, int] = field(default_factory=dict[int, int])
    hazards: list[Hazard] = field(default_factory=list[Hazard])
    suppressed: list[Hazard] = field(default_factory=list[Hazard])


def extra_wavefronts(address: Array, lanes: Array | None, size: int, phase_lanes: int) -> int:
    """Wavefronts beyond one per phase for shared accesses of `size` bytes.

    address: byte addresses of the active lanes; lanes: mask over all lanes, None for all active; phase_lanes: lanes
    whose accesses are served together. A bank delivers one 4-byte word per wavefront; lanes that want the same word
    share it.
    """
    words = max(1, size // 4)
    if size >= 4 and (lanes is None or _whole_phases(lanes, phase_lanes)):
        # the banks hold as many chunks of `size` bytes as a phase has lanes: no conflict if each lane has its own
        address = address.reshape(-1, phase_lanes)
        places = np.uint32(1) << (address // np.uint32(size) % np.uint32(phase_lanes)).astype(np.uint32)
        clean = np.bitwise_or.reduce(places, axis=1) == (1 << phase_lanes) - 1
        if clean.all():
            return 0
        first = (address[~clean].astype(np.int64) >> 2).reshape(-1)
    else:
        first = _spread(address.astype(np.int64) >> 2, lanes)
    wanted = np.where(first[:, None] < 0, -1, first[:, None] + np.arange(words)).reshape(-1, phase_lanes * words)
    wanted.sort(axis=1)
    phase, column = np.nonzero(_distinct(wanted))
    bank = phase * BANKS + (wanted[phase, column] & (BANKS - 1))
    per_bank = np.bincount(bank, minlength=wanted.shape[0] * BANKS).reshape(-1, BANKS)
    return int(np.maximum(per_bank.max(axis=1) - 1, 0).sum())


def _whole_phases(lanes: Array, phase_lanes: int) -> bool:
    """Whether every phase has all its lanes or none."""
    words = np.packbits(lanes).view(f"u{phase_lanes // 8}")
    return bool(((words == 0) | (words == (1 << phase_lanes) - 1)).all())


def _spread(values: Array, lanes: Array | None) -> Array:
    """Values of the active lanes in an array over all lanes, -1 elsewhere."""
    if lanes is None:
        return values
    result = np.full(lanes.size, -1, np.int64)
    result[lanes] = values
    return result


def _distinct(ordered: Array) -> Array:
    """The first occurrence of each value in a row of sorted values; negative values do not count."""
    result = ordered >= 0
    result[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    return result


def phase_lanes(size: int) -> int:
    """Lanes that one phase of a shared access serves: 128 bytes of data at a time.

    Source: Nsight Compute documentation, "Shared Memory": 64-bit accesses go by half warps, 128-bit by quarter warps.
    """
    return {8: 16, 16: 8}.get(size, WARP)


def count_sectors(cell: Array, lanes: Array | None, size: int) -> tuple[int, int]:
    """(warp-wide accesses, distinct sectors summed over them) of accesses to cells of `size` bytes.

    cell: numbers of the active lanes, counted from a sector boundary; natural alignment keeps each inside a sector.
    """
    sector = _spread(cell * size // SECTOR - int(cell.min()) * size // SECTOR, lanes).reshape(-1, WARP)
    sector.sort(axis=1)
    distinct = _distinct(sector)
    return int(np.count_nonzero(distinct.any(axis=1))), int(np.count_nonzero(distinct))
