"""The additions of hazards=True: copies that arrive late, races in shared memory, reads of unwritten memory.

Order between accesses follows vector clocks at warp granularity: every warp counts epochs, a barrier makes its warps'
epochs known to each other, and an access is ordered before another when the later warp knows the earlier epoch. One
thread's own accesses are always ordered; two threads of a warp only by bar.warp.sync or a CTA barrier (see
lane_order.py for what one lane publishes for its warp), as the PTX memory model has it (PTX ISA, "Memory Consistency
Model"). Strong accesses (atomics, volatile, relaxed, acquire, release) do not race with each other. Global memory is
not tracked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ptxsim.access import Site
from ptxsim.async_order import Scope
from ptxsim.bundles import UNIT, Bundle
from ptxsim.errors import HazardError
from ptxsim.flag_order import FlagOrder
from ptxsim.flights import Flights
from ptxsim.geometry import WARP
from ptxsim.global_order import GlobalOrder
from ptxsim.grains import tensor_grain_of
from ptxsim.grid_order import GridOrder
from ptxsim.kinds import Kind
from ptxsim.machine import Machine
from ptxsim.mbarrier import Mbarriers
from ptxsim.mbarrier_uses import Use, use_of
from ptxsim.program import Entry
from ptxsim.ptx_types import Array
from ptxsim.records import GENERIC, IS_READ, NOBODY, OBJECT, READERS
from ptxsim.register_watch import RegisterWatch
from ptxsim.remote_memory import check_remote
from ptxsim.shared_shadow import SharedShadow
from ptxsim.transfer import Transfer

_OBJECT = 8  # bytes of an mbarrier
_STARTS = "starts an operation that reads"
_KEPT = 512  # uses of mbarriers cached


@dataclass(slots=True)
class Copy:
    """Bytes of a cp.async in flight: its number, and per lane its group, the cells of `size` bytes and the data."""

    site: Site
    size: int
    lanes: Array
    cells: Array
    data: Array
    group: Array
    number: int

    def part(self, lanes: Array) -> "Copy":
        """Those of the lanes of a mask."""
        return Copy(
            self.site, self.size, self.lanes[lanes], self.cells[lanes], self.data[lanes], self.group[lanes], self.number
        )


class Tracker(SharedShadow):
    """Shadow state of a machine's shared memory, registers and asynchronous copies."""

    def __init__(self, machine: Machine, entry: Entry) -> None:
        super().__init__(machine, entry)
        self._entry = entry
        self.mbarriers: Mbarriers
        self.tensor_grain = tensor_grain_of(entry)
        self.globals = GlobalOrder(machine, self.clocks, entry)
        self.grids = GridOrder(machine)
        self.flags = FlagOrder(machine, self.clocks)
        self.flights = Flights(machine, entry)
        self.registers = RegisterWatch(machine, entry, self.flights)
        self._flights: list[Copy] = []
        self._copies = 0
        self._committed = np.zeros(machine.lanes, np.int64)
        self._uses: dict[tuple[bytes, bytes], Use] = {}

    def start(self) -> None:
        """A batch begins: all contents are undefined."""
        super().start()
        self.globals.start()
        self.grids.start()
        self.flags.start()
        self.flights.start()
        self.registers.start()
        self._committed.fill(0)
        self._flights.clear()

    # ---- order

    def arrived(self, number: int, lanes: Array) -> None:
        """bar.arrive at a barrier."""
        self.clocks.arrived(number, lanes)
        self.lanes.met(lanes)

    def met(self, number: int, lanes: Array | None) -> None:
        """Lanes (None: all live ones) completed a barrier."""
        here = self._machine.live_mask() if lanes is None else lanes
        self.clocks.met(number, here)
        self.lanes.met(here)

    def warp_met(self, lanes: Array) -> None:
        """bar.warp.sync."""
        self.clocks.warp_met(lanes)
        self.lanes.met(lanes)

    def fence(self, mask: Array | None, releases: bool, acquires: bool) -> None:
        """A fence of the generic proxy."""
        self.clocks.fence(self._machine.live_mask() if mask is None else mask, releases, acquires)

    def init_fence(self, mask: Array | None) -> None:
        """fence.mbarrier_init."""
        self.order.fence_init(self._numbers(self._machine.active(mask)))

    def global_fence(self, mask: Array | None) -> None:
        """fence.proxy.async for global memory."""
        self.globals.fence(self._numbers(self._machine.active(mask)))

    def proxy_fence(self, mask: Array | None) -> None:
        """fence.proxy.async for shared memory: covers these threads' writes and those ordered before by a barrier."""
        lanes = self._machine.active(mask)
        self.clocks.proxy_fence(self._machine.live_mask() if lanes is None else lanes, self.clocks.shared_fences)
        if self.proxies.is_clean:
            return
        fencing = self._machine.live_mask() if lanes is None else lanes
        open_bytes = np.flatnonzero(self.proxies.unfenced)
        writer = self._writer[open_bytes]
        warps = self.clocks.present(fencing)[:, :, None]
        known = np.where(warps, self.clocks.own(), 0).max(axis=1).reshape(-1)
        covered = fencing.take(writer) | (self._write_epoch[open_bytes] <= known.take(writer // WARP))
        self.proxies.fence(open_bytes[covered])

    # ---- accesses of threads

    def loads(self, memory: Array, site: Site, size: int, lanes: Array | None, cells: Array, strong: bool) -> None:
        """Lanes read cells of a memory. Reports hazards."""
        if memory is self._machine.shared.cells[size]:
            self.lanes.touched(*self.read(site, size, lanes, cells, strong))
        elif memory is self._machine.global_space.cells[size]:
            numbers = self._numbers(lanes)
            self.grids.check(site, numbers, cells.reshape(numbers.size, -1) * size, "reads")
            self.globals.read(site, size, numbers, cells)
        if strong:
            is_shared = memory is self._machine.shared.cells[size]
            self.flags.read(site.instruction, is_shared, cells * size, self._numbers(lanes))

    def stores(
        self, memory: Array, site: Site, size: int, lanes: Array | None, cells: Array, data: Array | None, strong: bool
    ) -> None:
        """Lanes write data (None: unknown) to cells of a memory. Reports hazards."""
        if memory is self._machine.shared.cells[size]:
            self.lanes.touched(*self.write(site, size, lanes, cells, data, strong))
        elif memory is self._machine.global_space.cells[size]:
            numbers = self._numbers(lanes)
            self.grids.check(site, numbers, cells.reshape(numbers.size, -1) * size, "writes")
            self.globals.write(site, size, numbers, cells)
        if strong:
            is_shared = memory is self._machine.shared.cells[size]
            numbers, releases = self._numbers(lanes), self.flags.releases(site.instruction)
            if releases or self.clocks.has_fenced:
                self.lanes.tell(numbers, releases)
                self.flags.wrote(site.instruction, is_shared, cells * size, numbers)

    def async_read(
        self, site: Site, where: Array, lanes: Sequence[int], rows: Array | None = None, regions: Array | None = None
    ) -> None:
        """Operations of the async proxy, started by these lanes, read grains [tile, n]. Reports hazards.

        rows: the tile that each lane reads (None: its own, or the only one); regions: of the tiles.
        """
        reader = np.array(lanes)[:, None]
        rows = np.minimum(np.arange(reader.size), where.shape[0] - 1) if rows is None else rows
        if regions is None:
            self.regions.shatter(where)
        settled = self._is_settled(where if regions is None else regions, reader, rows)
        if not settled and regions is not None and regions is not where:
            self.regions.shatter(where)
        if settled:
            check_remote(self._machine, self.clocks, site, where[rows][:, :1] * self.grain, reader, _STARTS)
            return
        cells = where[rows]
        self._check_flight(site, cells, reader, _STARTS)
        self._check_written(site, cells, reader)
        self._check_writer(site, cells, reader, False, _STARTS)
        self._check_fenced(site, cells, reader, _STARTS)

    def _is_settled(self, where: Array, lanes: Array, rows: Array) -> bool:
        """Whether tiles [tile, n] were written and nothing is in flight to them, lanes [reader, 1] know of the writes
        to their tile and, for writes by threads, of proxy fences after those; rows: the tile of each reader.

        This holds in correct programs; it takes a fraction of the time of the checks that name a hazard.
        """
        look = self.records.look(where)
        if not look.is_idle(OBJECT) or not look.is_written:
            return False
        epoch, column = look.epoch, look.column
        if rows.size != where.shape[0] or rows.size > 1:
            epoch, column = epoch[rows], column[rows]
        if np.count_nonzero(epoch > self.clocks.heard(lanes, column)):
            return False
        if not look.has(GENERIC):
            return True
        if self.proxies.are_open(where):
            return False
        # what the async proxy wrote has columns of mbarriers, and needs no fence
        fences = self.clocks.shared_fences + np.minimum(column, self.clocks.warp_columns - 1)
        late = epoch > self.clocks.heard(lanes, fences)
        return not np.count_nonzero(late & (column < self.clocks.warp_columns))

    def _check_fenced(self, site: Site, where: Array, lanes: Array, verb: str) -> None:
        """The async proxy will access grains [n, m] for lanes [n, 1]: do they know of fences after writes?"""
        if self.proxies.is_unused or self.proxies.check(site, where, lanes, verb):
            return
        bad = self._lacks_fence(where, lanes)
        if bad.any():
            lane, byte = self._first(bad, lanes, where)
            other = self._who(int(self._writer[where][bad][0]))
            message = (
                f"{verb} byte {byte} of shared memory, which {other} wrote, and no fence.proxy.async after that is "
                "ordered before this instruction; put it between the write and a barrier"
            )
            self._found(Kind.PROXY_FENCE, site, lane, message)

    def _lacks_fence(self, where: Array, lanes: Array) -> Array:
        """The grains that threads wrote without a later fence known to the corresponding lanes."""
        column = self.clocks.shared_fences + np.minimum(self._write_column[where], self.clocks.warp_columns - 1)
        return self.proxies.generic[where] & (self._write_epoch[where] > self.clocks.heard(lanes, column))

    def check_response(self, site: Site, cells: Array, lane: int) -> None:
        """A lane requests a response at bytes; it must know of proxy fences by their last readers after reading.

        Copies are exempt: programs do not fence bytes that an mbarrier or barrier shows to have been read. For requests
        it is part of the protocol (CUDA C++ Programming Guide, "Cluster Launch Control").
        """
        where = self._grains(cells, 1)[:, 0]
        first, columns = self.clocks.shared_fences, self.clocks.warp_columns
        fenced = self.clocks.known[(*self._place(np.array(lane)), slice(first, first + columns))]
        late = self._is_read[where, None] & (self._reader[where] != NOBODY) & (self._read_epoch[where] > fenced)
        if late.any():
            reader = int(self._reader[where][late][0])
            who = "threads" if reader < 0 else self._who(reader)
            message = (
                f"asks for a response where {who} read the one before, and no fence.proxy.async after that is ordered "
                "before this instruction; put it between the read and a barrier"
            )
            self._found(Kind.PROXY_FENCE, site, lane, message)

    def async_read_begins(self, site: Site, where: Array, first_warps: Array, starting: Array) -> None:
        """Operations of warpgroups read grains [warpgroup, n] until a wait; starting: the warps that start them.

        first_warps: the machine's numbers of the first warps of the warpgroups.
        """
        committed = self.flights.warp_commits()[first_warps[:, None] + np.arange(4)]
        self.async_reads.begin(site, where, first_warps, np.where(starting, committed, np.iinfo(np.int64).max))

    def warpgroups(self, lanes: Array) -> Array:
        """The machine's numbers of the first warps of the warpgroups of lanes; warpgroups begin with their CTA."""
        slots = self._machine.slots
        return lanes // slots * (slots // WARP) + lanes % slots // WARP // 4 * 4

    def wgmma_wait(self, mask: Array | None, pending: int) -> None:
        """wgmma.wait_group."""
        self.flights.wait(mask, pending)
        lanes = self._machine.active(mask)
        active = self._machine.live_mask() if lanes is None else lanes
        warps: Array = np.any(active.reshape(-1, WARP), axis=1)
        least = self.flights.warp_commits() - pending
        self.async_reads.waited(warps, least, self.clocks.epoch.reshape(-1))

    # ---- asynchronous copies

    def copy(self, site: Site, size: int, lanes: Array | None, cells: Array, data: Array) -> None:
        """cp.async: the destination is undefined until the issuing thread has waited."""
        numbers = self._numbers(lanes)
        where = self._grains(cells, size)
        if self._is_idle(where, numbers[:, None]):
            self._check_idle_write(site, where, numbers[:, None], "copies to")
        else:
            self._check_flight(site, where, numbers[:, None], "copies to")
            self._check_write(site, where, numbers[:, None], False, None)
        self._in_flight[where] = 1 + numbers[:, None]
        self._shared[where] = np.iinfo(self._shared.dtype).max
        self._copies += 1
        self._flights.append(Copy(site, size, numbers, cells, data.copy(), self._committed[numbers], self._copies))

    def commit(self, mask: Array | None) -> None:
        """cp.async.commit_group."""
        lanes = self._machine.active(mask)
        self._committed += 1 if lanes is None else lanes

    def wait(self, mask: Array | None, pending: int) -> None:
        """cp.async.wait_group: the copies of all but the newest groups arrive."""
        lanes = self._machine.active(mask)

        def done(flight: Copy) -> Array:
            old: Array = flight.group < self._committed[flight.lanes] - pending
            return old if lanes is None else old & lanes[flight.lanes]

        self._land(done)

    def copies_until_now(self, numbers: Array) -> Callable[[Sequence[tuple[Array, int]]], None]:
        """cp.async.mbarrier.arrive: lets earlier copies of some of these lanes arrive, and informs those that wait for
        the mbarriers at the corresponding cells.
        """
        newest = self._copies
        epoch = np.zeros(self._machine.lanes, np.int32)
        epoch[numbers] = self.clocks.now(numbers)
        self.lanes.tell(numbers, releases=True)
        said = self.order.say(numbers)

        def land(arrivals: Sequence[tuple[Array, int]]) -> None:
            chosen = np.zeros(self._machine.lanes, np.bool_)
            for lanes, _ in arrivals:
                chosen[lanes] = True
            self._land(lambda flight: chosen[flight.lanes], newest, epoch)
            for lanes, cell in arrivals:
                self.order.hand_on(cell, said[self._place(lanes)].max(axis=0), self.mbarriers)

        return land

    def _land(self, chosen: Callable[[Copy], Array], newest: int | None = None, epoch: Array | None = None) -> None:
        """Let copies arrive, up to number `newest`, each for the lanes that `chosen` marks; epoch: by lane, when they
        count as written.
        """
        rest: list[Copy] = []
        landing: list[Copy] = []
        for flight in self._flights:
            done = None if newest is not None and flight.number > newest else chosen(flight)
            count = 0 if done is None else np.count_nonzero(done)
            if done is None or not count:
                rest.append(flight)
            elif count == done.size:
                landing.append(flight)
            else:
                landing.append(flight.part(done))
                rest.append(flight.part(~done))
        for size, several in groupby(landing, lambda flight: flight.size):
            self._written(size, list(several), epoch)
        self._flights = rest

    def _written(self, size: int, flights: list[Copy], epoch: Array | None) -> None:
        """Copies of one size arrive, one after the other; epoch: as in `_land`."""
        lanes, cells, data = (
            np.concatenate([getattr(flight, name) for flight in flights]) for name in ("lanes", "cells", "data")
        )
        where, writer = self._grains(cells, size), lanes[:, None]
        self._machine.shared.cells[size][cells] = data
        self._in_flight[where] = 0
        is_idle = self.records.look(where).is_idle(OBJECT | READERS | IS_READ)
        self._note_write(where, writer, False, is_idle, None if epoch is None else epoch[writer])
        if epoch is None:
            self.lanes.touched(where, writer)

    # ---- mbarriers and the copies that complete on them

    def init_mbarrier(self, site: Site, numbers: Array, cells: Array) -> None:
        """mbarrier.init by lanes at 8-byte cells."""
        where = self._grains(cells, 8)
        self._check_flight(site, where, numbers[:, None], "writes")
        self._check_write(site, where, numbers[:, None], False, None)
        self._note_write(where, numbers[:, None], strong=False)
        self.order.init_object(numbers, cells)

    def use_mbarrier(self, site: Site, numbers: Array, cells: Array) -> None:
        """Lanes use mbarriers, which must have been initialised. Reports hazards."""
        use = self._use(numbers, cells)
        objects, lanes = use.objects, use.first
        for cell in use.distinct:
            if not self.order.has_object(cell):
                raise self._uninitialised(site, int(numbers[cells == cell][0]))
        # lanes of a warp have the same knowledge, so one of them shows whether there is anything to check
        where = objects * (_OBJECT // self.grain)
        if not self._is_ordered(self.records.look(where), lanes[:, 0]):
            known = np.array([[self.order.is_initialised(cell)] for cell in cells.tolist()])
            where = cells[:, None] * (_OBJECT // self.grain)
            verb = "uses the mbarrier at"
            self._check_writer(site, where, numbers[:, None], False, verb, known, Kind.MBARRIER_INIT)
        check_remote(self._machine, self.clocks, site, objects[:, None] * _OBJECT, lanes, "uses an mbarrier in the")

    def _use(self, numbers: Array, cells: Array) -> Use:
        """Cached data derived from lanes and the mbarriers that they use."""
        key = numbers.tobytes(), cells.tobytes()
        found = self._uses.get(key)
        if found is None:
            if len(self._uses) >= _KEPT:
                self._note_used()
                self._uses.clear()
            found = self._uses[key] = use_of(
                numbers, cells, self._machine.slots // WARP, self._machine.shared.stride // _OBJECT
            )
        return found

    def _uninitialised(self, site: Site, lane: int) -> HazardError:
        who = self._who(lane)
        message = f"{who} uses something that is not an mbarrier object: it was never initialised"
        return self._machine.findings.fatal(Kind.MBARRIER_INIT, message, site.instruction, who)

    def drop_mbarrier(self, site: Site, numbers: Array, cells: Array) -> None:
        """mbarrier.inval by lanes; waits and arrivals of others must be ordered before. Reports hazards."""
        self.use_mbarrier(site, numbers, cells)
        where, lanes = self._grains(cells, 8), numbers[:, None]
        verb = "invalidates the mbarrier at"
        self._check_readers(site, where, lanes, False, verb, "used", Kind.MBARRIER_INVAL)
        for lane, cell in zip(numbers.tolist(), cells.tolist(), strict=True):
            other = self.order.unseen_arrival(cell, lane)
            if other is not None:
                self._race(Kind.MBARRIER_INVAL, site, lane, verb, cell * 8, f"{self._who(other)} arrives at")
        self._writer[where], self._write_epoch[where] = lanes, self.clocks.epoch[self._place(lanes)]
        self._write_column[where] = self.clocks.column(lanes)
        self._is_read[where] = False
        self.order.drop_object(cells)

    def look(self, site: Site, numbers: Array, cells: Array) -> None:
        """Lanes reach a wait for mbarriers."""
        self.use_mbarrier(site, numbers, cells)
        self._note_use(self._use(numbers, cells))

    def _note_use(self, use: Use) -> None:
        """Lanes use mbarriers; among the lanes of a warp that do so together, the last counts.

        The use is recorded in the shadow on demand; until then only the last time of each use counts.
        """
        self._used.pop(use, None)
        self._used[use] = self.clocks.epoch.take(use.warps)

    def arrive(self, site: Site, numbers: Array, cells: Array, releases: bool, scope: Scope) -> None:
        """Lanes arrive at mbarriers; without release, only those that see the phase complete know of it."""
        self.use_mbarrier(site, numbers, cells)
        use = self._use(numbers, cells)
        if releases:
            self._note_use(use)
        self.lanes.tell(numbers, releases)
        self.order.arrive(use, releases, scope, self.mbarriers)

    def waited(self, numbers: Array, cells: Array, acquires: bool, scope: Scope) -> None:
        """Lanes saw phases of mbarriers complete."""
        use = self._use(numbers, cells)
        self._note_use(use)
        self.order.wait(use, acquires, scope, self.mbarriers)

    def are_ready(self, transfers: Sequence[Transfer]) -> bool:
        """Whether copies by threads of different CTAs to their own shared memory pass all checks.

        If this is False, `issue` determines what is wrong, if anything.
        """
        stride, lanes = self._machine.shared.stride, np.array([one.lane for one in transfers])
        cta, warp = self._place(lanes)
        cells = [one.cell for one in transfers if one.cell is not None and self.order.has_object(one.cell)]
        targets = [
            (one.target, one.unit)
            for one in transfers
            if one.target is not None and not one.updates and one.source is None
        ]
        if (
            not len(cells) == len(targets) == len(set(cta.tolist())) == len(transfers)
            or len({u for _, u in targets}) > 1
        ):
            return False
        places = np.array(
            [[cell * _OBJECT, int(target[0]) * unit] for cell, (target, unit) in zip(cells, targets, strict=True)]
        )
        objects = np.array(cells) * (_OBJECT // self.grain)
        known = self.clocks.known[cta, warp, self._write_column[objects]]
        if (places // stride != cta[:, None]).any() or (self._write_epoch[objects] > known).any():
            return False
        regions = [self.regions.of_cells(target, unit) for target, unit in targets]
        return self._are_free(np.concatenate(regions), np.repeat(lanes, [one.size for one in regions]))

    def is_ready(self, bundle: Bundle) -> bool:
        """As `are_ready` for loads of CTAs that are no clusters."""
        if self.globals.is_watching or self.grids.changed is not None:
            return False
        stride, lanes = self._machine.shared.stride, np.array(bundle.lanes)
        cta, warp = self._place(lanes)
        if not all(map(self.order.has_object, bundle.cells)) or (np.diff(cta) == 0).any():
            return False
        cells, firsts = np.array(bundle.cells), np.array(bundle.targets.firsts)
        objects = cells * (_OBJECT // self.grain)
        if (cells * _OBJECT // stride != cta).any() or (firsts * UNIT // stride != cta).any():
            return False
        if (self._write_epoch[objects] > self.clocks.known[cta, warp, self._write_column[objects]]).any():
            return False
        regions = self.regions.of_tiles(bundle.targets.grains(self.grain))
        return self._are_free(regions.reshape(-1), np.repeat(lanes, regions.shape[1]))

    def begin_bundle(self, bundle: Bundle) -> None:
        """Loads that passed `is_ready` start."""
        self.order.begin_bundle(bundle)

    def bundle_done(self, bundle: Bundle) -> None:
        """Loads arrived."""
        where, writers, epochs = self.order.bundle_done(bundle)
        self._writer[where], self._write_epoch[where] = writers, epochs
        self._write_column[where] = np.array([self.order.column_of(cell) for cell in bundle.cells])[:, None]
        self._strong[where] = self._is_read[where] = False
        self.proxies.async_wrote(where)

    def issue(self, transfer: Transfer) -> None:
        """A copy of the async proxy starts. Reports accesses to anything that is not ready."""
        lane = np.array([[transfer.lane]])
        if transfer.cell is not None:
            self.use_mbarrier(transfer.site, lane[0], np.array([transfer.cell]))
        if transfer.source is not None:
            self.async_read(transfer.site, transfer.source_grains(self.grain)[None, :], [transfer.lane])
        if transfer.target is not None:
            self._check_target(transfer, lane)
        for place, verb in ((transfer.origin, "copies"), (transfer.landing, "copies to")):
            if place is not None and self.grids.changed is not None:
                self.grids.check(transfer.site, lane[0], place()[None, :], verb)
        self.globals.begin(transfer)
        self.order.begin(transfer)

    def _check_target(self, transfer: Transfer, lane: Array) -> None:
        """Report destinations that are not ready for a copy to write."""
        if transfer.target is not None:
            first = transfer.target[:1, None] * transfer.unit
            regions = self.regions.of_cells(transfer.target, transfer.unit)
            if not transfer.updates and self._are_free(regions, np.full(regions.size, transfer.lane)):
                check_remote(self._machine, self.clocks, transfer.site, first, lane, "copies to")
                return
            where = self._grains(transfer.target, transfer.unit).reshape(-1)
            if transfer.updates:
                self.order.check_update(transfer.site, where[None, :], lane)
            else:
                self._check_flight(transfer.site, where[None, :], lane, "copies to")
            self._check_write(transfer.site, where[None, :], lane, transfer.updates, None)
            self._check_fenced(transfer.site, where[None, :], lane, "copies to")

    def _are_free(self, where: Array, lanes: Array) -> bool:
        """Whether a thread for each grain knows that nothing uses it any more, and of proxy fences after writes."""
        look = self.records.look(where)
        if not look.is_idle(OBJECT | READERS) or not self._is_ordered(look, lanes):
            return False
        if look.has(IS_READ) and not self._are_read(where, lanes):
            return False
        if look.has(GENERIC) and (self.proxies.are_open(where) or np.count_nonzero(self._lacks_fence(where, lanes))):
            return False
        return self.async_reads.are_done(where, lanes // WARP, self.clocks)

    def _are_read(self, where: Array, lanes: Array) -> bool:
        """Whether a thread for each grain knows of the reads by other threads."""
        self._note_used()
        is_read = self._is_read[where]
        used, lane = where[is_read], lanes[is_read]
        others, known = self._reader[used], self.clocks.known[self._place(lane)][:, : self.clocks.warp_columns]
        late = (others != NOBODY) & (self._read_epoch[used] > known) & (others != lane[:, None])
        return not np.count_nonzero(late)

    def begin_all(self, transfers: Sequence[Transfer]) -> None:
        """Copies that passed `are_ready` start."""
        for transfer in transfers:
            if transfer.origin is not None and self.grids.changed is not None:
                lane = np.array([transfer.lane])
                self.grids.check(transfer.site, lane, transfer.origin()[None, :], "copies")
            self.globals.begin(transfer)
        self.order.begin_all(transfers)

    def read_done(self, transfer: Transfer) -> None:
        """A copy no longer reads its source; its thread knows this, others must synchronise with it."""
        self.order.read_done(transfer)
        self.globals.read_done(transfer)
        if transfer.source is not None and transfer.cell is None:
            where = self.regions.of_cells(transfer.source, transfer.unit, transfer.used)
            lane = np.array([transfer.lane])
            column = int(self.clocks.column(lane)[0])
            unread = where[~self._is_read[where]]
            self._reader[unread] = NOBODY
            self._is_read[unread] = True
            self._reader[where, column] = transfer.lane
            self._read_epoch[where, column] = self.clocks.epoch[self._place(lane)][0]
            self._read_strong[where, column] = False

    def write_done(self, transfer: Transfer) -> None:
        """A copy arrived."""
        self.written_all([transfer])

    def written_all(self, transfers: Sequence[Transfer]) -> None:
        """Copies to different bytes arrived."""
        for transfer in transfers:
            self.globals.write_done(transfer)
        done = [(one, *found) for one in transfers if (found := self.order.write_done(one)) is not None]
        if not done:
            return
        counts = [where.size for _, where, _, _ in done]
        where = np.concatenate([where for _, where, _, _ in done]) if len(done) > 1 else done[0][1]
        columns = [
            self.order.column_of(one.cell) if one.cell is not None else int(self.clocks.column(np.array(one.lane)))
            for one, *_ in done
        ]
        self._writer[where] = np.repeat([writer for _, _, writer, _ in done], counts)
        self._write_epoch[where] = np.repeat([epoch for *_, epoch in done], counts)
        self._write_column[where] = np.repeat(columns, counts)
        self._strong[where] = np.repeat([one.updates for one, *_ in done], counts)
        self._is_read[where] = False
        self.proxies.async_wrote(where)
