"""All answers of a small e-graph, by trying every choice; knows nothing of the methods under test."""

import math
from itertools import product

from extract import Graph


def brute_force(graph: Graph) -> float | None:
    """Least DAG cost over all acyclic choices that meet the constraints, or None when there is none."""
    return min((cost for cost, _ in answers(graph)), default=None)


def answers(graph: Graph) -> list[tuple[float, frozenset[int]]]:
    """Every answer as its cost and its nodes, cheapest first."""
    options = [
        [n for n in range(graph.n_nodes) if graph.node_class[n] == cls and math.isfinite(graph.cost[n])]
        for cls in range(graph.n_classes)
    ]
    # -1 stands for a class left out.
    found: list[tuple[float, frozenset[int]]] = []
    for picks in product(*([-1, *nodes] for nodes in options)):
        nodes = below_roots(graph, picks)
        if nodes is not None and _allowed(graph, nodes):
            found.append((math.fsum(graph.cost[nodes]), frozenset(nodes)))
    return sorted(found, key=lambda answer: (answer[0], sorted(answer[1])))


def below_roots(graph: Graph, picks: tuple[int, ...]) -> list[int] | None:
    """Nodes below the roots when the picks are complete, acyclic and hold nothing else; None otherwise."""
    height: dict[int, int] = {}

    def visit(cls: int, path: frozenset[int]) -> bool:
        if cls in path or picks[cls] < 0:
            return False
        if cls not in height:
            if not all(visit(child, path | {cls}) for child in graph.children(picks[cls])):
                return False
            height[cls] = len(path)
        return True

    if not all(visit(root, frozenset()) for root in graph.root.tolist()):
        return None
    if any(pick >= 0 and cls not in height for cls, pick in enumerate(picks)):
        return None  # the same answer comes up without the spare classes
    return [picks[cls] for cls in height]


def _allowed(graph: Graph, nodes: list[int]) -> bool:
    carried: dict[int, int] = {}
    for node in nodes:
        group = int(graph.group[node])
        if group >= 0 and carried.setdefault(group, int(graph.alternative[node])) != graph.alternative[node]:
            return False
    use = graph.resource[:, nodes].sum(axis=1)
    return bool((use <= graph.limit + 1e-9).all())
