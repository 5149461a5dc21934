"""Lower bounds by dual ascent over cuts, and the nodes they rule out.

A cut: let W be classes with the root among them, and S the nodes of W's classes that take no class of W. An answer
starts in W at the root; a chosen node outside S takes a class of W, whose chosen node is looked at next; an answer is
acyclic, so this ends, at a node of S. Hence every answer holds a node of S. Directed cuts of Steiner arborescences are
the case of nodes with one child; conversions between the forms of one value are another.

The ascent finds cuts whose nodes all still have a price, raises the bound by the least of these prices, and takes it
off each of them, until the root can be built from nodes without a price. Source of the scheme: R. T. Wong, "A dual
ascent approach for Steiner tree problems on a directed graph", Math. Programming 28, 1984. A node's remaining price
is how much above the bound every answer with that node costs. Where one of W's classes
can be built, W begins anew as long as that is cheap, and else shrinks, so a chain of n classes takes about n steps.

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

ANEW: Final = 24.0
"""Steps that sets W that begin anew may take for each other step. They are smaller than sets that shrink: their bounds
are higher on 19 of 320 files of extraction-gym, by at most 12 %, and lower on 3. They take up to 15.5 there, but 46 to
64 on a chain of 1,000 operations.
"""

ROOT: Final = -1
"""Of a root: the node that it was taken for."""


class Ascent(NamedTuple):
    """A bound and how it came about."""

    bound: float
    """No derivation of the roots from these nodes weighs less; inf when there is none."""
    price: list[float]
    """[n] what is left of each weight: an answer with the node weighs at least `bound` plus this."""
    cuts: list[list[int]]
    """Sets of nodes; every answer contains a node of each."""
    steps: int = 0
    """Nodes looked at, each time."""
    grown: int = 0
    """Nodes of the cuts and of the classes that W took in, each time: what a budget counts."""


def ascend(topology: Topology, weight: list[float], prefer: Sequence[float], anew: float = ANEW) -> Ascent:
    """One ascent. weight: [n] >= 0, inf forbids. prefer: [m], of several classes for a cut the greatest is taken. anew:
    steps of sets that begin anew for each other step; at 0 sets always shrink.
    """
    return _Ascent(topology, weight, prefer, anew).run()


class _Ascent:
    """W is a tree in the order in which it grew: each class but the root was taken for a free node of an earlier one.
    Where a class of it has been built, W begins anew as long as that is cheap; else it shrinks: the class leaves, and
    what was taken for it alone.
    """

    def __init__(self, topology: Topology, weight: list[float], prefer: Sequence[float], anew: float) -> None:
        self.topology = topology
        self.prefer = prefer
        self.allowed = anew
        self.zero = RELATIVE_ZERO * max((value for value in weight if value < INFINITY), default=1.0)
        self.price = [value if value > self.zero else 0.0 for value in weight]
        self.pending = topology.arity.copy()
        self.built = bytearray(topology.n_classes)
        self.joined: dict[int, int] = {}
        """The classes of W, each with the number of classes that W had had before."""
        self.taken_for = [ROOT] * topology.n_classes
        """[m] the node that a class of W was taken for."""
        self.cover = [0] * topology.n_nodes
        """[n] how many classes of W a node takes."""
        self.count = 0
        self.gone: list[int] = []
        """Classes of W that have been built."""
        self.open: dict[int, None] = {}
        """Nodes of W's classes that take no class of W: the cut."""
        self.cuts: list[list[int]] = []
        self.steps = 0
        self.grown = 0
        self.anew = 0
        """Steps of sets W that began anew."""

    def run(self) -> Ascent:
        """Raise the bound until every root can be built from nodes without a price."""
        bound, price, built = 0.0, self.price.__getitem__, self.built
        self._build([node for node in self.topology.leaves if self.price[node] <= self.zero])
        for root in self.topology.roots:
            if not built[root]:
                self._begin(root)
            while not built[root]:
                cut = list(self.open)
                step = min(map(price, cut), default=INFINITY)
                if step == INFINITY:
                    return Ascent(INFINITY, self.price, self.cuts, self.steps, self.grown)
                bound += step
                self.cuts.append(cut)
                free = self._pay(cut, step)
                if not self.gone:
                    self._extend(free)
                elif built[root] or self.anew <= self.allowed * (self.steps - self.anew):
                    self._begin(root)
                else:
                    self._extend(free + self._shrink())
        return Ascent(bound, self.price, self.cuts, self.steps, self.grown)

    def _begin(self, root: int) -> None:
        """Let W hold the root and what its free nodes need; nothing where the root has been built."""
        parents, cover, before = self.topology.parents, self.cover, self.steps
        for cls in self.joined:
            self.steps += len(parents[cls])
            for user in parents[cls]:
                cover[user] = 0
        self.joined.clear()
        self.open.clear()
        self.gone.clear()
        if self.built[root]:
            return
        fresh: list[int] = []
        self._take(root, ROOT, fresh)
        self._grow(fresh)
        self.anew += self.steps - before

    def _take(self, cls: int, node: int, fresh: list[int]) -> None:
        """Take a class into W for a node."""
        cover, opened = self.cover, self.open
        self.count += 1
        self.joined[cls] = self.count
        self.taken_for[cls] = node
        fresh.append(cls)
        users = self.topology.parents[cls]
        self.steps += len(users)
        for user in users:
            cover[user] += 1
            if user in opened:
                del opened[user]

    def _grow(self, fresh: list[int]) -> None:
        """Take in what the free nodes of classes that are new in W still need, so that `open` is a cut again."""
        class_nodes, cover, price, zero = self.topology.class_nodes, self.cover, self.price, self.zero
        for cls in fresh:  # grows while it is walked
            members = class_nodes[cls]
            self.steps += len(members)
            self.grown += len(members)
            for node in members:
                if not cover[node]:
                    if price[node] <= zero:
                        self._need(node, fresh)
                    else:
                        self.open[node] = None

    def _need(self, node: int, fresh: list[int]) -> None:
        """Nothing to pay for a node of W, so its class is not built only because a child is not: take that into W."""
        built, prefer = self.built, self.prefer
        taken = -1
        for child in self.topology.children[node]:
            if not built[child] and (taken < 0 or prefer[child] > prefer[taken]):
                taken = child
        self._take(taken, node, fresh)

    def _pay(self, cut: list[int], step: float) -> list[int]:
        """Take the step off the prices of a cut and build what that makes free; the nodes that are free now."""
        price, zero = self.price, self.zero
        free: list[int] = []
        for node in cut:
            price[node] -= step
            if price[node] <= zero:
                price[node] = 0.0
                free.append(node)
                del self.open[node]
        self.steps += len(cut)
        self.grown += len(cut)
        self._build([node for node in free if not self.pending[node]])
        return free

    def _extend(self, bare: list[int]) -> None:
        """Let W grow past nodes; some may take none of its classes."""
        joined, cover, price, zero = self.joined, self.cover, self.price, self.zero
        owner, fresh = self.topology.node_class, list[int]()
        for node in bare:
            if not cover[node] and owner[node] in joined:
                if price[node] <= zero:
                    self._need(node, fresh)
                else:
                    self.open[node] = None
        self._grow(fresh)

    def _shrink(self) -> list[int]:
        """Let the classes that have been built leave W, and those that no free node of an earlier class takes any more.
        Returns the nodes that may take no class of W any more.
        """
        joined, cover, taken_for = self.joined, self.cover, self.taken_for
        class_nodes, children, parents = self.topology.class_nodes, self.topology.children, self.topology.parents
        bare: list[int] = []
        leaving = self.gone
        for cls in leaving:  # grows while it is walked
            if cls not in joined or (not self.built[cls] and self._held(cls)):
                continue
            del joined[cls]
            for node in class_nodes[cls]:
                self.open.pop(node, None)
                leaving.extend(child for child in children[node] if child in joined and taken_for[child] == node)
            users = parents[cls]
            self.steps += len(class_nodes[cls]) + len(users)
            for user in users:
                cover[user] -= 1
                if not cover[user]:
                    bare.append(user)
        self.gone = []
        return bare

    def _held(self, cls: int) -> bool:
        """Whether a free node of an earlier class of W takes a class, for which it stays."""
        joined, owner, price, zero = self.joined, self.topology.node_class, self.price, self.zero
        place, users = joined[cls], self.topology.parents[cls]
        self.steps += len(users)
        for user in users:
            if price[user] <= zero and joined.get(owner[user], place) < place:
                self.taken_for[cls] = user
                return True
        return False

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
            if cls in self.joined:
                self.gone.append(cls)
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
