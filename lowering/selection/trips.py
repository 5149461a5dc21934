"""Trip counts and speed of loops, and the latency that a ring must hide."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from egraph.saturate import Saturated
from egraph.skeleton import SkeletonLoop
from ir.core import Op
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile import TileOp
from ir.dialects.cuda_tile.attributes import ELEMENTWISE
from ir.records import dataclass
from ir.types import IntType
from lowering.affine import difference
from lowering.cost import UNKNOWN_TRIPS
from lowering.layouts.elements import element_bytes
from lowering.source.unrolling import constant_of
from lowering.targets import Target
from lowering.targets.target import WARP


def trip_counts(saturated: Saturated) -> dict[int, float]:
    """Iterations of every loop if its bounds are constants, otherwise an estimate."""
    items = [item for item in saturated.program.skeleton.walk() if isinstance(item, SkeletonLoop)]
    return {item.loop: known_trips(saturated, item) or estimated(item.op) for item in items}


def estimated(loop: Op) -> float:
    """Iterations of a loop with unknown bounds."""
    return float((isinstance(loop, ct.For) and loop.expected) or UNKNOWN_TRIPS)


def known_trips(saturated: Saturated, item: SkeletonLoop) -> float | None:
    """Iterations of a loop with constant upper bound and step, and a lower bound known to within a step, or that
    runs once; None for others.
    """
    frozen = saturated.frozen
    low, high = frozen.analysis.get("low", {}), frozen.analysis.get("high", {})
    classes = [frozen.class_of(k) for k in (item.lower, item.upper, item.step)]
    upper, step = (low[c] if c in low and low[c] == high.get(c) else None for c in classes[1:])
    lower, most = (bounds.get(classes[0]) for bounds in (low, high))
    if lower is not None and most is not None and upper is not None and step and most - lower < step:
        return float(max(1, -(-(upper - lower) // step)))
    return 1.0 if once(item.op) else None


def once(loop: Op) -> bool:
    """Is the upper bound a step or less above the lower one?"""
    if not isinstance(loop, ct.For):
        return False
    low, high, step = loop.lower_bound, loop.upper_bound, loop.step
    width = cast(IntType, ct.tile_type(low).element).width
    return 0 < (difference(low, high, 1 << width, constant_of) or 0) <= (constant_of(step) or 0)


PRODUCTS = (ct.MmaF, ct.MmaI, ct.MmaFScaled)


def size(op: Op) -> int:
    """Elements of an operation's first result."""
    return ct.tile_type(op.results[0]).size


@dataclass(frozen=True)
class Trips:
    """Iterations of each loop, and its enclosing loops, outermost first."""

    counts: Mapping[int, float]
    paths: Mapping[int, tuple[int, ...]]

    def product(self, deps: int) -> float:
        """Iterations of all loops in a dependence mask."""
        return math.prod(trips for loop, trips in self.counts.items() if deps >> loop & 1)

    def of(self, loop: int) -> float:
        """Iterations of a loop and its enclosing loops."""
        return self.product(sum(1 << each for each in self.paths[loop]))


MIN_GAIN = 1 / 50  # of the time of loops: if they wait less than this, further search is not worthwhile


class Pace:
    """Minimum cycles of an iteration of a loop: those of its products, or of loading its tiles."""

    def __init__(self, saturated: Saturated, target: Target):
        self.target = target
        self.loops = {
            item.loop: item.op for item in saturated.program.skeleton.walk() if isinstance(item, SkeletonLoop)
        }
        self.cycles = {loop: self.least(op) for loop, op in self.loops.items()}

    def least(self, loop: Op) -> float:
        """A lower bound for one iteration, each inner loop counted once."""
        products = loads = 0.0
        for op in loop.walk():
            if isinstance(op, PRODUCTS):
                products += self.product(op)
            elif isinstance(op, ct.LoadView):
                loads += size(op) * element_bytes(ct.tile_type(op.results[0]).element)
        return max(products, loads / self.target.throughput.global_bytes)

    def product(self, op: ct.MmaF | ct.MmaI | ct.MmaFScaled) -> float:
        """Cycles of the tensor cores for a product."""
        left, rates = ct.tile_type(op.lhs), self.target.throughput
        rate = rates.tensor.get(str(left.element), 2 * rates.fma_f32)
        return 2.0 * size(op) * left.shape[-1] / rate

    def apart(self, trips: Trips, warps: int, ctas: int = 1) -> float:
        """Cycles of all iterations of all loops in which products and the instructions between them do not overlap."""
        return sum(trips.of(loop) * self.exposed(op, warps, ctas) for loop, op in self.loops.items())

    def exposed(self, loop: Op, warps: int, ctas: int = 1) -> float:
        """Cycles of an iteration in which dependent products and the instructions between them do not overlap: the
        smaller of the two, divided by the warps that share a scheduler, including those of other CTAs.
        """
        body = loop.regions[0].block.ops
        products = [op for op in body if isinstance(op, PRODUCTS)]
        if len(products) < 2:
            return 0.0
        between = sum(size(op) for op in body if isinstance(op, TileOp) and op.placement is ELEMENTWISE)
        rates = self.target.throughput
        return min(sum(map(self.product, products)), between / (rates.issue * WARP)) * rates.issue / (warps * ctas)

    def wait(self, loop: int, stages: int, ctas: int = 1) -> float:
        """Cycles an iteration that an SM waits for memory if copies start `stages` - 1 iterations ahead.

        The time of a copy is assumed to be exponentially distributed around the latency of global memory, an estimate:
        each further stage then saves less than the previous one, but always something. With `ctas` CTAs sharing the SM,
        each takes that many times longer for an iteration, and waits while the others compute.
        """
        latency = float(self.target.latency.global_)
        return latency * math.exp(-(stages - 1) * ctas * self.cycles[loop] / latency) / ctas

    def waits(self, trips: Mapping[int, float], stages: int) -> bool:
        """Do loops with these iterations wait for memory, although they have rings of `stages`?"""
        late = sum(count * self.wait(loop, stages) for loop, count in trips.items())
        return late > MIN_GAIN * sum(count * self.cycles[loop] for loop, count in trips.items())
