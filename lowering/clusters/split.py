"""Split-K: the accumulation loop of a product divided among the CTAs of a cluster, each of which takes every c-th step.

    for k: acc = mma(a[k], b[k], acc)      for k = rank, rank + c, ...: acc = mma(a[k], b[k], acc)
                                           sum over the CTAs, of which each keeps a part of the tile

For products whose grid leaves multiprocessors idle and whose tiles are too small to be cut. The order of sums changes,
so reassociation must be permitted. Code after the loop is cut with the tile, as in `plan`. Source: CUTLASS's
split-K and stream-K; the reduction uses distributed shared memory instead of a workspace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from ir.core import WRITE, Builder, Op, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas import PartialSum
from lowering.clusters.plan import Refusal, between_ctas, shared_state
from lowering.clusters.rewrite import as_type, halved, plus, ranked
from lowering.slicing.cuts import Cuts, Products, find_cuts, is_splat
from lowering.source.numbers import NUMBER, promised, remainder
from lowering.source.rewriting import Rewriter, constant

LEAST = 16  # columns or rows of a CTA's part: those that 16-byte accesses of a quarter warp fill, an estimate


def split(entry: ct.Entry, ctas: int) -> ct.Entry | Refusal:
    """The entry for clusters of `ctas` CTAs, a power of two, that divide the steps of its products; or why not."""
    if (found := next(shared_state(entry), None)) is not None:
        return found
    products = [op for op in entry.walk() if isinstance(op, Products)]
    if not products:
        return Refusal("it has no product whose K steps could be divided among CTAs", entry)
    loops = [op for op in entry.walk() if isinstance(op, ct.For) and adds_up(op)]
    within = {each for loop in loops for each in loop.walk()}
    if (rest := next((op for op in products if op not in within), None)) is not None:
        return Refusal("no loop only accumulates it", rest)
    made = Split(ctas).entry(ranked(entry, ctas))
    for bit in range(ctas.bit_length() - 1):
        cuts = scattered(made, bit)
        if (refusal := next(between_ctas(made, cuts), None)) is not None:
            return refusal
        made = halved(made, cuts, bit)
    return made


def adds_up(loop: ct.For) -> bool:
    """Does a loop carry nothing but sums of products, and otherwise only load?"""
    body = loop.body.block
    carried, ends = body.args[1:], body.terminator.operands
    inside = list(loop.walk())[1:]
    if not carried or any(op.regions or op.effect is WRITE or not quiet(op) for op in inside):
        return False
    for argument, end in zip(carried, ends, strict=True):
        users = [op for op in inside if argument in op.operands]
        product = end.op
        if not isinstance(product, Products) or product.acc is not argument or users != [product]:
            return False
        if [op for op in inside if end in op.operands] != [body.terminator]:
            return False
    return True


def is_zero(value: Value) -> bool:
    """A constant of zeros."""
    return is_splat(value) and cast(ct.Constant, value.op).value.item == 0


def quiet(op: Op) -> bool:
    """Is it not a load that is ordered with other accesses?"""
    return not isinstance(op, ct.LoadView | ct.LoadPtr) or op.order == ct.MemoryOrder.WEAK


def scattered(entry: ct.Entry, bit: int) -> Cuts:
    """For each sum over a bit of the rank, the halves that its CTAs keep, by columns if possible; each CTA keeps whole
    what cannot be cut.
    """
    cuts = Cuts(2)
    for op in sums(entry, bit):
        shape = ct.tile_type(op.result).shape
        for dim in sorted((dim for dim, size in enumerate(shape) if size >= 2 * LEAST), reverse=True):
            found = find_cuts(entry, [op.result], dim, 2, cuts, apart=True, scattered=bit)
            if found is not None:
                cuts = found
                break
    return cuts


def sums(entry: ct.Entry, bit: int) -> Iterator[PartialSum]:
    """Those over a bit of the rank."""
    return (op for op in entry.walk() if isinstance(op, PartialSum) and op.place == bit)


class Split(Rewriter):
    """Loops that take every c-th step, from this CTA's first one on, followed by the sums."""

    def __init__(self, ctas: int):
        super().__init__()
        self.ctas = ctas

    def operation(self, op: Op, b: Builder) -> None:
        """One; a loop with its own bounds."""
        if not isinstance(op, ct.For) or not adds_up(op):
            super().operation(op, b)
            return
        kind = ct.tile_type(op.step)
        cta = promised(b, b.add(ct.GetTileBlockId, types=[NUMBER] * 3).results[0], 0)
        rank = as_type(promised(b, remainder(b, cta, self.ctas), 0, self.ctas - 1), kind, b)
        lower, upper, step = (self.new[value] for value in (op.lower_bound, op.upper_bound, op.step))
        first = b.value(ct.AddI, lower, b.value(ct.MulI, rank, step))
        jump = b.value(ct.MulI, step, constant(b, self.ctas, kind))
        inits = [from_zero(value, self.new, b) for value in op.init_values]
        made = b.add(
            ct.For,
            first,
            upper,
            jump,
            *inits,
            types=[v.type for v in op.results],
            segments=op.segments,
            regions=[self.region(op.regions[0])],
            **op.attributes,
        )
        self.bind(op.results, self.finished(op, made.results, b))

    def finished(self, loop: ct.For, parts: Sequence[Value], b: Builder) -> list[Value]:
        """Sums over all bits of the rank of the CTAs' partial sums, plus the initial values."""
        found = list(parts)
        for bit in range(self.ctas.bit_length() - 1):
            found = [b.value(PartialSum, value, types=[value.type], place=bit) for value in found]
        return begun(loop.init_values, found, self.new, b)


def from_zero(init: Value, new: Mapping[Value, Value], b: Builder) -> Value:
    """The zero at which each partial sum starts."""
    return new[init] if is_zero(init) else constant(b, 0, ct.tile_type(init))


def begun(inits: Sequence[Value], sums: Sequence[Value], new: Mapping[Value, Value], b: Builder) -> list[Value]:
    """Sums of all parts plus the initial values."""
    pairs = zip(inits, sums, strict=True)
    return [total if is_zero(init) else plus(total, new[init], b) for init, total in pairs]
