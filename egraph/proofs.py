"""Terms under equalities that remember their reasons: a union-find with a proof forest.

Source: Nieuwenhuis and Oliveras, Proof-Producing Congruence Closure (RTA 2005), as in egg (Willsey et al., POPL 2021).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Generic, NamedTuple, TypeVar

from ir.records import dataclass

ReasonT = TypeVar("ReasonT")


class Edge(NamedTuple, Generic[ReasonT]):
    """Two terms that are equal, for a reason; None: they have the same operator and equal operands."""

    left: int
    right: int
    reason: ReasonT | None


@dataclass
class Terms(Generic[ReasonT]):
    """Terms by number. `places`: which arguments of an operator are terms; the others are plain numbers."""

    places: dict[str, tuple[int, ...]]
    ops: list[str] = field(default_factory=list[str])
    args: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    reasons: list[ReasonT] = field(default_factory=list[ReasonT])
    """Why each term was made."""
    _leader: list[int] = field(default_factory=list[int])
    _uses: list[list[int]] = field(default_factory=list[list[int]])
    _edge: list[Edge[ReasonT] | None] = field(default_factory=list["Edge[ReasonT] | None"])
    _known: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict[tuple[str, tuple[int, ...]], int])
    _exact: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict[tuple[str, tuple[int, ...]], int])

    def __len__(self) -> int:
        return len(self.ops)

    def find(self, term: int) -> int:
        """The representative of all terms equal to this one."""
        leader = self._leader
        while leader[term] != term:
            leader[term] = leader[leader[term]]
            term = leader[term]
        return term

    def key(self, op: str, args: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
        """An application of an operator, whichever of equal operands it names."""
        places = self.places[op]
        return op, tuple(self.find(arg) if at in places else arg for at, arg in enumerate(args))

    def lookup(self, op: str, args: tuple[int, ...]) -> int | None:
        """A term equal to this application, None where there is none."""
        return self._known.get(self.key(op, args))

    def add(self, op: str, args: tuple[int, ...], reason: ReasonT) -> int:
        """The term with exactly these arguments, new where there was none."""
        found = self._exact.get((op, args))
        if found is not None:
            return found
        term = self._exact[op, args] = len(self.ops)
        self.ops.append(op)
        self.args.append(args)
        self.reasons.append(reason)
        self._leader.append(term)
        self._uses.append([])
        self._edge.append(None)
        for child in self.operands(term):
            self._uses[self.find(child)].append(term)
        twin = self._known.setdefault(self.key(op, args), term)
        if twin != term:
            self.union(term, twin, None)
        return term

    def operands(self, term: int) -> list[int]:
        """The terms among the arguments."""
        return [self.args[term][at] for at in self.places[self.ops[term]]]

    def union(self, left: int, right: int, reason: ReasonT | None) -> None:
        """State that two terms are equal, and what follows by congruence."""
        waiting = [Edge(left, right, reason)]
        while waiting:
            edge = waiting.pop()
            a, b = self.find(edge.left), self.find(edge.right)
            if a == b:
                continue
            self._link(edge)
            if len(self._uses[a]) > len(self._uses[b]):
                a, b = b, a
            self._leader[a] = b
            moved, self._uses[a] = self._uses[a], []
            self._uses[b] += moved
            for user in moved:
                other = self._known.setdefault(self.key(self.ops[user], self.args[user]), user)
                if self.find(other) != self.find(user):
                    waiting.append(Edge(user, other, None))

    def _link(self, edge: Edge[ReasonT]) -> None:
        """Turn the path from `left` to its root around, and hang it under `right`."""
        at, above = edge.left, Edge(edge.left, edge.right, edge.reason)
        while True:
            before = self._edge[at]
            self._edge[at] = above
            if before is None:
                return
            above = Edge(before.right, before.left, before.reason)
            at = before.right

    def why(self, left: int, right: int) -> list[Edge[ReasonT]]:
        """Edges that lead from one term to an equal one, each stated in either direction. Raises KeyError where they
        are not known to be equal.
        """
        up, down = list(self._to_root(left)), list(self._to_root(right))
        ends = [edge.right for edge in up][-1:] or [left], [edge.right for edge in down][-1:] or [right]
        if ends[0] != ends[1]:
            raise KeyError((left, right))
        while up and down and up[-1] == down[-1]:
            up.pop()
            down.pop()
        return [*up, *(Edge(each.right, each.left, each.reason) for each in reversed(down))]

    def _to_root(self, term: int) -> Iterator[Edge[ReasonT]]:
        while (edge := self._edge[term]) is not None:
            yield edge
            term = edge.right
