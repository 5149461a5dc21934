"""How MLIR generic form spells the attributes of cuda_tile: names, enumerations, literals, segment sizes.

Source: argument names of the public dialect (CUDA Tile IR 13.3, Ops.td) and of the encoders of cuda-tile 1.7.0.
"""

from __future__ import annotations

from typing import Any

from ir.core import AttrField, Op, Region, Type
from ir.dialects.cuda_tile.attributes import (
    AtomicMode,
    DenseElements,
    Dictionary,
    MemoryOrder,
    MultimemReduction,
    OptimizationHints,
    Ordering,
    Overflow,
    Predicate,
    Rounding,
    Scope,
    Signedness,
    TextEnum,
    TypedNumber,
    Visibility,
)
from ir.dialects.cuda_tile.constraints import tile_type
from ir.quoting import escape, key_text, symbol_text
from ir.text.literals import dense_text, scalar_text
from ir.types import F64, I1, I64, FloatType, FunctionType, IntType, TileType

MLIR_NAMES = {
    "hints": "optimization_hints",
    "order": "memory_ordering_semantics",
    "ordering": "comparison_ordering",
    "rounding": "rounding_mode",
    "scope": "memory_scope",
    "unsigned_cmp": "unsignedCmp",
}
"""Attributes whose Python name is not MLIR's; `predicate` of a comparison is `comparison_predicate` too."""
MNEMONICS: dict[type[TextEnum], str] = {
    AtomicMode: "atomic_rmw_mode",
    MemoryOrder: "memory_ordering_semantics",
    MultimemReduction: "multimem_reduction_kind",
    Ordering: "comparison_ordering",
    Overflow: "overflow",
    Predicate: "comparison_predicate",
    Rounding: "rounding",
    Scope: "memory_scope",
    Signedness: "signedness",
    Visibility: "symbol_visibility",
}
INTEGER_ARRAYS = {"permutation": "i32", "inbounds": "i1"}
"""Attributes that are arrays of plain numbers, with their element type."""
KEPT = ("arg_attrs", "const_args", "res_attrs")
"""Attributes for a function that is defined elsewhere, in the order in which they are printed."""
FUNCTIONS = ("cuda_tile.entry", "cuda_tile.testing$func")


def mlir_name(attr: AttrField) -> str:
    """The name of a declared attribute in generic form."""
    if attr.kind is Predicate:
        return "comparison_predicate"
    return MLIR_NAMES.get(attr.name, attr.name)


def tile_attributes(op: Op) -> str:
    """` <{name = value, ...}>` of a cuda_tile operation, defaults left out; empty without any."""
    shown: dict[str, str] = {}
    for attr in op.info.attributes:
        value = op.attributes.get(attr.name, attr.default)
        if attr.name == "result_types" or (not attr.required and value == attr.default):
            continue
        if attr.name == "type" and isinstance(value, TileType):
            continue  # the literal of a global carries its type
        shown[mlir_name(attr)] = _value(op, attr.name, value)
    if op.name in FUNCTIONS:
        shown["function_type"] = _function_type(op)
    if op.info.fixed_segments is None and len(op.segments) > 1:
        shown["operandSegmentSizes"] = f"array<i32: {', '.join(map(str, op.segments))}>"
    parts = [name if text == "unit" else f"{name} = {text}" for name, text in sorted(shown.items())]
    return f" <{{{', '.join(parts)}}}>" if parts else ""


def _function_type(op: Op) -> str:
    region: Region = op.regions[0]
    inputs = tuple(value.type for value in region.block.args)
    results: tuple[Type, ...] = op.attributes.get("result_types", ())
    return str(FunctionType(inputs, results))


def _value(op: Op, name: str, value: Any) -> str:
    if isinstance(value, DenseElements):
        tile = op.attributes["type"] if "type" in op.attributes else tile_type(op.results[0])
        return f"dense<{dense_text(value, tile)}> : {tile}"
    if name in INTEGER_ARRAYS:
        return f"array<{INTEGER_ARRAYS[name]}: {', '.join(str(v).lower() for v in value)}>"
    if name == "identities":
        elements = [v.type.element for v in op.operands if isinstance(v.type, TileType)]
        return f"[{', '.join(_number(v, e) for v, e in zip(value, elements, strict=True))}]"
    if name in ("callee", "name") and isinstance(value, str):
        return symbol_text(value)
    return attribute_text(value)


def _number(value: object, element: object) -> str:
    if not isinstance(element, IntType | FloatType):
        raise TypeError(f"{element} has no literals")
    text = scalar_text(value, element)
    return text if element == I1 else f"{text} : {element}"


def attribute_text(value: Any) -> str:
    """An attribute whose text needs nothing but itself."""
    if value is True:
        return "unit"
    if value is False:
        return "false"
    if isinstance(value, TextEnum):
        return f"#cuda_tile.{MNEMONICS[type(value)]}<{value}>"
    if isinstance(value, int | float):
        return _number(value, I64 if isinstance(value, int) else F64)
    if isinstance(value, TypedNumber):
        return _number(value.value, value.type)
    if isinstance(value, Dictionary):
        return f"{{{', '.join(f'{key_text(name)} = {attribute_text(each)}' for name, each in value.entries)}}}"
    if isinstance(value, IntType | FloatType):
        return str(value)
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, tuple):
        texts = [attribute_text(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
        return f"[{', '.join('true' if text == 'unit' else text for text in texts)}]"
    return f"#cuda_tile.optimization_hints{value}" if isinstance(value, OptimizationHints) else f"#cuda_tile.{value}"
