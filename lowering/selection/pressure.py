"""Registers in the extraction problem: those of simultaneously live tiles, and spills beyond a thread's registers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from weakref import proxy

from egraph.placed import Assume, Identity, Instead, LoadPointer, LoadView, Permute, Product, Reshape
from egraph.term import Node
from lowering.layouts.elements import REGISTER_BYTES, element_bytes
from lowering.selection.context import Problem
from lowering.selection.pricing import NodeContext, NodeCost
from lowering.selection.resources import Peak, registers
from lowering.selection.spans import Points


class Pressure:
    """Classes for simultaneous register needs, and classes that pay for missing registers."""

    def __init__(self, selector: Problem, offered: tuple[int, ...]):
        """`offered`: the numbers of registers that may be spilled."""
        self.selector: Problem = proxy(selector)  # not in a cycle: it goes when the search has ended
        self.offered = offered
        self.points = Points(selector.saturated)
        self.peaks: dict[str, Peak] = {}
        self.pieces: dict[int, int] = {}  # operand of products, and its inputs -> registers in use at one time
        self.spilled: dict[int, tuple[str, int]] = {}  # node -> row of registers, registers beyond the limit

    def straight(self) -> list[tuple[int, ...]]:
        """The loops around code outside inner loops, () for top-level code, where tiles may not fit: they take half of
        a thread's registers, and replicas and the registers of products come on top.
        """
        s = self.selector
        least = min(s.oracle.warps)
        paths = self.points.crowded(least, registers(s.target, least, 0) // 2)
        around = {(), *(path[:-1] for path in s.paths.values())}
        return [path for path in paths if path in around]

    def roots(self) -> Iterator[int]:
        """The classes that every program has: the spills of each register row, and the tiles at its points."""
        s = self.selector
        for row, path in enumerate(s.rows.paths, s.rows.first):
            yield self.spills(row, path)
            held = {warps: self.points.most(path, warps) for warps in s.oracle.warps}
            if any(held.values()):
                found = s.new_class(f"tiles in {s.rows.names[row]}")
                for warps, amount in held.items():
                    s.builder.add("tiles", found, [*s.made_by(warps), *self.peak((row,), amount)])
                yield found

    def spills(self, row: int, path: tuple[int, ...]) -> int:
        """The class of spilled registers: each is stored and reloaded once an iteration."""
        s = self.selector
        found = s.new_class(f"spills of {s.rows.names[row]}")
        trips = s.trips.of(path[-1]) if path else 1.0
        for warps, spilled in product(s.oracle.warps, self.offered):
            cost = trips * s.pricer.machines[warps].spill(spilled).scalar()
            resource = s.rows.kept(row, spilled)
            node = s.builder.add(f"{spilled} spilled", found, s.made_by(warps), cost, resource=resource)
            self.spilled[node] = (s.rows.names[row], spilled)
        return found

    def running(self, node: Node, value: int, site: NodeContext, price: NodeCost) -> list[int]:
        """The children of a node for the registers it needs while it runs, in addition to live tiles."""
        amount, rows = price.registers, self.selector.rows
        if amount and isinstance(node, Product):
            amount += self.points.beside(value, site.warps)
            for operand in (node.a, node.b):
                pieces = self.selector.pricer.pieces(node, site.layout, operand)
                self.pieces[operand] = max(self.pieces.get(operand, 0), pieces)
        needed = rows.of_loop(site.loop) if site.looped else rows.row(())
        return [cls for row in needed for cls in self.peak((row,), amount)]

    def unpacked(self, node: Node, placed: int, loop: int) -> dict[int, float]:
        """The register rows that a load in a loop uses beyond a product's pieces of its operand: each element gets its
        own register if an access has fewer bytes than a register.
        """
        pieces, s = self.pieces.get(placed, 0), self.selector
        if pieces and isinstance(node, Identity | Assume | Instead | Permute | Reshape):
            for child in node.children:  # children of a class reached from a product follow it
                self.pieces[child] = max(self.pieces.get(child, 0), pieces)
        if not pieces or not isinstance(node, LoadView | LoadPointer):
            return {}
        width = (
            node.bytes if isinstance(node, LoadView) else node.width * element_bytes(s.oracle.tile(node.type).element)
        )
        return dict.fromkeys(s.rows.of_loop(loop), float(pieces * (max(1, REGISTER_BYTES // width) - 1)))

    def peak(self, rows: tuple[int, ...], amount: int) -> list[int]:
        """The child of a node that needs `amount` of some rows for itself while it runs."""
        if not amount:
            return []
        row = self.selector.rows.names[rows[0]]
        peak = self.peaks.setdefault(row, Peak(rows))
        found = peak.levels.get(amount)
        if found is None:
            found = peak.levels[amount] = self.selector.new_class(f"{amount} of {row}")
        return [found]

    def finish(self) -> None:
        """Add the nodes of all peaks."""
        for name, peak in self.peaks.items():
            peak.add_nodes(self.selector.builder, len(self.selector.rows.names), name)
