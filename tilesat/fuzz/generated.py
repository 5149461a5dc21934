"""Random programs: chains of arithmetic, shape operations, reductions, products, loops, branches and ordered memory.

A tile is exact where simulator and interpreter must agree bit by bit: no sum in another order stands behind it. Only
exact tiles are compared with each other by cmpf, converted to integers, or used as bits. Every float is kept small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import numpy as np

from tilesat.fuzz.program import Program, Random, of
from tilesat.fuzz.writer import Tile, Writer

T = TypeVar("T")

KINDS = ("f32", "f32", "f16", "i32", "i32", "i8", "bf16", "i64")
SHAPES = ((64,), (256,), (8, 32), (32, 16), (64, 64), (1, 128), (16, 1), (4, 8, 16), (128, 32))
MAX_SIZE = 1 << 13
INEXACT = 4e-2
"""What results may be off: roundings of bf16 and f16, in chains of a few operations."""


@dataclass
class Held:
    """A tile, and whether it is exact."""

    tile: Tile
    exact: bool = True

    @property
    def kind(self) -> str:
        return str(self.tile.type.element)


class Generator:
    """Writes one random program."""

    kinds = KINDS

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.inputs = [self.input() for _ in range(self.rng.integers(2, 4))]
        self.outputs: list[tuple[tuple[int, ...], str, bool]] = []
        parameters = {f"x{i}": f"ptr<{kind}>" for i, (_, kind) in enumerate(self.inputs)}
        parameters |= {f"y{i}": "ptr<f32>" for i in range(3)}  # replaced once the outputs are known
        self.steps = int(self.rng.integers(4, 14))
        self.parameters = parameters

    def input(self) -> tuple[tuple[int, ...], str]:
        return SHAPES[self.rng.integers(len(SHAPES))], self.kinds[self.rng.integers(len(self.kinds))]

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self.rng.integers(len(choices)))]

    def write(self, outputs: list[tuple[tuple[int, ...], str, bool]] | None) -> str:
        """The text; `outputs` are those of a first run, which says what types the output arrays have."""
        parameters = {p: k for p, k in self.parameters.items() if p.startswith("x")}
        parameters |= {f"y{i}": f"ptr<{kind}>" for i, (_, kind, _) in enumerate(outputs or [])}
        self.w = w = Writer("generated", **parameters, n="i32")
        w.promise(**dict.fromkeys(parameters, 16), n=1)
        pool = [Held(self.small(self.whole(f"x{i}", shape))) for i, (shape, _) in enumerate(self.inputs)]
        self.body(pool, self.steps, 0)
        found = [h for h in pool if h.tile.shape][-3:]
        self.outputs = [(h.tile.shape, h.kind, h.exact) for h in found]
        if outputs:
            for i, held in enumerate(found):
                w.store(held.tile, self.view(w.args[f"y{i}"], held.tile.shape), *[0] * len(held.tile.shape))
        return w.text()

    def view(self, base: Tile, shape: tuple[int, ...]) -> Tile:
        strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
        return self.w.view(base, shape, strides, shape)

    def whole(self, parameter: str, shape: tuple[int, ...]) -> Tile:
        return self.w.load(self.view(self.w.args[parameter], shape), *[0] * len(shape))

    def small(self, tile: Tile) -> Tile:
        """Floats clamped to a few units: chains stay finite and errors small."""
        return tile.max(-4.0).min(4.0) if tile.floating else tile

    # --- steps

    def body(self, pool: list[Held], steps: int, depth: int) -> None:
        """Add `steps` tiles to the pool."""
        for _ in range(steps):
            kind = self.pick(
                ("binary",) * 5
                + ("unary",) * 3
                + ("cast",) * 2
                + ("shape",) * 4
                + ("reduce",) * 3
                + ("select",) * 2
                + ("product",) * 2
                + (("loop", "branch") if depth < 2 else ())
            )
            made = getattr(self, kind)(pool, depth) if kind in ("loop", "branch") else getattr(self, kind)(pool)
            if made is not None:
                pool.append(made)

    def partner(self, pool: list[Held], like: Held) -> Held:
        """A tile of the same type, made out of another one where the pool has none."""
        same = [h for h in pool if h.tile.type == like.tile.type]
        if len(same) > 1:
            return self.pick(same)
        other = self.pick(pool)
        tile = other.tile if other.kind == like.kind else self.cast_to(other, like.kind).tile
        exact = other.exact or not (like.kind.startswith("f") or like.kind.startswith("b"))
        return Held(self.fitted(tile, like.tile.shape), exact)

    def fitted(self, tile: Tile, shape: tuple[int, ...]) -> Tile:
        """Any tile in a given shape: reshaped, or one element of each row broadcast."""
        size = int(np.prod(tile.shape)) if tile.shape else 1
        wanted = int(np.prod(shape)) if shape else 1
        if size == wanted:
            return tile.reshape(*shape)
        while tile.shape:
            tile = tile.reduce(int(self.rng.integers(len(tile.shape))), "max")
        return tile.splat(*shape) if shape else tile

    def binary(self, pool: list[Held]) -> Held:
        a = self.pick(pool)
        b = self.partner(pool, a)
        op = self.pick(("add", "sub", "mul", "max", "min"))
        x, y = a.tile, b.tile
        made = {
            "add": lambda: x + y,
            "sub": lambda: x - y,
            "mul": lambda: x * y,
            "max": lambda: x.max(y),
            "min": lambda: x.min(y),
        }[op]()
        return Held(self.small(made), a.exact and b.exact)

    def unary(self, pool: list[Held]) -> Held:
        a = self.pick(pool)
        if not a.tile.floating:
            op = self.pick(("neg", "and", "xor", "div"))
            made = {
                "neg": lambda: -a.tile,
                "and": lambda: a.tile & 13,
                "xor": lambda: a.tile ^ 5,
                "div": lambda: a.tile.div(3) + a.tile.rem(7),
            }[op]()
            return Held(made, a.exact)
        op = self.pick(("neg", "abs", "exp", "half"))
        made = {
            "neg": lambda: -a.tile,
            "abs": lambda: a.tile.absf(),
            "half": lambda: a.tile * 0.5 + 1.0,
            "exp": lambda: a.tile.min(1.0).exp(),
        }[op]()
        return Held(self.small(made), a.exact and op != "exp")

    def cast_to(self, held: Held, kind: str) -> Held:
        if held.kind == kind:
            return held
        if not held.exact and kind.startswith("i"):
            return Held((held.tile * 0.0).to(kind) if held.tile.floating else held.tile.to(kind))
        tile = held.tile
        if not tile.floating and not kind.startswith("i"):
            tile = tile & 3
        exact = held.exact
        return Held(tile.to(kind), exact)

    def cast(self, pool: list[Held]) -> Held:
        return self.cast_to(self.pick(pool), self.pick(self.kinds))

    def shape(self, pool: list[Held]) -> Held | None:
        a = self.pick(pool)
        tile, shape = a.tile, a.tile.shape
        size = prod(shape)
        way = self.pick(("permute", "reshape", "broadcast", "expand"))
        if way == "permute" and len(shape) > 1:
            return Held(tile.permute(*map(int, self.rng.permutation(len(shape)).tolist())), a.exact)
        if way == "reshape" and size > 1:
            rows = 1 << int(self.rng.integers(0, size.bit_length()))
            return Held(tile.reshape(rows, size // rows), a.exact)
        if way == "broadcast" and 1 in shape and size * 16 <= MAX_SIZE:
            return Held(tile.broadcast(*(16 if n == 1 else n for n in shape)), a.exact)
        if way == "expand" and len(shape) == 1 and size * 8 <= MAX_SIZE:
            return Held(self.pick((tile.row(8), tile.column(8))), a.exact)
        return None

    def reduce(self, pool: list[Held]) -> Held | None:
        a = self.pick([h for h in pool if h.tile.shape] or pool)
        if not a.tile.shape or (len(a.tile.shape) == 1 and self.rng.integers(2)):
            return None
        how = self.pick(("add", "max", "min"))
        dim = int(self.rng.integers(len(a.tile.shape)))
        tile = a.tile
        if how == "add" and tile.floating:
            tile = tile * (1.0 / max(1, tile.shape[dim]))
        return Held(tile.reduce(dim, how), a.exact and (how != "add" or not tile.floating))

    def select(self, pool: list[Held]) -> Held | None:
        exact = [h for h in pool if h.exact]
        if not exact:
            return None
        a = self.pick(exact)
        other = self.partner(pool, a)
        condition = self.pick((a.tile < 1, a.tile >= -2, a.tile.eq(other.tile) if other.exact else a.tile > 0))
        yes = self.partner(pool, a)
        return Held(condition.where(yes.tile, other.tile), yes.exact and other.exact)

    def product(self, pool: list[Held]) -> Held | None:
        kind = self.pick(("f16", "bf16", "f32"))
        m, n, k = (self.pick((16, 32, 64)) for _ in range(3))
        a = self.fitted(self.cast_to(self.pick(pool), kind).tile, (m, k))
        b = (
            self.fitted(self.cast_to(self.pick(pool), kind).tile, (n, k)).T
            if self.rng.integers(2)
            else self.fitted(self.cast_to(self.pick(pool), kind).tile, (k, n))
        )
        return Held(self.small(self.w.dot(a, b) * (1.0 / k)), False)

    def loop(self, pool: list[Held], depth: int) -> Held | None:
        carried = [self.pick(pool) for _ in range(int(self.rng.integers(1, 3)))]
        trips = self.pick((0, 1, 6, None))
        with self.w.loop(0, self.w.n if trips is None else trips, carried=[c.tile for c in carried]) as loop:
            inner = [*pool, *(Held(v, False) for v in loop.values)]
            self.body(inner, int(self.rng.integers(1, 5)), depth + 1)
            loop.values = [self.back(self.pick(inner), value, c) for value, c in zip(loop.values, carried, strict=True)]
        return Held(self.pick(loop.values), False)

    def back(self, found: Held, value: Tile, like: Held) -> Tile:
        """What a loop or branch hands on: some tile in the type of the carried one, mixed with it."""
        made = found if found.kind == like.kind else self.cast_to(Held(found.tile, False), like.kind)
        tile = self.fitted(made.tile, like.tile.shape)
        return self.small(tile * 0.5 + value * 0.5) if tile.floating else tile * 0 + value + 1

    def branch(self, pool: list[Held], depth: int) -> Held | None:
        a = self.pick(pool)
        condition = self.w.n > int(self.rng.integers(0, 4))

        def side() -> list[Tile]:
            inner = list(pool)
            self.body(inner, int(self.rng.integers(0, 3)), depth + 1)
            return [self.back(self.pick(inner), a.tile, Held(a.tile, a.exact))]

        (result,) = self.w.branch(condition, side, side)
        return Held(result, False)


def generated(seed: int) -> Program:
    """A random program whose outputs are its last three tiles."""

    def source() -> str:
        generator = Generator(seed)
        state = generator.rng.bit_generator.state
        generator.write(None)
        generator.rng.bit_generator.state = state
        return generator.write(list(generator.outputs))

    first = Generator(seed)
    first.write(None)

    inputs = [Random(shape, kind, i) for i, (shape, kind) in enumerate(first.inputs)]
    outputs = [Random(shape, kind, 50 + i) for i, (shape, kind, _) in enumerate(first.outputs)]
    exact = all(exact for _, _, exact in first.outputs)
    return of(f"generated-{seed}", source, [*inputs, *outputs, 2], tolerance=0.0 if exact else INEXACT)
