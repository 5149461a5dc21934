"""Which dimension of each tile is cut: propagated from a matrix product, or from a carried value, through everything
that touches it.

A cut is legal if each slice of every tile is computed from the same slice of its operands, or from whole ones: rows
of a product from rows of its left operand and all of the right one, a row's maximum from that row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from math import prod

from ir.core import WRITE, Op, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas_cluster import Exchange, PartialSum
from ir.records import dataclass
from ir.types import PartitionViewType, TileType

Dim = int | None  # the cut dimension; None if a value stays whole
Products = ct.MmaF | ct.MmaI | ct.MmaFScaled
Accesses = ct.LoadView | ct.StoreView | ct.LoadPtr | ct.StorePtr


@dataclass(frozen=True)
class OpCut:
    """The cut dimensions of one operation's operands and results, in their order."""

    operands: tuple[Dim, ...]
    results: tuple[Dim, ...]


@dataclass
class Cuts:
    """A legal cut into `count` slices: of values (except splat constants, which are created at their uses) and of the
    operations that are performed slice by slice.
    """

    count: int
    values: dict[Value, int] = field(default_factory=dict[Value, int])
    ops: dict[Op, OpCut] = field(default_factory=dict[Op, OpCut])


ALIKE = ct.Assume | ct.Constant | ct.Iota | Exchange | PartialSum
"""Non-arithmetic operations that are performed slice by slice if one of their tiles is cut."""
Joined = Callable[[Op, int], bool]
"""May an operation whose operands are cut along a dimension combine all slices into whole results, or a scan into
its own?
"""


def nothing(op: Op, dim: int) -> bool:
    """No operation combines slices into whole results."""
    return False


class _NoCutError(Exception):
    """Something cannot be performed slice by slice."""


def find_cuts(
    entry: ct.Entry,
    values: Sequence[Value],
    dim: int,
    count: int,
    known: Cuts | None = None,
    apart: bool = False,
    joined: Joined = nothing,
    scattered: int = -1,
) -> Cuts | None:
    """Cut dimension `dim` of some values into `count` slices, in addition to the `known` cuts, and everything that this
    requires; None if something does not allow it. `apart`: each slice is computed by a separate CTA, which runs every
    loop once. `joined` tells which operations combine slices into whole results, `scattered` which sums over a bit of
    the rank turn whole tiles into slices.
    """
    cuts = Cuts(count) if known is None else Cuts(count, dict(known.values), dict(known.ops))
    found = _Finder(entry, cuts, apart, joined, scattered)
    try:
        for value in values:
            found.cut(value, dim)
        found.follow()
    except _NoCutError:
        return None
    return found.cuts


def obstacle(entry: ct.Entry, values: Sequence[Value], dim: int, count: int, joined: Joined) -> Op | None:
    """The operation that does not allow a cut by CTAs (`find_cuts`), if any."""
    found = _Finder(entry, Cuts(count), True, joined, -1)
    try:
        for value in values:
            found.cut(value, dim)
        found.follow()
    except _NoCutError:
        return found.at
    return None


def halves(value: Value, dim: int, count: int) -> bool:
    """Can a tile be cut so?"""
    return isinstance(value.type, TileType) and value.type.shape[dim] >= count


class _Finder:
    def __init__(self, entry: ct.Entry, cuts: Cuts, apart: bool, joined: Joined, scattered: int):
        self.cuts, self.apart, self.joined, self.scattered = cuts, apart, joined, scattered
        self.pending: list[Value] = []
        self.at: Op | None = None  # the operation that is being cut
        self.users: dict[Value, list[Op]] = {}
        for op in entry.walk():
            for operand in op.operands:
                self.users.setdefault(operand, []).append(op)

    def cut(self, value: Value, dim: Dim) -> None:
        """A value must be cut along `dim`, or must be whole."""
        known = self.cuts.values.get(value)
        if dim is None or known is not None:
            if known != dim:
                raise _NoCutError
        elif not is_splat(value):
            if not halves(value, dim, self.cuts.count):
                raise _NoCutError
            self.cuts.values[value] = dim
            self.pending.append(value)

    def follow(self) -> None:
        """Everything that touches a cut value."""
        while self.pending:
            value = self.pending.pop()
            dim = self.cuts.values[value]
            if isinstance(value.owner, Op):
                self.touch(value.owner, None, value.index, dim)
            else:
                self.argument(value)
            for user in self.users.get(value, ()):
                for slot, operand in enumerate(user.operands):
                    if operand is value:
                        self.touch(user, slot, None, dim)
        for op, cut in self.cuts.ops.items():  # a value that had to be whole may have been cut later
            for values, dims in ((op.operands, cut.operands), (op.results, cut.results)):
                for each, dim in zip(values, dims, strict=True):
                    if self.cuts.values.get(each, dim) != dim:
                        raise _NoCutError

    def argument(self, value: Value) -> None:
        """A loop's carried value."""
        loop = value.owner.parent_op if not isinstance(value.owner, Op) else None
        if not isinstance(loop, ct.For) or not value.index:
            raise _NoCutError
        self.carried(loop, value.index - 1, self.cuts.values[value])

    def touch(self, op: Op, operand: int | None, result: int | None, dim: int) -> None:
        """An operation with a cut operand or result."""
        self.at = op
        if isinstance(op, ct.For):
            if operand is not None and operand < 3:
                raise _NoCutError
            self.carried(op, operand - 3 if operand is not None else result or 0, dim)
        elif isinstance(op, ct.If) and result is not None:
            self.branch(op, result, dim)
        elif isinstance(op, ct.Continue) and operand is not None:
            loop = ct.enclosing_loop(op)
            if not isinstance(loop, ct.For):
                raise _NoCutError
            self.carried(loop, operand, dim)
        elif isinstance(op, ct.Yield) and operand is not None:
            branch = op.parent.parent_op if op.parent else None
            if not isinstance(branch, ct.If):
                raise _NoCutError
            self.branch(branch, operand, dim)
        elif isinstance(op, PartialSum) and op.place == self.scattered and operand is None:
            self.operation(op, OpCut((None,), (dim,)))
        elif self.apart:
            self.operation(op, apart_cut(op, operand, result, dim, self.joined))
        else:
            self.operation(op, cut_of(op, operand, result, dim))

    def operation(self, op: Op, cut: OpCut | None) -> None:
        """One assignment an operation."""
        if cut is None or self.cuts.ops.setdefault(op, cut) != cut:
            raise _NoCutError
        for values, dims in ((op.operands, cut.operands), (op.results, cut.results)):
            for value, dim in zip(values, dims, strict=True):
                self.cut(value, dim)

    def carried(self, loop: ct.For, index: int, dim: int) -> None:
        """A carried value is cut in the same way everywhere. A loop that runs once a slice must have no effects."""
        if not self.apart and not without_effects(loop):
            raise _NoCutError
        self.cut(loop.init_values[index], dim)
        self.cut(loop.body.block.args[index + 1], dim)
        self.cut(loop.results[index], dim)
        for op in loop.walk():
            if isinstance(op, ct.Continue) and ct.enclosing_loop(op) is loop:
                self.cut(op.operands[index], dim)

    def branch(self, op: ct.If, index: int, dim: int) -> None:
        """Both sides yield it in slices."""
        if not self.apart and not without_effects(op):
            raise _NoCutError
        self.cut(op.results[index], dim)
        for region in op.regions:
            last = region.block.terminator
            if isinstance(last, ct.Yield):
                self.cut(last.operands[index], dim)


def is_splat(value: Value) -> bool:
    """A constant with all elements equal, which is created again at each use."""
    return isinstance(value.op, ct.Constant) and value.op.value.splat


def without_effects(op: Op) -> bool:
    """Nothing but weak loads and structured control: repeating it changes nothing."""
    for each in op.walk():
        if each.effect is WRITE or isinstance(each, ct.Loop | ct.Break | ct.Return):
            return False
        if isinstance(each, ct.LoadView | ct.LoadPtr) and each.order != ct.MemoryOrder.WEAK:
            return False
    return True


def apart_cut(op: Op, operand: int | None, result: int | None, dim: int, joined: Joined) -> OpCut | None:
    """As `cut_of`, if each slice is computed by a separate CTA."""
    match op:
        case ct.AtomicRMW() | ct.AtomicCAS():  # each element is updated by itself
            return alike(op, dim)
        case ct.AtomicRedView():
            return alike(op, dim) if cuttable_view(op.view) else None
        case ct.Combining() if op.keeps and joined(op, dim):
            return alike(op, dim)
        case ct.TileOp() if op.joins not in (None, dim):
            return alike(op, dim)
        case ct.Windowed() if op.selects():
            whole, part, _ = op.window
            return alike(op, dim) if shape_of(whole)[dim] == shape_of(part)[dim] else None
        case _ if operand is not None and joined(op, dim):
            return OpCut((dim,) * len(op.operands), (None,) * len(op.results))
        case _:
            return cut_of(op, operand, result, dim)


def shape_of(value: Value) -> tuple[int, ...]:
    """Of a tile."""
    return value.type.shape if isinstance(value.type, TileType) else ()


def cut_of(op: Op, operand: int | None, result: int | None, dim: int) -> OpCut | None:
    """What cutting one operand or result of an operation requires of the others; None if it cannot be cut."""
    if isinstance(op, Products):
        return product_cut(op, operand, dim)
    if isinstance(op, ct.Combining):
        return fold_cut(op, operand, dim)
    if isinstance(op, ct.Reshape | ct.Permute | ct.Broadcast):
        there = moved(op, dim, operand is not None)
        if there is None:
            return OpCut((None,), (dim,)) if isinstance(op, ct.Broadcast) and operand is None else None
        return OpCut((dim,), (there,)) if operand is not None else OpCut((there,), (dim,))
    if isinstance(op, Accesses) and op.order == ct.MemoryOrder.WEAK:
        if isinstance(op, ct.LoadView | ct.StoreView) and not cuttable_view(op.view):
            return None
        return alike(op, dim)
    elementwise = isinstance(op, ct.TileOp) and op.placement is ct.Placement.ELEMENTWISE
    return alike(op, dim) if elementwise or isinstance(op, ALIKE) else None


def cuttable_view(view: Value) -> bool:
    """A partition whose definition is visible can be rebuilt with smaller tiles."""
    return isinstance(view.type, PartitionViewType) and isinstance(view.op, ct.MakePartitionView)


def alike(op: Op, dim: int) -> OpCut:
    """All tiles in the same way; scalars, views and tokens are whole."""

    def dims(values: Sequence[Value]) -> tuple[Dim, ...]:
        return tuple(dim if isinstance(v.type, TileType) and v.type.shape else None for v in values)

    return OpCut(dims(op.operands), dims(op.results))


def product_cut(op: Products, operand: int | None, dim: int) -> OpCut | None:
    """Rows of the left operand and the result, or columns of the right one and the result; products of a batch. The
    scales of an operand are cut like the operand.
    """
    kind = op.acc.type
    rank = len(kind.shape) if isinstance(kind, TileType) else 0
    where = dim - rank
    cut = {-2: (dim, None), -1: (None, dim)}.get(where, (dim, dim))
    given = None if operand is None or operand == 2 else operand % 3  # lhs, rhs, acc, lhs_scale, rhs_scale
    if given is not None and cut[given] is None:
        return None
    return OpCut((*cut, dim, *cut)[: len(op.operands)], (dim,))


def fold_cut(op: ct.Combining, operand: int | None, dim: int) -> OpCut | None:
    """Dimensions that are not reduced."""
    source = dim
    if not op.keeps and operand is None and dim >= op.dim:
        source = dim + 1
    if source == op.dim:
        return None
    after = source - 1 if not op.keeps and source > op.dim else source
    return OpCut((source,) * len(op.operands), (after,) * len(op.results))


def moved(op: ct.Reshape | ct.Permute | ct.Broadcast, dim: int, forward: bool) -> Dim:
    """The position of a source dimension in the result, or (not `forward`) of a result dimension in the source."""
    if isinstance(op, ct.Permute):
        return op.permutation.index(dim) if forward else op.permutation[dim]
    here, there = (op.source.type, op.result.type) if forward else (op.result.type, op.source.type)
    if not isinstance(here, TileType) or not isinstance(there, TileType):
        return None
    if isinstance(op, ct.Broadcast):
        return dim if here.shape[dim] == there.shape[dim] else None
    before = prod(here.shape[:dim])
    return next((d for d, size in enumerate(there.shape) if size > 1 and prod(there.shape[:d]) == before), None)
