"""Registers that asynchronous operations own: results not yet delivered, and sources that must not change.

wgmma owns its accumulators, and A if it is in registers, from its issue to the wgmma.wait_group that covers it;
tcgen05.ld its destinations until tcgen05.wait::ld. Until then results are kept in a shadow and the registers hold 0xFF
bytes. A register that a thread accessed since its last wgmma.fence must not be used by a wgmma. Sources: PTX ISA,
"wgmma.fence", "wgmma.wait_group", "tcgen05.wait".
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptxsim.access import Site
from ptxsim.findings import Kind
from ptxsim.groups import Group
from ptxsim.lane_boxes import row_index
from ptxsim.machine import WARP, Machine
from ptxsim.program import Entry, Instruction, Operand, Register, Vector
from ptxsim.ptx_types import Array
from ptxsim.register_block import RegisterBlock
from ptxsim.warpgroups import Selection, fragment_index

FREE, RESULT, SOURCE, LOADED = 0, 1, 2, 3
_NEVER = np.iinfo(np.int32).max
_ADVICE = {
    RESULT: "is the result of the wgmma of line {line}, which is in flight; wait with wgmma.wait_group first",
    SOURCE: "is operand A of the wgmma of line {line}, which is in flight; wait with wgmma.wait_group first",
    LOADED: "is loaded by the tcgen05.ld of line {line}, which is in flight; tcgen05.wait::ld must come first",
}


def _registers(operand: Operand) -> list[Register]:
    items = operand.items if isinstance(operand, Vector) else (operand,)
    return [item for item in items if isinstance(item, Register)]


def _owned(instruction: Instruction) -> list[Register]:
    """Registers that an instruction owns beyond its issue."""
    if instruction.base == "wgmma" and "mma_async" in instruction.modifiers:
        owned = _registers(instruction.operands[0])
        if len(instruction.operands) > 1 and isinstance(instruction.operands[1], Vector):
            owned += _registers(instruction.operands[1])
        return owned
    if instruction.base == "tcgen05" and "ld" in instruction.modifiers:
        return [register for operand in instruction.operands[:-1] for register in _registers(operand)]
    return []


class Guard:
    """Checks an instruction's accesses to rows of owned registers, some of which it writes."""

    def __init__(self, flights: "Flights", instruction: Instruction, rows: list[int], written: set[int]) -> None:
        self._flights, self._instruction = flights, instruction
        self._rows = np.array(rows, np.int64)
        self._is_written = np.array([row in written for row in rows])[:, None]

    def __call__(self, mask: Array | None) -> None:
        """Check all lanes, or those of a mask."""
        self._flights.check_access(self._instruction, self._rows, self._is_written, mask)

    def bind(self, group: Group | None) -> Callable[[], None]:
        """The check bound to a group, None: to all lanes."""
        flights = self._flights
        views = [flights.lanes_of(row, group) for row in self._rows.tolist()]
        mask, where = (None, None) if group is None else (group.mask, group.where)

        def check() -> None:
            if flights.is_flying:
                for state, _ in views:
                    if np.count_nonzero(state):
                        self(mask)
                        return
            for _, touched in views:
                if where is None:
                    touched.fill(True)
                else:
                    np.logical_or(touched, where, out=touched)

        return check


@dataclass(slots=True, eq=False)
class Sum:
    """The accumulated products of wgmmas in one accumulator since its results were last needed: the matrices [group,
    64, n].

    chosen, rows, lanes: of the accumulator; form: identifies the shape; group, line: of the last operation, group by
    lane.
    """

    block: RegisterBlock
    chosen: Selection
    rows: Array
    lanes: Array
    form: int
    total: Array
    group: Array
    line: int

    def values(self) -> Array:
        """As registers hold it [register, lane]."""
        index = fragment_index(self.total.shape[0], self.total.shape[2])
        return self.total.reshape(-1).take(index).view(np.uint32)


class Flights:
    """State per owned register and lane: its owner, the group and line since which it is owned, and the value it will
    hold.

    is_flying: whether any register is owned. Results to which successive operations add are kept as a Sum, and are in
    flight with a group that no wait reaches.
    """

    def __init__(self, machine: Machine, entry: Entry) -> None:
        self._machine = machine
        self._names = {register.index: register.name for register in entry.registers}
        owned = sorted({register.index for one in entry.instructions if one.operands for register in _owned(one)})
        self._row = {index: row for row, index in enumerate(owned)}
        self._index = np.array(owned, np.int64)
        shape = len(owned), machine.lanes
        self._state = np.zeros(shape, np.int8)
        self._group = np.zeros(shape, np.int32)
        self._line = np.zeros(shape, np.int32)
        self._form = np.zeros(shape, np.int32)
        self._touched = np.ones(shape, np.bool_)
        self._shadow = np.zeros(shape, np.uint32)
        self._boxes = machine.boxes
        self._sums: list[Sum] = []
        self.is_flying = False
        self.committed = np.zeros(machine.lanes, np.int64)

    def start(self) -> None:
        """A batch begins: nothing is in flight, and every register needs a fence before wgmma."""
        self._state.fill(FREE)
        self._sums.clear()
        self.is_flying = False
        self._touched.fill(True)
        self.committed.fill(0)

    # ---- accesses by other instructions

    def guard(self, instruction: Instruction, reads: set[int], writes: set[int]) -> "Guard | None":
        """The function that checks the accesses of an instruction to owned registers; None if it has none."""
        rows = sorted(self._row[index] for index in reads | writes if index in self._row)
        if not rows or _owned(instruction):
            return None
        return Guard(self, instruction, rows, {self._row[index] for index in writes if index in self._row})

    def check_access(self, instruction: Instruction, rows: Array, is_written: Array, mask: Array | None) -> None:
        """An instruction accesses rows of registers, some of which it writes [row, 1]. Reports those in flight."""
        lanes = self._machine.active(mask)
        if self.is_flying:
            state = self._state[rows]
            bad = (state == RESULT) | (state == LOADED) | ((state == SOURCE) & is_written)
            if lanes is not None:
                bad &= lanes
            if bad.any():
                row, lane = (int(axis[0]) for axis in np.nonzero(bad))
                verb = "writes" if is_written[row, 0] else "reads"
                self._found(instruction, int(rows[row]), lane, verb)
        self._touched[rows] |= True if lanes is None else lanes

    def lanes_of(self, row: int, group: Group | None) -> tuple[Array, Array]:
        """Views of the state of a register and of its "accessed" flag: for all lanes, or for the box of a group."""
        both = self._state[row], self._touched[row]
        return both if group is None else (group.view(both[0]), group.view(both[1]))

    def _found(self, instruction: Instruction, row: int, lane: int, verb: str) -> None:
        self._close_sums()
        advice = _ADVICE[int(self._state[row, lane])].format(line=int(self._line[row, lane]))
        name, who = self._names[int(self._index[row])], self._machine.describe(lane)
        message = f"{who} {verb} register `{name}`, which {advice}"
        self._machine.findings.found(Kind.REGISTER_IN_FLIGHT, message, instruction, who)

    # ---- wgmma

    def rows(self, registers: list[Register]) -> Array:
        """The rows of registers in this object's arrays."""
        return np.array([self._row[register.index] for register in registers], np.int64)

    def check_issue(self, site: Site, accumulators: Array, sources: Array, lanes: Array, form: int) -> None:
        """A wgmma is issued by lanes (numbers). Reports where its registers are not ready."""
        instruction = site.instruction
        for rows in (accumulators, sources):
            if rows.size == 0:
                continue
            state = self._take(self._state, rows, lanes)
            wrong = (state == LOADED) | ((state == RESULT) if rows is sources else (state == SOURCE))
            if rows is accumulators:
                wrong |= (state == RESULT) & (self._take(self._form, rows, lanes) != form)
            if wrong.any():
                row, lane = (int(axis[0]) for axis in np.nonzero(wrong))
                self._found(instruction, int(rows[row]), int(lanes[lane]), "uses")
            touched = self._take(self._touched, rows, lanes)
            if touched.any():
                self._close_sums()
                row, lane = (int(axis[0]) for axis in np.nonzero(touched))
                name = self._names[int(self._index[rows[row]])]
                who = self._machine.describe(int(lanes[lane]))
                self._machine.findings.found(
                    Kind.WGMMA_FENCE,
                    f"{who} touched register `{name}` with no wgmma.fence between that and this wgmma",
                    instruction,
                    who,
                )

    def current(self, rows: Array, lanes: Array, bits: Array) -> Array:
        """Accumulators [register, lane] as the next wgmma sees them: undelivered results before register contents."""
        flying = self._take(self._state, rows, lanes) == RESULT
        return np.where(flying, self._take(self._shadow, rows, lanes), bits)

    def issue(self, site: Site, accumulators: Array, sources: Array, lanes: Array, values: Array, form: int) -> None:
        """Results [register, lane] wait for delivery; the caller poisons the registers."""
        self.is_flying = True
        put = self._boxes.put
        put(self._shadow, row_index(accumulators), lanes, values)
        put(self._form, row_index(accumulators), lanes, form)
        self.own_sources(site, sources, lanes)
        self._own(site, accumulators, lanes, RESULT)

    def _take(self, array: Array, rows: Array, lanes: Array) -> Array:
        return self._boxes.take(array, row_index(rows), lanes)

    def fence(self, mask: Array | None) -> None:
        """wgmma.fence."""
        lanes = self._machine.active(mask)
        if lanes is None:
            self._touched.fill(False)
        else:
            self._touched &= ~lanes

    def commit(self, mask: Array | None) -> None:
        """wgmma.commit_group."""
        lanes = self._machine.active(mask)
        self.committed += 1 if lanes is None else lanes

    # ---- sums

    def sum_of(self, block: RegisterBlock, chosen: Selection, form: int) -> Sum | None:
        """The pending sum of exactly these registers and warpgroups; ends any other sum that shares some of both."""
        found = None
        for one in self._sums.copy():
            if block.members.isdisjoint(one.block.key) or chosen.groups.isdisjoint(one.chosen.groups):
                continue
            if (one.block.key, one.chosen.key, one.form) == (block.key, chosen.key, form) and chosen.active is None:
                found = one
            else:
                self.close(one)
        return found

    def begin_sum(
        self, site: Site, block: RegisterBlock, chosen: Selection, rows: Array, lanes: Array, form: int, total: Array
    ) -> None:
        """Results [group, 64, n] of an operation wait for delivery, and for further additions; the caller poisons the
        registers.
        """
        self.is_flying = True
        self._sums.append(Sum(block, chosen, rows, lanes, form, total, self.committed[lanes], site.instruction.line))
        put, where = self._boxes.put, row_index(rows)
        put(self._form, where, lanes, form)
        put(self._state, where, lanes, RESULT)
        put(self._group, where, lanes, _NEVER)

    def add_to(self, site: Site, one: Sum, total: Array) -> None:
        """Another operation computes this from a sum."""
        one.total, one.group, one.line = total, self.committed[one.lanes], site.instruction.line

    def own_sources(self, site: Site, sources: Array, lanes: Array) -> None:
        """An operation whose results form a sum reads registers until its wait."""
        if sources.size:
            self._own(site, sources, lanes, SOURCE)

    def _own(self, site: Site, rows: Array, lanes: Array, state: int) -> None:
        put, where = self._boxes.put, row_index(rows)
        put(self._state, where, lanes, state)
        put(self._group, where, lanes, self.committed[None, lanes])
        put(self._line, where, lanes, site.instruction.line)

    def close(self, one: Sum) -> None:
        """Keep the results of a sum register by register."""
        self._sums.remove(one)
        put, where = self._boxes.put, row_index(one.rows)
        put(self._shadow, where, one.lanes, one.values())
        put(self._group, where, one.lanes, one.group[None, :])
        put(self._line, where, one.lanes, one.line)

    def _close_sums(self) -> None:
        for one in self._sums.copy():
            self.close(one)

    def wait(self, mask: Array | None, pending: int) -> None:
        """wgmma.wait_group: deliver the results of all but the newest groups."""
        lanes = self._machine.active(mask)
        for one in self._sums.copy():
            done = one.group < self.committed[one.lanes] - pending
            if lanes is not None:
                done &= lanes[one.lanes]
            count = np.count_nonzero(done)
            if count == done.size:
                self._sums.remove(one)
                one.block.write(one.values(), one.lanes)
                self._boxes.put(self._state, row_index(one.rows), one.lanes, FREE)
            elif count:
                self.close(one)
        rows = np.flatnonzero(self._state.any(axis=1))
        state = self._state[rows]
        done = ((state == RESULT) | (state == SOURCE)) & (self._group[rows] < self.committed - pending)
        if lanes is not None:
            done &= lanes
        self._deliver(rows, done)

    def _deliver(self, rows: Array, done: Array) -> None:
        """Results in flight in rows arrive where `done` [row, lane]."""
        state = self._state[rows]
        for number in np.flatnonzero(done.any(axis=1)):
            row = int(rows[number])
            target = self._machine.registers.rows[int(self._index[row])].view(np.uint32)
            given = done[number] & (state[number] != SOURCE)
            np.putmask(target, given, self._shadow[row])
        state[done] = FREE
        self._state[rows] = state
        self.is_flying = bool(self._state.any())

    def warp_commits(self) -> Array:
        """Groups that each warp of the machine has committed."""
        return self.committed[::WARP]

    # ---- tcgen05.ld

    def load(self, site: Site, rows: Array, lanes: Array, values: Array) -> None:
        """Results [register, lane] of a tcgen05.ld wait for tcgen05.wait::ld."""
        busy = self._take(self._state, rows, lanes) != FREE
        if busy.any():
            row, lane = (int(axis[0]) for axis in np.nonzero(busy))
            self._found(site.instruction, int(rows[row]), int(lanes[lane]), "loads")
        self.is_flying = True
        self._boxes.put(self._shadow, row_index(rows), lanes, values)
        self._boxes.put(self._state, row_index(rows), lanes, LOADED)
        self._boxes.put(self._line, row_index(rows), lanes, site.instruction.line)

    def wait_loads(self, mask: Array | None) -> None:
        """tcgen05.wait::ld: deliver what the lanes' loads have read."""
        lanes = self._machine.active(mask)
        rows = np.flatnonzero(self._state.any(axis=1))
        done = self._state[rows] == LOADED
        if lanes is not None:
            done &= lanes
        self._deliver(rows, done)
