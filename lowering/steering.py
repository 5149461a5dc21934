"""Values that control flow depends on: loop bounds, loop conditions, branch conditions.

Agents and layouts may each compute a value separately, and a permission allows several ways that differ in the last
bits. Values that control flow depends on are computed as written in the source, so that all copies agree.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph.leaves import Around, Branch, ItemResult
from egraph.saturate import Saturated
from egraph.skeleton import SkeletonBranch, SkeletonLoop
from egraph.term import Node


def steering(saturated: Saturated) -> set[int]:
    """The value classes that control flow depends on, with everything they are computed from."""
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
    """The numbers of the values that decide the control flow of a skeleton item."""
    if isinstance(item, SkeletonLoop):
        return (item.again,) if item.again else (item.lower, item.upper, item.step)
    return (item.condition,) if isinstance(item, SkeletonBranch) else ()
