"""Extractors and cost functions of the user's: Python callables on the graph, whose answers are checked like any other.

def cheapest_first(graph):                  # an extractor: a node for each class, those nobody needs may be there
    return {cls: min(nodes, key=graph.cost.__getitem__) for cls, nodes in nodes_of(graph).items()}

def fewest_nodes(graph):                    # a cost function: a cost for each node
    return np.ones(graph.n_nodes)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from extract.answer import Answer, make_answer
from extract.budget import Budget
from extract.errors import ExtractionError
from extract.graph import Graph
from extract.portfolio import auto

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Extractor = Callable[[Graph], "Mapping[int, int] | Answer"]
"""A choice of one node for every class that the roots need (more is allowed), or an answer of a method of ours."""

CostFunction: TypeAlias = "Callable[[Graph], ArrayLike]"
"""[n] costs of the nodes; what the graph forbids stays forbidden."""


def name_of(function: Callable[..., object]) -> str:
    """What messages and answers call a function of the user's."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def own(
    graph: Graph, extractor: Callable[[Graph], object], *, budget: Budget | float | None = None, below: float = math.inf
) -> Answer:
    """The answer of a user's extractor, with the bound that `auto` proves within `budget`.

    Raises CheckError where the choice lacks a class, has a cycle or breaks a constraint; ExtractionError where the
    extractor raises, gives something else, or its answer does not cost less than `below`.
    """
    name, start = name_of(extractor), time.perf_counter()
    try:
        given = extractor(graph)
    except Exception as error:
        raise ExtractionError(f"extractor {name}: {type(error).__name__}: {error}") from error
    seconds = time.perf_counter() - start
    if isinstance(given, Answer):
        given = given.chosen
    if not isinstance(given, Mapping):
        raise ExtractionError(f"extractor {name}: expected a node for each class as a mapping, got {given!r:.60}")
    choice = {int(cls): int(node) for cls, node in cast("Mapping[int, int]", given).items()}
    for cls, node in choice.items():
        if not (0 <= cls < graph.n_classes and 0 <= node < graph.n_nodes and graph.columns.node_class[node] == cls):
            raise ExtractionError(f"extractor {name}: class {cls} is assigned node {node}, which is not in it")
    answer = make_answer(graph, choice, -math.inf, name, seconds)
    if below < math.inf and not answer.cost < below:
        raise ExtractionError(f"extractor {name}: its answer costs {answer.cost:g}, not less than {below:g}")
    return make_answer(graph, choice, auto(graph, budget=budget).bound, name, seconds)


def recosted(graph: Graph, function: CostFunction) -> Graph:
    """The graph under costs of the user's. Raises ExtractionError for a function that raises, and for anything but a
    number for each node.
    """
    name = name_of(function)
    try:
        cost = np.asarray(function(graph), np.float64)
    except Exception as error:
        raise ExtractionError(f"cost function {name}: {type(error).__name__}: {error}") from error
    if cost.shape != graph.cost.shape:
        message = f"expected {graph.n_nodes} costs, one for each node, got an array of shape {cost.shape}"
        raise ExtractionError(f"cost function {name}: {message}")
    return graph.with_cost(np.where(np.isinf(graph.cost), np.inf, cost))
