"""Regions of shared memory: sets of grains that the async proxy has always used together so far.

All grains of a region have the same state, which is stored in the shadow at the region's first grain, so the cost of
tracking a box or a matrix tile depends on its few regions. A use of part of a region splits it, with the state copied;
an access by threads splits regions into single grains. Regions are joined again only when a batch begins.
"""

import sys

import numpy as np

from ptxsim.grains import grains
from ptxsim.machine import Machine
from ptxsim.ptx_types import Array

# Bytes that become regions of one grain together; tiles of matrices begin at multiples of it.
_BLOCK = 1024
_KEPT = 1024  # sets of grains whose regions are cached
_FOREVER = sys.maxsize


class Regions:
    """The regions of a machine's shared memory; at first one for each CTA, or without copies by the async proxy one for
    each grain. shadows: arrays of state by grain.
    """

    def __init__(self, machine: Machine, grain: int, has_copies: bool = True) -> None:
        self._grain = grain
        self._per_cta = machine.shared.stride // grain
        count = machine.shared.bytes.size // grain
        self.first = np.arange(count) // self._per_cta * self._per_cta
        self._size = np.zeros(count, np.int64)
        self._size[:: self._per_cta] = self._per_cta
        self._joined = np.ones(count, np.bool_)
        self._joined_left = count
        if not has_copies:
            self.first = np.arange(count)
            self._size.fill(1)
            self._joined.fill(False)
            self._joined_left = 0
        self._changes = 0
        self._changed = np.zeros(count, np.int64)  # per first grain of a region: when it last lost grains
        self._known: dict[tuple[int, int | None], tuple[Array, int, Array]] = {}
        self._before: Array | None = None  # `first` of a batch when threads first used parts of split regions
        self._has_split = self._is_late = False
        self.shadows: list[Array] = []

    def start(self) -> None:
        """A batch begins, and is expected to behave like the previous one: the async proxy uses the same boxes and
        tiles, and what threads did at its end, storing results in place of operands, is forgotten.
        """
        self._has_split = self._is_late = False
        if self._before is None:
            return
        self.first[...] = self._before
        self._size[...] = np.bincount(self.first, minlength=self.first.size)
        self._joined[...] = self._size.take(self.first) > 1
        self._joined_left = np.count_nonzero(self._joined)
        self._known.clear()

    def of_cells(self, cells: Array, unit: int, used: int | None = None) -> Array:
        """The regions of an array of cells of `unit` bytes (cached); used: as for `grains`."""
        found = self._known.get((id(cells), used))
        if found is None or not self._is_current(found):
            where = grains(cells, unit, self._grain, used).reshape(-1)
            found = self._single(cells, where, used) or self._remember(cells, self._of(where), used)
        return found[2]

    def of_tiles(self, where: Array) -> Array:
        """The regions [tile, n] of an array of grains [tile, m] (cached); the last one may be repeated."""
        found = self._known.get((id(where), None))
        if found is None or not self._is_current(found):
            found = self._single(where, where, None)
        if found is None and (alike := self._alike(where)) is not None:
            found = self._remember(where, alike, None)
        if found is None:
            before = -1
            rows: list[Array] = []
            while before != self._changes:  # each may split regions of the others
                before = self._changes
                rows = [self._of(row) for row in where]
            most = max(row.size for row in rows)
            padded = [np.concatenate([row, np.repeat(row[-1:], most - row.size)]) for row in rows]
            found = self._remember(where, np.stack(padded), None)
        return found[2]

    def _alike(self, where: Array) -> Array | None:
        """The regions [tile, n] of grains [tile, m] that are whole regions, at the same distances in each tile."""
        distances: Array = self.first.take(where) - where[:, :1]
        if np.count_nonzero(distances != distances[0]):
            return None
        lowest, counts = _counted(distances[0] + where[0, 0])
        inside = counts.nonzero()[0]
        regions: Array = (lowest + inside - where[0, 0]) + where[:, :1]
        wrong: Array = self._size.take(regions) != counts[inside]
        return None if np.count_nonzero(wrong) else regions

    def _is_current(self, known: tuple[Array, int, Array]) -> bool:
        """Whether cached regions are still those of their grains."""
        return known[1] >= self._changes or int(self._changed.take(known[2]).max()) <= known[1]

    def _remember(
        self, key: Array, regions: Array, used: int | None, until: int | None = None
    ) -> tuple[Array, int, Array]:
        if len(self._known) >= _KEPT:
            self._known.clear()
        found = self._known[id(key), used] = key, self._changes if until is None else until, regions
        return found

    def _single(self, key: Array, where: Array, used: int | None) -> tuple[Array, int, Array] | None:
        """Grains that each are, and remain, a separate region; None if some are not."""
        if self._joined_left and np.count_nonzero(self._joined.take(where)):
            return None
        return self._remember(key, where, used, _FOREVER)

    def _of(self, where: Array) -> Array:
        """The regions of grains of one CTA, after splitting those that also contain other grains."""
        lowest, used = _counted(where)
        if int(used.max()) > 1:
            where = lowest + used.nonzero()[0]
        lowest, counts = _counted(self.first.take(where))
        regions = counts.nonzero()[0]
        partial = counts[regions] != self._size[lowest + regions]
        if not np.count_nonzero(partial):
            return lowest + regions
        for region in (lowest + regions[partial]).tolist():
            self._split(region, np.sort(where[self.first[where] == region]))
        lowest, counts = _counted(self.first.take(where))
        return lowest + counts.nonzero()[0]

    def _split(self, region: int, inside: Array) -> None:
        """Split a region into some of its grains and the rest."""
        start = region // self._per_cta * self._per_cta
        moved = inside
        if inside[0] == region:  # the first grain of a region stays where it is
            is_rest = self.first[start : start + self._per_cta] == region
            is_rest[inside - start] = False
            moved = start + np.flatnonzero(is_rest)
        self._has_split = True
        new = int(moved[0])
        self.first[moved] = new
        self._size[new] = moved.size
        self._size[region] -= moved.size
        for shadow in self.shadows:
            shadow[new] = shadow[region]
        for one in (region, new):
            if self._size[one] == 1:
                self._joined[one] = False
                self._joined_left -= 1
        self._changes += 1
        self._changed[region] = self._changes

    def shatter(self, where: Array) -> None:
        """Make each of these grains a separate region, and those around them: threads access contiguous memory."""
        if not self._joined_left:
            return
        joined = self._joined.take(where)
        if not np.count_nonzero(joined):
            return
        if self._has_split and not self._is_late:
            self._before, self._is_late = self.first.copy(), True
        single = self._around(where[joined])
        old = self.first[single]
        for shadow in self.shadows:
            shadow[single] = shadow.take(old, axis=0)
        self.first[single] = single
        self._joined[single] = False
        self._joined_left -= single.size
        self._size[single] = 1
        self._changes += 1
        for region in np.unique(old).tolist():
            self._changed[region] = self._changes
            self._gather(region)

    def _around(self, where: Array) -> Array:
        """The grains of joined regions in the blocks of some grains."""
        block = max(_BLOCK // self._grain, 1)
        in_cta = -(-self._per_cta // block)
        blocks = np.unique(where // self._per_cta * in_cta + where % self._per_cta // block)
        inside = (blocks % in_cta * block)[:, None] + np.arange(block)
        every = ((blocks // in_cta * self._per_cta)[:, None] + inside)[inside < self._per_cta]
        return every[self._joined[every]]

    def _gather(self, region: int) -> None:
        """The rest of a region that lost grains, perhaps its first one."""
        start = region // self._per_cta * self._per_cta
        part = slice(start, start + self._per_cta)
        rest = start + np.flatnonzero((self.first[part] == region) & self._joined[part])
        if not rest.size:
            return
        new = int(rest[0])
        for shadow in self.shadows:
            shadow[new] = shadow[region]
        self.first[rest] = new
        self._size[new] = rest.size
        if rest.size == 1:
            self._joined[new] = False
            self._joined_left -= 1


def _counted(numbers: Array) -> tuple[int, Array]:
    """The minimum of some numbers, and the number of occurrences of it and of each successive number."""
    lowest = int(numbers.min())
    return lowest, np.bincount(numbers - lowest)
