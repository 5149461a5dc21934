"""`tilesat targets`: the targets, their limits and what their instructions can do."""

from __future__ import annotations

import argparse

from lowering.targets import ALL_TARGETS
from lowering.targets.target import KIB
from tilesat.cli import OK


def run(arguments: argparse.Namespace) -> int:
    """One line a target, from its record."""
    for target in ALL_TARGETS.values():
        features = " ".join(sorted(feature.name.lower() for feature in target.features))
        print(f"{target.name:8} {target.smem_bytes // KIB:4} KiB shared memory/CTA   {features}")
    return OK
