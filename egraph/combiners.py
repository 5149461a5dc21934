"""Combiner regions of reductions: interned by structure, and recognised if they are one commutative operation."""

from __future__ import annotations

import enum
from collections.abc import Hashable, Sequence

from egraph.accesses import splatted
from ir.core import Block, Builder, Op, Region, UnsupportedError, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.attributes import ELEMENTWISE
from ir.dialects.cuda_tile.constraints import TileOp
from ir.records import dataclass
from ir.types import FloatType, IntType, TileType


class Combiner(enum.IntEnum):
    """What a one-operation combiner computes."""

    ADDF = 0
    ADDI = 1
    MAXF = 2
    MAXI = 3
    MINF = 4
    MINI = 5
    MULF = 6
    MULI = 7
    ANDI = 8
    ORI = 9
    XORI = 10


_COMBINERS: dict[type[Op], Combiner] = {
    ct.AddF: Combiner.ADDF,
    ct.AddI: Combiner.ADDI,
    ct.MaxF: Combiner.MAXF,
    ct.MaxI: Combiner.MAXI,
    ct.MinF: Combiner.MINF,
    ct.MinI: Combiner.MINI,
    ct.MulF: Combiner.MULF,
    ct.MulI: Combiner.MULI,
    ct.AndI: Combiner.ANDI,
    ct.OrI: Combiner.ORI,
    ct.XorI: Combiner.XORI,
}


@dataclass(frozen=True)
class Body:
    """An interned combiner: `region` is its first occurrence, `op` its operation if `combiner` is recognised."""

    key: Hashable
    region: Region
    combiner: Combiner | None
    op: Op | None


class Bodies:
    """The combiners of one program; equal regions share an id."""

    def __init__(self) -> None:
        self.entries: list[Body] = []
        self._ids: dict[Hashable, int] = {}

    def id(self, reduce: ct.Combining) -> int:
        """The id of a combiner."""
        region = reduce.body
        key = structure(region)
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self.entries)
            combiner, op = _recognise(region)
            self.entries.append(Body(key, region, combiner, op))
        return found


def structure(region: Region) -> Hashable:
    """A key that is equal for regions which compute the same by the same operations in the same order."""
    numbers: dict[Value, int] = {}
    for argument in region.block.args:
        numbers[argument] = len(numbers)
    rows: list[Hashable] = [tuple([a.type for a in region.block.args])]
    for op in region.block.ops:
        attributes = tuple(sorted(op.attributes.items()))
        inner = tuple([structure(r) for r in op.regions])
        operands = tuple([numbers[v] if v in numbers else captured(v, op).attributes["value"] for v in op.operands])
        rows.append((op.name, operands, attributes, tuple([r.type for r in op.results]), inner))
        for result in op.results:
            numbers[result] = len(numbers)
    return tuple(rows)


def captured(value: Value, user: Op) -> ct.Constant:
    """The constant behind a value that a combiner takes from around it. Raises UnsupportedError, located, for more."""
    if not isinstance(value.op, ct.Constant):
        raise UnsupportedError(
            f"'{user.name}' in a combiner uses a value of type {value.type} from outside of its region, which is not "
            "supported",
            user.location,
            "make it one more operand of the reduction or scan, broadcast to its tile",
        )
    return value.op


def taken(op: ct.Combining) -> list[Value]:
    """The scalars that a combiner takes from around it, other than constants, in the order of their first use.

    Empty where it has operations with regions, which are refused later.
    """
    block = op.body.block
    if any(each.regions for each in block.ops):
        return []
    inside = {*block.args, *(result for each in block.ops for result in each.results)}
    used = [value for each in block.ops for value in each.operands if value not in inside]
    return [value for value in dict.fromkeys(used) if not isinstance(value.op, ct.Constant) and scalar_number(value)]


def alone(op: ct.Combining) -> list[Op]:
    """What a combiner computes without its arguments, where it cannot be computed there: tile block ids, numbers of
    pointers. Empty where there is no such thing.
    """
    block = op.body.block
    inside = {*block.args, *(result for each in block.ops for result in each.results)}
    found: list[Op] = []
    for each in block.ops[:-1]:
        if not each.regions and not inside.intersection(each.operands):
            found.append(each)
            inside.difference_update(each.results)
    made = {result for each in found for result in each.results}
    foreign = (
        not is_elementwise(each) or any(v not in made and not scalar_number(v) for v in each.operands)
        for each in found
        if not isinstance(each, ct.Constant)
    )
    return found if any(foreign) else []


def is_elementwise(op: Op) -> bool:
    """Is this arithmetic that a combiner may have?"""
    return isinstance(op, TileOp) and op.placement is ELEMENTWISE and bool(op.lowers_to)


def by_values(op: ct.Combining, before: Sequence[Op]) -> tuple[list[Op], list[Value]]:
    """The reduction behind these operations of its combiner, whose results it takes from outside."""
    block, region = Block(), Block([argument.type for argument in op.body.block.args])
    new = dict(zip(op.body.block.args, region.args, strict=True))
    for each in op.body.block.ops:
        operands = [new.get(value, value) for value in each.operands]
        types = [result.type for result in each.results]
        made = type(each)(operands, types, each.attributes, (), each.location, each.segments)
        (block if each in before else region).append(made)
        new.update(zip(each.results, made.results, strict=True))
    types = [result.type for result in op.results]
    folded = type(op)(op.operands, types, op.attributes, [Region([region])], op.location, op.segments)
    block.append(folded)
    for each in block.ops:
        each.parent = op.parent  # loops and branches around it are those around the source
    return block.ops, folded.results


def scalar_number(value: Value) -> bool:
    """Is this one number?"""
    kind = value.type
    return isinstance(kind, TileType) and not kind.shape and isinstance(kind.element, IntType | FloatType)


def by_operands(op: ct.Combining, outside: Sequence[Value]) -> tuple[list[Op], list[Value]]:
    """The reduction with each value that its combiner takes from around it as one more operand, the same in every
    element, of which every combination gives the left one; and what stands for its results.
    """
    block = Block()
    b = Builder(block, op.location)
    shape = ct.tile_type(op.operands[0]).shape
    more = [splatted(b, value, shape) for value in outside]
    kinds = [ct.tile_type(value) for value in (*op.operands, *more)]
    region = Block([TileType((), kind.element) for kind in kinds for _ in range(2)])
    count = len(op.operands)
    new = dict(zip(op.body.block.args, region.args, strict=False)) | dict(
        zip(outside, region.args[2 * count :: 2], strict=True)
    )
    for each in op.body.block.ops:
        operands = [new.get(value, value) for value in each.operands]
        if isinstance(each, ct.Yield):
            operands += region.args[2 * count :: 2]
        segments = (len(operands),) if isinstance(each, ct.Yield) else each.segments
        types = [result.type for result in each.results]
        made = type(each)(operands, types, each.attributes, (), each.location, segments)
        region.append(made)
        new.update(zip(each.results, made.results, strict=True))
    identities = (*op.identities, *(0.0 if isinstance(kind.element, FloatType) else 0 for kind in kinds[count:]))
    dropped = (op.dim,) if isinstance(op, ct.Reduce) else ()
    types = [TileType(tuple(n for d, n in enumerate(kind.shape) if d not in dropped), kind.element) for kind in kinds]
    folded = b.add(
        type(op),
        *op.operands,
        *more,
        types=types,
        segments=(len(kinds),),
        regions=[Region([region])],
        **{**op.attributes, "identities": identities},
    )
    for each in block.ops:
        each.parent = op.parent  # loops and branches around it are those around the source
    return block.ops, folded.results[:count]


def _recognise(region: Region) -> tuple[Combiner | None, Op | None]:
    """One operation on both arguments, yielded: every listed one is commutative, so operand order does not matter."""
    block = region.block
    if len(block.ops) != 2:
        return None, None
    op, last = block.ops
    combiner = _COMBINERS.get(type(op))
    if combiner is None or set(op.operands) != set(block.args) or last.operands != op.results:
        return None, None
    return combiner, op
