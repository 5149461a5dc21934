"""MLIR generic form of an operation of any dialect, and through it of any level of the road.

`%0 = "arith.addi"(%a, %b) <{overflow = ...}> ({ regions }) : (types) -> types`, which mlir-opt and xDSL read as far
as they know the dialect.
"""

from __future__ import annotations

import enum
from typing import Any

from ir.core import Op, Region, Value
from ir.dialects.cuda_tile import TileOp
from ir.dialects.cuda_tile.attributes import DenseElements
from ir.quoting import escape
from ir.text.generic_names import tile_attributes
from ir.text.literals import dense_text, scalar_text
from ir.text.names import Names
from ir.types import F64, I1, I64, FloatType, IntType, TensorType, TileType, VectorType


def print_generic(op: Op) -> str:
    """`op` and all below it, ending in a newline. Values defined outside it are named `%outer0`, `%outer1`, ..."""
    return _Generic(op).operation(op, "") + "\n"


class _Generic:
    __slots__ = ("blocks", "names", "outer")

    def __init__(self, root: Op):
        self.names = Names(root, hinted=False)
        self.outer: dict[Value, str] = {}
        self.blocks: dict[Any, str] = {}
        for value in root.results:
            self.names.texts[value] = f"%result{value.index}"

    def value(self, value: Value) -> str:
        found = self.names.texts.get(value)
        return found or self.outer.setdefault(value, f"%outer{len(self.outer)}")

    def operation(self, op: Op, indent: str) -> str:
        targets = f"{self.names.targets(op)} = " if op.results else ""
        operands = ", ".join(self.value(v) for v in op.operands)
        inputs = ", ".join(str(v.type) for v in op.operands)
        outputs = ", ".join(str(v.type) for v in op.results)
        if len(op.results) != 1:
            outputs = f"({outputs})"
        regions = f" ({', '.join(self.region(r, indent) for r in op.regions)})" if op.regions else ""
        return (
            f'{targets}"{op.name}"({operands}){self.successors(op)}{attributes(op)}{regions} : ({inputs}) -> {outputs}'
        )

    def successors(self, op: Op) -> str:
        """`[^bb1, ^bb2]` for branches, whose targets are an attribute-like list of blocks."""
        found: list[Any] = list(getattr(op, "successors", ()))
        return f"[{', '.join(self.blocks.get(block, '^unknown') for block in found)}]" if found else ""

    def region(self, region: Region, indent: str) -> str:
        inner = indent + "  "
        for number, block in enumerate(region.blocks):
            self.blocks[block] = f"^bb{number}"
        text = "{\n"
        for number, block in enumerate(region.blocks):
            if block.args or number:
                arguments = ", ".join(f"{self.value(a)}: {a.type}" for a in block.args)
                text += f"{indent}^bb{number}{f'({arguments})' if arguments else ''}:\n"
            text += "".join(f"{inner}{self.operation(op, inner)}\n" for op in block.ops)
        return f"{text}{indent}}}"


def attributes(op: Op) -> str:
    """` <{name = value, ...}>` in order of the names, those at their default left out; empty without any."""
    if isinstance(op, TileOp):
        return tile_attributes(op)
    defaults = {attr.name: attr.default for attr in op.info.attributes}
    shown = {
        name: value_text(value, op) if name == "value" else attribute_text(value)
        for name, value in sorted(op.attributes.items())
        if name != "successors" and not _same(value, defaults.get(name, ...))
    }
    if op.info.fixed_segments is None and len(op.segments) > 1:
        shown["operandSegmentSizes"] = f"array<i32: {', '.join(map(str, op.segments))}>"
    return f" <{{{', '.join(f'{name} = {text}' for name, text in shown.items())}}}>" if shown else ""


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and value == default)


def value_text(value: Any, op: Op) -> str:
    """The `value` of a constant, with the type of the op's result."""
    type_ = op.results[0].type if len(op.results) == 1 else None
    if isinstance(type_, IntType | FloatType) and isinstance(value, int | float):
        return number_text(value, type_)
    if isinstance(type_, TileType | TensorType | VectorType) and isinstance(type_.element, IntType | FloatType):
        literal = value if isinstance(value, DenseElements) else None
        if isinstance(value, int | float):
            return f"dense<{scalar_text(value, type_.element)}> : {type_}"
        if literal is not None:
            return f"dense<{dense_text(literal, TileType(type_.shape, type_.element))}> : {type_}"
    return attribute_text(value)


def number_text(value: int | float, type_: IntType | FloatType) -> str:
    """A number with its type; i1 is written without."""
    text = scalar_text(value, type_)
    return text if type_ == I1 else f"{text} : {type_}"


def attribute_text(value: Any) -> str:
    """An attribute's value in generic form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, enum.Enum):
        return f"#{value}"
    if isinstance(value, int | float):
        return number_text(value, I64 if isinstance(value, int) else F64)
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(attribute_text(v) for v in value)}]"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return str(value)
