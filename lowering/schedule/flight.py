"""Warpgroup products that stay in flight while their warps continue: past later code of an iteration, or into the next.

    early    its sum is for the next iteration (rotation.py): it is waited for at the end of this one, or before a
             product that does not run on, whose wait ends older ones too
    last     its sum is carried and the loop adds to it again: it is waited for in the next iteration, after the first
             reduction, at the latest where the sum or the fragments that it still reads are overwritten
A product with promoted sums is waited for immediately: its registers are added directly after it. Groups of products
complete in issue order, so a wait names how many younger ones may be in flight. Source: PTX ISA 8.8, wgmma.wait_group;
FlashAttention-3 (arXiv 2407.08608, section 3.2); CUTLASS's sm_90 main loop.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from ir.core import Block, Op, Value
from ir.dialects import nv_tileas
from ir.records import dataclass
from lowering.schedule.rings import Copy, Staged


@dataclass(frozen=True)
class Flight:
    """Of a loop's body: the product that runs on into the next iteration and the place of its sum among the carried
    values; the product that is early.
    """

    last: nv_tileas.Dot | None = None
    place: int = 0
    early: nv_tileas.Dot | None = None

    def begin(self) -> None:
        """Let them run on. A loop with one product waits for the previous iteration's product where it issues the
        next.
        """
        if self.early is not None:
            self.early.attributes["in_flight"] = True
        if self.last is not None:
            self.last.attributes |= {"pending": 1} if self.early is None else {"in_flight": True}


def flight(body: Block, ring: Sequence[Staged], apart: Set[Op] = frozenset()) -> Flight:
    """The products that may stay in flight in a loop whose tiles come from a ring; another agent does what is `apart`.

    A product in flight into the next iteration reads only shared memory of the ring, because a buffer that the
    consumers fill is overwritten at once; nothing but the sums' own chain touches the accumulator.
    """
    ops = [each for op in body.ops for each in op.walk() if each not in apart or each in ring]
    products = [each for each in ops if isinstance(each, nv_tileas.Dot)]
    if not products or not all(each.atom.startswith("wgmma") and not each.promote for each in products):
        return Flight()
    first, last = products[0], products[-1]
    early = first if len(products) > 1 and first in body.ops and only_carried(first, body) else None
    if any(isinstance(each, nv_tileas.SharedLoad) for each in ops) or len(products) > 1 + (early is not None):
        return Flight(early=early)
    if any(isinstance(each, Copy | nv_tileas.Hold) and each not in ring for each in ops):
        return Flight(early=early)
    if last not in body.ops or last.result not in body.terminator.operands or not only_carried(last, body):
        return Flight(early=early)
    place = body.terminator.operands.index(last.result)
    if early is None:
        users = [each for each in ops if body.args[1 + place] in each.operands]
        alone = users == [last] and last.c is body.args[1 + place] and last.atom.endswith(".ss")
        return Flight(last, place) if alone else Flight()
    return Flight(last, place, early)


def only_carried(dot: nv_tileas.Dot, body: Block) -> bool:
    """Is the result of a product carried once, and not used otherwise?"""
    users = [each for op in body.ops for each in op.walk() if dot.result in each.operands]
    return users == [body.terminator] and body.terminator.operands.count(dot.result) == 1


def land(flying: Flight, read: Block, carried: Value | None, ends: list[Value]) -> list[Value]:
    """Put waits into the body of a rotated loop: `carried` is the sum that runs on into it, `ends` what it leaves."""
    if flying.early is None:
        return ends
    early = next(op for op in read.ops if isinstance(op, nv_tileas.Dot))
    if carried is not None and flying.last is not None:
        place = read.ops.index(early)
        done = nv_tileas.DotWait((carried,), [carried.type], {"pending": 0}, location=flying.last.location)
        for op in read.ops[place:]:
            for each in op.walk():
                each.operands = [done.result if v is carried else v for v in each.operands]
        done.parent = read
        read.ops.insert(place, done)
    behind = read.ops[read.ops.index(early) + 1 :]
    others = (op for op in behind if any(isinstance(each, nv_tileas.Dot) for each in op.walk()))
    before = None if carried is not None else next(others, None)
    made = nv_tileas.DotWait(
        (early.result,), [early.result.type], {"pending": int(carried is not None)}, location=early.location
    )
    made.parent = read
    read.ops.insert(len(read.ops) if before is None else read.ops.index(before), made)
    return [made.result if v is early.result else v for v in ends]


def replaced(dot: nv_tileas.Dot) -> Value | None:
    """The carried tile of a loop's body whose place the result of a product takes; None where it takes none."""
    body = dot.parent
    if body is None or not body.args:
        return None
    names = {dot.result}
    for op in body.ops:
        names.update(op.results if isinstance(op, nv_tileas.DotWait) and op.source in names else ())
    places = [place for place, value in enumerate(body.terminator.operands) if value in names]
    return body.args[1 + places[0]] if len(places) == 1 else None
