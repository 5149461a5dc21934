"""Other programs of a kernel's e-graph: the next cheapest ones, and how they differ, for tuning."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from extract import Answer, Graph, top
from extract.errors import ExtractionError

if TYPE_CHECKING:
    from tilesat.kernel import Kernel

EFFORT = 3_000.0
"""Units of work (`extract.budget`) for all of them: found four of GEMM and three of attention (5 s on a busy core)."""
NAMED = 3
"""Differences that are named."""


@dataclass(frozen=True)
class Alternative:
    """The program at a rank in the order of cost, from 1 on; its cost, relative to the cheapest; what it has that the
    cheapest does not, by the names of its e-nodes ("8 warps", "3 stages", "stmatrix, tma.store").
    """

    number: int
    ratio: float
    differs: str = ""

    @property
    def extractor(self) -> str:
        """The method that compiles it."""
        return f"top:{self.number}"


def alternatives(kernel: Kernel, count: int) -> list[Alternative]:
    """Up to `count` programs of the e-graph that a kernel was chosen from, the cheapest first; a kernel that was cut
    into slices has one.
    """
    if count == 1 or getattr(kernel.compiled, "slices", False):
        return [Alternative(1, 1.0)]
    graph = kernel.graph
    try:
        first, *rest = top(graph, count, budget=EFFORT)
    except ExtractionError:  # the budget was used up before the second was found
        return [Alternative(1, 1.0)]
    found = [Alternative(1, 1.0)]
    for number, each in enumerate(rest, 2):
        found.append(Alternative(number, each.cost / first.cost, _difference(graph, first, each)))
    return found


def _difference(graph: Graph, first: Answer, other: Answer) -> str:
    """Names of nodes that one answer has more of than the other."""
    had, has = (Counter(graph.node_op[node] for node in each.chosen.values()) for each in (first, other))
    more = [name for name, count in (has - had).items() if count > 0]
    chosen = sorted(more, key=lambda name: (not name[:1].isdigit(), name.startswith("p."), name))
    return ", ".join(chosen[:NAMED]) or "places of the same operations"
