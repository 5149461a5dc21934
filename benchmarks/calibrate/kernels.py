"""The micro-kernels of a form: a tile from memory, the operation, a tile to memory, at two sizes.

The code around the operation is the same at both sizes except for loads and stores, which are identified by their pipe;
so the difference between the sizes is the cost of the additional elements. Elements come from memory and are
independent: ptxas can neither fold nor share them, and constants that it keeps in registers are counted once, as in
real code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tilesat
from benchmarks.calibrate.forms import Case
from ir.core import TileError
from ir.dialects import cuda_tile as ct
from ir.types import I8, SCALARS, TileType
from lowering.atoms.bytes import BYTES
from lowering.targets.target import WARP
from tilesat.fuzz.writer import Tile, Writer

THREADS = 128
"""For a CTA of four warps, the smallest that the compiler makes."""
DIVISOR = 7
FORBIDDEN = ("f32x2", BYTES)
"""Atoms with a separate price."""
Body = Callable[[Writer, Sequence[Tile]], Sequence[Tile]]


@dataclass(frozen=True)
class Micro:
    """PTX of one kernel and the number of elements per thread that it processes."""

    name: str
    ptx: str
    elements: int


def sizes(case: Case) -> tuple[int, int]:
    """Elements per thread: 16 bytes of the narrowest type, and twice as many."""
    most = 128 // case.narrowest
    return most, 2 * most


def terms(case: Case) -> list[tuple[int, Body]]:
    """Kernels whose counts, with these factors, add up to those of the operation.

    The cost of a select is what a second select with the same comparison adds; that of a comparison is the cost of the
    first one less that.
    """
    if case.operation is ct.Select:
        return [(1, _choose(2)), (-1, _choose(1))]
    if case.operation in (ct.CmpF, ct.CmpI):
        return [(2, _compare(case, 1)), (-1, _compare(case, 2))]
    return [(1, lambda w, tiles: [_apply(w, case, tiles)])]


def _apply(w: Writer, case: Case, tiles: Sequence[Tile]) -> Tile:
    kind = TileType(tiles[0].shape, SCALARS[case.result])
    operands = (tiles[0], w.like(DIVISOR, tiles[0])) if case.constant else tuple(tiles)
    given = None if case.operation.info.results[0].like else [kind]
    return w.op(case.operation, *operands, types=given, **case.attributes)


def _choose(results: int) -> Body:
    def body(w: Writer, tiles: Sequence[Tile]) -> Sequence[Tile]:
        x, y, z = tiles
        yes = x < y
        return [yes.where(z, y), yes.where(x, z)][:results]

    return body


def _compare(case: Case, results: int) -> Body:
    def body(w: Writer, tiles: Sequence[Tile]) -> Sequence[Tile]:
        x, y, z = tiles
        yes = _apply(w, case, (x, y))
        return [yes.where(z, y), yes.where(x, z)][:results]

    return body


def _memory(case: Case) -> tuple[list[str], str]:
    """Types of the tensors that are read, and of those written."""
    if case.operation in (ct.Select, ct.CmpF, ct.CmpI):
        kind = case.operands[-1]
        return [kind] * 3, kind
    return list(case.operands[: 1 if case.constant else None]), case.result


def source(case: Case, body: Body, name: str, elements: int) -> str:
    """The program of a kernel that loads tiles of `elements` a thread, and stores the results of `body`.

    Raises TileError for flags that the operation does not have on these types.
    """
    read, written = _memory(case)
    results = 2
    parameters = {f"x{at}": f"ptr<{_held(kind)}>" for at, kind in enumerate(read)}
    w = Writer(name, **parameters, **{f"y{at}": f"ptr<{_held(written)}>" for at in range(results)})
    w.promise(**dict.fromkeys(w.args, 16))
    total = THREADS * elements
    tiles = [_read(w, w.args[f"x{at}"], kind, total) for at, kind in enumerate(read)]
    for at, tile in enumerate(body(w, tiles)):
        if SCALARS[written].width < 8:
            tile = w.op(ct.Pack, tile, types=[TileType((total * SCALARS[written].width // 8,), I8)])
        w.store(tile, w.view(w.args[f"y{at}"], tile.shape, [1], tile.shape), 0)
    return w.text(THREADS // WARP)


def _held(kind: str) -> str:
    """The type in memory of elements: bytes for those smaller than a byte."""
    return kind if SCALARS[kind].width >= 8 else "i8"


def _read(w: Writer, base: Tile, kind: str, total: int) -> Tile:
    size = total * min(8, SCALARS[kind].width) // 8
    tile = w.load(w.view(base, [size], [1], [size]), 0)
    return tile if size == total else w.op(ct.Unpack, tile, types=[TileType((total,), SCALARS[kind])])


def micro(case: Case, body: Body, name: str, elements: int, target: str, forbid: Sequence[str] = FORBIDDEN) -> Micro:
    """One kernel compiled. Raises TileError if the target does not have the operation on these types."""
    kernel = tilesat.compile(source(case, body, name, elements), target, forbid=forbid)
    threads = kernel.manifest["block"][0]
    if threads != THREADS:
        raise TileError(f"{case.form.key}: expected {THREADS} threads, got {threads}")
    return Micro(name, kernel.ptx, elements)
