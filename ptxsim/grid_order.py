"""Global memory that the previous launch may still write: with programmatic dependent launch, until
griddepcontrol.wait.

Source: PTX ISA, "griddepcontrol": .wait waits until all prerequisite grids have completed and their memory operations
are visible to the waiting grid; without it none of them is.
"""

import numpy as np

from ptxsim.access import Site
from ptxsim.findings import Kind
from ptxsim.machine import Machine
from ptxsim.ptx_types import Array


class GridOrder:
    """The bytes that the previous launch changed, and the lanes that have waited for it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._waited = np.zeros(machine.lanes, np.bool_)
        self.changed: Array | None = None

    def start(self) -> None:
        """A batch begins: no lane has waited."""
        self._waited.fill(False)

    def wait(self, mask: Array | None) -> None:
        """griddepcontrol.wait."""
        lanes = self._machine.active(mask)
        self._waited |= True if lanes is None else lanes

    def check(self, site: Site, numbers: Array, where: Array, verb: str) -> None:
        """Report lanes [n] that access bytes [n, m] which the previous launch changed, and have not waited for it."""
        if self.changed is None:
            return
        early = ~self._waited[numbers]
        if not early.any():
            return
        bad = early & self.changed[np.minimum(where, self.changed.size - 1)].any(axis=1)
        if bad.any():
            who = self._machine.describe(int(numbers[int(np.argmax(bad))]))
            message = f"{who} {verb} global memory that the launch before writes; griddepcontrol.wait must come first"
            self._machine.findings.found(Kind.GRID_DEPENDENCY, message, site.instruction, who)
