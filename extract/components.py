"""Strongly connected components of the class graph: only inside one can a choice be cyclic."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple


class Components(NamedTuple):
    """Components in an order that puts children before their users."""

    order: list[list[int]]
    """Classes by component; the members of a component are in no particular order."""
    of: list[int]
    """[m] index into `order`, or -1 for classes that were not asked for."""

    @property
    def cyclic(self) -> list[list[int]]:
        """Components of two classes or more."""
        return [members for members in self.order if len(members) > 1]


def components(
    classes: Sequence[int],
    members: Sequence[Collection[int]],
    children: Sequence[Collection[int]],
    parents: Sequence[Collection[int]],
    owner: Sequence[int],
) -> Components:
    """Components of the graph in which a class points at the children of its nodes.

    classes: those to look at, closed under children. members: [m] nodes of a class. children: [n] classes of a node.
    parents: [m] nodes that take a class. owner: [n] class of a node. Peels classes from the leaves upward, which is
    all there is to do on an acyclic graph, and runs Tarjan's algorithm on what is left.
    """
    of = [-1] * len(members)
    waiting = [0] * len(members)
    order: list[int] = []
    for cls in classes:
        waiting[cls] = sum(len(children[node]) for node in members[cls])
        if not waiting[cls]:
            order.append(cls)
    for place, cls in enumerate(order):  # grows while it is walked
        of[cls] = place
        for node in parents[cls]:
            user = owner[node]
            waiting[user] -= 1
            if not waiting[user]:
                order.append(user)
    found = [[cls] for cls in order]
    if len(found) < len(classes):
        rest = [cls for cls in classes if of[cls] < 0]
        _tarjan(rest, members, children, of, found)
    return Components(found, of)


def _tarjan(
    classes: list[int],
    members: Sequence[Collection[int]],
    children: Sequence[Collection[int]],
    of: list[int],
    found: list[list[int]],
) -> None:
    """R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1(2), 1972, without recursion."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    for start in classes:
        if start in number:
            continue
        path = [start]
        below = [iter(_successors(start, members, children, of))]
        number[start] = low[start] = len(number)
        stack.append(start)
        while path:
            cls = path[-1]
            for child in below[-1]:
                if child not in number:
                    number[child] = low[child] = len(number)
                    path.append(child)
                    stack.append(child)
                    below.append(iter(_successors(child, members, children, of)))
                    break
                if of[child] < 0:
                    low[cls] = min(low[cls], number[child])
            else:
                path.pop()
                below.pop()
                if path:
                    low[path[-1]] = min(low[path[-1]], low[cls])
                if low[cls] == number[cls]:
                    component: list[int] = []
                    while not component or component[-1] != cls:
                        component.append(stack.pop())
                        of[component[-1]] = len(found)
                    found.append(component)


def _successors(
    cls: int, members: Sequence[Collection[int]], children: Sequence[Collection[int]], of: list[int]
) -> set[int]:
    return {child for node in members[cls] for child in children[node] if of[child] < 0}
