"""Carried values computed together with a stored tile: both read the same tiles, which would otherwise stay live until
the whole store is emitted.
"""

from __future__ import annotations

from collections.abc import Sequence

from lowering.convert.tileas_to_nvgpu.registers import Registers


def make(tiles: Sequence[Registers], source: Registers, registers: Sequence[int]) -> None:
    """Compute the same registers of the tiles that have the layout of the stored one."""
    for tile in tiles:
        if tile.layout == source.layout:
            for i in registers:
                _ = tile.pair(i // 2) if tile.packed else tile.scalar(i)
