"""Clusters: which CTAs they hold, their special registers, and the queue of those that have not started.

The CTAs of a cluster run together; those of a machine are adjacent, in rank order. Source: PTX ISA, "Cluster of
Cooperative Thread Arrays", "Special Registers: %clusterid".
"""

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.errors import LaunchError
from ptxsim.ptx_types import Array

if TYPE_CHECKING:
    from ptxsim.machine import Geometry

# CUDA C++ Programming Guide, "Thread Block Clusters": 8 is portable, 16 the limit of sm_90 and sm_100.
_MOST_CTAS = 16
_AXES = "xyz"


def check_clusters(geometry: "Geometry") -> None:
    """Raise LaunchError for cluster sizes that no device runs."""
    if geometry.cluster_size > _MOST_CTAS:
        raise LaunchError(f"cluster {geometry.cluster} has {geometry.cluster_size} CTAs; {_MOST_CTAS} is the limit")
    for axis, name in enumerate(_AXES):
        if geometry.grid[axis] % geometry.cluster[axis]:
            raise LaunchError(
                f"grid {geometry.grid} cannot be divided into clusters of {geometry.cluster}: "
                f"{geometry.grid[axis]} is not a multiple of {geometry.cluster[axis]} along {name}"
            )


def _split(number: Array, extents: tuple[int, ...]) -> Array:
    """Indices [n, 3] of linear numbers, x fastest."""
    x, y = extents[0], extents[1]
    return np.stack([number % x, number // x % y, number // (x * y)], axis=1)


class Clusters:
    """The clusters of a grid, and the clusters to which the CTAs of a machine belong. mine: those of this process."""

    def __init__(self, geometry: "Geometry", ctas: int) -> None:
        self._geometry = geometry
        self.size = geometry.cluster_size
        self._counts = tuple(g // c for g, c in zip(geometry.grid, geometry.cluster, strict=True))
        self.resident = ctas // self.size
        self._rank = _split(np.arange(ctas) % self.size, geometry.cluster)
        self.all = range(geometry.ctas // self.size)
        self.mine = self.all
        self.waiting: deque[int] = deque()
        self.index = np.zeros((ctas, 3), np.int64)

    def start(self) -> None:
        """A launch begins: none of this process's clusters has started."""
        self.waiting = deque(self.mine)

    def first_cta(self, cluster: int) -> tuple[int, int, int]:
        """The index in the grid of the first CTA of a cluster."""
        x, y, z = (_split(np.array([cluster]), self._counts)[0] * np.array(self._geometry.cluster)).tolist()
        return x, y, z

    def load(self) -> tuple[Array, int]:
        """Start as many waiting clusters as fit: the grid indices of their CTAs [cta, 3], and how many run."""
        started = [self.waiting.popleft() for _ in range(min(self.resident, len(self.waiting)))]
        count = len(started)
        numbers = np.array(started + started[-1:] * (self.resident - count))
        self.index = np.repeat(_split(numbers, self._counts), self.size, axis=0)
        return self.index * np.array(self._geometry.cluster) + self._rank, count * self.size

    def special(self, cta_of_lane: Array, is_explicit: bool) -> dict[str, Array]:
        """The special registers that do not change from batch to batch, by lane."""
        result: dict[str, Array] = {}
        lanes = cta_of_lane.size
        for axis, name in enumerate(_AXES):
            result[f"clusterid.{name}"] = np.zeros(lanes, np.uint32)
            result[f"nclusterid.{name}"] = np.full(lanes, self._counts[axis], np.uint32)
            result[f"cluster_ctaid.{name}"] = self._rank[cta_of_lane, axis].astype(np.uint32)
            result[f"cluster_nctaid.{name}"] = np.full(lanes, self._geometry.cluster[axis], np.uint32)
        result["cluster_ctarank"] = (cta_of_lane % self.size).astype(np.uint32)
        result["cluster_nctarank"] = np.full(lanes, self.size, np.uint32)
        result["is_explicit_cluster"] = np.full(lanes, is_explicit)
        return result
