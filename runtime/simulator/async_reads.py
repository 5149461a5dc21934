"""Shared memory that asynchronous matrix operations read: it must stay as it is until they are known to be complete.

An operation of a warpgroup is complete when any of its warps has waited for it; a write must be ordered after such a
wait. Source: PTX ISA, "wgmma.wait_group" (accessing what an operation reads before it completes is undefined).
"""

from collections.abc import Callable
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
    """Per byte of shared memory and warpgroup of its CTA: the last operation that reads it, and its waits."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._warps = machine.slots // WARP
        groups = max(self._warps // WARPS, 1)
        self._last = np.full((machine.shared.bytes.size, groups), _NONE, np.int32)
        self._waited = np.full((64, WARPS), _NEVER, np.int32)
        self._lines = np.zeros(64, np.int64)
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
        number = self._count
        self._count += 1
        self._lines[number] = site.instruction.line
        return number

    def begin_for(self, site: Site, where: Array, first_lane: int, knows: Callable[[int], bool]) -> None:
        """A thread starts an operation that reads bytes; knows: whether the warp of a lane knows it is complete."""
        number = self._new(site)
        warp = first_lane % self._machine.slots // WARP // WARPS
        self._last[where, min(warp, self._last.shape[1] - 1)] = number
        self._knows[number] = knows

    def begin(self, site: Site, where: Array, first_lane: int, committed: Array) -> None:
        """A warpgroup starts an operation that reads bytes; committed: groups that each warp has committed."""
        number = self._new(site)
        warp = first_lane % self._machine.slots // WARP // WARPS * WARPS
        cta = first_lane // self._machine.slots
        self._last[where, warp // WARPS] = number
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
        """Report where a byte is written and an operation that reads it is not known to be complete.

        where, lanes: byte positions and the lanes that write them, of one shape.
        """
        if self._count == 0:
            return
        operation = self._last[where]  # [..., warpgroup]
        if (operation == _NONE).all():
            return
        slots = self._machine.slots
        cta, warp = np.broadcast_arrays(lanes // slots, lanes % slots // WARP)
        waits = self._waited[operation]  # [..., warpgroup, warp of it]
        readers = (where // self._machine.shared.stride % clocks.cluster * clocks.warps)[..., None, None]
        own = (cta % clocks.cluster * clocks.warps + warp)[..., None, None]
        columns = readers + np.arange(int(waits.shape[-2]) * WARPS).reshape(-1, WARPS)
        known = clocks.known[cta[..., None, None], warp[..., None, None], np.minimum(columns, clocks.warp_columns - 1)]
        knows: Array = known >= waits
        knows |= (columns == own) & (waits != _NEVER)
        bad: Array = (operation != _NONE) & ~knows.any(axis=-1)
        if self._knows and bad.any():
            bad = self._ask(bad, operation, np.broadcast_to(lanes[..., None], operation.shape))
        if bad.any():
            position = tuple(int(axis[0]) for axis in np.nonzero(bad))
            byte = int(np.broadcast_to(where, bad.shape[:-1])[position[:-1]]) % self._machine.shared.stride
            lane = int(np.broadcast_to(lanes, bad.shape[:-1])[position[:-1]])
            line = int(self._lines[int(operation[position])])
            who = self._machine.describe(lane)
            self._machine.findings.found(
                Kind.MATRIX_READS,
                f"{who} writes byte {byte} of shared memory, which the matrix operation of "
                f"line {line} may still read; wait for it, and let that wait come before this write",
                site.instruction,
                who,
            )

    def _ask(self, bad: Array, operation: Array, lanes: Array) -> Array:
        """What is left of `bad` when operations of single threads say whether they are known to be complete."""
        result = bad.copy()
        for number in np.unique(operation[bad]).tolist():
            knows = self._knows.get(number)
            if knows is not None:
                here = bad & (operation == number)
                known = [lane for lane in np.unique(lanes[here]).tolist() if knows(lane)]
                result &= ~(here & np.isin(lanes, known))
        return result
