"""Devices of the tiers: multiprocessors, and the rate of their memory."""

from __future__ import annotations

import re

from ir.records import dataclass


@dataclass(frozen=True)
class Device:
    """Multiprocessors, memory bandwidth in bytes a second, clock in cycles a second (boost)."""

    multiprocessors: int
    memory: float
    clock: float

    @property
    def memory_bytes(self) -> float:
        """Memory bytes per SM and cycle."""
        return self.memory / self.clock / self.multiprocessors


DEVICES = {
    (8, 0): Device(108, 1.555e12, 1.41e9),
    (9, 0): Device(132, 3.35e12, 1.83e9),
    (10, 0): Device(148, 8e12, 1.85e9),
    (10, 3): Device(148, 8e12, 1.85e9),
    (12, 0): Device(170, 1.792e12, 2.41e9),
}
"""A100 (40 GB), H100 SXM5, B200, B300 and RTX 5090 (NVIDIA data sheets; the clocks used for the tiers' rates)."""
OTHERS = DEVICES[9, 0]
"""For a device that is not listed."""


def device(target: str) -> Device:
    """That of a tier, by its name."""
    found = re.match(r"sm_(\d+)(\d)", target)
    return OTHERS if found is None else DEVICES.get((int(found[1]), int(found[2])), OTHERS)


def multiprocessors(target: str) -> int:
    """Of the device of a tier, by its name."""
    return device(target).multiprocessors
