"""Devices of the tiers: how many multiprocessors they have."""

from __future__ import annotations

import re

MULTIPROCESSORS = {(8, 0): 108, (9, 0): 132, (10, 0): 148, (10, 3): 148, (12, 0): 170}
"""A100, H100, B200, B300 and RTX 5090 (NVIDIA data sheets)."""
OTHERS = 132
"""Of a device that is not listed."""


def multiprocessors(target: str) -> int:
    """Of the device that stands for a tier, by its name."""
    found = re.match(r"sm_(\d+)(\d)", target)
    return OTHERS if found is None else MULTIPROCESSORS.get((int(found[1]), int(found[2])), OTHERS)
