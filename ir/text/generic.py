"""MLIR generic form of an operation of any dialect, and through it of any level of the road.

`%0 = "arith.addi"(%a, %b) <{overflow = ...}> ({ regions }) : (types) -> types`, which mlir-opt and xDSL read as far
as they know the dialect.
"""

from __future__ import annotations

from collections.abc import Callable

from ir.core import Block, Op, Region, Type, Value
from ir.dialects.cuda_tile import TileOp
from ir.text.generic_names import tile_attributes
from ir.text.level_attributes import level_attributes
from ir.text.names import Names
from ir.upstream import written_name


def print_generic(op: Op) -> str:
    """`op` and all below it, ending in a newline. Values defined outside it are named `%outer0`, `%outer1`, ..."""
    return _Generic(op).operation(op, "") + "\n"


def located_lines(op: Op) -> list[tuple[str, Op | None]]:
    """The lines of `print_generic`, each with the operation that begins on it: none where a block or an end does."""
    printer = _Located(op)
    found: list[tuple[str, Op | None]] = []
    for line in printer.operation(op, "").split("\n"):
        before, mark, rest = line.partition(_MARK)
        number, _, text = rest.partition(_MARK)
        found.append((before + text, printer.begun[int(number)]) if mark else (line, None))
    return found


_MARK = "\0"
"""Around the number of an operation, where it begins; no printed name or string has one."""


def _own_name(op: Op) -> str:
    return op.name


class _Generic:
    __slots__ = ("attributes", "blocks", "name", "names", "outer", "type")

    def __init__(self, root: Op):
        tile = isinstance(root, TileOp)  # whose own text and generic form spell types alike
        self.type: Callable[[Type], str] = str if tile else lambda type_: type_.mlir()
        self.name: Callable[[Op], str] = _own_name if tile else written_name
        self.attributes = tile_attributes if tile else level_attributes
        self.names = Names(root, hinted=False)
        self.outer: dict[Value, str] = {}
        self.blocks: dict[Block, str] = {}
        for value in root.results:
            self.names.texts[value] = f"%result{value.index}"

    def value(self, value: Value) -> str:
        found = self.names.texts.get(value)
        return found or self.outer.setdefault(value, f"%outer{len(self.outer)}")

    def operation(self, op: Op, indent: str) -> str:
        targets = f"{self.names.targets(op)} = " if op.results else ""
        operands = ", ".join(self.value(v) for v in op.operands)
        inputs = ", ".join(self.type(v.type) for v in op.operands)
        outputs = ", ".join(self.type(v.type) for v in op.results)
        if len(op.results) != 1:
            outputs = f"({outputs})"
        regions = f" ({', '.join(self.region(r, indent) for r in op.regions)})" if op.regions else ""
        named = f'{targets}"{self.name(op)}"({operands}){self.successors(op)}{self.attributes(op)}'
        return f"{named}{regions} : ({inputs}) -> {outputs}"

    def successors(self, op: Op) -> str:
        """`[^bb1, ^bb2]` for branches, whose targets are an attribute-like list of blocks."""
        found: list[Block] = list(getattr(op, "successors", ()))
        return f"[{', '.join(self.blocks.get(block, '^unknown') for block in found)}]" if found else ""

    def region(self, region: Region, indent: str) -> str:
        inner = indent + "  "
        for number, block in enumerate(region.blocks):
            self.blocks[block] = f"^bb{number}"
        text = "{\n"
        for number, block in enumerate(region.blocks):
            if block.args or number:
                arguments = ", ".join(f"{self.value(a)}: {self.type(a.type)}" for a in block.args)
                text += f"{indent}^bb{number}{f'({arguments})' if arguments else ''}:\n"
            text += "".join(f"{inner}{self.operation(op, inner)}\n" for op in block.ops)
        return f"{text}{indent}}}"


class _Located(_Generic):
    """Marks where each operation begins."""

    __slots__ = ("begun",)

    def __init__(self, root: Op):
        super().__init__(root)
        self.begun: list[Op] = []

    def operation(self, op: Op, indent: str) -> str:
        number = len(self.begun)
        self.begun.append(op)
        return f"{_MARK}{number}{_MARK}{super().operation(op, indent)}"
