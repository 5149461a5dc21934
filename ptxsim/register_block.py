"""Many registers of one width read and written as one array [register, lane]."""

import numpy as np

from ptxsim.lane_boxes import row_index
from ptxsim.machine import Machine
from ptxsim.program import Register
from ptxsim.ptx_types import Array


class RegisterBlock:
    """Registers of 32 bits, which an instruction lists as a vector.

    Rows that are adjacent in the register file are a view; others are gathered and scattered.
    """

    def __init__(self, machine: Machine, registers: list[Register]) -> None:
        rows = [machine.registers.rows[register.index] for register in registers]
        self.indices = [register.index for register in registers]
        self.key = tuple(self.indices)
        self.members = frozenset(self.indices)
        bank = next(bank for bank in machine.registers.banks if np.may_share_memory(bank, rows[0]))
        stride = bank.strides[0]
        first = bank.__array_interface__["data"][0]
        numbers = [(row.__array_interface__["data"][0] - first) // stride for row in rows]
        self._bank: Array = bank.view(np.uint32)
        self._numbers = np.array(numbers)
        start = numbers[0]
        self.is_view = numbers == list(range(start, start + len(numbers)))
        self._boxes = machine.boxes
        self._rows = row_index(self._numbers)
        self._view: Array | None = self._bank[start : start + len(numbers)] if self.is_view else None

    def read(self, lanes: Array | None) -> Array:
        """[register, lane] of all lanes or of a list of lane numbers, possibly a view."""
        if lanes is None:
            return self._bank[self._numbers] if self._view is None else self._view
        return self._boxes.take(self._bank, self._rows, lanes)

    def write(self, values: Array, lanes: Array | None) -> None:
        """Store [register, lane] for all lanes or for a list of lane numbers."""
        if lanes is not None:
            self._boxes.put(self._bank, self._rows, lanes, values)
        elif self._view is None:
            self._bank[self._numbers] = values
        elif values is not self._view:
            self._view[...] = values
