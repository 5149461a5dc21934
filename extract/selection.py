"""A choice of nodes that can be changed one class at a time, with its cost, its order and a way back.

Invariant: the choices of all classes, needed or not, form an acyclic graph, and `position` orders it (children first).
A class is needed when `references` is not 0: one for every chosen node of a needed class that takes it, one per root.
"""

from __future__ import annotations

from extract.settle import INFINITY, settle_dag
from extract.topology import Topology

CALL_STEPS = 4
"""What a call costs beside its counted updates, in updates (about 0.1 us each)."""


class Selection:
    """References, positions, cost and resource use of the current choice."""

    def __init__(
        self, topology: Topology, cost: list[float], choice: list[int], use: list[list[float]], limit: list[float]
    ) -> None:
        self.topology = topology
        self.cost = cost
        self.choice = choice.copy()
        self.rows = list(zip(use, limit, strict=True))
        self.references = [0] * topology.n_classes
        self.position = [0] * topology.n_classes
        self.barred = bytearray(topology.n_classes)
        self.rewards = any(value < 0.0 for value in cost)
        self.journal: list[tuple[int, int]] = []
        self.steps = 0
        self.total = 0.0
        self.estimate = [0.0] * topology.n_classes
        self.used = [0.0] * len(self.rows)
        for root in topology.roots:
            self.hold(root)

    def refresh(self) -> None:
        """Choose anew for the classes that are not needed: what is cheapest to add to what is. Ends the journal."""
        weight = [value if value > 0.0 else 0.0 for value in self.cost]
        for cls in self.topology.classes:
            if self.references[cls]:
                for node in self.topology.class_nodes[cls]:
                    weight[node] = INFINITY
                weight[self.choice[cls]] = 0.0
        settled = settle_dag(self.topology, weight)
        self.choice = settled.choice
        self.estimate = settled.value
        for place, cls in enumerate(settled.order):
            self.position[cls] = place
        self.steps += len(self.topology.nodes)
        self.journal.clear()

    def hold(self, cls: int) -> None:
        """Count one more user of a class."""
        self.references[cls] += 1
        if self.references[cls] == 1:
            added = [self.choice[cls]]
            self.acquire(self.choice[cls], INFINITY, [], added)
            self._account(added, 1.0)

    def drop(self, cls: int) -> None:
        """Count one user of a class less."""
        self.references[cls] -= 1
        if not self.references[cls]:
            freed = [self.choice[cls]]
            self.release(self.choice[cls], [], freed)
            self._account(freed, -1.0)

    def switch(self, cls: int, node: int) -> None:
        """Make a node the choice of its class; it must not reach the class (see `reaches`)."""
        old = self.choice[cls]
        self.journal.append((cls, old))
        if self.references[cls]:
            added, freed = [node], [old]
            self.acquire(node, INFINITY, [], added)
            self.release(old, [], freed)
            self._account(added, 1.0)
            self._account(freed, -1.0)
        self.choice[cls] = node
        self._reorder(cls)

    def rollback(self, mark: int) -> None:
        """Undo the switches made since the journal had this length."""
        while len(self.journal) > mark:
            cls, old = self.journal.pop()
            self.switch(cls, old)
            self.journal.pop()

    def best_switch(
        self, cls: int, nodes: list[int], ceiling: float, *, limited: bool = True
    ) -> tuple[int, float] | None:
        """The node of a class, out of these, that changes the total least, and the change, when it is below ceiling.

        Every other node is priced as what it adds once the current one and all that only it needs are gone. Resource
        rows hold for the result where limited; barred classes are not used.
        """
        cost, old = self.cost, self.choice[cls]
        released: list[int] = []
        freed_nodes = [old]
        self.release(old, released, freed_nodes)
        freed = sum(cost[node] for node in freed_nodes)
        best, limit = -1, freed + ceiling
        self.steps += len(nodes)
        for node in nodes:
            if node == old or cost[node] == INFINITY:
                continue
            if not self.rewards and (cost[node] >= limit or cost[node] + self._floor(node) >= limit):
                continue
            held: list[int] = []
            added = [node]
            if self.acquire(node, limit, held, added):
                total = sum(cost[member] for member in added)
                if total < limit and (not limited or self._fits(freed_nodes, added)) and not self.reaches(node, cls):
                    best, limit = node, total
            for child in held:
                self.references[child] -= 1
        for child in released:
            self.references[child] += 1
        return None if best < 0 else (best, limit - freed)

    def owned(self) -> list[float]:
        """[m] what each needed class costs with all that only it needs: the sums of the dominator tree."""
        choice, references, children = self.choice, self.references, self.topology.children
        order = [cls for cls in self.topology.classes if references[cls]]
        order.sort(key=self.position.__getitem__, reverse=True)
        top = self.topology.n_classes  # a virtual user of all roots
        dominator = [-1] * (top + 1)
        depth = [0] * (top + 1)
        for root in self.topology.roots:
            dominator[root] = top
        for cls in order:  # users first
            depth[cls] = depth[dominator[cls]] + 1
            for child in children[choice[cls]]:
                other, this = dominator[child], cls
                if other < 0:
                    dominator[child] = cls
                    continue
                while other != this:
                    if depth[other] > depth[this]:
                        other = dominator[other]
                    else:
                        this = dominator[this]
                dominator[child] = this
        total = [0.0] * (top + 1)
        for cls in reversed(order):
            total[cls] += self.cost[choice[cls]]
            total[dominator[cls]] += total[cls]
        self.steps += len(order)
        return total

    def excess(self) -> float:
        """By how much the resource rows are exceeded, in limits, summed."""
        return sum(
            max(0.0, used - limit) / (limit or 1.0) for used, (_, limit) in zip(self.used, self.rows, strict=True)
        )

    def burden(self, node: int) -> float:
        """What a node uses of the rows that are exceeded, in limits."""
        return sum(
            use[node] / (limit or 1.0) for used, (use, limit) in zip(self.used, self.rows, strict=True) if used > limit
        )

    def marginal(self, node: int) -> float:
        """What taking a node in would add to the total, its class left aside."""
        held: list[int] = []
        added = [node]
        built = self.acquire(node, INFINITY, held, added)
        for child in held:
            self.references[child] -= 1
        return sum(self.cost[member] for member in added) if built else INFINITY

    def acquire(self, node: int, budget: float, held: list[int], added: list[int]) -> bool:
        """Count a node's children as used, and theirs where new.

        False when one cannot be built, is barred, or the budget is spent. held and added grow by the classes counted
        and the nodes taken in.
        """
        choice, references, barred = self.choice, self.references, self.barred
        children, cost = self.topology.children, self.cost
        if self.rewards:
            budget = INFINITY
        total = cost[node]
        stack = [node]
        done = True
        while stack and done:
            for cls in children[stack.pop()]:
                references[cls] += 1
                held.append(cls)
                if references[cls] == 1:
                    chosen = choice[cls]
                    total += cost[chosen]
                    if chosen < 0 or total >= budget or barred[cls]:
                        done = False
                        break
                    added.append(chosen)
                    stack.append(chosen)
                elif barred[cls]:
                    done = False
                    break
        self.steps += len(held) + CALL_STEPS
        return done

    def release(self, node: int, released: list[int], freed: list[int]) -> None:
        """Count a node's children as used once less, and theirs where nobody else uses them."""
        choice, references, children = self.choice, self.references, self.topology.children
        stack = [node]
        while stack:
            for cls in children[stack.pop()]:
                references[cls] -= 1
                released.append(cls)
                if not references[cls]:
                    freed.append(choice[cls])
                    stack.append(choice[cls])
        self.steps += len(released)

    def reaches(self, node: int, target: int) -> bool:
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
        self.steps += len(seen)
        return False

    def _floor(self, node: int) -> float:
        """Roughly the least that a node's dearest child adds; the estimates are as old as the last refresh."""
        references, estimate = self.references, self.estimate
        dearest = 0.0
        for child in self.topology.children[node]:
            if not references[child] and estimate[child] > dearest:
                dearest = estimate[child]
        return dearest

    def _fits(self, freed: list[int], added: list[int]) -> bool:
        return all(
            used - sum(use[node] for node in freed) + sum(use[node] for node in added) <= limit
            for used, (use, limit) in zip(self.used, self.rows, strict=True)
        )

    def _account(self, nodes: list[int], sign: float) -> None:
        self.total += sign * sum(self.cost[node] for node in nodes)
        for row, (use, _) in enumerate(self.rows):
            self.used[row] += sign * sum(use[node] for node in nodes)

    def _reorder(self, cls: int) -> None:
        """Restore positions after a new choice of a class that takes children placed above it.

        Source: D. J. Pearce, P. H. J. Kelly, "A dynamic topological sort algorithm for directed acyclic graphs",
        JEA 11, 2006: only classes between the two ends of the new edges move.
        """
        position, choice, children = self.position, self.choice, self.topology.children
        floor = position[cls]
        below = [child for child in children[choice[cls]] if position[child] > floor]
        if not below:
            return
        seen = set(below)
        for member in below:  # grows while it is walked
            for child in children[choice[member]]:
                if position[child] > floor and child not in seen:
                    seen.add(child)
                    below.append(child)
        roof = max(position[member] for member in below)
        above = [cls]
        seen.add(cls)
        for member in above:  # grows while it is walked
            for user in self.topology.parents[member]:
                owner = self.topology.node_class[user]
                if choice[owner] == user and position[owner] < roof and owner not in seen:
                    seen.add(owner)
                    above.append(owner)
        below.sort(key=position.__getitem__)
        above.sort(key=position.__getitem__)
        moved = below + above
        for member, place in zip(moved, sorted(position[member] for member in moved), strict=True):
            position[member] = place
        self.steps += len(moved)
