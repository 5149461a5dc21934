"""Reads of registers before they are written, and shuffles from lanes that do not participate.

Only reads that definite assignment cannot prove safe are checked while the kernel runs.
"""

from collections.abc import Callable

import numpy as np

from ptxsim.access import Site
from ptxsim.findings import Kind
from ptxsim.flights import Flights
from ptxsim.machine import WARP, Machine
from ptxsim.pointwise import Checked
from ptxsim.program import Entry, Instruction
from ptxsim.ptx_types import Array


class RegisterWatch:
    """Which lanes have written each register. followed: the registers that some instruction checks."""

    def __init__(self, machine: Machine, entry: Entry, flights: Flights) -> None:
        self._machine = machine
        self._entry = entry
        self.flights = flights
        self._initialised = np.zeros((len(entry.registers), machine.lanes), np.bool_)
        self._doubtful: list[set[int]] = []
        self.followed: set[int] = set()

    def start(self) -> None:
        """A batch begins: nothing is written."""
        self._initialised.fill(False)

    def follow(self, doubtful: list[set[int]]) -> None:
        """Registers to check at each instruction: the others are written on every path to it."""
        self._doubtful = doubtful
        self.followed = set().union(*doubtful)

    def check_written(self, site: Site, pc: int, registers: list[int], lanes: Array) -> None:
        """Report lanes (numbers) that have not written one of these registers, which instruction `pc` reads."""
        for number in sorted(self._doubtful[pc].intersection(registers)):
            known = self._initialised[number][lanes]
            if not known.all():
                lane = int(lanes[int(np.argmin(known))])
                name = self._entry.registers[number].name
                message = f"reads register `{name}`, which it has not written"
                self._report(site.instruction, lane, message)

    def check_shuffle(self, instruction: Instruction, lanes: Array, source: Array) -> None:
        """Lanes read a register of the source lanes, which must also participate."""
        absent = lanes & ~lanes[source]
        if absent.any():
            lane = int(np.flatnonzero(absent)[0])
            who = self._machine.describe(lane)
            message = f"{who} reads from lane {int(source[lane]) % WARP}, which does not take part"
            self._machine.findings.found(Kind.SHUFFLE_SOURCE, message, instruction, who)

    def watch(
        self,
        instruction: Instruction,
        pc: int,
        step: Callable[[Array | None], None] | None,
        reads: set[int],
        writes: set[int],
    ) -> Callable[[Array | None], None] | None:
        """A step that first checks that the registers it reads were written, and records those it writes."""
        machine = self._machine
        sources = [(number, self._initialised[number]) for number in sorted(reads & self._doubtful[pc])]
        targets = [self._initialised[number] for number in sorted(writes & self.followed)]
        guard = self.flights.guard(instruction, reads, writes)
        if not sources and not targets:
            return step if guard is None else guard if step is None else Checked(guard, step)

        def watched(mask: Array | None) -> None:
            lanes = machine.active(mask)
            for number, known in sources:
                bad = ~known if lanes is None else lanes & ~known
                if bad.any():
                    lane = int(np.flatnonzero(bad)[0])
                    name = self._entry.registers[number].name
                    who = machine.describe(lane)
                    message = f"{who} reads register `{name}`, which it has not written"
                    machine.findings.found(Kind.UNWRITTEN_REGISTER, message, instruction, who)
            if guard is not None:
                guard(mask)
            if step is not None:
                step(mask)
            for known in targets:
                known |= True if lanes is None else lanes

        return watched

    def _report(self, instruction: Instruction, lane: int, message: str) -> None:
        who = self._machine.describe(lane)
        self._machine.findings.found(Kind.UNWRITTEN_REGISTER, f"{who} {message}", instruction, who)
