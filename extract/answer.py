"""The result of an extraction, and the independent check of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from extract.errors import CheckError
from extract.graph import Graph

RELATIVE_TOLERANCE = 1e-9
"""Sums of doubles taken in another order differ by some ulps per term; 1e-9 is 4e6 ulps."""

SOLVER_TOLERANCE: Final = 1e-6
"""HiGHS' default feasibility tolerance: as near as its bound comes to the cost of a solution it calls optimal."""


class Moment(NamedTuple):
    """When the best answer or the bound changed."""

    seconds: float
    """Since the start."""
    cost: float
    bound: float
    method: str


class Report(NamedTuple):
    """How an answer came about."""

    before: dict[str, int]
    """Nodes, classes, child slots and groups below the roots."""
    after: dict[str, int]
    """The same after simplification."""
    left: dict[str, int]
    """The same without what the bounds ruled out, at the end."""
    steps: dict[str, int]
    """How often each simplification applied."""
    simplifying: float
    """Seconds of that."""
    trace: tuple[Moment, ...]
    interrupted: bool


@dataclass(frozen=True, repr=False)
class Answer:
    """One node for every class the roots need, with its DAG cost and a proved lower bound."""

    chosen: dict[int, int]
    """Class to node; exactly the classes below the roots, children before their users."""
    cost: float
    """Sum over the chosen nodes, each counted once."""
    bound: float
    """No acyclic choice that meets the constraints costs less."""
    method: str
    seconds: float
    alternatives: dict[int, int] = field(default_factory=dict[int, int])
    """Choice group to the alternative that its chosen nodes carry; groups without a chosen node are left out."""
    resources: dict[str, float] = field(default_factory=dict[str, float])
    """Use of each resource row."""
    report: Report | None = None
    """Sizes and progress, from the methods that keep them."""
    ended: str = ""
    """The limit that ended the search before a proof, in words; empty if none did."""

    def __repr__(self) -> str:
        """One line."""
        return f"<Answer by {self.method}: {len(self.chosen)} nodes, cost {self.cost:g}, bound {self.bound:g}>"

    @property
    def gap(self) -> float:
        """(cost - bound) / |cost|, 0 when proved optimal."""
        if self.optimal:
            return 0.0
        return (self.cost - self.bound) / abs(self.cost) if self.cost else math.inf

    @property
    def optimal(self) -> bool:
        """Whether the bound meets the cost."""
        return self.cost - self.bound <= slack(self.cost)


def slack(value: float) -> float:
    """Rounding allowance around a sum of costs."""
    return RELATIVE_TOLERANCE * max(1.0, abs(value))


def make_answer(graph: Graph, choice: dict[int, int], bound: float, method: str, seconds: float) -> Answer:
    """Cut a choice per class down to what the roots need, and fill in cost, alternatives and resources.

    Raises CheckError when the choice is incomplete or cyclic.
    """
    chosen = needed(graph, choice)
    nodes = list(chosen.values())
    cost = math.fsum(map(graph.columns.cost.__getitem__, nodes))
    group, alternative = graph.columns.group, graph.columns.alternative
    alternatives = {group[node]: alternative[node] for node in nodes if group[node] >= 0}
    rows = zip(graph.resource_names, graph.columns.resource, strict=True)
    resources = {name: math.fsum(map(row.__getitem__, nodes)) for name, row in rows}
    # A valid bound may sit some ulps above the cost it meets; it is never reported above it.
    limited = min(bound, cost) if bound - cost <= slack(cost) else bound
    return Answer(chosen, cost, limited, method, seconds, dict(sorted(alternatives.items())), resources)


def needed(graph: Graph, choice: dict[int, int]) -> dict[int, int]:
    """The part of a choice below the roots, children first. Raises CheckError on a missing class or a cycle."""
    done: dict[int, int] = {}
    open_classes: set[int] = set()
    for root in graph.columns.root:
        stack: list[tuple[int, bool]] = [(root, False)]
        while stack:
            cls, leave = stack.pop()
            if leave:
                open_classes.discard(cls)
                done[cls] = choice[cls]
                continue
            if cls in done:
                continue
            if cls in open_classes:
                raise CheckError(f"the choice is cyclic through {graph.describe_class(cls)}")
            if cls not in choice:
                raise CheckError(f"{graph.describe_class(cls)} is needed but has no chosen node")
            open_classes.add(cls)
            stack.append((cls, True))
            # A child that is open is pushed too: popping it is how a cycle is seen.
            stack.extend((child, False) for child in graph.children(choice[cls]) if child not in done)
    return done


def check(graph: Graph, answer: Answer) -> None:
    """Re-verify an answer from the flat arrays alone.

    Raises CheckError when it is incomplete, cyclic, contains unneeded classes, violates a group or a resource row,
    uses a forbidden node, states a wrong cost, or a bound above its cost.
    """
    for cls, node in answer.chosen.items():
        if not 0 <= node < graph.n_nodes or graph.columns.node_class[node] != cls:
            raise CheckError(f"{graph.describe_class(cls)} is assigned node {node}, which is not in it")
        if not math.isfinite(graph.columns.cost[node]):
            raise CheckError(f"{graph.describe_node(node)} is forbidden but chosen")
    spare = answer.chosen.keys() - needed(graph, answer.chosen).keys()
    if spare:
        raise CheckError(f"{graph.describe_class(min(spare))} is chosen but not needed by any root")
    nodes = list(answer.chosen.values())
    _check_groups(graph, nodes)
    for name, row, limit in zip(graph.resource_names, graph.columns.resource, graph.columns.limit, strict=True):
        use = math.fsum(map(row.__getitem__, nodes))
        if use > limit + slack(limit):
            raise CheckError(f"resource {name}: {use} used, {limit} allowed")
    cost = math.fsum(map(graph.columns.cost.__getitem__, nodes))
    if not abs(cost - answer.cost) <= slack(cost):
        raise CheckError(f"the answer states cost {answer.cost}, its nodes sum to {cost}")
    if not answer.bound <= cost + slack(cost):
        raise CheckError(f"the lower bound {answer.bound} is above the cost {cost}")


def _check_groups(graph: Graph, nodes: list[int]) -> None:
    first: dict[int, int] = {}
    alternative = graph.columns.alternative
    for node in nodes:
        group = graph.columns.group[node]
        if group < 0:
            continue
        other = first.setdefault(group, node)
        if alternative[other] != alternative[node]:
            raise CheckError(
                f"choice group {group} is split: {graph.describe_node(other)} carries alternative "
                f"{alternative[other]}, {graph.describe_node(node)} carries {alternative[node]}"
            )
