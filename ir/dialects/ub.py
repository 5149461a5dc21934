"""ub: values of which nothing is promised; no pass makes one, a text may hold them."""

from __future__ import annotations

from ir.core import Op, Result, op
from ir.types import Constraint, FloatType, IntType


@op("ub.poison", upstream=True)
class Poison(Op):
    """Any number; what is computed from it is any number too."""

    result = Result(Constraint("an integer or a float", lambda type: isinstance(type, IntType | FloatType)))
