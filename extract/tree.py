"""Tree extraction: optimal when nothing is shared, the usual baseline when something is."""

from __future__ import annotations

from time import perf_counter

from extract.answer import Answer
from extract.constrained import ConstrainedSearch
from extract.graph import Graph
from extract.settle import settle_tree


def tree(graph: Graph) -> Answer:
    """The choice of least tree cost per class, stated at its DAG cost (each chosen node once).

    Raises InfeasibleError when the constraints cannot be met.
    """
    start = perf_counter()
    return ConstrainedSearch(graph, settle_tree, polish=False).answer("tree", start)
