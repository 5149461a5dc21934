"""One e-graph under many cost vectors: five targets, or a cost model being tuned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from extract.answer import Answer
from extract.graph import Graph
from extract.methods import Method, extract

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def extract_many(
    graph: Graph,
    costs: Sequence[ArrayLike],
    method: Method = "greedy",
    *,
    budget: float | None = None,
    time_limit: float | None = None,
) -> list[Answer]:
    """Extract once per cost vector [n]; the copies share adjacency and cost-free simplification.

    Each answer is the start of the next. budget, time_limit: as of `extract`, for each. Raises as `extract` does.
    """
    answers: list[Answer] = []
    for cost in costs:
        start = answers[-1] if answers else None
        answers.append(extract(graph.with_cost(cost), method, budget=budget, time_limit=time_limit, start=start))
    return answers
