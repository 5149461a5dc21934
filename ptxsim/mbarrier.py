"""mbarrier objects: eight bytes of shared memory each, updated for many lanes at once.

The object is opaque in PTX. Here it holds the expected and the pending arrivals, the outstanding transaction bytes and
the phase bit; a fixed bit distinguishes it from other contents. A phase completes when no arrival is pending and no
byte is outstanding; then the phase bit flips and the pending count is reset. Source: PTX ISA, "Parallel Synchronization
and Communication Instructions: mbarrier", and its ranges: counts below 2^20, transactions within +-(2^20 - 1).
"""

import numpy as np

from ptxsim.machine import Machine
from ptxsim.memory import Fault
from ptxsim.ptx_types import Array

MOST = (1 << 20) - 1
_PENDING = 20
_TX = 40
_PHASE = 61
_VALID = 1 << 62
_COUNT_MASK = np.int64(MOST)
_TX_MASK = np.int64((1 << 21) - 1)
_TX_ZERO = 1 << 20
INVALID = (1 << 64) - 1
_TRUE = np.ones(1, np.bool_)


def pending_of(state: Array) -> Array:
    """The pending arrivals in states or tokens."""
    return (state.view(np.int64) >> _PENDING) & _COUNT_MASK


def expected_of(state: Array) -> Array:
    """The arrivals that each phase expects."""
    return state.view(np.int64) & _COUNT_MASK


def owed_of(state: Array) -> Array:
    """The outstanding bytes of the phase's transactions; negative when more arrived than were expected."""
    return ((state.view(np.int64) >> _TX) & _TX_MASK) - _TX_ZERO


def phase_of(state: Array) -> Array:
    """The phase bit of states or tokens."""
    return (state.view(np.int64) >> _PHASE) & np.int64(1)


def _are_objects(states: Array) -> bool:
    """Whether all states are of mbarrier objects."""
    return bool(((states.view(np.int64) >> 62) == 1).all())


def _runs(cells: Array) -> Array | None:
    """The starts of runs of equal cells, None if a cell recurs after others."""
    starts = np.flatnonzero(np.concatenate((_TRUE, cells[1:] != cells[:-1])))
    distinct = cells[starts]
    return starts if bool((distinct[1:] > distinct[:-1]).all()) else None


def _pack(expected: Array, pending: Array, owed: Array, phase: Array) -> Array:
    packed = expected | (pending << _PENDING) | ((owed + _TX_ZERO) << _TX) | (phase << _PHASE) | np.int64(_VALID)
    return packed.astype(np.int64).view(np.uint64)


class Mbarriers:
    """The mbarrier objects in a machine's shared memory, named by their 8-byte cell.

    completed: phases each cell has completed in this batch; changed: whether one completed since the
    scheduler last looked; progress: counts every change of any object.
    """

    def __init__(self, machine: Machine) -> None:
        self._cells = machine.shared.cells[8]
        self.completed = np.zeros(self._cells.size, np.int64)
        self.live: set[int] = set()
        self.changed = False
        self.progress = 0

    def start(self) -> None:
        """A batch begins: no object exists."""
        self.completed.fill(0)
        self.live.clear()
        self.changed = False

    def note_change(self) -> None:
        """Something that lanes may be waiting for has changed."""
        self.changed = True
        self.progress += 1

    def init(self, cells: Array, counts: Array) -> None:
        """mbarrier.init. Raises Fault for a count out of range."""
        bad = (counts < 1) | (counts > MOST)
        if bad.any():
            position = int(np.argmax(bad))
            raise Fault(position, f"an mbarrier with count {int(counts[position])}; 1 to {MOST} are possible")
        zero = np.zeros(cells.size, np.int64)
        counts = counts.astype(np.int64)
        self._cells[cells] = _pack(counts, counts, zero, zero)
        self.live.update(cells.tolist())
        self.progress += 1

    def invalidate(self, cells: Array) -> None:
        """mbarrier.inval."""
        self.states(cells)
        self._cells[cells] = INVALID
        self.live.difference_update(cells.tolist())
        self.progress += 1

    def states(self, cells: Array) -> Array:
        """The states of cells. Raises Fault if one is not an mbarrier object."""
        states = self._cells.take(cells)
        if not _are_objects(states):
            bad = (states.view(np.int64) >> 62) != 1
            position = int(np.argmax(bad))
            raise Fault(
                position,
                "something that is not an mbarrier object: it was never initialised, invalidated, or overwritten",
            )
        return states

    def arrive(self, cells: Array, counts: Array, owed: Array | None = None, drops: bool = False) -> Array:
        """Count arrivals (after adding outstanding bytes), in lane order if lanes share a cell; returns the states
        before each.

        drops: the arrivals also reduce the expected count of later phases. Raises Fault.
        """
        if cells.size == 1:
            return self._arrive_once(cells, counts, owed, drops)
        unique, inverse = np.unique(cells, return_inverse=True)
        if unique.size == cells.size:
            return self._arrive_once(cells, counts, owed, drops)
        totals = np.bincount(inverse, weights=counts, minlength=unique.size).astype(np.int64)
        before = self.states(cells)
        if (totals > pending_of(self._cells[unique])).any():
            return self._arrive_in_turns(cells, counts, owed, drops)
        given = None if owed is None else np.bincount(inverse, weights=owed, minlength=unique.size).astype(np.int64)
        self._arrive_once(unique, totals, given, drops)
        return self._tokens(before, inverse, counts)

    def count(self, cells: Array, counts: Array, owed: Array | None = None, drops: bool = False) -> None:
        """As `arrive`, for lanes that do not need the states."""
        starts = _runs(cells)
        if starts is None or starts.size == cells.size:
            self.arrive(cells, counts, owed, drops)
            return
        unique, totals = cells[starts], np.add.reduceat(counts, starts)
        states = self._cells.take(unique)
        if (totals > pending_of(states)).any() or not _are_objects(states):
            self.arrive(cells, counts, owed, drops)
            return
        self._arrive_once(unique, totals, None if owed is None else np.add.reduceat(owed, starts), drops)

    def signal(self, cell: int, owed: int, arrivals: int) -> None:
        """A copy completes `owed` bytes and then makes arrivals, as `add` and `arrive` of one cell do. Raises Fault."""
        if not owed and not arrivals:
            return
        state = int(self._cells[cell])
        expected, pending = state & MOST, state >> _PENDING & MOST
        left = (state >> _TX & int(_TX_MASK)) - _TX_ZERO - owed
        # if the bytes complete a phase, the arrivals count for the next one
        plain = (
            state >> 62 == 1
            and abs(left) <= MOST
            and pending >= arrivals
            and (pending or left or not owed or not arrivals)
        )
        if not plain:
            if owed:
                self.add(np.array([cell]), np.array([-owed]))
            if arrivals:
                self.arrive(np.array([cell]), np.array([arrivals]))
            return
        pending -= arrivals
        phase = state >> _PHASE & 1
        complete = pending == 0 and left == 0
        if complete:
            pending, phase = expected, phase ^ 1
            self.completed[cell] += 1
            self.changed = True
        self._cells[cell] = expected | pending << _PENDING | (left + _TX_ZERO) << _TX | phase << _PHASE | _VALID
        self.progress += 1

    def is_object(self, cell: int) -> bool:
        """Whether a cell holds an mbarrier object."""
        return int(self._cells[cell]) >> 62 == 1

    def completes(self, cells: Array, counts: Array) -> bool:
        """Whether these arrivals continue past the phase that some of them complete."""
        unique, inverse = np.unique(cells, return_inverse=True)
        totals = np.bincount(inverse, weights=counts, minlength=unique.size)
        return bool((totals > pending_of(self._cells[unique])).any())

    def _tokens(self, before: Array, inverse: Array, counts: Array) -> Array:
        """The states that arrivals found, each after those of earlier lanes on the same object."""
        order = np.argsort(inverse, kind="stable")
        ordered = counts[order].astype(np.int64)
        running = np.cumsum(ordered) - ordered
        group = inverse[order]
        starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
        running -= np.repeat(running[starts], np.diff(np.append(starts, group.size)))
        result = before.view(np.int64).copy()
        result[order] -= running << _PENDING
        return result.view(np.uint64)

    def _arrive_in_turns(self, cells: Array, counts: Array, owed: Array | None, drops: bool) -> Array:
        result = np.empty(cells.size, np.uint64)
        for number in range(cells.size):
            here = slice(number, number + 1)
            try:
                result[here] = self._arrive_once(cells[here], counts[here], None if owed is None else owed[here], drops)
            except Fault as fault:
                raise Fault(number, fault.reason) from None
        return result

    def _arrive_once(self, cells: Array, counts: Array, owed: Array | None, drops: bool) -> Array:
        """Arrivals on distinct objects."""
        before = self.states(cells)
        counts = counts.astype(np.int64)
        bytes_owed = owed_of(before) if owed is None else owed_of(before) + owed.astype(np.int64)
        pending = pending_of(before) - counts
        if (pending < 0).any():
            position = int(np.argmax(pending < 0))
            raise Fault(
                position,
                f"an mbarrier with {int(pending_of(before)[position])} pending arrivals, and arrives "
                f"{int(counts[position])} times",
            )
        expected = expected_of(before) - (counts if drops else 0)
        self._settle(cells, expected, pending, bytes_owed, phase_of(before))
        return before

    def add(self, cells: Array, owed: Array, pending: int = 0) -> None:
        """Change the outstanding bytes (expect_tx: more, complete_tx: fewer) or the pending arrivals. Raises Fault."""
        unique, inverse = np.unique(cells, return_inverse=True)
        before = self.states(cells)[np.unique(inverse, return_index=True)[1]]
        change = np.bincount(inverse, weights=owed, minlength=unique.size).astype(np.int64)
        more = np.bincount(inverse, minlength=unique.size).astype(np.int64) * pending
        self._settle(unique, expected_of(before), pending_of(before) + more, owed_of(before) + change, phase_of(before))

    def _settle(self, cells: Array, expected: Array, pending: Array, owed: Array, phase: Array) -> None:
        """Store states, completing the phases that are complete. Raises Fault for bytes out of range."""
        bad = np.abs(owed) > MOST
        if bad.any():
            position = int(np.argmax(bad))
            raise Fault(position, f"an mbarrier that would owe {int(owed[position])} bytes; {MOST} is the limit")
        complete = (pending == 0) & (owed == 0)
        self._cells[cells] = _pack(expected, np.where(complete, expected, pending), owed, phase ^ complete)
        self.progress += 1
        if complete.any():
            self.completed[cells] += complete
            self.changed = True

    def describe(self, cell: int) -> str:
        """The state of an object, in words."""
        state = self._cells[cell : cell + 1]
        if int(state.view(np.int64)[0] >> 62) != 1:
            return "no longer an mbarrier object"
        return (
            f"phase {int(self.completed[cell])}, {int(pending_of(state)[0])} of {int(expected_of(state)[0])} arrivals "
            f"pending, {int(owed_of(state)[0])} bytes owed"
        )
