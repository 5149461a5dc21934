"""Exact extraction by dynamic programming over a graph of small treewidth.

Source of the idea: e-graphs as circuits of bounded treewidth (A. Goharshady, C. K. Lam, L. Parreaux, OOPSLA 2024;
G. Sun, Y. Zhang, H. Ni, arXiv 2408.17042). Here as bucket elimination (R. Dechter, AIJ 113, 1999): every class and each
node is a 0-1 variable, what they demand of one another are small tables, and variables are eliminated one by one, each
by a table over those it meets. A table has at most `MAX_WIDTH` + 1 variables, and all tables together a number of
entries that is linear in that of the variables, or the graph is refused. What costs nothing to build is taken as built.

Choice groups are variables too. Cycles and resource limits are not seen: an answer that meets them is optimal, any
other only a bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extract.graph import Graph
from extract.settle import INFINITY

MAX_WIDTH: Final = 16
"""A table then has 131,072 entries; a long graph has few of that size, where what all of it shares is eliminated."""

MAX_ENTRIES: Final = 1024
"""Entries of tables per variable; with more the 0-1 program is faster."""

Array = NDArray[np.float64]

REQUIRES: Final[Array] = np.array([[0.0, 0.0], [INFINITY, 0.0]])
"""[a, b]: a demands b."""

EXCLUDES: Final[Array] = np.array([[0.0, 0.0], [0.0, INFINITY]])
"""[a, b]: not both."""

FORBIDDEN: Final[Array] = np.array([0.0, INFINITY])

FIRST_OR_REST: Final[Array] = np.full((2, 2, 2), INFINITY)
"""[wanted, rest, node]: what is wanted is met by the node or left to the rest, and nothing else is chosen."""
FIRST_OR_REST[0, 0, 0] = FIRST_OR_REST[1, 1, 0] = FIRST_OR_REST[1, 0, 1] = 0.0


@dataclass(eq=False)
class _Table:
    """Costs over variables, in the order of the array's axes."""

    variables: tuple[int, ...]
    cost: Array


@dataclass(eq=False)
class _Model:
    """Variables 0 .. size - 1; those in `fixed` are known to be 1."""

    size: int = 0
    tables: list[_Table] = field(default_factory=list[_Table])
    fixed: set[int] = field(default_factory=set[int])
    node: dict[int, int] = field(default_factory=dict[int, int])
    """The variable of each node, 1 if it is chosen; several nodes never share one."""

    def new(self) -> int:
        """One more variable."""
        self.size += 1
        return self.size - 1

    def relate(self, cost: Array, *variables: int) -> None:
        """Add a table, cut down to the variables that are not fixed."""
        index = tuple(1 if variable in self.fixed else slice(None) for variable in variables)
        self.tables.append(_Table(tuple(v for v in variables if v not in self.fixed), cost[index]))


def solve_narrow(graph: Graph) -> tuple[list[int], float] | None:
    """The cheapest nodes and their cost, cycles and limits unseen; None when the graph is too wide.

    Costs must not be negative. A cost of inf means that the choice groups cannot be satisfied.
    """
    model = _model(graph)
    order = _order(model)
    if order is None:
        return None
    values, cost = _eliminate(model, order)
    return [node for node, variable in model.node.items() if variable in model.fixed or values[variable]], cost


def _model(graph: Graph) -> _Model:
    topology = graph.topology
    model = _Model()
    wanted = {cls: model.new() for cls in topology.classes}
    model.fixed.update(wanted[root] for root in topology.roots)
    model.fixed.update(wanted[cls] for cls in _free(graph))
    alternatives: dict[tuple[int, int], int] = {}
    for cls in topology.classes:
        rest = wanted[cls]
        nodes = [node for node in topology.class_nodes[cls] if graph.columns.cost[node] < INFINITY]
        if not nodes:
            model.relate(FORBIDDEN, rest)
            continue
        for node in nodes[:-1]:
            after, model.node[node] = model.new(), model.new()
            model.relate(FIRST_OR_REST, rest, after, model.node[node])
            rest = after
        model.node[nodes[-1]] = rest  # the last node is what is left
        for node in nodes:
            chosen = model.node[node]
            model.relate(np.array([0.0, graph.columns.cost[node]]), chosen)
            for child in topology.children[node]:
                model.relate(REQUIRES, chosen, wanted[child])
            if graph.columns.group[node] >= 0:
                tag = (graph.columns.group[node], graph.columns.alternative[node])
                if tag not in alternatives:
                    alternatives[tag] = model.new()
                model.relate(REQUIRES, chosen, alternatives[tag])
    of_group: dict[int, list[int]] = {}
    for (group, _), variable in alternatives.items():
        of_group.setdefault(group, []).append(variable)
    for variables in of_group.values():
        for first, second in combinations(variables, 2):
            model.relate(EXCLUDES, first, second)
    return model


def _free(graph: Graph) -> list[int]:
    """Classes that can be built from nodes that cost nothing and bind no group: they may as well be."""
    topology, cost, group = graph.topology, graph.columns.cost, graph.columns.group
    pending = topology.arity.copy()
    built: dict[int, None] = {}
    stack = topology.leaves.copy()
    while stack:
        node = stack.pop()
        cls = topology.node_class[node]
        if cost[node] or group[node] >= 0 or cls in built:
            continue
        built[cls] = None
        for user in topology.parents[cls]:
            pending[user] -= 1
            if not pending[user]:
                stack.append(user)
    return list(built)


def _order(model: _Model) -> list[int] | None:
    """Variables by rising number of those they meet when eliminated; None when tables get too large."""
    meets: list[set[int]] = [set() for _ in range(model.size)]
    for table in model.tables:
        for variable in table.variables:
            meets[variable].update(table.variables)
    for variable, others in enumerate(meets):
        others.discard(variable)
    heap = [(len(others), variable) for variable, others in enumerate(meets) if variable not in model.fixed]
    heapify(heap)
    done = bytearray(model.size)
    order: list[int] = []
    entries = MAX_ENTRIES * model.size
    while heap:
        degree, variable = heappop(heap)
        others = meets[variable]
        if done[variable] or degree != len(others):
            continue
        entries -= 2 << degree
        if degree > MAX_WIDTH or entries < 0:
            return None
        done[variable] = 1
        order.append(variable)
        for other in others:
            meets[other] |= others
            meets[other] -= {other, variable}
            heappush(heap, (len(meets[other]), other))
    return order


def _eliminate(model: _Model, order: list[int]) -> tuple[list[int], float]:
    """Values of the variables in a cheapest assignment, and its cost; the cost is inf when there is none."""
    place = {variable: at for at, variable in enumerate(order)}
    buckets: list[list[_Table]] = [[] for _ in order]
    constant = 0.0

    def put(table: _Table) -> None:
        nonlocal constant
        if table.variables:
            buckets[min(place[v] for v in table.variables)].append(table)
        else:
            constant += float(table.cost)

    for table in model.tables:
        put(table)
    steps: list[tuple[int, tuple[int, ...], NDArray[np.bool_]]] = []
    for variable, bucket in zip(order, buckets, strict=True):
        others = tuple(sorted({v for table in bucket for v in table.variables if v != variable}))
        axes = (variable, *others)
        total = np.zeros((2,) * len(axes))
        for table in bucket:
            total = total + _spread(table, axes)
        one = total[1] < total[0]
        steps.append((variable, others, one))
        least: Array = np.minimum(total[0], total[1])
        put(_Table(others, least))
    values = [0] * model.size
    for variable, others, one in reversed(steps):
        values[variable] = int(one[tuple(values[other] for other in others)])
    return values, constant


def _spread(table: _Table, axes: tuple[int, ...]) -> Array:
    """A table with its axes in the order of `axes`, of length 1 where it does not know the variable."""
    order = sorted(range(len(table.variables)), key=lambda axis: axes.index(table.variables[axis]))
    known = set(table.variables)
    shape = tuple(2 if variable in known else 1 for variable in axes)
    return np.transpose(table.cost, order).reshape(shape)
