"""Hazards of tensor memory: results in flight, moves without a wait, unordered accesses.

tcgen05.mma, cp and shift complete when an mbarrier at which a later tcgen05.commit of their thread arrives completes a
phase; a warp knows of this once it has waited for that phase or synchronised with a warp that has. tcgen05.ld and st
complete at tcgen05.wait of their warp. Source: PTX ISA, "tcgen05 Memory Consistency Model".
"""

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ptxsim.access import Site
from ptxsim.clocks import Clocks
from ptxsim.findings import Kind
from ptxsim.machine import WARP, Machine
from ptxsim.ptx_types import Array
from ptxsim.tensor_memory import COLUMNS, LANES

# Lanes and columns of cells: numbers, or a slice if they are consecutive.
Rows: TypeAlias = Array | slice
Cells: TypeAlias = tuple[int | Array, Rows, Rows]


@dataclass(frozen=True, slots=True)
class Operation:
    """An asynchronous operation: the thread that issued it, the instruction, and a key of its shape."""

    site: Site
    lane: int
    kind: str
    shape: object


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that arrived: operations below `count` of its thread are complete with a phase of an mbarrier."""

    count: int
    column: int
    phase: int


class TensorOrder:
    """Per column of each grain of lanes of tensor memory: the last operation that wrote it, the moves in flight, the
    last accesses by warps.
    """

    def __init__(self, machine: Machine, clocks: Clocks, grain: int) -> None:
        self._machine = machine
        self._clocks = clocks
        self._grain = grain
        shape = machine.ctas, LANES // grain, COLUMNS
        self.operation = np.zeros(shape, np.int32)
        self.user = np.zeros(shape, np.int32)
        self._moving = np.zeros(shape, np.int16)  # 1 + warp for a load, -1 - warp for a store, until its wait
        self._column = np.zeros(shape, np.int32)  # clock column of the warp that last stored or loaded
        self._epoch = np.zeros(shape, np.int32)
        self._stored = np.zeros(shape, np.bool_)
        self._written = np.zeros(shape, np.bool_)
        self._commits: dict[int, list[Commit]] = {}
        self._lane = np.zeros(64, np.int64)  # by operation number
        self.operations: list[Operation] = []
        self._sums: dict[tuple[object, ...], Sequence[int]] = {}  # accumulators not used by anything else since

    def start(self) -> None:
        """A batch begins."""
        for array in (self.operation, self.user, self._moving, self._column, self._epoch):
            array.fill(0)
        self._stored.fill(False)
        self._written.fill(False)
        self._commits.clear()
        self.operations.clear()
        self._sums.clear()

    def _found(self, kind: Kind, site: Site, lane: int, message: str) -> None:
        who = self._machine.describe(lane)
        self._machine.findings.found(kind, f"{who} {message}", site.instruction, who)

    def knows(self, lane: int, number: int) -> bool:
        """Whether the warp of a lane knows that an operation is complete."""
        return number <= self._known_of(self.operations[number - 1].lane, lane // WARP)

    def _known_of(self, lane: int, warp: int) -> int:
        """The last operation such that a warp knows it and all earlier ones of its thread to be complete; 0 for
        none.
        """
        known = self._clocks.known[warp // self._clocks.warps, warp % self._clocks.warps]
        for commit in reversed(self._commits.get(lane, ())):
            if commit.column < known.size and int(known[commit.column]) > commit.phase:
                return commit.count
        return 0

    def are_known(self, numbers: Array, warps: Array) -> Array:
        """Whether the warp (number in the machine) at each position knows that the operation at that position is
        complete.
        """
        lanes, team = self._lane[numbers], self._clocks.warps * self._clocks.cluster
        found = lanes // WARP // team != warps // team  # no operation uses memory of another cluster
        here = (~found).nonzero()[0]
        pairs = (lanes[here] * self._machine.warps + warps[here]).tolist()
        last = {pair: self._known_of(*divmod(pair, self._machine.warps)) for pair in dict.fromkeys(pairs)}
        found[here] = numbers[here] <= np.array([last[pair] for pair in pairs], np.int64)
        return found

    def check_operations(self, site: Site, lane: int, numbers: Array, verb: str) -> None:
        """Report operations (numbers from 1) that are not known by a lane to be complete."""
        for number in self._distinct(numbers):
            operation = self.operations[int(number) - 1]
            if not self.knows(lane, int(number)):
                line = operation.site.instruction.line
                self._found(
                    Kind.TENSOR_IN_FLIGHT,
                    site,
                    lane,
                    f"{verb} tensor memory that the {operation.kind} of line {line} uses and may not be done with; "
                    "commit it (tcgen05.commit) and wait for the mbarrier first",
                )

    def _distinct(self, numbers: Array) -> list[int]:
        """The operations among numbers, where 0 is none, in ascending order."""
        seen = np.zeros(len(self.operations) + 1, np.bool_)
        seen[numbers] = True
        seen[0] = False
        return np.flatnonzero(seen).tolist()

    def _rows(self, lanes: Rows) -> Rows:
        if isinstance(lanes, slice):
            return slice(lanes.start // self._grain, -(-lanes.stop // self._grain))
        return lanes if self._grain == 1 else lanes // self._grain

    # ---- moves of warps

    def move(self, site: Site, lane: int, cta: int, lanes: Rows, columns: Rows, is_store: bool) -> None:
        """A warp loads or stores cells. Reports hazards."""
        self._sums.clear()
        where = cta, self._rows(lanes), columns
        verb = "stores to" if is_store else "loads from"
        if not is_store and not self._written[where].all():
            self._found(Kind.UNWRITTEN_TENSOR, site, lane, "loads from tensor memory that nothing has written")
        self.check_operations(site, lane, self.operation[where], verb)
        if is_store:
            self.check_operations(site, lane, self.user[where], verb)
        moving = self._moving[where]
        if (moving < 0).any() or (is_store and (moving != 0).any()):
            what = "tcgen05.wait::st" if (moving < 0).any() else "tcgen05.wait::ld"
            self._found(
                Kind.TENSOR_IN_FLIGHT,
                site,
                lane,
                f"{verb} tensor memory that a move in flight still writes; {what} must come",
            )
        self._check_warps(site, lane, where, verb, all_accesses=is_store)
        warp = lane % self._machine.slots // WARP
        self._moving[where] = -1 - warp if is_store else 1 + warp
        self._column[where] = int(self._clocks.column(np.array([lane]))[0])
        self._epoch[where] = self._clocks.epoch[lane // self._machine.slots, warp]
        self._stored[where] = is_store
        if is_store:
            self._written[where] = True
            self.operation[where] = 0

    def moves(self, warps: Array, cells: tuple[slice, slice, slice], is_store: bool) -> bool:
        """Warps (first lanes [cta, warp]) load or store 32 lanes each of cells (CTAs, lanes, columns) that are idle and
        whose state all of them know; returns whether this was so. Otherwise `move` determines what is wrong, if
        anything.
        """
        self._sums.clear()
        where = cells[0], self._rows(cells[1]), cells[2]
        moving = self._moving[where]
        if (moving != 0 if is_store else moving < 0).any() or not (is_store or self._written[where].all()):
            return False
        if not self._are_complete(self.operation[where], warps):
            return False
        if is_store and not self._are_complete(self.user[where], warps):
            return False
        warp, parts = warps % self._machine.slots // WARP, WARP // self._grain
        own = np.repeat(self._clocks.column(warps), parts, axis=1)[:, :, None]
        epoch, column = self._epoch[where], self._column[where]
        if epoch.any():
            cta = (warps // self._machine.slots)[:, :1, None]
            known = self._clocks.known[cta, np.repeat(warp, parts, axis=1)[:, :, None], column]
            racing = (epoch > known) & (column != own)
            if (racing if is_store else racing & self._stored[where]).any():
                return False
        self._moving[where] = np.repeat(-1 - warp if is_store else 1 + warp, parts, axis=1)[:, :, None]
        self._column[where] = own
        now = self._clocks.epoch[warps // self._machine.slots, warp]
        self._epoch[where] = np.repeat(now, parts, axis=1)[:, :, None]
        self._stored[where] = is_store
        if is_store:
            self._written[where] = True
            self.operation[where] = 0
        return True

    def _are_complete(self, numbers: Array, warps: Array) -> bool:
        """Whether the warps [cta, warp] of each CTA know that the operations [cta, lane, column] are complete."""
        if not numbers.any():
            return True
        for given, lanes in zip(numbers, warps.tolist(), strict=True):
            first = int(given[0, 0])
            distinct = [first] if (given == first).all() else self._distinct(given)
            if not all(self.knows(lane, number) for number in distinct if number for lane in lanes):
                return False
        return True

    def wait(self, warps: Array, is_store: bool) -> None:
        """tcgen05.wait::ld or ::st by warps [cta, warp]."""
        for cta, warp in zip(*np.nonzero(warps), strict=True):
            cells = self._moving[cta]
            cells[cells == (-1 - warp if is_store else 1 + warp)] = 0

    def _check_warps(self, site: Site, lane: int, where: Cells, verb: str, all_accesses: bool) -> None:
        """Stores (with all_accesses also loads) of other warps must be ordered before this."""
        epoch = self._epoch[where]
        if not epoch.any():
            return
        own = int(self._clocks.column(np.array([lane]))[0])
        column = self._column[where]
        known = self._clocks.known[lane // self._machine.slots, lane % self._machine.slots // WARP]
        racing = (epoch > known[column]) & (column != own)
        if not all_accesses:
            racing &= self._stored[where]
        if racing.any():
            self._found(
                Kind.TENSOR_RACE,
                site,
                lane,
                f"race: {verb} tensor memory that another warp used with no barrier between",
            )

    # ---- operations of the tensor core

    def begin(self, site: Site, lanes: Sequence[int], kind: str, shape: object) -> list[int]:
        """Operations of lanes start; their numbers."""
        first = len(self.operations) + 1
        self.operations += [Operation(site, lane, kind, shape) for lane in lanes]
        end = len(self.operations) + 1
        if end > self._lane.size:
            self._lane = np.pad(self._lane, (0, end))
        self._lane[first:end] = lanes
        return list(range(first, end))

    def read(self, number: int, cta: int, lanes: Rows, columns: Rows, after: tuple[str, ...]) -> None:
        """An operation reads cells; after: kinds of earlier operations of its thread that are implicitly ordered before
        it.
        """
        operation = self.operations[number - 1]
        where = cta, self._rows(lanes), columns
        if not self._written[where].all():
            self._found(
                Kind.UNWRITTEN_TENSOR, operation.site, operation.lane, "uses tensor memory that nothing has written"
            )
        self._check_pipeline(operation, self.operation[where], after)
        if (self._moving[where] < 0).any():
            message = "reads tensor memory that a tcgen05.st may not have reached; tcgen05.wait::st must come before"
            self._found(Kind.TENSOR_IN_FLIGHT, operation.site, operation.lane, message)
        self._check_warps(operation.site, operation.lane, where, "reads", all_accesses=False)
        self.user[where] = number

    def write(self, number: int, cta: int, lanes: Rows, columns: Rows) -> None:
        """An operation writes cells."""
        self._sums.clear()
        operation = self.operations[number - 1]
        where = cta, self._rows(lanes), columns
        self._check_pipeline(operation, self.operation[where], ("tcgen05.mma", "tcgen05.cp", "tcgen05.shift"))
        if self._moving[where].any():
            message = "overwrites tensor memory that a tcgen05.ld or st may still use; tcgen05.wait must come before"
            self._found(Kind.TENSOR_IN_FLIGHT, operation.site, operation.lane, message)
        self._check_warps(operation.site, operation.lane, where, "overwrites", all_accesses=True)
        self.operation[where] = number
        self._written[where] = True

    def accumulate(self, numbers: Sequence[int], ctas: Array, rows: slice, columns: slice, keeps: bool) -> bool:
        """Operations write the same cells of CTAs, and with `keeps` read them, if these have been used only by
        operations that are implicitly ordered before; returns whether this was so. Otherwise `read` and `write`
        determine what is wrong.
        """
        where = ctas, self._rows(rows), columns
        key = ctas.tobytes(), rows.start, rows.stop, columns.start, columns.stop
        if key in self._sums and self._follow(numbers, self._sums[key]):
            self._sums[key] = numbers
            self._note_sum(numbers, where, keeps)
            return True
        self._sums.clear()
        before, epoch = self.operation[where], self._epoch[where]
        last = before[:, 0, 0]
        if (before != last[:, None, None]).any() or self._moving[where].any():
            return False
        if epoch.any():
            lanes = np.array([self.operations[number - 1].lane for number in numbers])
            place = lanes // self._machine.slots, lanes % self._machine.slots // WARP
            column = self._column[where]
            known = self._clocks.known[place[0][:, None, None], place[1][:, None, None], column]
            if ((epoch > known) & (column != self._clocks.column(lanes)[:, None, None])).any():
                return False
        if keeps and not self._written[where].all():
            return False
        if not self._follow(numbers, last.tolist()):
            return False
        self._sums[key] = numbers
        self._note_sum(numbers, where, keeps)
        return True

    def _follow(self, numbers: Sequence[int], before: Sequence[int]) -> bool:
        """Whether operations are implicitly ordered after earlier ones, 0 for none."""
        for number, earlier in zip(numbers, before, strict=True):
            one, other = self.operations[number - 1], self.operations[earlier - 1]
            if earlier and (one.lane, one.kind, one.shape) != (other.lane, other.kind, other.shape):
                return False
        return True

    def _note_sum(self, numbers: Sequence[int], where: Cells, keeps: bool) -> None:
        """Operations write the same cells of CTAs, and with `keeps` read them."""
        self.operation[where] = np.array(numbers)[:, None, None]
        self._written[where] = True
        if keeps:
            self.user[where] = np.array(numbers)[:, None, None]

    def _check_pipeline(self, operation: Operation, numbers: Array, after: tuple[str, ...]) -> None:
        """Operations of one thread run in order if they have the same shape or their kinds are implicitly ordered."""
        for number in self._distinct(numbers):
            earlier = self.operations[int(number) - 1]
            same_thread = earlier.lane == operation.lane
            follows = earlier.kind in after and (earlier.kind != operation.kind or earlier.shape == operation.shape)
            if not (same_thread and follows):
                self.check_operations(operation.site, operation.lane, np.array([number]), "uses")

    def complete(self, count: int, lane: int, column: int, phase: int) -> None:
        """Operations of a lane among the first `count` are complete with a phase of an mbarrier."""
        commits = self._commits.setdefault(lane, [])
        insort(commits, Commit(count, column, phase), key=lambda commit: commit.count)

    def freed(self, site: Site, lane: int, cta: int, column: int, columns: int) -> None:
        """A warp frees columns. Reports where something still uses them."""
        self._sums.clear()
        part = np.s_[cta, :, column : column + columns]
        for numbers in (self.operation[part], self.user[part]):
            self.check_operations(site, lane, numbers, "frees")
        if self._moving[part].any():
            self._found(Kind.TENSOR_IN_FLIGHT, site, lane, "frees tensor memory that a tcgen05.ld or st still uses")
        self._check_warps(site, lane, (cta, slice(None), slice(column, column + columns)), "frees", all_accesses=True)
        for array in (self.operation, self.user, self._moving, self._column, self._epoch):
            array[part] = 0
        self._written[part] = False
