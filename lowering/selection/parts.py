"""Breakdown of the cost of a chosen program: by part, by unit of the SM, by node."""

from __future__ import annotations

from collections.abc import Iterator

from ir.records import dataclass
from lowering.cost import FREE, Cost
from lowering.selection.choices import Selection

PARTS = ("tensor", "alu", "memory", "latency")
WAITS, ADDRESSES, SPILLS = "waits for memory", "addresses", "spills"
"""Costs not tied to a node: of loops whose rings are not deep enough, of warps, of missing registers."""


@dataclass(frozen=True)
class NodeCost:
    """A chosen node: its extraction class in words, operator, cost over all executions by part, and the number of
    executions (1 if the cost is not per execution).
    """

    name: str
    op: str
    cost: float
    trips: float
    parts: dict[str, float]


def node_costs(selection: Selection) -> Iterator[NodeCost]:
    """The chosen nodes with a nonzero cost in the target's tables, in the order of the answer."""
    graph = selection.by_tables
    for cls, node in selection.answer.chosen.items():
        found = selection.priced.get(node)
        name = graph.class_name[cls] if graph.class_name else str(cls)
        if found is not None:
            trips, cost = found
            if cost is not FREE and cost.scalar():
                parts = {part: trips * getattr(cost, part) for part in PARTS if getattr(cost, part)}
                yield NodeCost(name, graph.node_op[node], trips * cost.scalar(), trips, parts)
        elif graph.columns.cost[node]:
            amount = graph.columns.cost[node]
            yield NodeCost(name, graph.node_op[node], amount, 1.0, {_part(name): amount})


def _part(name: str) -> str:
    if name.startswith("spills"):
        return SPILLS
    return ADDRESSES if name.endswith("warps") else WAITS


def cost_parts(selection: Selection) -> dict[str, float]:
    """Cycles by part; their sum is the cost by the target's tables."""
    found: dict[str, float] = {}
    for each in node_costs(selection):
        for part, cycles in each.parts.items():
            found[part] = found.get(part, 0.0) + cycles
    return found


def busy(selection: Selection) -> dict[str, float]:
    """Cycles that each unit of the SM is busy; those of memory overlap, so the sum is more than the cost."""
    found: dict[str, float] = {}
    for node in selection.answer.chosen.values():
        trips, cost = selection.priced.get(node, (1.0, FREE))
        for unit, cycles in _uses(cost).items():
            found[unit] = found.get(unit, 0.0) + trips * cycles
    return found


def _uses(cost: Cost) -> dict[str, float]:
    return cost.uses() | ({"latency": cost.latency} if cost.latency else {})
