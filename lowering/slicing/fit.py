"""Which kernels are sliced: those whose accumulators do not fit in a CTA must be; those whose loops spill registers
may be.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import UnsupportedError, Value
from ir.dialects import cuda_tile as ct
from ir.types import TileType
from lowering.slicing.cuts import find_cuts
from lowering.slicing.rewrite import sliced
from lowering.source.supported import registers_of
from lowering.targets.target import LEAST_WARPS, WARP

THREADS = WARP * LEAST_WARPS
HELD = 128  # registers a thread for tiles that must be held whole: half of a thread's registers
LEAST = 64  # rows or columns of a slice: those of one warpgroup product; PTX ISA, wgmma.mma_async
Product = ct.MmaF | ct.MmaI | ct.MmaFScaled


def fitted(entry: ct.Entry) -> ct.Entry:
    """The entry, in slices if an accumulator takes more registers than two warpgroups have.

    Raises UnsupportedError, located, for such a product that cannot be cut.
    """
    while (product := largest(entry)) is not None and registers_of(product.acc, THREADS) > 2 * HELD:
        needed = registers_of(product.acc, THREADS)
        found = cut(entry, product.results, -(-needed // (2 * HELD)))
        if not found:
            raise UnsupportedError(
                f"'{product.name}': an accumulator of {product.acc.type} takes {needed // 2} registers of each of "
                f"{2 * THREADS} threads, but at most {HELD} leave room for the operands, and its uses do not "
                "allow slicing by rows or columns",
                product.location, "use a smaller tile",
            )  # fmt: skip
        entry = found[0]
    return entry


def in_slices(entry: ct.Entry) -> list[ct.Entry]:
    """The entry with all products of its largest size cut in two, by rows and by columns, as far as that is legal;
    without products, the tiles that a loop carries.
    """
    first = largest(entry)
    if first is None:
        return cut(entry, carried(entry), 2)
    size = registers_of(first.acc, THREADS)
    found: list[ct.Entry] = []
    for way in range(2):
        done, product = entry, first
        while product is not None and registers_of(product.acc, THREADS) == size:
            ways = cut(done, product.results, 2)
            if way >= len(ways):
                break
            done = ways[way]
            product = largest(done)
        else:
            found.append(done)
    return found


def cut(entry: ct.Entry, tiles: Sequence[Value], count: int) -> list[ct.Entry]:
    """The entry with tiles of one shape in `count` slices: of the longer of the last two dimensions first."""
    shape = tiles[0].type.shape if tiles and isinstance(tiles[0].type, TileType) else ()
    dims = sorted(range(max(len(shape) - 2, 0), len(shape)), key=lambda dim: -shape[dim])
    plans = [find_cuts(entry, tiles, dim, count) for dim in dims if shape[dim] >= LEAST * count]
    return [sliced(entry, plan) for plan in plans if plan is not None]


def carried(entry: ct.Entry) -> list[Value]:
    """The largest tiles of one shape that a loop carries; of the loop that carries the most."""
    loops = [op for op in entry.walk() if isinstance(op, ct.For) and op.results]
    loop = max(loops, key=lambda op: sum(registers_of(v, THREADS) for v in op.results), default=None)
    if loop is None:
        return []
    first = max(loop.results, key=lambda value: registers_of(value, THREADS))
    return [value for value in loop.results if value.type == first.type]


def largest(entry: ct.Entry) -> Product | None:
    """The product whose accumulator takes the most registers, the last of them: in attention its rows are also those of
    the scores.
    """
    products = [op for op in entry.walk() if isinstance(op, Product)]
    return max(reversed(products), key=lambda op: registers_of(op.acc, THREADS), default=None)
