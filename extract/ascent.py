"""Lower bounds by dual ascent over cuts, and the nodes they rule out.

A cut: let W be classes with the root among them, and S the nodes of W's classes that take no class of W. An answer
starts in W at the root; a chosen node outside S takes a class of W, whose chosen node is looked at next; an answer is
acyclic, so this ends, at a node of S. Hence every answer holds a node of S. Directed cuts of Steiner arborescences are
the case of nodes with one child; conversions between the forms of one value are another.

The ascent finds cuts whose nodes all still have a price, raises the bound by the least of these prices, and takes it
off each of them, until the root can be built from nodes without a price. Source of the scheme: R. T. Wong, "A dual
ascent approach for Steiner tree problems on a directed graph", Math. Programming 28, 1984. A node's remaining price
says how much above the bound every answer with that node costs. W grows from cut to cut until one of its classes can be
built, so a chain of n classes takes n steps.

Measured on the simplified extraction-gym files: the bound is 77 to 100 % of the best cost, in 1 to
200 ms; the LP relaxation without cuts gives 22 to 97 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from extract.bounds import path_bound
from extract.graph import Graph
from extract.settle import INFINITY, settle_dag
from extract.topology import Topology

RELATIVE_ZERO: Final = 1e-12
"""Prices below this part of the greatest are rounding."""


class Ascent(NamedTuple):
    """A bound and how it came about."""

    bound: float
    """No derivation of the roots from these nodes weighs less; inf when there is none."""
    price: list[float]
    """[n] what is left of each weight: an answer with the node weighs at least `bound` plus this."""
    cuts: list[list[int]]
    """Sets of nodes of which every answer holds one."""
    steps: int = 0
    """Nodes looked at."""


def ascend(topology: Topology, weight: list[float], prefer: Sequence[float]) -> Ascent:
    """One ascent. weight: [n] >= 0, inf forbids. prefer: [m], of several classes for a cut the greatest is taken."""
    return _Ascent(topology, weight, prefer).run()


class _Ascent:
    def __init__(self, topology: Topology, weight: list[float], prefer: Sequence[float]) -> None:
        self.topology = topology
        self.prefer = prefer
        self.price = weight.copy()
        self.zero = RELATIVE_ZERO * max((value for value in weight if value < INFINITY), default=1.0)
        self.pending = topology.arity.copy()
        self.built = bytearray(topology.n_classes)
        self.inside = [0] * topology.n_classes
        """The last set W that a class was in, counted from 1."""
        self.stamp = 0
        self.covered = [0] * topology.n_nodes
        """The last set W a class of which, grown already, the node takes."""
        self.stale = False
        """Whether a class of W has been built since it began."""
        self.open: dict[int, None] = {}
        """Nodes of W's classes that take no class of W: the cut."""
        self.cuts: list[list[int]] = []
        self.steps = 0

    def run(self) -> Ascent:
        """Raise the bound until every root can be built from nodes without a price."""
        bound, price = 0.0, self.price.__getitem__
        self._build([node for node in self.topology.leaves if self.price[node] <= self.zero])
        for root in self.topology.roots:
            while not self.built[root]:
                self._begin(root)
                while not self.stale:
                    cut = list(self.open)
                    step = min(map(price, cut), default=INFINITY)
                    if step == INFINITY:
                        return Ascent(INFINITY, self.price, self.cuts, self.steps)
                    bound += step
                    self.cuts.append(cut)
                    self._pay(cut, step)
        return Ascent(bound, self.price, self.cuts, self.steps)

    def _begin(self, root: int) -> None:
        """Take the root, and nothing else yet, into a new set of classes W."""
        self.stamp += 1
        self.stale = False
        self.open = {}
        self.inside[root] = self.stamp
        self._grow([root])

    def _grow(self, order: list[int]) -> None:
        """Take classes into W, and what their nodes without a price still need, so that `open` is a cut again."""
        parents, class_nodes, opened = self.topology.parents, self.topology.class_nodes, self.open
        covered, price, zero, stamp = self.covered, self.price, self.zero, self.stamp
        for cls in order:  # grows while it is walked
            for user in parents[cls]:
                covered[user] = stamp
                if user in opened:
                    del opened[user]
            members = class_nodes[cls]
            self.steps += len(members)
            for node in members:
                if price[node] <= zero:
                    self._need(node, order)
                elif covered[node] != stamp:
                    opened[node] = None

    def _need(self, node: int, order: list[int]) -> None:
        """Nothing to pay for a node of W, so its class is not built only because a child is not: take that into W."""
        built, inside, prefer, stamp = self.built, self.inside, self.prefer, self.stamp
        taken = -1
        for child in self.topology.children[node]:
            if inside[child] == stamp:
                return
            if not built[child] and (taken < 0 or prefer[child] > prefer[taken]):
                taken = child
        inside[taken] = stamp
        order.append(taken)

    def _pay(self, cut: list[int], step: float) -> None:
        """Take the step off the prices of a cut, build what that makes free, and grow W past the nodes that are free
        now; where a class of W is built, W has to begin anew.
        """
        price, zero = self.price, self.zero
        free: list[int] = []
        for node in cut:
            price[node] -= step
            if price[node] <= zero:
                price[node] = 0.0
                free.append(node)
        self._build([node for node in free if not self.pending[node]])
        self.steps += len(cut)
        order: list[int] = []
        for node in free:
            if self.stale:
                return
            del self.open[node]
            self._need(node, order)
        self._grow(order)

    def _build(self, nodes: list[int]) -> None:
        """Mark the classes of nodes that are free and whose children are built, and what follows."""
        owner, parents = self.topology.node_class, self.topology.parents
        pending, built, price, zero = self.pending, self.built, self.price, self.zero
        stack = nodes
        while stack:
            cls = owner[stack.pop()]
            if built[cls]:
                continue
            built[cls] = 1
            if self.inside[cls] == self.stamp:
                self.stale = True
            for user in parents[cls]:
                pending[user] -= 1
                if not pending[user] and price[user] <= zero:
                    stack.append(user)


def preferences(graph: Graph, weight: list[float]) -> list[list[float]]:
    """Which class to take into a cut: that of the dearest path, of the greatest greedy price, against the path."""
    topology = graph.topology
    paths = path_bound(topology, weight)
    prices = settle_dag(topology, weight).value
    return [paths, prices, [-path for path in paths]]
