"""Addresses of rows that a loop's copies read, carried across iterations instead of being multiplied out in each.

    base + 2 (64 i + r) pitch     becomes     p, and p + 128 pitch for the next iteration
A row of a tile times the pitch of an array, in 64 bits and on top of a base, is a product, two halves of a sum and the
row itself; one wide multiply-add advances from the previous row. Source: strength reduction (Cocke and Kennedy, "An
Algorithm for Reduction of Operator Strength", 1977).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ir.core import Block, Value
from ir.dialects import llvm, nvvm
from ir.records import dataclass
from ir.types import GLOBAL_PTR, I64
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, width_of

MOST_BYTES = 1 << 31  # that a wide product multiplies a 32-bit pitch by


@dataclass(frozen=True)
class Row:
    """A pointer in a loop: `index` elements after a loop-invariant `base`; each iteration advances it by `bytes` times
    `pitch`.
    """

    pointer: Value
    base: Value
    index: Value
    element_bytes: int
    pitch: Value
    bytes: int


class Rows:
    """The pointers of a loop whose body has been emitted and is the current block; its counter is the first argument.
    The body's other results (`left`) stay unchanged.
    """

    def __init__(self, e: Emitter, body: Block, step: Value, left: Collection[Value]):
        self.e = e
        self.body = body
        self.counter = body.args[0]
        self.depth = e.depth
        by = e.integer(step)
        fits = by is not None and by > 0 and e.blocks[-1] is body
        self.found = [row for row in self.rows(by) if row.pointer not in left] if fits and by else []

    def rows(self, by: int) -> Iterator[Row]:
        """Rows that cp.async reads from, directly or displaced by loop-invariant multiples of the pitch."""
        roots = (self.root(op.src) for op in self.body.ops if isinstance(op, nvvm.CpAsyncSharedGlobal))
        for gep in dict.fromkeys(root for root in roots if root is not None):
            product = gep.index.op if gep.index is not None else None
            if not isinstance(product, llvm.Mul) or gep.index is None or not self.stays(gep.base):
                continue
            for index, pitch in (product.operands, product.operands[::-1]):
                slope = self.slope(index) if self.stays(pitch) and self.e.integer(pitch) is None else None
                if slope and slope > 0 and slope * by * gep.element_bytes < MOST_BYTES:
                    found = slope * by * gep.element_bytes
                    yield Row(gep.result, gep.base, gep.index, gep.element_bytes, pitch, found)
                    break

    def root(self, pointer: Value) -> llvm.GetElementPtr | None:
        """The innermost pointer of the loop under such displacements."""
        op = pointer.op
        while (
            isinstance(op, llvm.GetElementPtr)
            and not self.stays(op.base)
            and isinstance(op.base.op, llvm.GetElementPtr)
        ):
            op = op.base.op
        return op if isinstance(op, llvm.GetElementPtr) and op.parent is self.body and op.offset == 0 else None

    def stays(self, value: Value) -> bool:
        """Is a value loop-invariant?"""
        return self.e.level[value] < self.depth

    def slope(self, value: Value) -> int | None:
        """How much a value grows when the counter grows by one; None if that is unknown, or it may wrap."""
        if value is self.counter:
            return 1
        if self.stays(value):
            return 0
        op, facts = value.op, self.e.facts
        if isinstance(op, llvm.ZExt | llvm.SExt):
            signed = isinstance(op, llvm.SExt) or facts.range(op.operands[0])[0] >= 0
            return self.slope(op.operands[0]) if signed else None
        if not isinstance(op, llvm.Add | llvm.Mul) or not (width_of(value) == I64.width or facts.exact(op)):
            return None
        first, second = self.slope(op.lhs), self.slope(op.rhs)
        if first is None or second is None:
            return None
        if isinstance(op, llvm.Add):
            return first + second
        factor = self.e.integer(op.rhs)
        return first * factor if second == 0 and factor is not None else None

    def carry(self) -> list[Value]:
        """Let the loop carry them; returns their yielded values."""
        following: list[Value] = []
        for row in self.found:
            argument = Value(GLOBAL_PTR, self.body, len(self.body.args))
            self.body.args.append(argument)
            self.e.level[argument] = self.depth
            for op in self.body.ops:
                if row.pointer in op.operands:
                    op.operands = [argument if v is row.pointer else v for v in op.operands]
            assert row.pointer.op is not None
            self.body.ops.remove(row.pointer.op)
            pitch = row.pitch.op.operands[0] if isinstance(row.pitch.op, llvm.SExt) else row.pitch
            following.append(self.e.value(llvm.GetElementPtr, GLOBAL_PTR, argument, pitch, element_bytes=row.bytes))
        return following

    def first(self, lower: Value) -> list[Value]:
        """The pointers of the first iteration, computed before the loop."""
        return [
            self.e.value(
                llvm.GetElementPtr,
                GLOBAL_PTR,
                row.base,
                self.at(row.index, lower),
                **({"element_bytes": row.element_bytes} if row.element_bytes != 1 else {}),
            )
            for row in self.found
        ]

    def at(self, value: Value, lower: Value) -> Value:
        """A value in the first iteration."""
        if value is self.counter:
            return lower
        op, e = value.op, self.e
        if self.stays(value) or op is None:
            return value
        first, *second = (self.at(v, lower) for v in op.operands)
        if isinstance(op, llvm.Add):
            return ints.add(e, first, second[0])
        if isinstance(op, llvm.Mul):
            return ints.mul(e, first, second[0])
        return ints.extend(e, first, value.type, isinstance(op, llvm.SExt))
