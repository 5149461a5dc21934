"""Loads by threads of several CTAs, each of a box into its own shared memory and for its own mbarrier, as one transfer.

Such a bundle is issued and arrives in a few NumPy operations. If its loads must be treated separately, because only
some of them are waited for or something is to be reported, each becomes a transfer of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ptxsim.access import Site
from ptxsim.grains import grains
from ptxsim.ptx_types import Array

UNIT = 16  # bytes of a cell


@dataclass(slots=True, eq=False)
class Stretches:
    """Cells of shared memory that loads write: `count` from the first of each on."""

    firsts: list[int]
    count: int
    _grains: dict[int, Array] = field(default_factory=dict[int, Array])

    def grains(self, grain: int) -> Array:
        """The grains of each range [load, n], always the same array."""
        found = self._grains.get(grain)
        if found is None:
            cells = np.array(self.firsts)[:, None] + np.arange(self.count)
            found = self._grains[grain] = grains(cells, UNIT, grain).reshape(len(self.firsts), -1)
        return found

    def cells(self, number: int) -> Array:
        """The cells of a load."""
        return np.arange(self.firsts[number], self.firsts[number] + self.count)


@dataclass(slots=True, eq=False)
class Bundle:
    """Loads of one instruction by threads of different CTAs.

    lanes: who issued each; cells: the mbarrier that each completes on; size: bytes of each; targets: what they write;
    source, order, starts: cells of global memory, from which each load takes those of `order` relative to its start;
    phases: those of the mbarriers when they were issued; waits: mbarriers with their phases; clusters: of `lanes`.
    """

    site: Site
    lanes: list[int]
    cells: list[int]
    size: int
    targets: Stretches
    source: Array
    order: Array
    starts: Array
    phases: list[int] = field(default_factory=list[int])
    waits: frozenset[tuple[int, int]] = frozenset()
    clusters: frozenset[int] = frozenset()

    def move(self, shared: Array) -> None:
        """Write the data to cells of shared memory."""
        data = self.source.take(self.order + self.starts[:, None])
        for row, first in zip(data, self.targets.firsts, strict=True):
            shared[first : first + self.order.size] = row

    def reader(self, number: int) -> Callable[[], Array]:
        """The function that reads the bytes of one load."""
        index = self.order + self.starts[number]
        return lambda: self.source.take(index).view(np.uint8)

    def writer(self, number: int, shared: Array) -> Callable[[Array], None]:
        """The function that stores the bytes of one load in cells of shared memory."""
        first = self.targets.firsts[number]

        def write(data: Array) -> None:
            shared[first : first + self.order.size] = data.view(shared.dtype)

        return write
