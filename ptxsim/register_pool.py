"""The registers of a CTA that setmaxnreg moves between its warps.

Every warp starts with what .maxnreg grants. setmaxnreg.dec gives registers back to the CTA's pool, setmaxnreg.inc takes
them from it and waits until there are enough. Without .maxnreg ptxas ignores setmaxnreg (its message C7508), and so
does the pool. Source: PTX ISA, "setmaxnreg".
"""

import numpy as np

from ptxsim.ptx_types import Array

_WARP = 32


class RegisterPool:
    """Registers per thread of every warp [cta, warp], and registers free in every CTA's pool; limit 0: no pool."""

    def __init__(self, ctas: int, warps: int, limit: int) -> None:
        self.limit = limit
        self.held = np.full((ctas, warps), limit, np.int64)
        self.free = np.zeros(ctas, np.int64)

    def start(self) -> None:
        """A batch begins: every warp has the registers that the launch granted."""
        self.held.fill(self.limit)
        self.free.fill(0)

    def warps(self, lanes: Array) -> Array:
        """The warps [cta, warp] with lanes in a mask."""
        found: Array = np.any(lanes.reshape(*self.held.shape, _WARP), axis=2)
        return found

    def give(self, warps: Array, count: int) -> None:
        """setmaxnreg.dec."""
        self.free += ((self.held - count) * warps).sum(axis=1) * _WARP
        self.held[warps] = count

    def grantable(self, warps: Array, count: int) -> Array:
        """The warps that can increase to a count now, in each CTA the first warps first."""
        needed = np.maximum(count - self.held, 0) * warps * _WARP
        result: Array = warps & (np.cumsum(needed, axis=1) <= self.free[:, None])
        return result

    def take(self, warps: Array, count: int) -> None:
        """setmaxnreg.inc, once it is grantable."""
        self.free -= ((count - self.held) * warps).sum(axis=1) * _WARP
        self.held[warps] = count
