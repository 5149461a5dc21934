"""Copies of the async proxy in flight: bulk copies, TMA, and everything else that completes on an mbarrier.

Without hazard tracking a transfer happens when it is issued. With it, data arrives as late as is legal: when a lane
that waits for its mbarrier cannot go on without it, newest first, or when its thread waits for its bulk group. Until
then the destination holds 0xFF bytes. Source: PTX ISA, "Asynchronous Operations", "Async proxy".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

import numpy as np

from ptxsim import bundles
from ptxsim.access import Site
from ptxsim.bundles import Bundle
from ptxsim.cluster_barrier import ClusterBarrier
from ptxsim.errors import HazardError
from ptxsim.findings import Kind
from ptxsim.grains import grains
from ptxsim.hazards import Tracker
from ptxsim.machine import Machine
from ptxsim.map_versions import MapVersions
from ptxsim.mbarrier import Mbarriers, owed_of, pending_of
from ptxsim.memory import Fault
from ptxsim.ptx_types import Array

# Lets copies of lanes arrive that complete on the mbarriers at the corresponding cells.
Landing: TypeAlias = Callable[[Sequence[tuple[Array, int]]], None]


@dataclass(slots=True, eq=False)
class Transfer:
    """One movement of data by the async proxy.

    lane: who issued it; read: reads the source's bytes; write: stores them; source, target: cells of `unit` bytes in
    the machine's shared memory that it reads and writes (None: global memory); used: bytes at the front of each cell of
    the source that are not padding (None: all); cell: the mbarrier it completes on (None: a bulk group); size: bytes it
    completes; arrivals: arrivals it makes there as well; updates: whether it reads what it writes, so that several may
    be in flight to the same bytes; origin, landing: the functions that give the positions of global bytes that it reads
    and writes; parts: the same as several transfers of one arrival each; arriving: what `write` does, which can be done
    together for those with the same Landing, and the lanes whose arrivals these are.
    """

    site: Site
    lane: int
    read: Callable[[], Array]
    write: Callable[[Array], None]
    source: Array | None = None
    target: Array | None = None
    cell: int | None = None
    size: int = 0
    arrivals: int = 0
    unit: int = 16
    used: int | None = None
    updates: bool = False
    origin: Callable[[], Array] | None = None
    landing: Callable[[], Array] | None = None
    parts: "Callable[[], list[Transfer]] | None" = None
    arriving: tuple[Landing, Array] | None = None
    phase: int = 0
    data: Array | None = None
    is_done: bool = False

    @property
    def moves_nothing(self) -> bool:
        """Whether it consists of arrivals only."""
        return self.source is None and self.target is None and self.origin is None and self.landing is None

    def source_grains(self, grain: int) -> Array:
        """The grains of the machine's shared memory that it accesses."""
        cells = np.zeros(0, np.int64) if self.source is None else self.source
        return grains(cells, self.unit, grain, self.used).reshape(-1)


class Part(Protocol):
    """State of instructions whose operations complete as transfers; it starts and ends with every batch."""

    def start(self) -> None:
        """A batch begins."""
        ...

    def end(self) -> None:
        """A batch ends."""
        ...


@dataclass(slots=True)
class Groups:
    """The bulk groups of one thread: the open one, and the committed ones, oldest first."""

    open: list[Transfer] = field(default_factory=list[Transfer])
    closed: list[list[Transfer]] = field(default_factory=list[list[Transfer]])


class Transfers:
    """The transfers of a machine, the mbarriers they complete on, and the barrier of its clusters."""

    def __init__(self, machine: Machine, tracker: Tracker | None) -> None:
        self.machine = machine
        self.tracker = tracker
        self.mbarriers = Mbarriers(machine)
        if tracker is not None:
            tracker.mbarriers = self.mbarriers
        self.cluster_barrier = ClusterBarrier(machine, None if tracker is None else tracker.clocks)
        self.maps = MapVersions()
        self.failed_requests: set[int] = set()
        self._flying: list[Transfer | Bundle] = []
        self._groups: dict[int, Groups] = {}
        self.parts: list[Part] = []
        self._expected_by: dict[int, tuple[Site, int]] = {}

    @property
    def is_late(self) -> bool:
        """Whether data arrives as late as is legal."""
        return self.tracker is not None

    @property
    def is_flying(self) -> bool:
        """Whether a transfer that completes on an mbarrier is in flight."""
        return bool(self._flying)

    def start(self) -> None:
        """A batch begins: nothing is in flight."""
        self.mbarriers.start()
        self.cluster_barrier.start()
        self.maps.start()
        self.failed_requests.clear()
        self._flying.clear()
        self._groups.clear()
        self._expected_by.clear()
        for part in self.parts:
            part.start()

    def note_expected(self, site: Site, lanes: Array, cells: Array) -> None:
        """Record the last thread that expected bytes of each mbarrier."""
        for lane, cell in zip(lanes.tolist(), cells.tolist(), strict=True):
            self._expected_by[cell] = site, lane

    def issue_all(self, transfers: Sequence[Transfer]) -> None:
        """Start the transfers of an instruction in turn. Raises HazardError as `issue` does."""
        if self.tracker is None or len(transfers) < 2 or not self.tracker.are_ready(transfers):
            for transfer in transfers:
                self.issue(transfer)
            return
        for transfer in transfers:
            self._note_phase(transfer)
        self.tracker.begin_all(transfers)
        self._flying += transfers

    def issue_bundle(self, bundle: Bundle) -> bool:
        """Start loads of several CTAs, to arrive late; False if hazard tracking must check each of them."""
        if self.tracker is None or not self.tracker.is_ready(bundle):
            return False
        bundle.phases = self.mbarriers.completed.take(bundle.cells).tolist()
        bundle.clusters = frozenset(map(self._cluster, bundle.lanes))
        bundle.waits = frozenset(zip(bundle.cells, bundle.phases, strict=True))
        self.tracker.begin_bundle(bundle)
        self._flying.append(bundle)
        return True

    def _parted(self, bundle: Bundle) -> list[Transfer]:
        """The individual loads of a bundle, which replace it."""
        shared = self.machine.shared.cells[bundles.UNIT]
        parts = [
            Transfer(
                bundle.site,
                lane,
                bundle.reader(number),
                bundle.writer(number, shared),
                None,
                bundle.targets.cells(number),
                bundle.cells[number],
                bundle.size,
                phase=bundle.phases[number],
            )
            for number, lane in enumerate(bundle.lanes)
        ]
        position = self._flying.index(bundle)
        self._flying[position : position + 1] = parts
        return parts

    def _part_all(self) -> list[Transfer]:
        """All transfers in flight that complete on mbarriers, one by one."""
        for one in [one for one in self._flying if isinstance(one, Bundle)]:
            self._parted(one)
        return [one for one in self._flying if isinstance(one, Transfer)]

    def issue(self, transfer: Transfer, is_ready: bool = False) -> None:
        """Start a transfer; is_ready: it has passed hazard tracking's checks.

        Raises HazardError if it completes on something that is not an mbarrier.
        """
        self._note_phase(transfer)
        if self.tracker is None:
            transfer.write(transfer.read())
            transfer.is_done = True
            self._signal(transfer)
            return
        if not (is_ready and transfer.moves_nothing):
            self.tracker.issue(transfer)
        if transfer.cell is not None:
            self._flying.append(transfer)
        else:
            self._groups.setdefault(transfer.lane, Groups()).open.append(transfer)

    def _note_phase(self, transfer: Transfer) -> None:
        if transfer.cell is not None:
            self._check_cell(transfer)
            transfer.phase = int(self.mbarriers.completed[transfer.cell])

    def check_idle(self, site: Site, lanes: Array, cells: Array, verb: str) -> None:
        """Report copies in flight that complete on one of these mbarriers."""
        for lane, cell in zip(lanes.tolist(), cells.tolist(), strict=True):
            for transfer in self._part_all() if self._flying else ():
                if transfer.cell == cell:
                    self.machine.findings.found(
                        Kind.MBARRIER_INVAL,
                        f"{verb} {self.name(cell)} while a copy of {self._who(transfer)} (line "
                        f"{transfer.site.instruction.line}) completes on it; wait for its phase first",
                        site.instruction,
                        self.machine.describe(lane),
                    )

    def _check_cell(self, transfer: Transfer) -> None:
        if transfer.cell is not None and self.mbarriers.is_object(transfer.cell):
            return
        try:
            self.mbarriers.states(np.array([transfer.cell]))
        except Fault as fault:
            raise self._unknown(transfer.site, transfer.lane, fault) from None

    def _signal(self, transfer: Transfer) -> None:
        if transfer.cell is None:
            return
        try:
            self.mbarriers.signal(transfer.cell, transfer.size, transfer.arrivals)
        except Fault as fault:
            raise self._unknown(transfer.site, transfer.lane, fault) from None

    def bytes_arrive(self, site: Site, lane: int, cell: int, size: int) -> None:
        """Bytes of a copy that a lane issued complete on an mbarrier. Raises HazardError."""
        try:
            self.mbarriers.signal(cell, size, 0)
        except Fault as fault:
            raise self._unknown(site, lane, fault) from None

    def _who(self, transfer: Transfer) -> str:
        return self.machine.describe(transfer.lane)

    def _unknown(self, site: Site, lane: int, fault: Fault) -> HazardError:
        who = self.machine.describe(lane)
        message = f"{who} completes on {fault.reason}"
        return self.machine.findings.fatal(Kind.MBARRIER_COUNT, message, site.instruction, who)

    def _found(self, kind: Kind, transfer: Transfer, message: str) -> None:
        self.machine.findings.found(kind, message, transfer.site.instruction, self._who(transfer))

    # ---- late arrival

    def _finish_read(self, transfer: Transfer) -> None:
        if transfer.data is None:
            transfer.data = transfer.read()
            if self.tracker is not None:
                self.tracker.read_done(transfer)

    def _finish(self, transfer: Transfer) -> None:
        """Let the data of a transfer arrive."""
        if transfer.is_done:
            return
        if transfer.moves_nothing:
            transfer.write(transfer.read())
        else:
            self._finish_read(transfer)
            if transfer.data is not None:
                transfer.write(transfer.data)
        transfer.is_done = True
        if self.tracker is not None and not transfer.moves_nothing:
            self.tracker.write_done(transfer)
        self._signal(transfer)

    def deliver(self, wanted: Array) -> bool:
        """Let the newest transfer of each cluster that completes on one of these mbarrier cells arrive; returns whether
        there was one.

        Clusters do not wait for each other's copies, so letting these arrive together keeps them in step.
        """
        cells = set(wanted.tolist())
        served: set[int] = set()
        landing: list[Transfer] = []
        arriving: list[Transfer] = []
        bundled: list[Bundle] = []
        finished: list[Transfer] = []
        while True:
            transfer = self._newest(cells, served)
            if isinstance(transfer, Bundle):
                self._flying.remove(transfer)
                served |= transfer.clusters
                bundled.append(transfer)
                continue
            if transfer is None:
                self._check_left(finished)
                self._land(landing)
                self._arrive(arriving)
                for bundle in bundled:
                    self._land_bundle(bundle)
                return bool(served)
            if transfer.arrivals > 1 and transfer.parts is not None and not self._has_room(transfer):
                position = self._flying.index(transfer)
                self._flying[position : position + 1] = [replace(p, phase=transfer.phase) for p in transfer.parts()]
                continue
            self._flying.remove(transfer)
            served.add(self._cluster(transfer.lane))
            if transfer.arriving is not None and not transfer.is_done:
                arriving.append(transfer)
            elif transfer.arrivals or transfer.target is None:
                self._finish(transfer)
                finished.append(transfer)
            else:
                landing.append(transfer)

    def _land(self, transfers: list[Transfer]) -> None:
        """Let the data of transfers of different clusters arrive."""
        for transfer in transfers:
            self._finish_read(transfer)
            if transfer.data is not None:
                transfer.write(transfer.data)
            transfer.is_done = True
        if self.tracker is not None:
            self.tracker.written_all(transfers)
        for transfer in transfers:
            self._signal(transfer)
        self._check_left(transfers)

    def _land_bundle(self, bundle: Bundle) -> None:
        """Let the data of loads of different CTAs arrive."""
        bundle.move(self.machine.shared.cells[bundles.UNIT])
        if self.tracker is not None:
            self.tracker.bundle_done(bundle)
        for lane, cell in zip(bundle.lanes, bundle.cells, strict=True):
            self.bytes_arrive(bundle.site, lane, cell, bundle.size)
        completed = self.mbarriers.completed
        done = {(cell, phase) for cell, phase in bundle.waits if int(completed[cell]) != phase}
        if done and self._flying:
            self._check_phases(done)

    def _arrive(self, transfers: list[Transfer]) -> None:
        """Perform the arrivals of lanes of different clusters whose copies are complete."""
        together: dict[Landing, list[tuple[Array, int]]] = {}
        for transfer in transfers:
            if transfer.arriving is not None and transfer.cell is not None:
                land, lanes = transfer.arriving
                together.setdefault(land, []).append((lanes, transfer.cell))
        for land, arrivals in together.items():
            land(arrivals)
        for transfer in transfers:
            transfer.is_done = True
            if self.tracker is not None:
                self.tracker.write_done(transfer)
            self._signal(transfer)
        self._check_left(transfers)

    def _newest(self, cells: set[int], served: set[int]) -> Transfer | Bundle | None:
        """The newest transfer that completes on one of these cells, of a cluster not yet served; a bundle if this holds
        for all its loads.
        """
        for transfer in reversed(self._flying):
            if isinstance(transfer, Bundle):
                if cells.isdisjoint(transfer.cells):
                    continue
                if cells.issuperset(transfer.cells) and served.isdisjoint(transfer.clusters):
                    return transfer
                wanted = [
                    cell in cells and self._cluster(lane) not in served
                    for cell, lane in zip(transfer.cells, transfer.lanes, strict=True)
                ]
                if any(wanted):
                    return self._parted(transfer)[wanted.index(True)]
            elif transfer.cell in cells and self._cluster(transfer.lane) not in served:
                return transfer
        return None

    def _cluster(self, lane: int) -> int:
        return lane // (self.machine.slots * self.machine.geometry.cluster_size)

    def _has_room(self, transfer: Transfer) -> bool:
        """Whether the phase of a transfer's mbarrier waits for all its arrivals."""
        state = self.machine.shared.cells[8][transfer.cell : None if transfer.cell is None else transfer.cell + 1]
        return int(pending_of(state)[0]) >= transfer.arrivals

    def complete(self, transfer: Transfer) -> None:
        """Let a transfer arrive now, since a later one has."""
        if transfer in self._flying:
            self._flying.remove(transfer)
            self._finish(transfer)

    def _check_left(self, arrived: Sequence[Transfer]) -> None:
        """A phase that completes while a copy for it is in flight expected too few bytes."""
        completed = self.mbarriers.completed
        done = {
            (one.cell, one.phase) for one in arrived if one.cell is not None and int(completed[one.cell]) != one.phase
        }
        if done and self._flying:
            self._check_phases(done)

    def _check_phases(self, done: set[tuple[int, int]]) -> None:
        """As `_check_left` for phases that are complete, by mbarrier."""
        if any(not done.isdisjoint(one.waits) for one in self._flying if isinstance(one, Bundle)):
            self._part_all()
        for transfer in self._flying:
            if isinstance(transfer, Transfer) and transfer.size and (transfer.cell, transfer.phase) in done:
                self._found(
                    Kind.TX_COUNT,
                    transfer,
                    f"wrong tx count: phase {transfer.phase} of {self.name(transfer.cell)} completes although "
                    f"{transfer.size} bytes that {self._who(transfer)} copies for it are still to come; "
                    "expect the bytes of every copy",
                )

    def commit(self, lanes: Sequence[int]) -> None:
        """cp.async.bulk.commit_group."""
        for lane in self._groups.keys() & lanes:  # those of others would be empty
            groups = self._groups[lane]
            groups.closed.append(groups.open)
            groups.open = []

    def wait(self, lanes: Sequence[int], pending: int, is_read: bool) -> None:
        """cp.async.bulk.wait_group{.read}: all but the newest groups have read their sources, or are complete."""
        for lane in sorted(self._groups.keys() & lanes):
            groups = self._groups[lane]
            done = groups.closed[: max(len(groups.closed) - pending, 0)]
            for transfer in [one for group in done for one in group]:
                if is_read:
                    self._finish_read(transfer)
                else:
                    self._finish(transfer)
            if not is_read:
                del groups.closed[: len(done)]

    def end(self) -> None:
        """A batch ends. Reports operations never waited for and bytes never delivered."""
        for part in self.parts:
            part.end()
        if self.tracker is None:
            return
        for transfer in self._part_all():
            if transfer.size or transfer.arrivals:
                self._found(
                    Kind.UNFINISHED_COPY,
                    transfer,
                    f"the copy of {self._who(transfer)} is still in flight when its CTA ends; "
                    f"wait for {self.name(transfer.cell)} before the exit",
                )
        for groups in self._groups.values():
            for transfer in [one for group in [*groups.closed, groups.open] for one in group]:
                if transfer.source is not None and transfer.data is None:
                    self._found(
                        Kind.UNFINISHED_COPY,
                        transfer,
                        f"{self._who(transfer)} exits while this copy may still read its shared memory; "
                        "commit the group and wait for it with cp.async.bulk.wait_group.read 0",
                    )
                self._finish(transfer)
        self._check_owed()

    def _check_owed(self) -> None:
        for cell in sorted(self.mbarriers.live):
            state = self.machine.shared.cells[8][cell : cell + 1]
            owed = int(owed_of(state)[0])
            if owed:
                site, lane = self._expected_by.get(cell, (None, 0))
                who = "" if site is None else f"; {self.machine.describe(lane)} expected bytes last"
                self.machine.findings.found(
                    Kind.TX_COUNT,
                    f"wrong tx count: at the end of the CTA {self.name(cell)} still owes {owed} bytes "
                    f"({self.mbarriers.describe(cell)}{who}); expect_tx and the bytes that complete must be equal",
                    None if site is None else site.instruction,
                    self.machine.describe(lane),
                )

    def name(self, cell: int | None) -> str:
        """An mbarrier by its shared address."""
        if cell is None:
            return "its bulk group"
        shared = self.machine.shared
        position = cell * 8
        address = position % shared.stride + shared.base
        return (
            f"the mbarrier at shared address {address:#x} of CTA {self.machine.describe_cta(position // shared.stride)}"
        )
