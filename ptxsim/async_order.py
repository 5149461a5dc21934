"""Ordering through mbarriers, and shared memory that the async proxy is currently reading or writing.

An arrival publishes what its warp knows; a wait acquires it, together with the bytes that copies wrote for the phase.
Bytes that a copy will write hold 0xFF until it arrives, and must not be accessed; bytes that a copy reads must not be
written. Source: PTX ISA, "Memory Consistency Model", "Async proxy", "mbarrier".
"""

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.access import Site
from ptxsim.bundles import UNIT, Bundle
from ptxsim.clocks import Clocks
from ptxsim.findings import Kind
from ptxsim.grains import grains
from ptxsim.machine import WARP, Machine
from ptxsim.mbarrier_uses import Use
from ptxsim.memory import FRESH
from ptxsim.ptx_types import Array, unsigned
from ptxsim.records import Records
from ptxsim.regions import Regions
from ptxsim.statements import Statements

if TYPE_CHECKING:
    from ptxsim.mbarrier import Mbarriers
    from ptxsim.transfers import Transfer


class Scope(Enum):
    """How an arrival by a thread of a CTA other than the mbarrier's is ordered, and which waits observe it.

    Both must have cluster scope (PTX ISA, "Morally strong operations"); all waits observe the async proxy. One without
    a scope has CTA scope ("mbarrier.arrive"). CUTLASS writes no scope on either side of its barriers between CTAs
    (ClusterBarrier in cutlass/arch/barrier.h), so a wait without a scope observes arrivals without one; a program that
    writes the scope of an arrival must also write that of its wait.
    """

    CTA = "cta"
    CLUSTER = "cluster"
    UNWRITTEN = ""
    ASYNC = "async"


# Writers of bytes below this belong to the async proxy: this minus the column of the mbarrier it completed on.
ASYNC = -16
_OBJECT = 8  # bytes of an mbarrier


class AsyncOrder:
    """Shadow state of the effects of copies on a machine's shared memory, and the knowledge that mbarriers carry."""

    def __init__(self, machine: Machine, clocks: Clocks, grain: int, regions: Regions, records: Records) -> None:
        self._machine = machine
        self._clocks = clocks
        self._grain = grain
        self._regions = regions
        self._shared = machine.shared.bytes.view(unsigned(8 * grain))
        self._landing, self._readers = records.all["landing"], records.all["readers"]
        self._updaters, self._object = records.all["updaters"], records.all["is_object"]
        self._leaving = np.zeros(self._shared.size, np.int32)
        regions.shadows.append(self._leaving)
        self._transfers: list[tuple[Site, int]] = []  # by number: the instruction and who issued it
        self._near = Statements()  # visible to every wait
        self._far, self._loose = Statements(), Statements()  # to cluster-scope waits; also to those without scope
        self._column: dict[int, int] = {}
        self._columns: dict[int, int] = {}  # number of mbarriers of a team
        self._initialiser: dict[int, int] = {}
        self._fenced_at: dict[int, int] = {}
        self._relaxed: dict[int, dict[tuple[int, int], tuple[int, int, int]]] = {}
        self._is_used = False

    def start(self) -> None:
        """A batch begins."""
        self._leaving.fill(0)
        self._transfers.clear()
        self._near.start()
        self._far.start()
        self._loose.start()
        self._column.clear()
        self._columns.clear()
        self._initialiser.clear()
        self._fenced_at.clear()
        self._relaxed.clear()
        self._is_used = False

    # ---- accesses of threads

    def check(self, site: Site, where: Array, lanes: Array, verb: str, is_write: bool, is_update: bool = False) -> None:
        """Report where lanes [n, 1] access grains [n, m] that copies or mbarriers own."""
        if not self._is_used:
            return
        updated = self._updaters[where] > 0
        landing = self._landing[where] != 0
        bad = self._object[where] | ((landing & ~updated) if is_update else landing)
        if is_write:
            bad |= self._readers[where] > 0
        if not bad.any():
            return
        row, column = (int(axis[0]) for axis in np.nonzero(bad))
        grain, lane = int(where[row, column]), int(lanes[row, 0])
        inside = grain * self._grain % self._machine.shared.stride
        thread = self._machine.describe(lane)
        who, kind = f"{thread} {verb} byte {inside} of shared memory", Kind.COPY_IN_FLIGHT
        if self._object[grain]:
            kind = Kind.MBARRIER_OBJECT
            reason = "which is part of an mbarrier object; only mbarrier instructions may use it until mbarrier.inval"
        elif self._landing[grain]:
            start, issuer = self._transfers[int(self._landing[grain]) - 1]
            reason = (
                f"which the copy of line {start.instruction.line} by {self._machine.describe(issuer)} is "
                "still writing; wait for the mbarrier that it completes on"
            )
        else:
            start, issuer = self._transfers[int(self._leaving[grain]) - 1]
            reason = (
                f"which the copy of line {start.instruction.line} by {self._machine.describe(issuer)} may "
                "still read; wait for it (cp.async.bulk.wait_group.read, or its mbarrier)"
            )
        self._machine.findings.found(kind, f"{who}, {reason}", site.instruction, thread)

    def is_landing(self, where: Array) -> Array:
        """Which grains a copy is still writing."""
        return self._landing[where] != 0

    def _grains(self, cells: Array, size: int) -> Array:
        return grains(cells, size, self._grain).reshape(-1)

    # ---- mbarriers

    def init_object(self, numbers: Array, cells: Array) -> None:
        """mbarrier.init by lanes at 8-byte cells."""
        self._is_used = True
        self._object[self._grains(cells, _OBJECT)] = True
        for lane, cell in zip(numbers.tolist(), cells.tolist(), strict=True):
            self._initialiser[cell] = lane
            self._fenced_at.pop(cell, None)
            if cell not in self._column:
                team = self._team(cell)
                self._column[cell] = self._columns.get(team, 0)
                self._columns[team] = self._column[cell] + 1
        self._clocks.grow(max(self._columns.values(), default=0))

    def fence_init(self, numbers: Array) -> None:
        """fence.mbarrier_init: threads that meet these lanes in a cluster barrier may use the mbarriers they
        initialised.
        """
        lanes = set(numbers.tolist())
        for cell, lane in self._initialiser.items():
            if lane in lanes and cell not in self._fenced_at:
                self._fenced_at[cell] = int(self._clocks.meetings[self._team(cell)])

    def has_object(self, cell: int) -> bool:
        """Whether mbarrier.init has ever made an object of an 8-byte cell."""
        return cell in self._column

    def is_initialised(self, cell: int) -> bool:
        """Whether the init of an mbarrier was fenced, and its cluster has met at a barrier since."""
        return cell in self._fenced_at and int(self._clocks.meetings[self._team(cell)]) > self._fenced_at[cell]

    def _team(self, cell: int) -> int:
        return self._cta(cell) // self._machine.geometry.cluster_size

    def _cta(self, cell: int) -> int:
        return cell * _OBJECT // self._machine.shared.stride

    def drop_object(self, cells: Array) -> None:
        """mbarrier.inval."""
        self._object[self._grains(cells, _OBJECT)] = False

    def arrive(self, use: Use, releases: bool, scope: Scope, mbarriers: "Mbarriers") -> None:
        """Lanes arrive: waiters of the phase will know what the lanes' warps know (or, without release, knew at their
        last fence).
        """
        said = self._clocks.say_each(use.speakers, releases)
        phases = mbarriers.completed.take(use.told)
        if use.are_near or scope is Scope.ASYNC:
            self._near.add(use.told, phases, np.maximum.reduceat(said[use.rows], use.starts, axis=0))
        else:
            self._tell_each(use, phases, said, scope)
        if not releases:
            numbers, cells = use.last, use.cells
            cta, warp = numbers // self._machine.slots, numbers % self._machine.slots // WARP
            for lane, cell, one, other in zip(
                numbers.tolist(), cells.tolist(), cta.tolist(), warp.tolist(), strict=True
            ):
                arrival = lane, int(self._clocks.epoch[one, other]), int(mbarriers.completed[cell])
                self._relaxed.setdefault(cell, {})[one, other] = arrival

    def _tell_each(self, use: Use, phases: Array, said: Array, scope: Scope) -> None:
        """The knowledge of each speaker goes to all waits, or from a CTA other than the mbarrier's to waits of matching
        scope.
        """
        for number, (cell, rows) in enumerate(zip(use.told, np.split(use.rows, use.starts[1:]), strict=True)):
            phase = phases[number : number + 1]
            near = use.speakers[rows] // self._clocks.warps == self._cta(cell)
            if near.any():
                self._near.add([cell], phase, said[rows[near]].max(axis=0, keepdims=True))
            if scope is not Scope.CTA and not near.all():
                far = self._far if scope is Scope.CLUSTER else self._loose
                far.add([cell], phase, said[rows[~near]].max(axis=0, keepdims=True))

    def unseen_arrival(self, cell: int, lane: int) -> int | None:
        """The thread of an arrival without release that is not ordered before a lane, neither by a barrier nor by the
        arrival's phase.
        """
        known = self._clocks.known[lane // self._machine.slots, lane % self._machine.slots // WARP]
        for other, epoch, phase in self._relaxed.get(cell, {}).values():
            is_seen = int(known[self.column_of(cell)]) > phase
            if other != lane and not is_seen and epoch > int(known[self._clocks.column(np.array([other]))[0]]):
                return other
        return None

    def _mask(self, numbers: Array | list[int]) -> Array:
        lanes = np.zeros(self._machine.lanes, np.bool_)
        lanes[numbers] = True
        return lanes

    def say(self, numbers: Array) -> Array:
        """What the warps of lanes know [cta, warp, column], to be published later."""
        return self._clocks.publish(self._clocks.present(self._mask(numbers)))

    def hand_on(self, cell: int, said: Array, mbarriers: "Mbarriers") -> None:
        """Any thread that sees the running phase of an mbarrier of its CTA complete will know this."""
        self._near.add([cell], mbarriers.completed[cell : cell + 1], said[None, :])

    def wait(self, use: Use, acquires: bool, scope: Scope, mbarriers: "Mbarriers") -> None:
        """Lanes saw phases complete: their warps know what the arrivals of those phases knew, and their copies."""
        said = self._seen(use.distinct, mbarriers.completed.take(use.distinct), scope)
        if use.by_cta is not None:  # each warp waited for one mbarrier
            self._clocks.learn_each(use.warps, said[use.by_cta], acquires)
            return
        for cell, words in zip(use.distinct, said, strict=True):
            self._clocks.learn(self._clocks.present(self._mask(use.last[use.cells == cell])), words, acquires)

    def _seen(self, cells: Sequence[int], completed: Array, scope: Scope) -> Array:
        """The knowledge gained by seeing the first `completed` phases of mbarriers complete: [mbarrier, column]."""
        width = self._clocks.known.shape[2]
        said = self._near.of(cells, completed, width)
        for far, heard in ((self._far, scope is Scope.CLUSTER), (self._loose, scope is not Scope.CTA)):
            if heard and far.has_any(cells):
                said = np.maximum(said, far.of(cells, completed, width))
        said[np.arange(len(cells)), [self.column_of(cell) for cell in cells]] = completed
        return said

    # ---- copies

    def check_update(self, site: Site, where: Array, lanes: Array) -> None:
        """Report where a reduction cannot update bytes; other reductions are no obstacle."""
        self.check(site, where, lanes, "updates", is_write=True, is_update=True)

    def begin(self, transfer: "Transfer") -> None:
        """A copy starts: its source must not change, its destination is poisoned."""
        self._is_used = True
        self._transfers.append((transfer.site, transfer.lane))
        number = len(self._transfers)
        if transfer.source is not None:
            where = self._regions.of_cells(transfer.source, transfer.unit, transfer.used)
            self._leaving[where] = number
            self._readers[where] += 1
        if transfer.target is not None:
            where = self._regions.of_cells(transfer.target, transfer.unit)
            self._landing[where] = number
            if transfer.updates:
                self._updaters[where] += 1
            else:
                self._machine.shared.cells[transfer.unit].view(np.uint8).reshape(-1, transfer.unit)[transfer.target] = (
                    FRESH
                )

    def begin_all(self, transfers: Sequence["Transfer"]) -> None:
        """Copies of cells of one size start that read no shared memory and update nothing."""
        self._is_used = True
        first = len(self._transfers) + 1
        self._transfers += [(one.site, one.lane) for one in transfers]
        targets = [one.target for one in transfers if one.target is not None]
        unit = transfers[0].unit
        where = [self._regions.of_cells(target, unit) for target in targets]
        numbers = np.repeat(np.arange(first, first + len(where)), [one.size for one in where])
        self._landing[np.concatenate(where)] = numbers
        cells = self._machine.shared.cells[unit].view(np.uint8).reshape(-1, unit)
        for target in targets:
            cells[target] = FRESH

    def begin_bundle(self, bundle: Bundle) -> None:
        """Loads of several CTAs start."""
        self._is_used = True
        numbers = len(self._transfers) + 1 + np.arange(len(bundle.lanes))
        self._transfers += [(bundle.site, lane) for lane in bundle.lanes]
        self._landing[self._regions.of_tiles(bundle.targets.grains(self._grain))] = numbers[:, None]
        cells = self._machine.shared.cells[UNIT].view(np.uint8).reshape(-1, UNIT)
        for first in bundle.targets.firsts:
            cells[first : first + bundle.targets.count] = FRESH

    def bundle_done(self, bundle: Bundle) -> tuple[Array, Array, Array]:
        """Loads arrived: the regions that each wrote [load, n], the writer and the epoch of each [load, 1]."""
        where = self._regions.of_tiles(bundle.targets.grains(self._grain))
        self._landing[where] = 0
        writers = [ASYNC - self._column[cell] for cell in bundle.cells]
        return where, np.array(writers)[:, None], np.array(bundle.phases)[:, None] + 1

    def read_done(self, transfer: "Transfer") -> None:
        """A copy no longer reads its source."""
        if transfer.source is not None:
            self._readers[self._regions.of_cells(transfer.source, transfer.unit, transfer.used)] -= 1

    def write_done(self, transfer: "Transfer") -> tuple[Array, int, int] | None:
        """A copy arrived: the regions it wrote, and by whom and when, as writer and epoch."""
        if transfer.target is None:
            return None
        where = self._regions.of_cells(transfer.target, transfer.unit)
        if transfer.updates:
            self._updaters[where] -= 1
        self._landing[where[self._updaters[where] == 0]] = 0
        if transfer.cell is None:
            return where, transfer.lane, 0
        return where, ASYNC - self._column[transfer.cell], transfer.phase + 1

    def column_of(self, cell: int) -> int:
        """The clock column of the mbarrier at an 8-byte cell."""
        return self._clocks.mbarrier_columns + self._column[cell]
