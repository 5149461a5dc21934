"""Tiles too large for a CTA's registers, cut into slices of rows or columns that are computed one after the other."""

from lowering.slicing.cuts import Cuts, find_cuts
from lowering.slicing.fit import HELD, THREADS, Product, fitted, in_slices
from lowering.slicing.rewrite import sliced

__all__ = ["HELD", "THREADS", "Cuts", "Product", "find_cuts", "fitted", "in_slices", "sliced"]
