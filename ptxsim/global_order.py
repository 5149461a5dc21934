"""Global memory between the generic proxy and the async proxy.

A generic write that a bulk copy reads needs a fence.proxy.async after it, and the thread that starts the copy must know
of the write through a barrier; bytes that a bulk copy writes must not be accessed until its group is complete. Threads
of other clusters synchronise in ways that are not tracked: their fences and waits count for all earlier writes. Source:
PTX ISA, "Proxies", "cp.async.bulk".
"""

from typing import TYPE_CHECKING

import numpy as np

from ptxsim.access import Site
from ptxsim.clocks import Clocks
from ptxsim.findings import Kind
from ptxsim.machine import WARP, Machine
from ptxsim.program import Address, Entry, Instruction
from ptxsim.ptx_types import Array

if TYPE_CHECKING:
    from ptxsim.transfers import Transfer

# Instructions with an address that do not write global memory themselves, or only as copies.
_NO_WRITES = {
    "ld", "ldu", "cp", "mbarrier", "ldmatrix", "stmatrix", "tcgen05", "wgmma", "fence", "prefetch", "prefetchu",
    "clusterlaunchcontrol", "createpolicy", "griddepcontrol", "applypriority",
}  # fmt: skip
_ELSEWHERE = {"shared", "shared::cta", "shared::cluster", "local", "param", "param::func"}


def _may_write(instruction: Instruction) -> bool:
    """Whether an instruction may write global memory through the generic proxy."""
    if instruction.base == "call":
        return True
    has_address = any(isinstance(operand, Address) for operand in instruction.operands)
    return has_address and instruction.base not in _NO_WRITES and not _ELSEWHERE.intersection(instruction.modifiers)


class GlobalOrder:
    """Per byte of global memory: whether a generic write waits for a proxy fence, and which copy is writing it."""

    def __init__(self, machine: Machine, clocks: Clocks, entry: Entry) -> None:
        self._machine = machine
        self._clocks = clocks
        self._is_used = any("bulk" in instruction.modifiers for instruction in entry.instructions)
        self._has_writes = any(_may_write(instruction) for instruction in entry.instructions)
        count = machine.memory.arena.size if self._is_used else 0
        self._unfenced = np.zeros(count, np.bool_)
        self._writer = np.zeros(count, np.int32)
        self._epoch = np.zeros(count, np.int32)
        self._landing = np.zeros(count, np.int32)
        self._leaving = np.zeros(count, np.int32)
        self._readers = np.zeros(count, np.int16)
        self._open: list[Array] = []
        self._is_written = False
        self._transfers: list[Transfer] = []

    @property
    def is_watching(self) -> bool:
        """Whether copies that read global memory matter."""
        return self._is_used and (self._has_writes or bool(self._transfers))

    def start(self) -> None:
        """A batch begins; writes of earlier CTAs are no longer attributed to them."""
        if self._is_written:
            self._unfenced.fill(False)
            self._epoch.fill(0)
        for transfer in self._transfers:  # batches that ended normally left nothing behind
            if transfer.origin is not None and transfer.data is None:
                self._readers[transfer.origin()] = 0
            if transfer.landing is not None and not transfer.is_done:
                self._landing[transfer.landing()] = 0
        self._is_written = False
        self._open.clear()
        self._transfers.clear()

    def _bytes(self, cells: Array, size: int) -> Array:
        return (cells.reshape(-1)[:, None] * size + np.arange(size)).reshape(-1)

    # ---- threads

    def read(self, site: Site, size: int, numbers: Array, cells: Array) -> None:
        """Lanes read cells. Reports where a copy is writing them."""
        if self._is_used and self._transfers:
            self._check_landing(site, self._bytes(cells, size), np.repeat(numbers, size), "reads")

    def write(self, site: Site, size: int, numbers: Array, cells: Array) -> None:
        """Lanes write cells. Reports where a copy is writing them."""
        if not self._is_used:
            return
        where, writer = self._bytes(cells, size), np.repeat(numbers, size)
        self._check_landing(site, where, writer, "writes")
        self._check_leaving(site, where, writer)
        self._is_written = True
        self._unfenced[where] = True
        self._writer[where] = writer
        slots = self._machine.slots
        self._epoch[where] = self._clocks.epoch[writer // slots, writer % slots // WARP]
        self._open.append(where)

    def _check_landing(self, site: Site, where: Array, numbers: Array, verb: str) -> None:
        busy = self._landing[where] != 0
        if busy.any():
            position = int(np.argmax(busy))
            other = self._transfers[int(self._landing[where[position]]) - 1]
            who = self._machine.describe(int(numbers[position]))
            self._machine.findings.found(
                Kind.GLOBAL_IN_FLIGHT,
                f"{who} {verb} a byte of global memory that the copy of "
                f"line {other.site.instruction.line} by {self._machine.describe(other.lane)} is still writing; "
                "wait with cp.async.bulk.wait_group (without .read)",
                site.instruction,
                who,
            )

    def _check_leaving(self, site: Site, where: Array, numbers: Array) -> None:
        busy = self._readers[where] > 0
        if busy.any():
            position = int(np.argmax(busy))
            other = self._transfers[int(self._leaving[where[position]]) - 1]
            who = self._machine.describe(int(numbers[position]))
            self._machine.findings.found(
                Kind.GLOBAL_IN_FLIGHT,
                f"{who} writes a byte of global memory that the copy of "
                f"line {other.site.instruction.line} by {self._machine.describe(other.lane)} may still read; "
                "wait for the mbarrier that it completes on",
                site.instruction,
                who,
            )

    def fence(self, numbers: Array) -> None:
        """fence.proxy.async by lanes: covers their writes, writes known to them, and those of other CTAs."""
        if not self._is_used:
            return
        lanes = np.zeros(self._machine.lanes, np.bool_)
        lanes[numbers] = True
        self._clocks.proxy_fence(lanes, self._clocks.global_fences)
        if not self._open:
            return
        where = np.concatenate(self._open)
        where = where[self._unfenced[where]]
        slots = self._machine.slots
        writer = self._writer[where]
        own = np.zeros(self._machine.lanes, np.bool_)
        own[numbers] = True
        known = np.zeros_like(self._clocks.epoch)
        np.maximum.at(known, numbers // slots, self._clocks.own()[numbers // slots, numbers % slots // WARP])
        fencing = np.zeros(self._machine.ctas, np.bool_)
        fencing[numbers // slots] = True
        covered = own[writer] | (self._epoch[where] <= known[writer // slots, writer % slots // WARP])
        covered |= ~fencing[writer // slots]
        self._unfenced[where[covered]] = False
        self._open = [where[~covered]]

    # ---- copies

    def begin(self, transfer: "Transfer") -> None:
        """A copy starts. Reports where a generic write to its source has no fence after it."""
        if not self._is_used:
            return
        if transfer.origin is not None and (self._has_writes or self._transfers):
            where = transfer.origin()
            self._check_landing(transfer.site, where, np.full(where.size, transfer.lane), "copies")
            bad = self._unfenced[where]
            if bad.any():
                position = int(where[int(np.argmax(bad))])
                who = self._machine.describe(transfer.lane)
                self._machine.findings.found(
                    Kind.PROXY_FENCE,
                    f"{who} copies a byte of global memory that "
                    f"{self._machine.describe(int(self._writer[position]))} wrote with no fence.proxy.async after it",
                    transfer.site.instruction,
                    who,
                )
            if self._has_writes:
                self._check_known(transfer, where)
                self._transfers.append(transfer)
                self._leaving[where] = len(self._transfers)
                self._readers[where] += 1
        if transfer.landing is not None:
            self._transfers.append(transfer)
            self._landing[transfer.landing()] = len(self._transfers)

    def _check_known(self, transfer: "Transfer", where: Array) -> None:
        """Report a write of its cluster to the source that the thread of a copy does not know of."""
        slots, lane, writer = self._machine.slots, transfer.lane, self._writer[where]
        known = self._clocks.known[lane // slots, lane % slots // WARP, self._clocks.column(writer)]
        same_cluster = writer // slots // self._clocks.cluster == lane // slots // self._clocks.cluster
        bad = (writer != lane) & (self._epoch[where] > known) & same_cluster
        if not bad.any():
            self._check_fence_known(transfer, where, same_cluster)
        else:
            position = int(np.argmax(bad))
            who = self._machine.describe(lane)
            self._machine.findings.found(
                Kind.GLOBAL_RACE,
                f"race: {who} copies a byte of global memory that "
                f"{self._machine.describe(int(writer[position]))} wrote with no barrier between",
                transfer.site.instruction,
                who,
            )

    def _check_fence_known(self, transfer: "Transfer", where: Array, same_cluster: Array) -> None:
        """Report a write that the thread of a copy knows of without a proxy fence after it."""
        slots, lane, writer = self._machine.slots, transfer.lane, self._writer[where]
        column = self._clocks.global_fences + self._clocks.column(writer)
        bad = same_cluster & (self._epoch[where] > self._clocks.known[lane // slots, lane % slots // WARP, column])
        if bad.any():
            who, other = self._machine.describe(lane), self._machine.describe(int(writer[int(np.argmax(bad))]))
            self._machine.findings.found(
                Kind.PROXY_FENCE,
                f"{who} copies a byte of global memory that {other} wrote, and no fence.proxy.async after that is "
                "ordered before this copy; put it between the write and a barrier",
                transfer.site.instruction,
                who,
            )

    def read_done(self, transfer: "Transfer") -> None:
        """A copy no longer reads global memory."""
        if self._has_writes and self._is_used and transfer.origin is not None:
            self._readers[transfer.origin()] -= 1

    def write_done(self, transfer: "Transfer") -> None:
        """A copy arrived in global memory."""
        if self._is_used and transfer.landing is not None:
            self._landing[transfer.landing()] = 0
