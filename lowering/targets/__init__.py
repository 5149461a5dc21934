"""SM tiers as records."""

from __future__ import annotations

import importlib
import pkgutil
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
    """A target that the compiler does not know, or that cannot do what was requested."""


def _found() -> dict[str, Target]:
    """The records of the files named after their tier beside this one, by capability."""
    names = [m.name for m in pkgutil.iter_modules(__path__) if m.name.startswith("sm")]
    records = (vars(importlib.import_module(f"{__name__}.{name}")).values() for name in names)
    found = {t.name: t for values in records for t in values if isinstance(t, Target)}
    return dict(sorted(found.items(), key=lambda item: (_capability(item[0]), item[0])))


def _capability(name: str) -> int:
    """80 of sm_80, 100 of sm_100a and sm_100f."""
    return int(name.removeprefix("sm_").rstrip("af"))


ALL_TARGETS: Mapping[str, Target] = MappingProxyType(_found())


def target(name: str) -> Target:
    """The tier of this name. Raises TargetError listing the known ones."""
    found = ALL_TARGETS.get(name)
    if found is None:
        raise TargetError(f"unknown target {name!r}", hint=f"choose one of {', '.join(ALL_TARGETS)}")
    return found
