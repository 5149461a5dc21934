"""Which bytes of shared memory the generic proxy wrote and no proxy fence has yet shown to the async proxy.

Writes by st, atomics, stmatrix and cp.async go through the generic proxy; wgmma, tcgen05 and bulk copies read through
the async proxy, and must come after a fence.proxy.async (PTX ISA, "Proxies"). A fence covers the writes of the fencing
thread and those that it observed, that is, those ordered before it by a barrier.
"""

import numpy as np

from runtime.simulator.access import Site
from runtime.simulator.findings import Kind
from runtime.simulator.machine import Machine
from runtime.simulator.types import Array


class Proxies:
    """Per byte of a machine's shared memory: whether a generic write waits for a proxy fence.

    generic: whether the generic proxy wrote last; is_unused: whether it has written nothing yet.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.unfenced = np.zeros(machine.shared.bytes.size, np.bool_)
        self.generic = np.zeros_like(self.unfenced)
        self._is_clean = True
        self.is_unused = True

    def start(self) -> None:
        """A batch begins: nothing is written."""
        self.unfenced.fill(False)
        self.generic.fill(False)
        self._is_clean = self.is_unused = True

    def generic_wrote(self, where: Array) -> None:
        """The generic proxy wrote bytes (indices into the machine's shared bytes)."""
        self.unfenced[where] = True
        self.generic[where] = True
        self._is_clean = self.is_unused = False

    def async_wrote(self, where: Array) -> None:
        """The async proxy wrote bytes."""
        self.unfenced[where] = False
        self.generic[where] = False

    def fence(self, covered: Array) -> None:
        """A fence.proxy.async ran; covered: the bytes whose last write is ordered before it."""
        self.unfenced[covered] = False
        self._is_clean = not self.unfenced.any()

    @property
    def is_clean(self) -> bool:
        """Whether no write waits for a fence."""
        return self._is_clean

    def check(self, site: Site, where: Array, lane: int, verb: str) -> bool:
        """A lane lets the async proxy access bytes; whether there was a generic write that was not fenced."""
        if self._is_clean:
            return False
        bad = self.unfenced[where]
        if bad.any():
            shared = self._machine.shared
            position = int(where[bad][0])
            who = self._machine.describe(lane)
            self._machine.findings.found(
                Kind.PROXY_FENCE,
                f"{who} {verb} byte {position % shared.stride} of the shared memory of CTA "
                f"{position // shared.stride}, which st or another generic write changed with no fence.proxy.async "
                "after it; put one between that write and the barrier before this instruction",
                site.instruction,
                who,
            )
        return bool(bad.any())
