"""Adjacency lists of an e-graph below its roots: what does not change when costs do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Topology:
    """Python lists, because the methods walk single nodes and indexing NumPy scalars is ten times slower.

    Nodes that name their own class as a child are left out: no acyclic answer holds one.
    """

    n_nodes: int
    n_classes: int
    roots: list[int]
    nodes: list[int]
    """Ids of the nodes whose class can be reached from a root."""
    classes: list[int]
    """Ids of the classes reachable from a root, roots first."""
    node_class: list[int]
    children: list[tuple[int, ...]]
    """[n] distinct child classes; () for nodes that are not in `nodes`."""
    class_nodes: list[list[int]]
    parents: list[list[int]]
    """[m] nodes that have the class as a child."""
    arity: list[int]
    """[n] number of distinct children, -1 for nodes that are not in `nodes`."""
    leaves: list[int]
    """Nodes without children, the start of every bottom-up pass."""

    @staticmethod
    def of(
        node_class: NDArray[np.int32],
        child_offset: NDArray[np.int32],
        child_class: NDArray[np.int32],
        root: NDArray[np.int32],
        n_classes: int,
    ) -> Topology:
        """Build from flat arrays that `Graph` has validated."""
        n = len(node_class)
        owner: list[int] = node_class.tolist()
        kids: list[int] = child_class.tolist()
        offset: list[int] = child_offset.tolist()
        by_class: list[int] = np.argsort(node_class, kind="stable").tolist()
        starts: list[int] = np.searchsorted(node_class[by_class], np.arange(n_classes + 1)).tolist()
        class_nodes: list[list[int]] = [[] for _ in range(n_classes)]
        parents: list[list[int]] = [[] for _ in range(n_classes)]
        children: list[tuple[int, ...]] = [()] * n
        arity = [-1] * n
        nodes: list[int] = []
        leaves: list[int] = []
        roots: list[int] = list(dict.fromkeys(root.tolist()))
        seen = bytearray(n_classes)
        for cls in roots:
            seen[cls] = 1
        order: list[int] = list(roots)
        for cls in order:  # grows while it is walked: breadth first
            for node in by_class[starts[cls] : starts[cls + 1]]:
                first, last = offset[node], offset[node + 1]
                below = (kids[first],) if last - first == 1 else tuple(dict.fromkeys(kids[first:last]))
                if cls in below:
                    continue
                class_nodes[cls].append(node)
                nodes.append(node)
                children[node] = below
                arity[node] = len(below)
                if not below:
                    leaves.append(node)
                for child in below:
                    parents[child].append(node)
                    if not seen[child]:
                        seen[child] = 1
                        order.append(child)
        return Topology(n, n_classes, roots, nodes, order, owner, children, class_nodes, parents, arity, leaves)
