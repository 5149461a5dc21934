"""Warpgroups of one agent that take turns: while one computes, the other's products are in flight.

Each has a named barrier: it waits at its own, and arrives at that of the next when its turn is over; before all, the
last one arrives at the first one's. Every warpgroup takes the same number of turns, and each loop starts in the state
in which the previous one ended, for any number of iterations. A turn ends after the first instruction of a product:
ptxas keeps the product's operands before it, but would move a lone arrival to the start of the turn. Freedom from
deadlock is checked on the marked graph of an iteration: agents' events in program order, and their dependences. Source:
FlashAttention-3 (arXiv 2407.08608, section 3.1); marked graphs, Commoner, Holt, Even, Pnueli, JCSS 5 (1971): one is
live if every cycle holds a token, and an edge never holds more tokens than the cycle through it with the fewest.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from ir.core import Block, Value
from ir.dialects import nv_tileas
from ir.dialects.nvvm.barriers import MAX_BARRIERS
from ir.records import dataclass
from lowering.schedule.scratch import scratch_of
from lowering.targets import Target


@dataclass(frozen=True)
class Edge:
    """Event `target` of an iteration waits for event `source` of the iteration `tokens` before."""

    source: Hashable
    target: Hashable
    tokens: int = 0


def stuck(edges: Iterable[Edge]) -> list[Hashable]:
    """The events of a cycle without a token, which is a deadlock; none for a live graph."""
    before: dict[Hashable, list[Hashable]] = {}
    for edge in edges:
        before.setdefault(edge.target, [])
        if not edge.tokens:
            before[edge.target].append(edge.source)
    try:
        TopologicalSorter(before).prepare()
    except CycleError as found:
        return list(found.args[1][1:])
    return []


def most(edges: Sequence[Edge], edge: Edge) -> int | None:
    """The most tokens that an edge of a live graph ever holds: those of the cycle through it with fewest. None: no
    cycle bounds them.
    """
    after: dict[Hashable, list[Edge]] = {}
    for each in edges:
        after.setdefault(each.source, []).append(each)
    least: dict[Hashable, int] = {edge.target: 0}
    waiting = [edge.target]
    while waiting:
        here = min(waiting, key=lambda each: least[each])
        waiting.remove(here)
        for each in after.get(here, []):
            tokens = least[here] + each.tokens
            if tokens < least.get(each.target, tokens + 1):
                least[each.target] = tokens
                waiting.append(each.target)
    return least[edge.source] + edge.tokens if edge.source in least else None


@dataclass(frozen=True)
class Stage:
    """A ring in a loop: its stages, and whether a consumer still holds that of the iteration before."""

    pipeline: Value
    stages: int
    held: bool


def edges_of(body: Block, rings: Sequence[Stage], groups: int, target: Target) -> list[Edge]:
    """The marked graph of an iteration: a producer that fills `rings` in order, and `groups` warpgroups that run a
    consumer's `body`. An event is an agent and the number of the event in it; meetings of all warpgroups are one event.
    """
    found = programs([("producer", number) for number in range(len(rings))])
    numbers = {ring.pipeline: number for number, ring in enumerate(rings)}
    names = list(events(body, target))
    for group in range(groups):
        own: list[Hashable] = []
        for number, (kind, pipeline) in enumerate(names):
            own.append((kind, number) if kind == "meet" else (group, number))
            if kind == "wait" and pipeline in numbers:
                found.append(Edge(("producer", numbers[pipeline]), own[-1]))
            if kind == "release" and pipeline in numbers:
                ring = rings[numbers[pipeline]]
                found.append(Edge(own[-1], ("producer", numbers[pipeline]), ring.stages - ring.held))
        found += programs(own)
    return [*found, *handed(names, groups)]


def handed(names: Sequence[tuple[str, Value | None]], groups: int) -> Iterator[Edge]:
    """From each warpgroup's turn to that of the next one; the first begins, and so the last hands on a token."""
    kinds = [kind for kind, _ in names]
    if "take" in kinds:
        for group in range(groups):
            following = (group + 1) % groups
            yield Edge((group, kinds.index("pass")), (following, kinds.index("take")), int(not following))


def programs(own: Sequence[Hashable]) -> list[Edge]:
    """An agent's events in order, iteration by iteration."""
    return [*(Edge(a, b) for a, b in pairwise(own)), *([Edge(own[-1], own[0], 1)] if own else [])]


def events(body: Block, target: Target) -> Iterator[tuple[str, Value | None]]:
    """What a consumer's iteration waits for, and what others wait for."""
    for op in (each for top in body.ops for each in top.walk()):
        if isinstance(op, nv_tileas.ConsumerWait):
            yield "wait", op.pipeline
        elif isinstance(op, nv_tileas.Barrier | nv_tileas.Exchange) or scratch_of(op, target):
            yield "meet", None
        elif isinstance(op, nv_tileas.TakeTurn):
            yield "take", None
        elif isinstance(op, nv_tileas.Dot) and op.passes:
            yield "pass", None
        elif isinstance(op, nv_tileas.ConsumerRelease):
            above = op.parent.parent_op if op.parent else None
            yield "release", above.pipeline if isinstance(above, nv_tileas.ConsumeOne) else None


def legal(body: Block, rings: Sequence[Stage], groups: int, target: Target) -> bool:
    """Is it free of deadlock, with no warpgroup arriving twice at a barrier before its first arrival has been waited
    for? Barriers are a row of 16, of which the first two are the CTA's and the consumers'.
    """
    edges = edges_of(body, rings, groups, target)
    turns = list(handed(list(events(body, target)), groups))
    return groups + 2 <= MAX_BARRIERS and not stuck(edges) and all(most(edges, each) == 1 for each in turns)
