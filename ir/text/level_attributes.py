"""Attributes of the levels below cuda_tile in MLIR generic form; `level_input` reads what this writes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ir.bits import bit_pattern, number_of
from ir.core import Attribute, Op, Type
from ir.dialects.cuda_tile.attributes import DenseElements
from ir.dialects.cuda_tile.numerics import TF32_DROPPED_BITS
from ir.narrowing import is_mapping, is_row
from ir.quoting import escape, key_text
from ir.text.literals import dense_text, float_text
from ir.types import F64, I1, I64, TF32, FloatType, IntType, TensorType, TileType, VectorType, dims_text
from ir.upstream import SAME

NOT_SHOWN = ("successors",)
"""Attributes that have a place of their own in the text."""


def level_attributes(op: Op) -> str:
    """` <{name = value, ...}>` in order of the names, those at their default left out; empty without any."""
    shown: dict[str, str] = {}
    for attr in op.info.attributes:
        value = op.attributes.get(attr.name, attr.default)
        if attr.name not in NOT_SHOWN and value is not ... and not _same(value, attr.default):
            form = attr.form or SAME
            plain = literal_text(op, value) if attr.name == "value" else None
            shown[form.name or attr.name] = form.write(value) if form.write else plain or attribute_text(value)
    if len(op.info.flexible) > 1:  # otherwise the number of operands gives the size of each group
        shown["operandSegmentSizes"] = f"array<i32: {', '.join(map(str, op.segments))}>"
    return f" <{{{', '.join(f'{name} = {text}' for name, text in sorted(shown.items()))}}}>" if shown else ""


def _same(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and value == default)


def literal_text(op: Op, value: object) -> str:
    """The `value` of a constant or an array, with its type."""
    kind = op.attributes.get("type") or (op.results[0].type if op.results else None)
    if isinstance(kind, IntType | FloatType) and isinstance(value, int | float):
        return number_text(value, kind)
    if isinstance(kind, IntType | FloatType):
        kind = TensorType((), kind)
    if isinstance(kind, TileType | TensorType | VectorType) and isinstance(kind.element, IntType | FloatType):
        tile = TileType(kind.shape, kind.element)
        plain = f"{'vector' if isinstance(kind, VectorType) else 'tensor'}<{dims_text(kind.shape)}{kind.element}>"
        if isinstance(value, int | float):
            number = number_text(value, kind.element).partition(" ")[0]
            return f"dense<{number}> : {plain}"
        if isinstance(value, DenseElements):
            elements = dense_text(value, tile, raw=kind.element != I1)  # of which MLIR packs eight in a byte
            return f"dense<{elements}> : {plain}"
    return attribute_text(value)


def number_text(value: int | float, type_: IntType | FloatType) -> str:
    """A number with its type, i1 without. A float is rounded to its type; infinities and NaNs are written as bits."""
    if type_ == I1:
        return "true" if value else "false"
    if isinstance(type_, IntType):
        return f"{int(value)} : {type_}"
    return f"{float_number(float(value), type_)} : {type_}"


def float_number(value: float, type_: FloatType) -> str:
    """A float of this type: decimal, or the bits of what is not finite."""
    bits = bit_pattern(type_, value)
    rounded = number_of(type_, bits)
    if math.isfinite(rounded):
        return float_text(float(rounded), type_)
    return f"0x{bits >> (TF32_DROPPED_BITS if type_ == TF32 else 0):X}"


def attribute_text(value: object) -> str:
    """The text of an attribute that depends on nothing else. Raises TypeError for what the form cannot express."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return number_text(value, I64)
    if isinstance(value, float):
        return number_text(value, F64)
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, Type | Attribute):
        return value.mlir()
    if is_row(value):
        return _list_text(value)
    if is_mapping(value):
        entries = value.items()
        return f"{{{', '.join(f'{key_text(name)} = {attribute_text(each)}' for name, each in entries)}}}"
    raise TypeError(f"no generic form of {value!r}")


def _list_text(values: Sequence[object]) -> str:
    if values and all(type(each) is int for each in values):
        return f"array<i64: {', '.join(map(str, values))}>"
    return f"[{', '.join(map(attribute_text, values))}]"
