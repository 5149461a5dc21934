"""Rebuilds a source program: each operation with its mapped operands. Passes override what changes."""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.types import TileType


class Rewriter:
    """Rebuilds operations; `new` maps source values to their replacements."""

    def __init__(self) -> None:
        self.new: dict[Value, Value] = {}

    def entry(self, entry: ct.Entry) -> ct.Entry:
        """An entry; its parameters, names, locations and hints stay."""
        body = Block([argument.type for argument in entry.body.block.args])
        self.bind(entry.body.block.args, body.args)
        self.operations(entry.body.block.ops, Builder(body, entry.location))
        return entry.with_body(body)

    def bind(self, old: Sequence[Value], new: Sequence[Value]) -> None:
        """Map old values to new ones and pass on their names."""
        for before, after in zip(old, new, strict=True):
            self.new[before] = after
            after.name = after.name or before.name

    def operations(self, ops: Sequence[Op], b: Builder) -> None:
        """All of them, in order."""
        for op in ops:
            b.location = op.location
            self.operation(op, b)

    def operation(self, op: Op, b: Builder) -> None:
        """One, as it is."""
        regions = [self.region(each) for each in op.regions]
        types = [result.type for result in op.results]
        made = b.add(type(op), *map(self.new.__getitem__, op.operands), types=types, regions=regions,
                     segments=op.segments, **op.attributes)  # fmt: skip
        self.bind(op.results, made.results)

    def region(self, region: Region) -> Region:
        """A region's blocks."""
        blocks: list[Block] = []
        for block in region.blocks:
            inner = Block([argument.type for argument in block.args])
            self.bind(block.args, inner.args)
            self.operations(block.ops, Builder(inner))
            blocks.append(inner)
        return Region(blocks)


def constant(b: Builder, number: float, kind: TileType) -> Value:
    """A number in every element of a tile."""
    return b.value(ct.Constant, types=[kind], value=ct.DenseElements.of(number, kind.element))


def without_promises(value: Value) -> Value:
    """The value without assumptions about it."""
    while isinstance(value.op, ct.Assume):
        value = value.op.value
    return value
