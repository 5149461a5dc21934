"""Readers of a product's sum, relative to the product that overwrites it: before it, or after it from a copy.

In a rotated loop the scores of the next iteration are in flight while those of this one are read. The readers can come
before the product, so that both use the same registers one after the other; or the product is issued at once, and the
old scores are moved to separate registers. The faster one is predicted: if the product is issued later, less of the
iteration overlaps with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from ir.core import PURE, Op, Value
from ir.dialects import nv_tileas
from ir.types import TensorType
from lowering.schedule.flight import replaced
from lowering.schedule.size import arithmetic_cost, registers, size
from lowering.targets import Target


def readers_first(dot: nv_tileas.Dot, target: Target, warps: int) -> bool:
    """Move the readers of the tile that a product overwrites before the product, with their operands, if they are
    arithmetic and it is faster.
    """
    body, tile = dot.parent, replaced(dot)
    if body is None or tile is None:
        return False
    place = body.ops.index(dot)
    before, behind = body.ops[:place], body.ops[place + 1 :]
    moved = readers(tile, behind)
    wanted = {v for op in moved for v in op.operands}
    if not moved or dot.result in wanted or not sooner(dot, moved, behind, target, warps):
        return False
    last = max((n for n, op in enumerate(before) if wanted.intersection(op.results)), default=-1)
    rest = [op for op in behind if op not in set(moved)]
    body.ops[:] = [*before[: last + 1], *moved, *before[last + 1 :], dot, *rest]
    return True


def readers(tile: Value, ops: list[Op]) -> list[Op]:
    """Those of some operations that read a tile, with those that they need; none where that is not arithmetic alone."""
    wanted: set[Value] = set()
    found: list[Op] = []
    for op in reversed(ops):
        if any(tile in each.operands for each in op.walk()) or wanted.intersection(op.results):
            if op.effect is not PURE or op.regions or isinstance(op, nv_tileas.Dot):
                return []
            found.append(op)
            wanted.update(op.operands)
    return found[::-1]


def sooner(dot: nv_tileas.Dot, moved: list[Op], behind: list[Op], target: Target, warps: int) -> bool:
    """Does an iteration take less time with some of its operations before a product, not beside it?"""
    first, whole = cycles(moved, target, warps), cycles(behind, target, warps)
    copies = registers(dot.result) * warps / target.throughput.issue
    tensor = product_cycles(dot, target)
    return first + max(tensor, whole - first) <= copies + max(tensor, whole)


def cycles(ops: Iterable[Op], target: Target, warps: int) -> float:
    """Cycles of an SM that the warps of a CTA take for operations, one after the other; products run by themselves."""
    return sum(
        size(op, target) * warps / target.throughput.issue if cost is None else cost.alu
        for op in ops
        if not isinstance(op, nv_tileas.Dot)
        for cost in (arithmetic_cost(op, target, warps),)
    )


def product_cycles(dot: nv_tileas.Dot, target: Target) -> float:
    """Cycles of the tensor cores for a product."""
    left, right = dot.a.type, dot.b.type
    if not isinstance(left, TensorType) or not isinstance(right, TensorType):
        return 0.0
    rates = target.throughput
    return 2.0 * prod(left.shape) * right.shape[-1] / rates.tensor.get(str(left.element), 2 * rates.fma_f32)
