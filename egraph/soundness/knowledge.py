"""The facts of one sample: the strongest true fact of each value, or a weaker one, and whether a claim is true.

A value in the body of a loop has been several tiles; a fact about it must hold for all of them.
"""

from __future__ import annotations

import numpy as np

from egraph.soundness import meaning
from egraph.soundness.model import Datum, Unsound, tiles
from egraph.soundness.sampling import Sampler
from ir.dialects.cuda_tile.attributes import Array
from ir.types import TileType

_SHOWN = 16
"""Elements of a tile that a counterexample shows."""


class Knowledge:
    """Facts of the values of one sample, the same each time that they are asked for."""

    def __init__(self, random: Sampler):
        self._random = random
        self._weaken = random.chance(0.4)
        self._facts: dict[tuple[int, str, int], int] = {}
        self._bounds: dict[tuple[int, str], int] = {}
        self._kept: list[Datum] = []

    def of(self, head: str, value: Datum, type_: TileType, d: int) -> int:
        """A fact of a value, of dimension `d` where it is one by dimension."""
        key = (id(value), head, d)
        if key not in self._facts:
            group = self.of("contiguity", value, type_, d) if head in ("alignment", "run") else 1
            each = [meaning.strongest(head, data, type_, d, group) for data in tiles(value)]
            found = max(each) if head == "high" else min(each)
            if self._weaken and self._random.chance(0.5):
                found = meaning.weaker(head, found, type_, int(self._random.rng.integers(4)))
            self._kept.append(value)  # keeps the id in use
            self._facts[key] = min(found, group) if head == "run" else found
        return self._facts[key]

    def claim(self, head: str, number: int, value: Datum, type_: TileType, d: int, contiguity: int | None) -> None:
        """Test a fact that a rule sets: raise Unsound unless it is true. `contiguity`: what alignment refers to."""
        group = contiguity or (self.of("contiguity", value, type_, d) if head == "alignment" else 1)
        for data in tiles(value):
            if not meaning.true_claim(head, number, data, type_, d, group):
                raise Unsound(f"{head} {number} is not true of {shown(np.asarray(data))} along {d}")
        if head in ("low", "high"):
            self._bounds[id(value), head] = number
            if self._bounds.get((id(value), "low"), number) > self._bounds.get((id(value), "high"), number):
                raise Unsound("bounds contradict each other, so anything follows")


def shown(data: Array) -> str:
    """A tile's elements, of many the first."""
    few = data.tolist() if data.size <= _SHOWN else [*data.reshape(-1)[:_SHOWN].tolist(), ...]
    return str(few).replace("Ellipsis", "...")
