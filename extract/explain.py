"""Why no answer exists: from a failed class down to the class that cannot be built."""

from __future__ import annotations

import math

from extract.graph import Graph
from extract.settle import INFINITY, Settled, settle_tree

MAX_NAMES = 6
"""Operators named of a class without a usable node."""

MAX_LINKS = 12
"""Longer chains of reasons are abbreviated in the middle of the message."""


def unbuildable(graph: Graph, settled: Settled, weight: list[float]) -> str:
    """Message for the first root that cannot be built; weight: [n], inf where a node may not be used."""
    topology = graph.topology
    cls = next(root for root in topology.roots if settled.choice[root] < 0)
    links = [f"root {graph.describe_class(cls)} cannot be built"]
    seen = {cls}
    while True:
        nodes = [node for node in topology.class_nodes[cls] if weight[node] < INFINITY]
        if not nodes:
            links.append(_no_node(graph, cls))
            break
        # Every usable node lacks a child; follow the node that lacks fewest.
        lacking = {node: [child for child in topology.children[node] if settled.choice[child] < 0] for node in nodes}
        node = min(nodes, key=lambda n: (len(lacking[n]), n))
        nxt = lacking[node][0]
        links.append(f"{graph.describe_node(node)} needs {graph.describe_class(nxt)}")
        if nxt in seen:
            links.append(f"which needs itself: every way to build {graph.describe_class(nxt)} is cyclic")
            break
        seen.add(nxt)
        cls = nxt
    if len(links) > MAX_LINKS:
        links[MAX_LINKS // 2 : -MAX_LINKS // 2] = [f"... {len(links) - MAX_LINKS} more ..."]
    return "; ".join(links)


def _no_node(graph: Graph, cls: int) -> str:
    """Why none of the nodes of a class may be used."""
    members = [node for node, owner in enumerate(graph.columns.node_class) if owner == cls]
    forbidden = sum(1 for node in members if math.isinf(graph.columns.cost[node]))
    cyclic = len(members) - len(graph.topology.class_nodes[cls])
    excluded = sum(1 for node in graph.topology.class_nodes[cls] if math.isfinite(graph.columns.cost[node]))
    counts = (
        (forbidden, "of infinite cost"),
        (cyclic, "taking the class itself"),
        (excluded, "excluded by constraints"),
    )
    reasons = ", ".join(f"{count} {reason}" for count, reason in counts if count)
    names = ", ".join(dict.fromkeys(graph.node_op[node] for node in members[:MAX_NAMES]))
    more = ", ..." if len(members) > MAX_NAMES else ""
    return f"{graph.describe_class(cls)} has no usable node ({names}{more}: {reasons})"


def conflicting_groups(graph: Graph, weight: list[float]) -> str:
    """Message for choice groups that cannot be met: one group whose every alternative loses a root, or all."""
    topology = graph.topology
    group, alternative = graph.columns.group, graph.columns.alternative
    for g, options in graph.groups.items():
        lost: list[str] = []
        for option in options:
            masked = [
                INFINITY if group[node] == g and alternative[node] != option else weight[node]
                for node in range(graph.n_nodes)
            ]
            settled = settle_tree(topology, masked)
            if settled.builds(topology.roots):
                break
            lost.append(f"alternative {option}: {unbuildable(graph, settled, masked)}")
        else:
            return f"choice group {g} cannot be met. " + ". ".join(lost)
    names = ", ".join(str(g) for g in graph.groups)
    return f"choice groups {names} cannot be met together: no assignment of alternatives builds every root"
