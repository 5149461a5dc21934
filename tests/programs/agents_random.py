"""Random nests of loops, branches and products whose tiles depend on scalars of every origin; all for agents."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.agents import DEEP, TILES, K, M, N, Product
from tilesat.fuzz.program import Program, Random, of
from tilesat.fuzz.writer import Tile, Writer

DEPTH, LENGTH = 3, 3  # loops and branches in each other, statements in a row


class Nest:
    """A program under construction: the sum so far, scalars from 0 to 4, and the token of the table if it changes."""

    def __init__(self, seed: int, w: Writer):
        self.rng = np.random.default_rng(seed)
        self.p = Product(w)
        self.w = w
        self.changes = bool(self.rng.integers(2))
        self.token = w.token
        self.sum = self.p.zeros()
        self.known = [w.i32(int(self.rng.integers(1, 5))), w.ids[0]]

    def any(self) -> Tile:
        return self.known[self.rng.integers(len(self.known))]

    def block(self, depth: int) -> None:
        """Statements, the last of them a product where nothing nests."""
        outer = list(self.known)
        for _ in range(self.rng.integers(1, LENGTH + 1)):
            choices = [self.scalar, self.scalar, self.product]
            if depth < DEPTH:
                choices += [lambda: self.loop(depth), lambda: self.loop(depth), lambda: self.branch(depth)]
            choices[self.rng.integers(len(choices))]()
        if depth == DEPTH:
            self.product()
        self.known = outer

    def scalar(self) -> None:
        kind = self.rng.integers(5)
        if kind == 0:
            found = (self.any() * int(self.rng.integers(1, 4)) + 1).rem(5)
        elif kind == 1:
            found = (self.sum.reduce(1).reduce(0) < 0.0).where(self.any(), self.any())
        elif kind == 2 and self.changes:
            self.token = self.w.scatter(self.w.table[self.any()], (self.any() + 2).rem(5), token=self.token)
            return
        else:
            found, read = self.w.gather(self.w.table[self.any()], token=self.token if self.changes else None)
            self.token = self.w.join(self.token, read) if self.changes else self.token
        self.known.append(found)

    def product(self) -> None:
        """A K loop; sometimes its steps and tiles of K depend on scalars too."""
        steps: Any = self.any() if self.rng.integers(2) else DEEP // K
        row, other = self.any(), self.any() if self.rng.integers(3) == 0 else None
        with self.w.loop(0, steps, carried=[self.sum * 0.5]) as loop:
            k = loop.counter if other is None else (loop.counter + other).rem(5)
            loop.values = [self.p.step(row, k, loop.values[0])]
        self.sum = loop.values[0]

    def state(self) -> list[Tile]:
        return [self.sum, *([self.token] if self.changes else [])]

    def restore(self, values: list[Tile]) -> None:
        self.sum = values[0]
        self.token = values[1] if self.changes else self.token

    def loop(self, depth: int) -> None:
        told = bool(self.rng.integers(2))
        with self.w.loop(0, self.any() if told else int(self.rng.integers(1, 3)),
                         carried=[*self.state(), self.any()]) as loop:  # fmt: skip
            outer = list(self.known)
            self.restore(loop.values)
            self.known += [loop.counter, loop.values[-1]]
            self.block(depth + 1)
            following = self.any()
            self.known = outer
            loop.values = [*self.state(), following]
        self.restore(loop.values)
        self.known.append(loop.values[-1])

    def branch(self, depth: int) -> None:
        before = self.sum, self.token

        def side() -> list[Tile]:
            self.sum, self.token = before
            outer = list(self.known)
            self.block(depth + 1)
            self.known = outer
            return self.state()

        self.restore(self.w.branch(self.any() < self.any(), side, side))


def nested(seed: int) -> Program:
    """A random program for one block."""

    def source() -> str:
        w = Writer(f"nest_{seed}", a="ptr<f16>", b="ptr<f16>", d="ptr<f32>", table="ptr<i32>", side="ptr<f32>",
                   rows="i32")  # fmt: skip
        w.promise(a=16, b=16, d=16, side=16, rows=1)
        nest = Nest(seed, w)
        nest.block(0)
        nest.product()
        w.store(nest.sum, nest.p.d, 0, 0)
        return w.text()

    table = np.random.default_rng(seed).permutation(5).astype(np.int32)
    data = [
        Random((TILES * M, DEEP), "f16", 1, 0.1), Random((DEEP, N), "f16", 2, 0.3), Random((TILES * M, N), "f32", 3),
        table, Random((512,), "f32", 4), TILES * M,
    ]  # fmt: skip
    return of(f"nested-{seed}", source, data, tolerance=2e-3)
