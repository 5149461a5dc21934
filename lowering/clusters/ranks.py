"""How the values of a placed kernel depend on the CTA's rank in its cluster.

The rank of one of c CTAs is the low bits of its number along x. A value is the same in CTAs that differ only in bits
that do not flow into it: the number shifted right by n depends on the bits from n on. Scalars from memory are the same
if their addresses are: before loads of data that another CTA stores all CTAs synchronise (`order`). Results of strong
loads and updates may differ in all CTAs; results of an exchange are the same in its participants.
"""

from __future__ import annotations

from collections.abc import Iterable

from ir.core import READ, WRITE, Op, Value
from ir.dialects import arith, nv_tileas, scf
from ir.records import dataclass
from ir.types import IntType

WIDTH = 32  # bits of a tile block's number
SHIFTS = (arith.ShRUI, arith.ShRSI)
QUOTIENTS = (arith.DivSI, arith.DivUI, arith.FloorDivSI)
REMAINDERS = (arith.RemSI, arith.RemUI)
CASTS = (arith.ExtSI, arith.ExtUI, arith.TruncI)


@dataclass(frozen=True)
class Field:
    """Bits of the CTA's number, from `low` on, as the low bits of a value."""

    low: int
    width: int

    @property
    def mask(self) -> int:
        """Of the number."""
        return (1 << self.width) - 1 << self.low


class Ranks:
    """Clusters of `ctas` CTAs along x."""

    def __init__(self, ctas: int):
        self.all = ctas - 1
        self.fields: dict[Value, Field | None] = {}

    def of(self, values: Iterable[Value]) -> int:
        """The bits of the rank that these values may depend on, as a mask."""
        found, seen = 0, set[tuple[Value, int]]()
        waiting = [(value, 0) for value in values]  # with bits in which an exchange on the way makes it the same
        while waiting:
            value, alike = each = waiting.pop()
            if each in seen:
                continue
            seen.add(each)
            field, op = self.field(value), value.op
            if field is not None:
                found |= field.mask & self.all & ~alike
            elif isinstance(op, nv_tileas.Exchange):
                among = 0 if op.other else op.among
                waiting.append((op.values[value.index // op.parts], alike | among))
            elif unsteady(value):
                found |= self.all & ~alike
            else:
                waiting += [(part, alike) for part in made_of(value)]
        return found

    def field(self, value: Value) -> Field | None:
        """The bit field of the CTA's number that a value equals; None if it is something else."""
        if value not in self.fields:
            self.fields[value] = self._field(value)
        return self.fields[value]

    def _field(self, value: Value) -> Field | None:
        op = value.op
        if isinstance(op, nv_tileas.ProgramId):
            return Field(0, WIDTH) if op.axis == 0 else None
        source = None if op is None or not op.operands else self.field(op.operands[0])
        if op is None or source is None:
            return None
        if isinstance(op, CASTS):
            width = value.type.width if isinstance(value.type, IntType) else WIDTH
            return Field(source.low, min(width, source.width))
        by = number(op.operands[1]) if len(op.operands) == 2 else None
        if by is None:
            return None
        power = by.bit_length() - 1 if by > 0 and by & (by - 1) == 0 else None
        if isinstance(op, SHIFTS) or (isinstance(op, QUOTIENTS) and power is not None):
            bits = by if isinstance(op, SHIFTS) else power or 0
            return Field(source.low + bits, max(source.width - bits, 0))
        if isinstance(op, REMAINDERS) and power is not None:
            return Field(source.low, min(power, source.width))
        if isinstance(op, arith.AndI) and by >= 0 and by & (by + 1) == 0:
            return Field(source.low, min(by.bit_length(), source.width))
        return None


def number(value: Value) -> int | None:
    """A constant integer."""
    op = value.op
    return op.value if isinstance(op, arith.Constant) and isinstance(op.value, int) else None


def unsteady(value: Value) -> bool:
    """Does it come from memory, in an order that other CTAs influence?"""
    op = value.op
    if op is None or op.regions:
        return False
    return op.effect is WRITE or (op.effect is READ and bool(op.attributes.get("order", "")))


def made_of(value: Value) -> list[Value]:
    """What a value depends on: operands; values passed to it by control flow, and the conditions of that control
    flow.
    """
    owner = value.owner
    if isinstance(owner, Op):
        return carried(owner, value.index) if owner.regions else list(owner.operands)
    loop = owner.parent_op
    if isinstance(loop, scf.For):
        return loop.operands[:3] if value.index == 0 else carried(loop, value.index - 1)
    return carried(loop, value.index) if isinstance(loop, scf.While) else []


def carried(op: Op, place: int) -> list[Value]:
    """What a result of a loop or branch depends on, including its control."""
    ends = [region.block.terminator for region in op.regions]
    match op:
        case scf.For():
            return [*op.operands[:3], op.init[place], ends[0].operands[place]]
        case scf.While():
            return [op.init[place], *ends[0].operands[:1], ends[0].operands[1 + place]]
        case scf.If():
            return [op.condition, *(end.operands[place] for end in ends)]
        case _:
            return [*op.operands, *(v for end in ends for v in end.operands)]
