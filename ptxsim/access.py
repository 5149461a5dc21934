"""One memory instruction at run time: indices into its state space, with faults located and traffic counted.

Loops repeat a few address patterns, so each instruction remembers what it computed for a pattern. A shared pattern
gives indices and bank conflicts; a global one, taken relative to its first address, gives sectors.
"""

from dataclasses import dataclass

import numpy as np

from ptxsim.errors import MisalignedError, OutOfBoundsError, SimulatorError
from ptxsim.machine import Machine
from ptxsim.memory import ClusterSpace, Fault, WindowSpace
from ptxsim.program import Instruction
from ptxsim.ptx_types import Array
from ptxsim.report import SECTOR, count_sectors, extra_wavefronts, phase_lanes

# Patterns remembered per instruction; an instruction with more than this many has no pattern worth remembering.
_PATTERNS = 256


@dataclass(frozen=True, slots=True)
class Pattern:
    """Cell numbers for a pattern of shared addresses, and the wavefronts beyond one per phase."""

    index: Array
    extra: int


class Site:
    """A memory instruction's location in the program, to which its faults and counts are attributed."""

    def __init__(self, machine: Machine, instruction: Instruction) -> None:
        self.machine = machine
        self.instruction = instruction
        self.extra: int = 0
        self.accesses = 0
        self.sectors = 0
        self.counts_banks = False
        self.counts_sectors = False
        self._shared: dict[bytes | tuple[bytes, bytes], Pattern] = {}
        self._global: dict[bytes | tuple[bytes, bytes], tuple[int, int]] = {}

    def error(self, kind: type[SimulatorError], message: str) -> SimulatorError:
        """An error at this instruction."""
        return kind(message, self.instruction.line, self.instruction.text)

    def fault(self, fault: Fault, lanes: Array | None) -> SimulatorError:
        """The error for a fault; lanes: the active lanes' mask, None for all."""
        lane = fault.position if lanes is None else int(np.flatnonzero(lanes)[fault.position])
        kind = MisalignedError if fault.misaligned else OutOfBoundsError
        return self.error(kind, f"{self.machine.describe(lane)} accesses {fault.reason}")

    def misaligned(self, lane: int, reason: str) -> SimulatorError:
        """The error for a misaligned access of one lane."""
        return self.error(MisalignedError, f"{self.machine.describe(lane)}: {reason}")

    def global_index(self, address: Array, size: int, lanes: Array | None) -> Array:
        """Cell numbers in the global space for u64 addresses of the active lanes; counts sectors."""
        try:
            index = self.machine.global_space.index(address, size)
        except Fault as fault:
            raise self.fault(fault, lanes) from None
        per_sector = SECTOR // size
        relative = index - int(index[0]) // per_sector * per_sector
        key: bytes | tuple[bytes, bytes] = relative.tobytes()
        if lanes is not None:
            key = (key, lanes.tobytes())
        found = self._global.get(key)
        if found is None:
            found = count_sectors(relative, lanes, size)
            if len(self._global) >= _PATTERNS:
                self._global.clear()
            self._global[key] = found
        self.accesses += found[0]
        self.sectors += found[1]
        return index

    def shared_index(
        self, address: Array, size: int, lanes: Array | None, space: WindowSpace | ClusterSpace | None = None
    ) -> Array:
        """Cell numbers in shared memory (of the cluster) for u32 addresses of the active lanes; counts conflicts."""
        key: bytes | tuple[bytes, bytes] = address.tobytes()
        if lanes is not None:
            key = (key, lanes.tobytes())
        found = self._shared.get(key)
        if found is None:
            index = self.window_index(space or self.machine.shared, address, size, lanes)
            found = Pattern(index, self._extra(address, lanes, size))
            self.remember(key, found)
        self.extra += found.extra
        return found.index

    def _extra(self, address: Array, lanes: Array | None, size: int) -> int:
        """Wavefronts beyond one per phase; CTAs that use the same addresses are counted once and multiplied."""
        machine = self.machine
        if lanes is None and machine.ctas > 1:
            rows = address.reshape(machine.ctas, -1)
            if (rows == rows[0]).all():
                return machine.ctas * extra_wavefronts(rows[0], None, size, phase_lanes(size))
        return extra_wavefronts(address, lanes, size, phase_lanes(size))

    def remember(self, key: bytes | tuple[bytes, bytes], pattern: Pattern) -> None:
        """Keep a pattern for the next time."""
        if len(self._shared) >= _PATTERNS:
            self._shared.clear()
        self._shared[key] = pattern

    def recall(self, key: bytes | tuple[bytes, bytes]) -> Pattern | None:
        """The pattern kept under a key."""
        return self._shared.get(key)

    def window_index(self, space: WindowSpace | ClusterSpace, address: Array, size: int, lanes: Array | None) -> Array:
        """Cell numbers in shared or local memory, without counting."""
        try:
            return space.index(address, size, lanes)
        except Fault as fault:
            raise self.fault(fault, lanes) from None
