"""One extraction under way: the reduced graph, the best answer so far, the bound, the clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import perf_counter
from typing import Final

import numpy as np

from extract.answer import Answer, Moment, Report, check, make_answer, slack
from extract.constrained import Candidate, ConstrainedSearch, reachable_nodes
from extract.errors import CheckError, InfeasibleError
from extract.graph import Graph
from extract.infeasible import why_infeasible
from extract.local import improve
from extract.settle import INFINITY, settle_dag, weights
from extract.simplify import simplify
from extract.treewidth import solve_narrow

DEFAULT_TIME_LIMIT: Final = 60.0
"""Seconds."""

SOLVER_TOLERANCE: Final = 1e-6
"""HiGHS' default feasibility tolerance: as near as its bound comes to the cost of a solution it calls optimal."""

MAX_NARROW_NODES: Final = 500
"""Larger reduced graphs are not tried for small treewidth: none of extraction-gym had it, and to see that takes 15 us a
node."""

Listener = Callable[[Moment], None]
"""Called when the best answer or the bound changes, and some ten times a second while the solver runs."""


class Session:
    """Methods take their graph from here and hand answers and bounds back; costs are those of the reduced graph."""

    def __init__(
        self,
        graph: Graph,
        time_limit: float | None = None,
        *,
        start: Answer | None = None,
        listener: Listener | None = None,
    ) -> None:
        self.began = perf_counter()
        self.deadline = self.began + (DEFAULT_TIME_LIMIT if time_limit is None else time_limit)
        self.original = graph
        self.listener = listener
        self.trace: list[Moment] = []
        self.interrupted = False
        self.start: Answer | None = None
        self.best: list[int] | None = None
        self.cost = INFINITY
        try:
            self.simplified = simplify(graph)
            self.search = None if self.simplified.graph is None else ConstrainedSearch(self.simplified.graph)
            self.bound = 0.0 if self.search is None else self.search.bound
        except InfeasibleError as error:
            raise InfeasibleError(why_infeasible(graph)) from error
        self.seconds_simplifying = perf_counter() - self.began
        self.unit = _unit(self.simplified.graph)
        if self.search is None:
            self._take([], 0.0, "simplification")
        elif start is not None:
            self._take_start(start)

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - perf_counter()

    @property
    def answered(self) -> bool:
        """Whether there is an answer to return."""
        return self.best is not None or self.start is not None

    @property
    def optimal(self) -> bool:
        """Whether the bound meets the best cost."""
        return self.best is not None and self.cost - self.bound <= self.slack

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do, or no time to do it."""
        return self.optimal or self.interrupted or self.left <= 0

    @property
    def slack(self) -> float:
        """Rounding allowance around the cost of the whole answer."""
        return slack(self.simplified.base + self.cost)

    def narrow(self) -> None:
        """Dynamic programming where the reduced graph is small and of small treewidth: exact, unless cycles or limits
        bind."""
        graph = self.simplified.graph
        if graph is None or graph.n_nodes > MAX_NARROW_NODES or bool((graph.cost < 0).any()):
            return
        found = solve_narrow(graph)
        if found is None:
            return
        nodes, cost = found
        if cost == INFINITY:
            raise InfeasibleError(why_infeasible(self.original))
        self.raise_bound(cost, "treewidth")
        self.offer_near(nodes, "treewidth", exact=True)

    def greedy(self) -> None:
        """Greedy DAG with local search."""
        if self.search is not None and not self.optimal:
            found = self.search.run()
            if found is not None:
                self.offer(found, "greedy")

    def offer(self, found: Candidate, method: str) -> bool:
        """Take a complete choice that meets all constraints when it is the cheapest yet."""
        search = self._search()
        if found.excess or search.splits_group(found.choice) or found.cost >= self.cost:
            return False
        self._take(reachable_nodes(search.topology, found.choice), found.cost, method)
        return True

    def offer_near(self, selected: Iterable[int], method: str, *, exact: bool = False) -> bool:
        """Take the cheapest answer at or near selected nodes: they come free, others at their cost.

        exact: nothing but the selected nodes may be used.
        """
        search = self._search()
        nodes = list(selected)
        assignment = search.assignment_of(nodes)
        cost = search.masked(assignment)
        weight = [INFINITY] * len(cost) if exact else weights(cost)
        for node in nodes:
            if cost[node] < INFINITY:
                weight[node] = 0.0
        settled = settle_dag(search.topology, weight)
        if not settled.builds(search.topology.roots):
            return False
        taken = self.offer(search.judge(settled.choice, cost, assignment), method)
        choice = improve(search.topology, cost, settled.choice, search.constraints, bound=self.bound)
        return self.offer(search.judge(choice, cost, assignment), method) or taken

    def raise_bound(self, bound: float, method: str) -> None:
        """Take a lower bound; costs that are all multiples of a unit lift it to the next multiple."""
        if self.unit and math.isfinite(bound):
            bound = self.unit * math.ceil(bound / self.unit - SOLVER_TOLERANCE * max(1.0, abs(bound / self.unit)))
        if bound > self.bound:
            self.bound = min(bound, self.cost)
            self._note(method)

    def prove(self, method: str) -> None:
        """Nothing cheaper than the best exists."""
        self.raise_bound(self.cost, method)
        self.bound = self.cost

    def answer(self, method: str) -> Answer:
        """The best so far as an answer for the original graph. Raises InfeasibleError when there is none."""
        seconds = perf_counter() - self.began
        bound = self.simplified.base + self.bound
        if self.start is not None and self.start.cost < self.simplified.base + self.cost - self.slack:
            found = make_answer(self.original, self.start.chosen, bound, method, seconds)
        elif self.best is not None:
            found = self.simplified.answer(self.best, self.bound, method, seconds)
        else:
            raise InfeasibleError(why_infeasible(self.original))
        return found.with_report(self._report())

    def _report(self) -> Report:
        return Report(
            before=_sizes(self.original),
            after=_sizes(self.simplified.graph),
            steps=self.simplified.steps,
            simplifying=self.seconds_simplifying,
            trace=tuple(self.trace),
            interrupted=self.interrupted,
        )

    def _search(self) -> ConstrainedSearch:
        if self.search is None:
            raise InfeasibleError("everything is decided: there is nothing to search")
        return self.search

    def _take(self, nodes: list[int], cost: float, method: str) -> None:
        self.best = nodes
        self.cost = cost
        self._note(method)

    def _take_start(self, start: Answer) -> None:
        """Begin from an answer, which may have been made for other costs or limits."""
        with suppress(CheckError):  # where it does not fit as it is, an answer near it may
            found = make_answer(self.original, start.chosen, -INFINITY, start.method, 0.0)
            check(self.original, found)
            self.start = found
        chosen = set(start.chosen.values())
        origin = self.simplified.origin
        self.offer_near((node for node, parts in enumerate(origin) if chosen.issuperset(parts)), "start")

    def beat(self) -> None:
        """Tell the listener that the search is alive."""
        if self.listener is not None:
            self.listener(self._moment(self.trace[-1].method if self.trace else ""))

    def _note(self, method: str) -> None:
        self.trace.append(self._moment(method))
        self.beat()

    def _moment(self, method: str) -> Moment:
        base = self.simplified.base
        return Moment(perf_counter() - self.began, base + self.cost, base + self.bound, method)


def _unit(graph: Graph | None) -> float:
    """The greatest number that all costs are multiples of, when they are whole numbers, else 0."""
    if graph is None:
        return 0.0
    finite = graph.cost[np.isfinite(graph.cost)]
    if not len(finite) or bool((finite != np.rint(finite)).any()) or float(np.abs(finite).max()) > 2**52:
        return 0.0
    return float(np.gcd.reduce(finite.astype(np.int64)))


def _sizes(graph: Graph | None) -> dict[str, int]:
    """Of the part below the roots; of nothing for None."""
    if graph is None:
        return {"nodes": 0, "classes": 0, "children": 0, "groups": 0}
    topology = graph.topology
    return {
        "nodes": len(topology.nodes),
        "classes": len(topology.classes),
        "children": sum(len(topology.children[node]) for node in topology.nodes),
        "groups": len(graph.groups),
    }
