"""The methods by name, for callers: answers are checked again, and a search without one explains why."""

from __future__ import annotations

import re
from typing import Literal, get_args

from extract.answer import Answer, check
from extract.budget import Budget
from extract.errors import ExtractionError
from extract.graph import Graph
from extract.greedy import greedy
from extract.ilp import ilp
from extract.infeasible import explained
from extract.own import Extractor, own
from extract.portfolio import auto
from extract.pruned import pruned
from extract.session import Listener
from extract.settle import INFINITY
from extract.top import cheapest
from extract.tree import tree

Method = Literal["auto", "tree", "greedy", "pruned", "ilp"]

METHODS: tuple[str, ...] = get_args(Method)
TOP = re.compile(r"top:([1-9]\d*)")
"""The name of the method that finds the Nth cheapest answer: top:1 is the cheapest, by another road than auto's."""


def extract(
    graph: Graph,
    method: Method | str | Extractor = "greedy",
    *,
    budget: Budget | float | None = None,
    time_limit: float | None = None,
    start: Answer | None = None,
    listener: Listener | None = None,
    branch: int | None = None,
    below: float = INFINITY,
    effort: float = INFINITY,
) -> Answer:
    """Extract by a named method, or by a function of the user's (`extract.own`), and re-verify the answer.

    budget: units of work (`extract.budget`) for auto (10,000 by default), pruned and ilp (60,000): the same answer on
    every machine. time_limit: a limit in seconds besides, which makes the answer depend on the machine and its load.
    start: an answer to begin from, also one for other costs. listener: called when the best answer or the bound
    changes. branch: a choice group that `auto` searches alternative by alternative. below: `auto` passes over answers
    that do not cost less, and ends where there are none. effort: how much `auto` does for a
    small gap. top:N is the Nth cheapest answer (`extract.top`). Raises InfeasibleError, and ExtractionError for an
    unknown method and where the budget ended before any answer was found.
    """
    with explained(graph, below if method == "auto" else INFINITY):
        if callable(method):
            answer = own(graph, method, budget=budget, below=below)
        elif method == "tree":
            answer = tree(graph)
        elif method == "greedy":
            answer = greedy(graph, start=start)
        elif method == "pruned":
            answer = pruned(graph, budget=budget, time_limit=time_limit, start=start, listener=listener)
        elif method == "ilp":
            answer = ilp(graph, budget=budget, time_limit=time_limit, start=start, listener=listener)
        elif method == "auto":
            answer = auto(
                graph,
                budget=budget,
                time_limit=time_limit,
                start=start,
                listener=listener,
                branch=branch,
                below=below,
                effort=effort,
            )
        elif found := TOP.fullmatch(method):
            answer = nth(graph, int(found[1]), budget, time_limit)
        else:
            raise ExtractionError(f"unknown method {method!r}; there are auto, tree, greedy, pruned, ilp and top:N")
    check(graph, answer)
    return answer


def top(
    graph: Graph, count: int, *, budget: Budget | float | None = None, time_limit: float | None = None
) -> list[Answer]:
    """Up to `count` answers in order of cost, no two choosing the same nodes; fewer when there are no more.

    The bound of an answer holds for all answers but those before it. Ctrl-C and the end of the budget return those
    found. Raises InfeasibleError when there is none, ExtractionError when the budget ended before any was.
    """
    with explained(graph):
        found = cheapest(graph, count, budget=budget, time_limit=time_limit)
    for answer in found:
        check(graph, answer)
    return found


def nth(graph: Graph, number: int, budget: Budget | float | None, time_limit: float | None) -> Answer:
    """The answer of that place in the order of cost, from 1 on; ExtractionError where there are not so many."""
    found = cheapest(graph, number, budget=budget, time_limit=time_limit)
    if len(found) < number:
        raise ExtractionError(f"found {len(found)} answers within the budget, expected {number}")
    return found[-1]
