"""The predicted time of a chosen program: its loops by code order, everything else by the cost tables.

A loop takes as long as its busiest unit, or as the dependent waits of one warp of a scheduler in code order, shared
among the other warps of the CTA and other CTAs of the SM: `tilesat.mca` does the same for assembled code. All of it is
predicted from the tables of the target.
"""

from __future__ import annotations

import math

from ir.records import dataclass
from lowering.loops import paths
from lowering.modulo.bounds import bounds
from lowering.modulo.graph import Graph
from lowering.modulo.in_order import early, interval
from lowering.modulo.loops import Loop, loops
from lowering.selection import Selection
from lowering.selection.trips import Pace, Trips, trip_counts
from lowering.targets import Feature

SOONER = 0.97  # of the time: latency tables are estimates, so closer results are decided otherwise


@dataclass(frozen=True)
class LoopTime:
    """Of one innermost loop: iterations; of each the cycles of the busiest `unit`, and of a warp with the SM to itself,
    divided by the warps that share it.
    """

    trips: float
    busy: float
    unit: str
    waiting: float

    @property
    def cycles(self) -> float:
        """Of all iterations."""
        return self.trips * max(self.busy, self.waiting)

    @property
    def exposed(self) -> float:
        """Those in which no unit is busy all the time, since warps wait: more warps could hide them."""
        return self.trips * max(0.0, self.waiting - self.busy)


@dataclass(frozen=True)
class Time:
    """Cycles of one CTA: of its innermost loops, and what is around them at its cost."""

    loops: tuple[LoopTime, ...]
    rest: float

    @property
    def cycles(self) -> float:
        """Of all of it."""
        return self.rest + sum(each.cycles for each in self.loops)

    @property
    def exposed(self) -> float:
        """Those of its loops in which warps wait."""
        return sum(each.exposed for each in self.loops)


def turns_of(selection: Selection) -> float:
    """Warps that take turns on a scheduler."""
    return max(1.0, selection.warps / selection.target.throughput.issue)


def loop_time(selection: Selection, loop: Loop, trips: float, ctas: int | None = None) -> LoopTime:
    """The time of one loop, whose graph is for one of `turns_of`, where `ctas` share an SM: as many as were chosen,
    where it is not given.
    """
    target, graph = selection.target, loop.graph
    limits = bounds(Graph(graph.operations, ()))
    ahead = early(graph) if loop.item.loop in selection.early else frozenset[int]()
    alone = selection.apart.get(loop.item.loop)
    waiting = alone or interval(graph, float(target.latency.mma), ahead, target.has(Feature.WGMMA))
    waiting /= selection.ctas if ctas is None else ctas
    return LoopTime(trips, limits.resource * turns_of(selection), limits.unit, waiting)


def predicted(selection: Selection, ctas: int | None = None) -> Time:
    """The time of a decoded choice, where `ctas` share an SM: as many as were chosen, where it is not given."""
    around = paths(selection.saturated.program.skeleton)
    trips = Trips(trip_counts(selection.saturated), around)
    found: list[LoopTime] = []
    pace, most = Pace(selection.saturated, selection.target), max(selection.oracle.warps)
    counted = pace.apart(trips, selection.warps) - pace.apart(trips, most)
    for loop in loops(selection, turns=turns_of(selection)):
        count = trips.of(loop.item.loop)
        found.append(loop_time(selection, loop, count, ctas))
        counted += count * loop.cost
    whole = math.fsum(map(selection.by_tables.columns.cost.__getitem__, selection.answer.chosen.values()))
    return Time(tuple(found), max(0.0, whole - counted))
