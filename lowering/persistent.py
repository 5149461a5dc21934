"""Kernels made persistent: as many tile blocks as fit the device at once go through all tiles of the logical grid.

    kernel(id)    becomes    for t = first; t < tiles; t = next: kernel(coordinates of t in the logical grid)

The launcher gives the logical grid, and the counter of the dynamic schedule, as parameters behind the source's own
(`lowering.launch.GRID`, `COUNTER`; `launch` in the manifest's records), and chooses how many tile blocks run. *static*:
each takes every n-th tile. *dynamic*: it draws the next one from a counter in global memory, which is zero at launch,
before it begins with its own, so that the number is there in time.
Source: tileas-dynamic-persistent, whose is_valid_program_id and cancel_next_program_id are the comparison with the
number of tiles and the next number here; CUTLASS's persistent tile schedulers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ir.core import PURE, Block, Builder, Op, Region, UnsupportedError, Value
from ir.dialects import cuda_tile as ct
from ir.types import I1, I32, TOKEN, PointerType, TileType
from lowering.launch import COUNTER, GRID
from lowering.rewriting import Rewriter, without_promises

NUMBER: Final = TileType((), I32)


def already(entry: ct.Entry) -> bool:
    """Does a kernel go through tiles itself: in a loop whose step is a number of tile blocks?"""
    counts = {result for op in entry.walk() if isinstance(op, ct.GetNumTileBlocks) for result in op.results}
    return any(isinstance(op, ct.For) and without_promises(op.step) in counts for op in entry.walk())


def persistent(entry: ct.Entry, schedule: str) -> ct.Entry:
    """The entry with its body in a loop over the tiles of the logical grid.

    Raises UnsupportedError, located, for a `return` inside a loop, which would have to end two.
    """
    given = [*GRID, *([COUNTER] if schedule == "dynamic" else [])]
    old = entry.body.block
    counter = [TileType((), PointerType(I32))] if schedule == "dynamic" else []
    body = Block([*(a.type for a in old.args), *[NUMBER] * len(GRID), *counter])
    for name, value in zip(given, body.args[len(old.args) :], strict=True):
        value.name = name.replace(" ", "_")
    b = Builder(body, entry.location)
    grid = [promised(b, value, 1) for value in body.args[len(old.args) :][: len(GRID)]]
    first = promised(b, b.add(ct.GetTileBlockId, types=[NUMBER] * 3).results[0], 0)
    count = promised(b, b.add(ct.GetNumTileBlocks, types=[NUMBER] * 3).results[0], 1)
    tiles = promised(b, product(b, product(b, grid[0], grid[1]), grid[2]), 1)
    inner = Block([NUMBER])
    inside = Builder(inner, entry.location)
    number = promised(inside, inner.args[0], 0)
    following: tuple[Value, ...] = ()
    if schedule == "dynamic":
        following = (drawn(inside, body.args[-1], count),)
        leave_after(inside, number, tiles)
    writer = Writer(following, coordinates(inside, number, grid), grid, b)
    writer.bind(old.args, body.args[: len(old.args)])
    writer.operations(old.ops, inside)
    regions = [Region([inner])]
    if schedule == "dynamic":
        b.add(ct.Loop, first, types=(), regions=regions, segments=(1,))
    else:
        b.add(ct.For, first, tiles, count, types=(), regions=regions, segments=(1, 1, 1, 0))
    b.add(ct.Return, types=())
    made = ct.Entry((), (), {**entry.attributes, "given": tuple(given)}, [Region([body])], entry.location)
    made.parent = entry.parent
    return made


def promised(b: Builder, value: Value, least: int) -> Value:
    """A number that is not less than another one."""
    return b.value(ct.Assume, value, types=[NUMBER], predicate=ct.Bounded(least, None))


def product(b: Builder, left: Value, right: Value) -> Value:
    """Of two extents; the launcher refuses a grid whose tiles do not fit an i32."""
    return b.value(ct.MulI, left, right, types=[NUMBER], overflow=ct.Overflow.NO_SIGNED_WRAP)


def coordinates(b: Builder, number: Value, grid: Sequence[Value]) -> list[Value]:
    """x, y, z of a tile, x fastest as the hardware counts CTAs."""

    def op(cls: type[Op], left: Value, right: Value) -> Value:
        return b.value(cls, left, right, types=[NUMBER], signedness=ct.Signedness.SIGNED)

    rows = op(ct.DivI, number, grid[0])
    x, y, z = op(ct.RemI, number, grid[0]), op(ct.RemI, rows, grid[1]), op(ct.DivI, rows, grid[1])
    return [promised(b, each, 0) for each in (x, y, z)]


def drawn(b: Builder, counter: Value, count: Value) -> Value:
    """The number of the tile after those that begin at once."""
    one = b.value(ct.Constant, types=[NUMBER], value=ct.DenseElements(np.asarray(1, np.int32)))
    token = b.value(ct.MakeToken, types=[TOKEN])
    old = b.add(
        ct.AtomicRMW, counter, one, token, types=[NUMBER, TOKEN], segments=(1, 1, 0, 1),
        order=ct.MemoryOrder.RELAXED, scope=ct.Scope.DEVICE, mode=ct.AtomicMode.ADD,
    ).results[0]  # fmt: skip
    return b.value(ct.AddI, promised(b, old, 0), count, types=[NUMBER], overflow=ct.Overflow.NO_SIGNED_WRAP)


def leave_after(b: Builder, number: Value, tiles: Value) -> None:
    """End the loop where all tiles are done."""
    done = b.value(ct.CmpI, number, tiles, types=[TileType((), I1)], predicate=ct.Predicate.GREATER_THAN_OR_EQUAL,
                   signedness=ct.Signedness.SIGNED)  # fmt: skip
    leaving = Block()
    Builder(leaving, b.location).add(ct.Break, types=())
    b.add(ct.If, done, types=(), regions=[Region([leaving]), Region([])])


class Writer(Rewriter):
    """Operations anew, for one tile of many: its coordinates for the tile block's, the next tile for the end.

    What every tile block computes alike, views of parameters and promises about them, comes `before` the loop: a
    promise counts where it is sure to be reached, and without it there is no tensor map. Behind what may end a tile
    nothing moves.
    """

    def __init__(self, following: Sequence[Value], ids: Sequence[Value], grid: Sequence[Value], before: Builder):
        super().__init__()
        self.following, self.ids, self.grid, self.before = following, ids, grid, before
        self.loops = 0
        self.reached = True
        self.varying: set[Value] = {*following, *ids}

    def operations(self, ops: Sequence[Op], b: Builder) -> None:
        """All of them, in order."""
        for op in ops:
            target = self.before if self.alike(op) else b
            target.location = op.location
            self.operation(op, target)
            self.reached = self.reached and not any(isinstance(inner, ct.Return) for inner in op.walk())
            if target is b and not isinstance(op, ct.GetNumTileBlocks):
                self.varying.update(map(self.new.__getitem__, op.results))

    def alike(self, op: Op) -> bool:
        """Does every tile block compute this, and the same?"""
        if not self.reached or op.effect is not PURE or op.regions or isinstance(op, ct.MakeToken):
            return False
        return self.varying.isdisjoint(map(self.new.__getitem__, op.operands))

    def region(self, region: Region) -> Region:
        """A region's blocks: what a branch or a loop does is not sure to be reached."""
        reached, self.reached = self.reached, False
        made = super().region(region)
        self.reached = reached
        return made

    def operation(self, op: Op, b: Builder) -> None:
        """One, in terms of the tile."""
        if isinstance(op, ct.GetTileBlockId):
            self.new.update(zip(op.results, self.ids, strict=True))
        elif isinstance(op, ct.GetNumTileBlocks):
            self.new.update(zip(op.results, self.grid, strict=True))
        elif isinstance(op, ct.Return):
            self.end(op, b)
        else:
            inside = isinstance(op, ct.For | ct.Loop)
            self.loops += inside
            super().operation(op, b)
            self.loops -= inside

    def end(self, op: Op, b: Builder) -> None:
        """The end of a tile."""
        if self.loops:
            message = "a persistent kernel cannot return from inside a loop, which would have to end only this tile"
            raise UnsupportedError(message, op.location, "leave the loop by break, or compile with --persistent off")
        b.add(ct.Continue, *self.following, types=())
