"""The shadow of shared memory with hazards=True: who wrote and read it when, and the checks of threads' accesses.

State is kept by grain (see grains.py), or by region for memory that only the async proxy uses (see regions.py).
"""

import numpy as np

from ptxsim.access import Site
from ptxsim.async_order import ASYNC, AsyncOrder
from ptxsim.async_reads import AsyncReads
from ptxsim.clocks import Clocks
from ptxsim.geometry import WARP
from ptxsim.grains import grain_of, grains
from ptxsim.kinds import Kind
from ptxsim.lane_order import LaneOrder
from ptxsim.machine import Machine
from ptxsim.mbarrier_uses import Use
from ptxsim.program import Entry
from ptxsim.proxies import Proxies
from ptxsim.ptx_types import Array, unsigned
from ptxsim.records import IS_READ, MANY, NOBODY, OBJECT, READERS, Look, Records
from ptxsim.regions import Regions
from ptxsim.remote_memory import check_remote

_OBJECT = 8  # bytes of an mbarrier


class SharedShadow:
    """Last writer, readers and cp.async in flight of every grain of a machine's shared memory."""

    def __init__(self, machine: Machine, entry: Entry) -> None:
        self._machine = machine
        self.clocks = Clocks(machine)
        self.grain = grain_of(entry)
        self._shared = machine.shared.bytes.view(unsigned(8 * self.grain))
        self.regions = Regions(machine, self.grain, any("bulk" in one.modifiers for one in entry.instructions))
        count = machine.shared.bytes.size // self.grain
        self.records = Records(count)
        self.order = AsyncOrder(machine, self.clocks, self.grain, self.regions, self.records)
        self.proxies = Proxies(machine, self.grain, self.regions, self.records)
        self.async_reads = AsyncReads(machine, self.grain, self.regions)
        warps = self.clocks.warp_columns
        fields = self.records.all
        self._writer, self._write_epoch, self._write_column = fields["writer"], fields["epoch"], fields["column"]
        self._strong, self._is_read, self._in_flight = fields["strong"], fields["is_read"], fields["in_flight"]
        self._used: dict[Use, Array] = {}
        self._reader = np.full((count, warps), NOBODY, np.int32)
        self._read_epoch = np.zeros((count, warps), np.int32)
        self._read_strong = np.zeros((count, warps), np.bool_)
        self.regions.shadows += [self.records.whole, self._reader, self._read_epoch, self._read_strong]
        self.lanes = LaneOrder(machine, entry, self.clocks, self.records, self._reader, self._read_epoch)

    def start(self) -> None:
        """A batch begins: all contents are undefined."""
        self.clocks.start()
        self.regions.start()
        self.order.start()
        self.proxies.start()
        self.async_reads.start()
        self._used.clear()
        self.records.start()
        self.lanes.start()

    def _grains(self, cells: Array, size: int) -> Array:
        """The grains of cells that threads access, each a separate region from now on."""
        where = grains(cells, size, self.grain)
        self.regions.shatter(where)
        return where

    def _numbers(self, lanes: Array | None) -> Array:
        return np.arange(self._machine.lanes) if lanes is None else lanes.nonzero()[0]

    def _owners(self, cells: Array, lanes: Array | None) -> Array:
        """The lane of each access, as a column: cells are [lane], [several, lane] or [several, lane, several]."""
        numbers = self._numbers(lanes)
        if cells.ndim == 1:
            return numbers[:, None]
        if cells.ndim == 3:
            numbers = np.repeat(numbers, cells.shape[2])
        return np.tile(numbers, cells.shape[0])[:, None]

    def read(
        self, site: Site, size: int, lanes: Array | None, cells: Array, strong: bool = False
    ) -> tuple[Array, Array]:
        """Lanes read cells of `size` bytes: the grains [n, m] and their lanes [n, 1]. Reports hazards."""
        where = self._grains(cells, size)
        reader = self._owners(cells, lanes)
        look = self.records.look(where)
        if look.is_idle(OBJECT) and look.is_written and self._is_ordered(look, reader):
            check_remote(self._machine, self.clocks, site, where[:, :1] * self.grain, reader, "reads")
        else:
            self._check_flight(site, where, reader, "reads")
            self._check_written(site, where, reader)
            self._check_writer(site, where, reader, strong, "reads")
        self._note_read(where, reader, strong)
        return where, reader

    def _is_ordered(self, look: Look, lanes: Array) -> bool:
        """Whether the warps of lanes know of the writes that they read."""
        return not np.count_nonzero(look.epoch > self.clocks.heard(lanes, look.column))

    def _check_written(self, site: Site, where: Array, reader: Array) -> None:
        unwritten = self._writer[where] == NOBODY
        if unwritten.any():
            unwritten &= (self._in_flight[where] == 0) & ~self.order.is_landing(where)  # already reported
        if unwritten.any():
            lane, byte = self._first(unwritten, reader, where)
            message = f"reads byte {byte} of shared memory, which nothing has written"
            self._found(Kind.UNWRITTEN_SHARED, site, lane, message)

    def _note_read(self, where: Array, reader: Array, strong: bool, epoch: Array | None = None) -> None:
        """Lanes [n, 1] read grains [n, m]; epoch: when, None for now."""
        epoch = self.clocks.now(reader) if epoch is None else epoch
        cell = where * self.clocks.warp_columns + self.clocks.column(reader)
        readers, epochs, are_strong = (each.reshape(-1) for each in (self._reader, self._read_epoch, self._read_strong))
        is_read = self._is_read[where]
        if np.count_nonzero(is_read) != is_read.size:
            unread = where[~is_read]
            self._reader[unread] = NOBODY
            self._is_read[unread] = True
        before = readers.take(cell)
        fresh = (epochs.take(cell) < epoch) | (before == NOBODY)
        readers[cell] = np.where(fresh | (before == reader), reader, MANY)
        # several lanes of one instruction may read one byte: the last assignment wins, so check again
        lost = readers.take(cell) != reader
        if np.count_nonzero(lost):
            readers[cell] = np.where(lost, MANY, reader)
        are_strong[cell] = strong & (fresh | are_strong.take(cell))
        epochs[cell] = epoch

    def write(
        self, site: Site, size: int, lanes: Array | None, cells: Array, data: Array | None, strong: bool = False
    ) -> tuple[Array, Array]:
        """Lanes write data (None: unknown) to cells of `size` bytes: as `read`. Reports hazards."""
        if data is not None:
            data = np.ascontiguousarray(data)
        where = self._grains(cells, size)
        writer = self._owners(cells, lanes)
        is_idle = self._is_idle(where, writer)
        if is_idle:
            self._check_idle_write(site, where, writer, "writes")
        else:
            self._check_flight(site, where, writer, "writes")
            self._check_write(site, where, writer, strong, data)
        self._note_write(where, writer, strong, is_idle)
        if data is not None and not strong:
            self._check_same_instruction(site, where, writer, data)
        return where, writer

    def _is_idle(self, where: Array, lanes: Array) -> bool:
        """Whether nothing uses grains except perhaps operations of the tensor core, and lanes may write them."""
        look = self.records.look(where)
        return look.is_idle(OBJECT | READERS | IS_READ) and self._is_ordered(look, lanes)

    def _check_idle_write(self, site: Site, where: Array, lanes: Array, verb: str) -> None:
        """The remaining checks of a write if `_is_idle`."""
        check_remote(self._machine, self.clocks, site, where[:, :1] * self.grain, lanes, verb)
        self.async_reads.check_write(site, where, lanes, self.clocks)

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
        self._note_used()
        row, part = np.nonzero(self._is_read[where])
        if row.size == 0:
            return
        used, lanes = where[row, part], writer[row, 0]
        known = self.clocks.known[self._place(lanes)][:, : self.clocks.warp_columns]
        others = self._reader[used]
        racing = (others != NOBODY) & (self._read_epoch[used] > known) & (others != lanes[:, None])
        if strong:
            racing &= ~self._read_strong[used]
        if racing.any():
            position = tuple(int(axis[0]) for axis in np.nonzero(racing))
            lane, byte = int(lanes[position[0]]), int(used[position[0]]) * self.grain
            other = int(others[position])
            reader = f"several threads {use}" if other == MANY else f"{self._who(other)} {use}"
            self._race(kind, site, lane, verb, byte, reader)

    def _note_write(
        self, where: Array, writer: Array, strong: bool, is_idle: bool = False, epoch: Array | None = None
    ) -> None:
        """Lanes [n, 1] wrote grains [n, m]; is_idle: nothing else uses them; epoch: when, None for now."""
        epoch, column = self.clocks.now(writer) if epoch is None else epoch, self.clocks.column(writer)
        if is_idle:
            self.records.written(where, writer, epoch, column, strong)
        else:
            self._writer[where] = writer
            self._write_epoch[where], self._write_column[where] = epoch, column
            self._strong[where] = strong
            self._is_read[where] = False
            self.proxies.generic[where] = True
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
            self._race(Kind.RACE, site, lane, "writes", byte, f"{other} writes a different value at the same time")

    def _check_writer(
        self,
        site: Site,
        where: Array,
        lanes: Array,
        strong: bool,
        verb: str,
        harmless: Array | None = None,
        kind: Kind = Kind.RACE,
    ) -> None:
        """Accesses that are not ordered after the last write of another thread."""
        racing = self._write_epoch[where] > self.clocks.heard(lanes, self._write_column[where])
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

    def _note_used(self) -> None:
        """Record the uses of mbarriers that are not recorded yet."""
        for use, epoch in self._used.items():
            self._note_read(self._grains(use.cells, _OBJECT), use.last[:, None], strong=False, epoch=epoch[:, None])
        self._used.clear()

    def _check_flight(self, site: Site, where: Array, lanes: Array, verb: str) -> None:
        self._note_used()
        self.order.check(site, where, lanes, verb, is_write=verb in ("writes", "copies to"))
        check_remote(self._machine, self.clocks, site, where[:, :1] * self.grain, lanes, verb)
        flying = self._in_flight[where] != 0
        if flying.any():
            lane, byte = self._first(flying, lanes, where)
            issuer = self._who(int(self._in_flight[where][flying][0]) - 1)
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
