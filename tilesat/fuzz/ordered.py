"""Random programs on one array, ordered by tokens: loads and stores by views and permuted pointers, in loops and
branches. Threads write what other threads have read, so every ordering that is lost shows when warps run apart.
"""

from __future__ import annotations

import numpy as np

from tilesat.fuzz.program import Program, Random, of
from tilesat.fuzz.writer import Tile, Writer

SIZE = 256


class Memory:
    """The state of one random program: the token of the last store, those of the loads since, values at hand."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.w = Writer("ordered", x="ptr<f32>", n="i32")
        self.w.promise(x=16, n=1)
        self.whole = self.w.view(self.w.x, [SIZE], [1], [SIZE])
        self.half = self.w.view(self.w.x, [SIZE], [1], [SIZE // 2])
        self.token = self.w.token
        value, read = self.w.load_token(self.whole, 0)
        self.values, self.reads = [value], [read]

    def choose(self, count: int) -> int:
        return int(self.rng.integers(count))

    def pointers(self) -> Tile:
        """A permutation of the array's elements, one a thread."""
        at = self.w.iota(SIZE)
        way = self.choose(4)
        index = [
            lambda: at ^ int(self.rng.integers(1, SIZE)),
            lambda: (at + int(self.rng.integers(1, SIZE))) & (SIZE - 1),
            lambda: at * -1 + (SIZE - 1),
            lambda: (at * 5) & (SIZE - 1),
        ][way]()
        return self.w.x[index]

    def after_all(self) -> Tile:
        """A token behind everything so far."""
        joined = [self.token, *self.reads]
        return self.w.join(*joined) if len(joined) > 1 else self.token

    def load(self) -> None:
        if self.choose(2):
            value, token = self.w.gather(self.pointers(), token=self.token)
        else:
            value, token = self.w.load_token(self.whole, 0, token=self.token)
        self.values.append(value)
        self.reads.append(token)

    def store(self) -> None:
        a, b = (self.values[self.choose(len(self.values))] for _ in range(2))
        value = a * 0.5 - b * 0.25 + float(self.choose(5))
        token = self.after_all()
        if self.choose(2):
            self.token = self.w.scatter(self.pointers(), value, token=token)
        else:
            self.token = self.w.store(value, self.whole, 0, token=token)
        self.reads = []

    def loop(self, depth: int) -> None:
        trips = (0, 1, 3, 6, None)[self.choose(5)]
        last = self.values[-1]
        start = [self.after_all(), last]
        with self.w.loop(0, self.w.n if trips is None else trips, carried=start) as loop:
            outside = list(self.values)
            self.token, self.reads = loop.values[0], []
            self.values = [*outside, loop.values[1]]
            self.steps(1 + self.choose(4), depth + 1)
            loop.values = [self.after_all(), self.values[self.choose(len(self.values))] * 0.5]
        self.values = [*outside, loop.values[1]]
        self.token, self.reads = loop.values[0], []

    def branch(self, depth: int) -> None:
        condition = self.w.n > self.choose(4)
        before, outside = self.after_all(), list(self.values)

        def side() -> list[Tile]:
            self.token, self.reads, self.values = before, [], list(outside)
            self.steps(self.choose(4), depth + 1)
            return [self.after_all(), self.values[self.choose(len(self.values))]]

        token, value = self.w.branch(condition, side, side)
        self.token, self.reads, self.values = token, [], [*outside, value]

    def steps(self, count: int, depth: int) -> None:
        for _ in range(count):
            kind = self.choose(8 if depth < 2 else 6)
            if kind < 3:
                self.load()
            elif kind < 6:
                self.store()
            else:
                self.loop(depth) if kind == 6 else self.branch(depth)

    def text(self) -> str:
        """The program; it ends with a store, so that every value matters."""
        self.steps(3 + self.choose(8), 0)
        self.load()
        self.store()
        return self.w.text()


def ordered(seed: int) -> Program:
    """A random program on one array of 256 elements."""
    data = [Random((SIZE,), "f32", seed), 2]
    return of(f"ordered-{seed}", lambda: Memory(seed).text(), data, apart=True)
