"""The bytes of shared memory that the generic proxy wrote and that no proxy fence has made visible to the async proxy
yet.

Writes by st, atomics, stmatrix and cp.async go through the generic proxy; wgmma, tcgen05 and bulk copies read through
the async proxy, and must come after a fence.proxy.async (PTX ISA, "Proxies"). A fence covers the writes of the fencing
thread and those that it observed, that is, those ordered before it by a barrier.
"""

import numpy as np

from ptxsim.access import Site
from ptxsim.findings import Kind
from ptxsim.machine import Machine
from ptxsim.ptx_types import Array
from ptxsim.records import Records
from ptxsim.regions import Regions


class Proxies:
    """Per grain of a machine's shared memory: whether a generic write waits for a proxy fence.

    generic: whether the generic proxy wrote last; is_unused: whether it has written nothing yet.
    """

    def __init__(self, machine: Machine, grain: int, regions: Regions, records: Records) -> None:
        self._machine = machine
        self._grain = grain
        self.unfenced = np.zeros(machine.shared.bytes.size // grain, np.bool_)
        self.generic = records.all["generic"]
        regions.shadows.append(self.unfenced)
        self._is_clean = True
        self.is_unused = True

    def start(self) -> None:
        """A batch begins: nothing is written."""
        self.unfenced.fill(False)
        self._is_clean = self.is_unused = True

    def generic_wrote(self, where: Array) -> None:
        """The generic proxy wrote grains, as recorded in their records."""
        self.unfenced[where.reshape(-1)] = True
        self._is_clean = self.is_unused = False

    def async_wrote(self, where: Array) -> None:
        """The async proxy wrote grains."""
        self.unfenced[where] = False
        self.generic[where] = False

    def fence(self, covered: Array) -> None:
        """A fence.proxy.async ran; covered: the grains whose last write is ordered before it."""
        self.unfenced[covered] = False
        self._is_clean = not self.unfenced.any()

    @property
    def is_clean(self) -> bool:
        """Whether no write waits for a fence."""
        return self._is_clean

    def are_open(self, where: Array) -> bool:
        """Whether a generic write to any of these grains waits for a fence."""
        return not self._is_clean and bool(np.count_nonzero(self.unfenced.take(where)))

    def check(self, site: Site, where: Array, lanes: Array, verb: str) -> bool:
        """Lanes [n, 1] let the async proxy access grains [n, m]; returns whether a generic write lacked a fence."""
        if not self.are_open(where):
            return False
        bad = self.unfenced[where]
        if bad.any():
            shared = self._machine.shared
            row, column = (int(axis[0]) for axis in np.nonzero(bad))
            position = int(where[row, column]) * self._grain
            who = self._machine.describe(int(lanes[row, 0]))
            self._machine.findings.found(
                Kind.PROXY_FENCE,
                f"{who} {verb} byte {position % shared.stride} of the shared memory of CTA "
                f"{position // shared.stride}, which st or another generic write changed with no fence.proxy.async "
                "after it; put one between that write and the barrier before this instruction",
                site.instruction,
                who,
            )
        return bool(bad.any())
