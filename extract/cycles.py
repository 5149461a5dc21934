"""Class cycles: those a solution contains, and the short ones worth forbidding from the start."""

from __future__ import annotations

from extract.program import IntegerProgram

MAX_TWO_CYCLES = 2000
"""Two-cycles forbidden up front; a graph with more gets only those that its solutions contain."""


def find_cycles(program: IntegerProgram, selected: list[int]) -> list[list[int]]:
    """Disjoint class cycles among the selected nodes that a solution would have to give up."""
    topology = program.graph.topology
    choice = {topology.node_class[node]: node for node in selected}
    rewards = program.graph.has_rewards
    starts = list(choice) if rewards else topology.roots
    state: dict[int, int] = {}
    cycles: list[list[int]] = []
    for start in starts:
        if state.get(start):
            continue
        path: list[int] = [start]
        iterators = [iter(topology.children[choice[start]])]
        state[start] = 1
        while path:
            for child in iterators[-1]:
                mark = state.get(child, 0)
                if mark == 1:
                    cycles.append(path[path.index(child) :])
                elif not mark and child in choice:
                    state[child] = 1
                    path.append(child)
                    iterators.append(iter(topology.children[choice[child]]))
                    break
            else:
                state[path.pop()] = 2
                iterators.pop()
    return cycles


def two_cycles(program: IntegerProgram) -> list[list[int]]:
    """Pairs of classes that need each other through some of their nodes, or none when there are too many."""
    children = program.graph.topology.children
    steps = {
        (cls, child) for cls, members in program.class_nodes.items() for node in members for child in children[node]
    }
    pairs = [[a, b] for a, b in steps if a < b and (b, a) in steps]
    return pairs if len(pairs) <= MAX_TWO_CYCLES else []
