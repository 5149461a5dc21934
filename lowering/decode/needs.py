"""The order in which the operands of an operation are computed: the one with the lowest register pressure.

Source: R. Sethi, J. D. Ullman, The Generation of Optimal Code for Arithmetic Expressions, JACM 17 (1970), with tiles of
different sizes: first the operand whose computation needs the most registers beyond its result. Values with several
uses count in each.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from egraph import leaves, placed
from ir.types import TileType
from lowering.layouts.elements import tile_registers
from lowering.layouts.layout import Layout
from lowering.selection import Selection

FREE = (placed.Constant, placed.PlacedSplat, placed.Iota, leaves.LoopLeaf, leaves.ItemResult)
"""Values that exist already, or are emitted at their use."""


class Needs:
    """Registers of a thread for the tiles of a chosen program."""

    def __init__(self, selection: Selection):
        self.selection = selection
        self.frozen = selection.saturated.frozen
        self._left: dict[int, int] = {}  # placed class -> registers that hold it
        self._needed: dict[int, int] = {}  # placed class -> registers at most while it is computed

    def beyond(self, cls: int) -> int:
        """Registers that computing a class needs beyond those that hold it."""
        stack = [cls]
        while stack:
            top = stack[-1]
            node = self.selection.node[top]
            children = [c for c in node.children if self.frozen.sort[c] == "P"]
            missing = [c for c in children if c not in self._needed]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            held = needed = 0
            for child in sorted(children, key=lambda c: self._left[c] - self._needed[c]):
                needed = max(needed, held + self._needed[child])
                held += self._left[child]
            size = 0 if isinstance(node, FREE) else self.size(top)
            self._left[top] = min(size, held) if isinstance(node, placed.Broadcast) else size
            self._needed[top] = max(needed, self._left[top])
        return self._needed[cls] - self._left[cls]

    def products(self, classes: Iterable[int], made: Container[int]) -> dict[int, int]:
        """The products that each class, directly or indirectly, needs beyond those already emitted: a bit mask."""
        found: dict[int, int] = {}
        products = 0
        stack = list(classes)
        while stack:
            top = stack[-1]
            if top in found:
                stack.pop()
                continue
            node = self.selection.node[top]
            children = [] if top in made else [c for c in node.children if self.frozen.sort[c] == "P"]
            missing = [c for c in children if c not in found]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            mask = 0
            for child in children:
                mask |= found[child]
            if isinstance(node, placed.Product) and top not in made:
                mask |= 1 << products
                products += 1
            found[top] = mask
        return found

    def size(self, cls: int) -> int:
        """Registers that hold a tile; none for one in shared memory."""
        value, layout = self.selection.owner.get(cls, (-1, 0))
        placed = self.selection.oracle.layouts[layout]
        type = self.frozen.analysis["type"].get(value)  # tokens and missing operands have none
        kind = None if type is None else self.selection.saturated.program.interner.type(type)
        if not isinstance(placed, Layout) or not isinstance(kind, TileType):
            return 0
        return tile_registers(placed.n_regs, kind.element)
