"""The call stack of every lane: return addresses, frames in local memory, registers that recursion saves."""

from collections.abc import Sequence

import numpy as np

from ptxsim.machine import LOCAL_BASE, Machine
from ptxsim.ptx_types import Array

_ALIGNMENT = 16


class StackOverflowFault(Exception):
    """Internal: a lane's frames need more local memory than is available."""

    def __init__(self, lane: int, needed: int, available: int) -> None:
        self.lane = lane
        self.needed = needed
        self.available = available
        super().__init__(f"{needed} bytes")


class CallStack:
    """Calls of all lanes of a machine, each lane at a depth of its own.

    frame, top: local-memory addresses of each lane's current frame and of the first byte after it; origin: the position
    in the machine's local bytes of each lane's address 0.
    """

    def __init__(self, machine: Machine, static_bytes: int) -> None:
        self._machine = machine
        self._bottom = -(-(LOCAL_BASE + static_bytes) // _ALIGNMENT) * _ALIGNMENT
        self._end = LOCAL_BASE + machine.local.size
        lanes = machine.lanes
        self.frame = np.full(lanes, self._bottom, np.uint32)
        self.top = np.full(lanes, self._bottom, np.uint32)
        self.depth = np.zeros(lanes, np.int64)
        self.origin = np.arange(lanes, dtype=np.int64) * machine.local.stride - LOCAL_BASE
        self._returns = np.zeros((4, lanes), np.int64)
        self._frames = np.zeros((4, lanes), np.uint32)
        self._tops = np.zeros((4, lanes), np.uint32)
        self._saved: dict[tuple[int, int], list[Array]] = {}

    def start(self) -> None:
        """A batch begins: no lane is inside a function."""
        self.frame.fill(self._bottom)
        self.top.fill(self._bottom)
        self.depth.fill(0)

    def push(self, lanes: Array, pc: int, size: int) -> None:
        """Lanes (numbers) at an instruction call a function whose frame has `size` bytes."""
        depth = self.depth[lanes]
        if int(depth.max()) >= len(self._returns):
            self._returns, self._frames, self._tops = (
                np.concatenate([rows, np.zeros_like(rows)]) for rows in (self._returns, self._frames, self._tops)
            )
        self._returns[depth, lanes] = pc
        self._frames[depth, lanes] = self.frame[lanes]
        self._tops[depth, lanes] = self.top[lanes]
        self.depth[lanes] += 1
        self.frame[lanes] = self.reserve(lanes, size, _ALIGNMENT)

    def pop(self, lanes: Array) -> None:
        """Lanes (numbers) return to the frame of their caller."""
        self.depth[lanes] -= 1
        depth = self.depth[lanes]
        self.frame[lanes] = self._frames[depth, lanes]
        self.top[lanes] = self._tops[depth, lanes]

    def callers(self, lanes: Array) -> Array:
        """The instruction of the call that each of these lanes is in."""
        return self._returns[self.depth[lanes] - 1, lanes]

    def reserve(self, lanes: Array, size: int | Array, alignment: int) -> Array:
        """Allocate bytes at the top of these lanes' stacks; returns their addresses. Raises StackOverflowFault."""
        mask = np.int64(alignment - 1)
        first = (self.top[lanes].astype(np.int64) + mask) & ~mask
        behind = first + size
        if int(behind.max()) > self._end:
            position = int(np.argmax(behind))
            needed = int(behind[position]) - self._bottom
            raise StackOverflowFault(int(lanes[position]), needed, self._end - self._bottom)
        self.top[lanes] = behind
        return first.astype(np.uint32)

    def save(self, lanes: Array, function: int, registers: Sequence[int]) -> None:
        """Keep these registers of a function at the lanes' current depth."""
        for depth in np.unique(self.depth[lanes]).tolist():
            here = lanes[self.depth[lanes] == depth]
            rows = [self._machine.registers.rows[number] for number in registers]
            kept = self._saved.setdefault((function, depth), [np.empty_like(row) for row in rows])
            for copy, row in zip(kept, rows, strict=True):
                copy[here] = row[here]

    def restore(self, lanes: Array, function: int, registers: Sequence[int]) -> None:
        """Restore what `save` kept at the lanes' current depth."""
        for depth in np.unique(self.depth[lanes]).tolist():
            here = lanes[self.depth[lanes] == depth]
            kept = self._saved[function, depth]
            for number, copy in zip(registers, kept, strict=True):
                self._machine.registers.rows[number][here] = copy[here]
