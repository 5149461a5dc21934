"""The chosen e-nodes as an nv_tileas program: every value where its operands allow it, effects in skeleton order."""

from egraph.forms import placed_classes
from lowering.decode import accesses, effects, values
from lowering.decode.decoder import decode

__all__ = ["accesses", "decode", "effects", "values"]
"""Importing them fills the tables of lowerings."""

if without := values.without_lowering(placed_classes()):
    raise LookupError(f"no lowering for {', '.join(without)}: add functions with @lowers, or name scalar operations")
