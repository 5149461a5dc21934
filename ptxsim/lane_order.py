"""Ordering by lanes: what one lane publishes for its warp covers its own accesses, and those of other lanes only up to
their last rendezvous.

Order between warps follows the epochs of warps (see clocks.py). If some lanes of a warp arrive or release while others
have accessed shared memory since bar.warp.sync or a barrier, those accesses count as made in the next epoch.
Instructions of whole warps (ldmatrix, stmatrix) need no rendezvous. Source: PTX ISA, "Memory Consistency Model",
"bar.warp.sync".
"""

import numpy as np

from ptxsim.clocks import Clocks
from ptxsim.machine import WARP, Machine
from ptxsim.program import Entry, Instruction
from ptxsim.ptx_types import Array
from ptxsim.records import MANY, Records

# Accesses remembered before those no longer of interest are dropped, and the maximum number; older ones count as
# published.
_KEPT, _MOST = 32, 512
_STRONG = {"release", "relaxed", "acq_rel", "volatile"}


class LaneOrder:
    """The lanes that have accessed shared memory since their accesses were last published, where, and since which
    epoch.
    """

    def __init__(
        self, machine: Machine, entry: Entry, clocks: Clocks, records: Records, reader: Array, read_epoch: Array
    ) -> None:
        self._is_used = any(_tells(one) for one in entry.instructions)
        self._clocks = clocks
        self._records = records.all
        self._reader, self._read_epoch = reader, read_epoch
        self._open = np.zeros(machine.lanes, np.bool_)
        self._since = np.zeros(machine.lanes, np.int32)
        self._accesses: list[tuple[Array, Array]] = []
        self._most = _KEPT

    def start(self) -> None:
        """A batch begins: no lane has accessed anything."""
        self._open.fill(False)
        self._since.fill(0)
        self._accesses.clear()
        self._most = _KEPT

    def touched(self, where: Array, lanes: Array) -> None:
        """Lanes [n, 1] accessed grains [n, m], each on its own behalf."""
        if not self._is_used:
            return
        self._open[lanes] = True
        if len(self._accesses) >= self._most:
            self._accesses = [one for one in self._accesses if np.count_nonzero(self._open.take(one[1]))][-_MOST // 2 :]
            self._most = max(_KEPT, 2 * len(self._accesses))
        self._accesses.append((where, lanes))

    def met(self, lanes: Array) -> None:
        """Lanes of a mask have met, or each has published its own accesses."""
        self._open &= ~lanes
        np.copyto(self._since.reshape(-1, WARP), self._clocks.epoch.reshape(-1, 1), where=lanes.reshape(-1, WARP))

    def tell(self, numbers: Array, releases: bool) -> None:
        """Lanes are about to publish what their warps know; without release their warps' epochs do not change."""
        if not self._accesses:
            return
        later = self._clocks.epoch.reshape(-1) + releases
        self._open[numbers] = False
        is_told = np.zeros(later.size, np.bool_)
        is_told[numbers // WARP] = True
        left = self._open & np.repeat(is_told, WARP)
        if np.count_nonzero(left):
            self._delay(left, later)
        elif not np.count_nonzero(self._open):
            self._accesses.clear()
        self._since[numbers] = later[numbers // WARP]

    def _delay(self, left: Array, epoch: Array) -> None:
        """Accesses by lanes of a mask count as made in an epoch [warp]; those not remembered count as published."""
        chosen = [(where, lanes, left.take(lanes[:, 0])) for where, lanes in self._accesses]
        chosen = [(where, lanes, rows) for where, lanes, rows in chosen if np.count_nonzero(rows)]
        if not chosen:
            return
        where = np.concatenate([where[rows].reshape(-1) for where, _, rows in chosen])
        lane = np.concatenate([np.repeat(lanes[rows, 0], where.shape[1]) for where, lanes, rows in chosen])
        records, since, then = self._records, self._since.take(lane), epoch.take(lane // WARP)
        written = (records["writer"][where] == lane) & (records["epoch"][where] >= since)
        records["epoch"][where[written]] = then[written]
        column = self._clocks.column(lane)
        reader, when = self._reader[where, column], self._read_epoch[where, column]
        read = ((reader == lane) | (reader == MANY)) & (when >= since) & records["is_read"][where]
        self._read_epoch[where[read], column[read]] = then[read]


def _tells(instruction: Instruction) -> bool:
    """Whether an instruction may let only some lanes of a warp publish what they know."""
    return (
        instruction.base in ("mbarrier", "tcgen05", "atom", "red")
        or "mbarrier" in instruction.modifiers
        or bool(_STRONG.intersection(instruction.modifiers))
    )
