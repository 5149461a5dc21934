"""Tree extraction: optimal when nothing is shared, the usual baseline when something is."""

from __future__ import annotations

from time import perf_counter

from extract.answer import Answer, make_answer
from extract.bounds import forced_bound
from extract.constrained import ConstrainedSearch
from extract.graph import Graph
from extract.ilp import ilp
from extract.settle import settle_tree


def tree(graph: Graph) -> Answer:
    """The choice of least tree cost per class, stated at its DAG cost (each chosen node once).

    Works on the graph as it is, because what simplification joins is exact for DAG cost only. Raises InfeasibleError
    when the constraints cannot be met.
    """
    start = perf_counter()
    search = ConstrainedSearch(graph, settle_tree, polish=False)
    candidate = search.run()
    if candidate is None:
        return ilp(graph)  # no assignment or price met the constraints, which proves nothing
    choice = {cls: node for cls, node in enumerate(candidate.choice) if node >= 0}
    bound = forced_bound(search.topology, search.cost)
    return make_answer(graph, choice, bound, "tree", perf_counter() - start)
