"""What a resource row says beyond its sum: inequalities that the relaxation of a 0-1 program violates.

The relaxation fills a row to its limit with parts of nodes. Whole nodes leave room: of three buffers of 32 kB, 80 kB
hold two. The inequalities are those of the convex hull of all ways to fill the row, of each class one option at most,
found by column generation: a small linear program proposes weights of the options, dynamic programming over what is
used finds a way whose weight is too great, and again until there is none. Where a choice group goes with the use (the
number of stages of a ring), its alternatives have weights too, since a way to fill the row is of one alternative.

Source: M. Boccia, I. Vasilyev and others, "exact knapsack separation", as K. Kaparis, A. N. Letchford, "Separation
algorithms for 0-1 knapsack polytopes", Math. Programming 124, 2010, section 2. Measured on the placement graph of an
attention kernel with two rings (2,200 nodes, sm_80): the bound goes from 302,466 to 335,487, the optimum is 340,860.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from extract.answer import slack
from extract.budget import STATE, Budget
from extract.graph import Graph
from extract.solver import Cover, Weights

VIOLATION: Final = 1e-3
"""An inequality, scaled so that its limit is about 1, must be violated by this much to be added."""

ROUNDING: Final = 1e-6
"""Parts of an option below this are none."""

MOST_STATES: Final = 4000
"""Different sums of use that are followed; a row with more is left as it is."""

MOST_ROUNDS: Final = 200
"""Of column generation, which takes 5 to 40."""


class Option(NamedTuple):
    """Nodes of one class that use as much of a row."""

    use: float
    alternative: int | None
    """Of the row's group, where the nodes go with one."""
    nodes: list[int]


class Knapsack:
    """One row of a graph."""

    def __init__(self, graph: Graph, row: int) -> None:
        self.limit = graph.columns.limit[row] + slack(graph.columns.limit[row])
        use = graph.columns.resource[row]
        users = [node for node in graph.topology.nodes if 0.0 < use[node] <= self.limit]
        tags = {node: tag for node in users if (tag := _tag(graph, node)) is not None}
        self.group = _commonest([group for group, _ in tags.values()], graph)
        self.options: list[Option] = []
        self.classes: dict[int, list[int]] = {}
        """The places of each class's options."""
        known: dict[tuple[int, float, int | None], Option] = {}
        for node in users:
            group, alternative = tags.get(node, (None, None))
            key = (graph.topology.node_class[node], use[node], alternative if group == self.group else None)
            if key not in known:
                known[key] = Option(key[1], key[2], [])
                self.classes.setdefault(key[0], []).append(len(self.options))
                self.options.append(known[key])
            known[key].nodes.append(node)
        self.alternatives: list[int | None] = [None] if self.group is None else [*graph.groups[self.group]]
        self.tags = [] if self.group is None else [(self.group, each) for each in graph.groups[self.group]]
        self.weights: Weights | None = None

    @property
    def binds(self) -> bool:
        """Whether the row could be exceeded at all."""
        return sum(max(self.options[k].use for k in places) for places in self.classes.values()) > self.limit

    def violated(self, value: dict[int, float], carried: dict[tuple[int, int], float], budget: Budget) -> Cover | None:
        """The inequality that a solution violates most. value: of nodes. carried: of alternatives of groups."""
        parts = [sum([value.get(node, 0.0) for node in option.nodes]) for option in self.options]
        if not any(ROUNDING < part < 1.0 - ROUNDING for part in parts):
            return None  # a way to fill the row
        used = [max(self.options[k].use for k in places if parts[k] > ROUNDING) for places in self._chosen(parts)]
        if sum(used) <= self.limit:
            return None
        if self.weights is None:  # the ways that it refutes are refuted for every solution
            self.weights = Weights(len(parts) + len(self.tags))
        self.weights.propose([*parts, *(carried.get(tag, 0.0) for tag in self.tags)])
        found = self._separated(self.weights, budget)
        if found is None:
            return None
        weights, most = found
        nodes = {
            node: weights[k] for k, option in enumerate(self.options) if weights[k] > ROUNDING for node in option.nodes
        }
        return Cover(nodes, dict(zip(self.tags, weights[len(parts) :], strict=True)), most + ROUNDING * len(weights))

    def _chosen(self, parts: list[float]) -> Iterable[list[int]]:
        """Of each class the options that have a part, where it has any."""
        chosen = ([k for k in places if parts[k] > ROUNDING] for places in self.classes.values())
        return [places for places in chosen if places]

    def _separated(self, proposed: Weights, budget: Budget) -> tuple[list[float], float] | None:
        """Weights, and the most that any way to fill the row weighs, where the solution weighs more."""
        weights = proposed.best()
        for _ in range(MOST_ROUNDS):
            if proposed.value <= 1.0 + VIOLATION:
                return None
            most, refuted = 0.0, False
            places = self._chosen(weights)
            for place, alternative in enumerate(self.alternatives):
                way = self._fullest(places, weights, alternative, budget)
                if way is None:
                    return None
                if self.tags:
                    way.append(len(self.options) + place)
                weight = sum([weights[each] for each in way])
                most = max(most, weight)
                if weight > 1.0 + ROUNDING:
                    refuted = proposed.refute(way) or refuted
            if not refuted:
                return (weights, most) if proposed.value > most + VIOLATION else None
            weights = proposed.best()
        return None

    def _fullest(
        self, classes: Iterable[list[int]], weights: list[float], alternative: int | None, budget: Budget
    ) -> list[int] | None:
        """The options of greatest weight that fit together under an alternative; None where there are too many sums."""
        ways: dict[float, tuple[float, tuple[int, ...]]] = {0.0: (0.0, ())}
        steps = 0
        for places in classes:
            fitting = [k for k in places if self.options[k].alternative in (None, alternative)]
            if not fitting:
                continue
            more = dict(ways)
            for place in fitting:
                use, weight = self.options[place].use, weights[place]
                for used, (total, chosen) in ways.items():
                    together = used + use
                    if together <= self.limit and (together not in more or more[together][0] < total + weight):
                        more[together] = (total + weight, (*chosen, place))
            steps += len(more) * len(fitting)
            ways = _undominated(more)
            if len(ways) > MOST_STATES:
                return None
        budget.spend(STATE * steps)
        return list(max(ways.values())[1])


def _undominated(ways: dict[float, tuple[float, tuple[int, ...]]]) -> dict[float, tuple[float, tuple[int, ...]]]:
    """Without those that use more than another and weigh no more."""
    kept: dict[float, tuple[float, tuple[int, ...]]] = {}
    best = -1.0
    for used in sorted(ways):
        if ways[used][0] > best:
            best = ways[used][0]
            kept[used] = ways[used]
    return kept


def _tag(graph: Graph, node: int) -> tuple[int, int] | None:
    """The group and alternative that a node carries, or a child of it whatever its node."""
    if graph.columns.group[node] >= 0:
        return graph.columns.group[node], graph.columns.alternative[node]
    for child in graph.topology.children[node]:
        members = graph.topology.class_nodes[child]
        found = {(graph.columns.group[member], graph.columns.alternative[member]) for member in members}
        if len(found) == 1 and min(found)[0] >= 0:
            return min(found)
    return None


def _commonest(groups: list[int], graph: Graph) -> int | None:
    """The group with a choice that goes with most nodes."""
    counted = {group: groups.count(group) for group in sorted(set(groups)) if len(graph.groups.get(group, ())) > 1}
    return max(counted, key=counted.__getitem__, default=None)
