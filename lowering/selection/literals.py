"""Queries about literals in the placed classes of an e-graph."""

from __future__ import annotations

from egraph import placed
from egraph.frozen import Frozen
from egraph.interner import Interner


def zeros(frozen: Frozen, interner: Interner, cls: int) -> bool:
    """Is a placed class, looking through renamings, a literal of zeros?"""
    own = [cls, *(node.children[0] for node in frozen.by_class.get(cls, ()) if isinstance(node, placed.Identity))]
    made = [node for each in own for node in frozen.by_class.get(each, ()) if isinstance(node, placed.Constant)]
    return any(literal.splat and not literal.item for literal in (interner.attributes[node.value] for node in made))
