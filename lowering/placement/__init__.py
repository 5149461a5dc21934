"""The layouts in which values are demanded: queries of the demand rules, answered by linear algebra."""

from lowering.placement.oracle import LayoutOracle, MmaChoice
from lowering.placement.seeds import seed

__all__ = ["LayoutOracle", "MmaChoice", "seed"]
