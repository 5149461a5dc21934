"""Which values decide what control does: bounds of loops, whether a loop goes on, conditions of branches.

Agents and layouts may compute one value each for itself, and a permission lets a value be computed in more ways than
one that differ in the last bits. What control depends on is computed as the source wrote it, so that all agree.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph.leaves import Around, Branch, ItemResult
from egraph.saturate import Saturated
from egraph.skeleton import SkeletonBranch, SkeletonLoop
from egraph.term import Node


def steering(saturated: Saturated) -> set[int]:
    """The value classes that control depends on, with all that they are made of."""
    frozen, items = saturated.frozen, list(saturated.program.skeleton.walk())
    loops = {item.loop: item for item in items if isinstance(item, SkeletonLoop)}
    branches = {item.item: item for item in items if isinstance(item, SkeletonBranch)}

    def made_of(node: Node) -> Iterator[int]:
        yield from node.children
        if isinstance(node, Around):
            loop = loops[node.loop]
            yield from map(frozen.class_of, (loop.inits[node.index], loop.yields[node.index]))
        elif isinstance(node, ItemResult | Branch) and (branch := branches.get(node.item)) is not None:
            sides = (branch.then_yields, branch.otherwise_yields)
            yield from (frozen.class_of(side[node.index]) for side in sides if node.index < len(side))

    starts = {number for item in items for number in _decide(item)}
    found, waiting = set[int](), [frozen.class_of(number) for number in starts]
    while waiting:
        cls = waiting.pop()
        if cls not in found:
            found.add(cls)
            waiting += [child for node in frozen.by_class.get(cls, ()) for child in made_of(node)]
    return found


def _decide(item: object) -> tuple[int, ...]:
    """The numbers of the values that an item of the skeleton asks what to do."""
    if isinstance(item, SkeletonLoop):
        return (item.again,) if item.again else (item.lower, item.upper, item.step)
    return (item.condition,) if isinstance(item, SkeletonBranch) else ()
