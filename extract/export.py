"""An extraction graph from the nodes of a saturated e-graph, as an e-graph engine exports them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Protocol, TypeVar

import numpy as np

from extract.collector import gc_disabled
from extract.graph import Graph


class ENode(Protocol):
    """The properties of an e-node that extraction needs; `egraph.frozen.Node` has them."""

    @property
    def op(self) -> str:
        """Operator name."""
        ...

    @property
    def cls(self) -> int:
        """The class it is in."""
        ...

    @property
    def children(self) -> Sequence[int]:
        """Classes of its operands."""
        ...


AnyNode = TypeVar("AnyNode", bound=ENode)


def from_nodes(nodes: Sequence[AnyNode], roots: Sequence[int], cost: Callable[[AnyNode], float]) -> Graph:
    """The graph of these e-nodes; node ids are places in `nodes`. cost: inf forbids a node. Raises GraphError."""
    with gc_disabled():
        return _from_nodes(nodes, roots, cost)


def _from_nodes(nodes: Sequence[AnyNode], roots: Sequence[int], cost: Callable[[AnyNode], float]) -> Graph:
    children = [node.children for node in nodes]
    return Graph.build(
        node_op=[node.op for node in nodes],
        node_class=np.array([node.cls for node in nodes], np.int32),
        child_offset=np.array([0, *accumulate(map(len, children))], np.int32),
        child_class=np.array(list(chain.from_iterable(children)), np.int32),
        cost=np.array([cost(node) for node in nodes], np.float64),
        root=np.array(roots, np.int32),
    )
