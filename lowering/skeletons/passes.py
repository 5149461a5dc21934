"""What skeletons ask of loops that pass over the same tiles one after another: bounds, effects, folds, and whether
two values are computed alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ir.core import PURE, READ, Builder, Op, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.constraints import shape_of, tile_type
from ir.types import I1, TileType
from lowering.source.unrolling import constant_of, continues_early

SHAPING = (ct.Broadcast, ct.Reshape)
Rows = tuple[int, ...]
"""Where a tile has those dimensions of another one that have more than one element, in their order."""


def alone(loop: ct.For) -> bool:
    """Does a loop carry one value, and nothing but compute and load?"""
    return len(loop.results) == 1 and only_reads(loop)


def only_reads(loop: ct.For) -> bool:
    """Does a loop nothing but compute and load?"""
    return not continues_early(loop) and all(harmless(op) for op in loop.body.block.ops[:-1])


def harmless(op: Op) -> bool:
    """Computes, or loads what no order forbids."""
    plain = op.effect is PURE or (op.effect is READ and not op.attributes.get("order", ct.MemoryOrder.WEAK))
    return plain and all(harmless(each) for region in op.regions for block in region.blocks for each in block.ops[:-1])


def same_bounds(first: ct.For, second: ct.For) -> bool:
    """Do two loops run over the same numbers?"""
    ends = ((each.lower_bound, each.upper_bound, each.step) for each in (first, second))
    return first.unsigned_cmp == second.unsigned_cmp and all(
        alike(a, b, {}) or (constant_of(a) is not None and constant_of(a) == constant_of(b))
        for a, b in zip(*ends, strict=True)
    )


def ran(loop: ct.For, new: Mapping[Value, Value], b: Builder) -> Value:
    """Has a loop any iterations? `lagging` knows it by the bounds of the loop that is written, which are `new`."""
    sign = ct.Signedness.UNSIGNED if loop.unsigned_cmp else ct.Signedness.SIGNED
    ends = new[loop.lower_bound], new[loop.upper_bound]
    return b.value(ct.CmpI, *ends, types=[TileType((), I1)], predicate=ct.Predicate.LESS_THAN, signedness=sign)


def addend(loop: ct.For, kind: type[ct.AddF | ct.MaxF] = ct.AddF, place: int = 0) -> Value | None:
    """What a loop combines with what it carries, at a place, in each iteration."""
    carried, op = loop.body.block.args[1 + place], loop.body.block.ops[-1].operands[place].op
    if not isinstance(op, kind) or op.flush_to_zero or carried not in (op.lhs, op.rhs):
        return None
    return op.rhs if op.lhs is carried else op.lhs


def folded(value: Value | None, kind: type[ct.AddF | ct.MaxF]) -> Value | None:
    """The tile that a value folds by one operation, in any shape."""
    reduce = shaped_from(value).op if value is not None else None
    return reduce.operands[0] if isinstance(reduce, ct.Reduce) and folds(reduce, kind) else None


def folds(reduce: ct.Reduce, kind: type[ct.AddF | ct.MaxF]) -> bool:
    """Is it the fold of one tile by one operation?"""
    body = reduce.body.block
    made = body.ops[0]
    plain = len(body.ops) == 2 and isinstance(made, kind) and not made.flush_to_zero
    return len(reduce.operands) == 1 and plain and set(made.operands) == set(body.args)


def shaped_from(value: Value) -> Value:
    """The value behind broadcasts and reshapes."""
    while isinstance(value.op, SHAPING):
        value = value.op.source
    return value


def alike(a: Value, b: Value, same: dict[Value, Value]) -> bool:
    """Are two values computed in the same way, of values that are the same? Those that are found to be are noted."""
    if a is b or same.get(a) is b:
        return True
    x, y = a.op, b.op
    if x is None or y is None or type(x) is not type(y) or x.regions or not harmless(x):
        return False
    alike_here = a.index == b.index and a.type == b.type and x.attributes == y.attributes
    found = (
        alike_here
        and len(x.operands) == len(y.operands)
        and all(alike(left, right, same) for left, right in zip(x.operands, y.operands, strict=True))
    )
    if found:
        same[a] = b
    return found


def moved(op: ct.Broadcast | ct.Reshape, dim: int) -> int | None:
    """Where a dimension of more than one element is in a tile of another shape; None where it is cut or joined."""
    before, after = shape_of(op.source), shape_of(op.result)
    if isinstance(op, ct.Broadcast):
        return dim
    long_before, long_after = ([k for k, size in enumerate(shape) if size > 1] for shape in (before, after))
    if [before[k] for k in long_before] != [after[k] for k in long_after] or dim not in long_before:
        return None
    return long_after[long_before.index(dim)]


def closure(values: Iterable[Value], ops: Sequence[Op]) -> list[Op]:
    """The operations of a list that values come from, in order."""
    wanted, found = set(values), list[Op]()
    for op in reversed(ops):
        if wanted.intersection(op.results):
            wanted.update(op.operands)
            found.append(op)
    return found[::-1]


def steady(loop: ct.For) -> list[Op]:
    """The operations of a loop, in order, that compute the same in all its iterations."""
    body = loop.body.block
    varying, found = set(body.args), list[Op]()
    for op in body.ops[:-1]:
        if op.effect is PURE and not op.regions and varying.isdisjoint(op.operands):
            found.append(op)
        else:
            varying.update(op.results)
    return found


def spread(value: Value, rows: Rows, shape: tuple[int, ...], b: Builder) -> Value:
    """A value in a shape, where its rows have these places."""
    element = tile_type(value).element
    kind = TileType(tuple(size if dim in rows else 1 for dim, size in enumerate(shape)), element)
    value = value if value.type == kind else b.value(ct.Reshape, value, types=[kind])
    whole = TileType(shape, element)
    return value if kind == whole else b.value(ct.Broadcast, value, types=[whole])
