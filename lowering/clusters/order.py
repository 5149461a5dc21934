"""Which accesses one CTA of a cluster makes for all, and between which accesses the CTAs must synchronise.

Effects that no cut reaches are performed by one CTA: stores, atomic updates, strong accesses, prints. A token orders an
access after others. If another CTA may have made those, the CTAs synchronise in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from ir.core import PURE, Op, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas import CancelNextProgramId, Meet
from ir.types import TokenType
from lowering.slicing.cuts import Cuts

Load = ct.LoadView | ct.LoadPtr
Update = ct.AtomicRMW | ct.AtomicCAS | ct.AtomicRedView
Access = Load | ct.StoreView | ct.StorePtr | Update
EFFECTS = (
    ct.StoreView,
    ct.StorePtr,
    ct.Print,
    ct.Assert,
    ct.AtomicRMW,
    ct.AtomicCAS,
    ct.AtomicRedView,
    CancelNextProgramId,
)


def alone(op: Op) -> bool:
    """Does one CTA perform it for all, if no cut reaches it?"""
    return isinstance(op, EFFECTS) or strong(op)


def strong(op: Op) -> bool:
    """Is it a load that is ordered with accesses of other grids?"""
    return isinstance(op, Load) and op.order != ct.MemoryOrder.WEAK


def crosses(op: Op, cuts: Cuts) -> bool:
    """Is an access ordered after one that a CTA whose rank differs in a cut's bit may have made?"""
    if not isinstance(op, Access) or op.token is None:
        return False
    return any(not (both_read(one, op) or in_one_cta(one, op, cuts)) for one in behind(op.token))


def behind(token: Value) -> Iterator[Access]:
    """The accesses that a token is ordered after, except those separated by an earlier synchronisation."""
    waiting, seen = [token], set[Value]()
    while waiting:
        each = waiting.pop()
        if each in seen or not isinstance(each.type, TokenType):
            continue
        seen.add(each)
        if isinstance(each.op, Access):
            yield each.op
            waiting += [] if each.op.token is None else [each.op.token]
        elif not isinstance(each.op, Meet):
            waiting += sources(each)


def sources(token: Value) -> list[Value]:
    """The tokens that a token joins."""
    owner = token.owner
    if isinstance(owner, ct.JoinTokens):
        return list(owner.operands)
    if isinstance(owner, ct.For | ct.Loop | ct.If):
        ends = (ct.Continue, ct.Break, ct.Yield)
        return [*owner.operands, *(v for op in owner.walk() if isinstance(op, ends) for v in op.operands)]
    if isinstance(owner, Op) or owner.parent_op is None:
        return []
    loop = owner.parent_op
    return [*loop.operands, *(v for op in loop.walk() if isinstance(op, ct.Continue) for v in op.operands)]


def both_read(one: Access, other: Access) -> bool:
    """Are both loads, whose order is unobservable? An access after a strong load may depend on what that load
    waited for.
    """
    return isinstance(one, Load) and isinstance(other, Load) and not strong(one)


def in_one_cta(one: Access, other: Access, cuts: Cuts) -> bool:
    """Does each CTA make both accesses at the same places, or one CTA make both for all?"""
    first, second = cuts.ops.get(one), cuts.ops.get(other)
    if first is None and second is None:
        return alone(one) and alone(other)
    if first is None or second is None:
        return False
    if not isinstance(one, ct.LoadView | ct.StoreView) or not isinstance(other, ct.LoadView | ct.StoreView):
        return False  # pointer tiles may overlap those of another iteration
    same = all(map(equal, [one.view, *one.index], [other.view, *other.index]))
    return same and tile_cut(one, cuts) == tile_cut(other, cuts)


def tile_cut(op: Access, cuts: Cuts) -> int | None:
    """The dimension in which the tile of an access is cut."""
    found = cuts.ops[op]
    return found.results[0] if isinstance(op, Load) else found.operands[0]


def equal(one: Value, other: Value) -> bool:
    """Are two values identical, or computed in the same way?"""
    a, b = one.op, other.op
    if one is other or a is None or b is None:
        return one is other
    alike = type(a) is type(b) and a.effect is PURE and not a.regions and a.attributes == b.attributes
    same = alike and one.index == other.index and one.type == other.type and len(a.operands) == len(b.operands)
    return same and all(map(equal, a.operands, b.operands))
