"""Extraction as a 0-1 program: the rows, without a solver.

One variable per usable node and one per alternative of a choice group. Rows:
- a class holds at most one node, a root exactly one;
- for classes P and K: the nodes of P that need K together are at most the nodes of K (one row per class pair, which is
  tighter than one per node);
- per group one alternative; the nodes of a class that carry an alternative are at most that alternative;
- resource rows;
- cycles only when asked for: for classes K1 .. Kl, at most l - 1 of the steps K1->K2, .., Kl->K1 are chosen.
With negative costs, a class that is not a root also needs a user, or rewards would be collected by nodes no root needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from extract.bounds import path_bound
from extract.graph import Graph
from extract.settle import INFINITY, weights


@dataclass(eq=False)
class IntegerProgram:
    """Rows over columns: node variables first, in the order of `nodes`, then group alternatives."""

    graph: Graph
    nodes: list[int]
    column: dict[int, int]
    """Node to its column."""
    alternative_column: dict[tuple[int, int], int]
    class_nodes: dict[int, list[int]]
    """Usable nodes by class."""
    lower: list[float] = field(default_factory=list[float])
    upper: list[float] = field(default_factory=list[float])
    start: list[int] = field(default_factory=lambda: [0])
    index: list[int] = field(default_factory=list[int])
    value: list[float] = field(default_factory=list[float])

    @property
    def n_columns(self) -> int:
        """Node and alternative variables."""
        return len(self.nodes) + len(self.alternative_column)

    def costs(self) -> NDArray[np.float64]:
        """[n_columns] objective."""
        cost = np.zeros(self.n_columns)
        cost[: len(self.nodes)] = self.graph.cost[self.nodes]
        return cost

    def add_row(self, lower: float, terms: list[tuple[int, float]], upper: float) -> None:
        """lower <= sum of coefficient x column <= upper."""
        self.lower.append(lower)
        self.upper.append(upper)
        if terms:
            columns, coefficients = zip(*terms, strict=True)
            self.index += columns
            self.value += coefficients
        self.start.append(len(self.index))

    def add_difference(self, lower: float, plus: list[int], minus: list[int], upper: float) -> None:
        """lower <= sum of some columns - sum of others <= upper."""
        self.lower.append(lower)
        self.upper.append(upper)
        self.index += plus
        self.index += minus
        self.value += [1.0] * len(plus)
        self.value += [-1.0] * len(minus)
        self.start.append(len(self.index))

    def cycle_row(self, cycle: list[int]) -> list[int]:
        """Columns of the nodes that step along a class cycle; at most len(cycle) - 1 of them may be chosen."""
        children = self.graph.topology.children
        columns: list[int] = []
        for cls, following in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            columns.extend(self.column[node] for node in self.class_nodes[cls] if following in children[node])
        return columns

    def point(self, chosen: dict[int, int], alternatives: dict[int, int]) -> dict[int, float] | None:
        """Non-zero columns of an answer, or None when the program has dropped one of its nodes."""
        if any(node not in self.column for node in chosen.values()):
            return None
        values = {self.column[node]: 1.0 for node in chosen.values()}
        taken = dict(alternatives)
        for g, a in self.alternative_column:
            taken.setdefault(g, a)  # a group without a chosen node may carry anything
        values.update(
            {self.alternative_column[g, a]: 1.0 for g, a in taken.items() if (g, a) in self.alternative_column}
        )
        return values


def make_program(graph: Graph, cutoff: float, keep: bytearray | None = None) -> IntegerProgram | None:
    """Drop nodes that no acyclic answer cheaper than cutoff can hold, then write the rows; None: a root has no node.

    keep: [n] the nodes that may have a variable, all by default.
    """
    class_nodes = _usable(graph, cutoff, keep)
    if not all(class_nodes[root] for root in graph.topology.roots):
        return None
    nodes = [node for members in class_nodes.values() for node in members]
    column = {node: place for place, node in enumerate(nodes)}
    group, alternative = graph.columns.group, graph.columns.alternative
    tags = {(group[node], alternative[node]) for node in nodes if group[node] >= 0}
    alternative_column = {tag: len(nodes) + place for place, tag in enumerate(sorted(tags))}
    program = IntegerProgram(graph, nodes, column, alternative_column, class_nodes)
    always = set(graph.topology.roots)
    _class_rows(program, always)
    _child_rows(program, always)
    _group_rows(program)
    for use, limit in zip(graph.columns.resource, graph.columns.limit, strict=True):
        terms = [(column[node], use[node]) for node in nodes if use[node]]
        if terms and limit < INFINITY:
            program.add_row(-INFINITY, terms, limit)
    return program


def _usable(graph: Graph, cutoff: float, keep: bytearray | None) -> dict[int, list[int]]:
    """Nodes worth a variable, by class; classes are those still reachable from the roots."""
    topology = graph.topology
    cost = graph.columns.cost.copy()
    for use, limit in zip(graph.columns.resource, graph.columns.limit, strict=True):
        for node, used in enumerate(use):
            if used > limit:
                cost[node] = INFINITY
    if keep is not None:
        for node in topology.nodes:
            if not keep[node]:
                cost[node] = INFINITY
    weight = weights(cost)
    paths, children = path_bound(topology, weight), topology.children
    rewards = any(value < 0.0 for value in cost)
    kept: dict[int, list[int]] = {}
    order = list(topology.roots)
    seen = set(order)
    for cls in order:  # grows while it is walked
        members: list[int] = []
        for node in topology.class_nodes[cls]:
            if weight[node] == INFINITY:
                continue
            deepest = 0.0
            for child in children[node]:
                if paths[child] > deepest:
                    deepest = paths[child]
            if deepest < INFINITY and (rewards or weight[node] + deepest <= cutoff):
                members.append(node)
        kept[cls] = members
        for node in members:
            for child in children[node]:
                if child not in seen:
                    seen.add(child)
                    order.append(child)
    return kept


def _class_rows(program: IntegerProgram, always: set[int]) -> None:
    for cls, members in program.class_nodes.items():
        lower = 1.0 if cls in always else 0.0
        if members or lower:
            program.add_difference(lower, [program.column[node] for node in members], [], 1.0)


def _child_rows(program: IntegerProgram, always: set[int]) -> None:
    children, column = program.graph.topology.children, program.column
    own = {cls: [column[node] for node in members] for cls, members in program.class_nodes.items()}
    users: dict[int, list[int]] | None = {} if program.graph.has_rewards else None
    for members in program.class_nodes.values():
        by_child: dict[int, list[int]] = {}
        for node in members:
            for child in children[node]:
                if child in by_child:
                    by_child[child].append(column[node])
                else:
                    by_child[child] = [column[node]]
        for child, needing in by_child.items():
            if child not in always:
                program.add_difference(0.0, own[child], needing, INFINITY)
                if users is not None:
                    users.setdefault(child, []).extend(needing)
    if users is None:
        return
    for cls, members in own.items():
        if cls not in always and members:
            program.add_difference(0.0, users.get(cls, []), members, INFINITY)


def _group_rows(program: IntegerProgram) -> None:
    graph = program.graph
    by_group: dict[int, list[int]] = {}
    for (group, _), column in program.alternative_column.items():
        by_group.setdefault(group, []).append(column)
    for columns in by_group.values():
        program.add_row(1.0, [(column, 1.0) for column in columns], 1.0)
    for members in program.class_nodes.values():
        carriers: dict[int, list[int]] = {}
        for node in members:
            if graph.columns.group[node] >= 0:
                tag = (graph.columns.group[node], graph.columns.alternative[node])
                carriers.setdefault(program.alternative_column[tag], []).append(node)
        for column, nodes in carriers.items():
            program.add_row(0.0, [(column, 1.0), *((program.column[node], -1.0) for node in nodes)], INFINITY)
