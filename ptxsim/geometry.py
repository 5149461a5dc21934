"""Extents of a launch."""

from dataclasses import dataclass

WARP = 32


@dataclass(frozen=True, slots=True)
class Geometry:
    """Grid, block and cluster extents of a launch."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def slots(self) -> int:
        """Lanes of a CTA: its threads in whole warps."""
        return -(-self.threads // WARP) * WARP

    @property
    def ctas(self) -> int:
        """CTAs of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def cluster_size(self) -> int:
        """CTAs of a cluster."""
        return self.cluster[0] * self.cluster[1] * self.cluster[2]
