"""An e-graph as flat arrays: the only input of every extraction method.

Children are class ids, never node ids. Costs are scalars: a caller with cost vectors reduces them per target and calls
`Graph.with_cost`, which keeps the validated structure and its adjacency lists. Must not import other packages of this
project.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from extract.columns import Columns, first_no_cost, first_no_use, first_outside, integers, numbers, rows
from extract.errors import GraphError
from extract.topology import Topology

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Ints: TypeAlias = "NDArray[np.int32]"
Floats: TypeAlias = "NDArray[np.float64]"

NO_GROUP = -1


class Shared:
    """What every re-costed copy of a graph has in common, once it has been worked out."""

    __slots__ = ("recosted", "structures", "topology")

    def __init__(self) -> None:
        self.topology: Topology | None = None
        self.structures: dict[bytes, Any] = {}
        """Cost-free simplifications by what they depend on (`extract.simplify`)."""
        self.recosted = False
        """Whether a copy under other costs exists, so that sharing pays."""


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A validated e-graph with costs, choice groups and resource rows.

    n nodes, m classes, e child slots, r resource rows. Use `Graph.build`, `GraphBuilder` or `extract.gym.read`.
    """

    node_op: tuple[str, ...]
    """[n] operator names, for messages and output."""
    columns: Columns
    """The arrays below as Python lists, which is what they are kept as."""
    resource_names: tuple[str, ...]
    n_classes: int
    class_name: tuple[str, ...] | None = None
    node_name: tuple[str, ...] | None = None
    shared: Shared = field(default_factory=Shared, repr=False)

    @cached_property
    def node_class(self) -> Ints:
        """[n] the class of each node."""
        return np.array(self.columns.node_class, np.int32)

    @cached_property
    def child_offset(self) -> Ints:
        """[n + 1] node i's children are child_class[child_offset[i]:child_offset[i + 1]]."""
        return np.array(self.columns.child_offset, np.int32)

    @cached_property
    def child_class(self) -> Ints:
        """[e] class ids."""
        return np.array(self.columns.child_class, np.int32)

    @cached_property
    def cost(self) -> Floats:
        """[n] cost of choosing the node once; inf forbids it, negative is a reward."""
        return np.array(self.columns.cost, np.float64)

    @cached_property
    def group(self) -> Ints:
        """[n] choice group, or -1: the chosen nodes of one group must all carry the same alternative."""
        return np.array(self.columns.group, np.int32)

    @cached_property
    def alternative(self) -> Ints:
        """[n] the alternative of its group that the node stands for (ignored where group is -1)."""
        return np.array(self.columns.alternative, np.int32)

    @cached_property
    def resource(self) -> Floats:
        """[r, n] use of each resource by each node, >= 0, summed over the chosen nodes."""
        return np.array(self.columns.resource, np.float64).reshape(len(self.columns.limit), self.n_nodes)

    @cached_property
    def limit(self) -> Floats:
        """[r] the most of each resource an answer may use; inf for no limit."""
        return np.array(self.columns.limit, np.float64)

    @cached_property
    def root(self) -> Ints:
        """Classes that every answer must build."""
        return np.array(self.columns.root, np.int32)

    @classmethod
    def build(
        cls,
        *,
        node_op: Sequence[str],
        node_class: ArrayLike,
        child_offset: ArrayLike,
        child_class: ArrayLike,
        cost: ArrayLike,
        root: ArrayLike,
        group: ArrayLike | None = None,
        alternative: ArrayLike | None = None,
        resource: ArrayLike | None = None,
        limit: ArrayLike | None = None,
        resource_names: Sequence[str] | None = None,
        n_classes: int | None = None,
        class_name: Sequence[str] | None = None,
        node_name: Sequence[str] | None = None,
    ) -> Graph:
        """Make and validate a graph from arrays or lists; shapes as in the properties.

        Raises GraphError that names the first offending node, class or row.
        """
        n = len(node_op)
        classes = integers("node_class", node_class)
        limits = numbers("limit", limit) if limit is not None else []
        if n_classes is None:
            n_classes = max(classes, default=-1) + 1
        columns = Columns(
            node_class=classes,
            child_offset=integers("child_offset", child_offset),
            child_class=integers("child_class", child_class),
            cost=numbers("cost", cost),
            group=integers("group", group) if group is not None else [NO_GROUP] * n,
            alternative=integers("alternative", alternative) if alternative is not None else [0] * n,
            resource=rows("resource", resource) if resource is not None else [[0.0] * n for _ in limits],
            limit=limits,
            root=integers("root", [root] if isinstance(root, int) else root),
        )
        graph = cls(
            node_op=tuple(node_op),
            columns=columns,
            resource_names=tuple(resource_names or [f"r{i}" for i in range(len(limits))]),
            n_classes=n_classes,
            class_name=tuple(class_name) if class_name is not None else None,
            node_name=tuple(node_name) if node_name is not None else None,
        )
        _check_shapes(graph)
        _check_references(graph)
        _check_costs(graph)
        _check_constraints(graph)
        return graph

    def __repr__(self) -> str:
        """One line."""
        rows = ", ".join(self.resource_names)
        return f"<Graph: {self.n_classes} classes, {self.n_nodes} nodes, resources: {rows or 'none'}>"

    @property
    def n_nodes(self) -> int:
        """Number of nodes, reachable or not."""
        return len(self.node_op)

    @property
    def topology(self) -> Topology:
        """Adjacency lists of the part below the roots, built at first use and shared by re-costed copies."""
        if self.shared.topology is None:
            self.shared.topology = Topology.of(self.columns, self.n_classes)
        return self.shared.topology

    @property
    def has_rewards(self) -> bool:
        """Whether a node has a negative cost."""
        return min(self.columns.cost, default=0.0) < 0

    def children(self, node: int) -> list[int]:
        """Child classes of a node, in operand order."""
        offset = self.columns.child_offset
        return self.columns.child_class[offset[node] : offset[node + 1]]

    @cached_property
    def groups(self) -> dict[int, list[int]]:
        """Group id to its sorted alternatives, over the nodes below the roots that are not forbidden."""
        found: dict[int, set[int]] = {}
        group, alternative, cost = self.columns.group, self.columns.alternative, self.columns.cost
        for node in self.topology.nodes if max(group, default=NO_GROUP) > NO_GROUP else ():
            if group[node] > NO_GROUP and math.isfinite(cost[node]):
                found.setdefault(group[node], set()).add(alternative[node])
        return {g: sorted(found[g]) for g in sorted(found)}

    def with_cost(self, cost: ArrayLike) -> Graph:
        """The same e-graph under another cost per node [n]; shares all structure."""
        graph = replace(self, columns=self.columns._replace(cost=numbers("cost", cost)))
        _check_costs(graph)
        self.shared.recosted = True
        return graph

    def copy(self) -> Graph:
        """The same e-graph with nothing worked out yet, for measuring."""
        return replace(self, shared=Shared())

    def with_limit(self, limit: ArrayLike) -> Graph:
        """The same e-graph under other resource limits [r]."""
        graph = replace(self, columns=self.columns._replace(limit=numbers("limit", limit)))
        _check_constraints(graph)
        return graph

    def only(self, group: int, alternative: int) -> Graph:
        """The same graph with the other alternatives of a choice group forbidden."""
        tags = zip(self.columns.group, self.columns.alternative, strict=True)
        return self.forbid([node for node, (g, a) in enumerate(tags) if g == group and a != alternative])

    def forbid(self, nodes: Iterable[int]) -> Graph:
        """The same e-graph with these nodes never chosen."""
        cost = self.columns.cost.copy()
        for node in nodes:
            cost[node] = math.inf
        return self.with_cost(cost)

    def fix(self, nodes: Iterable[int]) -> Graph:
        """The same e-graph in which the classes of these nodes, where used, use these nodes."""
        keep, owner = set(nodes), self.columns.node_class
        fixed = {owner[node] for node in keep}
        return self.forbid([node for node, cls in enumerate(owner) if cls in fixed and node not in keep])

    def describe_class(self, cls: int) -> str:
        """How messages name a class."""
        return f"class {cls} ({self.class_name[cls]})" if self.class_name else f"class {cls}"

    def describe_node(self, node: int) -> str:
        """How messages name a node."""
        name = f" {self.node_name[node]}" if self.node_name else ""
        return f"node {node}{name} ({self.node_op[node]})"


class GraphBuilder:
    """Collects nodes one by one, then `build`s the validated graph."""

    def __init__(self, *, resource_names: Sequence[str] = (), limit: Sequence[float] = ()) -> None:
        self._resource_names = tuple(resource_names)
        self._limit = tuple(limit)
        self._op: list[str] = []
        self._class: list[int] = []
        self._offset: list[int] = [0]
        self._child: list[int] = []
        self._cost: list[float] = []
        self._group: list[int] = []
        self._alternative: list[int] = []
        self._resource: list[tuple[float, ...]] = []
        self._unused = (0.0,) * len(self._resource_names)

    def add(
        self,
        op: str,
        cls: int,
        children: Sequence[int] = (),
        cost: float = 0.0,
        *,
        group: int = NO_GROUP,
        alternative: int = 0,
        resource: Sequence[float] = (),
    ) -> int:
        """Add a node to class cls and return its node id; resource has one entry per row, or none for no use."""
        if resource and len(resource) != len(self._resource_names):
            raise GraphError(
                f"node {len(self._op)} ({op}) gives {len(resource)} resource uses for {len(self._resource_names)} rows"
            )
        self._op.append(op)
        self._class.append(cls)
        self._child.extend(children)
        self._offset.append(len(self._child))
        self._cost.append(cost)
        self._group.append(group)
        self._alternative.append(alternative)
        self._resource.append(tuple(resource) or self._unused)
        return len(self._op) - 1

    def build(
        self, root: Sequence[int] | int, *, n_classes: int | None = None, class_name: Sequence[str] | None = None
    ) -> Graph:
        """Validate and freeze; root is a class or several."""
        rows = len(self._resource_names)
        return Graph.build(
            node_op=self._op,
            node_class=self._class,
            child_offset=self._offset,
            child_class=self._child,
            cost=self._cost,
            root=root,
            group=self._group,
            alternative=self._alternative,
            resource=[[use[row] for use in self._resource] for row in range(rows)] if rows else None,
            limit=self._limit if rows else None,
            resource_names=self._resource_names if rows else None,
            n_classes=n_classes,
            class_name=class_name,
        )


def _check_shapes(graph: Graph) -> None:
    n, columns = graph.n_nodes, graph.columns
    for name in ("node_class", "cost", "group", "alternative"):
        _check_length(name, getattr(columns, name), n)
    offsets = columns.child_offset
    if len(offsets) != n + 1:
        raise GraphError(f"child_offset has shape ({len(offsets)},), expected ({n + 1},)")
    slots = len(columns.child_class)
    if offsets[0] != 0 or offsets[-1] != slots or any(map(operator.gt, offsets, offsets[1:])):
        raise GraphError(f"child_offset must rise from 0 to {slots}, the number of child slots")
    if len(columns.resource) != len(columns.limit) or any(len(row) != n for row in columns.resource):
        shape = len(columns.resource), len(columns.resource[0]) if columns.resource else 0
        raise GraphError(f"resource has shape {shape}, expected ({len(columns.limit)}, {n})")
    if len(graph.resource_names) != len(columns.limit):
        raise GraphError(f"{len(graph.resource_names)} resource names for {len(columns.limit)} limits")
    if graph.class_name is not None and len(graph.class_name) != graph.n_classes:
        raise GraphError(f"{len(graph.class_name)} class names for {graph.n_classes} classes")
    if graph.node_name is not None and len(graph.node_name) != n:
        raise GraphError(f"{len(graph.node_name)} node names for {n} nodes")


def _check_length(name: str, column: Sequence[float], n: int) -> None:
    if len(column) != n:
        raise GraphError(f"{name} has shape ({len(column)},), but there are {n} nodes")


def _check_references(graph: Graph) -> None:
    columns = graph.columns
    if not columns.root:
        raise GraphError("no root class: name at least one class to build")
    node = first_outside(columns.node_class, graph.n_classes)
    if node is not None:
        raise GraphError(f"{graph.describe_node(node)} is in class {columns.node_class[node]} of {graph.n_classes}")
    inhabited = set(columns.node_class)
    for root in columns.root:
        if not 0 <= root < graph.n_classes:
            raise GraphError(f"root class {root} does not exist; there are {graph.n_classes} classes")
        if root not in inhabited:
            raise GraphError(f"root {graph.describe_class(root)} has no node")
    if inhabited.issuperset(columns.child_class):
        return
    slot = first_outside(columns.child_class, graph.n_classes)
    if slot is not None:
        cls = columns.child_class[slot]
        raise GraphError(f"{_owner(graph, slot)} takes class {cls}, which does not exist (dangling child)")
    slot = next(slot for slot, cls in enumerate(columns.child_class) if cls not in inhabited)
    raise GraphError(
        f"{_owner(graph, slot)} takes {graph.describe_class(columns.child_class[slot])}, which has no node"
    )


def _owner(graph: Graph, slot: int) -> str:
    node = bisect_right(graph.columns.child_offset, slot) - 1
    return f"{graph.describe_node(node)} in {graph.describe_class(graph.columns.node_class[node])}"


def _check_costs(graph: Graph) -> None:
    cost = graph.columns.cost
    _check_length("cost", cost, graph.n_nodes)
    node = first_no_cost(cost)
    if node is not None:
        raise GraphError(f"{graph.describe_node(node)} costs {cost[node]}; use inf to forbid a node")


def _check_constraints(graph: Graph) -> None:
    columns = graph.columns
    fine = min(columns.group, default=NO_GROUP) >= NO_GROUP and min(columns.alternative, default=0) >= 0
    for node, (group, alternative) in enumerate(() if fine else zip(columns.group, columns.alternative, strict=True)):
        if group < NO_GROUP or (group >= 0 and alternative < 0):
            raise GraphError(
                f"{graph.describe_node(node)} has group {group} and alternative {alternative}; "
                "groups and alternatives count from 0, and -1 means no group"
            )
    for name, use, limit in zip(graph.resource_names, columns.resource, columns.limit, strict=True):
        node = first_no_use(use)
        if node is not None:
            raise GraphError(
                f"{graph.describe_node(node)} uses {use[node]} of resource {name}; uses must be finite and not negative"
            )
        if not limit >= 0:
            raise GraphError(f"resource {name} has limit {limit}; it must be 0 or more")
