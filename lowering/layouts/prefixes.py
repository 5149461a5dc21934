"""Prefixes along one dimension of a layout: one doubling step for each bit of the coordinate.

After step k every element knows the prefix within its aligned block of 2^(k+1) elements, and the block's total. A step
takes the total of the sibling block from another register, lane or warp: the one whose number differs in one bit.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from ir.records import dataclass
from lowering.layouts.layout import Layout
from lowering.layouts.shapes import Shape, dim_bits


class Part(enum.Enum):
    """Where the sibling block's total is."""

    REGISTER = "reg"
    LANE = "lane"
    WARP = "warp"


class Step(NamedTuple):
    """The sibling is in the `part` whose number differs in `bit`; `element` is that bit of the element's index."""

    part: Part
    bit: int
    element: int


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The steps in order, and how many different totals a thread has at its first cross-warp step."""

    steps: tuple[Step, ...]
    slots: int
    threads: int

    def scratch_bytes(self, sizes: Iterable[int]) -> int:
        """Shared memory that warps exchange totals through, of tiles whose elements have these sizes."""
        return self.slots * self.threads * sum(sizes)


@cache
def prefix_dim(shape: Shape, dim: int, layout: Layout) -> Prefixes | None:
    """Plan the prefixes along `dim`; None if a bit of the coordinate does not map to a single bit of the register, lane
    or warp number.
    """
    field = dim_bits(shape)[dim]
    parts = ((Part.REGISTER, layout.reg), (Part.LANE, layout.lane), (Part.WARP, layout.warp))
    steps: list[Step] = []
    totals, slots = layout.n_regs, 0
    for element in range(field.shift, field.shift + field.width):
        found = next(((part, bases.index(1 << element)) for part, bases in parts if 1 << element in bases), None)
        if found is None:
            return None
        steps.append(Step(*found, element))
        if found[0] is Part.REGISTER:
            totals //= 2
        elif found[0] is Part.WARP:
            slots = max(slots, totals)
    return Prefixes(tuple(steps), slots, 1 << len(layout.thread))
