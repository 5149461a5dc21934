"""The grid of a launch: how many tile blocks along each axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from re import compile as pattern
from typing import Final

from tilesat.shown import shown

Grid = tuple[int, int, int]
PARTS: Final = pattern(r"[1-9]\d*(x[1-9]\d*)+")
"""Into how many parts CTAs divide a tile along its dimensions."""

MOST: Grid = (2**31 - 1, 65535, 65535)
"""CUDA C++ Programming Guide, technical specifications: maximum dimensions of a grid of thread blocks."""


def as_grid(grid: int | Sequence[int]) -> Grid:
    """One to three positive extents in tile blocks. Raises ValueError otherwise."""
    try:
        extents = tuple(index(each) for each in grid) if isinstance(grid, Iterable) else (index(grid),)
    except TypeError:
        extents = ()
    if not 1 <= len(extents) <= 3 or min(extents) < 1:
        raise ValueError(f"grid: expected one to three positive numbers of tile blocks, got {shown(grid)}")
    for axis, extent, most in zip("xyz", extents, MOST, strict=False):
        if extent > most:
            raise ValueError(f"grid has {shown(extent)} tile blocks along {axis}, a launch at most {most}")
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z
