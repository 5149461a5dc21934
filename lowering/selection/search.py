"""The searches of an extraction problem: the cheapest program, one without spills, one of a given shape."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, cast

from egraph.placed import Instead
from egraph.saturate import Saturated
from extract import (
    Answer,
    Budget,
    CostFunction,
    ExtractionError,
    Extractor,
    Graph,
    GraphError,
    InfeasibleError,
    Pursuit,
    check,
    extract,
    recosted,
)
from ir.core import TileError, UnsupportedError
from lowering.placement import LayoutOracle
from lowering.selection.choices import Selection
from lowering.selection.graph import Selector, saturated_early
from lowering.selection.resources import SHARED
from lowering.targets import Target

INFINITE = float("inf")
EFFORT = 0.4  # 4 % of the budget for a gap of 1 %, 13 % for 10 %: docs/benchmarks.md, compile time
OTHERS = 0.06  # less for a program that is compared with an existing one: relaxations found the best of ten slices
UNSPILLED = 1200.0  # units for a program with all tiles in registers: attention of 128 x 128 finds it in 840
ELSEWHERE = 0.4  # gap from which slices come before a tight relaxation: 0.2 to 0.7 s of CPU in TileGym's fmha, sm_100a
NO_SHAPE = {"warps": 0, "ctas": 0}  # of CTAs: any


def select(
    saturated: Saturated,
    oracle: LayoutOracle,
    target: Target,
    forbid: frozenset[str],
    method: str | Extractor,
    budget: float | None = None,
    apart: bool = False,
    below: float = INFINITE,
    unspilled: bool = False,
    cost: CostFunction | None = None,
    known: dict[Hashable, Search] | None = None,
    aside: bool = False,
    shape: Mapping[str, int] = NO_SHAPE,
    sliced: bool = False,
) -> Selection:
    """Extract the cheapest program for `target`; atoms whose name starts with one of `forbid` are excluded. `method`: a
    name in `extract.METHODS`, or a user's function; `budget`: work limit of the search in units of `extract.budget`;
    `cost`: node costs that replace the target's tables.

    `apart`: no two loops share the memory of a ring. `below`: skip programs that do not cost less. `unspilled`: tiles
    must fit in the register file. `known`: existing problems of this e-graph, to which this one is added. `aside`: stop
    early if the best program so far spills registers; the same call without it continues from there. `sliced`: also
    stop early while the cost is far above the bound, because the kernel in slices is tried next. `shape`: required
    numbers of `warps` and `ctas`, 0 for any.

    Raises UnsupportedError or TileError, located, if no program exists or shared memory does not suffice.
    """
    known = {} if known is None else known
    while True:
        one = search(saturated, oracle, target, forbid, apart, known)
        found = one.run(method, budget, below, unspilled, cost, aside, shape, sliced)
        several = in_several_forms(found)
        if not several:
            return found
        known[target, forbid, apart] = Search(one.selector.as_written(several))


def in_several_forms(found: Selection) -> frozenset[int]:
    """Values that a program computes in one way in one layout and, by a permission, in another way in another layout.
    All who read a value must see the same number: a maximum is one of the numbers that it is the maximum of.
    """
    owner, forms = found.owner, dict[int, set[int]]()
    if not any(isinstance(node, Instead) for node in found.node.values()):
        return frozenset()
    for placed, node in found.node.items():
        value = owner[placed][0] if placed in owner else -1
        if value >= 0 and all(owner.get(child, (-1,))[0] != value for child in node.children):  # else it is only moved
            form = owner[node.source][0] if isinstance(node, Instead) else -1
            forms.setdefault(value, set()).add(form)
    return frozenset(value for value, ways in forms.items() if len(ways) > 1)


def first_bound(
    saturated: Saturated,
    oracle: LayoutOracle,
    target: Target,
    forbid: frozenset[str],
    apart: bool,
    below: float,
    known: dict[Hashable, Search],
) -> float:
    """A lower bound on the cost of programs that `select` finds by its usual method, from its first steps alone; the
    search is suspended and can continue from there. INFINITE if none costs less than `below`. Raises as `select` does.
    """
    return search(saturated, oracle, target, forbid, apart, known).glance(below)


def search(
    saturated: Saturated,
    oracle: LayoutOracle,
    target: Target,
    forbid: frozenset[str],
    apart: bool,
    known: dict[Hashable, Search],
) -> Search:
    """The search of this extraction problem, which is built once."""
    key = (target, forbid, apart)
    if key not in known:
        known[key] = Search(Selector(saturated, oracle, target, forbid, apart))
    return known[key]


class Search:
    """The extraction problem of a program: built once, searched repeatedly."""

    def __init__(self, selector: Selector) -> None:
        self.selector = selector
        self.pursuit: Pursuit | None = None
        """The search by the usual method, which continues where it was suspended."""
        self.cheapest: Answer | None = None
        """The best that other methods and narrower problems have found."""

    def run(
        self,
        method: str | Extractor,
        budget: float | None,
        below: float,
        unspilled: bool,
        cost: CostFunction | None,
        aside: bool,
        shape: Mapping[str, int] = NO_SHAPE,
        sliced: bool = False,
    ) -> Selection:
        """Solve the problem, as in `select`."""
        try:
            tables = self.selector.graph
            graph = tables if cost is None else recosted(tables, cost)
            if unspilled:
                spilled = self.selector.pressure.spilled
                graph = graph.forbid([node for node, (_, registers) in spilled.items() if registers])
            if method == "auto" and not (unspilled or budget or cost or any(shape.values())):
                return self.pursued(graph, aside, sliced, below)
            graph = self.shaped(graph, shape)
            effort = self.effort(budget, below, unspilled=unspilled, branches=not shape["warps"])
            answer = extract(graph, cast(Any, method), **effort)
            if cost is None and (self.cheapest is None or answer.cost < self.cheapest.cost):
                self.cheapest = answer
        except (InfeasibleError, GraphError) as error:  # GraphError: an effect without a possible layout
            raise self.infeasible(error) from error
        except ExtractionError as error:
            if below < INFINITE and self.pursuit is not None:  # no answer below it was met: one above it leads there
                self.pursuit = None
                found = self.run(method, budget, INFINITE, unspilled, cost, aside, shape, sliced)
                if found.answer.cost < below:
                    return found
            raise TileError(str(error), self.selector.program.entry.location) from error
        return self.selector.selection(graph, tables, answer)

    def shaped(self, graph: Graph, shape: Mapping[str, int]) -> Graph:
        """The problem with numbers of `warps` and `ctas` fixed, if there is a choice and one is requested. Raises
        TileError if it is not offered.
        """
        for name, offered in self.selector.offered(graph).items():
            if count := shape[name]:
                if count not in offered:
                    known = " or ".join(map(str, offered))
                    raise TileError(f"expected {known} {name}, got {count}", self.selector.program.entry.location)
                graph = graph.only(self.selector.groups[name,], count)
        return graph

    def effort(self, budget: float | None, below: float, *, unspilled: bool, branches: bool = True) -> dict[str, Any]:
        """The work limit, and whether numbers of warps are searched one by one."""
        effort = EFFORT if below == INFINITE else OTHERS
        if budget is not None or unspilled:
            budget, effort = budget or UNSPILLED, INFINITE
        limit = {} if budget is None else {"budget": budget}
        branch = self.selector.groups.get(("warps",)) if branches else None
        return {**limit, "branch": branch, "below": below, "effort": effort}

    def pursued(self, graph: Graph, aside: bool, sliced: bool, below: float) -> Selection:
        """The cheapest program; or the best so far, if that spills registers and the search may be set `aside`. A later
        call continues it. Raises InfeasibleError if none costs less than `below`.
        """
        search = self.begun(graph, sliced, below)
        while True:
            if not search.ended:
                search.go_on()
            answer = search.answer
            if answer.cost >= below:
                raise InfeasibleError(f"no program costs less than {below:g}")
            check(graph, answer)
            found = self.selector.selection(graph, graph, answer)
            found.aside = not search.ended and aside and any(found.spilled.values())
            if search.ended or found.aside:
                return found

    def begun(self, graph: Graph, sliced: bool, below: float, glance: bool = False) -> Pursuit:
        """The search by the usual method: new, or the suspended one."""
        effort = self.effort(None, below, unspilled=False)
        if self.pursuit is None:
            elsewhere = ELSEWHERE if sliced else INFINITE
            self.pursuit = Pursuit(graph, Budget(), **effort, elsewhere=elsewhere, glance=glance)
        elif below < INFINITE:
            self.pursuit.stay_below(below, effort["effort"], self.cheapest)
        return self.pursuit

    def glance(self, below: float) -> float:
        """The lower bound of `first_bound`."""
        try:
            search = self.begun(self.selector.graph, False, below, glance=True)
            search.go_on()
        except InfeasibleError:
            return INFINITE
        except GraphError as error:
            raise self.infeasible(error) from error
        return search.bound

    def infeasible(self, error: InfeasibleError | GraphError) -> TileError:
        """The error in the user's terms: shared memory, or an operation without a lowering."""
        text, target, saturated = str(error), self.selector.target, self.selector.saturated
        place = self.selector.program.entry.location
        if SHARED in text:
            return TileError(
                f"the kernel needs more than the {int(target.smem_bytes)} bytes of shared memory of {target}",
                place,
                "use smaller tiles",
            )
        if saturated.report.ended:
            return saturated_early(saturated, f"no lowering for {target.name}", place)
        return UnsupportedError(
            f"no lowering for {target.name}: {text}",
            place,
            "see what is supported in docs/, or allow the forbidden atoms",
        )
