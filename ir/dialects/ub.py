"""ub: unspecified values; no pass creates one, but a text may contain them."""

from __future__ import annotations

from ir.core import Op, Result, op
from ir.types import Constraint, FloatType, IntType


@op("ub.poison", upstream=True)
class Poison(Op):
    """Any value; a result computed from it is also any value."""

    result = Result(Constraint("an integer or a float", lambda type: isinstance(type, IntType | FloatType)))
