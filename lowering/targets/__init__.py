"""SM tiers as records."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ir.core import TileError
from lowering.targets.sm80 import SM_80
from lowering.targets.sm86 import SM_86
from lowering.targets.sm89 import SM_89
from lowering.targets.sm90a import SM_90A
from lowering.targets.sm100a import SM_100A
from lowering.targets.sm103a import SM_103A
from lowering.targets.sm120a import SM_120A
from lowering.targets.target import Feature, Latency, Limit, Rate, Target, Throughput

__all__ = [
    "ALL_TARGETS", "SM_80", "SM_86", "SM_89", "SM_90A", "SM_100A", "SM_103A", "SM_120A", "Feature", "Latency", "Limit",
    "Rate", "Target", "TargetError", "Throughput", "target",
]  # fmt: skip


class TargetError(TileError):
    """A target that the compiler does not know, or that cannot run what was asked."""


ALL_TARGETS: Mapping[str, Target] = MappingProxyType(
    {t.name: t for t in (SM_80, SM_86, SM_89, SM_90A, SM_100A, SM_103A, SM_120A)}
)


def target(name: str) -> Target:
    """The tier of this name. Raises TargetError listing those there are."""
    found = ALL_TARGETS.get(name)
    if found is None:
        raise TargetError(f"unknown target {name!r}", hint=f"choose one of {', '.join(ALL_TARGETS)}")
    return found
