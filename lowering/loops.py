"""Which values depend on a loop: a counter, carried value or result that rewriting found equal to something computed
without its loop must not be chosen for it, or the loop would be needed before it starts. Likewise an assumption in a
region must not compute a value that does not depend on the region: outside it the assumption may not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from egraph.frozen import Frozen
from egraph.leaves import Around, Carry, Induction, LoopLeaf, Promised
from egraph.placed import Instead
from egraph.saturate import Saturated
from egraph.skeleton import SkeletonBranch, SkeletonLoop, SkeletonRegion
from egraph.term import Node
from lowering.steering import steering


class Loops:
    """The loops of a program; they decide whether a placed term may be chosen for its value class; `owner`: the value
    class and the layout of each placed class; `written`: value classes that no replacement is chosen for.
    """

    def __init__(
        self, saturated: Saturated, owner: Mapping[int, tuple[int, int]], written: frozenset[int] = frozenset()
    ):
        self.saturated = saturated
        self.written = written
        self.frozen: Frozen = saturated.frozen
        self.owner = owner
        self.loops = {item.loop: item for item in saturated.program.skeleton.walk() if isinstance(item, SkeletonLoop)}
        self._without: dict[int, set[int]] = {}

    def stands(self, node: Node) -> bool:
        """May a placed node be chosen for its value? Only leaves of loops, and terms that depend on assumptions,
        are in question.
        """
        value = self.owner.get(node.cls, (-1, -1))[0]
        if isinstance(node, Instead) and (value in self.steering or value in self.written):
            return False
        if self.promising and self.leaks(node, value):
            return False
        if not isinstance(node, LoopLeaf) or len(self.frozen.by_class.get(value, ())) == 1:
            return True
        return value not in self.without(node.loop)

    @cached_property
    def steering(self) -> set[int]:
        """Value classes that control depends on."""
        return steering(self.saturated)

    @cached_property
    def promising(self) -> int:
        """The regions with assumptions, and those enclosing them, as a mask of `deps`."""
        found = 0
        for node in self.frozen.nodes:
            found |= node.scope if isinstance(node, Promised) else 0
        return found

    def leaks(self, node: Node, value: int) -> bool:
        """Is it computed in a region with assumptions that its value does not depend on?"""
        deps = self.frozen.analysis.get("deps", {})
        needed = node.scope if isinstance(node, Promised) else 0
        for child in node.children:
            needed |= deps.get(self.owner[child][0], 0) if child in self.owner else 0
        return bool(needed & self.promising & ~deps.get(value, 0))

    @cached_property
    def before_last(self) -> set[int]:
        """Value classes that can be computed before all outermost loops have ended: each independent of one of them."""
        outermost = [path[0] for path in paths(self.saturated.program.skeleton).values() if len(path) == 1]
        return {value for loop in outermost for value in self.without(loop)}

    def without(self, loop: int) -> set[int]:
        """Value classes that can be computed without this loop: a least fixpoint."""
        found = self._without.get(loop)
        if found is None:
            found = self._without[loop] = self._solve(loop)
        return found

    def _solve(self, loop: int) -> set[int]:
        return derivable(
            (node.cls, self._children(node))
            for node in self.frozen.nodes
            if self.frozen.sort[node.cls] == "V" and not self._of(loop, node)
        )

    def _of(self, loop: int, node: Node) -> bool:
        """A leaf of a loop, or an assumption in it?"""
        if isinstance(node, Promised):
            return bool(node.scope >> loop & 1)
        return isinstance(node, LoopLeaf) and node.loop == loop

    def _children(self, node: Node) -> tuple[int, ...]:
        """The children of a term; for a loop's leaf, the children of the loop."""
        if not isinstance(node, Induction | Around):
            return node.children
        item, class_of = self.loops[node.loop], self.frozen.class_of
        if isinstance(node, Induction):
            return tuple(map(class_of, (item.lower, item.upper, item.step)))
        init, again = item.inits[node.index], item.yields[node.index]
        return tuple(map(class_of, (init,) if isinstance(node, Carry) else (init, again)))


def derivable(terms: Iterable[tuple[int, Iterable[int]]]) -> set[int]:
    """Classes that terms (the class of each, and its children) can build: the least fixpoint, linear."""
    users: dict[int, list[int]] = {}
    missing: list[int] = []
    classes: list[int] = []
    ready: list[int] = []
    for number, (cls, children) in enumerate(terms):
        needs = set(children)
        classes.append(cls)
        missing.append(len(needs))
        for child in needs:
            users.setdefault(child, []).append(number)
        if not needs:
            ready.append(cls)
    found: set[int] = set()
    while ready:
        cls = ready.pop()
        if cls in found:
            continue
        found.add(cls)
        for number in users.get(cls, ()):
            missing[number] -= 1
            if not missing[number]:
                ready.append(classes[number])
    return found


def buildable(frozen: Frozen, legal: Callable[[Node], bool]) -> set[int]:
    """Placed classes that some legal term computes: a demanded layout may have no term, as with shared operands."""
    return derivable(
        (node.cls, [c for c in node.children if frozen.sort[c] == "P"])
        for node in frozen.nodes
        if frozen.sort[node.cls] == "P" and legal(node)
    )


def paths(region: SkeletonRegion, around: tuple[int, ...] = ()) -> dict[int, tuple[int, ...]]:
    """Every loop of a region with its enclosing loops, outermost first, itself last."""
    found: dict[int, tuple[int, ...]] = {}
    for item in region.items:
        if isinstance(item, SkeletonLoop):
            found[item.loop] = (*around, item.loop)
            found |= paths(item.body, found[item.loop])
        elif isinstance(item, SkeletonBranch):
            found |= paths(item.then, around) | paths(item.otherwise, around)
    return found
