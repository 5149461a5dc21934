"""Checks of optimization hints: architectures, keys by operation, values.

A wrong hint is not a program error: the public dialect silently ignores it, and warns or fails only on request (CUDA
Tile IR 13.4, optimization hints). So `verify` accepts hints, and these functions check them on request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ir.core import Op, VerifyError
from ir.dialects.cuda_tile.attributes import HintValue, OptimizationHints
from ir.dialects.cuda_tile.core import Entry
from ir.dialects.cuda_tile.memory import LoadPtr, LoadView, StorePtr, StoreView

DEFAULT = "default"
ARCHITECTURES = (
    DEFAULT, "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_100", "sm_103", "sm_107", "sm_110", "sm_120",
    "sm_121",
)  # fmt: skip
"""Keys of hints: those that cuda-tile 1.7.0 writes, and sm_107, which tileiras 13.4 also has."""
AMPERE = ("sm_80", "sm_86", "sm_87", "sm_88", "sm_89")
"""Architectures without clusters."""
ENTRY = ("num_cta_in_cga", "num_worker_warps_per_cta", "occupancy")
POINTER = ("latency",)
VIEW = ("allow_tma", "latency")
KEYS: dict[type[Op], tuple[str, ...]] = {
    Entry: ENTRY,
    LoadPtr: POINTER,
    StorePtr: POINTER,
    LoadView: VIEW,
    StoreView: VIEW,
}
LARGEST_CLUSTER, MOST_WARPS, MOST_BLOCKS, LONGEST_LATENCY = 16, 32, 32, 10
"""Limits of num_cta_in_cga, num_worker_warps_per_cta, occupancy and latency (CUDA Tile IR 13.4)."""


def hint_faults(root: Op) -> Iterator[VerifyError]:
    """The faults of the hints of `root` and everything below it, each at its operation."""
    for op in root.walk():
        keys = KEYS.get(type(op))
        hints = op.attributes.get("hints")
        if keys is not None and isinstance(hints, OptimizationHints):
            for fault in _faults(hints, keys):
                yield VerifyError(f"'{op.name}': {fault}", op.location)


def verify_hints(root: Op) -> None:
    """Raise the first of `hint_faults`."""
    for fault in hint_faults(root):
        raise fault


def _faults(hints: OptimizationHints, keys: tuple[str, ...]) -> Iterator[str]:
    for arch, pairs in hints.entries:
        if arch not in ARCHITECTURES:
            yield f"optimization hints: unknown architecture '{arch}', expected one of {', '.join(ARCHITECTURES)}"
            continue
        for key, value in pairs:
            if key not in keys:
                yield f"optimization hint '{key}' for {arch} is not one of {', '.join(keys)}"
            elif wanted := _wrong(key, value, arch):
                yield f"optimization hint '{key}' for {arch} must be {wanted}, is {OptimizationHints.value_text(value)}"


def _wrong(key: str, value: HintValue, arch: str) -> str:
    """What the value must be, empty if it is valid."""
    if key == "allow_tma":
        return "" if isinstance(value, bool) else "true or false"
    if isinstance(value, bool | str):
        return "an integer"
    if key == "num_cta_in_cga":
        return _one_alone(value, arch) or _power(value, LARGEST_CLUSTER)
    if key == "num_worker_warps_per_cta":
        return _power(value, MOST_WARPS)
    return _range(value, MOST_BLOCKS if key == "occupancy" else LONGEST_LATENCY)


def _one_alone(value: int, arch: str) -> Literal["", "1"]:
    return "1" if arch in AMPERE and value != 1 else ""


def _power(value: int, most: int) -> str:
    power = 0 < value <= most and value & (value - 1) == 0
    return "" if power else f"a power of two up to {most}"


def _range(value: int, most: int) -> str:
    return "" if 1 <= value <= most else f"1 to {most}"
