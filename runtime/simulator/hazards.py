"""What hazards=True adds: copies that arrive late, races in shared memory, reads of what nobody wrote.

Order between accesses follows vector clocks at warp granularity: every warp counts epochs, a barrier lets its warps
know each other's epochs, and an access is ordered before another when the later warp knows the earlier epoch. One
thread's own accesses are always ordered; two threads of a warp only by bar.warp.sync or a CTA barrier, as the PTX
memory model has it (PTX ISA, "Memory Consistency Model"). Strong accesses (atomics, volatile, relaxed, acquire,
release) do not race with each other. Global memory is not tracked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from runtime.simulator.access import Site
from runtime.simulator.async_order import ASYNC, AsyncOrder
from runtime.simulator.async_reads import AsyncReads
from runtime.simulator.clocks import Clocks
from runtime.simulator.errors import HazardError
from runtime.simulator.findings import Kind
from runtime.simulator.flag_order import FlagOrder
from runtime.simulator.flights import Flights
from runtime.simulator.global_order import GlobalOrder
from runtime.simulator.grains import grain_of, grains, tensor_grain_of
from runtime.simulator.grid_order import GridOrder
from runtime.simulator.machine import WARP, Machine
from runtime.simulator.program import Entry
from runtime.simulator.proxies import Proxies
from runtime.simulator.register_watch import RegisterWatch
from runtime.simulator.remote_memory import check_remote
from runtime.simulator.types import Array, unsigned

if TYPE_CHECKING:
    from runtime.simulator.mbarrier import Mbarriers
    from runtime.simulator.transfers import Transfer

_NOBODY = -1
_MANY = -2
_OBJECT = 8  # bytes of an mbarrier
_STARTS = "starts an operation that reads"


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


class Tracker:
    """Shadow state of a machine's shared memory, registers and asynchronous copies."""

    def __init__(self, machine: Machine, entry: Entry) -> None:
        self._machine = machine
        self._entry = entry
        self.mbarriers: Mbarriers
        self.clocks = Clocks(machine)
        self.grain, self.tensor_grain = grain_of(entry), tensor_grain_of(entry)
        self._shared = machine.shared.bytes.view(unsigned(8 * self.grain))
        self.order = AsyncOrder(machine, self.clocks, self.grain)
        self.globals = GlobalOrder(machine, self.clocks, entry)
        self.grids = GridOrder(machine)
        self.flags = FlagOrder(machine, self.clocks)
        self.proxies = Proxies(machine, self.grain)
        self.flights = Flights(machine, entry)
        self.registers = RegisterWatch(machine, entry, self.flights)
        self.async_reads = AsyncReads(machine, self.grain)
        count = machine.shared.bytes.size // self.grain
        warps = self.clocks.warp_columns
        self._writer = np.full(count, _NOBODY, np.int32)
        self._write_epoch = np.zeros(count, np.int32)
        self._write_column = np.zeros(count, np.int32)
        self._strong = np.zeros(count, np.bool_)
        self._is_read = np.zeros(count, np.bool_)
        self._reader = np.full((count, warps), _NOBODY, np.int32)
        self._read_epoch = np.zeros((count, warps), np.int32)
        self._read_strong = np.zeros((count, warps), np.bool_)
        self._in_flight = np.full(count, _NOBODY, np.int32)
        self._flights: list[Copy] = []
        self._copies = 0
        self._committed = np.zeros(machine.lanes, np.int64)

    def start(self) -> None:
        """A batch begins: all contents are undefined."""
        self.clocks.start()
        self.order.start()
        self.globals.start()
        self.grids.start()
        self.flags.start()
        self.proxies.start()
        self.flights.start()
        self.async_reads.start()
        for array in (self._writer, self._in_flight):
            array.fill(_NOBODY)
        self._write_epoch.fill(0)
        self._is_read.fill(False)
        self.registers.start()
        self._committed.fill(0)
        self._flights.clear()

    # ---- order

    def arrived(self, number: int, lanes: Array) -> None:
        """bar.arrive at a barrier."""
        self.clocks.arrived(number, lanes)

    def met(self, number: int, lanes: Array | None) -> None:
        """Lanes (None: all live ones) completed a barrier."""
        self.clocks.met(number, self._machine.live_mask() if lanes is None else lanes)

    def warp_met(self, lanes: Array) -> None:
        """bar.warp.sync."""
        self.clocks.warp_met(lanes)

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
        """fence.proxy.async for shared memory: covers writes of these threads and those ordered before by a barrier."""
        lanes = self._machine.active(mask)
        self.clocks.proxy_fence(self._machine.live_mask() if lanes is None else lanes, self.clocks.shared_fences)
        if self.proxies.is_clean:
            return
        numbers = self._numbers(lanes)
        open_bytes = np.flatnonzero(self.proxies.unfenced)
        writer = self._writer[open_bytes]
        own = np.zeros(self._machine.lanes, np.bool_)
        own[numbers] = True
        cta, warp = self._place(numbers)
        known = np.zeros((self._machine.ctas, self._machine.slots // WARP), np.int32)
        np.maximum.at(known, cta, self.clocks.own()[cta, warp])
        writer_cta, writer_warp = self._place(np.maximum(writer, 0))
        covered = own[writer] | (self._write_epoch[open_bytes] <= known[writer_cta, writer_warp])
        self.proxies.fence(open_bytes[covered])

    # ---- accesses of threads

    def loads(self, memory: Array, site: Site, size: int, lanes: Array | None, cells: Array, strong: bool) -> None:
        """Lanes read cells of a memory. Reports hazards."""
        if memory is self._machine.shared.cells[size]:
            self.read(site, size, lanes, cells, strong)
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
            self.write(site, size, lanes, cells, data, strong)
        elif memory is self._machine.global_space.cells[size]:
            numbers = self._numbers(lanes)
            self.grids.check(site, numbers, cells.reshape(numbers.size, -1) * size, "writes")
            self.globals.write(site, size, numbers, cells)
        if strong:
            is_shared = memory is self._machine.shared.cells[size]
            self.flags.wrote(site.instruction, is_shared, cells * size, self._numbers(lanes))

    # ---- shared memory

    def _grains(self, cells: Array, size: int) -> Array:
        return grains(cells, size, self.grain)

    def _numbers(self, lanes: Array | None) -> Array:
        return np.arange(self._machine.lanes) if lanes is None else np.flatnonzero(lanes)

    def _owners(self, cells: Array, lanes: Array | None) -> Array:
        """The lane of each access, as a column: cells are [lane], [several, lane] or [several, lane, several]."""
        numbers = self._numbers(lanes)
        if cells.ndim == 3:
            numbers = np.repeat(numbers, cells.shape[2])
        return np.tile(numbers, cells.shape[0] if cells.ndim > 1 else 1)[:, None]

    def read(self, site: Site, size: int, lanes: Array | None, cells: Array, strong: bool = False) -> None:
        """Lanes read cells of `size` bytes. Reports hazards."""
        where = self._grains(cells, size)
        reader = self._owners(cells, lanes)
        self._check_flight(site, where, reader, "reads")
        self._check_written(site, where, reader)
        self._check_writer(site, where, reader, strong, "reads")
        self._note_read(where, reader, strong)

    def _check_written(self, site: Site, where: Array, reader: Array) -> None:
        unwritten = self._writer[where] == _NOBODY
        if unwritten.any():
            unwritten &= (self._in_flight[where] == _NOBODY) & ~self.order.is_landing(where)  # that was reported
        if unwritten.any():
            lane, byte = self._first(unwritten, reader, where)
            message = f"reads byte {byte} of shared memory, which nothing has written"
            self._found(Kind.UNWRITTEN_SHARED, site, lane, message)

    def _note_read(self, where: Array, reader: Array, strong: bool) -> None:
        epoch = np.broadcast_to(self.clocks.epoch[self._place(reader)], where.shape)
        warp = np.broadcast_to(self.clocks.column(reader), where.shape)
        reader = np.broadcast_to(reader, where.shape)
        unread = where[~self._is_read[where]]
        self._reader[unread] = _NOBODY
        self._is_read[unread] = True
        before = self._reader[where, warp]
        fresh = (self._read_epoch[where, warp] < epoch) | (before == _NOBODY)
        self._reader[where, warp] = np.where(fresh | (before == reader), reader, _MANY)
        # several lanes of one instruction may read one byte: the last assignment wins, so look again
        self._reader[where, warp] = np.where(self._reader[where, warp] == reader, reader, _MANY)
        self._read_strong[where, warp] = strong & (fresh | self._read_strong[where, warp])
        self._read_epoch[where, warp] = epoch

    def write(
        self, site: Site, size: int, lanes: Array | None, cells: Array, data: Array | None, strong: bool = False
    ) -> None:
        """Lanes write data (None: unknown) to cells of `size` bytes. Reports hazards."""
        if data is not None:
            data = np.ascontiguousarray(data)
        where = self._grains(cells, size)
        writer = self._owners(cells, lanes)
        self._check_flight(site, where, writer, "writes")
        self._check_write(site, where, writer, strong, data)
        self._note_write(where, writer, strong)
        if data is not None and not strong:
            self._check_same_instruction(site, where, writer, data)

    def _check_write(self, site: Site, where: Array, writer: Array, strong: bool, data: Array | None) -> None:
        unchanged = None
        if data is not None:
            unchanged = self._shared[where] == data.view(self._shared.dtype).reshape(where.shape)
        self._check_writer(site, where, writer, strong, "writes", unchanged)
        self.async_reads.check_write(site, where, writer, self.clocks)
        self._check_readers(site, where, writer, strong, "writes", "read")

    def _check_readers(
        self, site: Site, where: Array, writer: Array, strong: bool, verb: str, use: str, kind: Kind = Kind.RACE
    ) -> None:
        """Writes that are not ordered after the reads of other threads."""
        row, part = np.nonzero(self._is_read[where])
        if row.size == 0:
            return
        used, lanes = where[row, part], writer[row, 0]
        known = self.clocks.known[self._place(lanes)][:, : self.clocks.warp_columns]
        others = self._reader[used]
        racing = (others != _NOBODY) & (self._read_epoch[used] > known) & (others != lanes[:, None])
        if strong:
            racing &= ~self._read_strong[used]
        if racing.any():
            position = tuple(int(axis[0]) for axis in np.nonzero(racing))
            lane, byte = int(lanes[position[0]]), int(used[position[0]]) * self.grain
            other = int(others[position])
            reader = f"several threads {use}" if other == _MANY else f"{self._who(other)} {use}"
            self._race(kind, site, lane, verb, byte, reader)

    def _note_write(self, where: Array, writer: Array, strong: bool) -> None:
        self._writer[where] = writer
        self._write_epoch[where] = self.clocks.epoch[self._place(writer)]
        self._write_column[where] = self.clocks.column(writer)
        self._strong[where] = strong
        self._is_read[where] = False
        self.proxies.generic_wrote(where)

    def _check_same_instruction(self, site: Site, where: Array, writer: Array, data: Array) -> None:
        lost = self._writer[where] != writer
        if not lost.any():
            return
        values = np.zeros_like(self._shared)
        given = data.view(self._shared.dtype).reshape(where.shape)
        values[where] = given
        clash = lost & (values[where] != given)
        if clash.any():
            lane, byte = self._first(clash, writer, where)
            other = self._who(int(self._writer[int(where[clash][0])]))
            self._race(Kind.RACE, site, lane, "writes", byte, f"{other} at the same time writes otherwise")

    def async_read(self, site: Site, where: Array, lanes: Sequence[int], rows: Array | None = None) -> None:
        """Operations of the async proxy that these lanes start read grains [tile, n]. Reports hazards.

        rows: the tile that each lane reads (None: its own, or the only one).
        """
        reader = np.array(lanes)[:, None]
        rows = np.minimum(np.arange(reader.size), where.shape[0] - 1) if rows is None else rows
        if self._is_settled(where, reader, rows):
            check_remote(self._machine, self.clocks, site, where[rows][:, :1] * self.grain, reader, _STARTS)
            return
        cells = where[rows]
        self._check_flight(site, cells, reader, _STARTS)
        self._check_written(site, cells, reader)
        self._check_writer(site, cells, reader, False, _STARTS)
        self._check_fenced(site, cells, reader, _STARTS)

    def _is_settled(self, where: Array, lanes: Array, rows: Array) -> bool:
        """Whether each tile was written by one copy that its readers know of, and nobody has used it since.

        That is how tiles are when all is well; it takes a fraction of the checks that name a hazard.
        """
        if self.order.is_owned(where) or (self._copies and (self._in_flight[where] != _NOBODY).any()):
            return False
        epoch, column = self._write_epoch[where], self._write_column[where]
        first, by = epoch[:, 0], column[:, 0]
        if not (self._writer[where] <= ASYNC).all() or self.proxies.generic[where].any():
            return False
        if (epoch != first[:, None]).any() or (column != by[:, None]).any():
            return False
        known = self.clocks.known[(*self._place(lanes[:, 0]), by[rows])]
        return bool((first[rows] <= known).all())

    def _check_fenced(self, site: Site, where: Array, lanes: Array, verb: str) -> None:
        """The async proxy is about to access grains [n, m] for lanes [n, 1]: do they know of fences after writes?"""
        if self.proxies.is_unused or self.proxies.check(site, where, lanes, verb):
            return
        column = self.clocks.shared_fences + np.minimum(self._write_column[where], self.clocks.warp_columns - 1)
        fenced = self.clocks.known[(*self._place(lanes), column)]
        bad = self.proxies.generic[where] & (self._write_epoch[where] > fenced)
        if bad.any():
            lane, byte = self._first(bad, lanes, where)
            other = self._who(int(self._writer[where][bad][0]))
            message = (
                f"{verb} byte {byte} of shared memory, which {other} wrote, and no fence.proxy.async after that is "
                "ordered before this instruction; put it between the write and a barrier"
            )
            self._found(Kind.PROXY_FENCE, site, lane, message)

    def async_read_begins(self, site: Site, where: Array, lane: int, warps: Array) -> None:
        """A warpgroup's operation reads grains until a wait; lane: its first; warps: which of its warps start it."""
        first = self.warpgroup(lane)
        committed = self.flights.warp_commits()[first : first + 4]
        self.async_reads.begin(site, where, lane, np.where(warps, committed, np.iinfo(np.int64).max))

    def warpgroup(self, lane: int) -> int:
        """The machine's number of the first warp of a lane's warpgroup; warpgroups begin with their CTA."""
        slots = self._machine.slots
        return lane // slots * (slots // WARP) + lane % slots // WARP // 4 * 4

    def wgmma_wait(self, mask: Array | None, pending: int) -> None:
        """wgmma.wait_group."""
        self.flights.wait(mask, pending)
        lanes = self._machine.active(mask)
        active = self._machine.live_mask() if lanes is None else lanes
        warps: Array = np.any(active.reshape(-1, WARP), axis=1)
        least = self.flights.warp_commits() - pending
        self.async_reads.waited(warps, least, self.clocks.epoch.reshape(-1))

    def _check_writer(
        self, site: Site, where: Array, lanes: Array, strong: bool, verb: str, harmless: Array | None = None,
        kind: Kind = Kind.RACE,
    ) -> None:  # fmt: skip
        """Accesses that are not ordered after the last write of another thread."""
        cta, warp = self._place(lanes)
        racing = self._write_epoch[where] > self.clocks.known[cta, warp, self._write_column[where]]
        if not racing.any():
            return
        writer = self._writer[where]
        racing &= ((writer >= 0) & (writer != lanes)) | (writer <= ASYNC)
        if strong:
            racing &= ~self._strong[where]
        if harmless is not None:
            racing &= ~harmless
        if racing.any():
            lane, byte = self._first(racing, lanes, where)
            who = int(writer[racing][0])
            if who <= ASYNC:
                other = "a copy wrote for an mbarrier whose phase this thread has not seen complete,"
                self._race(Kind.COPY_RACE, site, lane, verb, byte, other)
            else:
                self._race(kind, site, lane, verb, byte, f"{self._who(who)} wrote")

    def _check_flight(self, site: Site, where: Array, lanes: Array, verb: str) -> None:
        self.order.check(site, where, lanes, verb, is_write=verb in ("writes", "copies to"))
        check_remote(self._machine, self.clocks, site, where[:, :1] * self.grain, lanes, verb)
        flying = self._in_flight[where] != _NOBODY
        if flying.any():
            lane, byte = self._first(flying, lanes, where)
            issuer = self._who(int(self._in_flight[where][flying][0]))
            self._found(
                Kind.COPY_IN_FLIGHT,
                site,
                lane,
                f"{verb} byte {byte} of shared memory while a cp.async of {issuer} to it is in "
                "flight; that thread must wait for its group first",
            )

    def _place(self, lanes: Array) -> tuple[Array, Array]:
        return lanes // self._machine.slots, lanes % self._machine.slots // WARP

    def _first(self, bad: Array, lanes: Array, where: Array) -> tuple[int, int]:
        row, column = (int(axis[0]) for axis in np.nonzero(bad))
        return int(lanes[row, 0]), int(where[row, column]) * self.grain % self._machine.shared.stride

    def _who(self, lane: int) -> str:
        return self._machine.describe(lane)

    def _found(self, kind: Kind, site: Site, lane: int, message: str) -> None:
        who = self._who(lane)
        self._machine.findings.found(kind, f"{who} {message}", site.instruction, who)

    def _race(self, kind: Kind, site: Site, lane: int, verb: str, byte: int, other: str) -> None:
        inside, who = byte % self._machine.shared.stride, self._who(lane)
        message = f"race: {who} {verb} byte {inside} of shared memory, which {other} with no barrier between"
        self._machine.findings.found(kind, message, site.instruction, who)

    # ---- asynchronous copies

    def copy(self, site: Site, size: int, lanes: Array | None, cells: Array, data: Array) -> None:
        """cp.async: the destination is undefined until the issuing thread has waited."""
        numbers = self._numbers(lanes)
        where = self._grains(cells, size)
        self._check_flight(site, where, numbers[:, None], "copies to")
        self._check_write(site, where, numbers[:, None], False, None)
        self._in_flight[where] = numbers[:, None]
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

    def copies_until_now(self, numbers: Array, cell: int) -> Callable[[Array], None]:
        """cp.async.mbarrier.arrive: what lets earlier copies of some of these lanes arrive, and tells who waits."""
        newest = self._copies
        epoch = np.zeros(self._machine.lanes, np.int32)
        epoch[numbers] = self.clocks.epoch[self._place(numbers)]
        said = self.order.say(numbers)

        def land(lanes: Array) -> None:
            chosen = np.zeros(self._machine.lanes, np.bool_)
            chosen[lanes] = True

            def done(flight: Copy) -> Array:
                return chosen[flight.lanes] & (flight.number <= newest)

            self._land(done, epoch)
            self.order.hand_on(cell, said[self._place(lanes)].max(axis=0), self.mbarriers)

        return land

    def _land(self, chosen: Callable[[Copy], Array], epoch: Array | None = None) -> None:
        """Let copies arrive: of each the lanes that `chosen` marks; epoch: by lane, when they count as written."""
        rest: list[Copy] = []
        for flight in self._flights:
            done = chosen(flight)
            if not done.any():
                rest.append(flight)
                continue
            where = self._grains(flight.cells[done], flight.size)
            self._machine.shared.cells[flight.size][flight.cells[done]] = flight.data[done]
            self._in_flight[where] = _NOBODY
            self._note_write(where, flight.lanes[done][:, None], strong=False)
            if epoch is not None:
                self._write_epoch[where] = epoch[flight.lanes[done]][:, None]
            if not done.all():
                left = ~done
                rest.append(
                    Copy(flight.site, flight.size, flight.lanes[left], flight.cells[left], flight.data[left],
                         flight.group[left], flight.number)
                )  # fmt: skip
        self._flights = rest

    # ---- mbarriers and the copies that complete on them

    def init_mbarrier(self, site: Site, numbers: Array, cells: Array) -> None:
        """mbarrier.init by lanes at 8-byte cells."""
        where = self._grains(cells, 8)
        self._check_flight(site, where, numbers[:, None], "writes")
        self._check_write(site, where, numbers[:, None], False, None)
        self._note_write(where, numbers[:, None], strong=False)
        self.order.init_object(numbers, cells)

    def use_mbarrier(self, site: Site, numbers: Array, cells: Array) -> None:
        """Lanes use mbarriers, whose init must come before. Reports hazards."""
        fenced: dict[int, bool] = {}
        for cell in dict.fromkeys(cells.tolist()):
            if not self.order.has_object(cell):
                raise self._uninitialised(site, int(numbers[cells == cell][0]))
            fenced[cell] = self.order.is_initialised(cell)
        where, lanes = cells[:, None] * (_OBJECT // self.grain), numbers[:, None]
        if not all(fenced.values()):
            known = np.array([[fenced[cell]] for cell in cells.tolist()])
            self._check_writer(site, where, lanes, False, "uses the mbarrier at", known, Kind.MBARRIER_INIT)
        check_remote(self._machine, self.clocks, site, cells[:, None] * _OBJECT, lanes, "uses an mbarrier in the")

    def _uninitialised(self, site: Site, lane: int) -> HazardError:
        who = self._who(lane)
        message = f"{who} uses what is no mbarrier object: it was never initialised"
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
        """Lanes come to a wait for mbarriers."""
        self.use_mbarrier(site, numbers, cells)
        self._note_read(self._grains(cells, 8), numbers[:, None], strong=False)

    def arrive(self, site: Site, numbers: Array, cells: Array, releases: bool) -> None:
        """Lanes arrive at mbarriers; without release only who sees the phase complete knows of it."""
        self.use_mbarrier(site, numbers, cells)
        if releases:
            self._note_read(self._grains(cells, 8), numbers[:, None], strong=False)
        self.order.arrive(numbers, cells, releases, self.mbarriers)

    def waited(self, numbers: Array, cells: Array, acquires: bool) -> None:
        """Lanes saw phases of mbarriers complete."""
        self._note_read(self._grains(cells, 8), numbers[:, None], strong=False)
        self.order.wait(numbers, cells, acquires, self.mbarriers)

    def issue(self, transfer: "Transfer") -> None:
        """A copy of the async proxy starts. Reports where what it touches is not ready."""
        lane = np.array([[transfer.lane]])
        if transfer.cell is not None:
            self.use_mbarrier(transfer.site, lane[0], np.array([transfer.cell]))
        if transfer.source is not None:
            self.async_read(transfer.site, transfer.source_grains(self.grain)[None, :], [transfer.lane])
        if transfer.target is not None:
            where = grains(transfer.target, transfer.unit, self.grain).reshape(-1)
            if transfer.updates:
                self.order.check_update(transfer.site, where[None, :], lane)
            else:
                self._check_flight(transfer.site, where[None, :], lane, "copies to")
            self._check_write(transfer.site, where[None, :], lane, transfer.updates, None)
            self._check_fenced(transfer.site, where[None, :], lane, "copies to")
        for place, verb in ((transfer.origin, "copies"), (transfer.landing, "copies to")):
            if place is not None and self.grids.changed is not None:
                self.grids.check(transfer.site, lane[0], place()[None, :], verb)
        self.globals.begin(transfer)
        self.order.begin(transfer)

    def read_done(self, transfer: "Transfer") -> None:
        """A copy no longer reads its source; its thread knows, others must hear of it."""
        self.order.read_done(transfer)
        self.globals.read_done(transfer)
        if transfer.source is not None and transfer.cell is None:
            where = transfer.source_grains(self.grain)
            lane = np.array([transfer.lane])
            column = int(self.clocks.column(lane)[0])
            unread = where[~self._is_read[where]]
            self._reader[unread] = _NOBODY
            self._is_read[unread] = True
            self._reader[where, column] = transfer.lane
            self._read_epoch[where, column] = self.clocks.epoch[self._place(lane)][0]
            self._read_strong[where, column] = False

    def write_done(self, transfer: "Transfer") -> None:
        """A copy arrived."""
        self.globals.write_done(transfer)
        done = self.order.write_done(transfer)
        if done is not None:
            where, writer, epoch = done
            self._writer[where] = writer
            self._write_epoch[where] = epoch
            self._write_column[where] = (
                self.order.column_of(transfer.cell)
                if transfer.cell is not None
                else self.clocks.column(np.array(transfer.lane))
            )
            self._strong[where] = transfer.updates
            self._is_read[where] = False
            self.proxies.async_wrote(where)
