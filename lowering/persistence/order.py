"""The order of tile blocks, chosen by the bytes that it loads from memory into the L2 cache.

Concurrent tile blocks read a tile of an array once from memory, and otherwise from the L2 cache. In hardware order, x
first, n concurrent tile blocks have X different x and n / X different y, where the grid is X wide. In *groups* of w
along x the next y comes after w tile blocks, so they have w different x and n / w different y: for two factors that
depend on x and on y, w + n / w tiles are read, the minimum being at w = sqrt(n).

    as counted        t = x + X y + X Y z
    in groups of w    a group is all y of w neighbouring x, or of the remaining ones; x varies fastest in it, then y

Source: CUTLASS's tile schedulers (swizzles and orders of rasterisation); schedules.md, section 1. A grid's extents are
known only at launch: it is assumed to be square. Tile IR does not specify an order of tile blocks, so every order is
correct.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ir.core import Builder, Op, Value
from ir.dialects import cuda_tile as ct
from ir.records import dataclass
from lowering.atoms.evictions import Indices, Reach, sum_of
from lowering.cost import UNKNOWN_TRIPS
from lowering.layouts.elements import element_bytes
from lowering.source.numbers import FLAG, MOST, NUMBER, added, difference, product, promised, quotient, remainder
from lowering.source.rewriting import constant, without_promises
from lowering.source.unrolling import trips_of
from lowering.targets import Target
from lowering.targets.devices import device
from lowering.targets.target import LEAST_WARPS

AS_COUNTED = 0
WIDTHS = (AS_COUNTED, 1, 2, 4, 8, 16, 32)
"""Group widths. CUTLASS has up to 8 by rows or columns, Triton's tutorial 8; beyond 32 there is no gain: for 170
concurrent tile blocks and two factors of equal size, the best width is 13.
"""
ROUNDS = 8  # waves over the device, for an unknown launch: a GEMM of 4,096 in tiles of 128 has 7.8 on an H100
COORDINATES = (
    27  # additional SASS instructions for groups, ptxas 13.5: 28 of a GEMM on sm_80, 53 in two agents on sm_90a
)


@dataclass(frozen=True)
class Order:
    """Groups of `width` along x, or hardware order: bytes of memory, and cycles of an SM, for a tile block."""

    width: int
    memory: float
    cycles: float

    def __str__(self) -> str:
        way = f"groups of {self.width} along x" if self.width else "as the grid counts"
        return f"{way}: {self.memory:,.0f} bytes of memory for a tile block, {self.cycles:,.0f} cycles"


def best_order(entry: ct.Entry, target: Target, tile_blocks: int = 0) -> Order:
    """The cheapest order for the tile blocks of a kernel, of equal ones the first of `WIDTHS`."""
    return min(orders(entry, target, tile_blocks), key=lambda each: each.cycles)


def orders(entry: ct.Entry, target: Target, tile_blocks: int = 0) -> list[Order]:
    """The cost of each order for a kernel with `tile_blocks` launched; 0: more than run at once.

    Costs are only for comparison: loads whose tiles are not shared between tile blocks are left out.
    """
    chip = device(target.name)
    at_once = max(1, chip.multiprocessors * max(1, target.asked_ctas) // target.asked_cluster)
    tile_blocks = tile_blocks or ROUNDS * at_once
    at_once, extent = min(at_once, tile_blocks), math.sqrt(tile_blocks)
    shared = list(reused(entry))
    found: list[Order] = []
    for width in WIDTHS if {0, 1} <= axes(entry) else (AS_COUNTED,):  # with one axis there is one order
        memory = sum(size * different(reach.axes, width or extent, at_once, extent) for size, reach in shared) / at_once
        more = COORDINATES * LEAST_WARPS / float(target.throughput.issue) if width else 0.0
        found.append(Order(width, memory, memory / chip.memory_bytes + more))
    return found


def axes(entry: ct.Entry) -> set[int]:
    """The grid axes that a kernel reads its coordinates of."""
    operations = list(entry.walk())
    used = {value for op in operations for value in op.operands}
    ids = [op for op in operations if isinstance(op, ct.GetTileBlockId)]
    return {axis for op in ids for axis, value in enumerate(op.results) if value in used}


def reused(entry: ct.Entry) -> Iterator[tuple[float, Reach]]:
    """Bytes that a tile block loads and others load too, by the axes that their position depends on; a tile loaded
    twice counts once.
    """
    indices, seen = Indices(), set[tuple[Value, ...]]()
    for op in entry.walk():
        if not isinstance(op, ct.LoadView):
            continue
        parts = [indices.of(index) for index in op.index]
        place = (op.view, *map(without_promises, op.index))
        if place in seen or any(part is None for part in parts):
            continue
        seen.add(place)
        reach = sum_of([part for part in parts if part is not None])
        kind = ct.tile_type(op.results[0])
        yield kind.size * element_bytes(kind.element) * steps(reach.loops), reach


def steps(loops: frozenset[Op]) -> float:
    """Iterations of nested loops."""
    made = 1.0
    for loop in loops:
        trips = trips_of(loop) if isinstance(loop, ct.For) else None
        made *= UNKNOWN_TRIPS if trips is None else trips
    return made


def different(axes: frozenset[int], width: float, at_once: int, extent: float) -> float:
    """The number of different tiles among concurrent tile blocks, one each, by the axes that their positions depend on;
    in a grid of `extent` x `extent` tile blocks.
    """
    along_y = min(at_once / min(width, extent), extent)
    counts = {0: at_once / along_y, 1: along_y}
    made = 1.0
    for axis in axes:
        made *= counts.get(axis, 1.0)
    return made


@dataclass(frozen=True)
class Grouped:
    """The grid in groups: values that all tile blocks compute from its extents."""

    grid: Sequence[Value]
    width: Value
    band: Value
    plane: Value

    def coordinates(self, b: Builder, number: Value) -> list[Value]:
        """x, y, z of a tile by its number."""
        z = quotient(b, number, self.plane)
        x, y = self.in_plane(b, difference(b, number, product(b, z, self.plane)))
        return [x, y, promised(b, z, 0)]

    def in_plane(self, b: Builder, number: Value) -> list[Value]:
        """x and y of a tile by its number among those of one z."""
        group = quotient(b, number, self.band)
        first = product(b, group, self.width)
        inside = difference(b, number, product(b, group, self.band))
        wide = b.value(ct.MinI, self.width, difference(b, self.grid[0], first), signedness=ct.Signedness.SIGNED)
        wide = promised(b, wide, 1)
        y = quotient(b, inside, wide)
        x = added(b, first, difference(b, inside, product(b, y, wide)))
        return [promised(b, each, 0) for each in (x, y)]


def grouped(b: Builder, grid: Sequence[Value], width: int) -> Grouped:
    """Groups no wider than the grid, so that no product exceeds the number of its tiles."""
    narrow = b.value(ct.MinI, grid[0], constant(b, width, NUMBER), signedness=ct.Signedness.SIGNED)
    narrow = promised(b, narrow, 1, width)
    band, plane = (promised(b, product(b, each, grid[1]), 1) for each in (narrow, grid[0]))
    return Grouped(grid, narrow, band, plane)


@dataclass(frozen=True)
class Regrouped:
    """The grid in groups if the hardware counts tile blocks, x first, and hands them over: `fits` means that the
    numbers of one z fit in 32 bits; otherwise the order is unchanged.
    """

    groups: Grouped
    fits: Value

    def coordinates(self, b: Builder, ids: Sequence[Value]) -> list[Value]:
        """x, y, z of the tile that replaces the one at `ids`."""
        zero = constant(b, 0, NUMBER)
        x, y = (promised(b, b.value(ct.Select, self.fits, each, zero), 0) for each in ids[:2])
        made = self.groups.in_plane(b, added(b, product(b, y, self.groups.grid[0]), x))
        pairs = zip(made, ids[:2], strict=True)
        return [*(promised(b, b.value(ct.Select, self.fits, new, old), 0) for new, old in pairs), ids[2]]


def regrouped(b: Builder, grid: Sequence[Value], width: int) -> Regrouped:
    """Groups of a grid of any size: every product fits in 32 bits."""
    most = quotient(b, constant(b, MOST, NUMBER), grid[1])
    fits = b.value(
        ct.CmpI, grid[0], most, types=[FLAG], predicate=ct.Predicate.LESS_THAN_OR_EQUAL, signedness=ct.Signedness.SIGNED
    )
    rows = promised(b, b.value(ct.Select, fits, grid[1], constant(b, 1, NUMBER)), 1)
    return Regrouped(grouped(b, [grid[0], rows, grid[2]], width), fits)


def as_counted(b: Builder, number: Value, grid: Sequence[Value]) -> list[Value]:
    """x, y, z of a tile by its number, x fastest as the hardware counts CTAs."""
    rows = quotient(b, number, grid[0])
    x, y, z = remainder(b, number, grid[0]), remainder(b, rows, grid[1]), quotient(b, rows, grid[1])
    return [promised(b, each, 0) for each in (x, y, z)]
