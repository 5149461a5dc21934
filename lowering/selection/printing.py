"""Alternatives for printing: by a thread of the consumer warps, all of which hold the numbers."""

from __future__ import annotations

from collections.abc import Callable

from egraph.skeleton import SkeletonEffect
from lowering.cost import Cost
from lowering.placement import LayoutOracle
from lowering.placement.printing import copies
from lowering.selection.choices import Alternative, StoreChoice

CALL = 1000.0
"""Cycles of a call of vprintf; a guess, the same for every way to print."""


def ways(
    item: SkeletonEffect, oracle: LayoutOracle, at: Callable[[int, int], int | None], trips: float
) -> list[Alternative]:
    """One alternative for each number of warps; scalars are the same in all. `at`: the class of a value in a layout."""
    found: dict[tuple[int, ...], Alternative] = {}
    for warps in oracle.warps:
        places = copies(item, oracle, warps)
        children = [at(number, layout) for number, layout in places]
        if None not in children:
            layouts = tuple(layout for _, layout in places)
            placed = [child for child in children if child is not None]
            choice = StoreChoice(item.item, max(layouts, default=0), warps)
            found.setdefault(layouts, Alternative(placed, Cost(latency=CALL), trips, choice))
    return list(found.values())
