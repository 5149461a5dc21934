"""Buffers of exchanges between the CTAs of a cluster: dedicated places in shared memory.

Other CTAs may write there at any time, so neither scratch nor rings may share these bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import prod
from typing import TYPE_CHECKING

from ir.core import Builder, Op, Value
from ir.dialects import arith, nv_tileas
from ir.records import dataclass
from ir.types import I32, TensorType, TileType
from lowering.layouts.elements import element_bytes
from lowering.schedule.rings import align
from lowering.schedule.states import alternate

if TYPE_CHECKING:
    from lowering.schedule.agents import Agents

EXCHANGE_ALIGNMENT = 16  # bytes: the widest access


@dataclass
class Exchanges:
    """Those of a kernel, each with its place."""

    made: list[tuple[nv_tileas.CreateExchange, nv_tileas.Exchange]] = field(
        default_factory=list[tuple[nv_tileas.CreateExchange, nv_tileas.Exchange]]
    )

    def add(
        self, op: nv_tileas.Exchange, values: Sequence[Value], looped: bool, warps: int, agents: Agents, b: Builder
    ) -> list[Value]:
        """An exchange with a place; in a loop with one for each of two rounds. Its results. Before one over rings the
        CTAs meet.
        """
        if op.drained and values:
            self.add(nv_tileas.Exchange((), (), {"among": op.among}, (), op.location, (0, 0, 0)), (), looped, warps,
                     agents, b)  # fmt: skip
        rounds = nv_tileas.ExchangeType(2 if looped else 1)
        place = agents.common.add(
            nv_tileas.CreateExchange, types=[rounds], ctas=op.ctas, parts=op.parts, bytes=sent_bytes(values),
            warps=warps,
        )  # fmt: skip
        b.location = op.location
        made = b.add(
            nv_tileas.Exchange, *values, place.result, agents.zero, types=[r.type for r in op.results],
            segments=(len(values), 1, 1), among=op.among, other=op.other, drained=op.drained,
        )  # fmt: skip
        self.made.append((place, made))
        return made.results

    def count(self, agents: Agents) -> None:
        """The round number is carried from one run of an exchange to the next."""
        for _, op in self.made:

            def following(number: Value) -> Op:
                return arith.AddI((number, agents.one), (I32,))

            alternate(op, len(op.operands) - 1, following)

    def place(self, free: int, drained: int, parted: bool) -> int:
        """Give each its bytes, from `free` on, those over rings from `drained` on, and record where all threads
        synchronise, unless agents split later; returns the end.
        """
        for place, made in self.made:
            place.attributes["offset"] = align(free, EXCHANGE_ALIGNMENT)
            if made.drained:
                place.attributes["data"] = align(drained, EXCHANGE_ALIGNMENT)
                drained, free = place.end, place.barriers_end
            else:
                free = place.end
        free = max(free, drained)
        if self.made and not parted:
            self.made[-1][0].attributes["meets"] = True
        return free


def places(values: Sequence[Value]) -> list[int]:
    """Byte offsets of the values that one CTA sends to another."""
    found: list[int] = []
    free = 0
    for value in values:
        found.append(free)
        free = align(free + size_of(value), EXCHANGE_ALIGNMENT)
    return found


def sent_bytes(values: Sequence[Value]) -> int:
    """Bytes that one CTA sends to another, for which there is always a buffer."""
    if not values:
        return EXCHANGE_ALIGNMENT
    return align(places(values)[-1] + size_of(values[-1]), EXCHANGE_ALIGNMENT)


def size_of(value: Value) -> int:
    """Bytes of a tile or a scalar."""
    kind = value.type
    if isinstance(kind, TensorType | TileType):
        return prod(kind.shape) * element_bytes(kind.element)
    return element_bytes(kind)
