"""Sums of wgmma products kept as matrices until a wgmma.wait_group of their lanes, without hazard tracking.

Until then nothing may access the accumulator registers (PTX ISA, "wgmma.mma_async"), so operations that add to one
accumulator need not permute each product into register order.
"""

from dataclasses import dataclass

import numpy as np

from ptxsim.ptx_types import Array
from ptxsim.register_block import RegisterBlock
from ptxsim.warpgroups import Selection, fragment_index, matrix_index


@dataclass(slots=True)
class Open:
    """A sum [group, 64, n] to be stored in the registers of a block in a selection's lanes."""

    block: RegisterBlock
    chosen: Selection
    total: Array


class OpenProducts:
    """The pending sums, by the registers of their accumulators."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, ...], Open] = {}

    def start(self) -> None:
        """A batch begins: nothing is pending."""
        self._open.clear()

    def end(self) -> None:
        """A batch ends."""

    def add(self, block: RegisterBlock, chosen: Selection, product: Array, adding: Array | None) -> bool:
        """Add products [group, 64, n] of f32 to an accumulator; returns whether that was possible.

        adding: the lanes that add to their accumulators, None for all; not possible for only some of them.
        """
        key = block.key
        found = self._open.get(key)
        is_split = adding is not None and bool(adding.any())
        if found is not None and (is_split or chosen.active is not None or found.chosen.key != chosen.key):
            self._close(key)
            found = None
        if is_split or chosen.active is not None:
            return False
        if adding is not None:
            self._open[key] = Open(block, chosen, product)
        elif found is not None:
            np.add(product, found.total, out=found.total)
        else:
            before = np.ascontiguousarray(block.read(chosen.lanes)).view(np.float32)
            held = before.reshape(-1).take(matrix_index(product.shape[0], product.shape[2]))
            np.add(product, held.reshape(product.shape), out=product)
            self._open[key] = Open(block, chosen, product)
        return True

    def close(self, lanes: Array | None) -> None:
        """Store the sums of lanes of a mask (None: all) in their registers."""
        for key, one in list(self._open.items()):
            if lanes is None or one.chosen.lanes is None or lanes[one.chosen.first].any():
                self._close(key)

    def _close(self, key: tuple[int, ...]) -> None:
        one = self._open.pop(key)
        index = fragment_index(one.total.shape[0], one.total.shape[2])
        one.block.write(one.total.reshape(-1).take(index).view(np.uint32), one.chosen.lanes)
