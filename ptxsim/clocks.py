"""What warps know of each other: vector clocks at warp granularity, inside a cluster.

Every warp counts epochs. A barrier, an mbarrier or a cluster barrier makes warps' epochs known to each other, and an
access is ordered before another when the later warp knows the earlier one's epoch. Copies of the async proxy have a
column per mbarrier that they complete on, whose epochs are the phases of that mbarrier. The coverage of proxy fences
propagates in the same way: a fence counts for a thread that knows of it.
"""

import numpy as np

from ptxsim.groups import warp_words
from ptxsim.machine import WARP, Machine
from ptxsim.ptx_types import Array


class Clocks:
    """What each warp of each CTA knows.

    known: [cta, warp, column], the columns are the warps of the cluster, the warps again for what proxy fences of
    shared memory covered, again for global memory, and then the mbarriers; epoch: [cta, warp]; meetings: phases that
    the barrier of each cluster has completed; has_fenced: whether any warp released with a fence.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.warps = machine.slots // WARP
        self.cluster = machine.geometry.cluster_size
        self.warp_columns = self.cluster * self.warps
        self.shared_fences, self.global_fences, self.mbarrier_columns = (self.warp_columns * n for n in (1, 2, 3))
        self._cta = np.arange(machine.ctas)[:, None]
        self._warp = np.arange(self.warps)[None, :]
        self._own = self._cta % self.cluster * self.warps + self._warp
        self._columns = self._own.reshape(-1)
        self.known = np.zeros((machine.ctas, self.warps, self.mbarrier_columns), np.int32)
        self.epoch = np.ones((machine.ctas, self.warps), np.int32)
        self._fenced = np.zeros_like(self.known)
        self._heard = np.zeros_like(self.known)
        self.meetings = np.zeros(machine.ctas // self.cluster, np.int64)
        self.has_fenced = False
        self._arrived: dict[int, list[tuple[Array, Array]]] = {}

    def start(self) -> None:
        """A batch begins: no warp knows anything."""
        for array in (self.known, self._fenced, self._heard, self.meetings):
            array.fill(0)
        self.epoch.fill(1)
        self.has_fenced = False
        self._arrived.clear()

    def column(self, lane: Array) -> Array:
        """The column of the warps of lanes."""
        return self._columns.take(lane // WARP)

    def heard(self, lanes: Array, columns: Array) -> Array:
        """The epochs of columns that the warps of lanes know; both are broadcast."""
        return self.known.take(lanes // WARP * self.known.shape[2] + columns)

    def now(self, lanes: Array) -> Array:
        """The epochs of the warps of lanes."""
        return self.epoch.take(lanes // WARP)

    def own(self) -> Array:
        """What warps know of the warps of their own CTA: [cta, warp, warp]."""
        if self.cluster == 1:
            return self.known[:, :, : self.warps]
        return np.take_along_axis(self.known, np.repeat(self._own[:, None, :], self.warps, axis=1), axis=2)

    def grow(self, columns: int) -> None:
        """Add columns for mbarriers."""
        missing = self.mbarrier_columns + columns - self.known.shape[2]
        if missing > 0:
            more = np.zeros((*self.known.shape[:2], max(missing, 16)), np.int32)
            self.known = np.concatenate([self.known, more], axis=2)
            self._fenced = np.concatenate([self._fenced, more], axis=2)
            self._heard = np.concatenate([self._heard, more], axis=2)
            for entries in self._arrived.values():
                entries[:] = [(ctas, self._wide(said)) for ctas, said in entries]

    def _wide(self, said: Array) -> Array:
        """An older statement, extended with zeros for the columns added since."""
        missing = self.known.shape[2] - said.shape[-1]
        return said if missing <= 0 else np.concatenate([said, np.zeros((*said.shape[:-1], missing), np.int32)], -1)

    def present(self, lanes: Array) -> Array:
        """The warps [cta, warp] with lanes in a mask."""
        return warp_words(lanes).reshape(self._machine.ctas, self.warps) != 0

    def publish(self, warps: Array) -> Array:
        """What these warps know, including their own epochs; their next accesses get a new epoch."""
        before = self.known[self._cta, self._warp, self._own]
        self.known[self._cta, self._warp, self._own] = np.where(warps, self.epoch, before)
        said = np.where(warps[:, :, None], self.known, 0)
        self.epoch += warps
        return said

    def publish_each(self, warps: Array) -> Array:
        """As `publish` for warps by machine number, each once: what each knows [warp, column]."""
        known, epoch = self.known.reshape(-1, self.known.shape[2]), self.epoch.reshape(-1)
        known[warps, self._columns[warps]] = epoch[warps]
        epoch[warps] += 1
        return known[warps]

    def say_each(self, warps: Array, releases: bool) -> Array:
        """As `say` for warps by machine number, each once."""
        return self.publish_each(warps) if releases else self._fenced.reshape(-1, self._fenced.shape[2])[warps]

    def learn_each(self, warps: Array, said: Array, acquires: bool) -> None:
        """As `learn` for warps by machine number, each once, each with its own statement [warp, column]."""
        words = self.known if acquires else self._heard
        flat = words.reshape(-1, words.shape[2])
        flat[warps] = np.maximum(flat[warps], said)

    def say(self, warps: Array, releases: bool) -> Array:
        """What these warps publish: all they know, or without release only what they knew at their last fence."""
        if releases:
            return self.publish(warps)
        return np.where(warps[:, :, None], self._fenced, 0)

    def learn(self, warps: Array, said: Array, acquires: bool = True) -> None:
        """Warps learn [column], or [cta, column]; without acquire it counts only after their next fence."""
        said = self._wide(said)
        if said.ndim == 2:
            said = said[:, None, :]
        if acquires:
            self.known = np.where(warps[:, :, None], np.maximum(self.known, said), self.known)
        else:
            self._heard = np.where(warps[:, :, None], np.maximum(self._heard, said), self._heard)

    def fence(self, lanes: Array, releases: bool, acquires: bool) -> None:
        """A fence of the generic proxy by lanes."""
        warps = self.present(lanes)
        if acquires:
            self.learn(warps, self._heard)
        if releases:
            self.has_fenced = True
            self._fenced = np.where(warps[:, :, None], self.publish(warps), self._fenced)

    def proxy_fence(self, lanes: Array, first: int) -> None:
        """fence.proxy.async by lanes: covers what their warps have done and know, in the columns from `first` on."""
        warps = self.present(lanes)
        covered = self.known[:, :, : self.warp_columns].copy()
        covered[self._cta, self._warp, self._own] = self.epoch
        fenced = self.known[:, :, first : first + self.warp_columns]
        np.maximum(fenced, covered, out=fenced, where=warps[:, :, None])

    # ---- barriers of a CTA

    def arrived(self, number: int, lanes: Array) -> None:
        """bar.arrive: the warps' knowledge goes to those that wait at the barrier."""
        warps = self.present(lanes)
        ctas: Array = np.any(warps, axis=1)
        self._arrived.setdefault(number, []).append((ctas, self.publish(warps).max(axis=1)))

    def met(self, number: int, lanes: Array) -> None:
        """Lanes waited for each other at a barrier."""
        warps = self.present(lanes)
        shared = self.publish(warps).max(axis=1)
        here = warps.any(axis=1)
        for ctas, said in self._arrived.get(number, []):
            shared = np.where((ctas & here)[:, None], np.maximum(shared, said), shared)
        self._arrived[number] = [entry for entry in self._arrived.get(number, []) if not (entry[0] & here).any()]
        self.learn(warps, shared)

    def warp_met(self, lanes: Array) -> None:
        """The lanes of each warp waited for each other."""
        self.publish(self.present(lanes))


def joined(first: Array, second: Array) -> Array:
    """The maximum of two statements, either of which may lack columns that were added later."""
    size = max(first.size, second.size)
    if first.size == second.size:
        return np.maximum(first, second)
    result = np.zeros(size, np.int32)
    result[: first.size] = first
    np.maximum(result[: second.size], second, out=result[: second.size])
    return result
