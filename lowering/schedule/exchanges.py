"""Buffers of exchanges between the CTAs of a cluster: dedicated places in shared memory.

Other CTAs may write there at any time, so neither scratch nor rings may share these bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from ir.core import Builder, Op, Value
from ir.dialects import arith, nv_tileas
from ir.records import dataclass
from ir.types import I32
from lowering.schedule.rings import align
from lowering.schedule.sent import EXCHANGE_ALIGNMENT, sent_bytes
from lowering.schedule.states import Numbers, alternate


@dataclass
class Exchanges:
    """Those of a kernel, each with its place."""

    made: list[tuple[nv_tileas.CreateExchange, nv_tileas.Exchange]] = field(
        default_factory=list[tuple[nv_tileas.CreateExchange, nv_tileas.Exchange]]
    )

    def add(
        self, op: nv_tileas.Exchange, values: Sequence[Value], looped: bool, warps: int, numbers: Numbers, b: Builder
    ) -> list[Value]:
        """An exchange with a place; in a loop with one for each of two rounds. Its results. Before one over rings the
        CTAs meet.
        """
        if op.drained and values:
            self.add(nv_tileas.Exchange((), (), {"among": op.among}, (), op.location, (0, 0, 0)), (), looped, warps,
                     numbers, b)  # fmt: skip
        rounds = nv_tileas.ExchangeType(2 if looped else 1)
        place = numbers.common.add(
            nv_tileas.CreateExchange, types=[rounds], ctas=op.ctas, parts=op.parts, bytes=sent_bytes(values),
            warps=warps,
        )  # fmt: skip
        b.location = op.location
        made = b.add(
            nv_tileas.Exchange, *values, place.result, numbers.zero, types=[r.type for r in op.results],
            segments=(len(values), 1, 1), among=op.among, other=op.other, drained=op.drained,
        )  # fmt: skip
        self.made.append((place, made))
        return made.results

    def count(self, numbers: Numbers) -> None:
        """The round number is carried from one run of an exchange to the next."""
        for _, op in self.made:

            def following(number: Value) -> Op:
                return arith.AddI((number, numbers.one), (I32,))

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
