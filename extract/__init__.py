"""extract: the cheapest program of an e-graph, with its lower bound.

Knows nothing of GPUs, tiles or egglog; imports no other package of this project.
"""

from __future__ import annotations

from typing import Literal

from extract.answer import Answer, check
from extract.errors import CheckError, ExtractionError, GraphError, GraphWarning, InfeasibleError
from extract.graph import Graph, GraphBuilder
from extract.greedy import greedy
from extract.ilp import ilp
from extract.tree import tree

Method = Literal["tree", "greedy", "ilp"]

__all__ = [
    "Answer",
    "CheckError",
    "ExtractionError",
    "Graph",
    "GraphBuilder",
    "GraphError",
    "GraphWarning",
    "InfeasibleError",
    "Method",
    "check",
    "extract",
    "greedy",
    "ilp",
    "tree",
]


def extract(graph: Graph, method: Method = "greedy", *, time_limit: float | None = None) -> Answer:
    """Extract by a named method and re-verify the answer.

    time_limit: seconds for the exact method. Raises InfeasibleError, and ExtractionError for an unknown method.
    """
    if method == "tree":
        answer = tree(graph)
    elif method == "greedy":
        answer = greedy(graph)
    elif method == "ilp":
        answer = ilp(graph, time_limit=time_limit)
    else:
        raise ExtractionError(f"unknown method {method!r}; there are tree, greedy and ilp")
    check(graph, answer)
    return answer
