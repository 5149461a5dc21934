"""The methods by name."""

from __future__ import annotations

from typing import Literal, get_args

from extract.answer import Answer, check
from extract.auto import auto
from extract.errors import ExtractionError
from extract.graph import Graph
from extract.greedy import greedy
from extract.ilp import ilp
from extract.pruned import pruned
from extract.session import Listener
from extract.tree import tree

Method = Literal["auto", "tree", "greedy", "pruned", "ilp"]

METHODS: tuple[str, ...] = get_args(Method)


def extract(
    graph: Graph,
    method: Method = "greedy",
    *,
    time_limit: float | None = None,
    start: Answer | None = None,
    listener: Listener | None = None,
    branch: int | None = None,
) -> Answer:
    """Extract by a named method and re-verify the answer.

    time_limit: seconds for auto (10 by default), pruned and ilp (60). start: an answer to begin from, also one for
    other costs. listener: called when the best answer or the bound changes. branch: a choice group that `auto` searches
    alternative by alternative. Raises InfeasibleError, and ExtractionError
    for an unknown method.
    """
    if method == "tree":
        answer = tree(graph)
    elif method == "greedy":
        answer = greedy(graph, start=start)
    elif method == "pruned":
        answer = pruned(graph, time_limit=time_limit, start=start, listener=listener)
    elif method == "ilp":
        answer = ilp(graph, time_limit=time_limit, start=start, listener=listener)
    elif method == "auto":
        answer = auto(graph, time_limit=time_limit, start=start, listener=listener, branch=branch)
    else:
        raise ExtractionError(f"unknown method {method!r}; there are auto, tree, greedy, pruned and ilp")
    check(graph, answer)
    return answer
