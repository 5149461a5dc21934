"""Choice groups and resource rows around a bottom-up pass that supports neither.

A group is satisfied by forbidding the nodes of its other alternatives: if there are few assignments, all are tried,
otherwise coordinate descent finds one. A resource row is satisfied by raising the price of the resource until the
choice fits; then local search recovers what the price overcharged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Final, NamedTuple

from extract.answer import slack
from extract.graph import Graph
from extract.local import Constraints, improve
from extract.settle import INFINITY, Settled, settle_dag, settle_tree, weights
from extract.topology import Topology

Settle = Callable[[Topology, list[float]], Settled]
Assignment = dict[int, int]

MAX_ASSIGNMENTS: Final = 16
"""Up to this many group assignments are all tried. Measured on 15 generated layout graphs with 16 to 64 assignments:
descent from a good start was better 7 times (by up to 4.5 %), worse 4 times (by up to 1.8 %), in half the time."""

MAX_DESCENT_RUNS: Final = 256
"""Passes that coordinate descent may spend."""
SHALLOW: Final = 6
"""Assignments, best first, that get the switch moves of the local search; these cost about as much as a pass."""

DEEP: Final = 2
"""Of these, how many get all moves, which cost some ten passes."""

PRICES: Final = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1e4)
"""Prices of a limit's worth of resource tried in turn, in costs of the unconstrained answer."""

BISECTIONS: Final = 4
"""Refinements between no price and the first that fitted."""


class Candidate(NamedTuple):
    """A complete choice: cost with sharing, and how far it exceeds the limits (0: fits)."""

    choice: list[int]
    cost: float
    excess: float
    assignment: Assignment
    price: float
    """Of a limit's worth of resource, when the choice was made; 0 when the limits did not bind."""


class ConstrainedSearch:
    """Runs one bottom-up pass under group assignments and resource prices, and keeps the best choice that fits."""

    def __init__(self, graph: Graph, settle: Settle = settle_dag, *, polish: bool = True) -> None:
        self.graph = graph
        self.settle = settle
        self.polish = polish
        self.topology = graph.topology
        self.cost = graph.columns.cost.copy()
        self.rows, self.limits = graph.columns.resource, graph.columns.limit
        for use, limit in zip(self.rows, self.limits, strict=True):
            for node in self.topology.nodes:
                if use[node] > limit:
                    self.cost[node] = INFINITY  # no answer that fits holds it
        self.price = 0.0
        self.steps = 0  # nodes that passes have looked at
        self.bound = -INFINITY  # known from elsewhere: choices that meet it need no improvement
        self.constraints = Constraints(self.rows, self.limits)
        self.groups = {g: options for g, options in graph.groups.items() if len(options) > 1}
        self.members = self._members()

    @property
    def descends(self) -> bool:
        """Whether there are too many assignments of the groups to try all."""
        return math.prod(len(options) for options in self.groups.values()) > MAX_ASSIGNMENTS

    def run(self, *, quick: bool = False) -> Candidate | None:
        """The best choice found, or None when none met the constraints (which proves nothing). quick: without descent
        over groups, and with the switch moves of the local search alone.
        """
        if not self.groups:
            found = [self.attempt({})]
        elif not self.descends:
            found = [
                self.attempt(dict(zip(self.groups, combination, strict=True)))
                for combination in product(*self.groups.values())
            ]
        else:
            found = self._descend(rounds=not quick)
        fitting = sorted((c for c in found if c is not None and not c.excess), key=lambda c: c.cost)
        if not fitting:
            return None
        if self.polish and len(fitting) > 1 and not quick:
            fitting = sorted((self._polished(c, deep=False) for c in fitting[:SHALLOW]), key=lambda c: c.cost)
        if self.polish and not quick:
            fitting = [self._polished(self._repriced(c), deep=True) for c in fitting[:DEEP]]
        elif self.polish:
            fitting = [self._polished(c, deep=False) for c in fitting[:DEEP]]
        return min(fitting, key=lambda c: c.cost)

    def attempt(self, assignment: Assignment, below: float = INFINITY) -> Candidate | None:
        """One pass under an assignment, at the price that other assignments needed, and dearer until it fits.

        None when a root cannot be built; a candidate with excess when no price made it fit, or when it is not below a
        known cost even as it is: to make it fit, up to nine passes, would make it dearer still.
        """
        cost = self.masked(assignment)
        weight = weights(cost)
        candidate = self._pass(weight, cost, assignment, self.price)
        if candidate is None or not candidate.excess or candidate.cost >= below:
            return candidate
        scale = max(abs(candidate.cost), 1e-12)  # a cost of 0 leaves the use alone to decide
        for price in (step * scale for step in PRICES):
            if price > self.price:
                found = self._pass(weight, cost, assignment, price)
                if found is not None and not found.excess:
                    self.price = price
                    return found
        free = [0.0 if value < INFINITY else value for value in weight]
        least = self._pass(free, cost, assignment, scale)
        return candidate if least is None or least.excess else least

    def assignment_of(self, nodes: list[int]) -> Assignment:
        """The alternatives that nodes carry."""
        group, alternative = self.graph.columns.group, self.graph.columns.alternative
        return {group[node]: alternative[node] for node in nodes if group[node] in self.groups}

    def splits_group(self, choice: list[int]) -> bool:
        """Whether a choice carries two alternatives of one group."""
        carried: dict[int, int] = {}
        group, alternative = self.graph.columns.group, self.graph.columns.alternative
        return any(
            carried.setdefault(group[node], alternative[node]) != alternative[node]
            for node in reachable_nodes(self.topology, choice)
            if group[node] >= 0
        )

    def masked(self, assignment: Assignment) -> list[float]:
        """Costs with inf at the nodes that the assignment rules out."""
        cost = self.cost.copy()
        for g, option in assignment.items():
            for other, nodes in self.members[g].items():
                if other != option:
                    for node in nodes:
                        cost[node] = INFINITY
        return cost

    def _members(self) -> dict[int, dict[int, list[int]]]:
        members: dict[int, dict[int, list[int]]] = {g: {a: [] for a in options} for g, options in self.groups.items()}
        if members:
            group, alternative = self.graph.columns.group, self.graph.columns.alternative
            for node in self.topology.nodes:
                if group[node] in members:
                    members[group[node]].setdefault(alternative[node], []).append(node)
        return members

    def _pass(self, weight: list[float], cost: list[float], assignment: Assignment, price: float) -> Candidate | None:
        self.steps += len(self.topology.nodes)
        settled = self.settle(self.topology, self._with_price(weight, price))
        if not settled.builds(self.topology.roots):
            return None
        return self.judge(settled.choice, cost, assignment, price)

    def judge(self, choice: list[int], cost: list[float], assignment: Assignment, price: float = 0.0) -> Candidate:
        """Price a complete choice and measure it against the limits."""
        nodes = reachable_nodes(self.topology, choice)
        excess = sum(
            max(0.0, math.fsum(use[node] for node in nodes) - limit - slack(limit)) / (limit or 1.0)
            for use, limit in zip(self.rows, self.limits, strict=True)
        )
        return Candidate(choice, math.fsum(cost[node] for node in nodes), excess, assignment, price)

    def _repriced(self, candidate: Candidate) -> Candidate:
        """Win back what too high a price cost: bisect for the least price at which a locally best choice fits."""
        best, low, high = candidate, 0.0, candidate.price
        cost = self.masked(candidate.assignment)
        weight = weights(cost)
        for _ in range(BISECTIONS if high else 0):
            price = (low + high) / 2
            found = self._pass(weight, cost, candidate.assignment, price)
            if found is not None:
                priced = self._with_price(cost, price)
                choice = improve(self.topology, priced, found.choice, Constraints([], []))
                found = self.judge(choice, cost, candidate.assignment, price)
            if found is None or found.excess:
                low = price
            else:
                high = price
                best = min(best, self._polished(found, deep=False), key=lambda c: c.cost)
        return best

    def _with_price(self, weight: list[float], price: float) -> list[float]:
        """Weights with the price of all rows added. price: cost of a limit's worth of resource."""
        if not price:
            return weight
        priced = weight.copy()
        for use, limit in zip(self.rows, self.limits, strict=True):
            if limit and limit < INFINITY:  # a limit of 0 has forbidden every user already
                for node in self.topology.nodes:
                    if use[node]:
                        priced[node] += price * use[node] / limit
        return priced

    def _polished(self, candidate: Candidate, *, deep: bool) -> Candidate:
        cost = self.masked(candidate.assignment)
        choice = improve(self.topology, cost, candidate.choice, self.constraints, deep=deep, bound=self.bound)
        found = self.judge(choice, cost, candidate.assignment)
        return found if not found.excess and found.cost < candidate.cost else candidate

    def _descend(self, *, rounds: bool) -> list[Candidate | None]:
        """A first assignment that builds the roots, and with `rounds` coordinate descent over the groups from there."""
        start = self._first_assignment()
        if start is None:
            return []
        current = self.attempt(start)
        found = [current]
        runs, moved = 0, rounds
        while moved and runs < MAX_DESCENT_RUNS:
            moved = False
            for g, options in self.groups.items():
                for option in options:
                    if current is None or option == current.assignment[g]:
                        continue
                    runs += 1
                    known = INFINITY if current.excess else current.cost
                    tried = self.attempt({**current.assignment, g: option}, known)
                    if tried is not None and (tried.excess, tried.cost) < (current.excess, current.cost):
                        current, moved = tried, True
                        found.append(tried)
        return found

    def _first_assignment(self) -> Assignment | None:
        """Depth first, group by group, towards what an unconstrained answer carries; settling refutes dead ends."""
        favoured = self._favoured()
        order = [
            (g, sorted(options, key=lambda a, g=g: (-favoured.get((g, a), 0), a))) for g, options in self.groups.items()
        ]
        runs = 0

        def extend(partial: Assignment) -> Assignment | None:
            nonlocal runs
            if len(partial) == len(order):
                return partial
            g, options = order[len(partial)]
            for option in options:
                runs += 1
                if runs > MAX_DESCENT_RUNS:
                    return None
                longer = {**partial, g: option}
                if settle_tree(self.topology, weights(self.masked(longer))).builds(self.topology.roots):
                    whole = extend(longer)
                    if whole is not None:
                        return whole
            return None

        return extend({})

    def _favoured(self) -> dict[tuple[int, int], int]:
        settled = self.settle(self.topology, weights(self.cost))
        counts: dict[tuple[int, int], int] = {}
        for node in reachable_nodes(self.topology, settled.choice):
            key = (self.graph.columns.group[node], self.graph.columns.alternative[node])
            counts[key] = counts.get(key, 0) + 1
        return counts


def reachable_nodes(topology: Topology, choice: list[int]) -> list[int]:
    """Chosen nodes of the classes that the roots need."""
    children = topology.children
    seen = set(topology.roots)
    order = list(topology.roots)
    for cls in order:  # grows while it is walked
        for child in children[choice[cls]]:
            if child not in seen:
                seen.add(child)
                order.append(child)
    return [choice[cls] for cls in order]
