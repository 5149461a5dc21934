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

from ir.core import WRITE, Op, UnsupportedError, Value
from ir.dialects import cuda_tile as ct
from ir.types import TileType
from lowering.clusters.converted import converted
from lowering.clusters.exchanged import may_be_exchanged
from lowering.clusters.order import EFFECTS, alone
from lowering.clusters.rewrite import halved, ranked
from lowering.slicing.cuts import Cuts, find_cuts, is_splat, nothing
from lowering.slicing.fit import largest
from lowering.targets import Feature, Target
from lowering.targets.target import PORTABLE

LEAST = {True: 64, False: 16}
"""Rows or columns of a half: of a product, those of one warpgroup product (PTX ISA, wgmma.mma_async); of other tiles,
those that 16-byte accesses of a warp's quarter still fill, an estimate.
"""
ORDER = (ct.MakeToken, ct.JoinTokens)
STORED = (ct.StoreView, ct.StorePtr, ct.AtomicRMW, ct.AtomicCAS, ct.AtomicRedView)


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
    """Effects that one CTA cannot have for all."""
    for op in entry.walk():
        if op.effect is WRITE and not isinstance(op, (*EFFECTS, *ORDER)):
            yield Refusal("it is done once a tile block", op)


def divided(entry: ct.Entry) -> Cuts | Refusal:
    """The cut of the largest product, or of the largest tile that is stored; then of what is stored beside it."""
    product = largest(entry)
    stores = sorted((op for op in entry.walk() if isinstance(op, STORED)), key=lambda op: -size(stored_value(op)))
    if product is None and not stores:
        return Refusal("nothing of it is computed in tiles that CTAs could divide", entry)
    first = stored_value(stores[0]) if product is None else product.results[0]
    cuts = cut(entry, [first], None, product is not None)
    if cuts is not None:
        for op in stores:
            if op not in cuts.ops:
                cuts = cut(entry, [stored_value(op)], cuts, False) or cuts
    made = converted(entry, LEAST.__getitem__, cuts)
    if made is None:
        op = first.op or stores[0]
        return Refusal(f"{first.type} cannot be cut in two: its halves are too small, or depend on each other", op)
    return made


def between_ctas(entry: ct.Entry, cuts: Cuts) -> Iterator[Refusal]:
    """What a CTA would have to tell another: its part of a tile."""
    for op in entry.walk():
        if op not in cuts.ops and alone(op) and any(v in cuts.values for v in op.operands):
            yield Refusal("it takes a whole tile, of which each CTA holds a part", op)


def cut(entry: ct.Entry, values: Sequence[Value], known: Cuts | None, product: bool) -> Cuts | None:
    """A legal cut in two: of the longest dimension that has one, the first of equal ones; rather of one that no
    reduction folds.
    """
    shape = values[0].type.shape if isinstance(values[0].type, TileType) else ()
    dims = sorted((dim for dim, size in enumerate(shape) if size >= 2 * LEAST[product]), key=lambda dim: -shape[dim])
    for joined in (nothing, may_be_exchanged):
        for dim in dims:
            found = find_cuts(entry, values, dim, 2, known, apart=True, joined=joined)
            if found is not None:
                return found
    return None


def stored_value(op: Op) -> Value:
    """The tile that a store or an update writes; its pointers where it is a constant, which is made anywhere."""
    if isinstance(op, ct.StoreView | ct.AtomicRedView):
        return op.tile if isinstance(op, ct.StoreView) else op.value
    pointers, value = op.operands[:2]
    return pointers if is_splat(value) else value


def size(value: Value) -> int:
    """Elements of a tile."""
    return value.type.size if isinstance(value.type, TileType) else 0
