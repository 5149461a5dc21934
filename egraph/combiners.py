"""Combiner regions of reductions: interned by structure, and recognised where they are one commutative operation."""

from __future__ import annotations

import enum
from collections.abc import Hashable
from dataclasses import dataclass

from ir.core import Op, Region, UnsupportedError, Value
from ir.dialects import cuda_tile as ct


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
    """An interned combiner: `region` is its first occurrence, `op` its operation where `combiner` is recognised."""

    key: Hashable
    region: Region
    combiner: Combiner | None
    op: Op | None


class Bodies:
    """The combiners of one program; equal regions share an id."""

    def __init__(self) -> None:
        self.entries: list[Body] = []
        self._ids: dict[Hashable, int] = {}

    def id(self, reduce: ct.Reduce | ct.Scan) -> int:
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
            f"'{user.name}' in a combiner uses a value from outside of it that is no constant, which is not supported",
            user.location, "make it one more operand of the reduction or scan, broadcast to its tile",
        )  # fmt: skip
    return value.op


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
