"""Stores through shared memory in parts: a smaller buffer, which leaves room for stages, at one more wait each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from ir.types import PartitionViewType
from lowering.atoms.tma import PARTS
from lowering.cost import Cost
from lowering.layouts.boxes import boxes
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout
from lowering.layouts.staged import by_parts, in_parts
from lowering.placement.copied import contiguous_dim
from lowering.selection.pricer import NodeCost, Pricer
from lowering.targets import Feature

COUNTS = (2, 4)  # numbers of parts offered
Way = tuple[int, SharedLayout, NodeCost]
"""Parts, their common layout, the cost of the store."""


def ways(
    pricer: Pricer, view: PartitionViewType, layout: Layout, shared: SharedLayout, whole: NodeCost, looped: bool
) -> Iterator[Way]:
    """A store as a whole and, in a loop, where its buffer takes memory from rings, in parts. Only if the sums are in
    tensor memory: other cases were not tried.
    """
    yield 1, shared, whole
    contiguous = contiguous_dim(view)
    plan = None if contiguous is None else boxes(view.tile, contiguous, shared)
    offered = looped and pricer.target.has(Feature.TCGEN05) and not pricer.forbidden(PARTS)
    if plan is None or contiguous is None or not offered:
        return
    other = by_parts(layout, shared, prod(plan.box))
    if boxes(view.tile, contiguous, other) is None:
        return
    latency = pricer.target.latency
    for count in COUNTS:
        if len(plan.places) % count == 0 and in_parts(layout, other, count) is not None:  # a part is whole boxes
            waits = 2 * (count - 1) * float(latency.shared + latency.barrier)
            yield count, other, replace(whole, cost=whole.cost + Cost(latency=waits), scratch=whole.scratch // count)
