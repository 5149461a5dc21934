"""What a program's hints ask for on a target. Hints never change what a kernel computes, only by which road."""

from __future__ import annotations

from collections.abc import Iterator

from egraph.saturate import Saturated
from ir.core import Op, UnsupportedError
from ir.dialects import cuda_tile as ct
from lowering.targets import Target

OBEYED = ("allow_tma",)
"""Hints that the compiler follows; the user is warned of all others."""


def ignored_hints(entry: ct.Entry, target: str) -> Iterator[UnsupportedError]:
    """The hints for `target` that the compiler does not follow, each at its operation; not raised.

    A cluster of one CTA is what every kernel is launched as.
    """
    for op in entry.walk():
        hints = op.attributes.get("hints")
        found = hints.for_target(target) if isinstance(hints, ct.OptimizationHints) else {}
        for key, value in found.items():
            if key not in OBEYED and (key, value) != ("num_cta_in_cga", 1):
                written = f"{key} = {ct.OptimizationHints.value_text(value)}"
                yield UnsupportedError(f"'{op.name}': optimization hint '{written}' has no effect yet", op.location)


def allows_tma(op: Op, target: Target) -> bool:
    """May the tensor memory accelerator carry this access? Yes, unless its hints say otherwise for the target."""
    hints = op.attributes.get("hints")
    return not isinstance(hints, ct.OptimizationHints) or hints.for_target(target.name).get("allow_tma") is not False


def loads_without_tma(saturated: Saturated, target: Target) -> frozenset[int]:
    """Value classes of loads that tensor copies may not bring; equal loads share a class, and one forbids for all."""
    program = saturated.program
    loads = [op for op in program.source.values() if isinstance(op, ct.LoadView) and not allows_tma(op, target)]
    return frozenset(saturated.frozen.class_of(program.number_of(op.results[0])) for op in loads)
