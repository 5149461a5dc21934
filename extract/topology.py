"""Adjacency lists of an e-graph below its roots: what does not change when costs do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.collector import gc_disabled


class Topology(NamedTuple):
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
    """[n] distinct child classes; of no meaning for nodes that are not in `nodes`."""
    class_nodes: list[list[int]]
    alone: bytes
    """[m] 1 where the class has one node."""
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
        with gc_disabled():
            n = len(node_class)
            slot_node = np.repeat(np.arange(n), np.diff(child_offset))
            usable = np.ones(n, bool)
            usable[slot_node[node_class[slot_node] == child_class]] = False
            kept = usable[slot_node]
            slot_node, slot_child = _distinct(slot_node[kept], child_class[kept], n_classes)
            children = _children(slot_node, slot_child, n)
            nodes = np.flatnonzero(usable)
            class_nodes = _lists(node_class[nodes], nodes, n_classes)
            roots: list[int] = list(dict.fromkeys(root.tolist()))
            classes = _reached(roots, class_nodes, children)
            if len(classes) < n_classes:
                seen = np.zeros(n_classes, bool)
                seen[classes] = True
                usable &= seen[node_class]
                nodes = np.flatnonzero(usable)
                kept = usable[slot_node]
                slot_node, slot_child = slot_node[kept], slot_child[kept]
                for cls in np.flatnonzero(~seen).tolist():
                    class_nodes[cls] = []
            arity = np.full(n, -1)
            arity[nodes] = np.bincount(slot_node, minlength=n)[nodes]
            return Topology(
                n_nodes=n,
                n_classes=n_classes,
                roots=roots,
                nodes=nodes.tolist(),
                classes=classes,
                node_class=node_class.tolist(),
                children=children,
                class_nodes=class_nodes,
                alone=(np.bincount(node_class[nodes], minlength=n_classes) == 1).tobytes(),
                parents=_lists(slot_child, slot_node, n_classes),
                arity=arity.tolist(),
                leaves=nodes[arity[nodes] == 0].tolist(),
            )


def _distinct(
    slot_node: NDArray[np.int64], slot_child: NDArray[np.int32], n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Slots without repeated children; a stable sort is fast on what is sorted by node already."""
    keys = np.sort(slot_node * np.int64(n_classes) + slot_child, kind="stable")
    fresh = np.ones(len(keys), bool)
    fresh[1:] = keys[1:] != keys[:-1]
    node, child = np.divmod(keys[fresh], n_classes)
    return node, child


def _children(slot_node: NDArray[np.int64], slot_child: NDArray[np.int64], n: int) -> list[tuple[int, ...]]:
    """[n] distinct children of each node."""
    ends: list[int] = np.cumsum(np.bincount(slot_node, minlength=n)).tolist()
    flat: list[int] = slot_child.tolist()
    return [tuple(flat[first:last]) for first, last in zip([0, *ends[:-1]], ends, strict=True)]


def _reached(roots: list[int], class_nodes: list[list[int]], children: list[tuple[int, ...]]) -> list[int]:
    """Classes below the roots, breadth first."""
    seen = bytearray(len(class_nodes))
    order = list(roots)
    for cls in order:
        seen[cls] = 1
    for cls in order:  # grows while it is walked
        for node in class_nodes[cls]:
            for child in children[node]:
                if not seen[child]:
                    seen[child] = 1
                    order.append(child)
    return order


def _lists(key: NDArray[Any], value: NDArray[Any], n: int) -> list[list[int]]:
    """[n] the values of each key, in the order they stand in."""
    order = np.argsort(key, kind="stable")
    ends: list[int] = np.cumsum(np.bincount(key, minlength=n)).tolist()
    flat: list[int] = value[order].tolist()
    return [flat[first:last] for first, last in zip([0, *ends[:-1]], ends, strict=True)]
