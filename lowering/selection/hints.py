"""What a program's hints forbid on a target. Hints never change what a kernel computes, only by which road."""

from __future__ import annotations

from egraph.saturate import Saturated
from ir.core import Op
from ir.dialects import cuda_tile as ct
from lowering.targets import Target


def allows_tma(op: Op, target: Target) -> bool:
    """May the tensor memory accelerator carry this access? Yes, unless its hints say otherwise for the target."""
    hints = op.attributes.get("hints")
    return not isinstance(hints, ct.OptimizationHints) or hints.for_target(target.name).get("allow_tma") is not False


def loads_without_tma(saturated: Saturated, target: Target) -> frozenset[int]:
    """Value classes of loads that tensor copies may not bring; equal loads share a class, and one forbids for all."""
    program = saturated.program
    loads = [op for op in program.source.values() if isinstance(op, ct.LoadView) and not allows_tma(op, target)]
    return frozenset(saturated.frozen.class_of(program.number_of(op.results[0])) for op in loads)
