"""barrier.cluster: one barrier for all threads of a cluster, split into arrive and wait.

Threads that exited count as arrived. A thread arrives once and waits once per phase. Source: PTX ISA,
"barrier.cluster".
"""

import numpy as np

from ptxsim.clocks import Clocks, joined
from ptxsim.machine import Machine
from ptxsim.ptx_types import Array


class ClusterBarrier:
    """Phases completed by every cluster of a machine, and each lane's state in the running phase."""

    def __init__(self, machine: Machine, clocks: Clocks | None) -> None:
        self._machine = machine
        self._clocks = clocks
        self._size = machine.geometry.cluster_size
        count = machine.ctas // self._size
        self._cluster = machine.cta_of_lane // self._size
        self._phase: Array = np.zeros(count, np.int64)
        self._arrived: Array = np.zeros(machine.lanes, np.bool_)
        self._owes_wait: Array = np.zeros(machine.lanes, np.bool_)
        self._seen = np.zeros(machine.lanes, np.int64)
        self._said: dict[tuple[int, int], Array] = {}

    def start(self) -> None:
        """A batch begins: no lane has arrived."""
        for array in (self._phase, self._arrived, self._owes_wait, self._seen):
            array.fill(0)
        self._said.clear()

    def wrong_arrival(self, lanes: Array) -> Array:
        """Lanes that arrived before and have not waited since."""
        return lanes & self._owes_wait

    def wrong_wait(self, lanes: Array) -> Array:
        """Lanes that wait without having arrived."""
        return lanes & ~self._owes_wait

    def arrive(self, lanes: Array, releases: bool) -> None:
        """Lanes arrive, and publish what their warps know (or, without release, knew at their last fence)."""
        self._seen[lanes] = self._phase[self._cluster[lanes]]
        self._arrived = self._arrived | lanes
        self._owes_wait = self._owes_wait | lanes
        if self._clocks is not None:
            said = self._clocks.say(self._clocks.present(lanes), releases).max(axis=1)
            for cluster in np.unique(self._cluster[lanes]).tolist():
                own = said[cluster * self._size : (cluster + 1) * self._size].max(axis=0)
                key = cluster, int(self._phase[cluster])
                earlier = self._said.get(key)
                self._said[key] = own if earlier is None else joined(earlier, own)
        self._settle()

    def _settle(self) -> None:
        """Complete the phases for which every live lane has arrived."""
        missing: Array = np.any((self._machine.live_mask() & ~self._arrived).reshape(self._phase.size, -1), axis=1)
        some: Array = np.any(self._arrived.reshape(self._phase.size, -1), axis=1)
        complete = some & ~missing
        if complete.any():
            self._phase += complete
            if self._clocks is not None:
                self._clocks.meetings += complete
            self._arrived = self._arrived & ~complete[self._cluster]

    def ready(self, lanes: Array) -> Array:
        """The lanes of a mask whose phase is complete."""
        self._settle()
        return lanes & (self._phase[self._cluster] > self._seen)

    def waited(self, lanes: Array) -> None:
        """Lanes continue after their wait, knowing what the others released."""
        self._owes_wait = self._owes_wait & ~lanes
        if self._clocks is None:
            return
        warps = self._clocks.present(lanes)
        for cluster, phase in {(c, p) for c, p in zip(self._cluster[lanes], self._seen[lanes], strict=True)}:
            said = self._said.get((int(cluster), int(phase)))
            if said is not None:
                here = np.zeros_like(warps)
                here[cluster * self._size : (cluster + 1) * self._size] = True
                self._clocks.learn(warps & here, said)

    def describe(self, lane: int) -> str:
        """How many threads of a lane's cluster have not arrived."""
        missing = self._machine.live_mask() & ~self._arrived & (self._cluster == self._cluster[lane])
        count = int(np.count_nonzero(missing))
        first = self._machine.describe(int(np.flatnonzero(missing)[0])) if count else "nobody"
        return f"the cluster barrier, at which {count} threads have not arrived, the first is {first}"
