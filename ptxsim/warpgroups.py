"""Warpgroups: four consecutive warps that execute wgmma together, as index arrays over the lanes of a machine."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ptxsim.by_lanes import ByLanes
from ptxsim.machine import Machine
from ptxsim.ptx_types import Array

_KEPT = 64  # selections cached
SIZE = 128  # threads of a warpgroup (PTX ISA, "wgmma": four contiguous warps, the first a multiple of 4)


class PartialWarpgroupError(Exception):
    """Internal: lanes outside every whole warpgroup; the caller adds the instruction."""

    def __init__(self, lane: int) -> None:
        self.lane = lane
        super().__init__(lane)


@dataclass(frozen=True, slots=True)
class Selection:
    """Warpgroups that execute an instruction.

    first: their first active lanes; cta: their CTAs; lanes: numbers of all their lanes, None where that is every lane
    of the machine; active: which of `lanes` take part, None for all; groups: the numbers of the warpgroups.
    """

    first: Array
    cta: Array
    lanes: Array | None
    active: Array | None
    groups: frozenset[int]

    @property
    def key(self) -> bytes | None:
        """A key that distinguishes this selection from others of the machine."""
        return None if self.lanes is None else self.first.tobytes()


class Warpgroups:
    """The warpgroups of a machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        per_cta = machine.slots // SIZE
        starts = np.arange(machine.ctas)[:, None] * machine.slots + np.arange(per_cta) * SIZE
        self._starts = starts.reshape(-1)
        self._lanes = self._starts[:, None] + np.arange(SIZE)
        self._cta = np.repeat(np.arange(machine.ctas), per_cta)
        is_whole = machine.slots % SIZE == 0
        self._all = (
            Selection(self._starts, self._cta, None, None, frozenset(range(self._starts.size))) if is_whole else None
        )
        self._chosen = ByLanes(self._find, _KEPT)

    def select(self, mask: Array | None) -> Selection:
        """The warpgroups with lanes in a mask of the scheduler. Raises PartialWarpgroupError."""
        lanes = self._machine.active(mask)
        if lanes is None and self._all is not None:
            return self._all
        if lanes is None:
            lanes = np.ones(self._machine.lanes, np.bool_)
        return self._chosen(lanes)

    def _find(self, lanes: Array) -> Selection:
        inside = lanes[self._lanes]
        chosen = inside.any(axis=1)
        if int(np.count_nonzero(inside)) != int(np.count_nonzero(lanes)):
            outside = lanes.copy()
            outside[self._lanes] = False
            raise PartialWarpgroupError(int(np.argmax(outside)))
        inside = inside[chosen]
        numbers = self._lanes[chosen]
        first = numbers[np.arange(numbers.shape[0]), inside.argmax(axis=1)]
        active = None if inside.all() else inside.reshape(-1)
        return Selection(
            first, self._cta[chosen], numbers.reshape(-1), active, frozenset(np.flatnonzero(chosen).tolist())
        )


@lru_cache(maxsize=64)
def fragment_index(groups: int, n: int) -> Array:
    """Positions in products [group, 64, n] of accumulator element i of every lane: [n / 2, lane]. Read-only.

    Element i is in row 16 warp + lane/4 + 8 ((i/2) mod 2), column 8 (i/4) + 2 (lane mod 4) + i mod 2 (PTX ISA,
    "wgmma.mma_async: accumulator fragments").
    """
    element = np.arange(n // 2)[:, None]
    lane = np.arange(groups * SIZE)[None, :]
    row = lane % SIZE // 32 * 16 + lane % 32 // 4 + element // 2 % 2 * 8
    column = element // 4 * 8 + lane % 4 * 2 + element % 2
    index = (lane // SIZE * 64 + row) * n + column
    index.flags.writeable = False
    return index


@lru_cache(maxsize=64)
def matrix_index(groups: int, n: int) -> Array:
    """The inverse of fragment_index: positions in [n / 2, lane] of the elements of products [group, 64, n], flat."""
    index = fragment_index(groups, n).reshape(-1)
    inverse = np.empty_like(index)
    inverse[index] = np.arange(index.size)
    inverse.flags.writeable = False
    return inverse
