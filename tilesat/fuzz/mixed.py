"""Random programs of everything: `generated` with all types, odd sizes, several tile blocks, scans, gathers, atomics.

What is loaded lies in arrays that end inside a tile; indices are computed, and masked at times. All atomic updates of a
program are of one mode on integers, so that their order does not matter.
"""

from __future__ import annotations

import numpy as np

from ir.dialects import cuda_tile as ct
from ir.types import TileType
from tilesat.fuzz.generated import INEXACT, KINDS, MAX_SIZE, Generator, Held
from tilesat.fuzz.program import Program, Random, of
from tilesat.fuzz.writer import Tile, Writer
from tilesat.spec import Array

STORED = ("f8E4M3FN", "f8E5M2", "tf32", "i1")
"""Types that arrays have, and arithmetic has not."""
COUNTERS = 64
"""Elements of the array that atomic operations update."""
MODES = ("add", "max", "min", "and", "or", "xor")
STEPS = (
    ("binary",) * 5
    + ("unary",) * 3
    + ("cast",) * 3
    + ("shape",) * 3
    + ("reduce",) * 2
    + ("select",) * 2
    + ("product",) * 2
    + ("scan",) * 2
    + ("gather",) * 3
    + ("atomic",) * 2
    + ("part",) * 2
    + ("shift",)
)

Shape = tuple[int, ...]


class Mixed(Generator):
    """Writes one program. extents: of the arrays, which may end inside a tile; grid: tile blocks along x."""

    kinds = (*KINDS, "f64", "i16")

    def __init__(self, seed: int):
        super().__init__(seed)
        self.grid = int(self.pick((1, 1, 2, 3)))
        self.mode = str(self.pick(MODES))
        self.stored = STORED if self.rng.integers(4) == 0 else STORED[2:]  # sm_80 has no f8
        self.inputs = [(shape, str(self.pick((kind, kind, kind, *self.stored)))) for shape, kind in self.inputs]
        self.extents = [self.extent(shape) for shape, _ in self.inputs]
        self.ends = [int(self.rng.integers(0, 4)) for _ in range(3)]

    def extent(self, shape: Shape) -> Shape:
        """Of an array with a tile of this shape for each block along its first dimension; odd at times."""
        whole = [n * self.grid if d == 0 else n for d, n in enumerate(shape)]
        if self.rng.integers(2):
            return tuple(whole)
        return tuple(
            max(1, n - int(self.rng.integers(0, max(1, n // (2 * self.grid if d == 0 else 2)))))
            for d, n in enumerate(whole)
        )

    def write(self, outputs: list[tuple[Shape, str, bool]] | None) -> str:
        parameters = {f"x{i}": f"ptr<{kind}>" for i, (_, kind) in enumerate(self.inputs)}
        parameters |= {f"y{i}": f"ptr<{kind}>" for i, (_, kind, _) in enumerate(outputs or [])}
        self.w = w = Writer("mixed", **parameters, z="ptr<i32>", n="i32")
        w.promise(**dict.fromkeys([*parameters, "z"], 16), n=1)
        pool = [self.input_tile(i) for i in range(len(self.inputs))]
        self.body(pool, self.steps, 0)
        found = [self.narrowed(h) for h in [h for h in pool if h.tile.shape][-3:]]
        self.outputs = [(h.tile.shape, h.kind, h.exact) for h in found]
        for i, held in enumerate(found if outputs else ()):
            view = self.array(w.args[f"y{i}"], held.tile.shape, self.output_extent(i, held.tile.shape))
            w.store(held.tile, view, *self.place(held.tile.shape))
        return w.text()

    def output_extent(self, number: int, shape: Shape) -> Shape:
        """Of an output: the last dimension ends a few elements early."""
        whole = [n * self.grid if d == 0 else n for d, n in enumerate(shape)]
        whole[-1] = max(1, whole[-1] - self.ends[number])
        return tuple(whole)

    def array(self, base: Tile, shape: Shape, extent: Shape) -> Tile:
        strides = [int(np.prod(extent[i + 1 :])) for i in range(len(extent))]
        return self.w.view(base, extent, strides, shape)

    def place(self, shape: Shape) -> list[int | Tile]:
        return [self.w.ids[0] if d == 0 else 0 for d in range(len(shape))]

    def input_tile(self, number: int) -> Held:
        shape, kind = self.inputs[number]
        view = self.array(self.w.args[f"x{number}"], shape, self.extents[number])
        return self.usable(self.w.load(view, *self.place(shape)), kind)

    def usable(self, tile: Tile, kind: str) -> Held:
        """A loaded tile in a type that has arithmetic."""
        if kind == "i1":
            return Held(tile.to("i32", signed=False))
        return Held(self.small(tile.to("f32") if kind in STORED else tile))

    def narrowed(self, held: Held) -> Held:
        """What is stored: exact f32 at times as a type that only memory has."""
        if held.exact and held.kind == "f32" and self.rng.integers(3) == 0:
            return Held(held.tile.to(str(self.pick(self.stored[:-1]))))
        return held

    # --- steps

    def body(self, pool: list[Held], steps: int, depth: int) -> None:
        for _ in range(steps):
            kind = str(self.pick(STEPS + (("loop", "branch") * 2 if depth < 2 else ())))
            step = getattr(self, kind)
            made = step(pool, depth) if kind in ("loop", "branch") else step(pool)
            if made is not None:
                pool.append(made)

    def scan(self, pool: list[Held]) -> Held | None:
        a: Held = self.pick(pool)
        if not a.tile.shape:
            return None
        dim, kind = int(self.rng.integers(len(a.tile.shape))), str(self.pick(("add", "max", "min")))
        tile = a.tile * (1.0 / a.tile.shape[dim]) if a.tile.floating and kind == "add" else a.tile
        made = self.w.scan(tile, dim, kind, bool(self.rng.integers(2)))
        return Held(made, a.exact and (kind != "add" or not tile.floating))

    def index(self, pool: list[Held], count: int) -> Tile | None:
        """A tile of whole numbers from 0 below the greatest power of two in `count`, the same in every run."""
        whole = [h for h in pool if h.exact and h.kind in ("i32", "i64") and h.tile.shape]
        if not whole:
            return None
        return self.pick(whole).tile & ((1 << (count.bit_length() - 1)) - 1)

    def gather(self, pool: list[Held]) -> Held | None:
        number = int(self.rng.integers(len(self.inputs)))
        at = self.index(pool, int(np.prod(self.extents[number])))
        if at is None:
            return None
        base, kind = self.w.args[f"x{number}"], self.inputs[number][1]
        if self.rng.integers(2):
            return self.usable(self.w.gather(base[at])[0], kind)
        padding = True if kind == "i1" else 0.5 if kind in STORED or kind[0] in "fb" else 3
        return self.usable(self.w.gather(base[at], (at & 3).ne(1), padding)[0], kind)

    def atomic(self, pool: list[Held]) -> None:
        at = self.index(pool, COUNTERS)
        if at is None:
            return
        value = Held(at) if at.type.element == self.w.z.type.element.pointee else self.cast_to(Held(at), "i32")
        mask = (at & 1).eq(0) if self.rng.integers(2) else None
        self.w.update(self.w.z[at], value.tile * 3 - 5, mode=self.mode, mask=mask)

    def part(self, pool: list[Held]) -> Held | None:
        a: Held = self.pick(pool)
        shape = a.tile.shape
        wide = [d for d, n in enumerate(shape) if n > 1]
        if not wide:
            return None
        dim = int(self.pick(wide))
        if self.rng.integers(2) and int(np.prod(shape)) < MAX_SIZE:
            joined = tuple(2 * n if d == dim else n for d, n in enumerate(shape))
            b = self.partner(pool, a)
            return Held(
                self.w.op(ct.Cat, a.tile, b.tile, types=[TileType(joined, a.tile.type.element)], dim=dim),
                a.exact and b.exact,
            )
        half = tuple(n // 2 if d == dim else n for d, n in enumerate(shape))
        at = [self.w.i32(int(self.rng.integers(2)) if d == dim else 0) for d in range(len(shape))]
        types = [TileType(half, a.tile.type.element)]
        return Held(self.w.op(ct.Extract, a.tile, *at, types=types, segments=(1, len(at))), a.exact)

    def shift(self, pool: list[Held]) -> Held | None:
        whole = [h for h in pool if not h.tile.floating]
        if not whole:
            return None
        a: Held = self.pick(whole)
        by = self.w.like(int(self.rng.integers(0, 7)), a.tile)
        if self.rng.integers(2):
            return Held(self.w.op(ct.ShlI, a.tile, by), a.exact)
        return Held(self.w.op(ct.ShrI, a.tile, by, signedness=ct.Signedness(bool(self.rng.integers(2)))), a.exact)

    def product(self, pool: list[Held]) -> Held | None:
        if self.rng.integers(4):
            return super().product(pool)
        m, n, k = (int(self.pick((16, 32, 64))) for _ in range(3))
        factors = [self.cast_to(self.pick(pool), "i8") for _ in range(2)]
        a, b = self.fitted(factors[0].tile, (m, k)), self.fitted(factors[1].tile, (n, k)).T
        return Held(self.w.dot(a, b, accumulator="i32"), all(each.exact for each in factors))


def mixed(seed: int) -> Program:
    """A random program of the last three tiles, and of an array of counters."""

    def written(outputs: list[tuple[Shape, str, bool]] | None) -> tuple[Mixed, str]:
        generator = Mixed(seed)
        return generator, generator.write(outputs)

    first, _ = written(None)
    loaded = zip(first.extents, first.inputs, strict=True)
    inputs = [Random(extent, kind, i) for i, (extent, (_, kind)) in enumerate(loaded)]
    outputs = [Random(first.output_extent(i, shape), kind, 50 + i) for i, (shape, kind, _) in enumerate(first.outputs)]
    data: list[Random | Array | int | float] = [*inputs, *outputs, Random((COUNTERS,), "i32", 90), 2]
    tolerance = 0.0 if all(exact for _, _, exact in first.outputs) else INEXACT
    return of(f"mixed-{seed}", lambda: written(first.outputs)[1], data, (first.grid,), tolerance)
