"""Division of a tile block's work among the CTAs of a cluster.

A cluster of 2^n CTAs is n bits of the CTA's rank. For each bit the largest product's rows or columns, or a stored tile,
is cut in two, and the cut propagates to everything that touches it (`lowering.slicing.cuts`): a CTA computes the half
selected by its bit. What no cut reaches is computed whole by every CTA, and the first one stores, prints or asserts it.
The dimension that each bit cuts is a choice: all legal ways are `divisions`; those near the best of a first estimate
are compiled and compared by cost (`lowering.passes.candidates`). Source: tileas-plan-cta of the seeds, which propagates
CTA layouts; the halves are those of one more bit of a tile's layout, so layouts at lower levels need only the register,
lane and warp bits of one CTA.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ir.core import WRITE, Op, UnsupportedError, Value
from ir.dialects import cuda_tile as ct
from ir.records import dataclass
from ir.types import TileType
from lowering.clusters.converted import converted, estimate
from lowering.clusters.exchanged import may_be_exchanged
from lowering.clusters.order import EFFECTS, alone
from lowering.clusters.rewrite import halved, ranked
from lowering.slicing.cuts import Cuts, find_cuts, is_splat, obstacle, shape_of
from lowering.slicing.fit import largest
from lowering.targets import Feature, Target
from lowering.targets.target import PORTABLE

LEAST = {True: 64, False: 16}
"""Rows or columns of a half: of a product, those of one warpgroup product (PTX ISA, wgmma.mma_async); of other tiles,
those that 16-byte accesses of a quarter warp still fill, an estimate.
"""
NEAR = 1.1
"""Times the lowest estimate: ways above it are not compiled. Of 65 kernels of tests and examples with a number of CTAs
(sm_90a, 2 and 4) nine can be divided in several ways; in all of them the cheapest also has the lowest estimate.
"""
MOST_WAYS = 4  # compiled for a number of CTAs, to bound the time of a choice
ORDER = (ct.MakeToken, ct.JoinTokens)
STORED = (ct.StoreView, ct.StorePtr, ct.AtomicRMW, ct.AtomicCAS, ct.AtomicRedView)


@dataclass(frozen=True)
class Refusal:
    """Why a tile block's work is not divided, and where."""

    reason: str
    op: Op

    def message(self, ctas: int, place: str = "") -> str:
        """In words, with the location unless the caller prints it."""
        return f"{ctas} CTAs cannot divide a tile block: '{self.op.name}'{place}: {self.reason}"


@dataclass(frozen=True)
class Division:
    """One way for CTAs to divide a tile block: the entry of one CTA, and into how many parts the tile was cut along
    each of its dimensions; none if operations are cut one by one, with conversions in between.
    """

    entry: ct.Entry
    parts: tuple[int, ...]


def planned(entry: ct.Entry, ctas: int) -> ct.Entry | Refusal:
    """The entry for clusters of `ctas` CTAs, a power of two, that cut the longest dimensions; or why there is none."""
    found = divisions(entry, ctas)
    return found if isinstance(found, Refusal) else found[0].entry


def divisions(entry: ct.Entry, ctas: int, parts: tuple[int, ...] = ()) -> list[Division] | Refusal:
    """All ways for `ctas` CTAs, a power of two, to divide a tile block, the one that cuts the longest dimensions first;
    only those into `parts`, if given; or why there is none.
    """
    if (found := next(shared_state(entry), None)) is not None:
        return found
    ways = [Division(ranked(entry, ctas), ())]
    for bit in range(ctas.bit_length() - 1):
        ways = ways if parts else promising(ways)  # also for fewer CTAs: the largest kernels take 1 s of CPU a way
        refused, further = list[Refusal](), dict[tuple[int, ...], Division]()
        for way in ways:
            found = cuts_of(way.entry)
            if isinstance(found, Refusal):
                refused.append(found)
                continue
            for dim, rank, cuts in found:
                cut = doubled(way.parts if bit else (1,) * rank, dim, rank)
                if cut not in further and all(n <= most for n, most in zip(cut, parts, strict=False)):
                    further[cut] = Division(halved(way.entry, cuts, bit), cut)
        ways = list(further.values())
        if not ways and refused:
            return refused[0]
    if parts and not (ways := [way for way in ways if way.parts == parts]):
        return Refusal(f"its largest tile cannot be cut into {by(parts)}", entry)
    return ways


def doubled(parts: Sequence[int], dim: int | None, rank: int) -> tuple[int, ...]:
    """Parts with twice as many along one dimension of a tile of that rank; none if another tile or none is cut."""
    if dim is None or len(parts) != rank:
        return ()
    return tuple(2 * count if at == dim else count for at, count in enumerate(parts))


def by(parts: Sequence[int]) -> str:
    """Parts along the dimensions of a tile, in words; none if each operation is cut in its own way."""
    return "x".join(map(str, parts)) if parts else "by operation"


def promising(ways: Sequence[Division]) -> list[Division]:
    """The first way, then the others whose estimate is near the best, the best of these first."""
    priced = {way.parts: estimate(way.entry) for way in ways}
    limit = NEAR * min(priced.values())
    near = sorted((way for way in ways[1:] if priced[way.parts] <= limit), key=lambda way: priced[way.parts])
    return [ways[0], *near[: MOST_WAYS - 1]]


def refuse_cluster(ctas: int, target: Target, entry: ct.Entry) -> None:
    """Raise UnsupportedError, located, if the target lacks the clusters."""
    if ctas > 1 and not target.has(Feature.CLUSTER):
        message = f"clusters of {ctas} CTAs: {target.name} has no clusters"
        raise UnsupportedError(message, entry.location, "compile for sm_90a or later, or leave --num-ctas out")
    if ctas > PORTABLE or ctas & (ctas - 1):
        message = f"clusters of {ctas} CTAs: expected a power of two up to {PORTABLE}, which every GPU takes"
        raise UnsupportedError(message, entry.location)


def shared_state(entry: ct.Entry) -> Iterator[Refusal]:
    """Effects that one CTA cannot perform for all."""
    for op in entry.walk():
        if op.effect is WRITE and not isinstance(op, (*EFFECTS, *ORDER)):
            yield Refusal("it happens once per tile block", op)


def cuts_of(entry: ct.Entry) -> list[tuple[int | None, int, Cuts]] | Refusal:
    """The cuts in two: of the largest product, or of the largest stored tile, along each dimension (the longest first),
    then of other stored tiles; operation by operation if there is none. With the dimension and the rank of that tile.
    """
    product = largest(entry)
    stores = sorted((op for op in entry.walk() if isinstance(op, STORED)), key=lambda op: -size(stored_value(op)))
    if product is None and not stores:
        return Refusal("it computes no tiles that CTAs could divide", entry)
    first = stored_value(stores[0]) if product is None else product.results[0]
    found: list[tuple[int | None, int, Cuts]] = []
    for dim, cuts in legal_cuts(entry, [first], None, product is not None):
        for op in stores:
            if op not in cuts.ops:
                beside = legal_cuts(entry, [stored_value(op)], cuts, False)
                cuts = next((made for _, made in beside), cuts)
        made = converted(entry, LEAST.__getitem__, cuts)
        if made is not None:
            found.append((dim, len(shape_of(first)), made))
    if found:
        return found
    apart = converted(entry, LEAST.__getitem__)
    if apart is not None:
        return [(None, 0, apart)]
    return Refusal(f"{first.type} cannot be cut in two: {why_whole(entry, first, product)}", first.op or stores[0])


def why_whole(entry: ct.Entry, tile: Value, product: Op | None) -> str:
    """What prevents a tile from being cut, in words."""
    least = 2 * LEAST[product is not None]
    dim, extent = max(enumerate(shape_of(tile)), key=lambda each: each[1], default=(0, 0))
    if extent < least:
        return f"no dimension of it has {least} elements or more"
    found = obstacle(entry, [tile], dim, 2, may_be_exchanged)
    return "its halves depend on each other" + (f" by '{found.name}' at {found.location}" if found is not None else "")


def between_ctas(entry: ct.Entry, cuts: Cuts) -> Iterator[Refusal]:
    """What a CTA would have to send to another: its part of a tile."""
    for op in entry.walk():
        if op not in cuts.ops and alone(op) and any(v in cuts.values for v in op.operands):
            yield Refusal("it needs a whole tile, and each CTA holds only a part", op)


def legal_cuts(
    entry: ct.Entry, values: Sequence[Value], known: Cuts | None, product: bool
) -> Iterator[tuple[int, Cuts]]:
    """Legal cuts in two, with their dimensions: the longest first, the first of equal ones; dimensions of a reduction
    or a scan come last.
    """
    shape = shape_of(values[0])
    dims = sorted((dim for dim, size in enumerate(shape) if size >= 2 * LEAST[product]), key=lambda dim: -shape[dim])
    folded: list[int] = []
    for dim in dims:
        found = find_cuts(entry, values, dim, 2, known, apart=True)
        if found is None:
            folded.append(dim)
        else:
            yield dim, found
    for dim in folded:
        found = find_cuts(entry, values, dim, 2, known, apart=True, joined=may_be_exchanged)
        if found is not None:
            yield dim, found


def stored_value(op: Op) -> Value:
    """The tile that a store or an update writes; its pointers if it is a constant, which can be computed anywhere."""
    if isinstance(op, ct.StoreView | ct.AtomicRedView):
        return op.tile if isinstance(op, ct.StoreView) else op.value
    pointers, value = op.operands[:2]
    return pointers if is_splat(value) else value


def size(value: Value) -> int:
    """Elements of a tile."""
    return value.type.size if isinstance(value.type, TileType) else 0
