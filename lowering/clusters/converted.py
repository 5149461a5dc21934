"""Conversions over CTAs: a tile that two CTAs hold in one way is needed in another.

    halves -> whole         each sends the other its half
    halves -> other halves  each sends the other the quarter that it does not keep
    whole  -> halves        each takes its half; nothing is sent

If no cut can be propagated to everything that touches a tile (`lowering.slicing.cuts`), each operation is cut or left
whole separately, and operands held in a different form are converted at the use. The operations to cut are decided one
after the other, the largest first, by the estimated time of a CTA's work and of the exchanges. Source: the seeds'
ConvertLayout through distributed shared memory, and the choice of CTA layouts by propagation (tileas-plan-cta).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf, prod

from ir.core import WRITE, Op, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas import Exchange, Meet, PartialSum
from ir.types import TileType
from lowering.clusters.exchanged import is_sent, may_be_exchanged
from lowering.cost import UNKNOWN_TRIPS
from lowering.layouts.elements import element_bytes
from lowering.slicing.cuts import Accesses, Cuts, Dim, OpCut, Products, apart_cut, halves, is_splat, shape_of
from lowering.source.unrolling import trips_of

PRODUCT = 1 / 4096  # cycles of an SM for a multiplication and addition of f16: an H100's dense rate of warpgroups
ELEMENT = 1 / 128  # for an element that is computed: a lane of four schedulers
FOLDED = 2 / 128  # for one that is reduced
SCANNED = 0.4  # for one that is scanned: on sm_90a 32,768 f32 take 16,669 cycles, a recurrence of 128 x 128 7,700
BYTE = 1 / 32  # for one from memory, or to another CTA: the share of an SM in an H100's L2 cache, estimated for both
HANDSHAKE = 500.0  # until another CTA has the data sent to it (`lowering.selection.ordered`)
PAYS = 0.8  # times the cycles of one CTA for all, if nothing is cut without conversions; the minimum is half
STARTS = 8  # starting points of a cut: the largest products have the most to save
TELLING = (Exchange, Meet, PartialSum)
Root = tuple[Op, Value, int]
Least = Callable[[bool], int]
STORED = (ct.StoreView, ct.StorePtr, ct.AtomicRMW, ct.AtomicCAS, ct.AtomicRedView)


def converted(entry: ct.Entry, least: Least, known: Cuts | None = None) -> Cuts | None:
    """The cut in two, operation by operation, with the fewest cycles of a CTA, including `known` cuts; None if there is
    none. `least`: rows or columns of a half, of products and of other tiles.
    """
    price = CycleEstimate(entry)
    first = known or Cuts(2)
    starts = [each for each in roots(entry, least) if each[0] not in first.ops]
    begun = [found for each in starts[:STARTS] if (found := spread(entry, first, each, least)) is not None]
    made = [first, *(rather_whole(entry, price, found) for found in begun)]
    best = min((improved(entry, price, each, starts, least) for each in made), key=price.of)
    pays = known is not None or price.of(best) <= PAYS * price.of(first)
    return best if best.ops and pays else None


def improved(entry: ct.Entry, price: CycleEstimate, cuts: Cuts, starts: Sequence[Root], least: Least) -> Cuts:
    """Add further cuts as long as they save cycles."""
    cycles = price.of(cuts)
    for each in starts:
        found = spread(entry, cuts, each, least)
        if found is not None:
            found = rather_whole(entry, price, found)
            if (taken := price.of(found)) < cycles:
                cuts, cycles = found, taken
    return cuts


def rather_whole(entry: ct.Entry, price: CycleEstimate, cuts: Cuts) -> Cuts:
    """Compute values that are needed whole, or in other halves, whole in each CTA if that is cheaper than sending
    them.
    """
    cycles = price.of(cuts)
    for op in dict.fromkeys(op.operands[slot].op for op, slot, have, _ in conversions(entry, cuts) if have is not None):
        if op is None or op not in cuts.ops or op.regions or op.effect is WRITE:
            continue
        made = Cuts(2, dict(cuts.values), dict(cuts.ops))
        del made.ops[op]
        for value in op.results:
            made.values.pop(value, None)
        if (taken := price.of(made)) < cycles:
            cuts, cycles = made, taken
    return cuts


def spread(entry: ct.Entry, known: Cuts, root: Root, least: Least) -> Cuts | None:
    """The cut that starts at an operation, in addition to known ones; None if there is none."""
    return None if root[0] in known.ops else _Spread(entry, known, least).root(*root)


def roots(entry: ct.Entry, least: Least) -> list[Root]:
    """Where a cut may start: an operation, its tile and the dimension; the largest products first, then others."""
    products = [op for op in entry.walk() if isinstance(op, Products)]
    found: list[tuple[Op, Value]] = [(op, op.results[0]) for op in sorted(products, key=multiplications, reverse=True)]
    others = [op for op in entry.walk() if isinstance(op, (*STORED, ct.Combining, ct.LoadView, ct.LoadPtr))]

    def size(op: Op) -> int:
        return max((prod(shape_of(value)) for value in (*op.operands, *op.results)), default=0)

    for op in sorted(others, key=lambda op: (-size(op), isinstance(op, ct.LoadView | ct.LoadPtr))):
        tiles = [value for value in (*op.operands, *op.results) if shape_of(value) and not is_splat(value)]
        found += [(op, tile) for tile in (tiles[-1:] if isinstance(op, ct.LoadView | ct.LoadPtr) else tiles[:1])]
    return [
        (op, tile, dim)
        for op, tile in found
        for dim, extent in enumerate(shape_of(tile))
        if extent >= 2 * least(isinstance(op, Products))
    ]


def conversions(entry: ct.Entry, cuts: Cuts) -> Iterator[tuple[Op, int, Dim, Dim]]:
    """Uses of tiles held in a different form than needed: operation, operand, the form held, the form needed."""
    for op in entry.walk():
        needs = needed(op, cuts)
        for slot, (value, need) in enumerate(zip(op.operands, needs, strict=True)):
            have = cuts.values.get(value)
            if have != need and shape_of(value) and not is_splat(value):
                yield op, slot, have, need


def needed(op: Op, cuts: Cuts) -> Sequence[Dim]:
    """The form in which an operation needs its operands; for control flow the form of the values they become."""
    if op in cuts.ops:
        return cuts.ops[op].operands
    return [None if value is None else cuts.values.get(value) for value in become(op)]


def become(op: Op) -> list[Value | None]:
    """The values that operands of control flow become."""
    owner = op.parent.parent_op if op.parent else None
    found: list[Value | None] = [None] * len(op.operands)
    if isinstance(op, ct.For):
        found[3:] = op.results
    elif isinstance(op, ct.Continue) and isinstance(loop := ct.enclosing_loop(op), ct.For):
        found[:] = loop.results
    elif isinstance(op, ct.Yield) and isinstance(owner, ct.If):
        found[:] = owner.results
    return found


class _Spread:
    """A cut that starts at an operation and propagates as far as operations allow; at the others, tiles are
    converted.
    """

    def __init__(self, entry: ct.Entry, known: Cuts, least: Least):
        self.least = least
        self.cuts = Cuts(2, dict(known.values), dict(known.ops))
        self.pending: list[Value] = []
        self.users: dict[Value, list[tuple[Op, int]]] = {}
        for op in entry.walk():
            for slot, operand in enumerate(op.operands):
                self.users.setdefault(operand, []).append((op, slot))

    def root(self, op: Op, value: Value, dim: int) -> Cuts | None:
        """The cut in which an operation has one of its tiles in halves along a dimension; None if it cannot."""
        result = op.results.index(value) if value in op.results else None
        operand = None if result is not None else op.operands.index(value)
        if not self.operation(op, cut_by_itself(op, operand, result, dim)):
            return None
        while self.pending:
            made = self.pending.pop()
            for user, slot in self.users.get(made, ()):
                self.use(user, slot, self.cuts.values[made])
        return self.cuts

    def use(self, op: Op, slot: int, dim: int) -> None:
        """Let an operation with halves as operands work on halves, if it can."""
        if isinstance(op, ct.For | ct.Continue | ct.Yield | ct.If):
            target = become(op)[slot]
            if target is not None:
                self.demand(target, dim)
        elif op not in self.cuts.ops:
            self.operation(op, cut_by_itself(op, slot, None, dim))

    def demand(self, value: Value, dim: int) -> None:
        """Let a value be held in halves, if its defining operation can do so."""
        if value in self.cuts.values or is_splat(value) or not halves(value, dim, 2):
            return
        owner = value.owner
        if isinstance(owner, ct.For):
            self.carried(owner, value.index, dim)
        elif isinstance(owner, ct.If):
            self.hold(value, dim)
            for region in owner.regions:
                last = region.block.terminator
                if isinstance(last, ct.Yield):
                    self.demand(last.operands[value.index], dim)
        elif isinstance(owner, Op):
            if owner not in self.cuts.ops:
                self.operation(owner, cut_by_itself(owner, None, value.index, dim))
        elif isinstance(loop := owner.parent_op, ct.For) and value.index:
            self.carried(loop, value.index - 1, dim)

    def carried(self, loop: ct.For, place: int, dim: int) -> None:
        """A value that a loop carries."""
        self.hold(loop.body.block.args[place + 1], dim)
        self.hold(loop.results[place], dim)
        self.demand(loop.init_values[place], dim)
        for op in loop.walk():
            if isinstance(op, ct.Continue) and ct.enclosing_loop(op) is loop:
                self.demand(op.operands[place], dim)

    def hold(self, value: Value, dim: int) -> None:
        """A value in halves."""
        self.cuts.values[value] = dim
        self.pending.append(value)

    def operation(self, op: Op, cut: OpCut | None) -> bool:
        """Cut an operation: its results are halves, and its operands too if possible."""
        if cut is None or op in self.cuts.ops:
            return False
        pairs = [*zip(op.operands, cut.operands, strict=True), *zip(op.results, cut.results, strict=True)]
        if any(dim is not None and not is_splat(value) and not halves(value, dim, 2) for value, dim in pairs):
            return False
        if isinstance(op, Products) and shape_of(op.results[0])[cut.results[0] or 0] < 2 * self.least(True):
            return False
        self.cuts.ops[op] = cut
        for value, dim in zip(op.results, cut.results, strict=True):
            if dim is not None and not is_splat(value):
                self.hold(value, dim)
        for value, dim in zip(op.operands, cut.operands, strict=True):
            if dim is not None:
                self.demand(value, dim)
        return True


def cut_by_itself(op: Op, operand: int | None, result: int | None, dim: int) -> OpCut | None:
    """What cutting one operand or result requires of the others; of two concatenated tiles each CTA takes one."""
    if isinstance(op, ct.TileOp) and operand is None and op.joins == dim and op.operands[0].type == op.operands[1].type:
        return OpCut((None, None), (dim,))
    return apart_cut(op, operand, result, dim, may_be_exchanged)


class CycleEstimate:
    """Estimated cycles of a CTA for a cut program, only for comparing cuts."""

    def __init__(self, entry: ct.Entry):
        self.entry = entry
        self.trips: dict[Op, float] = {}
        for op in entry.walk():
            around = op.parent.parent_op if op.parent else None
            times = self.trips.get(around, 1.0) if around is not None else 1.0
            self.trips[op] = times
            if isinstance(op, ct.For | ct.Loop):
                self.trips[op] *= (trips_of(op) if isinstance(op, ct.For) else None) or UNKNOWN_TRIPS

    def of(self, cuts: Cuts) -> float:
        """All of it."""
        work = sum(self.trips[op] * self.work(op, cuts) for op in self.entry.walk())
        return work + sum(
            self.trips[op] * exchange(op.operands[slot], have, need)
            for op, slot, have, need in conversions(self.entry, cuts)
        )

    def work(self, op: Op, cuts: Cuts) -> float:
        """Cycles of an operation, of which a CTA does half if it is cut."""
        cut = cuts.ops.get(op)
        joined = isinstance(op, ct.Combining) and cut is not None and cut.operands[0] == op.dim
        return whole(op) * (1.0 if cut is None else 0.5) + HANDSHAKE * joined


def estimate(entry: ct.Entry) -> float:
    """Cycles of a CTA for a program, with its exchanges, only for comparing divisions."""
    price = CycleEstimate(entry)
    return price.of(Cuts(2)) + sum(price.trips[op] * told(op) for op in entry.walk() if isinstance(op, TELLING))


def told(op: Op) -> float:
    """Cycles until the others have the data that a CTA sends."""
    kinds = [value.type for value in op.operands if isinstance(value.type, TileType)]
    return HANDSHAKE + sum((BYTE * element_bytes(kind.element) + ELEMENT) * kind.size for kind in kinds)


def whole(op: Op) -> float:
    """Cycles of an operation that is not cut."""
    sizes = [prod(shape_of(value)) for value in (*op.operands, *op.results) if shape_of(value)]
    size = max(sizes, default=0)
    if isinstance(op, Products):
        return PRODUCT * multiplications(op)
    if isinstance(op, ct.Combining):
        return (SCANNED if op.keeps else FOLDED) * size
    if isinstance(op, (Accesses, *STORED)):
        tiles = [value.type for value in (*op.results, *op.operands) if isinstance(value.type, TileType)]
        return BYTE * max((element_bytes(kind.element) * kind.size for kind in tiles), default=0)
    elementwise = isinstance(op, ct.TileOp) and op.placement is ct.Placement.ELEMENTWISE
    return ELEMENT * size * elementwise


def multiplications(op: Op) -> int:
    """Of a product."""
    return prod(shape_of(op.results[0])) * shape_of(op.operands[0])[-1]


def exchange(value: Value, have: Dim, need: Dim) -> float:
    """Cycles to convert a tile; infinite if its elements have no size with which they could be sent."""
    kind = ct.tile_type(value)
    if have is None:
        return ELEMENT * kind.size / 2  # one of each pair of elements is selected
    sent = kind.size / 2 if need is None else kind.size / 4
    return HANDSHAKE + (BYTE * element_bytes(kind.element) + ELEMENT) * sent if is_sent(kind.element) else inf
