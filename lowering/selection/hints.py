"""What a program's hints ask for on a target. Hints never change what a kernel computes, only by which road."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from egraph.saturate import Saturated
from ir.core import Op, UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileaa
from lowering.targets import Target

OBEYED = ("allow_tma", "occupancy", "num_worker_warps_per_cta")
"""Hints that the compiler follows; the user is warned of all others."""
WARPS, OFFERED = "num_worker_warps_per_cta", (4, 8, 16)
"""Warps that a CTA may be asked to compute with: whole warpgroups."""


def ignored_hints(entry: ct.Entry, target: str, minctas: int | None = None) -> Iterator[UnsupportedError]:
    """The hints for `target` that the compiler does not follow, each at its operation; not raised.

    A cluster of one CTA is what every kernel is launched as. minctas: CTAs that the kernel's code lets an SM hold at
    least, where that is known.
    """
    for op in entry.walk():
        hints = op.attributes.get("hints")
        found = hints.for_target(target) if isinstance(hints, ct.OptimizationHints) else {}
        for key, value in found.items():
            followed = key in OBEYED and (key != WARPS or value in OFFERED)
            if not followed and (key, value) != ("num_cta_in_cga", 1):
                written = f"{key} = {ct.OptimizationHints.value_text(value)}"
                yield UnsupportedError(f"'{op.name}': optimization hint '{written}' has no effect yet", op.location)
            elif key == "occupancy" and minctas is not None and isinstance(value, int) and minctas < value:
                yield UnsupportedError(
                    f"'{op.name}': optimization hint 'occupancy = {value}' is obeyed in part: threads and registers of "
                    f"{minctas} CTAs fit an SM",
                    op.location,
                )


def as_asked(entry: ct.Entry | nv_tileaa.Func, target: Target) -> Target:
    """The target as an entry's hints want it: the share of an SM that `occupancy` leaves, warps that compute."""
    hints = entry.hints.for_target(target.name) if entry.hints is not None else {}
    ctas, warps = hints.get("occupancy"), hints.get(WARPS)
    if isinstance(ctas, int) and ctas > 0:
        target = target.shared_by(ctas)
    return replace(target, asked_warps=int(warps)) if warps in OFFERED else target


def allows_tma(op: Op, target: Target) -> bool:
    """May the tensor memory accelerator carry this access? Yes, unless its hints say otherwise for the target."""
    hints = op.attributes.get("hints")
    return not isinstance(hints, ct.OptimizationHints) or hints.for_target(target.name).get("allow_tma") is not False


def loads_without_tma(saturated: Saturated, target: Target) -> frozenset[int]:
    """Value classes of loads that tensor copies may not bring; equal loads share a class, and one forbids for all."""
    program = saturated.program
    loads = [op for op in program.source.values() if isinstance(op, ct.LoadView) and not allows_tma(op, target)]
    return frozenset(saturated.frozen.class_of(program.number_of(op.results[0])) for op in loads)
