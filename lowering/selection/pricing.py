"""The cost of each placed e-node on a target, and its use of shared memory and registers while it runs."""

from __future__ import annotations

from collections.abc import Iterable

from egraph.forms import placed_classes
from egraph.term import Node, Term
from lowering.cost import priced, priced_as
from lowering.selection.pricer import FROM_GLOBAL, WHOLE, NodeContext, NodeCost, Pricer, prices
from lowering.selection.prices.values import arithmetic, unknown

__all__ = ["FROM_GLOBAL", "WHOLE", "NodeContext", "NodeCost", "Pricer", "prices", "unpriced"]


def unpriced(classes: Iterable[type[Node]]) -> list[str]:
    """Placed operations without a price: neither a method nor, if they are arithmetic, a row of the tables."""
    rows = priced()
    found = [cls for cls in classes if issubclass(cls, Term)]
    return sorted(
        cls.constructor
        for cls in found
        if prices.find(cls) in (None, unknown)
        or (prices.find(cls) is arithmetic and priced_as(cls.title()) not in rows)
    )


if missing := unpriced(placed_classes()):
    raise LookupError(f"no price for {', '.join(missing)}: run benchmarks.calibrate, or add functions with @prices")
