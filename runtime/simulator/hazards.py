"""What hazards=True adds: copies that arrive late, races, uninitialised registers and shared memory."""

from typing import TYPE_CHECKING

from runtime.simulator.access import Site
from runtime.simulator.machine import Machine
from runtime.simulator.program import Entry, Guard, Instruction
from runtime.simulator.types import Array

if TYPE_CHECKING:
    from runtime.simulator.decode import Decode, Step


class Tracker:
    """Shadow state of a machine's shared memory and of its asynchronous copies."""

    def __init__(self, machine: Machine, entry: Entry) -> None:
        self._machine = machine

    def start(self) -> None:
        """A batch begins."""

    def end(self) -> None:
        """A batch ended."""

    def barrier(self, ctas: Array | None) -> None:
        """The threads of CTAs met."""

    def warp_barrier(self, lanes: Array) -> None:
        """The lanes of warps met."""

    def report_shuffle(self, instruction: Instruction, lane: int) -> None:
        """A lane reads a lane that takes no part."""

    def commit(self, mask: Array | None) -> None:
        """cp.async.commit_group."""

    def wait(self, mask: Array | None, pending: int) -> None:
        """cp.async.wait_group."""

    def copy(self, site: Site, size: int, lanes: Array | None, index: Array, data: Array) -> None:
        """cp.async: data to shared cells."""


def watch_registers(tracker: Tracker, d: "Decode", step: "Step | None", guard: Guard | None) -> "Step | None":
    """A step that also checks the registers it reads."""
    return step
