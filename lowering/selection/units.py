"""The time of a program if the units of an SM overlap in its innermost loops, and a lower bound for it.

A loop takes as long as its busiest unit, plus latency that no unit accounts for (`Cost.latency`), but extraction
minimises sums. Weights on the units of each loop that add up to 1 make a sum that is never more than that maximum:
extraction finds the least of the sum and proves it, which bounds what any program takes (Lagrangian relaxation: M. L.
Fisher, "The Lagrangian Relaxation Method for Solving Integer Programming Problems", Management Science 27, 1981). The
weights start on the unit that limits the chosen program; if the program with the smallest sum is limited by another
unit, that unit gets a share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from egraph.skeleton import SkeletonLoop
from extract import extract
from extract.graph import Graph
from ir.records import dataclass
from lowering.cost import units_of
from lowering.loops import paths
from lowering.selection.choices import Selection

ROUNDS = 2  # of weights, if the first leaves more than `CLOSE` between bound and program
CLOSE = 0.01
SPREAD = 0.01  # share of the weights spread over all units, because the minimum of one unit ignores the others
BUDGET = 1000.0  # units of work of a round: a GEMM takes 20 to 60, attention 120 to 560
EFFORT = 0.4  # of a search for a separate program (`lowering.selection.search`)

Weights = dict[int, dict[str, float]]
"""Of the units of each loop; those of a loop add up to 1."""


@dataclass(frozen=True)
class UnitTime:
    """Cycles of a CTA for all iterations of each innermost loop, by unit; the cost of everything else, and of waits."""

    loops: Mapping[int, Mapping[str, float]]
    rest: float

    @property
    def cycles(self) -> float:
        """Cycles if the units of a loop overlap."""
        return self.rest + sum(max(taken.values()) for taken in self.loops.values())

    def busiest(self) -> dict[int, str]:
        """The unit that limits each loop."""
        return {loop: max(taken, key=lambda unit: taken[unit]) for loop, taken in self.loops.items()}


@dataclass(frozen=True)
class Least:
    """The time of the chosen program, a lower bound for all programs, and the best one found on the way."""

    time: UnitTime
    bound: float
    best: UnitTime

    @property
    def gap(self) -> float:
        """The relative gap between the chosen program's time and the bound."""
        return (self.time.cycles - self.bound) / self.time.cycles if self.time.cycles else 0.0


class Units:
    """An extraction problem by its nodes' use of each unit."""

    def __init__(self, selection: Selection) -> None:
        self.selection, self.graph = selection, selection.by_tables
        around = paths(selection.saturated.program.skeleton)
        inner = {path[-2] for path in around.values() if len(path) > 1}
        loops = [item.loop for item in selection.saturated.program.skeleton.walk() if isinstance(item, SkeletonLoop)]
        self.loops = {loop: place for place, loop in enumerate(loop for loop in loops if loop not in inner)}
        self.units: dict[str, int] = {}
        nodes, places, units, cycles = list[int](), list[int](), list[int](), list[float]()
        self.rest = self.graph.cost.copy()
        for node, loop in selection.within.items():
            if loop in self.loops:
                trips, cost = selection.priced[node]
                if self.rest[node] < np.inf:
                    self.rest[node] = trips * cost.latency
                for unit, taken in units_of(cost, selection.target).items():
                    nodes.append(node)
                    places.append(self.loops[loop])
                    units.append(self.units.setdefault(unit, len(self.units)))
                    cycles.append(trips * taken)
        self.nodes, self.places, self.of_unit = np.array(nodes, int), np.array(places, int), np.array(units, int)
        self.cycles = np.array(cycles, float)

    def time(self, nodes: Iterable[int]) -> UnitTime:
        """Of a choice of nodes."""
        chosen = np.zeros(self.graph.n_nodes, bool)
        chosen[list(nodes)] = True
        table = self.table(self.cycles * chosen[self.nodes])
        loops = {
            loop: {unit: float(table[place, number]) for unit, number in self.units.items() if table[place, number]}
            for loop, place in self.loops.items()
            if table[place].any()
        }
        return UnitTime(loops, float(self.rest[chosen].sum()))

    def table(self, cycles: NDArray[np.float64]) -> NDArray[np.float64]:
        """[loops, units] sums."""
        found = np.zeros((len(self.loops), len(self.units)))
        np.add.at(found, (self.places, self.of_unit), cycles)
        return found

    def weighted(self, weights: Weights) -> Graph:
        """The problem whose costs are the weighted cycles of the units."""
        table = np.full((len(self.loops), len(self.units)), SPREAD / max(1, len(self.units)))
        for loop, of_units in weights.items():
            for unit, weight in of_units.items():
                table[self.loops[loop], self.units[unit]] += (1 - SPREAD) * weight
        cost = self.rest.copy()
        np.add.at(cost, self.nodes, table[self.places, self.of_unit] * self.cycles)
        return self.graph.with_cost(cost)


def on_busiest(time: UnitTime) -> Weights:
    """All of the weight of each loop on the unit that limits it."""
    return {loop: {unit: 1.0} for loop, unit in time.busiest().items()}


def shared(weights: Weights, time: UnitTime, round: int) -> Weights:
    """The weights with a share for the units that limit another program, in the `round`th round after the first."""
    found = {loop: dict(of_units) for loop, of_units in weights.items()}
    for loop, unit in time.busiest().items():
        of_units = found.setdefault(loop, {unit: 1.0})
        for each in of_units:
            of_units[each] *= round / (round + 1)
        of_units[unit] = of_units.get(unit, 0.0) + 1 / (round + 1)
    return found


def least_time(selection: Selection) -> Least:
    """The time of a choice, and a lower bound for all programs of its problem."""
    units, chosen = Units(selection), selection.answer
    time = best = units.time(chosen.chosen.values())
    if not time.loops:
        return Least(time, chosen.bound, time)
    weights, bound = on_busiest(time), 0.0
    for round in range(1, ROUNDS + 1):
        graph = units.weighted(weights)
        found = extract(graph, "auto", start=chosen, branch=selection.branch, budget=BUDGET, effort=EFFORT)
        bound, other = max(bound, found.bound), units.time(found.chosen.values())
        best = min(best, other, key=lambda each: each.cycles)
        if best.cycles - bound <= CLOSE * best.cycles:
            break
        weights = shared(weights, other, round)
    return Least(time, min(bound, best.cycles), best)
