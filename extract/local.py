"""Local search: re-cost every chosen class given all else that is chosen, and switch when the whole gets cheaper.

Greedy prices each class alone, so it cannot see that two siblings could share. Here a class is taken out, what only it
needed is freed, and each of its nodes is priced as what it would add to the rest, where all still chosen is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from extract.settle import INFINITY, settle_dag
from extract.topology import Topology

MAX_SWEEPS: Final = 12
"""Most gains come in the first two sweeps; on the extraction-gym subset none needed more than eight."""

STEPS_PER_NODE: Final = 60
"""Work limit in reference-count updates per reachable node: bounds long chains, where one move touches everything."""

RELATIVE_GAIN: Final = 1e-10
"""A move must gain more than rounding, or equal answers would be swapped forever."""


@dataclass(frozen=True)
class Constraints:
    """Resource rows as lists, for the walk over single nodes. use: [r][n], limit: [r]."""

    use: list[list[float]]
    limit: list[float]


def improve(topology: Topology, cost: list[float], choice: list[int], constraints: Constraints) -> list[int]:
    """A choice that is at least as cheap, made by moving one class at a time.

    cost: [n], inf forbids. choice: [m], -1 for classes that cannot be built; it must build the roots, acyclic and
    within the limits. Returns a new list.
    """
    search = _Search(topology, cost, choice, constraints)
    for _ in range(MAX_SWEEPS):
        search.refresh()
        if not search.sweep():
            break
    return search.choice


class _Search:
    """The current choice with reference counts over the classes that the roots need."""

    def __init__(self, topology: Topology, cost: list[float], choice: list[int], constraints: Constraints) -> None:
        self.topology = topology
        self.cost = cost
        self.choice = choice.copy()
        self.rows = list(zip(constraints.use, constraints.limit, strict=True))
        self.references = [0] * topology.n_classes
        self.position = [0] * topology.n_classes
        self.steps = STEPS_PER_NODE * (len(topology.nodes) + 100)
        self.rewards = any(value < 0.0 for value in cost)
        for root in topology.roots:
            self._hold(root, [], [])
        active = [node for cls, node in enumerate(self.choice) if self.references[cls]]
        self.used = [sum(use[node] for node in active) for use, _ in self.rows]
        self.tolerance = RELATIVE_GAIN * max(1.0, sum(abs(cost[node]) for node in active))

    def refresh(self) -> None:
        """Choose anew for the classes that are not needed: what is cheapest to add to what is."""
        weight = [value if value > 0.0 else 0.0 for value in self.cost]
        for cls in self.topology.classes:
            if self.references[cls]:
                for node in self.topology.class_nodes[cls]:
                    weight[node] = INFINITY
                weight[self.choice[cls]] = 0.0
        settled = settle_dag(self.topology, weight)
        self.choice = settled.choice
        for place, cls in enumerate(settled.order):
            self.position[cls] = place

    def sweep(self) -> bool:
        """Try every needed class once, users before their children; whether anything moved."""
        moved = False
        needed = [cls for cls in self.topology.classes if self.references[cls]]
        needed.sort(key=self.position.__getitem__, reverse=True)
        for cls in needed:
            if self.references[cls] and len(self.topology.class_nodes[cls]) > 1:
                moved |= self._move(cls)
                if self.steps < 0:
                    return False
        return moved

    def _move(self, cls: int) -> bool:
        cost, old = self.cost, self.choice[cls]
        released: list[int] = []
        freed_nodes = [old]
        self._release(old, released, freed_nodes)
        freed = sum(cost[node] for node in freed_nodes)
        best, best_cost, best_added = old, freed - self.tolerance, freed_nodes
        for node in self.topology.class_nodes[cls]:
            if node == old or (cost[node] >= best_cost and not self.rewards) or cost[node] == INFINITY:
                continue
            held: list[int] = []
            added = [node]
            if self._acquire(node, best_cost, held, added):
                total = sum(cost[member] for member in added)
                if total < best_cost and self._fits(freed_nodes, added) and not self._reaches(node, cls):
                    best, best_cost, best_added = node, total, added
            self._undo_hold(held)
        if best == old:
            for child in released:
                self.references[child] += 1
            return False
        self._acquire(best, INFINITY, [], [])
        self.choice[cls] = best
        for row, (use, _) in enumerate(self.rows):
            self.used[row] += sum(use[node] for node in best_added) - sum(use[node] for node in freed_nodes)
        self._reorder(cls)
        return True

    def _hold(self, cls: int, held: list[int], added: list[int]) -> None:
        """Count one more use of a class, taking in its choice when it is the first."""
        held.append(cls)
        self.references[cls] += 1
        if self.references[cls] == 1:
            added.append(self.choice[cls])
            self._acquire(self.choice[cls], INFINITY, held, added)

    def _acquire(self, node: int, budget: float, held: list[int], added: list[int]) -> bool:
        """Count a node's children as used, and theirs where new; False when one cannot be built or the budget is spent.

        held and added grow by the classes counted and the nodes taken in.
        """
        choice, references, children, cost = self.choice, self.references, self.topology.children, self.cost
        total = cost[node]
        stack = [node]
        while stack:
            for cls in children[stack.pop()]:
                references[cls] += 1
                held.append(cls)
                if references[cls] == 1:
                    chosen = choice[cls]
                    if chosen < 0:
                        return False
                    total += cost[chosen]
                    if total >= budget and not self.rewards:
                        return False
                    added.append(chosen)
                    stack.append(chosen)
        self.steps -= len(held)
        return True

    def _undo_hold(self, held: list[int]) -> None:
        references = self.references
        for cls in held:
            references[cls] -= 1

    def _release(self, node: int, released: list[int], freed: list[int]) -> None:
        choice, references, children = self.choice, self.references, self.topology.children
        stack = [node]
        while stack:
            for cls in children[stack.pop()]:
                references[cls] -= 1
                released.append(cls)
                if not references[cls]:
                    freed.append(choice[cls])
                    stack.append(choice[cls])
        self.steps -= len(released)

    def _fits(self, freed: list[int], added: list[int]) -> bool:
        return all(
            used - sum(use[node] for node in freed) + sum(use[node] for node in added) <= limit
            for used, (use, limit) in zip(self.used, self.rows, strict=True)
        )

    def _reaches(self, node: int, target: int) -> bool:
        """Whether the chosen sub-DAG below a node holds the target class; only later positions can."""
        position, choice, children = self.position, self.choice, self.topology.children
        floor = position[target]
        seen: set[int] = set()
        stack = [node]
        while stack:
            for cls in children[stack.pop()]:
                if cls == target:
                    return True
                if position[cls] > floor and cls not in seen:
                    seen.add(cls)
                    stack.append(choice[cls])
        self.steps -= len(seen)
        return False

    def _reorder(self, cls: int) -> None:
        """Restore positions (children before users) when the new node of a class lies above it."""
        position, choice, children = self.position, self.choice, self.topology.children
        if all(position[child] < position[cls] for child in children[choice[cls]]):
            return
        order: list[int] = []
        state = bytearray(self.topology.n_classes)
        for start in self.topology.classes:
            stack = [start] if choice[start] >= 0 and not state[start] else []
            while stack:
                top = stack[-1]
                if state[top]:
                    stack.pop()
                    if state[top] == 1:
                        state[top] = 2
                        order.append(top)
                    continue
                state[top] = 1
                stack.extend(child for child in children[choice[top]] if not state[child])
        for place, member in enumerate(order):
            position[member] = place
        self.steps -= len(order)
