"""Ordering through flags: a release that writes memory, and an acquire that reads it later.

Strong accesses (volatile, relaxed, acquire, release, atomics) publish what their warp knows, or without .release what
it knew at its last fence; a reader acquires it, or without .acquire at its next fence. Values are not compared: a read
after a write counts as having seen it. Source: PTX ISA, "Memory Consistency Model: Release and Acquire Patterns".
"""

import numpy as np

from ptxsim.clocks import Clocks
from ptxsim.machine import WARP, Machine
from ptxsim.program import Instruction
from ptxsim.ptx_types import Array


class FlagOrder:
    """What readers of each cell will know, by memory (shared or not), first byte of the cell, and cluster."""

    def __init__(self, machine: Machine, clocks: Clocks) -> None:
        self._machine = machine
        self._clocks = clocks
        self._said: dict[tuple[bool, int, int], Array] = {}

    def start(self) -> None:
        """A batch begins: no flag has been written."""
        self._said.clear()

    def _warps(self, numbers: Array) -> Array:
        lanes = np.zeros(self._machine.lanes, np.bool_)
        lanes[numbers] = True
        return self._clocks.present(lanes)

    def _pairs(self, is_shared: bool, starts: Array, numbers: Array) -> list[tuple[tuple[bool, int, int], int, int]]:
        """(flag, cta, warp) of all accesses, each once."""
        slots = self._machine.slots
        rows = np.unique(np.stack([starts, numbers // slots, numbers % slots // WARP]), axis=1)
        return [((is_shared, start, cta // self._clocks.cluster), cta, warp) for start, cta, warp in rows.T.tolist()]

    def releases(self, instruction: Instruction) -> bool:
        """Whether a strong write is a release."""
        return "release" in instruction.modifiers or "acq_rel" in instruction.modifiers

    def wrote(self, instruction: Instruction, is_shared: bool, starts: Array, numbers: Array) -> None:
        """Lanes wrote cells that start at these bytes, with release or after a fence of some warp."""
        said = self._clocks.say(self._warps(numbers), self.releases(instruction))
        continues = instruction.base in ("atom", "red")
        for flag, cta, warp in self._pairs(is_shared, starts, numbers):
            earlier = self._said.get(flag)
            words = said[cta, warp]
            if earlier is not None and continues:
                words = words.copy()
                np.maximum(words[: earlier.size], earlier, out=words[: earlier.size])
            self._said[flag] = words

    def read(self, instruction: Instruction, is_shared: bool, starts: Array, numbers: Array) -> None:
        """Lanes read cells that start at these bytes."""
        if not self._said:
            return
        acquires = "acquire" in instruction.modifiers or "acq_rel" in instruction.modifiers
        for flag, cta, warp in self._pairs(is_shared, starts, numbers):
            said = self._said.get(flag)
            if said is not None:
                one = np.zeros_like(self._clocks.epoch, np.bool_)
                one[cta, warp] = True
                self._clocks.learn(one, said, acquires)
