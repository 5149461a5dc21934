"""Persistent kernels: as many tile blocks as fit the device at once process all tiles of the logical grid.

    kernel(id)    becomes    for t = first; t < tiles; t = next: kernel(coordinates of t in the logical grid)

*static* and *atomic*: the launcher passes the logical grid, and the counter, as parameters after the source's own
(`lowering.launch.GRID`, `COUNTER`; `launch` in the manifest's records), and chooses how many tile blocks run. Each
takes every n-th tile, or draws the next one from a counter in global memory, which is zero at launch. *taken*: the
whole grid is launched, and a tile block takes over one that has not started (clusterlaunchcontrol). The next tile is
requested before the current one starts, so that it is known in time. Source: tileas-dynamic-persistent, whose
is_valid_program_id is the comparison with the number of tiles, or the flag that cancel_next_program_id returns;
CUTLASS's persistent tile schedulers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ir.core import PURE, Block, Builder, Op, Region, UnsupportedError, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas import CancelNextProgramId
from ir.records import dataclass
from ir.types import I1, I32, TOKEN, PointerType, TileType
from lowering.launch import COUNTER, GRID
from lowering.persistence.order import AS_COUNTED, as_counted, grouped, regrouped
from lowering.source.numbers import FLAG, NUMBER, added, product, promised
from lowering.source.rewriting import Rewriter, constant, without_promises

COUNTED: Final = TileType((), PointerType(I32))


def already(entry: ct.Entry) -> bool:
    """Does a kernel already loop over tiles itself, with a number of tile blocks as the step?"""
    counts = {result for op in entry.walk() if isinstance(op, ct.GetNumTileBlocks) for result in op.results}
    return any(isinstance(op, ct.For) and without_promises(op.step) in counts for op in entry.walk())


def persistent(entry: ct.Entry, schedule: str, width: int = AS_COUNTED) -> ct.Entry:
    """The entry with its body in a loop over the tiles of the logical grid, in groups of `width` along x.

    Raises UnsupportedError, located, for a `return` inside a loop, which would have to exit two loops.
    """
    given = {"taken": (), "static": GRID, "atomic": (*GRID, COUNTER)}[schedule]
    old = entry.body.block
    body = Block([*(a.type for a in old.args), *(COUNTED if name == COUNTER else NUMBER for name in given)])
    for name, value in zip(given, body.args[len(old.args) :], strict=True):
        value.name = name.replace(" ", "_")
    b = Builder(body, entry.location)
    loop = taken(b, width) if schedule == "taken" else counted(b, body.args[len(old.args) :], width)
    writer = Writer(loop, b)
    writer.bind(old.args, body.args[: len(old.args)])
    writer.operations(old.ops, loop.inside)
    b.add(loop.kind, *loop.operands, types=(), regions=[Region([loop.block])], segments=loop.segments)
    b.add(ct.Return, types=())
    made = ct.Entry((), (), {**entry.attributes, "given": tuple(given)}, [Region([body])], entry.location)
    made.parent = entry.parent
    return made


@dataclass
class Tiles:
    """A loop over tiles under construction: its body so far, the current tile's coordinates in the logical grid, and
    the values carried to the next one.
    """

    kind: type[Op]
    operands: Sequence[Value]
    segments: tuple[int, ...]
    block: Block
    inside: Builder
    ids: Sequence[Value]
    grid: Sequence[Value]
    following: Sequence[Value] = ()


def counted(b: Builder, given: Sequence[Value], width: int) -> Tiles:
    """Tiles by number: every n-th one, or the next one from a counter."""
    extents, counter = given[: len(GRID)], given[len(GRID) :]
    grid = [promised(b, value, 1) for value in extents]
    first = promised(b, b.add(ct.GetTileBlockId, types=[NUMBER] * 3).results[0], 0)
    count = promised(b, b.add(ct.GetNumTileBlocks, types=[NUMBER] * 3).results[0], 1)
    groups = grouped(b, grid, width) if width else None
    plane = product(b, grid[0], grid[1]) if groups is None else groups.plane
    tiles = promised(b, product(b, plane, grid[2]), 1)
    block = Block([NUMBER])
    inside = Builder(block, b.location)
    number = promised(inside, block.args[0], 0)
    loop = Tiles(ct.For, (first, tiles, count), (1, 1, 1, 0), block, inside, (), grid)
    if counter:
        done = inside.value(
            ct.CmpI,
            number,
            tiles,
            types=[FLAG],
            predicate=ct.Predicate.GREATER_THAN_OR_EQUAL,
            signedness=ct.Signedness.SIGNED,
        )
        following = (drawn(inside, counter[0], count),)
        leave_when(inside, done)
        loop = Tiles(ct.Loop, (first,), (1,), block, inside, (), grid, following)
    ids = as_counted(inside, number, grid) if groups is None else groups.coordinates(inside, number)
    return replace(loop, ids=ids)


def taken(b: Builder, width: int) -> Tiles:
    """The tile that the hardware started, then tiles that it has not started yet and hands over; with groups, mapped to
    the grouped order.
    """
    first = [promised(b, value, 0) for value in b.add(ct.GetTileBlockId, types=[NUMBER] * 3).results]
    grid = [promised(b, value, 1) for value in b.add(ct.GetNumTileBlocks, types=[NUMBER] * 3).results]
    groups = regrouped(b, grid, width) if width else None
    yes = b.value(ct.Constant, types=[FLAG], value=ct.DenseElements.of(True, I1))
    block = Block([FLAG, NUMBER, NUMBER, NUMBER])
    inside = Builder(block, b.location)
    leave_when(inside, inside.value(ct.XorI, block.args[0], yes, types=[FLAG]))
    ids = [promised(inside, value, 0) for value in block.args[1:]]
    following = inside.add(CancelNextProgramId, types=[FLAG, NUMBER, NUMBER, NUMBER]).results
    ids = ids if groups is None else groups.coordinates(inside, ids)
    return Tiles(ct.Loop, (yes, *first), (4,), block, inside, ids, grid, following)


def drawn(b: Builder, counter: Value, count: Value) -> Value:
    """The number of a tile drawn from the counter, after those that start first."""
    one = constant(b, 1, NUMBER)
    token = b.value(ct.MakeToken, types=[TOKEN])
    old = b.add(
        ct.AtomicRMW,
        counter,
        one,
        token,
        types=[NUMBER, TOKEN],
        segments=(1, 1, 0, 1),
        order=ct.MemoryOrder.RELAXED,
        scope=ct.Scope.DEVICE,
        mode=ct.AtomicMode.ADD,
    ).results[0]
    return added(b, promised(b, old, 0), count)


def leave_when(b: Builder, done: Value) -> None:
    """End the loop if there is no tile left."""
    leaving = Block()
    Builder(leaving, b.location).add(ct.Break, types=())
    b.add(ct.If, done, types=(), regions=[Region([leaving]), Region([])])


class Writer(Rewriter):
    """Rewrites operations for one tile of many: its coordinates replace the tile block's, the next tile replaces the
    end.

    Operations common to all tile blocks, views of parameters and assumptions about them, are hoisted `before` the loop:
    an assumption counts only where it is certain to be reached, and without it there is no tensor map. Nothing moves
    across a possible early exit of a tile.
    """

    def __init__(self, tiles: Tiles, before: Builder):
        super().__init__()
        self.tiles, self.before = tiles, before
        self.loops = 0
        self.reached = True
        self.varying: set[Value] = {*tiles.ids}

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
        """Does every tile block compute this, with the same result?"""
        if not self.reached or op.effect is not PURE or op.regions or isinstance(op, ct.MakeToken):
            return False
        return self.varying.isdisjoint(map(self.new.__getitem__, op.operands))

    def region(self, region: Region) -> Region:
        """A region's blocks: the body of a branch or a loop is not certain to be reached."""
        reached, self.reached = self.reached, False
        made = super().region(region)
        self.reached = reached
        return made

    def operation(self, op: Op, b: Builder) -> None:
        """One, in terms of the tile."""
        if isinstance(op, ct.GetTileBlockId):
            self.new.update(zip(op.results, self.tiles.ids, strict=True))
        elif isinstance(op, ct.GetNumTileBlocks):
            self.new.update(zip(op.results, self.tiles.grid, strict=True))
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
            message = (
                "a persistent kernel cannot return from inside a loop: the return would have to end only this tile"
            )
            raise UnsupportedError(message, op.location, "leave the loop by break, or compile with --persistent off")
        b.add(ct.Continue, *self.tiles.following, types=())
