"""An e-graph as flat arrays: the only input of every extraction method.

Children are class ids, never node ids. Costs are scalars: a caller with cost vectors reduces them per target and calls
`Graph.with_cost`, which keeps the validated structure and its adjacency lists. Must not import other packages of this
project.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from extract.errors import GraphError
from extract.topology import Topology

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]

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
    node_class: Ints
    """[n] the class of each node."""
    child_offset: Ints
    """[n + 1] node i's children are child_class[child_offset[i]:child_offset[i + 1]]."""
    child_class: Ints
    """[e] class ids."""
    cost: Floats
    """[n] cost of choosing the node once; inf forbids it, negative is a reward."""
    group: Ints
    """[n] choice group, or -1: the chosen nodes of one group must all carry the same alternative."""
    alternative: Ints
    """[n] the alternative of its group that the node stands for (ignored where group is -1)."""
    resource: Floats
    """[r, n] use of each resource by each node, >= 0, summed over the chosen nodes."""
    limit: Floats
    """[r] the most of each resource an answer may use; inf for no limit."""
    resource_names: tuple[str, ...]
    root: Ints
    """Classes that every answer must build."""
    n_classes: int
    class_name: tuple[str, ...] | None = None
    node_name: tuple[str, ...] | None = None
    shared: Shared = field(default_factory=Shared, repr=False)

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
        """Make and validate a graph from arrays; shapes as in the fields.

        Raises GraphError that names the first offending node, class or row.
        """
        n = len(node_op)
        classes = _ints("node_class", node_class)
        kids = _ints("child_class", child_class)
        roots = np.atleast_1d(_ints("root", root))
        if n_classes is None:
            n_classes = int(classes.max()) + 1 if len(classes) else 0
        limits = np.atleast_1d(_floats("limit", limit)) if limit is not None else np.zeros(0)
        use = _floats("resource", resource) if resource is not None else np.zeros((len(limits), n))
        names = tuple(resource_names) if resource_names is not None else tuple(f"r{i}" for i in range(len(limits)))
        graph = cls(
            node_op=tuple(node_op),
            node_class=classes,
            child_offset=_ints("child_offset", child_offset),
            child_class=kids,
            cost=_floats("cost", cost),
            group=_ints("group", group) if group is not None else np.full(n, NO_GROUP, np.int32),
            alternative=_ints("alternative", alternative) if alternative is not None else np.zeros(n, np.int32),
            resource=use.reshape(1, -1) if use.ndim == 1 and use.size else use.reshape(len(use), n) if not n else use,
            limit=limits,
            resource_names=names,
            root=roots,
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
            self.shared.topology = Topology.of(
                self.node_class, self.child_offset, self.child_class, self.root, self.n_classes
            )
        return self.shared.topology

    def children(self, node: int) -> list[int]:
        """Child classes of a node, in operand order."""
        return self.child_class[self.child_offset[node] : self.child_offset[node + 1]].tolist()

    @cached_property
    def groups(self) -> dict[int, list[int]]:
        """Group id to its sorted alternatives, over the nodes below the roots that are not forbidden."""
        found: dict[int, set[int]] = {}
        if not bool((self.group >= 0).any()):
            return {}
        tagged = np.zeros(self.n_nodes, bool)
        tagged[self.topology.nodes] = True
        tagged &= (self.group >= 0) & np.isfinite(self.cost)
        for g, a in zip(self.group[tagged].tolist(), self.alternative[tagged].tolist(), strict=True):
            found.setdefault(g, set()).add(a)
        return {g: sorted(found[g]) for g in sorted(found)}

    def with_cost(self, cost: ArrayLike) -> Graph:
        """The same e-graph under another cost per node [n]; shares all structure."""
        graph = replace(self, cost=_floats("cost", cost))
        _check_costs(graph)
        self.shared.recosted = True
        return graph

    def copy(self) -> Graph:
        """The same e-graph with nothing worked out yet, for measuring."""
        return replace(self, shared=Shared())

    def with_limit(self, limit: ArrayLike) -> Graph:
        """The same e-graph under other resource limits [r]."""
        graph = replace(self, limit=np.atleast_1d(_floats("limit", limit)))
        _check_constraints(graph)
        return graph

    def only(self, group: int, alternative: int) -> Graph:
        """The same graph with the other alternatives of a choice group forbidden."""
        return self.forbid(np.flatnonzero((self.group == group) & (self.alternative != alternative)).tolist())

    def forbid(self, nodes: Iterable[int]) -> Graph:
        """The same e-graph with these nodes never chosen."""
        cost = self.cost.copy()
        cost[list(nodes)] = np.inf
        return self.with_cost(cost)

    def fix(self, nodes: Iterable[int]) -> Graph:
        """The same e-graph in which the classes of these nodes, where used, use these nodes."""
        keep = list(nodes)
        others = np.isin(self.node_class, self.node_class[keep])
        others[keep] = False
        return self.forbid(np.flatnonzero(others).tolist())

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
            resource=np.array(self._resource, dtype=np.float64).reshape(len(self._op), rows).T if rows else None,
            limit=self._limit if rows else None,
            resource_names=self._resource_names if rows else None,
            n_classes=n_classes,
            class_name=class_name,
        )


def _ints(name: str, values: ArrayLike) -> Ints:
    array: NDArray[Any] = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, np.int32)
    if not np.issubdtype(array.dtype, np.integer):
        raise GraphError(f"{name} must hold integers, not {array.dtype}")
    if int(array.max()) > np.iinfo(np.int32).max or int(array.min()) < np.iinfo(np.int32).min:
        raise GraphError(f"{name} holds a value that does not fit in 32 bits")
    return array.astype(np.int32)


def _floats(name: str, values: ArrayLike) -> Floats:
    array: NDArray[Any] = np.asarray(values)
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == np.bool_):
        raise GraphError(f"{name} must hold numbers, not {array.dtype}")
    return array.astype(np.float64)


def _check_shapes(graph: Graph) -> None:
    n = graph.n_nodes
    for name in ("node_class", "cost", "group", "alternative"):
        shape = getattr(graph, name).shape
        if shape != (n,):
            raise GraphError(f"{name} has shape {shape}, but there are {n} nodes")
    offsets = graph.child_offset
    if offsets.shape != (n + 1,):
        raise GraphError(f"child_offset has shape {offsets.shape}, expected ({n + 1},)")
    if offsets[0] != 0 or offsets[-1] != len(graph.child_class) or bool((np.diff(offsets) < 0).any()):
        raise GraphError(f"child_offset must rise from 0 to {len(graph.child_class)}, the number of child slots")
    if graph.resource.shape != (len(graph.limit), n):
        raise GraphError(f"resource has shape {graph.resource.shape}, expected ({len(graph.limit)}, {n})")
    if len(graph.resource_names) != len(graph.limit):
        raise GraphError(f"{len(graph.resource_names)} resource names for {len(graph.limit)} limits")
    if graph.class_name is not None and len(graph.class_name) != graph.n_classes:
        raise GraphError(f"{len(graph.class_name)} class names for {graph.n_classes} classes")
    if graph.node_name is not None and len(graph.node_name) != n:
        raise GraphError(f"{len(graph.node_name)} node names for {n} nodes")


def _check_references(graph: Graph) -> None:
    if not len(graph.root):
        raise GraphError("no root class: name at least one class to build")
    bad = np.flatnonzero((graph.node_class < 0) | (graph.node_class >= graph.n_classes))
    if len(bad):
        node = int(bad[0])
        raise GraphError(f"{graph.describe_node(node)} is in class {graph.node_class[node]} of {graph.n_classes}")
    has_node = np.zeros(graph.n_classes, bool)
    has_node[graph.node_class] = True
    for root in graph.root.tolist():
        if not 0 <= root < graph.n_classes:
            raise GraphError(f"root class {root} does not exist; there are {graph.n_classes} classes")
        if not has_node[root]:
            raise GraphError(f"root {graph.describe_class(root)} has no node")
    kids = graph.child_class
    outside = np.flatnonzero((kids < 0) | (kids >= graph.n_classes))
    if len(outside):
        slot = int(outside[0])
        raise GraphError(f"{_owner(graph, slot)} takes class {kids[slot]}, which does not exist (dangling child)")
    empty = np.flatnonzero(~has_node[kids])
    if len(empty):
        slot = int(empty[0])
        raise GraphError(f"{_owner(graph, slot)} takes {graph.describe_class(int(kids[slot]))}, which has no node")


def _owner(graph: Graph, slot: int) -> str:
    node = int(np.searchsorted(graph.child_offset, slot, side="right")) - 1
    return f"{graph.describe_node(node)} in {graph.describe_class(int(graph.node_class[node]))}"


def _check_costs(graph: Graph) -> None:
    if graph.cost.shape != (graph.n_nodes,):
        raise GraphError(f"cost has shape {graph.cost.shape}, but there are {graph.n_nodes} nodes")
    bad = np.flatnonzero(np.isnan(graph.cost) | np.isneginf(graph.cost))
    if len(bad):
        node = int(bad[0])
        raise GraphError(f"{graph.describe_node(node)} costs {graph.cost[node]}; use inf to forbid a node")


def _check_constraints(graph: Graph) -> None:
    untagged = np.flatnonzero((graph.group < NO_GROUP) | ((graph.group >= 0) & (graph.alternative < 0)))
    if len(untagged):
        node = int(untagged[0])
        raise GraphError(
            f"{graph.describe_node(node)} has group {graph.group[node]} and alternative {graph.alternative[node]}; "
            "groups and alternatives count from 0, and -1 means no group"
        )
    rows, nodes = np.nonzero(~np.isfinite(graph.resource) | (graph.resource < 0))
    if len(rows):
        row, node = int(rows[0]), int(nodes[0])
        raise GraphError(
            f"{graph.describe_node(node)} uses {graph.resource[row, node]} of resource "
            f"{graph.resource_names[row]}; uses must be finite and not negative"
        )
    for name, limit in zip(graph.resource_names, graph.limit.tolist(), strict=True):
        if not limit >= 0:
            raise GraphError(f"resource {name} has limit {limit}; it must be 0 or more")
