"""cuda_tile arithmetic as arith, math and llvm ops: the scalar op of the next level and its attributes.

An op's declaration names its scalar form (`lowers_to`); only what attributes add is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ir.core import OPS, Op, UnsupportedError
from ir.dialects import arith, llvm, math
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.constraints import TileOp
from ir.types import FloatType, Type

DIALECTS = (arith, llvm, math)
"""The dialects `lowers_to` points to; importing them registers their ops in `OPS`."""

ROUNDINGS = {
    ct.Rounding.NEAREST_EVEN: "rn",
    ct.Rounding.ZERO: "rz",
    ct.Rounding.NEGATIVE_INF: "rm",
    ct.Rounding.POSITIVE_INF: "rp",
    ct.Rounding.NEAREST_AWAY: "rna",
    ct.Rounding.APPROX: "approx",
    ct.Rounding.FULL: "full",
}
_PREDICATES = {
    ct.Predicate.EQUAL: "eq",
    ct.Predicate.NOT_EQUAL: "ne",
    ct.Predicate.LESS_THAN: "lt",
    ct.Predicate.LESS_THAN_OR_EQUAL: "le",
    ct.Predicate.GREATER_THAN: "gt",
    ct.Predicate.GREATER_THAN_OR_EQUAL: "ge",
}
_DIVISIONS = {
    (ct.Signedness.SIGNED, ct.Rounding.ZERO): "arith.divsi",
    (ct.Signedness.SIGNED, ct.Rounding.NEGATIVE_INF): "arith.floordivsi",
    (ct.Signedness.SIGNED, ct.Rounding.POSITIVE_INF): "arith.ceildivsi",
    (ct.Signedness.UNSIGNED, ct.Rounding.ZERO): "arith.divui",
    (ct.Signedness.UNSIGNED, ct.Rounding.NEGATIVE_INF): "arith.divui",
    (ct.Signedness.UNSIGNED, ct.Rounding.POSITIVE_INF): "arith.ceildivui",
}


def scalar_op(
    cls: type[Op], attributes: Mapping[str, Any], source: Type, result: Type, op: Op | None = None
) -> tuple[type[Op], dict[str, Any]]:
    """The op class of the next level and its attributes, for operands of element type `source`.

    Raises UnsupportedError, located at `op`, if there is none.
    """
    if not issubclass(cls, TileOp) or not cls.lowers_to:
        raise _unsupported(cls, op)
    name = cls.lowers_to
    if cls.lowers_to_unsigned and attributes.get("signedness", ct.Signedness.SIGNED) == ct.Signedness.UNSIGNED:
        name = cls.lowers_to_unsigned
    extra: dict[str, Any] = {}
    if cls is ct.DivI:
        name = _DIVISIONS.get((attributes["signedness"], attributes.get("rounding", ct.Rounding.ZERO)), "")
    elif cls is ct.CmpI:
        name, extra = "arith.cmpi", {"predicate": int_predicate(attributes)}
    elif cls is ct.CmpF:
        extra = {"predicate": float_predicate(attributes)}
    elif cls is ct.FToF:
        wider = isinstance(source, FloatType) and isinstance(result, FloatType) and source.width < result.width
        name = "arith.extf" if wider else "arith.truncf"
    elif cls in (ct.MaxF, ct.MinF) and attributes.get("propagate_nan", False):
        name = "arith.maximumf" if cls is ct.MaxF else "arith.minimumf"
    found = OPS.get(name)
    if found is None:
        raise _unsupported(cls, op)
    declared = {a.name for a in found.info.attributes}
    if "rounding" in declared and attributes.get("rounding") in ROUNDINGS:
        extra["rounding"] = ROUNDINGS[attributes["rounding"]]
    if attributes.get("flush_to_zero", False):
        if "ftz" not in declared:
            raise _unsupported(cls, op, "cannot flush subnormals per thread")
        extra["ftz"] = True
    return found, extra


def int_predicate(attributes: Mapping[str, Any]) -> str:
    """MLIR's predicate of an integer comparison."""
    base = _PREDICATES[attributes["predicate"]]
    if base in ("eq", "ne"):
        return base
    return ("s" if attributes.get("signedness", ct.Signedness.SIGNED) == ct.Signedness.SIGNED else "u") + base


def float_predicate(attributes: Mapping[str, Any]) -> str:
    """MLIR's predicate of a float comparison."""
    base = _PREDICATES[attributes["predicate"]]
    return ("o" if attributes.get("ordering", ct.Ordering.ORDERED) == ct.Ordering.ORDERED else "u") + base


def _unsupported(cls: type[Op], op: Op | None, why: str = "has no per-thread form yet") -> UnsupportedError:
    message = f"'{cls.info.name}' {why}"
    return UnsupportedError(message, op.location) if op is not None else UnsupportedError(message)
