"""Occupancy in CTAs an SM, and what limits it.

Source: the rules of NVIDIA's occupancy calculator (CUDA Toolkit, cuda_occupancy.h).
"""

from __future__ import annotations

from ir.records import dataclass
from lowering.targets.target import RESERVED, WARP, Target

REGISTERS_AT_ONCE = 256  # allocation unit of a warp, on every target since 3.0; cuda_occupancy.h, register allocation
WARPS_AT_ONCE = 4  # one a scheduler; cuda_occupancy.h, sub-partitions of an SM
SHARED_AT_ONCE = 128  # bytes, since 8.0; cuda_occupancy.h, shared memory allocation


@dataclass(frozen=True, slots=True)
class Occupancy:
    """CTAs that each resource of an SM suffices for."""

    warps: int
    ctas: int
    shared: int
    registers: int

    @property
    def count(self) -> int:
        """CTAs an SM."""
        return min(self.warps, self.ctas, self.shared, self.registers)

    def __str__(self) -> str:
        names = {"shared memory": self.shared, "registers": self.registers, "warps": self.warps, "CTAs": self.ctas}
        limits = " and ".join(name for name, count in names.items() if count == self.count)
        rest = ", ".join(f"{name} would allow {count}" for name, count in names.items() if count > self.count)
        held = "1 CTA" if self.count == 1 else f"{self.count} CTAs"
        return f"{held} per SM, limited by {limits}" + (f"; {rest}" if rest else "")


def occupancy(target: Target, threads: int, registers: int, shared: int) -> Occupancy:
    """CTAs of `threads` threads with `registers` each and `shared` bytes of dynamic shared memory an SM."""
    warps = -(-threads // WARP)
    each = -(-registers * WARP // REGISTERS_AT_ONCE) * REGISTERS_AT_ONCE
    held = int(target.registers_per_sm) // each // WARPS_AT_ONCE * WARPS_AT_ONCE
    taken = -(-shared // SHARED_AT_ONCE) * SHARED_AT_ONCE + RESERVED
    return Occupancy(
        int(target.warps_per_sm) // warps,
        int(target.ctas_per_sm),
        (int(target.smem_bytes) + RESERVED) // taken,
        held // warps,
    )
