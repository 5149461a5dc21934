"""An e-graph that is made smaller step by step, each step leaving every best answer reachable.

Nodes and classes keep their numbers; a step kills nodes, drops classes, or joins two nodes into a new one whose
`parts` are the two. Steps that hold under all costs come first (`structural`), so that many cost vectors share them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from extract.answer import slack
from extract.components import components
from extract.errors import InfeasibleError
from extract.graph import NO_GROUP, Graph
from extract.needs import Needs, needs
from extract.settle import INFINITY

MAX_DOMINANCE_PAIRS: Final = 400
"""Classes with more nodes than this skip the pairwise dominance test, which is quadratic in the nodes of a class."""

MAX_NEED_CLASSES: Final = 20_000
"""Sets of needed classes take up to a bit per pair of classes: 50 MB at this size."""

NO_ALTERNATIVE: Final = (NO_GROUP, 0)


class Reduction:
    """The shrinking graph. Node lists grow by joined nodes; `members` and `parents` hold living nodes only."""

    def __init__(self, graph: Graph, *, costed: bool) -> None:
        topology = graph.topology
        self.costed = costed
        self.n_original = graph.n_nodes
        self.rewards = graph.has_rewards
        self.topology = topology
        self.owner = topology.node_class.copy()
        self.kids: list[frozenset[int]] = [frozenset()] * graph.n_nodes
        self.cost = graph.columns.cost.copy()
        self.tag: list[tuple[int, int]] = [NO_ALTERNATIVE] * graph.n_nodes
        self.no_use = (0.0,) * len(graph.columns.limit)
        """The one object that all nodes have which use nothing: most nodes."""
        self.use = [self.no_use] * graph.n_nodes
        for node, use in enumerate(zip(*graph.columns.resource, strict=True)):
            if any(use):
                self.use[node] = use
        self.limit = graph.columns.limit.copy()
        self.tolerance = [slack(limit) / 10 for limit in self.limit]  # what is left of a limit was rounded
        self.parts: dict[int, tuple[int, ...]] = {}
        self.members: list[set[int]] = [set() for _ in range(graph.n_classes)]
        self.parents: list[set[int]] = [set() for _ in range(graph.n_classes)]
        self.roots = dict.fromkeys(topology.roots)
        self.forced: list[int] = []
        self.base = 0.0
        self.queue: deque[int] = deque()
        self.queued = bytearray(graph.n_classes)
        self.classes: list[int] = []
        self.order: list[list[int]] = []
        self.component: list[int] = []
        self.steps: dict[str, int] = {}
        self._fill(graph)

    def run(self) -> None:
        """Apply all steps until none applies. Raises InfeasibleError (without a reason) when no answer is left."""
        self._components()
        self._settle_tags()
        for cls in self.classes:
            self._touch(cls)
        self._drain()
        while self._apply_needs():
            self._drain()

    # --- what is there

    def _fill(self, graph: Graph) -> None:
        """Take in the nodes that can be built and are reached from the roots through such nodes."""
        topology = self.topology
        alive = self._buildable(graph)
        children, kids, parents = topology.children, self.kids, self.parents
        seen = bytearray(graph.n_classes)
        order = list(topology.roots)
        for cls in order:
            seen[cls] = 1
        for cls in order:  # grows while it is walked
            living = [node for node in topology.class_nodes[cls] if alive[node]]
            self.members[cls] = set(living)
            for node in living:
                kids[node] = frozenset(children[node])
                for child in children[node]:
                    parents[child].add(node)
                    if not seen[child]:
                        seen[child] = 1
                        order.append(child)
        self.classes = order
        if any(not self.members[root] for root in topology.roots):
            raise InfeasibleError
        if max(graph.columns.group, default=NO_GROUP) > NO_GROUP:
            group, alternative = graph.columns.group, graph.columns.alternative
            self.tag = [(g, a) if g >= 0 else NO_ALTERNATIVE for g, a in zip(group, alternative, strict=True)]

    def _buildable(self, graph: Graph) -> bytearray:
        topology = self.topology
        pending = topology.arity.copy()
        alive = bytearray(len(pending))
        usable = self._usable(graph)
        built = bytearray(topology.n_classes)
        order: list[int] = []
        for node in topology.leaves:
            if usable[node]:
                alive[node] = 1
                cls = self.owner[node]
                if not built[cls]:
                    built[cls] = 1
                    order.append(cls)
        for cls in order:  # grows while it is walked
            for node in topology.parents[cls]:
                pending[node] -= 1
                if not pending[node] and usable[node]:
                    alive[node] = 1
                    user = self.owner[node]
                    if not built[user]:
                        built[user] = 1
                        order.append(user)
        return alive

    def _usable(self, graph: Graph) -> list[bool]:
        """For each node: does it cost less than infinity and fit alone?"""
        return [cost < INFINITY and self._fits(self.use[node]) for node, cost in enumerate(graph.columns.cost)]

    def _fits(self, use: tuple[float, ...]) -> bool:
        if use is self.no_use:
            return True
        return all(used <= limit + over for used, limit, over in zip(use, self.limit, self.tolerance, strict=True))

    def _components(self) -> None:
        found = components(self.classes, self.members, self.kids, self.parents, self.owner)
        self.order, self.component = found.order, found.of
        self.classes = [cls for component in found.order for cls in component]

    # --- steps

    def _drain(self) -> None:
        """Look at every class that changed, until none does."""
        while self.queue:
            cls = self.queue.popleft()
            self.queued[cls] = 0
            self._visit(cls)

    def _visit(self, cls: int) -> None:
        members, parents = self.members[cls], self.parents[cls]
        required = cls in self.roots
        if not members:
            if required:
                raise InfeasibleError
            for node in list(parents):
                self._kill(node, "unbuildable")
            return
        if not required and not parents:
            for node in list(members):
                self._kill(node, "unreachable")
            return
        if self.costed and len(members) > 1:
            self._drop_dominated(cls)
        if required:
            self._visit_required(cls)
        elif len(parents) == 1:
            self._collapse(cls)
        elif len(members) == 1 and self._contractible(cls):
            self._contract(cls)
        elif self.costed:
            self._pull_up(cls)

    def _visit_required(self, cls: int) -> None:
        """A class that every answer holds needs no users, except to tell cycles."""
        for node in list(self.parents[cls]):
            if self.component[self.owner[node]] != self.component[cls]:
                self._set_kids(node, self.kids[node] - {cls})
        if len(self.members[cls]) == 1:
            self._force(cls)

    def _force(self, cls: int) -> None:
        """Take the only node of a class that every answer holds into every answer."""
        (node,) = self.members[cls]
        self._count("forced")
        self.forced.append(node)
        self.base += self.cost[node]
        for child in self.kids[node]:
            self.roots[child] = None
            self._touch(child)
        for row, used in enumerate(self.use[node]):
            left = self.limit[row] - used
            if left < -self.tolerance[row]:
                raise InfeasibleError
            self.limit[row] = max(left, 0.0)
        tag = self.tag[node]
        del self.roots[cls]
        for user in list(self.parents[cls]):
            self._replace(user, cls, self.kids[node])
        self._kill(node, None)
        if tag != NO_ALTERNATIVE:
            self._decide(*tag)

    def _decide(self, group: int, alternative: int) -> None:
        """Fix a group's alternative: the others die, the nodes of this one are free of the group."""
        for cls in self.classes:
            for node in list(self.members[cls]):
                if self.tag[node][0] == group:
                    if self.tag[node][1] != alternative:
                        self._kill(node, "of another alternative")
                    else:
                        self.tag[node] = NO_ALTERNATIVE
                        self._touch(cls)

    def _settle_tags(self) -> None:
        """Groups with one alternative left bind nothing."""
        options: dict[int, set[int]] = {}
        tagged = [node for cls in self.classes for node in self.members[cls] if self.tag[node] != NO_ALTERNATIVE]
        for node in tagged:
            options.setdefault(self.tag[node][0], set()).add(self.tag[node][1])
        for node in tagged:
            if len(options[self.tag[node][0]]) == 1:
                self.tag[node] = NO_ALTERNATIVE
                self._touch(self.owner[node])

    def _collapse(self, cls: int) -> None:
        """Join the only user of a class with each node of the class."""
        (user,) = self.parents[cls]
        members = self.members[cls]
        rest = self.kids[user] - {cls}
        if len(members) > 1 and len(rest) > 1 and len(members) * len(rest) > 4 * (len(members) + len(rest)):
            if self.costed:
                self._pull_up(cls)
            return
        if self.tag[user] != NO_ALTERNATIVE and any(self.tag[node] != NO_ALTERNATIVE for node in members):
            return
        self._count("collapsed")
        above = self.owner[user]
        for node in list(members):
            kids = rest | self.kids[node]
            if above not in kids:  # else it would take its own class
                self._join(user, node, kids)
        self._kill(user, None)
        for node in list(members):
            self._kill(node, None)

    def _join(self, user: int, node: int, kids: frozenset[int]) -> None:
        above, below = self.use[user], self.use[node]
        if above is self.no_use or below is self.no_use:
            use = below if above is self.no_use else above
        else:
            use = tuple(a + b for a, b in zip(above, below, strict=True))
            if not self._fits(use):
                return
        new = len(self.owner)
        cls = self.owner[user]
        self.owner.append(cls)
        self.kids.append(kids)
        self.cost.append(self.cost[user] + self.cost[node])
        self.tag.append(self.tag[user] if self.tag[user] != NO_ALTERNATIVE else self.tag[node])
        self.use.append(use)
        self.parts[new] = (user, node)
        self.members[cls].add(new)
        for child in kids:
            self.parents[child].add(new)
        self._touch(cls)

    def _contractible(self, cls: int) -> bool:
        """Whether users may take the children of a class's only node instead: it must cost and bind nothing."""
        (node,) = self.members[cls]
        if not self.costed or self.cost[node] or self.tag[node] != NO_ALTERNATIVE or any(self.use[node]):
            return False
        kids, parents = len(self.kids[node]), len(self.parents[cls])
        return kids <= 1 or kids * parents <= 2 * (kids + parents)

    def _contract(self, cls: int) -> None:
        (node,) = self.members[cls]
        self._count("contracted")
        for user in list(self.parents[cls]):
            if self._replace(user, cls, self.kids[node]):
                self.parts[user] = (*self.parts.get(user, ()), node)
        self._kill(node, None)

    def _pull_up(self, cls: int) -> None:
        """Move the least cost of a class onto its users when one class holds them all: at most one is chosen."""
        parents = self.parents[cls]
        above = {self.owner[user] for user in parents}
        members = self.members[cls]
        least = min(self.cost[node] for node in members)
        if len(above) != 1 or not least:
            return
        self._count("pulled up")
        for node in members:
            self.cost[node] -= least
        for user in parents:
            self.cost[user] += least
        self._touch(above.pop())
        self._touch(cls)

    def _drop_dominated(self, cls: int) -> None:
        members = self.members[cls]
        if len(members) > MAX_DOMINANCE_PAIRS:
            return
        cost, kids = self.cost, self.kids
        kept: list[int] = []
        for node in sorted(members, key=lambda n: (len(kids[n]), cost[n], self.tag[n], n)):
            price, has = cost[node], kids[node]
            for other in kept:
                if cost[other] <= price and kids[other] <= has and self._stands_in(other, node):
                    self._kill(node, "dominated")
                    break
            else:
                kept.append(node)

    def _stands_in(self, other: int, node: int) -> bool:
        """Whether a node may always stand in for one that is no cheaper and has its children too."""
        if self.rewards and self.kids[other] != self.kids[node]:
            return False  # a class that is no longer needed may have been a reward
        return self._binds_no_more(other, node)

    def _binds_no_more(self, other: int, node: int) -> bool:
        if self.tag[other] not in (NO_ALTERNATIVE, self.tag[node]):
            return False
        less, more = self.use[other], self.use[node]
        return less is self.no_use or less is more or all(a <= b for a, b in zip(less, more, strict=True))

    # --- needs

    def _apply_needs(self) -> bool:
        """Use what each class cannot do without: more roots, fewer nodes. False when nothing came of it."""
        self._keep_reachable()
        if len(self.classes) > MAX_NEED_CLASSES:
            return False
        self._components()
        self._settle_tags()
        self._drop_oversized()
        found = needs(self.order, self.members, self.kids)
        required = found.of_all(self.roots)
        for cls in self.classes:
            if required & found.bit[cls] and cls not in self.roots:
                self._count("required")
                self.roots[cls] = None
                self._touch(cls)
            for node in list(self.members[cls]) if len(self.order[self.component[cls]]) > 1 else ():
                if found.of_all(self.kids[node]) & found.bit[cls]:
                    self._kill(node, "cyclic")  # below it, every way leads back to its class
            if self.costed and not self.rewards and 1 < len(self.members[cls]) <= MAX_DOMINANCE_PAIRS:
                self._drop_dominated_below(cls, found)
        return bool(self.queue)

    def _keep_reachable(self) -> None:
        """Drop what the roots no longer reach; cycles keep themselves in use."""
        seen = dict.fromkeys(self.roots)
        order = list(seen)
        for cls in order:  # grows while it is walked
            for node in self.members[cls]:
                for child in self.kids[node]:
                    if child not in seen:
                        seen[child] = None
                        order.append(child)
        for cls in self.classes:
            if cls not in seen:
                for node in list(self.members[cls]):
                    self._kill(node, "unreachable")
        self.classes = [cls for cls in self.classes if cls in seen]
        self._drain()

    def _drop_dominated_below(self, cls: int, found: Needs) -> None:
        """Dominance where a node's classes need not be its children, only be below it."""
        kept: list[tuple[int, int]] = []
        for node in sorted(self.members[cls], key=lambda n: (self.cost[n], len(self.kids[n]), self.tag[n], n)):
            lacking = ~found.of_all(self.kids[node])
            for other, bits in kept:
                if not bits & lacking and self._binds_no_more(other, node):
                    self._kill(node, "dominated")
                    break
            else:
                kept.append((node, found.bits(self.kids[node])))

    def _drop_oversized(self) -> None:
        """Nodes that exceed what the forced nodes leave of a resource."""
        for cls in self.classes if self.limit else ():
            for node in list(self.members[cls]):
                if not self._fits(self.use[node]):
                    self._kill(node, "oversized")

    # --- bookkeeping

    def _touch(self, cls: int) -> None:
        """Have a class looked at again."""
        if not self.queued[cls]:
            self.queued[cls] = 1
            self.queue.append(cls)

    def _count(self, step: str) -> None:
        self.steps[step] = self.steps.get(step, 0) + 1

    def _kill(self, node: int, step: str | None) -> None:
        """Take a node out; step: what it counts as."""
        if step is not None:
            self._count(step)
        cls = self.owner[node]
        self.members[cls].discard(node)
        self._touch(cls)
        for child in self.kids[node]:
            self.parents[child].discard(node)
            self._touch(child)

    def _set_kids(self, node: int, kids: Iterable[int]) -> None:
        new = frozenset(kids)
        old = self.kids[node]
        for child in old - new:
            self.parents[child].discard(node)
            self._touch(child)
        for child in new - old:
            self.parents[child].add(node)
            self._touch(child)
        self.kids[node] = new
        self._touch(self.owner[node])

    def _replace(self, node: int, cls: int, by: frozenset[int]) -> bool:
        """Give a node other children for one; False when that makes it take its own class, and kills it."""
        kids = (self.kids[node] - {cls}) | by
        if self.owner[node] in kids:
            self._kill(node, "cyclic")
            return False
        self._set_kids(node, kids)
        return True
