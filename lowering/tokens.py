"""Memory order from tokens: the accesses that every load and store is ordered after, as sets of ids.

A load's id is the class of its value, a store's is `STORE` plus its number in the skeleton. Tokens carried by a loop
make the relation cyclic, so it is solved as a least fixpoint over all token classes.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph import leaves
from egraph.forms import Form
from egraph.placed import Load
from egraph.skeleton import SkeletonBranch, SkeletonEffect, SkeletonLoop
from egraph.term import Node
from ir.dialects import cuda_tile as ct
from lowering.selection import Selection

Accesses = frozenset[int]
STORE = 1 << 40  # beyond every class id


class Order:
    """Accesses by id and what each is ordered after; `loads` maps an id to the placed classes that perform it."""

    def __init__(self, selection: Selection):
        self.frozen = selection.saturated.frozen
        self.owner = selection.owner
        self.items: dict[int, SkeletonEffect | SkeletonBranch] = {}
        self.loops: dict[int, SkeletonLoop] = {}
        for item in selection.saturated.program.skeleton.walk():
            if isinstance(item, SkeletonEffect | SkeletonBranch):
                self.items[item.item] = item
            elif isinstance(item, SkeletonLoop):
                self.loops[item.loop] = item
        self.loads: dict[int, list[int]] = {}
        for placed, node in selection.node.items():
            if isinstance(node, Load):
                self.loads.setdefault(self.load_id(placed), []).append(placed)
        self.load_ids = frozenset(self.loads)
        self._values = {n.source: n.cls for n in self.frozen.nodes if isinstance(n, leaves.Projection) and n.index == 0}
        self._after = self._solve(around=True)
        self._within = self._solve(around=False)
        stores = (self.of_store(item) for item in self.items.values() if isinstance(item, SkeletonEffect))
        self._overwritten = self.load_ids.intersection(frozenset[int]().union(*stores))
        everyone = selection.saturated.program.skeleton.items
        waits = (each for each in everyone if isinstance(each, SkeletonEffect) and isinstance(each.op, ct.GdcWait))
        self._waits = frozenset(map(self.store_id, waits))

    def load_id(self, placed: int) -> int:
        """The id of a placed load, the same for all layouts of one value."""
        return self.owner[placed][0]

    @staticmethod
    def store_id(item: SkeletonEffect) -> int:
        """The id of a store."""
        return STORE + item.item

    def of_load(self, node: Load) -> Accesses:
        """What a placed load comes after."""
        return self._after.get(node.token, frozenset())

    def stores_before(self, node: Load) -> Accesses:
        """The stores that a placed load comes after."""
        return self.of_load(node) - self.load_ids

    def after_store(self, node: Load) -> bool:
        """Does some agent perform a store that a placed load is ordered after? Each agent waits for preceding grids
        itself, unless the wait is in a branch or a loop, where the threads that reach it wait.
        """
        return not self.stores_before(node) <= self._waits

    def alone(self, node: Load) -> bool:
        """Is no store of the kernel ordered with this load? Then any agent may perform it at any time."""
        return not self.stores_before(node) and self.load_id(node.cls) not in self._overwritten

    def of_store(self, item: SkeletonEffect) -> Accesses:
        """What a store comes after."""
        return self._after.get(self._token_of_store(item), frozenset())

    def loads_before(self, item: SkeletonEffect) -> Accesses:
        """The loads that a store comes after and that are not those of an earlier iteration."""
        return self._within.get(self._token_of_store(item), frozenset()) & self.load_ids

    def inside(self, loop: SkeletonLoop) -> Accesses:
        """Accesses made in a loop's body."""
        deps = self.frozen.analysis.get("deps", {})
        items = (item for item in loop.body.walk() if isinstance(item, SkeletonEffect))
        stores = (self.store_id(item) for item in items if not isinstance(item.op, ct.GdcWait | ct.GdcLaunchDependents))
        return frozenset((*stores, *(v for v in self.load_ids if deps.get(v, 0) >> loop.loop & 1)))

    def _token_of_store(self, item: SkeletonEffect) -> int:
        return -1 if getattr(item.op, "token", None) is None else self.frozen.class_of(item.operands[-1])

    def _solve(self, around: bool) -> dict[int, Accesses]:
        """Everything that a token is ordered after, from the facts of each token class; `around` loops or not."""
        after: dict[int, Accesses] = {}
        needs: dict[int, set[int]] = {}
        waiting = [n.token for n in self.frozen.nodes if isinstance(n, Load)]
        waiting += [self._token_of_store(item) for item in self.items.values() if isinstance(item, SkeletonEffect)]
        while waiting:
            token = waiting.pop()
            if token in after:
                continue
            facts = [fact for node in self.frozen.by_class.get(token, ()) for fact in self._facts(node, around)]
            after[token] = frozenset(access for access, _ in facts if access >= 0)
            needs[token] = {needed for _, needed in facts if needed >= 0}
            waiting += needs[token]
        changed = True
        while changed:
            changed = False
            for token, needed in needs.items():
                found = after[token].union(*(after[n] for n in needed))
                changed = changed or found != after[token]
                after[token] = found
        return after

    def _facts(self, node: Node, around: bool) -> Iterator[tuple[int, int]]:
        """(access that this token comes after, token whose accesses it comes after too), -1 for none."""
        class_of = self.frozen.class_of
        match node:
            case leaves.Cons():
                yield from ((-1, child) for child in node.children)
            case Form() if node.operation is ct.JoinTokens:
                yield from ((-1, child) for child in node.children)
            case leaves.Projection():
                for load in self.frozen.by_class.get(node.source, ()):
                    if isinstance(load, Form):
                        yield self._values.get(load.cls, -1), load.operand(ct.LoadPtr.token)
            case leaves.Effect():
                item = self.items[node.item]
                if isinstance(item, SkeletonEffect) and isinstance(item.op, ct.GdcLaunchDependents):
                    yield -1, self._token_of_store(item)  # it changes no memory
                elif isinstance(item, SkeletonEffect):
                    yield self.store_id(item), self._token_of_store(item)
                elif node.index < len(item.results):
                    yield from ((-1, class_of(y[node.index])) for y in (item.then_yields, item.otherwise_yields))
            case leaves.Around():
                loop = self.loops[node.loop]
                yield -1, class_of(loop.inits[node.index])
                if around or isinstance(node, leaves.LoopResult):
                    yield -1, class_of(loop.yields[node.index])
            case _:
                pass
