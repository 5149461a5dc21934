"""Which layouts values are wanted in: the questions of the demand rules, answered by linear algebra."""

from lowering.placement.oracle import LayoutOracle, MmaChoice
from lowering.placement.seeds import seed

__all__ = ["LayoutOracle", "MmaChoice", "seed"]
