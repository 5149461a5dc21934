"""From a saturated e-graph to one target's cheapest placed program: prices, resources, choices, extraction."""

from lowering.placement.copied import copy_threads
from lowering.selection.choices import BRANCH, CarryChoice, Selection, StoreChoice, staged
from lowering.selection.search import first_bound, select

__all__ = ["BRANCH", "CarryChoice", "Selection", "StoreChoice", "copy_threads", "first_bound", "select", "staged"]
