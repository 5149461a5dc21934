"""Shared memory that asynchronous matrix operations read: it must stay as it is until they are known to be complete.

An operation of a warpgroup is complete when any of its warps has waited for it; a write must be ordered after such a
wait. Source: PTX ISA, "wgmma.wait_group" (accessing what an operation reads before it completes is undefined).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from runtime.simulator.access import Site
from runtime.simulator.clocks import Clocks
from runtime.simulator.findings import Kind
from runtime.simulator.machine import WARP, Machine
from runtime.simulator.types import Array

_NONE = -1
_NEVER = np.iinfo(np.int32).max
WARPS = 4  # warps of a warpgroup


@dataclass(frozen=True, slots=True)
class Reading:
    """An operation in flight: its number, the warpgroup's first warp, the groups (per warp) that its wait covers."""

    number: int
    first_warp: int
    group: Array


class AsyncReads:
    """Per grain of shared memory and warpgroup of its CTA: the last operation that reads it, and its waits."""

    def __init__(self, machine: Machine, grain: int) -> None:
        self._machine = machine
        self._grain = grain
        self._warps = machine.slots // WARP
        groups = max(self._warps // WARPS, 1)
        self._last = np.full((machine.shared.bytes.size // grain, groups), _NONE, np.int32)
        self._waited = np.full((64, WARPS), _NEVER, np.int32)
        self._lines = np.zeros(64, np.int64)
        self._warp = np.zeros(64, np.int64)
        self._count = 0
        self._flying: list[Reading] = []
        self._knows: dict[int, Callable[[int], bool]] = {}

    def start(self) -> None:
        """A batch begins: nothing is in flight."""
        self._last.fill(_NONE)
        self._waited.fill(_NEVER)
        self._count = 0
        self._flying.clear()
        self._knows.clear()

    def _new(self, site: Site) -> int:
        if self._count == len(self._waited):
            self._waited = np.concatenate([self._waited, np.full_like(self._waited, _NEVER)])
            self._lines = np.concatenate([self._lines, np.zeros_like(self._lines)])
            self._warp = np.concatenate([self._warp, np.zeros_like(self._warp)])
        number = self._count
        self._count += 1
        self._lines[number] = site.instruction.line
        return number

    def begin_for(self, site: Site, where: Array, lanes: Sequence[int], knows: Sequence[Callable[[int], bool]]) -> None:
        """Threads start operations that read grains [thread, n]; knows: whether the warp of a lane knows one's end."""
        first = self._count
        for known in knows:
            self._knows[self._new(site)] = known
        group = np.minimum(np.array(lanes) % self._machine.slots // WARP // WARPS, self._last.shape[1] - 1)
        self._last[where, group[:, None]] = first + np.arange(len(lanes))[:, None]

    def begin(self, site: Site, where: Array, first_lane: int, committed: Array) -> None:
        """A warpgroup starts an operation that reads grains; committed: groups that each warp has committed."""
        number = self._new(site)
        warp = first_lane % self._machine.slots // WARP // WARPS * WARPS
        cta = first_lane // self._machine.slots
        self._last[where, warp // WARPS] = number
        self._warp[number] = cta * self._warps + warp
        self._flying.append(Reading(number, cta * self._warps + warp, committed))

    def waited(self, warps: Array, least: Array, epoch: Array) -> None:
        """Warps waited: operations of groups below `least` are complete. All arrays are per warp of the machine."""
        rest: list[Reading] = []
        for reading in self._flying:
            members = slice(reading.first_warp, reading.first_warp + WARPS)
            done = warps[members] & (reading.group < least[members])
            self._waited[reading.number] = np.where(
                done, np.minimum(self._waited[reading.number], epoch[members]), self._waited[reading.number]
            )
            if not (self._waited[reading.number] != _NEVER).all():
                rest.append(reading)
        self._flying = rest

    def check_write(self, site: Site, where: Array, lanes: Array, clocks: Clocks) -> None:
        """Report where a grain is written and an operation that reads it is not known to be complete.

        where, lanes: grains [n, m] and the lanes [n, 1] that write them.
        """
        if self._count == 0:
            return
        operation = self._last[where]  # [n, m, warpgroup]
        distinct = np.zeros(self._count + 1, np.bool_)
        distinct[operation] = True  # the last entry stands for none
        if not distinct[:-1].any():
            return
        warps = np.unique(lanes // WARP)
        knows = np.ones((distinct.size, warps.size), np.bool_)
        for number in np.flatnonzero(distinct[:-1]).tolist():
            knows[number] = self._known(number, warps, clocks)
        if knows.all():
            return
        bad: Array = ~knows[operation, np.searchsorted(warps, lanes // WARP)[:, :, None]]
        if bad.any():
            position = tuple(int(axis[0]) for axis in np.nonzero(bad))
            byte = int(where[position[:2]]) * self._grain % self._machine.shared.stride
            who = self._machine.describe(int(lanes[position[0], 0]))
            line = int(self._lines[int(operation[position])])
            self._machine.findings.found(
                Kind.MATRIX_READS,
                f"{who} writes byte {byte} of shared memory, which the matrix operation of "
                f"line {line} may still read; wait for it, and let that wait come before this write",
                site.instruction,
                who,
            )

    def _known(self, number: int, warps: Array, clocks: Clocks) -> Array:
        """Which warps (numbers in the machine) know that an operation is complete."""
        asked = self._knows.get(number)
        if asked is not None:
            return np.array([asked(int(warp) * WARP) for warp in warps.tolist()])
        waits = self._waited[number]
        reader = int(self._warp[number])
        columns = reader // self._warps % clocks.cluster * clocks.warps + reader % self._warps + np.arange(WARPS)
        cta, warp = warps // self._warps, warps % self._warps
        own = (cta % clocks.cluster * clocks.warps + warp)[:, None]
        known = clocks.known[cta, warp][:, np.minimum(columns, clocks.warp_columns - 1)]
        found: Array = np.any((known >= waits) | ((columns == own) & (waits != _NEVER)), axis=1)
        return found
