"""What a program's hints request on a target. Hints never change what a kernel computes, only how."""

from __future__ import annotations

from collections.abc import Iterator

from egraph.saturate import Saturated
from ir.core import Op, UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileaa
from ir.dialects.cuda_tile.attributes import HintValue
from ir.types import PartitionViewType
from lowering.clusters import Refusal, planned
from lowering.targets import Feature, Target
from lowering.targets.target import PORTABLE

COORDINATES = (1 << 31) - 1
"""The last element that a tensor copy reaches along a dimension. Source: PTX ISA, cp.async.bulk.tensor, i32."""
OBEYED = ("allow_tma", "num_cta_in_cga", "occupancy", "num_worker_warps_per_cta")
"""Hints that the compiler follows; all others give a warning."""
WARPS, OFFERED = "num_worker_warps_per_cta", (4, 8, 16)
"""Numbers of consumer warps that can be requested: whole warpgroups."""
CTAS, OCCUPANCY = "num_cta_in_cga", "occupancy"


def ignored_hints(
    entry: ct.Entry, target: Target, minctas: int | None = None, cluster: int | None = None, lacking: int = 0
) -> Iterator[UnsupportedError]:
    """The hints for `target` that the compiler does not follow, or that make a thread spill, each at its operation; not
    raised.

    minctas: minimum CTAs an SM of the kernel's code; cluster: CTAs of its clusters; if known; lacking: registers that a
    thread lacks with `minctas` CTAs.
    """
    for op in entry.walk():
        hints = op.attributes.get("hints")
        found = hints.for_target(target.name) if isinstance(hints, ct.OptimizationHints) else {}
        for key, value in found.items():
            followed = key in OBEYED and (key != WARPS or value in OFFERED)
            written = f"'{op.name}': optimization hint '{key} = {ct.OptimizationHints.value_text(value)}'"
            if not followed:
                yield UnsupportedError(f"{written} has no effect yet", op.location)
            elif key == CTAS and cluster is not None and value != cluster:
                yield UnsupportedError(f"{written} {unclustered(entry, value, target)}", op.location)
            elif key == OCCUPANCY and isinstance(value, int) and value > 1:
                said = crowded(value, minctas, lacking)
                if said:
                    yield UnsupportedError(f"{written} {said}", op.location)


def crowded(asked: int, minctas: int | None, lacking: int) -> str:
    """The problem with this number of CTAs an SM, for a message; "" if there is none."""
    if minctas is not None and minctas < asked:
        return f"is only partly honoured: threads and registers of {minctas} CTA{'s' * (minctas != 1)} fit an SM"
    return f"leaves a thread about {lacking} registers short: some are spilled" if lacking else ""


def as_asked(entry: ct.Entry | nv_tileaa.Func, target: Target) -> Target:
    """The target as requested by an entry's hints: the share of an SM that `occupancy` leaves, consumer warps."""
    hints = entry.hints.for_target(target.name) if entry.hints is not None else {}
    ctas, warps = hints.get("occupancy"), hints.get(WARPS)
    if isinstance(ctas, int) and ctas > 0:
        target = target.shared_by(ctas)
    return target.asked(int(warps) if warps in OFFERED else target.asked_warps, clustered(hints.get(CTAS, 1), target))


def clustered(asked: HintValue, target: Target) -> int:
    """CTAs of a cluster for the number that a hint requests, as far as the target supports it."""
    whole = isinstance(asked, int) and asked > 0 and asked & (asked - 1) == 0
    return min(int(asked), PORTABLE) if whole and target.has(Feature.CLUSTER) else 1


def allows_tma(op: Op, target: Target) -> bool:
    """May the tensor memory accelerator carry this access? Yes, unless its hints say otherwise for the target, or the
    array is known to have more elements along a dimension than its coordinates reach.
    """
    hints = op.attributes.get("hints")
    arrays = (v.type.view for v in op.operands if isinstance(v.type, PartitionViewType))
    if any(size is not None and size > COORDINATES for array in arrays for size in array.shape):
        return False
    return not isinstance(hints, ct.OptimizationHints) or hints.for_target(target.name).get("allow_tma") is not False


def loads_without_tma(saturated: Saturated, target: Target) -> frozenset[int]:
    """Value classes of loads that must not use tensor copies; equal loads share a class, and one hint forbids it
    for all.
    """
    program = saturated.program
    loads = [op for op in program.source.values() if isinstance(op, ct.LoadView) and not allows_tma(op, target)]
    return frozenset(saturated.frozen.class_of(program.number_of(op.results[0])) for op in loads)


def unclustered(entry: ct.Entry, asked: HintValue, target: Target) -> str:
    """The effect of a hint that requests a different number of CTAs of a cluster, and why."""
    ctas = clustered(asked, target)
    if not target.has(Feature.CLUSTER):
        return f"has no effect: {target.name} has no clusters"
    made: ct.Entry | Refusal | None = planned(entry, ctas) if ctas > 1 else None
    if isinstance(made, Refusal):
        return "has no effect: " + made.message(ctas, f" at {made.op.location}")
    if made is None:
        return "has no effect: a cluster has a power of two of CTAs"
    if isinstance(asked, int) and asked <= PORTABLE:
        return (
            "has no effect: the kernel was compiled for another number of CTAs, or processes its tile blocks one by one"
        )
    return f"is only partly honoured: clusters of {ctas} CTAs are the largest portable ones"
