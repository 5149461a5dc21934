"""What a loop carries on, computed beside what it stores: both read the same tiles, which would else be held until all
of the store is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from lowering.convert.tileas_to_nvgpu.registers import Registers


def make(tiles: Sequence[Registers], source: Registers, registers: Sequence[int]) -> None:
    """Compute the same registers of the tiles that are laid out as the stored one."""
    for tile in tiles:
        if tile.layout == source.layout:
            for i in registers:
                _ = tile.pair(i // 2) if tile.packed else tile.scalar(i)
