"""Which class, choice group or resource row leaves an e-graph without an answer."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Final

from extract.answer import slack
from extract.errors import InfeasibleError
from extract.explain import conflicting_groups, unbuildable
from extract.graph import Graph
from extract.ilp import ilp
from extract.settle import INFINITY, settle_tree, weights

BUDGET: Final = 10_000.0
"""Units of work to find the least use of one resource; a bound of it is enough for the message."""


@contextmanager
def explained(graph: Graph, below: float = INFINITY) -> Generator[None]:
    """Around a search, which raises InfeasibleError bare: the error that users see says why, once they read it."""
    try:
        yield
    except InfeasibleError as error:
        raise InfeasibleError(partial(why_none, graph, below)) from error


def why_none(graph: Graph, below: float) -> str:
    """Why there is no answer that costs less; without a limit it is looked for, which takes long."""
    return why_infeasible(graph) if below == INFINITY else f"no answer costs less than {below:g}"


def why_infeasible(graph: Graph) -> str:
    """The reason, for a graph known to have no answer: a root, a group, or a row with the least that answers use."""
    topology = graph.topology
    weight = weights(graph.columns.cost)
    settled = settle_tree(topology, weight)
    if not settled.builds(topology.roots):
        return unbuildable(graph, settled, weight)
    limits: list[float] = graph.columns.limit
    fitting = weight.copy()
    names: list[str] = []
    for name, use, limit in zip(graph.resource_names, graph.columns.resource, limits, strict=True):
        oversized = [node for node in topology.nodes if use[node] > limit + slack(limit)]
        if oversized:
            names.append(name)
        for node in oversized:
            fitting[node] = INFINITY
    settled = settle_tree(topology, fitting)
    if not settled.builds(topology.roots):
        reason = unbuildable(graph, settled, fitting)
        return f"resource {', '.join(names)}: nodes that alone exceed the limit are left out; {reason}"
    return _exceeded_row(graph) or conflicting_groups(graph, weight)


def _exceeded_row(graph: Graph) -> str | None:
    """The row whose least use is past its limit, all rows together, or None when the rows are not at fault."""
    limited = [row for row, limit in enumerate(graph.columns.limit) if limit < INFINITY]
    free = graph.with_limit([INFINITY] * len(graph.columns.limit))
    for row in limited:
        uses = zip(graph.columns.cost, graph.columns.resource[row], strict=True)
        least = free.with_cost([INFINITY if cost == INFINITY else use for cost, use in uses])
        try:
            bound = ilp(least, budget=BUDGET).bound
        except InfeasibleError:
            return None
        limit = graph.columns.limit[row]
        if bound > limit + slack(limit):
            return f"resource {graph.resource_names[row]}: every answer uses at least {bound:g}, the limit is {limit:g}"
    names = ", ".join(graph.resource_names[row] for row in limited)
    return f"resources {names} cannot be kept within their limits together" if limited else None
