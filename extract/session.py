"""One extraction under way: the reduced graph, the best answer so far, the bound, the budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

from extract.answer import SOLVER_TOLERANCE, Answer, Moment, Report, check, make_answer, slack
from extract.budget import LONG_BUDGET, PASS, SIMPLIFY, Budget
from extract.constrained import Candidate, ConstrainedSearch, reachable_nodes
from extract.errors import CheckError, ExtractionError, InfeasibleError
from extract.graph import Graph
from extract.local import improve
from extract.settle import INFINITY, settle_dag, weights
from extract.simplify import simplify

if TYPE_CHECKING:
    from extract.separation import Relaxation
    from extract.solver import Cover

MOST: Final = 0.1
"""Part of the budget that closing any gap is worth, unless a proof is asked for. Where it was 9 to 21 % at the end
(TileGym: mamba2's da_db, sm_80, intra_chunk_prepare, sm_90a) a third of the work goes, and the answers are the same."""

Listener = Callable[[Moment], None]
"""Called when the best answer or the bound changes, and some ten times a second while the solver runs."""


class Limit(NamedTuple):
    """What a search that goes on must stay below, and the effort that it is worth: as in `auto`; an answer from
    elsewhere, near which it looks.
    """

    below: float
    effort: float
    near: Answer | None = None


class Session:
    """Methods take their graph from here and hand answers and bounds back. Costs are those of the whole answer."""

    def __init__(
        self,
        graph: Graph,
        budget: Budget | None = None,
        *,
        start: Answer | None = None,
        listener: Listener | None = None,
        within: Graph | None = None,
        below: float = INFINITY,
        effort: float = INFINITY,
    ) -> None:
        """`within`: the same graph with nodes forbidden, to which the search keeps; `graph` judges answers. `below`:
        answers that do not cost less are passed over. `effort`: part of the budget that closing a gap is worth, times
        the root of the gap. Raises InfeasibleError, without a reason, where simplification finds that there is none.
        """
        self.began = perf_counter()
        self.budget = Budget(LONG_BUDGET) if budget is None else budget
        self.original = graph
        self.listener = listener
        self.trace: list[Moment] = []
        self.interrupted = False
        self.cut_short = False  # did a share of the budget end what would have gone on?
        self.chosen: dict[int, int] | None = None
        """The best answer so far, in the original graph."""
        self.guide: dict[int, int] | None = None
        """Until there is one, the best of those that do not cost less than `below`: what does is looked for near it."""
        self.guided = INFINITY  # cost of the guide
        self.effort = effort
        self.closing: float | None = None
        """Units that were spent when the work began that a small gap is not worth, or a search that was put aside."""
        self.below = self.cost = below
        self.bound = -INFINITY
        self.simplified = simplify(graph if within is None else within, alone=within is not None)
        self.budget.spend(SIMPLIFY * len(graph.topology.nodes))
        self.seconds_simplifying = perf_counter() - self.began
        self.steps = self.simplified.steps
        self.after = _sizes(self.simplified.graph)
        self.unit = _unit(graph.columns.cost)
        self.cuts: list[list[int]] = []
        """Sets of nodes of the reduced graph; every answer contains a node of each."""
        self.covers: list[Cover] = []
        """What every answer in the reduced graph keeps to, because of a resource row."""
        self.relaxation: Relaxation | None = None
        """That of the reduced graph, where one has been solved."""
        self.search: ConstrainedSearch | None = None
        self._renew_search()
        if start is not None:
            self._take_start(start)

    # --- its state

    @property
    def graph(self) -> Graph | None:
        """The reduced graph; None when everything is decided."""
        return self.simplified.graph

    @property
    def left(self) -> float:
        """Units of work that may still be done."""
        return self.budget.left

    @property
    def optimal(self) -> bool:
        """Whether the bound meets the best cost."""
        return self.cost - self.bound <= self.slack

    @property
    def gap(self) -> float:
        """Part of the best cost by which the bound falls short of it; without an answer, of the guide's: a lower limit
        on the cost does not reduce the work spent on cheaper answers.
        """
        cost = self.cost if self.reach == INFINITY else self.reach
        if cost == INFINITY or not math.isfinite(self.bound):
            return INFINITY
        return (cost - self.bound) / abs(cost) if cost else INFINITY

    @property
    def worth(self) -> float:
        """Units up to which the gap that there is now may be worked on."""
        if self.closing is None or self.effort == INFINITY:
            return INFINITY
        return self.closing + self.budget.work * min(MOST, self.effort * math.sqrt(max(0.0, self.gap)))

    @property
    def accepted(self) -> bool:
        """Whether the gap is too small for more work than there was."""
        return self.budget.spent >= self.worth

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do, or no budget to do it."""
        return self.optimal or self.left <= 0 or self.accepted

    @property
    def slack(self) -> float:
        """Rounding allowance around the best cost."""
        return slack(self.cost) if self.cost < INFINITY else 0.0

    @property
    def reach(self) -> float:
        """What an answer near the best, or near the guide, must cost less than to be an improvement."""
        return self.guided if self.chosen is None else self.cost

    @property
    def cutoff(self) -> float:
        """What answers cheaper than the best stay below, in costs of the reduced graph."""
        if not self.unit or self.cost == INFINITY:
            return self.cost - self.simplified.base - self.slack
        above = math.ceil(self.cost / self.unit - SOLVER_TOLERANCE)  # `below` may lie between two multiples
        return self.unit * (above - 0.5) - self.simplified.base

    def share(self, part: float) -> Budget:
        """A budget of a part of what is left, which ends where the gap that there is now is accepted."""
        budget = self.budget.part(part)
        budget.limit = min(budget.limit, self.worth)
        return budget

    def nodes(self) -> list[int] | None:
        """The best answer, or the guide, in the reduced graph; None when it has lost one of its nodes."""
        known = self.guide if self.chosen is None else self.chosen
        return None if known is None else self.simplified.nodes_of(known.values())

    # --- what methods hand in

    def offer(self, found: Candidate, method: str) -> bool:
        """Take a complete choice that meets all constraints when it is the cheapest yet."""
        search = self._search()
        cost = self.simplified.base + found.cost
        if found.excess or search.splits_group(found.choice) or cost >= self.reach:
            return False
        nodes = reachable_nodes(search.topology, found.choice)
        if cost >= self.cost:  # no answer so far costs less than `below`
            self.guide, self.guided = self.simplified.choice(nodes), cost
            return False
        self._take(nodes, cost, method)
        return True

    def repair_from(self, selected: Iterable[int], method: str, *, exact: bool = False) -> bool:
        """Take the cheapest answer at or near selected nodes: they come free, others at their cost.

        exact: nothing but the selected nodes may be used, the best of many; then only the switch moves of the local
        search follow.
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
        choice = improve(search.topology, cost, settled.choice, search.constraints, deep=not exact, bound=search.bound)
        return self.offer(search.judge(choice, cost, assignment), method) or taken

    def build_from(self, usable: Iterable[int], method: str) -> bool:
        """Take the greedy answer that uses some nodes alone, or what the switch moves of the local search find near it.
        Only where neither groups nor limits bind: of the nodes that a relaxation would use, few answers meet these.
        """
        search = self._search()
        if search.groups or search.limits:
            return False
        self.budget.spend(PASS * len(search.topology.nodes))
        weight = [INFINITY] * len(search.cost)
        for node in usable:
            weight[node] = max(0.0, search.cost[node])
        settled = settle_dag(search.topology, weight)
        if not settled.builds(search.topology.roots):
            return False
        first, limits = settled.choice, search.constraints
        choice = improve(search.topology, search.cost, first, limits, deep=False, bound=search.bound)
        return self.offer(search.judge(choice, search.cost, {}), method)

    def narrow(self, limit: Limit | None, *, found: bool) -> None:
        """Answers must cost less from here on, where a limit says so; one that does not guides the search. found: it
        had its answer, so that all that follows is limited by what a gap is worth.
        """
        if limit is None:
            return
        self.below, self.effort, near = limit
        if found:
            self.closing = self.budget.spent
        if self.cost >= self.below:
            if self.chosen is not None:
                self.guide, self.guided, self.chosen = self.chosen, self.cost, None
            self.cost = self.below
            self.bound = min(self.bound, self.cost)
        if near is not None and near.cost < self.reach:
            self._look_near(near)

    def adopt(self, other: Answer) -> None:
        """Take a cheaper answer from outside of what is searched: only what is cheaper still is looked for."""
        if other.cost < self.cost:
            self.chosen, self.cost = dict(other.chosen), other.cost
            self.bound = min(self.bound, self.cost)
            self._note("start")

    def raise_bound(self, bound: float, method: str) -> None:
        """Take a lower bound; costs that are all multiples of a unit lift it to the next multiple."""
        if self.unit and math.isfinite(bound):
            bound = self.unit * math.ceil(bound / self.unit - SOLVER_TOLERANCE * max(1.0, abs(bound / self.unit)))
        bound = min(bound, self.cost)
        if bound > self.bound:
            self.bound = bound
            self._search_bound()
            self._note(method)

    def prove(self, method: str) -> None:
        """Nothing cheaper than the best exists."""
        self.raise_bound(self.cost, method)

    def shrink(self, gone: list[int]) -> None:
        """Drop nodes of the reduced graph that no answer cheaper than the best holds, and simplify again."""
        try:
            if self.graph is not None:
                self.budget.spend(SIMPLIFY * self.graph.n_nodes)
            self.simplified = self.simplified.without(gone)
        except InfeasibleError:
            self.prove("bounds")
            return
        self.cuts, self.covers, self.relaxation = [], [], None
        self._renew_search()

    def answer(self, method: str) -> Answer:
        """The best so far as an answer for the original graph. Raises InfeasibleError, without a reason, for none."""
        if self.chosen is None:
            raise InfeasibleError
        found = make_answer(self.original, self.chosen, self.bound, method, perf_counter() - self.began)
        ended = ""
        if not found.optimal and self.accepted:
            ended = why_ended(self.budget, found.gap)
        elif not found.optimal and (self.cut_short or self.left <= 0):
            ended = self.budget.name
        return replace(found, report=self._report(), ended=ended)

    def require_answer(self) -> None:
        """Raises ExtractionError, with the limit that ended the search, when nothing was found."""
        if self.chosen is None and not self.optimal:
            raise ExtractionError(f"{self.budget.name} ended before any answer was found; allow more")

    def notify(self) -> None:
        """Tell the listener that the search is alive."""
        if self.listener is not None:
            self.listener(self._moment(self.trace[-1].method if self.trace else ""))

    # --- inside

    def _renew_search(self) -> None:
        """A search on the reduced graph; where that is empty, the answer that is left."""
        self.search = None if self.graph is None else ConstrainedSearch(self.graph)
        self._search_bound()
        if self.graph is None:
            if self.simplified.base < self.cost:
                self._take([], self.simplified.base, "simplification")
            self.raise_bound(self.simplified.base, "simplification")

    def _search_bound(self) -> None:
        if self.search is not None:
            self.search.bound = self.bound - self.simplified.base

    def _search(self) -> ConstrainedSearch:
        if self.search is None:
            raise InfeasibleError("everything is decided: there is nothing to search")
        return self.search

    def _take(self, nodes: list[int], cost: float, method: str) -> None:
        self.chosen = self.simplified.choice(nodes)
        self.cost = cost
        self._note(method)

    def _take_start(self, start: Answer) -> None:
        """Begin from an answer, which may have been made for other costs or limits."""
        with suppress(CheckError):  # where it does not fit as it is, an answer near it may
            found = make_answer(self.original, start.chosen, -INFINITY, start.method, 0.0)
            check(self.original, found)
            if found.cost < self.cost:
                self.chosen = found.chosen
                self.cost = found.cost
                self._note("start")
        self._look_near(start)

    def _look_near(self, start: Answer) -> None:
        """Look for an answer near one whose nodes the reduced graph may no longer have."""
        if self.search is not None:
            given = set(start.chosen.values())
            origin = self.simplified.origin
            self.repair_from((node for node, parts in enumerate(origin) if given.issuperset(parts)), "start")

    def _note(self, method: str) -> None:
        self.trace.append(self._moment(method))
        self.notify()

    def _moment(self, method: str) -> Moment:
        return Moment(perf_counter() - self.began, self.cost, self.bound, method)

    def _report(self) -> Report:
        return Report(
            before=_sizes(self.original),
            after=self.after,
            left=_sizes(None if self.optimal else self.graph),
            steps=self.steps,
            simplifying=self.seconds_simplifying,
            trace=tuple(self.trace),
            interrupted=self.interrupted,
        )


def why_ended(budget: Budget, gap: float) -> str:
    """What ended a search before there was a proof, for messages."""
    return budget.name if budget.left <= 0 else f"a gap of {gap:.1%} after {budget.spent:.0f} of {budget.work:g} units"


def _unit(cost: list[float]) -> float:
    """The greatest number that all costs are multiples of, when they are whole numbers, else 0."""
    finite = [value for value in cost if math.isfinite(value)]
    if not finite or not all(value.is_integer() and abs(value) <= 2**52 for value in finite):
        return 0.0
    return float(math.gcd(*map(int, finite)))


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
