"""Live-in tiles of a loop: held in registers throughout it, or rematerialised in each iteration.

A tile that is read from shared memory, and elementwise results of such tiles, can be produced piecewise at the use,
which takes few registers, at the cost of its reads in every iteration.
"""

from __future__ import annotations

from weakref import proxy

from egraph.placed import Product
from egraph.term import Node
from lowering.layouts.layout import Layout
from lowering.selection.choices import Held, Selection
from lowering.selection.context import Problem
from lowering.selection.pricing import FROM_GLOBAL, WHOLE, NodeContext


class Kept:
    """Classes of the extraction problem for live-in tiles of loops: one for each loop and tile."""

    def __init__(self, selector: Problem):
        self.selector: Problem = proxy(selector)  # avoids a reference cycle: freed when the search ends
        self.made: dict[int, tuple[int, int, Node]] = {}  # node -> loop, placed class, e-node that rematerialises it
        self.chosen: dict[int, tuple[int, int]] = {}  # node -> loop, rematerialised placed class
        self._held: dict[tuple[int, int], int] = {}  # row of registers, placed class
        self._needed: dict[tuple[int, Held], int] = {}  # loop, operand
        self._again: dict[tuple[int, int], int | None] = {}  # loop, placed class

    def needed(self, loop: int, operand: Held) -> list[int]:
        """The children of a node in `loop` that needs this tile there."""
        s, rows = self.selector, self.selector.rows.of_loop(loop)
        held = [self.held(row, operand.placed) for row in rows]
        again = self.again(loop, operand.placed) if rows and operand.pieces < operand.registers else None
        if again is None:
            return held
        found = self._needed.get((loop, operand))
        if found is None:
            value = s.owner[operand.placed][0]
            found = self._needed[loop, operand] = s.new_class(f"value {value} where loop {loop} needs it")
            s.builder.add("held", found, held)
            pieces = s.rows.use(dict.fromkeys(rows, float(operand.pieces)))
            self.chosen[s.builder.add("again", found, [again], resource=pieces)] = (loop, operand.placed)
        return [found]

    def held(self, row: int, placed: int) -> int:
        """A tile in registers through a loop: once for all nodes that need it."""
        found = self._held.get((row, placed))
        if found is None:
            s, place = self.selector, self.selector.owner[placed]
            found = self._held[row, placed] = s.new_class(f"value {place[0]} held through a loop")
            s.builder.add("held", found, resource=s.rows.use({row: float(s.pricer.registers(*place))}))
        return found

    def again(self, loop: int, placed: int) -> int | None:
        """A tile rematerialised in each iteration of a loop, from shared memory; None if that is not possible."""
        key = loop, placed
        if key not in self._again:
            self._again[key] = None  # during the query: a cycle yields nothing
            ways = [(node, below) for node in self.selector.frozen.by_class.get(placed, ())
                    if (below := self.below(loop, node)) is not None]  # fmt: skip
            if ways:
                self._again[key] = self.add(loop, placed, ways)
        return self._again[key]

    def below(self, loop: int, node: Node) -> list[int] | None:
        """The children of a node that produces its tile piecewise anywhere in the loop, otherwise None."""
        s = self.selector
        below = [c for c in node.children if s.frozen.sort[c] == "P"]
        movable = not isinstance(node, (*WHOLE, *FROM_GLOBAL))
        if not movable or not s.loops.stands(node) or not s.buildable.issuperset(below):
            return None
        found: list[int] = []
        for child in below:
            tile = isinstance(s.oracle.layouts[s.owner.get(child, (0, 0))[1]], Layout)
            made = self.again(loop, child) if tile else s.cls(child)
            if made is None:
                return None
            found.append(made)
        return found

    def add(self, loop: int, placed: int, ways: list[tuple[Node, list[int]]]) -> int | None:
        """The class of a rematerialised tile, if its nodes have a price."""
        s, (value, layout) = self.selector, self.selector.owner[placed]
        site = NodeContext(layout, s.warps_of(layout), loop)
        priced = [(node, below, price) for node, below in ways if (price := s.pricer.price(node, site))]
        if not priced:
            return None
        found = s.new_class(f"value {value} rematerialised in loop {loop}")
        trips = s.trips.of(loop)
        for node, below, price in priced:
            made = s.builder.add(node.op, found, below, trips * price.cost.scalar())
            s.priced[made] = trips, price.cost
            s.within[made] = loop
            self.made[made] = (loop, placed, node)
        return found

    def read_again(self, chosen: Selection) -> dict[tuple[int, int], dict[int, Node]]:
        """Products with rematerialised operands, and the chosen nodes by placed class."""
        s, nodes = self.selector, chosen.answer.chosen.values()
        operands = {self.chosen[node] for node in nodes if node in self.chosen}
        made: dict[int, dict[int, Node]] = {}
        for loop, placed, node in [self.made[number] for number in nodes if number in self.made]:
            made.setdefault(loop, {})[placed] = node
        return {
            (cls, child): made[loop] for cls, node in chosen.node.items() if operands and isinstance(node, Product)
            for loop in (s.loop_of(s.owner[cls][0]),) for child in node.children if (loop, child) in operands
        }  # fmt: skip
