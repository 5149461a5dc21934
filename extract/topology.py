"""Adjacency lists of an e-graph below its roots: what does not change when costs do."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import NamedTuple

from extract.collector import gc_disabled
from extract.columns import Columns


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
    def of(columns: Columns, n_classes: int) -> Topology:
        """Build from columns that `Graph` has validated."""
        with gc_disabled():
            node_class, offset, slots = columns.node_class, columns.child_offset, columns.child_class
            children = [_children(slots[first:last]) for first, last in pairwise(offset)]
            class_nodes: list[list[int]] = [[] for _ in range(n_classes)]
            for node, (cls, below) in enumerate(zip(node_class, children, strict=True)):
                if cls not in below:
                    class_nodes[cls].append(node)
            roots = list(dict.fromkeys(columns.root))
            classes = _reached(roots, class_nodes, children)
            if len(classes) < n_classes:
                for cls in set(range(n_classes)).difference(classes):
                    class_nodes[cls] = []
            nodes = sorted(chain.from_iterable(class_nodes))
            arity = [-1] * len(node_class)
            parents: list[list[int]] = [[] for _ in range(n_classes)]
            for node in nodes:
                below = children[node]
                arity[node] = len(below)
                for child in below:
                    parents[child].append(node)
            return Topology(
                n_nodes=len(node_class),
                n_classes=n_classes,
                roots=roots,
                nodes=nodes,
                classes=classes,
                node_class=node_class,
                children=children,
                class_nodes=class_nodes,
                alone=bytes([len(members) == 1 for members in class_nodes]),
                parents=parents,
                arity=arity,
                leaves=[node for node in nodes if not arity[node]],
            )


def _children(slots: list[int]) -> tuple[int, ...]:
    """Distinct children in rising order."""
    return tuple(slots) if len(slots) < 2 else tuple(sorted(set(slots)))


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
