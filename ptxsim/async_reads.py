"""Shared memory that asynchronous matrix operations read: it must not change until they are known to be complete.

An operation of a warpgroup is complete when any of its warps has waited for it; a write must be ordered after such a
wait. Source: PTX ISA, "wgmma.wait_group" (accessing the operands of an operation before it completes is undefined).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ptxsim.access import Site
from ptxsim.clocks import Clocks
from ptxsim.findings import Kind
from ptxsim.machine import WARP, Machine
from ptxsim.ptx_types import Array
from ptxsim.regions import Regions

_NONE = -1
_NEVER = np.iinfo(np.int32).max
WARPS = 4  # warps of a warpgroup


@dataclass(frozen=True, slots=True)
class Reading:
    """Operations in flight: their numbers, the warpgroups' four warps, the groups (per warp) that their waits cover."""

    numbers: Array
    warps: Array
    groups: Array


class Completions(Protocol):
    """Knowledge of the completion of single threads' operations."""

    def are_known(self, numbers: Array, warps: Array) -> Array:
        """Whether the warp (number in the machine) at each position knows that the operation at that position is
        complete.
        """
        ...


class AsyncReads:
    """Per grain of shared memory and warpgroup of its CTA: the last operation that reads it, and its waits."""

    def __init__(self, machine: Machine, grain: int, regions: Regions) -> None:
        self._machine = machine
        self._grain = grain
        self._warps = machine.slots // WARP
        groups = max(self._warps // WARPS, 1)
        self._last = np.full((machine.shared.bytes.size // grain, groups), _NONE, np.int32)
        regions.shadows.append(self._last)
        self._waited = np.full((64, WARPS), _NEVER, np.int32)
        self._lines = np.zeros(64, np.int64)
        self._warp = np.zeros(64, np.int64)
        self._count = 0
        self._flying: list[Reading] = []
        self._threads: Completions | None = None  # an entry has operations of threads or of warpgroups
        self._number = np.zeros(64, np.int64)  # of the threads' operations: their numbers in tensor_order

    def start(self) -> None:
        """A batch begins: nothing is in flight."""
        self._last.fill(_NONE)
        self._waited.fill(_NEVER)
        self._count = 0
        self._flying.clear()
        self._threads = None

    def _new(self, site: Site, count: int) -> Array:
        """The numbers of new operations of an instruction."""
        while self._count + count > len(self._waited):
            self._waited = np.concatenate([self._waited, np.full_like(self._waited, _NEVER)])
            self._lines = np.concatenate([self._lines, np.zeros_like(self._lines)])
            self._warp = np.concatenate([self._warp, np.zeros_like(self._warp)])
            self._number = np.concatenate([self._number, np.zeros_like(self._number)])
        numbers = np.arange(self._count, self._count + count)
        self._count += count
        self._lines[numbers] = site.instruction.line
        return numbers

    def begin_for(
        self, site: Site, where: Array, lanes: Sequence[int], given: Sequence[int], threads: Completions
    ) -> None:
        """Threads start operations, with these numbers in tensor_order, that read grains [thread, n]."""
        numbers = self._new(site, len(lanes))
        self._threads = threads
        self._number[numbers] = given
        group = np.minimum(np.array(lanes) % self._machine.slots // WARP // WARPS, self._last.shape[1] - 1)
        self._last[where, group[:, None]] = numbers[:, None]

    def begin(self, site: Site, where: Array, first_warps: Array, committed: Array) -> None:
        """Warpgroups start operations that read grains [warpgroup, n]; committed: by each warp [warpgroup, 4]."""
        numbers = self._new(site, first_warps.size)
        self._last[where, (first_warps % self._warps // WARPS)[:, None]] = numbers[:, None]
        self._warp[numbers] = first_warps
        self._flying.append(Reading(numbers, first_warps[:, None] + np.arange(WARPS), committed))

    def waited(self, warps: Array, least: Array, epoch: Array) -> None:
        """Warps waited: operations of groups below `least` are complete. All arrays are per warp of the machine."""
        if not self._flying:
            return
        flying = Reading(
            *(np.concatenate([getattr(each, name) for each in self._flying]) for name in Reading.__slots__)
        )
        before = self._waited[flying.numbers]
        done = warps[flying.warps] & (flying.groups < least[flying.warps])
        after = np.where(done, np.minimum(before, epoch[flying.warps]), before)
        self._waited[flying.numbers] = after
        rest = (after == _NEVER).any(axis=1)
        self._flying = [Reading(flying.numbers[rest], flying.warps[rest], flying.groups[rest])] if rest.any() else []

    def are_done(self, where: Array, warps: Array, clocks: Clocks) -> bool:
        """Whether a warp (number in the machine) for each grain knows that all operations that read it are done."""
        if self._count == 0:
            return True
        last = self._last.take(where, axis=0)
        grain, group = np.nonzero(last != _NONE)
        if not grain.size:
            return True
        pairs = last[grain, group].astype(np.int64) * self._machine.warps + warps[grain]
        pairs = pairs[np.concatenate(([True], pairs[1:] != pairs[:-1]))]
        distinct = np.fromiter(dict.fromkeys(pairs.tolist()), np.int64)
        numbers, by = distinct // self._machine.warps, distinct % self._machine.warps
        return bool(self._pairs_known(numbers, by, clocks).all())

    def check_write(self, site: Site, where: Array, lanes: Array, clocks: Clocks) -> None:
        """Report where a grain is written and an operation that reads it is not known to be complete.

        where, lanes: grains [n, m] and the lanes [n, 1] that write them.
        """
        if self._count == 0:
            return
        operation = self._last.take(where, axis=0)  # [n, m, warpgroup]
        distinct = np.zeros(self._count + 1, np.bool_)
        distinct[operation] = True  # the last entry means none
        if not distinct[:-1].any():
            return
        warps = np.unique(lanes // WARP)
        knows = np.ones((distinct.size, warps.size), np.bool_)
        numbers = np.flatnonzero(distinct[:-1])
        knows[numbers] = self._known(numbers, warps, clocks)
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

    def _known(self, numbers: Array, warps: Array, clocks: Clocks) -> Array:
        """Whether warps (numbers in the machine) know that operations are complete: [operation, warp]."""
        every = np.repeat(numbers, warps.size), np.tile(warps, numbers.size)
        return self._pairs_known(*every, clocks).reshape(numbers.size, warps.size)

    def _pairs_known(self, numbers: Array, warps: Array, clocks: Clocks) -> Array:
        """Whether the warp at each position knows that the operation at that position is complete."""
        if self._threads is not None:
            return self._threads.are_known(self._number[numbers], warps)
        waits, reader = self._waited[numbers], self._warp[numbers][:, None]
        columns = reader // self._warps % clocks.cluster * clocks.warps + reader % self._warps + np.arange(WARPS)
        cta, warp = warps // self._warps, warps % self._warps
        own = (cta % clocks.cluster * clocks.warps + warp)[:, None]
        known = clocks.known[cta[:, None], warp[:, None], np.minimum(columns, clocks.warp_columns - 1)]
        found: Array = np.any((known >= waits) | ((columns == own) & (waits != _NEVER)), axis=1)
        return found
