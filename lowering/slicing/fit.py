"""Which kernels are cut: those whose accumulators no CTA holds must be; whose loops spill registers may be."""

from __future__ import annotations

from ir.core import UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.types import TileType
from lowering.slicing.cuts import find_cuts
from lowering.slicing.rewrite import sliced
from lowering.supported import registers_of
from lowering.targets.target import LEAST_WARPS, WARP

THREADS = WARP * LEAST_WARPS
HELD = 128  # registers a thread for the tiles that must be held whole: half of what a thread has
LEAST = 64  # rows or columns of a slice: those of one warpgroup product; PTX ISA, wgmma.mma_async
Product = ct.MmaF | ct.MmaI | ct.MmaFScaled


def fitted(entry: ct.Entry) -> ct.Entry:
    """The entry, in slices where an accumulator takes more registers than two warpgroups have.

    Raises UnsupportedError, located, for such a product that cannot be cut.
    """
    while (product := largest(entry)) is not None and registers_of(product.acc, THREADS) > 2 * HELD:
        needed = registers_of(product.acc, THREADS)
        found = cut(entry, product, -(-needed // (2 * HELD)))
        if not found:
            raise UnsupportedError(
                f"'{product.name}': an accumulator of {product.acc.type} takes {needed // 2} registers of each of "
                f"{2 * THREADS} threads, {HELD} leave room for the operands, and what is done with it does not allow "
                "slices of rows or columns",
                product.location, "use a smaller tile",
            )  # fmt: skip
        entry = found[0]
    return entry


def in_slices(entry: ct.Entry) -> list[ct.Entry]:
    """The entry with all products of its largest size cut in two, by rows and by columns, as far as that is legal."""
    first = largest(entry)
    size = 0 if first is None else registers_of(first.acc, THREADS)
    found: list[ct.Entry] = []
    for way in range(2):
        done, product = entry, first
        while product is not None and registers_of(product.acc, THREADS) == size:
            ways = cut(done, product, 2)
            if way >= len(ways):
                break
            done = ways[way]
            product = largest(done)
        else:
            found.append(done)
    return found


def cut(entry: ct.Entry, product: Product, count: int) -> list[ct.Entry]:
    """The entry with a product in `count` slices: of the longer dimension first."""
    kind = product.acc.type
    if not isinstance(kind, TileType):
        return []
    rank = len(kind.shape)
    dims = sorted((rank - 2, rank - 1), key=lambda dim: -kind.shape[dim])
    plans = [find_cuts(entry, product, dim, count) for dim in dims if kind.shape[dim] >= LEAST * count]
    return [sliced(entry, plan) for plan in plans if plan is not None]


def largest(entry: ct.Entry) -> Product | None:
    """The product whose accumulator takes the most registers, the last of them: in attention its rows are the scores'
    too.
    """
    products = [op for op in entry.walk() if isinstance(op, Product)]
    return max(reversed(products), key=lambda op: registers_of(op.acc, THREADS), default=None)
