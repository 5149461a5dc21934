"""An e-graph as Graphviz: classes are clusters, nodes are boxes, chosen nodes are marked with their cost."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from extract import Answer, Graph
from viz.picture import CHOSEN, FAINT, Drawing, Picture, shorten

MAX_NODES = 320
"""E-nodes in one picture: with an edge per operand `dot` needs about three seconds for so many."""


class ENode(Protocol):
    """A node as `egraph.frozen` holds it: operator, operand classes, literal columns, its own class."""

    @property
    def op(self) -> str:
        """Operator name."""
        ...

    @property
    def cls(self) -> int:
        """The class it is in."""
        ...

    @property
    def children(self) -> Sequence[int]:
        """Operand classes."""
        ...

    @property
    def literals(self) -> Sequence[object]:
        """What it says beside its operands: integer columns, or words for them."""
        ...


@dataclass(frozen=True, slots=True)
class PicturedNode:
    """A node as it is drawn."""

    op: str
    cls: int
    children: tuple[int, ...]
    literals: tuple[str, ...] = ()


def draw_extraction(
    graph: Graph,
    answer: Answer,
    name: str = "egraph",
    max_nodes: int = MAX_NODES,
    columns: Mapping[int, tuple[str, ...]] | None = None,
) -> Picture:
    """Draw the e-graph that extraction saw, from its roots, with the answer's nodes marked and every cost.

    columns: node index to what it says beside its operands.
    """
    columns = columns or {}
    nodes = [
        PicturedNode(op, cls, tuple(graph.children(index)), columns.get(index, ()))
        for index, (op, cls) in enumerate(zip(graph.node_op, graph.node_class.tolist(), strict=True))
    ]
    labels = dict(enumerate(graph.class_name or ()))
    costs: list[float] = graph.cost.tolist()
    cost = dict(enumerate(costs))
    return draw_egraph(nodes, graph.root.tolist(), answer.chosen, cost, labels, name, max_nodes)


def draw_egraph(
    nodes: Sequence[ENode],
    roots: Iterable[int],
    chosen: Mapping[int, int] | None = None,
    cost: Mapping[int, float] | None = None,
    labels: Mapping[int, str] | None = None,
    name: str = "egraph",
    max_nodes: int = MAX_NODES,
) -> Picture:
    """Draw the classes nearest to `roots`, as many as `max_nodes` allow.

    chosen: class to the index in `nodes` of what extraction took; cost: node index to its cost in the target's cycles;
    labels: what a class is, for its frame.
    A larger graph is cut to the neighbourhood of the roots, breadth first along the chosen nodes before the others; the
    title says so and a class that is cut off is drawn as a dashed stub.
    """
    chosen, cost, labels = chosen or {}, cost or {}, labels or {}
    members: dict[int, list[int]] = {}
    for index, node in enumerate(nodes):
        members.setdefault(node.cls, []).append(index)
    shown, complete = _neighbourhood(nodes, members, list(roots), chosen, max_nodes)
    drawn = sum(len(members[cls]) for cls in shown)
    note = "" if complete else f"cut to the neighbourhood of the root: {drawn} of {len(nodes)} nodes"
    title = f"{name}: {len(members)} classes, {len(nodes)} nodes" + (f"\n{note}" if note else "")
    graph = Drawing.new(name, title)
    for cls in shown:
        frame = f"c{cls} {shorten(labels.get(cls, ''), 80)}".rstrip()
        with graph.cluster(f"c{cls}", frame) as cluster:
            _draw_class(cluster, nodes, cls, members[cls], chosen, cost)
    _draw_edges(graph, nodes, shown, members, chosen)
    return Picture(name, graph.source, note)


def _neighbourhood(
    nodes: Sequence[ENode], members: Mapping[int, list[int]], roots: list[int], chosen: Mapping[int, int], limit: int
) -> tuple[list[int], bool]:
    """Classes below the roots, breadth first, until `limit` nodes are reached; whether that is all of them.

    The chosen program comes whole before any alternative, so that a cut picture still shows the answer's upper part.
    """
    seen: dict[int, None] = {}
    count = 0
    waiting = deque(cls for cls in dict.fromkeys(roots) if cls in members)
    later: deque[int] = deque()
    while waiting or later:
        cls = (waiting or later).popleft()
        if cls in seen:
            continue
        if seen and count + len(members[cls]) > limit:
            return list(seen), False
        seen[cls] = None
        count += len(members[cls])
        for index in members[cls]:
            queue = waiting if not chosen or chosen.get(cls) == index else later
            queue.extend(child for child in nodes[index].children if child in members)
    return list(seen), True


def _draw_class(
    cluster: Drawing,
    nodes: Sequence[ENode],
    cls: int,
    indices: Sequence[int],
    chosen: Mapping[int, int],
    cost: Mapping[int, float],
) -> None:
    for index in indices:
        node = nodes[index]
        literals = ", ".join(map(str, node.literals))
        label = shorten(f"{node.op}({literals})" if literals else node.op)
        if index in cost:
            label += "\nnot legal here" if math.isinf(cost[index]) else f"\ncost {cost[index]:.4g}"
        if chosen.get(cls) == index:
            cluster.node(f"n{index}", label, color=CHOSEN, penwidth="2.5", style="filled", fillcolor="white")
        else:
            cluster.node(f"n{index}", label, color=FAINT, style="filled", fillcolor="white")


def _draw_edges(
    graph: Drawing,
    nodes: Sequence[ENode],
    shown: Sequence[int],
    members: Mapping[int, list[int]],
    chosen: Mapping[int, int],
) -> None:
    """An edge per operand, to a member of its class and clipped at the class's frame (`lhead`)."""
    visible = set(shown)
    stubs: set[int] = set()
    for cls in shown:
        for index in members[cls]:
            taken = chosen.get(cls) == index
            style = {"color": CHOSEN, "penwidth": "1.8"} if taken else {"color": FAINT}
            for child in nodes[index].children:
                if child in visible:
                    target = f"n{chosen.get(child, members[child][0])}"
                    # Graphviz cannot clip an edge at a cluster that also holds its tail.
                    clip = {} if child == cls else {"lhead": f"cluster_c{child}"}
                    graph.edge(f"n{index}", target, **style, **clip)
                    continue
                if child not in stubs:
                    stubs.add(child)
                    graph.node(f"stub{child}", f"c{child}", style="dashed", color=FAINT)
                graph.edge(f"n{index}", f"stub{child}", **style)
