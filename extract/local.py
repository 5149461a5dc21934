"""Local search on a whole choice, where all that is chosen already is free.

Greedy prices each class alone, so it cannot see that two siblings could share. Four moves make up for that:
- switch: a class is taken out with all that only it needs, and each of its nodes is priced as what it adds to the rest;
- open: a class nobody needs is paid for, and the classes above it switch to it where they then gain;
- close: a class that several need is given up, and each of its users takes its next best node;
- exchange: a switch goes past a resource limit, and other classes give the resource back.
Every accepted move makes the answer cheaper; all but the first are undone when they do not.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from extract.selection import Selection
from extract.settle import INFINITY
from extract.topology import Topology

MAX_ROUNDS: Final = 6
"""Rounds of all moves; on the 23 extraction-gym files and four generated layout graphs two were enough."""

STEPS_PER_NODE: Final = 60
"""Work limit in reference-count updates per reachable node, about 0.1 us each: one move on a long chain touches all."""

RELATIVE_GAIN: Final = 1e-10
"""A move must gain more than rounding, or equal answers would be swapped forever."""

REACH: Final = 3
"""Classes between an opened class and the users that may switch to it (split, conversion and place nodes sit there)."""

MAX_RETURNS: Final = 8
"""Classes that may give resource back for one exchange."""

MAX_USERS: Final = 64
"""Users looked at per opened class; constants and addresses have thousands and gain nothing."""


class Constraints(NamedTuple):
    """Resource rows as lists, for the walk over single nodes. use: [r][n], limit: [r]."""

    use: list[list[float]]
    limit: list[float]


def improve(
    topology: Topology,
    cost: list[float],
    choice: list[int],
    constraints: Constraints,
    *,
    deep: bool = True,
    bound: float = -INFINITY,
    effort: float = STEPS_PER_NODE,
) -> list[int]:
    """A choice that is at least as cheap; without deep, by switch moves alone. Stops at a known lower bound.

    cost: [n], inf forbids. choice: [m], -1 for classes that cannot be built; it must build the roots, acyclic and
    within the limits. effort: work limit, as `STEPS_PER_NODE`. Returns a new list.
    """
    search = _LocalSearch(Selection(topology, cost, choice, constraints.use, constraints.limit), bound, effort)
    search.run(deep=deep)
    return search.selection.choice


class _LocalSearch:
    def __init__(self, selection: Selection, bound: float, effort: float) -> None:
        self.selection = selection
        self.topology = selection.topology
        self.max_steps = effort * (len(self.topology.nodes) + 100)
        self.gain = RELATIVE_GAIN * max(1.0, abs(selection.total))
        self.goal = bound + self.gain

    def run(self, *, deep: bool) -> None:
        """Rounds of moves until nothing gains or the work limit is reached."""
        for _ in range(MAX_ROUNDS):
            if self._spent():
                break
            self.selection.refresh()
            while self._switch_all():
                self.selection.refresh()
            if not deep or self._spent() or not (self._close_all() | self._open_all() | self._exchange_all()):
                break

    def _spent(self) -> bool:
        return self.selection.steps > self.max_steps or self.selection.total <= self.goal

    def _switch_all(self) -> bool:
        """Try every needed class once, users before their children; whether anything moved."""
        moved = False
        for cls in self._needed():
            if self.selection.references[cls] and len(self.topology.class_nodes[cls]) > 1:
                moved |= self._switch(cls, self.topology.class_nodes[cls])
                if self._spent():
                    return False
        return moved

    def _needed(self) -> list[int]:
        selection = self.selection
        needed = [cls for cls in self.topology.classes if selection.references[cls]]
        return sorted(needed, key=selection.position.__getitem__, reverse=True)

    def _switch(self, cls: int, nodes: list[int]) -> bool:
        found = self.selection.best_switch(cls, nodes, -self.gain)
        if found is not None:
            self.selection.switch(cls, found[0])
        return found is not None

    def _open_all(self) -> bool:
        moved = False
        selection = self.selection
        owned = selection.owned()
        for cls in self.topology.classes:
            if not selection.references[cls] and selection.choice[cls] >= 0:
                users = self._users_above(cls)
                if len(users) > 1 and sum(owned[user] for user in users) > selection.marginal(selection.choice[cls]):
                    moved |= self._open(cls, users)
                    if self._spent():
                        break
        return moved

    def _users_above(self, cls: int) -> dict[int, list[int]]:
        """Needed classes that could come to use a class, directly or through a few classes nobody needs, and how."""
        selection, owner, parents = self.selection, self.topology.node_class, self.topology.parents
        users: dict[int, list[int]] = {}
        seen = {cls}
        level = [cls]
        for _ in range(REACH):
            following: list[int] = []
            for member in level:
                for node in parents[member]:
                    above = owner[node]
                    if selection.cost[node] == INFINITY:
                        continue
                    if selection.references[above]:
                        users.setdefault(above, []).append(node)
                    elif above not in seen:
                        seen.add(above)
                        following.append(above)
                    if len(seen) + len(users) > MAX_USERS:
                        return users
            level = following
        return users

    def _open(self, cls: int, users: dict[int, list[int]]) -> bool:
        selection = self.selection
        mark, before = len(selection.journal), selection.total
        selection.hold(cls)
        self._relay(cls)
        for user, nodes in users.items():
            if selection.references[user]:
                self._switch(user, nodes)
        selection.drop(cls)
        return self._settle_on(mark, before)

    def _relay(self, cls: int) -> None:
        """Let the unneeded classes above an opened class use it where that is now their cheapest choice."""
        selection, owner, parents = self.selection, self.topology.node_class, self.topology.parents
        level = [cls]
        seen = {cls}
        for _ in range(REACH - 1):
            following: list[int] = []
            for member in level:
                for node in parents[member][:MAX_USERS]:
                    above = owner[node]
                    if above in seen or selection.references[above] or selection.choice[above] < 0:
                        continue
                    seen.add(above)
                    old = selection.choice[above]
                    if node != old:
                        if selection.cost[node] == INFINITY:
                            continue
                        if selection.marginal(node) >= selection.marginal(old) or selection.reaches(node, above):
                            continue
                        selection.switch(above, node)
                    selection.estimate[above] = selection.marginal(node)
                    following.append(above)
            level = following

    def _close_all(self) -> bool:
        moved = False
        for cls in self._needed():
            if self.selection.references[cls] > 1 and cls not in self.topology.roots:
                moved |= self._close(cls)
                if self._spent():
                    break
        return moved

    def _close(self, cls: int) -> bool:
        selection, owner, children = self.selection, self.topology.node_class, self.topology.children
        mark, before = len(selection.journal), selection.total
        selection.barred[cls] = 1
        for node in self.topology.parents[cls]:
            user = owner[node]
            if selection.choice[user] == node and selection.references[user] and cls in children[node]:
                found = selection.best_switch(user, self.topology.class_nodes[user], INFINITY)
                if found is None:
                    break
                selection.switch(user, found[0])
        selection.barred[cls] = 0
        return self._settle_on(mark, before)

    def _exchange_all(self) -> bool:
        moved = False
        for cls in self._needed() if self.selection.rows else []:
            if self.selection.references[cls] and len(self.topology.class_nodes[cls]) > 1:
                moved |= self._exchange(cls)
                if self._spent():
                    break
        return moved

    def _exchange(self, cls: int) -> bool:
        """Switch past a limit, then give the resource back where that costs least."""
        selection = self.selection
        found = selection.best_switch(cls, self.topology.class_nodes[cls], -self.gain, limited=False)
        if found is None:
            return False
        mark, before = len(selection.journal), selection.total
        selection.switch(cls, found[0])
        for _ in range(MAX_RETURNS):
            if not selection.excess() or not self._give_back(before - self.gain - selection.total):
                break
        if selection.excess():
            selection.rollback(mark)
            return False
        return self._settle_on(mark, before)

    def _give_back(self, budget: float) -> bool:
        """The cheapest switch to a node that uses less of an exceeded row; False when none is within the budget."""
        selection = self.selection
        best: tuple[float, int, int] | None = None
        for cls in self.topology.classes:
            burden = selection.burden(selection.choice[cls]) if selection.references[cls] else 0.0
            if not burden:
                continue
            lighter = [node for node in self.topology.class_nodes[cls] if selection.burden(node) < burden]
            found = selection.best_switch(cls, lighter, budget if best is None else best[0], limited=False)
            if found is not None:
                best = (found[1], cls, found[0])
        if best is not None:
            selection.switch(best[1], best[2])
        return best is not None

    def _settle_on(self, mark: int, before: float) -> bool:
        """Keep what was done since mark when it made the answer cheaper, else undo it."""
        if self.selection.total < before - self.gain:
            return True
        self.selection.rollback(mark)
        return False
