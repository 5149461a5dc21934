"""The grid of a launch: how many tile blocks along each axis."""

from __future__ import annotations

from collections.abc import Sequence

Grid = tuple[int, int, int]

MOST: Grid = (2**31 - 1, 65535, 65535)
"""CUDA C++ Programming Guide, technical specifications: maximum dimensions of a grid of thread blocks."""


def as_grid(grid: int | Sequence[int]) -> Grid:
    """One to three positive extents in tile blocks. Raises ValueError otherwise."""
    extents = (grid,) if isinstance(grid, int) else tuple(int(extent) for extent in grid)
    if not 1 <= len(extents) <= 3 or min(extents) < 1:
        raise ValueError(f"grid must be one to three positive extents in tile blocks, not {grid}")
    for axis, extent, most in zip("xyz", extents, MOST, strict=False):
        if extent > most:
            raise ValueError(f"grid has {extent} tile blocks along {axis}, a launch at most {most}")
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z
