"""Which part of a tile block's work each CTA of a cluster does.

A cluster of 2^n CTAs is n bits of the CTA's rank. For each bit the largest product's rows or columns, or a tile that is
stored, is cut in two, and with it all that touches it (`lowering.slicing.cuts`): a CTA computes the half that its bit
says. What no cut reaches every CTA holds whole and alike, and the first one stores, prints or asserts it.
Source: tileas-plan-cta of the seeds, which propagates CTA layouts; the halves are those of one more bit of a tile's
layout, so that layouts below need to know the register, lane and warp bits of one CTA only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ir.core import PURE, WRITE, Op, UnsupportedError, Value
from ir.dialects import cuda_tile as ct
from ir.types import TileType, TokenType
from lowering.clusters.rewrite import halved, ranked
from lowering.clusters.told import may_be_told
from lowering.slicing.cuts import Cuts, find_cuts, nothing
from lowering.slicing.fit import largest
from lowering.targets import Feature, Target
from lowering.targets.target import PORTABLE

Store = ct.StoreView | ct.StorePtr
Load = ct.LoadView | ct.LoadPtr
LEAST = {True: 64, False: 16}
"""Rows or columns of a half: of a product, those of one warpgroup product (PTX ISA, wgmma.mma_async); of other tiles,
those that 16-byte accesses of a warp's quarter still fill, an estimate.
"""
ORDER = (ct.MakeToken, ct.JoinTokens)
ALONE = (ct.StoreView, ct.StorePtr, ct.Print, ct.Assert)
"""Effects that one CTA has for all."""


@dataclass(frozen=True)
class Refusal:
    """Why a tile block's work is not divided, and where."""

    reason: str
    op: Op

    def message(self, ctas: int, place: str = "") -> str:
        """In words, with the place where that is not said beside them."""
        return f"{ctas} CTAs cannot divide a tile block: '{self.op.name}'{place}: {self.reason}"


def planned(entry: ct.Entry, ctas: int) -> ct.Entry | Refusal:
    """The entry for clusters of `ctas` CTAs, a power of two; or why there is none."""
    if (found := next(shared_state(entry), None)) is not None:
        return found
    made = ranked(entry, ctas)
    for bit in range(ctas.bit_length() - 1):
        cuts = divided(made)
        if isinstance(cuts, Refusal):
            return cuts
        made = halved(made, cuts, bit)
    return made


def refuse_cluster(ctas: int, target: Target, entry: ct.Entry) -> None:
    """Raise UnsupportedError, located, for clusters that the target has not."""
    if ctas > 1 and not target.has(Feature.CLUSTER):
        message = f"clusters of {ctas} CTAs: {target.name} has no clusters"
        raise UnsupportedError(message, entry.location, "compile for sm_90a or later, or leave --num-ctas out")
    if ctas > PORTABLE or ctas & (ctas - 1):
        message = f"clusters of {ctas} CTAs: expected a power of two up to {PORTABLE}, which every GPU takes"
        raise UnsupportedError(message, entry.location)


def shared_state(entry: ct.Entry) -> Iterator[Refusal]:
    """What the CTAs of a cluster would have to agree on: values that memory gives them apart, the order of effects."""
    stored = {value for op in entry.walk() if isinstance(op, Store) for value in op.results}
    for op in entry.walk():
        if isinstance(op, Load | Store) and op.order != ct.MemoryOrder.WEAK:
            yield Refusal("it is a strong access", op)
        elif isinstance(op, Load | Store) and any(comes_of(v, stored) for v in op.operands):
            yield Refusal("it comes after a store, which another CTA may do", op)
        elif op.effect is WRITE and not isinstance(op, (*ALONE, *ORDER)):
            yield Refusal("it is done once a tile block", op)


def comes_of(value: Value, stored: set[Value]) -> bool:
    """Does a token come of one of these, by joins, loops or branches?"""
    waiting, seen = [value], set[Value]()
    while waiting:
        each = waiting.pop()
        if each in seen or not isinstance(each.type, TokenType):
            continue
        seen.add(each)
        if each in stored:
            return True
        waiting += sources(each)
    return False


def sources(token: Value) -> list[Value]:
    """The tokens that a token is made of."""
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


def divided(entry: ct.Entry) -> Cuts | Refusal:
    """The cut of the largest product, or of the largest tile that is stored; then of what is stored beside it."""
    product = largest(entry)
    stores = sorted((op for op in entry.walk() if isinstance(op, Store)), key=lambda op: -size(stored_value(op)))
    if product is None and not stores:
        return Refusal("nothing of it is computed in tiles that CTAs could divide", entry)
    first = stored_value(stores[0]) if product is None else product.results[0]
    cuts = cut(entry, [first], None, product is not None)
    if cuts is None:
        op = first.op or stores[0]
        return Refusal(f"{first.type} cannot be cut in two: its halves are too small, or depend on each other", op)
    for op in stores:
        if op not in cuts.ops:
            cuts = cut(entry, [stored_value(op)], cuts, False) or cuts
    return next(between_ctas(entry, cuts), cuts)


def between_ctas(entry: ct.Entry, cuts: Cuts) -> Iterator[Refusal]:
    """What a CTA would have to tell another: its part of a tile, or that it has read what is overwritten."""
    loads = [op for op in entry.walk() if isinstance(op, Load)]
    for op in entry.walk():
        if op not in cuts.ops and isinstance(op, ALONE) and any(v in cuts.values for v in op.operands):
            yield Refusal("it takes a whole tile, of which each CTA holds a part", op)
        if isinstance(op, Store):
            read = {load.result_token for load in loads if not same_place(load, op, cuts)}
            if any(comes_of(v, read) for v in op.operands):
                yield Refusal("it comes after a load, which another CTA may do", op)


def same_place(load: Load, store: Store, cuts: Cuts) -> bool:
    """Does each CTA read just what it writes?"""
    if not isinstance(load, ct.LoadView) or not isinstance(store, ct.StoreView):
        return False
    same = all(map(equal, [load.view, *load.index], [store.view, *store.index]))
    read, written = cuts.ops.get(load), cuts.ops.get(store)
    return same and read is not None and written is not None and read.results[0] == written.operands[0]


def equal(one: Value, other: Value) -> bool:
    """Are two values one, or computed in the same way?"""
    a, b = one.op, other.op
    if one is other or a is None or b is None:
        return one is other
    alike = type(a) is type(b) and a.effect is PURE and not a.regions and a.attributes == b.attributes
    same = alike and one.index == other.index and one.type == other.type and len(a.operands) == len(b.operands)
    return same and all(map(equal, a.operands, b.operands))


def cut(entry: ct.Entry, values: Sequence[Value], known: Cuts | None, product: bool) -> Cuts | None:
    """A legal cut in two: of the longest dimension that has one, the first of equal ones; rather of one that no
    reduction folds.
    """
    shape = values[0].type.shape if isinstance(values[0].type, TileType) else ()
    dims = sorted((dim for dim, size in enumerate(shape) if size >= 2 * LEAST[product]), key=lambda dim: -shape[dim])
    for joined in (nothing, may_be_told):
        for dim in dims:
            found = find_cuts(entry, values, dim, 2, known, apart=True, joined=joined)
            if found is not None:
                return found
    return None


def stored_value(op: Store) -> Value:
    """The tile that a store writes."""
    return op.tile if isinstance(op, ct.StoreView) else op.value


def size(value: Value) -> int:
    """Elements of a tile."""
    return value.type.size if isinstance(value.type, TileType) else 0
