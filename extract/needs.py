"""What a class cannot do without: the classes that every way to build it holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

EVERYTHING: Final = -1
"""All bits set: the neutral element of the intersection."""

MAX_PASSES: Final = 20
"""Stopping the iteration of a component early would be unsound, so past this many passes it needs only itself."""


class Needs(NamedTuple):
    """Bit sets over classes."""

    bit: dict[int, int]
    """Class to its own bit."""
    sets: dict[int, int]
    """Class to the bits of all classes it needs, itself among them."""

    def of_all(self, classes: Iterable[int]) -> int:
        """What these classes together need."""
        union = 0
        for cls in classes:
            union |= self.sets[cls]
        return union

    def bits(self, classes: Iterable[int]) -> int:
        """These classes and no others."""
        union = 0
        for cls in classes:
            union |= self.bit[cls]
        return union


def needs(
    order: Sequence[Sequence[int]], members: Sequence[Collection[int]], children: Sequence[Collection[int]]
) -> Needs:
    """Needed classes: of a node all that its children need, of a class what all of its nodes need, and itself.

    order: components of classes, children first; bits rise with it, so that early sets are short. The greatest sets
    that satisfy this hold for every finite derivation, by induction over it; inside a component they are reached by
    intersection from above.
    """
    bit: dict[int, int] = {}
    sets: dict[int, int] = {}
    for component in order:
        for cls in component:
            bit[cls] = 1 << len(bit)
        if len(component) == 1:
            cls = component[0]
            sets[cls] = _common(members[cls], children, sets) | bit[cls]
            continue
        sets.update(dict.fromkeys(component, EVERYTHING))
        for _ in range(MAX_PASSES):
            changed = False
            for cls in component:
                common = _common(members[cls], children, sets) | bit[cls]
                if common != sets[cls]:
                    sets[cls] = common
                    changed = True
            if not changed:
                break
        else:
            sets.update({cls: bit[cls] for cls in component})
    return Needs(bit, sets)


def _common(nodes: Collection[int], children: Sequence[Collection[int]], sets: dict[int, int]) -> int:
    common = EVERYTHING
    for node in nodes:
        union = 0
        for child in children[node]:
            union |= sets[child]
        common &= union
        if not common:
            break
    return common
