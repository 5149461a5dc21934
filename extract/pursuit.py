"""The search of `auto` as its caller wants it: put aside where it mostly proves, and taken up again."""

from __future__ import annotations

from extract.answer import Answer
from extract.budget import Budget
from extract.graph import Graph
from extract.infeasible import explained
from extract.portfolio import Found, stages
from extract.session import Limit, Listener
from extract.settle import INFINITY


class Pursuit:
    """The search of `auto`, which may be put aside, behind heuristics and the relaxation: they mostly have found
    the best answer, and what follows proves that. Where the gap is wide, behind the tight relaxation; but before that
    where it is wider than `elsewhere`, since a better answer is likelier found in another graph. `glance`: behind its
    first bounds too, which take a tenth to a fifth of a search and may show that another graph should come first.
    """

    def __init__(
        self,
        graph: Graph,
        limit: Budget,
        start: Answer | None = None,
        listener: Listener | None = None,
        branch: int | None = None,
        below: float = INFINITY,
        effort: float = INFINITY,
        elsewhere: float = INFINITY,
        glance: bool = False,
    ):
        self._stages = stages(graph, limit, start, listener, branch, Limit(below, effort), elsewhere, glance)
        self._found = Found(None, -INFINITY)
        self._limit: Limit | None = None
        self._graph, self._below = graph, below
        self._aside = False
        self.ended = False

    def go_on(self) -> None:
        """To where the search may be put aside, or to its end. Raises as `auto` does."""
        limit, self._limit = (self._limit, None) if self._aside else (None, self._limit)  # a search begins with none
        if limit is not None:
            self._below = limit.below
        try:
            with explained(self._graph, self._below):
                self._found = self._stages.send(limit)
            self._aside = True
        except StopIteration as end:
            self._found, self.ended = Found(end.value, end.value.bound), True

    def stay_below(self, below: float, effort: float, near: Answer | None = None) -> None:
        """Ask the search that was put aside for answers that cost less, and for this effort, when it goes on, and to
        look for them near one that was found otherwise.
        """
        self._limit = Limit(below, effort, near)

    @property
    def answer(self) -> Answer:
        """The best answer so far."""
        assert self._found.answer is not None
        return self._found.answer

    @property
    def bound(self) -> float:
        """What no answer costs less than, as far as is known."""
        return self._found.bound
